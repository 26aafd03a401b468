//! Innovations of a linear process, with the states and innovations before them.

use super::share::Features;
use super::without_states;
use crate::posterior::linear::dynamics::LinearDynamics;
use crate::posterior::linear::grid::LinearGrid;
use crate::posterior::linear::joint::{JointFilter, Uncertainty};
use crate::posterior::linear::single::drift_of;

/// Most rows that shares are estimated from; more are thinned evenly.
const MOST_ROWS: usize = 1_200;

/// Rows of innovations whose predecessors are known too, `[row, variable]`; beyond a limit only some are kept.
#[derive(Debug, Clone)]
pub struct InnovationRows {
    n_variables: usize,
    n_series: usize,
    /// States before the step.
    states: Vec<f64>,
    /// What the step added beyond its prediction.
    errors: Vec<f64>,
    /// Innovations and states one step earlier, `[row, 2 D]`.
    past: Vec<f64>,
    /// Number of the step within its series.
    steps: Vec<usize>,
    /// What the process may explain: the states with a constant, and their products up to its degree, `[row, column]`.
    explained: Vec<f64>,
    n_explained: usize,
    /// Degree of the process.
    degree: usize,
    /// Every how many rows one is kept, and rows seen so far.
    every: usize,
    seen: usize,
}

/// A step with the one before it.
#[derive(Debug, Clone, Copy)]
pub struct Neighbours<'a> {
    /// The state before the step.
    pub state: &'a [f64],
    /// What the step added beyond its prediction.
    pub error: &'a [f64],
    /// The state before the earlier step.
    pub earlier_state: &'a [f64],
    /// What the earlier step added beyond its prediction.
    pub earlier_error: &'a [f64],
}

impl InnovationRows {
    /// No rows of a linear process, of so many series.
    pub fn new(n_variables: usize, n_series: usize) -> Self {
        Self::of_degree(n_variables, n_series, 1, n_variables + 1)
    }

    /// No rows of a process with so many terms up to a degree.
    pub fn of_degree(
        n_variables: usize,
        n_series: usize,
        degree: usize,
        n_explained: usize,
    ) -> Self {
        let none = Vec::new;
        Self {
            n_variables,
            n_series,
            states: none(),
            errors: none(),
            past: none(),
            steps: Vec::new(),
            explained: none(),
            n_explained,
            degree,
            every: 1,
            seen: 0,
        }
    }

    /// Adds a row of a linear process, unless something in it is not a number.
    pub fn add(&mut self, step: usize, row: Neighbours<'_>) {
        let mut explained = row.state.to_vec();
        explained.push(1.0);
        self.add_with(step, row, &explained);
    }

    /// Adds a row with the terms of the process at its state, unless something in it is not a number.
    pub fn add_with(&mut self, step: usize, row: Neighbours<'_>, explained: &[f64]) {
        let Neighbours { state, error, earlier_state, earlier_error } = row;
        let all = [state, error, earlier_state, earlier_error];
        if all.iter().any(|part| part.iter().any(|value| !value.is_finite())) {
            return;
        }
        self.seen += 1;
        if !(self.seen - 1).is_multiple_of(self.every) {
            return;
        }
        self.past.extend_from_slice(earlier_error);
        self.past.extend_from_slice(earlier_state);
        self.states.extend_from_slice(state);
        self.explained.extend_from_slice(explained);
        self.errors.extend_from_slice(error);
        self.steps.push(step);
        if self.steps.len() >= 2 * MOST_ROWS {
            self.thin();
        }
    }

    /// Keeps every other row.
    fn thin(&mut self) {
        let d = self.n_variables;
        let half = |values: &[f64], width: usize| -> Vec<f64> {
            values.chunks_exact(width).step_by(2).flatten().copied().collect()
        };
        self.past = half(&self.past, 2 * d);
        self.states = half(&self.states, d);
        self.explained = half(&self.explained, self.n_explained);
        self.errors = half(&self.errors, d);
        self.steps = self.steps.iter().step_by(2).copied().collect();
        self.every *= 2;
    }

