//! The paper's failure case of methods that learn a mean path: dX = X dt + 0.01 dW from 0.
//!
//! Half of the paths run away upwards and half downwards, so that their mean stays at 0 and knows nothing of the
//! dynamics. The picture shows the data beside new paths of what each method learned.

use std::fmt::Write as _;

use anyhow::Context;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_core::fitted::simulate::{SimulateSettings, Start};
use driftgraph_core::process::brownian::BrownianIncrements;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::process::solver::{Scheme, integrate};
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{SeriesSet, TimeGrid};
use driftgraph_data::run_folder::Run;
use driftgraph_methods::FitPlan;
use driftgraph_report::{Band, BandAxes, BandChart, BandMeaning, Panel, bands_svg};
use driftgraph_systems::{Generated, Recipe, generate, registry};
use serde_json::{Value, json};

use super::cell::{CellRun, Cost, Store, Tables, Task};
use super::origin::made_by;
use super::pace::CellProgress;
use super::plan::{BRIDGE, SIMULATED};
use super::sample::Sample;
use super::table::{Spread, shown};
use crate::args::ExperimentArgs;
use crate::printer;

const DIFFUSION: f64 = 0.01;
const N_SERIES: usize = 100;
/// From 0 to 5: gaps of 0.1, which are also the steps of both posteriors.
const N_POINTS: usize = 51;
/// New paths of each method.
const N_PATHS: usize = 1000;
/// Paths that are drawn.
const N_DRAWN: usize = 60;

/// A neural ODE by least squares.
const ODE_MEAN: &str = "ode-mean";
/// What is compared, in the order of the picture, with its title there.
const LEARNERS: [(&str, &str); 3] = [
    (ODE_MEAN, "Neural ODE: mean path, true noise"),
    (SIMULATED, "SCOTCH, simulated posterior"),
    (BRIDGE, "SCOTCH, bridge posterior (default)"),
];

fn plan(method: &str, seed: u64, quick: bool) -> anyhow::Result<FitPlan> {
    let mut settings = match method {
        ODE_MEAN => json!({
            "hidden_size": 32, "steps": 2000, "learning_rate": 0.003, "step_size": ODE_STEP,
        }),
        SIMULATED => json!({
            "learning_rate": 0.01, "warmup_steps": 20, "kl_warmup_steps": 300, "sparsity": 5,
            "time_unit": "as-given", "step_size": 0.1, "embedding_size": 8, "node_width": 32,
            "hidden_size": 32, "context_size": 16, "steps": 2000,
        }),
        _ => json!({}),
    };
    if quick {
        settings["steps"] = if method == ODE_MEAN { 20 } else { 3 }.into();
    }
    settings["seed"] = seed.into();
    Ok(FitPlan::named(method)?.with(settings.as_object().cloned().unwrap_or_default())?)
}

/// Steps of the ODE's solver.
const ODE_STEP: f64 = 0.05;

/// What a method learned from the data of a seed.
#[derive(Debug)]
struct Learned {
    method: &'static str,
    seed: u64,
    cost: Cost,
    /// Probability of the self edge; an ODE has none.
    self_edge: Option<f64>,
    /// Mean slope of the drift over the visited states; the truth is 1.
    slope: f64,
    /// Deviation of the last values of new paths, relative to the data's.
    spread: f64,
    /// Share of new paths that end above 0.
    share_up: f64,
    paths: NewPaths,
}

/// Paths from 0 at the times of the data.
#[derive(Debug)]
struct NewPaths {
    paths: Vec<Vec<f64>>,
    /// Of an ODE.
    mean: Option<Vec<f64>>,
}

