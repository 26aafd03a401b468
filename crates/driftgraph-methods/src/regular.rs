//! Series as equally spaced rows, for methods that count lags in rows.

use driftgraph_core::{ObservedSeries, SeriesSet};

use crate::method::Handling;

/// What becomes of times in methods that know rows only.
pub(crate) const COUNTS_ROWS: Handling = Handling::Instead(
    "counts in rows: where all gaps are multiples of the shortest, the rows between are missing ones; \
     else neighbouring rows are one step apart",
);

/// A gap is a multiple of the shortest one if it is as near as this, in shortest gaps.
const TOLERANCE: f64 = 0.01;

/// A grid may have so many times the rows of the data; beyond, hardly a window would be complete.
const MAX_GROWTH: usize = 20;

/// What is done with cells that have no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Gaps {
    /// What needs them is left out.
    LeaveOut,
    /// They take the last value of their variable in their series.
    Hold,
}

/// One series with a row at every step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RegularSeries {
    n_variables: usize,
    /// `[row, variable]`, `NaN` where there is no value.
    values: Vec<f64>,
}

impl RegularSeries {
    pub(crate) fn n_rows(&self) -> usize {
        self.values.len() / self.n_variables
    }

    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.n_variables..(row + 1) * self.n_variables]
    }

    /// Whether all cells of these rows have a value.
    pub(crate) fn is_complete(&self, rows: std::ops::Range<usize>) -> bool {
        let cells = rows.start * self.n_variables..rows.end * self.n_variables;
        self.values[cells].iter().all(|value| !value.is_nan())
    }

    fn hold(&mut self) {
        for cell in self.n_variables..self.values.len() {
            if self.values[cell].is_nan() {
                self.values[cell] = self.values[cell - self.n_variables];
            }
        }
    }
}

/// All series as equally spaced rows.
pub(crate) fn regular_series(data: &SeriesSet, gaps: Gaps) -> Vec<RegularSeries> {
    let step = common_step(data);
    let mut series: Vec<RegularSeries> =
        data.series().iter().map(|series| on_grid(series, step)).collect();
    if gaps == Gaps::Hold {
        series.iter_mut().for_each(RegularSeries::hold);
    }
    series
}

/// The shortest gap, where all others are multiples of it; `None` where rows are only counted.
fn common_step(data: &SeriesSet) -> Option<f64> {
    let gaps = || {
        let windows = data.series().iter().flat_map(|series| series.times().windows(2));
        windows.map(|pair| pair[1] - pair[0])
    };
    let step = gaps().min_by(f64::total_cmp)?;
    let is_multiple = |gap: f64| (gap / step - (gap / step).round()).abs() <= TOLERANCE;
    let n_steps = |series: &ObservedSeries| {
        let times = series.times();
        ((times[times.len() - 1] - times[0]) / step).round() as usize + 1
    };
    let n_rows: usize = data.series().iter().map(n_steps).fold(0, usize::saturating_add);
    (gaps().all(is_multiple) && n_rows <= MAX_GROWTH * data.n_rows()).then_some(step)
}

fn on_grid(series: &ObservedSeries, step: Option<f64>) -> RegularSeries {
    let n_variables = series.n_variables();
    let Some(step) = step else {
        return RegularSeries { n_variables, values: series.values().to_vec() };
    };
    let mut values: Vec<f64> = Vec::with_capacity(series.values().len());
    let mut previous: Option<f64> = None;
    for (row, &time) in series.times().iter().enumerate() {
        let n_steps = previous.map_or(1, |previous| ((time - previous) / step).round() as usize);
        let n_missing = n_steps.saturating_sub(1) * n_variables;
        values.extend(std::iter::repeat_n(f64::NAN, n_missing));
        values.extend_from_slice(series.row(row));
        previous = Some(time);
    }
    RegularSeries { n_variables, values }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(times: &[f64], values: &[f64]) -> SeriesSet {
        let series = ObservedSeries::new("a", 1, times.to_vec(), values.to_vec()).unwrap();
        SeriesSet::new(vec!["x".into()], vec![series]).unwrap()
    }

    fn shown(data: &SeriesSet, gaps: Gaps) -> String {
        format!("{:?}", regular_series(data, gaps)[0].values)
    }

    #[test]
    fn dropped_rows_are_missing_or_held() {
        let data = set(&[0.0, 0.1, 0.4, 0.5], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(shown(&data, Gaps::LeaveOut), "[1.0, 2.0, NaN, NaN, 3.0, 4.0]");
        assert_eq!(shown(&data, Gaps::Hold), "[1.0, 2.0, 2.0, 2.0, 3.0, 4.0]");
    }

    #[test]
    fn a_hole_at_the_start_has_nothing_to_hold() {
        let data = set(&[0.0, 1.0, 2.0], &[f64::NAN, 2.0, f64::NAN]);
        assert_eq!(shown(&data, Gaps::Hold), "[NaN, 2.0, 2.0]");
    }

    #[test]
    fn rows_at_odd_times_and_endless_grids_are_counted() {
        let odd = set(&[0.0, 1.0, 2.3, 3.0], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(shown(&odd, Gaps::LeaveOut), "[1.0, 2.0, 3.0, 4.0]");
        let endless = set(&[0.0, 1.0, 1e9, 1e9 + 1.0], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(shown(&endless, Gaps::LeaveOut), "[1.0, 2.0, 3.0, 4.0]");
    }
}
