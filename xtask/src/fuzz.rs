//! `cargo xtask fuzz`: libFuzzer on every reader of bytes from outside, for as long as there is time.
//!
//! The instrumentation needs no nightly compiler: coverage comes from a pass of LLVM that stable `rustc`
//! can be asked for.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, bail};

use crate::bench_step::{cpu_model, date, text_of};
use crate::docs_tables::between_markers;
use crate::shell::{cargo, root, run, say};

/// Counters at every branch, and a table of where they are: what libFuzzer learns from.
const INSTRUMENTATION: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Ccodegen-units=1";

/// The page that has the table of the last long run, and the fewest minutes of a run that is long.
const PAGE: &str = "CONTRIBUTING.md";
const LONG: f64 = 5.0;

/// Limits of one input: memory in megabytes, seconds, and length in bytes.
const LIMITS: [&str; 3] = ["-rss_limit_mb=1024", "-timeout=10", "-max_len=16384"];

/// Fuzzes all readers, or one, for a number of minutes in all: one reader per core at a time.
pub(crate) fn fuzz(minutes: f64, only: Option<&str>) -> anyhow::Result<()> {
    let mut targets = readers()?;
    if let Some(name) = only {
        if !targets.iter().any(|target| target == name) {
            bail!("there is no such reader; there are {}", targets.join(", "));
        }
        targets.retain(|target| target == name);
    }
    let reader = build()?;
    let n_workers = thread::available_parallelism().map_or(1, usize::from).min(targets.len());
    // Readers that are fuzzed at the same time take their turns together.
    let n_turns = targets.len().div_ceil(n_workers);
    let seconds = (60.0 * minutes / n_turns as f64).floor().max(1.0);
    let outcomes = fuzz_all(&reader, &targets, seconds, n_workers)?;
    let table = table(&outcomes);
    say(&format!("memory at most 1 GB, 10 s and 16 kB per input\n{table}"));
    if only.is_none() && minutes >= LONG {
        show(&table, minutes, n_workers)?;
    }
    let findings: Vec<&PathBuf> = outcomes.iter().flat_map(|outcome| &outcome.findings).collect();
    for finding in &findings {
        say(&format!("finding: {}", finding.display()));
    }
    if !findings.is_empty() {
        bail!("{} findings; fix them and add the inputs to the corpus", findings.len());
    }
    Ok(())
}

/// What came of the time that was spent on a reader.
struct Outcome {
    target: String,
    n_executions: u64,
    /// Inputs that made the reader panic, hang or take too much memory.
    findings: Vec<PathBuf>,
    /// Time on a processor, which a busy machine does not change.
    cpu_seconds: f64,
}

/// Gives every reader its seconds, as many at a time as there are workers; in the order of the names.
fn fuzz_all(
    reader: &Path,
    targets: &[String],
    seconds: f64,
    n_workers: usize,
) -> anyhow::Result<Vec<Outcome>> {
    let queue = Mutex::new(targets.iter());
    let next = || queue.lock().expect("no worker panics while it takes a target").next();
    let work = || {
        let mut outcomes = Vec::new();
        while let Some(target) = next() {
            outcomes.push(fuzz_one(reader, target, seconds)?);
        }
        anyhow::Ok(outcomes)
    };
    let outcomes = thread::scope(|scope| {
        let workers: Vec<_> = (0..n_workers).map(|_| scope.spawn(work)).collect();
        let done = workers.into_iter().map(|worker| worker.join().expect("workers do not panic"));
        done.collect::<anyhow::Result<Vec<_>>>()
    })?;
    let mut outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    outcomes.sort_by(|a, b| a.target.cmp(&b.target));
    Ok(outcomes)
}

