//! Small dense linear algebra: determinant and inverse, Cholesky's factor.
//!
//! Matrices of up to [`BLOCKED`] rows by plain loops, larger ones by faer.

use faer::linalg::solvers::DenseSolveCore;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{MatMut, MatRef, Par, Side};

use crate::numeric::kernels::{View, product};
use crate::numeric::real::ln;

/// Rows from which on blocked algorithms are faster than loops.
///
/// Measured with one thread, loops against faer: inverse 1.1 to 3.6 µs at 10 rows, 17 to 15 at 32, 63 to 43 at 50,
/// 490 to 290 at 100, 43 to 9 ms at 300; factor and solution 0.7 to 0.9 µs, 9 to 4, 30 to 14, 240 to 89, 17 to 1.6 ms.
const BLOCKED: usize = 32;

/// log |det A| and the inverse of a square matrix, or `None` where it is singular.
pub(crate) fn log_det_and_inverse(matrix: &[f64], n: usize) -> Option<(f64, Vec<f64>)> {
    if n < BLOCKED { by_elimination(matrix, n) } else { by_blocks(matrix, n) }
}

/// The same by faer's factors with partial pivoting.
fn by_blocks(matrix: &[f64], n: usize) -> Option<(f64, Vec<f64>)> {
    let factors = MatRef::from_row_major_slice(matrix, n, n).partial_piv_lu();
    let pivots = factors.U().diagonal().column_vector();
    if !pivots.iter().all(|pivot| *pivot != 0.0 && pivot.is_finite()) {
        return None;
    }
    let log_det = pivots.iter().map(|pivot| ln(pivot.abs())).sum();
    let inverse = factors.inverse();
    let rows = inverse.row_iter();
    Some((log_det, rows.flat_map(|row| row.iter().copied()).collect()))
}

fn by_elimination(matrix: &[f64], n: usize) -> Option<(f64, Vec<f64>)> {
    let mut left = matrix.to_vec();
    let mut inverse = identity(n);
    let mut log_det = 0.0;
    for col in 0..n {
        let size = |row: usize| left[row * n + col].abs();
        let pivot_row = (col..n).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
        let pivot = left[pivot_row * n + col];
        if pivot == 0.0 || !pivot.is_finite() {
            return None;
        }
        log_det += ln(pivot.abs());
        swap_rows(&mut left, n, col, pivot_row);
        swap_rows(&mut inverse, n, col, pivot_row);
        for row in (0..n).filter(|&row| row != col) {
            let factor = left[row * n + col] / pivot;
            if factor != 0.0 {
                subtract_row(&mut left, n, row, col, factor);
                subtract_row(&mut inverse, n, row, col, factor);
            }
        }
    }
    for row in 0..n {
        let pivot = left[row * n + row];
        for value in &mut inverse[row * n..(row + 1) * n] {
            *value /= pivot;
        }
    }
    Some((log_det, inverse))
}

/// The lower factor of a positive definite matrix, or `None` where it is not one.
pub(crate) fn cholesky(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut factor = vec![0.0; n * n];
    if n >= BLOCKED {
        let blocked = MatRef::from_row_major_slice(matrix, n, n).llt(Side::Lower).ok()?;
        for (col, values) in blocked.L().col_iter().enumerate() {
            for row in col..n {
                factor[row * n + col] = values[row];
            }
        }
        // A factor of what is not finite is no error there.
        return factor.iter().all(|value| value.is_finite()).then_some(factor);
    }
    for row in 0..n {
        for col in 0..=row {
            let (above, below) = (&factor[row * n..row * n + col], &factor[col * n..col * n + col]);
            let sum: f64 = above.iter().zip(below).map(|(a, b)| a * b).sum();
            let rest = matrix[row * n + col] - sum;
            factor[row * n + col] = if row == col {
                if !(rest > 0.0 && rest.is_finite()) {
                    return None;
                }
                rest.sqrt()
            } else {
                rest / factor[col * n + col]
            };
        }
    }
    Some(factor)
}

/// Solves L x = b in place for the rows of `columns`, stored `[n, n_columns]`.
pub(crate) fn solve_lower(factor: &[f64], n: usize, columns: &mut [f64], n_columns: usize) {
    if n.min(n_columns) >= BLOCKED {
        let factor = MatRef::from_row_major_slice(factor, n, n);
        let columns = MatMut::from_row_major_slice_mut(columns, n, n_columns);
        return solve_lower_triangular_in_place(factor, columns, Par::Seq);
    }
    for row in 0..n {
        let (done, rest) = columns.split_at_mut(row * n_columns);
        let here = &mut rest[..n_columns];
        for (col, earlier) in done.chunks_exact(n_columns).enumerate() {
            let weight = factor[row * n + col];
            for (here, earlier) in here.iter_mut().zip(earlier) {
                *here -= weight * earlier;
            }
        }
        let pivot = factor[row * n + row];
        for value in here {
            *value /= pivot;
        }
    }
}

