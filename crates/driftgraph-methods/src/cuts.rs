//! CUTS: networks that predict from gated lags, and probabilities of the gates; what is missing is filled on the way.
//!
//! Cheng and others (2023), "CUTS: neural causal discovery from irregular time-series data", ICLR. Where paper and published
//! code differ, this follows the code, which made the published numbers; `logits` has the paper's version. Golden numbers
//! are in `tests/golden`.

mod chance;
#[cfg(test)]
mod golden;
mod network;
mod table;
mod trainer;

use driftgraph_core::layers::Real;
use driftgraph_core::train::progress::{Aim, Checkpoint, Part, Progress, Step, Training};
use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_core::{EdgeScores, ElboTerms, SeriesSet};
use driftgraph_data::record::Reached;
use serde_json::{Value, json};

use crate::FitPlan;
use crate::constants::Constants;
use crate::levels::bytes_of_copies;
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Preset, Takes};
use crate::regular::COUNTS_ROWS;
use crate::settings::row;
use crate::trained::{kept_state, parameter_bytes};
use chance::Seeded;
use network::Network;
use table::Table;
use trainer::Trainer;

const NAME: &str = "cuts";

/// Networks with gated inputs.
pub(crate) struct Cuts;

const COUNT: Range = Range::Number { min: 0.0, max: 1e9, above: false };
const SIZE: Range = Range::Number { min: 1.0, max: 65536.0, above: false };
const RATE: Range = Range::Number { min: 0.0, max: 1.0, above: true };

#[rustfmt::skip]
const SETTINGS: [Setting; 14] = [
    row("lags", "3", Range::Number { min: 1.0, max: 100.0, above: false }, "lags in rows"),
    row("sparsity", "0.3", Range::Number { min: 0.0, max: 1e6, above: false }, "penalty of the mean probability of edges, summed over lags"),
    row("fill_after", "50", COUNT, "epochs before missing values move towards their predictions"),
    row("masked_epochs", "150", COUNT, "epochs after these in which only observed values supervise"),
    row("last_epochs", "300", Range::Number { min: 1.0, max: 1e9, above: false }, "epochs after these, in which all values do"),
    row("fill_rate", "0.01", Range::Number { min: 0.0, max: 1.0, above: false }, "how far missing values move in each epoch"),
    row("layers", "3", Range::Number { min: 1.0, max: 100.0, above: false }, "hidden layers of each target's network"),
    row("hidden_size", "128", SIZE, "units of each hidden layer"),
    row("batch_size", "128", Range::Number { min: 1.0, max: 1e6, above: false }, "samples of each step; those left over in an epoch are not used in it"),
    row("weight_decay", "0", Range::Number { min: 0.0, max: 1e3, above: false }, "pull of weights towards zero"),
    row("learning_rate", "0.0001", RATE, "learning rate of the networks at the start; a tenth of it at the end"),
    row("graph_rate", "0.01", RATE, "learning rate of the graph at the start; a tenth of it at the end"),
    row("logits", "code", Range::Choice(&["code", "paper"]), "relax edges by their probabilities, as the published code, or by their log-odds, as the paper"),
    row("seed", "0", Range::Any, "decides initial weights, samples and graphs"),
];

impl Method for Cuts {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "CUTS: neural prediction from earlier rows through gates, which fills what is missing on the way"
    }

    fn class_name(&self) -> Option<&'static str> {
        Some("CUTS")
    }

    fn settings(&self) -> Vec<Setting> {
        SETTINGS.to_vec()
    }

    fn presets(&self) -> Vec<Preset> {
        vec![
            Preset::new(
                NAME,
                "the authors' settings for Lorenz, which the paper takes for glycolysis too",
                &json!({}),
            ),
            Preset::new(
                "cuts-netsim",
                "the authors' settings for Netsim",
                &json!({"lags": 5, "sparsity": 5, "fill_after": 200, "masked_epochs": 600, "last_epochs": 200, "weight_decay": 0.001}),
            ),
            Preset::new(
                "cuts-dream3",
                "the authors' settings for DREAM3",
                &json!({"lags": 5, "sparsity": 5, "fill_after": 20, "masked_epochs": 30, "last_epochs": 50, "layers": 5}),
            ),
        ]
    }

    fn takes(&self) -> Takes {
        Takes {
            several_series: Handling::Full,
            irregular_times: COUNTS_ROWS,
            missing_cells: Handling::Instead(
                "holds the last value, and later moves it towards what it predicts",
            ),
            prior_edges: false,
            experiments: Handling::AS_VALUES,
        }
    }

    fn is_fast(&self) -> bool {
        false
    }

    fn short_trial(&self) -> Value {
        json!({"fill_after": 1, "masked_epochs": 1, "last_epochs": 1})
    }

    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        Some(needed_bytes(&plan.typed().ok()?, data))
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        learn(task, &task.plan.typed()?)
    }
}

