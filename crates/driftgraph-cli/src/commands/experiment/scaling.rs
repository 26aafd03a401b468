//! Time and memory of a fit against the number of variables, series and times.
//!
//! Every size is measured in a process of its own, since the memory that a process has once held is never told apart
//! again. Data are those of sparse linear systems; what they say does not matter here.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::Mutex;

use anyhow::Context;
use driftgraph_core::SeriesSet;
use driftgraph_core::train::progress::Step;
use driftgraph_data::ReadOptions;
use driftgraph_data::record::MethodRequest;
use driftgraph_methods::FitPlan;
use driftgraph_report::{Band, BandAxes, BandChart, BandMeaning, Panel, bands_svg};
use driftgraph_systems::{Recipe, generate, registry};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::cell::{Cost, Store, Tables, Watch, cell_key};
use super::origin::{made_by, program};
use super::plan::{BRIDGE, SIMULATED};
use crate::args::ExperimentArgs;
use crate::cpu_time::cpu_seconds;
use crate::peak_memory::{forget_peak, peak_bytes};
use crate::printer;
use crate::progress::interrupted;

/// Where the other sizes stay while one grows: variables, series, times.
const USUAL: [usize; 3] = [10, 10, 100];
const GROWING: [(&str, &[usize]); 3] = [
    ("variables", &[5, 10, 20, 50, 100, 200]),
    ("series", &[1, 10, 100, 1000]),
    ("times", &[100, 1000, 10_000, 100_000]),
];
/// Beyond so many values, the paper's training keeps too much to be measured on a small computer.
const MOST_VALUES_SIMULATED: usize = 1_000_000;

/// What is measured.
const TIMED: [&str; 3] = ["bridge, linear", "bridge, linear + neural", SIMULATED_METHOD];
const SIMULATED_METHOD: &str = "simulated, paper's";

fn plan(method: &str) -> anyhow::Result<FitPlan> {
    let (name, preset, settings) = match method {
        SIMULATED_METHOD => (SIMULATED, Some("paper-lorenz"), json!({"steps": 5})),
        "bridge, linear" => (BRIDGE, None, json!({"select": "none", "ensemble": 1, "steps": 200})),
        _ => {
            let drift = "linear-and-neural";
            (BRIDGE, None, json!({"select": "none", "ensemble": 1, "drift": drift, "steps": 50}))
        }
    };
    let settings = settings.as_object().cloned().unwrap_or_default();
    let (method, preset) = (Some(name.to_owned()), preset.map(str::to_owned));
    Ok(FitPlan::new(MethodRequest { method, preset, settings, ..MethodRequest::default() })?)
}

/// Numbers of variables, series and times, and which method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Size {
    sizes: [usize; 3],
    method: usize,
}

impl Size {
    fn n_values(self) -> usize {
        self.sizes.iter().product()
    }

    fn method(self) -> &'static str {
        TIMED[self.method]
    }
}

impl FromStr for Size {
    type Err = String;

    /// `VARIABLES,SERIES,TIMES,METHOD`, the method by its position.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[variables, series, times, method]) if method < TIMED.len() => {
                Ok(Self { sizes: [variables, series, times], method })
            }
            _ => Err("expected four numbers".to_owned()),
        }
    }
}

/// What one size cost.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Measured {
    #[serde(flatten)]
    size: Size,
    driftgraph: String,
    n_steps: u64,
    /// CPU time of a step of training alone.
    seconds_per_step: Option<f64>,
    /// Preparation, training and the scores of all edges.
    cost: Cost,
    /// Of the data alone, and of everything; `None` where the system does not tell.
    bytes_before: Option<u64>,
    peak_bytes: Option<u64>,
}

impl Measured {
    fn megabytes(&self) -> Option<f64> {
        self.peak_bytes.map(|bytes| bytes as f64 / 1e6)
    }
}

