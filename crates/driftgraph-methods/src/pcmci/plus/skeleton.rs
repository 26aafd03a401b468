//! Which links there are, whatever their direction.

use std::collections::HashMap;

use super::super::combinations::combinations;
use super::super::lags::{LagTable, Links, Mark, Node, Results};
use super::Evidence;

/// Sets of one size that are tried for a link; more would take longer than anybody waits.
const MAX_SETS: usize = 20_000;

/// Links that no set of conditions explains away.
pub(super) struct Skeleton {
    pub(super) links: Links,
    /// What separated the ends of links that were removed.
    pub(super) separating: HashMap<(Node, usize), Vec<usize>>,
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
        let others = |cause: Node, effect: usize| -> Vec<usize> {
            let is_other = |&other: &usize| cause.lag > 0 || other != cause.variable;
            neighbours[effect].iter().copied().filter(is_other).collect()
        };
        let places: Vec<(Node, usize)> = (self.links.places())
            .filter(|&(cause, effect)| {
                self.links.is_linked(cause, effect) && others(cause, effect).len() >= size
            })
            .collect();
        for &(cause, effect) in &places {
            if self.links.is_linked(cause, effect) {
                self.test(evidence, (cause, effect), &others(cause, effect), size);
            }
        }
        !places.is_empty()
    }

    fn sorted_neighbours(&self, variable: usize) -> Vec<usize> {
        let mut neighbours = self.links.neighbours(variable);
        let strength = |other: usize| self.weakest[(Node::new(other, 0), variable)];
        neighbours.sort_by(|&a, &b| strength(b).total_cmp(&strength(a)));
        neighbours
    }

    /// Tests one link given all sets of neighbours of one size, until one explains it.
    fn test(
        &mut self,
        evidence: Evidence<'_>,
        place: (Node, usize),
        others: &[usize],
        size: usize,
    ) {
        let (cause, effect) = place;
        for (idx, set) in combinations(others, size).enumerate() {
            if idx == MAX_SETS {
                self.cut = true;
                return;
            }
            let tested = evidence.test(cause, effect, &set);
            self.tested[place] = true;
            self.weakest[place] = self.weakest[place].min(tested.value.abs());
            if let Some(p) = tested.p.filter(|p| *p >= self.largest_p[place]) {
                self.largest_p[place] = p;
                self.values[place] = tested.value;
            }
            if !tested.is_dependent(evidence.alpha) {
                self.remove(place, set);
                return;
            }
        }
    }

    fn remove(&mut self, place: (Node, usize), set: Vec<usize>) {
        let (cause, effect) = place;
        self.links[place] = Mark::None;
        if cause.lag == 0 {
            let back = (Node::new(effect, 0), cause.variable);
            self.links[back] = Mark::None;
            // The p value counts for both directions, the value for the one that was tested.
            self.largest_p[back] = self.largest_p[place];
            self.tested[back] = true;
            self.separating.insert(back, set.clone());
        }
        self.separating.insert(place, set);
    }

    /// Writes what was found over the results of the lagged search, where there was a test.
    pub(super) fn add_to(&self, results: &mut Results) {
        for place in self.links.places().filter(|&place| self.tested[place]) {
            if self.largest_p[place] > f64::NEG_INFINITY {
                results.p_values[place] = self.largest_p[place];
                results.values[place] = self.values[place];
            }
        }
    }
}
