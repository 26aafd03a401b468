//! Node functions on top of the linear drift, and for the diffusion, under sampled graphs.
//!
//! A few graphs are drawn per evaluation and the steps of the batch are dealt among them, so that
//! messages are summed by matrix products.

use super::structure::Draw;
use crate::graph::prior::EdgeRule;
use crate::nn::node_function::{NodeFunction, NodeSizes};
use crate::nn::parameters::{ParameterTable, Slot};
use crate::numeric::real::{Real, ln, ln_1p};
use crate::random::{Purpose, RandomStream};

/// How the gradient passes through a sampled edge.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum GraphEstimator {
    /// A hard sample whose derivative is that of its probability.
    ///
    /// Exact on average where the objective is linear in every single edge, and biased by its
    /// curvature elsewhere; less so than the relaxed sample.
    #[default]
    Probability,
    /// A hard sample whose derivative is that of a relaxed one (Jang et al. 2017, arXiv:1611.01144).
    Gumbel {
        /// Temperature of the relaxation; positive.
        temperature: f64,
    },
}

/// Sizes of the node functions.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetSizes {
    /// Width of hidden layers.
    pub width: usize,
    /// Size of embeddings and messages.
    pub embedding: usize,
    /// Graphs drawn per evaluation.
    pub n_graphs: usize,
    /// Precision of the weights' normal prior; 0 for none.
    pub weight_precision: f64,
}

impl Default for NetSizes {
    fn default() -> Self {
        Self { width: 32, embedding: 16, n_graphs: 8, weight_precision: 10.0 }
    }
}

/// What a part of the process adds to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddsTo {
    /// The drift, in increment scales per time.
    Drift,
    /// The logarithm of the diffusion.
    LogDiffusion,
}

/// One node function of the process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Net {
    pub(crate) function: NodeFunction,
    pub(crate) adds_to: AddsTo,
    /// All its parameters.
    pub(crate) slot: Slot,
}

impl AddsTo {
    /// Under which name a node function's parameters are stored.
    fn net_name(self) -> &'static str {
        match self {
            Self::Drift => "drift_net",
            Self::LogDiffusion => "diffusion_net",
        }
    }
}

/// Deviation of node embeddings at the start: nodes should differ from the first step on.
const FIRST_EMBEDDING: f64 = 0.3;

impl Net {
    pub(super) fn new(
        table: &mut ParameterTable,
        adds_to: AddsTo,
        n_variables: usize,
        sizes: NetSizes,
    ) -> Self {
        let NetSizes { width, embedding, .. } = sizes;
        let sizes = NodeSizes { n_variables, embedding, width, edge_weights: false };
        let offset = table.len();
        let function = NodeFunction::new(table, adds_to.net_name(), sizes);
        let slot = Slot { offset, rows: 1, cols: table.len() - offset };
        Self { function, adds_to, slot }
    }

    /// Spreads the embeddings, and starts with an output of zero: the linear model.
    pub(super) fn initialise(&self, table: &ParameterTable, parameters: &mut [f64]) {
        let slot = |part: &str| {
            let found = table.find(&format!("{}.{part}", self.adds_to.net_name()));
            found.expect("the node function added it").slot
        };
        for value in slot("embeddings").of_mut(parameters) {
            *value *= FIRST_EMBEDDING / 0.01;
        }
        slot("combine.2.weight").of_mut(parameters).fill(0.0);
        slot("combine.2.bias").of_mut(parameters).fill(0.0);
    }

    /// The same net for buffers that begin `offset` entries later.
    pub(super) fn moved_back(self, offset: usize) -> Self {
        Self { function: self.function.moved_back(offset), ..self }
    }

    /// Sums of messages keep their size however many variables there are.
    fn message_scale(&self) -> f64 {
        1.0 / (0.25 * self.function.sizes().n_variables as f64).max(1.0).sqrt()
    }

    /// Strength of every edge's message, and its derivative by the edge.
    ///
    /// The diffusion of every variable sees the variable itself, whatever the graph says.
    pub(crate) fn strength(&self, idx: usize, edge: f64) -> (f64, f64) {
        let scale = self.message_scale();
        let sees_itself = self.adds_to == AddsTo::LogDiffusion;
        if sees_itself && idx.is_multiple_of(self.function.sizes().n_variables + 1) {
            (scale, 0.0)
        } else {
            (scale * edge, scale)
        }
    }
}

/// Graphs drawn from q(G), with the derivative of every entry by its logit.
#[derive(Debug, Clone, Default)]
pub struct SampledGraphs {
    /// 0 or 1, one `[source, target]` after the other.
    pub graphs: Vec<Vec<f64>>,
    /// Derivatives by the logits.
    pub slopes: Vec<Vec<f64>>,
}

impl SampledGraphs {
    /// Draws `n_graphs` graphs.
    pub fn new(
        edge_logits: &[f64],
        rules: &[EdgeRule],
        estimator: GraphEstimator,
        n_graphs: usize,
        draw: Draw,
    ) -> Self {
        let mut random = RandomStream::new(draw.seed, Purpose::Graph, draw.number);
        let mut sampled = Self::default();
        for _ in 0..n_graphs {
            let (graph, slopes) = (edge_logits.iter().zip(rules))
                .map(|(&logit, rule)| {
                    let uniform = random.uniform().clamp(1e-12, 1.0 - 1e-12);
                    let shifted = logit + ln(uniform) - ln_1p(-uniform);
                    match rule {
                        EdgeRule::Forbidden => (0.0, 0.0),
                        EdgeRule::Required => (1.0, 0.0),
                        EdgeRule::Free => {
                            (f64::from(u8::from(shifted > 0.0)), estimator.slope(logit, shifted))
                        }
                    }
                })
                .unzip();
            sampled.graphs.push(graph);
            sampled.slopes.push(slopes);
        }
        sampled
    }
}

impl GraphEstimator {
    fn slope(self, logit: f64, shifted: f64) -> f64 {
        let derivative = |x: f64| x.sigmoid() * (-x).sigmoid();
        match self {
            Self::Probability => derivative(logit),
            Self::Gumbel { temperature } => derivative(shifted / temperature) / temperature,
        }
    }
}
