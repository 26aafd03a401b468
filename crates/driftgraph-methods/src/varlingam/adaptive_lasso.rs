//! The adaptive lasso with its penalty chosen by Schwarz's criterion: which regressors matter, and how much.
//!
//! Zou (2006), doi:10.1198/016214506000000735.

use faer::Mat;

use super::lars::{Knot, Moments, lasso_path};
use crate::linear_algebra::Eigen;
use crate::method::MethodError;

/// A coefficient below this is none.
const ZERO: f64 = 2.2e-16;
/// Variance of what is left, in units of the target's, below which the fit is perfect.
const PERFECT: f64 = 1e-20;
/// A pivot below this means that columns depend on each other.
const DEPENDENT: f64 = 1e-10;

/// Columns with their deviations and correlations, for any number of regressions among them.
pub(super) struct Columns {
    n_rows: usize,
    deviations: Vec<f64>,
    /// `[column, column]`; 0 for columns that do not vary, with themselves too.
    correlations: Mat<f64>,
}

/// One adaptive lasso, with what decided it.
pub(super) struct AdaptiveLasso {
    /// Of each predictor, in units of the data.
    pub(super) coefficients: Vec<f64>,
    /// Their standard errors, given which they are; infinite where there are too few rows, 0 for coefficients of 0.
    pub(super) deviations: Vec<f64>,
    /// The choice, compared with the reference.
    #[cfg(test)]
    pub(super) chosen: Chosen,
    #[cfg(test)]
    pub(super) weights: Vec<f64>,
    #[cfg(test)]
    pub(super) knots: Vec<Knot>,
}

/// The best knot of a path.
pub(super) struct Chosen {
    pub(super) knot: usize,
    #[cfg(test)]
    pub(super) criteria: Vec<f64>,
    #[cfg(test)]
    pub(super) noise_variance: f64,
}

impl Columns {
    pub(super) fn new(table: &Mat<f64>) -> Self {
        let (n_rows, n_columns) = table.shape();
        let mut standard = table.clone();
        let mut deviations = Vec::with_capacity(n_columns);
        for idx in 0..n_columns {
            let column = standard.col_as_slice_mut(idx);
            let mean = column.iter().sum::<f64>() / n_rows as f64;
            column.iter_mut().for_each(|value| *value -= mean);
            let deviation =
                (column.iter().map(|value| value * value).sum::<f64>() / n_rows as f64).sqrt();
            // What is left of a mean by rounding is no variation.
            let varies = deviation > 1e-13 * mean.abs() && deviation > 0.0;
            let scale = if varies { 1.0 / deviation } else { 0.0 };
            column.iter_mut().for_each(|value| *value *= scale);
            deviations.push(if varies { deviation } else { 0.0 });
        }
        let correlations = standard.transpose() * &standard * faer::Scale(1.0 / n_rows as f64);
        Self { n_rows, deviations, correlations }
    }

    /// Coefficients of the predictors that the criterion chooses, refitted by least squares; 0 for the others.
    pub(super) fn adaptive_lasso(
        &self,
        predictors: &[usize],
        target: usize,
    ) -> Result<AdaptiveLasso, MethodError> {
        let plain = self.least_squares(predictors, target)?;
        let weights: Vec<f64> = plain.iter().map(|coefficient| coefficient.abs()).collect();
        let size = predictors.len();
        let n_rows = self.n_rows as f64;
        let gram: Vec<f64> = (0..size * size)
            .map(|idx| {
                let (i, j) = (idx / size, idx % size);
                n_rows * self.correlations[(predictors[i], predictors[j])] * weights[i] * weights[j]
            })
            .collect();
        let cross: Vec<f64> = (0..size)
            .map(|i| n_rows * self.correlations[(predictors[i], target)] * weights[i])
            .collect();
        let moments = Moments { size, gram: &gram, cross: &cross, n_rows };
        let knots = lasso_path(&moments);
        // Least squares on weighted regressors has the coefficients b / |b|.
        let signs: Vec<f64> =
            plain.iter().map(|&b| if b == 0.0 { 0.0 } else { b.signum() }).collect();
        let power = n_rows * self.correlations[(target, target)];
        let chosen = best_knot(&moments, &knots, power, &signs);
        let selected: Vec<usize> = (0..size)
            .filter(|&idx| knots[chosen.knot].coefficients[idx] * weights[idx] != 0.0)
            .collect();
        let coefficients = self.refitted(predictors, &selected, target)?;
        Ok(AdaptiveLasso {
            deviations: self.standard_errors(predictors, &selected, target, &coefficients)?,
            coefficients,
            #[cfg(test)]
            chosen,
            #[cfg(test)]
            weights,
            #[cfg(test)]
            knots,
        })
    }

