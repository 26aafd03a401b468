//! The law of the noise: normal, or a spline of normal noise that depends on the past.

use driftgraph_core::layers::{Init, ParameterTable, Real, Slot};

use super::graph::Sample;
use super::messages::{MessagePassing, Sizes, Windows};
use super::model::Shape;
use super::spline::{Order, Spline};

/// Width of messages of the noise, at least.
const MESSAGE: usize = 32;

/// A law with parameters.
#[derive(Debug, Clone)]
pub(super) enum Noise {
    /// Normal with a deviation for each variable.
    Normal { log_scale: Slot },
    /// Scale and shift, a spline, scale and shift.
    Flow(Box<Flow>),
}

/// The parts of a flow.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    lags: usize,
    order: Order,
    past: MessagePassing,
    /// One number that all raw numbers of splines are multiplied by.
    scale: Slot,
    /// Logarithms of scales and shifts, next to the normal noise and next to the data.
    inner: [Slot; 2],
    outer: [Slot; 2],
}

/// What a batch gives.
pub(super) struct NoisePass {
    /// Of each window.
    pub(super) log_densities: Vec<f64>,
    /// Of minus the mean of the densities, `[window, variable]`.
    pub(super) grad_errors: Vec<f64>,
    /// `[lag, cause, effect]`.
    pub(super) grad_edges: Vec<f64>,
}

/// What the mean leaves over, with the windows it comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Errors<'a> {
    /// `[window, time, variable]`.
    pub(super) windows: &'a [f64],
    /// `[window, variable]`.
    pub(super) errors: &'a [f64],
}

impl Noise {
    pub(super) fn new(table: &mut ParameterTable, shape: &Shape) -> Self {
        let (d, name) = (shape.n_variables, "likelihoods.continuous");
        let Some(order) = shape.order else {
            let log_scale = table.add(format!("{name}.logscale_base"), [1, d], Init::Constant(0.0));
            return Self::Normal { log_scale };
        };
        let sizes = Sizes {
            embedding: shape.noise_embedding,
            hidden: &shape.noise_hidden,
            message: MESSAGE.max(shape.noise_embedding),
            out: order.n_raw(),
            n_times: shape.lags,
            shift: 1,
        };
        let past = MessagePassing::new(table, &format!("{name}.hypernet"), shape, &sizes);
        let scale = table.add(format!("{name}.hypernet.init_scale"), [1, 1], Init::Constant(0.001));
        let mut affine = |place: usize| {
            // Two of them make the noise wide at first.
            [("a", 1.0), ("b", 0.0)].map(|(letter, value)| {
                table.add(
                    format!("{name}.transform.{place}.{letter}"),
                    [1, d],
                    Init::Constant(value),
                )
            })
        };
        let (inner, outer) = (affine(0), affine(2));
        Self::Flow(Box::new(Flow { lags: shape.lags, order, past, scale, inner, outer }))
    }

    /// Numbers that a pass keeps for each window.
    pub(super) fn floats_per_window(&self) -> usize {
        match self {
            Self::Normal { .. } => 0,
            Self::Flow(flow) => flow.past.floats_per_window(),
        }
    }

    /// Densities of errors `[window, variable]`, and all gradients of minus their mean.
    pub(super) fn pass<R: Real>(
        &self,
        parameters: &[f64],
        errors: Errors<'_>,
        sample: &Sample,
        grads: &mut [f64],
    ) -> NoisePass {
        match self {
            Self::Normal { log_scale } => {
                normal_pass(*log_scale, parameters, errors.errors, sample, grads)
            }
            Self::Flow(flow) => flow.pass::<R>(parameters, errors, sample, grads),
        }
    }
}

/// -(1/2) ln 2π.
fn log_norm() -> f64 {
    -0.5 * (2.0 * std::f64::consts::PI).ln()
}

fn normal_pass(
    log_scale: Slot,
    parameters: &[f64],
    errors: &[f64],
    sample: &Sample,
    grads: &mut [f64],
) -> NoisePass {
    let scales = log_scale.of(parameters).to_vec();
    let d = scales.len();
    let n_windows = errors.len() / d;
    let mut log_densities = vec![0.0; n_windows];
    let mut grad_errors = vec![0.0; errors.len()];
    let grad_scales = log_scale.of_mut(grads);
    for (idx, error) in errors.iter().enumerate() {
        let (window, variable) = (idx / d, idx % d);
        let inverse = (-scales[variable]).exp();
        let standard = error * inverse;
        log_densities[window] += log_norm() - scales[variable] - 0.5 * standard * standard;
        grad_errors[idx] = standard * inverse / n_windows as f64;
        grad_scales[variable] += (1.0 - standard * standard) / n_windows as f64;
    }
    NoisePass { log_densities, grad_errors, grad_edges: vec![0.0; sample.edges.len()] }
}

