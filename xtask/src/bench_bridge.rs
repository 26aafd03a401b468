//! How fast the bridge posterior trains: beside PyTorch, on long series, and towards a good graph.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Map, Value, json};

use crate::bench::{keep_result, show_on_page};
use crate::bench_bridge_large;
use crate::bench_step::{cpu_model, date, least, number, python_with_torch, result, text_of};
use crate::shell::{cargo, root, run as run_program, say, target_dir};

/// Runs of each program, taken in turns; the fastest counts, since other work only slows.
const N_ROUNDS: usize = 3;
/// A step on series of 100,000 points may take this many times one on series of 100.
const MOST_LENGTH_RATIO: f64 = 1.2;
/// CPU seconds until the ranking of Ecoli1's edges is within 0.01 of its last.
const MOST_TRUTH_SECONDS: f64 = 5.0;

/// A model and what we promise of its training step.
struct Case {
    name: &'static str,
    shape: &'static str,
    /// How many times faster than PyTorch in double precision we promise to be.
    least_ratio: f64,
    /// Relative differences of terms and gradient norm that rounding explains: our node functions are
    /// single precision, everything else is double.
    agreement: f64,
}

const CASES: [Case; 2] = [
    Case {
        name: "linear",
        shape: "100 variables, 46 series x 21 points",
        least_ratio: 2.0,
        agreement: 1e-9,
    },
    Case {
        name: "neural",
        shape: "linear and neural drift, 10 variables, 10 series x 100 points, width 32",
        least_ratio: 5.0,
        agreement: 1e-4,
    },
];

/// Everything measured: rows of the page, numbers to keep, and promises that were missed.
#[derive(Default)]
pub(crate) struct Findings {
    table: String,
    pub(crate) kept: Map<String, Value>,
    pub(crate) misses: Vec<String>,
}

impl Findings {
    pub(crate) fn show(&mut self, text: &str) {
        self.table.push_str(text);
    }

    pub(crate) fn promise(&mut self, kept: bool, miss: String) {
        if !kept {
            self.misses.push(miss);
        }
    }

    /// Keeps and shows everything, then fails if a promise was missed.
    pub(crate) fn finish(mut self, section: &str, circumstances: &str) -> anyhow::Result<()> {
        self.table.lines().for_each(say);
        for (name, value) in [
            ("date", date()),
            ("cpu", cpu_model()?),
            ("rustc", text_of("rustc", &["--version"])?),
            ("commit", text_of("git", &["describe", "--always", "--dirty"])?),
        ] {
            self.kept.insert(name.into(), value.into());
        }
        let file = root().join(format!("benches/results/{section}.jsonl"));
        keep_result(&file, &Value::Object(self.kept))?;
        show_on_page(section, &format!("{}\n{circumstances}", self.table))?;
        ensure!(self.misses.is_empty(), "{}", self.misses.join("; "));
        Ok(())
    }
}

/// Measures everything short, or with `large` the two whole fits that take minutes.
pub(crate) fn run(large: bool) -> anyhow::Result<()> {
    if large {
        return bench_bridge_large::run();
    }
    let python = python_with_torch()?;
    let build = ["build", "--release", "-p", "driftgraph-core", "--example", "bridge_speed"];
    run_program("building bridge_speed", &mut cargo(&build))?;
    let mut findings = Findings::default();
    let version = compare_steps(&python, &mut findings)?;
    compare_lengths(&mut findings)?;
    time_to_truth(&mut findings)?;
    let (cpu, rustc) = (cpu_model()?, text_of("rustc", &["--version"])?);
    let circumstances = format!("Measured {} on {cpu}, {rustc}, PyTorch {version}.", date());
    findings.finish("bridge", &circumstances)
}

fn ours(arguments: &[&str]) -> Command {
    let mut command = Command::new(target_dir().join("release/examples/bridge_speed"));
    command.args(arguments);
    command
}

/// One training step of both engines; returns PyTorch's version.
fn compare_steps(python: &Path, findings: &mut Findings) -> anyhow::Result<String> {
    findings.show(
        "| one training step, CPU ms | ours | PyTorch, double | PyTorch, single | times as fast (as single) |\n\
         | --- | ---: | ---: | ---: | ---: |\n",
    );
    let mut version = String::new();
    for case in &CASES {
        let folder = root().join("target/bench-bridge").join(case.name);
        let (mut own, mut double, mut single) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=N_ROUNDS {
            say(&format!("{}: round {round} of {N_ROUNDS}", case.name));
            own.push(result(ours(&[case.name, "--steps", "200", "--write"]).arg(&folder))?);
            let torch = |options: &[&str]| {
                let mut command = Command::new(python);
                command.arg(root().join("benches/bridge_step.py")).arg(&folder);
                result(command.args(["--steps", "60"]).args(options))
            };
            double.push(torch(&[])?);
            single.push(torch(&["--single"])?);
            check_agreement(case, &own[round - 1], &double[round - 1])?;
        }
        let [cpu, wide, narrow] =
            [least(&own, "cpu_ms")?, least(&double, "cpu_ms")?, least(&single, "cpu_ms")?];
        let (ratio, single_ratio) = (wide / cpu, narrow / cpu);
        let (name, shape) = (case.name, case.shape);
        findings.show(&format!(
            "| {name} ({shape}) | {cpu:.2} | {wide:.2} | {narrow:.2} | {ratio:.1} ({single_ratio:.1}) |\n"
        ));
        let entry = json!({
            "cpu_ms": cpu,
            "torch_double_cpu_ms": wide,
            "torch_single_cpu_ms": narrow,
            "times_as_fast": ratio,
            "times_as_fast_as_single": single_ratio,
        });
        findings.kept.insert(name.into(), entry);
        let miss = format!("{name}: {ratio:.2} times as fast, not {}", case.least_ratio);
        findings.promise(ratio >= case.least_ratio, miss);
        double[0]["torch"].as_str().unwrap_or("unknown").clone_into(&mut version);
    }
    findings.kept.insert("torch".into(), version.clone().into());
    Ok(version)
}

