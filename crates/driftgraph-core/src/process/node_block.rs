//! A node function over a block of paths, each under its own graph, in single precision.

use std::sync::Arc;

use super::part::{AddsTo, BlockPart, PartWorker, Strengths};
use super::prior::PriorProcess;
use crate::graph::prior::EdgeRule;
use crate::nn::node_function::{
    FrozenBuffers, FrozenNode, NodeFunction, NodeTangents, NodeTrace, NodeWeights, Rows,
    TangentRows,
};

/// Largest standardised state that a network is asked about.
const MOST_INPUT: f32 = 1e30;

/// A node function with fixed parameters.
#[derive(Debug)]
pub(crate) struct BlockNet(Arc<FixedNet>);

#[derive(Debug)]
struct FixedNet {
    function: NodeFunction,
    parameters: Vec<f32>,
    weights: NodeWeights<f32>,
    /// The same arranged for speed, where it is small enough.
    frozen: Option<FrozenNode>,
    rule: StrengthRule,
    adds_to: AddsTo,
}

/// A node function at work.
#[derive(Debug)]
struct NetWorker {
    net: Arc<FixedNet>,
    buffers: NetBuffers,
}

/// How strongly the edges of a graph carry their messages, of which every node takes the sum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageScale {
    n_variables: usize,
    /// Sums of messages keep their size however many variables there are.
    scale: f64,
    adds_to: AddsTo,
}

impl MessageScale {
    pub(crate) fn new(n_variables: usize, adds_to: AddsTo) -> Self {
        let scale = 1.0 / (0.25 * n_variables as f64).max(1.0).sqrt();
        Self { n_variables, scale, adds_to }
    }

    /// Strength of an edge's message, and its derivative by the edge.
    ///
    /// The diffusion of every variable sees the variable itself, whatever the graph says.
    pub(crate) fn strength(&self, idx: usize, edge: f64) -> (f64, f64) {
        let sees_itself = self.adds_to == AddsTo::LogDiffusion;
        if sees_itself && idx.is_multiple_of(self.n_variables + 1) {
            (self.scale, 0.0)
        } else {
            (self.scale * edge, self.scale)
        }
    }
}

/// How strongly each edge of a graph carries its message.
#[derive(Debug)]
enum StrengthRule {
    Scaled(MessageScale),
    Process { process: Box<PriorProcess>, rules: Vec<EdgeRule> },
}

/// Room for the activations of a block.
#[derive(Debug, Default)]
struct NetBuffers {
    trace: NodeTrace<f32>,
    tangents: NodeTangents<f32>,
    slopes: Vec<f32>,
    strengths: Vec<f32>,
    frozen: FrozenBuffers,
    inputs: Vec<f32>,
    outputs: Vec<f32>,
}

impl BlockNet {
    /// A part of the bridge's process.
    pub(crate) fn of_part(
        function: &NodeFunction,
        parameters: &[f32],
        scale: MessageScale,
        adds_to: AddsTo,
    ) -> Self {
        Self::new(function, parameters, StrengthRule::Scaled(scale), adds_to)
    }

    /// Drift or diffusion of the paper's process.
    pub(crate) fn of_process(
        process: &PriorProcess,
        rules: &[EdgeRule],
        parameters: &[f32],
        adds_to: AddsTo,
    ) -> Self {
        let function = match adds_to {
            AddsTo::Drift => &process.drift,
            AddsTo::LogDiffusion => &process.diffusion,
        };
        let rule = StrengthRule::Process { process: Box::new(*process), rules: rules.to_vec() };
        Self::new(function, parameters, rule, adds_to)
    }

    fn new(
        function: &NodeFunction,
        parameters: &[f32],
        rule: StrengthRule,
        adds_to: AddsTo,
    ) -> Self {
        let mut weights = NodeWeights::default();
        function.prepare(parameters, &mut weights);
        let frozen = FrozenNode::new(function, parameters, &weights);
        let parameters = parameters.to_vec();
        Self(Arc::new(FixedNet { function: *function, parameters, weights, frozen, rule, adds_to }))
    }
}

