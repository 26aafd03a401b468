//! Messages of one node at many points, without the product of the net's hidden layers.
//!
//! A message depends on one number, z_i, and up to the second layer's argument it is piecewise linear in
//! it: leaky(z c_k + o_k) bends where z passes -o_k / c_k. With the points sorted, the argument is
//! z gain + offset, and passing a bend changes gain and offset by one row of the second layer's
//! weights. Layer by layer every point costs width² products; swept, all points of a node share them.

#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined is not compiled for the wide instructions"
)]

mod backward;

use super::{NodeFunction, NodeSizes, NodeWeights};
use crate::numeric::kernels::{
    LEAK, View, add_into, add_product, add_scaled, fill_rows, leaky, leaky_slope, product,
    vectorised,
};
use crate::numeric::real::Real;
use backward::AdjointSums;

/// Where the messages of every node bend, and how they begin; shared by all points of a step.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageBends<R> {
    /// Inputs at which a unit of the first layer changes sign, with the unit; sorted, `[node, width]`.
    bends: Vec<(R, usize)>,
    /// Slope and intercept of the second layer's argument left of all bends, `[node, width]`.
    first_gains: Vec<R>,
    first_offsets: Vec<R>,
    /// Slopes and intercepts of the first layer left of all bends, `[node, width]`.
    columns: Vec<R>,
    offsets: Vec<R>,
}

/// Buffers of a sweep; points in the order of their inputs.
#[derive(Debug, Clone, Default)]
pub(crate) struct SweepWorkspace<R> {
    keys: Vec<(i64, usize)>,
    order: Vec<usize>,
    inputs: Vec<R>,
    first: Vec<R>,
    second: Vec<R>,
    messages: Vec<R>,
    grad_first: Vec<R>,
    grad_second: Vec<R>,
    grad_inputs: Vec<R>,
    gains: Vec<R>,
    offsets: Vec<R>,
    sums: AdjointSums<R>,
}

/// Messages `[node, point, embedding]`, from one point on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SweptMessages<'a, R> {
    /// All messages.
    pub all: &'a [R],
    /// Number of points of a node.
    pub n_points: usize,
    /// The first point meant.
    pub first: usize,
}

/// Room for the adjoints of messages.
#[derive(Debug)]
pub(crate) struct SweptAdjoints<'a, R> {
    /// `[node, point, embedding]`.
    pub all: &'a mut [R],
    /// Points between the first of a node and the first of the next.
    pub n_points: usize,
}

impl<'a, R> SweptMessages<'a, R> {
    /// `n` points of all nodes, `[node, point x embedding]`.
    pub(super) fn view(self, sizes: NodeSizes, n: usize) -> View<'a, R> {
        let NodeSizes { n_variables: d, embedding: e, .. } = sizes;
        View::strided(&self.all[self.first * e..], [d, n * e], self.n_points * e)
    }
}

/// One node of a node function, with what is prepared for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SweptNode<'a, R> {
    /// The function.
    pub function: &'a NodeFunction,
    /// All parameters of the model.
    pub parameters: &'a [R],
    /// The function's prepared weights.
    pub weights: &'a NodeWeights<R>,
    /// Its prepared bends.
    pub bends: &'a MessageBends<R>,
    /// The node.
    pub node: usize,
}

impl NodeFunction {
    /// Finds the bends of all nodes' messages, once per step and after `prepare`.
    pub(crate) fn prepare_bends<R: Real>(
        &self,
        parameters: &[R],
        weights: &NodeWeights<R>,
        out: &mut MessageBends<R>,
    ) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.sizes;
        let MessageBends { bends, first_gains, first_offsets, columns, offsets } = out;
        bends.clear();
        columns.clear();
        offsets.clear();
        for node in 0..d {
            let span = node * width..(node + 1) * width;
            let pairs = weights.message_columns[span.clone()].iter();
            for (unit, (&column, &offset)) in pairs.zip(&weights.message_offsets[span]).enumerate()
            {
                // Left of all bends.
                let slope = slope_right(column, offset) - slope_change(column);
                columns.push(slope * column);
                offsets.push(slope * offset);
                // Where a unit does not depend on the input nothing changes: any place will do.
                let bends_at = if column == R::ZERO { R::ZERO } else { -offset / column };
                bends.push((bends_at, unit));
            }
            if self.message_skips() {
                let row = node * width;
                columns[row + node] += R::ONE;
                let embedding = &self.embeddings.of(parameters)[node * e..(node + 1) * e];
                add_into(&mut offsets[row + d..row + width], embedding);
            }
            bends[node * width..].sort_unstable_by(|a, b| a.0.to_f64().total_cmp(&b.0.to_f64()));
        }
        let second = View::new(&weights.message_second, width, width);
        first_gains.resize(d * width, R::ZERO);
        product(first_gains, width, View::new(columns, d, width), second);
        first_offsets.resize(d * width, R::ZERO);
        fill_rows(first_offsets, self.message[1].bias.of(parameters));
        add_product(first_offsets, width, View::new(offsets, d, width), second);
    }
}

