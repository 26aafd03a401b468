//! The default may take equations with products: systems whose drift is no polynomial must not look surer by that.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::bridge::memory::{BridgeShape, predicted_bytes};
use driftgraph_core::train::progress::{Part, Silent};
use driftgraph_core::train::select::{
    EQUATIONS, SelectSettings, Selection, Task, fit_ensemble, found_equations, select,
};
use driftgraph_core::{SeriesSet, SignatureGraph};
use driftgraph_systems::generate::generate;
use driftgraph_systems::recipe::Recipe;
use driftgraph_systems::{MeasurementNoise, registry};

/// Without node functions: they cost most of the time and say nothing here.
fn settings(try_equations: bool) -> SelectSettings {
    SelectSettings { try_equations, try_neural: false, ..SelectSettings::default() }
}

/// What is chosen, and the model that comes of it.
fn fitted(data: &SeriesSet, settings: &SelectSettings) -> (Selection, FittedModel) {
    let knowledge = EdgePrior::new(data.n_variables(), 0.0);
    let task = Task { data, knowledge: &knowledge };
    let selection = select(task, settings, &Silent).unwrap();
    let model = if let Some(equations) = selection.equations() {
        let fit = found_equations(task, equations, Part::WHOLE, &Silent).unwrap();
        FittedModel::from_polynomial(fit, *equations, &knowledge, data).unwrap()
    } else {
        let ensemble = fit_ensemble(task, selection.winner(), 1, &Silent).unwrap();
        FittedModel::from_ensemble(&ensemble, &knowledge, data)
    };
    (selection, model)
}

fn n_surely_false(model: &FittedModel, truth: &SignatureGraph) -> usize {
    let edges = model.edges();
    let sure = edges.iter().filter(|edge| edge.probability.is_some_and(|share| share > 0.9));
    sure.filter(|edge| !truth.has_edge(edge.source, edge.target)).count()
}

fn observed(system: &str, parameters: &[(&str, f64)], seed: u64) -> (SeriesSet, SignatureGraph) {
    let system = registry::build(system, parameters, seed).unwrap();
    let usual = Recipe::usual(system.as_ref(), seed);
    let recipe = Recipe { n_series: 8, n_points: 60, ..usual };
    (generate(system.as_ref(), &recipe).unwrap().data, system.true_graph())
}

#[test]
fn sines_taken_for_polynomials_claim_no_more_that_is_false() {
    let parameters = [("variables", 6.0), ("parents", 2.0), ("noise", 0.1)];
    let mut was_tried = 0;
    for seed in 1000..1002 {
        let (data, truth) = observed("kuramoto", &parameters, seed);
        let (selection, with) = fitted(&data, &settings(true));
        let (_, without) = fitted(&data, &settings(false));
        was_tried += usize::from(selection.candidates.iter().any(|one| one.name == EQUATIONS));
        let (with, without) = (n_surely_false(&with, &truth), n_surely_false(&without, &truth));
        assert!(with <= without, "seed {seed}: {with} and {without}, {:?}", selection.skipped);
    }
    assert!(was_tried > 0, "a test that cannot fail");
}

#[test]
fn linear_drift_leaves_no_reason_to_look_for_products() {
    let (data, _) = observed("linear", &[("variables", 6.0), ("parents", 2.0)], 1000);
    let (selection, _) = fitted(&data, &settings(true));
    assert!(selection.equations().is_none());
    let sentence = "equations were not tried: products of variables explain nothing";
    let skipped = &selection.skipped;
    assert!(skipped.iter().any(|reason| reason.starts_with(sentence)), "{skipped:?}");
}

#[test]
fn a_hundred_genes_get_no_equations_and_need_no_memory_for_them() {
    let (small, _) = observed("gene-network", &[("variables", 10.0)], 1000);
    let (large, _) = observed("gene-network", &[("variables", 100.0)], 1000);
    let bytes = |data: &SeriesSet, try_equations: bool| {
        let settings = settings(try_equations);
        let shape = BridgeShape::new(data, &settings.base).unwrap();
        predicted_bytes(&shape, &settings, true, 1)
    };
    let [without, with] = [false, true].map(|tried| bytes(&small, tried));
    assert!(without < with && with < 1 << 30, "{without} {with}");
    assert_eq!(bytes(&large, true), bytes(&large, false));
}

/// Lorenz's systems, five series of fifty rows, of which 5 % of each deviation is noise of the measurements.
fn noisy(system: &str, parameters: &[(&str, f64)], seed: u64) -> (SeriesSet, SignatureGraph) {
    let system = registry::build(system, parameters, seed).unwrap();
    let usual = Recipe::usual(system.as_ref(), seed);
    let noise = MeasurementNoise::Relative(0.05);
    let recipe = Recipe { n_series: 5, n_points: 50, time_range: (0.0, 4.9), noise, ..usual };
    (generate(system.as_ref(), &recipe).unwrap().data, system.true_graph())
}

#[test]
fn right_equations_are_taken_where_all_they_leave_is_noise_of_the_measurements() {
    // Both have most of all pairs as true edges: 8 of 9 and 24 of 36.
    for (data, truth) in
        [noisy("lorenz63", &[], 2000), noisy("lorenz96", &[("variables", 6.0)], 2001)]
    {
        let (selection, model) = fitted(&data, &settings(true));
        assert!(selection.equations().is_some(), "{:?}", selection.skipped);
        for edge in model.edges() {
            let is_claimed = edge.probability.is_some_and(|share| share > 0.5);
            assert_eq!(is_claimed, truth.has_edge(edge.source, edge.target), "{edge:?}");
        }
    }
}
