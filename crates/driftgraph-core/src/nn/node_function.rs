//! The graph-gated network of prior drift and diffusion, Eq. 8 (eq: drift design).
//!
//! out_j = combine_net( Σ_i A_ij message_net(z_i, e_i), e_j ),   A_ij = G_ij w_ij.
//!
//! Both nets have two hidden layers, LeakyReLU, and a skip where the widths of a hidden layer match.
//! A row is one node at one point in time; the rows of a block are `[.., node, time]`, with
//! `per_node` consecutive rows (points in time) of the same node.

mod frozen;
mod gradients;
mod sweep;
mod tangent;
#[cfg(test)]
mod tests;
mod trace;

pub(crate) use frozen::{FrozenBuffers, FrozenNode, ParentLists};
pub(crate) use sweep::{MessageBends, SweepWorkspace, SweptAdjoints, SweptMessages, SweptNode};
pub(crate) use tangent::{NodeTangents, TangentRows};
pub(crate) use trace::{NodeAdjoints, NodeTrace, Rows};

use super::linear::Linear;
use super::parameters::{Init, ParameterTable, Slot};
use crate::numeric::kernels::{
    View, add_into, add_product, dot, fill_rows, leaky, leaky_slope, product, transpose, vectorised,
};
use crate::numeric::real::Real;

/// Sizes of a node function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeSizes {
    /// Number of variables, D.
    pub n_variables: usize,
    /// Size of a node's embedding, and of a message.
    pub embedding: usize,
    /// Width of the hidden layers.
    pub width: usize,
    /// Whether messages are multiplied by a free weight per edge, which starts at 0.
    pub edge_weights: bool,
}

/// Places of the parameters of one node function.
///
/// The message net's first layer sees a vector that is zero but for z_i at place i, then the
/// embedding; of the combining net's D outputs only number j is used at node j. Both are computed
/// as what they are: one column and one row per node.
#[derive(Debug, Clone, Copy)]
pub struct NodeFunction {
    sizes: NodeSizes,
    embeddings: Slot,
    edge_weights: Option<Slot>,
    message: [Linear; 3],
    combine: [Linear; 3],
    /// Scratch: adjoints of the first layers' node-wise parts, `[node, width]`.
    message_columns: Slot,
    message_offsets: Slot,
    combine_offsets: Slot,
    /// Scratch: gradient of the message net's second layer, transposed, by sweeps.
    message_second: Slot,
}

/// What all rows of a step share: first layers' node-wise parts, and transposed weights.
#[derive(Debug, Clone, Default)]
pub struct NodeWeights<R> {
    /// Weight of z_i in the message net's first layer, `[node, width]`.
    message_columns: Vec<R>,
    /// Embedding's share and bias of the message net's first layer, `[node, width]`.
    message_offsets: Vec<R>,
    /// The same of the combining net.
    combine_offsets: Vec<R>,
    message_second: Vec<R>,
    message_last: Vec<R>,
    combine_first: Vec<R>,
    combine_second: Vec<R>,
}

impl NodeFunction {
    /// Adds the parameters of `name` to the table.
    pub fn new(table: &mut ParameterTable, name: &str, sizes: NodeSizes) -> Self {
        let NodeSizes { n_variables, embedding, width, edge_weights } = sizes;
        let embeddings =
            table.add(format!("{name}.embeddings"), [n_variables, embedding], Init::Normal(0.01));
        let edge_weights = edge_weights.then(|| {
            let shape = [n_variables, n_variables];
            table.add(format!("{name}.edge_weights"), shape, Init::Constant(0.0))
        });
        let mut net = |part: &str, n_in: usize, n_out: usize| {
            let ends = [(n_in, width), (width, width), (width, n_out)];
            let mut idx = 0;
            ends.map(|(n_in, n_out)| {
                idx += 1;
                Linear::new(table, &format!("{name}.{part}.{}", idx - 1), n_in, n_out)
            })
        };
        let message = net("message", n_variables + embedding, embedding);
        let combine = net("combine", 2 * embedding, n_variables);
        let unplaced = Slot { offset: 0, rows: 0, cols: 0 };
        Self {
            sizes,
            embeddings,
            edge_weights,
            message,
            combine,
            message_columns: unplaced,
            message_offsets: unplaced,
            combine_offsets: unplaced,
            message_second: unplaced,
        }
    }

    /// Reserves scratch entries, once all parameters of the model have their places.
    pub fn reserve_scratch(&mut self, table: &mut ParameterTable) {
        let shape = [self.sizes.n_variables, self.sizes.width];
        self.message_columns = table.add_scratch(shape);
        self.message_offsets = table.add_scratch(shape);
        self.combine_offsets = table.add_scratch(shape);
        self.message_second = table.add_scratch([self.sizes.width, self.sizes.width]);
    }