pub(super) fn run(args: &ExperimentArgs, store: &Store) -> anyhow::Result<()> {
    let n_seeds = args.seeds.unwrap_or(if args.quick { 1 } else { 5 });
    let mut all = Vec::new();
    let mut first: Option<Sample> = None;
    for seed in 0..n_seeds {
        let sample = data(seed, args.quick, store)?;
        for (method, _) in LEARNERS {
            let plan = plan(method, seed, args.quick)?;
            all.push(learned(method, seed, &sample, &plan, store)?);
        }
        first.get_or_insert(sample);
    }
    let first = first.context("there is at least one seed")?;
    store.write("bimodal.svg", &picture(first.data(), &all[..LEARNERS.len()])?)?;
    let rows: Vec<Value> = all.iter().map(without_paths).collect();
    let tables = Tables {
        markdown: table(&all),
        csv: csv(&all),
        json: json!({"bimodal": rows}),
        made_by: made_by(all.iter().map(|learned| learned.cost.program.as_str())),
    };
    store.publish(args, &tables)?;
    printer::note(&format!("picture and tables are in `{}`", args.out.display()));
    Ok(())
}

fn data(seed: u64, quick: bool, store: &Store) -> anyhow::Result<Sample> {
    let system = registry::build("bimodal", &[("noise", DIFFUSION)], seed)?;
    let n_series = if quick { 12 } else { N_SERIES };
    let recipe = Recipe { n_series, n_points: N_POINTS, ..Recipe::usual(system.as_ref(), seed) };
    let Generated { data, truth, .. } = generate(system.as_ref(), &recipe)?;
    Sample::kept(&data, truth, &store.data_file("bimodal", seed))
}

/// Fits, unless that was done before, and moves new paths by what was learned.
fn learned(
    method: &'static str,
    seed: u64,
    sample: &Sample,
    plan: &FitPlan,
    store: &Store,
) -> anyhow::Result<Learned> {
    let (experiment, variant, self_edges) = ("bimodal", "bimodal", SelfEdges::Kept);
    let task = Task { experiment, variant, method, seed, sample, plan, self_edges };
    let found = store.run(&task, &CellProgress::new(format!("{method}, seed {seed}")))?;
    let CellRun { run, cost, is_new, .. } =
        found.context("interrupted; the same command goes on from here")?;
    if is_new {
        printer::note(&format!("{method}, seed {seed}: {:.1} s", cost.seconds));
    }
    let data = sample.data();
    let paths =
        if method == ODE_MEAN { of_ode(plan, seed, data)? } else { of_model(&run, seed, data)? };
    let ends: Vec<f64> = paths.paths.iter().map(|path| path[path.len() - 1]).collect();
    let data_ends: Vec<f64> =
        data.series().iter().map(|series| series.values()[series.values().len() - 1]).collect();
    let edge = &run.edges()[0];
    Ok(Learned {
        method,
        seed,
        cost,
        self_edge: edge.probability,
        slope: edge.effect.unwrap_or(0.0),
        spread: deviation(&ends) / deviation(&data_ends),
        share_up: ends.iter().filter(|end| **end > 0.0).count() as f64 / ends.len() as f64,
        paths,
    })
}

/// Moves new paths by the drift of the mean path and the true noise, as the paper does.
///
/// A run keeps no process of this kind; to learn it again takes less than a second.
fn of_ode(plan: &FitPlan, seed: u64, data: &SeriesSet) -> anyhow::Result<NewPaths> {
    let process = plan.learn(data, &Silent)?.process.context("an ODE is a process")?;
    let grid = TimeGrid::new(data.series()[0].times(), ODE_STEP)?;
    let paths = (0..N_PATHS as u64).map(|path| {
        let mut increments = BrownianIncrements::new(seed, path);
        let fill = |step, dt, dw: &mut [f64]| increments.fill(step, dt, dw);
        integrate(&WithNoise(process.as_ref()), Scheme::EulerMaruyama, &grid, &[0.0], fill)
    });
    let paths = paths.collect::<Result<Vec<_>, _>>()?;
    let still = |_, _, dw: &mut [f64]| dw.fill(0.0);
    let mean = integrate(process.as_ref(), Scheme::EulerMaruyama, &grid, &[0.0], still)?;
    Ok(NewPaths { paths, mean: Some(mean) })
}

/// The drift of an ODE with the noise of the data's system.
struct WithNoise<'a>(&'a (dyn DiagonalSde + Send + Sync));

impl DiagonalSde for WithNoise<'_> {
    fn n_variables(&self) -> usize {
        1
    }

    fn drift(&self, time: f64, state: &[f64], out: &mut [f64]) {
        self.0.drift(time, state, out);
    }

    fn diffusion(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out[0] = DIFFUSION;
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out[0] = 0.0;
    }
}

