//! One-step predictive log likelihood of series by a Kalman filter with fitted dynamics.
//!
//! A step moves z (a row) to z + c * d with d (I - B) = h (b + z A + extra) + innovation. The filter uses the
//! posterior means of A and B, the innovations' first two moments, and, for a drift that is not
//! linear, its derivative at the filtered mean (the extended filter).

use super::gated::GatedMoments;
use super::layout::{BridgeLayout, SeriesRows};
use super::mean_field::MeanFieldParts;
use super::model::BridgeModel;
use crate::numeric::kernels::{View, add_product, product};
use crate::numeric::linalg::{cholesky, identity, log_det_and_inverse, solve_lower};
use crate::numeric::real::{exp, ln, ln_1p};
use crate::numeric::special::LN_TAU;
use crate::process::part::AddsTo;

/// FilterDynamics in the units of a fit: standardised values, time in the fit's unit.
#[derive(Debug, Clone)]
pub struct FilterDynamics {
    /// E A, `[source, target]`, in increment scales per time.
    pub lagged: Vec<f64>,
    /// (I - E B)^-1, `[source, target]`.
    pub(crate) propagation: Vec<f64>,
    /// I - E B, `[source, target]`.
    pub(crate) remaining: Vec<f64>,
    /// b with the innovations' mean, in increment scales per time.
    pub offsets: Vec<f64>,
    /// Variances of the innovations per time, in squared increment scales.
    pub variances: Vec<f64>,
    /// Increment scales c.
    pub scales: Vec<f64>,
    /// Variances of the observation noise.
    pub noise_variances: Vec<f64>,
    /// Means and variances of the initial law.
    pub initial: (Vec<f64>, Vec<f64>),
    /// The user's time per unit of the fit.
    pub time_unit: f64,
    /// What comes on top of linear drift and constant diffusion; `None` for nothing.
    pub parts: Option<MeanFieldParts>,
}

/// Drift, its derivatives and the innovations' variances at one state.
struct Local {
    /// Per time, in increment scales.
    drift: Vec<f64>,
    /// Derivatives of the drift, `[source, target]`.
    slopes: Vec<f64>,
    /// Per time, in squared increment scales.
    variances: Vec<f64>,
}

/// Step of the differences that stand for derivatives of node functions, which are piecewise linear.
const DIFFERENCE: f64 = 1e-4;

/// What the filter knows: mean, and covariance of all variables.
struct Belief {
    mean: Vec<f64>,
    covariance: Vec<f64>,
}

/// Σ log p(x_k | x_1..k-1) of every series of a layout, the first observation given.
///
/// `None` for a series whose predictive covariance is not positive definite.
pub fn predictive_log_likelihoods(
    dynamics: &FilterDynamics,
    layout: &BridgeLayout,
) -> Vec<Option<f64>> {
    filter_all(dynamics, layout, PredictionError::gaussian)
}

/// The same with Student's t in place of the normal law: the measure by which candidates are compared.
///
/// A process that is nearly deterministic leaves tiny variances, and a few steps of a held-out series
/// outside what was seen then cost thousands of nats; they would decide alone.
pub(crate) fn predictive_scores(
    dynamics: &FilterDynamics,
    layout: &BridgeLayout,
) -> Vec<Option<f64>> {
    filter_all(dynamics, layout, PredictionError::student)
}

/// Degrees of freedom of the t law: heavy tails that still have a variance.
const DEGREES_OF_FREEDOM: f64 = 4.0;

/// How far observed cells were from their prediction.
struct PredictionError {
    n_cells: usize,
    /// Squared distance in units of the predicted covariance.
    squares: f64,
    /// Half the log determinant of that covariance.
    log_det: f64,
}

impl PredictionError {
    fn gaussian(&self) -> f64 {
        let n = self.n_cells as f64;
        -0.5 * self.squares - self.log_det - 0.5 * n * LN_TAU
    }

    fn student(&self) -> f64 {
        let (n, nu) = (self.n_cells as f64, DEGREES_OF_FREEDOM);
        let normaliser = libm::lgamma(0.5 * (nu + n)) - libm::lgamma(0.5 * nu);
        normaliser
            - 0.5 * n * ln(nu * std::f64::consts::PI)
            - self.log_det
            - 0.5 * (nu + n) * ln_1p(self.squares / nu)
    }
}

fn filter_all(
    dynamics: &FilterDynamics,
    layout: &BridgeLayout,
    density: impl Fn(&PredictionError) -> f64 + Sync,
) -> Vec<Option<f64>> {
    use rayon::prelude::*;
    layout.series().par_iter().map(|rows| filter(dynamics, layout, rows, &density)).collect()
}

