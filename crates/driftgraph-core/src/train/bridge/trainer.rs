//! The training loop of the bridge, step by step.

use std::ops::ControlFlow;

use super::cycle::Cycle;
use super::error::BridgeError;
use super::laid_out::{LaidOut, refuse_other_knowledge};
use super::noise_identifiability::NoiseMoments;
use super::observation_model::ObservationModel;
use super::settings::{BridgeSettings, CheckedBridgeSettings, NoiseScale};
use super::state::{BridgeState, Window};
use crate::graph::prior::EdgePrior;
use crate::numeric::kernels::vectorised;
use crate::numeric::real::ln;
use crate::objective::elbo::ElboTerms;
use crate::posterior::bridge::BridgePosterior;
use crate::posterior::bridge::batch::Batch;
use crate::posterior::bridge::blocks::Epoch;
use crate::posterior::bridge::gated::GatedValues;
use crate::posterior::bridge::kalman::FilterDynamics;
use crate::posterior::bridge::layout::BridgeLayout;
use crate::posterior::bridge::model::{BridgeModel, KnownLinear, Workspace};
use crate::posterior::bridge::structure::{BridgeStructure, Pass};
use crate::posterior::linear::adequacy::{Adequacy, InnovationRows, Neighbours};
use crate::train::levels::{LevelRun, LevelTask, LevelUnits};
use crate::train::linear::LinearFit;
use crate::train::progress::{Checkpoint, Divergence, Part, Progress, Step, Training};
use crate::{EdgeScores, SeriesSet, Standardizer};

/// Fewest steps of series per training step: fewer would leave the matrices' own cost dominant.
const MIN_BATCH_STEPS: usize = 128;

/// Largest logit with which training starts: a gate that is all but closed no longer has a gradient.
const MOVABLE_LOGIT: f64 = 3.0;

/// What happened in one training step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BridgeStep {
    /// Number of the step, from 0.
    pub step: u64,
    /// Steps after which the current cycle ends.
    pub cycle_end: u64,
    /// Number of the cycle, from 0.
    pub cycle: u32,
    /// Estimate of the ELBO's terms from the batch, with the prior's weight of this step.
    pub terms: ElboTerms,
    /// Share of the largest learning rates.
    pub rate: f64,
    /// Σ of the lagged edge probabilities before the step.
    pub expected_edges: f64,
    /// What was not finite, when the step was not applied and the one before it undone.
    pub undone: Option<&'static str>,
}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// A cycle changed next to nothing.
    Converged,
    /// The most steps allowed were made.
    StepLimit,
    /// The observer asked for it.
    Stopped,
    /// No step was finite any more; what is left is the last good state.
    Diverged,
}

/// A bridge fit in progress.
#[derive(Debug, Clone)]
pub struct BridgeTrainer {
    settings: CheckedBridgeSettings,
    variables: Vec<String>,
    standardizer: Standardizer,
    noise_moments: Option<NoiseMoments>,
    model: BridgeModel,
    layout: BridgeLayout,
    state: BridgeState,
    n_batches: usize,
    epoch: Option<(u64, Epoch)>,
    work: Workspace,
}

impl BridgeTrainer {
    /// Standardises the data, lays out the grids and starts the paths with the smoother.
    ///
    /// `knowledge` holds the user's rules and log-odds of edges, made with sparsity 0.
    pub fn new(
        data: &SeriesSet,
        knowledge: &EdgePrior,
        settings: CheckedBridgeSettings,
    ) -> Result<Self, BridgeError> {
        refuse_other_knowledge(data, knowledge)?;
        let chosen = settings.get();
        let LaidOut { standardizer, layout, noise_moments, n_batches } =
            LaidOut::new(data, chosen)?;
        let noise = ObservationModel::new(chosen, noise_moments);
        let (posterior, start) = BridgePosterior::smoothed(layout, noise.known_variance());
        let structure = BridgeStructure {
            density: chosen.density,
            instant_density: chosen.instantaneous.then_some(chosen.instant_density),
            innovation: chosen.innovations,
            noise: noise.law,
            learn_noise: noise.fixed_scale.is_none(),
            drift: chosen.drift,
            neural_diffusion: chosen.neural_diffusion,
            net_sizes: chosen.nets,
            estimator: chosen.estimator,
        };
        let model = BridgeModel::new(structure, knowledge, start.increment_scales.clone());
        let scales = noise.first_scales(&start);
        let parameters = model.initial_parameters(&posterior, &scales, chosen.seed);
        let BridgePosterior { layout, values } = posterior;
        let cycle = Cycle::first(chosen.schedule_steps);
        let state = BridgeState::new(parameters, values, layout.n_variables(), cycle);
        Ok(Self {
            variables: data.variables().to_vec(),
            standardizer,
            noise_moments,
            n_batches,
            model,
            layout,
            state,
            settings,
            epoch: None,
            work: Workspace::default(),
        })
    }