/// Simulates the learned process.
fn of_model(run: &Run, seed: u64, data: &SeriesSet) -> anyhow::Result<NewPaths> {
    let times = data.series()[0].times().to_vec();
    let n_times = times.len();
    let start = Start::Values(vec![0.0]);
    let settings =
        SimulateSettings { n_paths: N_PATHS, start, seed, ..SimulateSettings::new(times) };
    let paths = run.model()?.simulate(&settings, Some(data), &|_| ())?;
    Ok(NewPaths { paths: paths.states.chunks(n_times).map(<[f64]>::to_vec).collect(), mean: None })
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

fn picture(data: &SeriesSet, learned: &[Learned]) -> anyhow::Result<String> {
    let drawn = |times: &[f64], values: &[f64]| -> Vec<(f64, f64)> {
        times.iter().copied().zip(values.iter().copied()).collect()
    };
    let times = data.series()[0].times();
    let mut panels = vec![Panel {
        name: format!("Data: dX = X dt + {DIFFUSION} dW"),
        paths: (data.series().iter().take(N_DRAWN))
            .map(|series| drawn(series.times(), series.values()))
            .collect(),
        paths_label: "single paths".to_owned(),
        ..Panel::default()
    }];
    for ((_, title), learned) in LEARNERS.iter().zip(learned) {
        let NewPaths { paths, mean } = &learned.paths;
        let mean = mean.iter().map(|path| Band {
            label: "Mean path of the ODE".to_owned(),
            times: times.to_vec(),
            middle: path.clone(),
            ..Band::default()
        });
        panels.push(Panel {
            name: (*title).to_owned(),
            bands: mean.collect(),
            paths: paths.iter().take(N_DRAWN).map(|path| drawn(times, path)).collect(),
            paths_label: "single paths".to_owned(),
            ..Panel::default()
        });
    }
    Ok(bands_svg(&BandChart {
        title: "A mean path cannot describe what goes two ways".to_owned(),
        subtitle: "the data and new paths of what each method learned; mind the vertical axes"
            .to_owned(),
        time_label: "time".to_owned(),
        calendar: None,
        meaning: BandMeaning { middle: "solution", ..BandMeaning::default() },
        is_log: false,
        axes: BandAxes::default(),
        panels,
    })?)
}

fn table(all: &[Learned]) -> String {
    let mut text = "| method | seeds | self edge | mean slope of the drift (truth: 1) | spread of new paths, relative to the data's | share that goes up | CPU s |\n\
                    | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for (method, _) in LEARNERS {
        let own: Vec<&Learned> = all.iter().filter(|learned| learned.method == method).collect();
        let spread = |value: &dyn Fn(&Learned) -> Option<f64>| {
            let values: Vec<f64> = own.iter().filter_map(|learned| value(learned)).collect();
            shown(Spread::new(&values), own.len())
        };
        let _ = writeln!(
            text,
            "| {method} | {} | {} | {} | {} | {} | {} |",
            own.len(),
            spread(&|learned| learned.self_edge),
            spread(&|learned| Some(learned.slope)),
            spread(&|learned| Some(learned.spread)),
            spread(&|learned| Some(learned.share_up)),
            spread(&|learned| learned.cost.cpu_seconds),
        );
    }
    text
}

fn csv(all: &[Learned]) -> String {
    let mut text = "method,seed,self_edge,slope,spread,share_up,cpu_seconds\n".to_owned();
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for learned in all {
        let Learned { method, seed, slope, spread, share_up, .. } = learned;
        let (self_edge, cpu) = (number(learned.self_edge), number(learned.cost.cpu_seconds));
        let _ = writeln!(text, "{method},{seed},{self_edge},{slope},{spread},{share_up},{cpu}");
    }
    text
}

fn without_paths(learned: &Learned) -> Value {
    json!({
        "method": learned.method,
        "seed": learned.seed,
        "self_edge": learned.self_edge,
        "slope": learned.slope,
        "spread": learned.spread,
        "share_up": learned.share_up,
        "cpu_seconds": learned.cost.cpu_seconds,
    })
}