/// Solves L' x = b in place for the rows of `columns`, stored `[n, n_columns]`.
pub(crate) fn solve_upper(factor: &[f64], n: usize, columns: &mut [f64], n_columns: usize) {
    if n.min(n_columns) >= BLOCKED {
        let factor = MatRef::from_row_major_slice(factor, n, n).transpose();
        let columns = MatMut::from_row_major_slice_mut(columns, n, n_columns);
        return solve_upper_triangular_in_place(factor, columns, Par::Seq);
    }
    for row in (0..n).rev() {
        let (rest, done) = columns.split_at_mut((row + 1) * n_columns);
        let here = &mut rest[row * n_columns..];
        for (idx, later) in done.chunks_exact(n_columns).enumerate() {
            let weight = factor[(row + 1 + idx) * n + row];
            for (here, later) in here.iter_mut().zip(later) {
                *here -= weight * later;
            }
        }
        let pivot = factor[row * (n + 1)];
        for value in here {
            *value /= pivot;
        }
    }
}

/// A B for square matrices.
pub(crate) fn times(a: View<'_, f64>, b: View<'_, f64>, n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    product(&mut out, n, a, b);
    out
}

pub(crate) fn identity(n: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; n * n];
    matrix.iter_mut().step_by(n + 1).for_each(|value| *value = 1.0);
    matrix
}

fn swap_rows(matrix: &mut [f64], n: usize, a: usize, b: usize) {
    if a != b {
        let (low, high) = matrix.split_at_mut(a.max(b) * n);
        let low = &mut low[a.min(b) * n..a.min(b) * n + n];
        low.swap_with_slice(&mut high[..n]);
    }
}

/// `row -= factor * pivot row`.
fn subtract_row(matrix: &mut [f64], n: usize, row: usize, pivot: usize, factor: f64) {
    let (low, high) = matrix.split_at_mut(row.max(pivot) * n);
    let (target, source) = if row < pivot {
        (&mut low[row * n..(row + 1) * n], &high[..n])
    } else {
        (&mut high[..n], &low[pivot * n..(pivot + 1) * n])
    };
    for (target, source) in target.iter_mut().zip(source) {
        *target -= factor * source;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn determinant_and_inverse_by_hand() {
        // [0 2; 3 4]: determinant -6, inverse [-2/3 1/3; 1/2 0]; the zero needs a swap of rows.
        let (log_det, inverse) = log_det_and_inverse(&[0.0, 2.0, 3.0, 4.0], 2).unwrap();
        assert!((log_det - 6.0_f64.ln()).abs() < 1e-15);
        for (found, wanted) in inverse.iter().zip([-2.0 / 3.0, 1.0 / 3.0, 0.5, 0.0]) {
            assert!((found - wanted).abs() < 1e-15);
        }
        assert!(log_det_and_inverse(&[1.0, 2.0, 2.0, 4.0], 2).is_none());
    }

    /// A matrix near the identity, and its product with its transpose.
    fn matrices(n: usize) -> (Vec<f64>, Vec<f64>) {
        // Numbers without a pattern that elimination would find.
        let number = |idx: usize| ((idx * idx * 7919 + 13 * idx) % 1009) as f64 / 1009.0 - 0.5;
        let mut matrix: Vec<f64> = (0..n * n).map(|idx| number(idx) / (n as f64).sqrt()).collect();
        (0..n).for_each(|idx| matrix[idx * (n + 1)] += 1.0);
        let view = View::new(&matrix, n, n);
        let positive = times(view, view.t(), n);
        (matrix, positive)
    }

    #[test]
    fn blocks_and_loops_agree_and_see_what_is_singular() {
        for n in [BLOCKED, 45, 100] {
            let (mut matrix, positive) = matrices(n);
            let (loops, blocks) =
                (by_elimination(&matrix, n).unwrap(), by_blocks(&matrix, n).unwrap());
            // Sums of up to 100 numbers of order 1, twice over.
            assert!((loops.0 - blocks.0).abs() < 1e-12, "{n}");
            assert!(loops.1.iter().zip(&blocks.1).all(|(a, b)| (a - b).abs() < 1e-13), "{n}");
            let factor = cholesky(&positive, n).unwrap();
            let again = times(View::new(&factor, n, n), View::new(&factor, n, n).t(), n);
            assert!(again.iter().zip(&positive).all(|(a, b)| (a - b).abs() < 1e-13), "{n}");
            // L x = L has the identity as its solution.
            let mut columns = factor.clone();
            solve_lower(&factor, n, &mut columns, n);
            assert!(columns.iter().zip(identity(n)).all(|(a, b)| (a - b).abs() < 1e-13), "{n}");
            let (first, rest) = matrix.split_at_mut(n);
            rest[..n].copy_from_slice(first);
            assert!(log_det_and_inverse(&matrix, n).is_none_or(|(log_det, _)| log_det < -25.0));
            matrix[0] = f64::NAN;
            assert!(log_det_and_inverse(&matrix, n).is_none() && cholesky(&matrix, n).is_none());
            let negative: Vec<f64> = positive.iter().map(|value| -value).collect();
            assert!(cholesky(&negative, n).is_none());
        }
    }

    #[test]
    fn cholesky_by_hand_and_its_solution() {
        // [4 2; 2 5] = L L^T with L = [2 0; 1 2]; L x = (2, 5) has x = (1, 2).
        let factor = cholesky(&[4.0, 2.0, 2.0, 5.0], 2).unwrap();
        assert_eq!(factor, [2.0, 0.0, 1.0, 2.0]);
        let mut columns = [2.0, 5.0];
        solve_lower(&factor, 2, &mut columns, 1);
        assert_eq!(columns, [1.0, 2.0]);
        assert!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
        // L' x = (4, 4) has x = (1, 2).
        let mut columns = [4.0, 4.0];
        solve_upper(&factor, 2, &mut columns, 1);
        assert_eq!(columns, [1.0, 2.0]);
    }
}
