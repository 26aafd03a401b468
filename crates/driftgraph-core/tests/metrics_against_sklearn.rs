//! Metrics of random scored graphs against scikit-learn, and their general properties.
//!
//! `golden/sklearn/make.py` writes the cases; its output names the versions used.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::fitted::score::{
    GraphMetrics, MetricOptions, SelfEdges, curves, graph_metrics,
};
use driftgraph_core::{EdgeScores, SignatureGraph};
use proptest::prelude::*;
use serde::Deserialize;

/// Sums of at most 64 terms in another order: far above their rounding, far below any mistake.
const TOLERANCE: f64 = 1e-12;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    n_variables: usize,
    scores: Vec<f64>,
    truth: Vec<u8>,
    self_edges: SelfEdges,
    threshold: Option<f64>,
    expected: Expected,
    curves: Option<ExpectedCurves>,
}

#[derive(Deserialize)]
struct Expected {
    auroc: Option<f64>,
    auprc: Option<f64>,
    prevalence: Option<f64>,
    brier: Option<f64>,
    calibration_error: Option<f64>,
    f1: Option<f64>,
    tpr: Option<f64>,
    precision: Option<f64>,
    fdr: Option<f64>,
    shd: Option<usize>,
}

#[derive(Deserialize)]
struct ExpectedCurves {
    fpr: Vec<f64>,
    tpr: Vec<f64>,
    precision: Vec<f64>,
    recall: Vec<f64>,
}

impl Case {
    fn scores(&self) -> EdgeScores {
        EdgeScores::from_matrix(self.n_variables, self.scores.clone()).unwrap()
    }

    fn truth(&self) -> SignatureGraph {
        let edges = self.truth.iter().map(|&present| present == 1).collect();
        SignatureGraph::from_matrix(self.n_variables, edges).unwrap()
    }
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/sklearn/cases.json")).unwrap()
}

#[test]
fn every_metric_equals_that_of_scikit_learn() {
    let cases = golden().cases;
    assert_eq!(cases.len(), 200);
    for (idx, case) in cases.iter().enumerate() {
        let options =
            MetricOptions { threshold: case.threshold, ..MetricOptions::new(case.self_edges) };
        let found = graph_metrics(&case.scores(), &case.truth(), options).unwrap();
        let wanted = &case.expected;
        for (name, found, wanted) in [
            ("auroc", found.auroc, wanted.auroc),
            ("auprc", found.auprc, wanted.auprc),
            ("prevalence", found.prevalence, wanted.prevalence),
            ("brier", found.brier, wanted.brier),
            ("calibration_error", found.calibration_error, wanted.calibration_error),
            ("f1", found.f1, wanted.f1),
            ("tpr", found.tpr, wanted.tpr),
            ("precision", found.precision, wanted.precision),
            ("fdr", found.fdr, wanted.fdr),
        ] {
            let same = match (found, wanted) {
                (Some(found), Some(wanted)) => (found - wanted).abs() <= TOLERANCE,
                (found, wanted) => found == wanted,
            };
            assert!(same, "case {idx}: {name} is {found:?}, scikit-learn has {wanted:?}");
        }
        assert_eq!(found.shd, wanted.shd, "case {idx}: shd");
    }
}

#[test]
fn every_kind_of_undefined_metric_occurs_among_the_cases() {
    let cases = golden().cases;
    let occurs = |undefined: fn(&Expected) -> bool| cases.iter().any(|c| undefined(&c.expected));
    assert!(occurs(|wanted| wanted.auroc.is_none() && wanted.auprc.is_some()));
    assert!(occurs(|wanted| wanted.auprc.is_none() && wanted.prevalence.is_some()));
    assert!(occurs(|wanted| wanted.fdr.is_none() && wanted.shd.is_some()));
    assert!(occurs(|wanted| wanted.f1.is_none() && wanted.shd.is_some()));
    assert!(occurs(|wanted| wanted.prevalence.is_none()));
    assert!(occurs(|wanted| wanted.brier.is_none() && wanted.shd.is_some()));
    assert!(occurs(|wanted| wanted.shd.is_none()));
}