    /// Goes on from a state of the same data, knowledge and settings.
    pub fn resume(
        data: &SeriesSet,
        knowledge: &EdgePrior,
        settings: CheckedBridgeSettings,
        state: BridgeState,
    ) -> Result<Self, BridgeError> {
        let mut trainer = Self::new(data, knowledge, settings)?;
        let fresh = &trainer.state;
        for (what, expected, found) in [
            ("parameters", fresh.parameters.len(), state.parameters.len()),
            ("path values", fresh.paths.means.len(), state.paths.means.len()),
            ("path values", fresh.paths.correlations.len(), state.paths.correlations.len()),
        ] {
            if expected != found {
                return Err(BridgeError::OtherModel { what, expected, found });
            }
        }
        trainer.state = state;
        Ok(trainer)
    }

    /// Puts the end of a coordinate ascent in place of the start: process, gates and paths.
    ///
    /// Gates are held back to where they can still be moved, if training is to go on from there.
    pub(crate) fn start_from(&mut self, fit: &LinearFit<'_>, will_train: bool) {
        let values = fit.values(self.model.structure().noise.unit_variance());
        let limit = if will_train { MOVABLE_LOGIT } else { f64::INFINITY };
        let logits: Vec<f64> =
            values.logits.iter().map(|logit| logit.clamp(-limit, limit)).collect();
        let known = KnownLinear {
            variables: &values.variables,
            lagged: GatedValues {
                logits: &logits,
                means: &values.means,
                deviations: &values.deviations,
                slabs: values.slabs,
            },
            offsets: &values.offsets,
            log_diffusions: &values.log_diffusions,
            log_noise: &values.log_noise,
            initial_means: &values.initial_means,
            initial_log_deviations: &values.initial_log_deviations,
        };
        self.model.set_linear(&mut self.state.parameters, &known);
        fit.place_paths(&self.layout, &mut self.state.paths);
        if !will_train {
            self.state.step = fit.n_steps();
            self.state.last_elbo = Some(fit.state.ascent.bound);
            self.state.converged = fit.state.ascent.converged;
        }
    }

    /// Puts a process that chains of levels have drawn in place of the start: the last one for number 0.
    ///
    /// Nothing changes before chains have come so far.
    pub(crate) fn start_from_levels(&mut self, task: &LevelTask, run: &LevelRun, number: usize) {
        let Some(process) = task.process(run, number, self.level_units()) else { return };
        let floor = ln(self.settings.get().min_scale);
        self.model.set_levels(&mut self.state.parameters, &process.known(), floor);
        task.place_cells(run, &self.layout, &mut self.state.paths);
        self.state.step = run.n_steps();
    }

