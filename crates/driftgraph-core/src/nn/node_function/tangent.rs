//! The derivative of each node's output by its own input: forwards beside the values, and back.
//!
//! The nets are piecewise linear, so a tangent goes through the same weights with the values'
//! slopes, and its own gradient reaches weights and strengths but no input.

use super::{NodeFunction, NodeSizes, NodeTrace, NodeWeights, Rows};
use crate::nn::linear::Linear;
use crate::nn::parameters::WithGradient;
use crate::numeric::kernels::{
    View, add_into, add_product, add_scaled, dot, leaky_slope, multiply_into, product,
};
use crate::numeric::real::Real;

/// Tangents of one block of rows, and room for their way back.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeTangents<R> {
    message_first: Vec<R>,
    message_second: Vec<R>,
    messages: Vec<R>,
    aggregates: Vec<R>,
    combine_first: Vec<R>,
    combine_second: Vec<R>,
    grad_above: Vec<R>,
    grad_argument: Vec<R>,
    grad_thin: Vec<R>,
}

/// A block of rows whose values are known: all nodes of one or more series, one time each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TangentRows<'a, R> {
    /// The values.
    pub trace: &'a NodeTrace<R>,
    /// The rows; `per_node` is 1.
    pub rows: Rows,
    /// Strengths of the edges `[series, source x target]`.
    pub strengths: &'a [R],
}

impl<R: Real> NodeTangents<R> {
    /// Makes room for `n_rows` rows; keeps what it has when that is enough.
    pub(crate) fn resize(&mut self, function: &NodeFunction, n_rows: usize) {
        let NodeSizes { embedding, width, .. } = function.sizes;
        for (buffer, width) in [
            (&mut self.message_first, width),
            (&mut self.message_second, width),
            (&mut self.messages, embedding),
            (&mut self.aggregates, embedding),
            (&mut self.combine_first, width),
            (&mut self.combine_second, width),
            (&mut self.grad_above, width),
            (&mut self.grad_argument, width),
            (&mut self.grad_thin, embedding),
        ] {
            if buffer.len() < n_rows * width {
                buffer.resize(n_rows * width, R::ZERO);
            }
        }
    }
}

impl NodeFunction {
    /// Writes d output_j / d z_j of every row into `out`, and keeps the tangents behind it.
    pub(crate) fn own_derivatives<R: Real>(
        &self,
        parameters: &[R],
        weights: &NodeWeights<R>,
        block: TangentRows<'_, R>,
        tangents: &mut NodeTangents<R>,
        out: &mut [R],
    ) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.sizes;
        let n = block.rows.n;
        let first = &mut tangents.message_first[..n * width];
        for (row, tangent) in first.chunks_exact_mut(width).enumerate() {
            let node = row % d;
            tangent.copy_from_slice(&weights.message_columns[node * width..(node + 1) * width]);
        }
        self.multiply_by_first_message_slopes(block, first);
        if self.message_skips() {
            for (row, tangent) in first.chunks_exact_mut(width).enumerate() {
                tangent[row % d] += R::ONE;
            }
        }
        let second = &mut tangents.message_second[..n * width];
        product(second, width, View::new(first, n, width), square(&weights.message_second, width));
        multiply_by_growth_slopes(block.message_layers(width), second);
        add_into(second, first);
        let messages = &mut tangents.messages[..n * e];
        let last = View::new(&weights.message_last, width, e);
        product(messages, e, View::new(second, n, width), last);
        let aggregates = &mut tangents.aggregates[..n * e];
        for row in 0..n {
            let strength = block.strengths[self_edge(row, d)];
            for idx in row * e..(row + 1) * e {
                aggregates[idx] = strength * messages[idx];
            }
        }
        let first = &mut tangents.combine_first[..n * width];
        let weight = View::new(&weights.combine_first, e, width);
        product(first, width, View::new(aggregates, n, e), weight);
        self.multiply_by_first_combine_slopes(block, first);
        if self.combine_skips() {
            for row in 0..n {
                add_into(&mut first[row * width..], &aggregates[row * e..(row + 1) * e]);
            }
        }
        let second = &mut tangents.combine_second[..n * width];
        product(second, width, View::new(first, n, width), square(&weights.combine_second, width));
        multiply_by_growth_slopes(block.combine_layers(width), second);
        add_into(second, first);
        let last = self.combine[2].weight.of(parameters);
        for (row, tangent) in second.chunks_exact(width).enumerate() {
            let node = row % d;
            out[row] = dot(tangent, &last[node * width..(node + 1) * width]);
        }
    }

    /// Adds the gradients that the derivatives' adjoints `grad_out` send to weights and strengths.
    pub(crate) fn own_derivatives_backward<R: Real>(
        &self,
        WithGradient { parameters, grads }: WithGradient<'_, R>,
        block: TangentRows<'_, R>,
        grad_strengths: &mut [R],
        tangents: &mut NodeTangents<R>,
        grad_out: &[R],
    ) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.sizes;
        let n = block.rows.n;
        let above = &mut tangents.grad_above[..n * width];
        let argument = &mut tangents.grad_argument[..n * width];
        let last = self.combine[2].weight;
        for (row, &grad) in grad_out.iter().enumerate() {
            let (node, span) = ((row % d) * width, row * width..(row + 1) * width);
            above[span.clone()].fill(R::ZERO);
            let weight = &last.of(parameters)[node..node + width];
            add_scaled(&mut above[span.clone()], grad, weight);
            let last = &mut last.of_mut(grads)[node..node + width];
            add_scaled(last, grad, &tangents.combine_second[span]);
        }
        argument.copy_from_slice(above);
        multiply_by_growth_slopes(block.combine_layers(width), argument);
        let input = &tangents.combine_first[..n * width];
        hidden_backward(
            self.combine[1],
            WithGradient { parameters, grads },
            input,
            argument,
            above,
        );
        let thin = &mut tangents.grad_thin[..n * e];
        for row in 0..n {
            let straight = &above[row * width..row * width + e.min(width)];
            let thin = &mut thin[row * e..(row + 1) * e];
            thin.fill(R::ZERO);
            if self.combine_skips() {
                thin.copy_from_slice(straight);
            }
        }
        self.multiply_by_first_combine_slopes(block, above);
        let first = self.combine[0].weight;
        let adjoints = View::new(above, n, width);
        add_product(thin, e, adjoints, View::strided(first.of(parameters), [width, e], 2 * e));
        let aggregates = View::new(&tangents.aggregates, n, e);
        add_product(first.of_mut(grads), 2 * e, adjoints.t(), aggregates);
        for row in 0..n {
            let (edge, span) = (self_edge(row, d), row * e..(row + 1) * e);
            grad_strengths[edge] += dot(&tangents.messages[span.clone()], &thin[span.clone()]);
            for grad in &mut thin[span] {
                *grad *= block.strengths[edge];
            }
        }
        let last = self.message[2].weight;
        let adjoints = View::new(thin, n, e);
        product(above, width, adjoints, View::new(last.of(parameters), e, width));
        let second = View::new(&tangents.message_second, n, width);
        add_product(last.of_mut(grads), width, adjoints.t(), second);
        argument.copy_from_slice(above);
        multiply_by_growth_slopes(block.message_layers(width), argument);
        let input = &tangents.message_first[..n * width];
        hidden_backward(
            self.message[1],
            WithGradient { parameters, grads },
            input,
            argument,
            above,
        );
        self.multiply_by_first_message_slopes(block, above);
        let columns = self.message_columns.of_mut(grads);
        for (row, grad) in above.chunks_exact(width).enumerate() {
            add_into(&mut columns[(row % d) * width..(row % d + 1) * width], grad);
        }
    }

    fn multiply_by_first_message_slopes<R: Real>(&self, block: TangentRows<'_, R>, out: &mut [R]) {
        let wide = block.rows.range(self.sizes.width);
        if self.message_skips() {
            multiply_into(out, &block.trace.message_slopes[wide]);
        } else {
            multiply_by_sign_slopes(out, &block.trace.message_first[wide]);
        }
    }

    fn multiply_by_first_combine_slopes<R: Real>(&self, block: TangentRows<'_, R>, out: &mut [R]) {
        let wide = block.rows.range(self.sizes.width);
        if self.combine_skips() {
            multiply_into(out, &block.trace.combine_slopes[wide]);
        } else {
            multiply_by_sign_slopes(out, &block.trace.combine_first[wide]);
        }
    }
}

