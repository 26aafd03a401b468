//! How strongly a method believes in each possible edge.

use crate::CoreError;

/// One score per ordered pair of variables: the larger, the more likely the edge.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeScores {
    n_variables: usize,
    /// `[source, target]`.
    scores: Vec<f64>,
}

impl EdgeScores {
    /// Wraps a matrix `[source, target]` of D x D scores, none of which may be `NaN`.
    pub fn from_matrix(n_variables: usize, scores: Vec<f64>) -> Result<Self, CoreError> {
        if scores.len() != n_variables * n_variables {
            return Err(CoreError::WrongGraphSize { n_variables, found: scores.len() });
        }
        if let Some(idx) = scores.iter().position(|score| score.is_nan()) {
            let (source, target) = (idx / n_variables, idx % n_variables);
            return Err(CoreError::ScoreNotANumber { edge: format!("{source} -> {target}") });
        }
        Ok(Self { n_variables, scores })
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.n_variables
    }

    /// The score of one edge.
    pub fn score(&self, source: usize, target: usize) -> f64 {
        self.scores[source * self.n_variables + target]
    }

    /// The matrix `[source, target]`.
    pub fn matrix(&self) -> &[f64] {
        &self.scores
    }

    /// All D x D edges as `(source, target, score)`, best first, ties in matrix order.
    pub fn ranked(&self) -> Vec<(usize, usize, f64)> {
        let mut edges: Vec<_> = (self.scores.iter().enumerate())
            .map(|(idx, &score)| (idx / self.n_variables, idx % self.n_variables, score))
            .collect();
        edges.sort_by(|a, b| b.2.total_cmp(&a.2));
        edges
    }
}

/// Places of values from 1 for the largest, equal ones sharing the mean of theirs.
pub fn shared_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    let mut ranks = vec![0.0; order.len()];
    let mut begin = 0;
    while begin < order.len() {
        let equal = order[begin..].iter().take_while(|&&idx| values[idx] == values[order[begin]]);
        let end = begin + equal.count().max(1);
        let mean = (begin + 1 + end) as f64 / 2.0;
        order[begin..end].iter().for_each(|&idx| ranks[idx] = mean);
        begin = end;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranking_is_by_score_and_keeps_matrix_order_in_ties() {
        let scores = EdgeScores::from_matrix(2, vec![0.5, 0.9, 0.5, 0.1]).unwrap();
        let ranked: Vec<_> = scores.ranked().into_iter().map(|(s, t, _)| (s, t)).collect();
        assert_eq!(ranked, [(0, 1), (0, 0), (1, 0), (1, 1)]);
    }

    #[test]
    fn a_score_that_is_not_a_number_is_refused() {
        let error = EdgeScores::from_matrix(2, vec![0.0, 0.0, f64::NAN, 0.0]).unwrap_err();
        assert_eq!(error, CoreError::ScoreNotANumber { edge: "1 -> 0".into() });
    }

    #[test]
    fn equal_values_share_the_mean_of_their_places() {
        let values = [0.5, f64::NEG_INFINITY, 2.0, 0.5];
        assert_eq!(shared_ranks(&values), [2.5, 4.0, 1.0, 2.5]);
    }
}
