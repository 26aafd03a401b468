//! The path KL with node functions: states and graphs are sampled, everything else stays exact.
//!
//! The state at the start of a step is drawn, z = m + s e; the end of the step is integrated out. Over graphs,
//! E(r - l_G - n_G)² = E(r - l - n_G)² + Var l_G + 2 E n_G (l_G - l) with l the mean linear drift: the
//! linear part keeps its closed form, and samples are needed for the node function n and its
//! covariance with the linear part only.

#[cfg(test)]
mod tests;

use rayon::prelude::*;

use super::batch::{Batch, LocalValues};
use super::layout::BridgeLayout;
use super::model::{BridgeModel, Pass, Workspace};
use super::moments::StepMoments;
use super::neural::{Net, NetParameters, NetPass, SampledGraphs};
use super::transition::Extra;
use crate::nn::kernels::{View, add_product, product};
use crate::nn::node_function::NodeWeights;
use crate::nn::real::Real;
use crate::noise::{Noise, Purpose};

/// Sampled starts of all steps of a batch.
#[derive(Debug, Clone, Default)]
pub(super) struct SampledStates {
    /// z, `[step, variable]`, standardised.
    pub(super) states: Vec<f64>,
    /// Standard normal numbers e, `[step, variable]`.
    noise: Vec<f64>,
}

/// Draws the states of a batch and fills its moments; every step has its own spread row.
pub(super) fn sampled_moments(
    layout: &BridgeLayout,
    (scales, batch): (&[f64], &Batch),
    values: &LocalValues,
    (seed, draw): (u64, u64),
    out: &mut StepMoments,
) -> SampledStates {
    let d = scales.len();
    let n = batch.n_steps();
    out.reset(n, n, d);
    let mut sampled = SampledStates { states: vec![0.0; n * d], noise: vec![0.0; n * d] };
    Noise::new(seed, Purpose::Brownian, draw).fill_normal(&mut sampled.noise);
    for (row, step) in batch.steps.iter().enumerate() {
        let place = batch.distinct[step.distinct];
        let h = layout.step(batch.spreads[place]);
        out.steps.push(h);
        out.spread_of.push(row);
        for (variable, scale) in scales.iter().enumerate() {
            let idx = row * d + variable;
            let spread = Ends::new(values, place * d + variable, d);
            let noise = sampled.noise[idx];
            let here = values.means[step.point * d + variable];
            let next = values.means[(step.point + 1) * d + variable];
            sampled.states[idx] = here + spread.here * noise;
            out.inputs[idx] = h * sampled.states[idx];
            let pulled = (spread.correlation * spread.next - spread.here) * noise;
            out.increments[idx] = (next - here + pulled) / scale;
            out.increment_variances[idx] = spread.variance() / (scale * scale);
            out.log_variances[idx] = out.increment_variances[idx].ln();
        }
    }
    sampled
}

/// Adds the gradient by the posterior's parameters, given that by moments and by states.
pub(super) fn sampled_moments_backward(
    (scales, batch): (&[f64], &Batch),
    (values, moments, sampled): (&LocalValues, &StepMoments, &SampledStates),
    (by_moments, by_states): (&StepMoments, &[f64]),
    grads: &mut LocalValues,
) {
    let d = scales.len();
    for (row, step) in batch.steps.iter().enumerate() {
        let place = batch.distinct[step.distinct];
        for (variable, scale) in scales.iter().enumerate() {
            let (idx, at) = (row * d + variable, place * d + variable);
            let Ends { here, next, correlation, rest } = Ends::new(values, at, d);
            let noise = sampled.noise[idx];
            let by_increment = by_moments.increments[idx] / scale;
            let by_state = by_moments.inputs[idx] * moments.steps[row] + by_states[idx];
            grads.means[step.point * d + variable] += by_state - by_increment;
            grads.means[(step.point + 1) * d + variable] += by_increment;
            // The variance enters as itself and as its logarithm.
            let variance = next * next * rest;
            let by_log_variance = by_moments.log_variances[idx]
                + by_moments.increment_variances[idx] * variance / (scale * scale);
            grads.log_deviations[at] += (by_state - by_increment) * here * noise;
            grads.log_deviations[at + d] +=
                by_increment * correlation * next * noise + 2.0 * by_log_variance;
            grads.correlations[at] +=
                by_increment * next * noise * rest - 2.0 * correlation * by_log_variance;
        }
    }
}

/// Deviations at both ends of a step, their correlation, and 1 - correlation².
struct Ends {
    here: f64,
    next: f64,
    correlation: f64,
    rest: f64,
}

impl Ends {
    fn new(values: &LocalValues, idx: usize, d: usize) -> Self {
        let raw = values.correlations[idx];
        Self {
            here: values.log_deviations[idx].exp(),
            next: values.log_deviations[idx + d].exp(),
            correlation: raw.tanh(),
            // sech², without cancellation.
            rest: raw.cosh().powi(-2),
        }
    }

