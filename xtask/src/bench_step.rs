//! How fast a training step of the published model is, beside PyTorch in the same run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::bench::{keep_result, show_on_page};
use crate::shell::{cargo, root, run as run_program, say, succeeds, target_dir};

/// Runs of each program, taken in turns; the fastest counts, since other work only slows.
const N_ROUNDS: usize = 3;
/// Loss and gradient norm are sums of a million rounded numbers in different orders.
const AGREEMENT: f64 = 1e-4;
/// What two threads must gain over one, where a step is long enough for two.
const LEAST_GAIN: f64 = 1.6;
/// Highest memory use we promise.
const MOST_MEGABYTES: f64 = 2000.0;

/// A shape of data, with the paper's width of node functions or the published code's wider one.
struct Size {
    name: &'static str,
    shape: &'static str,
    /// Timed steps of our program and of PyTorch.
    n_steps: [&'static str; 2],
    /// How many times faster than PyTorch we promise to be.
    least_ratio: f64,
    /// Whether two threads must be faster than one.
    scales: bool,
}

const SIZES: [Size; 4] = [
    Size {
        name: "small",
        shape: "10 variables, 10 series, 100 steps, width 32",
        n_steps: ["50", "10"],
        least_ratio: 10.0,
        scales: false,
    },
    Size {
        name: "small-wide",
        shape: "the same, width 64",
        n_steps: ["50", "10"],
        least_ratio: 8.0,
        scales: false,
    },
    Size {
        name: "large",
        shape: "100 variables, 46 series, 21 steps, width 200",
        n_steps: ["4", "3"],
        least_ratio: 1.6,
        scales: true,
    },
    Size {
        name: "large-wide",
        shape: "the same, width 400",
        n_steps: ["4", "3"],
        least_ratio: 1.6,
        scales: true,
    },
];

/// The best figures of all rounds.
struct Figures {
    cpu_ms: f64,
    torch_cpu_ms: f64,
    /// CPU time of the busier of two threads.
    busier_cpu_ms: f64,
    /// Wall time with one and two threads.
    wall_ms: [f64; 2],
    megabytes: f64,
    torch_megabytes: f64,
    torch_version: String,
}

impl Figures {
    fn ratio(&self) -> f64 {
        self.torch_cpu_ms / self.cpu_ms
    }

    /// What two threads gain where nothing else runs: how long the busier one works against one alone.
    fn gain(&self) -> f64 {
        self.cpu_ms / self.busier_cpu_ms
    }
}

/// Measures both sizes, keeps and shows the results, then compares them with what we promise.
pub(crate) fn run() -> anyhow::Result<()> {
    let python = python_with_torch()?;
    let build = ["build", "--release", "-p", "driftgraph-core", "--example", "step_speed"];
    run_program("building step_speed", &mut cargo(&build))?;
    let mut results = Vec::new();
    for size in &SIZES {
        results.push((size, measure(size, &python)?));
    }
    let table = table(&results);
    for line in table.lines() {
        say(line);
    }
    keep_result(&root().join("benches/results/step.jsonl"), &dated(&results)?)?;
    show_on_page("step", &format!("{table}\n{}", circumstances(&results)?))?;
    let misses: Vec<String> =
        results.iter().flat_map(|(size, found)| misses(size, found)).collect();
    ensure!(misses.is_empty(), "{}", misses.join("; "));
    Ok(())
}

fn measure(size: &Size, python: &Path) -> anyhow::Result<Figures> {
    let folder = root().join("target/bench-step").join(size.name);
    let [our_steps, torch_steps] = size.n_steps;
    let (mut one, mut two, mut torch) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=N_ROUNDS {
        say(&format!("{}: round {round} of {N_ROUNDS}", size.name));
        let ours = |threads: &str| {
            let mut command = Command::new(program());
            command.args([size.name, "--steps", our_steps, "--threads", threads]);
            result(command.arg("--write").arg(&folder))
        };
        one.push(ours("1")?);
        let script = root().join("benches/scotch_step.py");
        let mut command = Command::new(python);
        torch.push(result(command.arg(script).arg(&folder).args(["--steps", torch_steps]))?);
        two.push(ours("2")?);
        check_agreement(&one[round - 1], &torch[round - 1])?;
    }
    Ok(Figures {
        cpu_ms: least(&one, "cpu_ms")?,
        torch_cpu_ms: least(&torch, "cpu_ms")?,
        busier_cpu_ms: least(&two, "busiest_thread_cpu_ms")?,
        wall_ms: [least(&one, "wall_ms")?, least(&two, "wall_ms")?],
        megabytes: least(&one, "peak_memory_mb")?,
        torch_megabytes: least(&torch, "peak_memory_mb")?,
        torch_version: torch[0]["torch"].as_str().unwrap_or("unknown").to_owned(),
    })
}

/// Runs a program and reads the line of JSON it prints.
pub(crate) fn result(command: &mut Command) -> anyhow::Result<Value> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let problem = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed ({}): {problem}", output.status);
    serde_json::from_slice(&output.stdout).with_context(|| format!("{command:?} printed no JSON"))
}

