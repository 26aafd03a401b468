//! Sums over steps: all that linear effects can be learned from.

use super::grid::LinearGrid;
use crate::numeric::kernels::{View, add_product};
use crate::posterior::bridge::layout::SeriesRows;

/// Steps handled at once: their rows stay in cache.
const BLOCK: usize = 256;

/// Moments of states before steps and of what the steps added, over all series.
///
/// With u = (z, 1) before a step of length h and d its increment in increment scales.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSums {
    /// Σ h u u', symmetric, D + 1 rows.
    pub products: Vec<f64>,
    /// Σ u d', `[target, source]`, D rows of D + 1.
    pub responses: Vec<f64>,
    /// Σ d² / h by target.
    pub squares: Vec<f64>,
    /// Number of steps.
    pub n_steps: f64,
}

impl StepSums {
    /// Nothing, for D variables.
    pub fn zero(n_variables: usize) -> Self {
        let m = n_variables + 1;
        Self {
            products: vec![0.0; m * m],
            responses: vec![0.0; n_variables * m],
            squares: vec![0.0; n_variables],
            n_steps: 0.0,
        }
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.squares.len()
    }

    /// Sums over known paths, `[point, variable]` in the rows of the grid.
    pub fn of_paths(grid: &LinearGrid, paths: &[f64]) -> Self {
        let mut sums = Self::zero(grid.n_variables());
        sums.add_paths(grid, paths);
        sums
    }

    /// Adds the steps of all series along known points.
    pub(super) fn add_paths(&mut self, grid: &LinearGrid, paths: &[f64]) {
        for series in grid.layout().series() {
            self.add_series(grid, series, paths);
        }
    }

    /// Adds the steps of one series along known points.
    pub(super) fn add_series(&mut self, grid: &LinearGrid, series: &SeriesRows, paths: &[f64]) {
        let SeriesRows { first_point, first_deviation_row, .. } = *series;
        let n_steps = series.n_steps();
        let (d, m) = (grid.n_variables(), grid.n_variables() + 1);
        let (mut scaled, mut states, mut added) = (Vec::new(), Vec::new(), Vec::new());
        for start in (0..n_steps).step_by(BLOCK) {
            let n = BLOCK.min(n_steps - start);
            [&mut scaled, &mut states, &mut added].into_iter().for_each(Vec::clear);
            for step in start..start + n {
                let h = grid.layout().step(first_deviation_row + step);
                let here = &paths[(first_point + step) * d..][..d];
                let next = &paths[(first_point + step + 1) * d..][..d];
                states.extend_from_slice(here);
                states.push(1.0);
                scaled.extend(here.iter().map(|value| h * value));
                scaled.push(h);
                for (target, (next, here)) in next.iter().zip(here).enumerate() {
                    let increment = (next - here) / grid.scales()[target];
                    self.squares[target] += increment * increment / h;
                    added.push(increment);
                }
            }
            let states = View::new(&states, n, m);
            add_product(&mut self.products, m, View::new(&scaled, n, m).t(), states);
            add_product(&mut self.responses, m, View::new(&added, n, d).t(), states);
        }
        self.n_steps += n_steps as f64;
    }

    /// Σ u e' of residuals e = d - h W u, `[target, source]`.
    pub(super) fn residuals(&self, effects: &[f64]) -> Vec<f64> {
        let (d, m) = (self.n_variables(), self.n_variables() + 1);
        let negative: Vec<f64> = effects.iter().map(|effect| -effect).collect();
        let mut residuals = self.responses.clone();
        add_product(&mut residuals, m, View::new(&negative, d, m), View::new(&self.products, m, m));
        residuals
    }

    /// Σ e² / h of one target, its effects known.
    pub(super) fn residual_square(&self, target: usize, effects: &[f64], residuals: &[f64]) -> f64 {
        let row = target * effects.len()..(target + 1) * effects.len();
        let explained: f64 = (effects.iter())
            .zip(self.responses[row.clone()].iter().zip(&residuals[row]))
            .map(|(effect, (response, residual))| effect * (response + residual))
            .sum();
        self.squares[target] - explained
    }
}
