//! One directed graph of those that a partly oriented one stands for, and how well it explains the data.

use super::super::lags::{Links, Mark, Node, Pair};
use super::super::samples::Samples;
use super::PlusLinks;

/// Mean criterion of Akaike over all variables, each explained by its parents in one directed graph.
pub(super) fn mean_model_score(found: &PlusLinks, samples: &Samples) -> f64 {
    let directed = directed(found);
    let n = directed.n_variables();
    let score = |target: usize| {
        let parents: Vec<Node> = (directed.pairs())
            .filter(|&pair| pair.effect == target && directed[pair] == Mark::Forward)
            .map(|pair| pair.cause)
            .collect();
        samples.model_score(target, &parents)
    };
    (0..n).map(score).sum::<f64>() / n as f64
}

/// Orients open links so that no new collider arises, as far as that can be done (Dor and Tarsi 1992).
///
/// Again and again a variable whose neighbours by open links are all linked with each other gets all these links
/// as arrows into it. Where there is none, links that are left stay open and count as absent.
fn directed(found: &PlusLinks) -> Links {
    let mut links = found.links.clone();
    let mut open = OpenLinks::new(&links);
    let order = by_influx(found);
    while let Some((variable, neighbours)) = open.next_sink(&order) {
        for neighbour in neighbours {
            links.set_within(neighbour, variable, Mark::Forward);
            open.remove(neighbour, variable);
        }
    }
    links
}

/// Variables, those first into which most goes.
fn by_influx(found: &PlusLinks) -> Vec<usize> {
    let n = found.links.n_variables();
    let mut influx = vec![0.0; n];
    for pair in found.links.pairs() {
        influx[pair.effect] += found.results.values[pair].abs();
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| influx[b].total_cmp(&influx[a]));
    order
}

/// Links within a row that have no direction yet.
struct OpenLinks {
    n: usize,
    /// `[one, other]`, for open links in both orders.
    is_open: Vec<bool>,
    /// `[one, other]`: what counts as linked when neighbours are compared.
    is_linked: Vec<bool>,
}

impl OpenLinks {
    fn new(links: &Links) -> Self {
        let n = links.n_variables();
        let marks = (0..n * n).map(|idx| links[Pair::within(idx / n, idx % n)]);
        let is_open: Vec<bool> = marks.clone().map(|mark| mark == Mark::Open).collect();
        // The reference sees an arrow from one of its ends only; the choice of its levels rests on that.
        let is_linked = marks.map(|mark| matches!(mark, Mark::Open | Mark::Backward)).collect();
        Self { n, is_open, is_linked }
    }

    /// The first variable whose neighbours are all linked with each other.
    fn next_sink(&self, order: &[usize]) -> Option<(usize, Vec<usize>)> {
        order.iter().find_map(|&variable| {
            let neighbours: Vec<usize> =
                (0..self.n).filter(|&other| self.is_open[other * self.n + variable]).collect();
            let are_linked = neighbours.iter().enumerate().all(|(idx, &one)| {
                neighbours[idx + 1..].iter().all(|&other| self.is_linked[one * self.n + other])
            });
            (!neighbours.is_empty() && are_linked).then_some((variable, neighbours))
        })
    }

    fn remove(&mut self, one: usize, other: usize) {
        for place in [one * self.n + other, other * self.n + one] {
            self.is_open[place] = false;
            self.is_linked[place] = false;
        }
    }
}
