//! Mini-batches are unbiased, and only what was observed matters.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::objective::elbo::ElboTerms;
use driftgraph_core::testing::posterior::bridge::batch::Batch;
use driftgraph_core::testing::posterior::bridge::blocks::Epoch;
use driftgraph_core::testing::posterior::bridge::model::Workspace;
use driftgraph_core::testing::posterior::bridge::structure::Pass;
use driftgraph_core::train::bridge::{BridgeSettings, BridgeTrainer};
use driftgraph_core::train::progress::Training;
use driftgraph_core::{ObservedSeries, SeriesSet};

fn walk(seed: u64, times: &[f64]) -> ObservedSeries {
    let mut values = vec![0.0; 2 * times.len()];
    RandomStream::new(seed, Purpose::Brownian, 0).fill_normal(&mut values);
    for idx in 2..values.len() {
        values[idx] += 0.8 * values[idx - 2];
    }
    ObservedSeries::new(format!("s{seed}"), 2, times.to_vec(), values).unwrap()
}

fn set(series: Vec<ObservedSeries>) -> SeriesSet {
    SeriesSet::new(vec!["x".into(), "y".into()], series).unwrap()
}

fn trainer(data: &SeriesSet, settings: BridgeSettings) -> BridgeTrainer {
    BridgeTrainer::new(data, &EdgePrior::new(2, 0.0), settings.check().unwrap()).unwrap()
}

#[test]
fn the_mean_over_all_batches_is_the_sum_over_all_steps() {
    let times = |n: u32| (0..n).map(f64::from).collect::<Vec<_>>();
    let data = set(vec![walk(1, &times(300)), walk(2, &times(70)), walk(3, &times(20))]);
    let trainer = trainer(&data, BridgeSettings::default());
    let (layout, state) = (trainer.layout(), trainer.state());
    let mut work = Workspace::default();
    let mut mean_of = |n_batches: usize, epoch: u64| {
        let epoch = Epoch::new(layout, n_batches, 7, epoch);
        let n = epoch.n_batches() as f64;
        let mut sum = ElboTerms::default();
        let mut grads = vec![0.0; state.parameters.len()];
        for idx in 0..epoch.n_batches() {
            let batch = Batch::new(layout, epoch.batch(idx));
            let terms = trainer.model().evaluate(
                layout,
                &batch,
                &Pass { weight: n, ..Pass::WHOLE },
                state.learned(),
                &mut work,
            );
            sum.add_series(&terms.unwrap());
            grads.iter_mut().zip(&work.grads).for_each(|(sum, grad)| *sum += grad / n);
        }
        sum.scale_series(1.0 / n);
        (sum, grads)
    };
    let (whole, gradient) = mean_of(1, 0);
    for (n_batches, epoch) in [(2, 0), (3, 1), (6, 2)] {
        let (mean, batched) = mean_of(n_batches, epoch);
        // The same numbers added in another order.
        assert!((mean.elbo() - whole.elbo()).abs() < 1e-9 * whole.elbo().abs());
        for (found, wanted) in batched.iter().zip(&gradient) {
            assert!((found - wanted).abs() < 1e-8 * (1.0 + wanted.abs()), "{found} {wanted}");
        }
    }
}

#[test]
fn own_grids_and_a_union_grid_with_holes_give_the_same_elbo() {
    let own = [[0.0, 1.0, 2.5, 4.0], [0.0, 0.5, 2.0, 4.0]];
    let union = [0.0, 0.5, 1.0, 2.0, 2.5, 4.0];
    let series: Vec<ObservedSeries> =
        own.iter().enumerate().map(|(idx, times)| walk(idx as u64, times)).collect();
    let padded = series.iter().map(|series| {
        let values = union.iter().flat_map(|time| {
            let row = series.times().iter().position(|own| own == time);
            row.map_or([f64::NAN; 2], |row| [series.row(row)[0], series.row(row)[1]])
        });
        ObservedSeries::new(series.name(), 2, union.to_vec(), values.collect()).unwrap()
    });
    let padded = set(padded.collect());
    let settings = BridgeSettings { schedule_steps: 60, ..BridgeSettings::default() };
    let elbo = |data: &SeriesSet| {
        let mut trainer = trainer(data, settings.clone());
        for _ in 0..60 {
            trainer.step().unwrap();
        }
        trainer.full_elbo().unwrap().elbo()
    };
    let (own, union) = (elbo(&set(series)), elbo(&padded));
    // Identical grids and cells: not even the rounding differs.
    assert_eq!(own, union);
}

