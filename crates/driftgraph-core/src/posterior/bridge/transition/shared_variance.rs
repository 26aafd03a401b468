//! The part of the residuals' variances that steps with the same deviations share.

use rayon::prelude::*;

use super::{MANY_VARIABLES, STEPS_OF_MANY, Transition, TransitionGrads};
use crate::numeric::kernels::{View, add_into, add_product, product, vectorised};
use crate::posterior::bridge::moments::StepMoments;

/// Buffers `[deviation row, variable]`, kept from one evaluation to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedVariance {
    /// The shared part of the residuals' variances.
    pub(super) variances: Vec<f64>,
    by_row: Vec<f64>,
}

/// The part of the residuals' variances that steps with the same deviations share.
pub(super) fn shared_variances(
    transition: &Transition<'_>,
    moments: &StepMoments,
    n_deviation_rows: usize,
    work: &mut SharedVariance,
) {
    let d = transition.n_variables;
    let view = |rows| View::new(rows, n_deviation_rows, d);
    let matrix = |entries| View::new(entries, d, d);
    let out = &mut work.variances;
    out.resize(n_deviation_rows * d, 0.0);
    product_by_rows(out, &moments.input_variances, d, matrix(&transition.lagged.second));
    if let Some(instant) = transition.instant {
        let by_second = matrix(&instant.remaining_second);
        add_product(out, d, view(&moments.increment_variances), by_second);
        let doubled: Vec<f64> = moments.covariances.iter().map(|cov| -2.0 * cov).collect();
        add_product(out, d, view(&doubled), matrix(&instant.remaining_by_lagged));
    } else {
        let diagonal: Vec<f64> = transition.lagged.mean.iter().step_by(d + 1).copied().collect();
        vectorised(
            #[inline(always)]
            || {
                let own = moments.increment_variances.chunks_exact(d);
                let rows =
                    out.chunks_exact_mut(d).zip(own).zip(moments.covariances.chunks_exact(d));
                for ((out, variances), covariances) in rows {
                    for v in 0..d {
                        out[v] += variances[v] - 2.0 * covariances[v] * diagonal[v];
                    }
                }
            },
        );
    }
}

pub(super) fn shared_variances_backward(
    transition: &Transition<'_>,
    moments: &StepMoments,
    by_variances: &[f64],
    work: &mut SharedVariance,
    grads: &mut TransitionGrads,
) {
    let d = transition.n_variables;
    let n_deviation_rows = moments.log_variances.len() / d;
    let by_row = &mut work.by_row;
    by_row.clear();
    by_row.resize(n_deviation_rows * d, 0.0);
    vectorised(
        #[inline(always)]
        || {
            for (row, &deviation_row) in moments.deviation_row_of.iter().enumerate() {
                let sums = &mut by_row[deviation_row * d..(deviation_row + 1) * d];
                add_into(sums, &by_variances[row * d..(row + 1) * d]);
                let logs =
                    &mut grads.moments.log_variances[deviation_row * d..(deviation_row + 1) * d];
                for (variable, value) in logs.iter_mut().enumerate() {
                    // The entropy of the posterior's step, which is not a part of the cross-entropy.
                    if !moments.is_left_out(row * d + variable) {
                        *value -= 0.5 * transition.weight;
                    }
                }
            }
        },
    );
    let view = |rows| View::new(rows, n_deviation_rows, d);
    let matrix = |entries| View::new(entries, d, d);
    let by_row_view = view(by_row);
    let out = &mut grads.moments;
    let by_second = matrix(&transition.lagged.second).t();
    product_by_rows(&mut out.input_variances, by_row, d, by_second);
    add_product_by_sources(&mut grads.lagged.second, &moments.input_variances, by_row, d);
    let Some(instant) = transition.instant else {
        out.increment_variances.copy_from_slice(by_row);
        let diagonal: Vec<f64> = transition.lagged.mean.iter().step_by(d + 1).copied().collect();
        let mut by_diagonal = vec![0.0; d];
        vectorised(
            #[inline(always)]
            || {
                let rows = by_row.chunks_exact(d).zip(out.covariances.chunks_exact_mut(d));
                for ((by, out), covariances) in rows.zip(moments.covariances.chunks_exact(d)) {
                    for v in 0..d {
                        out[v] = -2.0 * diagonal[v] * by[v];
                        by_diagonal[v] -= 2.0 * covariances[v] * by[v];
                    }
                }
            },
        );
        for (v, by) in by_diagonal.iter().enumerate() {
            grads.lagged.mean[v * (d + 1)] += by;
        }
        return;
    };
    let by_second = matrix(&instant.remaining_second);
    product(&mut out.increment_variances, d, by_row_view, by_second.t());
    let cross = matrix(&instant.remaining_by_lagged);
    product(&mut out.covariances, d, by_row_view, cross.t());
    out.covariances.iter_mut().for_each(|value| *value *= -2.0);
    let (mut by_remaining_second, mut by_cross) = (vec![0.0; d * d], vec![0.0; d * d]);
    let increments = view(&moments.increment_variances);
    product(&mut by_remaining_second, d, increments.t(), by_row_view);
    product(&mut by_cross, d, view(&moments.covariances).t(), by_row_view);
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

/// Rows of a product per parallel piece: fixed, so that results do not depend on the number of threads.
fn piece_rows(d: usize, n_rows: usize) -> usize {
    // Small products are not worth a second thread.
    if d < MANY_VARIABLES { n_rows.max(1) } else { STEPS_OF_MANY }
}

/// `out = rows matrix`, with rows of `d` entries.
fn product_by_rows(out: &mut [f64], rows: &[f64], d: usize, matrix: View<'_, f64>) {
    let size = piece_rows(d, out.len() / d) * d;
    out.par_chunks_mut(size).zip(rows.par_chunks(size)).for_each(|(out, rows)| {
        product(out, d, View::new(rows, rows.len() / d, d), matrix);
    });
}

/// `out += a^T b`, `[d, d]`, a block of rows of `out` at a time.
fn add_product_by_sources(out: &mut [f64], a: &[f64], b: &[f64], d: usize) {
    let (n_rows, block) = (a.len() / d, piece_rows(d, d));
    if n_rows == 0 {
        return;
    }
    out.par_chunks_mut(block * d).enumerate().for_each(|(piece, out)| {
        let columns = View::strided(&a[piece * block..], [n_rows, out.len() / d], d);
        add_product(out, d, columns.t(), View::new(b, n_rows, d));
    });
}
