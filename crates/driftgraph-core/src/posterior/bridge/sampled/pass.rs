//! Node functions of one evaluation: forward over sampled states and graphs, and back.

use rayon::prelude::*;

use crate::nn::kernels::{View, add_product, product};
use crate::nn::node_function::NodeWeights;
use crate::nn::real::Real;
use crate::posterior::bridge::model::{BridgeModel, Workspace};
use crate::posterior::bridge::neural::{Net, NetParameters, NetPass, SampledGraphs};
use crate::posterior::bridge::structure::Pass;
use crate::posterior::bridge::transition::Extra;

/// The node functions of one evaluation, from their forward to their backward pass.
pub(in crate::posterior::bridge) struct NeuralPass<R> {
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
    /// G * t² - Var(G A): what sampled gates change in the variance of effects; empty otherwise.
    excess: Vec<f64>,
    passes: Vec<NetPass<R>>,
    outputs: Vec<Vec<f64>>,
}

/// Derivatives of one piece.
struct PieceGrads {
    states: Vec<f64>,
    graph: Vec<f64>,
    /// Σ z^T (derivative by the linear drift's deviation), `[source, target]`.
    deviations: Vec<f64>,
    /// Σ (z²)^T (derivative by the variance), `[source, target]`; empty without excess.
    excess: Vec<f64>,
}

impl BridgeModel {
    /// Samples graphs and runs the node functions forward over the sampled states.
    pub(in crate::posterior::bridge) fn neural_forward<R: Real>(
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
                if self.diffusion_net.is_some() {
                    let spread = |idx: usize| graph[idx] * self.lagged().effect(parameters, idx).1;
                    piece.excess =
                        (0..d * d).map(|idx| spread(idx) - work.lagged.variance[idx]).collect();
                }
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

    /// What the node functions, and sampled linear effects, add to each step.
    fn extra<R>(&self, neural: &NeuralPass<R>, n_steps: usize) -> Extra {
        let d = self.n_variables();
        let zeros = || vec![0.0; n_steps * d];
        let mut extra = Extra { drift: zeros(), variance: zeros(), log_scale: Vec::new() };
        if self.diffusion_net.is_some() {
            extra.log_scale = zeros();
        }
        for piece in &neural.pieces {
            let added = piece.excess_variances(d);
            for (place, &row) in piece.rows.iter().enumerate() {
                for variable in 0..d {
                    let (from, to) = (place * d + variable, row * d + variable);
                    let net = self.drift_net.map_or(0.0, |_| piece.outputs[0][from]);
                    let linear = piece.linear[from];
                    if let Some(last) =
                        piece.outputs.last().filter(|_| self.diffusion_net.is_some())
                    {
                        extra.drift[to] = net + linear;
                        extra.variance[to] = added[from];
                        extra.log_scale[to] = last[from];
                    } else {
                        extra.drift[to] = net;
                        extra.variance[to] = 2.0 * net * linear;
                    }
                }
            }
        }
        extra
    }

    /// Runs the node functions backward; returns derivatives by the states.
    pub(in crate::posterior::bridge) fn neural_backward<R: Real>(
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
                    let out = (&mut grads.states[..], &mut grads.graph[..]);
                    piece.passes[idx].backward(shared, &by_outputs[idx], out, gradient_len);
                }
                grads
            })
            .collect();
        let mut by_states = vec![0.0; work.moments.n_steps() * d];
        let mut net_grads = vec![R::ZERO; gradient_len];
        for (sample, (piece, grads)) in pieces.iter().zip(&results).enumerate() {
            for (place, &row) in piece.rows.iter().enumerate() {
                by_states[row * d..(row + 1) * d]
                    .copy_from_slice(&grads.states[place * d..(place + 1) * d]);
            }
            let sample = (&graphs.graphs[sample][..], &graphs.slopes[sample][..]);
            self.add_sample_gradients(parameters, sample, grads, work);
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

    /// Adds the gradients that one graph's steps give to edges and linear effects.
    fn add_sample_gradients(
        &self,
        parameters: &[f64],
        (graph, slopes): (&[f64], &[f64]),
        from: &PieceGrads,
        work: &mut Workspace,
    ) {
        let lagged = self.lagged();
        let [means, log_deviations, _] = lagged.effect_slots();
        for idx in 0..graph.len() {
            let mut by_graph = from.graph[idx];
            if lagged.has_effects() {
                let (effect, deviation_square) = lagged.effect(parameters, idx);
                let by_deviation = from.deviations[idx];
                by_graph += effect * by_deviation;
                means.of_mut(&mut work.grads)[idx] += graph[idx] * by_deviation;
                work.transition.lagged.mean[idx] -= by_deviation;
                if let Some(by_excess) = from.excess.get(idx) {
                    by_graph += deviation_square * by_excess;
                    log_deviations.of_mut(&mut work.grads)[idx] +=
                        2.0 * graph[idx] * deviation_square * by_excess;
                    work.transition.lagged.variance[idx] -= by_excess;
                }
            }
            lagged.edge_logits.of_mut(&mut work.grads)[idx] += slopes[idx] * by_graph;
        }
    }

    /// Derivatives by the outputs of each net, `[step of the piece, variable]`.
    fn by_outputs<R>(&self, piece: &NeuralPiece<R>, by_extra: &Extra) -> Vec<Vec<f64>> {
        let d = self.n_variables();
        let mut out = Vec::new();
        if self.drift_net.is_some() {
            let mut by_drift = piece.gather(&by_extra.drift, d);
            if self.diffusion_net.is_none() {
                let by_variance = piece.gather(&by_extra.variance, d);
                for (idx, by_drift) in by_drift.iter_mut().enumerate() {
                    *by_drift += 2.0 * piece.linear[idx] * by_variance[idx];
                }
            }
            out.push(by_drift);
        }
        if self.diffusion_net.is_some() {
            out.push(piece.gather(&by_extra.log_scale, d));
        }
        out
    }
}

