//! The node functions with every edge at its probability: one drift and diffusion instead of many.

use super::model::BridgeModel;
use super::neural::{Net, NetParameters, NetPass};
use crate::graph::posterior::edge_probabilities;
use crate::nn::node_function::NodeWeights;

/// Node functions of a fitted model under the mean graph.
#[derive(Debug, Clone)]
pub struct MeanFieldNets {
    drift: Option<Net>,
    diffusion: Option<Net>,
    parameters: Vec<f64>,
    weights: Vec<NodeWeights<f64>>,
    probabilities: Vec<f64>,
}

/// What the node functions add at some states, `[state, variable]`; `None` where there is none.
#[derive(Debug, Clone)]
pub struct NetOutputs {
    /// Drift beyond the linear part, in increment scales per time.
    pub drift: Option<Vec<f64>>,
    /// What is added to the log diffusion.
    pub log_scale: Option<Vec<f64>>,
}

impl MeanFieldNets {
    /// The model's node functions with fixed parameters, or `None` without any.
    pub fn new(model: &BridgeModel, parameters: &[f64]) -> Option<Self> {
        if !model.is_sampled() {
            return None;
        }
        let prepare = |net: &Net| {
            let mut weights = NodeWeights::default();
            net.function.prepare(parameters, &mut weights);
            weights
        };
        let logits = model.lagged().edge_logits.of(parameters);
        Some(Self {
            drift: model.drift_net,
            diffusion: model.diffusion_net,
            parameters: parameters.to_vec(),
            weights: model.nets().map(prepare).collect(),
            probabilities: edge_probabilities(logits, model.lagged_prior().rules()),
        })
    }

    /// Outputs at standardised states `[state, variable]`.
    pub fn evaluate(&self, states: &[f64]) -> NetOutputs {
        let run = |net: &Net, weights: &NodeWeights<f64>| {
            let shared = NetParameters { net, parameters: &self.parameters, weights };
            NetPass::default().forward(shared, &self.probabilities, states)
        };
        let last = self.weights.last();
        NetOutputs {
            drift: self.drift.as_ref().map(|net| run(net, &self.weights[0])),
            log_scale: self.diffusion.as_ref().zip(last).map(|(net, weights)| run(net, weights)),
        }
    }
}