#[test]
fn curves_equal_those_of_scikit_learn() {
    let mut n_compared = 0;
    for (idx, case) in golden().cases.iter().enumerate() {
        let Some(wanted) = &case.curves else { continue };
        let found = curves(&case.scores(), &case.truth(), case.self_edges).unwrap();
        let roc = found.roc.unwrap();
        let points = found.precision_recall.unwrap();
        for (name, found, wanted) in [
            ("fpr", roc.iter().map(|point| point.fpr).collect::<Vec<_>>(), &wanted.fpr),
            ("tpr", roc.iter().map(|point| point.tpr).collect(), &wanted.tpr),
            ("precision", points.iter().map(|point| point.precision).collect(), &wanted.precision),
            ("recall", points.iter().map(|point| point.recall).collect(), &wanted.recall),
        ] {
            assert_eq!(found.len(), wanted.len(), "case {idx}: points of {name}");
            for (found, wanted) in found.iter().zip(wanted) {
                assert!((found - wanted).abs() <= TOLERANCE, "case {idx}: {name}");
            }
        }
        n_compared += 1;
    }
    assert!(n_compared >= 15, "only {n_compared} cases have curves");
}

/// Scores with many ties and a truth, over 1 to 6 variables.
fn scored_graph() -> impl Strategy<Value = (usize, Vec<f64>, Vec<bool>)> {
    (1_usize..=6).prop_flat_map(|n| {
        let scores =
            prop::collection::vec((0_u8..=8).prop_map(|eighths| f64::from(eighths) / 8.0), n * n);
        (Just(n), scores, prop::collection::vec(any::<bool>(), n * n))
    })
}

fn metrics_of(n: usize, scores: &[f64], truth: &[bool], self_edges: SelfEdges) -> GraphMetrics {
    let scores = EdgeScores::from_matrix(n, scores.to_vec()).unwrap();
    let truth = SignatureGraph::from_matrix(n, truth.to_vec()).unwrap();
    graph_metrics(&scores, &truth, MetricOptions::new(self_edges)).unwrap()
}

/// The matrix with variables relabelled: new label `idx` is old label `order[idx]`.
fn relabelled<T: Copy>(matrix: &[T], order: &[usize]) -> Vec<T> {
    let n = order.len();
    (0..n * n).map(|idx| matrix[order[idx / n] * n + order[idx % n]]).collect()
}

proptest! {
    #[test]
    fn every_rate_lies_between_zero_and_one((n, scores, truth) in scored_graph()) {
        for self_edges in [SelfEdges::Kept, SelfEdges::Dropped] {
            let found = metrics_of(n, &scores, &truth, self_edges);
            let rates = [
                found.auroc, found.auprc, found.prevalence, found.f1, found.tpr, found.fdr,
                found.precision, found.precision_at_k, found.brier, found.calibration_error,
            ];
            prop_assert!(rates.iter().flatten().all(|rate| (0.0..=1.0).contains(rate)), "{found:?}");
            prop_assert!(found.shd.unwrap() <= found.n_pairs);
        }
    }

    #[test]
    fn negated_scores_have_the_complementary_auroc((n, scores, truth) in scored_graph()) {
        let negated: Vec<f64> = scores.iter().map(|score| -score).collect();
        let found = metrics_of(n, &scores, &truth, SelfEdges::Kept).auroc;
        let mirrored = metrics_of(n, &negated, &truth, SelfEdges::Kept).auroc;
        match (found, mirrored) {
            // One rounding on each side.
            (Some(found), Some(mirrored)) => prop_assert!((found + mirrored - 1.0).abs() < 1e-15),
            (found, mirrored) => prop_assert_eq!(found, mirrored),
        }
    }

    #[test]
    fn ranking_metrics_ignore_increasing_transforms((n, scores, truth) in scored_graph()) {
        let stretched: Vec<f64> = scores.iter().map(|score| (5.0 * score).exp() - 100.0).collect();
        let plain = metrics_of(n, &scores, &truth, SelfEdges::Dropped);
        let found = metrics_of(n, &stretched, &truth, SelfEdges::Dropped);
        prop_assert_eq!(found.auroc, plain.auroc);
        prop_assert_eq!(found.auprc, plain.auprc);
        prop_assert_eq!(found.precision_at_k, plain.precision_at_k);
    }

    #[test]
    fn relabelling_the_variables_changes_no_metric(
        ((n, scores, truth), order) in scored_graph().prop_flat_map(|case| {
            let order = Just((0..case.0).collect::<Vec<_>>()).prop_shuffle();
            (Just(case), order)
        }),
    ) {
        for self_edges in [SelfEdges::Kept, SelfEdges::Dropped] {
            let plain = metrics_of(n, &scores, &truth, self_edges);
            let (scores, truth) = (relabelled(&scores, &order), relabelled(&truth, &order));
            prop_assert_eq!(metrics_of(n, &scores, &truth, self_edges), plain);
        }
    }
}
