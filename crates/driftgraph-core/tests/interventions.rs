//! Linear posteriors of data from experiments, against likelihoods written out and against the systems behind the data.

use driftgraph_core::graph::density::GraphDensity;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::posterior::linear::ascent::Ascent;
use driftgraph_core::testing::posterior::linear::dynamics::LinearDynamics;
use driftgraph_core::testing::posterior::linear::gibbs::{
    Chain, ChainRules, DensityRule, PathSource,
};
use driftgraph_core::testing::posterior::linear::grid::LinearGrid;
use driftgraph_core::testing::posterior::linear::pools::EdgePools;
use driftgraph_core::{
    Experiment, InputHold, InterventionKind, InterventionRow, ObservedSeries, SeriesSet,
};

/// Noise so small that paths are what was observed.
const NO_NOISE: f64 = 1e-10;

fn line(variable: &str, kind: InterventionKind, from: f64, to: f64) -> InterventionRow {
    InterventionRow {
        series: "*".into(),
        variable: variable.into(),
        kind,
        value: None,
        from: Some(from),
        to: Some(to),
    }
}

/// Rows of independent numbers at times that are not even.
fn rows(n_series: u64, n_rows: usize) -> SeriesSet {
    let series = (0..n_series).map(|number| {
        let mut random = RandomStream::new(1203, Purpose::System, number);
        let times = (0..n_rows).map(|row| row as f64 + if row % 3 == 1 { 0.25 } else { 0.0 });
        let values = (0..2 * n_rows).map(|_| random.normal()).collect();
        ObservedSeries::new(format!("s{number}"), 2, times.collect(), values).unwrap()
    });
    SeriesSet::new(vec!["a".into(), "b".into()], series.collect()).unwrap()
}

fn some_dynamics(grid: &LinearGrid) -> LinearDynamics {
    LinearDynamics {
        effects: vec![-0.4, 0.3, 0.1, 0.2, -0.6, -0.2],
        amounts: vec![-0.7; grid.amounts().len()],
        variances: vec![0.8, 1.4],
        noise: vec![NO_NOISE; 2],
        initial_means: vec![0.2, -0.1],
        initial_variances: vec![1.1, 0.9],
    }
}

/// Log density of everything that was neither set nor released, one number after the other.
fn log_density_by_hand(grid: &LinearGrid, dynamics: &LinearDynamics) -> f64 {
    let normal = |error: f64, variance: f64| {
        -0.5 * (error * error / variance + (std::f64::consts::TAU * variance).ln())
    };
    let layout = grid.layout();
    let value = |point: usize, v: usize| {
        layout.set_value(point, v).unwrap_or_else(|| layout.observed_row(point)[v])
    };
    let mut sum = 0.0;
    for series in layout.series() {
        let first = series.first_point;
        for v in (0..2).filter(|&v| layout.set_value(first, v).is_none()) {
            sum +=
                normal(value(first, v) - dynamics.initial_means[v], dynamics.initial_variances[v]);
        }
        for step in 0..series.n_steps() {
            let point = first + step;
            let h = layout.step(grid.first_deviation_row(series) + step);
            for v in 0..2 {
                if layout.is_left_out(point + 1, v) {
                    // What was set has no density; what was released begins anew, with variance 4.
                    if layout.set_value(point + 1, v).is_none() {
                        sum += normal(value(point + 1, v), 4.0);
                    }
                    continue;
                }
                let own = &dynamics.effects[v * 3..(v + 1) * 3];
                let mut drift = own[0] * value(point, 0) + own[1] * value(point, 1) + own[2];
                for push in layout.pushes_at(point).iter().filter(|push| push.variable == v) {
                    drift += push.share * dynamics.amounts[push.amount];
                }
                let scale = grid.scales()[v];
                let mean = value(point, v) + h * scale * drift;
                let variance = scale * scale * dynamics.variances[v] * h;
                sum += normal(value(point + 1, v) - mean, variance);
            }
        }
    }
    sum
}

fn pools(data: &SeriesSet, grid: &LinearGrid) -> EdgePools {
    let mut prior = EdgePrior::new(data.n_variables(), 0.0);
    for &input in data.inputs() {
        (0..data.n_variables()).for_each(|source| prior.know(source, input, 0.0).unwrap());
    }
    EdgePools::new(GraphDensity::default(), &prior.reordered(grid.variables()))
}

