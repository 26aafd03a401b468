//! What the process under the bridge is made of, and what one evaluation of it is for.

use super::innovation::InnovationLaw;
use super::node_part::NetSizes;
use super::part::PartChoice;
use super::sampled_graphs::GraphEstimator;
use crate::graph::density::GraphDensity;
use crate::objective::observation::ObservationNoise;

/// What the process is made of.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BridgeStructure {
    /// Prior of the lagged graph.
    pub density: GraphDensity,
    /// Prior of the instantaneous graph, where there is one.
    pub instant_density: Option<GraphDensity>,
    /// Law of the innovations.
    pub innovation: InnovationLaw,
    /// Law of the observation noise.
    pub noise: ObservationNoise,
    /// Whether the noise scales are learned.
    pub learn_noise: bool,
    /// Which parts the drift has.
    pub drift: DriftParts,
    /// Whether a node function changes the diffusion with the state.
    pub neural_diffusion: bool,
    /// Sizes of the node functions.
    pub net_sizes: NetSizes,
    /// How the gradient passes through sampled edges.
    pub estimator: GraphEstimator,
}

/// Which parts the drift has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriftParts {
    /// Gated linear effects, in closed form.
    #[default]
    Linear,
    /// A node function alone.
    Neural,
    /// A node function on top of linear effects.
    LinearAndNeural,
}

impl BridgeStructure {
    /// Which parts there are beyond linear effects.
    pub(super) fn part_choice(&self) -> PartChoice {
        let Self { drift, neural_diffusion, net_sizes, .. } = *self;
        PartChoice { drift, neural_diffusion, net_sizes }
    }
}

impl Default for BridgeStructure {
    /// Linear drift, constant diffusion, learned Gaussian noise.
    fn default() -> Self {
        Self {
            density: GraphDensity::default(),
            instant_density: None,
            innovation: InnovationLaw::Gaussian,
            noise: ObservationNoise::Gaussian,
            learn_noise: true,
            drift: DriftParts::Linear,
            neural_diffusion: false,
            net_sizes: NetSizes::default(),
            estimator: GraphEstimator::default(),
        }
    }
}

/// What one evaluation is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// What the batch stands for: every term over series is multiplied by it.
    pub weight: f64,
    /// Weight of the graph prior; the ELBO proper has 1.
    pub prior_weight: f64,
    /// Seed of sampled states and graphs.
    pub seed: u64,
    /// Number of the draw, usually the step.
    pub draw: u64,
}

/// One draw of sampled states and graphs: everything drawn under the same two numbers is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// Seed of a fit.
    pub seed: u64,
    /// Number of the draw.
    pub number: u64,
}

impl Pass {
    /// What is drawn in this evaluation.
    pub fn drawn(&self) -> Draw {
        Draw { seed: self.seed, number: self.draw }
    }

    /// The ELBO proper of all data at once.
    pub const WHOLE: Self = Self { weight: 1.0, prior_weight: 1.0, seed: 0, draw: 0 };
}
