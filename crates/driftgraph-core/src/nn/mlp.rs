//! The Softplus network on a state and its context: drift of the posterior process.

use super::linear::Linear;
use super::parameters::{ParameterTable, WithGradient};
use crate::numeric::kernels::{
    View, add_column_sums, add_product, fill_rows, multiply_into, product, softplus_with_slope,
    transpose,
};
use crate::numeric::real::Real;

/// A network `[state | context] -> hidden -> .. -> hidden -> out`, Softplus between the layers.
///
/// The context's share of the first layer is computed apart: many states share one context.
#[derive(Debug, Clone)]
pub struct Mlp {
    n_state: usize,
    n_context: usize,
    first: Linear,
    inner: Vec<Linear>,
    last: Linear,
}

/// What `backward` needs from `forward`, for all rows of all calls; `[layer][row, hidden]`.
#[derive(Debug, Clone, Default)]
pub struct MlpTrace<R> {
    hidden: Vec<Vec<R>>,
    slopes: Vec<Vec<R>>,
    adjoints: Vec<Vec<R>>,
}

/// Transposed weights: the few rows of one solver step are multiplied by them again and again.
#[derive(Debug, Clone, Default)]
pub struct MlpWeights<R> {
    /// All layers but the context's share, `[in, out]`.
    layers: Vec<Vec<R>>,
}

impl<R: Real> MlpTrace<R> {
    /// Makes room for `n_rows` rows; keeps what it has when that is enough.
    pub fn resize(&mut self, net: &Mlp, n_rows: usize) {
        let n_layers = net.inner.len() + 1;
        for layers in [&mut self.hidden, &mut self.slopes, &mut self.adjoints] {
            layers.resize_with(n_layers, Vec::new);
            for layer in layers {
                if layer.len() < n_rows * net.n_hidden() {
                    layer.resize(n_rows * net.n_hidden(), R::ZERO);
                }
            }
        }
    }

    /// The rows of the first layer, where the caller puts the context's share before `forward`.
    pub fn first_layer(&mut self) -> &mut [R] {
        &mut self.hidden[0]
    }

    /// Adjoints of the first layer's arguments, after `backward`.
    pub fn first_adjoints(&self) -> &[R] {
        &self.adjoints[0]
    }
}

/// Parameters, and what all rows of a step share of them.
#[derive(Debug, Clone, Copy)]
pub struct PreparedMlp<'a, R> {
    /// All parameters of the model.
    pub parameters: &'a [R],
    /// What [`Mlp::prepare`] made of them.
    pub weights: &'a MlpWeights<R>,
}

/// Sizes of a net.
#[derive(Debug, Clone, Copy)]
pub struct MlpSizes {
    /// Numbers of a state.
    pub n_state: usize,
    /// Numbers of a context.
    pub n_context: usize,
    /// Width of hidden layers.
    pub n_hidden: usize,
    /// Hidden layers.
    pub n_hidden_layers: usize,
    /// Outputs.
    pub n_out: usize,
}

impl Mlp {
    /// Adds the layers `name.0`, `name.2`, ... to the table (odd numbers are the activations).
    pub fn new(table: &mut ParameterTable, name: &str, sizes: MlpSizes) -> Self {
        let MlpSizes { n_state, n_context, n_hidden, n_hidden_layers, n_out } = sizes;
        let place = |idx: usize| format!("{name}.{}", 2 * idx);
        let first = Linear::new(table, &place(0), n_state + n_context, n_hidden);
        let inner = (1..n_hidden_layers)
            .map(|idx| Linear::new(table, &place(idx), n_hidden, n_hidden))
            .collect();
        let last = Linear::new(table, &place(n_hidden_layers), n_hidden, n_out);
        Self { n_state, n_context, first, inner, last }
    }

    /// Width of the hidden layers.
    pub fn n_hidden(&self) -> usize {
        self.first.n_out()
    }

    /// Computes what all rows of a step share.
    pub fn prepare<R: Real>(&self, parameters: &[R], weights: &mut MlpWeights<R>) {
        weights.layers.resize_with(self.inner.len() + 2, Vec::new);
        let (first, rest) = weights.layers.split_at_mut(1);
        first[0].resize(self.first.weight.len(), R::ZERO);
        transpose(
            &mut first[0],
            self.first.weight.of(parameters),
            self.n_hidden(),
            self.first.n_in(),
        );
        for (copy, layer) in rest.iter_mut().zip(self.inner.iter().chain([&self.last])) {
            copy.resize(layer.weight.len(), R::ZERO);
            transpose(copy, layer.weight.of(parameters), layer.n_out(), layer.n_in());
        }
    }

    /// `out[row] = W_context contexts[row] + b` of the first layer.
    pub fn context_share<R: Real>(&self, parameters: &[R], contexts: &[R], out: &mut [R]) {
        fill_rows(out, self.first.bias.of(parameters));
        let n_rows = out.len() / self.n_hidden();
        let contexts = View::new(contexts, n_rows, self.n_context);
        add_product(out, self.n_hidden(), contexts, self.context_weight(parameters).t());
    }

