//! Draws of paths whose dynamics change from step to step: filtering forward, sampling backward, series by series.

use rayon::prelude::*;

use super::steps::{SeriesSteps, Steps};
use crate::numeric::kernels::View;
use crate::numeric::linalg::{cholesky, identity, solve_lower, solve_upper, times};
use crate::posterior::linear::dynamics::LinearDynamics;
use crate::posterior::linear::grid::LinearGrid;
use crate::posterior::linear::joint::{ANEW_VARIANCE, SET_VARIANCE};
use crate::random::RandomStream;

/// What is added to the diagonal of a covariance before it is drawn from, relative to its largest entry.
const JITTER: f64 = 1e-10;

/// Dynamics by regime, and the regime of each step.
#[derive(Debug, Clone, Copy)]
pub struct Switched<'a> {
    /// Dynamics by regime; noise and first states are those of the first.
    pub dynamics: &'a [LinearDynamics],
    /// Regime by step.
    pub labels: &'a [u8],
}

/// What is known of a point before and after it was seen.
struct Seen {
    predicted_mean: Vec<f64>,
    predicted: Vec<f64>,
    mean: Vec<f64>,
    filtered: Vec<f64>,
}

impl Switched<'_> {
    /// Draws all paths, `[point, variable]`; each series has random numbers of its own.
    pub fn draw(
        &self,
        grid: &LinearGrid,
        steps: &Steps,
        random: &(dyn Fn(usize) -> RandomStream + Sync),
    ) -> Option<Vec<f64>> {
        let d = grid.n_variables();
        let drawn: Vec<Option<Vec<f64>>> = (steps.series.par_iter().enumerate())
            .map(|(at, series)| self.draw_series(grid, steps, series, &mut random(at)))
            .collect();
        let mut paths = vec![0.0; grid.layout().n_points() * d];
        for (series, drawn) in steps.series.iter().zip(drawn) {
            paths[series.first_point * d..(series.first_point + series.n + 1) * d]
                .copy_from_slice(&drawn?);
        }
        Some(paths)
    }

    fn draw_series(
        &self,
        grid: &LinearGrid,
        steps: &Steps,
        series: &SeriesSteps,
        random: &mut RandomStream,
    ) -> Option<Vec<f64>> {
        let d = grid.n_variables();
        let transitions = self.transitions(grid, steps, series);
        let seen = self.filter(grid, series, &transitions)?;
        let mut path = vec![0.0; (series.n + 1) * d];
        let last = seen.last().expect("a series has a point");
        let mut state = drawn(&last.mean, &last.filtered, random)?;
        path[series.n * d..].copy_from_slice(&state);
        for point in (0..series.n).rev() {
            let (here, next) = (&seen[point], &seen[point + 1]);
            // J' = P⁻¹ A F, with A the step, F the filtered and P the next predicted covariance.
            let step = View::new(&transitions[point].matrix, d, d);
            let mut gain = times(step, View::new(&here.filtered, d, d), d);
            let factor = cholesky(&raised(&next.predicted, d), d)?;
            solve_lower(&factor, d, &mut gain, d);
            let half = gain.clone();
            solve_upper(&factor, d, &mut gain, d);
            let explained = times(View::new(&half, d, d).t(), View::new(&half, d, d), d);
            let rest: Vec<f64> = here.filtered.iter().zip(&explained).map(|(a, b)| a - b).collect();
            let mut mean = here.mean.clone();
            for (row, (ahead, predicted)) in state.iter().zip(&next.predicted_mean).enumerate() {
                for (col, mean) in mean.iter_mut().enumerate() {
                    *mean += gain[row * d + col] * (ahead - predicted);
                }
            }
            state = drawn(&mean, &rest, random)?;
            path[point * d..(point + 1) * d].copy_from_slice(&state);
        }
        Some(path)
    }

    fn transitions(
        &self,
        grid: &LinearGrid,
        steps: &Steps,
        series: &SeriesSteps,
    ) -> Vec<Transition> {
        let step = |step: usize| {
            let at = series.first + step;
            let dynamics = &self.dynamics[usize::from(self.labels[at])];
            let mut transition = Transition::new(dynamics, grid.scales(), steps.lengths[at]);
            let point = series.first_point + step + 1;
            for idx in (0..grid.n_variables()).filter(|&idx| steps.is_silent(at, idx)) {
                transition.begin_anew(idx, grid.layout().set_value(point, idx));
            }
            transition
        };
        (0..series.n).map(step).collect()
    }

    fn filter(
        &self,
        grid: &LinearGrid,
        series: &SeriesSteps,
        transitions: &[Transition],
    ) -> Option<Vec<Seen>> {
        let (d, first) = (grid.n_variables(), &self.dynamics[0]);
        let mut mean = first.initial_means.clone();
        let mut covariance = vec![0.0; d * d];
        for (idx, variance) in first.initial_variances.iter().enumerate() {
            covariance[idx * (d + 1)] = *variance;
            if let Some(value) = grid.layout().set_value(series.first_point, idx) {
                mean[idx] = value;
                covariance[idx * (d + 1)] = SET_VARIANCE;
            }
        }
        let mut seen: Vec<Seen> = Vec::with_capacity(series.n + 1);
        for point in 0..=series.n {
            if point > 0 {
                let last = &seen[point - 1];
                (mean, covariance) = transitions[point - 1].ahead(&last.mean, &last.filtered);
            }
            let (predicted_mean, predicted) = (mean.clone(), covariance.clone());
            let observed = grid.layout().observed_row(series.first_point + point);
            for (cell, value) in observed.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
                see(&mut mean, &mut covariance, cell, *value, first.noise[cell]);
            }
            if mean.iter().any(|value| !value.is_finite()) {
                return None;
            }
            let (mean, filtered) = (mean.clone(), covariance.clone());
            seen.push(Seen { predicted_mean, predicted, mean, filtered });
        }
        Some(seen)
    }
}

