//! The graph of a process: which variable enters the drift or diffusion of which.

use crate::CoreError;

/// A directed graph over D variables; cycles and self-loops are allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureGraph {
    n_variables: usize,
    /// `[source, target]`.
    edges: Vec<bool>,
}

impl SignatureGraph {
    /// The graph without edges.
    pub fn empty(n_variables: usize) -> Self {
        Self { n_variables, edges: vec![false; n_variables * n_variables] }
    }

    /// Wraps a matrix `[source, target]` of D x D entries.
    pub fn from_matrix(n_variables: usize, edges: Vec<bool>) -> Result<Self, CoreError> {
        if edges.len() != n_variables * n_variables {
            return Err(CoreError::WrongGraphSize { n_variables, found: edges.len() });
        }
        Ok(Self { n_variables, edges })
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.n_variables
    }

    /// Number of edges, self-loops included.
    pub fn n_edges(&self) -> usize {
        self.edges.iter().filter(|&&present| present).count()
    }

    /// Whether `source` enters the drift or diffusion of `target`.
    pub fn has_edge(&self, source: usize, target: usize) -> bool {
        self.edges[source * self.n_variables + target]
    }

    /// Adds or removes one edge.
    pub fn set_edge(&mut self, source: usize, target: usize, present: bool) {
        self.edges[source * self.n_variables + target] = present;
    }

    /// All edges as `(source, target)`, by source and then by target.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let present = self.edges.iter().enumerate().filter(|(_, present)| **present);
        present.map(|(idx, _)| (idx / self.n_variables, idx % self.n_variables))
    }

    /// The matrix `[source, target]`.
    pub fn matrix(&self) -> &[bool] {
        &self.edges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sources_and_columns_are_targets() {
        let mut graph = SignatureGraph::empty(3);
        graph.set_edge(0, 2, true);
        graph.set_edge(1, 1, true);
        let matrix = [false, false, true, false, true, false, false, false, false];
        assert_eq!(graph.matrix(), matrix);
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 2), (1, 1)]);
        assert!(graph.has_edge(0, 2) && !graph.has_edge(2, 0));
    }

    #[test]
    fn a_matrix_of_another_size_is_refused() {
        assert!(SignatureGraph::from_matrix(3, vec![true; 8]).is_err());
    }
}