#[test]
fn the_same_seed_gives_the_same_bits_for_any_number_of_threads() {
    let times: Vec<f64> = (0..2000).map(f64::from).collect();
    let data = set(vec![walk(1, &times), walk(2, &times[..700])]);
    let settings = BridgeSettings { instantaneous: true, ..BridgeSettings::default() };
    let run = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| {
            let mut trainer = trainer(&data, settings.clone());
            for _ in 0..10 {
                trainer.step().unwrap();
            }
            trainer.state().clone()
        })
    };
    assert!(run(1) == run(2));
}

#[test]
fn a_kept_state_goes_on_bit_for_bit() {
    let times: Vec<f64> = (0..400).map(f64::from).collect();
    let data = set(vec![walk(1, &times), walk(2, &times)]);
    let settings =
        BridgeSettings { batch_numbers: 256, schedule_steps: 40, ..BridgeSettings::default() };
    let mut whole = trainer(&data, settings.clone());
    let mut kept = None;
    for step in 0..30 {
        if step == 17 {
            kept = Some(whole.state().clone());
        }
        whole.step().unwrap();
    }
    let knowledge = EdgePrior::new(2, 0.0);
    let mut resumed =
        BridgeTrainer::resume(&data, &knowledge, settings.check().unwrap(), kept.unwrap()).unwrap();
    for _ in 17..30 {
        resumed.step().unwrap();
    }
    assert!(whole.state() == resumed.state());
}

#[test]
fn edges_are_ranked_by_log_odds_where_all_probabilities_round_to_one() {
    let times: Vec<f64> = (0..50).map(f64::from).collect();
    let data = set(vec![walk(1, &times)]);
    let settings = BridgeSettings::default().check().unwrap();
    let knowledge = EdgePrior::new(2, 0.0);
    let first = BridgeTrainer::new(&data, &knowledge, settings.clone()).unwrap();
    let mut state = first.state().clone();
    let logits = [40.0, 60.0, 50.0, 45.0];
    first.model().lagged().edge_logits.of_mut(&mut state.parameters).copy_from_slice(&logits);
    let trainer = BridgeTrainer::resume(&data, &knowledge, settings, state).unwrap();
    assert_eq!(trainer.edge_probabilities(), [1.0; 4]);
    let ranked = Training::edge_scores(&trainer).ranked();
    let pairs: Vec<(usize, usize)> =
        ranked.iter().map(|&(source, target, _)| (source, target)).collect();
    assert_eq!(pairs, [(0, 1), (1, 0), (1, 1), (0, 0)]);
}

#[test]
fn fixed_edges_keep_their_probability_exactly() {
    let times: Vec<f64> = (0..50).map(f64::from).collect();
    let data = set(vec![walk(1, &times)]);
    let mut knowledge = EdgePrior::new(2, 0.0);
    knowledge.know(0, 1, 0.0).unwrap();
    knowledge.know(1, 0, 1.0).unwrap();
    let settings = BridgeSettings { schedule_steps: 50, ..BridgeSettings::default() };
    let mut trainer = BridgeTrainer::new(&data, &knowledge, settings.check().unwrap()).unwrap();
    for _ in 0..50 {
        trainer.step().unwrap();
    }
    let probabilities = trainer.edge_probabilities();
    assert_eq!((probabilities[1], probabilities[2]), (0.0, 1.0));
    assert!((0.0..1.0).contains(&probabilities[0]) && probabilities[0] > 0.0);
}