    /// The units that a process of levels is put into.
    pub(crate) fn level_units(&self) -> LevelUnits<'_> {
        LevelUnits {
            increment_scales: self.model.increment_scales(),
            time_unit: self.layout.time_unit(),
        }
    }

    /// The state between two steps; enough to [`resume`](Self::resume).
    pub fn state(&self) -> &BridgeState {
        &self.state
    }

    /// The settings.
    pub fn settings(&self) -> &CheckedBridgeSettings {
        &self.settings
    }

    /// The model's places and priors.
    pub fn model(&self) -> &BridgeModel {
        &self.model
    }

    /// Grids and observed values.
    pub fn layout(&self) -> &BridgeLayout {
        &self.layout
    }

    /// Number of batches that every step of all series is dealt into.
    pub fn n_batches(&self) -> usize {
        self.n_batches
    }

    /// What the data say about observation noise.
    pub fn noise_moments(&self) -> Option<NoiseMoments> {
        self.noise_moments
    }

    /// The scaling of the data.
    pub fn standardizer(&self) -> &Standardizer {
        &self.standardizer
    }

    /// Names of the variables.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// How the observation noise is treated, with the data's own answer where settings ask for it.
    pub fn noise_scale(&self) -> NoiseScale {
        ObservationModel::new(self.settings.get(), self.noise_moments).scale()
    }

    /// The dynamics learned so far, as the filter needs them; `None` where they have no solution.
    pub(crate) fn filter_dynamics(&self) -> Option<FilterDynamics> {
        FilterDynamics::new(&self.model, &self.state.parameters, self.layout.time_unit())
    }

    /// What the innovations of the process learned so far still contain, along the posterior means of the paths.
    pub(crate) fn adequacy(&self) -> Adequacy {
        let d = self.model.n_variables();
        let means = &self.state.paths.means;
        let Some(dynamics) = self.filter_dynamics() else { return Adequacy::unknown(d) };
        let mut rows = InnovationRows::new(d, self.layout.series().len());
        // Where a variable was set its innovation says nothing: 0 speaks for no share.
        let counted = |end: usize, mut error: Vec<f64>| {
            let own = error.iter_mut().enumerate();
            own.filter(|(idx, _)| self.layout.is_left_out(end, *idx)).for_each(|(_, e)| *e = 0.0);
            error
        };
        for series in self.layout.series() {
            for step in 1..series.n_steps() {
                let point = series.first_point + step;
                let h = self.layout.step(series.first_deviation_row + step);
                let earlier = self.layout.step(series.first_deviation_row + step - 1);
                let at = |point: usize| &means[point * d..(point + 1) * d];
                rows.add(
                    step,
                    Neighbours {
                        state: at(point),
                        error: &counted(
                            point + 1,
                            dynamics.innovation(at(point), at(point + 1), h),
                        ),
                        earlier_state: at(point - 1),
                        earlier_error: &counted(
                            point,
                            dynamics.innovation(at(point - 1), at(point), earlier),
                        ),
                    },
                );
            }
        }
        Adequacy::of_rows(&rows)
    }

    /// Lagged edge probabilities of the moment, `[source, target]`.
    pub fn edge_probabilities(&self) -> Vec<f64> {
        let logits = self.model.lagged().edge_logits.of(&self.state.parameters);
        crate::graph::posterior::edge_probabilities(logits, self.model.lagged_prior().rules())
    }

    /// Trains until nothing changes, the steps are used up, or `progress` breaks.
    pub fn run(
        &mut self,
        part: Part<'_>,
        progress: &dyn Progress,
    ) -> Result<StopReason, Divergence> {
        loop {
            if self.state.step == self.state.cycle.end() {
                self.finish_cycle();
            }
            if self.state.converged {
                return Ok(StopReason::Converged);
            }
            if self.state.step >= self.settings.max_steps() {
                return Ok(StopReason::StepLimit);
            }
            let step = self.step()?;
            if self.tell(part, &step, progress).is_break() {
                return Ok(StopReason::Stopped);
            }
        }
    }

    fn tell(&self, part: Part<'_>, step: &BridgeStep, progress: &dyn Progress) -> ControlFlow<()> {
        progress.step(&Step {
            part,
            number: step.step,
            end: step.cycle_end,
            terms: step.terms,
            rate: step.rate,
            expected_edges: Some(step.expected_edges),
            undone: step.undone,
            extras: &[("cycle", f64::from(step.cycle))],
            training: self,
        })
    }

    /// One step: evaluate a batch, and apply its gradient if everything is finite.
    pub fn step(&mut self) -> Result<BridgeStep, Divergence> {
        self.open_window();
        let (batch, weight) = self.next_batch();
        let (step, cycle) = (self.state.step, self.state.cycle);
        let seed = self.settings.get().seed;
        let prior_weight = cycle.prior_weight(step);
        let mut evaluated = self.evaluate(&batch, &Pass { weight, prior_weight, seed, draw: step });
        if self.settings.get().broken_steps.contains(&step) {
            evaluated = Err("broken on purpose");
        }
        let (terms, undone) = match evaluated {
            Ok(terms) => {
                let chosen = self.settings.get();
                let (rates, floor) = (&chosen.rates, chosen.min_scale);
                self.state.apply(&self.model, rates, floor, batch, &self.work);
                self.state.n_failed = 0;
                self.state.last_elbo = Some(terms.elbo());
                if let Some(window) = &mut self.state.window {
                    window.elbos.push(terms.elbo());
                }
                (terms, None)
            }
            Err(term) => {
                self.state.undo(self.model.n_variables());
                if self.state.n_failed >= self.settings.get().patience {
                    return Err(Divergence {
                        step,
                        term,
                        attempts: self.state.n_failed,
                        last_finite_elbo: self.state.last_elbo,
                    });
                }
                (ElboTerms::default(), Some(term))
            }
        };
        self.state.step += 1;
        Ok(BridgeStep {
            step,
            cycle_end: cycle.end(),
            cycle: cycle.number,
            terms,
            rate: cycle.rate(step),
            expected_edges: self.work.edge_probabilities().iter().sum(),
            undone,
        })
    }

    /// The ELBO of all data with the whole prior, batch after batch.
    pub fn full_elbo(&mut self) -> Option<ElboTerms> {
        let epoch = Epoch::new(&self.layout, self.n_batches, self.settings.get().seed, 0);
        let mut total = ElboTerms::default();
        for idx in 0..epoch.n_batches() {
            let batch = Batch::new(&self.layout, epoch.batch(idx));
            // Draws of their own, far from those of training.
            let draw = u64::MAX - idx as u64;
            let terms = self.evaluate(&batch, &Pass { draw, ..Pass::WHOLE }).ok()?;
            total.add_series(&terms);
            total.graph_kl = terms.graph_kl;
        }
        Some(total)
    }

    /// Terms of a batch, or the name of what is not finite.
    fn evaluate(&mut self, batch: &Batch, pass: &Pass) -> Result<ElboTerms, &'static str> {
        let learned = self.state.learned();
        let terms = self
            .model
            .evaluate(&self.layout, batch, pass, learned, &mut self.work)
            .ok_or("determinant")?;
        if let Some(term) = terms.non_finite_term() {
            return Err(term);
        }
        let local = &self.work.local_grads;
        let all = [&self.work.grads, &local.means, &local.log_deviations, &local.correlations];
        if all.iter().all(|grads| all_finite(grads)) { Ok(terms) } else { Err("gradient") }
    }

    /// The batch of this step, a function of seed and step alone, and what it stands for.
    fn next_batch(&mut self) -> (Batch, f64) {
        let number = self.state.step / self.n_batches as u64;
        if self.epoch.as_ref().is_none_or(|(dealt, _)| *dealt != number) {
            let seed = self.settings.get().seed;
            self.epoch = Some((number, Epoch::new(&self.layout, self.n_batches, seed, number)));
        }
        let (_, epoch) = self.epoch.as_ref().expect("the epoch was dealt above");
        let idx = (self.state.step % self.n_batches as u64) as usize;
        (Batch::new(&self.layout, epoch.batch(idx)), epoch.n_batches() as f64)
    }

    fn open_window(&mut self) {
        if self.state.step == self.state.cycle.window_start() {
            let probabilities = self.edge_probabilities();
            self.state.window = Some(Window { probabilities, elbos: Vec::new() });
        }
    }

    /// Judges the cycle that ends here and starts the next.
    fn finish_cycle(&mut self) {
        let chosen = self.settings.get();
        let (elbo_tolerance, edge_tolerance) = (chosen.elbo_tolerance, chosen.edge_tolerance);
        if let Some(window) = self.state.window.take() {
            let now = self.edge_probabilities();
            let change: f64 =
                window.probabilities.iter().zip(&now).map(|(a, b)| (a - b).abs()).sum();
            // Relative to the edges there are: most pairs never change anything.
            let edges = now.iter().sum::<f64>().max(1.0);
            let elbo_change = relative_change(&window.elbos);
            self.state.converged = change / edges < edge_tolerance && elbo_change < elbo_tolerance;
        }
        self.state.cycle = self.state.cycle.next();
    }
}

