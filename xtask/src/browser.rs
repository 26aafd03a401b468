//! The report in a real browser: installs what is missing, then runs the scripts in `browser/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::shell::{cargo, root, run, say, succeeds, target_dir};

/// Where the browser usually is.
const CHROMIUM: [&str; 2] = ["chromium", "chromium-browser"];

/// Builds the binary, then looks at what it makes.
pub(crate) fn check_alone() -> anyhow::Result<()> {
    // As `cargo test` builds it: with the method that is made for tests.
    let build = ["build", "--workspace", "--all-features", "--bin", "driftgraph"];
    run("building the binary", &mut cargo(&build))?;
    check()
}

/// Makes runs with the binary that `cargo test` has built, and looks at them as a user would.
pub(crate) fn check() -> anyhow::Result<()> {
    let folder = root().join("browser");
    let chromium = chromium()?;
    install_packages(&folder)?;
    let mut tests = Command::new("node");
    tests.current_dir(&folder).args(["--test", "--test-reporter=spec"]).arg("test/");
    tests.env("CHROMIUM", chromium).env("DRIFTGRAPH", binary());
    run("browser", &mut tests)
}

fn binary() -> PathBuf {
    target_dir().join("debug/driftgraph")
}

/// The browser's program; Debian's package is installed where there is none.
fn chromium() -> anyhow::Result<String> {
    let found = || CHROMIUM.into_iter().find(|name| succeeds(Command::new(name).arg("--version")));
    if let Some(program) = found() {
        return path_of(program);
    }
    say("no chromium found: installing it");
    let packages: [&[&str]; 2] =
        [&["update"], &["install", "--yes", "--no-install-recommends", "chromium"]];
    for arguments in packages {
        let mut install = Command::new("apt-get");
        install.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        run("installing chromium", &mut install)
            .context("the browser tests need chromium; install it, or run as a user who may")?;
    }
    match found() {
        Some(program) => path_of(program),
        None => bail!("chromium was installed but does not start"),
    }
}

fn path_of(program: &str) -> anyhow::Result<String> {
    let output = Command::new("sh").args(["-c", &format!("command -v {program}")]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// The packages of `package-lock.json`, fetched where they are not there yet.
fn install_packages(folder: &Path) -> anyhow::Result<()> {
    let mut install = Command::new("npm");
    install.current_dir(folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    let lock = folder.join("package-lock.json");
    let stamp = folder.join("node_modules/.package-lock.json");
    let modified = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    if modified(&stamp).is_some_and(|stamp| Some(stamp) >= modified(&lock)) {
        return Ok(());
    }
    run("installing browser packages", &mut install).context("the browser tests need npm packages")
}
