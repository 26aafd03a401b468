//! The path KL with node functions: states and graphs are sampled, everything else stays exact.
//!
//! The state at the start of a step is drawn, z = m + s e; the end of the step is integrated out. Over graphs,
//! E(r - l_G - n_G)² = E(r - l - n_G)² + Var l_G + 2 E n_G (l_G - l) with l the mean linear drift: the
//! linear part keeps its closed form, and samples are needed for the node function n and its
//! covariance with the linear part only. Where the diffusion depends on the graph as well, that does not
//! hold, and the linear part is sampled too.

mod pass;
#[cfg(test)]
mod tests;

use super::batch::{Batch, LocalValues};
use super::layout::BridgeLayout;
use super::moments::StepMoments;
use crate::noise::{Noise, Purpose};

/// Sampled starts of all steps of a batch.
#[derive(Debug, Clone, Default)]
pub(super) struct SampledStates {
    /// z, `[step, variable]`, standardised.
    pub(super) states: Vec<f64>,
    /// Standard normal numbers e, `[step, variable]`.
    noise: Vec<f64>,
}

/// Draws the states of a batch and fills its moments; every step has its own spread row.
pub(super) fn sampled_moments(
    layout: &BridgeLayout,
    (scales, batch): (&[f64], &Batch),
    values: &LocalValues,
    (seed, draw): (u64, u64),
    out: &mut StepMoments,
) -> SampledStates {
    let d = scales.len();
    let n = batch.n_steps();
    out.reset(n, n, d);
    let mut sampled = SampledStates { states: vec![0.0; n * d], noise: vec![0.0; n * d] };
    Noise::new(seed, Purpose::Brownian, draw).fill_normal(&mut sampled.noise);
    for (row, step) in batch.steps.iter().enumerate() {
        let place = batch.distinct[step.distinct];
        let h = layout.step(batch.spreads[place]);
        out.steps.push(h);
        out.spread_of.push(row);
        for (variable, scale) in scales.iter().enumerate() {
            let idx = row * d + variable;
            let spread = Ends::new(values, place * d + variable, d);
            let noise = sampled.noise[idx];
            let here = values.means[step.point * d + variable];
            let next = values.means[(step.point + 1) * d + variable];
            sampled.states[idx] = here + spread.here * noise;
            out.inputs[idx] = h * sampled.states[idx];
            let pulled = (spread.correlation * spread.next - spread.here) * noise;
            out.increments[idx] = (next - here + pulled) / scale;
            out.increment_variances[idx] = spread.variance() / (scale * scale);
            out.log_variances[idx] = out.increment_variances[idx].ln();
        }
    }
    sampled
}

/// Adds the gradient by the posterior's parameters, given that by moments and by states.
pub(super) fn sampled_moments_backward(
    (scales, batch): (&[f64], &Batch),
    (values, moments, sampled): (&LocalValues, &StepMoments, &SampledStates),
    (by_moments, by_states): (&StepMoments, &[f64]),
    grads: &mut LocalValues,
) {
    let d = scales.len();
    for (row, step) in batch.steps.iter().enumerate() {
        let place = batch.distinct[step.distinct];
        for (variable, scale) in scales.iter().enumerate() {
            let (idx, at) = (row * d + variable, place * d + variable);
            let Ends { here, next, correlation, rest } = Ends::new(values, at, d);
            let noise = sampled.noise[idx];
            let by_increment = by_moments.increments[idx] / scale;
            let by_state = by_moments.inputs[idx] * moments.steps[row] + by_states[idx];
            grads.means[step.point * d + variable] += by_state - by_increment;
            grads.means[(step.point + 1) * d + variable] += by_increment;
            // The variance enters as itself and as its logarithm.
            let variance = next * next * rest;
            let by_log_variance = by_moments.log_variances[idx]
                + by_moments.increment_variances[idx] * variance / (scale * scale);
            grads.log_deviations[at] += (by_state - by_increment) * here * noise;
            grads.log_deviations[at + d] +=
                by_increment * correlation * next * noise + 2.0 * by_log_variance;
            grads.correlations[at] +=
                by_increment * next * noise * rest - 2.0 * correlation * by_log_variance;
        }
    }
}

/// Deviations at both ends of a step, their correlation, and 1 - correlation².
struct Ends {
    here: f64,
    next: f64,
    correlation: f64,
    rest: f64,
}

impl Ends {
    fn new(values: &LocalValues, idx: usize, d: usize) -> Self {
        let raw = values.correlations[idx];
        Self {
            here: values.log_deviations[idx].exp(),
            next: values.log_deviations[idx + d].exp(),
            correlation: raw.tanh(),
            // sech², without cancellation.
            rest: raw.cosh().powi(-2),
        }
    }

    /// Var(z' | z).
    fn variance(&self) -> f64 {
        self.next * self.next * self.rest
    }
}
