//! The derivative of each node's output by its own input, carried forward beside the values.

use super::{NodeFunction, NodeSizes, NodeTrace, NodeWeights, Rows};
use crate::nn::kernels::{View, dot, leaky_slope, product};
use crate::nn::real::Real;

impl NodeFunction {
    /// Writes d output_j / d z_j for every row of a trace, all nodes of one series.
    pub fn own_derivatives<R: Real>(
        &self,
        parameters: &[R],
        weights: &NodeWeights<R>,
        strengths: &[R],
        (trace, rows): (&NodeTrace<R>, Rows),
        out: &mut [R],
    ) {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = self.sizes;
        let (wide, n) = (rows.range(width), rows.n);
        let first = &trace.message_first[wide.clone()];
        let mut tangent = vec![R::ZERO; n * width];
        for (row, tangent) in tangent.chunks_exact_mut(width).enumerate() {
            let node = rows.node(row, d);
            let column = &weights.message_columns[node * width..(node + 1) * width];
            for idx in 0..width {
                let place = row * width + idx;
                let slope = if self.message_skips() {
                    trace.message_slopes[wide.start + place]
                } else {
                    leaky_slope(first[place] > R::ZERO)
                };
                tangent[idx] = slope * column[idx];
            }
            if self.message_skips() {
                tangent[node] += R::ONE;
            }
        }
        let second = &trace.message_second[wide.clone()];
        let tangent = through_skip(&tangent, &weights.message_second, first, second, width);
        let mut messages = vec![R::ZERO; n * e];
        let last = View::new(&weights.message_last, width, e);
        product(&mut messages, e, View::new(&tangent, n, width), last);
        for (row, message) in messages.chunks_exact_mut(e).enumerate() {
            let node = rows.node(row, d);
            for value in message {
                *value *= strengths[node * d + node];
            }
        }
        let mut tangent = vec![R::ZERO; n * width];
        let combine_first = View::new(&weights.combine_first, e, width);
        product(&mut tangent, width, View::new(&messages, n, e), combine_first);
        let first = &trace.combine_first[wide.clone()];
        for (row, tangent) in tangent.chunks_exact_mut(width).enumerate() {
            for idx in 0..width {
                let place = row * width + idx;
                if self.combine_skips() {
                    let straight = if idx < e { messages[row * e + idx] } else { R::ZERO };
                    tangent[idx] =
                        trace.combine_slopes[wide.start + place] * tangent[idx] + straight;
                } else {
                    tangent[idx] *= leaky_slope::<R>(first[place] > R::ZERO);
                }
            }
        }
        let second = &trace.combine_second[wide];
        let tangent = through_skip(&tangent, &weights.combine_second, first, second, width);
        let last = self.combine[2].weight.of(parameters);
        for (row, tangent) in tangent.chunks_exact(width).enumerate() {
            let node = rows.node(row, d);
            out[row] = dot(tangent, &last[node * width..(node + 1) * width]);
        }
    }
}

/// The tangent of `x + leaky(W x + b)`, whose slope shows in whether the layer made x grow.
fn through_skip<R: Real>(
    tangent: &[R],
    weight: &[R],
    before: &[R],
    after: &[R],
    width: usize,
) -> Vec<R> {
    let n_rows = tangent.len() / width;
    let mut out = vec![R::ZERO; tangent.len()];
    product(&mut out, width, View::new(tangent, n_rows, width), View::new(weight, width, width));
    for idx in 0..out.len() {
        out[idx] = tangent[idx] + out[idx] * leaky_slope::<R>(after[idx] > before[idx]);
    }
    out
}
