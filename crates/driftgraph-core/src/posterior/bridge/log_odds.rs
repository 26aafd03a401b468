//! Log-odds of every edge in closed form, from sums along the learned paths.
//!
//! Given the paths and all other edges, the log likelihood is quadratic in one effect, so that its slab
//! can be integrated out. The result is less noisy than the logits an optimiser leaves behind.

use super::batch::LocalValues;
use super::gated::GatedMoments;
use super::layout::BridgeLayout;
use super::model::BridgeModel;
use crate::graph::density::DensityPrior;
use crate::graph::prior::EdgeRule;
use crate::numeric::kernels::{View, add_product};
use crate::numeric::linalg::{identity, log_det_and_inverse, times};
use crate::numeric::real::{exp, ln, ln_1p};

/// Expected sums over all steps of products of states z and scaled increments d, step h.
#[derive(Debug, Clone)]
pub(crate) struct PathSums {
    n_variables: usize,
    n_steps: f64,
    /// Σ h z z^T.
    states: Vec<f64>,
    /// Σ z d^T, rows z.
    crosses: Vec<f64>,
    /// Σ d d^T / h.
    increments: Vec<f64>,
    /// Σ h z.
    state_sums: Vec<f64>,
    /// Σ d.
    increment_sums: Vec<f64>,
}

/// Some steps of a series, one after the other.
#[derive(Clone, Copy)]
struct Piece {
    /// Point at which the first step starts.
    point: usize,
    /// Deviation row of that point.
    row: usize,
    /// Number of steps.
    n: usize,
}

impl PathSums {
    /// Sums along all paths; increments in units of `scales`.
    pub(crate) fn new(layout: &BridgeLayout, scales: &[f64], paths: &LocalValues) -> Self {
        let d = layout.n_variables();
        let zeros = |n: usize| vec![0.0; n];
        let mut sums = Self {
            n_variables: d,
            n_steps: layout.n_steps() as f64,
            states: zeros(d * d),
            crosses: zeros(d * d),
            increments: zeros(d * d),
            state_sums: zeros(d),
            increment_sums: zeros(d),
        };
        for rows in layout.series() {
            // Pieces of a long series, so that the copies below stay small.
            for first in (0..rows.n_steps()).step_by(1024) {
                let n = (rows.n_steps() - first).min(1024);
                let (point, row) = (rows.first_point + first, rows.first_deviation_row + first);
                let piece = Piece { point, row, n };
                sums.add_means(layout, scales, paths, piece);
                sums.add_covariances(layout, scales, paths, piece);
            }
        }
        sums
    }

    fn add_means(
        &mut self,
        layout: &BridgeLayout,
        scales: &[f64],
        paths: &LocalValues,
        Piece { point, row, n }: Piece,
    ) {
        let d = self.n_variables;
        let means = &paths.means[point * d..(point + n + 1) * d];
        let (mut states, mut increments) = (vec![0.0; n * d], vec![0.0; n * d]);
        // Dividing by the root of the step once gives all three weights.
        for step in 0..n {
            let root = layout.step(row + step).sqrt();
            for (variable, scale) in scales.iter().enumerate() {
                let idx = step * d + variable;
                let increment = (means[idx + d] - means[idx]) / scale;
                states[idx] = root * means[idx];
                increments[idx] = increment / root;
                self.state_sums[variable] += root * root * means[idx];
                self.increment_sums[variable] += increment;
            }
        }
        let (states, increments) = (View::new(&states, n, d), View::new(&increments, n, d));
        add_product(&mut self.states, d, states.t(), states);
        add_product(&mut self.crosses, d, states.t(), increments);
        add_product(&mut self.increments, d, increments.t(), increments);
    }