    /// Least squares of the selected predictors in units of the data; 0 for the others.
    fn refitted(
        &self,
        predictors: &[usize],
        selected: &[usize],
        target: usize,
    ) -> Result<Vec<f64>, MethodError> {
        let columns: Vec<usize> = selected.iter().map(|&idx| predictors[idx]).collect();
        let mut coefficients = vec![0.0; predictors.len()];
        for (&idx, standard) in selected.iter().zip(self.least_squares(&columns, target)?) {
            let deviation = self.deviations[predictors[idx]];
            if deviation > 0.0 {
                coefficients[idx] = standard * self.deviations[target] / deviation;
            }
        }
        Ok(coefficients)
    }

    /// Standard errors of least squares of the selected predictors, in units of the data; 0 for the others.
    fn standard_errors(
        &self,
        predictors: &[usize],
        selected: &[usize],
        target: usize,
        coefficients: &[f64],
    ) -> Result<Vec<f64>, MethodError> {
        let explained: f64 = (selected.iter())
            .map(|&idx| {
                let ratio = self.deviations[predictors[idx]] / self.deviations[target];
                coefficients[idx] * ratio * self.correlations[(predictors[idx], target)]
            })
            .sum();
        let freedom = self.n_rows as f64 - selected.len() as f64 - 1.0;
        let left = (1.0 - explained).max(0.0) / freedom;
        let columns: Vec<usize> = selected.iter().map(|&idx| predictors[idx]).collect();
        let size = columns.len();
        let gram = Mat::from_fn(size, size, |i, j| self.correlations[(columns[i], columns[j])]);
        let inverse = Eigen::new(gram.as_ref())?
            .with_values(|value| if value > DEPENDENT { 1.0 / value } else { 0.0 });
        let mut errors = vec![0.0; predictors.len()];
        for (place, &idx) in selected.iter().enumerate() {
            let ratio = self.deviations[target] / self.deviations[predictors[idx]];
            errors[idx] = match coefficients[idx] {
                0.0 => 0.0,
                _ if freedom > 0.0 => ratio * (left * inverse[(place, place)]).sqrt(),
                _ => f64::INFINITY,
            };
        }
        Ok(errors)
    }

    /// Least squares with intercept among standard columns; the shortest solution where there are many.
    fn least_squares(&self, predictors: &[usize], target: usize) -> Result<Vec<f64>, MethodError> {
        let size = predictors.len();
        let gram =
            Mat::from_fn(size, size, |i, j| self.correlations[(predictors[i], predictors[j])]);
        let cross = Mat::from_fn(size, 1, |i, _| self.correlations[(predictors[i], target)]);
        if size == 0 {
            return Ok(Vec::new());
        }
        let solution = match gram.llt(faer::Side::Lower) {
            Ok(factor)
                if factor
                    .L()
                    .diagonal()
                    .column_vector()
                    .iter()
                    .all(|pivot| pivot * pivot > DEPENDENT) =>
            {
                use faer::linalg::solvers::Solve;
                factor.solve(&cross)
            }
            _ => {
                let inverse = Eigen::new(gram.as_ref())?
                    .with_values(|value| if value > DEPENDENT { 1.0 / value } else { 0.0 });
                inverse * cross
            }
        };
        Ok((0..size).map(|idx| solution[(idx, 0)]).collect())
    }
}

/// The first knot with the smallest n ln(2π s²) + RSS / s² + df ln n, where s² is the variance that least squares leaves.
///
/// `power` is the target's sum of squares, `plain` the coefficients of least squares.
fn best_knot(moments: &Moments<'_>, knots: &[Knot], power: f64, plain: &[f64]) -> Chosen {
    let (n_rows, size) = (moments.n_rows, moments.size);
    let left = |coefficients: &[f64]| {
        let mut left = power;
        for i in (0..size).filter(|&i| coefficients[i] != 0.0) {
            let row = &moments.gram[i * size..(i + 1) * size];
            let row: f64 = row.iter().zip(coefficients).map(|(a, b)| a * b).sum();
            left += coefficients[i] * (row - 2.0 * moments.cross[i]);
        }
        left.max(0.0)
    };
    let noise_variance = (left(plain) / (n_rows - size as f64 - 1.0)).max(PERFECT);
    let constant = n_rows * (2.0 * std::f64::consts::PI * noise_variance).ln();
    let criterion = |knot: &Knot| {
        let df = knot.coefficients.iter().filter(|coefficient| coefficient.abs() > ZERO).count();
        constant + left(&knot.coefficients) / noise_variance + n_rows.ln() * df as f64
    };
    let criteria: Vec<f64> = knots.iter().map(criterion).collect();
    let mut best = 0;
    for (idx, value) in criteria.iter().enumerate() {
        if *value < criteria[best] {
            best = idx;
        }
    }
    Chosen {
        knot: best,
        #[cfg(test)]
        criteria,
        #[cfg(test)]
        noise_variance,
    }
}
