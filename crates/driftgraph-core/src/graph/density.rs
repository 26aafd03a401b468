//! Graph priors whose density is learned: edges share pools, each pool has its own density.
//!
//! Real networks have hubs: few sources drive many targets. With a density of its own for every
//! source, sparsity and hubs are learned together and neither is a setting to tune.

use rayon::prelude::*;

use super::prior::{EdgePrior, EdgeRule};
use crate::numeric::real::Real;
use crate::numeric::special::{digamma, ln_beta};

/// Fewest sources whose edges are counted by one thread.
const ROWS_PER_PIECE: usize = 64;

/// Which edges share a density, and what is believed about it beforehand.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum GraphDensity {
    /// Edges out of source i are Bernoulli(d_i), d_i ~ Beta(alpha, beta).
    PerSource {
        /// First parameter of the Beta law; positive.
        alpha: f64,
        /// Second parameter of the Beta law; positive.
        beta: f64,
    },
    /// Edges into target j are Bernoulli(d_j), d_j ~ Beta(alpha, beta).
    PerTarget {
        /// First parameter of the Beta law; positive.
        alpha: f64,
        /// Second parameter of the Beta law; positive.
        beta: f64,
    },
    /// All edges are Bernoulli(d), d ~ Beta(alpha, beta).
    Common {
        /// First parameter of the Beta law; positive.
        alpha: f64,
        /// Second parameter of the Beta law; positive.
        beta: f64,
    },
    /// The paper's prior, Eq. 7 (eq: graph prior): every edge has log-odds -sparsity.
    Fixed {
        /// Cost of an edge in nats.
        sparsity: f64,
    },
}

impl Default for GraphDensity {
    /// Few sources with many targets.
    fn default() -> Self {
        let [alpha, beta] = Self::USUAL_BETA;
        Self::PerSource { alpha, beta }
    }
}

impl GraphDensity {
    /// The kind of that name with the usual belief, `None` if there is no such kind.
    pub fn of_kind(name: &str) -> Option<Self> {
        let [alpha, beta] = Self::USUAL_BETA;
        match name {
            "per-source" => Some(Self::PerSource { alpha, beta }),
            "per-target" => Some(Self::PerTarget { alpha, beta }),
            "common" => Some(Self::common()),
            _ => None,
        }
    }
}

impl GraphDensity {
    /// What is believed of a density beforehand unless settings say otherwise: few edges.
    pub const USUAL_BETA: [f64; 2] = [0.5, 5.0];

    /// One density for all edges, with the usual belief.
    pub fn common() -> Self {
        let [alpha, beta] = Self::USUAL_BETA;
        Self::Common { alpha, beta }
    }

    /// The first number that cannot be, as (name, value).
    pub(crate) fn bad_value(self) -> Option<(&'static str, f64)> {
        match self {
            Self::PerSource { alpha, beta }
            | Self::PerTarget { alpha, beta }
            | Self::Common { alpha, beta } => [("alpha", alpha), ("beta", beta)]
                .into_iter()
                .find(|(_, value)| !(value.is_finite() && *value > 0.0)),
            Self::Fixed { sparsity } => (!sparsity.is_finite()).then_some(("sparsity", sparsity)),
        }
    }
}

/// The prior of a graph whose densities are integrated out, with the user's knowledge on top.
///
/// Edges the user forbids or requires are no draws from a density and count in no pool. Soft
/// knowledge multiplies p(G) by exp(Σ log-odds G); the constant that would normalise the product
/// does not depend on q(G) and is left out (it is zero without such knowledge, and always included
/// under [`GraphDensity::Fixed`]).
#[derive(Debug, Clone)]
pub struct DensityPrior {
    density: GraphDensity,
    knowledge: EdgePrior,
    /// Pool of every edge, `[source, target]`.
    pools: Vec<usize>,
    /// Free edges of each pool.
    pool_sizes: Vec<f64>,
}

