//! Standard columns and eigenvalues: the two operations all baselines share.

use driftgraph_core::SeriesSet;
use faer::{Mat, MatRef, Side};

use crate::levels::{FilledSeries, filled_levels};
use crate::method::MethodError;

/// Variation below this, in standard units, is rounding: the levels are of order 1, and a rate of
/// change is a difference of two of them.
const NEGLIGIBLE_DEVIATION: f64 = 1e-10;

/// Standard levels of the variables that vary, rows of all series one after the other.
pub(crate) struct VaryingColumns {
    /// One column for each of them.
    pub(crate) columns: Mat<f64>,
    /// Which they are.
    pub(crate) varying: Vec<usize>,
}

/// Fills, standardises, and leaves out what never varies; fewer than `needed` rows are refused.
pub(crate) fn varying_columns(
    data: &SeriesSet,
    needed: usize,
) -> Result<VaryingColumns, MethodError> {
    let levels = filled_levels(data);
    let rows: Vec<&[f64]> = levels.iter().flat_map(FilledSeries::rows).collect();
    let found = rows.len();
    if found < needed {
        return Err(MethodError::TooFewRows { found, needed });
    }
    let mut all = Mat::from_fn(found, data.n_variables(), |row, column| rows[row][column]);
    standardize_columns(&mut all, &vec![1.0 / found as f64; found]);
    let varies = |&idx: &usize| all.col_as_slice(idx).iter().any(|value| *value != 0.0);
    let varying: Vec<usize> = (0..data.n_variables()).filter(varies).collect();
    let columns = Mat::from_fn(found, varying.len(), |row, column| all[(row, varying[column])]);
    Ok(VaryingColumns { columns, varying })
}

/// Shifts and scales every column to weighted mean 0 and weighted variance 1.
///
/// `weights` has one entry per row, with sum 1. A column without variation becomes 0.
pub(crate) fn standardize_columns(columns: &mut Mat<f64>, weights: &[f64]) {
    for column_idx in 0..columns.ncols() {
        let column = columns.col_as_slice_mut(column_idx);
        let mean: f64 = column.iter().zip(weights).map(|(value, weight)| value * weight).sum();
        for value in column.iter_mut() {
            *value -= mean;
        }
        let variance: f64 =
            column.iter().zip(weights).map(|(value, weight)| value * value * weight).sum();
        let deviation = variance.sqrt();
        let scale = if deviation <= NEGLIGIBLE_DEVIATION {
            0.0
        } else if deviation.is_finite() {
            1.0 / deviation
        } else {
            // The column overflowed; not a number, it will be refused with its moments.
            f64::NAN
        };
        for value in column.iter_mut() {
            *value *= scale;
        }
    }
}

/// Eigenvalues, none negative, and eigenvectors (columns) of a matrix of second moments.
pub(crate) struct Eigen {
    pub(crate) values: Vec<f64>,
    pub(crate) vectors: Mat<f64>,
}

impl Eigen {
    /// Fails only on entries that are not finite.
    pub(crate) fn new(moments: MatRef<'_, f64>) -> Result<Self, MethodError> {
        // The data are in standard units: only rates of change can overflow.
        if !moments.is_all_finite() {
            return Err(MethodError::TimesTooUneven);
        }
        // The decomposition takes one row at least.
        if moments.nrows() == 0 {
            return Ok(Self { values: Vec::new(), vectors: Mat::new() });
        }
        let eigen = moments.self_adjoint_eigen(Side::Lower).expect(
            "the implicit QR algorithm converges because the matrix is symmetric and finite",
        );
        // Moments are positive semi-definite; what is below zero is rounding.
        let values = eigen.S().column_vector().iter().map(|value| value.max(0.0)).collect();
        Ok(Self { values, vectors: eigen.U().to_owned() })
    }

    /// The matrix with the same eigenvectors and each eigenvalue replaced by `change` of it.
    pub(crate) fn with_values(&self, change: impl Fn(f64) -> f64) -> Mat<f64> {
        let (rows, columns) = self.vectors.shape();
        let scaled = Mat::from_fn(rows, columns, |row, column| {
            self.vectors[(row, column)] * change(self.values[column])
        });
        scaled * self.vectors.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_get_weighted_mean_zero_and_variance_one() {
        // Weights 1/4, 3/4 on 0 and 4: mean 3, variance 9/4 + 3/4 = 3.
        let mut columns = Mat::from_fn(2, 2, |row, column| [[0.0, 7.0], [4.0, 7.0]][row][column]);
        standardize_columns(&mut columns, &[0.25, 0.75]);
        // A square root, a division and a product.
        assert!((columns[(0, 0)] + 3.0_f64.sqrt()).abs() < 1e-15);
        assert!((columns[(1, 0)] - 1.0 / 3.0_f64.sqrt()).abs() < 1e-15);
        assert_eq!((columns[(0, 1)], columns[(1, 1)]), (0.0, 0.0));
    }

    #[test]
    fn a_column_that_overflows_is_marked() {
        // 1e200 is finite, its square is not.
        let mut columns = Mat::from_fn(2, 1, |row, _| [0.0, 1e200][row]);
        standardize_columns(&mut columns, &[0.5, 0.5]);
        assert!(columns[(0, 0)].is_nan() && columns[(1, 0)].is_nan());
    }

    #[test]
    fn eigenvalues_rebuild_the_inverse() {
        // [[2, 1], [1, 2]] has inverse [[2, -1], [-1, 2]] / 3.
        let matrix = Mat::from_fn(2, 2, |row, column| if row == column { 2.0 } else { 1.0 });
        let inverse = Eigen::new(matrix.as_ref()).unwrap().with_values(|value| 1.0 / value);
        // A handful of roundings.
        assert!((inverse[(0, 0)] - 2.0 / 3.0).abs() < 1e-14);
        assert!((inverse[(0, 1)] + 1.0 / 3.0).abs() < 1e-14);
    }

    #[test]
    fn endless_moments_are_refused() {
        let matrix = Mat::from_fn(1, 1, |_, _| f64::INFINITY);
        assert!(matches!(Eigen::new(matrix.as_ref()), Err(MethodError::TimesTooUneven)));
    }
}