    fn add_covariances(
        &mut self,
        layout: &BridgeLayout,
        scales: &[f64],
        paths: &LocalValues,
        Piece { row, n, .. }: Piece,
    ) {
        let d = self.n_variables;
        for step in 0..n {
            let h = layout.step(row + step);
            for (variable, scale) in scales.iter().enumerate() {
                let idx = (row + step) * d + variable;
                let here = exp(paths.log_deviations[idx]);
                let next = exp(paths.log_deviations[idx + d]);
                let cross = libm::tanh(paths.correlations[idx]) * here * next;
                let diagonal = variable * (d + 1);
                self.states[diagonal] += h * here * here;
                self.crosses[diagonal] += (cross - here * here) / scale;
                let variance = here * here + next * next - 2.0 * cross;
                self.increments[diagonal] += variance / (scale * scale * h);
            }
        }
    }
}

/// Log-odds of both graphs, `[source, target]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogOdds {
    /// Of the lagged edges.
    pub lagged: Vec<f64>,
    /// Of the instantaneous edges, where there are any.
    pub instant: Option<Vec<f64>>,
}

/// The process as far as single edges need it.
struct Process {
    lagged: GatedMoments,
    instant: Option<GatedMoments>,
    /// I - E B.
    remaining: Vec<f64>,
    /// Offsets, with the innovations' mean.
    offsets: Vec<f64>,
    /// Variances of the innovations.
    variances: Vec<f64>,
}

/// Posterior log-odds of every edge given the paths and all other edges.
///
/// With S the sum of squares of the source (state or increment), r its sum of products with the target's
/// residual without the edge, g² the target's innovation variance and s the slab scale: prior log-odds
/// + ½ (r/g²)² / (S/g² + 1/s²) - ½ log(1 + s² S/g²). Edges that are not learned are infinite.
pub(crate) fn closed_form_log_odds(
    model: &BridgeModel,
    parameters: &[f64],
    sums: &PathSums,
) -> LogOdds {
    let d = sums.n_variables;
    let process = Process::new(model, parameters);
    // Σ z e^T with e = d (I - B) - h (b + z A).
    let mut residuals =
        times(View::new(&sums.crosses, d, d), View::new(&process.remaining, d, d), d);
    subtract_outer(&mut residuals, &sums.state_sums, &process.offsets);
    subtract_product(&mut residuals, &sums.states, &process.lagged.mean, d);
    let slabs = model.lagged().slab_scales(parameters);
    let gates = Gates { prior: model.lagged_prior(), moments: &process.lagged, slabs };
    let products = Products { residuals: &residuals, squares: &sums.states };
    let lagged = log_odds(&gates, &process.variances, products);
    let instant = model.instant().zip(process.instant.as_ref()).map(|(matrix, moments)| {
        // Σ d e^T / h.
        let increments = View::new(&sums.increments, d, d);
        let mut residuals = times(increments, View::new(&process.remaining, d, d), d);
        subtract_outer(&mut residuals, &sums.increment_sums, &process.offsets);
        let crosses = transposed(&sums.crosses, d);
        subtract_product(&mut residuals, &crosses, &process.lagged.mean, d);
        let slabs = matrix.slab_scales(parameters);
        let gates = Gates { prior: model.instant_prior(), moments, slabs };
        let products = Products { residuals: &residuals, squares: &sums.increments };
        let mut odds = log_odds(&gates, &process.variances, products);
        add_determinant_gains(&mut odds, &process, slabs[0], products, sums.n_steps);
        odds
    });
    LogOdds { lagged, instant }
}

impl Process {
    fn new(model: &BridgeModel, parameters: &[f64]) -> Self {
        let d = model.n_variables();
        let mut lagged = GatedMoments::default();
        model.lagged().moments(parameters, model.lagged_prior().rules(), &mut lagged);
        let instant = model.instant().map(|matrix| {
            let mut moments = GatedMoments::default();
            matrix.moments(parameters, model.instant_prior().rules(), &mut moments);
            moments
        });
        let mut remaining = identity(d);
        if let Some(instant) = &instant {
            for (left, mean) in remaining.iter_mut().zip(&instant.mean) {
                *left -= mean;
            }
        }
        let log_scales = model.log_diffusions(parameters);
        let law = |variable: usize| {
            let law = model.innovation();
            let (mean, variance) = law.moments(parameters, variable, log_scales[variable]);
            (model.offsets(parameters)[variable] + mean, variance)
        };
        let (offsets, variances) = (0..d).map(law).unzip();
        Self { lagged, instant, remaining, offsets, variances }
    }
}

