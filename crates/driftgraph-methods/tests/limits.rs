//! Where methods meet: settings and data for which one of them must give what a simpler one gives.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{EdgeScores, ObservedSeries, SeriesSet};
use driftgraph_methods::{FitPlan, edge_scores};
use serde_json::{Value, json};

const N: usize = 4;
/// So many that shrinkage and what is left of a mean hardly matter.
const ROWS: usize = 4000;

/// A linear process around 0 whose noise is uniform, and independent between variables.
fn process() -> Vec<[f64; N]> {
    let effects = [[0.5, 0.0, 0.0, 0.2], [0.4, 0.3, 0.0, 0.0], [0.0, -0.4, 0.4, 0.0], [0.0; N]];
    let mut random = RandomStream::new(5, Purpose::System, 0);
    let mut rows = vec![[0.0; N]];
    while rows.len() < ROWS {
        let before = rows[rows.len() - 1];
        let mean =
            |target: usize| (0..N).map(|idx| effects[target][idx] * before[idx]).sum::<f64>();
        rows.push(std::array::from_fn(|target| mean(target) + random.uniform() - 0.5));
    }
    rows
}

fn set<const D: usize>(rows: &[[f64; D]]) -> SeriesSet {
    let times = (0..rows.len()).map(|row| row as f64).collect();
    let series = ObservedSeries::new("run", D, times, rows.concat()).unwrap();
    SeriesSet::new((0..D).map(|idx| format!("x{idx}")).collect(), vec![series]).unwrap()
}

fn scores(method: &str, settings: Value, data: &SeriesSet) -> EdgeScores {
    let Value::Object(settings) = settings else { panic!("settings are an object") };
    let plan = FitPlan::named(method).unwrap().with(settings).unwrap();
    edge_scores(&plan.learn(data, &Silent).unwrap().edges, data.n_variables()).unwrap()
}

#[test]
fn pcmci_given_the_whole_past_is_the_partial_correlation_with_it() {
    let rows = process();
    // At the level 1 every variable stays a parent, so that each test is given the last row of all others.
    let settings = json!({"pc_alpha": 1.0, "max_conds_px": 0, "tau_min": 1, "tau_max": 1});
    let found = scores("pcmci", settings, &set(&rows));
    for target in 0..N {
        // A row and, first, what the target becomes; PCMCI leaves out twice the lag.
        let table: Vec<[f64; N + 1]> = (2..ROWS)
            .map(|row| {
                std::array::from_fn(|idx| {
                    if idx == 0 { rows[row][target] } else { rows[row - 1][idx - 1] }
                })
            })
            .collect();
        let wanted = scores("partial-correlation", json!({}), &set(&table));
        for source in 0..N {
            let (found, wanted) = (found.score(source, target), wanted.score(source + 1, 0));
            // Partial correlations there are shrunk, by about the number of variables over that of rows.
            assert!((found - wanted).abs() < 5e-3, "{source} -> {target}: {found} and {wanted}");
        }
    }
}

#[test]
fn varlingam_is_var_where_variables_do_not_move_together_within_a_row() {
    let data = set(&process());
    let settings = json!({"lags": 1, "criterion": "none", "prune": false, "scale_scores": true});
    let (found, wanted) = (scores("varlingam", settings, &data), scores("var", json!({}), &data));
    for (source, target) in (0..N * N).map(|idx| (idx / N, idx % N)) {
        let (found, wanted) = (found.score(source, target), wanted.score(source, target));
        // Effects within a row that pass by chance are of the size of their errors, 1 / sqrt(rows).
        assert!((found - wanted).abs() < 0.03, "{source} -> {target}: {found} and {wanted}");
    }
}

#[test]
fn one_lag_of_pcmci_plus_is_pcmci_where_nothing_moves_together_within_a_row() {
    let data = set(&process());
    let [plus, plain] = ["pcmci-plus", "pcmci"]
        .map(|method| scores(method, json!({"tau_max": 1, "pc_alpha": 0.01}), &data));
    for (source, target) in (0..N * N).map(|idx| (idx / N, idx % N)) {
        let (found, wanted) = (plus.score(source, target), plain.score(source, target));
        // Both condition on the parents found; links that pass by chance change them a little.
        assert!((found - wanted).abs() < 0.03, "{source} -> {target}: {found} and {wanted}");
    }
}