pub(crate) fn number(result: &Value, name: &str) -> anyhow::Result<f64> {
    result[name].as_f64().with_context(|| format!("no number `{name}` in {result}"))
}

pub(crate) fn least(results: &[Value], name: &str) -> anyhow::Result<f64> {
    let numbers = results.iter().map(|result| number(result, name));
    numbers.collect::<anyhow::Result<Vec<_>>>()?.into_iter().reduce(f64::min).context("no round")
}

/// Speeds compare only when both programs computed the same.
fn check_agreement(ours: &Value, theirs: &Value) -> anyhow::Result<()> {
    for name in ["loss", "gradient_norm"] {
        let (ours, theirs) = (number(ours, name)?, number(theirs, name)?);
        let close = (ours - theirs).abs() <= AGREEMENT * theirs.abs();
        ensure!(close, "{name} differs: ours {ours}, PyTorch {theirs}");
    }
    Ok(())
}

fn misses(size: &Size, found: &Figures) -> Vec<String> {
    let mut misses = Vec::new();
    let (name, ratio, gain) = (size.name, found.ratio(), found.gain());
    if ratio < size.least_ratio {
        misses.push(format!("{name}: {ratio:.2} times as fast, not {}", size.least_ratio));
    }
    if found.megabytes > MOST_MEGABYTES {
        misses.push(format!("{name}: {:.0} MB, above {MOST_MEGABYTES}", found.megabytes));
    }
    if size.scales && gain < LEAST_GAIN {
        misses.push(format!("{name}: two threads gain {gain:.2}, not {LEAST_GAIN}"));
    }
    misses
}

fn table(results: &[(&Size, Figures)]) -> String {
    let row = |(size, found): &(&Size, Figures)| {
        format!(
            "| {} ({}) | {:.0} | {:.0} | {:.1} | {:.2} | {:.0} MB | {:.0} MB |\n",
            size.name,
            size.shape,
            found.cpu_ms,
            found.torch_cpu_ms,
            found.ratio(),
            found.gain(),
            found.megabytes,
            found.torch_megabytes,
        )
    };
    let head = "| size | ours, CPU ms | PyTorch, CPU ms | times as fast | two threads over one | \
                our peak memory | PyTorch's |\n";
    let rows: String = results.iter().map(row).collect();
    format!("{head}| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n{rows}")
}

fn circumstances(results: &[(&Size, Figures)]) -> anyhow::Result<String> {
    let torch = results.first().map_or("unknown", |(_, found)| found.torch_version.as_str());
    let (date, cpu, rustc) = (date(), cpu_model()?, text_of("rustc", &["--version"])?);
    Ok(format!("Measured {date} on one thread of {cpu}, {rustc}, PyTorch {torch}."))
}

fn dated(results: &[(&Size, Figures)]) -> anyhow::Result<Value> {
    let mut sizes = serde_json::Map::new();
    for (size, found) in results {
        let entry = json!({
            "cpu_ms": found.cpu_ms,
            "torch_cpu_ms": found.torch_cpu_ms,
            "times_as_fast": found.ratio(),
            "busier_thread_cpu_ms": found.busier_cpu_ms,
            "wall_ms_one_thread": found.wall_ms[0],
            "wall_ms_two_threads": found.wall_ms[1],
            "two_threads_over_one": found.gain(),
            "peak_memory_mb": found.megabytes,
            "torch_peak_memory_mb": found.torch_megabytes,
        });
        sizes.insert(size.name.into(), entry);
    }
    Ok(json!({
        "date": date(),
        "cpu": cpu_model()?,
        "rustc": text_of("rustc", &["--version"])?,
        "torch": results.first().map(|(_, found)| &found.torch_version),
        "commit": text_of("git", &["describe", "--always", "--dirty"])?,
        "sizes": sizes,
    }))
}

pub(crate) fn date() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

pub(crate) fn cpu_model() -> anyhow::Result<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo")?;
    let model = text.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(':')).context("no CPU model")?.1;
    Ok(model.trim().to_owned())
}

/// What a program prints, without the line's end.
pub(crate) fn text_of(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).current_dir(root()).args(arguments).output()?;
    ensure!(output.status.success(), "{program} failed");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn program() -> PathBuf {
    target_dir().join("release/examples/step_speed")
}

/// A Python of our own with PyTorch, made on first use.
pub(crate) fn python_with_torch() -> anyhow::Result<PathBuf> {
    let folder = root().join("target/bench-venv");
    let python = folder.join("bin/python");
    if !succeeds(Command::new(&python).args(["-c", "import numpy, torch"])) {
        let mut make = Command::new("python3");
        run_program("making a Python environment", make.args(["-m", "venv"]).arg(&folder))?;
        let mut install = Command::new(&python);
        let install = install.args(["-m", "pip", "install", "-q", "numpy", "torch"]);
        run_program("installing PyTorch, about 3 GB", install)?;
    }
    Ok(python)
}
