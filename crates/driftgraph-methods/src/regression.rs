//! Penalised least squares of many targets on the same sources, in standard units.

use driftgraph_core::EdgeScores;
use faer::Mat;

use crate::linear_algebra::{Eigen, standardize_columns};
use crate::method::MethodError;

/// With fewer steps an intercept and one slope fit exactly, and nothing can be held out.
pub(crate) const MIN_STEPS: usize = 3;

/// Weighted rows of sources and targets, every column with mean 0 and variance 1.
pub(crate) struct Regression {
    /// `[row, source]`.
    sources: Mat<f64>,
    /// `[row, target]`.
    targets: Mat<f64>,
    /// One per row, with sum 1.
    weights: Vec<f64>,
}

/// Weighted means of the columns over some rows.
struct Means {
    sources: Vec<f64>,
    targets: Vec<f64>,
}

/// Weighted second moments about given means, over some rows.
pub(crate) struct Moments {
    /// `[source, source]`.
    pub(crate) sources: Mat<f64>,
    /// `[source, target]`.
    pub(crate) cross: Mat<f64>,
    /// Sum of the targets' variances.
    pub(crate) target_power: f64,
}

impl Regression {
    /// Standardises the columns; `weights` are positive, one per row.
    pub(crate) fn new(mut sources: Mat<f64>, mut targets: Mat<f64>, weights: &[f64]) -> Self {
        let sum: f64 = weights.iter().sum();
        let weights: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        standardize_columns(&mut sources, &weights);
        standardize_columns(&mut targets, &weights);
        Self { sources, targets, weights }
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.weights.len()
    }

    /// |coefficient| of every source for every target, by minimising
    /// mean squared error + `penalty` x sum of squared coefficients.
    pub(crate) fn scores(&self, penalty: f64) -> Result<EdgeScores, MethodError> {
        let n_variables = self.sources.ncols();
        let all_rows: Vec<usize> = (0..self.n_rows()).collect();
        let moments = self.moments(&all_rows, &all_rows);
        let eigen = Eigen::new(moments.sources.as_ref())?;
        let coefficients = eigen.with_values(|value| 1.0 / (value + penalty)) * &moments.cross;
        let scores = (0..n_variables * n_variables)
            .map(|idx| coefficients[(idx / n_variables, idx % n_variables)].abs())
            .collect();
        EdgeScores::from_matrix(n_variables, scores).map_err(|_| MethodError::TimesTooUneven)
    }

    /// Moments over `rows` about the means over `mean_rows`.
    pub(crate) fn moments(&self, rows: &[usize], mean_rows: &[usize]) -> Moments {
        let means = self.means(mean_rows);
        let sum: f64 = rows.iter().map(|&row| self.weights[row]).sum();
        let root_weight = |row: usize| (self.weights[row] / sum).sqrt();
        let sources = Mat::from_fn(rows.len(), self.sources.ncols(), |idx, column| {
            let row = rows[idx];
            (self.sources[(row, column)] - means.sources[column]) * root_weight(row)
        });
        let targets = Mat::from_fn(rows.len(), self.targets.ncols(), |idx, column| {
            let row = rows[idx];
            (self.targets[(row, column)] - means.targets[column]) * root_weight(row)
        });
        Moments {
            sources: sources.transpose() * &sources,
            cross: sources.transpose() * &targets,
            target_power: targets.squared_norm_l2(),
        }
    }

    fn means(&self, rows: &[usize]) -> Means {
        let sum: f64 = rows.iter().map(|&row| self.weights[row]).sum();
        let column_means = |columns: &Mat<f64>| -> Vec<f64> {
            let mean = |column: usize| {
                let column = columns.col_as_slice(column);
                rows.iter().map(|&row| self.weights[row] * column[row]).sum::<f64>() / sum
            };
            (0..columns.ncols()).map(mean).collect()
        };
        Means { sources: column_means(&self.sources), targets: column_means(&self.targets) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix<const N: usize>(rows: &[[f64; N]]) -> Mat<f64> {
        Mat::from_fn(rows.len(), N, |row, column| rows[row][column])
    }

    #[test]
    fn uncorrelated_sources_give_shrunk_correlations() {
        // Sources a and b are uncorrelated with variance 1. Target 2 a + b + 7 has variance 5, so
        // its correlations are 2/√5 and 1/√5; target -3 b has 0 and -1. The penalty 0.25 divides
        // each by 1.25.
        let sources = matrix(&[[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]);
        let targets = matrix(&[[10.0, -3.0], [8.0, 3.0], [6.0, -3.0], [4.0, 3.0]]);
        let scores = Regression::new(sources, targets, &[1.0; 4]).scores(0.25).unwrap();
        let wanted = [2.0 / 5.0_f64.sqrt(), 0.0, 1.0 / 5.0_f64.sqrt(), 1.0].map(|r| r / 1.25);
        for (found, wanted) in scores.matrix().iter().zip(wanted) {
            // A handful of roundings of numbers near 1.
            assert!((found - wanted).abs() < 1e-14, "{scores:?}");
        }
    }

    #[test]
    fn correlated_sources_are_told_apart() {
        // y = a exactly, and b correlates with a: least squares gives 1 and 0, not two shares.
        let sources = matrix(&[[1.0, 1.0], [2.0, 2.0], [3.0, 1.0], [4.0, 5.0], [5.0, 4.0]]);
        let targets = matrix(&[[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0], [5.0, 0.0]]);
        let scores = Regression::new(sources, targets, &[1.0; 5]).scores(0.0).unwrap();
        // Eigenvalues down to about 0.2 magnify rounding a few times.
        assert!((scores.score(0, 0) - 1.0).abs() < 1e-14 && scores.score(1, 0) < 1e-14);
        assert_eq!((scores.score(0, 1), scores.score(1, 1)), (0.0, 0.0));
    }

    #[test]
    fn a_row_of_weight_two_is_the_same_as_two_rows() {
        let weighted = Regression::new(
            matrix(&[[1.0, 0.5], [2.0, -1.0], [4.0, 0.0]]),
            matrix(&[[0.0, 1.0], [3.0, 1.5], [1.0, 2.0]]),
            &[2.0, 1.0, 1.0],
        );
        let repeated = Regression::new(
            matrix(&[[1.0, 0.5], [1.0, 0.5], [2.0, -1.0], [4.0, 0.0]]),
            matrix(&[[0.0, 1.0], [0.0, 1.0], [3.0, 1.5], [1.0, 2.0]]),
            &[1.0; 4],
        );
        let (weighted, repeated) = (weighted.scores(0.1).unwrap(), repeated.scores(0.1).unwrap());
        for (one, other) in weighted.matrix().iter().zip(repeated.matrix()) {
            assert!((one - other).abs() < 1e-14, "{weighted:?} and {repeated:?}");
        }
    }
}
