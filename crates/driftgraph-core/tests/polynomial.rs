//! Polynomial drift from coarse rows: known systems are found, and what an SDE leaves as it is stays as it is.

use std::ops::ControlFlow;
use std::sync::Mutex;

use driftgraph_core::fitted::edges::LearnedEdge;
use driftgraph_core::fitted::model::{FittedModel, ModelDescription};
use driftgraph_core::fitted::simulate::SimulateSettings;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::bridge::BridgeSettings;
use driftgraph_core::train::polynomial::{
    OtherTerms, PolynomialFit, PolynomialSettings, PolynomialTask, fit_polynomial,
};
use driftgraph_core::train::progress::{Checkpoint, Part, Progress, Silent, Step};
use driftgraph_core::train::select::{Task, fit_ensemble};
use driftgraph_core::{SeriesSet, SignatureGraph};
use driftgraph_systems::generate::generate;
use driftgraph_systems::recipe::Recipe;
use driftgraph_systems::registry;

const SETTINGS: PolynomialSettings = PolynomialSettings {
    degree: 2,
    sub_step: 0.17,
    largest_gap: 1.3,
    other: OtherTerms { saturations: false, waves: false },
};

struct Known {
    data: SeriesSet,
    truth: SignatureGraph,
}

fn known(system: &str, n_variables: f64, gap: f64, seed: u64) -> Known {
    let system = registry::build(system, &[("variables", n_variables)], seed).unwrap();
    let usual = Recipe::usual(system.as_ref(), seed);
    let time_range = (0.0, 49.0 * gap);
    let recipe = Recipe { n_series: 5, n_points: 50, time_range, step_size: 0.005, ..usual };
    let data = generate(system.as_ref(), &recipe).unwrap().data;
    Known { data, truth: system.true_graph() }
}

fn found(data: &SeriesSet, settings: &PolynomialSettings) -> PolynomialFit {
    let knowledge = EdgePrior::new(data.n_variables(), 0.0);
    let task = PolynomialTask { data, knowledge: &knowledge, settings };
    fit_polynomial(task, Part::WHOLE, &Silent).unwrap()
}

fn log_odds(fit: &PolynomialFit, n: usize) -> Vec<f64> {
    fit.edges(&EdgePrior::new(n, 0.0)).unwrap().log_odds
}

fn model(fit: PolynomialFit, data: &SeriesSet) -> FittedModel {
    let knowledge = EdgePrior::new(data.n_variables(), 0.0);
    FittedModel::from_polynomial(fit, SETTINGS, &knowledge, data).unwrap()
}

/// Edges in the order of a matrix.
fn edges(model: &FittedModel) -> Vec<LearnedEdge> {
    let mut edges = model.edges();
    edges.sort_by_key(|edge| (edge.source, edge.target));
    edges
}

fn assert_exact(gap: f64) {
    let Known { data, truth } = known("lorenz96", 6.0, gap, 100);
    let fit = found(&data, &SETTINGS);
    assert_eq!(fit.degree, 2, "{:?}", fit.over_linear);
    let odds = log_odds(&fit, 6);
    for source in 0..6 {
        for target in 0..6 {
            let log_odds = odds[source * 6 + target];
            assert_eq!(
                log_odds > 0.0,
                truth.has_edge(source, target),
                "{source} -> {target}: {log_odds}"
            );
        }
    }
}

#[test]
fn lorenz_with_six_variables_is_found_exactly_at_a_gap_of_a_quarter() {
    assert_exact(0.25);
}

#[test]
fn lorenz_with_six_variables_is_found_exactly_at_a_gap_of_a_half() {
    assert_exact(0.5);
}

#[test]
fn equations_of_lorenz_are_in_the_users_units() {
    // dx_j/dt = (x_{j+1} - x_{j-2}) x_{j-1} - x_j + 10, from rows a tenth of a unit of time apart.
    let Known { data, .. } = known("lorenz96", 6.0, 0.1, 101);
    let fit = found(&data, &SETTINGS);
    for equation in &fit.equations() {
        let at = |offset: usize| (equation.target + offset) % 6;
        let product = |a: usize, b: usize| vec![a.min(b), a.max(b)];
        let wanted = [
            (vec![], 10.0),
            (vec![at(0)], -1.0),
            (product(at(1), at(5)), 1.0),
            (product(at(4), at(5)), -1.0),
        ];
        for (factors, value) in wanted {
            let term = equation.terms.iter().find(|term| term.factors == factors);
            let term = term.unwrap_or_else(|| panic!("{factors:?} is missing: {equation:?}"));
            // Noise of 0.5 over 25 units of time: about 0.1 of the rate of decay, and less of the products.
            assert!((term.coefficient / value - 1.0).abs() < 0.35, "{factors:?}: {term:?}");
            let [low, high] = term.interval.unwrap();
            assert!(low < term.coefficient && term.coefficient < high);
        }
        assert!(equation.terms.len() <= 6, "{equation:?}");
    }
}

