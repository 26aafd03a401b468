//! The graphs, effects and propagations under which the paths of a block move.

use super::terms::TermCache;
use super::{Dynamics, Gates};
use crate::numeric::linalg::{identity, log_det_and_inverse};
use crate::process::part::Strengths;
use crate::random::{Purpose, RandomStream};

/// Which graph a path moves under.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GraphChoice {
    /// Each path has its own graph and effects, drawn from the posterior.
    Sampled,
    /// All paths share the edges of at least this probability, with mean effects.
    Threshold(f64),
}

/// Graphs of a block: one for all paths, or one per path.
#[derive(Debug)]
pub(in crate::fitted) struct BlockGraphs {
    n: usize,
    shared: bool,
    /// Gated linear effects, one `[source, target]` after the other; empty where there are none.
    effects: Vec<f64>,
    /// Coefficients of a drift with equations, one graph after the other; empty where there is none.
    terms: Vec<f64>,
    /// Strengths of edges for each part.
    strengths: Vec<Strengths>,
    /// Gated effects within a step.
    instant: Vec<f64>,
    /// (I - B)^-1 with the columns of held variables cut; empty without such effects.
    propagations: Vec<f64>,
    held: Vec<usize>,
}

impl BlockGraphs {
    /// Draws, or cuts off, the graphs of the given paths.
    pub(in crate::fitted) fn new(
        dynamics: &Dynamics,
        choice: GraphChoice,
        seed: u64,
        paths: &[usize],
    ) -> Self {
        let mut graphs = Self {
            n: dynamics.n,
            shared: matches!(choice, GraphChoice::Threshold(_)),
            effects: Vec::new(),
            terms: Vec::new(),
            strengths: Vec::new(),
            instant: Vec::new(),
            propagations: Vec::new(),
            held: Vec::new(),
        };
        let mut strengths = vec![Vec::new(); dynamics.parts.len()];
        let mut cache = TermCache::default();
        let paths = if graphs.shared { &paths[..1] } else { paths };
        for &path in paths {
            let mut random = RandomStream::new(seed, Purpose::Graph, path as u64);
            let mut sizes = RandomStream::new(seed, Purpose::Effects, path as u64);
            let (graph, effects) = dynamics.lagged.draw(choice, &mut random, &mut sizes);
            graphs.effects.extend(effects);
            if let Some(terms) = &dynamics.terms {
                terms.push(choice, &graph, &mut sizes, &mut cache, &mut graphs.terms);
            }
            for (part, strengths) in dynamics.parts.iter().zip(&mut strengths) {
                part.push_strengths(&graph, strengths);
            }
            if let Some(instant) = &dynamics.instant {
                graphs.instant.extend(instant.draw(choice, &mut random, &mut sizes).1);
            }
        }
        let strengths = strengths.into_iter().map(|own| Strengths::new(own, dynamics.n));
        graphs.strengths = strengths.collect();
        graphs
    }

    /// Cuts held variables off what acts on them within a step; the first graph without a solution.
    pub(in crate::fitted) fn hold(&mut self, held: &[usize]) -> Result<(), usize> {
        if self.instant.is_empty() || (self.held == held && !self.propagations.is_empty()) {
            return Ok(());
        }
        self.held = held.to_vec();
        self.propagations.clear();
        let n = self.n;
        for (number, instant) in self.instant.chunks_exact(n * n).enumerate() {
            let mut cut = instant.to_vec();
            for &target in held {
                (0..n).for_each(|source| cut[source * n + target] = 0.0);
            }
            self.propagations.extend(propagation(&cut, n).ok_or(number)?);
        }
        Ok(())
    }

    /// Strengths of edges for each part.
    pub(super) fn strengths(&self) -> &[Strengths] {
        &self.strengths
    }

    /// (I - B)^-1 of a path, `None` where nothing acts within a step.
    pub(in crate::fitted) fn propagation(&self, path: usize) -> Option<&[f64]> {
        let size = self.n * self.n;
        let first = if self.shared { 0 } else { path * size };
        self.propagations.get(first..first + size)
    }

    /// Coefficients of a drift with equations, one graph after the other.
    pub(super) fn terms(&self) -> &[f64] {
        &self.terms
    }

