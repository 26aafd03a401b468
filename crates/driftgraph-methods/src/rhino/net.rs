//! Networks with normalised layers and shortcuts, as Rhino has them everywhere.
//!
//! What comes before the units of the first layer is the caller's: inputs there are mostly zeros or the same for many rows.

use driftgraph_core::layers::{Init, Linear, ParameterTable, Real, Slot, vectorised};

/// The slope of the units for negative arguments.
const SLOPE: f64 = 0.01;
/// Added to the variance of a layer.
const EPSILON: f64 = 1e-5;
/// Partial sums of a row, so that they vectorise and have one order on all machines.
const LANES: usize = 8;

/// Hidden layers, each after the first normalised, with the input added where widths are equal; then a linear layer.
#[derive(Debug, Clone)]
pub(super) struct Net {
    pub(super) first: Linear,
    hidden: Vec<Layer>,
    norm: Norm,
    last: Linear,
}

#[derive(Debug, Clone)]
struct Layer {
    norm: Norm,
    linear: Linear,
}

/// Whether the input of a layer is added to its output.
pub(super) fn has_shortcut(layer: &Linear) -> bool {
    layer.n_in() == layer.n_out()
}

/// Mean 0 and variance 1 over the units of a row, then scale and shift (Ba, Kiros and Hinton 2016, arXiv:1607.06450).
#[derive(Debug, Clone, Copy)]
struct Norm {
    scale: Slot,
    shift: Slot,
}

/// Rows before scale and shift, and after.
#[derive(Debug, Default)]
struct Standardised<R> {
    values: Vec<R>,
    /// One over the deviation of each row.
    inverse: Vec<R>,
    scaled: Vec<R>,
}

/// What the way back needs, for each normalised layer and the last one.
#[derive(Debug, Default)]
pub(super) struct Trace<R> {
    standard: Vec<Standardised<R>>,
    /// Arguments of the units.
    sums: Vec<Vec<R>>,
}

/// The sizes of a network.
#[derive(Debug, Clone, Copy)]
pub(super) struct NetSizes<'a> {
    pub(super) n_in: usize,
    pub(super) hidden: &'a [usize],
    pub(super) n_out: usize,
}

impl Net {
    /// Adds a network to the table under the names of the reference.
    pub(super) fn new(table: &mut ParameterTable, name: &str, sizes: NetSizes<'_>) -> Self {
        let NetSizes { n_in, hidden, n_out } = sizes;
        let mut width = hidden[0];
        let first = Linear::new(table, &format!("{name}.0.0"), n_in, width);
        let mut layers: Vec<Layer> = Vec::new();
        for (idx, &size) in hidden.iter().enumerate().skip(1) {
            let name = format!("{name}.{idx}.block");
            let norm = Norm::new(table, &format!("{name}.0"), width);
            layers.push(Layer {
                norm,
                linear: Linear::new(table, &format!("{name}.1"), width, size),
            });
            width = size;
        }
        let norm = Norm::new(table, &format!("{name}.{}", hidden.len()), width);
        let last = Linear::new(table, &format!("{name}.{}", hidden.len() + 1), width, n_out);
        Self { first, hidden: layers, norm, last }
    }

    pub(super) fn n_out(&self) -> usize {
        self.last.n_out()
    }

    /// Numbers that a pass keeps for each row: what goes into the first units and comes out of them, each layer with its
    /// standardised and scaled input, and two adjoints.
    pub(super) fn floats_per_row(&self) -> usize {
        let layers = self.hidden.iter().map(|layer| 2 * layer.linear.n_in() + layer.linear.n_out());
        4 * self.first.n_out() + layers.sum::<usize>() + 2 * self.last.n_in()
    }

    /// Outputs `[row, out]` of what the first layer gives, `[row, unit]`.
    pub(super) fn forward<R: Real>(
        &self,
        parameters: &[R],
        first: Vec<R>,
        trace: &mut Trace<R>,
    ) -> Vec<R> {
        *trace = Trace::default();
        let n_rows = first.len() / self.first.n_out();
        let mut state = first;
        for layer in &self.hidden {
            let standard = layer.norm.forward(parameters, &state);
            let mut sums = vec![R::ZERO; n_rows * layer.linear.n_out()];
            layer.linear.forward(parameters, &standard.scaled, &mut sums);
            trace.standard.push(standard);
            if has_shortcut(&layer.linear) {
                vectorised(
                    #[inline(always)]
                    || state.iter_mut().zip(&sums).for_each(|(unit, &sum)| *unit += leaky(sum)),
                );
            } else {
                state = sums.iter().map(|&sum| leaky(sum)).collect();
            }
            trace.sums.push(sums);
        }
        let standard = self.norm.forward(parameters, &state);
        let mut out = vec![R::ZERO; n_rows * self.n_out()];
        self.last.forward(parameters, &standard.scaled, &mut out);
        trace.standard.push(standard);
        out
    }

    /// Adds the gradients of the parameters, and gives those of what the first layer gave.
    pub(super) fn backward<R: Real>(
        &self,
        parameters: &[R],
        trace: &Trace<R>,
        grad_out: &[R],
        grads: &mut [R],
    ) -> Vec<R> {
        let top = &trace.standard[self.hidden.len()];
        self.last.add_gradients(grads, &top.scaled, grad_out);
        let mut grad = vec![R::ZERO; top.scaled.len()];
        self.last.backward(parameters, grad_out, &mut grad);
        self.norm.backward(parameters, top, &mut grad, grads);
        for (idx, layer) in self.hidden.iter().enumerate().rev() {
            let mut grad_sums = grad.clone();
            times_slopes(&mut grad_sums, &trace.sums[idx]);
            let at = &trace.standard[idx];
            layer.linear.add_gradients(grads, &at.scaled, &grad_sums);
            let mut below = vec![R::ZERO; at.scaled.len()];
            layer.linear.backward(parameters, &grad_sums, &mut below);
            layer.norm.backward(parameters, at, &mut below, grads);
            if has_shortcut(&layer.linear) {
                vectorised(
                    #[inline(always)]
                    || below.iter_mut().zip(&grad).for_each(|(below, &above)| *below += above),
                );
            }
            grad = below;
        }
        grad
    }
}

