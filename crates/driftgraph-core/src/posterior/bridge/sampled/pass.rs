//! Node functions of one evaluation: forward over sampled states and graphs, and back.

use rayon::prelude::*;

use super::messages::MessageWork;
use super::piece::{CombinePass, NeuralPiece, PieceGrads};
use crate::numeric::real::Real;
use crate::posterior::bridge::gated::GatedMoments;
use crate::posterior::bridge::model::{BridgeModel, Workspace};
use crate::posterior::bridge::neural::{Net, SampledGraphs};
use crate::posterior::bridge::structure::Pass;
use crate::posterior::bridge::transition::Extra;

/// The node functions of one evaluation, from their forward to their backward pass; buffers are kept
/// from one evaluation to the next.
#[derive(Debug, Clone, Default)]
pub(in crate::posterior::bridge) struct NeuralWork<R> {
    graphs: SampledGraphs,
    /// Parameters of the node functions alone, which lie behind all others.
    parameters: Vec<R>,
    /// z in the order of the pieces, `[variable, step]`.
    inputs: Vec<R>,
    /// Messages of each net.
    messages: Vec<MessageWork<R>>,
    pieces: Vec<NeuralPiece<R>>,
    /// What the node functions add to each step.
    pub(in crate::posterior::bridge) extra: Extra,
    /// Derivatives by the states, `[step, variable]`.
    pub(in crate::posterior::bridge) by_states: Vec<f64>,
    grads: Vec<R>,
}

impl BridgeModel {
    /// The node functions for buffers that hold nothing before their parameters.
    fn moved_nets(&self) -> (usize, Vec<Net>) {
        let offset = self.nets().map(|net| net.function.offset()).min().unwrap_or(0);
        (offset, self.nets().map(|net| net.moved_back(offset)).collect())
    }

    /// Samples graphs and runs the node functions forward over the sampled states.
    pub(in crate::posterior::bridge) fn neural_forward<R: Real>(
        &self,
        parameters: &[f64],
        pass: &Pass,
        (lagged, states): (&GatedMoments, &[f64]),
        neural: &mut NeuralWork<R>,
    ) {
        let d = self.n_variables();
        let logits = self.lagged().edge_logits.of(parameters);
        let (rules, structure) = (self.lagged_prior().rules(), self.structure());
        let n_graphs = structure.net_sizes.n_graphs;
        let draw = (pass.seed, pass.draw);
        neural.graphs = SampledGraphs::new((logits, rules), structure.estimator, n_graphs, draw);
        let (offset, nets) = self.moved_nets();
        neural.parameters.clear();
        neural.parameters.extend(parameters[offset..].iter().map(|&value| R::from_f64(value)));
        neural.deal(states, d);
        let NeuralWork { graphs, parameters: narrow, inputs, messages, pieces, .. } = neural;
        messages.resize_with(nets.len(), MessageWork::default);
        for (net, messages) in nets.iter().zip(messages.iter_mut()) {
            messages.send(net, narrow, inputs);
        }
        pieces.par_iter_mut().enumerate().for_each(|(sample, piece)| {
            let graph = &graphs.graphs[sample];
            self.linear_deviations((parameters, lagged), graph, piece);
            piece.linear_forward(d);
            piece.nets.resize_with(nets.len(), CombinePass::default);
            let place = (piece.first, piece.rows.len());
            for ((net, messages), pass) in nets.iter().zip(&*messages).zip(&mut piece.nets) {
                pass.forward((net, narrow), messages, graph, place);
            }
        });
        self.fill_extra(neural, states.len() / d);
    }

    /// What linear effects under one graph differ by from their moments.
    fn linear_deviations<R>(
        &self,
        (parameters, moments): (&[f64], &GatedMoments),
        graph: &[f64],
        piece: &mut NeuralPiece<R>,
    ) {
        let lagged = self.lagged();
        let effects = lagged.effects(parameters);
        let share = f64::from(u8::from(lagged.has_effects()));
        let entries = graph.iter().zip(effects).zip(&moments.mean);
        piece.deviations.clear();
        piece
            .deviations
            .extend(entries.map(|((edge, effect), mean)| share * (edge * effect - mean)));
        piece.excess.clear();
        if self.diffusion_net.is_some() {
            let spread = |idx: usize| graph[idx] * lagged.effect(parameters, idx).1;
            piece.excess.extend((0..graph.len()).map(|idx| spread(idx) - moments.variance[idx]));
        }
    }

    /// What the node functions, and sampled linear effects, add to each step.
    fn fill_extra<R: Real>(&self, neural: &mut NeuralWork<R>, n_steps: usize) {
        let d = self.n_variables();
        let NeuralWork { pieces, extra, .. } = neural;
        extra.drift.resize(n_steps * d, 0.0);
        extra.variance.resize(n_steps * d, 0.0);
        extra.log_scale.resize(if self.diffusion_net.is_some() { n_steps * d } else { 0 }, 0.0);
        for piece in pieces {
            let added = piece.excess_variances(d);
            for (place, &row) in piece.rows.iter().enumerate() {
                for variable in 0..d {
                    let (from, to) = (place * d + variable, row * d + variable);
                    let net = self.drift_net.map_or(0.0, |_| piece.nets[0].outputs[from]);
                    let linear = piece.linear[from];
                    if let Some(last) = piece.nets.last().filter(|_| self.diffusion_net.is_some()) {
                        extra.drift[to] = net + linear;
                        extra.variance[to] = added[from];
                        extra.log_scale[to] = last.outputs[from];
                    } else {
                        extra.drift[to] = net;
                        extra.variance[to] = 2.0 * net * linear;
                    }
                }
            }
        }
    }

