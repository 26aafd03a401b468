//! Every run of the reference, compared number by number.

use driftgraph_core::train::progress::Silent;
use driftgraph_core::{ObservedSeries, SeriesSet};
use serde_json::{Map, Value, json};

use super::lags::{LagTable, Mark, Node, Pair};
use super::samples::Samples;
use super::settings::{PcmciSettings, PlusMethodSettings};
use super::*;
use crate::FitPlan;
use crate::regular::{Gaps, regular_series};

/// Regressions there, elimination of correlations here.
const TOLERANCE: f64 = 1e-9;

fn cases() -> Vec<Value> {
    let golden: Value =
        serde_json::from_str(include_str!("../../tests/golden/pcmci.json")).unwrap();
    golden["cases"].as_array().unwrap().clone()
}

fn data_of(case: &Value) -> SeriesSet {
    let missing = case["missing_flag"].as_f64();
    let series: Vec<ObservedSeries> = (case["series"].as_array().unwrap().iter().enumerate())
        .map(|(idx, rows)| {
            let rows = rows.as_array().unwrap();
            let cell = |value: &Value| {
                let value = value.as_f64().unwrap();
                if Some(value) == missing { f64::NAN } else { value }
            };
            let values: Vec<f64> =
                rows.iter().flat_map(|row| row.as_array().unwrap().iter().map(cell)).collect();
            let times = (0..rows.len()).map(|row| row as f64).collect();
            ObservedSeries::new(idx.to_string(), values.len() / rows.len(), times, values).unwrap()
        })
        .collect();
    let n = series[0].n_variables();
    SeriesSet::new((0..n).map(|idx| format!("x{idx}")).collect(), series).unwrap()
}

/// The settings of a run, in our words.
fn plan_of(run: &Value) -> FitPlan {
    let method = if run["method"] == "pcmci" { "pcmci" } else { "pcmci-plus" };
    let settings: Map<String, Value> = (run["settings"].as_object().unwrap().iter())
        .map(|(name, value)| match name.as_str() {
            "pc_alpha" if value.is_null() => (name.clone(), json!("auto")),
            "fdr_method" => ("fdr".to_owned(), json!("bh")),
            "contemp_collider_rule" => ("collider_rule".to_owned(), value.clone()),
            _ => (name.clone(), value.clone()),
        })
        .collect();
    FitPlan::named(method).unwrap().with(settings).unwrap()
}

fn samples_of(data: &SeriesSet, tau_max: usize) -> Samples<'static> {
    Samples::new(&regular_series(data, Gaps::LeaveOut), data.n_variables(), tau_max, &Silent)
}

fn entry(matrix: &Value, pair: Pair) -> &Value {
    &matrix[pair.cause.variable][pair.effect][pair.cause.lag]
}

fn assert_numbers(found: &LagTable<f64>, wanted: &Value, what: &str) {
    for pair in found.pairs() {
        let wanted = entry(wanted, pair).as_f64().unwrap();
        assert!(
            (found[pair] - wanted).abs() < TOLERANCE,
            "{what} {pair:?}: {} and {wanted}",
            found[pair]
        );
    }
}

fn assert_links(found: &Links, wanted: &Value, what: &str) {
    for pair in found.pairs() {
        let word = match found[pair] {
            Mark::None => "",
            Mark::Forward => "-->",
            Mark::Backward => "<--",
            Mark::Open => "o-o",
            Mark::Conflict => "x-x",
        };
        assert_eq!(entry(wanted, pair), word, "{what} {pair:?}");
    }
}

fn assert_parents(found: &[Vec<Node>], wanted: &Value, what: &str) {
    for (target, parents) in found.iter().enumerate() {
        let parents: Vec<Value> =
            parents.iter().map(|node| json!([node.variable, -(node.lag as i64)])).collect();
        assert_eq!(
            wanted[target.to_string()],
            Value::Array(parents),
            "{what}, parents of {target}"
        );
    }
}

#[test]
fn all_runs_of_pcmci_equal_those_of_the_reference() {
    let mut n_runs = 0;
    for case in cases() {
        let data = data_of(&case);
        for run in case["runs"].as_array().unwrap().iter().filter(|run| run["method"] == "pcmci") {
            let what = format!("{} {}", case["name"], run["settings"]);
            let settings: PcmciSettings = plan_of(run).typed().unwrap();
            let found =
                settings.run(&samples_of(&data, settings.common.tau_max), data.n_variables());
            assert_parents(&found.parents, &run["pc1_parents"], &what);
            if let Some(chosen) = &found.chosen {
                for (target, level) in chosen.iter().enumerate() {
                    assert_eq!(run["pc1_optimal_alpha"][target.to_string()], *level, "{what}");
                }
            }
            assert_numbers(&found.results.values, &run["val_matrix"], &format!("{what}, values"));
            assert_numbers(&found.results.p_values, &run["p_matrix"], &format!("{what}, p"));
            assert_links(&found.links, &run["graph"], &what);
            n_runs += 1;
        }
    }
    assert_eq!(n_runs, 17);
}

#[test]
fn all_runs_of_pcmci_plus_equal_those_of_the_reference() {
    let mut n_runs = 0;
    for case in cases() {
        let data = data_of(&case);
        for run in
            case["runs"].as_array().unwrap().iter().filter(|run| run["method"] == "pcmciplus")
        {
            let what = format!("{} {}", case["name"], run["settings"]);
            let settings: PlusMethodSettings = plan_of(run).typed().unwrap();
            let samples = samples_of(&data, settings.common.tau_max);
            let (found, alpha) = settings.run(&samples, data.n_variables());
            if settings.common.level().is_none() {
                assert_eq!(run["optimal_alpha"], alpha, "{what}");
            }
            // The reference does not tell them where it chooses the level.
            if run["lagged_parents"].is_object() {
                assert_parents(&found.parents, &run["lagged_parents"], &what);
            }
            assert_numbers(&found.results.values, &run["val_matrix"], &format!("{what}, values"));
            assert_numbers(&found.results.p_values, &run["p_matrix"], &format!("{what}, p"));
            let ambiguous: Vec<Value> = (found.ambiguous.iter())
                .map(|triple| {
                    let lag = -(triple.start.lag as i64);
                    json!([[triple.start.variable, lag], triple.middle, triple.end])
                })
                .collect();
            assert_eq!(run["ambiguous_triples"], Value::Array(ambiguous), "{what}");
            assert_links(&found.links, &run["graph"], &what);
            n_runs += 1;
        }
    }
    assert_eq!(n_runs, 39);
}
