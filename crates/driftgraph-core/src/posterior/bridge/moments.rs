//! From the posterior's parameters to the moments of each step that the transition needs, and back.
//!
//! With z ~ N(m, s²) at a point, correlation r with the next, and d the increment:
//! E d = m' - m, Var d = s'² + s² - 2 r s s', Cov(d, z) = r s s' - s². Increments are measured in each
//! variable's own scale c, and z is multiplied by the step h, since only h z enters the drift.

use super::batch::{Batch, BatchSteps, LocalValues};
use super::deviations::{BatchPaths, Deviations};
use super::layout::BridgeLayout;
use crate::numeric::kernels::vectorised;
use crate::numeric::real::ln;

/// Moments of the steps of a batch; as a gradient, derivatives by each of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct StepMoments {
    /// h E z at the start, `[step, variable]`.
    pub inputs: Vec<f64>,
    /// E d / c, `[step, variable]`.
    pub increments: Vec<f64>,
    /// h² Var z, `[deviation row, variable]`.
    pub(crate) input_variances: Vec<f64>,
    /// h Cov(d, z) / c, `[deviation row, variable]`.
    pub covariances: Vec<f64>,
    /// Var d / c², `[deviation row, variable]`.
    pub(crate) increment_variances: Vec<f64>,
    /// log Var(z' | z) / c², `[deviation row, variable]`.
    pub(crate) log_variances: Vec<f64>,
    /// h, `[step]`.
    pub steps: Vec<f64>,
    /// Row of the buffers of deviations that each step reads, `[step]`.
    pub(crate) deviation_row_of: Vec<usize>,
    /// Whether a step says nothing of a variable's causes, `[step, variable]`; empty where nothing was done.
    pub(crate) left_out: Vec<bool>,
}

impl StepMoments {
    /// Makes room for the given numbers of rows, with zeros everywhere.
    pub(crate) fn reset(&mut self, n_steps: usize, n_deviation_rows: usize, n_variables: usize) {
        for buffer in [&mut self.inputs, &mut self.increments] {
            buffer.clear();
            buffer.resize(n_steps * n_variables, 0.0);
        }
        for buffer in [
            &mut self.input_variances,
            &mut self.covariances,
            &mut self.increment_variances,
            &mut self.log_variances,
        ] {
            buffer.clear();
            buffer.resize(n_deviation_rows * n_variables, 0.0);
        }
        self.steps.clear();
        self.deviation_row_of.clear();
        self.left_out.clear();
    }

    /// Notes which variables' causes each step of a batch says nothing of.
    pub(super) fn leave_out(&mut self, layout: &BridgeLayout, batch: &Batch) {
        if !layout.has_marks() {
            return;
        }
        for step in &batch.steps {
            let end = batch.points[step.point + 1];
            let left_out = |variable| layout.is_left_out(end, variable);
            self.left_out.extend((0..layout.n_variables()).map(left_out));
        }
    }

    /// Whether a step, by its number times the number of variables plus a variable, is left out.
    pub(crate) fn is_left_out(&self, cell: usize) -> bool {
        self.left_out.get(cell).copied().unwrap_or(false)
    }

    /// Number of steps.
    pub(crate) fn n_steps(&self) -> usize {
        self.deviation_row_of.len()
    }
}