    /// Runs the node functions backward, from derivatives by what they added.
    pub(in crate::posterior::bridge) fn neural_backward<R: Real>(
        &self,
        parameters: &[f64],
        neural: &mut NeuralWork<R>,
        by_extra: &Extra,
        work: &mut Workspace<R>,
    ) {
        let d = self.n_variables();
        let (offset, nets) = self.moved_nets();
        let gradient_len = self.table().gradient_len() - offset;
        let NeuralWork { graphs, parameters: narrow, messages, pieces, grads, .. } = neural;
        pieces.par_iter_mut().for_each(|piece| {
            piece.linear_backward(by_extra, self.drift_net.is_some(), d);
            let NeuralPiece { first, nets: passes, grads, .. } = piece;
            for ((net, messages), pass) in nets.iter().zip(&*messages).zip(passes) {
                let by_graph = (*first, &mut grads.graph[..]);
                pass.backward((net, narrow), messages, by_graph, gradient_len);
            }
        });
        grads.clear();
        grads.resize(gradient_len, R::ZERO);
        for (idx, (net, messages)) in nets.iter().zip(messages.iter_mut()).enumerate() {
            let parts: Vec<&[R]> =
                pieces.iter().map(|piece| &piece.nets[idx].grad_messages[..]).collect();
            messages.reverse((net, narrow), &parts, gradient_len);
            messages.add_gradients(grads);
        }
        for (sample, piece) in pieces.iter().enumerate() {
            let sample = (&graphs.graphs[sample][..], &graphs.slopes[sample][..]);
            self.add_sample_gradients(parameters, sample, &piece.grads, work);
            for pass in &piece.nets {
                grads.iter_mut().zip(&pass.grads).for_each(|(sum, &grad)| *sum += grad);
            }
        }
        for net in &nets {
            net.function.finish_gradients(narrow, grads);
        }
        for (grad, &net_grad) in work.grads[offset..].iter_mut().zip(&*grads) {
            *grad += net_grad.to_f64();
        }
        neural.collect_states(d);
    }

    /// Adds the gradients that one graph's steps give to edges and linear effects.
    fn add_sample_gradients<R>(
        &self,
        parameters: &[f64],
        (graph, slopes): (&[f64], &[f64]),
        from: &PieceGrads,
        work: &mut Workspace<R>,
    ) {
        let lagged = self.lagged();
        let [means, log_deviations, _] = lagged.effect_slots();
        for idx in 0..graph.len() {
            let mut by_graph = from.graph[idx];
            if lagged.has_effects() {
                let effect = lagged.effects(parameters)[idx];
                let by_deviation = from.deviations[idx];
                by_graph += effect * by_deviation;
                means.of_mut(&mut work.grads)[idx] += graph[idx] * by_deviation;
                work.transition.lagged.mean[idx] -= by_deviation;
                if let Some(by_excess) = from.excess.get(idx) {
                    let deviation_square = lagged.effect(parameters, idx).1;
                    by_graph += deviation_square * by_excess;
                    log_deviations.of_mut(&mut work.grads)[idx] +=
                        2.0 * graph[idx] * deviation_square * by_excess;
                    work.transition.lagged.variance[idx] -= by_excess;
                }
            }
            lagged.edge_logits.of_mut(&mut work.grads)[idx] += slopes[idx] * by_graph;
        }
    }
}

impl<R: Real> NeuralWork<R> {
    /// Deals the steps among the graphs: interleaved, so that every graph sees steps of all series.
    fn deal(&mut self, states: &[f64], d: usize) {
        let (n_steps, n_graphs) = (states.len() / d, self.graphs.graphs.len());
        self.pieces.resize_with(n_graphs, NeuralPiece::default);
        self.inputs.resize(states.len(), R::ZERO);
        let mut first = 0;
        for (sample, piece) in self.pieces.iter_mut().enumerate() {
            piece.deal((sample..n_steps).step_by(n_graphs), first, states, d);
            for (step, state) in piece.states.chunks_exact(d).enumerate() {
                for (variable, &value) in state.iter().enumerate() {
                    self.inputs[variable * n_steps + first + step] = R::from_f64(value);
                }
            }
            first += piece.rows.len();
        }
    }

    /// Adds up the derivatives by the states, through linear effects and through messages.
    fn collect_states(&mut self, d: usize) {
        self.by_states.resize(self.inputs.len(), 0.0);
        for piece in &self.pieces {
            let own = piece.grads.states.chunks_exact(d);
            for (place, (&row, own)) in piece.rows.iter().zip(own).enumerate() {
                let out = &mut self.by_states[row * d..(row + 1) * d];
                out.copy_from_slice(own);
                for messages in &self.messages {
                    for (node, out) in out.iter_mut().enumerate() {
                        *out += messages.grad_inputs(node)[piece.first + place].to_f64();
                    }
                }
            }
        }
    }
}
