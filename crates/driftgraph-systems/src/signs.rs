//! Whether a variable raises or lowers another one's drift, judged at the states visited.

use driftgraph_core::SignatureGraph;
use driftgraph_core::process::sde::DiagonalSde;

/// More states than this add cost and no knowledge.
const MAX_STATES: usize = 200;

/// Share of the visited states that must agree on a sign.
const AGREEMENT: f64 = 0.95;

/// Direction of an effect on the drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// More of the source, more drift of the target.
    Positive,
    /// More of the source, less drift of the target.
    Negative,
}

/// The sign of every edge, where more than 95 % of the visited states agree on one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeSigns {
    n_variables: usize,
    /// `[source, target]`.
    signs: Vec<Option<Sign>>,
}

impl EdgeSigns {
    /// Signs of the drift's derivatives along the edges of `graph`, by central differences.
    ///
    /// `states` is `[state, variable]`; at most 200 of them, evenly spread, are looked at.
    pub fn at_states(
        sde: &(impl DiagonalSde + ?Sized),
        graph: &SignatureGraph,
        states: &[f64],
    ) -> Self {
        let n_variables = graph.n_variables();
        let n_states = states.len() / n_variables;
        let every = n_states.div_ceil(MAX_STATES).max(1);
        let mut balances = vec![Balance::default(); n_variables * n_variables];
        for state in states.chunks_exact(n_variables).step_by(every) {
            count_signs(sde, state, &mut balances);
        }
        let sign = |(idx, balance): (usize, &Balance)| {
            if graph.matrix()[idx] { balance.sign() } else { None }
        };
        Self { n_variables, signs: balances.iter().enumerate().map(sign).collect() }
    }

    /// The sign of one edge; `None` without the edge, or where the sign depends on the state.
    pub fn sign(&self, source: usize, target: usize) -> Option<Sign> {
        self.signs[source * self.n_variables + target]
    }
}

/// How many states saw a positive, a negative and no effect.
#[derive(Debug, Clone, Default)]
struct Balance {
    raised: usize,
    lowered: usize,
    unmoved: usize,
}

impl Balance {
    fn count(&mut self, difference: f64, rounding: f64) {
        if difference > rounding {
            self.raised += 1;
        } else if difference < -rounding {
            self.lowered += 1;
        } else {
            self.unmoved += 1;
        }
    }

    fn sign(&self) -> Option<Sign> {
        let needed = AGREEMENT * (self.raised + self.lowered + self.unmoved) as f64;
        if self.raised as f64 > needed {
            Some(Sign::Positive)
        } else if self.lowered as f64 > needed {
            Some(Sign::Negative)
        } else {
            None
        }
    }
}

fn count_signs(sde: &(impl DiagonalSde + ?Sized), state: &[f64], balances: &mut [Balance]) {
    let n_variables = state.len();
    let mut moved = state.to_vec();
    let (mut above, mut below) = (vec![0.0; n_variables], vec![0.0; n_variables]);
    for source in 0..n_variables {
        let step = 1e-5 * (1.0 + state[source].abs());
        moved[source] = state[source] + step;
        sde.drift(0.0, &moved, &mut above);
        moved[source] = state[source] - step;
        sde.drift(0.0, &moved, &mut below);
        moved[source] = state[source];
        for target in 0..n_variables {
            // Two drifts that should be equal differ by rounding, some 1e-13 of their terms.
            let rounding = 1e-12 * (1.0 + above[target].abs());
            balances[source * n_variables + target].count(above[target] - below[target], rounding);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinearSde, System, registry};

    #[test]
    fn signs_of_a_linear_system_are_those_of_its_matrix() {
        let matrix = [-1.0, 0.5, 0.0, 0.0, -2.0, -0.3, 0.0, 0.0, 0.1];
        let system = LinearSde::from_matrix(&matrix, &[0.0; 3], &[1.0; 3]).unwrap();
        let signs = EdgeSigns::at_states(&system, &system.true_graph(), &[0.3, -2.0, 5.0]);
        for (idx, weight) in matrix.iter().enumerate() {
            let expected = match weight {
                0.0 => None,
                _ if *weight > 0.0 => Some(Sign::Positive),
                _ => Some(Sign::Negative),
            };
            assert_eq!(signs.sign(idx / 3, idx % 3), expected);
        }
    }

    #[test]
    fn an_effect_that_changes_its_sign_with_the_state_has_none() {
        let system = registry::build("lorenz63", &[], 0).unwrap();
        // x enters dz as x y: positive at the first state, negative at the second.
        let states = [1.0, 1.0, 20.0, 1.0, -1.0, 20.0];
        let signs = EdgeSigns::at_states(system.as_ref(), &system.true_graph(), &states);
        assert_eq!(signs.sign(0, 2), None);
        assert_eq!(signs.sign(1, 0), Some(Sign::Positive));
        assert_eq!(signs.sign(2, 2), Some(Sign::Negative));
    }
}
