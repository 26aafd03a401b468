//! Models of real fits: taken apart and put together again, asked through both posteriors, and
//! compared with an exact smoother.

use driftgraph_core::fitted::GraphChoice;
use driftgraph_core::fitted::arrays::{NamedArray, Values};
use driftgraph_core::fitted::error::ModelError;
use driftgraph_core::fitted::forecast::{ForecastSettings, ForecastTimes};
use driftgraph_core::fitted::impute::{ImputeSettings, ImputeTimes};
use driftgraph_core::fitted::intervention::Interventions;
use driftgraph_core::fitted::model::{FittedModel, ModelDescription};
use driftgraph_core::fitted::simulate::{SimulateSettings, Start};
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::process::solver::Scheme;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::posterior::bridge::structure::DriftParts;
use driftgraph_core::train::bridge::{BridgeSettings, NoiseScale};
use driftgraph_core::train::fit::fit;
use driftgraph_core::train::preset::Preset;
use driftgraph_core::train::progress::Silent;
use driftgraph_core::train::select::{Task, fit_ensemble};
use driftgraph_core::train::settings::FitSettings;
use driftgraph_core::{ObservedSeries, SeriesSet};
/// Three variables around their means, x driving y, with holes and uneven times.
fn data() -> SeriesSet {
    let mut random = RandomStream::new(1, Purpose::System, 0);
    let series = (0..4).map(|idx| {
        let mut state = [1.0, -1.0, 0.0];
        let (mut times, mut values) = (Vec::new(), Vec::new());
        let mut time = 3.0;
        for row in 0..30 {
            let mut draws = [0.0; 4];
            random.fill_normal(&mut draws);
            let [x, y, z] = state;
            state = [
                x - 0.1 * x + 0.3 * draws[0],
                y + 0.2 * x - 0.1 * y + 0.3 * draws[1],
                z - 0.2 * z + 0.3 * draws[2],
            ];
            times.push(time);
            time += if row % 7 == 3 { 1.0 } else { 0.5 };
            let hole = |cell: usize| (row + cell) % 11 == 5;
            values.extend(
                (0..3).map(|cell| if hole(cell) { f64::NAN } else { 100.0 + 10.0 * state[cell] }),
            );
        }
        ObservedSeries::new(format!("s{idx}"), 3, times, values).unwrap()
    });
    SeriesSet::new(["x", "y", "z"].map(str::to_owned).to_vec(), series.collect()).unwrap()
}

fn bridge(settings: &BridgeSettings, n_members: usize) -> FittedModel {
    let data = data();
    let mut knowledge = EdgePrior::new(3, 0.0);
    knowledge.know(2, 0, 0.0).unwrap();
    knowledge.know(1, 2, 0.3).unwrap();
    let settings = BridgeSettings { max_steps: Some(60), ..settings.clone() };
    let task = Task { data: &data, knowledge: &knowledge };
    let ensemble = fit_ensemble(task, &settings, n_members, &Silent).unwrap();
    FittedModel::from_ensemble(&ensemble, &knowledge, &data)
}

fn simulated() -> FittedModel {
    let settings = FitSettings {
        steps: 30,
        hidden_size: 8,
        context_size: 4,
        embedding_size: 4,
        node_width: Some(8),
        ..Preset::Simulated.settings()
    };
    let fit = fit(&data(), &settings.check().unwrap(), &Silent).unwrap();
    FittedModel::from_fit(fit, &data())
}

fn models() -> Vec<(&'static str, FittedModel)> {
    let plain = BridgeSettings::default();
    let neural = BridgeSettings {
        drift: DriftParts::LinearAndNeural,
        neural_diffusion: true,
        ..plain.clone()
    };
    let instant = BridgeSettings { instantaneous: true, ..plain.clone() };
    vec![
        ("linear", bridge(&plain, 1)),
        ("neural", bridge(&neural, 2)),
        ("instantaneous", bridge(&instant, 1)),
        ("simulated", simulated()),
    ]
}