#[test]
fn a_linear_system_keeps_linear_terms() {
    let Known { data, .. } = known("linear", 4.0, 0.5, 102);
    let fit = found(&data, &SETTINGS);
    assert_eq!(fit.degree, 1, "{:?}", fit.over_linear);
    assert!(fit.over_linear.is_some_and(|nats| nats < 0.0));
    let whole = found(&data, &PolynomialSettings { degree: 1, ..SETTINGS });
    assert_eq!(log_odds(&whole, 4), log_odds(&fit, 4));
}

#[test]
fn rows_half_a_decay_time_apart_give_its_rate() {
    // dx = -x / 2 dt + dw, in its exact law over gaps of 1: decay exp(-1/2), variance 1 - exp(-1).
    const RATE: f64 = 0.5;
    let (decay, spread) = ((-RATE).exp(), (1.0 - (-2.0 * RATE).exp()).sqrt());
    let mut state = 7_u64;
    let mut uniform = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    // Twelve uniform numbers have the variance of a normal one.
    let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let series = (0..10).map(|number| {
        let mut x = [normal(), normal()];
        let rows = (0..100).flat_map(|_| {
            x = x.map(|x| decay * x + spread * normal());
            x
        });
        let values: Vec<f64> = rows.collect();
        let times = (0..100).map(f64::from).collect();
        driftgraph_core::ObservedSeries::new(format!("s{number}"), 2, times, values).unwrap()
    });
    let data = SeriesSet::new(vec!["a".into(), "b".into()], series.collect()).unwrap();
    let fit = found(&data, &SETTINGS);
    let odds = log_odds(&fit, 2);
    let edges = edges(&model(fit, &data));
    for variable in 0..2 {
        let rate = edges[variable * 3].effect.unwrap();
        // A thousand steps tell the rate to 0.04; without the gradient of the log-determinant it would be near 0.
        assert!((rate + RATE).abs() < 0.15, "{rate}");
        assert!(odds[variable * 3] > 10.0 && odds[1 + variable] < 0.0);
    }
}

#[test]
fn half_the_sub_step_changes_little() {
    let Known { data, .. } = known("lorenz96", 5.0, 0.2, 103);
    let coarse = found(&data, &SETTINGS);
    let fine = found(&data, &PolynomialSettings { sub_step: 0.085, ..SETTINGS });
    let [coarse, fine] = [coarse, fine].map(|fit| edges(&model(fit, &data)));
    for (a, b) in coarse.iter().zip(&fine) {
        // The error of the midpoint rule is of second order: 0.17² of effects of about 10 per unit of time.
        assert!((a.strength.unwrap() - b.strength.unwrap()).abs() < 0.3, "{a:?} and {b:?}");
    }
}

#[test]
fn the_unit_of_time_and_of_a_variable_changes_nothing_but_units() {
    let Known { data, .. } = known("lorenz96", 4.0, 0.2, 104);
    let fit = found(&data, &SETTINGS);
    let series = data.series().iter().map(|one| {
        let times = one.times().iter().map(|time| time * 8.0).collect();
        let values = one.values().iter().map(|value| value * 4.0 + 64.0).collect();
        driftgraph_core::ObservedSeries::new(one.name(), 4, times, values).unwrap()
    });
    let other = SeriesSet::new(data.variables().to_vec(), series.collect()).unwrap();
    let other_fit = found(&other, &SETTINGS);
    for (a, b) in log_odds(&fit, 4).iter().zip(&log_odds(&other_fit, 4)) {
        // Rounding of standardised values, through some tens of rounds of descent that end by a tolerance.
        assert!((a - b).abs() < 1e-3 * (1.0 + a.abs()), "{a} and {b}");
    }
    let (own, others) = (edges(&model(fit, &data)), edges(&model(other_fit, &other)));
    for (a, b) in own.iter().zip(&others) {
        let (own, other) = (a.effect.unwrap(), b.effect.unwrap());
        assert!((own / 8.0 - other).abs() < 1e-4, "{a:?} and {b:?}");
    }
}

#[test]
fn a_model_with_equations_is_read_back_as_it_was_and_simulates_what_it_was_fitted_to() {
    let Known { data, .. } = known("lorenz96", 5.0, 0.2, 105);
    let model = model(found(&data, &SETTINGS), &data);
    let text = serde_json::to_string(&model.description()).unwrap();
    let description: ModelDescription = serde_json::from_str(&text).unwrap();
    let back = FittedModel::from_parts(description, &model.arrays()[..]).unwrap();
    assert_eq!(back.edges(), model.edges());
    assert_eq!(back.equations(), model.equations());
    let times: Vec<f64> = (0..20).map(|step| 0.2 * f64::from(step)).collect();
    let settings = SimulateSettings { n_paths: 40, seed: 3, ..SimulateSettings::new(times) };
    let paths = back.simulate(&settings, None, &|_| {}).unwrap();
    // Lorenz with a force of 10 stays between about -10 and 15; a solver that feeds energy into it would not.
    assert!(paths.states.iter().all(|value| value.abs() < 40.0));
    assert_eq!(paths, model.simulate(&settings, None, &|_| {}).unwrap());
}

