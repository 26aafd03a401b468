//! Small dense linear algebra: determinant and inverse by elimination, Cholesky's factor.

use crate::numeric::kernels::{View, product};
use crate::numeric::real::ln;

/// log |det A| and the inverse of a square matrix, or `None` where it is singular.
pub(crate) fn log_det_and_inverse(matrix: &[f64], n: usize) -> Option<(f64, Vec<f64>)> {
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

    #[test]
    fn cholesky_by_hand_and_its_solution() {
        // [4 2; 2 5] = L L^T with L = [2 0; 1 2]; L x = (2, 5) has x = (1, 2).
        let factor = cholesky(&[4.0, 2.0, 2.0, 5.0], 2).unwrap();
        assert_eq!(factor, [2.0, 0.0, 1.0, 2.0]);
        let mut columns = [2.0, 5.0];
        solve_lower(&factor, 2, &mut columns, 1);
        assert_eq!(columns, [1.0, 2.0]);
        assert!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
    }
}
