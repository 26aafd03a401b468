//! LSDE: a latent stochastic differential equation with a network per variable, read off its first layers.
//!
//! Li, Wong, Chen and Duvenaud (2020), "Scalable gradients for stochastic differential equations", AISTATS, as the SCOTCH
//! paper compares with it: no graph and no penalty, an edge is as strong as the weights through which a variable enters.
//! There is no public code of that comparison; sizes and noise are our reading. Golden numbers are in `tests/golden`.

#[cfg(test)]
mod golden;
mod model;
mod nets;
mod trainer;

use driftgraph_core::paths::{EncoderInput, PlannedSeries, StepGrid};
use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_core::train::time::{TimeScaling, TimeUnit};
use driftgraph_core::{CoreError, EdgeScores, SeriesSet, Standardizer};
use serde_json::json;

use crate::FitPlan;
use crate::constants::Constants;
use crate::levels::bytes_of_copies;
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Preset, Takes};
use crate::settings::row;
use crate::trained::{kept_state, parameter_bytes};
use model::{Model, Sizes};
use trainer::Trainer;

const NAME: &str = "lsde";

/// A latent stochastic differential equation.
pub(crate) struct Lsde;

const SIZE: Range = Range::Number { min: 1.0, max: 65536.0, above: false };
const POSITIVE: Range = Range::Number { min: 0.0, max: f64::MAX, above: true };

#[rustfmt::skip]
const SETTINGS: [Setting; 14] = [
    row("steps", "5000", Range::Number { min: 1.0, max: 1e9, above: false }, "steps of Adam, each on all series"),
    row("learning_rate", "0.003", Range::Number { min: 0.0, max: 1.0, above: true }, "learning rate of Adam at the start"),
    row("rate_decay", "1", Range::Number { min: 0.0, max: 1.0, above: true }, "factor of the learning rate after each step"),
    row("kl_warmup_steps", "1000", Range::Number { min: 0.0, max: 1e9, above: false }, "steps over which the divergences from the prior rise to full weight"),
    row("noise_scale", "0.1", POSITIVE, "deviation of the normal observation noise"),
    row("units", "20", SIZE, "hidden units of each variable's drift and diffusion"),
    row("hidden_size", "64", SIZE, "width of the encoder and of the posterior drift"),
    row("context_size", "32", SIZE, "numbers that the encoder gives of a row"),
    row("standardize", "true", Range::YesNo, "scale each variable to mean 0 and deviation 1"),
    row("time_unit", "median-gap", Range::Choice(&["as-given", "median-gap"]), "the model's unit of time: the data's, or the median gap between rows"),
    row("time_span", "none", POSITIVE, "length of the whole time range in the model's units"),
    row("step_size", "1.0", POSITIVE, "longest solver step, in the model's units of time"),
    row("encoder_input", "auto", Range::Choice(&["auto", "values", "values-mask-gap"]), "what the encoder is told of a row; auto adds holes and gaps where there are any"),
    row("seed", "0", Range::Any, "decides initial weights and paths"),
];

impl Method for Lsde {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "LSDE: a latent stochastic differential equation without a graph, read off its first layers"
    }

    fn class_name(&self) -> Option<&'static str> {
        Some("LSDE")
    }

    fn settings(&self) -> Vec<Setting> {
        SETTINGS.to_vec()
    }

    fn presets(&self) -> Vec<Preset> {
        vec![
            Preset::new(
                NAME,
                "our reading for any data: standardised, time in median gaps",
                &json!({}),
            ),
            Preset::new(
                "lsde-dream3",
                "the SCOTCH paper's clock, solver step and learning rate for DREAM3, on standardised data",
                &json!({"time_span": 1.05, "step_size": 0.05, "learning_rate": 0.001}),
            ),
            Preset::new(
                "lsde-li",
                "the published example of Li et al. (2020) for Lorenz: its rates, sizes, noise and solver step",
                &json!({"learning_rate": 0.01, "rate_decay": 0.997, "noise_scale": 0.01, "units": 100, "hidden_size": 128, "context_size": 64, "time_unit": "as-given", "step_size": 0.01}),
            ),
        ]
    }

    fn takes(&self) -> Takes {
        Takes {
            several_series: Handling::Full,
            irregular_times: Handling::Full,
            missing_cells: Handling::Instead(
                "leaves them out of the likelihood, and tells the encoder which they are",
            ),
            prior_edges: false,
            experiments: Handling::AS_VALUES,
        }
    }

    fn is_fast(&self) -> bool {
        false
    }

    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        needed_bytes(&plan.typed().ok()?, data)
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        learn(task, &task.plan.typed()?)
    }
}

/// What the encoder is told of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Told {
    Auto,
    Values,
    ValuesMaskGap,
}

