//! Hidden regimes and known conditions where something was done to the system, and processes that are no regimes.

use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::posterior::linear::dynamics::LinearDynamics;
use driftgraph_core::testing::posterior::linear::grid::LinearGrid;
use driftgraph_core::testing::posterior::linear::regimes::steps::Steps;
use driftgraph_core::testing::posterior::linear::sums::StepSums;
use driftgraph_core::train::bridge::{BridgeSettings, CheckedBridgeSettings, NoiseScale};
use driftgraph_core::train::linear::regimes::{
    Choice, RegimeFit, RegimeOutcome, RegimeRequest, SingleKind, fit_regimes,
};
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{Experiment, InterventionKind, InterventionRow, ObservedSeries, SeriesSet};

const D: usize = 4;

/// Effects `[target, source]` of two graphs: a chain 0 -> 1 -> 2 -> 3, and one in which 1 -> 2 is gone and 3 -> 0 is new.
fn graph(is_second: bool) -> [[f64; D]; D] {
    let mut effects = [[0.0; D]; D];
    for (idx, row) in effects.iter_mut().enumerate() {
        row[idx] = -0.4;
    }
    effects[1][0] = 0.6;
    effects[3][2] = -0.6;
    if is_second {
        effects[0][3] = 0.7;
    } else {
        effects[2][1] = 0.7;
    }
    effects
}

fn data(all: Vec<ObservedSeries>) -> SeriesSet {
    SeriesSet::new((0..D).map(|idx| format!("x{idx}")).collect(), all).unwrap()
}

fn settings(max_steps: Option<u64>) -> CheckedBridgeSettings {
    let noise_scale = NoiseScale::Fixed { scale: 0.01 };
    let settings =
        BridgeSettings { seed: 1000, max_steps, noise_scale, ..BridgeSettings::default() };
    settings.check().unwrap()
}

/// Student's law with 3 degrees of freedom.
fn wild(random: &mut RandomStream) -> f64 {
    let square: f64 = (0..3).map(|_| random.normal().powi(2)).sum::<f64>() / 3.0;
    random.normal() / square.sqrt()
}

fn walk<const N: usize>(
    n: usize,
    seed: u64,
    step: impl Fn(&[f64; N], &mut RandomStream) -> [f64; N],
) -> SeriesSet {
    let series = (0..2).map(|number| {
        let mut random = RandomStream::new(seed, Purpose::System, number);
        let mut state: [f64; N] = std::array::from_fn(|_| random.normal());
        let mut values = Vec::new();
        for row in 0..50 + n {
            if row >= 50 {
                values.extend(state);
            }
            state = step(&state, &mut random);
        }
        let times = (0..n).map(|row| row as f64).collect();
        ObservedSeries::new(format!("s{number}"), N, times, values).unwrap()
    });
    SeriesSet::new((0..N).map(|idx| format!("x{idx}")).collect(), series.collect()).unwrap()
}

fn chosen(data: &SeriesSet) -> (usize, Choice) {
    let knowledge = EdgePrior::new(data.n_variables(), 0.0);
    let outcome = fit_regimes(data, &knowledge, &settings(Some(10)), &RegimeRequest::Auto, &Silent);
    match outcome.unwrap() {
        RegimeOutcome::One(choice) => (1, choice.unwrap()),
        RegimeOutcome::Several(fit) => (fit.n_regimes, fit.choice.clone().unwrap()),
    }
}

#[test]
fn heavy_tails_are_no_regimes() {
    for seed in 1070..1074 {
        let data = walk(150, seed, |state: &[f64; D], random| {
            let effects = graph(false);
            std::array::from_fn(|idx| {
                let drift: f64 = (0..D).map(|source| effects[idx][source] * state[source]).sum();
                state[idx] + drift + 0.4 * wild(random)
            })
        });
        let (n, choice) = chosen(&data);
        assert_eq!(n, 1, "{seed}: {choice:?}");
    }
}

