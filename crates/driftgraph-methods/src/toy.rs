//! A method for tests: what it takes to add one is this file and a line in the registry.

use driftgraph_core::EdgeScores;

use crate::method::{Learned, Method, MethodError, MethodTask, Takes};

/// Ranks edges by the places of their variables.
pub(crate) struct Toy;

impl Method for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn description(&self) -> &'static str {
        "ranks edges by the places of their variables: a method for tests, which learns nothing"
    }

    fn takes(&self) -> Takes {
        Takes { prior_edges: false, ..Takes::ALL }
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let n = task.data.n_variables();
        let scores = (0..n * n).map(|place| 1.0 / (1.0 + place as f64)).collect();
        Ok(Learned::scores(&EdgeScores::from_matrix(n, scores)?))
    }
}
