//! Data that no method can do much with: each says so in words or gives numbers, and none panics or gives a number that is none.
//!
//! One table of data for the whole registry, so that a new method is asked the same questions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{ObservedSeries, SeriesSet};
use driftgraph_methods::{FitPlan, METHODS, Method};
use serde_json::{Value, json};

/// The method with settings that make it quick.
fn quick(method: &dyn Method) -> FitPlan {
    let settings = match method.name() {
        "bridge" => json!({"steps": 15, "ensemble": 1, "select": "none"}),
        "simulated" => json!({"steps": 3, "hidden_size": 8, "context_size": 4}),
        "dyngenie3" => json!({"trees": 5}),
        "cuts" => json!({"fill_after": 1, "masked_epochs": 1, "last_epochs": 1, "hidden_size": 8}),
        "rhino" | "rhino-noinst" => json!({"rounds": 1, "steps": 3, "hidden_size": 8}),
        "lsde" => json!({"steps": 3, "units": 4, "hidden_size": 8, "context_size": 4}),
        _ if method.settings().iter().any(|setting| setting.name == "steps") => json!({"steps": 3}),
        _ => json!({}),
    };
    let Value::Object(settings) = settings else { panic!("settings are an object") };
    FitPlan::named(method.name()).unwrap().with(settings).unwrap()
}

/// Series of so many rows whose cells are made from noise by `cell`, given row and column.
fn set(
    n_variables: usize,
    lengths: &[usize],
    cell: impl Fn(usize, usize, f64) -> f64,
) -> SeriesSet {
    let series = lengths.iter().enumerate().map(|(number, &n_rows)| {
        let mut random = RandomStream::new(11, Purpose::System, number as u64);
        let values = (0..n_rows * n_variables)
            .map(|idx| cell(idx / n_variables, idx % n_variables, random.normal()))
            .collect();
        let times = (0..n_rows).map(|row| row as f64).collect();
        ObservedSeries::new(format!("s{number}"), n_variables, times, values).unwrap()
    });
    let names = (0..n_variables).map(|idx| format!("x{idx}")).collect();
    SeriesSet::new(names, series.collect()).unwrap()
}

/// Every kind of bad data, with its name.
fn table() -> Vec<(&'static str, SeriesSet)> {
    let plain = |_: usize, _: usize, value: f64| value;
    let constant = |_: usize, idx: usize, value: f64| if idx == 1 { 3.0 } else { value };
    let empty = |_: usize, idx: usize, value: f64| if idx == 1 { f64::NAN } else { value };
    let copied = |row: usize, idx: usize, value: f64| {
        if idx < 2 { (row as f64 * 0.7).sin() } else { value }
    };
    let holed = |row: usize, idx: usize, value: f64| {
        if (row + idx).is_multiple_of(2) { f64::NAN } else { value }
    };
    let huge = |_: usize, idx: usize, value: f64| if idx == 0 { 1e150 * value } else { value };
    let line = |row: usize, idx: usize, value: f64| if idx == 0 { row as f64 } else { value };
    vec![
        ("one series of one row", set(2, &[1], plain)),
        ("one series of two rows", set(2, &[2], plain)),
        ("one series of three rows", set(3, &[3], plain)),
        ("many series of one row", set(2, &[1; 12], plain)),
        ("many series of two rows", set(2, &[2; 12], plain)),
        ("a constant column", set(3, &[40], constant)),
        ("all columns constant", set(2, &[30], |_, _, _| 1.0)),
        ("a column without values", set(3, &[40], empty)),
        ("two columns alike", set(3, &[40], copied)),
        ("more parameters than rows", set(25, &[12], plain)),
        ("more variables than rows of any series", set(12, &[6; 4], plain)),
        ("every other cell missing", set(3, &[40], holed)),
        ("one huge unit", set(3, &[40], huge)),
        ("a straight line", set(2, &[30], line)),
        ("a single variable", set(1, &[30], plain)),
        ("lengths that differ", set(2, &[1, 40, 3], plain)),
    ]
}

#[test]
fn every_method_refuses_bad_data_in_words_or_gives_numbers() {
    let table = table();
    for method in METHODS {
        let plan = quick(*method);
        for (what, data) in &table {
            let what = format!("`{}` on {what}", method.name());
            match plan.learn(data, &Silent) {
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.len() > 20 && !text.contains("NaN"), "{what}: {text}");
                }
                Ok(learned) => {
                    let n = data.n_variables();
                    assert_eq!(learned.edges.len(), n * n, "{what}");
                    for edge in &learned.edges {
                        let numbers = [
                            edge.probability,
                            edge.effect,
                            edge.strength,
                            edge.effect_instantaneous,
                            edge.probability_lagged,
                            edge.probability_instantaneous,
                        ];
                        assert!(
                            !edge.score.is_nan()
                                && numbers.into_iter().flatten().all(|number| !number.is_nan()),
                            "{what}: {edge:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_single_series_of_two_rows_is_refused_by_methods_that_need_a_past() {
    for method in METHODS {
        let has_past = ["pcmci", "pcmci-plus", "varlingam", "dyngenie3", "ngm", "cuts", "lsde"]
            .contains(&method.name())
            || method.name().starts_with("rhino");
        let found = quick(*method).learn(&set(2, &[2], |_, _, value| value), &Silent);
        if has_past {
            let text = found.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(text.contains("row"), "`{}`: {text:?}", method.name());
        }
    }
}

#[test]
fn a_training_that_explodes_is_noticed_said_and_begun_again_unless_that_is_forbidden() {
    // A learning rate hundreds of times too large throws the paths away from the data for good.
    let data =
        set(2, &[30; 2], |row, idx, value| (row as f64 * 0.3 + idx as f64).sin() + 0.1 * value);
    let wild = json!({
        "steps": 220, "hidden_size": 8, "context_size": 4, "embedding_size": 4, "node_width": 8,
        "learning_rate": 1.0, "warmup_steps": 1, "learning_rate_decay": "constant",
        "learn_noise_scale": false, "noise_scale": 0.01,
    });
    let learned = |restarts: u64| {
        let mut settings = wild.as_object().unwrap().clone();
        settings.insert("restarts".to_owned(), restarts.into());
        let plan = FitPlan::named("simulated").unwrap().with(settings).unwrap();
        plan.learn(&data, &Silent).unwrap()
    };
    let kept = learned(0);
    let said = kept.remarks.join("\n");
    assert!(said.contains("seed 0 exploded and stays stuck"), "{said}");
    assert_eq!(kept.training.seed, Some(0));
    let again = learned(1);
    let said = again.remarks.join("\n");
    assert!(said.contains("seed 0 was stuck and given up"), "{said}");
    assert_eq!(again.training.seed, Some(1_000_000));
}
