//! From the posterior's parameters to the moments of each step that the transition needs, and back.
//!
//! With z ~ N(m, s²) at a point, correlation r with the next, and d the increment:
//! E d = m' - m, Var d = s'² + s² - 2 r s s', Cov(d, z) = r s s' - s². Increments are measured in each
//! variable's own scale c, and z is multiplied by the step h, since only h z enters the drift.

use super::batch::{Batch, LocalValues};
use super::layout::BridgeLayout;

/// Moments of the steps of a batch; as a gradient, derivatives by each of them.
#[derive(Debug, Clone, Default)]
pub struct StepMoments {
    /// h E z at the start, `[step, variable]`.
    pub inputs: Vec<f64>,
    /// E d / c, `[step, variable]`.
    pub increments: Vec<f64>,
    /// h² Var z, `[spread, variable]`.
    pub input_variances: Vec<f64>,
    /// h Cov(d, z) / c, `[spread, variable]`.
    pub covariances: Vec<f64>,
    /// Var d / c², `[spread, variable]`.
    pub increment_variances: Vec<f64>,
    /// log Var(z' | z) / c², `[spread, variable]`.
    pub log_variances: Vec<f64>,
    /// h, `[step]`.
    pub steps: Vec<f64>,
    /// Row of the spread buffers that each step reads, `[step]`.
    pub spread_of: Vec<usize>,
}

impl StepMoments {
    /// Makes room for the given numbers of rows, with zeros everywhere.
    pub fn reset(&mut self, n_steps: usize, n_spreads: usize, n_variables: usize) {
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
            buffer.resize(n_spreads * n_variables, 0.0);
        }
        self.steps.clear();
        self.spread_of.clear();
    }

    /// Number of steps.
    pub fn n_steps(&self) -> usize {
        self.spread_of.len()
    }
}

/// Deviation and correlation of one variable at the two ends of a step, with their products.
#[derive(Debug, Clone, Copy)]
struct Spread {
    square: f64,
    next_square: f64,
    /// r s s'.
    cross: f64,
    correlation: f64,
    /// log(1 - r²).
    log_rest: f64,
}

impl Spread {
    fn new(values: &LocalValues, idx: usize, n_variables: usize) -> Self {
        let (log_here, log_next) =
            (values.log_deviations[idx], values.log_deviations[idx + n_variables]);
        let raw = values.correlations[idx];
        let correlation = raw.tanh();
        // log(1 - tanh²) = -2 log cosh, without cancellation.
        let log_cosh = raw.abs() + (-2.0 * raw.abs()).exp().ln_1p() - std::f64::consts::LN_2;
        Self {
            square: (2.0 * log_here).exp(),
            next_square: (2.0 * log_next).exp(),
            cross: correlation * (log_here + log_next).exp(),
            correlation,
            log_rest: -2.0 * log_cosh,
        }
    }
}

/// Fills the moments of a batch, integrating the path out exactly; steps share spread rows.
pub fn exact_moments(
    layout: &BridgeLayout,
    scales: &[f64],
    batch: &Batch,
    values: &LocalValues,
    out: &mut StepMoments,
) {
    let n_variables = scales.len();
    out.reset(batch.n_steps(), batch.distinct.len(), n_variables);
    for (row, &place) in batch.distinct.iter().enumerate() {
        let step = layout.step(batch.spreads[place]);
        for (variable, scale) in scales.iter().enumerate() {
            let spread = Spread::new(values, place * n_variables + variable, n_variables);
            let idx = row * n_variables + variable;
            out.input_variances[idx] = step * step * spread.square;
            out.covariances[idx] = step * (spread.cross - spread.square) / scale;
            let variance = spread.square + spread.next_square - 2.0 * spread.cross;
            out.increment_variances[idx] = variance / (scale * scale);
            out.log_variances[idx] = spread.next_square.ln() + spread.log_rest - 2.0 * scale.ln();
        }
    }
    for (row, step) in batch.steps.iter().enumerate() {
        let h = layout.step(batch.spreads[batch.distinct[step.distinct]]);
        out.steps.push(h);
        out.spread_of.push(step.distinct);
        for (variable, scale) in scales.iter().enumerate() {
            let here = values.means[step.point * n_variables + variable];
            let next = values.means[(step.point + 1) * n_variables + variable];
            out.inputs[row * n_variables + variable] = h * here;
            out.increments[row * n_variables + variable] = (next - here) / scale;
        }
    }
}

/// Adds the gradient by the posterior's parameters, given that by the exact moments.
pub fn exact_moments_backward(
    layout: &BridgeLayout,
    scales: &[f64],
    batch: &Batch,
    (values, moments): (&LocalValues, &StepMoments),
    by_moments: &StepMoments,
    grads: &mut LocalValues,
) {
    let n_variables = scales.len();
    for (row, &place) in batch.distinct.iter().enumerate() {
        let step = layout.step(batch.spreads[place]);
        for (variable, scale) in scales.iter().enumerate() {
            let at = place * n_variables + variable;
            let Spread { square, next_square, cross, correlation, .. } =
                Spread::new(values, at, n_variables);
            let idx = row * n_variables + variable;
            let by_variance = by_moments.increment_variances[idx] / (scale * scale);
            let by_covariance = by_moments.covariances[idx] * step / scale;
            let by_input = by_moments.input_variances[idx] * step * step;
            let by_log = by_moments.log_variances[idx];
            let by_cross = by_covariance - 2.0 * by_variance;
            grads.log_deviations[at] +=
                2.0 * square * (by_variance - by_covariance + by_input) + cross * by_cross;
            grads.log_deviations[at + n_variables] +=
                2.0 * next_square * by_variance + cross * by_cross + 2.0 * by_log;
            let rest = 1.0 - correlation * correlation;
            let product = (square * next_square).sqrt();
            grads.correlations[at] += product * rest * by_cross - 2.0 * correlation * by_log;
        }
    }
    for (row, step) in batch.steps.iter().enumerate() {
        let h = moments.steps[row];
        for (variable, scale) in scales.iter().enumerate() {
            let by_increment = by_moments.increments[row * n_variables + variable] / scale;
            let by_input = by_moments.inputs[row * n_variables + variable] * h;
            grads.means[step.point * n_variables + variable] += by_input - by_increment;
            grads.means[(step.point + 1) * n_variables + variable] += by_increment;
        }
    }
}
