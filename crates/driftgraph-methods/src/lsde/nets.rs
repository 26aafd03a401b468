//! One network per output, on all variables: the prior's drift and its diffusion.

use driftgraph_core::layers::{
    Init, Linear, ParameterTable, Real, Slot, View, add_product, multiply_into, softplus_with_slope,
};

/// Networks of all outputs side by side; nothing is shared between them.
///
/// Their first layers lie under each other, so that one product serves them all; later ones are blocks.
#[derive(Debug, Clone)]
pub(super) struct OutputNets {
    n_units: usize,
    /// `[(output, unit), variable]`.
    pub(super) first: Linear,
    second: Option<Blocks>,
    last: Blocks,
}

/// One small layer per output.
#[derive(Debug, Clone, Copy)]
struct Blocks {
    /// `[(output, unit), unit below]`; a row per output in the last layer.
    weight: Slot,
    bias: Slot,
}

/// What the way back needs, for the rows of all calls; each layer is `[row, (output, unit)]`.
#[derive(Debug, Clone, Default)]
pub(super) struct NetsTrace<R> {
    layers: Vec<LayerTrace<R>>,
}

#[derive(Debug, Clone, Default)]
struct LayerTrace<R> {
    units: Vec<R>,
    slopes: Vec<R>,
    adjoints: Vec<R>,
}

/// Some rows of a trace.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowRange {
    pub(super) first: usize,
    pub(super) n: usize,
}

impl OutputNets {
    /// Adds the layers `name.w1`, `name.b1`, ... to the table; hidden layers are one or two.
    pub(super) fn new(
        table: &mut ParameterTable,
        name: &str,
        n_variables: usize,
        n_units: usize,
        n_layers: usize,
    ) -> Self {
        let uniform = |n_in: usize| Init::Uniform(1.0 / (n_in as f64).sqrt());
        let mut add = |layer: usize, rows: usize, n_in: usize| Blocks {
            weight: table.add(format!("{name}.w{layer}"), [rows, n_in], uniform(n_in)),
            bias: table.add(format!("{name}.b{layer}"), [1, rows], uniform(n_in)),
        };
        let first = add(1, n_variables * n_units, n_variables);
        let second = (n_layers > 1).then(|| add(2, n_variables * n_units, n_units));
        let last = add(3, n_variables, n_units);
        let first = Linear { weight: first.weight, bias: first.bias };
        Self { n_units, first, second, last }
    }

    fn n_outputs(&self) -> usize {
        self.last.weight.rows
    }

    fn width(&self) -> usize {
        self.n_outputs() * self.n_units
    }

    /// Makes room for so many rows.
    pub(super) fn resize<R: Real>(&self, trace: &mut NetsTrace<R>, n_rows: usize) {
        let n_layers = 1 + usize::from(self.second.is_some());
        trace.layers.resize_with(n_layers, LayerTrace::default);
        for layer in &mut trace.layers {
            for buffer in [&mut layer.units, &mut layer.slopes, &mut layer.adjoints] {
                buffer.resize(n_rows * self.width(), R::ZERO);
            }
        }
    }

    /// Outputs `[row, output]` of some rows of states.
    pub(super) fn forward<R: Real>(
        &self,
        parameters: &[R],
        states: &[R],
        trace: &mut NetsTrace<R>,
        rows: RowRange,
        out: &mut [R],
    ) {
        let (width, m) = (self.width(), self.n_units);
        let range = rows.first * width..(rows.first + rows.n) * width;
        let (below, above) = trace.layers.split_at_mut(1);
        self.first.forward(parameters, states, &mut below[0].units[range.clone()]);
        softplus_with_slope(
            &mut below[0].units[range.clone()],
            &mut below[0].slopes[range.clone()],
        );
        if let Some(second) = self.second {
            let (input, layer) = (&below[0].units[range.clone()], &mut above[0]);
            let units = &mut layer.units[range.clone()];
            for row in units.chunks_exact_mut(width) {
                row.copy_from_slice(second.bias.of(parameters));
            }
            for (place, weight) in self.blocks(second, parameters) {
                let input = View::strided(&input[place..], [rows.n, m], width);
                add_product(&mut units[place..], width, input, View::new(weight, m, m).t());
            }
            softplus_with_slope(&mut layer.units[range.clone()], &mut layer.slopes[range.clone()]);
        }
        let top = &trace.layers[trace.layers.len() - 1].units[range];
        let (weight, bias) = (self.last.weight.of(parameters), self.last.bias.of(parameters));
        for (out, units) in out.chunks_exact_mut(bias.len()).zip(top.chunks_exact(width)) {
            let blocks = units.chunks_exact(m).zip(weight.chunks_exact(m)).zip(bias);
            for (out, ((units, weight), &bias)) in out.iter_mut().zip(blocks) {
                *out = bias;
                units.iter().zip(weight).for_each(|(&unit, &weight)| *out += unit * weight);
            }
        }
    }