impl<R: Real> SweptNode<'_, R> {
    /// Messages `[point, embedding]` of the node for each input.
    pub(crate) fn messages(&self, inputs: &[R], work: &mut SweepWorkspace<R>, out: &mut [R]) {
        let NodeSizes { embedding: e, width, .. } = self.function.sizes;
        self.hidden_layers(inputs, work);
        let n = inputs.len();
        work.messages.resize(n * e, R::ZERO);
        fill_rows(&mut work.messages, self.function.message[2].bias.of(self.parameters));
        let last = View::new(&self.weights.message_last, width, e);
        add_product(&mut work.messages, e, View::new(&work.second, n, width), last);
        for (message, &point) in work.messages.chunks_exact(e).zip(&work.order) {
            out[point * e..(point + 1) * e].copy_from_slice(message);
        }
    }

    /// Both hidden layers at the sorted inputs.
    fn hidden_layers(&self, inputs: &[R], work: &mut SweepWorkspace<R>) {
        let width = self.function.sizes.width;
        work.sort(inputs);
        work.first.resize(inputs.len() * width, R::ZERO);
        work.second.resize(inputs.len() * width, R::ZERO);
        let SweepWorkspace { inputs, first, second, gains, offsets, .. } = work;
        copy(gains, self.row(&self.bends.first_gains));
        copy(offsets, self.row(&self.bends.first_offsets));
        let (gains, offsets) = (&mut gains[..width], &mut offsets[..width]);
        let rows = first.chunks_exact_mut(width).zip(second.chunks_exact_mut(width));
        vectorised(
            #[inline(always)]
            || {
                let mut bends = self.row(&self.bends.bends);
                for (&input, (first, second)) in inputs.iter().zip(rows) {
                    while let Some((unit, rest)) = next_bend(bends, input) {
                        let (column, offset) = self.unit(unit);
                        let (change, weight) = (slope_change(column), self.second_weight(unit));
                        add_scaled(gains, change * column, weight);
                        add_scaled(offsets, change * offset, weight);
                        bends = rest;
                    }
                    self.first_layer(input, first);
                    let lines = gains.iter().zip(&*offsets);
                    for ((second, &first), (&gain, &offset)) in
                        second.iter_mut().zip(&*first).zip(lines)
                    {
                        *second = first + leaky(input * gain + offset);
                    }
                }
            },
        );
    }

    /// The first layer, which has a skip where the widths match.
    #[inline(always)]
    fn first_layer(&self, input: R, out: &mut [R]) {
        let (columns, offsets) =
            (self.row(&self.weights.message_columns), self.row(&self.weights.message_offsets));
        for ((out, &column), &offset) in out.iter_mut().zip(columns).zip(offsets) {
            *out = leaky(input * column + offset);
        }
        if self.function.message_skips() {
            out[self.node] += input;
            add_into(&mut out[self.function.sizes.n_variables..], self.embedding());
        }
    }

    /// This node's row of a buffer `[node, width]`.
    #[inline(always)]
    fn row<'b, T>(&self, buffer: &'b [T]) -> &'b [T] {
        let width = self.function.sizes.width;
        &buffer[self.node * width..(self.node + 1) * width]
    }

    #[inline(always)]
    fn embedding(&self) -> &[R] {
        let e = self.function.sizes.embedding;
        &self.function.embeddings.of(self.parameters)[self.node * e..(self.node + 1) * e]
    }

    /// c_k and o_k of a unit of the first layer.
    #[inline(always)]
    fn unit(&self, unit: usize) -> (R, R) {
        (
            self.row(&self.weights.message_columns)[unit],
            self.row(&self.weights.message_offsets)[unit],
        )
    }

    /// The second layer's weights of a unit of the first.
    #[inline(always)]
    fn second_weight(&self, unit: usize) -> &[R] {
        let width = self.function.sizes.width;
        &self.weights.message_second[unit * width..(unit + 1) * width]
    }
}

impl<R: Real> SweepWorkspace<R> {
    fn sort(&mut self, inputs: &[R]) {
        self.keys.clear();
        self.keys.extend(inputs.iter().enumerate().map(|(point, input)| (rank(*input), point)));
        self.keys.sort_unstable();
        self.order.clear();
        self.order.extend(self.keys.iter().map(|key| key.1));
        self.inputs.clear();
        self.inputs.extend(self.order.iter().map(|&point| inputs[point]));
    }
}

/// A whole number that orders like the float, as `total_cmp` does.
fn rank<R: Real>(value: R) -> i64 {
    let bits = value.to_f64().to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// The unit whose bend comes next, and the bends after it, if it lies left of `input`.
#[inline(always)]
fn next_bend<R: Real>(bends: &[(R, usize)], input: R) -> Option<(usize, &[(R, usize)])> {
    let (&(bend, unit), rest) = bends.split_first()?;
    (bend < input).then_some((unit, rest))
}

/// The slope of leaky(z column + offset) right of its bend.
#[inline(always)]
fn slope_right<R: Real>(column: R, offset: R) -> R {
    leaky_slope(column > R::ZERO || (column == R::ZERO && offset > R::ZERO))
}

/// How the slope changes when z passes the bend upwards.
#[inline(always)]
fn slope_change<R: Real>(column: R) -> R {
    let change = R::from_f64(1.0 - LEAK);
    if column > R::ZERO {
        change
    } else if column < R::ZERO {
        -change
    } else {
        R::ZERO
    }
}

fn copy<R: Real>(to: &mut Vec<R>, from: &[R]) {
    to.clear();
    to.extend_from_slice(from);
}
