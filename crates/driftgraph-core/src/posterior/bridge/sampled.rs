//! The path KL with parts beyond linear effects: states and graphs are sampled, everything else stays exact.
//!
//! The state at the start of a step is drawn, z = m + s e; the end of the step is integrated out. Over graphs,
//! E(r - l_G - n_G)² = E(r - l - n_G)² + Var l_G + 2 E n_G (l_G - l) with l the mean linear drift: the
//! linear part keeps its closed form, and samples are needed for the node function n and its
//! covariance with the linear part only. Where the diffusion depends on the graph as well, that does not
//! hold, and the linear part is sampled too.

mod pass;
mod piece;
#[cfg(test)]
mod tests;

pub(super) use pass::SampledWork;
pub(crate) use pass::{SampledPart, SampledSteps};
pub(crate) use piece::GraphPiece;

use super::batch::{BatchSteps, LocalValues};
use super::deviations::{BatchPaths, Deviations};
use super::moments::StepMoments;
use super::structure::Draw;
use crate::numeric::kernels::vectorised;
use crate::numeric::real::ln;
use crate::random::{Purpose, RandomStream};

/// Sampled starts of all steps of a batch.
#[derive(Debug, Clone, Default)]
pub(super) struct SampledStates {
    /// z, `[step, variable]`, standardised.
    pub(super) states: Vec<f64>,
    /// Standard normal numbers e, `[step, variable]`.
    normals: Vec<f64>,
}

/// Moments of sampled steps, and the derivatives by them and by the states.
pub(super) struct SampledAdjoints<'a> {
    pub(super) moments: &'a StepMoments,
    pub(super) by_moments: &'a StepMoments,
    pub(super) by_states: &'a [f64],
}

/// Draws the states of a batch and fills its moments; every step has its own deviation row.
pub(super) fn sampled_moments(
    BatchSteps { layout, batch, scales }: BatchSteps<'_>,
    BatchPaths { values, deviations }: &BatchPaths,
    draw: Draw,
    sampled: &mut SampledStates,
    out: &mut StepMoments,
) {
    let d = scales.len();
    let n = batch.n_steps();
    out.reset(n, n, d);
    out.leave_out(layout, batch);
    sampled.states.resize(n * d, 0.0);
    sampled.normals.resize(n * d, 0.0);
    RandomStream::new(draw.seed, Purpose::Brownian, draw.number).fill_normal(&mut sampled.normals);
    let log_scales: Vec<f64> = scales.iter().map(|&scale| ln(scale)).collect();
    vectorised(
        #[inline(always)]
        || {
            for (row, step) in batch.steps.iter().enumerate() {
                let place = batch.distinct[step.distinct];
                let h = layout.step(batch.deviation_rows[place]);
                out.steps.push(h);
                out.deviation_row_of.push(row);
                let here_and_next = deviations.row(place, d);
                let log_next = &values.log_deviations[(place + 1) * d..(place + 2) * d];
                let (here, next) = values.means[step.point * d..(step.point + 2) * d].split_at(d);
                let own = row * d..(row + 1) * d;
                let (normals, states) =
                    (&sampled.normals[own.clone()], &mut sampled.states[own.clone()]);
                let (inputs, increments) =
                    (&mut out.inputs[own.clone()], &mut out.increments[own.clone()]);
                let (variances, logs) =
                    (&mut out.increment_variances[own.clone()], &mut out.log_variances[own]);
                for v in 0..d {
                    let (deviation, deviation_next) =
                        (here_and_next.here[v], here_and_next.next[v]);
                    states[v] = here[v] + deviation * normals[v];
                    inputs[v] = h * states[v];
                    let pulled =
                        (here_and_next.correlations[v] * deviation_next - deviation) * normals[v];
                    increments[v] = (next[v] - here[v] + pulled) / scales[v];
                    let relative = deviation_next / scales[v];
                    variances[v] = relative * relative * here_and_next.rests[v];
                    logs[v] = 2.0 * (log_next[v] - log_scales[v]) + here_and_next.log_rests[v];
                }
            }
        },
    );
}

/// Adds the gradient by the posterior's parameters, given that by moments and by states.
pub(super) fn sampled_moments_backward(
    BatchSteps { batch, scales, .. }: BatchSteps<'_>,
    deviations: &Deviations,
    sampled: &SampledStates,
    by: &SampledAdjoints<'_>,
    grads: &mut LocalValues,
) {
    let d = scales.len();
    vectorised(
        #[inline(always)]
        || {
            for (row, step) in batch.steps.iter().enumerate() {
                let place = batch.distinct[step.distinct];
                let h = by.moments.steps[row];
                let here_and_next = deviations.row(place, d);
                let own = row * d..(row + 1) * d;
                let normals = &sampled.normals[own.clone()];
                let variances = &by.moments.increment_variances[own.clone()];
                let by_increments = &by.by_moments.increments[own.clone()];
                let by_inputs = &by.by_moments.inputs[own.clone()];
                let by_states = &by.by_states[own.clone()];
                let by_variances = &by.by_moments.increment_variances[own.clone()];
                let by_logs = &by.by_moments.log_variances[own];
                let means = &mut grads.means[step.point * d..(step.point + 2) * d];
                let (by_here, by_next) = means.split_at_mut(d);
                let both = &mut grads.log_deviations[place * d..(place + 2) * d];
                let (by_deviation, by_deviation_next) = both.split_at_mut(d);
                let by_correlations = &mut grads.correlations[place * d..(place + 1) * d];
                for v in 0..d {
                    let (normal, correlation) = (normals[v], here_and_next.correlations[v]);
                    let by_increment = by_increments[v] / scales[v];
                    let by_state = by_inputs[v] * h + by_states[v];
                    by_here[v] += by_state - by_increment;
                    by_next[v] += by_increment;
                    // The variance enters as itself and as its logarithm.
                    let by_log_variance = by_logs[v] + by_variances[v] * variances[v];
                    let pulled = by_increment * here_and_next.next[v] * normal;
                    by_deviation[v] += (by_state - by_increment) * here_and_next.here[v] * normal;
                    by_deviation_next[v] += correlation * pulled + 2.0 * by_log_variance;
                    by_correlations[v] +=
                        pulled * here_and_next.rests[v] - 2.0 * correlation * by_log_variance;
                }
            }
        },
    );
}