/// Prior and posterior of the edges of one graph.
struct Gates<'a> {
    prior: &'a DensityPrior,
    moments: &'a GatedMoments,
    /// Scales of effects: between variables, and of each on itself.
    slabs: [f64; 2],
}

/// Sums over all steps, `[source, variable]`.
#[derive(Clone, Copy)]
struct Products<'a> {
    /// Of sources with the residuals of targets.
    residuals: &'a [f64],
    /// Of sources with each other: squares on the diagonal.
    squares: &'a [f64],
}

fn log_odds(gates: &Gates<'_>, variances: &[f64], products: Products<'_>) -> Vec<f64> {
    let Gates { prior, moments, slabs } = *gates;
    let d = variances.len();
    let prior_log_odds = prior.log_odds(&moments.probabilities);
    (0..d * d)
        .map(|idx| {
            let (source, target) = (idx / d, idx % d);
            match prior.rules()[idx] {
                EdgeRule::Forbidden => return f64::NEG_INFINITY,
                EdgeRule::Required => return f64::INFINITY,
                EdgeRule::Free => {}
            }
            let square = products.squares[source * (d + 1)];
            let product = products.residuals[idx] + moments.mean[idx] * square;
            let slab = slabs[usize::from(source == target)];
            let (precision, variance) = (square / variances[target], variances[target]);
            let explained = 0.5 * (product / variance).powi(2) / (precision + slab.powi(-2));
            prior_log_odds[idx] + explained - 0.5 * ln_1p(slab * slab * precision)
        })
        .collect()
}

/// Adds what the best effect of each edge would change in log |det(I - B)|, per step.
fn add_determinant_gains(
    odds: &mut [f64],
    process: &Process,
    slab: f64,
    Products { residuals, squares }: Products<'_>,
    n_steps: f64,
) {
    let d = process.variances.len();
    let Some(moments) = &process.instant else { return };
    let Some((_, inverse)) = log_det_and_inverse(&process.remaining, d) else { return };
    for source in 0..d {
        for target in (0..d).filter(|&target| target != source) {
            let idx = source * d + target;
            let (square, variance) = (squares[source * (d + 1)], process.variances[target]);
            let product = residuals[idx] + moments.mean[idx] * square;
            let effect = product / variance / (square / variance + slab.powi(-2));
            // Sherman and Morrison: entry (target, source) of the inverse without this edge.
            let with = inverse[target * d + source];
            let denominator = 1.0 + moments.mean[idx] * with;
            let without = with / if denominator.abs() < 1e-6 { 1e-6 } else { denominator };
            odds[idx] += n_steps * ln((1.0 - effect * without).abs() + 1e-9);
        }
    }
}

fn subtract_outer(out: &mut [f64], rows: &[f64], columns: &[f64]) {
    for (out, row) in out.chunks_exact_mut(columns.len()).zip(rows) {
        for (out, column) in out.iter_mut().zip(columns) {
            *out -= row * column;
        }
    }
}

fn subtract_product(out: &mut [f64], a: &[f64], b: &[f64], d: usize) {
    let product = times(View::new(a, d, d), View::new(b, d, d), d);
    for (out, value) in out.iter_mut().zip(product) {
        *out -= value;
    }
}

fn transposed(matrix: &[f64], d: usize) -> Vec<f64> {
    let mut out = vec![0.0; d * d];
    crate::numeric::kernels::transpose(&mut out, matrix, d, d);
    out
}
