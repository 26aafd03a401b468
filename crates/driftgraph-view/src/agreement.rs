//! How far runs agree: ranks, strongest edges, and the edges that most of them have.

use driftgraph_core::fitted::score::{MetricOptions, SelfEdges, graph_metrics};
use driftgraph_core::graph::scores::shared_ranks;
use driftgraph_core::{CoreError, EdgeScores, SignatureGraph};
use driftgraph_data::run_folder::Run;
use driftgraph_report::view::{AgreedEdge, AgreementView, ComparedRun};

use crate::truth::metrics_view;

/// A run with its scores over the variables that all runs have.
struct Ranked<'a> {
    run: &'a Run,
    scores: Vec<f64>,
    /// `None` where the method gives none.
    probabilities: Option<Vec<f64>>,
    /// Ranks of all pairs of different variables, from 1, ties shared.
    ranks: Vec<f64>,
    /// Pairs from the best supported on, as positions in `pairs`.
    order: Vec<usize>,
}

/// Compares runs over the variables that all of them have; at least one run.
///
/// `truth` is over the variables of the first run.
pub fn agreement_view(
    title: &str,
    runs: &[(String, &Run)],
    truth: Option<&SignatureGraph>,
) -> Result<AgreementView, CoreError> {
    let first = runs.first().map_or(&[][..], |(_, run)| run.variables());
    let common: Vec<String> = (first.iter())
        .filter(|name| runs.iter().all(|(_, run)| run.variables().contains(name)))
        .cloned()
        .collect();
    let mut left_out: Vec<String> =
        runs.iter().flat_map(|(_, run)| run.variables().to_vec()).collect();
    left_out.retain(|name| !common.contains(name));
    left_out.sort();
    left_out.dedup();
    let truth = truth.map(|truth| reduced(truth, first, &common));
    let pairs = pairs(common.len());
    let ranked: Vec<Ranked<'_>> =
        runs.iter().map(|(_, run)| Ranked::new(run, &common, &pairs)).collect();
    let known = truth.as_ref().map(|truth| truth.edges().filter(|(s, t)| s != t).count());
    let top = known.filter(|n| *n > 0).unwrap_or(common.len()).min(pairs.len());
    let compared = ranked
        .iter()
        .zip(runs)
        .map(|(one, (name, _))| compared(one, name, common.len(), truth.as_ref()));
    let agreed = agreed(&ranked, &pairs, top, truth.as_ref());
    Ok(AgreementView {
        title: title.to_owned(),
        left_out,
        runs: compared.collect::<Result<_, _>>()?,
        top,
        rank_correlations: square(&ranked, |a, b| correlation(&a.ranks, &b.ranks)),
        overlaps: square(&ranked, |a, b| overlap(&a.order[..top], &b.order[..top])),
        agreed,
        variables: common,
    })
}

/// All pairs of different variables.
fn pairs(n: usize) -> Vec<(usize, usize)> {
    let all = (0..n).flat_map(|source| (0..n).map(move |target| (source, target)));
    all.filter(|(source, target)| source != target).collect()
}

fn reduced(truth: &SignatureGraph, names: &[String], common: &[String]) -> SignatureGraph {
    let place = |idx: usize| common.iter().position(|name| *name == names[idx]);
    let mut graph = SignatureGraph::empty(common.len());
    for (source, target) in truth.edges() {
        if let (Some(source), Some(target)) = (place(source), place(target)) {
            graph.set_edge(source, target, true);
        }
    }
    graph
}

impl<'a> Ranked<'a> {
    fn new(run: &'a Run, common: &[String], pairs: &[(usize, usize)]) -> Self {
        let n = common.len();
        let names = run.variables();
        let place = |idx: usize| common.iter().position(|name| *name == names[idx]);
        let (mut scores, mut probabilities) = (vec![0.0; n * n], vec![0.0; n * n]);
        let edges = run.edges();
        for edge in &edges {
            if let (Some(source), Some(target)) = (place(edge.source), place(edge.target)) {
                scores[source * n + target] = edge.score;
                probabilities[source * n + target] = edge.probability.unwrap_or(0.0);
            }
        }
        let has = edges.iter().any(|edge| edge.probability.is_some());
        let of = |idx: usize| scores[pairs[idx].0 * n + pairs[idx].1];
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by(|&a, &b| of(b).total_cmp(&of(a)));
        let values: Vec<f64> = (0..pairs.len()).map(of).collect();
        let ranks = shared_ranks(&values);
        Self { run, probabilities: has.then_some(probabilities), ranks, order, scores }
    }
}