fn simulate(model: &FittedModel, scheme: Scheme, graph: GraphChoice) -> Vec<f64> {
    let settings = SimulateSettings {
        n_paths: 40,
        start: Start::Series { name: "s2".into(), time: Some(7.3) },
        scheme,
        graph,
        ..SimulateSettings::new(vec![7.3, 8.0, 9.0])
    };
    model.simulate(&settings, Some(&data()), &|_| ()).unwrap().states
}

#[test]
fn a_model_taken_apart_and_put_together_answers_the_same() {
    for (name, model) in models() {
        let text = serde_json::to_string(&model.description()).unwrap();
        let description: ModelDescription = serde_json::from_str(&text).unwrap();
        let again = FittedModel::from_parts(description, &model.arrays()[..]).unwrap();
        assert_eq!(again.variables(), model.variables());
        assert_eq!(again.edges(), model.edges(), "{name}");
        for scheme in [Scheme::EulerMaruyama, Scheme::Milstein] {
            for graph in [GraphChoice::Sampled, GraphChoice::Threshold(0.4)] {
                let expected = simulate(&model, scheme, graph);
                assert_eq!(simulate(&again, scheme, graph), expected, "{name}");
                assert!(expected.iter().all(|value| value.is_finite()));
            }
        }
    }
}

#[test]
fn arrays_that_are_missing_misshapen_or_not_numbers_are_refused_by_name() {
    for (name, model) in models() {
        let arrays = model.arrays();
        let read = |arrays: &[NamedArray]| FittedModel::from_parts(model.description(), arrays);
        for idx in 0..arrays.len() {
            let mut fewer = arrays.clone();
            let lost = fewer.remove(idx);
            // Models of old have no beliefs beside their log-odds, and do not tell for how long they were visited.
            let is_newer = lost.name == "visited_time"
                || ["probabilities", "effects", "effect_deviations", "disagreement"]
                    .iter()
                    .any(|ending| lost.name.ends_with(&format!(".{ending}")));
            match read(&fewer) {
                Ok(_) => assert!(is_newer, "{name}: {} is not missed", lost.name),
                Err(error) => {
                    assert_eq!(
                        error,
                        ModelError::MissingArray { name: lost.name.clone() },
                        "{name}"
                    );
                }
            }
            let mut turned = arrays.clone();
            turned[idx].shape.push(1);
            assert!(matches!(read(&turned), Err(ModelError::WrongShape { .. })));
            let mut other = arrays.clone();
            other[idx].values = match &lost.values {
                Values::Single(all) => Values::Double(all.iter().map(|&x| f64::from(x)).collect()),
                Values::Double(all) => Values::Single(all.iter().map(|&x| x as f32).collect()),
            };
            assert!(matches!(read(&other), Err(ModelError::WrongPrecision { .. })));
            let mut holed = arrays.clone();
            match &mut holed[idx].values {
                Values::Single(all) => all[0] = f32::NAN,
                Values::Double(all) => all[0] = f64::NAN,
            }
            assert!(matches!(read(&holed), Err(ModelError::NotFinite { .. })));
        }
    }
}

#[test]
fn a_description_that_asks_for_more_than_there_is_is_refused_before_memory_is_taken() {
    let model = bridge(&BridgeSettings::default(), 1);
    let ModelDescription::Bridge(plain) = model.description() else { panic!("a bridge model") };
    let read = |change: &dyn Fn(&mut driftgraph_core::fitted::model::BridgeDescription)| {
        let mut description = plain.clone();
        change(&mut description);
        FittedModel::from_parts(ModelDescription::Bridge(description), &model.arrays()[..])
    };
    assert!(read(&|_| ()).is_ok());
    // A million variables would need 8 TB for their edges alone.
    assert!(
        read(&|d| d.variables = (0..1_000_000).map(|idx| format!("v{idx}")).collect()).is_err()
    );
    assert!(read(&|d| d.structure.net_sizes.width = usize::MAX).is_err());
    assert!(read(&|d| d.series[0].n_points = usize::MAX).is_err());
    assert!(read(&|d| d.series[0].first_point = 1 << 40).is_err());
    assert!(read(&|d| d.increment_scales[0] = 0.0).is_err());
    assert!(read(&|d| d.time_unit = f64::NAN).is_err());
    assert!(read(&|d| d.seeds.clear()).is_err());
    assert!(read(&|d| d.variables[1] = d.variables[0].clone()).is_err());
    assert!(read(&|d| d.series.swap(0, 1)).is_ok());
}