pub(super) fn run(args: &ExperimentArgs, store: &Store) -> anyhow::Result<()> {
    let mut costs: Vec<(&str, Measured)> = Vec::new();
    for (growing, size) in sizes(args.quick) {
        costs.push((growing, find_or_measure(size, args, store)?));
        anyhow::ensure!(!interrupted(), "interrupted; the same command goes on from here");
    }
    for (growing, _) in GROWING {
        let own: Vec<&Measured> =
            costs.iter().filter(|(name, _)| *name == growing).map(|(_, cost)| cost).collect();
        if let Some(picture) = picture(growing, &own)? {
            store.write(&format!("scaling-{growing}.svg"), &picture)?;
        }
    }
    let all: Vec<&Measured> = costs.iter().map(|(_, cost)| cost).collect();
    let programs = all.iter().map(|cost| cost.cost.program.as_str());
    let tables = Tables {
        markdown: table(&costs),
        csv: csv(&costs),
        json: json!({"scaling": all}),
        made_by: made_by(programs),
    };
    store.publish(args, &tables)?;
    printer::note(&format!("pictures and tables are in `{}`", args.out.display()));
    Ok(())
}

/// All sizes with the name of what grows.
fn sizes(quick: bool) -> Vec<(&'static str, Size)> {
    let mut all = Vec::new();
    for (place, (growing, numbers)) in GROWING.into_iter().enumerate() {
        for method in 0..TIMED.len() {
            let numbers = if quick { &numbers[..2] } else { numbers };
            for &number in numbers {
                let mut sizes = if quick { [3, 2, 20] } else { USUAL };
                sizes[place] = number;
                let size = Size { sizes, method };
                if TIMED[method] != SIMULATED_METHOD || size.n_values() < MOST_VALUES_SIMULATED {
                    all.push((growing, size));
                }
            }
        }
    }
    all
}

fn find_or_measure(size: Size, args: &ExperimentArgs, store: &Store) -> anyhow::Result<Measured> {
    let variant = size.sizes.map(|number| number.to_string()).join("-");
    let plan = plan(size.method())?;
    let key = cell_key(["scaling", &variant, size.method()], 0, &plan.settings());
    if let Some(cost) = store.find_cost(&key) {
        return Ok(cost);
    }
    let [variables, series, times] = size.sizes;
    printer::note(&format!(
        "{variables} variables, {series} series, {times} times: {}",
        size.method()
    ));
    let numbers = format!("{variables},{series},{times},{}", size.method);
    let mut child = Command::new(std::env::current_exe().context("cannot find this program")?);
    child.args(["experiment", "scaling", "--one-size", &numbers, "--out"]).arg(&args.out);
    if let Some(jobs) = args.jobs {
        child.args(["--jobs", &jobs.to_string()]);
    }
    let output = child.stderr(Stdio::inherit()).output().context("cannot start this program")?;
    anyhow::ensure!(!interrupted(), "interrupted; the same command goes on from here");
    anyhow::ensure!(output.status.success(), "the measurement ended with {}", output.status);
    let cost: Measured = serde_json::from_slice(&output.stdout).context("an unexpected answer")?;
    store.keep_cost(&key, &cost)?;
    Ok(cost)
}

/// Measures one size in this process and prints what it cost.
pub(super) fn measure_here(size: Size, args: &ExperimentArgs) -> anyhow::Result<()> {
    let data = data(size)?;
    let plan = plan(size.method())?;
    let threads = rayon::ThreadPoolBuilder::new().num_threads(args.jobs.unwrap_or(0));
    let threads = threads.build().context("cannot start the threads")?;
    // What making the data took is not part of it.
    forget_peak();
    let bytes_before = peak_bytes();
    let (watch, steps) = (Watch::start(), Mutex::new(Steps::default()));
    let unharmed = "no thread panics while it holds this lock";
    let follow = |_: &Step<'_>| steps.lock().expect(unharmed).one_more();
    threads.install(|| plan.learn(&data, &follow))?;
    let steps = steps.into_inner().expect(unharmed);
    let command = plan.command(&["DATA".into()], &ReadOptions::default());
    let cost = Measured {
        size,
        driftgraph: env!("CARGO_PKG_VERSION").to_owned(),
        n_steps: steps.n,
        seconds_per_step: steps.seconds_per_step(),
        cost: watch.cost(&program()?, command),
        bytes_before,
        peak_bytes: peak_bytes(),
    };
    printer::data(&serde_json::to_string(&cost)?)?;
    Ok(())
}

/// When the steps of a training began and ended, in CPU seconds.
#[derive(Debug, Default)]
struct Steps {
    first: Option<f64>,
    last: Option<f64>,
    n: u64,
}

