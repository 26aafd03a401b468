//! Absolute partial correlations of pooled levels.

use driftgraph_core::{EdgeScores, SeriesSet};
use faer::Mat;

use crate::FitPlan;
use crate::levels::{INTERPOLATES, bytes_of_copies};
use crate::linear_algebra::{Eigen, VaryingColumns, varying_columns};
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Takes};
use crate::settled::SettledRows;

/// Two rows always lie on a line, whatever the variables do.
const MIN_ROWS: usize = 3;

/// Keeps a matrix invertible for which Ledoit and Wolf see no sampling error at all, as when all
/// rows are plus or minus the same vector.
const MIN_SHRINKAGE: f64 = 1e-6;

/// Absolute partial correlation of the levels of two variables given all others, over all rows of all series that have
/// settled.
///
/// It says nothing about self edges; the diagonal is 1, the partial correlation of a variable with itself. Where self
/// edges count and all of them are present (as in Netsim), this convention alone ranks all of them first. The
/// correlation matrix is shrunk towards the identity with the intensity of Ledoit and Wolf (2004),
/// doi:10.1016/S0047-259X(03)00096-4, which vanishes with many rows and keeps it invertible with few.
pub(crate) struct PartialCorrelation;

impl Method for PartialCorrelation {
    fn name(&self) -> &'static str {
        "partial-correlation"
    }

    fn description(&self) -> &'static str {
        "absolute partial correlation of levels given all other variables: symmetric, blind to time"
    }

    fn takes(&self) -> Takes {
        Takes {
            several_series: Handling::Full,
            irregular_times: Handling::Instead("does not look at times at all"),
            missing_cells: INTERPOLATES,
            prior_edges: false,
            experiments: Handling::AS_VALUES,
        }
    }

    /// Copies of all cells: the data, filled levels, and columns before and after the constant ones are left out.
    fn predicted_bytes(&self, _plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        Some(bytes_of_copies(data, 4))
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let settled = SettledRows::of(task.data);
        let mut learned = Learned::scores(&partial_correlation(&settled.data)?);
        learned.remarks = settled.remark.into_iter().collect();
        Ok(learned)
    }
}

/// |partial correlation| of every pair of variables given all others; the diagonal is 1.
pub(crate) fn partial_correlation(data: &SeriesSet) -> Result<EdgeScores, MethodError> {
    let VaryingColumns { columns, varying } = varying_columns(data, MIN_ROWS)?;
    let n_variables = data.n_variables();
    let precision = shrunk_precision(&columns)?;

    let mut scores: Vec<f64> = (0..n_variables * n_variables)
        .map(|idx| if idx / n_variables == idx % n_variables { 1.0 } else { 0.0 })
        .collect();
    for (row, &first) in varying.iter().enumerate() {
        for (column, &second) in varying.iter().enumerate().take(row) {
            let score = absolute_partial_correlation(&precision, row, column);
            scores[first * n_variables + second] = score;
            scores[second * n_variables + first] = score;
        }
    }
    Ok(EdgeScores::from_matrix(n_variables, scores)
        .expect("partial correlations are numbers because the shrunk matrix is invertible"))
}

/// Inverse of the shrunk correlation matrix of standard columns.
fn shrunk_precision(columns: &Mat<f64>) -> Result<Mat<f64>, MethodError> {
    let correlation = columns.transpose() * columns * faer::Scale(1.0 / columns.nrows() as f64);
    let shrinkage = ledoit_wolf_shrinkage(columns, &correlation).max(MIN_SHRINKAGE);
    let eigen = Eigen::new(correlation.as_ref())?;
    Ok(eigen.with_values(|value| 1.0 / ((1.0 - shrinkage) * value + shrinkage)))
}

/// How far to shrink a correlation matrix towards the identity, from 0 to 1.
///
/// Ledoit and Wolf (2004), section 3.3, in their letters: d² is the squared distance between sample
/// and identity, b² the part of it that is sampling error, and the answer is b² / d².
fn ledoit_wolf_shrinkage(columns: &Mat<f64>, correlation: &Mat<f64>) -> f64 {
    let (n_rows, n_columns) = columns.shape();
    let squared_norm = correlation.squared_norm_l2();
    // ‖S - I‖² = ‖S‖² - D, since S has a diagonal of ones.
    let d2 = squared_norm - n_columns as f64;
    // Σ_k ‖x_k x_kᵀ - S‖² = Σ_k ‖x_k‖⁴ - n ‖S‖².
    let fourth_powers: f64 = columns.row_iter().map(|row| row.squared_norm_l2().powi(2)).sum();
    let n = n_rows as f64;
    let b2 = (fourth_powers / n - squared_norm).max(0.0) / n;
    if b2 < d2 { b2 / d2 } else { 1.0 }
}

fn absolute_partial_correlation(precision: &Mat<f64>, row: usize, column: usize) -> f64 {
    let scale = (precision[(row, row)] * precision[(column, column)]).sqrt();
    // Rounding may leave a value just above 1.
    (precision[(row, column)].abs() / scale).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear_algebra::standardize_columns;

    #[test]
    fn three_variables_agree_with_the_textbook_formula() {
        // r_xy.z = (r_xy - r_xz r_yz) / sqrt((1 - r_xz²) (1 - r_yz²)), by hand for
        // r_xy = 0.5, r_xz = 0.6, r_yz = 0.8: 0.02 / sqrt(0.64 x 0.36) = 0.02 / 0.48.
        let entries = [[1.0, 0.5, 0.6], [0.5, 1.0, 0.8], [0.6, 0.8, 1.0]];
        let correlation = Mat::from_fn(3, 3, |row, column| entries[row][column]);
        let eigen = Eigen::new(correlation.as_ref()).unwrap();
        let precision = eigen.with_values(|value| 1.0 / value);
        // Eigenvalues down to about 0.2 magnify rounding a few times.
        let found = absolute_partial_correlation(&precision, 0, 1);
        assert!((found - 0.02 / 0.48).abs() < 1e-14, "{found}");
    }

    #[test]
    fn shrinkage_equals_that_of_scikit_learn() {
        // sklearn.covariance.ledoit_wolf_shrinkage (1.9.1) of these rows, after StandardScaler.
        let rows =
            [[1.0, 2.0, 0.5], [2.0, 1.0, 1.5], [3.0, 4.0, -1.0], [4.0, 3.0, 2.0], [6.0, 7.0, 0.0]];
        let mut columns = Mat::from_fn(5, 3, |row, column| rows[row][column]);
        standardize_columns(&mut columns, &[0.2; 5]);
        let correlation = columns.transpose() * &columns * faer::Scale(0.2);
        let found = ledoit_wolf_shrinkage(&columns, &correlation);
        // Printed with 16 digits there.
        assert!((found - 0.585_914_205_995_203_6).abs() < 1e-13, "{found}");
    }
}
