//! The steps that were dealt to one graph: linear effects and combining nets under that graph.

use crate::nn::node_function::{NodeAdjoints, NodeTrace, Rows};
use crate::numeric::kernels::{View, product};
use crate::numeric::real::Real;
use crate::posterior::bridge::neural::Net;
use crate::posterior::bridge::transition::Extra;

use super::messages::MessageWork;

/// The steps dealt to one graph; buffers are kept from one evaluation to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct NeuralPiece<R> {
    pub(super) rows: Vec<usize>,
    /// Number of its first step among those of all pieces.
    pub(super) first: usize,
    pub(super) states: Vec<f64>,
    /// G * m - p m, the linear effects' deviation under this graph.
    pub(super) deviations: Vec<f64>,
    /// Linear drift's deviation from its mean, `[step, variable]`.
    pub(super) linear: Vec<f64>,
    /// G * t² - Var(G A): what sampled gates change in the variance of effects; empty otherwise.
    pub(super) excess: Vec<f64>,
    pub(super) nets: Vec<CombinePass<R>>,
    pub(super) grads: PieceGrads,
}

/// Derivatives of one piece.
#[derive(Debug, Clone, Default)]
pub(super) struct PieceGrads {
    pub(super) states: Vec<f64>,
    pub(super) graph: Vec<f64>,
    /// Σ z^T (derivative by the linear drift's deviation), `[source, target]`.
    pub(super) deviations: Vec<f64>,
    /// Σ (z²)^T (derivative by the variance), `[source, target]`; empty without excess.
    pub(super) excess: Vec<f64>,
}

/// A combining net over the steps of a piece.
#[derive(Debug, Clone, Default)]
pub(super) struct CombinePass<R> {
    trace: NodeTrace<R>,
    adjoints: NodeAdjoints<R>,
    strengths: Vec<R>,
    by_strengths: Vec<R>,
    pub(super) grads: Vec<R>,
    /// Adjoints of the messages, `[node, step, embedding]`.
    pub(super) grad_messages: Vec<R>,
    /// `[step, variable]`.
    pub(super) outputs: Vec<f64>,
    pub(super) by_outputs: Vec<f64>,
}

impl<R: Real> CombinePass<R> {
    /// Outputs of `n` steps from the messages of point `first` on, under one graph.
    pub(super) fn forward(
        &mut self,
        (net, parameters): (&Net, &[R]),
        messages: &MessageWork<R>,
        graph: &[f64],
        (first, n): (usize, usize),
    ) {
        let function = &net.function;
        let d = function.sizes().n_variables;
        self.outputs.resize(n * d, 0.0);
        if n == 0 {
            return;
        }
        let rows = Rows { first: 0, n: n * d, per_node: n };
        self.trace.resize_without_messages(function, rows.n);
        self.strengths.clear();
        let strength = |(idx, &edge): (usize, &f64)| R::from_f64(net.strength(idx, edge).0);
        self.strengths.extend(graph.iter().enumerate().map(strength));
        function.aggregate_swept(&self.strengths, messages.from(first), &mut self.trace, rows);
        function.combine(parameters, &messages.weights, &mut self.trace, rows);
        for (node, outputs) in self.trace.outputs[..n * d].chunks_exact(n).enumerate() {
            for (step, output) in outputs.iter().enumerate() {
                self.outputs[step * d + node] = output.to_f64();
            }
        }
    }

    /// From `by_outputs` to the adjoints of messages, parameters and, added to it, the graph.
    pub(super) fn backward(
        &mut self,
        (net, parameters): (&Net, &[R]),
        messages: &MessageWork<R>,
        (first, by_graph): (usize, &mut [f64]),
        gradient_len: usize,
    ) {
        let function = &net.function;
        let (d, e) = (function.sizes().n_variables, function.sizes().embedding);
        let n = self.by_outputs.len() / d;
        self.grad_messages.resize(n * d * e, R::ZERO);
        self.grads.clear();
        self.grads.resize(gradient_len, R::ZERO);
        if n == 0 {
            return;
        }
        let rows = Rows { first: 0, n: n * d, per_node: n };
        self.adjoints.resize_without_messages(function, rows.n);
        self.by_strengths.clear();
        self.by_strengths.resize(d * d, R::ZERO);
        for (node, outputs) in self.adjoints.outputs[..n * d].chunks_exact_mut(n).enumerate() {
            for (step, output) in outputs.iter_mut().enumerate() {
                *output = R::from_f64(self.by_outputs[step * d + node]);
            }
        }
        let (trace, adjoints, grads) = (&self.trace, &mut self.adjoints, &mut self.grads[..]);
        function.combine_backward((parameters, &mut *grads), trace, adjoints, rows);
        function.add_combine_gradients(grads, trace, adjoints, rows);
        let strengths = (&self.strengths[..], &mut self.by_strengths[..]);
        let messages = (messages.from(first), &mut self.grad_messages[..], n);
        function.aggregate_swept_backward(strengths, messages, adjoints, rows);
        for (idx, out) in by_graph.iter_mut().enumerate() {
            *out += self.by_strengths[idx].to_f64() * net.strength(idx, 0.0).1;
        }
    }
}

