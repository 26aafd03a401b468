//! Whether probabilities of edges mean what they say: of ten edges with 0.7, seven should be there.

use serde::{Deserialize, Serialize};

use super::score::SelfEdges;
use crate::numeric::real::ln;
use crate::{CoreError, EdgeScores, SignatureGraph};

/// Number of equally wide bins.
pub const N_BINS: usize = 10;

/// The bin of a probability; bins are closed on the right, and 0 belongs to the first.
pub(in crate::fitted) fn bin_of(probability: f64) -> usize {
    (1..N_BINS).take_while(|&edge| probability > edge as f64 / N_BINS as f64).count()
}

/// The pairs of variables whose probability falls into one bin.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Number of pairs.
    pub n_pairs: usize,
    /// How many of them are true edges.
    pub n_edges: usize,
    /// Sum of their probabilities.
    pub(crate) probability_sum: f64,
}

impl ReliabilityBin {
    /// Mean probability; undefined in an empty bin.
    pub fn predicted(&self) -> Option<f64> {
        (self.n_pairs > 0).then(|| self.probability_sum / self.n_pairs as f64)
    }

    /// Share of true edges; undefined in an empty bin.
    pub fn observed(&self) -> Option<f64> {
        (self.n_pairs > 0).then(|| self.n_edges as f64 / self.n_pairs as f64)
    }
}

/// Sums over pairs that tell how reliable probabilities are; those of several graphs can be added.
///
/// ```
/// use driftgraph_core::fitted::calibration::Reliability;
/// use driftgraph_core::fitted::score::SelfEdges;
/// use driftgraph_core::{EdgeScores, SignatureGraph};
///
/// let mut truth = SignatureGraph::empty(2);
/// truth.set_edge(0, 1, true);
/// let probabilities = EdgeScores::from_matrix(2, vec![0.0, 0.9, 0.3, 0.0])?;
/// let reliability = Reliability::new(&probabilities, &truth, SelfEdges::Dropped)?;
/// // (0.1 + 0.3) / 2 away from what is there.
/// assert!((reliability.calibration_error().unwrap() - 0.2).abs() < 1e-12);
/// # Ok::<(), driftgraph_core::CoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reliability {
    /// From the least probable to the most probable.
    pub bins: [ReliabilityBin; N_BINS],
    /// Sum of squared differences between probability and presence.
    pub squares: f64,
    /// Sum of -log(probability of what is the case), in nats.
    #[serde(rename = "surprise")]
    pub log_losses: f64,
}

impl Reliability {
    /// Compares probabilities with the true graph.
    ///
    /// In the log loss, probabilities are kept within machine precision of 0 and 1: a sigmoid
    /// rounds to 1, and one rounded number must not make the sum infinite.
    pub fn new(
        probabilities: &EdgeScores,
        truth: &SignatureGraph,
        self_edges: SelfEdges,
    ) -> Result<Self, CoreError> {
        let n_variables = probabilities.n_variables();
        if truth.n_variables() != n_variables {
            let (scores, truth) = (n_variables, truth.n_variables());
            return Err(CoreError::GraphSizesDiffer { scores, truth });
        }
        let mut all = Self::default();
        let pairs = probabilities.matrix().iter().zip(truth.matrix()).enumerate();
        for (idx, (&probability, &present)) in pairs {
            if self_edges == SelfEdges::Dropped && idx / n_variables == idx % n_variables {
                continue;
            }
            if !(0.0..=1.0).contains(&probability) {
                return Err(CoreError::BadProbability { probability });
            }
            let bin = &mut all.bins[bin_of(probability)];
            bin.n_pairs += 1;
            bin.n_edges += usize::from(present);
            bin.probability_sum += probability;
            let of_truth = if present { probability } else { 1.0 - probability };
            all.squares += (1.0 - of_truth).powi(2);
            all.log_losses -= ln(of_truth.clamp(f64::EPSILON, 1.0 - f64::EPSILON));
        }
        Ok(all)
    }

    /// Adds the pairs of another graph.
    pub fn add(&mut self, other: &Self) {
        for (bin, more) in self.bins.iter_mut().zip(&other.bins) {
            bin.n_pairs += more.n_pairs;
            bin.n_edges += more.n_edges;
            bin.probability_sum += more.probability_sum;
        }
        self.squares += other.squares;
        self.log_losses += other.log_losses;
    }

    /// Number of pairs.
    pub fn n_pairs(&self) -> usize {
        self.bins.iter().map(|bin| bin.n_pairs).sum()
    }

