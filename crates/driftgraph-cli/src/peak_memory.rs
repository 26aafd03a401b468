//! How much memory this program has held at most.

/// Most bytes held at once since the program began, or since [`forget_peak`]; `None` where the system does not tell.
pub(crate) fn peak_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024 * kilobytes)
}

/// Begins anew with what is held now, where the system can; else the peak includes what was before.
pub(crate) fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
