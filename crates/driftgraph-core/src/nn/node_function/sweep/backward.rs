//! The way back of a sweep: a bend's weights see the points on either side of it as two sums.

#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined is not compiled for the wide instructions"
)]

use super::{SweepWorkspace, SweptNode, copy, next_bend, slope_change, slope_right};
use crate::nn::node_function::NodeSizes;
use crate::numeric::kernels::{
    add_column_sums, add_into, add_scaled, dot, leaky_slope, vectorised,
};
use crate::numeric::real::Real;

/// Sums of adjoints g and of z g over all points, and over those left of the sweep.
#[derive(Debug, Clone, Default)]
pub(super) struct AdjointSums<R> {
    total: Vec<R>,
    total_by_input: Vec<R>,
    left: Vec<R>,
    left_by_input: Vec<R>,
    /// Both sums weighted by the slopes of one unit.
    plain: Vec<R>,
    by_input: Vec<R>,
}

impl<R: Real> SweptNode<'_, R> {
    /// Adds all gradients of the message net, and writes the inputs' adjoints.
    pub(crate) fn backward(
        &self,
        grads: &mut [R],
        inputs: &[R],
        grad_messages: &[R],
        work: &mut SweepWorkspace<R>,
        grad_inputs: &mut [R],
    ) {
        // Cheaper to compute again than to keep for all points.
        self.hidden_layers(inputs, work);
        self.backward_after_messages(grads, grad_messages, work, grad_inputs);
    }

    /// The same with the buffers of [`messages`](Self::messages), untouched since.
    pub(crate) fn backward_after_messages(
        &self,
        grads: &mut [R],
        grad_messages: &[R],
        work: &mut SweepWorkspace<R>,
        grad_inputs: &mut [R],
    ) {
        let NodeSizes { embedding: e, width, .. } = self.function.sizes;
        let n = work.inputs.len();
        work.messages.resize(n * e, R::ZERO);
        for (grad, &point) in work.messages.chunks_exact_mut(e).zip(&work.order) {
            grad.copy_from_slice(&grad_messages[point * e..(point + 1) * e]);
        }
        work.grad_first.resize(n * width, R::ZERO);
        work.grad_second.resize(n * width, R::ZERO);
        let layers = &self.function.message;
        layers[2].backward(self.parameters, &work.messages, &mut work.grad_first);
        layers[2].add_gradients(grads, &work.second, &work.messages);
        let SweepWorkspace { first, second, grad_first, grad_second, .. } = work;
        vectorised(
            #[inline(always)]
            || {
                let adjoints = grad_second.iter_mut().zip(grad_first.iter());
                for ((grad, &above), (&first, &second)) in adjoints.zip(first.iter().zip(&*second))
                {
                    *grad = above * leaky_slope(second > first);
                }
            },
        );
        add_column_sums(layers[1].bias.of_mut(grads), grad_second);
        work.grad_inputs.clear();
        work.grad_inputs.resize(n, R::ZERO);
        self.first_layer_backward(grads, work);
        self.second_layer_backward(grads, work);
        for (&grad, &point) in work.grad_inputs.iter().zip(&work.order) {
            grad_inputs[point] = grad;
        }
    }

    /// What reaches the first layer past the second, by its skip.
    fn first_layer_backward(&self, grads: &mut [R], work: &mut SweepWorkspace<R>) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.function.sizes;
        let (columns, offsets) =
            (self.row(&self.weights.message_columns), self.row(&self.weights.message_offsets));
        let own = self.node * width..(self.node + 1) * width;
        let points = work.inputs.iter().zip(&mut work.grad_inputs);
        vectorised(
            #[inline(always)]
            || {
                for (grad, (&input, by_input)) in
                    work.grad_first.chunks_exact_mut(width).zip(points)
                {
                    if self.function.message_skips() {
                        *by_input += grad[self.node];
                        let embeddings = self.function.embeddings.of_mut(grads);
                        add_into(&mut embeddings[self.node * e..(self.node + 1) * e], &grad[d..]);
                    }
                    for ((grad, &column), &offset) in grad.iter_mut().zip(columns).zip(offsets) {
                        *grad *= leaky_slope(input * column + offset > R::ZERO);
                    }
                    *by_input += dot(grad, columns);
                    let offset_grads = self.function.message_offsets.of_mut(grads);
                    add_into(&mut offset_grads[own.clone()], grad);
                    let column_grads = self.function.message_columns.of_mut(grads);
                    add_scaled(&mut column_grads[own.clone()], input, grad);
                }
            },
        );
    }

    /// The sweep backward: a bend's weights see the points on either side of it as two sums.
    fn second_layer_backward(&self, grads: &mut [R], work: &mut SweepWorkspace<R>) {
        let width = self.function.sizes.width;
        let SweepWorkspace { inputs, grad_second, grad_inputs, gains, sums, .. } = work;
        sums.start(inputs, grad_second, width);
        copy(gains, self.row(&self.bends.first_gains));
        let points = inputs.iter().zip(grad_second.chunks_exact(width)).zip(grad_inputs);
        vectorised(
            #[inline(always)]
            || {
                let mut bends = self.row(&self.bends.bends);
                for ((&input, grad), by_input) in points {
                    while let Some((unit, rest)) = next_bend(bends, input) {
                        self.unit_backward(grads, unit, sums);
                        let column = self.unit(unit).0;
                        add_scaled(gains, slope_change(column) * column, self.second_weight(unit));
                        bends = rest;
                    }
                    *by_input += dot(grad, gains);
                    add_into(&mut sums.left, grad);
                    add_scaled(&mut sums.left_by_input, input, grad);
                }
                for &(_, unit) in bends {
                    self.unit_backward(grads, unit, sums);
                }
            },
        );
        if self.function.message_skips() {
            self.skip_backward(grads, sums);
        }
    }

    /// Gradients of the weights of one unit of the first layer, by the points on either side of its bend.
    #[inline(always)]
    fn unit_backward(&self, grads: &mut [R], unit: usize, sums: &mut AdjointSums<R>) {
        let width = self.function.sizes.width;
        let (column, offset) = self.unit(unit);
        // The slope right of the bend for all points, and what is different for those left of it.
        let shares = [slope_right(column, offset), -slope_change(column)];
        let weight = self.second_weight(unit);
        let row = &mut self.function.message_second.of_mut(grads)[unit * width..(unit + 1) * width];
        let AdjointSums { total, total_by_input, left, left_by_input, plain, by_input } = sums;
        weighted_sum(plain, shares, total, left);
        weighted_sum(by_input, shares, total_by_input, left_by_input);
        for ((row, &plain), &by_input) in row.iter_mut().zip(&*plain).zip(&*by_input) {
            *row += offset * plain + column * by_input;
        }
        let (by_offset, by_column) = (dot(weight, plain), dot(weight, by_input));
        let place = self.node * width + unit;
        self.function.message_offsets.of_mut(grads)[place] += by_offset;
        self.function.message_columns.of_mut(grads)[place] += by_column;
    }

    /// Gradients through the first layer's skip: input and embedding go on unchanged.
    fn skip_backward(&self, grads: &mut [R], sums: &AdjointSums<R>) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.function.sizes;
        let second = self.function.message_second.of_mut(grads);
        add_into(&mut second[self.node * width..(self.node + 1) * width], &sums.total_by_input);
        for (idx, &value) in self.embedding().iter().enumerate() {
            let row = (d + idx) * width..(d + idx + 1) * width;
            add_scaled(&mut second[row], value, &sums.total);
        }
        for idx in 0..e {
            let reached = dot(self.second_weight(d + idx), &sums.total);
            self.function.embeddings.of_mut(grads)[self.node * e + idx] += reached;
        }
    }
}

impl<R: Real> AdjointSums<R> {
    /// All points lie right of the sweep.
    fn start(&mut self, inputs: &[R], adjoints: &[R], width: usize) {
        let Self { total, total_by_input, left, left_by_input, plain, by_input } = self;
        for sum in [&mut *total, &mut *total_by_input, left, left_by_input, plain, by_input] {
            sum.clear();
            sum.resize(width, R::ZERO);
        }
        vectorised(
            #[inline(always)]
            || {
                for (&input, adjoints) in inputs.iter().zip(adjoints.chunks_exact(width)) {
                    add_into(total, adjoints);
                    add_scaled(total_by_input, input, adjoints);
                }
            },
        );
    }
}

/// `out = a x + b y`.
#[inline(always)]
fn weighted_sum<R: Real>(out: &mut [R], [a, b]: [R; 2], x: &[R], y: &[R]) {
    for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
        *out = a * x + b * y;
    }
}
