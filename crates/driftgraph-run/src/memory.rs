//! Memory that a fit will need, told before it begins.

use driftgraph_core::SeriesSet;
use driftgraph_core::train::settings::Setting;
use driftgraph_methods::FitPlan;

/// What the user should know about memory: what will be needed, and whether it is there.
pub(crate) fn memory_note(plan: &FitPlan, data: &SeriesSet) -> Option<String> {
    Some(note(plan.predicted_bytes(data)?, available_bytes(), &advice(&plan.method().settings())))
}

/// What a user can do about it, with the settings that the method has.
fn advice(settings: &[Setting]) -> String {
    let ways = [
        ("ensemble", "one seed (`--ensemble 1`)"),
        ("select", "no choice of settings (`--select none`)"),
        ("batch_size", "a smaller `--batch-size`"),
        ("trees", "fewer `--trees`"),
        ("step_size", "a longer `--step-size`"),
    ];
    let mut known = vec!["fewer threads (`--threads 1`)", "fewer variables (`--ignore`)"];
    let has = |name: &str| settings.iter().any(|setting| setting.name == name);
    known.extend(ways.into_iter().filter(|(name, _)| has(name)).map(|(_, way)| way));
    let last = known.pop().unwrap_or_default();
    format!("{} or {last} need less", known.join(", "))
}

fn note(needed: u64, available: Option<u64>, advice: &str) -> String {
    match available {
        Some(available) if needed > available => format!(
            "warning: the fit needs about {} of memory, {} are free; {advice}",
            size(needed),
            size(available),
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
        let advice_of =
            |name: &str| advice(&driftgraph_methods::find(name).expect("it is known").settings());
        let bridge = advice_of("bridge");
        assert_eq!(note(4_200_000, None, &bridge), "the fit needs about 5 MB of memory");
        let told = note(2_340_000_000, Some(1 << 34), &bridge);
        assert_eq!(told, "the fit needs about 2.3 GB of memory");
        let warned = note(2_340_000_000, Some(800_000_000), &advice_of("simulated"));
        assert!(
            warned.starts_with("warning: the fit needs about 2.3 GB of memory, 800 MB are free")
        );
        assert!(warned.contains("--batch-size"));
        assert!(!advice_of("ngm").contains("--step-size"), "it has none");
        assert_eq!(
            advice_of("ridge"),
            "fewer threads (`--threads 1`) or fewer variables (`--ignore`) need less"
        );
    }
}
