//! The part of the process that is a node function, for the drift or for the log diffusion.

mod fixed;
mod messages;
mod sampled;

use std::sync::Arc;

use self::fixed::FixedNet;
use self::sampled::SampledNet;
use super::part::{FixedPart, Precision, ProcessPart};
use super::sampled::SampledPart;
use crate::nn::node_function::{NodeFunction, NodeSizes};
use crate::nn::parameters::{ParameterTable, Slot};
use crate::process::node_block::{BlockNet, MessageScale};
use crate::process::part::{AddsTo, BlockPart};

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

/// One node function of the process.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodePart {
    function: NodeFunction,
    adds_to: AddsTo,
    /// All its parameters.
    slot: Slot,
    sizes: NetSizes,
}

/// Deviation of node embeddings at the start: nodes should differ from the first step on.
const FIRST_EMBEDDING: f64 = 0.3;

impl NodePart {
    pub(super) fn new(
        table: &mut ParameterTable,
        adds_to: AddsTo,
        n_variables: usize,
        sizes: NetSizes,
    ) -> Self {
        let NetSizes { width, embedding, .. } = sizes;
        let shape = NodeSizes { n_variables, embedding, width, edge_weights: false };
        let offset = table.len();
        let function = NodeFunction::new(table, name(adds_to), shape);
        let slot = Slot { offset, rows: 1, cols: table.len() - offset };
        Self { function, adds_to, slot, sizes }
    }

    /// The same for buffers that begin `offset` entries later.
    fn moved_back(self, offset: usize) -> Self {
        Self { function: self.function.moved_back(offset), ..self }
    }

    /// How strongly edges carry their messages.
    fn message_scale(&self) -> MessageScale {
        MessageScale::new(self.function.sizes().n_variables, self.adds_to)
    }
}

/// Under which name a node function's parameters are stored.
fn name(adds_to: AddsTo) -> &'static str {
    match adds_to {
        AddsTo::Drift => "drift_net",
        AddsTo::LogDiffusion => "diffusion_net",
    }
}

impl ProcessPart for NodePart {
    fn adds_to(&self) -> AddsTo {
        self.adds_to
    }

    fn slot(&self) -> Slot {
        self.slot
    }

    fn reserve_scratch(&mut self, table: &mut ParameterTable) {
        self.function.reserve_scratch(table);
    }

    /// Moves the embeddings apart, and starts with an output of zero: the linear model.
    fn initialise(&self, table: &ParameterTable, parameters: &mut [f64]) {
        let slot = |part: &str| {
            let found = table.find(&format!("{}.{part}", name(self.adds_to)));
            found.expect("the node function added it").slot
        };
        for value in slot("embeddings").of_mut(parameters) {
            *value *= FIRST_EMBEDDING / 0.01;
        }
        slot("combine.2.weight").of_mut(parameters).fill(0.0);
        slot("combine.2.bias").of_mut(parameters).fill(0.0);
    }

    fn weight_precision(&self) -> f64 {
        self.sizes.weight_precision
    }

    fn work_bytes(&self, n_steps: usize) -> usize {
        let NetSizes { width, embedding, n_graphs, .. } = self.sizes;
        // Activations and adjoints of combining nets and of swept messages; gradients of groups of nodes
        // and of each graph.
        let cells = n_steps * self.function.sizes().n_variables;
        let activations = cells * (9 * width + 7 * embedding);
        let sums = (messages::N_GROUPS + n_graphs) * self.slot.cols;
        (activations + sums) * size_of::<f32>()
    }

    fn sampled_single(&self, offset: usize) -> Box<dyn SampledPart<f32>> {
        Box::new(SampledNet::new(self, offset))
    }

    fn sampled_double(&self, offset: usize) -> Box<dyn SampledPart<f64>> {
        Box::new(SampledNet::new(self, offset))
    }

    fn fixed(&self, parameters: &[f64], precision: Precision) -> Arc<dyn FixedPart> {
        match precision {
            Precision::Single => Arc::new(FixedNet::<f32>::new(self, parameters)),
            Precision::Double => Arc::new(FixedNet::<f64>::new(self, parameters)),
        }
    }

    fn block(&self, parameters: &[f32]) -> Box<dyn BlockPart> {
        Box::new(BlockNet::of_part(&self.function, parameters, self.message_scale(), self.adds_to))
    }
}
