//! Where the grid points of all series live in the bridge's flat buffers.
//!
//! A series has one row per grid point in the buffer of means. Deviations and correlations depend on
//! the grid and on which cells were observed, not on the values: series that agree in both share
//! their rows, the deviation rows.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::data::experiment::{LEFT_OUT, Push, SET};
use crate::{CoreError, InputHold, SeriesSet, TimeGrid};

/// How many grid points the default step may cost per observed row.
const MAX_REFINEMENT: usize = 8;

/// Rows of one series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesRows {
    /// Position of the series in its set.
    pub series_idx: usize,
    /// First row in buffers of grid points.
    pub first_point: usize,
    /// First row in buffers of deviations.
    pub(crate) first_deviation_row: usize,
    /// Number of grid points.
    pub n_points: usize,
}

impl SeriesRows {
    /// Number of steps between grid points.
    pub fn n_steps(&self) -> usize {
        self.n_points - 1
    }
}

/// Grids, observed values and places of all series.
#[derive(Debug, Clone)]
pub struct BridgeLayout {
    n_variables: usize,
    time_unit: f64,
    series: Vec<SeriesRows>,
    /// Time of every point, in the user's unit.
    times: Vec<f64>,
    /// `[point, variable]`, `NaN` where nothing was observed.
    observed: Vec<f64>,
    /// Length, in time units, of the step that starts at a deviation row; 0 at the last of a grid.
    steps: Vec<f64>,
    /// Values that were set, `[point, variable]`, `NaN` where none was; empty where nothing was done to any variable.
    set: Vec<f64>,
    /// Whether the step into a point says nothing of its causes, `[point, variable]`; empty as well.
    left_out: Vec<bool>,
    /// Steps in which a variable is pushed, increasing.
    pushes: Vec<StepPush>,
}

/// A share of a step during which a variable is pushed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepPush {
    /// The point at which the step starts.
    pub point: usize,
    /// The variable.
    pub variable: usize,
    /// Number of the amount.
    pub amount: usize,
    /// Share of the step that lies in the window.
    pub share: f64,
}

impl BridgeLayout {
    /// Lays out standardised `data` on grids whose steps are at most `step_size`.
    ///
    /// Rows without any observed cell say nothing and make no grid point; series without any
    /// observed cell are left out.
    pub fn new(data: &SeriesSet, step_size: f64) -> Result<Self, CoreError> {
        let mut layout = Self {
            n_variables: data.n_variables(),
            time_unit: 1.0,
            series: Vec::new(),
            times: Vec::new(),
            observed: Vec::new(),
            steps: Vec::new(),
            set: Vec::new(),
            left_out: Vec::new(),
            pushes: Vec::new(),
        };
        let mut known: HashMap<u64, Vec<SeriesRows>> = HashMap::new();
        for series_idx in 0..data.n_series() {
            layout.add_series(data, series_idx, step_size, &mut known)?;
        }
        layout.choose_time_unit()?;
        Ok(layout)
    }

    /// The same, with steps in which a variable is pushed left out: for processes that do not learn by how much.
    pub(crate) fn without_pushes(mut self) -> Self {
        let d = self.n_variables;
        for push in std::mem::take(&mut self.pushes) {
            if self.left_out.is_empty() {
                self.left_out = vec![false; self.observed.len()];
                self.set = vec![f64::NAN; self.observed.len()];
            }
            self.left_out[(push.point + 1) * d + push.variable] = true;
        }
        self
    }

