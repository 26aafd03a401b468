//! How well a ranking of edges matches a known graph.

mod ranking;

use serde::{Deserialize, Serialize};

use self::ranking::Ranking;
pub use self::ranking::{Curves, PrecisionRecallPoint, RocPoint};
use crate::{CoreError, EdgeScores, SignatureGraph};

/// The threshold for probabilities when none is given: more likely present than absent.
const DEFAULT_PROBABILITY_THRESHOLD: f64 = 0.5;

/// Whether edges from a variable to itself count in the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SelfEdges {
    /// All D x D ordered pairs count.
    Kept,
    /// Only the D x (D - 1) pairs of different variables count.
    Dropped,
}

/// What to compare, and where to cut the scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricOptions {
    /// Whether self edges count.
    pub self_edges: SelfEdges,
    /// Scores at or above it are predicted edges; if not given, 0.5 for probabilities, and no
    /// prediction at all for other scores, since only the truth could tell where to cut them.
    pub threshold: Option<f64>,
    /// How many of the best edges `precision_at_k` looks at; if not given, as many as are true.
    pub k: Option<usize>,
    /// The scores only rank edges, even where all of them lie in [0, 1], as correlations do.
    pub ranking_only: bool,
}

impl MetricOptions {
    /// No threshold, k = number of true edges, scores within [0, 1] read as probabilities.
    pub fn new(self_edges: SelfEdges) -> Self {
        Self { self_edges, threshold: None, k: None, ranking_only: false }
    }
}

/// All metrics of one comparison; `None` (`null` in JSON) where a metric is undefined.
///
/// | field | undefined when |
/// | --- | --- |
/// | `auroc` | all or none of the pairs are true edges |
/// | `auprc`, `tpr` | there is no true edge |
/// | `prevalence` | there are no pairs |
/// | `precision`, `fdr` | no edge is predicted |
/// | `f1` | no edge is true and none is predicted |
/// | `precision_at_k` | `k` is 0 or larger than the number of pairs |
/// | `brier`, `calibration_error` | the scores are not probabilities, or there are no pairs |
/// | `threshold`, `shd`, `f1`, `tpr`, `fdr`, `precision` | no threshold is given and the scores are not probabilities |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphMetrics {
    /// Area under the ROC curve: the chance that a true edge outranks a false one, ties one half.
    pub auroc: Option<f64>,
    /// Average precision, the step-wise area under the precision-recall curve.
    pub auprc: Option<f64>,
    /// Share of pairs that are true edges: the average precision of a random ranking.
    pub prevalence: Option<f64>,
    /// Harmonic mean of precision and recall.
    pub f1: Option<f64>,
    /// Share of the true edges that are predicted (recall).
    pub tpr: Option<f64>,
    /// Share of the predicted edges that are false.
    pub fdr: Option<f64>,
    /// Share of the predicted edges that are true.
    pub precision: Option<f64>,
    /// Structural Hamming distance: the number of ordered pairs whose presence differs, so that a
    /// reversed edge counts 2 (one missing, one too many).
    pub shd: Option<usize>,
    /// Share of true edges among the best `k`; where equal scores straddle rank `k`, the mean over
    /// all orders of the tied edges.
    pub precision_at_k: Option<f64>,
    /// The `k` of `precision_at_k`.
    pub k: usize,
    /// Mean squared difference between probability and presence (Brier, 1950).
    pub brier: Option<f64>,
    /// Expected calibration error over ten bins of equal width, closed on the right
    /// (Guo et al., 2017, arXiv:1706.04599).
    pub calibration_error: Option<f64>,
    /// Number of true edges among the pairs.
    pub n_edges: usize,
    /// Number of ordered pairs compared.
    pub n_pairs: usize,
    /// Scores at or above it were taken as predicted edges.
    pub threshold: Option<f64>,
    /// Whether self edges are among the pairs.
    pub self_edges: SelfEdges,
}

