//! Ridge regression of rates of change on levels, with a cross-validated penalty.

use driftgraph_core::{EdgeScores, SeriesSet};
use faer::Mat;
use rayon::prelude::*;

use crate::FitPlan;
use crate::levels::{INTERPOLATES, Step, bytes_of_copies, filled_levels, steps};
use crate::linear_algebra::Eigen;
use crate::method::{Learned, Method, MethodError, MethodTask, Takes};
use crate::regression::{MIN_STEPS, Regression};

/// More folds cost more and decide the same.
const MAX_FOLDS: usize = 10;

/// Penalties tried: 10^-4 to 10^4, five per decade, where the sources have variance 1.
const N_PENALTIES: i32 = 41;

/// Absolute coefficients of a ridge regression of rates of change on levels.
///
/// The rate is the increment between neighbouring rows divided by the time between them. Both sides are standardised, so
/// that neither the unit of a variable nor that of time matters. The penalty, one for all variables, is the largest
/// whose cross-validated error is within one standard error of the smallest (Hastie, Tibshirani and Friedman 2009,
/// section 7.10).
pub(crate) struct Ridge;

impl Method for Ridge {
    fn name(&self) -> &'static str {
        "ridge"
    }

    fn description(&self) -> &'static str {
        "absolute coefficients of a ridge regression of rates of change on levels"
    }

    fn takes(&self) -> Takes {
        Takes { missing_cells: INTERPOLATES, prior_edges: false, ..Takes::ALL }
    }

    /// Copies of all cells: twelve with one thread, as measured, and four more for the folds of each other thread.
    fn predicted_bytes(&self, _plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        let at_once = rayon::current_num_threads().min(MAX_FOLDS);
        Some(bytes_of_copies(data, 8 + 4 * at_once))
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        Ok(Learned::scores(&ridge(task.data)?))
    }
}

/// |coefficient| of every level for every rate of change.
pub(crate) fn ridge(data: &SeriesSet) -> Result<EdgeScores, MethodError> {
    let levels = filled_levels(data);
    let steps = steps(&levels);
    if steps.len() < MIN_STEPS {
        return Err(MethodError::TooFewSteps { found: steps.len(), needed: MIN_STEPS });
    }
    let regression = rates_on_levels(&steps);
    let penalty = chosen_penalty(&regression, &folds(&steps))?;
    regression.scores(penalty)
}

/// The regression of increments per unit time on the levels before them.
fn rates_on_levels(steps: &[Step]) -> Regression {
    let n_variables = steps[0].before.len();
    // In units of the mean duration, rates stay near the scale of the levels.
    let mean_duration = steps.iter().map(|step| step.duration / steps.len() as f64).sum::<f64>();
    let durations: Vec<f64> = steps.iter().map(|step| step.duration / mean_duration).collect();
    let sources = Mat::from_fn(steps.len(), n_variables, |row, column| steps[row].before[column]);
    let targets = Mat::from_fn(steps.len(), n_variables, |row, column| {
        (steps[row].after[column] - steps[row].before[column]) / durations[row]
    });
    // Over a step of duration dt a diffusion's rate of change has variance proportional to 1/dt.
    Regression::new(sources, targets, &durations)
}

/// The fold of every step: whole series, or blocks of time when there are few series.
fn folds(steps: &[Step]) -> Vec<usize> {
    // Series without steps take no part.
    let mut position = 0;
    let positions: Vec<usize> = (0..steps.len())
        .map(|idx| {
            position += usize::from(idx > 0 && steps[idx].series_idx != steps[idx - 1].series_idx);
            position
        })
        .collect();
    let n_series = position + 1;
    if n_series >= SeriesSet::MIN_HELD_OUT_WHOLE {
        let n_folds = n_series.min(MAX_FOLDS);
        positions.iter().map(|position| position % n_folds).collect()
    } else {
        let n_folds = steps.len().min(MAX_FOLDS);
        (0..steps.len()).map(|idx| idx * n_folds / steps.len()).collect()
    }
}

/// The largest penalty whose error is within one standard error of the smallest error.
fn chosen_penalty(regression: &Regression, folds: &[usize]) -> Result<f64, MethodError> {
    let penalties: Vec<f64> =
        (0..N_PENALTIES).map(|idx| 10_f64.powf(f64::from(idx) / 5.0 - 4.0)).collect();
    let n_folds = folds.iter().max().map_or(0, |last| last + 1);
    let errors: Vec<Vec<f64>> = (0..n_folds)
        .into_par_iter()
        .map(|fold| held_out_errors(regression, folds, fold, &penalties))
        .collect::<Result<_, _>>()?;

    let mean_error = |penalty_idx: usize| {
        errors.iter().map(|fold| fold[penalty_idx]).sum::<f64>() / n_folds as f64
    };
    let best = (0..penalties.len())
        .min_by(|&a, &b| mean_error(a).total_cmp(&mean_error(b)))
        .expect("there is a best penalty because the list is not empty");
    let squares: f64 = errors.iter().map(|fold| (fold[best] - mean_error(best)).powi(2)).sum();
    let standard_error = (squares / (n_folds * (n_folds - 1)) as f64).sqrt();
    let limit = mean_error(best) + standard_error;
    let chosen = (best..penalties.len()).rev().find(|&idx| mean_error(idx) <= limit);
    Ok(penalties[chosen.unwrap_or(best)])
}

