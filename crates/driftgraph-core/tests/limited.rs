//! A linear process with room for few pairs alone says what one with room for all says whose other edges are forbidden.

use std::sync::Arc;

use driftgraph_core::graph::density::GraphDensity;
use driftgraph_core::graph::limited_prior::LimitedPrior;
use driftgraph_core::graph::prior::{EdgePrior, EdgeRule};
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::posterior::linear::adequacy::Adequacy;
use driftgraph_core::testing::posterior::linear::ascent::Ascent;
use driftgraph_core::testing::posterior::linear::dynamics::LinearDynamics;
use driftgraph_core::testing::posterior::linear::effect_rows::EffectRows;
use driftgraph_core::testing::posterior::linear::gibbs::{
    Chain, ChainRules, DensityRule, PathSource,
};
use driftgraph_core::testing::posterior::linear::grid::LinearGrid;
use driftgraph_core::testing::posterior::linear::pools::EdgePools;
use driftgraph_core::train::bridge::{BridgeSettings, NoiseScale};
use driftgraph_core::train::linear::limited::fit_limited;
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{Experiment, InterventionKind, InterventionRow, ObservedSeries, SeriesSet};

const D: usize = 5;
/// 0 and 1 may drive, 1 to 3 may be driven: 1 by itself as one of both, 4 by nothing.
const MAY_DRIVE: [bool; D] = [true, true, false, false, false];
const MAY_BE_DRIVEN: [bool; D] = [false, true, true, true, false];

fn allowed(source: usize, target: usize) -> bool {
    source == target || (MAY_DRIVE[source] && MAY_BE_DRIVEN[target])
}

/// 0 drives 1 and 2, 1 drives 3; with a knock-out and a push, where they are asked for.
fn data(handled: bool) -> SeriesSet {
    let series = (0..6_u64).map(|number| {
        let mut random = RandomStream::new(1001, Purpose::System, number);
        let mut state: [f64; D] = std::array::from_fn(|_| random.normal());
        let mut values = Vec::new();
        for _ in 0..25 {
            values.extend(state);
            let [a, b, ..] = state;
            let added = [0.0, 0.5 * a, -0.6 * a, 0.5 * b, 0.0];
            for (value, added) in state.iter_mut().zip(added) {
                *value += -0.4 * *value + added + 0.4 * random.normal();
            }
        }
        let times = (0..25).map(f64::from).collect();
        ObservedSeries::new(format!("s{number}"), D, times, values).unwrap()
    });
    let names = (0..D).map(|idx| format!("x{idx}")).collect();
    let data = SeriesSet::new(names, series.collect()).unwrap();
    if !handled {
        return data;
    }
    let line = |series: &str, variable: &str, kind| InterventionRow {
        series: series.into(),
        variable: variable.into(),
        kind,
        value: None,
        from: Some(5.0),
        to: Some(15.0),
    };
    let interventions = vec![
        line("s0", "x1", InterventionKind::Knockout),
        line("s1", "x4", InterventionKind::Hold),
        line("s2", "x2", InterventionKind::Knockdown),
    ];
    Experiment { interventions, ..Experiment::default() }.apply(&data).unwrap()
}

/// Grids of the same data with room for all effects and for some, with their pools.
fn both(data: &SeriesSet) -> [(LinearGrid, EdgePools); 2] {
    let grid = || LinearGrid::new(data, 1.0, &[0.8; D]).unwrap();
    let dense = grid();
    let order = dense.variables().to_vec();
    let mut prior = EdgePrior::new(D, 0.0);
    for (source, target) in (0..D * D).map(|at| (at / D, at % D)) {
        if !allowed(source, target) {
            prior.know(source, target, 0.0).unwrap();
        }
    }
    prior.know(0, 3, 0.3).unwrap();
    let law = GraphDensity::PerSource { alpha: 1.0, beta: 4.0 };
    let pools = EdgePools::new(law, &prior.reordered(&order));
    let chosen = |may: [bool; D]| order.iter().map(|&idx| may[idx]).collect::<Vec<_>>();
    let few = grid().with_rows(EffectRows::between(&chosen(MAY_DRIVE), &chosen(MAY_BE_DRIVEN)));
    let known = |source: usize, target: usize| {
        let odds =
            if [order[source], order[target]] == [0, 3] { (0.3_f64 / 0.7).ln() } else { 0.0 };
        (EdgeRule::Free, odds)
    };
    let few_pools = EdgePools::with_rows(law, &Arc::clone(few.rows()), known);
    [(dense, pools), (few, few_pools)]
}

fn start(grid: &LinearGrid) -> LinearDynamics {
    LinearDynamics {
        effects: vec![0.0; grid.rows().len()],
        amounts: vec![0.0; grid.amounts().len()],
        variances: vec![0.8; D],
        // With hardly any noise paths are known, however they are smoothed.
        noise: vec![1e-9; D],
        initial_means: vec![0.0; D],
        initial_variances: vec![1.0; D],
    }
}

