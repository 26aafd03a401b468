//! Whether libraries and program compile for Windows, seen from another system.

use std::process::Command;

use crate::shell::{cargo, run, say, succeeds};

const TARGET: &str = "x86_64-pc-windows-gnu";
/// Compresses Parquet files: part of a dependency is C.
const COMPILER: &str = "x86_64-w64-mingw32-gcc";

/// Type checks libraries and programs for Windows, where the compiler for it can be had.
pub(crate) fn check() -> anyhow::Result<()> {
    if !succeeds(Command::new("rustup").args(["target", "add", TARGET])) {
        say(&format!("Windows: SKIPPED, `rustup target add {TARGET}` fails"));
        return Ok(());
    }
    if !succeeds(Command::new(COMPILER).arg("--version")) {
        say(&format!("Windows: SKIPPED, there is no {COMPILER} (Debian: gcc-mingw-w64-x86-64)"));
        return Ok(());
    }
    let what = ["check", "--workspace", "--lib", "--bins", "--target", TARGET];
    run("Windows", &mut cargo(&what))
}