#[test]
fn every_question_has_an_answer_through_both_posteriors() {
    let data = data();
    for (name, model) in models() {
        let ahead = ForecastSettings {
            n_paths: 50,
            ..ForecastSettings::new(ForecastTimes::After(vec![0.5, 2.0]))
        };
        let forecasts = model.forecast(&ahead, Some(&data), &|_| ()).unwrap();
        assert_eq!(forecasts.len(), 4, "{name}");
        let asked = ImputeSettings { n_samples: 40, ..ImputeSettings::default() };
        let imputed = model.impute(&data, &asked).unwrap();
        assert_eq!(imputed[1].bands.times, data.series()[1].times());
        for (band, low) in imputed[1].bands.quantiles[4].iter().zip(&imputed[1].bands.quantiles[0])
        {
            assert!(band > low, "{name}");
        }
        let texts = ["x = 120 @ 4..5".to_owned(), "drift(y) *= 0.5".to_owned()];
        let changes = Interventions::parse(&texts, model.variables()).unwrap();
        let asked = SimulateSettings { n_paths: 30, ..SimulateSettings::new(vec![3.0, 4.5, 6.0]) };
        let effect = model.intervene(&changes, &asked, Some(&data), &|_| ()).unwrap();
        assert_eq!(effect.with.mean[3], 120.0);
        assert_eq!(effect.with.deviation[3], 0.0);
    }
}

#[test]
fn holding_out_measures_forecasts_and_imputations_against_simple_methods() {
    let data = data();
    for model in [bridge(&BridgeSettings::default(), 1), simulated()] {
        let asked =
            ForecastSettings { n_paths: 100, ..ForecastSettings::new(ForecastTimes::At(vec![])) };
        let test = model.forecast_test(&data, 0.2, &asked, &|_| ()).unwrap();
        // 30 rows: six are held out of each of four series.
        assert_eq!((test.n_rows, test.n_series), (24, 4));
        let names: Vec<&str> = test.methods.iter().map(|one| one.method).collect();
        assert_eq!(names, ["driftgraph", "persistence", "random walk"]);
        let cells = test.methods[0].overall.n_cells;
        assert!(test.methods.iter().all(|one| one.overall.n_cells == cells));
        assert!(test.methods[0].overall.coverage_90.is_some());
        assert_eq!(test.methods[1].overall.coverage_90, None);
        let asked = ImputeSettings { n_samples: 40, ..ImputeSettings::default() };
        let test = model.impute_test(&data, 0.1, &asked, &|_| ()).unwrap();
        assert_eq!(test.methods[1].method, "linear interpolation");
        assert!(test.n_cells > 20 && test.methods[0].overall.n_cells == test.n_cells);
    }
}

