//! Memory that a fit will need, told before it begins.

use driftgraph_core::SeriesSet;
use driftgraph_methods::FitPlan;

/// What the user should know about memory: what will be needed, and whether it is there.
pub(crate) fn memory_note(plan: &FitPlan, data: &SeriesSet) -> Option<String> {
    let has = |name: &str| plan.method().settings().iter().any(|setting| setting.name == name);
    Some(note(plan.predicted_bytes(data)?, available_bytes(), has("ensemble")))
}

fn note(needed: u64, available: Option<u64>, bridge: bool) -> String {
    match available {
        Some(available) if needed > available => format!(
            "warning: the fit needs about {} of memory, {} are free; {}",
            size(needed),
            size(available),
            if bridge {
                "fewer threads (`--threads 1`), one seed (`--ensemble 1`), no choice of settings \
                 (`--select none`) or a longer `--step-size` need less"
            } else {
                "a smaller `--batch-size`, fewer threads (`--threads 1`) or a longer `--step-size` \
                 need less"
            }
        ),
        _ => format!("the fit needs about {} of memory", size(needed)),
    }
}

fn size(bytes: u64) -> String {
    if bytes >= 1_000_000_000 {
        format!("{:.1} GB", bytes as f64 / 1e9)
    } else {
        format!("{} MB", bytes.div_ceil(1_000_000))
    }
}

/// Memory that can be had without swapping; `None` where the system does not say.
fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_and_too_much_comes_with_advice() {
        assert_eq!(note(4_200_000, None, true), "the fit needs about 5 MB of memory");
        let told = note(2_340_000_000, Some(1 << 34), true);
        assert_eq!(told, "the fit needs about 2.3 GB of memory");
        let warned = note(2_340_000_000, Some(800_000_000), false);
        assert!(
            warned.starts_with("warning: the fit needs about 2.3 GB of memory, 800 MB are free")
        );
        assert!(warned.contains("--batch-size"));
    }
}
