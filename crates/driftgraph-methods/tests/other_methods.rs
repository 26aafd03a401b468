//! What the methods of others owe their user here: bad data are told, never a panic or a number that is none.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;
use std::sync::Mutex;

use driftgraph_core::fitted::edges::{Direction, EdgeKind};
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::progress::{Checkpoint, Progress, Silent, Step};
use driftgraph_core::{EdgeScores, ObservedSeries, SeriesSet};
use driftgraph_methods::{FitPlan, Learned, MethodError, edge_scores};
use serde_json::{Map, Value, json};

/// All of them, with settings that make them quick.
fn plans() -> Vec<FitPlan> {
    let quick = |name: &str| match name {
        "dyngenie3" => json!({"trees": 10}),
        "ngm" => json!({"steps": 3, "standardize": true}),
        "rhino" | "rhino-noinst" => json!({"rounds": 1, "steps": 3, "hidden_size": 8}),
        "cuts" => json!({"fill_after": 1, "masked_epochs": 1, "last_epochs": 1, "hidden_size": 8}),
        "lsde" => json!({"steps": 3, "units": 4, "hidden_size": 8, "context_size": 4}),
        _ => json!({}),
    };
    [
        "pcmci",
        "pcmci-plus",
        "varlingam",
        "dyngenie3",
        "ngm",
        "cuts",
        "rhino",
        "rhino-noinst",
        "lsde",
    ]
    .map(|name| plan(name, quick(name)))
    .to_vec()
}

fn plan(name: &str, settings: Value) -> FitPlan {
    let Value::Object(settings) = settings else { panic!("settings are an object") };
    FitPlan::named(name).unwrap().with(settings).unwrap()
}

fn learned(plan: &FitPlan, data: &SeriesSet) -> Result<Learned, MethodError> {
    plan.learn(data, &Silent)
}

fn scores(plan: &FitPlan, data: &SeriesSet) -> EdgeScores {
    edge_scores(&learned(plan, data).unwrap().edges, data.n_variables()).unwrap()
}

fn set(n_variables: usize, series: Vec<ObservedSeries>) -> SeriesSet {
    SeriesSet::new((0..n_variables).map(|idx| format!("x{idx}")).collect(), series).unwrap()
}

/// Noise with a memory, where each variable also follows the one before it.
fn noise(n_variables: usize, n_rows: usize, name: &str) -> ObservedSeries {
    let mut random = RandomStream::new(7, Purpose::System, name.len() as u64);
    let mut state = vec![0.0; n_variables];
    let mut values = Vec::new();
    for _ in 0..n_rows {
        let before = state.clone();
        for (idx, value) in state.iter_mut().enumerate() {
            let driver = if idx > 0 { before[idx - 1] } else { 0.0 };
            *value = 0.4 * before[idx] + 0.5 * driver + random.uniform().powi(2);
        }
        values.extend_from_slice(&state);
    }
    ObservedSeries::new(name, n_variables, (0..n_rows).map(|row| row as f64).collect(), values)
        .unwrap()
}

fn changed(series: &ObservedSeries, cell: impl Fn(usize, usize, f64) -> f64) -> ObservedSeries {
    let n = series.n_variables();
    let values =
        series.values().iter().enumerate().map(|(idx, &value)| cell(idx / n, idx % n, value));
    ObservedSeries::new(series.name(), n, series.times().to_vec(), values.collect()).unwrap()
}

fn assert_finite(plan: &FitPlan, data: &SeriesSet, what: &str) {
    for edge in learned(plan, data).unwrap().edges {
        let numbers = [Some(edge.score), edge.effect, edge.strength, edge.effect_instantaneous];
        assert!(numbers.into_iter().flatten().all(f64::is_finite), "{plan:?} {what}: {edge:?}");
    }
}

#[test]
fn two_rows_are_refused_in_words() {
    let data = set(2, vec![noise(2, 2, "run")]);
    for plan in plans() {
        let error = learned(&plan, &data).err().unwrap().to_string();
        assert!(error.contains("rows"), "{plan:?}: {error}");
    }
}

