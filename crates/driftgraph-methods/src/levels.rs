//! Series in standard units without holes, as the regressions need them.

use driftgraph_core::{ObservedSeries, SeriesSet, Standardizer};

use crate::method::Handling;

/// What becomes of cells without a value in methods that need them all.
///
/// A variable never observed in a series stands at its mean over the other series there, which says as little as
/// possible; a variable that never varies gets score 0 with all others.
pub(crate) const INTERPOLATES: Handling =
    Handling::Instead("interpolates them linearly in time, and holds the ends constant");

/// Bytes of so many copies of all cells, and of a few matrices of pairs.
pub(crate) fn bytes_of_copies(data: &SeriesSet, n_copies: usize) -> u64 {
    let (n, n_rows) = (data.n_variables(), data.n_rows());
    (8 * n * (n_copies * n_rows + 6 * n)) as u64
}

/// The rows of one series that have at least one observed cell, with the other cells filled.
pub(crate) struct FilledSeries {
    times: Vec<f64>,
    n_variables: usize,
    /// `[time, variable]`, in standard units.
    values: Vec<f64>,
}

/// The change from one row of a series to the next.
pub(crate) struct Step<'a> {
    /// Position of the series in the set.
    pub(crate) series_idx: usize,
    /// Time between the rows, in the user's unit.
    pub(crate) duration: f64,
    pub(crate) before: &'a [f64],
    pub(crate) after: &'a [f64],
}

/// Standardises every variable, then fills the holes of every series.
pub(crate) fn filled_levels(data: &SeriesSet) -> Vec<FilledSeries> {
    let standard = Standardizer::fit(data).apply(data);
    standard.series().iter().map(FilledSeries::new).collect()
}

/// All steps of all series, in file order.
pub(crate) fn steps(levels: &[FilledSeries]) -> Vec<Step<'_>> {
    let of_series = |(series_idx, series)| FilledSeries::steps(series, series_idx);
    levels.iter().enumerate().flat_map(of_series).collect()
}

impl FilledSeries {
    fn new(series: &ObservedSeries) -> Self {
        let n_variables = series.n_variables();
        let observed_rows: Vec<usize> = (0..series.n_observations())
            .filter(|&time_idx| series.row(time_idx).iter().any(|value| !value.is_nan()))
            .collect();
        let times: Vec<f64> = observed_rows.iter().map(|&idx| series.times()[idx]).collect();
        let mut values: Vec<f64> =
            observed_rows.iter().flat_map(|&idx| series.row(idx)).copied().collect();
        for variable_idx in 0..n_variables {
            fill_column(&times, &mut values, variable_idx, n_variables);
        }
        Self { times, n_variables, values }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.n_variables)
    }

    fn steps(&self, series_idx: usize) -> impl Iterator<Item = Step<'_>> {
        let neighbours = self.rows().zip(self.rows().skip(1)).zip(self.times.windows(2));
        neighbours.map(move |((before, after), times)| Step {
            series_idx,
            duration: times[1] - times[0],
            before,
            after,
        })
    }
}

/// Interpolates one variable linearly between its observed cells and holds it beyond them.
fn fill_column(times: &[f64], values: &mut [f64], variable_idx: usize, n_variables: usize) {
    let cell = |time_idx: usize| time_idx * n_variables + variable_idx;
    let observed: Vec<usize> =
        (0..times.len()).filter(|&time_idx| !values[cell(time_idx)].is_nan()).collect();
    let (Some(&first), Some(&last)) = (observed.first(), observed.last()) else {
        // Never observed in this series: 0 is the variable's mean over all series.
        (0..times.len()).for_each(|time_idx| values[cell(time_idx)] = 0.0);
        return;
    };
    (0..first).for_each(|time_idx| values[cell(time_idx)] = values[cell(first)]);
    (last + 1..times.len()).for_each(|time_idx| values[cell(time_idx)] = values[cell(last)]);
    for pair in observed.windows(2) {
        let (left, right) = (pair[0], pair[1]);
        for time_idx in left + 1..right {
            let share = (times[time_idx] - times[left]) / (times[right] - times[left]);
            values[cell(time_idx)] =
                values[cell(left)] + share * (values[cell(right)] - values[cell(left)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLE: f64 = f64::NAN;

    #[test]
    fn holes_are_interpolated_in_time_and_ends_are_held() {
        // Between 2 at time 1 and 8 at time 4, time 2 is a third of the way: 4.
        let times = [0.0, 1.0, 2.0, 4.0, 5.0];
        let mut values = [HOLE, 2.0, HOLE, 8.0, HOLE];
        fill_column(&times, &mut values, 0, 1);
        // A third and its product are rounded.
        assert!((values[2] - 4.0).abs() < 1e-15);
        assert_eq!([values[0], values[1], values[3], values[4]], [2.0, 2.0, 8.0, 8.0]);
    }

    #[test]
    fn a_variable_never_observed_in_a_series_stands_at_its_mean() {
        let full = ObservedSeries::new("a", 2, vec![0.0, 1.0], vec![1.0, 5.0, 2.0, 7.0]).unwrap();
        let half = ObservedSeries::new("b", 2, vec![0.0, 1.0], vec![1.0, HOLE, 3.0, HOLE]).unwrap();
        let data = SeriesSet::new(vec!["x".into(), "y".into()], vec![full, half]).unwrap();
        let levels = filled_levels(&data);
        assert!(levels[1].rows().all(|row| row[1] == 0.0));
        assert!(levels[1].rows().all(|row| row[0] != 0.0));
    }

    #[test]
    fn rows_without_any_value_are_passed_over() {
        let values = vec![1.0, 2.0, HOLE, HOLE, 3.0, 5.0];
        let series = ObservedSeries::new("a", 2, vec![0.0, 1.0, 4.0], values).unwrap();
        let data = SeriesSet::new(vec!["x".into(), "y".into()], vec![series]).unwrap();
        let levels = filled_levels(&data);
        let steps = steps(&levels);
        assert_eq!((steps.len(), steps[0].duration), (1, 4.0));
    }
}