impl Steps {
    fn one_more(&mut self) -> ControlFlow<()> {
        let now = cpu_seconds();
        self.first = self.first.or(now);
        self.last = now;
        self.n += 1;
        ControlFlow::Continue(())
    }

    /// From the end of the first step to the end of the last.
    fn seconds_per_step(&self) -> Option<f64> {
        Some((self.last? - self.first?) / (self.n - 1) as f64)
    }
}

fn data(Size { sizes: [variables, series, times], .. }: Size) -> anyhow::Result<SeriesSet> {
    let system = registry::build("linear", &[("variables", variables as f64)], 0)?;
    let recipe = Recipe {
        n_series: series,
        n_points: times,
        time_range: (0.0, 0.1 * (times - 1) as f64),
        ..Recipe::usual(system.as_ref(), 0)
    };
    Ok(generate(system.as_ref(), &recipe)?.data)
}

fn table(costs: &[(&str, Measured)]) -> String {
    let mut text = "| grows | variables | series | times | method | steps | CPU s, all | CPU ms per step | peak memory, MB |\n\
                    | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    let digits = |value: Option<f64>, places: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.places$}"))
    };
    for (growing, cost) in costs {
        let [variables, series, times] = cost.size.sizes;
        let _ = writeln!(
            text,
            "| {growing} | {variables} | {series} | {times} | {} | {} | {} | {} | {} |",
            cost.size.method(),
            cost.n_steps,
            digits(cost.cost.cpu_seconds, 2),
            digits(cost.seconds_per_step.map(|seconds| 1e3 * seconds), 2),
            digits(cost.megabytes(), 0),
        );
    }
    text
}

fn csv(costs: &[(&str, Measured)]) -> String {
    let mut text =
        "grows,variables,series,times,method,steps,cpu_seconds,cpu_seconds_per_step,peak_bytes\n"
            .to_owned();
    for (growing, cost) in costs {
        let [variables, series, times] = cost.size.sizes;
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let (cpu, step) = (number(cost.cost.cpu_seconds), number(cost.seconds_per_step));
        let bytes = cost.peak_bytes.map_or(String::new(), |bytes| bytes.to_string());
        let _ = writeln!(
            text,
            "{growing},{variables},{series},{times},\"{}\",{},{cpu},{step},{bytes}",
            cost.size.method(),
            cost.n_steps
        );
    }
    text
}

/// Time per step and memory, each method a line; nothing where the system tells neither.
fn picture(growing: &str, costs: &[&Measured]) -> anyhow::Result<Option<String>> {
    let place = GROWING.iter().position(|(name, _)| *name == growing).unwrap_or(0);
    let line = |method: usize, value: &dyn Fn(&Measured) -> Option<f64>| {
        let own = costs.iter().filter(|cost| cost.size.method == method);
        let points = own.filter_map(|cost| Some((cost.size.sizes[place] as f64, value(cost)?)));
        let (times, middle): (Vec<f64>, Vec<f64>) = points.unzip();
        Band { label: TIMED[method].to_owned(), times, middle, ..Band::default() }
    };
    let panel = |name: &str, value: &dyn Fn(&Measured) -> Option<f64>| Panel {
        name: name.to_owned(),
        bands: (0..TIMED.len())
            .map(|method| line(method, value))
            .filter(|band| !band.times.is_empty())
            .collect(),
        ..Panel::default()
    };
    let panels = vec![
        panel("CPU seconds per step", &|cost| cost.seconds_per_step),
        panel("Peak memory, MB", &Measured::megabytes),
    ];
    if panels.iter().any(|panel| panel.bands.is_empty()) {
        return Ok(None);
    }
    let others: Vec<String> = (0..3)
        .filter(|idx| *idx != place)
        .map(|idx| format!("{} {}", USUAL[idx], GROWING[idx].0))
        .collect();
    Ok(Some(bands_svg(&BandChart {
        title: format!("Cost against the number of {growing}"),
        subtitle: format!("{}; both axes logarithmic", others.join(", ")),
        time_label: format!("number of {growing}"),
        calendar: None,
        meaning: BandMeaning { middle: "measured", ..BandMeaning::default() },
        is_log: true,
        axes: BandAxes::default(),
        panels,
    })?))
}
