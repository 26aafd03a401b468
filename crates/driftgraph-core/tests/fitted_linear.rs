//! A linear process with known parameters: simulated moments, futures, hidden states and effects of
//! interventions agree with closed forms.

use driftgraph_core::fitted::GraphChoice;
use driftgraph_core::fitted::error::FittedError;
use driftgraph_core::fitted::forecast::{ForecastSettings, ForecastTimes};
use driftgraph_core::fitted::impute::{ImputeSettings, ImputeTimes};
use driftgraph_core::fitted::intervention::Interventions;
use driftgraph_core::fitted::model::{FittedModel, KnownPath, LinearProcess};
use driftgraph_core::fitted::simulate::{SimulateSettings, Start};
use driftgraph_core::process::solver::Scheme;
use driftgraph_core::{ObservedSeries, SeriesSet};

const N_PATHS: usize = 20_000;

/// x drives y, y drives z, w is alone; units differ by orders of magnitude.
fn process() -> LinearProcess {
    let names = ["x", "y", "z", "w"].map(str::to_owned).to_vec();
    let mut effects = vec![0.0; 16];
    effects[0] = -0.8; // x -> x
    effects[1] = 50.0; // x -> y
    effects[5] = -0.5; // y -> y
    effects[6] = 0.002; // y -> z
    effects[10] = -1.0; // z -> z
    effects[15] = -0.3; // w -> w
    LinearProcess {
        effects,
        offsets: vec![0.4, 10.0, 0.0, 1.0],
        diffusions: vec![0.3, 20.0, 0.05, 0.2],
        initial_means: vec![2.0, -30.0, 0.1, 5.0],
        initial_deviations: vec![0.5, 40.0, 0.02, 1.0],
        noise_deviations: vec![0.1, 5.0, 0.01, 0.3],
        step_size: 0.05,
        ..LinearProcess::resting(names)
    }
}

/// Mean and covariance of Euler's chain after some steps.
struct Moments {
    mean: Vec<f64>,
    covariance: Vec<f64>,
}

impl Moments {
    fn start(process: &LinearProcess) -> Self {
        let d = process.variables.len();
        let mut covariance = vec![0.0; d * d];
        for idx in 0..d {
            covariance[idx * d + idx] = process.initial_deviations[idx].powi(2);
        }
        Self { mean: process.initial_means.clone(), covariance }
    }

    /// m' = m + h (b + m A), P' = F^T P F + h G², F = I + h A.
    fn step(&mut self, process: &LinearProcess, h: f64) {
        let d = self.mean.len();
        let f = |i: usize, j: usize| f64::from(u8::from(i == j)) + h * process.effects[i * d + j];
        let mean = (0..d)
            .map(|j| (0..d).map(|i| self.mean[i] * f(i, j)).sum::<f64>() + h * process.offsets[j])
            .collect();
        let mut covariance = vec![0.0; d * d];
        for a in 0..d {
            for b in 0..d {
                for i in 0..d {
                    for j in 0..d {
                        covariance[a * d + b] += f(i, a) * self.covariance[i * d + j] * f(j, b);
                    }
                }
            }
            covariance[a * d + a] += h * process.diffusions[a].powi(2);
        }
        (self.mean, self.covariance) = (mean, covariance);
    }
}

fn settings(times: Vec<f64>) -> SimulateSettings {
    SimulateSettings { n_paths: N_PATHS, seed: 3, ..SimulateSettings::new(times) }
}

fn read(texts: &[&str], model: &FittedModel) -> Interventions {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    Interventions::parse(&texts, model.variables()).unwrap()
}