/// Fills the moments of a batch, integrating the path out exactly; steps share deviation rows.
pub(crate) fn exact_moments(
    BatchSteps { layout, batch, scales }: BatchSteps<'_>,
    BatchPaths { values, deviations }: &BatchPaths,
    out: &mut StepMoments,
) {
    let d = scales.len();
    out.reset(batch.n_steps(), batch.distinct.len(), d);
    out.leave_out(layout, batch);
    let log_scales: Vec<f64> = scales.iter().map(|&scale| ln(scale)).collect();
    vectorised(
        #[inline(always)]
        || {
            for (row, &place) in batch.distinct.iter().enumerate() {
                let step = layout.step(batch.deviation_rows[place]);
                let deviation = deviations.row(place, d);
                let log_next = &values.log_deviations[(place + 1) * d..(place + 2) * d];
                let own = row * d..(row + 1) * d;
                let input_variances = &mut out.input_variances[own.clone()];
                let covariances = &mut out.covariances[own.clone()];
                let increment_variances = &mut out.increment_variances[own.clone()];
                let log_variances = &mut out.log_variances[own];
                for v in 0..d {
                    let (here, next, scale) = (deviation.here[v], deviation.next[v], scales[v]);
                    let (square, cross) = (here * here, deviation.correlations[v] * here * next);
                    input_variances[v] = step * step * square;
                    covariances[v] = step * (cross - square) / scale;
                    increment_variances[v] = (square + next * next - 2.0 * cross) / (scale * scale);
                    log_variances[v] = 2.0 * (log_next[v] - log_scales[v]) + deviation.log_rests[v];
                }
            }
            for (row, step) in batch.steps.iter().enumerate() {
                let h = layout.step(batch.deviation_rows[batch.distinct[step.distinct]]);
                out.steps.push(h);
                out.deviation_row_of.push(step.distinct);
                let (here, next) = values.means[step.point * d..(step.point + 2) * d].split_at(d);
                let inputs = &mut out.inputs[row * d..(row + 1) * d];
                let increments = &mut out.increments[row * d..(row + 1) * d];
                for v in 0..d {
                    inputs[v] = h * here[v];
                    increments[v] = (next[v] - here[v]) / scales[v];
                }
            }
        },
    );
}

/// Adds the gradient by the posterior's parameters, given that by the exact moments.
pub(crate) fn exact_moments_backward(
    BatchSteps { layout, batch, scales }: BatchSteps<'_>,
    deviations: &Deviations,
    by_moments: &StepMoments,
    grads: &mut LocalValues,
) {
    let d = scales.len();
    vectorised(
        #[inline(always)]
        || {
            for (row, &place) in batch.distinct.iter().enumerate() {
                let step = layout.step(batch.deviation_rows[place]);
                let deviation = deviations.row(place, d);
                let own = row * d..(row + 1) * d;
                let by_variances = &by_moments.increment_variances[own.clone()];
                let by_covariances = &by_moments.covariances[own.clone()];
                let by_inputs = &by_moments.input_variances[own.clone()];
                let by_logs = &by_moments.log_variances[own];
                let both = &mut grads.log_deviations[place * d..(place + 2) * d];
                let (by_here, by_next) = both.split_at_mut(d);
                let by_correlations = &mut grads.correlations[place * d..(place + 1) * d];
                for v in 0..d {
                    let (here, next, scale) = (deviation.here[v], deviation.next[v], scales[v]);
                    let (square, product) = (here * here, here * next);
                    let (correlation, by_log) = (deviation.correlations[v], by_logs[v]);
                    let by_variance = by_variances[v] / (scale * scale);
                    let by_covariance = by_covariances[v] * step / scale;
                    let by_input = by_inputs[v] * step * step;
                    let by_cross = by_covariance - 2.0 * by_variance;
                    let through_cross = correlation * product * by_cross;
                    by_here[v] +=
                        2.0 * square * (by_variance - by_covariance + by_input) + through_cross;
                    by_next[v] += 2.0 * (next * next * by_variance + by_log) + through_cross;
                    by_correlations[v] +=
                        product * deviation.rests[v] * by_cross - 2.0 * correlation * by_log;
                }
            }
            for (row, step) in batch.steps.iter().enumerate() {
                let h = layout.step(batch.deviation_rows[batch.distinct[step.distinct]]);
                let by_increments = &by_moments.increments[row * d..(row + 1) * d];
                let by_inputs = &by_moments.inputs[row * d..(row + 1) * d];
                let both = &mut grads.means[step.point * d..(step.point + 2) * d];
                let (by_here, by_next) = both.split_at_mut(d);
                for v in 0..d {
                    let by_increment = by_increments[v] / scales[v];
                    by_here[v] += by_inputs[v] * h - by_increment;
                    by_next[v] += by_increment;
                }
            }
        },
    );
}
