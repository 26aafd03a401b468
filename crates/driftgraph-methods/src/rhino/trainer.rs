//! The augmented Lagrangian: rounds of gradient steps, with growing penalties of cycles within a row.

use driftgraph_core::layers::{Real, initial_values};
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::adam::{Adam, AdamState};
use driftgraph_core::train::progress::{Checkpoint, Part, Progress, Step, Training};
use driftgraph_core::{EdgeScores, ElboTerms};
use serde::{Deserialize, Serialize};

use super::RhinoSettings;
use super::model::{Model, Pass, Penalties, Shape};
use crate::method::MethodError;

/// Learning rate of the noise.
const NOISE_RATE: f64 = 0.001;
/// Steps after which a chunk of steps ends, and without progress after which rates fall.
const PATIENCE: u64 = 500;
/// Steps without progress after which a round ends.
const LAST_PATIENCE: u64 = 1500;
/// Losses whose mean is looked at.
const RECENT: usize = 10;
/// Progress of cyclicity that is asked of a round.
const PROGRESS: f64 = 0.65;
/// Where penalties end.
const LARGEST: f64 = 1e13;
/// Rounds with the largest penalty before the end.
const MAX_LARGEST: u32 = 3;

/// Everything that changes, kept at the beginning of a pass over the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) parameters: Vec<f64>,
    /// Of graph and mean, and of the noise.
    adam: [AdamState<f64>; 2],
    pub(super) n_steps: u64,
    n_passes: u64,
    /// Batches of the pass at hand that are done.
    position: usize,
    pub(super) round: u64,
    alpha: f64,
    rho: f64,
    /// Cyclicity of the last round that made progress.
    previous: f64,
    was_done: bool,
    n_largest: u32,
    inner: Inner,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Inner {
    step: u64,
    rate_share: f64,
    n_reductions: u32,
    best: f64,
    best_step: u64,
    reduced_step: u64,
    recent: Vec<f64>,
    sum_cyclicity: f64,
    done: bool,
}

impl Inner {
    fn new() -> Self {
        Self {
            step: 0,
            rate_share: 1.0,
            n_reductions: 0,
            best: f64::INFINITY,
            best_step: 0,
            reduced_step: 0,
            recent: Vec::new(),
            sum_cyclicity: 0.0,
            done: false,
        }
    }

    /// Looks at the last losses after a chunk; `true` if the round is over.
    fn is_over(&mut self, most: u64) -> bool {
        let score = self.recent.iter().sum::<f64>() / self.recent.len().max(1) as f64;
        if score < self.best {
            self.best = score;
            self.best_step = self.step;
        }
        let without = self.step - self.best_step;
        if without >= PATIENCE && self.step - self.reduced_step >= PATIENCE {
            self.rate_share *= 0.1;
            self.n_reductions += 1;
            self.reduced_step = self.step;
        }
        self.done |= self.n_reductions >= 2 || without >= LAST_PATIENCE;
        self.n_reductions >= 3 || without >= LAST_PATIENCE || self.step >= most
    }
}

/// A model in training.
pub(super) struct Trainer<'a> {
    pub(super) model: Model,
    pub(super) settings: &'a RhinoSettings,
    /// `[window, time, variable]`.
    windows: &'a [f64],
    pub(super) state: State,
}

impl<'a> Trainer<'a> {
    pub(super) fn new(shape: &Shape, settings: &'a RhinoSettings, windows: &'a [f64]) -> Self {
        let (model, table) = Model::new(shape);
        let mut parameters: Vec<f64> = initial_values(&table, settings.seed);
        model.graph.set_none(&mut parameters, settings.none_logit);
        let adam = [model.noise_begins, parameters.len() - model.noise_begins].map(AdamState::new);
        let state = State {
            parameters,
            adam,
            n_steps: 0,
            n_passes: 0,
            position: 0,
            round: 0,
            alpha: 0.0,
            rho: 1.0,
            previous: f64::INFINITY,
            was_done: true,
            n_largest: 0,
            inner: Inner::new(),
        };
        Self { model, settings, windows, state }
    }

    fn width(&self) -> usize {
        (self.model.shape.lags + 1) * self.model.shape.n_variables
    }

    fn n_windows(&self) -> usize {
        self.windows.len() / self.width()
    }

    /// Steps of all rounds, at most.
    pub(super) fn end(&self) -> u64 {
        self.settings.rounds * self.settings.steps
    }

    /// Rounds until the last, or until it is stopped.
    pub(super) fn run(&mut self, progress: &dyn Progress) -> Result<(), MethodError> {
        while self.state.round < self.settings.rounds && self.state.n_largest < MAX_LARGEST {
            if !self.chunk(progress)? {
                return Ok(());
            }
            if self.state.inner.is_over(self.settings.steps) {
                self.end_round();
            }
        }
        Ok(())
    }

    /// One pass over the data, cut off where steps are looked at; `false` if it was stopped.
    fn chunk(&mut self, progress: &dyn Progress) -> Result<bool, MethodError> {
        let mut order: Vec<usize> = (0..self.n_windows()).collect();
        RandomStream::new(self.settings.seed, Purpose::Batch, self.state.n_passes)
            .shuffle(&mut order);
        for batch in order.chunks(self.settings.batch_size).skip(self.state.position) {
            if self.state.position > 0 && self.is_cut() {
                break;
            }
            let pass = self.random_step(batch);
            if !pass.loss.is_finite()
                || self.state.parameters.iter().any(|value| !value.is_finite())
            {
                let reason = format!(
                    "its loss is not finite any more at step {}; variables of one size help",
                    self.state.n_steps
                );
                return Err(MethodError::Unusable { method: self.settings.name(), reason });
            }
            self.count(&pass);
            if self.told(&pass, progress) {
                return Ok(false);
            }
        }
        self.state.position = 0;
        self.state.n_passes += 1;
        Ok(true)
    }

