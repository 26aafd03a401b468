//! Rhino: each row from earlier rows and itself through a sampled graph, with noise that depends on the past.
//!
//! Gong and others (2023), "Rhino: deep causal temporal relationship learning with history-dependent noise", ICLR. Golden
//! numbers of the reference's modules are in `tests/golden`.

mod dual;
#[cfg(test)]
mod golden;
mod graph;
mod messages;
mod model;
mod net;
mod noise;
mod settings;
mod spline;
mod trainer;

use driftgraph_core::fitted::edges::{Direction, LearnedEdge};
use driftgraph_core::train::settings::Setting;
use driftgraph_core::{SeriesSet, Uninformative};
use driftgraph_data::record::{Reached, TrainingRecord};
use serde_json::{Value, json};

use crate::FitPlan;
use crate::constants::Constants;
use crate::lagged_edges::{PairLinks, lagged_edges};
use crate::levels::bytes_of_copies;
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Preset, Takes};
use crate::regular::{COUNTS_ROWS, RegularSeries, regular_series};
use crate::trained::{kept_state, parameter_bytes};
use model::Model;
use settings::RhinoSettings;
use trainer::Trainer;

const NAME: &str = "rhino";
const WITHOUT: &str = "rhino-noinst";

/// Networks of effects, with edges within a row or without.
pub(crate) struct Rhino {
    within: bool,
}

/// With edges within a row.
pub(crate) static WITH_EDGES_WITHIN: Rhino = Rhino { within: true };
/// Without them.
pub(crate) static WITHOUT_EDGES_WITHIN: Rhino = Rhino { within: false };

impl Method for Rhino {
    fn name(&self) -> &'static str {
        if self.within { NAME } else { WITHOUT }
    }

    fn description(&self) -> &'static str {
        if self.within {
            "Rhino: neural effects of earlier rows and within a row through sampled graphs, with noise that depends on the past"
        } else {
            "Rhino without effects within a row: earlier rows alone"
        }
    }

    fn class_name(&self) -> Option<&'static str> {
        (!self.within).then_some("RhinoNoInst")
    }

    fn settings(&self) -> Vec<Setting> {
        settings::table()
    }

    fn presets(&self) -> Vec<Preset> {
        settings::presets(self.within)
    }

    fn takes(&self) -> Takes {
        Takes {
            several_series: Handling::Full,
            irregular_times: COUNTS_ROWS,
            missing_cells: Handling::Instead(
                "leaves out windows with a missing cell, or holds the last value (`gaps`)",
            ),
            prior_edges: false,
            experiments: Handling::AS_VALUES,
        }
    }

    fn is_fast(&self) -> bool {
        false
    }

    fn short_trial(&self) -> Value {
        json!({"rounds": 1, "steps": 5})
    }

    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        let settings = plan.typed::<RhinoSettings>().ok()?.with_within(self.within);
        Some(needed_bytes(&settings, data))
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        learn(task, &task.plan.typed::<RhinoSettings>()?.with_within(self.within))
    }
}

fn needed_bytes(settings: &RhinoSettings, data: &SeriesSet) -> u64 {
    let shape = settings.shape(data.n_variables());
    let (model, _) = Model::new(&shape);
    let double = size_of::<f64>();
    // Windows, those of a batch among them; networks keep all parameters in single precision too, with their gradients.
    let windows = (data.n_rows() + settings.batch_size) * (settings.lags + 1) * data.n_variables();
    let numbers = windows + 3 * model.n_parameters;
    let batch = settings.batch_size.min(data.n_rows()) * model.floats_per_window();
    bytes_of_copies(data, 3)
        + parameter_bytes(model.n_parameters, double)
        + (numbers * double + batch * size_of::<f32>()) as u64
}

fn learn(task: &MethodTask<'_>, settings: &RhinoSettings) -> Result<Learned, MethodError> {
    let data = task.data;
    let series = regular_series(data, settings.gaps);
    let windows = complete_windows(&series, settings.lags);
    let width = (settings.lags + 1) * data.n_variables();
    if windows.len() < 2 * width {
        let reason = format!(
            "{} rows are complete with {} before them, as `lags` {} asks for; at least 2 must be",
            windows.len() / width,
            settings.lags,
            settings.lags
        );
        return Err(MethodError::Unusable { method: settings.name(), reason });
    }
    let mut trainer = Trainer::new(&settings.shape(data.n_variables()), settings, &windows);
    if let Some(state) = kept_state(&trainer, task.progress) {
        trainer.state = state;
    }
    trainer.run(task.progress)?;
    let constants = Constants::of(data);
    let mut learned = Learned::edges(edges(&trainer, &constants, data.n_variables())?);
    let state = &trainer.state;
    // Rounds end when nothing improves: the last step is known only as a bound, and an early end is none.
    let reached = Reached { steps: state.n_steps, of: trainer.end(), in_epochs: false };
    learned.training = TrainingRecord {
        seed: Some(settings.seed),
        reached: Some(reached),
        ..TrainingRecord::default()
    };
    learned.remarks.push(format!("{} rounds, {} steps in all", state.round, state.n_steps));
    constants.tell(&mut learned);
    for (idx, name) in data.variables().iter().enumerate() {
        if let Some(few @ Uninformative::Few { .. }) = Uninformative::of(data, idx) {
            learned.remarks.push(format!("warning: `{name}` {few}: its edges mean little"));
        }
    }
    Ok(learned)
}

/// Rows with all their lags, `[window, time, variable]`, the oldest first.
fn complete_windows(series: &[RegularSeries], lags: usize) -> Vec<f64> {
    let mut windows = Vec::new();
    for series in series {
        for last in lags..series.n_rows() {
            if series.is_complete(last - lags..last + 1) {
                (last - lags..=last).for_each(|row| windows.extend_from_slice(series.row(row)));
            }
        }
    }
    windows
}

/// Edges by their largest probability over all lags.
fn edges(
    trainer: &Trainer<'_>,
    constants: &Constants,
    n: usize,
) -> Result<Vec<LearnedEdge>, MethodError> {
    let by_lag: Vec<Vec<f64>> = (0..=trainer.settings.lags)
        .map(|lag| constants.without(trainer.largest_probability(lag..=lag)))
        .collect();
    let within = &by_lag[0];
    let (mut lagged, mut lags) = (vec![0.0; n * n], vec![None; n * n]);
    for (lag, probabilities) in by_lag.iter().enumerate().skip(1) {
        for (idx, &probability) in probabilities.iter().enumerate() {
            if probability > lagged[idx] {
                (lagged[idx], lags[idx]) = (probability, Some(lag));
            }
        }
    }
    let mut edges = lagged_edges(n, |source, target| {
        let (own, back) = (source * n + target, target * n + source);
        let way = match (within[own] >= 0.5, within[back] >= 0.5) {
            (true, _) => Some(Direction::Forward),
            (false, true) => Some(Direction::Backward),
            (false, false) => None,
        };
        PairLinks {
            score: lagged[own].max(within[own]),
            lagged: lagged[own],
            lag: lags[own],
            is_lagged: lagged[own] >= 0.5,
            within: within[own],
            way,
            effect: None,
            tests: None,
        }
    })?;
    for edge in &mut edges {
        let idx = edge.source * n + edge.target;
        // Its graph says whether, not in which direction of values.
        edge.sign = None;
        edge.probability = Some(edge.score);
        edge.probability_lagged = Some(lagged[idx]);
        edge.probability_instantaneous = trainer.model.shape.within.then_some(within[idx]);
    }
    Ok(edges)
}
