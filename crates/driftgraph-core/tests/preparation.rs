//! Seasons, lines and logarithms that were taken out of the data are in every answer again.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::fitted::forecast::{ForecastSettings, ForecastTimes};
use driftgraph_core::fitted::impute::ImputeSettings;
use driftgraph_core::fitted::intervention::Interventions;
use driftgraph_core::fitted::model::{FittedModel, KnownPath, LinearProcess};
use driftgraph_core::fitted::simulate::{SimulateSettings, Start};
use driftgraph_core::{ObservedSeries, Preparation, SeriesSet};

const N_ROWS: usize = 48;

/// `x` is a line with a season, `y` grows by a tenth per row.
fn data() -> SeriesSet {
    let times: Vec<f64> = (0..N_ROWS).map(|row| row as f64).collect();
    let values = times.iter().flat_map(|time| [course(*time), (0.1 * time).exp()]).collect();
    let series = ObservedSeries::new("a", 2, times, values).unwrap();
    SeriesSet::new(vec!["x".into(), "y".into()], vec![series]).unwrap()
}

fn course(time: f64) -> f64 {
    5.0 + 0.3 * time + (std::f64::consts::TAU * time / 12.0).sin()
}

/// What is left rests at its level, 5 for `x` and 0 for log `y`, with hardly any noise, and is known at every row.
fn model(preparation: &Preparation) -> FittedModel {
    let data = data();
    let transform = preparation.fit(&data).unwrap().unwrap();
    let left = transform.apply(&data);
    let tiny = vec![1e-9; 2 * N_ROWS];
    let process = LinearProcess {
        diffusions: vec![1e-9; 2],
        initial_means: left.series()[0].row(0).to_vec(),
        noise_deviations: vec![1e-9; 2],
        step_size: 1.0,
        paths: vec![KnownPath {
            name: "a".into(),
            times: left.series()[0].times().to_vec(),
            means: left.series()[0].values().to_vec(),
            deviations: tiny.clone(),
            correlations: tiny,
        }],
        ..LinearProcess::resting(vec!["x".into(), "y".into()])
    };
    FittedModel::linear(&process).unwrap().with_transform(Some(transform)).unwrap()
}

fn everything() -> Preparation {
    Preparation { season: Some(12), detrend: true, log: vec!["y".into()] }
}

#[test]
fn a_forecast_goes_on_with_line_season_and_growth() {
    let times: Vec<f64> = (1..=24).map(f64::from).collect();
    let settings = ForecastSettings {
        n_paths: 20,
        ..ForecastSettings::new(ForecastTimes::After(times.clone()))
    };
    let forecast = model(&everything()).forecast(&settings, None, &|_| ()).unwrap().remove(0);
    for (row, after) in times.iter().enumerate() {
        let time = (N_ROWS - 1) as f64 + after;
        let [x, y] = [forecast.bands.mean[2 * row], forecast.bands.mean[2 * row + 1]];
        // A billionth of ridge, and of noise.
        assert!((x - course(time)).abs() < 1e-5, "x at {time}: {x}");
        assert!((y / (0.1 * time).exp() - 1.0).abs() < 1e-5, "y at {time}: {y}");
        assert!(forecast.bands.quantiles[0][2 * row + 1] > 0.0);
    }
}

#[test]
fn imputed_states_are_those_that_were_measured() {
    let (model, data) = (model(&everything()), data());
    let imputed = model.impute(&data, &ImputeSettings::default()).unwrap().remove(0);
    let rows = imputed.bands.mean.iter().zip(data.series()[0].values());
    for (found, measured) in rows.clone() {
        assert!((found / measured - 1.0).abs() < 1e-6, "{found} for {measured}");
    }
    assert_eq!(imputed.observed, data.series()[0].values());
}

#[test]
fn a_likelihood_is_that_of_the_values_that_were_measured() {
    // The density of y is that of log y over y.
    let (plain, data) = (Preparation { detrend: true, ..Preparation::default() }, data());
    let log = Preparation { log: vec!["y".into()], ..Preparation::default() };
    let found = model(&log).log_likelihoods(&data).unwrap();
    assert!(found[0].log_likelihood.is_finite() && found[0].n_cells == 2 * (N_ROWS - 1));
    assert!(model(&plain).log_likelihoods(&data).is_ok());
}

#[test]
fn what_is_held_is_held_in_the_units_of_the_data() {
    let model = model(&everything());
    let names = model.variables().to_vec();
    let settings = SimulateSettings {
        n_paths: 5,
        start: Start::Values(vec![7.0, 2.0]),
        ..SimulateSettings::new((0..6).map(f64::from).collect())
    };
    let ask = |text: &str| {
        let changes = Interventions::parse(&[text.to_owned()], &names).unwrap();
        model.intervene(&changes, &settings, None, &|_| ())
    };
    let effect = ask("y = 3.5 @ 2..3").unwrap();
    let held: Vec<f64> = effect.with.mean.iter().skip(1).step_by(2).copied().collect();
    // Before and at the start as it began; in every digit while it is held.
    assert!((held[0] - 2.0).abs() < 1e-12, "{held:?}");
    assert_eq!([held[2], held[3]], [3.5, 3.5]);
    assert!(!effect.ranking.iter().any(|one| one.variable == 0 && one.changed));
    let sum = ask("x = 2 * y").unwrap();
    for row in 0..6 {
        assert!((sum.with.mean[2 * row] - 2.0 * sum.with.mean[2 * row + 1]).abs() < 1e-12);
    }
    assert_eq!(
        ask("y = -1").unwrap_err().to_string(),
        "`y` was fitted on a logarithmic scale and is always positive, so it cannot be -1"
    );
    let refused = ask("drift(x) += 1").unwrap_err().to_string();
    assert!(refused.ends_with("hold or clip `x` instead"), "{refused}");
    let start = SimulateSettings { start: Start::Named(vec![("y".into(), 0.0)]), ..settings };
    assert!(model.simulate(&start, None, &|_| ()).is_err());
}