fn table(outcomes: &[Outcome]) -> String {
    let mut table =
        String::from("reader | executions | per CPU second | findings\n--- | ---: | ---: | ---:\n");
    let n_findings = |outcome: &Outcome| outcome.findings.len();
    for outcome in outcomes {
        let Outcome { target, n_executions, cpu_seconds, .. } = outcome;
        let pace = *n_executions as f64 / cpu_seconds.max(0.01);
        let _ = writeln!(table, "{target} | {n_executions} | {pace:.0} | {}", n_findings(outcome));
    }
    let total: u64 = outcomes.iter().map(|outcome| outcome.n_executions).sum();
    let cpu_seconds: f64 = outcomes.iter().map(|outcome| outcome.cpu_seconds).sum();
    let pace = total as f64 / cpu_seconds.max(0.01);
    let n_found: usize = outcomes.iter().map(n_findings).sum();
    let _ = writeln!(table, "all | {total} | {pace:.0} | {n_found}");
    table
}

/// Puts the table of a long run of all readers on its page.
fn show(table: &str, minutes: f64, n_workers: usize) -> anyhow::Result<()> {
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let cells = table.lines().map(|line| format!("| {line} |")).collect::<Vec<_>>().join("\n");
    let (cpu, rustc) = (cpu_model()?, text_of("rustc", &["--version"])?);
    let text = format!(
        "{cells}\n\nMeasured {} in {minutes} minutes by {n_workers} processes on {cpu}, {rustc}.",
        date()
    );
    let page = between_markers(&page, "fuzz", &text)
        .with_context(|| format!("{PAGE} has no place for the table"))?;
    Ok(fs::write(path, page)?)
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

/// The instrumented program: one that the environment names, or a new build.
fn build() -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os("DRIFTGRAPH_FUZZ_READER") {
        return Ok(named.into());
    }
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

fn fuzz_one(reader: &Path, target: &str, seconds: f64) -> anyhow::Result<Outcome> {
    let work = root().join("target/fuzz-corpus");
    let (found, findings) = (work.join(target), work.join("findings").join(target));
    for folder in [&found, &findings] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    say(&format!("fuzzing {target} for {seconds:.0} s"));
    let earlier = files_in(&findings)?;
    let output = Command::new("bash")
        .args(["-c", TIMED, "bash"])
        .arg(reader)
        .env("DRIFTGRAPH_FUZZ_TARGET", target)
        // Inputs are small: handing work to other threads would be most of it.
        .env("RAYON_NUM_THREADS", "1")
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
    let findings: Vec<PathBuf> = files_in(&findings)?.difference(&earlier).cloned().collect();
    if !output.status.success() && findings.is_empty() {
        bail!("the reader failed without an input to blame:\n{text}");
    }
    Ok(Outcome {
        target: target.to_owned(),
        n_executions: executions.unwrap_or(0),
        findings,
        cpu_seconds: cpu_seconds(&text),
    })
}

/// Runs the program that follows, and tells its time on a processor in the end.
const TIMED: &str = r#"TIMEFORMAT='cpu seconds: %U %S'; time "$@""#;

/// The seconds for the program and for the system on its behalf, as [`TIMED`] tells them.
fn cpu_seconds(text: &str) -> f64 {
    let told = text.lines().rev().find_map(|line| line.strip_prefix("cpu seconds: "));
    told.unwrap_or_default().split(' ').filter_map(|word| word.parse::<f64>().ok()).sum()
}

/// What lies in a folder.
fn files_in(folder: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_are_counted_per_second_on_a_processor() {
        assert_eq!(cpu_seconds("stat: 1\ncpu seconds: 1.25 0.75\n"), 2.0);
        let outcome = |target: &str, n_executions, cpu_seconds| Outcome {
            target: target.to_owned(),
            n_executions,
            findings: Vec::new(),
            cpu_seconds,
        };
        let table = table(&[outcome("csv", 300, 2.0), outcome("npz", 100, 0.5)]);
        assert!(table.ends_with("csv | 300 | 150 | 0\nnpz | 100 | 200 | 0\nall | 400 | 160 | 0\n"));
    }
}