/// What a state depends on; more steps are the same fit, only longer.
pub(crate) fn state_key(settings: &BridgeSettings) -> BridgeSettings {
    BridgeSettings { max_steps: None, ..settings.clone() }
}

impl Training for BridgeTrainer {
    fn edge_probabilities(&self) -> Vec<f64> {
        Self::edge_probabilities(self)
    }

    fn edge_scores(&self) -> EdgeScores {
        let logits = self.model.lagged().edge_logits.of(&self.state.parameters).iter();
        let scores = logits
            .zip(self.model.lagged_prior().rules())
            .map(|(&logit, rule)| rule.log_odds(logit));
        EdgeScores::from_matrix(self.model.n_variables(), scores.collect())
            .expect("only finite gradients are applied, so that logits are numbers")
    }

    fn state(&self) -> Checkpoint {
        Checkpoint::new(&self.state, &state_key(self.settings.get()))
    }
}

/// Steps of series per training step, about.
pub(super) fn batch_steps(settings: &BridgeSettings, n_variables: usize) -> usize {
    (settings.batch_numbers / n_variables).max(MIN_BATCH_STEPS)
}

/// Whether no value is infinite or `NaN`: no early end, so that the loop vectorises.
fn all_finite(values: &[f64]) -> bool {
    vectorised(
        #[inline(always)]
        || !values.iter().fold(false, |found, value| found | !value.is_finite()),
    )
}

/// Change from the first to the last third of values, relative to their magnitude.
fn relative_change(values: &[f64]) -> f64 {
    let third = values.len() / 3;
    if third == 0 {
        return f64::INFINITY;
    }
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (first, last) = (mean(&values[..third]), mean(&values[values.len() - third..]));
    (last - first).abs() / last.abs().max(1.0)
}