impl DensityPrior {
    /// `knowledge` holds the user's rules and log-odds, made with sparsity 0.
    pub fn new(density: GraphDensity, knowledge: EdgePrior) -> Self {
        let n = knowledge.n_variables();
        let pool = |idx: usize| match density {
            GraphDensity::PerSource { .. } => idx / n,
            GraphDensity::PerTarget { .. } => idx % n,
            GraphDensity::Common { .. } | GraphDensity::Fixed { .. } => 0,
        };
        let pools: Vec<usize> = (0..n * n).map(pool).collect();
        let mut pool_sizes = vec![0.0; n];
        for (&pool, &rule) in pools.iter().zip(knowledge.rules()) {
            if rule == EdgeRule::Free {
                pool_sizes[pool] += 1.0;
            }
        }
        Self { density, knowledge, pools, pool_sizes }
    }

    /// Rules `[source, target]`.
    pub fn rules(&self) -> &[EdgeRule] {
        self.knowledge.rules()
    }

    /// Prior log-odds of every edge given the expected numbers of edges in its pool.
    ///
    /// Under the optimal q(density) these are digamma(alpha + k) - digamma(beta + n - k), with k of
    /// the pool's n free edges expected, plus the user's log-odds; meaningless for fixed edges.
    pub(crate) fn log_odds(&self, probabilities: &[f64]) -> Vec<f64> {
        let shared: Vec<f64> = match self.beta() {
            None => vec![self.fixed_log_odds(); self.pool_sizes.len()],
            Some((alpha, beta)) => (self.expected(probabilities).iter().zip(&self.pool_sizes))
                .map(|(k, n)| digamma(alpha + k) - digamma(beta + n - k))
                .collect(),
        };
        (self.pools.iter().zip(self.knowledge.log_odds()))
            .map(|(&pool, user)| shared[pool] + user)
            .collect()
    }

    /// E_q log p(G) with the optimal q(density); its gradient by the probabilities is
    /// [`log_odds`](Self::log_odds).
    pub(crate) fn expected_log_prior(&self, probabilities: &[f64]) -> f64 {
        let knowledge = self.knowledge.log_odds();
        let free = self.rules().iter().enumerate().filter(|(_, rule)| **rule == EdgeRule::Free);
        let Some((alpha, beta)) = self.beta() else {
            let shared = self.fixed_log_odds();
            return free
                .map(|(idx, _)| {
                    let log_odds = shared + knowledge[idx];
                    probabilities[idx] * log_odds - log_odds.softplus()
                })
                .sum();
        };
        let user: f64 = free.map(|(idx, _)| probabilities[idx] * knowledge[idx]).sum();
        let pooled: f64 = (self.expected(probabilities).iter().zip(&self.pool_sizes))
            .map(|(k, n)| ln_beta(alpha + k, beta + n - k) - ln_beta(alpha, beta))
            .sum();
        user + pooled
    }

    /// Expected number of edges of every pool, over its free edges.
    fn expected(&self, probabilities: &[f64]) -> Vec<f64> {
        let n = self.pool_sizes.len();
        let free = |idx: usize| self.rules()[idx] == EdgeRule::Free;
        if let GraphDensity::PerSource { .. } = self.density {
            // Row by row: every sum has its own order, whichever thread makes it.
            let row = |source: usize| -> f64 {
                let entries = source * n..(source + 1) * n;
                entries.filter(|&idx| free(idx)).map(|idx| probabilities[idx]).sum()
            };
            return (0..n).into_par_iter().with_min_len(ROWS_PER_PIECE).map(row).collect();
        }
        let mut expected = vec![0.0; n];
        for (idx, &pool) in self.pools.iter().enumerate() {
            if free(idx) {
                expected[pool] += probabilities[idx];
            }
        }
        expected
    }

    fn beta(&self) -> Option<(f64, f64)> {
        match self.density {
            GraphDensity::PerSource { alpha, beta }
            | GraphDensity::PerTarget { alpha, beta }
            | GraphDensity::Common { alpha, beta } => Some((alpha, beta)),
            GraphDensity::Fixed { .. } => None,
        }
    }

