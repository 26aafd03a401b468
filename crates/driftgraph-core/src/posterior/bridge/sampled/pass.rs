//! The parts of one evaluation: forward over sampled states and graphs, and back.

use rayon::prelude::*;

use super::piece::{GraphPiece, PieceGrads};
use crate::posterior::bridge::gated::GatedMoments;
use crate::posterior::bridge::model::{BridgeModel, StepWork};
use crate::posterior::bridge::part::PartFloat;
use crate::posterior::bridge::sampled_graphs::SampledGraphs;
use crate::posterior::bridge::structure::Pass;
use crate::posterior::bridge::transition::Extra;
use crate::process::part::AddsTo;

/// A part of the process beyond gated linear effects, over the sampled steps of one evaluation.
///
/// It adds to the drift or to the log diffusion of every step, given its state and graph.
pub(crate) trait SampledPart<R>: std::fmt::Debug + Send + Sync {
    /// Adds what it gives at the states of every piece, under the piece's graph.
    fn forward(&mut self, steps: &SampledSteps<'_, R>, pieces: &mut [GraphPiece]);

    /// From the pieces' derivatives by what was added to those by graphs, added to the pieces, by
    /// parameters, added to `grads`, and by states, kept until the next evaluation.
    fn backward(&mut self, steps: &SampledSteps<'_, R>, pieces: &mut [GraphPiece], grads: &mut [R]);

    /// Derivatives by the states of one variable, in the order of the pieces.
    fn by_states(&self, variable: usize) -> &[R];
}

/// What all parts read in one evaluation.
#[derive(Debug)]
pub(crate) struct SampledSteps<'a, R> {
    /// Parameters of the parts alone.
    pub(crate) parameters: &'a [R],
    /// z in the order of the pieces, `[variable, step]`.
    pub(crate) inputs: &'a [R],
    /// The graph of every piece.
    pub(crate) graphs: &'a [Vec<f64>],
}

/// The parts of one evaluation, from their forward to their backward pass; buffers are kept from one
/// evaluation to the next.
#[derive(Debug)]
pub(in crate::posterior::bridge) struct SampledWork<R> {
    graphs: SampledGraphs,
    /// Parameters of the parts alone, which lie behind all others.
    parameters: Vec<R>,
    /// z in the order of the pieces, `[variable, step]`.
    inputs: Vec<R>,
    parts: Vec<Box<dyn SampledPart<R>>>,
    pieces: Vec<GraphPiece>,
    /// What the parts add to each step.
    pub(in crate::posterior::bridge) extra: Extra,
    /// Derivatives by the states, `[step, variable]`.
    pub(in crate::posterior::bridge) by_states: Vec<f64>,
    grads: Vec<R>,
}

impl<R> Default for SampledWork<R> {
    fn default() -> Self {
        Self {
            graphs: SampledGraphs::default(),
            parameters: Vec::new(),
            inputs: Vec::new(),
            parts: Vec::new(),
            pieces: Vec::new(),
            extra: Extra::default(),
            by_states: Vec::new(),
            grads: Vec::new(),
        }
    }
}

impl<R> Clone for SampledWork<R> {
    /// Buffers mean nothing between two evaluations: a copy starts with none.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl BridgeModel {
    /// First parameter of the parts, which lie behind all others.
    fn first_of_parts(&self) -> usize {
        self.parts().iter().map(|part| part.slot().offset).min().unwrap_or(self.table().len())
    }

    /// Samples graphs and runs the parts forward over the sampled states.
    pub(in crate::posterior::bridge) fn parts_forward<R: PartFloat>(
        &self,
        parameters: &[f64],
        pass: &Pass,
        lagged: &GatedMoments,
        states: &[f64],
        work: &mut SampledWork<R>,
    ) {
        let d = self.n_variables();
        work.begin(self, parameters, pass, states);
        let SampledWork { graphs, parameters: narrow, inputs, parts, pieces, extra, .. } = work;
        pieces.par_iter_mut().zip(&graphs.graphs).for_each(|(piece, graph)| {
            self.linear_deviations(parameters, lagged, graph, piece);
            piece.linear_forward(d);
        });
        let steps = SampledSteps { parameters: narrow, inputs, graphs: &graphs.graphs };
        for part in parts {
            part.forward(&steps, pieces);
        }
        extra.drift.resize(states.len(), 0.0);
        extra.variance.resize(states.len(), 0.0);
        let scaled = self.has_part(AddsTo::LogDiffusion);
        extra.log_scale.resize(if scaled { states.len() } else { 0 }, 0.0);
        for piece in pieces {
            piece.fill_extra(extra, d);
        }
    }

