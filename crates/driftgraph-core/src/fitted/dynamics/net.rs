//! A node function over a block of paths, each under its own graph, in single precision.

use crate::graph::prior::EdgeRule;
use crate::nn::node_function::{
    FrozenBuffers, FrozenNode, NodeFunction, NodeTangents, NodeTrace, NodeWeights, ParentLists,
    Rows, TangentRows,
};
use crate::posterior::bridge::neural::{AddsTo, Net};
use crate::process::prior::PriorProcess;

/// Largest standardised state that a network is asked about.
const MOST_INPUT: f32 = 1e30;

/// A node function with fixed parameters.
#[derive(Debug)]
pub(super) struct BlockNet {
    function: NodeFunction,
    parameters: Vec<f32>,
    weights: NodeWeights<f32>,
    /// The same arranged for speed, where it is small enough.
    frozen: Option<FrozenNode>,
    rule: StrengthRule,
    pub(super) adds_to: AddsTo,
}

/// Strengths of edges: as matrices, and as lists of parents.
#[derive(Debug, Default)]
pub(super) struct Strengths {
    matrices: Vec<f32>,
    parents: ParentLists,
}

impl Strengths {
    /// Of graphs `[graph, source, target]` of `n` nodes.
    pub(super) fn new(matrices: Vec<f32>, n: usize) -> Self {
        Self { parents: ParentLists::new(&matrices, n), matrices }
    }
}

/// How strongly each edge of a graph carries its message.
#[derive(Debug)]
enum StrengthRule {
    Bridge(Box<Net>),
    Process { process: Box<PriorProcess>, rules: Vec<EdgeRule> },
}

/// Room for the activations of a block.
#[derive(Debug, Default)]
pub(super) struct NetBuffers {
    trace: NodeTrace<f32>,
    tangents: NodeTangents<f32>,
    slopes: Vec<f32>,
    strengths: Vec<f32>,
    frozen: FrozenBuffers,
    inputs: Vec<f32>,
    outputs: Vec<f32>,
}

impl NetBuffers {
    /// Outputs of the last run, `[path, variable]`.
    pub(super) fn outputs(&self) -> &[f32] {
        &self.outputs
    }
}

impl BlockNet {
    pub(super) fn of_bridge(net: &Net, parameters: &[f32]) -> Self {
        Self::new(&net.function, parameters, StrengthRule::Bridge(Box::new(*net)), net.adds_to)
    }

    pub(super) fn of_process(
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
        Self { function: *function, parameters, weights, frozen, rule, adds_to }
    }

    /// Appends the strengths of a graph's edges, `[source, target]`.
    pub(super) fn push_strengths(&self, graph: &[f64], out: &mut Vec<f32>) {
        match &self.rule {
            StrengthRule::Bridge(net) => {
                let strength = |(idx, &edge): (usize, &f64)| net.strength(idx, edge).0 as f32;
                out.extend(graph.iter().enumerate().map(strength));
            }
            StrengthRule::Process { process, rules } => {
                let edges: Vec<f32> = graph.iter().map(|&edge| edge as f32).collect();
                let mut seen = edges.clone();
                if self.adds_to == AddsTo::LogDiffusion {
                    process.diffusion_graph(&edges, rules, &mut seen);
                }
                let mut strengths = seen.clone();
                self.function.edge_strengths(&self.parameters, &seen, &mut strengths);
                out.extend(strengths);
            }
        }
    }

    /// Outputs at states `[path, variable]`; `strengths` holds one graph for all, or one per path.
    pub(super) fn run(&self, strengths: &Strengths, states: &[f64], buffers: &mut NetBuffers) {
        let Some(frozen) = &self.frozen else { return self.run_layers(strengths, states, buffers) };
        let NetBuffers { inputs, outputs, frozen: room, .. } = buffers;
        inputs.clear();
        // A state beyond single precision would be infinite, which no table holds.
        inputs.extend(states.iter().map(|&state| (state as f32).clamp(-MOST_INPUT, MOST_INPUT)));
        outputs.resize(states.len(), 0.0);
        frozen.outputs(&strengths.parents, inputs, room, outputs);
    }

    /// The same layer by layer, which leaves behind what derivatives need.
    pub(super) fn run_layers(
        &self,
        strengths: &Strengths,
        states: &[f64],
        buffers: &mut NetBuffers,
    ) {
        let d = self.function.sizes().n_variables;
        let n_pairs = d * d;
        let trace = &mut buffers.trace;
        trace.resize(&self.function, states.len());
        for (input, &state) in trace.inputs.iter_mut().zip(states) {
            *input = state as f32;
        }
        let all = Rows { first: 0, n: states.len(), per_node: 1 };
        self.function.messages(&self.parameters, &self.weights, trace, all);
        let shared = strengths.matrices.len() == n_pairs;
        for path in 0..states.len() / d {
            let first = if shared { 0 } else { path * n_pairs };
            let one = Rows { first: path * d, n: d, per_node: 1 };
            let graph = &strengths.matrices[first..first + n_pairs];
            self.function.aggregate(graph, trace, one);
        }
        self.function.combine(&self.parameters, &self.weights, trace, all);
        buffers.outputs.clear();
        buffers.outputs.extend_from_slice(&trace.outputs[..states.len()]);
    }

    /// d output_j / d z_j at the states of the last [`run_layers`](Self::run_layers).
    pub(super) fn own_derivatives<'a>(
        &self,
        strengths: &Strengths,
        buffers: &'a mut NetBuffers,
    ) -> &'a [f32] {
        let n_pairs = self.function.sizes().n_variables.pow(2);
        let NetBuffers { trace, tangents, slopes, strengths: own, outputs, .. } = buffers;
        let n_rows = outputs.len();
        let n_paths = n_rows / self.function.sizes().n_variables;
        let strengths = &strengths.matrices[..];
        // The tangents want a graph per path.
        let strengths = if strengths.len() == n_pairs && n_paths > 1 {
            own.clear();
            (0..n_paths).for_each(|_| own.extend_from_slice(strengths));
            &own[..]
        } else {
            strengths
        };
        tangents.resize(&self.function, n_rows);
        slopes.resize(n_rows, 0.0);
        let rows = Rows { first: 0, n: n_rows, per_node: 1 };
        let block = TangentRows { trace, rows, strengths };
        self.function.own_derivatives(&self.parameters, &self.weights, block, tangents, slopes);
        slopes
    }
}
