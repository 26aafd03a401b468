//! A node function over a block of paths, each under its own graph, in single precision.

use crate::graph::prior::EdgeRule;
use crate::nn::node_function::{
    NodeFunction, NodeTangents, NodeTrace, NodeWeights, Rows, TangentRows,
};
use crate::posterior::bridge::neural::Net;
use crate::process::prior::PriorProcess;

/// A node function with fixed parameters.
#[derive(Debug)]
pub(super) struct BlockNet {
    function: NodeFunction,
    parameters: Vec<f32>,
    weights: NodeWeights<f32>,
    rule: StrengthRule,
}

/// How strongly each edge of a graph carries its message.
#[derive(Debug)]
enum StrengthRule {
    Bridge(Net),
    Process { process: PriorProcess, rules: Vec<EdgeRule>, is_diffusion: bool },
}

/// Room for the activations of a block.
#[derive(Debug, Default)]
pub(super) struct NetBuffers {
    trace: NodeTrace<f32>,
    tangents: NodeTangents<f32>,
    slopes: Vec<f32>,
    strengths: Vec<f32>,
    n_rows: usize,
}

impl NetBuffers {
    /// Outputs of the last run, `[path, variable]`.
    pub(super) fn outputs(&self) -> &[f32] {
        &self.trace.outputs[..self.n_rows]
    }
}

impl BlockNet {
    pub(super) fn of_bridge(net: &Net, parameters: &[f32]) -> Self {
        Self::new(net.function, parameters, StrengthRule::Bridge(*net))
    }

    pub(super) fn of_process(
        process: PriorProcess,
        rules: &[EdgeRule],
        parameters: &[f32],
        is_diffusion: bool,
    ) -> Self {
        let function = if is_diffusion { process.diffusion } else { process.drift };
        let rule = StrengthRule::Process { process, rules: rules.to_vec(), is_diffusion };
        Self::new(function, parameters, rule)
    }

    fn new(function: NodeFunction, parameters: &[f32], rule: StrengthRule) -> Self {
        let mut weights = NodeWeights::default();
        function.prepare(parameters, &mut weights);
        Self { function, parameters: parameters.to_vec(), weights, rule }
    }

    /// Appends the strengths of a graph's edges, `[source, target]`.
    pub(super) fn push_strengths(&self, graph: &[f64], out: &mut Vec<f32>) {
        match &self.rule {
            StrengthRule::Bridge(net) => {
                let strength = |(idx, &edge): (usize, &f64)| net.strength(idx, edge).0 as f32;
                out.extend(graph.iter().enumerate().map(strength));
            }
            StrengthRule::Process { process, rules, is_diffusion } => {
                let edges: Vec<f32> = graph.iter().map(|&edge| edge as f32).collect();
                let mut seen = edges.clone();
                if *is_diffusion {
                    process.diffusion_graph(&edges, rules, &mut seen);
                }
                let mut strengths = seen.clone();
                self.function.edge_strengths(&self.parameters, &seen, &mut strengths);
                out.extend(strengths);
            }
        }
    }

    /// Outputs at states `[path, variable]`; `strengths` holds one graph for all, or one per path.
    pub(super) fn run(&self, strengths: &[f32], states: &[f64], buffers: &mut NetBuffers) {
        let d = self.function.sizes().n_variables;
        let n_pairs = d * d;
        let trace = &mut buffers.trace;
        buffers.n_rows = states.len();
        trace.resize(&self.function, states.len());
        for (input, &state) in trace.inputs.iter_mut().zip(states) {
            *input = state as f32;
        }
        let all = Rows { first: 0, n: states.len(), per_node: 1 };
        self.function.messages(&self.parameters, &self.weights, trace, all);
        let shared = strengths.len() == n_pairs;
        for path in 0..states.len() / d {
            let first = if shared { 0 } else { path * n_pairs };
            let one = Rows { first: path * d, n: d, per_node: 1 };
            self.function.aggregate(&strengths[first..first + n_pairs], trace, one);
        }
        self.function.combine(&self.parameters, &self.weights, trace, all);
    }

    /// d output_j / d z_j at the states of the last [`run`](Self::run), `[path, variable]`.
    pub(super) fn own_derivatives<'a>(
        &self,
        strengths: &[f32],
        buffers: &'a mut NetBuffers,
    ) -> &'a [f32] {
        let n_pairs = self.function.sizes().n_variables.pow(2);
        let NetBuffers { trace, tangents, slopes, strengths: own, n_rows } = buffers;
        let n_paths = *n_rows / self.function.sizes().n_variables;
        // The tangents want a graph per path.
        let strengths = if strengths.len() == n_pairs && n_paths > 1 {
            own.clear();
            (0..n_paths).for_each(|_| own.extend_from_slice(strengths));
            &own[..]
        } else {
            strengths
        };
        tangents.resize(&self.function, *n_rows);
        slopes.resize(*n_rows, 0.0);
        let rows = Rows { first: 0, n: *n_rows, per_node: 1 };
        let block = TangentRows { trace, rows, strengths };
        self.function.own_derivatives(&self.parameters, &self.weights, block, tangents, slopes);
        slopes
    }
}