/// Exact smoother of x' = x + h (b + a x) + g sqrt(h) e, observed with noise, by dense Gaussian algebra.
fn exact_smoother(
    times: &[f64],
    observed: &[f64],
    (a, b, g): (f64, f64, f64),
    start: (f64, f64),
    noise: f64,
) -> Vec<(f64, f64)> {
    let n = times.len();
    let mut mean = vec![start.0];
    let mut covariance = vec![vec![0.0; n]; n];
    covariance[0][0] = start.1 * start.1;
    for k in 1..n {
        let h = times[k] - times[k - 1];
        let f = 1.0 + h * a;
        mean.push(f * mean[k - 1] + h * b);
        for i in 0..k {
            covariance[i][k] = f * covariance[i][k - 1];
            covariance[k][i] = covariance[i][k];
        }
        covariance[k][k] = f * f * covariance[k - 1][k - 1] + g * g * h;
    }
    // One observation at a time: the gain is a column of the covariance.
    for k in (0..n).filter(|&k| !observed[k].is_nan()) {
        let scale = covariance[k][k] + noise * noise;
        let gain: Vec<f64> = (0..n).map(|i| covariance[i][k] / scale).collect();
        let gap = observed[k] - mean[k];
        let row = covariance[k].clone();
        for i in 0..n {
            mean[i] += gain[i] * gap;
            for j in 0..n {
                covariance[i][j] -= gain[i] * row[j];
            }
        }
    }
    mean.into_iter().zip((0..n).map(|i| covariance[i][i].sqrt())).collect()
}

#[test]
fn imputed_states_of_one_linear_variable_are_those_of_the_exact_smoother() {
    // The bridge's family holds the exact posterior of one linear variable, so that a converged
    // fit must find it, whatever process it has learned.
    let mut random = RandomStream::new(5, Purpose::System, 0);
    let (mut state, mut values, mut times) = (0.0, Vec::new(), Vec::new());
    let mut draws = [0.0; 2];
    for row in 0..200 {
        random.fill_normal(&mut draws);
        state += -0.15 * state + 0.5 * draws[0];
        times.push(f64::from(row));
        let hidden = (60..66).contains(&row) || row % 17 == 3;
        values.push(if hidden { f64::NAN } else { 40.0 + 3.0 * state + 0.9 * draws[1] });
    }
    let series = ObservedSeries::new("a", 1, times.clone(), values.clone()).unwrap();
    let data = SeriesSet::new(vec!["x".into()], vec![series]).unwrap();
    let settings = BridgeSettings {
        noise_scale: NoiseScale::Learned,
        step_size: Some(1.0),
        schedule_steps: 1500,
        max_steps: Some(6000),
        elbo_tolerance: 1e-4,
        ..BridgeSettings::default()
    };
    let mut knowledge = EdgePrior::new(1, 0.0);
    knowledge.know(0, 0, 1.0).unwrap();
    let task = Task { data: &data, knowledge: &knowledge };
    let ensemble = fit_ensemble(task, &settings, 1, &Silent).unwrap();
    let fit = &ensemble.members()[0];
    let (trainer, parameters) = (fit.trainer(), &fit.state().parameters);
    let bridge = trainer.model();
    let (mean, scale) = (trainer.standardizer().means()[0], trainer.standardizer().scales()[0]);
    let c = bridge.increment_scales()[0];
    let (effect, _) = bridge.lagged().effect(parameters, 0);
    let (initial, initial_log) = bridge.initial_law(parameters);
    let process = (
        c * effect,
        c * bridge.offsets(parameters)[0],
        c * bridge.log_diffusions(parameters)[0].exp(),
    );
    let observed: Vec<f64> = values.iter().map(|value| (value - mean) / scale).collect();
    let expected = exact_smoother(
        &times,
        &observed,
        process,
        (initial[0], initial_log[0].exp()),
        bridge.log_noise(parameters)[0].exp(),
    );
    let model = FittedModel::from_ensemble(&ensemble, &knowledge, &data);
    let asked = ImputeSettings { times: ImputeTimes::Rows, ..ImputeSettings::default() };
    let bands = &model.impute(&data, &asked).unwrap()[0].bands;
    for (row, (centre, deviation)) in expected.into_iter().enumerate() {
        let gap = (bands.mean[row] - (mean + scale * centre)).abs();
        let ratio = bands.deviation[row] / (scale * deviation);
        // Adam stops within a few hundredths of a deviation, and the fit averages over the small
        // uncertainty of the effect, which the exact smoother here does not.
        assert!(gap < 0.1 * scale * deviation, "{row}: {gap} of {}", scale * deviation);
        assert!((ratio - 1.0).abs() < 0.1, "{row}: {ratio}");
    }
}
