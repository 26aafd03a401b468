//! What is believed about edges before seeing data: sparsity, Eq. 7, and the user's knowledge.

use crate::CoreError;
use crate::numeric::real::{ln, ln_1p};

/// Whether an edge is learned at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EdgeRule {
    /// Learned from data.
    #[default]
    Free,
    /// Never sampled; its probability is exactly 0.
    Forbidden,
    /// In every sample; its probability is exactly 1.
    Required,
}

impl EdgeRule {
    /// The log-odds of an edge whose logit was learned, infinite where the rule says what it is.
    pub fn log_odds(self, logit: f64) -> f64 {
        match self {
            Self::Free => logit,
            Self::Forbidden => f64::NEG_INFINITY,
            Self::Required => f64::INFINITY,
        }
    }
}

/// Prior log-odds of every edge, and the edges that are not learned.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgePrior {
    n_variables: usize,
    /// `[source, target]`.
    rules: Vec<EdgeRule>,
    log_odds: Vec<f64>,
}

impl EdgePrior {
    /// Eq. 7 (eq: graph prior): p(G) ∝ exp(-sparsity |G|), independent edges of log-odds -sparsity.
    pub fn new(n_variables: usize, sparsity: f64) -> Self {
        let n_pairs = n_variables * n_variables;
        Self {
            n_variables,
            rules: vec![EdgeRule::Free; n_pairs],
            log_odds: vec![-sparsity; n_pairs],
        }
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.n_variables
    }

    /// Rules `[source, target]`.
    pub fn rules(&self) -> &[EdgeRule] {
        &self.rules
    }

    /// Prior log-odds `[source, target]` of the free edges.
    pub(crate) fn log_odds(&self) -> &[f64] {
        &self.log_odds
    }

    /// States what is known of one edge: 0 forbids it, 1 requires it, and a probability between
    /// adds its log-odds to those of the sparsity.
    pub fn know(
        &mut self,
        source: usize,
        target: usize,
        probability: f64,
    ) -> Result<(), CoreError> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(CoreError::BadProbability { probability });
        }
        let idx = source * self.n_variables + target;
        match probability {
            0.0 => self.rules[idx] = EdgeRule::Forbidden,
            1.0 => self.rules[idx] = EdgeRule::Required,
            _ => self.log_odds[idx] += ln(probability) - ln_1p(-probability),
        }
        Ok(())
    }

    /// Leaves a variable out: no edge from it or to it is learned, but for those the user knows about.
    pub fn leave_out(&mut self, variable: usize) {
        let n = self.n_variables;
        for other in 0..n {
            for idx in [variable * n + other, other * n + variable] {
                if self.rules[idx] == EdgeRule::Free && self.log_odds[idx] == 0.0 {
                    self.rules[idx] = EdgeRule::Forbidden;
                }
            }
        }
    }

    /// What is known of some variables, in an order: variable `k` of the new is `order[k]` of this.
    #[must_use]
    pub fn reordered(&self, order: &[usize]) -> Self {
        let n = order.len();
        let place = |idx: usize| order[idx / n] * self.n_variables + order[idx % n];
        Self {
            n_variables: n,
            log_odds: (0..n * n).map(|idx| self.log_odds[place(idx)]).collect(),
            rules: (0..n * n).map(|idx| self.rules[place(idx)]).collect(),
        }
    }

    /// Variables that an edge may be learned of, or that are known to have one.
    pub(crate) fn variables_with_edges(&self) -> Vec<usize> {
        let n = self.n_variables;
        let open = |idx: usize| self.rules[idx] != EdgeRule::Forbidden;
        let has_edge =
            |&own: &usize| (0..n).any(|other| open(own * n + other) || open(other * n + own));
        (0..n).filter(has_edge).collect()
    }

    /// Forbids every edge from a variable to itself.
    pub fn forbid_self_loops(&mut self) {
        for idx in 0..self.n_variables {
            self.rules[idx * self.n_variables + idx] = EdgeRule::Forbidden;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_of_an_edge_adds_to_the_sparsity_or_fixes_the_edge() {
        let mut prior = EdgePrior::new(2, 3.0);
        prior.know(0, 1, 0.75).unwrap();
        prior.know(1, 0, 1.0).unwrap();
        prior.forbid_self_loops();
        // log(0.75 / 0.25) = log 3.
        assert!((prior.log_odds()[1] - (3.0_f64.ln() - 3.0)).abs() < 1e-15);
        let rules = [EdgeRule::Forbidden, EdgeRule::Free, EdgeRule::Required, EdgeRule::Forbidden];
        assert_eq!(prior.rules(), rules);
    }

    #[test]
    fn a_variable_left_out_keeps_only_the_edges_the_user_knows_about() {
        use EdgeRule::{Forbidden, Free, Required};
        let mut prior = EdgePrior::new(3, 0.0);
        prior.know(0, 2, 1.0).unwrap();
        prior.know(2, 1, 0.3).unwrap();
        prior.leave_out(2);
        let rules = [Free, Free, Required, Free, Free, Forbidden, Forbidden, Free, Forbidden];
        assert_eq!(prior.rules(), rules);
    }

    #[test]
    fn a_probability_outside_zero_to_one_is_refused() {
        for bad in [-0.1, 1.1, f64::NAN] {
            assert!(EdgePrior::new(2, 0.0).know(0, 0, bad).is_err());
        }
    }
}
