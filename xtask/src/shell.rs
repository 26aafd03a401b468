//! Running other programs from the root of the workspace, and finding its files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};

/// The workspace's root folder.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("xtask lies in the workspace's root").to_owned()
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR");
    // A relative one counts from the root, in which cargo is started.
    named.map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// Where tools that the commands install for themselves are kept.
pub(crate) fn tools() -> PathBuf {
    root().join("target/tools")
}

/// Tells what is going on.
#[expect(clippy::print_stderr, reason = "this program talks to developers")]
pub(crate) fn say(text: &str) {
    eprintln!("xtask: {text}");
}

/// Cargo, started in the root folder.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

/// Runs a program to its end; fails if it fails.
pub(crate) fn run(what: &str, command: &mut Command) -> anyhow::Result<()> {
    say(what);
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {what}"))?;
    if !status.success() {
        bail!("{what} failed ({status})");
    }
    say(&format!("{what}: ok, {:.0} s", start.elapsed().as_secs_f64()));
    Ok(())
}

/// All files below a folder whose names have an ending, sorted; none where there is no folder.
pub(crate) fn files_below(folder: &Path, ending: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if !folder.is_dir() {
        return Ok(files);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path, ending)?);
        } else if path.extension().is_some_and(|found| found == ending) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a program runs and succeeds, its output thrown away.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
