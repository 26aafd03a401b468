//! A node function whose parameters no longer change, arranged for very many evaluations.
//!
//! message_net sees one number and is piecewise linear in it: each node's message is a table of lines. What
//! is left per node and state is a sum over parents and the combining net, computed for a few rows at a
//! time so that nothing leaves the registers and the nearest cache.

mod lines;

use super::{NodeFunction, NodeSizes, NodeWeights};
use crate::numeric::kernels::{leaky, vectorised};
use lines::{LineTable, Lines};

/// Bytes of tables that are worth their place in the cache.
const MOST_BYTES: usize = 16 << 20;
/// Columns of the hidden layer that are computed together, in registers.
const LANES: usize = 16;
/// Rows that are computed together, each with its path and node.
const ROWS: usize = 4;
/// A node function with fixed parameters, in single precision.
#[derive(Debug, Clone)]
pub(crate) struct FrozenNode {
    n_nodes: usize,
    width: usize,
    /// The width, filled up with zeros to whole lanes.
    padded: usize,
    /// Entries of a message, filled up with zeros to whole lanes.
    n_message: usize,
    /// Whether the first layer has a skip.
    skips: bool,
    tables: Vec<LineTable>,
    /// First layer without messages, `[node, padded]`.
    offsets: Vec<f32>,
    /// What the skip adds beside the aggregate, `[node, padded]`.
    skipped: Vec<f32>,
    /// First layer of an aggregate, `[column block, input, lane]`.
    first: Vec<f32>,
    /// Second layer, `[column block, input, lane]`, and its bias.
    second: Vec<f32>,
    second_bias: Vec<f32>,
    /// Last layer, `[node, padded]`, and its bias.
    last: Vec<f32>,
    last_bias: Vec<f32>,
}

/// Room for one block of states.
#[derive(Debug, Clone, Default)]
pub(crate) struct FrozenBuffers {
    /// Messages of all states, `[path, node, entry]`.
    messages: Vec<f32>,
    /// Aggregates and hidden layer of the rows at hand.
    aggregates: Vec<f32>,
    hidden: Vec<f32>,
}

/// Edges of a graph with their strengths, by target.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParentLists {
    /// First entry of each target, and the end; one graph after the other.
    starts: Vec<u32>,
    parents: Vec<(u32, f32)>,
    n_nodes: usize,
}

impl ParentLists {
    /// Lists the edges of graphs `[graph, source, target]` that carry anything.
    pub(crate) fn new(strengths: &[f32], n_nodes: usize) -> Self {
        let mut lists = Self { n_nodes, starts: vec![0], ..Self::default() };
        for graph in strengths.chunks_exact(n_nodes * n_nodes) {
            for target in 0..n_nodes {
                let column = graph.iter().skip(target).step_by(n_nodes).enumerate();
                let present = column.filter(|(_, strength)| **strength != 0.0);
                lists.parents.extend(present.map(|(source, &s)| (source as u32, s)));
                lists.starts.push(lists.parents.len() as u32);
            }
        }
        lists
    }

    /// Number of graphs.
    pub(crate) fn n_graphs(&self) -> usize {
        (self.starts.len() - 1) / self.n_nodes.max(1)
    }

