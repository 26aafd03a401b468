//! The prior process dZ = f_G(Z) dt + g_G(Z) dW, Eq. 9 (eq: CRhino formulation).

use super::sde::DiagonalSde;
use crate::graph::prior::EdgeRule;
use crate::nn::node_function::{
    NodeFunction, NodeSizes, NodeTangents, NodeTrace, NodeWeights, Rows, TangentRows,
};
use crate::nn::parameters::ParameterTable;
use crate::numeric::real::Real;

/// Which of the two descriptions of the node functions is followed, see D4 and D6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeVariant {
    /// The published code: a free weight per edge that starts at 0, width max(4D, embedding, 64),
    /// sigmoid diffusion, every variable in its own diffusion.
    #[default]
    Published,
    /// The paper's text: no weights, width max(2D, embedding), softplus diffusion (the text leaves
    /// open how it stays positive), the same graph for drift and diffusion.
    Printed,
}

impl NodeVariant {
    /// Width of the hidden layers.
    pub fn width(self, n_variables: usize, embedding: usize) -> usize {
        match self {
            Self::Published => (4 * n_variables).max(embedding).max(64),
            Self::Printed => (2 * n_variables).max(embedding),
        }
    }
}

/// Drift and diffusion under a graph: two node functions with their own weights.
#[derive(Debug, Clone, Copy)]
pub struct PriorProcess {
    /// f_G.
    pub drift: NodeFunction,
    /// g_G before its output activation.
    pub diffusion: NodeFunction,
    variant: NodeVariant,
}

impl PriorProcess {
    /// Adds the parameters of both functions to the table; `width` replaces the variant's own.
    pub fn new(
        table: &mut ParameterTable,
        variant: NodeVariant,
        n_variables: usize,
        embedding: usize,
        width: Option<usize>,
    ) -> Self {
        let sizes = NodeSizes {
            n_variables,
            embedding,
            width: width.unwrap_or_else(|| variant.width(n_variables, embedding)),
            edge_weights: variant == NodeVariant::Published,
        };
        let drift = NodeFunction::new(table, "prior_drift", sizes);
        let diffusion = NodeFunction::new(table, "diffusion", sizes);
        Self { drift, diffusion, variant }
    }

    /// Reserves scratch entries, once all parameters of the model have their places.
    pub fn reserve_scratch(&mut self, table: &mut ParameterTable) {
        self.drift.reserve_scratch(table);
        self.diffusion.reserve_scratch(table);
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.drift.sizes().n_variables
    }

    /// Whether the diffusion of a variable sees the variable itself whatever the graph says.
    pub(crate) fn forces_self_edge(&self, rule: EdgeRule) -> bool {
        self.variant == NodeVariant::Published && rule != EdgeRule::Forbidden
    }

    /// The graph of the diffusion: that of the drift, with forced self edges where they apply.
    pub(crate) fn diffusion_graph<R: Real>(&self, graph: &[R], rules: &[EdgeRule], out: &mut [R]) {
        out.copy_from_slice(graph);
        let d = self.n_variables();
        for idx in (0..d).map(|node| node * d + node) {
            if self.forces_self_edge(rules[idx]) {
                out[idx] = R::ONE;
            }
        }
    }

    /// Turns outputs of the diffusion's node function into diffusions, in place.
    pub(crate) fn activate_diffusion<R: Real>(&self, outputs: &mut [R]) {
        crate::numeric::kernels::vectorised(
            #[inline(always)]
            || match self.variant {
                NodeVariant::Published => {
                    for output in outputs {
                        *output = output.sigmoid();
                    }
                }
                NodeVariant::Printed => {
                    for output in outputs {
                        *output = output.softplus();
                    }
                }
            },
        );
    }