#[test]
fn simulated_moments_are_those_of_the_linear_chain() {
    let process = process();
    let model = FittedModel::linear(&process).unwrap();
    let d = 4;
    for scheme in [Scheme::EulerMaruyama, Scheme::Milstein] {
        for graph in [GraphChoice::Sampled, GraphChoice::Threshold(0.5)] {
            let asked = SimulateSettings { scheme, graph, ..settings(vec![0.0, 0.5, 2.0]) };
            let paths = model.simulate(&asked, None, &|_| ()).unwrap();
            assert_eq!(paths.n_steps, 40);
            let mut moments = Moments::start(&process);
            for (place, n_steps) in [(0, 0), (1, 10), (2, 30)] {
                (0..n_steps).for_each(|_| moments.step(&process, 0.05));
                let value = |path: usize, idx: usize| paths.states[(path * 3 + place) * d + idx];
                for a in 0..d {
                    let deviation = moments.covariance[a * d + a].sqrt();
                    let n = N_PATHS as f64;
                    let mean = (0..N_PATHS).map(|path| value(path, a)).sum::<f64>() / n;
                    // Five standard errors, fixed seed: fails only when a number changes.
                    assert!((mean - moments.mean[a]).abs() < 5.0 * deviation / n.sqrt(), "{a}");
                    for b in 0..d {
                        let other = moments.covariance[b * d + b].sqrt();
                        let found = (0..N_PATHS)
                            .map(|path| {
                                (value(path, a) - moments.mean[a])
                                    * (value(path, b) - moments.mean[b])
                            })
                            .sum::<f64>()
                            / n;
                        // Var of a product of normal numbers is at most 2 (s t)².
                        let error = 5.0 * (2.0 / n).sqrt() * deviation * other;
                        assert!((found - moments.covariance[a * d + b]).abs() < error, "{a} {b}");
                    }
                }
            }
        }
    }
}

/// A process that forgets most of its state in one step: shorter steps would be another process.
fn forgetful() -> FittedModel {
    let process = LinearProcess {
        effects: vec![-0.8],
        diffusions: vec![2.0],
        initial_means: vec![1.0],
        initial_deviations: vec![0.5],
        step_size: 1.0,
        ..LinearProcess::resting(vec!["x".to_owned()])
    };
    FittedModel::linear(&process).unwrap()
}

#[test]
fn where_paths_are_looked_at_does_not_change_them_in_any_digit() {
    let model = forgetful();
    let at_the_end = |times: Vec<f64>| {
        let n_times = times.len();
        let paths = model.simulate(&settings(times), None, &|_| ()).unwrap();
        paths.states.chunks_exact(n_times).map(|path| path[n_times - 1]).collect::<Vec<f64>>()
    };
    let expected = at_the_end(vec![0.0, 5.0]);
    for every in [0.1, 0.3, 1.0, 2.0] {
        let n_looks = (5.0_f64 / every).ceil() as usize;
        let times = (0..n_looks).map(|look| look as f64 * every).chain([5.0]).collect();
        assert_eq!(at_the_end(times), expected, "every {every}");
    }
}

#[test]
fn a_state_within_a_step_is_that_of_the_step_cut_short() {
    let (model, n) = (forgetful(), N_PATHS as f64);
    let paths = model.simulate(&settings(vec![0.0, 0.25, 0.5, 1.0]), None, &|_| ()).unwrap();
    let noise = |look: usize, time: f64| -> Vec<f64> {
        let state = |path: &[f64]| path[look] - path[0] * (1.0 - 0.8 * time);
        paths.states.chunks_exact(4).map(state).collect()
    };
    let looks = [noise(1, 0.25), noise(2, 0.5), noise(3, 1.0)];
    for (a, time) in [0.25, 0.5, 1.0].into_iter().enumerate() {
        for later in &looks[a..] {
            let covariance: f64 = looks[a].iter().zip(later).map(|(x, y)| x * y).sum::<f64>() / n;
            // Brownian motion of variance 4 per time: the covariance is that at the earlier time. The
            // product of two normal numbers of variance 4 at most has a deviation of at most 4 * sqrt(2).
            assert!((covariance - 4.0 * time).abs() < 5.0 * 5.66 / n.sqrt(), "{time} {covariance}");
        }
    }
}

#[test]
fn paths_start_where_they_are_told() {
    let model = FittedModel::linear(&process()).unwrap();
    let start = Start::Values(vec![1.0, 2.0, 3.0, 4.0]);
    let asked = SimulateSettings { start, n_paths: 3, ..settings(vec![7.0, 8.0]) };
    let paths = model.simulate(&asked, None, &|_| ()).unwrap();
    assert_eq!(paths.states[..4], [1.0, 2.0, 3.0, 4.0]);
    let short = SimulateSettings { start: Start::Values(vec![1.0]), ..asked };
    assert!(matches!(
        model.simulate(&short, None, &|_| ()),
        Err(FittedError::BadSetting { setting: "start", .. })
    ));
}