fn filter(
    dynamics: &FilterDynamics,
    layout: &BridgeLayout,
    rows: &SeriesRows,
    density: &impl Fn(&PredictionError) -> f64,
) -> Option<f64> {
    let d = dynamics.scales.len();
    let mut belief = Belief { mean: dynamics.initial.0.clone(), covariance: vec![0.0; d * d] };
    for (idx, variance) in dynamics.initial.1.iter().enumerate() {
        belief.covariance[idx * (d + 1)] = *variance;
    }
    let mut log_likelihood = 0.0;
    for point in 0..rows.n_points {
        if point > 0 {
            let step = layout.step(rows.first_deviation_row + point - 1);
            belief.predict(dynamics, step * layout.time_unit() / dynamics.time_unit);
        }
        belief.place_marks(layout, rows.first_point + point, point == 0);
        let observed = layout.observed_row(rows.first_point + point);
        let error = belief.update(&dynamics.noise_variances, observed)?;
        if point > 0 {
            log_likelihood += density(&error);
        }
    }
    log_likelihood.is_finite().then_some(log_likelihood)
}

impl Belief {
    /// What was set is known, and what was released begins anew.
    fn place_marks(&mut self, layout: &BridgeLayout, point: usize, is_first: bool) {
        /// Variances of a value that was set, and of one of which nothing is known.
        const SET: f64 = 1e-10;
        const ANEW: f64 = 4.0;
        let d = self.mean.len();
        for idx in 0..d {
            let set = layout.set_value(point, idx);
            let is_known = layout.is_left_out(point, idx) || is_first && set.is_some();
            if !is_known {
                continue;
            }
            for other in 0..d {
                self.covariance[idx * d + other] = 0.0;
                self.covariance[other * d + idx] = 0.0;
            }
            self.mean[idx] = set.unwrap_or(0.0);
            self.covariance[idx * (d + 1)] = if set.is_some() { SET } else { ANEW };
        }
    }

    fn predict(&mut self, dynamics: &FilterDynamics, h: f64) {
        let d = self.mean.len();
        let FilterDynamics { propagation, scales, .. } = dynamics;
        let Local { drift, slopes, variances } = dynamics.at(&self.mean);
        let square = |matrix| View::new(matrix, d, d);
        // F = I + h A (I - B)^-1 diag(c).
        let mut transition = vec![0.0; d * d];
        product(&mut transition, d, square(&slopes), square(propagation));
        let mut moved = vec![0.0; d];
        product(&mut moved, d, View::new(&drift, 1, d), square(propagation));
        for idx in 0..d {
            self.mean[idx] += h * scales[idx] * moved[idx];
        }
        for (idx, entry) in transition.iter_mut().enumerate() {
            *entry = *entry * h * scales[idx % d] + f64::from(u8::from(idx % (d + 1) == 0));
        }
        let mut half = vec![0.0; d * d];
        product(&mut half, d, View::new(&self.covariance, d, d), square(&transition));
        product(&mut self.covariance, d, square(&transition).t(), square(&half));
        // Q = diag(c) (I - B)^-T diag(g² h) (I - B)^-1 diag(c).
        let rooted: Vec<f64> = (propagation.iter().enumerate())
            .map(|(idx, entry)| entry * (variances[idx / d] * h).sqrt() * scales[idx % d])
            .collect();
        add_product(&mut self.covariance, d, square(&rooted).t(), square(&rooted));
    }

    /// Conditions on the observed cells and returns how far they were from what was predicted.
    fn update(&mut self, noise_variances: &[f64], observed: &[f64]) -> Option<PredictionError> {
        let d = self.mean.len();
        let cells: Vec<usize> = (0..d).filter(|&idx| !observed[idx].is_nan()).collect();
        let n = cells.len();
        if n == 0 {
            return Some(PredictionError { n_cells: 0, squares: 0.0, log_det: 0.0 });
        }
        let mut variance = vec![0.0; n * n];
        let mut gains = vec![0.0; n * d];
        for (row, &cell) in cells.iter().enumerate() {
            let covariances = &self.covariance[cell * d..(cell + 1) * d];
            gains[row * d..(row + 1) * d].copy_from_slice(covariances);
            for (col, &other) in cells.iter().enumerate() {
                variance[row * n + col] = covariances[other];
            }
            variance[row * (n + 1)] += noise_variances[cell];
        }
        let factor = cholesky(&variance, n)?;
        let mut error: Vec<f64> =
            cells.iter().map(|&cell| observed[cell] - self.mean[cell]).collect();
        solve_lower(&factor, n, &mut error, 1);
        solve_lower(&factor, n, &mut gains, d);
        let gains = View::new(&gains, n, d);
        let mut shift = vec![0.0; d];
        product(&mut shift, d, View::new(&error, 1, n), gains);
        self.mean.iter_mut().zip(shift).for_each(|(mean, shift)| *mean += shift);
        let mut explained = vec![0.0; d * d];
        product(&mut explained, d, gains.t(), gains);
        self.covariance.iter_mut().zip(explained).for_each(|(entry, known)| *entry -= known);
        let squares: f64 = error.iter().map(|value| value * value).sum();
        let log_det: f64 = (0..n).map(|idx| ln(factor[idx * (n + 1)])).sum();
        Some(PredictionError { n_cells: n, squares, log_det })
    }
}

