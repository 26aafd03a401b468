//! CPU time and memory of this process.

use rustix::time::{ClockId, clock_gettime};

/// CPU seconds of all threads so far.
pub(crate) fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// The middle one of some values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Highest memory use so far, in MB.
pub(crate) fn peak_memory_mb() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: f64 = kilobytes.ok_or_else(|| anyhow::anyhow!("no VmHWM"))?.parse()?;
    Ok(kilobytes * 1024e-6)
}
