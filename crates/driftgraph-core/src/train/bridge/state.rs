//! Everything that changes in training: plain numbers, enough to go on bit for bit.

use super::adam::{Correction, LazyMoments, Moments, Pace, adam_step};
use super::cycle::Cycle;
use crate::numeric::real::ln;
use crate::posterior::bridge::batch::{Batch, Learned, LocalValues};
use crate::posterior::bridge::model::{BridgeModel, ParameterPart, Workspace};

use super::settings::Rates;

/// The state of a bridge fit between two steps.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BridgeState {
    /// Steps tried so far.
    pub step: u64,
    /// The current cycle of the learning rate.
    pub cycle: Cycle,
    /// Parameters of the process, in the order of the model's table.
    pub parameters: Vec<f64>,
    /// Parameters of the paths.
    pub paths: LocalValues,
    /// Estimate of the ELBO in the last step that succeeded.
    pub last_elbo: Option<f64>,
    /// Steps that were undone because something was not finite.
    pub n_undone: u64,
    /// Whether the last finished cycle changed next to nothing.
    pub converged: bool,
    /// What is left of the learning rates after the halvings of undone steps.
    pub(super) rate_factor: f64,
    /// Undone steps in a row.
    pub(super) n_failed: u32,
    /// What the cycle is judged by, once it has come so far.
    pub(super) window: Option<Window>,
    /// How to take back the last step, in case it led to something that is not finite.
    undo: Option<Undo>,
    first_moments: Vec<f64>,
    second_moments: Vec<f64>,
    n_updates: u32,
    mean_moments: LazyMoments,
    deviation_moments: LazyMoments,
    correlation_moments: LazyMoments,
}

/// The last part of a cycle, over which changes are judged.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Window {
    /// Edge probabilities at its start.
    pub(super) probabilities: Vec<f64>,
    /// Estimates of the ELBO, one per step that succeeded.
    pub(super) elbos: Vec<f64>,
}

/// What a step changed, kept to undo it.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Undo {
    parameters: Vec<f64>,
    points: Vec<usize>,
    deviation_rows: Vec<usize>,
    rows: LocalValues,
}

impl BridgeState {
    /// The state before the first step.
    pub(super) fn new(
        parameters: Vec<f64>,
        paths: LocalValues,
        n_variables: usize,
        cycle: Cycle,
    ) -> Self {
        let rows = |values: &[f64]| LazyMoments::new(values.len() / n_variables, n_variables);
        Self {
            step: 0,
            cycle,
            last_elbo: None,
            n_undone: 0,
            converged: false,
            rate_factor: 1.0,
            n_failed: 0,
            window: None,
            undo: None,
            first_moments: vec![0.0; parameters.len()],
            second_moments: vec![0.0; parameters.len()],
            n_updates: 0,
            mean_moments: rows(&paths.means),
            deviation_moments: rows(&paths.log_deviations),
            correlation_moments: rows(&paths.correlations),
            parameters,
            paths,
        }
    }

    /// The values of the moment, as an evaluation reads them.
    pub fn learned(&self) -> Learned<'_> {
        Learned { parameters: &self.parameters, paths: &self.paths }
    }

    /// One step of Adam for the process and for the rows of the batch.
    ///
    /// The buffers of the step before are used again.
    pub(super) fn apply(
        &mut self,
        model: &BridgeModel,
        rates: &Rates,
        floor: f64,
        batch: Batch,
        work: &Workspace,
    ) {
        let mut undo = self.undo.take().unwrap_or_default();
        undo.parameters.clone_from(&self.parameters);
        undo.rows.gather(&self.paths, &batch, model.n_variables());
        self.n_updates = self.n_updates.saturating_add(1);
        let correction = Correction::after(self.n_updates);
        let share = self.rate_factor * self.cycle.rate(self.step);
        for (slot, part) in model.parameter_parts() {
            let rate = match part {
                ParameterPart::Graph => {
                    rates.graph * self.rate_factor * self.cycle.graph_rate(self.step)
                }
                ParameterPart::Effects => rates.effects * share,
                ParameterPart::Scales => rates.paths * share,
                ParameterPart::Nets => rates.nets * share,
                ParameterPart::Fixed => continue,
            };
            let moments = Moments {
                first: slot.of_mut(&mut self.first_moments),
                second: slot.of_mut(&mut self.second_moments),
            };
            let parameters = slot.of_mut(&mut self.parameters);
            adam_step(Pace { rate, correction }, slot.of(&work.grads), moments, parameters);
        }
        for slot in model.floored_slots() {
            for log_scale in slot.of_mut(&mut self.parameters) {
                *log_scale = log_scale.max(ln(floor));
            }
        }
        self.apply_rows(rates.paths * share, &batch, work);
        let Batch { points, deviation_rows, .. } = batch;
        self.undo = Some(Undo { points, deviation_rows, ..undo });
    }

    fn apply_rows(&mut self, rate: f64, batch: &Batch, work: &Workspace) {
        let (paths, grads) = (&mut self.paths, &work.local_grads);
        self.mean_moments.step(rate, &batch.points, &grads.means, &mut paths.means);
        for (moments, grads, values) in [
            (&mut self.deviation_moments, &grads.log_deviations, &mut paths.log_deviations),
            (&mut self.correlation_moments, &grads.correlations, &mut paths.correlations),
        ] {
            moments.step(rate, &batch.deviation_rows, grads, values);
        }
    }

    /// Puts back what the last step changed, and halves the learning rates.
    ///
    /// Adam's moments stay: they saw only finite gradients.
    pub(super) fn undo(&mut self, n_variables: usize) {
        self.rate_factor *= 0.5;
        self.n_undone += 1;
        self.n_failed += 1;
        let Some(Undo { parameters, points, deviation_rows, rows }) = self.undo.take() else {
            return;
        };
        self.parameters = parameters;
        let scatter = |values: &mut [f64], rows: &[usize], kept: &[f64]| {
            for (&row, kept) in rows.iter().zip(kept.chunks_exact(n_variables)) {
                values[row * n_variables..(row + 1) * n_variables].copy_from_slice(kept);
            }
        };
        scatter(&mut self.paths.means, &points, &rows.means);
        scatter(&mut self.paths.log_deviations, &deviation_rows, &rows.log_deviations);
        scatter(&mut self.paths.correlations, &deviation_rows, &rows.correlations);
    }
}
