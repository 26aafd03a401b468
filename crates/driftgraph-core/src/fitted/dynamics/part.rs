//! What every part of a learned process can do in simulation: the other side of `SampledPart` in training.

use std::fmt::Debug;

use crate::nn::node_function::ParentLists;
use crate::posterior::bridge::neural::AddsTo;

/// A part of the process with fixed parameters, which adds to the drift or to the log diffusion.
pub(super) trait BlockPart: Debug + Send + Sync {
    /// What it adds to.
    fn adds_to(&self) -> AddsTo;

    /// Appends how strongly each edge of a graph counts, `[source, target]`.
    fn push_strengths(&self, graph: &[f64], out: &mut Vec<f32>);

    /// The part at work, with buffers of its own.
    fn worker(&self) -> Box<dyn PartWorker>;
}

/// A part at work on the paths of one block; buffers are kept from one step to the next.
///
/// `strengths` holds one graph for all paths or one per path, states are standardised, `[path, variable]`.
pub(super) trait PartWorker: Debug + Send {
    /// What is added at the states.
    fn run(&mut self, strengths: &Strengths, states: &[f64]) -> &[f32];

    /// The same in a way that leaves behind what derivatives need.
    fn run_for_derivatives(&mut self, strengths: &Strengths, states: &[f64]) -> &[f32];

    /// d output_j / d z_j at the states of the last run for derivatives.
    fn own_derivatives(&mut self, strengths: &Strengths) -> &[f32];
}

/// Strengths of edges: as matrices, and as lists of parents.
#[derive(Debug, Default)]
pub(super) struct Strengths {
    pub(super) matrices: Vec<f32>,
    pub(super) parents: ParentLists,
}

impl Strengths {
    /// Of graphs `[graph, source, target]` of `n` nodes.
    pub(super) fn new(matrices: Vec<f32>, n: usize) -> Self {
        Self { parents: ParentLists::new(&matrices, n), matrices }
    }
}