    /// Var(z' | z).
    fn variance(&self) -> f64 {
        self.next * self.next * self.rest
    }
}

/// The node functions of one evaluation, from their forward to their backward pass.
pub(super) struct NeuralPass<R> {
    graphs: SampledGraphs,
    parameters: Vec<R>,
    weights: Vec<NodeWeights<R>>,
    pieces: Vec<NeuralPiece<R>>,
}

/// The steps dealt to one graph.
struct NeuralPiece<R> {
    rows: Vec<usize>,
    states: Vec<f64>,
    /// G * m - p m, the linear effects' deviation under this graph.
    deviations: Vec<f64>,
    /// Linear drift's deviation from its mean, `[step, variable]`.
    linear: Vec<f64>,
    passes: Vec<NetPass<R>>,
    outputs: Vec<Vec<f64>>,
}

/// Derivatives of one piece.
struct PieceGrads {
    by_states: Vec<f64>,
    by_graph: Vec<f64>,
    /// Σ z^T (derivative by the linear drift's deviation), `[source, target]`.
    by_deviations: Vec<f64>,
}

impl BridgeModel {
    /// Samples graphs and runs the node functions forward over the sampled states.
    pub(super) fn neural_forward<R: Real>(
        &self,
        parameters: &[f64],
        pass: &Pass,
        work: &Workspace,
        states: &[f64],
    ) -> (NeuralPass<R>, Extra) {
        let d = self.n_variables();
        let logits = self.lagged().edge_logits.of(parameters);
        let rules = self.lagged_prior().rules();
        let structure = self.structure();
        let graphs = SampledGraphs::new(
            (logits, rules),
            structure.estimator,
            structure.net_sizes.n_graphs,
            (pass.seed, pass.draw),
        );
        let narrow: Vec<R> = parameters.iter().map(|&value| R::from_f64(value)).collect();
        let nets: Vec<&Net> = self.nets().collect();
        let weights: Vec<NodeWeights<R>> = (nets.iter())
            .map(|net| {
                let mut weights = NodeWeights::default();
                net.function.prepare(&narrow, &mut weights);
                weights
            })
            .collect();
        let n_steps = states.len() / d;
        let pieces: Vec<NeuralPiece<R>> = (0..graphs.graphs.len())
            .into_par_iter()
            .map(|sample| {
                // Interleaved, so that every graph sees steps of all series.
                let rows: Vec<usize> = (sample..n_steps).step_by(graphs.graphs.len()).collect();
                let graph = &graphs.graphs[sample];
                let mut piece = NeuralPiece::new(rows, states, d);
                let effects = self.lagged().effects(parameters);
                let share = f64::from(u8::from(self.lagged().has_effects()));
                piece.deviations = (0..d * d)
                    .map(|idx| share * (graph[idx] * effects[idx] - work.lagged.mean[idx]))
                    .collect();
                let n = piece.rows.len();
                let deviations = View::new(&piece.deviations, d, d);
                product(&mut piece.linear, d, View::new(&piece.states, n, d), deviations);
                for (net, weights) in nets.iter().zip(&weights) {
                    let shared = NetParameters { net, parameters: &narrow, weights };
                    let mut pass = NetPass::default();
                    piece.outputs.push(pass.forward(shared, graph, &piece.states));
                    piece.passes.push(pass);
                }
                piece
            })
            .collect();
        let neural = NeuralPass { graphs, parameters: narrow, weights, pieces };
        let extra = self.extra(&neural, n_steps);
        (neural, extra)
    }

    /// What the node functions add to each step.
    fn extra<R>(&self, neural: &NeuralPass<R>, n_steps: usize) -> Extra {
        let d = self.n_variables();
        let mut extra = Extra::default();
        if self.drift_net.is_some() {
            extra.drift = vec![0.0; n_steps * d];
            extra.variance = vec![0.0; n_steps * d];
        }
        if self.diffusion_net.is_some() {
            extra.log_scale = vec![0.0; n_steps * d];
        }
        for piece in &neural.pieces {
            for (place, &row) in piece.rows.iter().enumerate() {
                let (from, to) = (place * d..(place + 1) * d, row * d..(row + 1) * d);
                if self.drift_net.is_some() {
                    let drift = &piece.outputs[0][from.clone()];
                    extra.drift[to.clone()].copy_from_slice(drift);
                    let linear = &piece.linear[from.clone()];
                    for ((out, drift), linear) in
                        extra.variance[to.clone()].iter_mut().zip(drift).zip(linear)
                    {
                        *out = 2.0 * drift * linear;
                    }
                }
                if self.diffusion_net.is_some() {
                    // The diffusion's net comes last.
                    let log_scale = &piece.outputs[piece.outputs.len() - 1][from];
                    extra.log_scale[to].copy_from_slice(log_scale);
                }
            }
        }
        extra
    }

