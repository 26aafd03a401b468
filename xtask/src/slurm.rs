//! Debian's Slurm and libfaketime below `target/tools`, for the tests of sweeps; nothing is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{cargo, files_below, run, say, succeeds, tools};

/// Programs and plugins, and the libraries they need.
const PACKAGES: [&str; 15] = [
    "slurmctld",
    "slurmd",
    "slurm-client",
    "slurm-wlm-basic-plugins",
    "libmunge2",
    "libhwloc15",
    "liblz4-1",
    "libreadline8",
    "libdbus-1-3",
    "libjson-c5",
    "liblua5.1-0",
    "libnuma1",
    "libyaml-0-2",
    "libpam0g",
    "libfaketime",
];

/// Runs the tests of sweeps alone.
pub(crate) fn check_alone() -> anyhow::Result<()> {
    let mut tests = cargo(&[
        "test",
        "--workspace",
        "--all-features",
        "--test",
        "it",
        "--",
        "sweep::",
        "slurm::",
    ]);
    add_to(&mut tests);
    run("tests of sweeps", &mut tests)
}

/// Tells tests where the programs are; where these cannot be had, the tests that need them are skipped, visibly.
pub(crate) fn add_to(tests: &mut Command) {
    let folder = tools().join("slurm");
    if !folder.join("complete").exists() && !unpack(&folder) {
        say("Debian's slurm and libfaketime cannot be had: the tests that need them are SKIPPED");
        return;
    }
    let library = |path: &PathBuf| path.file_name().is_some_and(|name| name == "libfaketime.so.1");
    let found = files_below(&folder, "1").unwrap_or_default();
    if let Some(library) = found.iter().find(|path| library(path)) {
        tests.env("DRIFTGRAPH_FAKETIME", library);
    }
    tests.env("DRIFTGRAPH_SLURM", folder);
}

/// Fetches the packages and unpacks them; whether that worked.
fn unpack(folder: &Path) -> bool {
    say("fetching Debian's slurm and libfaketime");
    let packages = folder.join("packages");
    if fs::create_dir_all(&packages).is_err() {
        return false;
    }
    let fetch = || {
        let mut fetch = Command::new("apt-get");
        succeeds(fetch.current_dir(&packages).arg("download").args(PACKAGES))
    };
    // Lists of packages may be old, or not there at all.
    let update = || succeeds(Command::new("apt-get").arg("update"));
    let fetched = fetch() || (update() && fetch());
    if !fetched {
        return false;
    }
    let Ok(files) = files_below(&packages, "deb") else { return false };
    let unpacked = |file: &PathBuf| succeeds(Command::new("dpkg").arg("-x").arg(file).arg(folder));
    files.len() == PACKAGES.len()
        && files.iter().all(unpacked)
        && fs::write(folder.join("complete"), "").is_ok()
}
