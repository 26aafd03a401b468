//! The paper's failure case of methods that learn a mean path: dX = X dt + 0.01 dW from 0.
//!
//! Half of the paths run away upwards and half downwards, so that their mean stays at 0 and knows nothing of the
//! dynamics. The picture shows the data beside new paths of what each method learned.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::Instant;

use driftgraph_baselines::{OdeMean, OdeMeanSettings};
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::fitted::simulate::{SimulateSettings, Start};
use driftgraph_core::process::brownian::BrownianIncrements;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::process::solver::{Scheme, integrate};
use driftgraph_core::train::fit::fit;
use driftgraph_core::train::observer::{FitObserver, StepReport};
use driftgraph_core::train::select::{SelectEvent, fit_selected};
use driftgraph_core::train::trainer::Trainer;
use driftgraph_core::{SeriesSet, TimeGrid};
use driftgraph_data::fingerprint;
use driftgraph_report::{Band, BandChart, BandMeaning, Panel, bands_svg};
use driftgraph_run::plan::PlannedPosterior;
use driftgraph_systems::{Recipe, generate, registry};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cell::{CellInput, Spent, Store};
use super::origin::{heading, made_by, program};
use super::table::{Spread, shown};
use super::work::resolve_line;
use crate::args::ExperimentArgs;
use crate::cpu_time::cpu_seconds;
use crate::printer;
use crate::progress::interrupted;

const DIFFUSION: f64 = 0.01;
const N_SERIES: usize = 100;
/// From 0 to 5: gaps of 0.1, which are also the steps of both posteriors.
const N_POINTS: usize = 51;
/// New paths of each method.
const N_PATHS: usize = 1000;
/// Paths that are drawn.
const N_DRAWN: usize = 60;

/// What is compared, in the order of the picture.
const METHODS: [Learner; 3] = [Learner::OdeMean, Learner::Simulated, Learner::Bridge];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Learner {
    /// A neural ODE by least squares.
    OdeMean,
    /// The paper's posterior.
    Simulated,
    /// Our default.
    Bridge,
}

impl Learner {
    fn word(self) -> &'static str {
        match self {
            Self::OdeMean => "ode-mean",
            Self::Simulated => "simulated",
            Self::Bridge => "bridge",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::OdeMean => "Neural ODE: mean path, true noise",
            Self::Simulated => "SCOTCH, simulated posterior",
            Self::Bridge => "SCOTCH, bridge posterior (default)",
        }
    }

    /// The same fit as a command; an ODE has none.
    fn command(self, seed: u64, quick: bool) -> Vec<String> {
        let mut line = format!("driftgraph fit DATA --seed {seed}");
        if self == Self::Simulated {
            line.push_str(
                " --preset simulated --learning-rate 0.01 --warmup-steps 20 --kl-warmup-steps 300 \
                 --sparsity 5 --time-unit as-given --step-size 0.1 --embedding-size 8 \
                 --node-width 32 --hidden-size 32 --context-size 16",
            );
        }
        match (self, quick) {
            (_, true) => line.push_str(" --steps 3"),
            (Self::Simulated, false) => line.push_str(" --steps 2000"),
            (_, false) => {}
        }
        line.split_whitespace().map(str::to_owned).collect()
    }
}

/// What a method learned from the data of a seed.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Learned {
    method: String,
    seed: u64,
    driftgraph: String,
    program: String,
    settings: Value,
    spent: Spent,
    /// Probability of the self edge; an ODE has none.
    self_edge: Option<f64>,
    /// Mean slope of the drift over the visited states; the truth is 1.
    slope: f64,
    /// Deviation of the last values of new paths, relative to the data's.
    spread: f64,
    /// Share of new paths that end above 0.
    share_up: f64,
    times: Vec<f64>,
    /// The first of the new paths.
    paths: Vec<Vec<f64>>,
    /// Of an ODE.
    mean_path: Option<Vec<f64>>,
}

pub(super) fn run(args: &ExperimentArgs, store: &Store) -> anyhow::Result<()> {
    let n_seeds = args.seeds.unwrap_or(if args.quick { 1 } else { 5 });
    let mut all = Vec::new();
    for seed in 0..n_seeds {
        let data = data(seed, args.quick)?;
        for learner in METHODS {
            let Some(learned) = find_or_learn(learner, seed, &data, args, store)? else {
                anyhow::bail!("interrupted; the same command goes on from here");
            };
            all.push(learned);
        }
    }
    store.write("bimodal.svg", &picture(&data(0, args.quick)?, &all[..METHODS.len()])?)?;
    let text = format!(
        "{}{}\n{}\n",
        heading(args),
        table(&all),
        made_by(all.iter().map(|learned| learned.program.as_str()))
    );
    store.write("table.md", &text)?;
    store.write("table.csv", &csv(&all))?;
    if args.json {
        let rows: Vec<Value> = all.iter().map(without_paths).collect();
        printer::data(&serde_json::to_string_pretty(&json!({"bimodal": rows}))?)?;
    } else {
        printer::data(&text)?;
    }
    printer::note(&format!("picture and tables are in `{}`", args.out.display()));
    Ok(())
}

