//! The comparison with known edges, simple methods on the same data beside it.

use driftgraph_core::fitted::edges::LearnedEdge;
use driftgraph_core::fitted::score::{
    GraphMetrics, MetricOptions, SelfEdges, curves, graph_metrics,
};
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{CoreError, EdgeScores, SeriesSet, SignatureGraph};
use driftgraph_data::run_folder::Run;
use driftgraph_methods::{FitPlan, edge_probabilities, edge_scores};
use driftgraph_report::view::{MetricsView, RankingView, TruthView};

/// What a learned graph must beat to be worth its cost.
const SIMPLE: [&str; 3] = ["partial-correlation", "ridge", "var"];
/// Points of a curve; more cannot be seen.
const MOST_POINTS: usize = 150;

/// Scores this run and, where the data are at hand, the simple methods.
pub(crate) fn truth_view(
    run: &Run,
    learned: &[LearnedEdge],
    data: Option<&SeriesSet>,
    truth: &SignatureGraph,
) -> Result<TruthView, CoreError> {
    let n = run.variables().len();
    let (scores, probabilities) = (edge_scores(learned, n)?, edge_probabilities(learned, n)?);
    let name = match run.model() {
        Ok(_) => "driftgraph",
        Err(_) => &run.record.method,
    };
    let mut methods = vec![method(name, &scores, probabilities.as_ref(), truth)?];
    for simple in SIMPLE.into_iter().filter(|simple| *simple != run.record.method) {
        // A simple method may be impossible on these data, which is no fault of the run.
        let found = data.and_then(|data| FitPlan::named(simple).ok()?.learn(data, &Silent).ok());
        if let Some(found) = found {
            methods.push(method(simple, &edge_scores(&found.edges, n)?, None, truth)?);
        }
    }
    Ok(TruthView { edges: truth.edges().map(|(s, t)| [s, t]).collect(), methods })
}

fn method(
    name: &str,
    ranking: &EdgeScores,
    probabilities: Option<&EdgeScores>,
    truth: &SignatureGraph,
) -> Result<RankingView, CoreError> {
    let metrics = |self_edges| -> Result<MetricsView, CoreError> {
        let options = MetricOptions { ranking_only: true, ..MetricOptions::new(self_edges) };
        let ranked = graph_metrics(ranking, truth, options)?;
        // Scores alone cannot say where to cut; probabilities can.
        let cut = match probabilities {
            Some(scores) => graph_metrics(scores, truth, MetricOptions::new(self_edges))?,
            None => ranked.clone(),
        };
        Ok(metrics_view(&ranked, &cut))
    };
    let found = curves(ranking, truth, SelfEdges::Dropped)?;
    let roc = found.roc.unwrap_or_default();
    let precision_recall = found.precision_recall.unwrap_or_default();
    Ok(RankingView {
        name: name.to_owned(),
        with_self_edges: metrics(SelfEdges::Kept)?,
        without_self_edges: metrics(SelfEdges::Dropped)?,
        roc: thinned(roc.iter().map(|point| [point.fpr, point.tpr])),
        precision_recall: thinned(
            precision_recall.iter().map(|point| [point.recall, point.precision]),
        ),
    })
}

pub(crate) fn metrics_view(ranked: &GraphMetrics, cut: &GraphMetrics) -> MetricsView {
    MetricsView {
        auroc: ranked.auroc,
        auprc: ranked.auprc,
        prevalence: ranked.prevalence,
        f1: cut.f1,
        tpr: cut.tpr,
        fdr: cut.fdr,
        shd: cut.shd,
    }
}

/// Some points of a curve, both ends among them, to a ten-thousandth.
fn thinned(points: impl ExactSizeIterator<Item = [f64; 2]>) -> Vec<[f64; 2]> {
    let last = points.len().saturating_sub(1);
    let every = points.len().div_ceil(MOST_POINTS).max(1);
    let kept = points.enumerate().filter(|(idx, _)| idx % every == 0 || *idx == last);
    kept.map(|(_, point)| point.map(|share| (1e4 * share).round() / 1e4)).collect()
}