    /// The derivative of a diffusion by the node function's output, from the diffusion itself.
    #[inline]
    pub(crate) fn diffusion_slope<R: Real>(&self, diffusion: R) -> R {
        match self.variant {
            NodeVariant::Published => diffusion * (R::ONE - diffusion),
            // sigmoid(x) = 1 - exp(-softplus(x)).
            NodeVariant::Printed => R::ONE - (-diffusion).exp(),
        }
    }
}

impl PriorProcess {
    /// The second derivative of a diffusion by the node function's output.
    #[inline]
    pub(crate) fn diffusion_curvature<R: Real>(&self, diffusion: R) -> R {
        let slope = self.diffusion_slope(diffusion);
        match self.variant {
            NodeVariant::Published => slope * (R::ONE - diffusion - diffusion),
            NodeVariant::Printed => slope * (R::ONE - slope),
        }
    }
}

/// A prior process with fixed parameters and one graph: it can be simulated by any solver.
#[derive(Debug, Clone)]
pub struct LearnedProcess {
    process: PriorProcess,
    parameters: Vec<f64>,
    drift: Prepared,
    diffusion: Prepared,
}

/// One node function under the graph.
#[derive(Debug, Clone)]
struct Prepared {
    weights: NodeWeights<f64>,
    /// Of edges, `[source, target]`.
    strengths: Vec<f64>,
}

impl LearnedProcess {
    /// Fixes parameters and graph; `graph` is `[source, target]`, 0 or 1.
    pub fn new(
        process: PriorProcess,
        parameters: Vec<f64>,
        graph: &[f64],
        rules: &[EdgeRule],
    ) -> Self {
        let mut diffusion_graph = graph.to_vec();
        process.diffusion_graph(graph, rules, &mut diffusion_graph);
        let prepared = |function: &NodeFunction, graph: &[f64]| {
            let (mut weights, mut strengths) = (NodeWeights::default(), graph.to_vec());
            function.prepare(&parameters, &mut weights);
            function.edge_strengths(&parameters, graph, &mut strengths);
            Prepared { weights, strengths }
        };
        let drift = prepared(&process.drift, graph);
        let diffusion = prepared(&process.diffusion, &diffusion_graph);
        Self { process, parameters, drift, diffusion }
    }

    /// Runs one node function at one state.
    fn trace(
        &self,
        function: &NodeFunction,
        prepared: &Prepared,
        state: &[f64],
    ) -> (NodeTrace<f64>, Rows) {
        let Prepared { weights, strengths } = prepared;
        let rows = Rows { first: 0, n: state.len(), per_node: 1 };
        let mut trace = NodeTrace::default();
        trace.resize(function, rows.n);
        trace.inputs.copy_from_slice(state);
        function.messages(&self.parameters, weights, &mut trace, rows);
        function.aggregate(strengths, &mut trace, rows);
        function.combine(&self.parameters, weights, &mut trace, rows);
        (trace, rows)
    }
}

impl DiagonalSde for LearnedProcess {
    fn n_variables(&self) -> usize {
        self.process.n_variables()
    }

    fn drift(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.trace(&self.process.drift, &self.drift, state).0.outputs);
    }

    fn diffusion(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        let (trace, _) = self.trace(&self.process.diffusion, &self.diffusion, state);
        out.copy_from_slice(&trace.outputs);
        self.process.activate_diffusion(out);
    }

    fn diffusion_derivative(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        let function = &self.process.diffusion;
        let (trace, rows) = self.trace(function, &self.diffusion, state);
        let mut diffusion = trace.outputs.clone();
        self.process.activate_diffusion(&mut diffusion);
        let Prepared { weights, strengths } = &self.diffusion;
        let block = TangentRows { trace: &trace, rows, strengths };
        let mut tangents = NodeTangents::default();
        tangents.resize(function, rows.n);
        function.own_derivatives(&self.parameters, weights, block, &mut tangents, out);
        for (out, &diffusion) in out.iter_mut().zip(&diffusion) {
            *out *= self.process.diffusion_slope(diffusion);
        }
    }
}