#[test]
fn a_constant_column_is_told_and_has_no_edges() {
    let data = set(
        3,
        vec![changed(&noise(3, 60, "run"), |_, idx, value| if idx == 1 { 7.0 } else { value })],
    );
    for plan in plans() {
        assert_finite(&plan, &data, "constant column");
        let found = scores(&plan, &data);
        let told = learned(&plan, &data).unwrap();
        let remarks = told.remarks.join("; ");
        assert!(remarks.contains("`x1` is constant"), "{plan:?}: {remarks}");
        assert_eq!(told.training.left_out.len(), 1, "{plan:?}");
        for other in 0..3 {
            assert_eq!((found.score(1, other), found.score(other, 1)), (0.0, 0.0), "{plan:?}");
        }
        for edge in told.edges.iter().filter(|edge| edge.source == 1 || edge.target == 1) {
            assert_eq!(edge.probability.unwrap_or(0.0), 0.0, "{plan:?}: {edge:?}");
        }
    }
}

#[test]
fn a_column_without_values_is_told_or_passed_over() {
    let data = set(
        3,
        vec![changed(
            &noise(3, 60, "run"),
            |_, idx, value| if idx == 1 { f64::NAN } else { value },
        )],
    );
    for plan in plans() {
        match learned(&plan, &data) {
            Ok(_) => assert_finite(&plan, &data, "column without values"),
            Err(error) => assert!(error.to_string().contains("complete"), "{plan:?}: {error}"),
        }
    }
}

#[test]
fn more_variables_than_rows_give_numbers_or_a_reason() {
    let data = set(30, vec![noise(30, 14, "run")]);
    for plan in plans() {
        match learned(&plan, &data) {
            Ok(_) => assert_finite(&plan, &data, "more variables than rows"),
            Err(error) => assert!(
                error.to_string().contains("30 variables need at least")
                    && !error.to_string().contains("fill holes"),
                "there are no holes to fill; {plan:?}: {error}"
            ),
        }
    }
    let data = set(10, vec![noise(10, 14, "run")]);
    for lags in [1, 3] {
        let plan = plan("varlingam", json!({"lags": lags, "criterion": "none"}));
        let found = learned(&plan, &data);
        if let Ok(found) = found {
            assert!(
                found.remarks.iter().any(|remark| remark.contains("too few to prune")),
                "{:?}",
                found.remarks
            );
        }
    }
}

#[test]
fn a_past_with_as_many_coefficients_as_rows_is_fitted_by_ridge_regression_and_says_so() {
    // 12 variables, 2 lags: 24 coefficients for 21 rows.
    let data = set(12, vec![noise(12, 23, "run")]);
    let plan = plan("varlingam", json!({"lags": 2, "criterion": "none"}));
    assert_finite(&plan, &data, "ridge");
    let remarks = learned(&plan, &data).unwrap().remarks.join("; ");
    assert!(
        remarks.contains("21 rows for 24 coefficients each") && remarks.contains("ridge"),
        "{remarks}"
    );
}

#[test]
fn copies_and_a_single_variable_give_numbers() {
    let copies = changed(&noise(3, 80, "run"), |_, _, value| value);
    let copies = {
        let rows = (0..80)
            .flat_map(|row| [copies.row(row)[0], copies.row(row)[1], 2.0 * copies.row(row)[0]]);
        ObservedSeries::new("run", 3, copies.times().to_vec(), rows.collect()).unwrap()
    };
    for plan in plans() {
        assert_finite(&plan, &set(3, vec![copies.clone()]), "copies");
        assert_finite(&plan, &set(1, vec![noise(1, 50, "run")]), "one variable");
    }
}