#[test]
fn products_of_variables_are_no_regimes() {
    // A ring in which each is driven by a product of others, in short steps.
    for seed in 1080..1083 {
        let data = walk(200, seed, |state: &[f64; 5], random| {
            let mut next = *state;
            for _ in 0..5 {
                let before = next;
                let of = |idx: usize, back: usize| before[(idx + 5 - back) % 5];
                for (idx, next) in next.iter_mut().enumerate() {
                    let drift = (before[(idx + 1) % 5] - of(idx, 2)) * of(idx, 1) - before[idx];
                    *next += 0.01 * (drift + 8.0) + 0.02 * random.normal();
                }
            }
            next
        });
        let (n, choice) = chosen(&data);
        assert_eq!(n, 1, "{seed}: {choice:?}");
        let trial = choice.trials[0];
        // Linear regimes do predict better than one linear process.
        assert!(trial.is_clear_of_fewer(), "{choice:?}");
        assert_eq!(trial.over_single.unwrap().kind, SingleKind::Products);
    }
}

#[test]
fn a_knock_out_is_no_regime_and_no_difference_and_inputs_are_driven_by_nothing() {
    // The second variable is 0 from 60 on in the second series; the fourth is an input that goes on and off.
    let mut series: Vec<ObservedSeries> = Vec::new();
    for (number, name) in ["a", "b"].into_iter().enumerate() {
        let mut random = RandomStream::new(1090, Purpose::System, number as u64);
        let (mut state, mut values) = ([0.0; D], Vec::new());
        for row in 0..120 {
            state[3] = f64::from(u8::from(row / 15 % 2 == 1));
            if number == 1 && row >= 60 {
                state[1] = 0.0;
            }
            values.extend(state);
            let before = state;
            let effects = graph(true);
            for target in 0..3 {
                let drift: f64 =
                    (0..D).map(|source| effects[target][source] * before[source]).sum();
                let chain = if target == 2 { 0.7 * before[1] } else { 0.0 };
                state[target] += drift + chain + 0.3 * random.normal();
            }
        }
        let times = (0..120).map(f64::from).collect();
        series.push(ObservedSeries::new(name, D, times, values).unwrap());
    }
    let plain = data(series);
    let knockout = InterventionRow {
        series: "b".into(),
        variable: "x1".into(),
        kind: InterventionKind::Knockout,
        value: None,
        from: Some(60.0),
        to: None,
    };
    let experiment = Experiment {
        inputs: vec!["x3".into()],
        interventions: vec![knockout],
        ..Experiment::default()
    };
    let told = experiment.apply(&plain).unwrap();
    let mut knowledge = EdgePrior::new(D, 0.0);
    (0..D).for_each(|source| knowledge.know(source, 3, 0.0).unwrap());
    let labels = [0..120, 120..240]
        .map(|rows| rows.map(|row| u8::from(row >= 120 + 60)).collect::<Vec<_>>());
    let request = RegimeRequest::Known { labels: labels.to_vec(), n: 2 };
    let fit = |data: &SeriesSet, request: &RegimeRequest| {
        let outcome = fit_regimes(data, &knowledge, &settings(Some(120)), request, &Silent);
        match outcome.unwrap() {
            RegimeOutcome::Several(fit) => Some(*fit),
            RegimeOutcome::One(_) => None,
        }
    };
    let differ = |fit: &RegimeFit| {
        // What a variable drives where it is always 0 nobody can know.
        let is_known = |source: usize, target: usize| source != target && source != 1;
        let pairs = fit.edges.iter().filter(|edge| is_known(edge.source, edge.target));
        let likely = pairs.filter(|edge| edge.contrasts[0].probability > 0.5);
        likely.map(|edge| [edge.source, edge.target]).collect::<Vec<_>>()
    };
    let known = fit(&told, &request).unwrap();
    assert_eq!(differ(&known), Vec::<[usize; 2]>::new());
    assert!(known.edges[3 * D].probability > 0.9, "{:?}", known.edges[3 * D]);
    let into_input = known.edges.iter().filter(|edge| edge.target == 3);
    assert!(into_input.map(|edge| edge.probability).all(|p| p < 1e-12));
    assert_eq!(known.processes[0].diffusions[3], 0.0);
    // Who is not told of the knock-out sees a variable that nothing drives any more.
    let inputs = Experiment { inputs: vec!["x3".into()], ..Experiment::default() };
    let untold = fit(&inputs.apply(&plain).unwrap(), &request).unwrap();
    assert!(differ(&untold).contains(&[0, 1]), "{:?}", differ(&untold));
    assert!(fit(&told, &RegimeRequest::Auto).is_none());
    // Paths that are drawn keep what was set, holes or not.
    let holes = |series: &ObservedSeries| {
        let mut values = series.values().to_vec();
        values.iter_mut().step_by(7).for_each(|value| *value = f64::NAN);
        ObservedSeries::new(series.name(), D, series.times().to_vec(), values).unwrap()
    };
    let holed = data(plain.series().iter().map(holes).collect());
    let holed = fit(&experiment.apply(&holed).unwrap(), &request).unwrap();
    assert_eq!(differ(&holed), Vec::<[usize; 2]>::new());
    assert!(holed.edges[3 * D].probability > 0.9, "{:?}", holed.edges[3 * D]);
}