/// Compares scored edges with the true graph, in O(n log n) for n pairs.
///
/// Equal scores are never told apart by their place in the matrix: relabelling the variables
/// changes no metric.
///
/// ```
/// use driftgraph_core::fitted::score::{MetricOptions, SelfEdges, graph_metrics};
/// use driftgraph_core::{EdgeScores, SignatureGraph};
///
/// let mut truth = SignatureGraph::empty(2);
/// truth.set_edge(0, 1, true);
/// let scores = EdgeScores::from_matrix(2, vec![0.0, 0.9, 0.2, 0.0])?;
/// let metrics = graph_metrics(&scores, &truth, MetricOptions::new(SelfEdges::Dropped))?;
/// assert_eq!((metrics.auroc, metrics.shd), (Some(1.0), Some(0)));
/// # Ok::<(), driftgraph_core::CoreError>(())
/// ```
pub fn graph_metrics(
    scores: &EdgeScores,
    truth: &SignatureGraph,
    options: MetricOptions,
) -> Result<GraphMetrics, CoreError> {
    if let Some(threshold) = options.threshold.filter(|threshold| !threshold.is_finite()) {
        return Err(CoreError::ThresholdNotFinite { threshold });
    }
    let ranking = Ranking::new(scores, truth, options.self_edges)?;
    let probabilities = !options.ranking_only && ranking.lies_in_unit_interval();
    let default_threshold = probabilities.then_some(DEFAULT_PROBABILITY_THRESHOLD);
    let threshold = options.threshold.or(default_threshold);
    let predicted = threshold.map(|threshold| Prediction::at(&ranking, threshold));
    let k = options.k.unwrap_or(ranking.n_edges());
    Ok(GraphMetrics {
        auroc: ranking.auroc(),
        auprc: ranking.average_precision(),
        prevalence: ratio(ranking.n_edges(), ranking.n_pairs()),
        f1: predicted.and_then(Prediction::f1),
        tpr: predicted.and_then(Prediction::tpr),
        fdr: predicted.and_then(Prediction::fdr),
        precision: predicted.and_then(Prediction::precision),
        shd: predicted.map(Prediction::shd),
        precision_at_k: ranking.precision_at(k),
        k,
        brier: ranking.brier().filter(|_| probabilities),
        calibration_error: ranking.calibration_error().filter(|_| probabilities),
        n_edges: ranking.n_edges(),
        n_pairs: ranking.n_pairs(),
        threshold,
        self_edges: options.self_edges,
    })
}

/// The ROC and precision-recall curves of scored edges, one point per distinct score.
pub fn curves(
    scores: &EdgeScores,
    truth: &SignatureGraph,
    self_edges: SelfEdges,
) -> Result<Curves, CoreError> {
    Ok(Ranking::new(scores, truth, self_edges)?.curves())
}

/// Counts of right and wrong predictions at one threshold.
#[derive(Debug, Clone, Copy)]
struct Prediction {
    correct: usize,
    wrong: usize,
    missed: usize,
}

impl Prediction {
    fn at(ranking: &Ranking, threshold: f64) -> Self {
        let (n_predicted, correct) = ranking.counts_from(threshold);
        let missed = ranking.n_edges() - correct;
        Self { correct, wrong: n_predicted - correct, missed }
    }

    fn f1(self) -> Option<f64> {
        ratio(2 * self.correct, 2 * self.correct + self.wrong + self.missed)
    }

    fn tpr(self) -> Option<f64> {
        ratio(self.correct, self.correct + self.missed)
    }

    fn fdr(self) -> Option<f64> {
        ratio(self.wrong, self.correct + self.wrong)
    }

    fn precision(self) -> Option<f64> {
        ratio(self.correct, self.correct + self.wrong)
    }

    fn shd(self) -> usize {
        self.wrong + self.missed
    }
}