impl<R: Real> NeuralPiece<R> {
    /// Takes up the steps `rows`, of which `first` lie in the pieces before, of all `states`.
    pub(super) fn deal(
        &mut self,
        rows: impl Iterator<Item = usize>,
        first: usize,
        states: &[f64],
        d: usize,
    ) {
        self.rows.clear();
        self.rows.extend(rows);
        self.first = first;
        gather(&mut self.states, &self.rows, states, d);
    }

    /// The linear drift's deviation under the piece's graph.
    pub(super) fn linear_forward(&mut self, d: usize) {
        let n = self.rows.len();
        self.linear.resize(n * d, 0.0);
        let deviations = View::new(&self.deviations, d, d);
        product(&mut self.linear, d, View::new(&self.states, n, d), deviations);
    }

    fn squared_states(&self) -> Vec<f64> {
        self.states.iter().map(|state| state * state).collect()
    }

    /// z² times the excess, `[step, variable]`; empty without excess.
    pub(super) fn excess_variances(&self, d: usize) -> Vec<f64> {
        if self.excess.is_empty() {
            return Vec::new();
        }
        let n = self.rows.len();
        let mut out = vec![0.0; n * d];
        let squares = self.squared_states();
        product(&mut out, d, View::new(&squares, n, d), View::new(&self.excess, d, d));
        out
    }

    /// Derivatives through the linear part, its covariance with the node function or itself, and
    /// by the outputs of each net.
    pub(super) fn linear_backward(&mut self, by_extra: &Extra, has_drift_net: bool, d: usize) {
        let n = self.rows.len();
        let (mut by_variance, mut by_linear) = (Vec::new(), Vec::new());
        gather(&mut by_variance, &self.rows, &by_extra.variance, d);
        if has_drift_net {
            gather(&mut self.nets[0].by_outputs, &self.rows, &by_extra.drift, d);
        }
        if self.excess.is_empty() {
            let CombinePass { outputs, by_outputs, .. } = &mut self.nets[0];
            for ((by_output, linear), by) in
                by_outputs.iter_mut().zip(&self.linear).zip(&by_variance)
            {
                *by_output += 2.0 * linear * by;
            }
            by_linear.extend(by_variance.iter().zip(outputs).map(|(by, net)| 2.0 * *net * by));
        } else {
            gather(&mut by_linear, &self.rows, &by_extra.drift, d);
            let last = self.nets.last_mut().expect("an excess comes with a net of the diffusion");
            gather(&mut last.by_outputs, &self.rows, &by_extra.log_scale, d);
        }
        let by_linear = View::new(&by_linear, n, d);
        let deviations = View::new(&self.deviations, d, d);
        let grads = &mut self.grads;
        grads.states.resize(n * d, 0.0);
        grads.deviations.resize(d * d, 0.0);
        product(&mut grads.states, d, by_linear, deviations.t());
        product(&mut grads.deviations, d, View::new(&self.states, n, d).t(), by_linear);
        grads.graph.clear();
        grads.graph.resize(d * d, 0.0);
        grads.excess.clear();
        if !self.excess.is_empty() {
            self.excess_backward(&by_variance, d);
        }
    }

    fn excess_backward(&mut self, by_variance: &[f64], d: usize) {
        let n = self.rows.len();
        let by_variance = View::new(by_variance, n, d);
        let squares = self.squared_states();
        let grads = &mut self.grads;
        grads.excess.resize(d * d, 0.0);
        product(&mut grads.excess, d, View::new(&squares, n, d).t(), by_variance);
        let mut by_squares = vec![0.0; n * d];
        product(&mut by_squares, d, by_variance, View::new(&self.excess, d, d).t());
        for (idx, out) in grads.states.iter_mut().enumerate() {
            *out += 2.0 * self.states[idx] * by_squares[idx];
        }
    }
}

/// The given rows of a buffer `[step, variable]`.
fn gather(out: &mut Vec<f64>, rows: &[usize], from: &[f64], d: usize) {
    out.clear();
    for &row in rows {
        out.extend_from_slice(&from[row * d..(row + 1) * d]);
    }
}