/// Through x + leaky(W x): adds W's gradient and, to `above`, the way through W.
fn hidden_backward<R: Real>(
    layer: Linear,
    WithGradient { parameters, grads }: WithGradient<'_, R>,
    input: &[R],
    argument: &[R],
    above: &mut [R],
) {
    let width = layer.n_in();
    let n = argument.len() / width;
    let adjoints = View::new(argument, n, width);
    add_product(layer.weight.of_mut(grads), width, adjoints.t(), View::new(input, n, width));
    add_product(above, width, adjoints, square(layer.weight.of(parameters), width));
}

fn square<R>(weight: &[R], width: usize) -> View<'_, R> {
    View::new(weight, width, width)
}

/// Place of the strength of a row's self edge.
fn self_edge(row: usize, d: usize) -> usize {
    (row / d) * d * d + (row % d) * (d + 1)
}

impl<'a, R> TangentRows<'a, R> {
    /// Values before and after the message net's second layer.
    fn message_layers(&self, width: usize) -> SkipLayer<'a, R> {
        let wide = self.rows.range(width);
        let NodeTrace { message_first: before, message_second: after, .. } = self.trace;
        SkipLayer { before: &before[wide.clone()], after: &after[wide] }
    }

    /// Values before and after the combining net's second layer.
    fn combine_layers(&self, width: usize) -> SkipLayer<'a, R> {
        let wide = self.rows.range(width);
        let NodeTrace { combine_first: before, combine_second: after, .. } = self.trace;
        SkipLayer { before: &before[wide.clone()], after: &after[wide] }
    }
}

/// Values before and after a layer with a skip.
#[derive(Clone, Copy)]
struct SkipLayer<'a, R> {
    before: &'a [R],
    after: &'a [R],
}

/// The slope of a layer with a skip shows in whether it made its input grow.
fn multiply_by_growth_slopes<R: Real>(layer: SkipLayer<'_, R>, out: &mut [R]) {
    for (out, (&before, &after)) in out.iter_mut().zip(layer.before.iter().zip(layer.after)) {
        *out *= leaky_slope::<R>(after > before);
    }
}

fn multiply_by_sign_slopes<R: Real>(out: &mut [R], activations: &[R]) {
    for (out, &activation) in out.iter_mut().zip(activations) {
        *out *= leaky_slope::<R>(activation > R::ZERO);
    }
}
