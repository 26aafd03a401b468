//! What sweeps lose to sharing: many short shards on two processes, and claims from a folder with many shards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};

use crate::bench::show_on_page;
use crate::shell::{cargo, files_below, root, run as run_program, say, target_dir};

/// Shards, and processes that make them.
const N_SHARDS: usize = 200;
const N_PROCESSES: usize = 2;
/// Share of the time of all processes that may be spent on anything but shards.
const MOST_LOST: f64 = 0.05;
/// Seconds of a claim at most.
const LONGEST_CLAIM: f64 = 1.0;
/// Steps of the trial that says how many make a second.
const TRIAL_STEPS: f64 = 200.0;

/// Measures both, and shows them on the page of speeds.
pub(crate) fn run() -> anyhow::Result<()> {
    for target in [
        ["-p", "driftgraph-cli", "--bin", "driftgraph"],
        ["-p", "driftgraph-sweep", "--example", "claim_speed"],
    ] {
        let mut build = cargo(&["build", "--release"]);
        run_program("building", build.args(target))?;
    }
    let folder = root().join("target/bench-sweep");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let lost = shards(&folder)?;
    let claims = claims(&folder)?;
    show_on_page("sweep", &format!("{}\n{}", lost.text, claims.text))?;
    fs::remove_dir_all(&folder)?;
    ensure!(lost.value < MOST_LOST, "more than {MOST_LOST} of the time was lost");
    ensure!(claims.value < LONGEST_CLAIM, "a claim took longer than {LONGEST_CLAIM} s");
    Ok(())
}

/// A figure and the sentence it stands in.
struct Figure {
    value: f64,
    text: String,
}

fn release(name: &str) -> PathBuf {
    target_dir().join("release").join(name)
}

fn driftgraph(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(release("driftgraph"));
    command.current_dir(folder).args(line.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Shards of about a second on two processes: the time that was not spent on making them is lost.
fn shards(folder: &Path) -> anyhow::Result<Figure> {
    let generate = "generate linear --set variables=6 --series 12 --points 30 --out .";
    run_program("making data", &mut driftgraph(folder, generate))?;
    plan(folder, "trial", TRIAL_STEPS, 2)?;
    run_program("a trial", &mut driftgraph(folder, "sweep run trial --threads 1"))?;
    let steps = TRIAL_STEPS * 2.0 / seconds_of_shards(&folder.join("trial"))?;
    plan(folder, "sweep", steps.ceil(), N_SHARDS)?;
    say(&format!("{N_SHARDS} shards of about a second on {N_PROCESSES} processes"));
    let begin = Instant::now();
    let workers =
        (0..N_PROCESSES).map(|_| driftgraph(folder, "sweep run sweep --threads 1").spawn());
    for mut worker in workers.collect::<Result<Vec<_>, _>>()? {
        ensure!(worker.wait()?.success(), "a worker failed");
    }
    let wall = begin.elapsed().as_secs_f64();
    let made = seconds_of_shards(&folder.join("sweep"))?;
    let ideal = made / N_PROCESSES as f64;
    let value = 1.0 - ideal / wall;
    let text = format!(
        "{N_SHARDS} shards of {:.2} s each on {N_PROCESSES} processes: {wall:.1} s, {:.1} % more than none of it lost ({ideal:.1} s).",
        made / N_SHARDS as f64,
        100.0 * (wall / ideal - 1.0)
    );
    say(&text);
    Ok(Figure { value, text })
}

fn plan(folder: &Path, name: &str, steps: f64, bootstrap: usize) -> anyhow::Result<()> {
    let text = format!(
        "data = [\"data.csv\"]\nmethods = [\"simulated\"]\nbootstrap = {bootstrap}\n[simulated]\nsteps = {steps}\nhidden_size = 16\n"
    );
    fs::write(folder.join("plan.toml"), text)?;
    run_program("planning", &mut driftgraph(folder, &format!("sweep plan plan.toml --out {name}")))
}

/// What the journals of all workers say.
fn seconds_of_shards(sweep: &Path) -> anyhow::Result<f64> {
    let mut sum = 0.0;
    for journal in files_below(&sweep.join("workers"), "jsonl")? {
        for line in fs::read_to_string(journal)?.lines() {
            let line: serde_json::Value = serde_json::from_str(line)?;
            sum += line["seconds"].as_f64().context("a shard without seconds")?;
        }
    }
    Ok(sum)
}

/// Claims from a folder of 100,000 shards.
fn claims(folder: &Path) -> anyhow::Result<Figure> {
    let mut program = Command::new(release("examples/claim_speed"));
    let output = program.arg(folder.join("many")).output().context("cannot start claim_speed")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout)?;
    let figure = |name: &str| {
        let mut words = told.split_whitespace().filter_map(|word| word.split_once('='));
        let found = words.find(|(word, _)| *word == name).map(|(_, number)| number.parse::<f64>());
        found.and_then(Result::ok).with_context(|| format!("no figure `{name}`"))
    };
    let (first, longest, mean) =
        (figure("first_claim")?, figure("longest_claim")?, figure("mean_claim")?);
    let text = format!(
        "Claims from a folder of 100,000 shards, 99,000 of them done: the first, with the one listing of the folder, {first:.3} s; \
         later ones {:.2} ms in the mean and {:.2} ms at most. Opening the sweep takes {:.2} s.",
        1e3 * mean,
        1e3 * longest,
        figure("open")?
    );
    say(&text);
    Ok(Figure { value: first.max(longest), text })
}