    fn fixed_log_odds(&self) -> f64 {
        match self.density {
            GraphDensity::Fixed { sparsity } => -sparsity,
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn densities() -> [GraphDensity; 4] {
        let [alpha, beta] = GraphDensity::USUAL_BETA;
        [
            GraphDensity::PerSource { alpha, beta },
            GraphDensity::PerTarget { alpha, beta },
            GraphDensity::Common { alpha, beta },
            GraphDensity::Fixed { sparsity: 1.3 },
        ]
    }

    fn prior(density: GraphDensity) -> DensityPrior {
        let mut knowledge = EdgePrior::new(3, 0.0);
        knowledge.know(0, 1, 0.8).unwrap();
        knowledge.know(1, 2, 0.0).unwrap();
        knowledge.know(2, 0, 1.0).unwrap();
        DensityPrior::new(density, knowledge)
    }

    const PROBABILITIES: [f64; 9] = [0.9, 0.2, 0.4, 0.1, 0.7, 0.0, 1.0, 0.3, 0.6];

    #[test]
    fn log_odds_are_the_slopes_of_the_expected_log_prior() {
        for density in densities() {
            let prior = prior(density);
            let log_odds = prior.log_odds(&PROBABILITIES);
            for idx in (0..9).filter(|&idx| prior.rules()[idx] == EdgeRule::Free) {
                let step = 1e-6;
                let at = |shift: f64| {
                    let mut shifted = PROBABILITIES;
                    shifted[idx] += shift;
                    prior.expected_log_prior(&shifted)
                };
                let slope = (at(step) - at(-step)) / (2.0 * step);
                // Rounding 1e-15 / step and curvature times step squared.
                assert!((slope - log_odds[idx]).abs() < 1e-8, "{density:?} {idx}");
            }
        }
    }

    #[test]
    fn at_a_certain_graph_it_is_the_beta_binomial_probability() {
        // Two variables, source 0 has both edges, source 1 none: per source
        // B(0.5 + 2, 5) / B(0.5, 5) and B(0.5, 5 + 2) / B(0.5, 5).
        let [alpha, beta] = GraphDensity::USUAL_BETA;
        let density = GraphDensity::PerSource { alpha, beta };
        let prior = DensityPrior::new(density, EdgePrior::new(2, 0.0));
        // By the recurrence of the beta function: 0.5 * 1.5 / (5.5 * 6.5), and 5 * 6 / (5.5 * 6.5).
        let expected = (0.75_f64 / 35.75).ln() + (30.0_f64 / 35.75).ln();
        let found = prior.expected_log_prior(&[1.0, 1.0, 0.0, 0.0]);
        assert!((found - expected).abs() < 1e-13);
    }

    #[test]
    fn a_source_with_more_edges_is_more_likely_to_have_another() {
        let prior = DensityPrior::new(GraphDensity::default(), EdgePrior::new(2, 0.0));
        let log_odds = prior.log_odds(&[0.9, 0.9, 0.1, 0.1]);
        assert!(log_odds[0] > log_odds[2] + 1.0);
    }

    #[test]
    fn fixed_edges_count_in_no_pool() {
        let [alpha, beta] = GraphDensity::USUAL_BETA;
        let with = prior(GraphDensity::Common { alpha, beta });
        let mut changed = PROBABILITIES;
        changed[5] = 0.5;
        changed[6] = 0.5;
        assert_eq!(with.expected_log_prior(&PROBABILITIES), with.expected_log_prior(&changed));
    }

    #[test]
    fn impossible_densities_are_named() {
        assert_eq!(GraphDensity::default().bad_value(), None);
        let bad = GraphDensity::PerTarget { alpha: 1.0, beta: 0.0 };
        assert_eq!(bad.bad_value(), Some(("beta", 0.0)));
        assert!(GraphDensity::Fixed { sparsity: f64::NAN }.bad_value().is_some());
    }
}
