//! A node function with fixed parameters, asked for its values under any graph.

use super::super::part::{FixedPart, PartAtStates};
use super::NodePart;
use crate::nn::node_function::{NodeTrace, NodeWeights, Rows};
use crate::numeric::real::Real;
use crate::process::part::AddsTo;

/// A node function with fixed parameters.
#[derive(Debug)]
pub(super) struct FixedNet<R> {
    net: NodePart,
    parameters: Vec<R>,
    weights: NodeWeights<R>,
}

impl<R: Real> FixedNet<R> {
    /// Of all parameters of the model.
    pub(super) fn new(net: &NodePart, parameters: &[f64]) -> Self {
        let parameters: Vec<R> = parameters.iter().map(|&value| R::from_f64(value)).collect();
        let mut weights = NodeWeights::default();
        net.function.prepare(&parameters, &mut weights);
        Self { net: *net, parameters, weights }
    }
}

impl<R: Real> FixedPart for FixedNet<R> {
    fn adds_to(&self) -> AddsTo {
        self.net.adds_to
    }

    fn at(&self, states: &[f64]) -> Box<dyn PartAtStates + '_> {
        let function = &self.net.function;
        let d = function.sizes().n_variables;
        let rows = Rows { first: 0, n: states.len(), per_node: states.len() / d };
        let mut trace = NodeTrace::default();
        trace.resize(function, rows.n);
        for (idx, &value) in states.iter().enumerate() {
            trace.inputs[idx % d * rows.per_node + idx / d] = R::from_f64(value);
        }
        function.messages(&self.parameters, &self.weights, &mut trace, rows);
        Box::new(NetAtStates { fixed: self, trace, strengths: Vec::new(), rows })
    }
}

/// A node function whose messages are sent.
struct NetAtStates<'a, R> {
    fixed: &'a FixedNet<R>,
    trace: NodeTrace<R>,
    strengths: Vec<R>,
    rows: Rows,
}

impl<R: Real> PartAtStates for NetAtStates<'_, R> {
    fn under(&mut self, graph: &[f64]) -> Vec<f64> {
        let Self { fixed: FixedNet { net, parameters, weights }, trace, strengths, rows } = self;
        let d = net.function.sizes().n_variables;
        strengths.clear();
        let scale = net.message_scale();
        let strength = |(idx, &edge): (usize, &f64)| R::from_f64(scale.strength(idx, edge).0);
        strengths.extend(graph.iter().enumerate().map(strength));
        net.function.aggregate(strengths, trace, *rows);
        net.function.combine(parameters, weights, trace, *rows);
        let output = |idx: usize| trace.outputs[idx % d * rows.per_node + idx / d].to_f64();
        (0..rows.n).map(output).collect()
    }
}
