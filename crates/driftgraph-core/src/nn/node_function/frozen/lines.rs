//! A node's message as a table of lines in its one input.

use super::MOST_BYTES;
use crate::nn::node_function::{NodeFunction, NodeSizes, NodeWeights};
use crate::numeric::kernels::LEAK;

/// Entries of the index from an input to its line, per node, and the standardised inputs it covers.
const CELLS: usize = 2048;
const INDEXED: (f32, f32) = (-4.0, 4.0);

/// Lines of one node: value = start + slope z between neighbouring breaks.
#[derive(Debug, Clone)]
pub(super) struct LineTable {
    breaks: Vec<f32>,
    /// `[segment, start | slope, entry]`.
    pub(super) lines: Vec<f32>,
    low: f32,
    per_cell: f32,
    /// Breaks before each cell of inputs.
    cells: Vec<u16>,
}

impl LineTable {
    /// The segment of an input: the number of breaks at or below it.
    #[expect(clippy::inline_always, reason = "called once per row inside vectorised loops")]
    #[inline(always)]
    pub(super) fn segment(&self, z: f32) -> usize {
        let mut segment = usize::from(self.cells[self.cell(z)]);
        // Most cells hold no break or one: a step without a branch, then whatever is left.
        segment += usize::from(z >= self.breaks[segment]);
        while z >= self.breaks[segment] {
            segment += 1;
        }
        segment
    }

    /// The cell of the index that an input falls into; never falls as the input grows.
    #[expect(clippy::inline_always, reason = "called once per row inside vectorised loops")]
    #[inline(always)]
    fn cell(&self, z: f32) -> usize {
        // Inputs outside the index belong to its ends; `NaN` becomes cell 0.
        (((z - self.low) * self.per_cell) as i32).clamp(0, CELLS as i32 - 1) as usize
    }
}

/// A line in double precision: start and slope of every unit.
type Line = (Vec<f64>, Vec<f64>);

/// What the lines of one node are made of.
pub(super) struct Lines<'a> {
    pub(super) function: &'a NodeFunction,
    pub(super) parameters: &'a [f32],
    pub(super) weights: &'a NodeWeights<f32>,
    pub(super) node: usize,
    pub(super) n_message: usize,
}

impl Lines<'_> {
    /// All segments, from left to right; `None` where there are too many.
    pub(super) fn table(&self) -> Option<LineTable> {
        let width = self.function.sizes.width;
        let mut breaks = kinks(&self.first_arguments(), f64::NEG_INFINITY, f64::INFINITY);
        // The second layer bends once more wherever its own arguments change their sign.
        let ends = |breaks: &[f64]| {
            let mut ends = vec![f64::NEG_INFINITY];
            ends.extend_from_slice(breaks);
            ends.push(f64::INFINITY);
            ends
        };
        let mut inner = Vec::new();
        for pair in ends(&breaks).windows(2) {
            let second = self.second_arguments(&self.first(middle(pair[0], pair[1])));
            inner.extend(kinks(&second, pair[0], pair[1]));
        }
        breaks.extend(inner);
        breaks.sort_by(f64::total_cmp);
        breaks.dedup();
        let most = MOST_BYTES / (8 * self.n_message * self.function.sizes.n_variables.max(1));
        if breaks.len() > most.max(width).min(usize::from(u16::MAX) - 2) {
            return None;
        }
        let all = ends(&breaks);
        let lines = all.windows(2).flat_map(|pair| {
            let (start, slope) = self.line(middle(pair[0], pair[1]));
            start.into_iter().chain(slope).map(|value| value as f32).collect::<Vec<_>>()
        });
        Some(LineTable::new(breaks.iter().map(|&at| at as f32).collect(), lines.collect()))
    }

    /// Arguments of the first layer, as lines in z.
    fn first_arguments(&self) -> Line {
        let width = self.function.sizes.width;
        let range = self.node * width..(self.node + 1) * width;
        let wide = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect();
        (
            wide(&self.weights.message_offsets[range.clone()]),
            wide(&self.weights.message_columns[range]),
        )
    }

    /// The first layer around z.
    fn first(&self, z: f64) -> Line {
        let NodeSizes { n_variables: d, embedding: e, .. } = self.function.sizes;
        let mut line = bent(self.first_arguments(), z);
        if self.function.message_skips() {
            line.1[self.node] += 1.0;
            let embeddings = self.function.embeddings.of(self.parameters);
            for idx in 0..e {
                line.0[d + idx] += f64::from(embeddings[self.node * e + idx]);
            }
        }
        line
    }

    /// Arguments of the second layer on top of a first one.
    fn second_arguments(&self, first: &Line) -> Line {
        let mut line = times(first, &self.weights.message_second, self.function.sizes.width);
        add_bias(&mut line.0, self.function.message[1].bias.of(self.parameters));
        line
    }

    /// The message around z, filled up with zeros.
    fn line(&self, z: f64) -> Line {
        let first = self.first(z);
        let mut second = bent(self.second_arguments(&first), z);
        for (sum, own) in [(&mut second.0, &first.0), (&mut second.1, &first.1)] {
            sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        let n_out = self.function.sizes.embedding;
        let (mut starts, mut slopes) = times(&second, &self.weights.message_last, n_out);
        add_bias(&mut starts, self.function.message[2].bias.of(self.parameters));
        starts.resize(self.n_message, 0.0);
        slopes.resize(self.n_message, 0.0);
        (starts, slopes)
    }
}