    /// drift += z A, path by path.
    pub(super) fn add_linear_drift(&self, standard: &[f64], n: usize, drift: &mut [f64]) {
        if self.effects.is_empty() {
            return;
        }
        let rows = standard.chunks_exact(n).zip(drift.chunks_exact_mut(n));
        for (path, (state, drift)) in rows.enumerate() {
            let first = if self.shared { 0 } else { path * n * n };
            let effects = &self.effects[first..first + n * n];
            for (&value, effects) in state.iter().zip(effects.chunks_exact(n)) {
                for (drift, effect) in drift.iter_mut().zip(effects) {
                    *drift += value * effect;
                }
            }
        }
    }
}

impl Gates {
    /// A graph of 0 and 1, and the linear effects it lets through.
    fn draw(
        &self,
        choice: GraphChoice,
        random: &mut RandomStream,
        sizes: &mut RandomStream,
    ) -> (Vec<f64>, Vec<f64>) {
        let edge = |present: bool| f64::from(u8::from(present));
        let graph: Vec<f64> = match choice {
            GraphChoice::Threshold(threshold) => {
                self.reported.iter().map(|&p| edge(p >= threshold)).collect()
            }
            GraphChoice::Sampled => {
                self.probabilities.iter().map(|&p| edge(random.uniform() < p)).collect()
            }
        };
        let mut draws = vec![0.0; self.effects.len()];
        if choice == GraphChoice::Sampled {
            sizes.fill_normal(&mut draws);
        }
        let effects = (self.effects.iter().zip(&draws).zip(&graph))
            .map(|(((mean, deviation), draw), edge)| edge * (mean + deviation * draw))
            .collect();
        (graph, effects)
    }
}

/// (I - B)^-1, or `None` where it is singular.
///
/// Each column is solved among its own ancestors, so that an entry where no way leads is exactly 0 and
/// no entry depends on effects that do not reach it, not even in its rounding.
fn propagation(instant: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut out = identity(n);
    for target in 0..n {
        let family = ancestors(instant, n, target);
        if family.len() == 1 {
            continue;
        }
        let size = family.len();
        let mut remaining = identity(size);
        for (row, &source) in family.iter().enumerate() {
            for (col, &other) in family.iter().enumerate() {
                remaining[row * size + col] -= instant[source * n + other];
            }
        }
        let (_, inverse) = log_det_and_inverse(&remaining, size)?;
        let place = family.iter().position(|&member| member == target)?;
        for (row, &source) in family.iter().enumerate() {
            out[source * n + target] = inverse[row * size + place];
        }
    }
    Some(out)
}

/// A variable and all from which a way leads to it, in order.
fn ancestors(instant: &[f64], n: usize, target: usize) -> Vec<usize> {
    let mut found = vec![false; n];
    let mut waiting = vec![target];
    found[target] = true;
    while let Some(node) = waiting.pop() {
        for source in 0..n {
            if instant[source * n + node] != 0.0 && !found[source] {
                found[source] = true;
                waiting.push(source);
            }
        }
    }
    (0..n).filter(|&node| found[node]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_propagation_is_the_inverse_and_exactly_zero_where_no_way_leads() {
        // 0 -> 1 with 0.5, 1 <-> 2 with 0.4 and 0.3, 3 alone.
        let n = 4;
        let mut instant = vec![0.0; n * n];
        instant[1] = 0.5;
        instant[n + 2] = 0.4;
        instant[2 * n + 1] = 0.3;
        let found = propagation(&instant, n).unwrap();
        for row in 0..n {
            for col in 0..n {
                let product: f64 = (0..n)
                    .map(|idx| {
                        let own = f64::from(u8::from(idx == col)) - instant[idx * n + col];
                        found[row * n + idx] * own
                    })
                    .sum();
                // Rounding of a few operations on numbers of order 1.
                assert!((product - f64::from(u8::from(row == col))).abs() < 1e-14);
            }
        }
        for (source, target) in [(1, 0), (2, 0), (3, 0), (0, 3), (1, 3), (3, 1)] {
            assert_eq!(found[source * n + target], 0.0);
        }
        assert!(propagation(&[0.0, 1.0, 1.0, 0.0], 2).is_none());
    }
}