    /// One-step prediction errors of a linear process where a filter can be afforded, else those of the smoothed means.
    pub(super) fn of_linear(grid: &LinearGrid, dynamics: &LinearDynamics, means: &[f64]) -> Self {
        let (d, layout) = (grid.n_variables(), grid.layout());
        let certain = Uncertainty::none(d);
        let predictions = JointFilter::new(grid, dynamics, &certain).predictions();
        let mut rows = Self::new(d, layout.series().len());
        let row = |values: &[f64], point: usize| values[point * d..(point + 1) * d].to_vec();
        let error = |point: usize| -> Vec<f64> {
            let (observed, expected) = match &predictions {
                Some(found) => {
                    (layout.observed_row(point + 1).to_vec(), row(&found.predicted, point + 1))
                }
                None => (row(means, point + 1), drifted(grid, dynamics, means, point)),
            };
            // Where a variable was set its innovation says nothing: 0 speaks for no share.
            let error = |(idx, (observed, mean)): (usize, (&f64, &f64))| {
                if layout.is_left_out(point + 1, idx) { 0.0 } else { observed - mean }
            };
            observed.iter().zip(&expected).enumerate().map(error).collect()
        };
        let states = predictions.as_ref().map_or(means, |found| &found.filtered);
        for series in layout.series() {
            for step in 1..series.n_steps() {
                let point = series.first_point + step;
                rows.add(
                    step,
                    Neighbours {
                        state: &row(states, point),
                        error: &error(point),
                        earlier_state: &row(states, point - 1),
                        earlier_error: &error(point - 1),
                    },
                );
            }
        }
        rows
    }

    /// Errors of the smoothed means of some variables, where few may drive many; only these are looked at.
    pub(super) fn of_some(
        grid: &LinearGrid,
        dynamics: &LinearDynamics,
        means: &[f64],
        chosen: &[usize],
    ) -> Self {
        let (d, layout) = (grid.n_variables(), grid.layout());
        let mut rows = Self::new(chosen.len(), layout.series().len());
        let state = |point: usize| -> Vec<f64> {
            chosen.iter().map(|&idx| means[point * d + idx]).collect()
        };
        let error = |point: usize| -> Vec<f64> {
            let expected = drifted(grid, dynamics, means, point);
            let error = |&idx: &usize| {
                let is_known = !layout.is_left_out(point + 1, idx);
                if is_known { means[(point + 1) * d + idx] - expected[idx] } else { 0.0 }
            };
            chosen.iter().map(error).collect()
        };
        for series in layout.series().iter().filter(|series| series.n_steps() > 1) {
            let mut earlier = error(series.first_point);
            for step in 1..series.n_steps() {
                let point = series.first_point + step;
                let own = error(point);
                rows.add(
                    step,
                    Neighbours {
                        state: &state(point),
                        error: &own,
                        earlier_state: &state(point - 1),
                        earlier_error: &earlier,
                    },
                );
                earlier = own;
            }
        }
        rows
    }

    pub(super) fn n_variables(&self) -> usize {
        self.n_variables
    }

    pub(super) fn errors(&self) -> &[f64] {
        &self.errors
    }

    pub(super) fn past(&self) -> &[f64] {
        &self.past
    }

    pub(super) fn n_rows(&self) -> usize {
        self.steps.len()
    }

    /// Degree of the process.
    pub(super) fn degree(&self) -> usize {
        self.degree
    }

    /// Number of columns that the process may explain.
    pub(super) fn n_explained(&self) -> usize {
        self.n_explained
    }

    /// Columns with what the process may explain taken out.
    pub(super) fn projected(&self, columns: &[f64], n_columns: usize) -> Vec<f64> {
        without_states(&self.explained, self.n_explained, columns, n_columns)
    }

    /// The same, each column of variance 1.
    pub(super) fn features(&self, columns: &[f64], n_columns: usize) -> Features {
        let mut values = self.projected(columns, n_columns);
        standardise(&mut values, n_columns);
        Features { n_columns, values }
    }

