//! What is known of edges where few variables may drive others: nothing is kept by pair.

use std::collections::BTreeMap;

use super::prior::EdgeRule;
use crate::CoreError;
use crate::numeric::real::{ln, ln_1p};

/// Which variables may drive and be driven, and what is known of single edges.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitedPrior {
    may_drive: Vec<bool>,
    may_be_driven: Vec<bool>,
    /// Whether a variable may have an effect on itself.
    may_keep: Vec<bool>,
    /// Rule and log-odds of single edges.
    known: BTreeMap<(usize, usize), (EdgeRule, f64)>,
}

impl LimitedPrior {
    /// Edges from those that may drive to those that may be driven, and of those that may keep their value to themselves.
    pub fn new(may_drive: Vec<bool>, may_be_driven: Vec<bool>, may_keep: Vec<bool>) -> Self {
        Self { may_drive, may_be_driven, may_keep, known: BTreeMap::new() }
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.may_drive.len()
    }

    /// Number of pairs that may be edges, those of a variable with itself among them.
    pub fn n_pairs(&self) -> usize {
        let count = |of: &[bool]| of.iter().filter(|may| **may).count();
        count(&self.may_drive) * count(&self.may_be_driven) + self.n_variables()
    }

    /// Whether there is room for an edge.
    pub fn allows(&self, source: usize, target: usize) -> bool {
        if source == target {
            return self.may_keep[target];
        }
        self.may_drive[source] && self.may_be_driven[target]
    }

    /// Whether a variable may have any edge.
    pub(crate) fn has_edges(&self, variable: usize) -> bool {
        self.may_drive[variable] || self.may_be_driven[variable] || self.may_keep[variable]
    }

    /// Which of these variables may drive others, and which may be driven.
    pub(crate) fn chosen(&self, order: &[usize]) -> [Vec<bool>; 2] {
        [&self.may_drive, &self.may_be_driven]
            .map(|may| order.iter().map(|&variable| may[variable]).collect())
    }

    /// Rule and log-odds of an edge.
    pub(crate) fn known(&self, source: usize, target: usize) -> (EdgeRule, f64) {
        if !self.allows(source, target) {
            return (EdgeRule::Forbidden, 0.0);
        }
        self.known.get(&(source, target)).copied().unwrap_or((EdgeRule::Free, 0.0))
    }

    /// States what is known of one edge, as [`EdgePrior::know`](super::prior::EdgePrior::know); edges that there is no
    /// room for stay forbidden.
    pub fn know(
        &mut self,
        source: usize,
        target: usize,
        probability: f64,
    ) -> Result<(), CoreError> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(CoreError::BadProbability { probability });
        }
        let entry = self.known.entry((source, target)).or_insert((EdgeRule::Free, 0.0));
        match probability {
            0.0 => entry.0 = EdgeRule::Forbidden,
            1.0 => entry.0 = EdgeRule::Required,
            _ => entry.1 += ln(probability) - ln_1p(-probability),
        }
        Ok(())
    }

    /// Leaves a variable out: it drives nothing and is driven by nothing.
    pub fn leave_out(&mut self, variable: usize) {
        self.may_drive[variable] = false;
        self.may_be_driven[variable] = false;
        self.may_keep[variable] = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_those_of_the_limits_unless_an_edge_is_known() {
        use EdgeRule::{Forbidden, Free, Required};
        let mut prior = LimitedPrior::new(
            vec![true, false, true],
            vec![true, true, false],
            vec![true, true, false],
        );
        assert_eq!(prior.n_pairs(), 7);
        prior.know(0, 1, 1.0).unwrap();
        prior.know(2, 1, 0.5).unwrap();
        prior.know(1, 0, 1.0).unwrap();
        let rules: Vec<EdgeRule> = (0..9).map(|idx| prior.known(idx / 3, idx % 3).0).collect();
        assert_eq!(
            rules,
            [Free, Required, Forbidden, Forbidden, Free, Forbidden, Free, Free, Forbidden]
        );
        assert!(prior.know(0, 0, 2.0).is_err());
        prior.leave_out(0);
        assert!(!prior.has_edges(0) && prior.known(0, 1).0 == Forbidden);
    }
}
