//! The cross-entropy of steps under the gated linear process: matrix products, forward and back.
//!
//! The residual of a step, in units of each variable's increment scale, is
//!
//! ```text
//! e = d (I - B) - h (b + z A + extra drift),
//! ```
//!
//! with A and B gated matrices. Given the moments of (z, d) its mean and variance are products with
//! the moments of the matrices:
//!
//! ```text
//! mean     = E d (I - E B) - h b - (h E z) E A - h extra
//! variance = (h E z)² Var A + (E d)² Var B                                      (per step)
//!          + Var d (L² + Var B) - 2 h Cov(d, z) (L * E A) + h² Var z E A²       (per deviation row)
//! ```
//!
//! where L = I - E B and squares and `*` are entry by entry.

mod cross_entropy;
mod shared_variance;

use rayon::prelude::*;

use super::gated::{GatedAdjoints, GatedMoments};
use super::innovation::Innovation;
use super::moments::StepMoments;
use crate::numeric::kernels::{View, add_into, add_product, product, vectorised};
use cross_entropy::cross_entropies;
use shared_variance::{SharedVariance, shared_variances, shared_variances_backward};

/// Steps per parallel piece: fixed, so that sums do not depend on the number of threads.
///
/// Batches of many variables have few steps, and still should occupy several threads.
pub(crate) fn piece_steps(n_variables: usize) -> usize {
    if n_variables < MANY_VARIABLES { STEPS_OF_FEW } else { STEPS_OF_MANY }
}

/// From so many variables on, the matrices of a few steps are work enough for a thread.
const MANY_VARIABLES: usize = 256;
/// Steps of fewer variables that are a piece of work.
const STEPS_OF_FEW: usize = 256;
/// Steps, or rows of a matrix, that are one of many.
const STEPS_OF_MANY: usize = 64;

/// What is common to all steps of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transition<'a> {
    /// Number of variables, D.
    pub n_variables: usize,
    /// Moments of the lagged effects A.
    pub lagged: &'a GatedMoments,
    /// Moments of the instantaneous effects B, where there are any.
    pub instant: Option<&'a Instant<'a>>,
    /// b, per variable.
    pub offsets: &'a [f64],
    /// Law of the residual, and the flat parameter buffer it reads.
    pub innovation: &'a Innovation,
    /// All parameters.
    pub parameters: &'a [f64],
    /// Logarithm of the innovations' scale, `[variable]`.
    pub(crate) log_scales: &'a [f64],
    /// Factor of every term: what the batch stands for.
    pub weight: f64,
}

/// Instantaneous effects and the matrices derived from them, `[source, target]`.
#[derive(Debug, Clone)]
pub struct Instant<'a> {
    /// Moments of B.
    pub moments: &'a GatedMoments,
    /// L = I - E B.
    pub(crate) remaining: Vec<f64>,
    /// L² + Var B.
    pub(crate) remaining_second: Vec<f64>,
    /// L * E A.
    pub(crate) remaining_by_lagged: Vec<f64>,
}

impl<'a> Instant<'a> {
    /// Derives the matrices.
    pub fn new(moments: &'a GatedMoments, lagged_mean: &[f64], n_variables: usize) -> Self {
        let remaining: Vec<f64> = (moments.mean.iter().enumerate())
            .map(|(idx, mean)| f64::from(u8::from(idx % (n_variables + 1) == 0)) - mean)
            .collect();
        let remaining_second =
            remaining.iter().zip(&moments.variance).map(|(left, var)| left * left + var).collect();
        let remaining_by_lagged =
            remaining.iter().zip(lagged_mean).map(|(left, mean)| left * mean).collect();
        Self { moments, remaining, remaining_second, remaining_by_lagged }
    }
}

/// What a neural part adds to single steps, `[step, variable]`; empty where there is none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extra {
    /// Drift beyond the linear part, in increment scales per time.
    pub drift: Vec<f64>,
    /// Twice the covariance of linear and extra drift over graphs, per time².
    pub variance: Vec<f64>,
    /// What is added to the log scale.
    pub log_scale: Vec<f64>,
}

impl Extra {
    /// Makes it zeros with the same shape as `other`.
    fn zeros_like(&mut self, other: &Self) {
        for (own, other) in [
            (&mut self.drift, &other.drift),
            (&mut self.variance, &other.variance),
            (&mut self.log_scale, &other.log_scale),
        ] {
            own.clear();
            own.resize(other.len(), 0.0);
        }
    }
}

/// Derivatives of the summed cross-entropy.
#[derive(Debug, Clone, Default)]
pub(crate) struct TransitionGrads {
    /// By the moments of A.
    pub lagged: GatedAdjoints,
    /// By the moments of B.
    pub instant: GatedAdjoints,
    /// By the moments of the steps.
    pub moments: StepMoments,
    /// By what the neural part added.
    pub extra: Extra,
    /// By the offsets.
    pub offsets: Vec<f64>,
    /// By the log scales.
    pub(crate) log_scales: Vec<f64>,
    /// By the law's parameters, in a flat buffer of all parameters.
    pub parameters: Vec<f64>,
}