/// A unit.
#[expect(clippy::inline_always, reason = "called inside vectorised loops")]
#[inline(always)]
pub(super) fn leaky<R: Real>(sum: R) -> R {
    // The larger of two numbers is one instruction; a branch on signs that nobody can foretell is slow.
    let low = R::from_f64(SLOPE) * sum;
    if sum > low { sum } else { low }
}

/// Gradients of units become those of their arguments.
pub(super) fn times_slopes<R: Real>(grads: &mut [R], sums: &[R]) {
    let slope = R::from_f64(SLOPE);
    vectorised(
        #[inline(always)]
        || {
            for (grad, &sum) in grads.iter_mut().zip(sums) {
                // Both are computed and one is taken, as above.
                let low = slope * *grad;
                *grad = if sum > R::ZERO { *grad } else { low };
            }
        },
    );
}

/// Σ of products of two rows' entries.
#[expect(clippy::inline_always, reason = "called inside vectorised loops")]
#[inline(always)]
fn dot<R: Real>(x: &[R], y: &[R]) -> R {
    let mut sums = [R::ZERO; LANES];
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x.iter().zip(y) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let mut sum = R::ZERO;
    for (&x, &y) in x_rest.iter().zip(y_rest) {
        sum += x * y;
    }
    for lane in sums {
        sum += lane;
    }
    sum
}

/// Σ of a row.
#[expect(clippy::inline_always, reason = "called inside vectorised loops")]
#[inline(always)]
fn sum<R: Real>(row: &[R]) -> R {
    let mut sums = [R::ZERO; LANES];
    let (whole, rest) = row.as_chunks::<LANES>();
    for chunk in whole {
        for lane in 0..LANES {
            sums[lane] += chunk[lane];
        }
    }
    let mut sum = R::ZERO;
    for &value in rest {
        sum += value;
    }
    for lane in sums {
        sum += lane;
    }
    sum
}

impl Norm {
    fn new(table: &mut ParameterTable, name: &str, width: usize) -> Self {
        Self {
            scale: table.add(format!("{name}.weight"), [1, width], Init::Constant(1.0)),
            shift: table.add(format!("{name}.bias"), [1, width], Init::Constant(0.0)),
        }
    }

    fn forward<R: Real>(&self, parameters: &[R], input: &[R]) -> Standardised<R> {
        let width = self.scale.cols;
        let (scale, shift) = (self.scale.of(parameters), self.shift.of(parameters));
        let mut values = input.to_vec();
        let mut scaled = vec![R::ZERO; input.len()];
        let mut inverse = Vec::with_capacity(input.len() / width);
        let (share, epsilon) = (R::from_f64(1.0 / width as f64), R::from_f64(EPSILON));
        vectorised(
            #[inline(always)]
            || {
                for (row, out) in values.chunks_exact_mut(width).zip(scaled.chunks_exact_mut(width))
                {
                    let mean = sum(row) * share;
                    row.iter_mut().for_each(|value| *value -= mean);
                    let factor = R::ONE / (dot(row, row) * share + epsilon).sqrt();
                    inverse.push(factor);
                    row.iter_mut().for_each(|value| *value *= factor);
                    let terms = row.iter().zip(scale).zip(shift);
                    for (out, ((&value, &scale), &shift)) in out.iter_mut().zip(terms) {
                        *out = value * scale + shift;
                    }
                }
            },
        );
        Standardised { values, inverse, scaled }
    }

    /// Gradients of scaled rows become those of the rows before; those of scale and shift are added.
    fn backward<R: Real>(
        &self,
        parameters: &[R],
        at: &Standardised<R>,
        grad: &mut [R],
        grads: &mut [R],
    ) {
        let width = self.scale.cols;
        let scale = self.scale.of(parameters);
        let share = R::from_f64(1.0 / width as f64);
        let (mut grad_scale, mut grad_shift) = (vec![R::ZERO; width], vec![R::ZERO; width]);
        vectorised(
            #[inline(always)]
            || {
                let rows = at.values.chunks_exact(width).zip(&at.inverse);
                for (grad, (standard, &factor)) in grad.chunks_exact_mut(width).zip(rows) {
                    let sums = grad_scale.iter_mut().zip(grad_shift.iter_mut());
                    for ((sum, shift), (&g, &x)) in sums.zip(grad.iter().zip(standard)) {
                        *sum += g * x;
                        *shift += g;
                    }
                    grad.iter_mut().zip(scale).for_each(|(g, &s)| *g *= s);
                    let (mean, along) = (sum(grad) * share, dot(grad, standard) * share);
                    for (g, &x) in grad.iter_mut().zip(standard) {
                        *g = factor * (*g - mean - x * along);
                    }
                }
            },
        );
        add(self.scale.of_mut(grads), &grad_scale);
        add(self.shift.of_mut(grads), &grad_shift);
    }
}

fn add<R: Real>(out: &mut [R], terms: &[R]) {
    out.iter_mut().zip(terms).for_each(|(out, &term)| *out += term);
}
