//! Pairs sorted by score, with equal scores merged: all that the metrics need to know.

use serde::Serialize;

use super::{SelfEdges, ratio};
use crate::fitted::calibration::{N_BINS, bin_of};
use crate::{CoreError, EdgeScores, SignatureGraph};

/// Pairs that share one score.
#[derive(Debug)]
struct TieGroup {
    score: f64,
    n_pairs: usize,
    n_edges: usize,
}

/// Groups of equal scores, best first.
#[derive(Debug)]
pub(super) struct Ranking {
    groups: Vec<TieGroup>,
    n_pairs: usize,
    n_edges: usize,
}

/// One point of a ROC curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RocPoint {
    /// Scores at or above it are predicted; infinite at the first point, where nothing is.
    pub threshold: f64,
    /// Share of the absent edges that are predicted.
    pub fpr: f64,
    /// Share of the true edges that are predicted.
    pub tpr: f64,
}

/// One point of a precision-recall curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PrecisionRecallPoint {
    /// Scores at or above it are predicted.
    pub threshold: f64,
    /// Share of the true edges that are predicted.
    pub recall: f64,
    /// Share of the predicted edges that are true.
    pub precision: f64,
}

/// Both curves, from the strictest threshold to the loosest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curves {
    /// From (0, 0) to (1, 1); undefined unless there are both true and absent edges.
    pub roc: Option<Vec<RocPoint>>,
    /// Starts at the best score, since precision has no value before; undefined without true edges.
    pub precision_recall: Option<Vec<PrecisionRecallPoint>>,
}

impl Ranking {
    /// Sorts the pairs that count by score and merges equal scores.
    pub(super) fn new(
        scores: &EdgeScores,
        truth: &SignatureGraph,
        self_edges: SelfEdges,
    ) -> Result<Self, CoreError> {
        let n_variables = scores.n_variables();
        if truth.n_variables() != n_variables {
            let (scores, truth) = (n_variables, truth.n_variables());
            return Err(CoreError::GraphSizesDiffer { scores, truth });
        }
        let counts =
            |idx: usize| self_edges == SelfEdges::Kept || idx / n_variables != idx % n_variables;
        let all_pairs = scores.matrix().iter().copied().zip(truth.matrix().iter().copied());
        let mut pairs: Vec<(f64, bool)> =
            all_pairs.enumerate().filter(|(idx, _)| counts(*idx)).map(|(_, pair)| pair).collect();
        pairs.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        // `==` also ties 0 and -0, which `total_cmp` tells apart but leaves next to each other.
        let groups = pairs
            .chunk_by(|a, b| a.0 == b.0)
            .map(|tied| TieGroup {
                score: tied[0].0,
                n_pairs: tied.len(),
                n_edges: tied.iter().filter(|(_, present)| *present).count(),
            })
            .collect::<Vec<_>>();
        let n_edges = groups.iter().map(|group| group.n_edges).sum();
        Ok(Self { groups, n_pairs: pairs.len(), n_edges })
    }

    pub(super) fn n_pairs(&self) -> usize {
        self.n_pairs
    }

    pub(super) fn n_edges(&self) -> usize {
        self.n_edges
    }

    /// Whether every score could be a probability.
    pub(super) fn lies_in_unit_interval(&self) -> bool {
        self.groups.iter().all(|group| (0.0..=1.0).contains(&group.score))
    }

    /// The area under the ROC curve, from the rank-sum statistic of Mann and Whitney (1947).
    pub(super) fn auroc(&self) -> Option<f64> {
        // Twice the number of (true, absent) pairs in the right order, ties counting one half:
        // whole numbers, so that no rounding happens before the division.
        let (mut n_edges_above, mut twice_in_order) = (0_u128, 0_u128);
        for group in &self.groups {
            let n_edges = group.n_edges as u128;
            twice_in_order += (group.n_pairs as u128 - n_edges) * (2 * n_edges_above + n_edges);
            n_edges_above += n_edges;
        }
        let n_comparisons = self.n_edges as u128 * (self.n_pairs - self.n_edges) as u128;
        (n_comparisons > 0).then(|| twice_in_order as f64 / (2 * n_comparisons) as f64)
    }

    /// Sum over the distinct scores of (gain in recall) x precision, as scikit-learn defines it.
    pub(super) fn average_precision(&self) -> Option<f64> {
        let mut n_predicted = 0;
        let mut n_correct = 0;
        let mut area = 0.0;
        for group in &self.groups {
            n_predicted += group.n_pairs;
            n_correct += group.n_edges;
            area += group.n_edges as f64 * (n_correct as f64 / n_predicted as f64);
        }
        (self.n_edges > 0).then(|| area / self.n_edges as f64)
    }

    /// Number of pairs, and of true edges among them, that score at least `threshold`.
    pub(super) fn counts_from(&self, threshold: f64) -> (usize, usize) {
        let predicted = self.groups.iter().take_while(|group| group.score >= threshold);
        predicted
            .fold((0, 0), |(pairs, edges), group| (pairs + group.n_pairs, edges + group.n_edges))
    }