/// Buffers kept from one evaluation to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct TransitionBuffers {
    pieces: Vec<Piece>,
    by_variances: Vec<f64>,
    shared: SharedVariance,
}

/// What one piece of steps adds up.
#[derive(Debug, Clone, Default)]
struct Piece {
    cross_entropy: f64,
    residuals: Vec<f64>,
    variances: Vec<f64>,
    work: Vec<f64>,
    squares: Vec<f64>,
    by_lagged_mean: Vec<f64>,
    by_lagged_variance: Vec<f64>,
    by_instant_mean: Vec<f64>,
    by_instant_variance: Vec<f64>,
    offsets: Vec<f64>,
    log_scales: Vec<f64>,
    parameters: Vec<f64>,
}

/// The slices of one piece's steps and of their gradients.
struct PieceRows<'a> {
    first: usize,
    by_inputs: &'a mut [f64],
    by_increments: &'a mut [f64],
    /// Derivatives by the residuals' variances, summed per deviation row afterwards.
    by_variances: &'a mut [f64],
    by_extra: ExtraRows<'a>,
}

struct ExtraRows<'a> {
    drift: &'a mut [f64],
    variance: &'a mut [f64],
    log_scale: &'a mut [f64],
}

/// Σ over steps and variables of -E log p(residual), each less ½ log 2π, times the weight.
///
/// Fills `grads`, whose lagged and instantaneous adjoints are added to; everything else is set.
pub(crate) fn transition_cross_entropy(
    transition: &Transition<'_>,
    moments: &StepMoments,
    extra: &Extra,
    grads: &mut TransitionGrads,
    buffers: &mut TransitionBuffers,
) -> f64 {
    let d = transition.n_variables;
    let (n_steps, n_deviation_rows) = (moments.n_steps(), moments.log_variances.len() / d);
    grads.moments.reset(n_steps, n_deviation_rows, d);
    grads.extra.zeros_like(extra);
    let TransitionBuffers { pieces, by_variances, shared } = buffers;
    shared_variances(transition, moments, n_deviation_rows, shared);
    by_variances.resize(n_steps * d, 0.0);
    let rows = piece_rows(grads, by_variances, d);
    pieces.resize_with(rows.len(), Piece::default);
    pieces.par_iter_mut().zip(rows).for_each(|(piece, rows)| {
        piece.cross_entropy(transition, moments, extra, &shared.variances, rows);
    });
    let cross_entropy = add_pieces(pieces, transition, grads);
    shared_variances_backward(transition, moments, by_variances, shared, grads);
    cross_entropy
}

/// Cuts the gradient buffers into pieces of [`piece_steps`].
fn piece_rows<'a>(
    grads: &'a mut TransitionGrads,
    by_variances: &'a mut [f64],
    d: usize,
) -> Vec<PieceRows<'a>> {
    let n_steps = piece_steps(d);
    let size = n_steps * d;
    let mut drift = grads.extra.drift.chunks_mut(size);
    let mut variance = grads.extra.variance.chunks_mut(size);
    let mut log_scale = grads.extra.log_scale.chunks_mut(size);
    let rows = grads.moments.inputs.chunks_mut(size).zip(grads.moments.increments.chunks_mut(size));
    rows.zip(by_variances.chunks_mut(size))
        .enumerate()
        .map(|(idx, ((by_inputs, by_increments), by_variances))| PieceRows {
            first: idx * n_steps,
            by_inputs,
            by_increments,
            by_variances,
            by_extra: ExtraRows {
                drift: drift.next().unwrap_or_default(),
                variance: variance.next().unwrap_or_default(),
                log_scale: log_scale.next().unwrap_or_default(),
            },
        })
        .collect()
}

impl Piece {
    /// Forward and backward of one piece of steps, while they are in the cache.
    fn cross_entropy(
        &mut self,
        transition: &Transition<'_>,
        moments: &StepMoments,
        extra: &Extra,
        shared_variances: &[f64],
        mut rows: PieceRows<'_>,
    ) {
        let (d, piece) = (transition.n_variables, self);
        residuals(transition, moments, extra, shared_variances, &rows, piece);
        cross_entropies(transition, moments, extra, &mut rows, piece);
        let range = rows.first * d..rows.first * d + rows.by_inputs.len();
        let n = rows.by_inputs.len() / d;
        let matrix = |entries| View::new(entries, d, d);
        let (inputs, increments) = (&moments.inputs[range.clone()], &moments.increments[range]);
        // `residuals` now holds derivatives by the residuals' means.
        let (by_means, by_variances) =
            (View::new(&piece.residuals, n, d), View::new(rows.by_variances, n, d));

        piece.by_lagged_mean.resize(d * d, 0.0);
        product(&mut piece.by_lagged_mean, d, View::new(inputs, n, d).t(), by_means);
        square_into(&mut piece.squares, inputs);
        piece.by_lagged_variance.resize(d * d, 0.0);
        product(
            &mut piece.by_lagged_variance,
            d,
            View::new(&piece.squares, n, d).t(),
            by_variances,
        );
        product(rows.by_inputs, d, by_means, matrix(&transition.lagged.mean).t());
        product(&mut piece.work, d, by_variances, matrix(&transition.lagged.variance).t());
        combine(rows.by_inputs, -1.0, &piece.work, inputs);

        rows.by_increments.copy_from_slice(&piece.residuals);
        if let Some(instant) = transition.instant {
            let effects = instant.moments;
            piece.by_instant_mean.resize(d * d, 0.0);
            product(&mut piece.by_instant_mean, d, View::new(increments, n, d).t(), by_means);
            square_into(&mut piece.squares, increments);
            piece.by_instant_variance.resize(d * d, 0.0);
            product(
                &mut piece.by_instant_variance,
                d,
                View::new(&piece.squares, n, d).t(),
                by_variances,
            );
            product(rows.by_increments, d, by_means, matrix(&instant.remaining).t());
            product(&mut piece.work, d, by_variances, matrix(&effects.variance).t());
            combine(rows.by_increments, 1.0, &piece.work, increments);
        }
    }
}

