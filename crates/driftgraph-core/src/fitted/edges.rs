//! Edges of a model: how sure, which sign, how strong; and the feedback loops among them.

use super::dynamics::Dynamics;
use super::model::{EdgeLogOdds, FittedModel, ModelPart, sigmoids};
use crate::SignatureGraph;
use rayon::prelude::*;

/// Most states over which derivatives are averaged.
const MOST_STATES: usize = 256;
/// Share of visited states in which a derivative must have the sign of its mean to be called so.
const CLEAR_SIGN: f64 = 0.75;

/// Whether more of the source means more or less growth of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// Faster growth.
    Positive,
    /// Slower growth.
    Negative,
    /// Different in different states, or none.
    Mixed,
}

/// What a method says of one edge; effects are those the edge has if it exists.
///
/// Every method has a score; what else it can say differs from method to method.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct LearnedEdge {
    /// Position of the source.
    pub source: usize,
    /// Position of the target.
    pub target: usize,
    /// Probability of any influence, lagged or within a step.
    pub probability: Option<f64>,
    /// Ranks edges, also where probabilities round to 1: larger is more probable.
    pub score: f64,
    /// Probability of a lagged influence: on drift or noise.
    pub probability_lagged: Option<f64>,
    /// Sign of the effect on the drift.
    pub sign: Option<Sign>,
    /// Mean partial derivative of the target's drift: its unit per unit of time and of the source.
    pub effect: Option<f64>,
    /// The same in deviations of target and source, to compare effects with each other.
    pub strength: Option<f64>,
    /// Mean relative change of the target's noise per unit of the source, where noise has edges.
    pub noise_effect: Option<f64>,
    /// Probability of an influence within a step, where the model has such effects.
    pub probability_instantaneous: Option<f64>,
    /// Change of the target within a step per change of the source, in their own units.
    pub effect_instantaneous: Option<f64>,
    /// Deviation of the lagged log-odds over fits with different seeds.
    pub disagreement: Option<f64>,
}

impl LearnedEdge {
    /// Whether the edge has at least this probability; `false` where its method gives none.
    pub fn is_at_least(&self, probability: f64) -> bool {
        self.probability.is_some_and(|own| own >= probability)
    }
}

/// Effects of all edges, `[source, target]`, as they would be if the edge existed.
pub(super) struct MeanEffects {
    /// In increment scales per model time and deviation of the source.
    pub(super) drift: Vec<f64>,
    /// Derivative of the log diffusion per deviation of the source.
    pub(super) noise: Option<Vec<f64>>,
    /// Share of states in which the drift's derivative is positive, and negative.
    pub(super) signs: Vec<(f64, f64)>,
}

impl FittedModel {
    /// All edges, most probable first.
    pub fn edges(&self) -> Vec<LearnedEdge> {
        let n = self.n_variables();
        let probabilities = self.edge_probabilities();
        let EdgeLogOdds { lagged, instant } = self.log_odds();
        let (lagged, instant) = (sigmoids(&lagged), instant.as_deref().map(sigmoids));
        let disagreement = self.disagreement();
        let effects = self.effects();
        let ranked = self.edge_scores().ranked().into_iter();
        ranked
            .map(|(source, target, score)| {
                let idx = source * n + target;
                LearnedEdge {
                    source,
                    target,
                    probability: Some(probabilities[idx]),
                    score,
                    probability_lagged: Some(lagged[idx]),
                    sign: Some(effects.signs[idx]),
                    effect: Some(effects.drift[idx]),
                    strength: Some(effects.strength[idx]),
                    noise_effect: effects.noise.as_ref().map(|noise| noise[idx]),
                    probability_instantaneous: instant.as_ref().map(|p| p[idx]),
                    effect_instantaneous: effects.instant.as_ref().map(|effect| effect[idx]),
                    disagreement: Some(disagreement[idx]),
                }
            })
            .collect()
    }

    /// The graph of all edges of at least this probability.
    pub fn graph(&self, threshold: f64) -> SignatureGraph {
        let edges = self.edge_probabilities().iter().map(|p| *p >= threshold).collect();
        SignatureGraph::from_matrix(self.n_variables(), edges)
            .expect("there is one probability per pair of variables")
    }