    fn add_series(
        &mut self,
        data: &SeriesSet,
        series_idx: usize,
        step_size: f64,
        known: &mut HashMap<u64, Vec<SeriesRows>>,
    ) -> Result<(), CoreError> {
        let series = &data.series()[series_idx];
        let rows = observed_rows(data, series_idx);
        if rows.is_empty() {
            return Ok(());
        }
        let times: Vec<f64> = rows.iter().map(|&row| series.times()[row]).collect();
        let grid = TimeGrid::new(&times, step_size)?;
        let first_point = self.times.len();
        let n_points = grid.times().len();
        self.times.extend_from_slice(grid.times());
        self.observed.resize((first_point + n_points) * self.n_variables, f64::NAN);
        for (&row, &point) in rows.iter().zip(grid.observation_idx()) {
            let start = (first_point + point) * self.n_variables;
            self.observed[start..start + self.n_variables].copy_from_slice(series.row(row));
        }
        let mut added = SeriesRows { series_idx, first_point, first_deviation_row: 0, n_points };
        self.add_marks(data, &added, &rows, &grid);
        let alike = known.entry(self.hash(&added)).or_default();
        if let Some(other) = alike.iter().find(|other| self.same_deviations(other, &added)) {
            added.first_deviation_row = other.first_deviation_row;
        } else {
            added.first_deviation_row = self.steps.len();
            self.steps.extend((0..grid.n_steps()).map(|idx| grid.step(idx)));
            self.steps.push(0.0);
            alike.push(added);
        }
        self.series.push(added);
        Ok(())
    }

    /// What was done to the variables of a series, on its grid.
    fn add_marks(&mut self, data: &SeriesSet, added: &SeriesRows, rows: &[usize], grid: &TimeGrid) {
        let (d, series) = (self.n_variables, &data.series()[added.series_idx]);
        let Some(marks) = series.marks() else {
            if !self.left_out.is_empty() {
                self.left_out.resize(self.observed.len(), false);
                self.set.resize(self.observed.len(), f64::NAN);
            }
            return;
        };
        self.left_out.resize(self.observed.len(), false);
        self.set.resize(self.observed.len(), f64::NAN);
        for variable in 0..d {
            let mark = |place: usize| marks.cells[rows[place] * d + variable];
            let value = |place: usize| series.row(rows[place])[variable];
            // Rows without any value make no point: what was done there counts for the next.
            let left_out = |place: usize| {
                (rows[place - 1] + 1..=rows[place])
                    .any(|row| marks.cells[row * d + variable] & LEFT_OUT != 0)
            };
            for (place, &point) in grid.observation_idx().iter().enumerate() {
                let is_set = mark(place) & SET != 0;
                if is_set {
                    let cell = (added.first_point + point) * d + variable;
                    self.set[cell] = value(place);
                    self.observed[cell] = f64::NAN;
                }
                if place == 0 || !left_out(place) {
                    continue;
                }
                let before = grid.observation_idx()[place - 1];
                let was_set = mark(place - 1) & SET != 0;
                let is_line =
                    data.input_hold() == InputHold::Linear && data.inputs().contains(&variable);
                for between in before + 1..=point {
                    let cell = (added.first_point + between) * d + variable;
                    self.left_out[cell] = true;
                    let share = (grid.times()[between] - grid.times()[before])
                        / (grid.times()[point] - grid.times()[before]);
                    self.set[cell] = match (was_set, is_set) {
                        _ if between == point => self.set[cell],
                        (true, true) if is_line => {
                            value(place - 1) + share * (value(place) - value(place - 1))
                        }
                        (true, _) => value(place - 1),
                        (false, true) => value(place),
                        (false, false) => f64::NAN,
                    };
                }
            }
        }
        self.add_pushes(&marks.pushes, added.first_point, grid);
    }

    fn add_pushes(&mut self, pushes: &[Push], first_point: usize, grid: &TimeGrid) {
        for (step, pair) in grid.times().windows(2).enumerate() {
            for push in pushes {
                let inside = push.to.min(pair[1]) - push.from.max(pair[0]);
                if inside > 0.0 {
                    self.pushes.push(StepPush {
                        point: first_point + step,
                        variable: push.variable,
                        amount: push.amount,
                        share: inside / (pair[1] - pair[0]),
                    });
                }
            }
        }
    }

    fn hash(&self, rows: &SeriesRows) -> u64 {
        let mut hasher = DefaultHasher::new();
        for point in 0..rows.n_points {
            self.time_since_start(rows, point).to_bits().hash(&mut hasher);
        }
        hasher.finish()
    }

