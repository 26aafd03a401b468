//! Networks with normalised layers and shortcuts, as Rhino has them everywhere.

use driftgraph_core::layers::{Init, Linear, ParameterTable, Slot};

/// The slope of the units for negative arguments.
const SLOPE: f64 = 0.01;
/// Added to the variance of a layer.
const EPSILON: f64 = 1e-5;

/// Hidden layers, each after the first normalised, with the input added where widths are equal; then a linear layer.
#[derive(Debug, Clone)]
pub(super) struct Net {
    hidden: Vec<Layer>,
    norm: Norm,
    last: Linear,
}

#[derive(Debug, Clone)]
struct Layer {
    norm: Option<Norm>,
    linear: Linear,
}

impl Layer {
    fn has_shortcut(&self) -> bool {
        self.linear.n_in() == self.linear.n_out()
    }
}

/// Mean 0 and variance 1 over the units of a row, then scale and shift (Ba, Kiros and Hinton 2016, arXiv:1607.06450).
#[derive(Debug, Clone, Copy)]
struct Norm {
    scale: Slot,
    shift: Slot,
}

/// Rows before scale and shift.
#[derive(Debug, Default)]
struct Standardised {
    values: Vec<f64>,
    /// One over the deviation of each row.
    inverse: Vec<f64>,
}

/// What the way back needs.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Inputs of every hidden layer and of the last one.
    inputs: Vec<Vec<f64>>,
    standard: Vec<Standardised>,
    /// Inputs of the linear layers.
    scaled: Vec<Vec<f64>>,
    /// Arguments of the units.
    sums: Vec<Vec<f64>>,
}

impl Net {
    /// Adds a network to the table under the names of the reference.
    pub(super) fn new(
        table: &mut ParameterTable,
        name: &str,
        n_in: usize,
        hidden: &[usize],
        n_out: usize,
    ) -> Self {
        let mut layers: Vec<Layer> = Vec::new();
        let mut width = n_in;
        for (idx, &size) in hidden.iter().enumerate() {
            let layer = if idx == 0 {
                Layer {
                    norm: None,
                    linear: Linear::new(table, &format!("{name}.0.0"), width, size),
                }
            } else {
                let name = format!("{name}.{idx}.block");
                let norm = Some(Norm::new(table, &format!("{name}.0"), width));
                Layer { norm, linear: Linear::new(table, &format!("{name}.1"), width, size) }
            };
            layers.push(layer);
            width = size;
        }
        let norm = Norm::new(table, &format!("{name}.{}", hidden.len()), width);
        let last = Linear::new(table, &format!("{name}.{}", hidden.len() + 1), width, n_out);
        Self { hidden: layers, norm, last }
    }

    pub(super) fn n_out(&self) -> usize {
        self.last.n_out()
    }

    /// Outputs `[row, out]` of inputs `[row, in]`.
    pub(super) fn forward(
        &self,
        parameters: &[f64],
        input: Vec<f64>,
        trace: &mut Trace,
    ) -> Vec<f64> {
        *trace = Trace::default();
        let n_rows = input.len() / self.hidden[0].linear.n_in();
        let mut state = input;
        for layer in &self.hidden {
            let scaled = if let Some(norm) = layer.norm {
                norm.forward(parameters, &state, trace)
            } else {
                trace.standard.push(Standardised::default());
                state.clone()
            };
            let mut sums = vec![0.0; n_rows * layer.linear.n_out()];
            layer.linear.forward(parameters, &scaled, &mut sums);
            let mut next: Vec<f64> =
                sums.iter().map(|&sum| if sum > 0.0 { sum } else { SLOPE * sum }).collect();
            if layer.has_shortcut() {
                next.iter_mut().zip(&state).for_each(|(next, before)| *next += before);
            }
            trace.scaled.push(scaled);
            trace.sums.push(sums);
            trace.inputs.push(state);
            state = next;
        }
        let scaled = self.norm.forward(parameters, &state, trace);
        let mut out = vec![0.0; n_rows * self.n_out()];
        self.last.forward(parameters, &scaled, &mut out);
        trace.scaled.push(scaled);
        trace.inputs.push(state);
        out
    }