impl FilterDynamics {
    /// The dynamics of a model with these parameters, whose unit of time is so long in the user's:
    /// posterior means of effects, and all scales; `None` where I - E B is singular.
    pub fn new(model: &BridgeModel, parameters: &[f64], time_unit: f64) -> Option<Self> {
        let d = model.n_variables();
        let mut lagged = GatedMoments::default();
        model.lagged().moments(parameters, model.lagged_prior().rules(), &mut lagged);
        let mut remaining = identity(d);
        if let Some(matrix) = model.instant() {
            let mut instant = GatedMoments::default();
            matrix.moments(parameters, model.instant_prior().rules(), &mut instant);
            remaining.iter_mut().zip(&instant.mean).for_each(|(left, mean)| *left -= mean);
        }
        let (_, propagation) = log_det_and_inverse(&remaining, d)?;
        let mut dynamics = Self::random_walk(model.increment_scales().to_vec());
        dynamics.lagged = lagged.mean;
        dynamics.propagation = propagation;
        dynamics.remaining = remaining;
        dynamics.time_unit = time_unit;
        dynamics.parts = Some(MeanFieldParts::new(model, parameters));
        let unit_variance = model.structure().noise.unit_variance();
        let (means, log_deviations) = model.initial_law(parameters);
        for idx in 0..d {
            let log_scale = model.log_diffusions(parameters)[idx];
            let (mean, variance) = model.innovation().moments(parameters, idx, log_scale);
            dynamics.offsets[idx] = model.offsets(parameters)[idx] + mean;
            dynamics.variances[idx] = variance;
            let noise = exp(2.0 * model.log_noise(parameters)[idx]);
            dynamics.noise_variances[idx] = unit_variance * noise;
            dynamics.initial.0[idx] = means[idx];
            dynamics.initial.1[idx] = exp(2.0 * log_deviations[idx]);
        }
        Some(dynamics)
    }

    /// What a step from one state to the next added beyond its drift, per root of time: d (I - B) / √h - √h drift.
    pub(crate) fn innovation(&self, state: &[f64], next: &[f64], h: f64) -> Vec<f64> {
        let d = state.len();
        let increments: Vec<f64> = (next.iter().zip(state).zip(&self.scales))
            .map(|((next, state), scale)| (next - state) / (scale * h.sqrt()))
            .collect();
        let Local { drift, .. } = self.at(state);
        // What remains of the increments once the effects within the step are taken out.
        let mut left = vec![0.0; d];
        product(&mut left, d, View::new(&increments, 1, d), View::new(&self.remaining, d, d));
        left.iter().zip(&drift).map(|(left, drift)| left - h.sqrt() * drift).collect()
    }

    /// Drift, its derivatives and the innovations' variances at a state.
    fn at(&self, state: &[f64]) -> Local {
        let d = state.len();
        let mut drift = self.offsets.clone();
        for (source, value) in state.iter().enumerate() {
            for (drift, effect) in drift.iter_mut().zip(&self.lagged[source * d..(source + 1) * d])
            {
                *drift += value * effect;
            }
        }
        let (mut slopes, mut variances) = (self.lagged.clone(), self.variances.clone());
        let Some(parts) = self.parts.as_ref().filter(|parts| !parts.is_empty()) else {
            return Local { drift, slopes, variances };
        };
        // The state itself, then with each variable moved a little.
        let mut states = state.repeat(d + 1);
        for source in 0..d {
            states[(source + 1) * d + source] += DIFFERENCE;
        }
        for (adds_to, extra) in parts.evaluate(&states) {
            let (here, moved) = extra.split_at(d);
            match adds_to {
                AddsTo::Drift => {
                    drift.iter_mut().zip(here).for_each(|(drift, extra)| *drift += extra);
                    for (idx, slope) in slopes.iter_mut().enumerate() {
                        *slope += (moved[idx] - here[idx % d]) / DIFFERENCE;
                    }
                }
                AddsTo::LogDiffusion => {
                    for (variance, log) in variances.iter_mut().zip(here) {
                        *variance *= exp(2.0 * log);
                    }
                }
            }
        }
        Local { drift, slopes, variances }
    }

    /// FilterDynamics without any drift: a random walk of unit innovations, to be filled in.
    pub fn random_walk(scales: Vec<f64>) -> Self {
        let d = scales.len();
        Self {
            lagged: vec![0.0; d * d],
            propagation: identity(d),
            remaining: identity(d),
            offsets: vec![0.0; d],
            variances: vec![1.0; d],
            scales,
            noise_variances: vec![1.0; d],
            initial: (vec![0.0; d], vec![1.0; d]),
            time_unit: 1.0,
            parts: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_law_of_one_cell_is_its_density() {
        // t with 4 degrees of freedom and scale 2 at 3: density 3 / 8 / 2 * (1 + (3 / 2)² / 4)^(-5/2).
        let error = PredictionError { n_cells: 1, squares: 2.25, log_det: 2.0_f64.ln() };
        let expected = (3.0 / 16.0 * (1.0_f64 + 2.25 / 4.0).powf(-2.5)).ln();
        // A few roundings of numbers near 1.
        assert!((error.student() - expected).abs() < 1e-13);
    }
}