/// How relaxed edges depend on their probability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Logits {
    /// p - (1 - p).
    Code,
    /// ln p - ln(1 - p).
    Paper,
}

impl Logits {
    fn of(self, theta: f64) -> f64 {
        match self {
            Self::Code => 2.0 * theta.sigmoid() - 1.0,
            Self::Paper => theta,
        }
    }

    fn slope(self, theta: f64) -> f64 {
        match self {
            Self::Code => 2.0 * theta.sigmoid() * (1.0 - theta.sigmoid()),
            Self::Paper => 1.0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct CutsSettings {
    lags: usize,
    sparsity: f64,
    fill_after: u64,
    masked_epochs: u64,
    last_epochs: u64,
    fill_rate: f64,
    layers: usize,
    hidden_size: usize,
    batch_size: usize,
    weight_decay: f64,
    learning_rate: f64,
    graph_rate: f64,
    logits: Logits,
    seed: u64,
}

impl CutsSettings {
    fn epochs(&self) -> u64 {
        self.fill_after + self.masked_epochs + self.last_epochs
    }
}

fn needed_bytes(settings: &CutsSettings, data: &SeriesSet) -> u64 {
    let (d, single) = (data.n_variables(), size_of::<f32>());
    let width = d * settings.lags;
    let network = Network::new(width, settings.hidden_size, settings.layers);
    let n_samples = settings.batch_size.min(data.n_rows());
    // Gates of every target, and gradients of what they let through.
    let gates = 2 * d * n_samples * width * single;
    // Noise in double precision, inputs, outputs of all layers and two adjoints, on each thread.
    let layers = settings.hidden_size * (settings.layers + 2) + 2 * width;
    let thread = n_samples * (width * size_of::<f64>() + layers * single);
    let threads = rayon::current_num_threads().min(d) * thread;
    bytes_of_copies(data, 8)
        + parameter_bytes(d * network.n_parameters, single)
        + (gates + threads) as u64
}

fn learn(task: &MethodTask<'_>, settings: &CutsSettings) -> Result<Learned, MethodError> {
    let table = Table::new(task.data, settings.lags);
    if table.samples.len() < 2 {
        let reason = format!(
            "{} rows have {} rows before them in their series, as `lags` {} asks for; at least 2 must",
            table.samples.len(),
            settings.lags,
            settings.lags
        );
        return Err(MethodError::Unusable { method: NAME, reason });
    }
    let mut trainer: Trainer<'_, f32> = Trainer::new(&table, settings);
    if let Some(state) = kept_state(&trainer, task.progress) {
        trainer.state = state;
    }
    run(&mut trainer, task.progress)?;
    let constants = Constants::of(task.data);
    let scores = constants.without(trainer.scores());
    let scores = EdgeScores::from_matrix(task.data.n_variables(), scores)?;
    let reached = Reached { steps: trainer.state.epoch, of: settings.epochs(), in_epochs: true };
    let mut learned = Learned::scores(&scores).trained(settings.seed, reached);
    constants.tell(&mut learned);
    if table.samples.len() < settings.batch_size {
        let remark =
            format!("each step sees all {} samples, fewer than `batch_size`", table.samples.len());
        learned.remarks.push(remark);
    }
    Ok(learned)
}

fn run(trainer: &mut Trainer<'_, f32>, progress: &dyn Progress) -> Result<(), MethodError> {
    let chance = Seeded(trainer.settings.seed);
    while trainer.state.epoch < trainer.settings.epochs() {
        let number = trainer.state.epoch;
        let losses = trainer.epoch(&chance);
        let loss =
            losses.graphs.iter().map(|graph| graph.total).sum::<f64>() / losses.graphs.len() as f64;
        if !loss.is_finite() || trainer.scores().iter().any(|score| !score.is_finite()) {
            let reason = format!(
                "its loss is not finite any more in epoch {number}; a smaller `learning_rate` may help"
            );
            return Err(MethodError::Unusable { method: NAME, reason });
        }
        let step = Step {
            part: Part::WHOLE,
            number,
            end: trainer.settings.epochs(),
            terms: ElboTerms { log_likelihood: -loss, ..ElboTerms::default() },
            rate: trainer.settings.learning_rate,
            expected_edges: Some(trainer.scores().iter().sum()),
            undone: None,
            extras: &[],
            training: &*trainer,
        };
        if progress.step(&step).is_break() || progress.is_interrupted() {
            break;
        }
    }
    Ok(())
}

impl Training for Trainer<'_, f32> {
    fn edge_probabilities(&self) -> Vec<f64> {
        self.scores()
    }

    fn edge_scores(&self) -> EdgeScores {
        let n = self.scores().len().isqrt();
        EdgeScores::from_matrix(n, self.scores())
            .expect("probabilities are numbers because epochs are checked")
    }

    fn aim(&self) -> Aim {
        Aim::Loss
    }

    fn state(&self) -> Checkpoint {
        Checkpoint::new(&self.state, self.settings)
    }
}