impl LineTable {
    fn new(mut breaks: Vec<f32>, lines: Vec<f32>) -> Self {
        let (low, high) = INDEXED;
        // The last two are never reached, so that a search needs no other end.
        breaks.extend([f32::INFINITY; 2]);
        let mut table =
            Self { breaks, lines, low, per_cell: CELLS as f32 / (high - low), cells: Vec::new() };
        // Breaks of earlier cells lie below every input of this one.
        let of_cell = |cell: usize| table.breaks.partition_point(|&at| table.cell(at) < cell);
        table.cells = (0..CELLS).map(|cell| of_cell(cell) as u16).collect();
        table
    }
}

/// A point inside an interval that may be infinite.
fn middle(low: f64, high: f64) -> f64 {
    match (low.is_finite(), high.is_finite()) {
        (true, true) => 0.5 * (low + high),
        (true, false) => low + low.abs() + 1.0,
        (false, true) => high - high.abs() - 1.0,
        (false, false) => 0.0,
    }
}

/// Where lines cross zero inside an interval, sorted.
fn kinks((starts, slopes): &Line, low: f64, high: f64) -> Vec<f64> {
    let crossings = starts.iter().zip(slopes).filter(|(_, slope)| **slope != 0.0);
    let mut kinks: Vec<f64> = crossings
        .map(|(start, slope)| -start / slope)
        .filter(|at| at.is_finite() && *at > low && *at < high)
        .collect();
    kinks.sort_by(f64::total_cmp);
    kinks
}

/// Lines through LeakyReLU around z.
fn bent((mut starts, mut slopes): Line, z: f64) -> Line {
    for (start, slope) in starts.iter_mut().zip(&mut slopes) {
        if *start + *slope * z < 0.0 {
            *start *= LEAK;
            *slope *= LEAK;
        }
    }
    (starts, slopes)
}

/// Both parts of a line times a matrix `[in, out]`.
fn times((starts, slopes): &Line, matrix: &[f32], n_out: usize) -> Line {
    let product = |values: &[f64]| {
        let mut out = vec![0.0; n_out];
        for (value, row) in values.iter().zip(matrix.chunks_exact(n_out)) {
            out.iter_mut().zip(row).for_each(|(out, &weight)| *out += value * f64::from(weight));
        }
        out
    };
    (product(starts), product(slopes))
}

fn add_bias(starts: &mut [f64], bias: &[f32]) {
    starts.iter_mut().zip(bias).for_each(|(start, &bias)| *start += f64::from(bias));
}