impl Flow {
    fn pass<R: Real>(
        &self,
        parameters: &[f64],
        errors: Errors<'_>,
        sample: &Sample,
        grads: &mut [f64],
    ) -> NoisePass {
        let Errors { windows, errors } = errors;
        let d = self.inner[0].cols;
        let n_windows = errors.len() / d;
        let gates = self.gates(&sample.edges, d * d);
        let windows = Windows { values: windows, n_rows: self.lags + 1 };
        let passed = self.past.forward::<R>(parameters, windows, &gates);
        let (scale, n_raw) = (self.scale.of(parameters)[0], self.order.n_raw());
        let mut log_densities = vec![0.0; n_windows];
        let mut grad_errors = vec![0.0; errors.len()];
        let mut grad_out = vec![0.0; passed.out.len()];
        for (idx, &error) in errors.iter().enumerate() {
            let own = &passed.out[idx * n_raw..(idx + 1) * n_raw];
            let raw: Vec<f64> = own.iter().map(|value| value * scale).collect();
            let cell = Cell { variable: idx % d, error, weight: 1.0 / n_windows as f64 };
            let (density, by_error, by_raw) = self.cell(parameters, cell, &raw, grads);
            log_densities[idx / d] += density;
            grad_errors[idx] = by_error;
            self.scale.of_mut(grads)[0] += by_raw.iter().zip(own).map(|(a, b)| a * b).sum::<f64>();
            let out = &mut grad_out[idx * n_raw..(idx + 1) * n_raw];
            out.iter_mut().zip(&by_raw).for_each(|(out, grad)| *out = grad * scale);
        }
        let grad_gates = self.past.backward(&passed, &grad_out, grads);
        let mut grad_edges = vec![0.0; sample.edges.len()];
        for (idx, grad) in grad_gates.iter().enumerate() {
            grad_edges[(self.lags - idx / (d * d)) * d * d + idx % (d * d)] = *grad;
        }
        NoisePass { log_densities, grad_errors, grad_edges }
    }

    /// Edges of the past, `[time, cause, effect]`, the oldest time first.
    fn gates(&self, edges: &[f64], square: usize) -> Vec<f64> {
        (0..self.lags * square)
            .map(|idx| edges[(self.lags - idx / square) * square + idx % square])
            .collect()
    }

    /// Log density of one error, with the gradients of minus its weight by error and raw numbers.
    fn cell(
        &self,
        parameters: &[f64],
        cell: Cell,
        raw: &[f64],
        grads: &mut [f64],
    ) -> (f64, f64, Vec<f64>) {
        let at = |slot: Slot| slot.of(parameters)[cell.variable];
        let [[a1, b1], [a2, b2]] = [self.inner.map(at), self.outer.map(at)];
        let y = (cell.error - b2) * (-a2).exp();
        let spline = Spline::new(self.order, raw);
        let (inverse, gradient) = spline.inverse(y);
        let shrink = (-a1).exp();
        let normal = (inverse.value - b1) * shrink;
        let density = log_norm() - 0.5 * normal * normal - a1 - a2 + inverse.log_slope;
        // Gradients of the density, then of minus its weight.
        let by = gradient(-normal * shrink, 1.0);
        let w = -cell.weight;
        let mut add = |slot: Slot, grad: f64| slot.of_mut(grads)[cell.variable] += w * grad;
        add(self.inner[0], normal * normal - 1.0);
        add(self.inner[1], normal * shrink);
        add(self.outer[0], -1.0 - by.by_value * y);
        add(self.outer[1], -by.by_value * (-a2).exp());
        (density, w * by.by_value * (-a2).exp(), by.by_raw.iter().map(|grad| w * grad).collect())
    }
}

/// One error of one variable.
#[derive(Debug, Clone, Copy)]
struct Cell {
    variable: usize,
    error: f64,
    /// Of its density in the loss.
    weight: f64,
}
