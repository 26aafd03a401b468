//! Rows of levels, each with the row before it where that is one usual gap away.

use crate::SeriesSet;
use crate::data::settled::leading_rows;
use crate::posterior::linear::grid::LinearGrid;

/// How far a gap may be from the usual one, as a ratio, for the row before to count as the past.
const ALIKE: f64 = 1.5;
/// The usual gap is the shortest that so large a share of the gaps is like, compared with what most are like.
const NEARLY_MOST: f64 = 0.8;
/// Most gaps that are looked at.
const MOST_GAPS: usize = 400;

/// Standardised rows of all series, in the grid's order of variables and series.
#[derive(Debug, Clone)]
pub struct LevelRows {
    pub(super) n_variables: usize,
    /// `[row, variable]`, `NaN` where not observed.
    pub(super) values: Vec<f64>,
    /// The row one usual gap before.
    pub(super) before: Vec<Option<usize>>,
    /// Number of the row within its series.
    pub(super) places: Vec<usize>,
    pub(super) n_series: usize,
    /// The user's number of each row's series, and its time.
    pub(super) series: Vec<usize>,
    pub(super) times: Vec<f64>,
    /// The usual gap; 0 where there is none.
    pub(super) usual_gap: f64,
}

impl LevelRows {
    /// Rows with an observed cell of series that have settled; `data` are the user's, before they were laid out.
    ///
    /// The past of a row is the one before it, if the gap between them is the usual one, within a factor of 1.5. The usual
    /// gap is the shortest that nearly as many gaps are like as any. After other gaps, and for first rows, nothing is
    /// said of the past.
    pub fn new(data: &SeriesSet, grid: &LinearGrid) -> Self {
        let (layout, leading) = (grid.layout(), leading_rows(data));
        let mut rows = Self {
            n_variables: grid.n_variables(),
            values: Vec::new(),
            before: Vec::new(),
            places: Vec::new(),
            n_series: 0,
            series: Vec::new(),
            times: Vec::new(),
            usual_gap: 0.0,
        };
        for series in layout.series() {
            let user = grid.series_of(series);
            let first = data.series()[user].times()[leading[user]];
            rows.n_series += 1;
            let mut place = 0;
            for (point, &time) in layout.times(series).iter().enumerate() {
                let cells = layout.observed_row(series.first_point + point);
                if time >= first && cells.iter().any(|cell| !cell.is_nan()) {
                    rows.values.extend_from_slice(cells);
                    rows.places.push(place);
                    rows.times.push(time);
                    rows.series.push(user);
                    place += 1;
                }
            }
        }
        let n = rows.times.len();
        let gap =
            |row: usize| (rows.places[row] > 0).then(|| rows.times[row] - rows.times[row - 1]);
        let usual = usual_gap((0..n).filter_map(gap).collect());
        let is_usual = |row: usize| gap(row).is_some_and(|gap| are_alike(gap, usual));
        rows.before = (0..n).map(|row| is_usual(row).then(|| row - 1)).collect();
        rows.usual_gap = usual;
        rows
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.before.len()
    }

    /// Number of rows whose past is known.
    pub fn n_with_past(&self) -> usize {
        self.before.iter().flatten().count()
    }

    /// Number of variables.
    pub fn n_variables(&self) -> usize {
        self.n_variables
    }

    /// Number of series.
    pub fn n_series(&self) -> usize {
        self.n_series
    }

    /// The row one usual gap before, where there is one.
    pub fn before(&self, row: usize) -> Option<usize> {
        self.before[row]
    }

    /// Number of the row within its series.
    pub fn place(&self, row: usize) -> usize {
        self.places[row]
    }

    /// The gap that most rows have before them, nearly; `None` where there are no gaps.
    pub fn usual_gap(&self) -> Option<f64> {
        (self.usual_gap > 0.0).then_some(self.usual_gap)
    }

    /// The user's number of a row's series, and its time.
    pub fn origin(&self, row: usize) -> (usize, f64) {
        (self.series[row], self.times[row])
    }

    /// Row and variable of every cell that was not observed.
    pub fn missing_cells(&self) -> impl Iterator<Item = (usize, usize)> {
        let missing = self.values.iter().enumerate().filter(|(_, value)| value.is_nan());
        missing.map(|(at, _)| (at / self.n_variables, at % self.n_variables))
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.n_variables..(row + 1) * self.n_variables]
    }
}

fn are_alike(gap: f64, usual: f64) -> bool {
    gap <= ALIKE * usual && usual <= ALIKE * gap
}

/// The shortest gap that nearly as many are like as any; 0 where there is none.
fn usual_gap(mut gaps: Vec<f64>) -> f64 {
    gaps.sort_by(f64::total_cmp);
    let every = gaps.len().div_ceil(MOST_GAPS).max(1);
    let some: Vec<f64> = gaps.iter().copied().step_by(every).collect();
    let counts: Vec<usize> = some
        .iter()
        .map(|usual| gaps.iter().filter(|gap| are_alike(**gap, *usual)).count())
        .collect();
    let most = counts.iter().copied().max().unwrap_or(0) as f64;
    let enough = |count: &usize| *count as f64 >= NEARLY_MOST * most;
    counts.iter().position(enough).map_or(0.0, |idx| some[idx])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_gap_is_that_of_the_grid_where_rows_are_missing() {
        assert_eq!(usual_gap(vec![1.0; 9]), 1.0);
        assert_eq!(usual_gap(Vec::new()), 0.0);
        // Rows dropped from a grid with probability 0.6: gaps of 1, 2, 3, ... in geometric numbers.
        let dropped = [(1.0, 40), (2.0, 24), (3.0, 14), (4.0, 9), (5.0, 13)];
        let gaps = dropped.iter().flat_map(|&(gap, n)| vec![gap; n]).collect();
        assert_eq!(usual_gap(gaps), 1.0);
        assert!(are_alike(1.5, 1.0) && are_alike(0.7, 1.0) && !are_alike(2.0, 1.0));
    }
}
