//! A node function over the sampled steps of one evaluation, forward and back.

use crate::nn::parameters::{WithAdjoints, WithGradient};
use rayon::prelude::*;

use super::super::sampled::{GraphPiece, SampledPart, SampledSteps};
use super::NodePart;
use super::messages::MessageWork;
use crate::nn::node_function::{NodeAdjoints, NodeTrace, Rows, SweptAdjoints};
use crate::numeric::real::Real;

/// One node function; buffers are kept from one evaluation to the next.
#[derive(Debug)]
pub(super) struct SampledNet<R> {
    net: NodePart,
    messages: MessageWork<R>,
    pieces: Vec<CombinePass<R>>,
}

impl<R: Real> SampledNet<R> {
    /// The node function for buffers that begin `offset` entries later.
    pub(super) fn new(net: &NodePart, offset: usize) -> Self {
        Self { net: net.moved_back(offset), messages: MessageWork::default(), pieces: Vec::new() }
    }
}

impl<R: Real> SampledPart<R> for SampledNet<R> {
    fn forward(&mut self, steps: &SampledSteps<'_, R>, pieces: &mut [GraphPiece]) {
        let Self { net, messages, pieces: passes } = self;
        messages.send(net, steps.parameters, steps.inputs);
        passes.resize_with(pieces.len(), CombinePass::default);
        let passes = passes.par_iter_mut().zip(steps.graphs);
        pieces.par_iter_mut().zip(passes).for_each(|(piece, (pass, graph))| {
            pass.forward(net, steps.parameters, messages, graph, piece);
        });
    }

    fn backward(
        &mut self,
        steps: &SampledSteps<'_, R>,
        pieces: &mut [GraphPiece],
        grads: &mut [R],
    ) {
        let Self { net, messages, pieces: passes } = self;
        let len = grads.len();
        pieces.par_iter_mut().zip(&mut *passes).for_each(|(piece, pass)| {
            pass.grads.clear();
            pass.grads.resize(len, R::ZERO);
            pass.backward(net, steps.parameters, messages, piece);
        });
        let adjoints: Vec<&[R]> = passes.iter().map(|pass| &pass.grad_messages[..]).collect();
        messages.reverse(net, steps.parameters, &adjoints, len);
        messages.add_gradients(grads);
        for pass in passes {
            grads.iter_mut().zip(&pass.grads).for_each(|(sum, &grad)| *sum += grad);
        }
        net.function.finish_gradients(steps.parameters, grads);
    }

    fn by_states(&self, variable: usize) -> &[R] {
        self.messages.grad_inputs(variable)
    }
}

/// The combining net over the steps of a piece.
#[derive(Debug, Default)]
struct CombinePass<R> {
    trace: NodeTrace<R>,
    adjoints: NodeAdjoints<R>,
    strengths: Vec<R>,
    by_strengths: Vec<R>,
    grads: Vec<R>,
    /// Adjoints of the messages, `[node, step, embedding]`.
    grad_messages: Vec<R>,
}

impl<R: Real> CombinePass<R> {
    /// Adds the outputs of the piece's steps under its graph to what the net adds to.
    fn forward(
        &mut self,
        net: &NodePart,
        parameters: &[R],
        messages: &MessageWork<R>,
        graph: &[f64],
        piece: &mut GraphPiece,
    ) {
        let function = &net.function;
        let (d, n) = (function.sizes().n_variables, piece.rows.len());
        if n == 0 {
            return;
        }
        let rows = Rows { first: 0, n: n * d, per_node: n };
        self.trace.resize_without_messages(function, rows.n);
        self.strengths.clear();
        let scale = net.message_scale();
        let strength = |(idx, &edge): (usize, &f64)| R::from_f64(scale.strength(idx, edge).0);
        self.strengths.extend(graph.iter().enumerate().map(strength));
        let swept = messages.from(piece.first);
        function.aggregate_swept(&self.strengths, swept, &mut self.trace, rows);
        function.combine(parameters, &messages.weights, &mut self.trace, rows);
        let added = piece.added_mut(net.adds_to);
        for (node, outputs) in self.trace.outputs[..n * d].chunks_exact(n).enumerate() {
            for (step, output) in outputs.iter().enumerate() {
                added[step * d + node] += output.to_f64();
            }
        }
    }

    /// From derivatives by the outputs to the adjoints of messages, parameters and, added to it, the
    /// piece's graph.
    fn backward(
        &mut self,
        net: &NodePart,
        parameters: &[R],
        messages: &MessageWork<R>,
        piece: &mut GraphPiece,
    ) {
        let function = &net.function;
        let (d, e) = (function.sizes().n_variables, function.sizes().embedding);
        let n = piece.rows.len();
        self.grad_messages.resize(n * d * e, R::ZERO);
        if n == 0 {
            return;
        }
        let rows = Rows { first: 0, n: n * d, per_node: n };
        self.adjoints.resize_without_messages(function, rows.n);
        self.by_strengths.clear();
        self.by_strengths.resize(d * d, R::ZERO);
        let by_outputs = piece.by_added(net.adds_to);
        for (node, outputs) in self.adjoints.outputs[..n * d].chunks_exact_mut(n).enumerate() {
            for (step, output) in outputs.iter_mut().enumerate() {
                *output = R::from_f64(by_outputs[step * d + node]);
            }
        }
        let (trace, adjoints, grads) = (&self.trace, &mut self.adjoints, &mut self.grads[..]);
        function.combine_backward(
            WithGradient { parameters, grads: &mut *grads },
            trace,
            adjoints,
            rows,
        );
        function.add_combine_gradients(grads, trace, adjoints, rows);
        let strengths = WithAdjoints { values: &self.strengths, adjoints: &mut self.by_strengths };
        let out = SweptAdjoints { all: &mut self.grad_messages, n_points: n };
        let swept = messages.from(piece.first);
        function.aggregate_swept_backward(strengths, swept, out, adjoints, rows);
        let scale = net.message_scale();
        for (idx, out) in piece.grads.graph.iter_mut().enumerate() {
            *out += self.by_strengths[idx].to_f64() * scale.strength(idx, 0.0).1;
        }
    }
}