    /// Outputs for rows `first_row..` of the trace, whose first layer holds the contexts' shares.
    pub fn forward<R: Real>(
        &self,
        PreparedMlp { parameters, weights }: PreparedMlp<'_, R>,
        states: &[R],
        trace: &mut MlpTrace<R>,
        first_row: usize,
        out: &mut [R],
    ) {
        let (n_rows, hidden) = (out.len() / self.last.n_out(), self.n_hidden());
        let range = first_row * hidden..(first_row + n_rows) * hidden;
        let states = View::new(states, n_rows, self.n_state);
        let weight = View::new(&weights.layers[0], self.n_state, hidden);
        add_product(&mut trace.hidden[0][range.clone()], hidden, states, weight);
        for layer in 0..=self.inner.len() {
            if layer > 0 {
                let (below, above) = trace.hidden.split_at_mut(layer);
                let input = View::new(&below[layer - 1][range.clone()], n_rows, hidden);
                let out = &mut above[0][range.clone()];
                fill_rows(out, self.inner[layer - 1].bias.of(parameters));
                let weight = View::new(&weights.layers[layer], hidden, hidden);
                add_product(out, hidden, input, weight);
            }
            let hidden = &mut trace.hidden[layer][range.clone()];
            softplus_with_slope(hidden, &mut trace.slopes[layer][range.clone()]);
        }
        fill_rows(out, self.last.bias.of(parameters));
        let top = View::new(&trace.hidden[self.inner.len()][range], n_rows, hidden);
        let weight = &weights.layers[self.inner.len() + 1];
        let weight = View::new(weight, hidden, self.last.n_out());
        add_product(out, self.last.n_out(), top, weight);
    }

    /// Adds to the states' adjoints and keeps the layers' adjoints in the trace.
    pub fn backward<R: Real>(
        &self,
        parameters: &[R],
        grad_out: &[R],
        trace: &mut MlpTrace<R>,
        first_row: usize,
        grad_states: &mut [R],
    ) {
        let n_rows = grad_out.len() / self.last.n_out();
        let range = first_row * self.n_hidden()..(first_row + n_rows) * self.n_hidden();
        let top = self.inner.len();
        self.last.backward(parameters, grad_out, &mut trace.adjoints[top][range.clone()]);
        for layer in (0..=top).rev() {
            let slopes = &trace.slopes[layer][range.clone()];
            multiply_into(&mut trace.adjoints[layer][range.clone()], slopes);
            if layer > 0 {
                let (below, above) = trace.adjoints.split_at_mut(layer);
                let grad_in = &mut below[layer - 1][range.clone()];
                self.inner[layer - 1].backward(parameters, &above[0][range.clone()], grad_in);
            }
        }
        let adjoints = View::new(&trace.adjoints[0][range], n_rows, self.n_hidden());
        add_product(grad_states, self.n_state, adjoints, self.state_weight(parameters));
    }

    /// Adds the gradients of all rows after their `backward`; the context's share has its own.
    pub fn add_gradients<R: Real>(
        &self,
        grads: &mut [R],
        states: &[R],
        grad_out: &[R],
        trace: &MlpTrace<R>,
    ) {
        let n_rows = grad_out.len() / self.last.n_out();
        let len = n_rows * self.n_hidden();
        self.last.add_gradients(grads, &trace.hidden[self.inner.len()][..len], grad_out);
        for (layer, inner) in self.inner.iter().enumerate() {
            inner.add_gradients(
                grads,
                &trace.hidden[layer][..len],
                &trace.adjoints[layer + 1][..len],
            );
        }
        let adjoints = View::new(&trace.adjoints[0], n_rows, self.n_hidden()).t();
        let states = View::new(states, n_rows, self.n_state);
        add_product(self.first.weight.of_mut(grads), self.first.n_in(), adjoints, states);
    }

    /// Gradients of the contexts' share of the first layer; writes the contexts' adjoints.
    pub fn context_backward<R: Real>(
        &self,
        WithGradient { parameters, grads }: WithGradient<'_, R>,
        contexts: &[R],
        grad_share: &[R],
        grad_contexts: &mut [R],
    ) {
        let n_rows = grad_share.len() / self.n_hidden();
        let adjoints = View::new(grad_share, n_rows, self.n_hidden());
        let weight = self.context_weight(parameters);
        product(grad_contexts, self.n_context, adjoints, weight);
        let contexts = View::new(contexts, n_rows, self.n_context);
        let weight_grads = &mut self.first.weight.of_mut(grads)[self.n_state..];
        add_product(weight_grads, self.first.n_in(), adjoints.t(), contexts);
        add_column_sums(self.first.bias.of_mut(grads), grad_share);
    }

    fn state_weight<'a, R: Real>(&self, parameters: &'a [R]) -> View<'a, R> {
        let shape = [self.n_hidden(), self.n_state];
        View::strided(self.first.weight.of(parameters), shape, self.first.n_in())
    }

    fn context_weight<'a, R: Real>(&self, parameters: &'a [R]) -> View<'a, R> {
        let shape = [self.n_hidden(), self.n_context];
        let weight = &self.first.weight.of(parameters)[self.n_state..];
        View::strided(weight, shape, self.first.n_in())
    }
}
