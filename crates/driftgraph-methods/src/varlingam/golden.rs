//! Every run of the reference, compared number by number.

use driftgraph_core::train::progress::Silent;
use serde_json::Value;

use super::order::Round;
use super::*;

/// Other orders of summation, and moments instead of regressions on data.
const TOLERANCE: f64 = 1e-9;

fn golden() -> Value {
    serde_json::from_str(include_str!("../../tests/golden/varlingam.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

fn assert_close(found: f64, wanted: f64, what: &str) {
    assert!(
        (found - wanted).abs() < TOLERANCE * wanted.abs().max(1.0),
        "{what}: {found} and {wanted}"
    );
}

fn assert_matrix(found: &Mat<f64>, wanted: &Value, what: &str) {
    for (i, row) in matrix(wanted).iter().enumerate() {
        for (j, wanted) in row.iter().enumerate() {
            assert_close(found[(i, j)], *wanted, &format!("{what} [{i}, {j}]"));
        }
    }
}

fn data_of(case: &Value) -> SeriesSet {
    let rows = matrix(&case["X"]);
    let times = (0..rows.len()).map(|row| row as f64).collect();
    let series = ObservedSeries::new("a", rows[0].len(), times, rows.concat()).unwrap();
    SeriesSet::new((0..rows[0].len()).map(|idx| format!("x{idx}")).collect(), vec![series]).unwrap()
}

#[test]
fn all_runs_equal_those_of_the_reference() {
    let mut n_runs = 0;
    for case in golden()["cases"].as_array().unwrap() {
        let data = data_of(case);
        let series = regular_series(&data, Gaps::LeaveOut);
        for run in case["runs"].as_array().unwrap() {
            let what = format!("{} {} {}", case["name"], run["lags"], run["criterion"]);
            let criterion = run["criterion"].as_str().unwrap_or("none");
            let settings = |prune| VarLingamSettings {
                lags: run["lags"].as_u64().unwrap() as usize,
                criterion: serde_json::from_value(criterion.into()).unwrap(),
                prune,
                scale_scores: false,
                gaps: Gaps::LeaveOut,
            };
            check_past(&series, data.n_variables(), run, &what);
            let plain = fit(&series, &data, &settings(false), &Silent).unwrap();
            let pruned = fit(&series, &data, &settings(true), &Silent).unwrap();
            let order: Vec<usize> =
                numbers(&run["causal_order"]).iter().map(|&idx| idx as usize).collect();
            assert_eq!((&plain.order, &pruned.order), (&order, &order), "{what}");
            assert_matrix(&plain.effects.by_lag[0], &run["B0_from_residuals"], &what);
            for (fitted, name) in [(&plain, "B_unpruned"), (&pruned, "B_pruned")] {
                let wanted = run[name].as_array().unwrap();
                assert_eq!(fitted.effects.by_lag.len(), wanted.len(), "{what}");
                for (lag, wanted) in wanted.iter().enumerate() {
                    assert_matrix(
                        &fitted.effects.by_lag[lag],
                        wanted,
                        &format!("{what}, {name}, lag {lag}"),
                    );
                }
            }
            n_runs += 1;
        }
    }
    assert_eq!(n_runs, 11);
}

/// Criteria, coefficients and residuals of the autoregression, and the first comparison of its innovations.
fn check_past(series: &[RegularSeries], d: usize, run: &Value, what: &str) {
    for by_lag in run["criteria_by_lag"].as_array().unwrap() {
        let rows = LaggedRows::new(series, d, by_lag["lag"].as_u64().unwrap() as usize);
        assert_eq!(rows.n_rows() as u64, by_lag["nobs"].as_u64().unwrap());
        let past = Autoregression::fit(&rows).unwrap();
        let kinds = [
            ("aic", Criterion::Aic),
            ("bic", Criterion::Bic),
            ("hqic", Criterion::Hqic),
            ("fpe", Criterion::Fpe),
        ];
        for (name, criterion) in kinds {
            assert_close(past.criterion(criterion).unwrap(), by_lag[name].as_f64().unwrap(), what);
        }
    }
    let lags = run["chosen_lag"].as_u64().unwrap() as usize;
    let past = Autoregression::fit(&LaggedRows::new(series, d, lags)).unwrap();
    for (lag, wanted) in run["var_coefs"].as_array().unwrap().iter().enumerate() {
        assert_matrix(&past.coefficients[lag], wanted, what);
    }
    check_residuals(&past.residuals, run, what);
    let columns: Vec<Vec<f64>> =
        (0..d).map(|idx| past.residuals.col_as_slice(idx).to_vec()).collect();
    let penalties = Round::new(&columns, &(0..d).collect::<Vec<_>>()).penalties();
    for (penalty, score) in penalties.iter().zip(numbers(&run["first_round_scores"])) {
        assert_close(-penalty, score, what);
    }
}

/// First and last rows of the residuals, and their covariances.
fn check_residuals(residuals: &Mat<f64>, run: &Value, what: &str) {
    assert_matrix(residuals, &run["residuals_head"], what);
    let n = residuals.nrows();
    let tail = matrix(&run["residuals_tail"]).len();
    assert_matrix(
        &residuals.subrows(n - tail, tail).to_owned(),
        &run["residuals_tail"],
        &format!("{what}, last residuals"),
    );
    let mean = |idx: usize| residuals.col_as_slice(idx).iter().sum::<f64>() / n as f64;
    let covariance = Mat::from_fn(residuals.ncols(), residuals.ncols(), |i, j| {
        let pairs = residuals.col_as_slice(i).iter().zip(residuals.col_as_slice(j));
        pairs.map(|(x, y)| (x - mean(i)) * (y - mean(j))).sum::<f64>() / n as f64
    });
    assert_matrix(&covariance, &run["residuals_cov"], &format!("{what}, covariances"));
}

#[test]
fn adaptive_lassos_equal_those_of_the_reference_knot_by_knot() {
    let golden = golden();
    let cases = golden["adaptive_lasso"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    for case in cases {
        let what = case["name"].as_str().unwrap();
        let rows = matrix(&case["X"]);
        let table = Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j]);
        let predictors: Vec<usize> =
            numbers(&case["predictors"]).iter().map(|&idx| idx as usize).collect();
        let lasso = Columns::new(&table)
            .adaptive_lasso(&predictors, case["target"].as_u64().unwrap() as usize)
            .unwrap();
        for (found, wanted) in lasso.weights.iter().zip(numbers(&case["ols_weight"])) {
            assert_close(*found, wanted, what);
        }
        assert_eq!(lasso.knots.len(), numbers(&case["path_alphas"]).len(), "{what}");
        for (idx, knot) in lasso.knots.iter().enumerate() {
            assert_close(knot.alpha, numbers(&case["path_alphas"])[idx], what);
            assert_close(lasso.chosen.criteria[idx], numbers(&case["criterion"])[idx], what);
            for (found, wanted) in knot.coefficients.iter().zip(&matrix(&case["path_coefs"])[idx]) {
                assert_close(*found, *wanted, what);
            }
        }
        let dropped = lasso.knots.windows(2).map(|pair| {
            let ends = pair[0].coefficients.iter().zip(&pair[1].coefficients);
            ends.filter(|(before, after)| **before != 0.0 && **after == 0.0).count() as u64
        });
        assert_eq!(dropped.sum::<u64>(), case["drops"].as_u64().unwrap(), "{what}");
        assert_close(lasso.chosen.noise_variance, case["noise_variance"].as_f64().unwrap(), what);
        assert_close(
            lasso.knots[lasso.chosen.knot].alpha,
            case["chosen_alpha"].as_f64().unwrap(),
            what,
        );
        let chosen = &lasso.knots[lasso.chosen.knot].coefficients;
        for (found, wanted) in chosen.iter().zip(numbers(&case["chosen_coef"])) {
            assert_close(*found, wanted, what);
        }
        for (found, wanted) in lasso.coefficients.iter().zip(numbers(&case["coef"])) {
            assert_close(*found, wanted, what);
        }
    }
}