impl<R> NeuralPiece<R> {
    fn new(rows: Vec<usize>, states: &[f64], d: usize) -> Self {
        let own = rows.iter().flat_map(|&row| states[row * d..(row + 1) * d].to_vec()).collect();
        Self {
            linear: vec![0.0; rows.len() * d],
            rows,
            states: own,
            deviations: Vec::new(),
            excess: Vec::new(),
            passes: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// This piece's rows of a buffer `[step, variable]`.
    fn gather(&self, from: &[f64], d: usize) -> Vec<f64> {
        self.rows.iter().flat_map(|&row| from[row * d..(row + 1) * d].to_vec()).collect()
    }

    fn squared_states(&self) -> Vec<f64> {
        self.states.iter().map(|state| state * state).collect()
    }

    /// z² times the excess, `[step, variable]`; empty without excess.
    fn excess_variances(&self, d: usize) -> Vec<f64> {
        if self.excess.is_empty() {
            return Vec::new();
        }
        let n = self.rows.len();
        let mut out = vec![0.0; n * d];
        let squares = self.squared_states();
        product(&mut out, d, View::new(&squares, n, d), View::new(&self.excess, d, d));
        out
    }

    /// Derivatives through the linear part: its covariance with the node function, or itself.
    fn linear_backward(&self, by_extra: &Extra, d: usize) -> PieceGrads {
        let n = self.rows.len();
        let mut grads = PieceGrads {
            states: vec![0.0; n * d],
            graph: vec![0.0; d * d],
            deviations: vec![0.0; d * d],
            excess: Vec::new(),
        };
        let by_variance = self.gather(&by_extra.variance, d);
        let by_linear: Vec<f64> = if self.excess.is_empty() {
            by_variance.iter().zip(&self.outputs[0]).map(|(by, net)| 2.0 * net * by).collect()
        } else {
            self.gather(&by_extra.drift, d)
        };
        let by_linear = View::new(&by_linear, n, d);
        let deviations = View::new(&self.deviations, d, d);
        add_product(&mut grads.states, d, by_linear, deviations.t());
        add_product(&mut grads.deviations, d, View::new(&self.states, n, d).t(), by_linear);
        if !self.excess.is_empty() {
            self.excess_backward(&by_variance, d, &mut grads);
        }
        grads
    }

    fn excess_backward(&self, by_variance: &[f64], d: usize, grads: &mut PieceGrads) {
        let n = self.rows.len();
        let by_variance = View::new(by_variance, n, d);
        let squares = self.squared_states();
        grads.excess = vec![0.0; d * d];
        product(&mut grads.excess, d, View::new(&squares, n, d).t(), by_variance);
        let mut by_squares = vec![0.0; n * d];
        product(&mut by_squares, d, by_variance, View::new(&self.excess, d, d).t());
        for (idx, out) in grads.states.iter_mut().enumerate() {
            *out += 2.0 * self.states[idx] * by_squares[idx];
        }
    }
}
