//! The encoder: a reverse-time GRU over the observations, then a linear layer with the graph.

use crate::nn::gru::{Gru, GruTrace, RowStarts};
use crate::nn::linear::Linear;
use crate::nn::parameters::{ParameterTable, WithAdjoints, WithGradient};
use crate::numeric::kernels::{View, add_column_sums, add_into, add_product, fill_rows, product};
use crate::numeric::real::Real;

/// Context of an observation = linear( GRU state that has seen it and all later ones | graph ).
///
/// Appendix, Model architecture: the GRU sees future observations only, in reverse.
#[derive(Debug, Clone, Copy)]
pub struct Encoder {
    gru: Gru,
    linear: Linear,
    n_pairs: usize,
}

/// What the encoder keeps of a chunk: rows `[observation, series]`, series by falling length.
#[derive(Debug, Clone, Default)]
pub struct EncoderTrace<R> {
    /// Inputs `[row, input]`; the caller fills them.
    pub inputs: Vec<R>,
    /// Series of each row; the caller fills them.
    pub series: Vec<usize>,
    /// The GRU's states.
    pub(crate) gru: GruTrace<R>,
    /// Contexts `[row, context]`.
    pub contexts: Vec<R>,
    /// Adjoints of the contexts; the caller fills them before `backward`.
    pub(crate) grad_contexts: Vec<R>,
    /// The graph's share of the contexts `[series, context]`; later its adjoints.
    graph_share: Vec<R>,
}

impl<R: Real> EncoderTrace<R> {
    /// Makes room for `n_rows` rows of `n_series` series; keeps what it has when that is enough.
    pub fn resize(&mut self, encoder: &Encoder, n_rows: usize, n_series: usize) {
        self.gru.resize(&encoder.gru, n_rows);
        let n_context = encoder.n_context();
        for (buffer, len) in [
            (&mut self.inputs, n_rows * encoder.gru.n_in()),
            (&mut self.contexts, n_rows * n_context),
            (&mut self.grad_contexts, n_rows * n_context),
            (&mut self.graph_share, n_series * n_context),
        ] {
            if buffer.len() < len {
                buffer.resize(len, R::ZERO);
            }
        }
    }
}

/// Sizes of an encoder.
#[derive(Debug, Clone, Copy)]
pub struct EncoderSizes {
    /// Inputs per observation.
    pub n_inputs: usize,
    /// Variables, whose pairs are the edges of a graph.
    pub n_variables: usize,
    /// Size of the GRU's state.
    pub n_hidden: usize,
    /// Size of a context.
    pub n_context: usize,
}

impl Encoder {
    /// Adds the encoder's parameters to the table.
    pub fn new(table: &mut ParameterTable, sizes: EncoderSizes) -> Self {
        let EncoderSizes { n_inputs, n_variables, n_hidden, n_context } = sizes;
        let n_pairs = n_variables * n_variables;
        let gru = Gru::new(table, "encoder.gru", n_inputs, n_hidden);
        let linear = Linear::new(table, "encoder.linear", n_hidden + n_pairs, n_context);
        Self { gru, linear, n_pairs }
    }

    /// Size of a context.
    pub(crate) fn n_context(&self) -> usize {
        self.linear.n_out()
    }

    /// Number of inputs per observation.
    pub fn n_in(&self) -> usize {
        self.gru.n_in()
    }

    /// Computes what all rows of a step share: the GRU's transposed hidden weight.
    pub fn prepare<R: Real>(&self, parameters: &[R], hidden_weight: &mut Vec<R>) {
        self.gru.prepare(parameters, hidden_weight);
    }

    /// Fills the trace's contexts; `graphs` is `[series, source x target]`.
    pub fn forward<R: Real>(
        &self,
        parameters: &[R],
        hidden_weight: &[R],
        graphs: &[R],
        starts: RowStarts<'_>,
        trace: &mut EncoderTrace<R>,
    ) {
        self.gru.forward(parameters, hidden_weight, &trace.inputs, starts, &mut trace.gru);
        let (n_rows, c) = (starts[starts.len() - 1], self.n_context());
        let n_series = graphs.len() / self.n_pairs;
        let share = &mut trace.graph_share[..n_series * c];
        fill_rows(share, self.linear.bias.of(parameters));
        let graphs = View::new(graphs, n_series, self.n_pairs);
        add_product(share, c, graphs, self.graph_weight(parameters).t());
        for row in 0..n_rows {
            let series = trace.series[row];
            let share = &share[series * c..(series + 1) * c];
            trace.contexts[row * c..(row + 1) * c].copy_from_slice(share);
        }
        let states = View::new(&trace.gru.states, n_rows, self.gru.n_hidden());
        add_product(&mut trace.contexts, c, states, self.hidden_weight(parameters).t());
    }

    /// Adds all gradients, and those of the graphs, given the contexts' adjoints.
    pub fn backward<R: Real>(
        &self,
        WithGradient { parameters, grads }: WithGradient<'_, R>,
        WithAdjoints { values: graphs, adjoints: grad_graphs }: WithAdjoints<'_, R>,
        starts: RowStarts<'_>,
        trace: &mut EncoderTrace<R>,
    ) {
        let (n_rows, c, h) = (starts[starts.len() - 1], self.n_context(), self.gru.n_hidden());
        let n_series = graphs.len() / self.n_pairs;
        let share = &mut trace.graph_share[..n_series * c];
        share.fill(R::ZERO);
        for row in 0..n_rows {
            let series = trace.series[row];
            let adjoint = &trace.grad_contexts[row * c..(row + 1) * c];
            add_into(&mut share[series * c..(series + 1) * c], adjoint);
        }
        let share = View::new(share, n_series, c);
        add_product(grad_graphs, self.n_pairs, share, self.graph_weight(parameters));
        let adjoints = View::new(&trace.grad_contexts, n_rows, c);
        product(&mut trace.gru.grad_states, h, adjoints, self.hidden_weight(parameters));
        let weight_grads = self.linear.weight.of_mut(grads);
        let states = View::new(&trace.gru.states, n_rows, h);
        add_product(weight_grads, self.linear.n_in(), adjoints.t(), states);
        let graphs = View::new(graphs, n_series, self.n_pairs);
        add_product(&mut weight_grads[h..], self.linear.n_in(), share.t(), graphs);
        let adjoints = &trace.grad_contexts[..n_rows * c];
        add_column_sums(self.linear.bias.of_mut(grads), adjoints);
        self.gru.backward(
            WithGradient { parameters, grads },
            &trace.inputs,
            starts,
            &mut trace.gru,
        );
    }

    fn hidden_weight<'a, R: Real>(&self, parameters: &'a [R]) -> View<'a, R> {
        let shape = [self.n_context(), self.gru.n_hidden()];
        View::strided(self.linear.weight.of(parameters), shape, self.linear.n_in())
    }

    fn graph_weight<'a, R: Real>(&self, parameters: &'a [R]) -> View<'a, R> {
        let weight = &self.linear.weight.of(parameters)[self.gru.n_hidden()..];
        View::strided(weight, [self.n_context(), self.n_pairs], self.linear.n_in())
    }
}