#[test]
fn holes_several_series_and_odd_times_are_taken_and_what_is_done_is_said() {
    let holed =
        changed(
            &noise(3, 60, "a"),
            |row, idx, value| if (row * 3 + idx) % 11 == 0 { f64::NAN } else { value },
        );
    let times = (0..40).map(|row| f64::from(row) + 0.3 * f64::from(row % 3)).collect();
    let odd = ObservedSeries::new("bb", 3, times, noise(3, 40, "bb").values().to_vec()).unwrap();
    let data = set(3, vec![holed, odd, noise(3, 3, "ccc")]);
    for plan in plans() {
        assert_finite(&plan, &data, "holes");
        let remarks = learned(&plan, &data).unwrap().remarks.join("; ");
        assert!(remarks.contains("missing cells: `"), "{remarks}");
    }
}

#[test]
fn huge_and_tiny_units_change_no_correlation() {
    let plain = noise(4, 80, "run");
    let units = [1e-150, 1.0, 1e150, -3.0];
    let scaled = changed(&plain, |_, idx, value| value * units[idx]);
    for name in ["pcmci", "pcmci-plus"] {
        let plan = plan(name, json!({"tau_max": 2}));
        let (found, wanted) = (
            scores(&plan, &set(4, vec![scaled.clone()])),
            scores(&plan, &set(4, vec![plain.clone()])),
        );
        for (found, wanted) in found.matrix().iter().zip(wanted.matrix()) {
            // A division of each value by its largest, and sums of roundings.
            assert!((found - wanted).abs() < 1e-12, "{name}");
        }
    }
}

#[test]
fn without_conditions_pcmci_is_the_plain_lagged_correlation() {
    let series = noise(3, 60, "run");
    let settings = json!({"max_conds_py": 0, "max_conds_px": 0, "tau_min": 1});
    let found = scores(&plan("pcmci", settings), &set(3, vec![series.clone()]));
    let column = |idx: usize, lag: usize| -> Vec<f64> {
        (2..60).map(|row| series.row(row - lag)[idx]).collect()
    };
    for (source, target) in (0..9).map(|idx| (idx / 3, idx % 3)) {
        let wanted = correlation(&column(source, 1), &column(target, 0)).abs();
        // Sums in another order.
        assert!((found.score(source, target) - wanted).abs() < 1e-13);
    }
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let centred = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| value - mean).collect::<Vec<f64>>()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (x, y) = (centred(x), centred(y));
    dot(&x, &y) / (dot(&x, &x) * dot(&y, &y)).sqrt()
}

#[test]
fn permuting_the_variables_permutes_what_does_not_depend_on_their_order() {
    let (plain, order) = (noise(5, 120, "run"), [3, 0, 4, 1, 2]);
    let permuted = changed(&plain, |row, idx, _| plain.row(row)[order[idx]]);
    for name in ["pcmci", "varlingam"] {
        let plan = plan(name, json!({}));
        let (wanted, found) = (
            scores(&plan, &set(5, vec![plain.clone()])),
            scores(&plan, &set(5, vec![permuted.clone()])),
        );
        for (i, j) in (0..25).map(|idx| (idx / 5, idx % 5)) {
            // Sums in another order; no test is near its level in these data.
            assert!((found.score(i, j) - wanted.score(order[i], order[j])).abs() < 1e-10, "{name}");
        }
    }
}

#[test]
fn lags_are_found_with_their_kind_and_sign() {
    let data = set(3, vec![noise(3, 300, "run")]);
    for name in ["pcmci", "pcmci-plus", "varlingam"] {
        let found = learned(&plan(name, json!({})), &data).unwrap().edges;
        let edge = found.iter().find(|edge| (edge.source, edge.target) == (0, 1)).unwrap();
        assert_eq!(
            (edge.kind, edge.direction),
            (Some(EdgeKind::Lagged), Direction::Forward),
            "{name}"
        );
        assert!(edge.sign.is_some() && edge.probability.is_none());
    }
}

