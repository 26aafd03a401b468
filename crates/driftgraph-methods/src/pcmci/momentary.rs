//! Tests of all pairs at all lags given the parents of both ("MCI"): the second phase of PCMCI.

use rayon::prelude::*;

use super::lags::{LagTable, Links, Mark, Node, Pair, Results};
use super::samples::{Samples, Tested};

/// What the tests condition on, and when they count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MomentaryTests<'a> {
    /// Of each variable, the strongest first.
    pub(crate) parents: &'a [Vec<Node>],
    pub(crate) tau_min: usize,
    pub(crate) tau_max: usize,
    /// Most parents of the effect.
    pub(crate) max_conds_py: Option<usize>,
    /// Most parents of the cause.
    pub(crate) max_conds_px: Option<usize>,
    /// Largest p of a link.
    pub(crate) alpha_level: f64,
    /// Whether the share of false discoveries is controlled.
    pub(crate) fdr: bool,
}

/// Conditions of a test: parents of the effect, then those of the cause, as far back as it.
pub(crate) fn conditions(cause: Node, of_effect: &[Node], of_cause: &[Node]) -> Vec<Node> {
    let of_effect = of_effect.iter().copied().filter(|&node| node != cause);
    of_effect.chain(of_cause.iter().map(|node| node.earlier(cause.lag))).collect()
}

impl MomentaryTests<'_> {
    /// All values and p values, and the graph they make.
    pub(crate) fn run(&self, samples: &Samples) -> (Results, Links) {
        let n = self.parents.len();
        let mut results = Results::new(n, self.tau_max);
        let pairs: Vec<Pair> =
            results.values.pairs().filter(|&pair| self.is_tested(pair)).collect();
        let tested: Vec<Tested> = pairs.par_iter().map(|&pair| self.test(samples, pair)).collect();
        for (&pair, tested) in pairs.iter().zip(&tested) {
            results.values[pair] = tested.value;
            results.p_values[pair] = tested.p.unwrap_or(f64::NAN);
        }
        if self.fdr {
            let lagged: Vec<Pair> =
                pairs.iter().copied().filter(|pair| pair.cause.lag > 0).collect();
            results.control_false_discoveries(&lagged);
        }
        let links = self.links(&results);
        results.make_symmetric();
        (results, links)
    }

    fn is_tested(&self, Pair { cause, effect }: Pair) -> bool {
        cause.lag >= self.tau_min && (cause.lag > 0 || cause.variable != effect)
    }

    fn test(&self, samples: &Samples, Pair { cause, effect }: Pair) -> Tested {
        let first =
            |nodes: &'_ [Node], most: Option<usize>| nodes.len().min(most.unwrap_or(usize::MAX));
        let of_effect = &self.parents[effect];
        let of_effect = &of_effect[..first(of_effect, self.max_conds_py)];
        let of_cause = &self.parents[cause.variable];
        let of_cause = &of_cause[..first(of_cause, self.max_conds_px)];
        samples.test(cause, Node::new(effect, 0), &conditions(cause, of_effect, of_cause))
    }

    fn links(&self, results: &Results) -> Links {
        let mut links = LagTable::filled(self.parents.len(), self.tau_max, Mark::None);
        let passes = |pair| results.p_values[pair] <= self.alpha_level;
        for pair in results.values.pairs() {
            let lag = pair.cause.lag;
            if !self.is_tested(pair) || !passes(pair) {
                continue;
            }
            let back = pair.reversed();
            links[pair] = match lag {
                0 if passes(back) => Mark::Open,
                _ => Mark::Forward,
            };
            if lag == 0 && !passes(back) {
                links[back] = Mark::Backward;
            }
        }
        links
    }
}
