//! Two stages of Adam with proximal steps.

use driftgraph_core::layers::{ParameterTable, initial_values};
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::adam::{Adam, AdamState};
use driftgraph_core::train::progress::{Aim, Checkpoint, Part, Progress, Step, Training};
use driftgraph_core::{EdgeScores, ElboTerms};

use super::network::{Batch, Network, Pass};
use super::windows::Windows;
use super::{NAME, NgmSettings};
use crate::method::MethodError;

/// The step size of the penalty, whatever the learning rate.
const ETA: f64 = 0.01;
/// Steps of a stage after which the learning rate is halved.
const HALVED_AFTER: u64 = 2000;

/// Networks in training.
pub(super) struct Trainer {
    pub(super) network: Network,
    table: ParameterTable,
    settings: NgmSettings,
    pub(super) state: State,
}

/// Everything that changes.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct State {
    n_steps: u64,
    pub(super) parameters: Vec<f64>,
    pub(super) adam: AdamState<f64>,
    /// Penalties, `[effect, cause]`.
    pub(super) lambda: Vec<f64>,
}

impl Trainer {
    pub(super) fn new(n_variables: usize, settings: &NgmSettings) -> Self {
        let mut table = ParameterTable::default();
        let network = Network::new(&mut table, n_variables, settings.hidden_size);
        let parameters: Vec<f64> = initial_values(&table, settings.seed);
        let state = State {
            n_steps: 0,
            adam: AdamState::new(parameters.len()),
            parameters,
            lambda: vec![settings.sparsity; n_variables * n_variables],
        };
        Self { network, table, settings: *settings, state }
    }

    pub(super) fn n_steps(&self) -> u64 {
        self.state.n_steps
    }

    /// Steps of both stages.
    pub(super) fn end(&self) -> u64 {
        self.settings.steps * if self.settings.adaptive { 2 } else { 1 }
    }

    /// Norms of the weights, `[effect, cause]`.
    pub(super) fn norms(&self) -> Vec<f64> {
        self.network.group_norms(&self.state.parameters)
    }

    /// Takes all steps that are left, unless it is stopped.
    pub(super) fn run(
        &mut self,
        windows: &Windows<'_>,
        progress: &dyn Progress,
    ) -> Result<(), MethodError> {
        while self.state.n_steps < self.end() {
            let number = self.state.n_steps;
            if number == self.settings.steps {
                self.begin_second_stage();
            }
            let random = RandomStream::new(self.settings.seed, Purpose::Batch, number);
            let loss = self.step(&windows.draw(self.settings.batch_size, random)).loss;
            if !loss.is_finite() || self.state.parameters.iter().any(|value| !value.is_finite()) {
                let reason = format!(
                    "the equation ran away at step {number}; variables of one size help (`standardize`), \
                     or more `substeps`"
                );
                return Err(MethodError::Unusable { method: NAME, reason });
            }
            self.state.n_steps += 1;
            let step = Step {
                part: Part::WHOLE,
                number,
                end: self.end(),
                terms: ElboTerms { log_likelihood: -loss, ..ElboTerms::default() },
                rate: self.learning_rate(number),
                expected_edges: None,
                undone: None,
                extras: &[],
                training: self,
            };
            if progress.step(&step).is_break() || progress.is_interrupted() {
                break;
            }
        }
        Ok(())
    }

    /// Penalties by the weights of the first stage; everything else begins again.
    pub(super) fn begin_second_stage(&mut self) {
        let norms = self.norms();
        self.state.lambda = norms.iter().map(|norm| self.settings.sparsity / norm).collect();
        // Any other seed will do.
        self.state.parameters = initial_values(&self.table, self.settings.seed ^ (1 << 63));
        self.state.adam = AdamState::new(self.state.parameters.len());
    }

    pub(super) fn learning_rate(&self, number: u64) -> f64 {
        let halved = number % self.settings.steps > HALVED_AFTER;
        self.settings.learning_rate * if halved { 0.5 } else { 1.0 }
    }

    /// One step of Adam, and one of the penalty.
    pub(super) fn step(&mut self, batch: &Batch) -> Pass {
        let mut grads = vec![0.0; self.state.parameters.len()];
        let pass =
            self.network.loss(&self.state.parameters, batch, self.settings.substeps, &mut grads);
        let rate = self.learning_rate(self.state.n_steps);
        let state = &mut self.state;
        Adam::default().step(rate, &grads, &mut state.adam, &mut state.parameters);
        self.network.shrink(&mut state.parameters, &state.lambda, ETA);
        pass
    }
}

impl Training for Trainer {
    /// 1 for weights that are not all zero.
    fn edge_probabilities(&self) -> Vec<f64> {
        let (n, norms) = (self.network.n_variables, self.norms());
        (0..n * n).map(|idx| f64::from(u8::from(norms[idx % n * n + idx / n] > 0.0))).collect()
    }

    fn edge_scores(&self) -> EdgeScores {
        let (n, norms) = (self.network.n_variables, self.norms());
        let scores = (0..n * n).map(|idx| norms[idx % n * n + idx / n]).collect();
        EdgeScores::from_matrix(n, scores)
            .expect("norms are numbers because parameters are checked after each step")
    }

    fn aim(&self) -> Aim {
        Aim::Loss
    }

    fn state(&self) -> Checkpoint {
        Checkpoint::new(&self.state, &self.settings)
    }
}