/// `out = sign out + 2 x work`.
fn combine(out: &mut [f64], sign: f64, work: &[f64], x: &[f64]) {
    vectorised(
        #[inline(always)]
        || {
            for ((out, work), x) in out.iter_mut().zip(work).zip(x) {
                *out = sign * *out + 2.0 * x * work;
            }
        },
    );
}

fn square_into(out: &mut Vec<f64>, x: &[f64]) {
    out.clear();
    out.extend(x.iter().map(|x| x * x));
}

/// Means and variances of the piece's residuals.
fn residuals(
    transition: &Transition<'_>,
    moments: &StepMoments,
    extra: &Extra,
    shared_variances: &[f64],
    rows: &PieceRows<'_>,
    piece: &mut Piece,
) {
    let d = transition.n_variables;
    let (len, first) = (rows.by_inputs.len(), rows.first);
    let n = len / d;
    let range = first * d..first * d + len;
    let (inputs, increments) = (&moments.inputs[range.clone()], &moments.increments[range]);
    let matrix = |entries| View::new(entries, d, d);
    for buffer in [&mut piece.residuals, &mut piece.variances, &mut piece.work] {
        buffer.resize(len, 0.0);
    }
    let lagged = transition.lagged;
    product(&mut piece.work, d, View::new(inputs, n, d), matrix(&lagged.mean));
    square_into(&mut piece.squares, inputs);
    product(&mut piece.variances, d, View::new(&piece.squares, n, d), matrix(&lagged.variance));
    if let Some(instant) = transition.instant {
        let increments = View::new(increments, n, d);
        product(&mut piece.residuals, d, increments, matrix(&instant.remaining));
    } else {
        piece.residuals.copy_from_slice(increments);
    }
    if let Some(instant) = transition.instant {
        square_into(&mut piece.squares, increments);
        let squares = View::new(&piece.squares, n, d);
        add_product(&mut piece.variances, d, squares, matrix(&instant.moments.variance));
    }
    let Piece { residuals, variances, work, .. } = piece;
    vectorised(
        #[inline(always)]
        || {
            for row in 0..n {
                let step = moments.steps[first + row];
                let own = row * d..(row + 1) * d;
                let (residuals, variances, work) =
                    (&mut residuals[own.clone()], &mut variances[own.clone()], &work[own]);
                let shared_row = moments.deviation_row_of[first + row] * d;
                let shared = &shared_variances[shared_row..shared_row + d];
                let offsets = &transition.offsets[..d];
                for v in 0..d {
                    residuals[v] -= step * offsets[v] + work[v];
                    variances[v] += shared[v];
                }
                if !extra.drift.is_empty() {
                    let own = (first + row) * d..(first + row + 1) * d;
                    let (drift, variance) = (&extra.drift[own.clone()], &extra.variance[own]);
                    for v in 0..d {
                        residuals[v] -= step * drift[v];
                        variances[v] += step * step * variance[v];
                    }
                }
            }
        },
    );
}

/// Adds the pieces up in their order.
fn add_pieces(pieces: &[Piece], transition: &Transition<'_>, grads: &mut TransitionGrads) -> f64 {
    let d = transition.n_variables;
    for (buffer, len) in [
        (&mut grads.offsets, d),
        (&mut grads.log_scales, d),
        (&mut grads.parameters, transition.parameters.len()),
    ] {
        buffer.clear();
        buffer.resize(len, 0.0);
    }
    let mut cross_entropy = 0.0;
    for piece in pieces {
        cross_entropy += piece.cross_entropy;
        for (out, by) in grads.lagged.mean.iter_mut().zip(&piece.by_lagged_mean) {
            *out -= by;
        }
        add_into(&mut grads.lagged.variance, &piece.by_lagged_variance);
        // The residual's mean holds d L with L = I - E B.
        for (out, by) in grads.instant.mean.iter_mut().zip(&piece.by_instant_mean) {
            *out -= by;
        }
        add_into(&mut grads.instant.variance, &piece.by_instant_variance);
        add_into(&mut grads.offsets, &piece.offsets);
        add_into(&mut grads.log_scales, &piece.log_scales);
        add_into(&mut grads.parameters, &piece.parameters);
    }
    cross_entropy
}
