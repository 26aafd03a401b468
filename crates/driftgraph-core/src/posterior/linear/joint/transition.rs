//! One step of the linear process, dense or edge by edge.

use super::super::dynamics::LinearDynamics;
use crate::numeric::kernels::{View, add_product, add_scaled, product};
use crate::numeric::linalg::identity;

/// One step of the process without noise: z' = z T + h b, with T = I + h W `[source, target]`.
///
/// A graph that was drawn has few edges, and products with it are worth skipping what is not there.
pub(super) struct Transition {
    n_variables: usize,
    edges: Edges,
}

enum Edges {
    /// All of T.
    Dense(Vec<f64>),
    /// Source, target and weight of what T has beside the identity, ordered by target.
    Sparse(Vec<(usize, usize, f64)>),
}

/// Share of all pairs up to which edges are handled one by one.
const FEW_EDGES: f64 = 0.1;

impl Transition {
    /// Nothing leads to variables of whose causes the step says nothing.
    pub(super) fn new(
        dynamics: &LinearDynamics,
        scales: &[f64],
        step: f64,
        left_out: &[usize],
    ) -> Self {
        let d = scales.len();
        let weight = |source: usize, target: usize| {
            if left_out.contains(&target) {
                return if source == target { -1.0 } else { 0.0 };
            }
            step * scales[target] * dynamics.effect(source, target)
        };
        let pairs = (0..d).flat_map(|target| (0..d).map(move |source| (source, target)));
        let few: Vec<(usize, usize, f64)> = pairs
            .map(|(source, target)| (source, target, weight(source, target)))
            .filter(|(_, _, weight)| *weight != 0.0)
            .collect();
        if few.len() as f64 <= FEW_EDGES * (d * d) as f64 {
            return Self { n_variables: d, edges: Edges::Sparse(few) };
        }
        let mut dense = identity(d);
        for (source, target, weight) in few {
            dense[source * d + target] += weight;
        }
        Self { n_variables: d, edges: Edges::Dense(dense) }
    }

    /// T' M for a square matrix.
    pub(super) fn transposed_times(&self, matrix: &[f64]) -> Vec<f64> {
        let d = self.n_variables;
        match &self.edges {
            Edges::Dense(dense) => {
                let mut out = vec![0.0; d * d];
                product(&mut out, d, View::new(dense, d, d).t(), View::new(matrix, d, d));
                out
            }
            Edges::Sparse(edges) => {
                let mut out = matrix.to_vec();
                for &(source, target, weight) in edges {
                    add_scaled(&mut out[target * d..][..d], weight, &matrix[source * d..][..d]);
                }
                out
            }
        }
    }

    /// z T + offsets for rows of states.
    pub(super) fn next(&self, states: &[f64], offsets: &[f64]) -> Vec<f64> {
        let d = self.n_variables;
        let n = states.len() / d;
        let mut next = offsets.repeat(n);
        match &self.edges {
            Edges::Dense(dense) => {
                add_product(&mut next, d, View::new(states, n, d), View::new(dense, d, d));
            }
            Edges::Sparse(edges) => {
                for (next, state) in next.chunks_exact_mut(d).zip(states.chunks_exact(d)) {
                    next.iter_mut().zip(state).for_each(|(next, state)| *next += state);
                    for &(source, target, weight) in edges {
                        next[target] += weight * state[source];
                    }
                }
            }
        }
        next
    }
}