#[test]
fn paths_have_the_same_bits_for_any_number_of_threads() {
    let model = FittedModel::linear(&process()).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let asked = SimulateSettings { n_paths: 500, ..settings(vec![0.0, 1.0]) };
        pool.install(|| model.simulate(&asked, None, &|_| ()).unwrap().states)
    };
    assert_eq!(run(1), run(2));
}

/// The process with one series whose hidden path is known.
fn with_path() -> LinearProcess {
    let process = process();
    let d = 4;
    let times = vec![10.0, 10.1, 10.4];
    let (mut means, mut deviations) = (Vec::new(), Vec::new());
    for row in 0..3 {
        for idx in 0..d {
            means.push(
                process.initial_means[idx] + 0.3 * f64::from(row) * process.initial_deviations[idx],
            );
            deviations.push((0.2 + 0.1 * f64::from(row)) * process.initial_deviations[idx]);
        }
    }
    let path =
        KnownPath { name: "a".into(), times, means, deviations, correlations: vec![0.6; 3 * d] };
    LinearProcess { paths: vec![path], ..process }
}

#[test]
fn a_forecast_pushes_the_last_state_forward_and_adds_measurement_noise() {
    let process = with_path();
    let model = FittedModel::linear(&process).unwrap();
    let asked = ForecastSettings {
        n_paths: N_PATHS,
        seed: 5,
        ..ForecastSettings::new(ForecastTimes::After(vec![0.5, 1.0]))
    };
    let forecasts = model.forecast(&asked, None, &|_| ()).unwrap();
    let bands = &forecasts[0].bands;
    assert_eq!((forecasts[0].name.as_str(), forecasts[0].from), ("a", 10.4));
    let path = &process.paths[0];
    let last = LinearProcess {
        initial_means: path.means[8..].to_vec(),
        initial_deviations: path.deviations[8..].to_vec(),
        ..process.clone()
    };
    let mut moments = Moments::start(&last);
    for row in 0..2 {
        (0..10).for_each(|_| moments.step(&process, 0.05));
        for idx in 0..4 {
            let noise = process.noise_deviations[idx];
            let deviation = moments.covariance[idx * 5].sqrt().hypot(noise);
            let n = N_PATHS as f64;
            let cell = row * 4 + idx;
            // Five standard errors of mean and deviation; quantiles have an error of
            // sqrt(p (1 - p) / n) / density: 2.1 and 1.4 deviations / sqrt n at 5 % and 25 %.
            assert!((bands.mean[cell] - moments.mean[idx]).abs() < 5.0 * deviation / n.sqrt());
            assert!((bands.deviation[cell] / deviation - 1.0).abs() < 5.0 / (2.0 * n).sqrt());
            for (quantiles, (z, error)) in bands.quantiles.iter().zip([
                (-1.6449, 2.12),
                (-0.6745, 1.37),
                (0.0, 1.26),
                (0.6745, 1.37),
                (1.6449, 2.12),
            ]) {
                let expected = moments.mean[idx] + z * deviation;
                assert!((quantiles[cell] - expected).abs() < 5.0 * error * deviation / n.sqrt());
            }
        }
    }
}