#[test]
fn forbidden_edges_have_no_terms_and_required_ones_are_certain() {
    let Known { data, .. } = known("lorenz96", 5.0, 0.2, 106);
    let mut knowledge = EdgePrior::new(5, 0.0);
    // 1 drives 0 in truth, 3 does not.
    knowledge.know(1, 0, 0.0).unwrap();
    knowledge.know(2, 0, 1.0).unwrap();
    let task = PolynomialTask { data: &data, knowledge: &knowledge, settings: &SETTINGS };
    let fit = fit_polynomial(task, Part::WHOLE, &Silent).unwrap();
    let equation = &fit.equations()[0];
    assert!(equation.terms.iter().all(|term| !term.factors.contains(&1)), "{equation:?}");
    let edges = fit.edges(&knowledge).unwrap();
    assert_eq!(edges.probabilities()[5], 0.0);
    assert_eq!(edges.probabilities()[10], 1.0);
}

/// Keeps what is told under the part's name, and stops after so many steps.
struct Stopper {
    left: Mutex<usize>,
    kept: Mutex<Option<(String, Checkpoint)>>,
}

impl Progress for Stopper {
    fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
        let mut left = self.left.lock().unwrap();
        *left -= 1;
        if *left > 0 {
            return ControlFlow::Continue(());
        }
        *self.kept.lock().unwrap() = Some((step.part.to_string(), step.training.state()));
        ControlFlow::Break(())
    }

    fn find(&self, name: &str, depends_on: &str) -> Option<Vec<u8>> {
        let kept = self.kept.lock().unwrap();
        let own =
            kept.as_ref().filter(|(part, kept)| part == name && kept.depends_on == depends_on);
        own.map(|(_, kept)| kept.bytes.clone())
    }
}

#[test]
fn a_search_that_was_stopped_again_and_again_ends_with_the_same_bits() {
    let Known { data, .. } = known("lorenz96", 4.0, 0.2, 107);
    let knowledge = EdgePrior::new(4, 0.0);
    let task = PolynomialTask { data: &data, knowledge: &knowledge, settings: &SETTINGS };
    let whole = found(&data, &SETTINGS);
    assert!(whole.is_complete);
    let stopper = Stopper { left: Mutex::new(0), kept: Mutex::new(None) };
    let mut n_stops = 0;
    loop {
        // Within a descent, where it learns the prior, and between two libraries.
        *stopper.left.lock().unwrap() = 1 + n_stops % 4;
        let fit = fit_polynomial(task, Part::WHOLE, &stopper).unwrap();
        if fit.is_complete {
            assert!(fit == whole, "after {n_stops} stops");
            break;
        }
        assert!(!fit.belief.has_converged && !fit.paths.is_empty());
        n_stops += 1;
    }
    assert!(n_stops > 5, "{n_stops}");
}

#[test]
fn a_linear_system_has_the_edges_and_effects_of_the_linear_candidate() {
    let Known { data, truth } = known("linear", 5.0, 0.2, 108);
    let knowledge = EdgePrior::new(5, 0.0);
    let fit = found(&data, &SETTINGS);
    // The evidence takes linear terms alone.
    assert_eq!(fit.degree, 1);
    let polynomial = edges(&model(fit, &data));
    let task = Task { data: &data, knowledge: &knowledge };
    let ensemble = fit_ensemble(task, &BridgeSettings::default(), 1, &Silent).unwrap();
    let linear = edges(&FittedModel::from_ensemble(&ensemble, &knowledge, &data));
    assert_eq!(polynomial.len(), linear.len());
    let mut n_compared = 0;
    for (own, other) in polynomial.iter().zip(&linear) {
        assert_eq!(own.ends(), other.ends());
        let is_true = truth.has_edge(own.source, own.target);
        // What both are sure of is the same, and so is its strength: within what each leaves open, and steps of a fifth of the
        // unit of time, which the linear candidate takes for as long as rows are apart.
        let [p, q] = [own, other].map(|edge| edge.probability.unwrap());
        assert!((p - q).abs() < 0.9, "{:?}: {p} and {q}", own.ends());
        if is_true && p.min(q) > 0.5 {
            let [a, b] = [own, other].map(|edge| edge.effect.unwrap());
            let [low, high] = other.interval.unwrap();
            assert!(
                (a - b).abs() < (high - low).max(0.1 * b.abs()),
                "{:?}: {a} and {b}",
                own.ends()
            );
            n_compared += 1;
        }
    }
    assert!(n_compared >= 4, "{n_compared}");
}
