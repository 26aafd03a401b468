//! Messages of all nodes at all sampled states, and their way back.
//!
//! A message does not depend on the graph: one sweep per node serves the steps of all graphs.

use rayon::prelude::*;

use super::NodePart;
use crate::nn::node_function::{
    MessageBends, NodeWeights, SweepWorkspace, SweptMessages, SweptNode,
};
use crate::numeric::real::Real;

/// Most parts into which the nodes' gradients are summed: fixed, so that sums do not depend on the
/// number of threads.
pub(super) const N_GROUPS: usize = 8;

/// Messages of one net; buffers are kept from one evaluation to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageWork<R> {
    pub(super) weights: NodeWeights<R>,
    bends: MessageBends<R>,
    /// `[node, point, embedding]`.
    messages: Vec<R>,
    n_points: usize,
    nodes: Vec<NodeSweep<R>>,
    /// Gradients by the net's parameters, of each group of nodes.
    grads: Vec<Vec<R>>,
}

/// One node's sweep, from its messages to their adjoints.
#[derive(Debug, Clone, Default)]
struct NodeSweep<R> {
    sweep: SweepWorkspace<R>,
    grad_messages: Vec<R>,
    grad_inputs: Vec<R>,
}

impl<R: Real> MessageWork<R> {
    /// Computes the messages for the inputs `[node, point]`.
    pub(super) fn send(&mut self, net: &NodePart, parameters: &[R], inputs: &[R]) {
        let function = &net.function;
        let (d, e) = (function.sizes().n_variables, function.sizes().embedding);
        self.n_points = inputs.len() / d;
        function.prepare(parameters, &mut self.weights);
        function.prepare_bends(parameters, &self.weights, &mut self.bends);
        let Self { weights, bends, messages, nodes, n_points, .. } = self;
        let n = *n_points;
        messages.resize(d * n * e, R::ZERO);
        nodes.resize_with(d, NodeSweep::default);
        let rows = messages.par_chunks_mut((n * e).max(1)).zip(inputs.par_chunks(n.max(1)));
        nodes.par_iter_mut().zip(rows).enumerate().for_each(|(node, (own, (out, inputs)))| {
            let swept = SweptNode { function, parameters, weights, bends, node };
            swept.messages(inputs, &mut own.sweep, out);
        });
    }

    /// The messages from point number `first` on.
    pub(super) fn from(&self, first: usize) -> SweptMessages<'_, R> {
        SweptMessages { all: &self.messages, n_points: self.n_points, first }
    }

    /// From the messages' adjoints, which lie in parts `[node, point, embedding]` one after the
    /// other, to those of inputs and parameters.
    pub(super) fn reverse(
        &mut self,
        net: &NodePart,
        parameters: &[R],
        parts: &[&[R]],
        gradient_len: usize,
    ) {
        let function = &net.function;
        let d = function.sizes().n_variables;
        let group = d.div_ceil(N_GROUPS);
        let Self { weights, bends, nodes, grads, n_points, .. } = self;
        grads.resize_with(d.div_ceil(group), Vec::new);
        let groups = nodes.par_chunks_mut(group).zip(grads.par_iter_mut());
        groups.enumerate().for_each(|(place, (nodes, grads))| {
            grads.clear();
            grads.resize(gradient_len, R::ZERO);
            for (idx, own) in nodes.iter_mut().enumerate() {
                let node = place * group + idx;
                own.grad_messages.clear();
                for part in parts {
                    let size = part.len() / d;
                    own.grad_messages.extend_from_slice(&part[node * size..(node + 1) * size]);
                }
                own.grad_inputs.resize(*n_points, R::ZERO);
                let swept = SweptNode { function, parameters, weights, bends, node };
                let NodeSweep { sweep, grad_messages, grad_inputs } = own;
                swept.backward_after_messages(grads, grad_messages, sweep, grad_inputs);
            }
        });
    }

    /// Adjoints of one node's inputs.
    pub(super) fn grad_inputs(&self, node: usize) -> &[R] {
        &self.nodes[node].grad_inputs
    }

    /// Adds the gradients of all groups in their order.
    pub(super) fn add_gradients(&self, sums: &mut [R]) {
        for grads in &self.grads {
            for (sum, &grad) in sums.iter_mut().zip(grads) {
                *sum += grad;
            }
        }
    }
}
