//! All series under each other, standardised and filled, with what was observed.

use driftgraph_core::{SeriesSet, Standardizer};

use crate::regular::{Gaps, regular_series};

/// Rows of all series on their grid.
pub(super) struct Table {
    pub(super) n_variables: usize,
    /// `[row, variable]`: the last value where nothing was observed, and the mean before the first.
    pub(super) filled: Vec<f64>,
    pub(super) observed: Vec<bool>,
    /// Rows that have all lags before them in their series.
    pub(super) samples: Vec<usize>,
}

impl Table {
    /// Standardises by observed cells.
    pub(super) fn new(data: &SeriesSet, lags: usize) -> Self {
        let n_variables = data.n_variables();
        let standard = Standardizer::fit(data).apply(data);
        let (seen, held) =
            (regular_series(&standard, Gaps::LeaveOut), regular_series(&standard, Gaps::Hold));
        let mut table =
            Self { n_variables, filled: Vec::new(), observed: Vec::new(), samples: Vec::new() };
        for (seen, held) in seen.iter().zip(&held) {
            let first = table.filled.len() / n_variables;
            table.samples.extend(first + lags..first + seen.n_rows().max(lags));
            for row in 0..seen.n_rows() {
                table.observed.extend(seen.row(row).iter().map(|value| !value.is_nan()));
                table.filled.extend(
                    held.row(row).iter().map(|value| if value.is_nan() { 0.0 } else { *value }),
                );
            }
        }
        table
    }
}