    /// The same function for buffers that begin `offset` entries later.
    #[must_use]
    pub(crate) fn moved_back(mut self, offset: usize) -> Self {
        let layers = self.message.iter_mut().chain(&mut self.combine);
        let slots = layers.flat_map(|layer| [&mut layer.weight, &mut layer.bias]);
        let own = [
            &mut self.embeddings,
            &mut self.message_columns,
            &mut self.message_offsets,
            &mut self.combine_offsets,
            &mut self.message_second,
        ];
        for slot in slots.chain(own).chain(&mut self.edge_weights) {
            slot.offset -= offset;
        }
        self
    }

    /// Place of its first parameter; all its others follow.
    pub fn offset(&self) -> usize {
        self.embeddings.offset
    }

    /// The sizes it was made with.
    pub fn sizes(&self) -> NodeSizes {
        self.sizes
    }

    /// Whether the message net's first layer has a skip.
    fn message_skips(&self) -> bool {
        self.sizes.n_variables + self.sizes.embedding == self.sizes.width
    }

    /// Whether the combining net's first layer has a skip.
    fn combine_skips(&self) -> bool {
        2 * self.sizes.embedding == self.sizes.width
    }

    /// Computes what all rows of a step share.
    pub fn prepare<R: Real>(&self, parameters: &[R], weights: &mut NodeWeights<R>) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.sizes;
        let embeddings = View::new(self.embeddings.of(parameters), d, e);
        let NodeWeights { message_columns, message_offsets, combine_offsets, .. } = weights;
        let first = self.message[0].weight.of(parameters);
        message_columns.resize(d * width, R::ZERO);
        for node in 0..d {
            for idx in 0..width {
                message_columns[node * width + idx] = first[idx * (d + e) + node];
            }
        }
        for (offsets, layer, skipped) in
            [(message_offsets, self.message[0], d), (combine_offsets, self.combine[0], e)]
        {
            offsets.resize(d * width, R::ZERO);
            fill_rows(offsets, layer.bias.of(parameters));
            let weight = &layer.weight.of(parameters)[skipped..];
            let weight = View::strided(weight, [width, e], layer.n_in());
            add_product(offsets, width, embeddings, weight.t());
        }
        for (copy, layer) in [
            (&mut weights.message_second, self.message[1]),
            (&mut weights.message_last, self.message[2]),
            (&mut weights.combine_first, self.combine[0]),
            (&mut weights.combine_second, self.combine[1]),
        ] {
            copy.resize(layer.weight.len(), R::ZERO);
            transpose(copy, layer.weight.of(parameters), layer.n_out(), layer.n_in());
        }
    }

    /// A_ij = G_ij w_ij, the strength with which i's message reaches j; `[source, target]`.
    pub(crate) fn edge_strengths<R: Real>(&self, parameters: &[R], graph: &[R], out: &mut [R]) {
        out.copy_from_slice(graph);
        if let Some(slot) = self.edge_weights {
            for (out, &weight) in out.iter_mut().zip(slot.of(parameters)) {
                *out *= weight;
            }
        }
    }

    /// Fills the trace's messages from its inputs: message_net(z_i, e_i) in every row.
    pub fn messages<R: Real>(
        &self,
        parameters: &[R],
        weights: &NodeWeights<R>,
        trace: &mut NodeTrace<R>,
        rows: Rows,
    ) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.sizes;
        let skips = self.message_skips();
        let range = rows.range(width);
        let inputs = &trace.inputs[rows.range(1)];
        let first = &mut trace.message_first[range.clone()];
        vectorised(
            #[inline(always)]
            || {
                let blocks = first.chunks_mut(rows.per_node * width).enumerate();
                for ((block, out), inputs) in blocks.zip(inputs.chunks(rows.per_node)) {
                    let node = block % d * width;
                    let column = &weights.message_columns[node..node + width];
                    let offset = &weights.message_offsets[node..node + width];
                    for (out, &input) in out.chunks_exact_mut(width).zip(inputs) {
                        for idx in 0..width {
                            out[idx] = leaky(input * column[idx] + offset[idx]);
                        }
                    }
                }
            },
        );
        if skips {
            keep_slopes(first, &mut trace.message_slopes[range.clone()]);
            let embeddings = self.embeddings.of(parameters);
            for (row, out) in first.chunks_exact_mut(width).enumerate() {
                let node = rows.node(row, d);
                out[node] += inputs[row];
                add_into(&mut out[d..], &embeddings[node * e..(node + 1) * e]);
            }
        }
        let second = &mut trace.message_second[range];
        let bias = self.message[1].bias.of(parameters);
        hidden_with_skip(first, &weights.message_second, bias, second);
        let messages = &mut trace.messages[rows.range(e)];
        fill_rows(messages, self.message[2].bias.of(parameters));
        let last = View::new(&weights.message_last, width, e);
        add_product(messages, e, View::new(second, rows.n, width), last);
    }

    /// Fills the trace's aggregates: Σ_i A_ij message_i, for one graph.
    ///
    /// `rows` are all nodes of one series, each with its points in time.
    pub fn aggregate<R: Real>(&self, strengths: &[R], trace: &mut NodeTrace<R>, rows: Rows) {
        let d = self.sizes.n_variables;
        let width = rows.per_node * self.sizes.embedding;
        let range = rows.range(self.sizes.embedding);
        let messages = View::new(&trace.messages[range.clone()], d, width);
        product(&mut trace.aggregates[range], width, View::new(strengths, d, d).t(), messages);
    }

    /// The same from messages `[source, point]` that lie elsewhere.
    pub(crate) fn aggregate_swept<R: Real>(
        &self,
        strengths: &[R],
        messages: SweptMessages<'_, R>,
        trace: &mut NodeTrace<R>,
        rows: Rows,
    ) {
        let (d, e) = (self.sizes.n_variables, self.sizes.embedding);
        let width = rows.per_node * e;
        let messages = messages.view(self.sizes, rows.per_node);
        let aggregates = &mut trace.aggregates[rows.range(e)];
        product(aggregates, width, View::new(strengths, d, d).t(), messages);
    }

    /// Fills the trace's outputs from its aggregates: combine_net(aggregate_j, e_j)_j.
    pub fn combine<R: Real>(
        &self,
        parameters: &[R],
        weights: &NodeWeights<R>,
        trace: &mut NodeTrace<R>,
        rows: Rows,
    ) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.sizes;
        let range = rows.range(width);
        let aggregates = &trace.aggregates[rows.range(e)];
        let first = &mut trace.combine_first[range.clone()];
        let first_weight = View::new(&weights.combine_first, e, width);
        product(first, width, View::new(aggregates, rows.n, e), first_weight);
        let skips = self.combine_skips();
        let slopes = &mut trace.combine_slopes[if skips { range.clone() } else { 0..0 }];
        let embeddings = self.embeddings.of(parameters);
        let size = rows.per_node * width;
        vectorised(
            #[inline(always)]
            || {
                for (block, out) in first.chunks_mut(size).enumerate() {
                    let node = block % d;
                    let offset = &weights.combine_offsets[node * width..(node + 1) * width];
                    for out in out.chunks_exact_mut(width) {
                        for idx in 0..width {
                            out[idx] = leaky(out[idx] + offset[idx]);
                        }
                    }
                }
                if !skips {
                    return;
                }
                let blocks = first.chunks_mut(size).zip(slopes.chunks_mut(size));
                let sums = aggregates.chunks(rows.per_node * e);
                for (block, ((out, slopes), sums)) in blocks.zip(sums).enumerate() {
                    keep_slopes(out, slopes);
                    let node = block % d;
                    let embedding = &embeddings[node * e..(node + 1) * e];
                    for (out, sum) in out.chunks_exact_mut(width).zip(sums.chunks_exact(e)) {
                        add_into(&mut out[..e], sum);
                        add_into(&mut out[e..], embedding);
                    }
                }
            },
        );
        let second = &mut trace.combine_second[range];
        let bias = self.combine[1].bias.of(parameters);
        hidden_with_skip(first, &weights.combine_second, bias, second);
        let (last, bias) = (&self.combine[2].weight.of(parameters), &self.combine[2].bias);
        let bias = bias.of(parameters);
        let outputs = &mut trace.outputs[rows.range(1)];
        vectorised(
            #[inline(always)]
            || {
                let blocks = second.chunks(size).zip(outputs.chunks_mut(rows.per_node));
                for (block, (hidden, outputs)) in blocks.enumerate() {
                    let node = block % d;
                    let weight = &last[node * width..(node + 1) * width];
                    for (hidden, output) in hidden.chunks_exact(width).zip(outputs) {
                        *output = dot(hidden, weight) + bias[node];
                    }
                }
            },
        );
    }
}

/// `out = input + leaky(W input + b)`; `weight` is transposed, `[in, out]`.
fn hidden_with_skip<R: Real>(input: &[R], weight: &[R], bias: &[R], out: &mut [R]) {
    let width = bias.len();
    let n_rows = out.len() / width;
    product(out, width, View::new(input, n_rows, width), View::new(weight, width, width));
    vectorised(
        #[inline(always)]
        || {
            for (out, input) in out.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
                for idx in 0..width {
                    out[idx] = input[idx] + leaky(out[idx] + bias[idx]);
                }
            }
        },
    );
}

/// Keeps the slopes of activations whose sign a skip is about to hide.
#[expect(clippy::inline_always, reason = "called inside a vectorised loop")]
#[inline(always)]
fn keep_slopes<R: Real>(activations: &[R], slopes: &mut [R]) {
    for (slope, &activation) in slopes.iter_mut().zip(activations) {
        *slope = leaky_slope(activation > R::ZERO);
    }
}