    /// Runs the node functions backward; returns derivatives by the states.
    pub(super) fn neural_backward<R: Real>(
        &self,
        parameters: &[f64],
        neural: &mut NeuralPass<R>,
        by_extra: &Extra,
        work: &mut Workspace,
    ) -> Vec<f64> {
        let d = self.n_variables();
        let nets: Vec<&Net> = self.nets().collect();
        let NeuralPass { graphs, parameters: narrow, weights, pieces } = neural;
        let gradient_len = self.table().gradient_len();
        let results: Vec<PieceGrads> = (pieces.par_iter_mut())
            .map(|piece| {
                let by_outputs = self.by_outputs(piece, by_extra);
                let mut grads = piece.linear_backward(by_extra, d);
                for (idx, net) in nets.iter().enumerate() {
                    let shared = NetParameters { net, parameters: narrow, weights: &weights[idx] };
                    let out = (&mut grads.by_states[..], &mut grads.by_graph[..]);
                    piece.passes[idx].backward(shared, &by_outputs[idx], out, gradient_len);
                }
                grads
            })
            .collect();
        let mut by_states = vec![0.0; work.moments.n_steps() * d];
        let effects = self.lagged().effects(parameters);
        let mut net_grads = vec![R::ZERO; gradient_len];
        for (sample, (piece, grads)) in pieces.iter().zip(&results).enumerate() {
            for (place, &row) in piece.rows.iter().enumerate() {
                by_states[row * d..(row + 1) * d]
                    .copy_from_slice(&grads.by_states[place * d..(place + 1) * d]);
            }
            let (graph, slopes) = (&graphs.graphs[sample], &graphs.slopes[sample]);
            for idx in 0..d * d {
                let by_deviation =
                    if self.lagged().has_effects() { grads.by_deviations[idx] } else { 0.0 };
                let by_graph = grads.by_graph[idx] + effects[idx] * by_deviation;
                self.lagged().edge_logits.of_mut(&mut work.grads)[idx] += slopes[idx] * by_graph;
                let means = self.lagged().effect_slots()[0];
                means.of_mut(&mut work.grads)[idx] += graph[idx] * by_deviation;
                work.transition.lagged.mean[idx] -= by_deviation;
            }
            piece.passes.iter().for_each(|pass| pass.add_gradients(&mut net_grads));
        }
        for net in &nets {
            net.function.finish_gradients(narrow, &mut net_grads);
        }
        for (grad, &net_grad) in work.grads.iter_mut().zip(&net_grads) {
            *grad += net_grad.to_f64();
        }
        by_states
    }

    /// Derivatives by the outputs of each net, `[step of the piece, variable]`.
    fn by_outputs<R>(&self, piece: &NeuralPiece<R>, by_extra: &Extra) -> Vec<Vec<f64>> {
        let d = self.n_variables();
        let gather = |from: &[f64]| -> Vec<f64> {
            piece.rows.iter().flat_map(|&row| from[row * d..(row + 1) * d].to_vec()).collect()
        };
        let mut out = Vec::new();
        if self.drift_net.is_some() {
            let mut by_drift = gather(&by_extra.drift);
            for ((by_drift, by_variance), linear) in
                by_drift.iter_mut().zip(gather(&by_extra.variance)).zip(&piece.linear)
            {
                *by_drift += 2.0 * linear * by_variance;
            }
            out.push(by_drift);
        }
        if self.diffusion_net.is_some() {
            out.push(gather(&by_extra.log_scale));
        }
        out
    }
}

impl<R> NeuralPiece<R> {
    fn new(rows: Vec<usize>, states: &[f64], d: usize) -> Self {
        let own = rows.iter().flat_map(|&row| states[row * d..(row + 1) * d].to_vec()).collect();
        let linear = vec![0.0; rows.len() * d];
        Self {
            rows,
            states: own,
            deviations: Vec::new(),
            linear,
            passes: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// Derivatives through the covariance of linear and neural drift.
    fn linear_backward(&self, by_extra: &Extra, d: usize) -> PieceGrads {
        let n = self.rows.len();
        let mut grads = PieceGrads {
            by_states: vec![0.0; n * d],
            by_graph: vec![0.0; d * d],
            by_deviations: vec![0.0; d * d],
        };
        if by_extra.variance.is_empty() {
            return grads;
        }
        let drift = &self.outputs[0];
        let by_linear: Vec<f64> = (0..n * d)
            .map(|idx| {
                let row = self.rows[idx / d];
                2.0 * drift[idx] * by_extra.variance[row * d + idx % d]
            })
            .collect();
        let by_linear = View::new(&by_linear, n, d);
        let deviations = View::new(&self.deviations, d, d);
        add_product(&mut grads.by_states, d, by_linear, deviations.t());
        add_product(&mut grads.by_deviations, d, View::new(&self.states, n, d).t(), by_linear);
        grads
    }
}