#[test]
fn hidden_states_have_the_known_moments_and_a_bridge_between_them() {
    let process = with_path();
    let model = FittedModel::linear(&process).unwrap();
    let values = vec![f64::NAN; 12];
    let series = ObservedSeries::new("a", 4, vec![10.0, 10.1, 10.4], values).unwrap();
    let data = SeriesSet::new(model.variables().to_vec(), vec![series]).unwrap();
    let asked = ImputeSettings {
        times: ImputeTimes::At(vec![9.0, 10.1, 10.175, 10.4, 11.0]),
        ..ImputeSettings::default()
    };
    let imputed = model.impute(&data, &asked).unwrap();
    let bands = &imputed[0].bands;
    // Times outside the series are a matter of forecasts.
    assert_eq!(bands.times, [10.1, 10.175, 10.4]);
    let path = &process.paths[0];
    let share = 0.25;
    for idx in 0..4 {
        let (now, next) = (path.deviations[4 + idx], path.deviations[8 + idx]);
        let line = 0.75 * path.means[4 + idx] + 0.25 * path.means[8 + idx];
        let ends =
            (0.75 * now).powi(2) + (0.25 * next).powi(2) + 2.0 * 0.75 * 0.25 * 0.6 * now * next;
        let inside = 0.3 * share * (1.0 - share) * process.diffusions[idx].powi(2);
        let expected = [
            (path.means[4 + idx], now),
            (line, (ends + inside).sqrt()),
            (path.means[8 + idx], next),
        ];
        for (row, (mean, deviation)) in expected.into_iter().enumerate() {
            // Rounding of scaling there and back.
            assert!((bands.mean[row * 4 + idx] - mean).abs() < 1e-9 * deviation.max(mean.abs()));
            assert!((bands.deviation[row * 4 + idx] / deviation - 1.0).abs() < 1e-9);
            let quantile = bands.quantiles[4][row * 4 + idx];
            assert!(
                (quantile - (mean + 1.6448536269514722 * deviation)).abs()
                    < 1e-8 * deviation.max(mean.abs())
            );
        }
    }
}

#[test]
fn adding_to_a_drift_moves_linear_paths_all_alike() {
    let process = process();
    let model = FittedModel::linear(&process).unwrap();
    let changes = read(&["drift(x) += 0.7 @ 0.5..1"], &model);
    let asked = SimulateSettings { n_paths: 200, ..settings(vec![0.0, 0.5, 1.0, 2.0]) };
    let effect = model.intervene(&changes, &asked, None, &|_| ()).unwrap();
    // The difference of two linear chains with the same noise is a chain without any.
    let mut gap = [0.0; 4];
    for step in 0..40 {
        let time = 0.05 * f64::from(step);
        if let Some(place) = [0, 10, 20].iter().position(|&kept| kept == step) {
            for idx in 0..4 {
                // Rounding of forty steps of numbers around 50.
                assert!((effect.difference[place * 4 + idx] - gap[idx]).abs() < 1e-10);
            }
        }
        let push = if (0.5 - 1e-9..1.0 - 1e-9).contains(&time) { 0.7 } else { 0.0 };
        let [x, y, z, _] = gap;
        gap[0] += 0.05 * (-0.8 * x + push);
        gap[1] += 0.05 * (50.0 * x - 0.5 * y);
        gap[2] += 0.05 * (0.002 * y - z);
    }
    for idx in 0..4 {
        assert!((effect.difference[12 + idx] - gap[idx]).abs() < 1e-10);
        assert!(effect.standard_error[12 + idx] < 1e-11);
    }
}

#[test]
fn a_held_variable_stays_exactly_and_moves_others_as_computed() {
    let process = process();
    let model = FittedModel::linear(&process).unwrap();
    let changes = read(&["x = 3.3"], &model);
    let times: Vec<f64> = (0..=8).map(|idx| 0.25 * f64::from(idx)).collect();
    let effect = model.intervene(&changes, &settings(times.clone()), None, &|_| ()).unwrap();
    let mut alone = Moments::start(&process);
    let held = LinearProcess {
        effects: {
            let mut effects = process.effects.clone();
            effects[0] = 0.0;
            effects
        },
        offsets: vec![0.0, 10.0, 0.0, 1.0],
        diffusions: vec![0.0, 20.0, 0.05, 0.2],
        initial_means: vec![3.3, -30.0, 0.1, 5.0],
        initial_deviations: vec![0.0, 40.0, 0.02, 1.0],
        ..process.clone()
    };
    let mut changed = Moments::start(&held);
    for row in 0..times.len() {
        // Exactly, in mean and in every quantile.
        assert_eq!(effect.with.mean[row * 4], 3.3);
        assert_eq!(effect.with.deviation[row * 4], 0.0);
        assert!(effect.with.quantiles.iter().all(|quantiles| quantiles[row * 4] == 3.3));
        for idx in 0..3 {
            let cell = row * 4 + idx;
            let expected = changed.mean[idx] - alone.mean[idx];
            // The estimate's own standard error, five of them, and rounding where it is 0.
            let error = 5.0 * effect.standard_error[cell] + 1e-9;
            assert!((effect.difference[cell] - expected).abs() < error, "{row} {idx}");
        }
        (0..5).for_each(|_| {
            alone.step(&process, 0.05);
            changed.step(&held, 0.05);
        });
    }
}

