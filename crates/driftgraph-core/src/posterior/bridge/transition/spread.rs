//! The part of the residuals' variances that steps with the same spread share.

use super::{Transition, TransitionGrads};
use crate::nn::kernels::{View, add_into, add_product, product};
use crate::posterior::bridge::moments::StepMoments;

/// The part of the residuals' variances that steps with the same spread share.
pub(super) fn spread_variances(
    transition: &Transition<'_>,
    moments: &StepMoments,
    n_spreads: usize,
) -> Vec<f64> {
    let d = transition.n_variables;
    let view = |rows| View::new(rows, n_spreads, d);
    let matrix = |entries| View::new(entries, d, d);
    let mut out = vec![0.0; n_spreads * d];
    product(&mut out, d, view(&moments.input_variances), matrix(&transition.lagged.second));
    if let Some(instant) = transition.instant {
        let by_second = matrix(&instant.remaining_second);
        add_product(&mut out, d, view(&moments.increment_variances), by_second);
        let doubled: Vec<f64> = moments.covariances.iter().map(|cov| -2.0 * cov).collect();
        add_product(&mut out, d, view(&doubled), matrix(&instant.remaining_by_lagged));
    } else {
        let diagonal: Vec<f64> = transition.lagged.mean.iter().step_by(d + 1).copied().collect();
        for idx in 0..out.len() {
            let covariance = moments.covariances[idx] * diagonal[idx % d];
            out[idx] += moments.increment_variances[idx] - 2.0 * covariance;
        }
    }
    out
}

pub(super) fn spread_variances_backward(
    transition: &Transition<'_>,
    moments: &StepMoments,
    by_variances: &[f64],
    grads: &mut TransitionGrads,
) {
    let d = transition.n_variables;
    let n_spreads = moments.log_variances.len() / d;
    let mut by_spread = vec![0.0; n_spreads * d];
    for (row, &spread) in moments.spread_of.iter().enumerate() {
        let sums = &mut by_spread[spread * d..(spread + 1) * d];
        add_into(sums, &by_variances[row * d..(row + 1) * d]);
        for value in &mut grads.moments.log_variances[spread * d..(spread + 1) * d] {
            // The entropy of the posterior's step, which is not a part of the surprise.
            *value -= 0.5 * transition.weight;
        }
    }
    let view = |rows| View::new(rows, n_spreads, d);
    let matrix = |entries| View::new(entries, d, d);
    let by_spread_view = view(&by_spread);
    let out = &mut grads.moments;
    product(&mut out.input_variances, d, by_spread_view, matrix(&transition.lagged.second).t());
    let input_variances = view(&moments.input_variances);
    add_product(&mut grads.lagged.second, d, input_variances.t(), by_spread_view);
    let Some(instant) = transition.instant else {
        for idx in 0..by_spread.len() {
            let diagonal = idx % d * (d + 1);
            out.increment_variances[idx] = by_spread[idx];
            out.covariances[idx] = -2.0 * transition.lagged.mean[diagonal] * by_spread[idx];
            grads.lagged.mean[diagonal] -= 2.0 * moments.covariances[idx] * by_spread[idx];
        }
        return;
    };
    let by_second = matrix(&instant.remaining_second);
    product(&mut out.increment_variances, d, by_spread_view, by_second.t());
    let cross = matrix(&instant.remaining_by_lagged);
    product(&mut out.covariances, d, by_spread_view, cross.t());
    out.covariances.iter_mut().for_each(|value| *value *= -2.0);
    let (mut by_remaining_second, mut by_cross) = (vec![0.0; d * d], vec![0.0; d * d]);
    let increments = view(&moments.increment_variances);
    product(&mut by_remaining_second, d, increments.t(), by_spread_view);
    product(&mut by_cross, d, view(&moments.covariances).t(), by_spread_view);
    for idx in 0..d * d {
        let by_cross = -2.0 * by_cross[idx];
        let remaining = instant.remaining[idx];
        grads.instant.variance[idx] += by_remaining_second[idx];
        grads.lagged.mean[idx] += remaining * by_cross;
        // L = I - E B.
        grads.instant.mean[idx] -=
            2.0 * remaining * by_remaining_second[idx] + transition.lagged.mean[idx] * by_cross;
    }
}