#[test]
fn the_evidence_is_the_density_of_all_that_was_left_to_itself() {
    use InterventionKind::{Hold, Knockdown, Knockout, Shift};
    let inputs = |hold| Experiment { inputs: vec!["b".into()], hold, ..Experiment::default() };
    let lines = |interventions| Experiment { interventions, ..Experiment::default() };
    let released = line("a", Knockout, 1.5, 4.5);
    let cases = [
        lines(vec![released.clone()]),
        lines(vec![line("b", Hold, 0.0, 3.0), released]),
        lines(vec![line("a", Knockdown, 1.3, 4.4), line("b", Shift, 0.0, 2.0)]),
        inputs(InputHold::Previous),
        inputs(InputHold::Linear),
    ];
    for experiment in cases {
        let data = experiment.apply(&rows(3, 8)).unwrap();
        let grid = LinearGrid::new(&data, 10.0, &[0.7, 1.2]).unwrap();
        let dynamics = some_dynamics(&grid);
        let expected = log_density_by_hand(&grid, &dynamics);
        let pools = pools(&data, &grid);
        let ascent = Ascent::new(&grid, &pools, dynamics, false);
        let found = ascent.smoothed().unwrap().log_evidence;
        // The noise is a ten-billionth of every variance, and there are less than fifty numbers.
        assert!((found - expected).abs() < 1e-6 * expected.abs(), "{found} {expected}");
    }
}

/// A system a -> b, in which somebody sets `a` to what `b` was a moment before.
fn followed(seed: u64) -> SeriesSet {
    let series = (0..8).map(|number| {
        let mut random = RandomStream::new(seed, Purpose::System, number);
        let (mut a, mut b) = (random.normal(), random.normal());
        let mut values = Vec::new();
        for row in 0..40 {
            values.extend([a, b]);
            let (old_a, old_b) = (a, b);
            b += 0.8 * old_a - 0.6 * old_b + 0.4 * random.normal();
            a += -0.5 * old_a + 0.5 * random.normal();
            if row >= 19 {
                a = old_b;
            }
        }
        let times = (0..40).map(f64::from).collect();
        ObservedSeries::new(format!("s{number}"), 2, times, values).unwrap()
    });
    SeriesSet::new(vec!["a".into(), "b".into()], series.collect()).unwrap()
}

/// Probabilities of a -> b and b -> a.
fn probabilities(data: &SeriesSet) -> [f64; 2] {
    let grid = LinearGrid::new(data, 1.0, &[1.0, 1.0]).unwrap();
    let pools = pools(data, &grid);
    let start = LinearDynamics {
        effects: vec![0.0; 6],
        amounts: vec![0.0; grid.amounts().len()],
        variances: vec![0.5; 2],
        noise: vec![1e-6; 2],
        initial_means: vec![0.0; 2],
        initial_variances: vec![1.0; 2],
    };
    let mut ascent = Ascent::new(&grid, &pools, start, false);
    while !ascent.is_done() {
        ascent.round().unwrap();
    }
    let own = grid.own_numbers();
    let entry = |source: usize, target: usize| {
        ascent.state().effects.probabilities[own[target] * 3 + own[source]]
    };
    [entry(0, 1), entry(1, 0)]
}

#[test]
fn what_was_set_says_nothing_of_its_causes_and_still_has_effects() {
    let data = followed(1301);
    let [forward, backward] = probabilities(&data);
    assert!(forward > 0.9 && backward > 0.9, "left as it is, b seems to drive a: {backward}");
    let held = Experiment {
        interventions: vec![line("a", InterventionKind::Hold, 20.0, 39.0)],
        ..Experiment::default()
    };
    let [forward, backward] = probabilities(&held.apply(&data).unwrap());
    assert!(forward > 0.9 && backward < 0.3, "{forward} {backward}");
    let input = Experiment { inputs: vec!["a".into()], ..Experiment::default() };
    let [forward, backward] = probabilities(&input.apply(&data).unwrap());
    assert!(forward > 0.9 && backward == 0.0, "{forward} {backward}");
}

