//! Every check there is, in the order in which they are likely to fail.

use crate::shell::{cargo, root, run, say};
use crate::{
    browser, docs, docs_tables, equations, layers, licences, python, release, site, slurm, tuples,
    windows,
};

/// Runs all checks; the first that fails ends the run.
pub(crate) fn run_checks() -> anyhow::Result<()> {
    run("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    let lints =
        ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    layers::check()?;
    tuples::check()?;
    equations::check()?;
    docs_tables::run(true)?;
    docs::check()?;
    release::check()?;
    run("lints", &mut cargo(&lints))?;
    tell_benchmark_data();
    let mut tests = cargo(&["test", "--workspace", "--all-features"]);
    slurm::add_to(&mut tests);
    run("tests", &mut tests)?;
    browser::check()?;
    site::document_rust()?;
    python::check()?;
    site::build()?;
    windows::check()?;
    licences::check()?;
    say("all checks passed");
    Ok(())
}

/// Some tests need data that may not be part of the project; say whether they will run.
fn tell_benchmark_data() {
    let folder = std::env::var_os("DRIFTGRAPH_DATA")
        .map_or_else(|| root().join("../shared/data"), std::path::PathBuf::from);
    if folder.is_dir() {
        say(&format!("benchmark data found in {}", folder.display()));
    } else {
        say("no benchmark data (DRIFTGRAPH_DATA): the tests that need them are SKIPPED");
    }
}