    #[inline]
    fn of(&self, graph: usize, target: usize) -> &[(u32, f32)] {
        let at = graph * self.n_nodes + target;
        &self.parents[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

impl FrozenNode {
    /// Freezes a function; `None` where its tables would be too large to be of use.
    pub(crate) fn new(
        function: &NodeFunction,
        parameters: &[f32],
        weights: &NodeWeights<f32>,
    ) -> Option<Self> {
        let NodeSizes { n_variables: d, embedding: e, width, .. } = function.sizes;
        let padded = width.next_multiple_of(LANES);
        let skips = function.combine_skips();
        let n_message = e.next_multiple_of(LANES);
        // At least one line per unit of the first layer.
        if d * width * 2 * n_message * size_of::<f32>() > MOST_BYTES {
            return None;
        }
        let tables: Vec<LineTable> = (0..d)
            .map(|node| Lines { function, parameters, weights, node, n_message }.table())
            .collect::<Option<_>>()?;
        let pad = |matrix: &[f32]| -> Vec<f32> {
            let rows = matrix.chunks_exact(width);
            rows.flat_map(|row| (0..padded).map(|idx| row.get(idx).copied().unwrap_or(0.0)))
                .collect()
        };
        let mut skipped = vec![0.0; d * padded];
        if skips {
            let embeddings = function.embeddings.of(parameters);
            for node in 0..d {
                skipped[node * padded + e..node * padded + 2 * e]
                    .copy_from_slice(&embeddings[node * e..(node + 1) * e]);
            }
        }
        let in_blocks = |matrix: &[f32], n_in: usize| -> Vec<f32> {
            let cells = (0..padded).step_by(LANES).flat_map(|block| {
                (0..n_in).flat_map(move |input| (block..block + LANES).map(move |col| (input, col)))
            });
            cells
                .map(|(input, col)| if col < width { matrix[input * width + col] } else { 0.0 })
                .collect()
        };
        Some(Self {
            n_nodes: d,
            width,
            padded,
            n_message,
            skips,
            tables,
            offsets: pad(&weights.combine_offsets),
            skipped,
            // The first rows of the combining net's first layer belong to the aggregate.
            first: in_blocks(&weights.combine_first, e),
            second: in_blocks(&weights.combine_second, width),
            second_bias: pad(function.combine[1].bias.of(parameters)),
            last: pad(function.combine[2].weight.of(parameters)),
            last_bias: function.combine[2].bias.of(parameters).to_vec(),
        })
    }

    /// Outputs at states `[path, node]`, under one graph for all paths or one per path.
    pub(crate) fn outputs(
        &self,
        graphs: &ParentLists,
        states: &[f32],
        buffers: &mut FrozenBuffers,
        out: &mut [f32],
    ) {
        let n_rows = states.len().next_multiple_of(ROWS);
        buffers.messages.resize(states.len() * self.n_message, 0.0);
        buffers.aggregates.resize(ROWS * self.n_message, 0.0);
        buffers.hidden.resize(ROWS * self.padded, 0.0);
        vectorised(
            #[inline(always)]
            || {
                self.messages(states, &mut buffers.messages);
                let mut next = (0, 0);
                for first in (0..n_rows).step_by(ROWS) {
                    let n = ROWS.min(states.len() - first);
                    // Counted on: a division per row would cost as much as a layer.
                    let mut places = [(0, 0); ROWS];
                    for place in &mut places {
                        *place = next;
                        next.1 += 1;
                        if next.1 == self.n_nodes {
                            next = (next.0 + 1, 0);
                        }
                    }
                    self.aggregate(graphs, &places[..n], buffers);
                    self.first_layer(&places, buffers);
                    self.hidden_and_last(&places, &buffers.hidden, &mut out[first..first + n]);
                }
            },
        );
    }

    /// Node by node, so that one table at a time is in the nearest cache.
    #[expect(clippy::inline_always, reason = "runs inside a vectorised closure")]
    #[inline(always)]
    fn messages(&self, states: &[f32], messages: &mut [f32]) {
        let n_blocks = self.n_message / LANES;
        let messages = blocks_mut(messages);
        for (node, table) in self.tables.iter().enumerate() {
            let lines = blocks(&table.lines);
            for row in (node..states.len()).step_by(self.n_nodes) {
                let z = states[row];
                let first = 2 * n_blocks * table.segment(z);
                for block in 0..n_blocks {
                    let (mut value, slope) =
                        (lines[first + block], lines[first + n_blocks + block]);
                    for lane in 0..LANES {
                        value[lane] = slope[lane].mul_add(z, value[lane]);
                    }
                    messages[row * n_blocks + block] = value;
                }
            }
        }
    }

    #[expect(clippy::inline_always, reason = "runs inside a vectorised closure")]
    #[inline(always)]
    fn aggregate(
        &self,
        graphs: &ParentLists,
        places: &[(usize, usize)],
        buffers: &mut FrozenBuffers,
    ) {
        let (d, n_blocks) = (self.n_nodes, self.n_message / LANES);
        let shared = graphs.n_graphs() == 1;
        let messages = blocks(&buffers.messages);
        let aggregates = blocks_mut(&mut buffers.aggregates);
        for (row, &(path, node)) in places.iter().enumerate() {
            let parents = graphs.of(if shared { 0 } else { path }, node);
            let own = &messages[path * d * n_blocks..(path + 1) * d * n_blocks];
            for block in 0..n_blocks {
                let mut sum = [0.0; LANES];
                for &(source, strength) in parents {
                    let message = own[source as usize * n_blocks + block];
                    for lane in 0..LANES {
                        sum[lane] = strength.mul_add(message[lane], sum[lane]);
                    }
                }
                aggregates[row * n_blocks + block] = sum;
            }
        }
    }

    /// h = leaky(W a + offset), with the skip where there is one.
    #[expect(clippy::inline_always, reason = "runs inside a vectorised closure")]
    #[inline(always)]
    fn first_layer(&self, places: &[(usize, usize); ROWS], buffers: &mut FrozenBuffers) {
        let (n_blocks, n_inputs) = (self.padded / LANES, self.first.len() / self.padded);
        let n_message = self.n_message / LANES;
        let aggregates = &buffers.aggregates;
        let hidden = blocks_mut(&mut buffers.hidden);
        for block in 0..n_blocks {
            let weights = &self.first[block * LANES * n_inputs..(block + 1) * LANES * n_inputs];
            let sums = products(aggregates, self.n_message, weights);
            for row in 0..ROWS {
                let node = places[row].1 * n_blocks + block;
                let (offset, mut out) = (blocks(&self.offsets)[node], blocks(&self.skipped)[node]);
                for lane in 0..LANES {
                    out[lane] += leaky(sums[row][lane] + offset[lane]);
                }
                if self.skips && block < n_message {
                    let aggregate = blocks(aggregates)[row * n_message + block];
                    for lane in 0..LANES {
                        out[lane] += aggregate[lane];
                    }
                }
                hidden[row * n_blocks + block] = out;
            }
        }
    }

    /// out = last · (h + leaky(W h + b)).
    #[expect(clippy::inline_always, reason = "runs inside a vectorised closure")]
    #[inline(always)]
    fn hidden_and_last(&self, places: &[(usize, usize); ROWS], hidden: &[f32], out: &mut [f32]) {
        let (n_blocks, width) = (self.padded / LANES, self.width);
        let mut totals = [[0.0_f32; LANES]; ROWS];
        for block in 0..n_blocks {
            let weights = &self.second[block * LANES * width..(block + 1) * LANES * width];
            let sums = products(hidden, self.padded, weights);
            let bias = blocks(&self.second_bias)[block];
            for row in 0..ROWS {
                let own = blocks(hidden)[row * n_blocks + block];
                let last = blocks(&self.last)[places[row].1 * n_blocks + block];
                totals[row] = grown(totals[row], [sums[row], bias, own, last]);
            }
        }
        for (row, out) in out.iter_mut().enumerate() {
            *out = self.last_bias[places[row].1] + lane_sum(totals[row]);
        }
    }
}

/// Whole blocks of lanes.
#[expect(clippy::inline_always, reason = "runs inside a vectorised closure")]
#[inline(always)]
fn blocks(values: &[f32]) -> &[[f32; LANES]] {
    values.as_chunks().0
}

#[expect(clippy::inline_always, reason = "runs inside a vectorised closure")]
#[inline(always)]
fn blocks_mut(values: &mut [f32]) -> &mut [[f32; LANES]] {
    values.as_chunks_mut().0
}

/// total + last (hidden + leaky(sum + bias)), lane by lane.
#[expect(clippy::inline_always, reason = "runs inside a vectorised closure")]
#[inline(always)]
fn grown(mut total: [f32; LANES], [sum, bias, hidden, last]: [[f32; LANES]; 4]) -> [f32; LANES] {
    for lane in 0..LANES {
        total[lane] += last[lane] * (hidden[lane] + leaky(sum[lane] + bias[lane]));
    }
    total
}

/// The sum of all lanes, halving their number.
#[expect(clippy::inline_always, reason = "runs inside a vectorised closure")]
#[inline(always)]
fn lane_sum(mut lanes: [f32; LANES]) -> f32 {
    let mut n = LANES / 2;
    while n > 0 {
        for lane in 0..n {
            lanes[lane] += lanes[lane + n];
        }
        n /= 2;
    }
    lanes[0]
}

/// Σ_k rows[row, k] weights[k, lane].
///
/// The one loop that is fused: it is most of the work. A machine without fused instructions is slower
/// here, but gets the same bits.
#[expect(clippy::inline_always, reason = "runs inside a vectorised closure")]
#[inline(always)]
fn products(rows: &[f32], stride: usize, weights: &[f32]) -> [[f32; LANES]; ROWS] {
    let mut sums = [[0.0_f32; LANES]; ROWS];
    let (weights, _) = weights.as_chunks::<LANES>();
    let rows: [&[f32]; ROWS] =
        std::array::from_fn(|row| &rows[row * stride..row * stride + weights.len()]);
    for (k, weight) in weights.iter().enumerate() {
        for row in 0..ROWS {
            let x = rows[row][k];
            for lane in 0..LANES {
                sums[row][lane] = x.mul_add(weight[lane], sums[row][lane]);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::init::initial_values;
    use crate::nn::node_function::{NodeTrace, Rows};
    use crate::nn::parameters::ParameterTable;
    use crate::random::{Purpose, RandomStream};

    #[test]
    fn a_frozen_function_computes_what_the_layers_compute() {
        // Widths with a skip in the combining net, in the message net, in neither.
        for (d, embedding, width) in [(5, 8, 16), (5, 11, 16), (7, 6, 20)] {
            let mut table = ParameterTable::default();
            let sizes = NodeSizes { n_variables: d, embedding, width, edge_weights: false };
            let function = NodeFunction::new(&mut table, "net", sizes);
            let mut parameters: Vec<f32> = initial_values(&table, 3);
            parameters.iter_mut().for_each(|value| *value *= 3.0);
            let mut weights = NodeWeights::default();
            function.prepare(&parameters, &mut weights);
            let frozen = FrozenNode::new(&function, &parameters, &weights).unwrap();
            let n_paths = 33;
            let mut draws = vec![0.0; n_paths * d * (1 + d)];
            RandomStream::new(2, Purpose::System, 0).fill_normal(&mut draws);
            let (states, graphs) = draws.split_at(n_paths * d);
            let mut states: Vec<f32> = states.iter().map(|&z| 3.0 * z as f32).collect();
            (states[0], states[1]) = (1e4, -1e4);
            let present = |&draw: &f64| if draw > 0.3 { draw as f32 } else { 0.0 };
            let strengths: Vec<f32> = graphs.iter().map(present).collect();
            let mut trace = NodeTrace::default();
            trace.resize(&function, states.len());
            trace.inputs.copy_from_slice(&states);
            let all = Rows { first: 0, n: states.len(), per_node: 1 };
            function.messages(&parameters, &weights, &mut trace, all);
            for path in 0..n_paths {
                let one = Rows { first: path * d, n: d, per_node: 1 };
                function.aggregate(&strengths[path * d * d..(path + 1) * d * d], &mut trace, one);
            }
            function.combine(&parameters, &weights, &mut trace, all);
            let lists = ParentLists::new(&strengths, d);
            let mut out = vec![0.0; states.len()];
            frozen.outputs(&lists, &states, &mut FrozenBuffers::default(), &mut out);
            let size = trace.outputs.iter().fold(0.0_f32, |most, x| most.max(x.abs().min(1e3)));
            for (row, (found, expected)) in out.iter().zip(&trace.outputs).enumerate() {
                // Single precision through five layers, in another order of sums.
                let tolerance = 2e-5 * size.max(expected.abs());
                assert!((found - expected).abs() < tolerance, "{row}: {found} {expected}");
            }
        }
    }
}