    /// Keeps the adjoints of some rows, and adds to those of their states.
    pub(super) fn backward<R: Real>(
        &self,
        parameters: &[R],
        grad_out: &[R],
        trace: &mut NetsTrace<R>,
        rows: RowRange,
        grad_states: &mut [R],
    ) {
        let (width, m) = (self.width(), self.n_units);
        let range = rows.first * width..(rows.first + rows.n) * width;
        let weight = self.last.weight.of(parameters);
        let top = trace.layers.len() - 1;
        let adjoints = trace.layers[top].adjoints[range.clone()].chunks_exact_mut(m);
        for (idx, (adjoints, &grad)) in adjoints.zip(grad_out).enumerate() {
            let output = idx % self.n_outputs();
            for (adjoint, &weight) in adjoints.iter_mut().zip(&weight[output * m..][..m]) {
                *adjoint = grad * weight;
            }
        }
        times_slopes(&mut trace.layers[top], &range);
        if let Some(second) = self.second {
            let (below, above) = trace.layers.split_at_mut(1);
            let adjoints = &mut below[0].adjoints[range.clone()];
            adjoints.fill(R::ZERO);
            for (place, weight) in self.blocks(second, parameters) {
                let above = &above[0].adjoints[range.clone()][place..];
                let above = View::strided(above, [rows.n, m], width);
                add_product(&mut adjoints[place..], width, above, View::new(weight, m, m));
            }
            times_slopes(&mut below[0], &range);
        }
        self.first.backward_add(parameters, &trace.layers[0].adjoints[range], grad_states);
    }

    /// Adds the gradients of all rows, after their `backward`.
    pub(super) fn add_gradients<R: Real>(
        &self,
        grads: &mut [R],
        states: &[R],
        grad_out: &[R],
        trace: &NetsTrace<R>,
    ) {
        let (width, m, n) = (self.width(), self.n_units, self.n_outputs());
        let n_rows = grad_out.len() / n;
        let adjoints = |layer: usize| &trace.layers[layer].adjoints[..n_rows * width];
        self.first.add_gradients(grads, states, adjoints(0));
        if let Some(second) = self.second {
            for output in 0..n {
                let place = output * m;
                let adjoints = View::strided(&adjoints(1)[place..], [n_rows, m], width).t();
                let input = View::strided(&trace.layers[0].units[place..], [n_rows, m], width);
                let weight = &mut second.weight.of_mut(grads)[place * m..(place + m) * m];
                add_product(weight, m, adjoints, input);
            }
            let bias = second.bias.of_mut(grads);
            for row in adjoints(1).chunks_exact(width) {
                bias.iter_mut().zip(row).for_each(|(sum, &adjoint)| *sum += adjoint);
            }
        }
        let top = &trace.layers[trace.layers.len() - 1].units;
        for (grad_row, units) in grad_out.chunks_exact(n).zip(top.chunks_exact(width)) {
            let weight = self.last.weight.of_mut(grads).chunks_exact_mut(m);
            for ((weight, units), &grad) in weight.zip(units.chunks_exact(m)).zip(grad_row) {
                weight.iter_mut().zip(units).for_each(|(sum, &unit)| *sum += grad * unit);
            }
            let bias = self.last.bias.of_mut(grads);
            bias.iter_mut().zip(grad_row).for_each(|(sum, &grad)| *sum += grad);
        }
    }

    /// Norms of the first layer's weights, `[variable, output]`.
    pub(super) fn input_norms<R: Real>(&self, parameters: &[R]) -> Vec<f64> {
        let (n, weight) = (self.n_outputs(), self.first.weight.of(parameters));
        let n_in = self.first.n_in();
        let norm = |idx: usize| {
            let (variable, output) = (idx / n, idx % n);
            let rows = output * self.n_units..(output + 1) * self.n_units;
            rows.map(|row| weight[row * n_in + variable].to_f64().powi(2)).sum::<f64>().sqrt()
        };
        (0..n_in * n).map(norm).collect()
    }

    /// First unit and weights `[unit, unit below]` of each output.
    fn blocks<'a, R>(
        &self,
        layer: Blocks,
        parameters: &'a [R],
    ) -> impl Iterator<Item = (usize, &'a [R])> {
        let m = self.n_units;
        layer.weight.of(parameters).chunks_exact(m * m).enumerate().map(move |(e, w)| (e * m, w))
    }
}

fn times_slopes<R: Real>(layer: &mut LayerTrace<R>, range: &std::ops::Range<usize>) {
    multiply_into(&mut layer.adjoints[range.clone()], &layer.slopes[range.clone()]);
}
