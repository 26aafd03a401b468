//! Products and inverses of small dense matrices, for loops that call them millions of times.
//!
//! Called inside [`vectorised`](super::kernels::vectorised) they are compiled for the widest instructions.

#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined is not compiled for the wide instructions"
)]

use super::kernels::{View, add_scaled, product};
use super::linalg::log_det_and_inverse;

/// Rows from which on a blocked product is faster than loops.
const BLOCKED: usize = 24;

/// `sums[..n] += weights' rows`.
#[inline(always)]
pub(crate) fn add_weighted_rows(sums: &mut [f64], weights: &[f64], rows: &[f64]) {
    for (&weight, row) in weights.iter().zip(rows.chunks_exact(sums.len())) {
        add_scaled(sums, weight, row);
    }
}

/// `out = a b` for square matrices.
#[inline(always)]
pub(crate) fn multiply(out: &mut [f64], a: &[f64], b: &[f64], n: usize) {
    if n >= BLOCKED {
        return product(out, n, View::new(a, n, n), View::new(b, n, n));
    }
    out.fill(0.0);
    for (out, a) in out.chunks_exact_mut(n).zip(a.chunks_exact(n)) {
        add_weighted_rows(out, a, b);
    }
}

/// The inverse of a lower triangular matrix.
#[inline(always)]
pub(crate) fn inverse_of_lower(factor: &[f64], n: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; n * n];
    for row in 0..n {
        let (done, rest) = inverse.split_at_mut(row * n);
        let own = &mut rest[..n];
        own[row] = 1.0;
        for (col, earlier) in done.chunks_exact(n).enumerate() {
            add_scaled(own, -factor[row * n + col], earlier);
        }
        own.iter_mut().for_each(|value| *value /= factor[row * (n + 1)]);
    }
    inverse
}

/// Puts the inverse of a square matrix in its place; whether there is one.
#[inline(always)]
pub(crate) fn invert(matrix: &mut [f64], n: usize, pivots: &mut [usize]) -> bool {
    if n >= BLOCKED {
        let found = log_det_and_inverse(matrix, n);
        return found.is_some_and(|(_, inverse)| {
            matrix.copy_from_slice(&inverse);
            true
        });
    }
    for col in 0..n {
        let mut pivot_row = col;
        for row in col + 1..n {
            if matrix[row * n + col].abs() > matrix[pivot_row * n + col].abs() {
                pivot_row = row;
            }
        }
        let pivot = matrix[pivot_row * n + col];
        if pivot == 0.0 || !pivot.is_finite() {
            return false;
        }
        pivots[col] = pivot_row;
        if pivot_row != col {
            let (above, below) = matrix.split_at_mut(pivot_row * n);
            above[col * n..(col + 1) * n].swap_with_slice(&mut below[..n]);
        }
        let (above, rest) = matrix.split_at_mut(col * n);
        let (own, below) = rest.split_at_mut(n);
        own[col] = 1.0;
        own.iter_mut().for_each(|value| *value /= pivot);
        for row in above.chunks_exact_mut(n).chain(below.chunks_exact_mut(n)) {
            let factor = row[col];
            row[col] = 0.0;
            add_scaled(row, -factor, own);
        }
    }
    for col in (0..n).rev().filter(|&col| pivots[col] != col) {
        matrix.chunks_exact_mut(n).for_each(|row| row.swap(col, pivots[col]));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::linalg::{cholesky, identity};

    /// Numbers between -1 and 1 without a pattern.
    fn numbers(count: usize) -> Vec<f64> {
        (1..=count)
            .map(|idx| ((idx * idx * 7919 + 131 * idx) % 1009) as f64 / 504.5 - 1.0)
            .collect()
    }

    #[test]
    fn a_matrix_times_its_inverse_is_the_identity_with_loops_and_with_blocks() {
        for n in [1, 2, 7, BLOCKED - 1, BLOCKED, 40] {
            let matrix = numbers(n * n);
            let mut inverse = matrix.clone();
            assert!(invert(&mut inverse, n, &mut vec![0; n]));
            let mut found = vec![0.0; n * n];
            multiply(&mut found, &matrix, &inverse, n);
            for (found, wanted) in found.iter().zip(identity(n)) {
                // Sums of up to 40 numbers, and entries of the inverse of up to some hundreds.
                assert!((found - wanted).abs() < 1e-10, "{n}: {found}");
            }
        }
    }

    #[test]
    fn rows_are_swapped_where_a_pivot_is_zero_and_singular_matrices_have_no_inverse() {
        // [0 2; 3 4] has the inverse [-2/3 1/3; 1/2 0].
        let mut matrix = [0.0, 2.0, 3.0, 4.0];
        assert!(invert(&mut matrix, 2, &mut [0; 2]));
        for (found, wanted) in matrix.iter().zip([-2.0 / 3.0, 1.0 / 3.0, 0.5, 0.0]) {
            assert!((found - wanted).abs() < 1e-15);
        }
        assert!(!invert(&mut [1.0, 2.0, 2.0, 4.0], 2, &mut [0; 2]));
        assert!(!invert(&mut [f64::NAN], 1, &mut [0]));
    }

    #[test]
    fn the_inverse_of_a_lower_factor_solves_it() {
        let n = 6;
        let matrix = numbers(n * n);
        let mut positive = identity(n);
        for (idx, sum) in positive.iter_mut().enumerate() {
            let (row, col) = (idx / n, idx % n);
            *sum += (0..n).map(|k| matrix[row * n + k] * matrix[col * n + k]).sum::<f64>();
        }
        let factor = cholesky(&positive, n).unwrap();
        let mut found = vec![0.0; n * n];
        multiply(&mut found, &factor, &inverse_of_lower(&factor, n), n);
        assert!(found.iter().zip(identity(n)).all(|(a, b)| (a - b).abs() < 1e-13));
    }
}
