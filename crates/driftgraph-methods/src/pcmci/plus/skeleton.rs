//! Which links there are, whatever their direction.

use std::collections::HashMap;

use super::super::combinations::combinations;
use super::super::lags::{LagTable, Links, Mark, Pair, Results};
use super::Evidence;

/// Sets of one size that are tried for a link; more would take longer than anybody waits.
const MAX_SETS: usize = 20_000;

/// Links that no set of conditions explains away.
pub(super) struct Skeleton {
    pub(super) links: Links,
    /// What separated the ends of links that were removed.
    pub(super) separating: HashMap<Pair, Vec<usize>>,
    /// Smallest absolute values, for the order of neighbours.
    weakest: LagTable<f64>,
    /// Largest p of links that were tested, and the value that had it.
    largest_p: LagTable<f64>,
    values: LagTable<f64>,
    tested: LagTable<bool>,
    /// Whether sets were left out because there were too many.
    pub(super) cut: bool,
}

/// Tests links given more and more neighbours, and removes those that are explained.
pub(super) fn find(evidence: Evidence<'_>, links: Links) -> Skeleton {
    let (n, tau_max) = (links.n_variables(), links.tau_max());
    let mut skeleton = Skeleton {
        links,
        separating: HashMap::new(),
        weakest: LagTable::filled(n, tau_max, f64::INFINITY),
        largest_p: LagTable::filled(n, tau_max, f64::NEG_INFINITY),
        values: LagTable::filled(n, tau_max, 0.0),
        tested: LagTable::filled(n, tau_max, false),
        cut: false,
    };
    let mut size = 0;
    while skeleton.sweep(evidence, size) {
        size += 1;
    }
    skeleton
}

impl Skeleton {
    /// Tests all links given sets of one size; `false` if there was nothing to test.
    ///
    /// Neighbours are those at the beginning, so that the order of tests within a sweep does not matter.
    fn sweep(&mut self, evidence: Evidence<'_>, size: usize) -> bool {
        let neighbours: Vec<Vec<usize>> = (0..self.links.n_variables())
            .map(|variable| self.sorted_neighbours(variable))
            .collect();
        let others = |pair: Pair| -> Vec<usize> {
            let is_other = |&other: &usize| pair.cause.lag > 0 || other != pair.cause.variable;
            neighbours[pair.effect].iter().copied().filter(is_other).collect()
        };
        let pairs: Vec<Pair> = (self.links.pairs())
            .filter(|&pair| self.links.is_linked(pair) && others(pair).len() >= size)
            .collect();
        for &pair in &pairs {
            if self.links.is_linked(pair) {
                self.test(evidence, pair, &others(pair), size);
            }
        }
        !pairs.is_empty()
    }

    fn sorted_neighbours(&self, variable: usize) -> Vec<usize> {
        let mut neighbours = self.links.neighbours(variable);
        let strength = |other: usize| self.weakest[Pair::within(other, variable)];
        neighbours.sort_by(|&a, &b| strength(b).total_cmp(&strength(a)));
        neighbours
    }

    /// Tests one link given all sets of neighbours of one size, until one explains it.
    fn test(&mut self, evidence: Evidence<'_>, pair: Pair, others: &[usize], size: usize) {
        for (idx, set) in combinations(others, size).enumerate() {
            if idx == MAX_SETS {
                self.cut = true;
                return;
            }
            let tested = evidence.test(pair, &set);
            self.tested[pair] = true;
            self.weakest[pair] = self.weakest[pair].min(tested.value.abs());
            if let Some(p) = tested.p.filter(|p| *p >= self.largest_p[pair]) {
                self.largest_p[pair] = p;
                self.values[pair] = tested.value;
            }
            if !tested.is_dependent(evidence.alpha) {
                self.remove(pair, set);
                return;
            }
        }
    }

    fn remove(&mut self, pair: Pair, set: Vec<usize>) {
        self.links[pair] = Mark::None;
        if pair.cause.lag == 0 {
            let back = pair.reversed();
            self.links[back] = Mark::None;
            // The p value counts for both directions, the value for the one that was tested.
            self.largest_p[back] = self.largest_p[pair];
            self.tested[back] = true;
            self.separating.insert(back, set.clone());
        }
        self.separating.insert(pair, set);
    }

    /// Writes what was found over the results of the lagged search, where there was a test.
    pub(super) fn add_to(&self, results: &mut Results) {
        for pair in self.links.pairs().filter(|&pair| self.tested[pair]) {
            if self.largest_p[pair] > f64::NEG_INFINITY {
                results.p_values[pair] = self.largest_p[pair];
                results.values[pair] = self.values[pair];
            }
        }
    }
}
