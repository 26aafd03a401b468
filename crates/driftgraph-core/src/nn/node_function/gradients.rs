//! The way back through a node function.

use super::{
    NodeAdjoints, NodeFunction, NodeSizes, NodeTrace, NodeWeights, Rows, SweptAdjoints,
    SweptMessages,
};
use crate::nn::parameters::{Slot, WithAdjoints, WithGradient};
use crate::numeric::kernels::{
    View, add_column_sums, add_into, add_product, add_scaled, dot, leaky_slope, multiply_into,
    product, vectorised,
};
use crate::numeric::real::Real;

impl NodeFunction {
    /// From the outputs' adjoints to those of the aggregates; adds to the embeddings' gradients.
    pub(crate) fn combine_backward<R: Real>(
        &self,
        WithGradient { parameters, grads }: WithGradient<'_, R>,
        trace: &NodeTrace<R>,
        adjoints: &mut NodeAdjoints<R>,
        rows: Rows,
    ) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.sizes;
        let here = adjoints.here(rows);
        let last = self.combine[2].weight.of(parameters);
        let outputs = &adjoints.outputs[here.range(1)];
        let (first, second) =
            (&trace.combine_first[rows.range(width)], &trace.combine_second[rows.range(width)]);
        let grad_first = &mut adjoints.combine_first[here.range(width)];
        let grad_second = &mut adjoints.combine_second[here.range(width)];
        vectorised(
            #[inline(always)]
            || {
                for (block, outputs) in outputs.chunks(rows.per_node).enumerate() {
                    let node = block % d;
                    let weight = &last[node * width..(node + 1) * width];
                    for (row, &output) in outputs.iter().enumerate() {
                        let row = (block * rows.per_node + row) * width;
                        let span = row..row + width;
                        let (first, second) = (&first[span.clone()], &second[span.clone()]);
                        let grad_first = &mut grad_first[span.clone()];
                        let grad_second = &mut grad_second[span];
                        for idx in 0..width {
                            let grad = output * weight[idx];
                            grad_first[idx] = grad;
                            // The layer added leaky(argument): it grew where that was positive.
                            grad_second[idx] = grad * leaky_slope(second[idx] > first[idx]);
                        }
                    }
                }
            },
        );
        let weight = View::new(self.combine[1].weight.of(parameters), width, width);
        add_product(grad_first, width, View::new(grad_second, rows.n, width), weight);
        let grad_aggregates = &mut adjoints.aggregates[here.range(e)];
        let first_weight = self.combine[0].weight.of(parameters);
        let first_weight = View::strided(first_weight, [width, e], 2 * e);
        if self.combine_skips() {
            let embeddings = self.embeddings.of_mut(grads);
            let slopes = &trace.combine_slopes[rows.range(width)];
            vectorised(
                #[inline(always)]
                || {
                    let blocks = grad_first.chunks(rows.per_node * width);
                    let sums = grad_aggregates.chunks_mut(rows.per_node * e);
                    for (block, (grads, sums)) in blocks.zip(sums).enumerate() {
                        let node = block % d;
                        let embedding = &mut embeddings[node * e..(node + 1) * e];
                        for (grad, sum) in grads.chunks_exact(width).zip(sums.chunks_exact_mut(e)) {
                            sum.copy_from_slice(&grad[..e]);
                            add_into(embedding, &grad[e..]);
                        }
                    }
                },
            );
            multiply_into(grad_first, slopes);
            let grad_first = View::new(grad_first, rows.n, width);
            add_product(grad_aggregates, e, grad_first, first_weight);
        } else {
            multiply_by_slopes(grad_first, first);
            product(grad_aggregates, e, View::new(grad_first, rows.n, width), first_weight);
        }
    }

    /// From the aggregates' adjoints to those of the messages; adds to those of the strengths.
    pub(crate) fn aggregate_backward<R: Real>(
        &self,
        WithAdjoints { values: strengths, adjoints: grad_strengths }: WithAdjoints<'_, R>,
        trace: &NodeTrace<R>,
        adjoints: &mut NodeAdjoints<R>,
        rows: Rows,
    ) {
        let d = self.sizes.n_variables;
        let width = rows.per_node * self.sizes.embedding;
        let here = adjoints.here(rows).range(self.sizes.embedding);
        let messages = View::new(&trace.messages[rows.range(self.sizes.embedding)], d, width);
        let grad_aggregates = View::new(&adjoints.aggregates[here.clone()], d, width);
        let strengths = View::new(strengths, d, d);
        product(&mut adjoints.messages[here], width, strengths, grad_aggregates);
        add_product(grad_strengths, d, messages, grad_aggregates.t());
    }

    /// The same for messages `[source, point]` that lie elsewhere.
    ///
    /// Their adjoints do too.
    pub(crate) fn aggregate_swept_backward<R: Real>(
        &self,
        WithAdjoints { values: strengths, adjoints: grad_strengths }: WithAdjoints<'_, R>,
        messages: SweptMessages<'_, R>,
        grad_messages: SweptAdjoints<'_, R>,
        adjoints: &NodeAdjoints<R>,
        rows: Rows,
    ) {
        let (d, e) = (self.sizes.n_variables, self.sizes.embedding);
        let grad_aggregates = &adjoints.aggregates[adjoints.here(rows).range(e)];
        let grad_aggregates = View::new(grad_aggregates, d, rows.per_node * e);
        let SweptAdjoints { all, n_points } = grad_messages;
        product(all, n_points * e, View::new(strengths, d, d), grad_aggregates);
        let messages = messages.view(self.sizes, rows.per_node);
        add_product(grad_strengths, d, messages, grad_aggregates.t());
    }

    /// From the messages' adjoints to those of the inputs; adds to the embeddings' gradients.
    pub(crate) fn messages_backward<R: Real>(
        &self,
        WithGradient { parameters, grads }: WithGradient<'_, R>,
        weights: &NodeWeights<R>,
        trace: &NodeTrace<R>,
        adjoints: &mut NodeAdjoints<R>,
        rows: Rows,
    ) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.sizes;
        let here = adjoints.here(rows);
        let grad_first = &mut adjoints.message_first[here.range(width)];
        let grad_second = &mut adjoints.message_second[here.range(width)];
        let messages = View::new(&adjoints.messages[here.range(e)], rows.n, e);
        let last = View::new(self.message[2].weight.of(parameters), e, width);
        product(grad_first, width, messages, last);
        let first = &trace.message_first[rows.range(width)];
        let second = &trace.message_second[rows.range(width)];
        vectorised(
            #[inline(always)]
            || {
                let grads = grad_second.iter_mut().zip(grad_first.iter());
                for ((grad, &above), (&first, &second)) in grads.zip(first.iter().zip(second)) {
                    *grad = above * leaky_slope(second > first);
                }
            },
        );
        let weight = View::new(self.message[1].weight.of(parameters), width, width);
        add_product(grad_first, width, View::new(grad_second, rows.n, width), weight);
        let inputs = &mut adjoints.inputs[here.range(1)];
        inputs.fill(R::ZERO);
        if self.message_skips() {
            let embeddings = self.embeddings.of_mut(grads);
            for (row, grad) in grad_first.chunks_exact(width).enumerate() {
                let node = rows.node(row, d);
                inputs[row] = grad[node];
                add_into(&mut embeddings[node * e..(node + 1) * e], &grad[d..]);
            }
            let slopes = &trace.message_slopes[rows.range(width)];
            multiply_into(grad_first, slopes);
        } else {
            multiply_by_slopes(grad_first, first);
        }
        vectorised(
            #[inline(always)]
            || {
                for (row, grad) in grad_first.chunks_exact(width).enumerate() {
                    let node = rows.node(row, d) * width;
                    inputs[row] += dot(grad, &weights.message_columns[node..node + width]);
                }
            },
        );
    }

    /// Adds the gradients of the message net's weights, once the adjoints of these rows are known.
    pub(crate) fn add_message_gradients<R: Real>(
        &self,
        grads: &mut [R],
        trace: &NodeTrace<R>,
        adjoints: &NodeAdjoints<R>,
        rows: Rows,
    ) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.sizes;
        let here = adjoints.here(rows);
        let wide = rows.range(width);
        let second = &adjoints.message_second[here.range(width)];
        let messages = &adjoints.messages[here.range(e)];
        self.message[2].add_gradients(grads, &trace.message_second[wide.clone()], messages);
        self.message[1].add_gradients(grads, &trace.message_first[wide], second);
        let inputs = &trace.inputs[rows.range(1)];
        let first = &adjoints.message_first[here.range(width)];
        vectorised(
            #[inline(always)]
            || {
                for (row, grad) in first.chunks_exact(width).enumerate() {
                    let node = rows.node(row, d) * width;
                    let node = node..node + width;
                    let offsets = &mut self.message_offsets.of_mut(grads)[node.clone()];
                    add_into(offsets, grad);
                    let columns = &mut self.message_columns.of_mut(grads)[node];
                    add_scaled(columns, inputs[row], grad);
                }
            },
        );
    }

    /// Adds the gradients of the combining net's weights.
    pub(crate) fn add_combine_gradients<R: Real>(
        &self,
        grads: &mut [R],
        trace: &NodeTrace<R>,
        adjoints: &NodeAdjoints<R>,
        rows: Rows,
    ) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.sizes;
        let here = adjoints.here(rows);
        let wide = rows.range(width);
        let grad_second = &adjoints.combine_second[here.range(width)];
        self.combine[1].add_gradients(grads, &trace.combine_first[wide.clone()], grad_second);
        let grad_first = &adjoints.combine_first[here.range(width)];
        let aggregates = View::new(&trace.aggregates[rows.range(e)], rows.n, e);
        let by_first = View::new(grad_first, rows.n, width).t();
        add_product(self.combine[0].weight.of_mut(grads), 2 * e, by_first, aggregates);
        let outputs = adjoints.outputs[here.range(1)].chunks(rows.per_node);
        let size = rows.per_node * width;
        let second = trace.combine_second[wide].chunks(size).zip(grad_first.chunks(size));
        vectorised(
            #[inline(always)]
            || {
                for (block, (outputs, (second, first))) in outputs.zip(second).enumerate() {
                    let node = block % d;
                    let bias = &mut self.combine[2].bias.of_mut(grads)[node];
                    outputs.iter().for_each(|&output| *bias += output);
                    let node = node * width..(node + 1) * width;
                    let last = &mut self.combine[2].weight.of_mut(grads)[node.clone()];
                    for (&output, second) in outputs.iter().zip(second.chunks_exact(width)) {
                        add_scaled(last, output, second);
                    }
                    let offsets = &mut self.combine_offsets.of_mut(grads)[node];
                    first.chunks_exact(width).for_each(|first| add_into(offsets, first));
                }
            },
        );
    }

    /// Splits the adjoints of strengths into those of the graph and the gradient of the weights.
    pub(crate) fn edge_strengths_backward<R: Real>(
        &self,
        WithGradient { parameters, grads }: WithGradient<'_, R>,
        graph: &[R],
        grad_strengths: &mut [R],
    ) {
        let Some(slot) = self.edge_weights else { return };
        add_product_entries(slot.of_mut(grads), grad_strengths, graph);
        multiply_into(grad_strengths, slot.of(parameters));
    }

    /// Turns the scratch sums into gradients, once per step and after all rows.
    pub(crate) fn finish_gradients<R: Real>(&self, parameters: &[R], grads: &mut [R]) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.sizes;
        let embeddings = View::new(self.embeddings.of(parameters), d, e);
        let scratch_start = self.message_columns.offset;
        let (grads, scratch) = grads.split_at_mut(scratch_start);
        let place = |slot: Slot| {
            let start = slot.offset - scratch_start;
            &scratch[start..start + slot.len()]
        };
        let swept = place(self.message_second);
        let second = self.message[1].weight.of_mut(grads);
        for (unit, row) in swept.chunks_exact(width).enumerate() {
            for (out, &grad) in row.iter().enumerate() {
                second[out * width + unit] += grad;
            }
        }
        let columns = place(self.message_columns);
        let first = self.message[0].weight.of_mut(grads);
        for node in 0..d {
            for idx in 0..width {
                first[idx * (d + e) + node] += columns[node * width + idx];
            }
        }
        for (offsets, layer, skipped) in [
            (place(self.message_offsets), self.message[0], d),
            (place(self.combine_offsets), self.combine[0], e),
        ] {
            add_column_sums(layer.bias.of_mut(grads), offsets);
            let offsets = View::new(offsets, d, width);
            let weight = &layer.weight.of(parameters)[skipped..];
            let weight = View::strided(weight, [width, e], layer.n_in());
            add_product(self.embeddings.of_mut(grads), e, offsets, weight);
            let weight_grads = &mut layer.weight.of_mut(grads)[skipped..];
            add_product(weight_grads, layer.n_in(), offsets.t(), embeddings);
        }
    }
}

/// `out += a b`, entry by entry.
fn add_product_entries<R: Real>(out: &mut [R], a: &[R], b: &[R]) {
    for (out, (&a, &b)) in out.iter_mut().zip(a.iter().zip(b)) {
        *out += a * b;
    }
}

/// Multiplies adjoints by the slopes of plain LeakyReLU outputs, which keep the argument's sign.
fn multiply_by_slopes<R: Real>(grads: &mut [R], activations: &[R]) {
    vectorised(
        #[inline(always)]
        || {
            for (grad, &activation) in grads.iter_mut().zip(activations) {
                // Always a product: a branch that leaves the number alone would not vectorise.
                *grad *= leaky_slope(activation > R::ZERO);
            }
        },
    );
}