    /// Number of true edges.
    pub fn n_edges(&self) -> usize {
        self.bins.iter().map(|bin| bin.n_edges).sum()
    }

    /// Expected calibration error: mean over pairs of |observed - predicted| in the pair's bin
    /// (Guo et al., 2017, arXiv:1706.04599).
    pub fn calibration_error(&self) -> Option<f64> {
        let excess = |bin: &ReliabilityBin| (bin.n_edges as f64 - bin.probability_sum).abs();
        self.per_pair(self.bins.iter().map(excess).sum())
    }

    /// Mean squared difference between probability and presence (Brier, 1950).
    pub fn brier(&self) -> Option<f64> {
        self.per_pair(self.squares)
    }

    /// Mean of -log(probability of what is the case), in nats.
    pub fn log_loss(&self) -> Option<f64> {
        self.per_pair(self.log_losses)
    }

    fn per_pair(&self, sum: f64) -> Option<f64> {
        let n_pairs = self.n_pairs();
        (n_pairs > 0).then(|| sum / n_pairs as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reliability(
        probabilities: [f64; 4],
        truth: [bool; 4],
        self_edges: SelfEdges,
    ) -> Reliability {
        let probabilities = EdgeScores::from_matrix(2, probabilities.to_vec()).unwrap();
        let truth = SignatureGraph::from_matrix(2, truth.to_vec()).unwrap();
        Reliability::new(&probabilities, &truth, self_edges).unwrap()
    }

    /// Sums of a few decimals, each rounded once or twice.
    fn close(found: Option<f64>, wanted: f64) -> bool {
        (found.unwrap() - wanted).abs() < 1e-14
    }

    #[test]
    fn hand_computed_reliability_of_four_pairs() {
        let found = reliability([0.8, 0.75, 0.3, 0.1], [true, false, true, false], SelfEdges::Kept);
        // (0.7, 0.8]: 0.8 true and 0.75 false; (0.2, 0.3]: 0.3 true; [0, 0.1]: 0.1 false.
        let filled: Vec<(usize, usize, usize)> = (found.bins.iter().enumerate())
            .filter(|(_, bin)| bin.n_pairs > 0)
            .map(|(idx, bin)| (idx, bin.n_pairs, bin.n_edges))
            .collect();
        assert_eq!(filled, [(0, 1, 0), (2, 1, 1), (7, 2, 1)]);
        assert!(close(found.bins[7].predicted(), 0.775) && close(found.bins[7].observed(), 0.5));
        assert_eq!(found.bins[5].predicted(), None);
        // |0 - 0.1| + |1 - 0.3| + |1 - 1.55| over 4.
        assert!(close(found.calibration_error(), (0.1 + 0.7 + 0.55) / 4.0));
        // 0.2^2 + 0.75^2 + 0.7^2 + 0.1^2 over 4.
        assert!(close(found.brier(), (0.04 + 0.5625 + 0.49 + 0.01) / 4.0));
        // What was the case had probabilities 0.8, 0.25, 0.3 and 0.9.
        assert!(close(found.log_loss(), -(0.8_f64 * 0.25 * 0.3 * 0.9).ln() / 4.0));
    }

    #[test]
    fn graphs_add_up_and_self_edges_can_be_left_out() {
        let truth = [true, true, false, false];
        let mut sum = reliability([1.0, 0.5, 0.2, 0.0], truth, SelfEdges::Dropped);
        assert_eq!((sum.n_pairs(), sum.n_edges()), (2, 1));
        sum.add(&reliability([1.0, 0.9, 0.2, 0.0], truth, SelfEdges::Dropped));
        assert_eq!((sum.n_pairs(), sum.n_edges()), (4, 2));
        // 0.5^2 + 0.2^2 + 0.1^2 + 0.2^2 over 4.
        assert!(close(sum.brier(), (0.25 + 0.04 + 0.01 + 0.04) / 4.0));
        assert_eq!(Reliability::default().brier(), None);
    }

    #[test]
    fn a_certain_mistake_costs_much_but_not_everything() {
        let found = reliability([0.0, 1.0, 0.0, 0.0], [false; 4], SelfEdges::Kept);
        // -log of the machine precision is 36.04; four pairs, three of them certain and right.
        assert!((found.log_loss().unwrap() - 36.04 / 4.0).abs() < 1e-2);
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        let scores = EdgeScores::from_matrix(1, vec![1.5]).unwrap();
        let error = Reliability::new(&scores, &SignatureGraph::empty(1), SelfEdges::Kept);
        assert_eq!(error.unwrap_err(), CoreError::BadProbability { probability: 1.5 });
    }
}
