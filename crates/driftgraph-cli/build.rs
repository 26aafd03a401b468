//! Which commit is built, for `driftgraph --version`; unknown is fine.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = match published(&own).or_else(|| checked_out(&own)) {
        Some(commit) => format!("{version} ({})", commit.get(..12).unwrap_or(&commit)),
        None => version,
    };
    println!("cargo::rustc-env=DRIFTGRAPH_VERSION={version}");
    println!("cargo::rerun-if-changed=build.rs");
}

/// The commit that a published package was made from, which cargo writes into it.
fn published(own: &Path) -> Option<String> {
    let text = fs::read_to_string(own.join(".cargo_vcs_info.json")).ok()?;
    let commit = text.split_once("\"sha1\": \"")?.1.split('"').next()?;
    Some(commit.to_owned())
}

/// The commit of the project's own repository, not of another that merely contains a copy.
fn checked_out(own: &Path) -> Option<String> {
    let root = PathBuf::from(git(own, &["rev-parse", "--show-toplevel"])?);
    if fs::canonicalize(root.join("crates/driftgraph-cli")).ok()? != fs::canonicalize(own).ok()? {
        return None;
    }
    // Every commit, checkout and reset adds a line there.
    let log = git(own, &["rev-parse", "--git-path", "logs/HEAD"])?;
    if own.join(&log).is_file() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(own, &["rev-parse", "HEAD"])
}

/// What git prints; nothing where it is missing or fails.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(folder).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
