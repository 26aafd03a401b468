//! Small dense linear algebra: determinant and inverse by elimination, Cholesky's factor.

use crate::numeric::kernels::{View, add_product, add_scaled, product};

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
        log_det += pivot.abs().ln();
        swap_rows(&mut left, n, col, pivot_row);
        swap_rows(&mut inverse, n, col, pivot_row);
        for row in (0..n).filter(|&row| row != col) {
            let factor = left[row * n + col] / pivot;
            if factor != 0.0 {
                subtract_row(&mut left, n, (row, col), factor);
                subtract_row(&mut inverse, n, (row, col), factor);
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

/// Rows handled at once: within a block by plain loops, between blocks by matrix products.
const BLOCK: usize = 24;

/// The lower factor of a positive definite matrix, or `None` where it is not one.
pub(crate) fn cholesky(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut factor = vec![0.0; n * n];
    for row in 0..n {
        factor[row * n..=row * n + row].copy_from_slice(&matrix[row * n..=row * n + row]);
    }
    for start in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - start);
        // All rows from here on, less what earlier columns explain: A[start.., block] -= L[start.., ..start] L[block, ..start]'.
        let (_, below) = factor.split_at_mut(start * n);
        let earlier: Vec<f64> = (below.chunks_exact(n).take(width))
            .flat_map(|row| row[..start].iter().map(|value| -value))
            .collect();
        let rows: Vec<f64> =
            below.chunks_exact(n).flat_map(|row| row[..start].iter().copied()).collect();
        let mut explained = vec![0.0; (n - start) * width];
        let (rows, earlier) = (View::new(&rows, n - start, start), View::new(&earlier, width, start));
        product_or_zero(&mut explained, width, rows, earlier.t());
        for (row, explained) in below.chunks_exact_mut(n).zip(explained.chunks_exact(width)) {
            row[start..start + width].iter_mut().zip(explained).for_each(|(a, b)| *a += b);
        }
        factor_block(below, n, start, width)?;
    }
    for row in 0..n {
        factor[row * n + row + 1..(row + 1) * n].fill(0.0);
    }
    Some(factor)
}

/// Factors columns `start..start + width` of rows from `start` on, from which earlier columns were taken out.
fn factor_block(rows: &mut [f64], n: usize, start: usize, width: usize) -> Option<()> {
    for row in 0..rows.len() / n {
        for col in 0..width.min(row + 1) {
            let (above, here) = (&rows[col * n + start..], &rows[row * n + start..]);
            let sum: f64 = above[..col].iter().zip(&here[..col]).map(|(a, b)| a * b).sum();
            let rest = rows[row * n + start + col] - sum;
            rows[row * n + start + col] = if row == col {
                if !(rest > 0.0 && rest.is_finite()) {
                    return None;
                }
                rest.sqrt()
            } else {
                rest / rows[col * n + start + col]
            };
        }
    }
    Some(())
}

/// Solves L x = b in place for the rows of `columns`, stored `[n, n_columns]`.
pub(crate) fn solve_lower(factor: &[f64], n: usize, columns: &mut [f64], n_columns: usize) {
    for start in (0..n).step_by(BLOCK) {
        let end = (start + BLOCK).min(n);
        let (done, rest) = columns.split_at_mut(start * n_columns);
        let here = &mut rest[..(end - start) * n_columns];
        if start > 0 {
            let negative: Vec<f64> = (start..end)
                .flat_map(|row| factor[row * n..row * n + start].iter().map(|value| -value))
                .collect();
            let factors = (View::new(&negative, end - start, start), View::new(done, start, n_columns));
            add_product(here, n_columns, factors.0, factors.1);
        }
        for row in 0..end - start {
            let (done, rest) = here.split_at_mut(row * n_columns);
            let line = &factor[(start + row) * n + start..];
            for (earlier, weight) in done.chunks_exact(n_columns).zip(line) {
                add_scaled(&mut rest[..n_columns], -weight, earlier);
            }
            let pivot = line[row].recip();
            rest[..n_columns].iter_mut().for_each(|value| *value *= pivot);
        }
    }
}

/// Solves L' x = b in place for the rows of `columns`, stored `[n, n_columns]`.
pub(crate) fn solve_upper(factor: &[f64], n: usize, columns: &mut [f64], n_columns: usize) {
    let starts: Vec<usize> = (0..n).step_by(BLOCK).collect();
    for &start in starts.iter().rev() {
        let end = (start + BLOCK).min(n);
        let (rest, done) = columns.split_at_mut(end * n_columns);
        let here = &mut rest[start * n_columns..];
        if end < n {
            // L[end.., block]' transposed into rows of the block.
            let negative: Vec<f64> = (start..end)
                .flat_map(|col| (end..n).map(move |row| -factor[row * n + col]))
                .collect();
            let factors = (View::new(&negative, end - start, n - end), View::new(done, n - end, n_columns));
            add_product(here, n_columns, factors.0, factors.1);
        }
        for row in (0..end - start).rev() {
            let (rest, done) = here.split_at_mut((row + 1) * n_columns);
            let own = &mut rest[row * n_columns..];
            for (idx, later) in done.chunks_exact(n_columns).enumerate() {
                let weight = factor[(start + row + 1 + idx) * n + start + row];
                add_scaled(own, -weight, later);
            }
            let pivot = factor[(start + row) * (n + 1)].recip();
            own.iter_mut().for_each(|value| *value *= pivot);
        }
    }
}

/// A product whose inner size may be 0.
fn product_or_zero(out: &mut [f64], stride: usize, a: View<'_, f64>, b: View<'_, f64>) {
    out.fill(0.0);
    add_product(out, stride, a, b);
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

/// `row -= factor * pivot row`, given as (row, pivot row).
fn subtract_row(matrix: &mut [f64], n: usize, (row, pivot): (usize, usize), factor: f64) {
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
        // L' x = (4, 4) has x = (1, 2).
        let mut columns = [4.0, 4.0];
        solve_upper(&factor, 2, &mut columns, 1);
        assert_eq!(columns, [1.0, 2.0]);
    }

    #[test]
    fn blocks_change_nothing() {
        // Larger than two blocks: A = M M' + n I with numbers between -1/2 and 1/2.
        let n = 2 * BLOCK + 7;
        let number = |idx: usize| ((idx * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5;
        let plain: Vec<f64> = (0..n * n).map(number).collect();
        let mut matrix = times(View::new(&plain, n, n), View::new(&plain, n, n).t(), n);
        (0..n).for_each(|idx| matrix[idx * (n + 1)] += n as f64);
        let factor = cholesky(&matrix, n).unwrap();
        let again = times(View::new(&factor, n, n), View::new(&factor, n, n).t(), n);
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10);
        // Entries of order n: a few hundred roundings each.
        assert!(close(&again, &matrix));
        let wanted: Vec<f64> = (0..n * 3).map(number).collect();
        let mut columns = vec![0.0; n * 3];
        product(&mut columns, 3, View::new(&matrix, n, n), View::new(&wanted, n, 3));
        solve_lower(&factor, n, &mut columns, 3);
        solve_upper(&factor, n, &mut columns, 3);
        assert!(close(&columns, &wanted));
        matrix[(n - 1) * (n + 1)] = -1.0;
        assert!(cholesky(&matrix, n).is_none());
    }
}
