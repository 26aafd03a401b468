//! Whether libraries and program compile for Windows, seen from another system.

use std::process::Command;

use crate::shell::{cargo, run, say, succeeds};

const TARGET: &str = "x86_64-pc-windows-gnu";
/// Compresses Parquet files: part of a dependency is C.
const COMPILER: &str = "x86_64-w64-mingw32-gcc";
/// Debian's package of it.
const PACKAGE: &str = "gcc-mingw-w64-x86-64";

/// Type checks libraries and programs for Windows, where the compiler for it can be had.
pub(crate) fn check() -> anyhow::Result<()> {
    if !succeeds(Command::new("rustup").args(["target", "add", TARGET])) {
        say(&format!("Windows: SKIPPED, `rustup target add {TARGET}` fails"));
        return Ok(());
    }
    if !has_compiler() && !install_compiler() {
        say(&format!(
            "Windows: SKIPPED, there is no {COMPILER}, and Debian's {PACKAGE} cannot be installed"
        ));
        return Ok(());
    }
    let what = ["check", "--workspace", "--lib", "--bins", "--target", TARGET];
    run("Windows", &mut cargo(&what))
}

fn has_compiler() -> bool {
    succeeds(Command::new(COMPILER).arg("--version"))
}

/// Installs Debian's package, as a user who may; the list of packages is fetched where it is too old.
fn install_compiler() -> bool {
    say(&format!("no {COMPILER} found: installing it"));
    let apt = |words: &[&str]| {
        let mut install = Command::new("apt-get");
        succeeds(install.args(words).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let install = ["install", "--yes", "--no-install-recommends", PACKAGE];
    (apt(&install) || (apt(&["update"]) && apt(&install))) && has_compiler()
}
