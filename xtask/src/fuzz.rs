//! `cargo xtask fuzz`: libFuzzer on every reader of bytes from outside, for as long as there is time.
//!
//! The instrumentation needs no nightly compiler: coverage comes from a pass of LLVM that stable `rustc`
//! can be asked for.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::shell::{cargo, root, run, say};

/// Counters at every branch, and a table of where they are: what libFuzzer learns from.
const INSTRUMENTATION: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Ccodegen-units=1";

/// Limits of one input: memory in megabytes, seconds, and length in bytes.
const LIMITS: [&str; 3] = ["-rss_limit_mb=1024", "-timeout=10", "-max_len=16384"];

/// Fuzzes all readers, or one, for a number of minutes in all.
pub(crate) fn fuzz(minutes: f64, only: Option<&str>) -> anyhow::Result<()> {
    let mut targets = readers()?;
    if let Some(name) = only {
        if !targets.iter().any(|target| target == name) {
            bail!("there is no such reader; there are {}", targets.join(", "));
        }
        targets.retain(|target| target == name);
    }
    let reader = build()?;
    let seconds = (60.0 * minutes / targets.len() as f64).ceil().max(1.0);
    let mut n_findings = 0;
    let mut table = String::from("reader | executions | findings\n--- | ---: | ---:\n");
    for target in targets {
        let (n_executions, findings) = fuzz_one(&reader, &target, seconds)?;
        n_findings += findings.len();
        let _ = writeln!(table, "{target} | {n_executions} | {}", findings.len());
        for finding in findings {
            say(&format!("finding: {}", finding.display()));
        }
    }
    say(&format!("memory at most 1 GB, 10 s and 16 kB per input\n{table}"));
    if n_findings > 0 {
        bail!("{n_findings} findings; fix them and add the inputs to the corpus");
    }
    Ok(())
}

/// Folder of the committed inputs, one folder per reader.
fn corpus() -> PathBuf {
    root().join("crates/driftgraph-fuzz/corpus")
}

fn readers() -> anyhow::Result<Vec<String>> {
    let entries = fs::read_dir(corpus()).context("cannot read the corpus")?;
    let mut names = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

fn build() -> anyhow::Result<PathBuf> {
    let target = root().join("target/fuzz");
    let mut build = cargo(&["build", "--release", "--manifest-path", "fuzz/Cargo.toml"]);
    // A named platform keeps the instrumentation away from build scripts.
    let platform = platform()?;
    build.args(["--target", &platform]).env("RUSTFLAGS", INSTRUMENTATION);
    run("instrumented build", build.env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join(platform).join("release/reader"))
}

fn platform() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot ask rustc")?;
    let text = String::from_utf8(output.stdout).context("rustc speaks no UTF-8")?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say what platform it is for")
}

/// Executions, and the inputs that made the reader panic, hang or take too much memory.
fn fuzz_one(reader: &Path, target: &str, seconds: f64) -> anyhow::Result<(u64, Vec<PathBuf>)> {
    let work = root().join("target/fuzz-corpus");
    let (found, findings) = (work.join(target), work.join("findings").join(target));
    for folder in [&found, &findings] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    say(&format!("fuzzing {target} for {seconds:.0} s"));
    let output = Command::new(reader)
        .env("DRIFTGRAPH_FUZZ_TARGET", target)
        .args(LIMITS)
        .arg(format!("-max_total_time={seconds:.0}"))
        .arg(format!("-artifact_prefix={}/", findings.display()))
        .args(["-print_final_stats=1", "-verbosity=0"])
        .arg(&found)
        .arg(corpus().join(target))
        .output()
        .context("cannot start the reader")?;
    let text = String::from_utf8_lossy(&output.stderr);
    let executions = text
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:")?.trim().parse().ok());
    let entries = fs::read_dir(&findings)?.map(|entry| Ok(entry?.path()));
    let findings = entries.collect::<anyhow::Result<Vec<_>>>()?;
    if !output.status.success() && findings.is_empty() {
        bail!("the reader failed without an input to blame:\n{text}");
    }
    Ok((executions.unwrap_or(0), findings))
}