/// Two variables, the first knocked out from 3 to 5.
fn grid(kind: InterventionKind) -> LinearGrid {
    let mut random = RandomStream::new(1100, Purpose::System, 0);
    let values = (0..20).map(|_| random.normal()).collect();
    let times = vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.5, 7.0, 8.0, 9.0];
    let series = ObservedSeries::new("a", 2, times, values).unwrap();
    let data = SeriesSet::new(vec!["x".into(), "y".into()], vec![series]).unwrap();
    let row = InterventionRow {
        series: "a".into(),
        variable: "x".into(),
        kind,
        value: None,
        from: Some(3.0),
        to: Some(5.0),
    };
    let experiment = Experiment { interventions: vec![row], ..Experiment::default() };
    LinearGrid::new(&experiment.apply(&data).unwrap(), 2.0, &[0.8, 1.2]).unwrap()
}

fn paths(grid: &LinearGrid) -> Vec<f64> {
    let layout = grid.layout();
    let cell = |at: usize| {
        let (point, idx) = (at / 2, at % 2);
        layout.set_value(point, idx).unwrap_or(layout.observed_row(point)[idx])
    };
    (0..layout.n_points() * 2).map(cell).collect()
}

#[test]
fn steps_into_what_was_set_or_pushed_are_left_out_of_densities_by_brute_force() {
    for kind in [InterventionKind::Knockout, InterventionKind::Knockdown] {
        let grid = grid(kind);
        let (steps, paths) = (Steps::new(&grid), paths(&grid));
        let x = grid.own_numbers()[0];
        let dynamics = LinearDynamics {
            effects: vec![-0.3, 0.2, 0.1, 0.4, -0.5, -0.2],
            amounts: Vec::new(),
            variances: vec![0.7, 1.3],
            noise: vec![0.1; 2],
            initial_means: vec![0.0; 2],
            initial_variances: vec![1.0; 2],
        };
        let logs = steps.log_densities(&grid, &paths, std::slice::from_ref(&dynamics));
        for (step, log) in logs.iter().enumerate() {
            let h = steps.lengths[step];
            let mut expected = 0.0;
            for target in 0..2 {
                // What was set at 3 was set on the way there; a push begins with its window.
                let first = if kind == InterventionKind::Knockout { 2 } else { 3 };
                let is_silent = target == x && (first..=4).contains(&step);
                assert_eq!(steps.is_silent(step, target), is_silent, "{kind:?} {step} {target}");
                if is_silent {
                    continue;
                }
                let [here, next] = [step, step + 1].map(|point| &paths[point * 2..][..2]);
                let effects = &dynamics.effects[target * 3..][..3];
                let drift = effects[0] * here[0] + effects[1] * here[1] + effects[2];
                let scale = grid.scales()[target];
                let error = (next[target] - here[target]) / scale - h * drift;
                let variance = h * dynamics.variances[target];
                expected -=
                    0.5 * error * error / variance + 0.5 * (std::f64::consts::TAU * variance).ln();
            }
            assert!((log - expected).abs() < 1e-12, "{kind:?} {step}: {log} {expected}");
        }
    }
}

#[test]
fn sums_are_those_of_a_linear_process_that_knows_what_was_set() {
    let grid = grid(InterventionKind::Knockout);
    let (steps, paths) = (Steps::new(&grid), paths(&grid));
    let weights = vec![1.0; steps.lengths.len()];
    let [found] = &steps.sums(&grid, &paths, &weights, 1)[..] else { panic!("one regime") };
    let expected = StepSums::of_paths(&grid, &paths);
    let close = |a: &[f64], b: &[f64]| {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{a} {b}"));
    };
    close(&found.products, &expected.products);
    close(&found.responses, &expected.responses);
    close(&found.squares, &expected.squares);
    close(&found.n_steps, &expected.n_steps);
}
