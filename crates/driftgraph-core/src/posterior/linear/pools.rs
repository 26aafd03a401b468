//! The graph prior of a linear process: which edges share a density, and which are fixed.

use std::sync::Arc;

use super::effect_rows::EffectRows;
use crate::graph::density::GraphDensity;
use crate::graph::prior::{EdgePrior, EdgeRule};
use crate::numeric::real::ln;

/// Pools of free edges between different variables, with what the user knows of single ones.
///
/// A variable's effect on itself is always there unless it was forbidden: it has a slab of its own and no pool.
#[derive(Debug, Clone)]
pub struct EdgePools {
    rows: Arc<EffectRows>,
    density: GraphDensity,
    /// In the rows of effects.
    gates: Arc<Vec<Gate>>,
    /// The user's log-odds, in the rows of effects.
    knowledge: Arc<Vec<f64>>,
    /// Free edges of each pool.
    sizes: Vec<f64>,
}

/// Whether an effect is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// By its evidence.
    Free,
    /// Always there.
    On,
    /// Never there.
    Off,
}

/// The Beta law of densities.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BetaLaw {
    /// Edges seen beforehand.
    pub alpha: f64,
    /// Absent edges seen beforehand.
    pub beta: f64,
}

impl EdgePools {
    /// The prior of a graph with this density; `knowledge` was made with sparsity 0.
    pub fn new(density: GraphDensity, knowledge: &EdgePrior) -> Self {
        let n = knowledge.n_variables();
        let known = |source: usize, target: usize| {
            let idx = source * n + target;
            (knowledge.rules()[idx], knowledge.log_odds()[idx])
        };
        Self::with_rows(density, &Arc::new(EffectRows::all(n)), known)
    }

    /// The same with room for some effects alone; `known` gives rule and log-odds of source and target.
    pub fn with_rows(
        density: GraphDensity,
        rows: &Arc<EffectRows>,
        known: impl Fn(usize, usize) -> (EdgeRule, f64),
    ) -> Self {
        let n = rows.n_variables();
        let (mut gates, mut log_odds) = (vec![Gate::On; rows.len()], vec![0.0; rows.len()]);
        for target in 0..n {
            for (entry, source) in rows.sources(target) {
                let (rule, odds) = known(source, target);
                log_odds[entry] = odds;
                gates[entry] = match rule {
                    EdgeRule::Forbidden => Gate::Off,
                    EdgeRule::Required => Gate::On,
                    EdgeRule::Free if source == target => Gate::On,
                    EdgeRule::Free => Gate::Free,
                };
            }
        }
        let (gates, knowledge) = (Arc::new(gates), Arc::new(log_odds));
        let mut pools =
            Self { rows: Arc::clone(rows), density, gates, knowledge, sizes: vec![0.0; n] };
        for target in 0..n {
            for (entry, source) in rows.sources(target) {
                if pools.gates[entry] == Gate::Free {
                    let pool = pools.pool(source, target);
                    pools.sizes[pool] += 1.0;
                }
            }
        }
        pools
    }

    /// Number of variables.
    pub fn n_variables(&self) -> usize {
        self.rows.n_variables()
    }

    /// The effects there is room for.
    pub fn rows(&self) -> &Arc<EffectRows> {
        &self.rows
    }

    /// The same edges with densities of another law.
    #[must_use]
    pub fn with_law(&self, law: BetaLaw) -> Self {
        let BetaLaw { alpha, beta } = law;
        let density = match self.density {
            GraphDensity::PerTarget { .. } => GraphDensity::PerTarget { alpha, beta },
            GraphDensity::Common { .. } => GraphDensity::Common { alpha, beta },
            GraphDensity::PerSource { .. } => GraphDensity::PerSource { alpha, beta },
            fixed @ GraphDensity::Fixed { .. } => fixed,
        };
        Self { density, ..self.clone() }
    }

    /// Whether the effect of a source on a target is learned.
    pub fn gate(&self, source: usize, target: usize) -> Gate {
        self.rows.entry(source, target).map_or(Gate::Off, |entry| self.gates[entry])
    }

    /// Whether the effect of an entry is learned.
    pub(super) fn gate_of(&self, entry: usize) -> Gate {
        self.gates[entry]
    }

    /// The user's log-odds of an edge.
    pub fn knowledge(&self, source: usize, target: usize) -> f64 {
        self.rows.entry(source, target).map_or(0.0, |entry| self.knowledge[entry])
    }

    /// The user's log-odds of an entry.
    pub(super) fn knowledge_of(&self, entry: usize) -> f64 {
        self.knowledge[entry]
    }

    /// The pool of an edge.
    pub fn pool(&self, source: usize, target: usize) -> usize {
        match self.density {
            GraphDensity::PerSource { .. } => source,
            GraphDensity::PerTarget { .. } => target,
            GraphDensity::Common { .. } | GraphDensity::Fixed { .. } => 0,
        }
    }

    /// Free edges of each pool.
    pub fn sizes(&self) -> &[f64] {
        &self.sizes
    }

    /// The law of densities; `None` where they are fixed.
    pub fn law(&self) -> Option<BetaLaw> {
        match self.density {
            GraphDensity::PerSource { alpha, beta }
            | GraphDensity::PerTarget { alpha, beta }
            | GraphDensity::Common { alpha, beta } => Some(BetaLaw { alpha, beta }),
            GraphDensity::Fixed { .. } => None,
        }
    }

    /// Log-odds of an edge where nothing is learned of densities.
    pub(in crate::posterior) fn fixed_log_odds(&self) -> f64 {
        match self.density {
            GraphDensity::Fixed { sparsity } => -sparsity,
            _ => 0.0,
        }
    }

    /// Log-odds of an edge when its pool has `others` other edges: the density integrated out.
    pub(super) fn collapsed_log_odds(&self, pool: usize, others: f64, law: Option<BetaLaw>) -> f64 {
        let Some(BetaLaw { alpha, beta }) = law else { return self.fixed_log_odds() };
        let absent = (self.sizes[pool] - 1.0 - others).max(0.0);
        ln((alpha + others.max(0.0)) / (beta + absent))
    }
}
