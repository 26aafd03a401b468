//! Which lagged variables may be parents of each variable: the first phase of both algorithms ("PC1").
//!
//! Runge, Nowack, Kretschmer, Flaxman and Sejdinovic (2019), doi:10.1126/sciadv.aau4996.

use rayon::prelude::*;

use super::combinations::combinations;
use super::lags::{Node, Pair, Results};
use super::samples::Samples;

/// Levels tried where none is given; the best of them is taken for each variable.
const LEVELS: [f64; 6] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5];

/// How parents are looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParentSearch {
    pub(crate) n_variables: usize,
    pub(crate) tau_min: usize,
    pub(crate) tau_max: usize,
    /// Most variables to condition on.
    pub(crate) max_conds_dim: Option<usize>,
    /// Sets of conditions tried for each candidate and size.
    pub(crate) max_combinations: usize,
}

/// Candidates that are left, the strongest first, and what was found on the way.
pub(crate) struct LaggedParents {
    /// For each variable.
    pub(crate) parents: Vec<Vec<Node>>,
    /// The results that speak least for each link.
    pub(crate) results: Results,
    /// The level chosen for each variable, where none was given.
    pub(crate) chosen: Option<Vec<f64>>,
}

/// A possible parent of one target.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    node: Node,
    /// Smallest absolute value of all tests.
    weakest: f64,
    /// Largest p, and the value that had it.
    largest_p: f64,
    value: f64,
}

/// All candidates of a target, in their first order, and those that are left.
struct Candidates {
    all: Vec<Candidate>,
    left: Vec<Node>,
}

impl ParentSearch {
    /// Looks for the parents of all variables; without a level, the best is chosen for each.
    pub(crate) fn run(&self, samples: &Samples, alpha: Option<f64>) -> LaggedParents {
        let of_target = |target: usize| match alpha {
            Some(alpha) => (self.of(samples, target, alpha), alpha),
            None => self.with_best_level(samples, target),
        };
        let found: Vec<(Candidates, f64)> =
            (0..self.n_variables).into_par_iter().map(of_target).collect();
        let chosen = alpha.is_none().then(|| found.iter().map(|(_, level)| *level).collect());
        let mut results = Results::new(self.n_variables, self.tau_max);
        for (target, (found, _)) in found.iter().enumerate() {
            for candidate in &found.all {
                let pair = Pair::new(candidate.node, target);
                results.values[pair] = candidate.value;
                results.p_values[pair] = candidate.largest_p;
            }
        }
        let parents = found.into_iter().map(|(found, _)| found.left).collect();
        LaggedParents { parents, results, chosen }
    }

    /// The level whose model has the smallest criterion of Akaike, the first of equal ones.
    fn with_best_level(&self, samples: &Samples, target: usize) -> (Candidates, f64) {
        let mut best: Option<(f64, Candidates, f64)> = None;
        for level in LEVELS {
            let found = self.of(samples, target, level);
            let score = samples.model_score(target, &found.left);
            if best.as_ref().is_none_or(|(smallest, ..)| score < *smallest) {
                best = Some((score, found, level));
            }
        }
        let (_, found, level) =
            best.expect("the first level is the best so far because there is none before it");
        (found, level)
    }

    /// All variables at all lags, untested.
    fn candidates(&self) -> Vec<Candidate> {
        let lags = self.tau_min.max(1)..=self.tau_max;
        let nodes = (0..self.n_variables)
            .flat_map(|variable| lags.clone().map(move |lag| Node::new(variable, lag)));
        let (weakest, largest_p) = (f64::INFINITY, f64::NEG_INFINITY);
        nodes.map(|node| Candidate { node, weakest, largest_p, value: 0.0 }).collect()
    }

    fn of(&self, samples: &Samples, target: usize, alpha: f64) -> Candidates {
        let mut all = self.candidates();
        // Positions of those that are left, the strongest first.
        let mut left: Vec<usize> = (0..all.len()).collect();
        let mut size = 0;
        while size < left.len() && self.max_conds_dim.is_none_or(|most| size <= most) {
            let nodes: Vec<Node> = left.iter().map(|&place| all[place].node).collect();
            let mut kept = Vec::with_capacity(left.len());
            for &place in &left {
                if self.stays(
                    samples,
                    target,
                    alpha,
                    Sweep { nodes: &nodes, size },
                    &mut all[place],
                ) {
                    kept.push(place);
                }
            }
            left = kept;
            left.sort_by(|&a, &b| all[b].weakest.total_cmp(&all[a].weakest));
            size += 1;
        }
        for candidate in &mut all {
            if candidate.largest_p == f64::NEG_INFINITY {
                candidate.largest_p = 1.0;
            }
        }
        let left = left.into_iter().map(|place| all[place].node).collect();
        Candidates { all, left }
    }

    /// Whether a candidate depends on the target given every set of conditions that is tried.
    fn stays(
        &self,
        samples: &Samples,
        target: usize,
        alpha: f64,
        sweep: Sweep<'_>,
        candidate: &mut Candidate,
    ) -> bool {
        let others: Vec<Node> =
            sweep.nodes.iter().copied().filter(|&node| node != candidate.node).collect();
        for given in combinations(&others, sweep.size).take(self.max_combinations) {
            let tested = samples.test(candidate.node, Node::new(target, 0), &given);
            candidate.weakest = candidate.weakest.min(tested.value.abs());
            if let Some(p) = tested.p.filter(|p| *p > candidate.largest_p) {
                candidate.largest_p = p;
                candidate.value = tested.value;
            }
            if !tested.is_dependent(alpha) {
                return false;
            }
        }
        true
    }
}

/// One round over all candidates, with sets of conditions of one size.
#[derive(Clone, Copy)]
struct Sweep<'a> {
    /// Those that were left when it began.
    nodes: &'a [Node],
    size: usize,
}