    /// Adds the gradients of the parameters, and gives those of the inputs.
    pub(super) fn backward(
        &self,
        parameters: &[f64],
        trace: &Trace,
        grad_out: &[f64],
        grads: &mut [f64],
    ) -> Vec<f64> {
        let top = self.hidden.len();
        self.last.add_gradients(grads, &trace.scaled[top], grad_out);
        let mut grad_scaled = vec![0.0; trace.scaled[top].len()];
        self.last.backward(parameters, grad_out, &mut grad_scaled);
        let mut grad = self.norm.backward(parameters, &trace.standard[top], &grad_scaled, grads);
        for (idx, layer) in self.hidden.iter().enumerate().rev() {
            let grad_sums: Vec<f64> = (grad.iter().zip(&trace.sums[idx]))
                .map(|(grad, &sum)| if sum > 0.0 { *grad } else { SLOPE * grad })
                .collect();
            layer.linear.add_gradients(grads, &trace.scaled[idx], &grad_sums);
            let mut below = vec![0.0; trace.scaled[idx].len()];
            layer.linear.backward(parameters, &grad_sums, &mut below);
            if let Some(norm) = layer.norm {
                below = norm.backward(parameters, &trace.standard[idx], &below, grads);
            }
            if layer.has_shortcut() {
                below.iter_mut().zip(&grad).for_each(|(below, above)| *below += above);
            }
            grad = below;
        }
        grad
    }
}

impl Norm {
    fn new(table: &mut ParameterTable, name: &str, width: usize) -> Self {
        Self {
            scale: table.add(format!("{name}.weight"), [1, width], Init::Constant(1.0)),
            shift: table.add(format!("{name}.bias"), [1, width], Init::Constant(0.0)),
        }
    }

    fn forward(&self, parameters: &[f64], input: &[f64], trace: &mut Trace) -> Vec<f64> {
        let width = self.scale.cols;
        let (scale, shift) = (self.scale.of(parameters), self.shift.of(parameters));
        let (mut standard, mut inverse) = (Vec::with_capacity(input.len()), Vec::new());
        let mut out = Vec::with_capacity(input.len());
        for row in input.chunks_exact(width) {
            let mean = row.iter().sum::<f64>() / width as f64;
            let variance =
                row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / width as f64;
            let factor = 1.0 / (variance + EPSILON).sqrt();
            inverse.push(factor);
            for (idx, value) in row.iter().enumerate() {
                let value = (value - mean) * factor;
                standard.push(value);
                out.push(value * scale[idx] + shift[idx]);
            }
        }
        trace.standard.push(Standardised { values: standard, inverse });
        out
    }

    fn backward(
        &self,
        parameters: &[f64],
        at: &Standardised,
        grad_out: &[f64],
        grads: &mut [f64],
    ) -> Vec<f64> {
        let width = self.scale.cols;
        let scale = self.scale.of(parameters);
        let mut grad_input = Vec::with_capacity(grad_out.len());
        let rows = grad_out.chunks_exact(width).zip(at.values.chunks_exact(width)).zip(&at.inverse);
        for ((grad_out, standard), factor) in rows {
            let grad_scale = self.scale.of_mut(grads);
            grad_scale
                .iter_mut()
                .zip(grad_out)
                .zip(standard)
                .for_each(|((sum, g), x)| *sum += g * x);
            let grad_shift = self.shift.of_mut(grads);
            grad_shift.iter_mut().zip(grad_out).for_each(|(sum, g)| *sum += g);
            let inner: Vec<f64> = grad_out.iter().zip(scale).map(|(g, s)| g * s).collect();
            let mean = inner.iter().sum::<f64>() / width as f64;
            let along = inner.iter().zip(standard).map(|(g, x)| g * x).sum::<f64>() / width as f64;
            grad_input
                .extend(inner.iter().zip(standard).map(|(g, x)| factor * (g - mean - x * along)));
        }
        grad_input
    }
}