    /// Expected precision of the best `k` pairs when ties are broken by a fair lottery.
    pub(super) fn precision_at(&self, k: usize) -> Option<f64> {
        if k == 0 || k > self.n_pairs {
            return None;
        }
        let mut n_left = k;
        let mut n_correct = 0.0;
        for group in &self.groups {
            let n_taken = n_left.min(group.n_pairs);
            n_correct += (n_taken * group.n_edges) as f64 / group.n_pairs as f64;
            n_left -= n_taken;
        }
        Some(n_correct / k as f64)
    }

    /// Mean squared difference between score and presence.
    pub(super) fn brier(&self) -> Option<f64> {
        let sum: f64 = (self.groups.iter())
            .map(|group| {
                let n_absent = (group.n_pairs - group.n_edges) as f64;
                group.n_edges as f64 * (1.0 - group.score).powi(2) + n_absent * group.score.powi(2)
            })
            .sum();
        (self.n_pairs > 0).then(|| sum / self.n_pairs as f64)
    }

    /// Mean over pairs of |share of true edges - mean score| in the pair's bin.
    pub(super) fn calibration_error(&self) -> Option<f64> {
        // (share - mean) x n = true edges - sum of scores, bin by bin.
        let mut excess = [0.0; N_BINS];
        for group in &self.groups {
            excess[bin_of(group.score)] +=
                group.n_edges as f64 - group.n_pairs as f64 * group.score;
        }
        let sum: f64 = excess.iter().map(|excess| excess.abs()).sum();
        (self.n_pairs > 0).then(|| sum / self.n_pairs as f64)
    }

    /// The curves through the counts at every distinct score.
    pub(super) fn curves(&self) -> Curves {
        let n_absent = self.n_pairs - self.n_edges;
        let mut roc = vec![RocPoint { threshold: f64::INFINITY, fpr: 0.0, tpr: 0.0 }];
        let mut precision_recall = Vec::with_capacity(self.groups.len());
        let (mut n_predicted, mut n_correct) = (0, 0);
        for &TieGroup { score: threshold, n_pairs, n_edges } in &self.groups {
            n_predicted += n_pairs;
            n_correct += n_edges;
            let Some(tpr) = ratio(n_correct, self.n_edges) else { break };
            let precision = n_correct as f64 / n_predicted as f64;
            precision_recall.push(PrecisionRecallPoint { threshold, recall: tpr, precision });
            let Some(fpr) = ratio(n_predicted - n_correct, n_absent) else { continue };
            roc.push(RocPoint { threshold, fpr, tpr });
        }
        Curves {
            roc: (self.n_edges > 0 && n_absent > 0).then_some(roc),
            precision_recall: (self.n_edges > 0).then_some(precision_recall),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(scores: &[f64; 4], truth: [bool; 4]) -> Ranking {
        let scores = EdgeScores::from_matrix(2, scores.to_vec()).unwrap();
        let truth = SignatureGraph::from_matrix(2, truth.to_vec()).unwrap();
        Ranking::new(&scores, &truth, SelfEdges::Kept).unwrap()
    }

    #[test]
    fn curves_have_one_point_per_distinct_score() {
        let curves = ranking(&[0.9, 0.6, 0.6, 0.2], [true, false, true, false]).curves();
        let roc: Vec<_> = curves.roc.unwrap().iter().map(|p| (p.threshold, p.fpr, p.tpr)).collect();
        let first = (f64::INFINITY, 0.0, 0.0);
        assert_eq!(roc, [first, (0.9, 0.0, 0.5), (0.6, 0.5, 1.0), (0.2, 1.0, 1.0)]);
        let points = curves.precision_recall.unwrap();
        let points: Vec<_> = points.iter().map(|p| (p.recall, p.precision)).collect();
        assert_eq!(points, [(0.5, 1.0), (1.0, 2.0 / 3.0), (1.0, 0.5)]);
    }

    #[test]
    fn curves_without_true_or_absent_edges_are_undefined() {
        let curves = ranking(&[0.1, 0.2, 0.3, 0.4], [false; 4]).curves();
        assert_eq!((curves.roc, curves.precision_recall), (None, None));
        let curves = ranking(&[0.1, 0.2, 0.3, 0.4], [true; 4]).curves();
        assert_eq!(
            (curves.roc, curves.precision_recall.map(|points| points.len())),
            (None, Some(4))
        );
    }

    #[test]
    fn zero_and_minus_zero_are_the_same_score() {
        let tied = ranking(&[0.0, -0.0, 0.0, -0.0], [true, false, true, false]);
        assert_eq!(tied.auroc(), Some(0.5));
    }

    #[test]
    fn infinite_scores_rank_first_and_last() {
        let ends = [f64::INFINITY, 1.0, 2.0, f64::NEG_INFINITY];
        assert_eq!(ranking(&ends, [true, false, false, false]).auroc(), Some(1.0));
        assert_eq!(ranking(&ends, [false, false, false, true]).auroc(), Some(0.0));
    }

    #[test]
    fn bins_of_the_calibration_error_are_closed_on_the_right() {
        // 0.3 falls into (0.2, 0.3] with 0.25, not with 0.35: |1 - 0.55| + |1 - 0.35| over 4,
        // plus 0 for the two certain pairs.
        let found = ranking(&[0.3, 0.25, 0.35, 0.0], [true, false, true, false]);
        assert!((found.calibration_error().unwrap() - (0.45 + 0.65) / 4.0).abs() < 1e-15);
    }
}
