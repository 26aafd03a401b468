//! Buffers of a node function: what `forward` keeps and what `backward` works in.

use std::ops::Range;

use super::NodeFunction;
use crate::numeric::real::Real;

/// A block of rows `[.., node, time]` inside a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// First row.
    pub first: usize,
    /// Number of rows.
    pub n: usize,
    /// Consecutive rows (points in time) of the same node.
    pub(crate) per_node: usize,
}

impl Rows {
    /// The entries of these rows in a buffer with `width` entries per row.
    #[inline]
    pub fn range(self, width: usize) -> Range<usize> {
        self.first * width..(self.first + self.n) * width
    }

    /// The node of row `row` of this block.
    #[expect(clippy::inline_always, reason = "called once per row inside vectorised loops")]
    #[inline(always)]
    pub(super) fn node(self, row: usize, n_variables: usize) -> usize {
        (row / self.per_node) % n_variables
    }
}

/// Activations of all rows.
#[derive(Debug, Clone, Default)]
pub struct NodeTrace<R> {
    /// z_i of every row; the caller fills them.
    pub inputs: Vec<R>,
    pub(super) message_first: Vec<R>,
    pub(super) message_second: Vec<R>,
    /// Slopes of the message net's first layer, kept only where it has a skip.
    pub(super) message_slopes: Vec<R>,
    pub(super) messages: Vec<R>,
    pub(super) aggregates: Vec<R>,
    pub(super) combine_first: Vec<R>,
    pub(super) combine_second: Vec<R>,
    pub(super) combine_slopes: Vec<R>,
    /// The combining net's output of every row, before any output activation.
    pub outputs: Vec<R>,
}

impl<R: Real> NodeTrace<R> {
    /// Makes room for `n_rows` rows; keeps what it has when that is enough.
    pub fn resize(&mut self, function: &NodeFunction, n_rows: usize) {
        let sizes = function.sizes();
        let kept = |skips: bool| if skips { sizes.width } else { 0 };
        let (message_kept, combine_kept) =
            (kept(function.message_skips()), kept(function.combine_skips()));
        for (buffer, width) in [
            (&mut self.inputs, 1),
            (&mut self.message_first, sizes.width),
            (&mut self.message_second, sizes.width),
            (&mut self.message_slopes, message_kept),
            (&mut self.messages, sizes.embedding),
            (&mut self.aggregates, sizes.embedding),
            (&mut self.combine_first, sizes.width),
            (&mut self.combine_second, sizes.width),
            (&mut self.combine_slopes, combine_kept),
            (&mut self.outputs, 1),
        ] {
            if buffer.len() < n_rows * width {
                buffer.resize(n_rows * width, R::ZERO);
            }
        }
    }

    /// Makes room for `n_rows` rows whose messages lie elsewhere.
    pub(crate) fn resize_without_messages(&mut self, function: &NodeFunction, n_rows: usize) {
        let sizes = function.sizes();
        let kept = if function.combine_skips() { sizes.width } else { 0 };
        for (buffer, width) in [
            (&mut self.aggregates, sizes.embedding),
            (&mut self.combine_first, sizes.width),
            (&mut self.combine_second, sizes.width),
            (&mut self.combine_slopes, kept),
            (&mut self.outputs, 1),
        ] {
            if buffer.len() < n_rows * width {
                buffer.resize(n_rows * width, R::ZERO);
            }
        }
    }

    /// Number of floats kept per row.
    pub(crate) fn floats_per_row(function: &NodeFunction) -> usize {
        let sizes = function.sizes();
        let kept = [function.message_skips(), function.combine_skips()].map(usize::from);
        2 + 2 * sizes.embedding + (4 + kept[0] + kept[1]) * sizes.width
    }
}

/// Adjoints of the rows being reversed.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeAdjoints<R> {
    /// The trace's row that is row 0 here.
    pub base: usize,
    /// Adjoints of the trace's outputs; the caller fills them.
    pub outputs: Vec<R>,
    /// Adjoints of the trace's inputs.
    pub inputs: Vec<R>,
    pub(super) combine_second: Vec<R>,
    pub(super) combine_first: Vec<R>,
    pub(super) aggregates: Vec<R>,
    pub(super) messages: Vec<R>,
    pub(super) message_second: Vec<R>,
    pub(super) message_first: Vec<R>,
}

impl<R: Real> NodeAdjoints<R> {
    /// Makes room for `n_rows` rows; keeps what it has when that is enough.
    pub(crate) fn resize(&mut self, function: &NodeFunction, n_rows: usize) {
        let sizes = function.sizes();
        for (buffer, width) in [
            (&mut self.outputs, 1),
            (&mut self.inputs, 1),
            (&mut self.combine_second, sizes.width),
            (&mut self.combine_first, sizes.width),
            (&mut self.aggregates, sizes.embedding),
            (&mut self.messages, sizes.embedding),
            (&mut self.message_second, sizes.width),
            (&mut self.message_first, sizes.width),
        ] {
            if buffer.len() < n_rows * width {
                buffer.resize(n_rows * width, R::ZERO);
            }
        }
    }

    /// Makes room for `n_rows` rows whose messages lie elsewhere.
    pub(crate) fn resize_without_messages(&mut self, function: &NodeFunction, n_rows: usize) {
        let sizes = function.sizes();
        for (buffer, width) in [
            (&mut self.outputs, 1),
            (&mut self.combine_second, sizes.width),
            (&mut self.combine_first, sizes.width),
            (&mut self.aggregates, sizes.embedding),
        ] {
            if buffer.len() < n_rows * width {
                buffer.resize(n_rows * width, R::ZERO);
            }
        }
    }

    /// The same rows, counted from [`base`](Self::base).
    #[inline]
    pub(crate) fn here(&self, rows: Rows) -> Rows {
        Rows { first: rows.first - self.base, ..rows }
    }
}
