//! Steps of Adam on sampled paths.

use driftgraph_core::layers::{Real, initial_values};
use driftgraph_core::paths::PlannedSeries;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::adam::{Adam, AdamState};
use driftgraph_core::train::progress::{Checkpoint, Part, Progress, Step, Training};
use driftgraph_core::train::schedule::kl_weight;
use driftgraph_core::{EdgeScores, ElboTerms};
use driftgraph_data::record::Reached;

use super::model::{Draws, Model, Sizes, Task, Terms, Workspace};
use super::{LsdeSettings, NAME};
use crate::method::MethodError;

/// A latent process in training.
pub(super) struct Trainer<'a, R> {
    pub(super) model: Model,
    pub(super) settings: &'a LsdeSettings,
    series: &'a [PlannedSeries<R>],
    n_variables: usize,
    pub(super) work: Workspace<R>,
    pub(super) grads: Vec<R>,
    pub(super) state: State<R>,
}

/// Everything that changes.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct State<R> {
    n_steps: u64,
    pub(super) parameters: Vec<R>,
    adam: AdamState<R>,
}

impl<'a, R: Real> Trainer<'a, R> {
    pub(super) fn new(
        settings: &'a LsdeSettings,
        series: &'a [PlannedSeries<R>],
        sizes: Sizes,
    ) -> Self {
        let (model, table) = Model::new(sizes);
        let parameters: Vec<R> = initial_values(&table, settings.seed);
        let state = State { n_steps: 0, adam: AdamState::new(parameters.len()), parameters };
        let grads = vec![R::ZERO; table.len()];
        let n_variables = sizes.n_variables;
        Self { model, settings, series, n_variables, work: Workspace::default(), grads, state }
    }

    pub(super) fn reached(&self) -> Reached {
        Reached { steps: self.state.n_steps, of: self.settings.steps, in_epochs: true }
    }

    pub(super) fn scores(&self) -> Vec<f64> {
        self.model.scores(&self.state.parameters)
    }

    /// Random numbers of the next step.
    fn draw(&self) -> Draws<R> {
        let (seed, d, number) = (self.settings.seed, self.n_variables, self.state.n_steps);
        let normals = |purpose: Purpose, series: usize, n: usize| -> Vec<R> {
            let mut draws = vec![0.0; n];
            let stream = (number << 24) + series as u64;
            RandomStream::new(seed, purpose, stream).fill_normal(&mut draws);
            draws.into_iter().map(R::from_f64).collect()
        };
        let path = |(idx, series): (usize, &PlannedSeries<R>)| {
            let mut increments = normals(Purpose::Brownian, idx, series.n_steps() * d);
            for (step, row) in series.steps.iter().zip(increments.chunks_exact_mut(d)) {
                row.iter_mut().for_each(|normal| *normal *= step.sqrt());
            }
            increments
        };
        Draws {
            first: normals(Purpose::InitialState, 0, self.series.len() * d),
            increments: self.series.iter().enumerate().map(path).collect(),
        }
    }

    /// One step of Adam.
    pub(super) fn step(&mut self, draws: &Draws<R>, kl_weight: f64) -> Terms {
        let noise_scale = self.settings.noise_scale;
        let task = Task { series: self.series, draws, noise_scale, kl_weight };
        self.grads.fill(R::ZERO);
        let state = &mut self.state;
        let terms = self.model.pass(&state.parameters, &task, &mut self.work, &mut self.grads);
        let rate = self.settings.rate(state.n_steps);
        Adam::default().step(rate, &self.grads, &mut state.adam, &mut state.parameters);
        state.n_steps += 1;
        terms
    }
}

impl Trainer<'_, f32> {
    /// Takes all steps that are left, unless it is stopped.
    pub(super) fn run(&mut self, progress: &dyn Progress) -> Result<(), MethodError> {
        while self.state.n_steps < self.settings.steps {
            let number = self.state.n_steps;
            let weight = kl_weight(number, self.settings.kl_warmup_steps);
            let terms = self.step(&self.draw(), weight);
            let is_finite = self.state.parameters.iter().all(|value| value.is_finite());
            if !is_finite || !(terms.log_likelihood - terms.path_kl).is_finite() {
                let reason = format!(
                    "its paths ran away at step {number}; a smaller `learning_rate` or `step_size`, \
                     or a larger `noise_scale` may help"
                );
                return Err(MethodError::Unusable { method: NAME, reason });
            }
            let step = Step {
                part: Part::WHOLE,
                number,
                end: self.settings.steps,
                terms: ElboTerms {
                    log_likelihood: terms.log_likelihood,
                    initial_kl: terms.initial_kl,
                    path_kl: terms.path_kl,
                    ..ElboTerms::default()
                },
                rate: self.settings.rate(number),
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
}

impl Training for Trainer<'_, f32> {
    /// Shares of the largest score: the method has no probabilities.
    fn edge_probabilities(&self) -> Vec<f64> {
        let scores = self.scores();
        let largest = scores.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        scores.into_iter().map(|score| score / largest).collect()
    }

    fn edge_scores(&self) -> EdgeScores {
        EdgeScores::from_matrix(self.n_variables, self.scores())
            .expect("norms are numbers because parameters are checked after each step")
    }

    fn state(&self) -> Checkpoint {
        Checkpoint::new(&self.state, self.settings)
    }
}