    /// Whether a pass over the data is cut off here, to look at the losses.
    fn is_cut(&self) -> bool {
        let step = self.state.inner.step;
        step.is_multiple_of(PATIENCE) || step >= self.settings.steps
    }

    fn count(&mut self, pass: &Pass) {
        self.state.n_steps += 1;
        self.state.position += 1;
        let inner = &mut self.state.inner;
        inner.step += 1;
        inner.sum_cyclicity += pass.cyclicity;
        inner.recent.push(pass.loss);
        if inner.recent.len() > RECENT {
            inner.recent.remove(0);
        }
    }

    /// Tells of a step; `true` if the fit is to end.
    fn told(&self, pass: &Pass, progress: &dyn Progress) -> bool {
        let mean = pass.log_densities.iter().sum::<f64>() / pass.log_densities.len() as f64;
        let terms =
            ElboTerms { log_likelihood: mean, graph_kl: pass.loss + mean, ..ElboTerms::default() };
        let step = Step {
            part: Part::WHOLE,
            number: self.state.n_steps - 1,
            end: self.end(),
            terms,
            rate: self.state.inner.rate_share,
            expected_edges: Some(self.edge_probabilities().iter().sum()),
            undone: None,
            extras: &[],
            training: self,
        };
        progress.step(&step).is_break() || progress.is_interrupted()
    }

    /// A step on some windows with a graph drawn for it.
    fn random_step(&mut self, batch: &[usize]) -> Pass {
        let mut random = RandomStream::new(self.settings.seed, Purpose::Graph, self.state.n_steps);
        let [pairs, lags] = self.model.graph.n_gumbels();
        let mut gumbels = |n: usize| -> Vec<f64> {
            (0..n)
                .map(|_| -(-(1.0 - random.uniform()).max(f64::MIN_POSITIVE).ln()).max(1e-300).ln())
                .collect()
        };
        let noise = [gumbels(pairs), gumbels(lags)];
        let width = self.width();
        let windows: Vec<f64> = batch
            .iter()
            .flat_map(|&window| self.windows[window * width..(window + 1) * width].iter().copied())
            .collect();
        // As the reference; graph, noise and sums stay in double precision.
        self.step::<f32>(&windows, &noise)
    }

    /// A step on windows with given noise of the graph; networks compute in `R`.
    pub(super) fn step<R: Real>(&mut self, windows: &[f64], noise: &[Vec<f64>; 2]) -> Pass {
        let penalties = self.penalties();
        let sample = self.model.graph.sample(&self.state.parameters, &noise[0], &noise[1]);
        let pass = self.model.pass::<R>(&self.state.parameters, windows, &sample, &penalties);
        let share = self.state.inner.rate_share;
        let rates = [self.settings.learning_rate, NOISE_RATE].map(|rate| rate * share);
        let (first, second) = self.state.parameters.split_at_mut(self.model.noise_begins);
        let (first_grads, second_grads) = pass.grads.split_at(self.model.noise_begins);
        let [first_adam, second_adam] = &mut self.state.adam;
        Adam::default().step(rates[0], first_grads, first_adam, first);
        Adam::default().step(rates[1], second_grads, second_adam, second);
        pass
    }

    pub(super) fn penalties(&self) -> Penalties {
        Penalties {
            n_windows: self.n_windows() as f64,
            sparsity: self.settings.sparsity,
            alpha: self.state.alpha,
            rho: self.state.rho,
        }
    }

    #[cfg(test)]
    pub(super) fn set_penalties(&mut self, alpha: f64, rho: f64) {
        (self.state.alpha, self.state.rho) = (alpha, rho);
    }

    /// Raises the penalties of cycles after a round.
    fn end_round(&mut self) {
        let state = &mut self.state;
        let inner = std::mem::replace(&mut state.inner, Inner::new());
        state.round += 1;
        if inner.done || !state.was_done {
            let mean = inner.sum_cyclicity / inner.step.max(1) as f64;
            if mean > PROGRESS * state.previous {
                state.rho *= 10.0;
            } else {
                state.previous = mean;
                state.alpha += state.rho * mean;
                if mean == 0.0 {
                    state.alpha *= 5.0;
                }
            }
            if state.rho >= LARGEST {
                state.alpha *= 5.0;
                state.n_largest += 1;
            }
            state.rho = state.rho.min(LARGEST);
            state.alpha = state.alpha.min(LARGEST);
        }
        state.was_done = inner.done;
    }

    /// Probabilities `[cause, effect]` over all lags from `first` on, the largest.
    pub(super) fn largest_probability(&self, lags: std::ops::RangeInclusive<usize>) -> Vec<f64> {
        let all = self.model.graph.probabilities(&self.state.parameters);
        let square = self.model.shape.n_variables * self.model.shape.n_variables;
        (0..square)
            .map(|idx| lags.clone().map(|lag| all[lag * square + idx]).fold(0.0, f64::max))
            .collect()
    }
}

impl Training for Trainer<'_> {
    fn edge_probabilities(&self) -> Vec<f64> {
        self.largest_probability(0..=self.model.shape.lags)
    }

    fn edge_scores(&self) -> EdgeScores {
        EdgeScores::from_matrix(self.model.shape.n_variables, self.edge_probabilities())
            .expect("probabilities are numbers because parameters are checked after each step")
    }

    fn state(&self) -> Checkpoint {
        Checkpoint::new(&self.state, self.settings)
    }
}
