//! The steps that were dealt to one graph, with what linear effects and all parts add to them.

use crate::numeric::kernels::{View, product};
use crate::posterior::bridge::transition::Extra;
use crate::process::part::AddsTo;

/// The steps dealt to one graph; buffers are kept from one evaluation to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct GraphPiece {
    pub(crate) rows: Vec<usize>,
    /// Number of its first step among those of all pieces.
    pub(crate) first: usize,
    pub(super) states: Vec<f64>,
    /// G * m - p m, the linear effects' deviation under this graph.
    pub(super) deviations: Vec<f64>,
    /// Linear drift's deviation from its mean, `[step, variable]`.
    pub(super) linear: Vec<f64>,
    /// G * t² - Var(G A): what sampled gates change in the variance of effects; empty otherwise.
    pub(super) excess: Vec<f64>,
    /// What the parts add, `[step, variable]`, and the derivatives by it.
    pub(super) drift: Vec<f64>,
    pub(super) log_diffusion: Vec<f64>,
    by_drift: Vec<f64>,
    by_log_diffusion: Vec<f64>,
    pub(crate) grads: PieceGrads,
}

/// Derivatives of one piece.
#[derive(Debug, Clone, Default)]
pub(crate) struct PieceGrads {
    pub(super) states: Vec<f64>,
    pub(crate) graph: Vec<f64>,
    /// Σ z^T (derivative by the linear drift's deviation), `[source, target]`.
    pub(super) deviations: Vec<f64>,
    /// Σ (z²)^T (derivative by the variance), `[source, target]`; empty without excess.
    pub(super) excess: Vec<f64>,
}

impl GraphPiece {
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
        for sums in [&mut self.drift, &mut self.log_diffusion] {
            sums.clear();
            sums.resize(self.states.len(), 0.0);
        }
    }

    /// Where a part adds its outputs, `[step, variable]`.
    pub(crate) fn added_mut(&mut self, adds_to: AddsTo) -> &mut [f64] {
        match adds_to {
            AddsTo::Drift => &mut self.drift,
            AddsTo::LogDiffusion => &mut self.log_diffusion,
        }
    }

    /// The derivatives by a part's outputs.
    pub(crate) fn by_added(&self, adds_to: AddsTo) -> &[f64] {
        match adds_to {
            AddsTo::Drift => &self.by_drift,
            AddsTo::LogDiffusion => &self.by_log_diffusion,
        }
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

    /// Writes what parts, and sampled linear effects, add to the piece's steps.
    pub(super) fn fill_extra(&self, extra: &mut Extra, d: usize) {
        let added = self.excess_variances(d);
        for (place, &row) in self.rows.iter().enumerate() {
            for variable in 0..d {
                let (from, to) = (place * d + variable, row * d + variable);
                let (drift, linear) = (self.drift[from], self.linear[from]);
                if self.excess.is_empty() {
                    extra.drift[to] = drift;
                    extra.variance[to] = 2.0 * drift * linear;
                } else {
                    extra.drift[to] = drift + linear;
                    extra.variance[to] = added[from];
                    extra.log_scale[to] = self.log_diffusion[from];
                }
            }
        }
    }

    /// Derivatives through the linear part and its covariance with the drift of the parts, and by what
    /// the parts added.
    pub(super) fn linear_backward(&mut self, by_extra: &Extra, d: usize) {
        let n = self.rows.len();
        let (mut by_variance, mut by_linear) = (Vec::new(), Vec::new());
        gather(&mut by_variance, &self.rows, &by_extra.variance, d);
        gather(&mut self.by_drift, &self.rows, &by_extra.drift, d);
        if self.excess.is_empty() {
            let by_linear_and_drift = self.by_drift.iter_mut().zip(&self.linear).zip(&by_variance);
            for ((by_drift, linear), by) in by_linear_and_drift {
                *by_drift += 2.0 * linear * by;
            }
            by_linear.extend(by_variance.iter().zip(&self.drift).map(|(by, net)| 2.0 * *net * by));
        } else {
            by_linear.extend_from_slice(&self.by_drift);
            gather(&mut self.by_log_diffusion, &self.rows, &by_extra.log_scale, d);
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