fn square<T>(runs: &[Ranked<'_>], of: impl Fn(&Ranked<'_>, &Ranked<'_>) -> T) -> Vec<Vec<T>> {
    runs.iter().map(|a| runs.iter().map(|b| of(a, b)).collect()).collect()
}

/// Pearson's correlation of ranks, which is Spearman's of scores.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let n = a.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum = |x: &[f64], y: &[f64], mx: f64, my: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum()
    };
    let scale = (sum(a, a, mean_a, mean_a) * sum(b, b, mean_b, mean_b)).sqrt();
    (scale > 0.0).then(|| sum(a, b, mean_a, mean_b) / scale)
}

fn overlap(a: &[usize], b: &[usize]) -> f64 {
    let shared = a.iter().filter(|idx| b.contains(idx)).count();
    if a.is_empty() { 0.0 } else { shared as f64 / a.len() as f64 }
}

fn compared(
    one: &Ranked<'_>,
    name: &str,
    n: usize,
    truth: Option<&SignatureGraph>,
) -> Result<ComparedRun, CoreError> {
    let metrics = |truth: &SignatureGraph| {
        let options = MetricOptions::new(SelfEdges::Dropped);
        let ranking = EdgeScores::from_matrix(n, one.scores.clone())?;
        let ranked =
            graph_metrics(&ranking, truth, MetricOptions { ranking_only: true, ..options })?;
        let cut = match &one.probabilities {
            Some(all) => graph_metrics(&EdgeScores::from_matrix(n, all.clone())?, truth, options)?,
            None => ranked.clone(),
        };
        Ok(metrics_view(&ranked, &cut))
    };
    let probable = |all: &Vec<f64>| {
        all.iter().enumerate().filter(|(idx, p)| idx / n != idx % n && **p >= 0.5).count()
    };
    Ok(ComparedRun {
        name: name.to_owned(),
        method: one.run.record.method.clone(),
        seconds: one.run.record.seconds,
        found: one.probabilities.as_ref().map(probable),
        metrics: truth.map(metrics).transpose()?,
        remarks: one.run.record.remarks.clone(),
    })
}

fn agreed(
    runs: &[Ranked<'_>],
    pairs: &[(usize, usize)],
    top: usize,
    truth: Option<&SignatureGraph>,
) -> Vec<AgreedEdge> {
    let mut edges: Vec<AgreedEdge> = (pairs.iter().enumerate())
        .map(|(idx, &(source, target))| AgreedEdge {
            source,
            target,
            n_runs: runs.iter().filter(|run| run.order[..top].contains(&idx)).count(),
            mean_rank: runs.iter().map(|run| run.ranks[idx]).sum::<f64>() / runs.len() as f64,
            known: truth.map(|truth| truth.has_edge(source, target)),
        })
        .filter(|edge| 2 * edge.n_runs > runs.len())
        .collect();
    edges.sort_by(|a, b| b.n_runs.cmp(&a.n_runs).then(a.mean_rank.total_cmp(&b.mean_rank)));
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_correlation_is_one_for_equal_orders_and_undefined_for_ties_alone() {
        let values = [3.0, 1.0, 2.0];
        let ranks = shared_ranks(&values);
        assert_eq!(ranks, [1.0, 3.0, 2.0]);
        assert_eq!(correlation(&ranks, &ranks), Some(1.0));
        assert_eq!(correlation(&ranks, &[3.0, 1.0, 2.0]), Some(-1.0));
        let tied = shared_ranks(&[7.0; 3]);
        assert_eq!(tied, [2.0; 3]);
        assert_eq!(correlation(&ranks, &tied), None);
    }

    #[test]
    fn overlap_is_the_share_of_common_edges() {
        assert_eq!(overlap(&[1, 2, 3, 4], &[4, 9, 1, 8]), 0.5);
        assert_eq!(overlap(&[], &[]), 0.0);
    }
}