#[test]
fn less_than_no_noise_is_none() {
    let model = FittedModel::linear(&process()).unwrap();
    let under = |text: &str| {
        let effect =
            model.intervene(&read(&[text], &model), &settings(vec![0.0, 1.0]), None, &|_| ());
        effect.unwrap().with
    };
    assert_eq!(under("diffusion(x) -= 10"), under("diffusion(x) *= 0"));
    assert_eq!(under("diffusion(x) = -1"), under("diffusion(x) = 0"));
}

#[test]
fn what_cannot_be_reached_does_not_change_in_any_digit() {
    let model = FittedModel::linear(&process()).unwrap();
    for changes in [
        &["y = 7 @ 0.3..1"][..],
        &["drift(y) = -y", "diffusion(y) *= 3"],
        &["project sphere(y, z; 2)"],
        &["clip(y; -1, 1)"],
    ] {
        let asked = SimulateSettings { n_paths: 300, ..settings(vec![0.0, 1.0, 2.0]) };
        let effect = model.intervene(&read(changes, &model), &asked, None, &|_| ()).unwrap();
        let changed: Vec<(usize, bool)> =
            effect.ranking.iter().map(|one| (one.variable, one.changed)).collect();
        for (variable, changed) in changed {
            // y reaches itself and z; x and w it cannot reach.
            assert_eq!(changed, variable == 1 || variable == 2, "{changes:?}: {variable}");
        }
        assert_eq!(effect.without.mean[8..9], effect.with.mean[8..9]);
    }
}

#[test]
fn a_loop_of_assignments_is_refused_before_anything_is_simulated() {
    let model = FittedModel::linear(&process()).unwrap();
    let changes = read(&["x = y", "y = x + 1"], &model);
    let refused = model.intervene(&changes, &settings(vec![0.0, 1.0]), None, &|_| ());
    assert!(matches!(refused, Err(FittedError::NotIdempotent(_))));
}

#[test]
fn a_formula_without_a_value_stops_with_its_place() {
    let model = FittedModel::linear(&process()).unwrap();
    let changes = read(&["drift(x) = log(x - 100)"], &model);
    let refused = model.intervene(&changes, &settings(vec![0.0, 1.0]), None, &|_| ()).unwrap_err();
    assert!(
        refused.to_string().starts_with("the value is not finite: NaN, in column 12"),
        "{refused}"
    );
}

#[test]
fn a_path_that_explodes_is_an_error_with_its_time() {
    let process = LinearProcess {
        effects: vec![1e6],
        step_size: 1.0,
        ..LinearProcess::resting(vec!["x".into()])
    };
    let model = FittedModel::linear(&process).unwrap();
    let asked = SimulateSettings { n_paths: 10, ..settings(vec![0.0, 100.0]) };
    let error = model.simulate(&asked, None, &|_| ()).unwrap_err();
    assert!(matches!(error, FittedError::PathNotFinite { time, .. } if time < 60.0), "{error}");
}

#[test]
fn edges_tell_effects_in_the_users_units() {
    let model = FittedModel::linear(&process()).unwrap();
    let edges = model.edges();
    let edge = edges.iter().find(|edge| (edge.source, edge.target) == (0, 1)).unwrap();
    // Rounding of scaling there and back.
    assert!((edge.effect.unwrap() / 50.0 - 1.0).abs() < 1e-12);
    assert_eq!(edge.probability, Some(1.0));
    // In deviations: 50 * 0.5 / 40.
    assert!((edge.strength.unwrap() / 0.625 - 1.0).abs() < 1e-12);
}