    /// What linear effects under one graph differ by from their moments.
    fn linear_deviations(
        &self,
        parameters: &[f64],
        moments: &GatedMoments,
        graph: &[f64],
        piece: &mut GraphPiece,
    ) {
        let lagged = self.lagged();
        let effects = lagged.effects(parameters);
        let share = f64::from(u8::from(lagged.has_effects()));
        let entries = graph.iter().zip(effects).zip(&moments.mean);
        let deviation =
            |((edge, effect), mean): ((&f64, &f64), &f64)| share * (edge * effect - mean);
        piece.deviations.clear();
        piece.deviations.extend(entries.map(deviation));
        piece.excess.clear();
        if self.has_part(AddsTo::LogDiffusion) {
            let spread = |idx: usize| graph[idx] * lagged.effect(parameters, idx).1;
            piece.excess.extend((0..graph.len()).map(|idx| spread(idx) - moments.variance[idx]));
        }
    }

    /// Runs the parts backward, from derivatives by what they added.
    pub(in crate::posterior::bridge) fn parts_backward<R: PartFloat>(
        &self,
        parameters: &[f64],
        work: &mut SampledWork<R>,
        steps: &mut StepWork,
        all_grads: &mut [f64],
    ) {
        let d = self.n_variables();
        let offset = self.first_of_parts();
        let SampledWork { graphs, parameters: narrow, inputs, parts, pieces, grads, .. } = work;
        pieces.par_iter_mut().for_each(|piece| {
            piece.linear_backward(&steps.transition.extra, d);
        });
        grads.clear();
        grads.resize(self.table().gradient_len() - offset, R::ZERO);
        let sampled = SampledSteps { parameters: narrow, inputs, graphs: &graphs.graphs };
        for part in parts {
            part.backward(&sampled, pieces, grads);
        }
        for (piece, (graph, slopes)) in pieces.iter().zip(graphs.graphs.iter().zip(&graphs.slopes))
        {
            let from = SampleGrads { graph, slopes, piece: &piece.grads };
            self.add_sample_gradients(parameters, &from, steps, all_grads);
        }
        for (grad, &own) in all_grads[offset..].iter_mut().zip(&*grads) {
            *grad += own.to_f64();
        }
        work.collect_states(d);
    }

    /// Adds the gradients that one graph's steps give to edges and linear effects.
    fn add_sample_gradients(
        &self,
        parameters: &[f64],
        &SampleGrads { graph, slopes, piece }: &SampleGrads<'_>,
        steps: &mut StepWork,
        grads: &mut [f64],
    ) {
        let lagged = self.lagged();
        let [means, log_deviations, _] = lagged.effect_slots();
        let moments = &mut steps.transition.lagged;
        for idx in 0..graph.len() {
            let mut by_graph = piece.graph[idx];
            if lagged.has_effects() {
                let effect = lagged.effects(parameters)[idx];
                let by_deviation = piece.deviations[idx];
                by_graph += effect * by_deviation;
                means.of_mut(grads)[idx] += graph[idx] * by_deviation;
                moments.mean[idx] -= by_deviation;
                if let Some(by_excess) = piece.excess.get(idx) {
                    let deviation_square = lagged.effect(parameters, idx).1;
                    by_graph += deviation_square * by_excess;
                    log_deviations.of_mut(grads)[idx] +=
                        2.0 * graph[idx] * deviation_square * by_excess;
                    moments.variance[idx] -= by_excess;
                }
            }
            lagged.edge_logits.of_mut(grads)[idx] += slopes[idx] * by_graph;
        }
    }
}

/// A sampled graph, the derivatives of its edges by their logits, and what its steps give.
struct SampleGrads<'a> {
    graph: &'a [f64],
    slopes: &'a [f64],
    piece: &'a PieceGrads,
}

impl<R: PartFloat> SampledWork<R> {
    /// Draws the graphs and deals the steps among them: interleaved, so that every graph sees steps of
    /// all series.
    fn begin(&mut self, model: &BridgeModel, parameters: &[f64], pass: &Pass, states: &[f64]) {
        let d = model.n_variables();
        let offset = model.first_of_parts();
        if self.parts.len() != model.parts().len() {
            let parts = model.parts().iter();
            self.parts = parts.map(|part| R::sampled(&**part, offset)).collect();
        }
        self.graphs =
            model.sampled_graphs(parameters, model.structure().net_sizes.n_graphs, pass.drawn());
        self.parameters.clear();
        self.parameters.extend(parameters[offset..].iter().map(|&value| R::from_f64(value)));
        let (n_steps, n_graphs) = (states.len() / d, self.graphs.graphs.len());
        self.pieces.resize_with(n_graphs, GraphPiece::default);
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

    /// Adds up the derivatives by the states, through linear effects and through parts.
    fn collect_states(&mut self, d: usize) {
        self.by_states.resize(self.inputs.len(), 0.0);
        for piece in &self.pieces {
            let own = piece.grads.states.chunks_exact(d);
            for (place, (&row, own)) in piece.rows.iter().zip(own).enumerate() {
                let out = &mut self.by_states[row * d..(row + 1) * d];
                out.copy_from_slice(own);
                for part in &self.parts {
                    for (node, out) in out.iter_mut().enumerate() {
                        *out += part.by_states(node)[piece.first + place].to_f64();
                    }
                }
            }
        }
    }
}