/// A variable that returns to 0 and is driven down by 0.9 per time from row 10 on.
fn pushed_down() -> SeriesSet {
    let series = (0..10).map(|number| {
        let mut random = RandomStream::new(1402, Purpose::System, number);
        let (mut a, mut b) = (random.normal(), random.normal());
        let mut values = Vec::new();
        for row in 0..30 {
            values.extend([a, b]);
            let push = if row >= 10 { -0.9 } else { 0.0 };
            a += -0.5 * a + push + 0.3 * random.normal();
            b += -0.4 * b + 0.3 * random.normal();
        }
        let times = (0..30).map(f64::from).collect();
        ObservedSeries::new(format!("s{number}"), 2, times, values).unwrap()
    });
    SeriesSet::new(vec!["a".into(), "b".into()], series.collect()).unwrap()
}

#[test]
fn amounts_of_pushes_are_learned_with_the_sign_that_was_stated() {
    let learned = |kind| {
        let experiment = Experiment {
            interventions: vec![line("a", kind, 10.0, 29.0)],
            ..Experiment::default()
        };
        let data = experiment.apply(&pushed_down()).unwrap();
        let grid = LinearGrid::new(&data, 1.0, &[1.0, 1.0]).unwrap();
        let pools = pools(&data, &grid);
        let start = LinearDynamics {
            effects: vec![0.0; 6],
            amounts: vec![0.0],
            variances: vec![0.1; 2],
            noise: vec![1e-6; 2],
            initial_means: vec![0.0; 2],
            initial_variances: vec![1.0; 2],
        };
        let mut ascent = Ascent::new(&grid, &pools, start, false);
        while !ascent.is_done() {
            let before = ascent.state().bound;
            ascent.round().unwrap();
            let after = ascent.state().bound;
            // Openings of gates are held for some rounds; from then on the bound only rises.
            assert!(after > before - 0.5, "{before} {after}");
        }
        let rules = ChainRules {
            tempering: vec![1.0; 2],
            densities: DensityRule::Given,
            n_sweeps: 200,
            burn_in: 50,
            seed: 5,
            number: 0,
        };
        let paths = ascent.smoothed().unwrap();
        let source = PathSource::Known(&paths.sums);
        let mut chain = Chain::new(&pools, source, rules, ascent.state());
        let mut drawn = Vec::new();
        while !chain.is_done() {
            chain.sweep().unwrap();
            drawn.push(chain.state().dynamics.amounts[0]);
        }
        (ascent.state().dynamics.amounts[0], drawn)
    };
    let (mean, drawn) = learned(InterventionKind::Knockdown);
    // 200 pushed steps of deviation .3, with level and return learned beside: standard error about .05.
    assert!((mean + 0.9).abs() < 0.2, "{mean}");
    let average = drawn.iter().sum::<f64>() / drawn.len() as f64;
    assert!((average - mean).abs() < 0.1 && drawn.iter().all(|a| *a < 0.0), "{average} {mean}");
    let (free, _) = learned(InterventionKind::Shift);
    assert!((free - mean).abs() < 1e-3, "{free} {mean}");
    // Said to be driven up, it cannot be found to be driven down.
    let (up, drawn) = learned(InterventionKind::Overexpress);
    assert!(up > 0.0 && up < 0.1 && drawn.iter().all(|a| *a > 0.0), "{up}");
}

#[test]
fn a_window_that_covers_no_step_and_the_order_of_lines_change_nothing() {
    let data = rows(2, 6);
    let idle = Experiment {
        interventions: vec![line("a", InterventionKind::Knockout, 0.0, 0.0)],
        ..Experiment::default()
    };
    let same = idle.apply(&data).unwrap();
    assert!(!same.has_interventions());
    assert_eq!(same.series()[0].values(), data.series()[0].values());
    let lines = vec![
        line("a", InterventionKind::Knockdown, 0.0, 2.0),
        line("b", InterventionKind::Overexpress, 1.0, 4.0),
    ];
    let turned = lines.iter().rev().cloned().collect();
    let evidence = |interventions| {
        let experiment = Experiment { interventions, ..Experiment::default() };
        let data = experiment.apply(&data).unwrap();
        let grid = LinearGrid::new(&data, 10.0, &[0.7, 1.2]).unwrap();
        let pools = pools(&data, &grid);
        let mut ascent = Ascent::new(&grid, &pools, some_dynamics(&grid), false);
        (0..6).for_each(|_| ascent.round().unwrap());
        ascent.state().clone()
    };
    assert_eq!(evidence(lines), evidence(turned));
}
