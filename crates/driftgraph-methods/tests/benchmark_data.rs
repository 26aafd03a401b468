//! Baselines on real benchmark data; a far lower figure means an orientation or scaling mistake.
//!
//! The data are read from the directory `DRIFTGRAPH_DATA`, or `../shared/data` beside the workspace.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use driftgraph_core::fitted::score::{GraphMetrics, MetricOptions, SelfEdges, graph_metrics};
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{EdgeScores, ObservedSeries, SeriesSet, SignatureGraph};
use driftgraph_methods::{FitPlan, MethodError, edge_scores};

/// Those without settings or training.
const SIMPLE: [&str; 3] = ["partial-correlation", "ridge", "var"];

fn scores_of(method: &str, data: &SeriesSet) -> Result<EdgeScores, MethodError> {
    let learned = FitPlan::named(method).unwrap().learn(data, &Silent)?;
    Ok(edge_scores(&learned.edges, data.n_variables()).unwrap())
}

/// The benchmark directory, or `None`, said aloud, where there is none.
#[expect(clippy::print_stderr, reason = "a skipped test must be visible")]
fn data_directory(test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let directory = std::env::var_os("DRIFTGRAPH_DATA").map_or(beside, PathBuf::from);
    if directory.is_dir() {
        return Some(directory);
    }
    eprintln!("SKIPPED {test}: no benchmark data in `{}`", directory.display());
    None
}

/// Reads `series,time,variables...`, rows of a series together.
fn read_series(path: &Path) -> SeriesSet {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let variables: Vec<String> =
        lines.next().unwrap().split(',').skip(2).map(str::to_owned).collect();
    let rows: Vec<(&str, Vec<f64>)> = lines
        .map(|line| {
            let (name, numbers) = line.split_once(',').unwrap();
            (name, numbers.split(',').map(|number| number.parse().unwrap()).collect())
        })
        .collect();
    let series = rows.chunk_by(|a, b| a.0 == b.0).map(|rows| {
        let times = rows.iter().map(|(_, numbers)| numbers[0]).collect();
        let values = rows.iter().flat_map(|(_, numbers)| &numbers[1..]).copied().collect();
        ObservedSeries::new(rows[0].0, variables.len(), times, values).unwrap()
    });
    SeriesSet::new(variables.clone(), series.collect()).unwrap()
}

/// Reads `cause,effect[,sign]`.
fn read_truth(path: &Path, variables: &[String]) -> SignatureGraph {
    let text = fs::read_to_string(path).unwrap();
    let mut truth = SignatureGraph::empty(variables.len());
    for line in text.lines().skip(1) {
        let ends: Vec<usize> = (line.split(',').take(2))
            .map(|name| variables.iter().position(|variable| variable == name).unwrap())
            .collect();
        truth.set_edge(ends[0], ends[1], true);
    }
    truth
}

/// Scores that only rank, against a truth.
fn metrics(scores: &EdgeScores, truth: &SignatureGraph, self_edges: SelfEdges) -> GraphMetrics {
    let options = MetricOptions { ranking_only: true, ..MetricOptions::new(self_edges) };
    graph_metrics(scores, truth, options).unwrap()
}

fn transposed(scores: &EdgeScores) -> EdgeScores {
    let n = scores.n_variables();
    let matrix = (0..n * n).map(|idx| scores.score(idx % n, idx / n)).collect();
    EdgeScores::from_matrix(n, matrix).unwrap()
}

#[expect(clippy::print_stderr, reason = "the figures are the point of the test")]
fn report(what: &str, baseline: &str, metrics: &GraphMetrics) {
    let (auroc, auprc) = (metrics.auroc.unwrap(), metrics.auprc.unwrap());
    eprintln!("{what}, {baseline}: AUROC {auroc:.4}, AUPRC {auprc:.4}");
}

#[test]
fn partial_correlation_finds_the_netsim_network() {
    let Some(directory) = data_directory("netsim") else { return };
    let data = read_series(&directory.join("netsim/sim3_subjects2-6.csv"));
    let truth = read_truth(&directory.join("netsim/sim3.truth.csv"), data.variables());
    for baseline in SIMPLE {
        let found = metrics(&scores_of(baseline, &data).unwrap(), &truth, SelfEdges::Kept);
        report("netsim, self edges kept", baseline, &found);
        assert_eq!((found.n_edges, found.n_pairs), (33, 225));
        // Partial correlation has 0.974, thanks to its diagonal; chance is 0.5.
        let floor = if baseline == "partial-correlation" { 0.96 } else { 0.5 };
        assert!(found.auroc.unwrap() >= floor, "{baseline}");
    }
}

/// Mean AUROC over the five networks of 100 genes, as learned and with all edges reversed.
fn dream3_mean_auroc(directory: &Path, baseline: &str) -> (f64, f64) {
    let folder = directory.join("dream3/size100");
    let (mut forward, mut reversed) = (0.0, 0.0);
    for name in ["Ecoli1", "Ecoli2", "Yeast1", "Yeast2", "Yeast3"] {
        let data = read_series(&folder.join(format!("{name}.csv")));
        let truth = read_truth(&folder.join(format!("{name}.truth.csv")), data.variables());
        let scores = scores_of(baseline, &data).unwrap();
        let found = metrics(&scores, &truth, SelfEdges::Dropped);
        assert_eq!(found.n_pairs, 9900);
        report(name, baseline, &found);
        forward += found.auroc.unwrap() / 5.0;
        reversed += metrics(&transposed(&scores), &truth, SelfEdges::Dropped).auroc.unwrap() / 5.0;
    }
    (forward, reversed)
}

#[test]
fn regressions_rank_gene_networks_better_than_their_reversal() {
    let Some(directory) = data_directory("dream3") else { return };
    // Means 0.61 and 0.57; reversed, every direction is wrong and chance is 0.5.
    for (baseline, floor) in [("ridge", 0.59), ("var", 0.55)] {
        let (forward, reversed) = dream3_mean_auroc(&directory, baseline);
        assert!(forward >= floor, "{baseline}: mean AUROC {forward}");
        assert!(forward > reversed + 0.03, "{baseline}: {forward}, reversed {reversed}");
    }
}

#[test]
fn partial_correlation_of_genes_is_barely_better_than_chance() {
    let Some(directory) = data_directory("dream3") else { return };
    let (forward, reversed) = dream3_mean_auroc(&directory, "partial-correlation");
    assert!((0.5..0.56).contains(&forward), "mean AUROC {forward}");
    assert_eq!(forward, reversed, "partial correlation has no direction");
}
