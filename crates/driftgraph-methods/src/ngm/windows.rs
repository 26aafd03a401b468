//! Stretches of a few rows that the equation is fitted to.

use driftgraph_core::random::RandomStream;
use driftgraph_core::{ObservedSeries, SeriesSet};

use super::network::Batch;

/// Which times the equation sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Clock {
    /// All rows are equally far apart, and the unit of time is that of the reference: T / (T - 1) per row.
    Rows,
    /// The given ones.
    Given,
}

/// All places at which a window may begin.
pub(super) struct Windows<'a> {
    series: &'a [ObservedSeries],
    /// Series and first row; the window stays inside the series and its first row is complete.
    starts: Vec<(usize, usize)>,
    horizon: usize,
    clock: Clock,
    /// Time between rows, where they are only counted.
    row_length: f64,
}

impl<'a> Windows<'a> {
    pub(super) fn new(data: &'a SeriesSet, horizon: usize, clock: Clock) -> Self {
        let series = data.series();
        let starts = (series.iter().enumerate())
            .flat_map(|(idx, series)| {
                let last = (series.n_observations() + 1).saturating_sub(horizon);
                let is_complete =
                    |row: &usize| series.row(*row).iter().all(|value| !value.is_nan());
                (0..last).filter(is_complete).map(move |row| (idx, row)).collect::<Vec<_>>()
            })
            .collect();
        let n_rows = data.n_rows() as f64;
        Self { series, starts, horizon, clock, row_length: n_rows / (n_rows - 1.0) }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Some windows, none twice.
    pub(super) fn draw(&self, size: usize, mut random: RandomStream) -> Batch {
        let mut places: Vec<usize> = (0..self.starts.len()).collect();
        let size = size.min(places.len());
        for drawn in 0..size {
            let place = drawn + random.below(places.len() - drawn);
            places.swap(drawn, place);
        }
        let chosen: Vec<(usize, usize)> =
            places[..size].iter().map(|&place| self.starts[place]).collect();
        self.batch(&chosen)
    }

    /// The windows that begin at these rows.
    pub(super) fn batch(&self, starts: &[(usize, usize)]) -> Batch {
        let mut observed = Vec::new();
        for offset in 0..self.horizon {
            for &(series, row) in starts {
                observed.extend_from_slice(self.series[series].row(row + offset));
            }
        }
        let mut intervals = Vec::new();
        for &(series, row) in starts {
            let times = &self.series[series].times()[row..row + self.horizon];
            intervals.extend(times.windows(2).map(|pair| match self.clock {
                Clock::Rows => self.row_length,
                Clock::Given => pair[1] - pair[0],
            }));
        }
        Batch { n_windows: starts.len(), intervals, observed }
    }
}
