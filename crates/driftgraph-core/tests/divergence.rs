//! Steps that are not finite: never applied, counted, and in the end diagnosed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::train::error::FitError;
use driftgraph_core::train::preset::Preset;
use driftgraph_core::train::progress::Divergence;
use driftgraph_core::train::settings::{CheckedSettings, FitSettings, KnownEdge};
use driftgraph_core::train::trainer::Trainer;
use driftgraph_core::{ObservedSeries, SeriesSet};

fn data() -> SeriesSet {
    let rows: Vec<f64> = (0..5).map(f64::from).collect();
    let values = rows.iter().flat_map(|t| [t.sin(), t.cos()]).collect();
    let series = ObservedSeries::new("only", 2, rows, values).unwrap();
    SeriesSet::new(vec!["a".into(), "b".into()], vec![series]).unwrap()
}

fn settings() -> CheckedSettings {
    let settings = FitSettings {
        steps: 100,
        patience: 4,
        hidden_size: 4,
        context_size: 3,
        ..Preset::Paper.settings()
    };
    settings.check().unwrap()
}

#[test]
fn a_step_without_a_finite_loss_is_rolled_back_with_half_the_rate() {
    let mut trainer = Trainer::new(&data(), &settings()).unwrap();
    for _ in 0..3 {
        assert_eq!(trainer.step().unwrap().rolled_back, None);
    }
    let mut broken = trainer.state().clone();
    broken.current.parameters[10] = f32::NAN;
    let good = broken.last_good.clone();
    let mut trainer = Trainer::resume(&data(), &settings(), broken).unwrap();
    let report = trainer.step().unwrap();
    assert!(report.rolled_back.is_some());
    let state = trainer.state();
    assert_eq!(state.current, good);
    assert_eq!((state.learning_rate_scale, state.counters.rollbacks), (0.5, 1));
    assert!(state.current.parameters.iter().all(|value| value.is_finite()));
    // The fit goes on from there.
    assert_eq!(trainer.step().unwrap().rolled_back, None);
    assert_eq!(trainer.state().failures_in_a_row, 0);
}

#[test]
fn a_fit_that_never_recovers_stops_with_a_diagnosis_and_the_last_good_model() {
    let mut state = Trainer::new(&data(), &settings()).unwrap().state().clone();
    for snapshot in [&mut state.current, &mut state.last_good] {
        snapshot.parameters[4] = f32::INFINITY;
    }
    let mut trainer = Trainer::resume(&data(), &settings(), state).unwrap();
    for _ in 0..3 {
        assert!(trainer.step().unwrap().rolled_back.is_some());
    }
    let Divergence { step, attempts, last_finite_elbo, .. } = trainer.step().unwrap_err();
    assert_eq!((step, attempts, last_finite_elbo), (3, 4, None));
    assert_eq!(trainer.fit().counters().rollbacks, 4);
}

#[test]
fn floors_that_are_hit_are_counted() {
    // Every diffusion lies below a floor of 1.
    let high = FitSettings { diffusion_floor: 1.0, ..settings().get().clone() };
    let mut trainer = Trainer::new(&data(), &high.check().unwrap()).unwrap();
    // Four steps between five rows, two variables.
    assert_eq!(trainer.step().unwrap().floor_hits, 8);
    assert_eq!(trainer.state().counters.floor_hits, 8);
    let mut trainer = Trainer::new(&data(), &settings()).unwrap();
    assert_eq!(trainer.step().unwrap().floor_hits, 0);
}

#[test]
fn a_state_of_another_model_is_refused() {
    let state = Trainer::new(&data(), &settings()).unwrap().state().clone();
    let wider = FitSettings { hidden_size: 5, ..settings().get().clone() }.check().unwrap();
    let error = Trainer::resume(&data(), &wider, state).unwrap_err();
    assert!(matches!(error, FitError::OtherModel { .. }));
}

#[test]
fn fixed_edges_stay_fixed_and_unknown_variables_are_named() {
    let known = |source: &str, target: &str, probability| KnownEdge {
        source: source.into(),
        target: target.into(),
        probability,
    };
    let rules = vec![known("a", "b", 1.0), known("b", "a", 0.0)];
    let fixed = FitSettings { no_self_loops: true, edge_priors: rules, ..settings().get().clone() };
    let mut trainer = Trainer::new(&data(), &fixed.check().unwrap()).unwrap();
    for _ in 0..3 {
        trainer.step().unwrap();
    }
    assert_eq!(trainer.edge_probabilities(), [0.0, 1.0, 0.0, 0.0]);
    let odd = FitSettings { edge_priors: vec![known("a", "z", 0.0)], ..settings().get().clone() };
    let error = Trainer::new(&data(), &odd.check().unwrap()).unwrap_err();
    assert!(error.to_string().contains("`z`"), "{error}");
}
