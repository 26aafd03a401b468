//! What every part of a learned process can do in simulation.

use std::fmt::Debug;

use crate::nn::node_function::ParentLists;

/// What a part of the process adds to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddsTo {
    /// The drift, in increment scales per time.
    Drift,
    /// The logarithm of the diffusion.
    LogDiffusion,
}

/// A part of the process with fixed parameters, which adds to the drift or to the log diffusion.
pub(crate) trait BlockPart: Debug + Send + Sync {
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
pub(crate) trait PartWorker: Debug + Send {
    /// What is added at the states.
    fn run(&mut self, strengths: &Strengths, states: &[f64]) -> &[f32];

    /// The same in a way that leaves behind what derivatives need.
    fn run_for_derivatives(&mut self, strengths: &Strengths, states: &[f64]) -> &[f32];

    /// d output_j / d z_j at the states of the last run for derivatives.
    fn own_derivatives(&mut self, strengths: &Strengths) -> &[f32];
}

/// Strengths of edges: as matrices, and as lists of parents.
#[derive(Debug, Default)]
pub(crate) struct Strengths {
    pub(crate) matrices: Vec<f32>,
    pub(crate) parents: ParentLists,
}

impl Strengths {
    /// Of graphs `[graph, source, target]` of `n` nodes.
    pub(crate) fn new(matrices: Vec<f32>, n: usize) -> Self {
        Self { parents: ParentLists::new(&matrices, n), matrices }
    }
}