fn data(seed: u64, quick: bool) -> anyhow::Result<SeriesSet> {
    let system = registry::build("bimodal", &[("noise", DIFFUSION)], seed)?;
    let n_series = if quick { 12 } else { N_SERIES };
    let recipe = Recipe { n_series, n_points: N_POINTS, ..Recipe::usual(system.as_ref(), seed) };
    Ok(generate(system.as_ref(), &recipe)?.data)
}

fn find_or_learn(
    learner: Learner,
    seed: u64,
    data: &SeriesSet,
    args: &ExperimentArgs,
    store: &Store,
) -> anyhow::Result<Option<Learned>> {
    let line = learner.command(seed, args.quick);
    let ode = OdeMeanSettings {
        hidden_size: 32,
        steps: if args.quick { 20 } else { 2000 },
        learning_rate: 0.003,
        step_size: 0.05,
        seed,
    };
    let settings = match learner {
        Learner::OdeMean => json!({"ode": format!("{ode:?}")}),
        _ => json!({"command": line.join(" ")}),
    };
    let input = CellInput {
        experiment: "bimodal",
        variant: "bimodal",
        method: learner.word(),
        seed,
        fingerprint: &fingerprint(data),
        settings: &settings,
    };
    let key = input.key();
    if let Some(found) = store.find(&key)? {
        return Ok(Some(found));
    }
    printer::note(&format!("{}, seed {seed}", learner.word()));
    let (clock, cpu) = (Instant::now(), cpu_seconds());
    let new = match learner {
        Learner::OdeMean => of_ode(&ode, data)?,
        _ => of_model(&line, seed, data)?,
    };
    if interrupted() {
        return Ok(None);
    }
    let spent = Spent::since(clock, cpu);
    let NewPaths { self_edge, slope, paths, mean_path } = new;
    let times = data.series()[0].times().to_vec();
    let ends: Vec<f64> = paths.iter().map(|path| path[path.len() - 1]).collect();
    let data_ends: Vec<f64> =
        data.series().iter().map(|series| series.values()[series.values().len() - 1]).collect();
    let learned = Learned {
        method: learner.word().to_owned(),
        seed,
        driftgraph: env!("CARGO_PKG_VERSION").to_owned(),
        program: program()?,
        settings: settings.clone(),
        spent,
        self_edge,
        slope,
        spread: deviation(&ends) / deviation(&data_ends),
        share_up: ends.iter().filter(|end| **end > 0.0).count() as f64 / ends.len() as f64,
        times,
        paths: paths.into_iter().take(N_DRAWN).collect(),
        mean_path,
    };
    store.keep_cell(&key, &learned)?;
    Ok(Some(learned))
}

struct NewPaths {
    self_edge: Option<f64>,
    slope: f64,
    paths: Vec<Vec<f64>>,
    mean_path: Option<Vec<f64>>,
}

/// Fits the mean path, and moves new paths by its drift and the true noise, as the paper does.
fn of_ode(settings: &OdeMeanSettings, data: &SeriesSet) -> anyhow::Result<NewPaths> {
    let ode = OdeMean::fit(data, settings)?;
    let times = data.series()[0].times();
    let grid = TimeGrid::new(times, settings.step_size)?;
    let paths = (0..N_PATHS as u64).map(|path| {
        let mut increments = BrownianIncrements::new(settings.seed, path);
        let fill = |step, dt, dw: &mut [f64]| increments.fill(step, dt, dw);
        integrate(&WithNoise(&ode), Scheme::EulerMaruyama, &grid, &[0.0], fill)
    });
    let paths = paths.collect::<Result<Vec<_>, _>>()?;
    let drift = |x: f64| {
        let mut out = [0.0];
        ode.drift(&[x], &mut out);
        out[0]
    };
    let visited: Vec<f64> =
        data.series().iter().flat_map(|series| series.values().to_vec()).collect();
    let slopes = visited.iter().map(|&x| (drift(x + 1e-4) - drift(x - 1e-4)) / 2e-4);
    let slope = slopes.sum::<f64>() / visited.len() as f64;
    let mean_path = Some(ode.path(times)?);
    Ok(NewPaths { self_edge: None, slope, paths, mean_path })
}

