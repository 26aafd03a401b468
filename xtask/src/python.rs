//! The Python package: built and installed as users do, then its tests, types, examples and notebooks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::shell::{cargo, root, run, target_dir};

/// Where the package is installed for its checks.
fn environment() -> PathBuf {
    root().join("target/python-venv")
}

/// The interpreter of that environment.
fn python(arguments: &[&str]) -> Command {
    let mut command = Command::new(environment().join("bin/python"));
    // Not from the root: `python/driftgraph` must not hide what was installed.
    command.current_dir(root()).args(arguments).env("PYTHONSAFEPATH", "1");
    command
}

/// Builds the binary to compare with, then runs every check of the Python package.
pub(crate) fn check_alone() -> anyhow::Result<()> {
    let build = ["build", "--workspace", "--all-features"];
    run("the binary to compare with", &mut cargo(&build))?;
    check()
}

/// Runs every check of the Python package, with the binary that `cargo test` has built.
pub(crate) fn check() -> anyhow::Result<()> {
    install_requirements()?;
    run("installing the Python package", &mut install("dev --features testing"))?;
    let binary = target_dir().join("debug/driftgraph");
    run("types of the Python package", &mut python(&["-m", "mypy"]))?;
    let stubs = ["-m", "mypy.stubtest", "driftgraph._native", "--concise"];
    run("type stubs against the module", &mut python(&stubs))?;
    let mut tests = python(&["-m", "pytest", "python/tests"]);
    run("Python tests", tests.env("DRIFTGRAPH_BINARY", &binary))?;
    let examples = ["-m", "pytest", "--doctest-modules", "--pyargs", "driftgraph"];
    run("examples in the Python documentation", &mut python(&examples))?;
    run("notebooks", &mut python(&["-m", "pytest", "--nbmake", "docs/notebooks"]))
}

/// Makes the environment, once per version of the requirements.
fn install_requirements() -> anyhow::Result<()> {
    let list = root().join("python/requirements-test.txt");
    let wanted = fs::read_to_string(&list).context("cannot read the requirements")?;
    let stamp = environment().join("requirements-installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(environment());
    run("making a Python environment", &mut make)?;
    let mut install =
        python(&["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    run("installing what the Python checks need", install.arg(&list))?;
    fs::write(&stamp, wanted).context("cannot keep the list of what is installed")
}

/// Installs the package as the checks have it.
pub(crate) fn install_for_documentation() -> anyhow::Result<()> {
    install_requirements()?;
    run("installing the Python package", &mut install("dev"))
}

/// Writes the reference of the installed package, made from stubs and docstrings, into a folder.
pub(crate) fn write_reference(folder: &Path) -> anyhow::Result<()> {
    let mut document = python(&["-m", "pdoc", "--docformat", "markdown", "driftgraph"]);
    run("Python reference", document.arg("--output-directory").arg(folder))
}

/// The interpreter of the environment, with the package installed as users have it.
pub(crate) fn release_environment() -> anyhow::Result<PathBuf> {
    install_requirements()?;
    run("installing the Python package", &mut install("release"))?;
    Ok(environment().join("bin/python"))
}

/// A program of the environment, started in the root folder.
pub(crate) fn tool(name: &str) -> anyhow::Result<Command> {
    install_requirements()?;
    let mut command = Command::new(environment().join("bin").join(name));
    command.current_dir(root());
    Ok(command)
}

/// `pip install .`; with the profile of the tests, most of it is compiled already.
fn install(profile: &str) -> Command {
    let mut install = python(&["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.args(["--no-build-isolation", "--no-deps", "--force-reinstall"]);
    install.args(["--config-settings", &format!("build-args=--profile {profile}"), "."]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = [environment().join("bin")];
    let paths = own.into_iter().chain(std::env::split_paths(&path));
    // maturin is started by its name.
    if let Ok(joined) = std::env::join_paths(paths) {
        install.env("PATH", joined);
    }
    install
}
