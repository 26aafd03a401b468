//! What a chain learns of the densities of the graph.

use crate::numeric::real::exp;
use crate::numeric::special::ln_beta;
use crate::posterior::linear::pools::{BetaLaw, EdgePools};
use crate::random::RandomStream;

/// Laws of densities that are compared where the law itself is drawn.
const ALPHAS: [f64; 9] = [0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0];
const BETAS: [f64; 8] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];
/// Edges and absent edges that a careful belief about densities is worth.
const CAREFUL_WEIGHT: f64 = 20.0;
/// Targets that a variable is believed to drive, beside itself, and the largest share of all.
const USUAL_TARGETS: f64 = 2.5;
const LARGEST_MEAN: f64 = 0.4;

/// What is learned of densities beside themselves.
#[derive(Debug, Clone, PartialEq)]
pub enum DensityRule {
    /// Nothing: their law is that of the prior.
    Given,
    /// Their law is one of these, alike before anything is seen.
    OneOf(Vec<BetaLaw>),
}

impl DensityRule {
    /// Any law from hubs to networks without structure, alike.
    pub fn any_law() -> Self {
        let laws = ALPHAS.iter().flat_map(|&alpha| BETAS.map(|beta| BetaLaw { alpha, beta }));
        Self::OneOf(laws.collect())
    }

    /// A law whose mean is what is usual among this many variables.
    pub fn careful_law(n_variables: usize) -> BetaLaw {
        law_of_mean(usual_mean(n_variables))
    }

    /// The law given the numbers of edges; `None` where densities are fixed.
    pub(super) fn draw_law(
        &self,
        pools: &EdgePools,
        counts: &[f64],
        random: &mut RandomStream,
    ) -> Option<BetaLaw> {
        let own = pools.law()?;
        let Self::OneOf(laws) = self else { return Some(own) };
        // Pools with the same numbers have the same probability: count them once.
        let mut kinds: Vec<(f64, f64, f64)> = Vec::new();
        for (&edges, &size) in counts.iter().zip(pools.sizes()).filter(|(_, size)| **size > 0.0) {
            match kinds.iter_mut().find(|kind| kind.0 == edges && kind.1 == size) {
                Some(kind) => kind.2 += 1.0,
                None => kinds.push((edges, size, 1.0)),
            }
        }
        let log_weight = |&BetaLaw { alpha, beta }: &BetaLaw| {
            let pool = |&(edges, size, n): &(f64, f64, f64)| {
                n * (ln_beta(alpha + edges, beta + size - edges) - ln_beta(alpha, beta))
            };
            kinds.iter().map(pool).sum::<f64>()
        };
        let logs: Vec<f64> = laws.iter().map(log_weight).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| exp(log - largest)).collect();
        let mut left = random.uniform() * weights.iter().sum::<f64>();
        for (law, weight) in laws.iter().zip(&weights) {
            left -= weight;
            if left < 0.0 {
                return Some(*law);
            }
        }
        laws.last().copied()
    }
}

fn usual_mean(n_variables: usize) -> f64 {
    (USUAL_TARGETS / (n_variables as f64 - 1.0).max(1.0)).min(LARGEST_MEAN)
}

fn law_of_mean(mean: f64) -> BetaLaw {
    BetaLaw { alpha: CAREFUL_WEIGHT * mean, beta: CAREFUL_WEIGHT * (1.0 - mean) }
}