    fn time_since_start(&self, rows: &SeriesRows, point: usize) -> f64 {
        self.times[rows.first_point + point] - self.times[rows.first_point]
    }

    fn same_deviations(&self, a: &SeriesRows, b: &SeriesRows) -> bool {
        let same_cells = |point: usize| {
            let row = |rows: &SeriesRows| self.observed_row(rows.first_point + point);
            let points = [a.first_point + point, b.first_point + point];
            row(a).iter().zip(row(b)).all(|(a, b)| a.is_nan() == b.is_nan())
                && self.is_marked_alike(points)
        };
        a.n_points == b.n_points
            && (0..a.n_points).all(|point| {
                self.time_since_start(a, point) == self.time_since_start(b, point)
                    && same_cells(point)
            })
    }

    fn is_marked_alike(&self, [a, b]: [usize; 2]) -> bool {
        (0..self.n_variables).all(|variable| {
            self.is_left_out(a, variable) == self.is_left_out(b, variable)
                && self.set_value(a, variable).is_some() == self.set_value(b, variable).is_some()
        })
    }

    /// Measures time in mean steps, so that rates are of order 1 whatever the user's unit.
    fn choose_time_unit(&mut self) -> Result<(), CoreError> {
        let n_steps = self.n_steps();
        if n_steps == 0 {
            return Err(CoreError::NoSteps);
        }
        let total: f64 =
            (self.series.iter()).map(|rows| self.time_since_start(rows, rows.n_points - 1)).sum();
        self.time_unit = total / n_steps as f64;
        for step in &mut self.steps {
            *step /= self.time_unit;
        }
        Ok(())
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.n_variables
    }

    /// The mean step, in the user's unit of time; the bridge's own unit.
    pub fn time_unit(&self) -> f64 {
        self.time_unit
    }

    /// The rows of every series with an observed cell, in the order of the set.
    pub fn series(&self) -> &[SeriesRows] {
        &self.series
    }

    /// Number of grid points over all series.
    pub fn n_points(&self) -> usize {
        self.times.len()
    }

    /// Number of steps over all series.
    pub fn n_steps(&self) -> usize {
        self.n_points() - self.series.len()
    }

    /// Number of deviation rows: fewer than points where series share a grid.
    pub fn n_deviation_rows(&self) -> usize {
        self.steps.len()
    }

    /// Times of a series' grid points, in the user's unit.
    pub fn times(&self, rows: &SeriesRows) -> &[f64] {
        &self.times[rows.first_point..rows.first_point + rows.n_points]
    }

    /// Observed values at one point, `NaN` where there is none.
    pub fn observed_row(&self, point: usize) -> &[f64] {
        &self.observed[point * self.n_variables..(point + 1) * self.n_variables]
    }

    /// Whether anything was set, or any step says nothing of its causes.
    pub fn has_marks(&self) -> bool {
        !self.left_out.is_empty()
    }

    /// Whether the step into a point says nothing of the causes of a variable.
    pub fn is_left_out(&self, point: usize, variable: usize) -> bool {
        self.has_marks() && self.left_out[point * self.n_variables + variable]
    }

    /// The value to which a variable was set at a point.
    pub fn set_value(&self, point: usize, variable: usize) -> Option<f64> {
        let value = *self.set.get(point * self.n_variables + variable)?;
        (!value.is_nan()).then_some(value)
    }

    /// Steps in which a variable is pushed, by their points.
    pub fn pushes(&self) -> &[StepPush] {
        &self.pushes
    }

    /// Those of the step that starts at a point.
    pub fn pushes_at(&self, point: usize) -> &[StepPush] {
        let first = self.pushes.partition_point(|push| push.point < point);
        let n = self.pushes[first..].partition_point(|push| push.point == point);
        &self.pushes[first..first + n]
    }

    /// Length, in time units, of the step that starts at a deviation row.
    pub fn step(&self, deviation_row: usize) -> f64 {
        self.steps[deviation_row]
    }
}

