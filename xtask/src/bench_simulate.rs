//! How fast paths of a fitted neural model are simulated, beside PyTorch in the same run.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::bench::{keep_result, show_on_page};
use crate::bench_step::{cpu_model, date, least, python_with_torch, result, text_of};
use crate::shell::{cargo, root, run as run_program, say, target_dir};

/// Runs of each program, taken in turns; the fastest counts, since other work only slows.
const N_ROUNDS: usize = 3;
const N_PATHS: usize = 10_000;
const N_STEPS: usize = 1000;
/// Steps that PyTorch is timed over.
const TIMED_STEPS: usize = 20;
/// Paths whose moments are compared.
const COMPARED_PATHS: usize = 2000;
/// How many times faster than PyTorch we promise to be.
const LEAST_RATIO: f64 = 5.0;

/// Measures both programs, keeps and shows the result, then compares it with what we promise.
pub(crate) fn run() -> anyhow::Result<()> {
    let python = python_with_torch()?;
    let build = ["build", "--release", "-p", "driftgraph-core", "--example", "simulate_speed"];
    run_program("building simulate_speed", &mut cargo(&build))?;
    let folder = root().join("target/bench-simulate");
    compare_moments(&python, &folder)?;
    let (mut ours, mut two, mut torch) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=N_ROUNDS {
        say(&format!("round {round} of {N_ROUNDS}"));
        ours.push(our_result(&folder, N_PATHS, "1")?);
        torch.push(torch_result(&python, &folder, N_PATHS, TIMED_STEPS)?);
        two.push(our_result(&folder, N_PATHS, "2")?);
    }
    let (seconds, torch_seconds) = (least(&ours, "cpu_seconds")?, least(&torch, "cpu_seconds")?);
    let walls = (least(&ours, "wall_seconds")?, least(&two, "wall_seconds")?);
    let ratio = torch_seconds / seconds;
    let table = format!(
        "| 10,000 paths x 1,000 steps | ours | PyTorch | times as fast | ours on two threads, wall |\n\
         | --- | ---: | ---: | ---: | ---: |\n\
         | CPU seconds of one thread | {seconds:.1} | {torch_seconds:.1} | {ratio:.1} | {:.1} |\n",
        walls.1
    );
    table.lines().for_each(say);
    let version = torch[0]["torch"].as_str().unwrap_or("unknown").to_owned();
    let (cpu, rustc) = (cpu_model()?, text_of("rustc", &["--version"])?);
    let line = json!({
        "date": date(),
        "cpu": cpu,
        "rustc": rustc,
        "torch": version,
        "commit": text_of("git", &["describe", "--always", "--dirty"])?,
        "cpu_seconds": seconds,
        "torch_cpu_seconds": torch_seconds,
        "times_as_fast": ratio,
        "wall_seconds_one_thread": walls.0,
        "wall_seconds_two_threads": walls.1,
    });
    keep_result(&root().join("benches/results/simulate.jsonl"), &line)?;
    let measured = format!("Measured {} on {cpu}, {rustc}, PyTorch {version}.", date());
    show_on_page("simulate", &format!("{table}\n{measured}"))?;
    ensure!(ratio >= LEAST_RATIO, "{ratio:.2} times as fast, not {LEAST_RATIO}");
    Ok(())
}

fn our_result(folder: &Path, n_paths: usize, threads: &str) -> anyhow::Result<Value> {
    let mut command = Command::new(target_dir().join("release/examples/simulate_speed"));
    command.args(["--paths", &n_paths.to_string(), "--steps", &N_STEPS.to_string()]);
    result(command.args(["--threads", threads, "--write"]).arg(folder))
}

fn torch_result(
    python: &Path,
    folder: &Path,
    n_paths: usize,
    n_timed: usize,
) -> anyhow::Result<Value> {
    let mut command = Command::new(python);
    command.arg(root().join("benches/simulate_paths.py")).arg(folder);
    command.args(["--paths", &n_paths.to_string(), "--steps", &N_STEPS.to_string()]);
    result(command.args(["--timed", &n_timed.to_string()]))
}

/// Speeds compare only when both programs simulate the same process.
fn compare_moments(python: &Path, folder: &Path) -> anyhow::Result<()> {
    say("comparing moments at the end of whole runs");
    let ours = our_result(folder, COMPARED_PATHS, "1")?;
    let theirs = torch_result(python, folder, COMPARED_PATHS, N_STEPS)?;
    let numbers = |value: &Value, name: &str| -> anyhow::Result<Vec<f64>> {
        let list = value[name].as_array().with_context(|| format!("no list `{name}`"))?;
        Ok(list.iter().filter_map(Value::as_f64).collect())
    };
    let (means, other) = (numbers(&ours, "means")?, numbers(&theirs, "means")?);
    let (deviations, spread) = (numbers(&ours, "deviations")?, numbers(&theirs, "deviations")?);
    ensure!(!means.is_empty() && means.len() == other.len(), "different numbers of variables");
    // Five standard errors of the difference of two means; deviations of laws with heavier tails
    // than the normal one have a few times the error 1 / sqrt(2 n).
    let root_n = (COMPARED_PATHS as f64).sqrt();
    for idx in 0..means.len() {
        let error = 5.0 * deviations[idx].hypot(spread[idx]) / root_n;
        ensure!(
            (means[idx] - other[idx]).abs() < error,
            "mean {idx}: {} {}",
            means[idx],
            other[idx]
        );
        let ratio = deviations[idx] / spread[idx];
        ensure!((ratio - 1.0).abs() < 10.0 / root_n, "deviation {idx}: ratio {ratio}");
    }
    Ok(())
}