#[test]
fn links_within_a_row_are_told_and_oriented_where_the_noise_tells() {
    // y = x + noise in the same row; nothing is lagged, nothing normal.
    let mut random = RandomStream::new(3, Purpose::System, 0);
    let values = (0..400).flat_map(|_| {
        let x = random.uniform();
        [x, 0.8 * x + 0.5 * random.uniform()]
    });
    let values: Vec<f64> = values.collect();
    let series = ObservedSeries::new("run", 2, (0..400).map(f64::from).collect(), values).unwrap();
    let data = set(2, vec![series]);
    let between = |name: &str| {
        let edges = learned(&plan(name, json!({})), &data).unwrap().edges;
        [(0, 1), (1, 0)].map(|ends| {
            edges.iter().find(|edge| (edge.source, edge.target) == ends).unwrap().clone()
        })
    };
    for name in ["pcmci", "pcmci-plus"] {
        let [there, back] = between(name);
        assert!(
            there.is_undirected() && back.is_undirected(),
            "{name}: two variables alone tell no direction"
        );
        assert_eq!(
            (there.kind, there.mirrored, back.mirrored),
            (Some(EdgeKind::WithinStep), false, true)
        );
    }
    let [there, back] = between("varlingam");
    assert_eq!((there.direction, back.direction), (Direction::Forward, Direction::Backward));
    assert!((there.effect.unwrap() - 0.8).abs() < 0.1 && back.mirrored, "{there:?}");
}

#[test]
fn levels_and_lags_out_of_range_are_refused_by_name() {
    for (name, settings, word) in [
        ("pcmci", json!({"pc_alpha": 0.0}), "pc_alpha"),
        ("pcmci-plus", json!({"pc_alpha": "some"}), "pc_alpha"),
        ("pcmci", json!({"tau_min": 3}), "tau_min"),
        ("varlingam", json!({"lags": 0}), "lags"),
    ] {
        let settings: Map<String, Value> = settings.as_object().unwrap().clone();
        let error = FitPlan::named(name).unwrap().with(settings).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{word}` must be")), "{error}");
    }
}

/// Keeps the state after every step, and stops after one of them.
struct Keeping {
    stop_after: u64,
    kept: Mutex<Option<Checkpoint>>,
}

impl Progress for Keeping {
    fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
        *self.kept.lock().unwrap() = Some(step.training.state());
        if step.number == self.stop_after {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn find(&self, _: &str, depends_on: &str) -> Option<Vec<u8>> {
        let kept = self.kept.lock().unwrap();
        kept.as_ref().filter(|kept| kept.depends_on == depends_on).map(|kept| kept.bytes.clone())
    }
}

#[test]
fn a_fit_that_was_stopped_goes_on_to_the_same_bits() {
    let holed =
        changed(&noise(3, 40, "a"), |row, _, value| if row % 9 == 8 { f64::NAN } else { value });
    let data = set(3, vec![holed, noise(3, 40, "bb")]);
    for plan in [
        plan("ngm", json!({"steps": 4, "standardize": true})),
        plan(
            "cuts",
            json!({"fill_after": 2, "masked_epochs": 2, "last_epochs": 2, "hidden_size": 8, "batch_size": 16}),
        ),
        plan("rhino", json!({"rounds": 2, "steps": 5, "hidden_size": 8, "batch_size": 16})),
        plan("lsde", json!({"steps": 8, "units": 4, "hidden_size": 8, "context_size": 4})),
    ] {
        let wanted = scores(&plan, &data);
        // In the first part and in the second, at the end of a round and within it.
        for stop_after in 0..7 {
            let first = Keeping { stop_after, kept: Mutex::new(None) };
            plan.learn(&data, &first).unwrap();
            let again = Keeping { stop_after: u64::MAX, kept: first.kept };
            let found = plan.learn(&data, &again).unwrap();
            assert_eq!(
                edge_scores(&found.edges, 3).unwrap().matrix(),
                wanted.matrix(),
                "{plan:?} {stop_after}"
            );
        }
    }
}
