//! Effects that move in time: a random walk seen through quadratic likelihoods against matrices, and fits of simulated
//! systems, followed where an effect moves and constant where none does.

use std::ops::ControlFlow;
use std::sync::Mutex;

use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::posterior::linear::drifting::walk::{Pull, Walk};
use driftgraph_core::train::bridge::{BridgeSettings, CheckedBridgeSettings, NoiseScale};
use driftgraph_core::train::linear::drifting::{DriftFit, fit_drifting};
use driftgraph_core::train::progress::{Checkpoint, Progress, Silent, Step};
use driftgraph_core::{ObservedSeries, SeriesSet};

/// Logarithm of the determinant and inverse of a positive definite matrix, by plain elimination.
fn log_det_and_inverse(matrix: &[f64], n: usize) -> (f64, Vec<f64>) {
    let mut left = matrix.to_vec();
    let mut right: Vec<f64> =
        (0..n * n).map(|idx| if idx / n == idx % n { 1.0 } else { 0.0 }).collect();
    let mut log_det = 0.0;
    for pivot in 0..n {
        let value = left[pivot * n + pivot];
        log_det += value.ln();
        for col in 0..n {
            left[pivot * n + col] /= value;
            right[pivot * n + col] /= value;
        }
        for row in (0..n).filter(|row| *row != pivot) {
            let factor = left[row * n + pivot];
            for col in 0..n {
                left[row * n + col] -= factor * left[pivot * n + col];
                right[row * n + col] -= factor * right[pivot * n + col];
            }
        }
    }
    (log_det, right)
}

const GAPS: [f64; 4] = [1.0, 0.5, 2.0, 1.0];

fn pulls() -> Vec<Pull> {
    let pull = |(precision, product)| Pull { precision, product };
    [(2.0, 1.0), (0.0, 0.0), (3.0, -2.5), (1.5, 0.7), (4.0, 3.0)].map(pull).to_vec()
}

/// The joint normal law of all values, by matrices.
fn by_matrices(rate: f64, first: f64) -> (f64, Vec<f64>, Vec<f64>) {
    let n = 5;
    let times: Vec<f64> = (0..n).map(|knot| GAPS[..knot].iter().sum::<f64>()).collect();
    let prior: Vec<f64> = (0..n * n)
        .map(|idx| {
            first
                + rate * times[idx / n].min(times[idx % n])
                + if idx / n == idx % n { 1e-12 } else { 0.0 }
        })
        .collect();
    let (log_det_prior, prior_precision) = log_det_and_inverse(&prior, n);
    let mut precision = prior_precision;
    let all = pulls();
    (0..n).for_each(|knot| precision[knot * (n + 1)] += all[knot].precision);
    let (log_det, covariance) = log_det_and_inverse(&precision, n);
    let means: Vec<f64> = (0..n)
        .map(|row| (0..n).map(|col| covariance[row * n + col] * all[col].product).sum())
        .collect();
    let square: f64 = means.iter().zip(&all).map(|(mean, pull)| mean * pull.product).sum();
    let variances = (0..n).map(|knot| covariance[knot * (n + 1)]).collect();
    (0.5 * (square - log_det - log_det_prior), means, variances)
}

#[test]
fn evidence_and_moments_are_those_of_the_joint_normal_law() {
    let walk = Walk { first: 0.8, rate: 0.3, gaps: &GAPS };
    let (evidence, means, variances) = by_matrices(0.3, 0.8);
    // The jitter of the matrices is the larger error.
    assert!((walk.log_evidence(&pulls()) - evidence).abs() < 1e-8);
    let found = walk.moments(&pulls());
    for knot in 0..5 {
        assert!((found.0[knot] - means[knot]).abs() < 1e-9);
        assert!((found.1[knot] - variances[knot]).abs() < 1e-9);
    }
}

#[test]
fn without_drift_it_is_one_normal_number() {
    let walk = Walk { first: 0.8, rate: 0.0, gaps: &GAPS };
    // Precision 10.5 of the data with 1.25 of the prior, product 2.2.
    let (mean, variance) = (2.2 / 11.75, 1.0 / 11.75);
    let (means, variances) = walk.moments(&pulls());
    for knot in 0..5 {
        assert!((means[knot] - mean).abs() < 1e-12 && (variances[knot] - variance).abs() < 1e-12);
    }
    let evidence = 0.5 * 2.2 * mean - 0.5 * (1.0 + 10.5 * 0.8_f64).ln();
    assert!((walk.log_evidence(&pulls()) - evidence).abs() < 1e-12);
}

#[test]
fn draws_have_the_means_and_variances_of_the_smoother() {
    let walk = Walk { first: 0.8, rate: 0.3, gaps: &GAPS };
    let (means, variances) = walk.moments(&pulls());
    let mut random = RandomStream::new(1001, Purpose::Sampler, 0);
    let n = 20_000;
    let draws: Vec<Vec<f64>> = (0..n).map(|_| walk.draw(&pulls(), &mut random)).collect();
    for knot in 0..5 {
        let mean = draws.iter().map(|draw| draw[knot]).sum::<f64>() / f64::from(n);
        let square =
            draws.iter().map(|draw| (draw[knot] - mean).powi(2)).sum::<f64>() / f64::from(n);
        // Five standard errors of a mean, and of a variance.
        let error = (variances[knot] / f64::from(n)).sqrt();
        assert!((mean - means[knot]).abs() < 5.0 * error);
        assert!((square / variances[knot] - 1.0).abs() < 5.0 * (2.0 / f64::from(n)).sqrt());
    }
}

