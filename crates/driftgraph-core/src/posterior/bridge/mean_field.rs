//! The parts of a fitted process with every edge at its probability: one drift and diffusion instead of many.

use super::model::BridgeModel;
use super::neural::{AddsTo, Net, NetParameters, NetPass};
use crate::graph::posterior::edge_probabilities;
use crate::nn::node_function::NodeWeights;

/// The parts of a fitted model under the mean graph.
#[derive(Debug, Clone)]
pub struct MeanFieldParts {
    parts: Vec<(Net, NodeWeights<f64>)>,
    parameters: Vec<f64>,
    probabilities: Vec<f64>,
}

impl MeanFieldParts {
    /// The model's parts with fixed parameters.
    pub fn new(model: &BridgeModel, parameters: &[f64]) -> Self {
        let prepare = |net: &Net| {
            let mut weights = NodeWeights::default();
            net.function.prepare(parameters, &mut weights);
            (*net, weights)
        };
        let logits = model.lagged().edge_logits.of(parameters);
        Self {
            parts: model.parts().iter().map(prepare).collect(),
            parameters: parameters.to_vec(),
            probabilities: edge_probabilities(logits, model.lagged_prior().rules()),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// What each part adds at standardised states, `[state, variable]`.
    pub(super) fn evaluate(&self, states: &[f64]) -> impl Iterator<Item = (AddsTo, Vec<f64>)> {
        self.parts.iter().map(move |(net, weights)| {
            let shared = NetParameters { net, parameters: &self.parameters, weights };
            (net.adds_to, NetPass::default().forward(shared, &self.probabilities, states))
        })
    }
}