/// Mean squared error on one fold, summed over targets, for every penalty, from one decomposition.
fn held_out_errors(
    regression: &Regression,
    folds: &[usize],
    fold: usize,
    penalties: &[f64],
) -> Result<Vec<f64>, MethodError> {
    let (held_out, kept): (Vec<usize>, Vec<usize>) =
        (0..folds.len()).partition(|&row| folds[row] == fold);
    let training = regression.moments(&kept, &kept);
    let test = regression.moments(&held_out, &kept);
    let eigen = Eigen::new(training.sources.as_ref())?;
    let n_sources = eigen.values.len();

    // In the basis V of the eigenvectors the coefficients are diag(shrink) Vᵀ cross, so that the
    // error is quadratic in `shrink`: power - 2 linear·shrink + shrinkᵀ quadratic shrink.
    let basis = eigen.vectors.as_ref();
    let fitted = basis.transpose() * &training.cross;
    let linear = {
        let test_cross = basis.transpose() * &test.cross;
        let product = |source: usize| fitted.row(source) * test_cross.row(source).transpose();
        (0..n_sources).map(product).collect::<Vec<f64>>()
    };
    let quadratic = {
        let test_sources = basis.transpose() * &test.sources * basis;
        let fitted_products = &fitted * fitted.transpose();
        Mat::from_fn(n_sources, n_sources, |i, j| test_sources[(i, j)] * fitted_products[(i, j)])
    };
    let error = |&penalty: &f64| {
        let shrink: Vec<f64> = eigen.values.iter().map(|value| 1.0 / (value + penalty)).collect();
        let mut error = test.target_power;
        for i in 0..n_sources {
            let column = quadratic.col_as_slice(i);
            let curved: f64 = column.iter().zip(&shrink).map(|(entry, other)| entry * other).sum();
            error += shrink[i] * (curved - 2.0 * linear[i]);
        }
        error
    };
    Ok(penalties.iter().map(error).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps_of(series: &[usize]) -> Vec<Step<'static>> {
        let step = |&series_idx| Step { series_idx, duration: 1.0, before: &[], after: &[] };
        series.iter().map(step).collect()
    }

    #[test]
    fn four_series_are_held_out_whole() {
        // Series 2 has no steps.
        assert_eq!(folds(&steps_of(&[0, 0, 1, 3, 3, 4])), [0, 0, 1, 2, 2, 3]);
    }

    #[test]
    fn more_series_than_folds_share_folds() {
        let found = folds(&steps_of(&(0..12).collect::<Vec<_>>()));
        assert_eq!(found, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
    }

    #[test]
    fn few_series_are_held_out_in_blocks_of_time() {
        let found = folds(&steps_of(&[0; 20]));
        assert_eq!(found, (0..20).map(|idx| idx / 2).collect::<Vec<_>>());
        assert_eq!(folds(&steps_of(&[0, 0, 1])), [0, 1, 2]);
    }

    /// One target y = x + noise over six rows, and a second source that does not matter.
    fn small_regression() -> Regression {
        let sources = [[1.0, 0.0], [2.0, 1.0], [3.0, -1.0], [4.0, 1.0], [5.0, 0.0], [6.0, 2.0]];
        let targets = [1.1, 1.8, 3.3, 3.9, 5.2, 5.7];
        Regression::new(
            Mat::from_fn(6, 2, |row, column| sources[row][column]),
            Mat::from_fn(6, 2, |row, column| if column == 0 { targets[row] } else { 0.0 }),
            &[1.0, 2.0, 1.0, 0.5, 1.0, 1.0],
        )
    }

    #[test]
    fn held_out_errors_equal_those_of_explicit_predictions() {
        let regression = small_regression();
        let folds = [0, 0, 1, 1, 2, 2];
        let kept = [0, 1, 4, 5];
        let training = regression.moments(&kept, &kept);
        let test = regression.moments(&[2, 3], &kept);
        for penalty in [0.01, 1.0, 100.0] {
            // Two sources: (S + penalty I)⁻¹ c by the rule for 2 x 2 matrices.
            let s = &training.sources;
            let (a, b, d) = (s[(0, 0)] + penalty, s[(0, 1)], s[(1, 1)] + penalty);
            let (c0, c1) = (training.cross[(0, 0)], training.cross[(1, 0)]);
            let (first, second) =
                ((d * c0 - b * c1) / (a * d - b * b), (a * c1 - b * c0) / (a * d - b * b));
            let s = &test.sources;
            let explained = 2.0 * (first * test.cross[(0, 0)] + second * test.cross[(1, 0)]);
            let spread = first * first * s[(0, 0)]
                + 2.0 * first * second * s[(0, 1)]
                + second * second * s[(1, 1)];
            let wanted = test.target_power - explained + spread;
            let found = held_out_errors(&regression, &folds, 1, &[penalty]).unwrap()[0];
            // The terms are below 1 and cancel by less than a factor 1000.
            assert!((found - wanted).abs() < 1e-12, "{found} and {wanted}");
        }
    }

    #[test]
    fn a_strong_dependence_gets_a_small_penalty_and_pure_noise_the_largest() {
        let folds = [0, 1, 2, 3, 4, 5];
        assert!(chosen_penalty(&small_regression(), &folds).unwrap() < 0.2);
        // Alternating targets are uncorrelated with the trend of the source.
        let noise = Regression::new(
            Mat::from_fn(6, 1, |row, _| row as f64),
            Mat::from_fn(6, 1, |row, _| [1.0, -2.0, 1.0, 1.0, -2.0, 1.0][row]),
            &[1.0; 6],
        );
        assert_eq!(chosen_penalty(&noise, &folds).unwrap(), 1e4);
    }
}