impl BlockPart for BlockNet {
    fn adds_to(&self) -> AddsTo {
        self.0.adds_to
    }

    fn push_strengths(&self, graph: &[f64], out: &mut Vec<f32>) {
        match &self.0.rule {
            StrengthRule::Scaled(scale) => {
                let strength = |(idx, &edge): (usize, &f64)| scale.strength(idx, edge).0 as f32;
                out.extend(graph.iter().enumerate().map(strength));
            }
            StrengthRule::Process { process, rules } => {
                let edges: Vec<f32> = graph.iter().map(|&edge| edge as f32).collect();
                let mut seen = edges.clone();
                if self.0.adds_to == AddsTo::LogDiffusion {
                    process.diffusion_graph(&edges, rules, &mut seen);
                }
                let mut strengths = seen.clone();
                self.0.function.edge_strengths(&self.0.parameters, &seen, &mut strengths);
                out.extend(strengths);
            }
        }
    }

    fn worker(&self) -> Box<dyn PartWorker> {
        Box::new(NetWorker { net: Arc::clone(&self.0), buffers: NetBuffers::default() })
    }
}

impl PartWorker for NetWorker {
    fn run(&mut self, strengths: &Strengths, states: &[f64]) -> &[f32] {
        let Some(frozen) = &self.net.frozen else {
            return self.run_for_derivatives(strengths, states);
        };
        let NetBuffers { inputs, outputs, frozen: room, .. } = &mut self.buffers;
        inputs.clear();
        // A state beyond single precision would be infinite, which no table holds.
        inputs.extend(states.iter().map(|&state| (state as f32).clamp(-MOST_INPUT, MOST_INPUT)));
        outputs.resize(states.len(), 0.0);
        frozen.outputs(&strengths.parents, inputs, room, outputs);
        outputs
    }

    /// Layer by layer.
    fn run_for_derivatives(&mut self, strengths: &Strengths, states: &[f64]) -> &[f32] {
        let FixedNet { function, parameters, weights, .. } = &*self.net;
        let NetBuffers { trace, outputs, .. } = &mut self.buffers;
        let d = function.sizes().n_variables;
        let n_pairs = d * d;
        trace.resize(function, states.len());
        for (input, &state) in trace.inputs.iter_mut().zip(states) {
            *input = state as f32;
        }
        let all = Rows { first: 0, n: states.len(), per_node: 1 };
        function.messages(parameters, weights, trace, all);
        let shared = strengths.matrices.len() == n_pairs;
        for path in 0..states.len() / d {
            let first = if shared { 0 } else { path * n_pairs };
            let one = Rows { first: path * d, n: d, per_node: 1 };
            let graph = &strengths.matrices[first..first + n_pairs];
            function.aggregate(graph, trace, one);
        }
        function.combine(parameters, weights, trace, all);
        outputs.clear();
        outputs.extend_from_slice(&trace.outputs[..states.len()]);
        outputs
    }

    fn own_derivatives(&mut self, strengths: &Strengths) -> &[f32] {
        let FixedNet { function, parameters, weights, .. } = &*self.net;
        let NetBuffers { trace, tangents, slopes, strengths: own, outputs, .. } = &mut self.buffers;
        let n_pairs = function.sizes().n_variables.pow(2);
        let n_rows = outputs.len();
        let n_paths = n_rows / function.sizes().n_variables;
        let strengths = &strengths.matrices[..];
        // The tangents want a graph per path.
        let strengths = if strengths.len() == n_pairs && n_paths > 1 {
            own.clear();
            (0..n_paths).for_each(|_| own.extend_from_slice(strengths));
            &own[..]
        } else {
            strengths
        };
        tangents.resize(function, n_rows);
        slopes.resize(n_rows, 0.0);
        let rows = Rows { first: 0, n: n_rows, per_node: 1 };
        let block = TangentRows { trace, rows, strengths };
        function.own_derivatives(parameters, weights, block, tangents, slopes);
        slopes
    }
}
