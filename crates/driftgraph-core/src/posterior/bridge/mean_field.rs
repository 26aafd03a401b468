//! The parts of a fitted process with every edge at its probability: one drift and diffusion instead of many.

use std::sync::Arc;

use super::model::BridgeModel;
use super::part::{FixedPart, Precision};
use crate::graph::posterior::edge_probabilities;
use crate::process::part::AddsTo;

/// The parts of a fitted model under the mean graph.
#[derive(Debug, Clone)]
pub struct MeanFieldParts {
    parts: Vec<Arc<dyn FixedPart>>,
    probabilities: Vec<f64>,
}

impl MeanFieldParts {
    /// The model's parts with fixed parameters.
    pub fn new(model: &BridgeModel, parameters: &[f64]) -> Self {
        let logits = model.lagged().edge_logits.of(parameters);
        Self {
            parts: model.fixed_parts(parameters, Precision::Double),
            probabilities: edge_probabilities(logits, model.lagged_prior().rules()),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// What each part adds at standardised states, `[state, variable]`.
    pub(super) fn evaluate(&self, states: &[f64]) -> impl Iterator<Item = (AddsTo, Vec<f64>)> {
        self.parts
            .iter()
            .map(move |part| (part.adds_to(), part.at(states).under(&self.probabilities)))
    }
}