/// One step: z' = A z + b + N(0, Q).
struct Transition {
    matrix: Vec<f64>,
    offsets: Vec<f64>,
    noise: Vec<f64>,
}

impl Transition {
    fn new(dynamics: &LinearDynamics, scales: &[f64], h: f64) -> Self {
        let d = scales.len();
        let mut matrix = identity(d);
        for (target, row) in dynamics.effects.chunks_exact(d + 1).enumerate() {
            for (source, effect) in row[..d].iter().enumerate() {
                matrix[target * d + source] += h * scales[target] * effect;
            }
        }
        let offset = |target: usize| h * scales[target] * dynamics.effects[target * (d + 1) + d];
        let noise = |target: usize| h * scales[target].powi(2) * dynamics.variances[target];
        Self { matrix, offsets: (0..d).map(offset).collect(), noise: (0..d).map(noise).collect() }
    }

    /// Nothing leads to a variable of whose causes the step says nothing; its value is known where it was set.
    fn begin_anew(&mut self, target: usize, value: Option<f64>) {
        let d = self.offsets.len();
        self.matrix[target * d..(target + 1) * d].fill(0.0);
        self.offsets[target] = value.unwrap_or(0.0);
        self.noise[target] = if value.is_some() { SET_VARIANCE } else { ANEW_VARIANCE };
    }

    /// Mean and covariance after the step.
    fn ahead(&self, mean: &[f64], covariance: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let d = mean.len();
        let matrix = View::new(&self.matrix, d, d);
        let half = times(matrix, View::new(covariance, d, d), d);
        let mut next = times(View::new(&half, d, d), matrix.t(), d);
        for row in 0..d {
            next[row * (d + 1)] += self.noise[row];
            for col in 0..row {
                let middle = 0.5 * (next[row * d + col] + next[col * d + row]);
                next[row * d + col] = middle;
                next[col * d + row] = middle;
            }
        }
        let moved = self.matrix.chunks_exact(d).zip(&self.offsets);
        let mean = moved.map(|(row, offset)| {
            offset + row.iter().zip(mean).map(|(weight, value)| weight * value).sum::<f64>()
        });
        (mean.collect(), next)
    }
}

/// Takes in one measured cell.
fn see(mean: &mut [f64], covariance: &mut [f64], cell: usize, value: f64, noise: f64) {
    let d = mean.len();
    let column: Vec<f64> = covariance[cell * d..(cell + 1) * d].to_vec();
    let variance = column[cell] + noise;
    let error = value - mean[cell];
    for row in 0..d {
        let gain = column[row] / variance;
        mean[row] += gain * error;
        for (col, other) in column.iter().enumerate() {
            covariance[row * d + col] -= gain * other;
        }
    }
}

fn raised(covariance: &[f64], d: usize) -> Vec<f64> {
    let largest = (0..d).map(|idx| covariance[idx * (d + 1)]).fold(0.0, f64::max);
    let mut raised = covariance.to_vec();
    for idx in 0..d {
        raised[idx * (d + 1)] += JITTER * largest + f64::MIN_POSITIVE;
    }
    raised
}

fn drawn(mean: &[f64], covariance: &[f64], random: &mut RandomStream) -> Option<Vec<f64>> {
    let d = mean.len();
    let factor = cholesky(&raised(covariance, d), d)?;
    let noise: Vec<f64> = (0..d).map(|_| random.normal()).collect();
    let row = |row: usize| -> f64 { (0..=row).map(|col| factor[row * d + col] * noise[col]).sum() };
    Some((0..d).map(|idx| mean[idx] + row(idx)).collect())
}