/// The median gap between observed rows: one step per usual gap, more where data are missing.
///
/// Doubled while the grids would have more than eight points per observed row, so that one long
/// pause does not decide the cost.
pub(crate) fn default_step_size(data: &SeriesSet) -> Result<f64, CoreError> {
    let times_of = |idx: usize| -> Vec<f64> {
        let rows = observed_rows(data, idx);
        rows.iter().map(|&row| data.series()[idx].times()[row]).collect()
    };
    let mut gaps: Vec<f64> = (0..data.n_series())
        .flat_map(|idx| times_of(idx).windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>())
        .collect();
    if gaps.is_empty() {
        return Err(CoreError::NoSteps);
    }
    let middle = gaps.len() / 2;
    let (_, median, _) = gaps.select_nth_unstable_by(middle, f64::total_cmp);
    // A gap equal to the median up to the rounding of its times is one step.
    let mut step_size = *median * (1.0 + 1e-6);
    let limit = (MAX_REFINEMENT * gaps.len()) as f64;
    while gaps.iter().map(|gap| (gap / step_size).ceil()).sum::<f64>() > limit {
        step_size *= 2.0;
    }
    Ok(step_size)
}

fn observed_rows(data: &SeriesSet, series_idx: usize) -> Vec<usize> {
    let series = &data.series()[series_idx];
    (0..series.n_observations())
        .filter(|&row| series.row(row).iter().any(|value| !value.is_nan()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObservedSeries;

    const HOLE: f64 = f64::NAN;

    fn set(series: &[(&[f64], &[f64])]) -> SeriesSet {
        let series = series.iter().enumerate().map(|(idx, (times, values))| {
            ObservedSeries::new(format!("s{idx}"), 1, times.to_vec(), values.to_vec()).unwrap()
        });
        SeriesSet::new(vec!["x".into()], series.collect()).unwrap()
    }

    #[test]
    fn series_share_deviations_when_grid_and_holes_agree() {
        let data = set(&[
            (&[0.0, 1.0, 3.0], &[1.0, 2.0, 3.0]),
            (&[5.0, 6.0, 8.0], &[4.0, 5.0, 6.0]),
            (&[0.0, 1.0, 2.0], &[1.0, 2.0, 3.0]),
        ]);
        let layout = BridgeLayout::new(&data, 1.0).unwrap();
        let first: Vec<usize> =
            layout.series().iter().map(|rows| rows.first_deviation_row).collect();
        assert_eq!(first, [0, 0, 4]);
        assert_eq!((layout.n_points(), layout.n_deviation_rows(), layout.n_steps()), (11, 7, 8));
        assert_eq!(layout.time_unit(), 1.0);
        assert!(layout.observed_row(2)[0].is_nan() && layout.observed_row(3)[0] == 3.0);
    }

    #[test]
    fn rows_and_series_without_a_cell_make_no_points() {
        let data = set(&[(&[0.0, 0.5, 1.0], &[1.0, HOLE, 2.0]), (&[0.0, 1.0], &[HOLE, HOLE])]);
        let layout = BridgeLayout::new(&data, 1.0).unwrap();
        assert_eq!((layout.n_points(), layout.series().len()), (2, 1));
    }

    #[test]
    fn the_default_step_is_the_median_gap_unless_a_pause_would_cost_too_much() {
        let step = default_step_size(&set(&[(&[0.0, 1.0, 2.0, 5.0], &[0.0; 4])])).unwrap();
        assert!((step - 1.0).abs() < 2e-6);
        let paused = set(&[(&[0.0, 1.0, 2.0, 1e9], &[0.0; 4])]);
        let step = default_step_size(&paused).unwrap();
        assert!(BridgeLayout::new(&paused, step).unwrap().n_points() <= 25);
    }

    #[test]
    fn single_points_cannot_be_fitted() {
        let data = set(&[(&[0.0], &[1.0]), (&[0.0, 1.0], &[2.0, HOLE])]);
        assert_eq!(default_step_size(&data), Err(CoreError::NoSteps));
        assert_eq!(BridgeLayout::new(&data, 1.0).unwrap_err(), CoreError::NoSteps);
    }
}
