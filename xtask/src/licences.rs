//! Licences and known vulnerabilities of all dependencies, by cargo-deny.

use std::path::PathBuf;
use std::process::Command;

use crate::shell::{cargo, root, run, say, succeeds, tools};

/// The version that `deny.toml` is written for.
const VERSION: &str = "0.20.2";

/// Checks licences always, and advisories where their database can be had.
pub(crate) fn check() -> anyhow::Result<()> {
    let program = installed()?;
    let deny = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(root()).args(["--log-level", "error"]).args(arguments);
        command
    };
    run("licences", &mut deny(&["check", "licenses", "bans", "sources"]))?;
    if succeeds(&mut deny(&["fetch", "db"])) {
        run("advisories", &mut deny(&["check", "--disable-fetch", "advisories"]))
    } else {
        say("advisories: SKIPPED, their database cannot be fetched from here");
        Ok(())
    }
}

/// cargo-deny from the user's path, or else our own copy, built if need be.
fn installed() -> anyhow::Result<PathBuf> {
    if succeeds(Command::new("cargo-deny").arg("--version")) {
        return Ok("cargo-deny".into());
    }
    let own = tools().join("bin/cargo-deny");
    if !own.exists() {
        let mut install =
            cargo(&["install", "cargo-deny", "--locked", "--version", VERSION, "--root"]);
        // A build folder of its own would not survive in CI caches; the workspace's does.
        install.arg(tools()).env("CARGO_TARGET_DIR", root().join("target/tools/build"));
        run("installing cargo-deny", &mut install)?;
    }
    Ok(own)
}
