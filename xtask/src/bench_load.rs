//! How fast a large table loads, beside pandas' C reader in the same run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::json;

use crate::bench::{keep_result, show_on_page};
use crate::bench_step::{cpu_model, date, text_of};
use crate::shell::{cargo, root, run as run_program, say, succeeds, target_dir};

/// Our time may be this many times that of pandas.
const MOST_TIMES_PANDAS: f64 = 1.0;
/// Our memory may be this many times the eight bytes that each value needs.
const MOST_TIMES_VALUES: f64 = 3.0;
/// Runs of each, taken in turns; the fastest counts, since other work on the machine only slows.
const N_RUNS: usize = 7;

/// Reads with pandas and prints what our own program prints.
const PANDAS: &str = "
import sys, time, pandas
wall, cpu = time.perf_counter(), time.process_time()
table = pandas.read_csv(sys.argv[1], engine='c')
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(f'seconds={wall:.3f} cpu_seconds={cpu:.3f} values={table.shape[0] * (table.shape[1] - 2)} pandas={pandas.__version__}')
";

/// Writes a table of 2 million rows and 10 variables, loads it with both, and compares.
pub(crate) fn run() -> anyhow::Result<()> {
    let python = python_with_pandas()?;
    let build = ["build", "--release", "-p", "driftgraph-data", "--example", "load_speed"];
    run_program("building load_speed", &mut cargo(&build))?;
    let folder = root().join("target/bench-load");
    std::fs::create_dir_all(&folder)?;
    let table = folder.join("wide.csv");
    run_program("writing the table", Command::new(program()).arg("write").arg(&table))?;
    let (mut ours, mut pandas) = (Vec::new(), Vec::new());
    for _ in 0..N_RUNS {
        ours.push(Figures::of(Command::new(program()).arg("load").arg(&table))?);
        pandas.push(Figures::of(Command::new(&python).args(["-c", PANDAS]).arg(&table))?);
    }
    let megabytes = table.metadata()?.len() as f64 / 1e6;
    std::fs::remove_file(&table)?;
    compare(&ours, &pandas, megabytes)
}

fn compare(ours: &[Figures], pandas: &[Figures], megabytes: f64) -> anyhow::Result<()> {
    let fastest = |runs: &[Figures], name| {
        runs.iter().filter_map(|run| run.get(name)).reduce(f64::min).context("a figure is missing")
    };
    let mut table = format!(
        "| {megabytes:.0} MB, 2 million rows x 10 | ours | pandas | ratio |\n| --- | ---: | ---: | ---: |\n"
    );
    let mut ratios = Vec::new();
    for (name, what) in [("seconds", "seconds"), ("cpu_seconds", "CPU seconds")] {
        let (we, they) = (fastest(ours, name)?, fastest(pandas, name)?);
        ratios.push(we / they);
        writeln!(table, "| {what} | {we:.2} | {they:.2} | {:.2} |", we / they)?;
    }
    let (peak, n_values) = (fastest(ours, "peak_bytes")?, fastest(ours, "values")?);
    ensure!(n_values == fastest(pandas, "values")?, "the two read different numbers of values");
    let memory = peak / (8.0 * n_values);
    let (cpu, rustc) = (cpu_model()?, text_of("rustc", &["--version"])?);
    let cores = std::thread::available_parallelism()?;
    let text = format!(
        "{table}\nPeak memory {:.0} MB, {memory:.2} times the values. Measured {} on {cores} cores of {cpu}, {rustc}, pandas {}; the fastest of {N_RUNS} runs of each.",
        peak / 1e6,
        date(),
        pandas[0].word("pandas").context("a version is missing")?
    );
    text.lines().for_each(say);
    let figures = json!({
        "date": date(), "cpu": cpu, "cores": cores, "rustc": rustc, "megabytes": megabytes,
        "commit": text_of("git", &["describe", "--always", "--dirty"])?,
        "ours": [fastest(ours, "seconds")?, fastest(ours, "cpu_seconds")?],
        "pandas": [fastest(pandas, "seconds")?, fastest(pandas, "cpu_seconds")?],
        "peak_bytes": peak, "values": n_values,
    });
    keep_result(&root().join("benches/results/load.jsonl"), &figures)?;
    show_on_page("load", &text)?;
    ensure!(ratios[0] <= MOST_TIMES_PANDAS, "slower than {MOST_TIMES_PANDAS} times pandas");
    ensure!(memory <= MOST_TIMES_VALUES, "more than {MOST_TIMES_VALUES} times the values");
    Ok(())
}

/// What a program measured of itself, as `name=number` words.
struct Figures(String);

impl Figures {
    fn of(command: &mut Command) -> anyhow::Result<Self> {
        let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
        let problem = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command:?} failed: {problem}");
        Ok(Self(String::from_utf8(output.stdout)?))
    }

    fn get(&self, name: &str) -> Option<f64> {
        self.word(name)?.parse().ok()
    }

    fn word(&self, name: &str) -> Option<&str> {
        let mut words = self.0.split_whitespace().filter_map(|word| word.split_once('='));
        Some(words.find(|(word, _)| *word == name)?.1)
    }
}

fn program() -> PathBuf {
    target_dir().join("release/examples/load_speed")
}

/// A Python of our own with pandas, made on first use.
fn python_with_pandas() -> anyhow::Result<PathBuf> {
    let folder = root().join("target/bench-venv");
    let python = folder.join("bin/python");
    let has_pandas = |python: &Path| succeeds(Command::new(python).args(["-c", "import pandas"]));
    if !has_pandas(&python) {
        let mut make = Command::new("python3");
        run_program("making a Python environment", make.args(["-m", "venv"]).arg(&folder))?;
        let mut install = Command::new(&python);
        run_program("installing pandas", install.args(["-m", "pip", "install", "-q", "pandas"]))?;
    }
    Ok(python)
}