const N_ROWS: usize = 120;

/// x drives y with 0.6 throughout, or with an effect that goes from 1 to -1; z drives nothing.
fn data(moves: bool, seed: u64) -> SeriesSet {
    let series = (0..4_u64).map(|number| {
        let mut random = RandomStream::new(seed, Purpose::System, number);
        let (mut state, mut values) = ([0.0; 3], Vec::new());
        for row in 0..N_ROWS {
            values.extend(state);
            let [x, y, z] = state;
            let effect = if moves { course(row as f64) } else { 0.6 };
            let noise = [0.5 * random.normal(), 0.5 * random.normal(), 0.5 * random.normal()];
            state = [0.6 * x + noise[0], 0.6 * y + effect * x + noise[1], 0.6 * z + noise[2]];
        }
        let times = (0..N_ROWS).map(|row| row as f64).collect();
        ObservedSeries::new(format!("s{number}"), 3, times, values).unwrap()
    });
    SeriesSet::new(["x", "y", "z"].map(str::to_owned).to_vec(), series.collect()).unwrap()
}

fn course(time: f64) -> f64 {
    1.0 - 2.0 * time / N_ROWS as f64
}

fn settings(max_steps: Option<u64>) -> CheckedBridgeSettings {
    let noise_scale = NoiseScale::Fixed { scale: 0.01 };
    let settings =
        BridgeSettings { seed: 1000, max_steps, noise_scale, ..BridgeSettings::default() };
    settings.check().unwrap()
}

fn fit(data: &SeriesSet, steps: u64) -> DriftFit {
    fit_drifting(data, &EdgePrior::new(3, 0.0), &settings(Some(steps)), &Silent).unwrap()
}

#[test]
fn an_effect_that_turns_is_followed_and_the_others_stay() {
    let found = fit(&data(true, 1001), 200);
    assert_eq!(found.times.len(), N_ROWS - 1);
    let edge = &found.edges[1];
    assert!(edge.probability > 0.99 && edge.drifting > 0.99, "{edge:?}");
    let (mut inside, mut largest) = (0, 0.0_f64);
    for ((time, effect), deviation) in found.times.iter().zip(&edge.effects).zip(&edge.deviations) {
        let error = (effect - course(*time)).abs();
        largest = largest.max(error);
        inside += usize::from(error <= 1.645 * deviation);
    }
    // From 1 to -1, and never as far off as half of either.
    assert!(largest < 0.5, "{largest}");
    // Nine of ten on average; errors of neighbouring times are alike, so that few are independent.
    assert!(inside as f64 >= 0.7 * found.times.len() as f64, "{inside}");
    for other in [2, 3, 5, 6, 7] {
        assert!(
            found.edges[other].probability < 0.5,
            "{other}: {:?}",
            found.edges[other].probability
        );
    }
    for own in [0, 4, 8] {
        assert!(found.edges[own].drifting < 0.5, "{own}: {}", found.edges[own].drifting);
    }
}

#[test]
fn on_stationary_data_effects_stay_and_bands_hold_the_constant() {
    let (mut inside, mut n) = (0_usize, 0_usize);
    for seed in 1010..1015 {
        let found = fit(&data(false, seed), 160);
        let edge = &found.edges[1];
        assert!(edge.probability > 0.99 && edge.drifting < 0.5, "seed {seed}: {}", edge.drifting);
        for (effect, deviation) in edge.effects.iter().zip(&edge.deviations) {
            inside += usize::from((effect - 0.6).abs() <= 1.645 * deviation);
            n += 1;
        }
    }
    // A constant is inside at all times or at none, in nine of ten on average: four of five, with luck neither way.
    assert!(inside as f64 >= 0.6 * n as f64, "{inside} of {n}");
}

#[test]
fn threads_change_nothing_and_a_kept_state_goes_on_to_the_same_end() {
    struct Stopper {
        at: u64,
        kept: Mutex<Option<Checkpoint>>,
    }
    impl Progress for Stopper {
        fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
            if step.number + 1 == self.at {
                *self.kept.lock().unwrap() = Some(step.training.state());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        }

        fn find(&self, _: &str, depends_on: &str) -> Option<Vec<u8>> {
            let kept = self.kept.lock().unwrap();
            kept.as_ref()
                .filter(|kept| kept.depends_on == depends_on)
                .map(|kept| kept.bytes.clone())
        }
    }

    let data = data(true, 1020);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let whole = one.install(|| fit(&data, 12));
    assert_eq!(fit(&data, 12), whole);
    let mut stopper = Stopper { at: 7, kept: Mutex::new(None) };
    let ask = |stopper: &Stopper| {
        fit_drifting(&data, &EdgePrior::new(3, 0.0), &settings(Some(12)), stopper)
    };
    // Half of the sweeps were counted when it stopped.
    assert!(ask(&stopper).is_ok());
    stopper.at = u64::MAX;
    assert_eq!(ask(&stopper).unwrap(), whole);
}

#[test]
fn too_few_times_are_refused() {
    let series = ObservedSeries::new("s", 1, vec![0.0, 1.0, 2.0], vec![1.0, 2.0, 1.5]).unwrap();
    let data = SeriesSet::new(vec!["x".to_owned()], vec![series]).unwrap();
    let error = fit_drifting(&data, &EdgePrior::new(1, 0.0), &settings(None), &Silent).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rows have 3 different times, and effects that move need at least 5"
    );
}
