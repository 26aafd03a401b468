//! Parts of the process beyond gated linear effects: what each can do, and the list of those a model has.

use std::fmt::Debug;
use std::sync::Arc;

use super::node_part::{NetSizes, NodePart};
use super::sampled::SampledPart;
use super::structure::DriftParts;
use crate::nn::parameters::{ParameterTable, Slot};
use crate::numeric::real::Real;
use crate::process::part::{AddsTo, BlockPart};

/// A part of the process: it adds to the drift or to the log diffusion of every variable, under a graph.
///
/// A kind of part is one file, or one folder, that implements this, and a line in [`PartChoice::lay_out`].
pub(crate) trait ProcessPart: Debug + Send + Sync {
    /// What it adds to.
    fn adds_to(&self) -> AddsTo;

    /// All its parameters.
    fn slot(&self) -> Slot;

    /// Takes room behind all parameters that gradients alone need.
    fn reserve_scratch(&mut self, table: &mut ParameterTable);

    /// Changes its usual first values where training should start elsewhere.
    fn initialise(&self, table: &ParameterTable, parameters: &mut [f64]);

    /// Precision of the normal prior of its parameters; 0 for none.
    fn weight_precision(&self) -> f64;

    /// Bytes that training needs for it in a batch of `n_steps`.
    fn work_bytes(&self, n_steps: usize) -> usize;

    /// The part in training, for parameters that begin `offset` entries later.
    fn sampled_single(&self, offset: usize) -> Box<dyn SampledPart<f32>>;

    /// The same in double precision, in which gradients are tested.
    fn sampled_double(&self, offset: usize) -> Box<dyn SampledPart<f64>>;

    /// The part with fixed parameters, which measures edges and averages graphs.
    fn fixed(&self, parameters: &[f64], precision: Precision) -> Arc<dyn FixedPart>;

    /// The part in simulation.
    fn block(&self, parameters: &[f32]) -> Box<dyn BlockPart>;
}

/// In which numbers a part computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    /// `f32`.
    Single,
    /// `f64`.
    Double,
}

/// The floats in which parts can be trained.
pub(crate) trait PartFloat: Real {
    /// The part in training.
    fn sampled(part: &dyn ProcessPart, offset: usize) -> Box<dyn SampledPart<Self>>;
}

impl PartFloat for f32 {
    fn sampled(part: &dyn ProcessPart, offset: usize) -> Box<dyn SampledPart<Self>> {
        part.sampled_single(offset)
    }
}

impl PartFloat for f64 {
    fn sampled(part: &dyn ProcessPart, offset: usize) -> Box<dyn SampledPart<Self>> {
        part.sampled_double(offset)
    }
}

/// A part whose parameters no longer change: the side of it that measures edges and averages graphs.
pub(crate) trait FixedPart: Debug + Send + Sync {
    /// What it adds to.
    fn adds_to(&self) -> AddsTo;

    /// The part at standardised states `[state, variable]`; what no graph changes is computed here.
    fn at(&self, states: &[f64]) -> Box<dyn PartAtStates + '_>;
}

/// A part at given states.
pub(crate) trait PartAtStates {
    /// What it adds under a graph of edges in [0, 1], `[state, variable]`.
    fn under(&mut self, graph: &[f64]) -> Vec<f64>;
}

/// Which parts a model has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartChoice {
    /// What the drift consists of.
    pub(crate) drift: DriftParts,
    /// Whether a node function changes the diffusion with the state.
    pub(crate) neural_diffusion: bool,
    /// Sizes of node functions.
    pub(crate) net_sizes: NetSizes,
}

impl PartChoice {
    /// Whether there are none, so that everything has a closed form.
    pub(crate) fn is_empty(self) -> bool {
        self.drift == DriftParts::Linear && !self.neural_diffusion
    }

    /// The parts, their parameters at the end of `table`.
    pub(crate) fn lay_out(self, table: &mut ParameterTable, n: usize) -> Vec<Arc<dyn ProcessPart>> {
        let Self { drift, neural_diffusion, net_sizes } = self;
        let mut parts: Vec<Box<dyn ProcessPart>> = Vec::new();
        if drift != DriftParts::Linear {
            parts.push(Box::new(NodePart::new(table, AddsTo::Drift, n, net_sizes)));
        }
        if neural_diffusion {
            parts.push(Box::new(NodePart::new(table, AddsTo::LogDiffusion, n, net_sizes)));
        }
        for part in &mut parts {
            part.reserve_scratch(table);
        }
        parts.into_iter().map(Arc::from).collect()
    }
}