    /// Effects in the user's units, averaged over members and visited states.
    fn effects(&self) -> UserEffects {
        let n = self.n_variables();
        let dynamics = Dynamics::of(self);
        let visited = self.visited_states();
        let all: Vec<MeanEffects> = (dynamics.par_iter().zip(&visited))
            .map(|(one, states)| one.mean_effects(states))
            .collect();
        let share = 1.0 / all.len() as f64;
        let mean = |of: &dyn Fn(&MeanEffects) -> f64| share * all.iter().map(of).sum::<f64>();
        let scales = self.standardizer().scales();
        let mut out = UserEffects {
            drift: Vec::new(),
            strength: Vec::new(),
            signs: Vec::new(),
            noise: all[0].noise.as_ref().map(|_| Vec::new()),
            instant: None,
        };
        for idx in 0..n * n {
            let (source, target) = (idx / n, idx % n);
            let (unit, time_unit) = dynamics[0].drift_unit(target);
            let raw = mean(&|one| one.drift[idx]);
            out.drift.push(raw * unit / (time_unit * scales[source]));
            out.strength.push(raw * unit / (time_unit * scales[target]));
            let positive = mean(&|one| one.signs[idx].0);
            let negative = mean(&|one| one.signs[idx].1);
            out.signs.push(match (positive >= CLEAR_SIGN, negative >= CLEAR_SIGN) {
                (true, _) => Sign::Positive,
                (_, true) => Sign::Negative,
                _ => Sign::Mixed,
            });
            if let Some(noise) = &mut out.noise {
                let raw = mean(&|one| one.noise.as_ref().map_or(0.0, |noise| noise[idx]));
                noise.push(raw / scales[source]);
            }
        }
        out.instant = dynamics[0].instant_effects().map(|_| {
            let members = dynamics.iter().filter_map(Dynamics::instant_effects);
            let mut sum = vec![0.0; n * n];
            for effects in members {
                sum.iter_mut().zip(effects).for_each(|(sum, effect)| *sum += share * effect);
            }
            sum
        });
        out
    }

    /// Standardised states that the series have visited, `[state, variable]`, by member.
    fn visited_states(&self) -> Vec<Vec<f64>> {
        let d = self.n_variables();
        let some = |states: &[f64]| -> Vec<f64> {
            if states.is_empty() {
                // Nothing is known of where the process goes: its usual state.
                return vec![0.0; d];
            }
            let every = (states.len() / d).div_ceil(MOST_STATES).max(1);
            states.chunks_exact(d).step_by(every).flatten().copied().collect()
        };
        match &self.part {
            ModelPart::Bridge(part) => {
                part.members.iter().map(|member| some(&member.paths.means)).collect()
            }
            ModelPart::Simulated(part) => vec![some(&part.visited)],
        }
    }
}

struct UserEffects {
    drift: Vec<f64>,
    strength: Vec<f64>,
    signs: Vec<Sign>,
    noise: Option<Vec<f64>>,
    instant: Option<Vec<f64>>,
}

/// Feedback loops: groups of variables that all reach each other, largest first.
///
/// The strongly connected components with more than one variable (Tarjan 1972,
/// doi:10.1137/0201010), each in the order of the variables; self-loops alone are none.
pub fn feedback_loops(graph: &SignatureGraph) -> Vec<Vec<usize>> {
    let n = graph.n_variables();
    let mut search = Search {
        graph,
        order: vec![usize::MAX; n],
        lowest: vec![0; n],
        on_stack: vec![false; n],
        stack: Vec::new(),
        next: 0,
        found: Vec::new(),
    };
    for node in 0..n {
        if search.order[node] == usize::MAX {
            search.visit(node);
        }
    }
    let mut loops = search.found;
    loops.sort_by_key(|group| (std::cmp::Reverse(group.len()), group[0]));
    loops
}

struct Search<'a> {
    graph: &'a SignatureGraph,
    order: Vec<usize>,
    lowest: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    /// Depth first from a node, with a stack of our own so that long chains do not overflow.
    fn visit(&mut self, root: usize) {
        let n = self.graph.n_variables();
        let mut way = vec![(root, 0)];
        self.enter(root);
        while let Some((node, child)) = way.last_mut() {
            let node = *node;
            let next = (*child..n).find(|&other| self.graph.has_edge(node, other));
            let Some(other) = next else {
                way.pop();
                if let Some(&(parent, _)) = way.last() {
                    self.lowest[parent] = self.lowest[parent].min(self.lowest[node]);
                }
                self.leave(node);
                continue;
            };
            *child = other + 1;
            if self.order[other] == usize::MAX {
                self.enter(other);
                way.push((other, 0));
            } else if self.on_stack[other] {
                self.lowest[node] = self.lowest[node].min(self.order[other]);
            }
        }
    }

    fn enter(&mut self, node: usize) {
        self.order[node] = self.next;
        self.lowest[node] = self.next;
        self.next += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
    }

    fn leave(&mut self, node: usize) {
        if self.lowest[node] != self.order[node] {
            return;
        }
        let mut group = Vec::new();
        while let Some(member) = self.stack.pop() {
            self.on_stack[member] = false;
            group.push(member);
            if member == node {
                break;
            }
        }
        if group.len() > 1 {
            group.sort_unstable();
            self.found.push(group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_the_groups_whose_members_reach_each_other() {
        let mut graph = SignatureGraph::empty(8);
        for (source, target) in
            [(0, 1), (1, 2), (2, 0), (2, 3), (4, 5), (5, 4), (3, 4), (6, 6), (6, 7)]
        {
            graph.set_edge(source, target, true);
        }
        assert_eq!(feedback_loops(&graph), [vec![0, 1, 2], vec![4, 5]]);
        assert!(feedback_loops(&SignatureGraph::empty(3)).is_empty());
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let n = 3000;
        let mut graph = SignatureGraph::empty(n);
        (0..n).for_each(|node| graph.set_edge(node, (node + 1) % n, true));
        assert_eq!(feedback_loops(&graph)[0].len(), n);
    }
}