/// How the process is learned.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
struct LsdeSettings {
    steps: u64,
    learning_rate: f64,
    rate_decay: f64,
    kl_warmup_steps: u64,
    noise_scale: f64,
    units: usize,
    hidden_size: usize,
    context_size: usize,
    standardize: bool,
    time_unit: TimeUnit,
    time_span: Option<f64>,
    step_size: f64,
    encoder_input: Told,
    seed: u64,
}

impl LsdeSettings {
    fn rate(&self, step: u64) -> f64 {
        self.learning_rate * self.rate_decay.powf(step as f64)
    }

    fn encoder_input(&self, data: &SeriesSet) -> EncoderInput {
        match self.encoder_input {
            Told::Values => EncoderInput::Values,
            Told::Auto if is_plain(data) => EncoderInput::Values,
            Told::ValuesMaskGap | Told::Auto => EncoderInput::ValuesMaskGap,
        }
    }

    fn sizes(&self, n_variables: usize, input: EncoderInput) -> Sizes {
        Sizes {
            n_variables,
            n_inputs: input.n_inputs(n_variables),
            n_units: self.units,
            n_hidden: self.hidden_size,
            n_context: self.context_size,
        }
    }
}

/// Whether every cell has a value and all gaps are equal, up to rounding of the times.
fn is_plain(data: &SeriesSet) -> bool {
    let gaps = || {
        let windows = data.series().iter().flat_map(|series| series.times().windows(2));
        windows.map(|pair| pair[1] - pair[0])
    };
    let (least, most) = (gaps().fold(f64::INFINITY, f64::min), gaps().fold(0.0, f64::max));
    let is_complete =
        data.series().iter().all(|series| series.values().iter().all(|value| !value.is_nan()));
    is_complete && most <= least * (1.0 + 1e-6)
}

fn needed_bytes(settings: &LsdeSettings, data: &SeriesSet) -> Option<u64> {
    let (d, single) = (data.n_variables(), size_of::<f32>());
    let input = settings.encoder_input(data);
    let series = planned(data, settings, input).ok()?;
    let n_steps: usize = series.iter().map(PlannedSeries::n_steps).sum();
    let (_, table) = Model::new(settings.sizes(d, input));
    // Units, slopes and adjoints of both layers of the drift and the one of the diffusion; those of the posterior; states,
    // increments, drifts and adjoints.
    let step = 9 * d * settings.units + 8 * settings.hidden_size + 14 * d;
    // Inputs, gates and states of the encoder, contexts and their share of the posterior drift, with adjoints.
    let row = 3 * input.n_inputs(d) + 12 * settings.hidden_size + 3 * settings.context_size;
    let work = (n_steps * step + data.n_rows() * row) * single;
    Some(bytes_of_copies(data, 3) + parameter_bytes(table.len(), single) + work as u64)
}

fn learn(task: &MethodTask<'_>, settings: &LsdeSettings) -> Result<Learned, MethodError> {
    let n_steps: usize = task.data.series().iter().map(|series| series.times().len() - 1).sum();
    if n_steps < 2 {
        return Err(MethodError::TooFewSteps { found: n_steps, needed: 2 });
    }
    let input = settings.encoder_input(task.data);
    let series = planned(task.data, settings, input)?;
    let sizes = settings.sizes(task.data.n_variables(), input);
    let mut trainer: Trainer<'_, f32> = Trainer::new(settings, &series, sizes);
    if let Some(state) = kept_state(&trainer, task.progress) {
        trainer.state = state;
    }
    trainer.run(task.progress)?;
    let constants = Constants::of(task.data);
    let scores = constants.without(trainer.scores());
    let scores = EdgeScores::from_matrix(sizes.n_variables, scores)?;
    let mut learned = Learned::scores(&scores).trained(settings.seed, trainer.reached());
    constants.tell(&mut learned);
    if input == EncoderInput::ValuesMaskGap && settings.encoder_input == Told::Auto {
        let told = "the encoder is told of holes and gaps, which the original has no input for";
        learned.remarks.push(told.to_owned());
    }
    Ok(learned)
}

/// Series with their solver steps, in the model's units.
fn planned(
    data: &SeriesSet,
    settings: &LsdeSettings,
    input: EncoderInput,
) -> Result<Vec<PlannedSeries<f32>>, CoreError> {
    let standard = settings.standardize.then(|| Standardizer::fit(data).apply(data));
    let data = standard.as_ref().unwrap_or(data);
    let clock = TimeScaling::new(data, settings.time_unit, settings.time_span);
    let plan = |series| {
        PlannedSeries::new(&clock.apply_to(series)?, StepGrid::Exact, settings.step_size, input)
    };
    data.series().iter().map(plan).collect()
}
