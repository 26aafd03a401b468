//! Where figures come from: the command that was typed, the version and the build.

use anyhow::Context;
use driftgraph_text::count;

use crate::args::ExperimentArgs;

/// A hash of this program's file: two builds of one version may compute different numbers.
pub(super) fn program() -> anyhow::Result<String> {
    let hash = || -> std::io::Result<String> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(std::fs::File::open(std::env::current_exe()?)?)?;
        Ok(hasher.finalize().to_hex()[..16].to_owned())
    };
    hash().context("cannot read this program's own file")
}

/// The lines above a table: the command, and a warning where it was a trial.
pub(super) fn heading(args: &ExperimentArgs) -> String {
    let mut text = format!("`{}`\n\n", command_line());
    if args.quick {
        text.push_str("**Shortened data and training: these figures mean nothing.**\n\n");
    }
    text
}

/// The version, and whether one build of it has made all cells.
pub(super) fn made_by<'a>(programs: impl Iterator<Item = &'a str>) -> String {
    let mut programs: Vec<&str> = programs.collect();
    let n_cells = count(programs.len(), "cell", "cells");
    programs.sort_unstable();
    programs.dedup();
    let version = env!("CARGO_PKG_VERSION");
    match programs.len() {
        0 | 1 => format!("Made by driftgraph {version}, {n_cells}."),
        n => format!("Made by {n} builds of driftgraph {version}, {n_cells}."),
    }
}

/// What was typed, ready to be pasted into a shell.
fn command_line() -> String {
    let words = std::env::args().skip(1).map(|word| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=,:".contains(letter);
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    std::iter::once("driftgraph".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