/// Speeds compare only when both programs computed the same.
fn check_agreement(case: &Case, ours: &Value, theirs: &Value) -> anyhow::Result<()> {
    for name in ["log_likelihood", "initial_kl", "path_kl", "graph_kl", "gradient_norm"] {
        let (ours, theirs) = (number(ours, name)?, number(theirs, name)?);
        let close = (ours - theirs).abs() <= case.agreement * theirs.abs();
        ensure!(close, "{}: {name} differs: ours {ours}, PyTorch {theirs}", case.name);
    }
    Ok(())
}

/// The same batch size on short and on long series.
fn compare_lengths(findings: &mut Findings) -> anyhow::Result<()> {
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for round in 1..=N_ROUNDS {
        say(&format!("length: round {round} of {N_ROUNDS}"));
        short.push(result(&mut ours(&["length", "100", "--steps", "1000"]))?);
        long.push(result(&mut ours(&["length", "100000", "--steps", "1000"]))?);
    }
    let (short, long) = (least(&short, "cpu_ms")?, least(&long, "cpu_ms")?);
    let ratio = long / short;
    findings.show(&format!(
        "\n| one training step of 1,200 steps x 10 variables | series of 100 points | of 100,000 | ratio |\n\
         | --- | ---: | ---: | ---: |\n\
         | CPU ms | {short:.2} | {long:.2} | {ratio:.2} |\n"
    ));
    let entry = json!({ "short_cpu_ms": short, "long_cpu_ms": long, "ratio": ratio });
    findings.kept.insert("length".into(), entry);
    let miss = format!("long series take {ratio:.2} times as long, above {MOST_LENGTH_RATIO}");
    findings.promise(ratio <= MOST_LENGTH_RATIO, miss);
    Ok(())
}

/// Where the benchmark's data are: `DRIFTGRAPH_DATA`, or `../shared/data` beside the workspace.
fn benchmark_data() -> PathBuf {
    std::env::var_os("DRIFTGRAPH_DATA").map_or_else(|| root().join("../shared/data"), PathBuf::from)
}

/// How soon a fixed linear fit of Ecoli1 ranks its edges as well as at the end.
fn time_to_truth(findings: &mut Findings) -> anyhow::Result<()> {
    let folder = benchmark_data().join("dream3/size100");
    let (data, truth) = (folder.join("Ecoli1.csv"), folder.join("Ecoli1.truth.csv"));
    if !data.is_file() {
        say(&format!("skipped Ecoli1: no {}; set DRIFTGRAPH_DATA", data.display()));
        findings.show("\nDREAM3 Ecoli1 was skipped: its data were not there.\n");
        return Ok(());
    }
    let mut rounds = Vec::new();
    for round in 1..=N_ROUNDS {
        say(&format!("Ecoli1: round {round} of {N_ROUNDS}"));
        rounds.push(result(ours(&["truth"]).arg(&data).arg(&truth))?);
    }
    let seconds = least(&rounds, "cpu_seconds_until_close")?;
    let whole = least(&rounds, "cpu_seconds")?;
    let first = rounds.first().context("no round")?;
    let (auroc, steps) = (number(first, "last_auroc")?, number(first, "steps")?);
    findings.show(&format!(
        "\n| DREAM3 Ecoli1, one linear fit | until AUROC stays within 0.01 of its last | whole fit |\n\
         | --- | ---: | ---: |\n\
         | CPU seconds ({steps:.0} steps, last AUROC {auroc:.3}) | {seconds:.1} | {whole:.1} |\n"
    ));
    let entry = json!({ "cpu_seconds_until_close": seconds, "cpu_seconds": whole, "auroc": auroc });
    findings.kept.insert("ecoli1".into(), entry);
    let miss = format!("Ecoli1: {seconds:.1} CPU seconds, above {MOST_TRUTH_SECONDS}");
    findings.promise(seconds <= MOST_TRUTH_SECONDS, miss);
    Ok(())
}