/// Entries with their sources and targets, and that of the offset of each target.
fn entries(grid: &LinearGrid) -> Vec<(usize, usize, usize)> {
    let rows = grid.rows();
    (0..D)
        .flat_map(|target| {
            let own = rows.sources(target).map(move |(entry, source)| (entry, source, target));
            own.chain([(rows.offset(target), D, target)])
        })
        .collect()
}

#[test]
fn the_ascent_ends_where_that_with_forbidden_edges_ends() {
    for handled in [false, true] {
        let data = data(handled);
        let [(dense, dense_pools), (few, few_pools)] = both(&data);
        let mut all = Ascent::new(&dense, &dense_pools, start(&dense), false);
        let mut some = Ascent::new(&few, &few_pools, start(&few), false);
        for _ in 0..25 {
            all.round().unwrap();
            some.round().unwrap();
        }
        let (a, b) = (all.state(), some.state());
        for (entry, source, target) in entries(&few) {
            let at = target * (D + 1) + source;
            let close = |x: f64, y: f64| (x - y).abs() < 1e-5 * (1.0 + y.abs());
            let place = format!("{handled}: {source} -> {target}");
            assert!(close(b.effects.probabilities[entry], a.effects.probabilities[at]), "{place}");
            assert!(close(b.dynamics.effects[entry], a.dynamics.effects[at]), "{place}");
            assert!(close(b.effects.log_odds[entry], a.effects.log_odds[at]), "{place}");
        }
        for (one, other) in b.dynamics.variances.iter().zip(&a.dynamics.variances) {
            assert!((one - other).abs() < 1e-5, "{one} {other}");
        }
        for (one, other) in b.dynamics.amounts.iter().zip(&a.dynamics.amounts) {
            assert!((one - other).abs() < 1e-5, "{one} {other}");
        }
        let paths = [all.smoothed().unwrap(), some.smoothed().unwrap()];
        let [dense_says, few_say] = [(&dense, a, &paths[0]), (&few, b, &paths[1])]
            .map(|(grid, state, paths)| Adequacy::new(grid, state, paths).clustering);
        // Scores of edges that are forbidden are no part of the narrower question, so only the size is the same.
        for (one, other) in few_say.iter().zip(&dense_says) {
            assert!(
                *one >= 1.0 && *other >= 1.0 && (one / other - 1.0).abs() < 0.8,
                "{one} {other}"
            );
        }
    }
}

#[test]
fn chains_agree_with_those_with_forbidden_edges() {
    let data = data(false);
    let means = both(&data).map(|(grid, pools)| {
        let mut ascent = Ascent::new(&grid, &pools, start(&grid), false);
        (0..25).for_each(|_| ascent.round().unwrap());
        let paths = ascent.smoothed().unwrap();
        let rules = ChainRules {
            tempering: vec![1.0; D],
            densities: DensityRule::Given,
            n_sweeps: 1500,
            burn_in: 100,
            seed: 1002,
            number: 0,
        };
        let mut chain = Chain::new(&pools, PathSource::Known(&paths.sums), rules, ascent.state());
        while !chain.is_done() {
            chain.sweep().unwrap();
        }
        let totals = &chain.state().totals;
        let mean = |(entry, source, target)| {
            let said = [totals.probabilities[entry] / totals.n, totals.effects[entry] / totals.n];
            ((source, target), said)
        };
        let inner = entries(&grid).into_iter().filter(|(_, source, _)| *source < D);
        inner.map(mean).collect::<std::collections::BTreeMap<_, _>>()
    });
    let [dense, few] = means;
    assert_eq!(few.len(), 2 * 3 + 4);
    for (ends, said) in few {
        // Other random numbers, 1,400 sweeps that forget within a few.
        for (one, other) in said.iter().zip(&dense[&ends]) {
            assert!((one - other).abs() < 0.05, "{ends:?}: {said:?} {:?}", dense[&ends]);
        }
    }
}

#[test]
fn a_whole_fit_finds_the_edges_that_may_be_and_is_the_same_on_any_number_of_threads() {
    let data = data(false);
    let may_keep = vec![true; D];
    let knowledge = LimitedPrior::new(MAY_DRIVE.to_vec(), MAY_BE_DRIVEN.to_vec(), may_keep);
    let settings = BridgeSettings {
        seed: 1000,
        noise_scale: NoiseScale::Fixed { scale: 0.01 },
        ..BridgeSettings::default()
    };
    let settings = settings.check().unwrap();
    let fit = || fit_limited(&data, &knowledge, &settings, &Silent).unwrap().unwrap();
    let found = fit();
    assert_eq!(found.edges.len(), 2 * 3 + 4);
    for edge in &found.edges {
        let is_true = edge.source == edge.target
            || [[0, 1], [0, 2], [1, 3]].contains(&[edge.source, edge.target]);
        assert_eq!(edge.probability > 0.5, is_true, "{edge:?}");
    }
    let edge = found.edges.iter().find(|edge| [edge.source, edge.target] == [0, 2]).unwrap();
    assert!((edge.effect + 0.6).abs() < 0.15 && edge.deviation < 0.1, "{edge:?}");
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one.install(fit).edges, found.edges);
}
