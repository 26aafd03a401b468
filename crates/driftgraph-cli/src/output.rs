//! Writing files whole or not at all, and numbers short.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use driftgraph_data::whole_file::write_whole;

/// Writes a file beside its place and moves it there once it is complete and on disk.
pub(crate) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> anyhow::Result<()> {
    write_whole(path, write).with_context(|| format!("cannot write `{}`", path.display()))
}

/// A number with four significant digits, as people read it.
pub(crate) fn short(number: f64) -> String {
    let magnitude = number.abs();
    if number == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e6).contains(&magnitude) {
        return format!("{number:.3e}");
    }
    let digits_before = magnitude.log10().floor() as i32 + 1;
    let text = format!("{number:.*}", (4 - digits_before).clamp(0, 6) as usize);
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// A number, or a dash where there is none.
pub(crate) fn short_or_dash(number: Option<f64>) -> String {
    number.map_or_else(|| "-".to_owned(), short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_no_idle_zeros() {
        let shown = [0.0, 1.0, 0.5, 1234.5, 12.3456, 0.001234, 1e-9, 1e12, -2.5].map(short);
        assert_eq!(
            shown,
            ["0", "1", "0.5", "1234", "12.35", "0.001234", "1.000e-9", "1.000e12", "-2.5"]
        );
    }
}