/// The drift of an ODE with the noise of the data's system.
struct WithNoise<'a>(&'a OdeMean);

impl DiagonalSde for WithNoise<'_> {
    fn n_variables(&self) -> usize {
        1
    }

    fn drift(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        self.0.drift(state, out);
    }

    fn diffusion(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out[0] = DIFFUSION;
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out[0] = 0.0;
    }
}

/// Fits one of the posteriors, and simulates the learned process.
fn of_model(line: &[String], seed: u64, data: &SeriesSet) -> anyhow::Result<NewPaths> {
    let words: Vec<&str> = line.iter().map(String::as_str).collect();
    let model = match resolve_line(&words)? {
        PlannedPosterior::Simulated(_, settings) => {
            FittedModel::from_fit(fit(data, &settings, &mut UntilInterrupted)?, data)
        }
        PlannedPosterior::Bridge(plan) => {
            let knowledge = plan.knowledge(data)?;
            let observer = |_: &SelectEvent<'_>| until_interrupted();
            let (_, ensemble) = fit_selected(data, &knowledge, &plan.settings, &observer)?;
            FittedModel::from_ensemble(&ensemble, &knowledge, data)
        }
    };
    let times = data.series()[0].times().to_vec();
    let n_times = times.len();
    let start = Start::Values(vec![0.0]);
    let settings =
        SimulateSettings { n_paths: N_PATHS, start, seed, ..SimulateSettings::new(times) };
    let paths = model.simulate(&settings, Some(data), &|_| ())?;
    let edge = &model.edges()[0];
    Ok(NewPaths {
        self_edge: edge.probability,
        slope: edge.effect.unwrap_or(0.0),
        paths: paths.states.chunks(n_times).map(<[f64]>::to_vec).collect(),
        mean_path: None,
    })
}

fn until_interrupted() -> ControlFlow<()> {
    if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

struct UntilInterrupted;

impl FitObserver for UntilInterrupted {
    fn step(&mut self, _: &StepReport, _: &Trainer) -> ControlFlow<()> {
        until_interrupted()
    }
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

fn picture(data: &SeriesSet, learned: &[Learned]) -> anyhow::Result<String> {
    let drawn = |times: &[f64], values: &[f64]| -> Vec<(f64, f64)> {
        times.iter().copied().zip(values.iter().copied()).collect()
    };
    let mut panels = vec![Panel {
        name: format!("Data: dX = X dt + {DIFFUSION} dW"),
        paths: (data.series().iter().take(N_DRAWN))
            .map(|series| drawn(series.times(), series.values()))
            .collect(),
        paths_label: "single paths".to_owned(),
        ..Panel::default()
    }];
    for (learner, learned) in METHODS.iter().zip(learned) {
        let mean = learned.mean_path.iter().map(|path| Band {
            label: "Mean path of the ODE".to_owned(),
            times: learned.times.clone(),
            middle: path.clone(),
            ..Band::default()
        });
        panels.push(Panel {
            name: learner.title().to_owned(),
            bands: mean.collect(),
            paths: learned.paths.iter().map(|path| drawn(&learned.times, path)).collect(),
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
        panels,
    })?)
}

fn table(all: &[Learned]) -> String {
    let mut text = "| method | seeds | self edge | mean slope of the drift (truth: 1) | spread of new paths, relative to the data's | share that goes up | CPU s |\n\
                    | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for learner in METHODS {
        let own: Vec<&Learned> =
            all.iter().filter(|learned| learned.method == learner.word()).collect();
        let spread = |value: &dyn Fn(&Learned) -> Option<f64>| {
            let values: Vec<f64> = own.iter().filter_map(|learned| value(learned)).collect();
            shown(Spread::new(&values), own.len())
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            learner.word(),
            own.len(),
            spread(&|learned| learned.self_edge),
            spread(&|learned| Some(learned.slope)),
            spread(&|learned| Some(learned.spread)),
            spread(&|learned| Some(learned.share_up)),
            spread(&|learned| learned.spent.cpu_seconds),
        );
    }
    text
}

fn csv(all: &[Learned]) -> String {
    let mut text = "method,seed,self_edge,slope,spread,share_up,cpu_seconds\n".to_owned();
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for learned in all {
        let Learned { method, seed, slope, spread, share_up, .. } = learned;
        let (self_edge, cpu) = (number(learned.self_edge), number(learned.spent.cpu_seconds));
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
        "cpu_seconds": learned.spent.cpu_seconds,
    })
}