/// A share of a whole, undefined when the whole is empty.
fn ratio(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Metrics of four pairs (self edges kept) for a graph of two variables.
    fn metrics(scores: [f64; 4], truth: [bool; 4], threshold: Option<f64>) -> GraphMetrics {
        let scores = EdgeScores::from_matrix(2, scores.to_vec()).unwrap();
        let truth = SignatureGraph::from_matrix(2, truth.to_vec()).unwrap();
        let options = MetricOptions { threshold, ..MetricOptions::new(SelfEdges::Kept) };
        graph_metrics(&scores, &truth, options).unwrap()
    }

    #[test]
    fn hand_computed_metrics_of_four_pairs() {
        // Ranked: 0.9 true, 0.6 false, 0.6 true, 0.2 false.
        // AUROC: of 2 x 2 pairs, 0.9 beats both (2), the tied true edge gets 1/2 + 1: 3.5 / 4.
        // AP: recall 1/2 at precision 1, then recall 1 at precision 2/3: 1/2 + 1/3.
        // At 0.5: three predicted, two right: precision 2/3, recall 1, F1 = 4/5.
        let found = metrics([0.9, 0.6, 0.6, 0.2], [true, false, true, false], None);
        // Decimal literals are rounded once, quotients too: one unit in the last place.
        let close = |value: Option<f64>, wanted: f64| (value.unwrap() - wanted).abs() < 1e-15;
        assert!(close(found.auroc, 3.5 / 4.0));
        assert!(close(found.auprc, 0.5 + 1.0 / 3.0));
        assert!(close(found.prevalence, 0.5));
        assert!(close(found.precision, 2.0 / 3.0) && close(found.fdr, 1.0 / 3.0));
        assert!(close(found.tpr, 1.0) && close(found.f1, 0.8));
        assert_eq!((found.shd, found.n_edges, found.n_pairs), (Some(1), 2, 4));
        assert_eq!((found.threshold, found.k), (Some(0.5), 2));
        // Best two: 0.9, and one of the two tied at 0.6, which is true half of the time.
        assert!(close(found.precision_at_k, 0.75));
        // Brier: (0.01 + 0.36 + 0.16 + 0.04) / 4.
        assert!(close(found.brier, 0.1425));
        // Bins: {0.9}: |1 - 0.9|, {0.6, 0.6}: 2 |0.5 - 0.6|, {0.2}: |0 - 0.2|; in all 0.5 / 4.
        assert!(close(found.calibration_error, 0.125));
    }

    #[test]
    fn a_reversed_edge_counts_two_in_the_hamming_distance() {
        let found = metrics([0.0, 1.0, 0.0, 0.0], [false, false, true, false], None);
        assert_eq!(found.shd, Some(2));
    }

    #[test]
    fn scores_at_the_threshold_are_predicted_edges() {
        let found = metrics([0.5, 0.4, 0.0, 0.0], [true, false, false, false], None);
        assert_eq!((found.tpr, found.fdr), (Some(1.0), Some(0.0)));
    }

    #[test]
    fn undefined_metrics_are_none() {
        let empty = metrics([0.1, 0.2, 0.3, 0.4], [false; 4], None);
        assert_eq!((empty.auroc, empty.auprc, empty.tpr, empty.f1), (None, None, None, None));
        assert_eq!((empty.fdr, empty.precision, empty.precision_at_k), (None, None, None));
        assert_eq!((empty.shd, empty.prevalence), (Some(0), Some(0.0)));
        let full = metrics([0.1, 0.2, 0.3, 0.4], [true; 4], None);
        assert_eq!((full.auroc, full.auprc, full.f1), (None, Some(1.0), Some(0.0)));
    }

    #[test]
    fn scores_that_are_not_probabilities_have_no_natural_threshold() {
        let free = metrics([3.0, 0.2, 0.3, 0.4], [true, false, false, false], None);
        assert_eq!((free.threshold, free.shd, free.f1, free.tpr), (None, None, None, None));
        assert_eq!((free.brier, free.calibration_error), (None, None));
        let cut = metrics([3.0, 0.2, 0.3, 0.4], [true, false, false, false], Some(1.0));
        assert_eq!((cut.threshold, cut.shd, cut.brier), (Some(1.0), Some(0), None));
    }

    #[test]
    fn a_ranking_within_the_unit_interval_can_be_declared_as_such() {
        let scores = EdgeScores::from_matrix(2, vec![0.9, 0.1, 0.2, 0.3]).unwrap();
        let options = MetricOptions { ranking_only: true, ..MetricOptions::new(SelfEdges::Kept) };
        let found = graph_metrics(&scores, &SignatureGraph::empty(2), options).unwrap();
        assert_eq!((found.threshold, found.brier, found.shd), (None, None, None));
    }

    #[test]
    fn dropped_self_edges_do_not_matter() {
        let truth = SignatureGraph::from_matrix(2, vec![true, true, false, true]).unwrap();
        let scores = |own| EdgeScores::from_matrix(2, vec![own, 0.9, 0.1, own]).unwrap();
        let options = MetricOptions::new(SelfEdges::Dropped);
        let found = |own| graph_metrics(&scores(own), &truth, options).unwrap();
        assert_eq!(found(0.0), found(1e9));
        assert_eq!((found(0.0).n_pairs, found(0.0).n_edges), (2, 1));
    }

    #[test]
    fn one_variable_without_self_edges_leaves_nothing_to_measure() {
        let scores = EdgeScores::from_matrix(1, vec![0.5]).unwrap();
        let options = MetricOptions::new(SelfEdges::Dropped);
        let found = graph_metrics(&scores, &SignatureGraph::empty(1), options).unwrap();
        assert_eq!((found.prevalence, found.brier, found.calibration_error), (None, None, None));
        assert_eq!((found.n_pairs, found.shd), (0, Some(0)));
    }

    #[test]
    fn a_graph_of_another_size_and_an_endless_threshold_are_refused() {
        let scores = EdgeScores::from_matrix(1, vec![0.5]).unwrap();
        let options = MetricOptions::new(SelfEdges::Kept);
        let error = graph_metrics(&scores, &SignatureGraph::empty(2), options).unwrap_err();
        assert_eq!(error, CoreError::GraphSizesDiffer { scores: 1, truth: 2 });
        let options = MetricOptions { threshold: Some(f64::INFINITY), ..options };
        let error = graph_metrics(&scores, &SignatureGraph::empty(1), options).unwrap_err();
        assert_eq!(error, CoreError::ThresholdNotFinite { threshold: f64::INFINITY });
    }

    #[test]
    fn undefined_metrics_are_null_in_json() {
        let found = metrics([3.0, 0.2, 0.3, 0.4], [false; 4], None);
        let json = serde_json::to_value(&found).unwrap();
        let null = serde_json::Value::Null;
        assert_eq!((&json["auroc"], &json["f1"], &json["shd"]), (&null, &null, &null));
        assert_eq!(json["self_edges"], "kept");
    }
}
