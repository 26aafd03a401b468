//! NGM: a neural differential equation whose weights from variables that do not matter vanish in groups.
//!
//! Bellot, Branson and van der Schaar (2022), "Neural graphical modelling in continuous-time: consistency guarantees and
//! algorithms", ICLR. Golden numbers of the reference are in `tests/golden`.

#[cfg(test)]
mod golden;
mod network;
mod trainer;
mod windows;

use driftgraph_core::layers::ParameterTable;
use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_core::{EdgeScores, SeriesSet, Standardizer};
use driftgraph_data::record::Reached;
use serde_json::json;

use crate::FitPlan;
use crate::constants::Constants;
use crate::levels::bytes_of_copies;
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Preset, Takes};
use crate::settings::row;
use crate::trained::{kept_state, parameter_bytes};
use network::Network;
use trainer::Trainer;
use windows::{Clock, Windows};

const NAME: &str = "ngm";

/// A sparse neural differential equation.
pub(crate) struct Ngm;

#[rustfmt::skip]
const SETTINGS: [Setting; 11] = [
    row("sparsity", "0.05", Range::Number { min: 0.0, max: 1e6, above: false }, "penalty of the weights from each source to each target"),
    row("steps", "2000", Range::Number { min: 1.0, max: 1e9, above: false }, "steps of each of the two stages"),
    row("learning_rate", "0.005", Range::Number { min: 0.0, max: 1.0, above: true }, "learning rate of Adam; half of it after 2000 steps of a stage"),
    row("hidden_size", "12", Range::Number { min: 1.0, max: 65536.0, above: false }, "hidden units of each target's network"),
    row("batch_size", "20", Range::Number { min: 1.0, max: 1e6, above: false }, "windows of each step"),
    row("horizon", "5", Range::Number { min: 2.0, max: 1e4, above: false }, "rows of a window"),
    row("clock", "rows", Range::Choice(&["rows", "given"]), "count rows as the reference does, or take the times as given"),
    row("adaptive", "true", Range::YesNo, "fit a second time, with penalties by the weights of the first"),
    row("standardize", "false", Range::YesNo, "give all variables variance 1 first"),
    row("substeps", "4", Range::Number { min: 1.0, max: 1000.0, above: false }, "steps of the solver between two rows"),
    row("seed", "0", Range::Any, "decides initial weights and windows"),
];

impl Method for Ngm {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "NGM: a neural differential equation without noise, whose weights from sources that do not matter vanish"
    }

    fn class_name(&self) -> Option<&'static str> {
        Some("NGM")
    }

    fn settings(&self) -> Vec<Setting> {
        SETTINGS.to_vec()
    }

    fn presets(&self) -> Vec<Preset> {
        vec![
            Preset::new(NAME, "the paper's settings for Netsim, windows inside series", &json!({})),
            Preset::new(
                "ngm-dream3",
                "the paper's settings for DREAM3, whose values it normalises",
                &json!({"standardize": true}),
            ),
            Preset::new(
                "ngm-lorenz",
                "the paper's settings for Lorenz and glycolysis",
                &json!({"sparsity": 0.1}),
            ),
            Preset::new(
                "ngm-irregular",
                "the paper's settings for Lorenz with dropped rows: given times, one window per step",
                &json!({"sparsity": 0.1, "clock": "given", "batch_size": 1}),
            ),
        ]
    }

    fn takes(&self) -> Takes {
        Takes {
            several_series: Handling::Full,
            irregular_times: Handling::Instead("counts rows unless `clock` is given"),
            missing_cells: Handling::Instead(
                "starts at complete rows, and leaves missing cells out of the error",
            ),
            prior_edges: false,
            experiments: Handling::AS_VALUES,
        }
    }

    fn is_fast(&self) -> bool {
        false
    }

    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        Some(needed_bytes(&plan.typed().ok()?, data))
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let settings: NgmSettings = task.plan.typed()?;
        let standard = settings.standardize.then(|| Standardizer::fit(task.data).apply(task.data));
        learn(standard.as_ref().unwrap_or(task.data), &settings, task)
    }
}

/// How the equation is learned.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
struct NgmSettings {
    sparsity: f64,
    steps: u64,
    learning_rate: f64,
    hidden_size: usize,
    batch_size: usize,
    horizon: usize,
    clock: Clock,
    adaptive: bool,
    standardize: bool,
    substeps: usize,
    seed: u64,
}

fn needed_bytes(settings: &NgmSettings, data: &SeriesSet) -> u64 {
    let width = settings.batch_size * data.n_variables();
    // States of the four stages of each substep, and of rows, hidden units, and the adjoints of all.
    let stages = 4 * (settings.horizon - 1) * settings.substeps + settings.horizon;
    let batch = width * (2 * stages + 2 * settings.hidden_size) * size_of::<f64>();
    let mut table = ParameterTable::default();
    Network::new(&mut table, data.n_variables(), settings.hidden_size);
    bytes_of_copies(data, 3) + parameter_bytes(table.len(), size_of::<f64>()) + batch as u64
}

fn learn(
    data: &SeriesSet,
    settings: &NgmSettings,
    task: &MethodTask<'_>,
) -> Result<Learned, MethodError> {
    let windows = Windows::new(data, settings.horizon, settings.clock);
    if windows.len() == 0 {
        let reason = format!(
            "no complete row has {} rows after it in its series, as `horizon` {} asks for",
            settings.horizon - 1,
            settings.horizon
        );
        return Err(MethodError::Unusable { method: NAME, reason });
    }
    let mut trainer = Trainer::new(data.n_variables(), settings);
    if let Some(state) = kept_state(&trainer, task.progress) {
        trainer.state = state;
    }
    trainer.run(&windows, task.progress)?;
    let (n, constants) = (data.n_variables(), Constants::of(data));
    let norms = trainer.norms();
    let scores = constants.without((0..n * n).map(|idx| norms[idx % n * n + idx / n]).collect());
    let reached = Reached { steps: trainer.n_steps(), of: trainer.end(), in_epochs: false };
    let scores = EdgeScores::from_matrix(n, scores)?;
    let mut learned = Learned::scores(&scores).trained(settings.seed, reached);
    constants.tell(&mut learned);
    if windows.len() < settings.batch_size {
        learned
            .remarks
            .push(format!("each step sees all {} windows, fewer than `batch_size`", windows.len()));
    }
    Ok(learned)
}
