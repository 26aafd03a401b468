//! Steps of all series with the regime that each belongs to.

use crate::posterior::linear::dynamics::LinearDynamics;
use crate::posterior::linear::grid::LinearGrid;
use crate::posterior::linear::sums::StepSums;

/// The steps of one series, one after the other in buffers of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesSteps {
    /// First step in buffers of steps.
    pub first: usize,
    /// First point in buffers of points.
    pub first_point: usize,
    /// Number of steps.
    pub n: usize,
}

/// All steps of a grid, series after series.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// Where each series lies.
    pub series: Vec<SeriesSteps>,
    /// Length of each step.
    pub lengths: Vec<f64>,
}

impl Steps {
    /// The steps of a grid.
    pub fn new(grid: &LinearGrid) -> Self {
        let mut all = Self { series: Vec::new(), lengths: Vec::new() };
        for rows in grid.layout().series() {
            let (first, n) = (all.lengths.len(), rows.n_steps());
            all.series.push(SeriesSteps { first, first_point: rows.first_point, n });
            let steps = (0..n).map(|step| grid.layout().step(rows.first_deviation_row + step));
            all.lengths.extend(steps);
        }
        all
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there are none.
    #[cfg(feature = "testing")]
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Lengths of the steps of one series.
    pub fn lengths_of(&self, series: &SeriesSteps) -> &[f64] {
        &self.lengths[series.first..series.first + series.n]
    }

    /// Sums of the steps of each regime along known paths; `weights` are `[step, regime]`.
    pub fn sums(
        &self,
        grid: &LinearGrid,
        paths: &[f64],
        weights: &[f64],
        k: usize,
    ) -> Vec<StepSums> {
        let (d, m) = (grid.n_variables(), grid.n_variables() + 1);
        let mut sums = vec![StepSums::zero(d); k];
        let (mut state, mut added) = (vec![1.0; m], vec![0.0; d]);
        for series in &self.series {
            for step in 0..series.n {
                let h = self.lengths[series.first + step];
                read(grid, paths, series.first_point + step, &mut state, &mut added);
                for (regime, sums) in sums.iter_mut().enumerate() {
                    let weight = weights[(series.first + step) * k + regime];
                    if weight > 0.0 {
                        add_step(sums, weight, h, &state, &added);
                    }
                }
            }
        }
        sums
    }

    /// Log density of every step under every dynamics, `[step, regime]`.
    pub fn log_densities(
        &self,
        grid: &LinearGrid,
        paths: &[f64],
        all: &[LinearDynamics],
    ) -> Vec<f64> {
        let (d, m, k) = (grid.n_variables(), grid.n_variables() + 1, all.len());
        let drifts: Vec<Drift> = all.iter().map(Drift::new).collect();
        let (mut state, mut added) = (vec![1.0; m], vec![0.0; d]);
        let mut out = vec![0.0; self.len() * k];
        for series in &self.series {
            for step in 0..series.n {
                let at = series.first + step;
                read(grid, paths, series.first_point + step, &mut state, &mut added);
                for (regime, drift) in drifts.iter().enumerate() {
                    out[at * k + regime] = drift.log_density(self.lengths[at], &state, &added);
                }
            }
        }
        out
    }

    /// What each step added beyond its prediction, in increment scales per root of time, `[step, variable]`.
    pub fn innovations(
        &self,
        grid: &LinearGrid,
        paths: &[f64],
        all: &[LinearDynamics],
        labels: &[u8],
    ) -> Vec<f64> {
        let (d, m) = (grid.n_variables(), grid.n_variables() + 1);
        let drifts: Vec<Drift> = all.iter().map(Drift::new).collect();
        let (mut state, mut added) = (vec![1.0; m], vec![0.0; d]);
        let mut out = vec![0.0; self.len() * d];
        for series in &self.series {
            for step in 0..series.n {
                let (at, h) = (series.first + step, self.lengths[series.first + step]);
                read(grid, paths, series.first_point + step, &mut state, &mut added);
                let drift = &drifts[usize::from(labels[at])];
                for (target, out) in out[at * d..(at + 1) * d].iter_mut().enumerate() {
                    *out = (added[target] - h * drift.of(target, &state)) / h.sqrt();
                }
            }
        }
        out
    }
}

/// The state before a step (its last entry stays 1), and the increment in increment scales.
fn read(grid: &LinearGrid, paths: &[f64], point: usize, state: &mut [f64], added: &mut [f64]) {
    let d = added.len();
    let (here, next) = (&paths[point * d..][..d], &paths[(point + 1) * d..][..d]);
    state[..d].copy_from_slice(here);
    for (idx, added) in added.iter_mut().enumerate() {
        *added = (next[idx] - here[idx]) / grid.scales()[idx];
    }
}

/// Adds one step to the sums of a regime.
fn add_step(sums: &mut StepSums, weight: f64, h: f64, state: &[f64], added: &[f64]) {
    let m = state.len();
    for (row, value) in state.iter().enumerate() {
        let factor = weight * h * value;
        let products = &mut sums.products[row * m..(row + 1) * m];
        products.iter_mut().zip(state).for_each(|(sum, other)| *sum += factor * other);
    }
    for (target, increment) in added.iter().enumerate() {
        let factor = weight * increment;
        let responses = &mut sums.responses[target * m..(target + 1) * m];
        responses.iter_mut().zip(state).for_each(|(sum, value)| *sum += factor * value);
        sums.squares[target] += factor * increment / h;
    }
    sums.n_steps.iter_mut().for_each(|n| *n += weight);
}

/// A drift with the effects that are not 0, target by target.
struct Drift {
    entries: Vec<Vec<(usize, f64)>>,
    /// 1 / g and log(2 pi g) / 2 by target.
    precisions: Vec<f64>,
    constant: f64,
}

impl Drift {
    fn new(dynamics: &LinearDynamics) -> Self {
        use crate::numeric::real::ln;
        let m = dynamics.n_variables() + 1;
        let row = |row: &[f64]| {
            let there = row.iter().copied().enumerate().filter(|(_, effect)| *effect != 0.0);
            there.collect::<Vec<_>>()
        };
        let half = |g: &f64| 0.5 * ln(std::f64::consts::TAU * g);
        Self {
            entries: dynamics.effects.chunks_exact(m).map(row).collect(),
            precisions: dynamics.variances.iter().map(|g| 1.0 / g).collect(),
            constant: dynamics.variances.iter().map(half).sum(),
        }
    }

    fn of(&self, target: usize, state: &[f64]) -> f64 {
        self.entries[target].iter().map(|(source, effect)| effect * state[*source]).sum()
    }

    fn log_density(&self, h: f64, state: &[f64], added: &[f64]) -> f64 {
        let square: f64 = (added.iter().enumerate())
            .map(|(target, added)| {
                let error = added - h * self.of(target, state);
                error * error * self.precisions[target]
            })
            .sum();
        let d = added.len() as f64;
        -0.5 * square / h - self.constant - 0.5 * d * crate::numeric::real::ln(h)
    }
}