    /// States of mean 0 and variance 1.
    pub(super) fn standard_states(&self) -> Vec<f64> {
        let mut states = self.states.clone();
        standardise(&mut states, self.n_variables);
        states
    }

    /// One column for each step of the series; `None` for a single series, where it would explain everything.
    pub(super) fn time_features(&self) -> Option<Features> {
        if self.n_series < 2 {
            return None;
        }
        let mut steps = self.steps.clone();
        steps.sort_unstable();
        steps.dedup();
        // As many columns as rows explain everything, too.
        if 2 * steps.len() > self.n_rows() {
            return None;
        }
        let mut values = vec![0.0; self.n_rows() * steps.len()];
        for (row, step) in self.steps.iter().enumerate() {
            let column = steps.binary_search(step).unwrap_or_default();
            values[row * steps.len() + column] = 1.0;
        }
        Some(Features { n_columns: steps.len(), values })
    }
}

/// Where a step from the means of a point leads.
fn drifted(grid: &LinearGrid, dynamics: &LinearDynamics, means: &[f64], point: usize) -> Vec<f64> {
    let d = grid.n_variables();
    let here = &means[point * d..(point + 1) * d];
    let h = grid.step_after(point);
    let mut common = Vec::new();
    grid.rows().push_common(here, &mut common);
    let mut next: Vec<f64> = (0..d)
        .map(|target| {
            let drift = drift_of(grid, dynamics, target, &common, here[target]);
            here[target] + h * grid.scales()[target] * drift
        })
        .collect();
    for push in grid.layout().pushes_at(point) {
        let amount = dynamics.amounts[push.amount];
        next[push.variable] += push.share * h * grid.scales()[push.variable] * amount;
    }
    next
}

/// Mean 0 and variance 1 for each column that varies.
fn standardise(values: &mut [f64], n_columns: usize) {
    let n = (values.len() / n_columns) as f64;
    let mut means = vec![0.0; n_columns];
    for row in values.chunks_exact(n_columns) {
        means.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / n);
    }
    let mut squares = vec![0.0; n_columns];
    for row in values.chunks_exact_mut(n_columns) {
        for ((value, mean), square) in row.iter_mut().zip(&means).zip(&mut squares) {
            *value -= mean;
            *square += *value * *value / n;
        }
    }
    for row in values.chunks_exact_mut(n_columns) {
        for (value, square) in row.iter_mut().zip(&squares) {
            *value /= square.sqrt() + 1e-9;
        }
    }
}

/// Σ u e' of each cluster, in the rows of effects: series, or blocks of them where there are few.
pub(super) fn cluster_scores(
    grid: &LinearGrid,
    dynamics: &LinearDynamics,
    means: &[f64],
    min_clusters: usize,
) -> Vec<Vec<f64>> {
    let (d, rows, layout) = (grid.n_variables(), grid.rows(), grid.layout());
    let mut state = Vec::new();
    let n_blocks = min_clusters.div_ceil(layout.series().len().max(1)).max(1);
    let mut scores = Vec::new();
    for series in layout.series() {
        let n_blocks = n_blocks.min(series.n_steps().max(1));
        for block in 0..n_blocks {
            let steps =
                block * series.n_steps() / n_blocks..(block + 1) * series.n_steps() / n_blocks;
            if steps.is_empty() {
                continue;
            }
            let mut score = vec![0.0; rows.len()];
            for step in steps {
                let point = series.first_point + step;
                let here = &means[point * d..(point + 1) * d];
                let next = &means[(point + 1) * d..(point + 2) * d];
                let expected = drifted(grid, dynamics, means, point);
                let counts = |target: &usize| !layout.is_left_out(point + 1, *target);
                for target in (0..d).filter(counts) {
                    let error = (next[target] - expected[target]) / grid.scales()[target];
                    state.clear();
                    rows.push_state(target, here, &mut state);
                    let row = score[rows.row(target)].iter_mut();
                    row.zip(&state).for_each(|(sum, value)| *sum += error * value);
                }
            }
            scores.push(score);
        }
    }
    scores
}
