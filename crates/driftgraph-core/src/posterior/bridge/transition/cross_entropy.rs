//! The cross-entropy of every residual of a piece, and its derivatives by their means and variances.

use super::{Extra, Piece, PieceRows, Transition};
use crate::nn::parameters::WithGradient;
use crate::numeric::kernels::vectorised;
use crate::numeric::real::{Real, ln};
use crate::posterior::bridge::innovation::{InnovationLaw, Residual};
use crate::posterior::bridge::moments::StepMoments;

/// Cross-entropy of every residual; leaves derivatives by the means in `piece.residuals`.
pub(super) fn cross_entropies(
    transition: &Transition<'_>,
    moments: &StepMoments,
    extra: &Extra,
    rows: &mut PieceRows<'_>,
    piece: &mut Piece,
) {
    for buffer in [&mut piece.offsets, &mut piece.log_scales] {
        buffer.clear();
        buffer.resize(transition.n_variables, 0.0);
    }
    piece.parameters.clear();
    if transition.innovation.slots().next().is_some() {
        piece.parameters.resize(transition.parameters.len(), 0.0);
    }
    let plain = transition.innovation.law() == InnovationLaw::Gaussian;
    let sum = if plain && extra.log_scale.is_empty() && moments.left_out.is_empty() {
        gaussian_cross_entropies(transition, moments, rows, piece)
    } else {
        cross_entropies_by_entry(transition, moments, extra, rows, piece)
    };
    piece.cross_entropy = transition.weight * sum;
}

/// Entry by entry, for any law and scales that differ from step to step.
fn cross_entropies_by_entry(
    transition: &Transition<'_>,
    moments: &StepMoments,
    extra: &Extra,
    rows: &mut PieceRows<'_>,
    piece: &mut Piece,
) -> f64 {
    let (d, weight) = (transition.n_variables, transition.weight);
    let n = rows.by_inputs.len() / d;
    let mut sum = 0.0;
    for row in 0..n {
        let step = moments.steps[rows.first + row];
        let start = (rows.first + row) * d;
        for variable in 0..d {
            let idx = row * d + variable;
            if moments.is_left_out(start + variable) {
                piece.residuals[idx] = 0.0;
                rows.by_variances[idx] = 0.0;
                continue;
            }
            let added = extra.log_scale.get(start + variable).copied().unwrap_or(0.0);
            let residual = Residual {
                mean: piece.residuals[idx],
                variance: piece.variances[idx],
                log_scale: transition.log_scales[variable] + added,
                step,
            };
            let pair =
                WithGradient { parameters: transition.parameters, grads: &mut piece.parameters };
            let cross_entropy =
                transition.innovation.cross_entropy(pair, variable, residual, weight);
            sum += cross_entropy.value;
            let by_mean = weight * cross_entropy.by_mean;
            piece.residuals[idx] = by_mean;
            rows.by_variances[idx] = weight * cross_entropy.by_variance;
            piece.offsets[variable] -= step * by_mean;
            piece.log_scales[variable] += weight * cross_entropy.by_log_scale;
            if let Some(out) = rows.by_extra.drift.get_mut(idx) {
                *out = -step * by_mean;
            }
            if let Some(out) = rows.by_extra.variance.get_mut(idx) {
                *out = step * step * weight * cross_entropy.by_variance;
            }
            if let Some(out) = rows.by_extra.log_scale.get_mut(idx) {
                *out = weight * cross_entropy.by_log_scale;
            }
        }
    }
    sum
}

/// The same for the normal law with one scale per variable: sums over steps are kept per variable.
fn gaussian_cross_entropies(
    transition: &Transition<'_>,
    moments: &StepMoments,
    rows: &mut PieceRows<'_>,
    piece: &mut Piece,
) -> f64 {
    let (d, weight) = (transition.n_variables, transition.weight);
    let n = rows.by_inputs.len() / d;
    let precisions: Vec<f64> =
        transition.log_scales.iter().map(|&log| Real::exp(-2.0 * log)).collect();
    let Piece { residuals, variances, offsets, log_scales: squares, .. } = piece;
    let mut log_steps = 0.0;
    vectorised(
        #[inline(always)]
        || {
            for row in 0..n {
                let step = moments.steps[rows.first + row];
                log_steps += ln(step);
                let share = 1.0 / step;
                let own = row * d..(row + 1) * d;
                let (residuals, variances) = (&mut residuals[own.clone()], &variances[own.clone()]);
                let by_variances = &mut rows.by_variances[own.clone()];
                for v in 0..d {
                    let precision = precisions[v] * share;
                    squares[v] += (residuals[v] * residuals[v] + variances[v]) * precision;
                    let by_mean = weight * residuals[v] * precision;
                    residuals[v] = by_mean;
                    by_variances[v] = 0.5 * weight * precision;
                    offsets[v] -= step * by_mean;
                }
                if !rows.by_extra.drift.is_empty() {
                    let drift = &mut rows.by_extra.drift[own.clone()];
                    let variance = &mut rows.by_extra.variance[own];
                    for v in 0..d {
                        drift[v] = -step * residuals[v];
                        variance[v] = step * step * by_variances[v];
                    }
                }
            }
        },
    );
    let mut sum = 0.5 * d as f64 * log_steps;
    for (square, log_scale) in squares.iter_mut().zip(transition.log_scales) {
        sum += 0.5 * *square + n as f64 * log_scale;
        // From the sum of squares to the derivative by the log scale.
        *square = weight * (n as f64 - *square);
    }
    sum
}
