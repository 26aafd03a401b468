//! Sparse weighted edges, stored by target, as most systems with random couplings need them.

use driftgraph_core::SignatureGraph;
use driftgraph_core::random::RandomStream;

use crate::system::uniform_between;

/// For every target its sources and their weights, sources in increasing order.
#[derive(Debug, Clone)]
pub(crate) struct Couplings {
    by_target: Vec<Vec<(usize, f64)>>,
}

impl Couplings {
    /// The non-zero entries of a matrix `[source, target]`.
    pub(crate) fn from_matrix(n_variables: usize, matrix: &[f64]) -> Self {
        let into = |target: usize| {
            let column = matrix.iter().skip(target).step_by(n_variables).copied();
            column.enumerate().filter(|&(_, weight)| weight != 0.0).collect()
        };
        Self { by_target: (0..n_variables).map(into).collect() }
    }

    /// Every target gets `n_parents` distinct sources other than itself, and weights by `weight`.
    pub(crate) fn random(
        n_variables: usize,
        n_parents: usize,
        random: &mut RandomStream,
        weight: impl Fn(&mut RandomStream) -> f64,
    ) -> Self {
        let mut into = |target: usize| {
            let mut sources: Vec<usize> = (0..n_variables).filter(|&idx| idx != target).collect();
            random.shuffle(&mut sources);
            sources.truncate(n_parents);
            sources.sort_unstable();
            sources.into_iter().map(|source| (source, weight(random))).collect()
        };
        Self { by_target: (0..n_variables).map(&mut into).collect() }
    }

    /// Adds an edge of weight `weight` from every variable to itself.
    pub(crate) fn add_self_effects(&mut self, weight: f64) {
        for (target, sources) in self.by_target.iter_mut().enumerate() {
            let place = sources.partition_point(|&(source, _)| source < target);
            sources.insert(place, (target, weight));
        }
    }

    /// The sources of `target` with their weights.
    pub(crate) fn sources_of(&self, target: usize) -> &[(usize, f64)] {
        &self.by_target[target]
    }

    /// Sum over the sources of `target` of weight times the source's state.
    pub(crate) fn weighted_sum(&self, target: usize, state: &[f64]) -> f64 {
        self.sources_of(target).iter().map(|&(source, weight)| weight * state[source]).sum()
    }

    /// Adds all couplings to `graph`.
    pub(crate) fn mark_edges(&self, graph: &mut SignatureGraph) {
        for (target, sources) in self.by_target.iter().enumerate() {
            for &(source, _) in sources {
                graph.set_edge(source, target, true);
            }
        }
    }
}

/// A weight of either sign; `n_parents` of them sum to at most 0.8 in magnitude.
///
/// Beside a self-effect of -1 this makes every column diagonally dominant, hence the linear system
/// stable (Gershgorin 1931); the smallest weight is half the largest, so that no edge is too weak
/// to matter.
pub(crate) fn stable_weight(random: &mut RandomStream, n_parents: usize) -> f64 {
    let magnitude = uniform_between(random, 0.4, 0.8) / n_parents as f64;
    if random.uniform() < 0.5 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use driftgraph_core::random::Purpose;

    use super::*;

    #[test]
    fn a_matrix_is_read_with_rows_as_sources() {
        // Row 0 = [0, 2], row 1 = [3, 0]: edges 0 -> 1 of weight 2 and 1 -> 0 of weight 3.
        let couplings = Couplings::from_matrix(2, &[0.0, 2.0, 3.0, 0.0]);
        assert_eq!(couplings.sources_of(0), [(1, 3.0)]);
        assert_eq!(couplings.sources_of(1), [(0, 2.0)]);
        assert_eq!(couplings.weighted_sum(1, &[10.0, 100.0]), 20.0);
    }

    #[test]
    fn random_couplings_give_every_target_distinct_parents_other_than_itself() {
        let mut random = RandomStream::new(0, Purpose::System, 0);
        let couplings = Couplings::random(7, 3, &mut random, |random| stable_weight(random, 3));
        for target in 0..7 {
            let sources = couplings.sources_of(target);
            assert_eq!(sources.len(), 3);
            assert!(sources.windows(2).all(|pair| pair[0].0 < pair[1].0));
            assert!(sources.iter().all(|&(source, _)| source != target));
            let total: f64 = sources.iter().map(|(_, weight)| weight.abs()).sum();
            assert!((0.4..=0.8).contains(&total), "total {total}");
        }
    }
}
