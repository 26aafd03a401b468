//! Smoothing one variable after the other, the others at their means: linear in the number of variables squared.
//!
//! The posterior of the paths is then independent between variables. The best law of one variable given the others is
//! Gauss-Markov, with a tridiagonal precision that all series of a group share.

use super::dynamics::LinearDynamics;
use super::grid::{Group, LinearGrid};
use super::joint::SmoothedPaths;
use super::sums::StepSums;
use crate::numeric::real::ln;

/// Smooths every variable once, starting from the means of all; `means` is `[point, variable]`.
pub(super) fn smooth_by_variable(
    grid: &LinearGrid,
    dynamics: &LinearDynamics,
    uncertainty: &[f64],
    means: Vec<f64>,
) -> SmoothedPaths {
    let (d, layout) = (grid.n_variables(), grid.layout());
    let smoother = SingleSmoother { grid, dynamics, uncertainty };
    let mut paths = SmoothedPaths {
        means,
        variances: vec![0.0; layout.n_deviation_rows() * d],
        neighbours: vec![0.0; layout.n_deviation_rows() * d],
        sums: StepSums::zero(d),
        log_evidence: 0.0,
    };
    let mut entropy = 0.0;
    let mut errors = smoother.errors(&paths.means);
    for variable in 0..d {
        for group in grid.groups() {
            entropy += smoother.smooth(group, variable, &mut paths, &mut errors);
        }
    }
    paths.sums.add_paths(grid, &paths.means);
    smoother.add_covariances(&mut paths);
    paths.log_evidence = entropy + smoother.expected_log_joint(&paths);
    paths
}

/// Every cell's last observed value, or its first: where smoothing starts from.
pub(super) fn held_values(grid: &LinearGrid) -> Vec<f64> {
    let (d, layout) = (grid.n_variables(), grid.layout());
    let mut means = vec![0.0; layout.n_points() * d];
    for rows in layout.series() {
        let points = rows.first_point..rows.first_point + rows.n_points;
        for idx in 0..d {
            let value = |point: usize| layout.observed_row(point)[idx];
            let first = points.clone().map(value).find(|value| !value.is_nan());
            let mut last = first.unwrap_or(0.0);
            for point in points.clone() {
                if !value(point).is_nan() {
                    last = value(point);
                }
                means[point * d + idx] = last;
            }
        }
    }
    means
}

struct SingleSmoother<'a> {
    grid: &'a LinearGrid,
    dynamics: &'a LinearDynamics,
    uncertainty: &'a [f64],
}

/// A tridiagonal precision, factored: pivots, and what each row passes to the next.
struct Factored {
    pivots: Vec<f64>,
    ratios: Vec<f64>,
}

impl SingleSmoother<'_> {
    /// c_j W_ij: the drift of the standardised target per unit of the source.
    fn slope(&self, source: usize, target: usize) -> f64 {
        self.grid.scales()[target] * self.dynamics.effect(source, target)
    }

    /// Variance of the standardised target's innovations per time.
    fn innovation_variance(&self, target: usize) -> f64 {
        self.grid.scales()[target].powi(2) * self.dynamics.variances[target]
    }

    /// z_k+1 - z_k - h drift(z_k) at the means, in the rows of the points where steps begin.
    fn errors(&self, means: &[f64]) -> Vec<f64> {
        let (d, layout) = (self.grid.n_variables(), self.grid.layout());
        let mut errors = vec![0.0; means.len()];
        for rows in layout.series() {
            for step in 0..rows.n_steps() {
                let (here, h) =
                    ((rows.first_point + step) * d, layout.step(rows.first_deviation_row + step));
                for target in 0..d {
                    let row = &self.dynamics.effects[target * (d + 1)..(target + 1) * (d + 1)];
                    let drift: f64 = row[d]
                        + row[..d].iter().zip(&means[here..]).map(|(w, z)| w * z).sum::<f64>();
                    errors[here + target] = means[here + d + target]
                        - means[here + target]
                        - h * self.grid.scales()[target] * drift;
                }
            }
        }
        errors
    }

    /// Smooths one variable of the series of a group; returns the entropy of its new law.
    fn smooth(
        &self,
        group: &Group,
        variable: usize,
        paths: &mut SmoothedPaths,
        errors: &mut [f64],
    ) -> f64 {
        let (d, layout) = (self.grid.n_variables(), self.grid.layout());
        let n = group.n_points;
        let (own, innovation_variance) =
            (self.slope(variable, variable), self.innovation_variance(variable));
        let slopes: Vec<(usize, f64)> = (0..d)
            .filter(|&target| target != variable)
            .map(|target| (target, self.slope(variable, target)))
            .filter(|(_, slope)| *slope != 0.0)
            .collect();
        let outward: f64 = slopes
            .iter()
            .map(|&(target, slope)| slope * slope / self.innovation_variance(target))
            .sum();
        let step = |point: usize| layout.step(group.first_deviation_row + point);
        let noise = self.dynamics.noise[variable];
        let (mut diagonal, mut off) = (vec![0.0; n], vec![0.0; n]);
        for point in 0..n {
            let observed = layout.observed_row(group.first_points[0] + point)[variable];
            diagonal[point] += if observed.is_nan() { 0.0 } else { 1.0 / noise };
            if point == 0 {
                diagonal[0] += 1.0 / self.dynamics.initial_variances[variable];
            } else {
                diagonal[point] += 1.0 / (innovation_variance * step(point - 1));
            }
            if point + 1 < n {
                let (h, carried) = (step(point), 1.0 + step(point) * own);
                diagonal[point] += carried * carried / (innovation_variance * h)
                    + h * (outward + self.uncertainty[variable]);
                off[point] = -carried / (innovation_variance * h);
            }
        }
        let factored = Factored::new(&diagonal, &off);
        for &first in &group.first_points {
            // The gradient of the log joint at the present means, all others fixed.
            let mut change: Vec<f64> = (0..n)
                .map(|point| {
                    let at = (first + point) * d;
                    let mean = paths.means[at + variable];
                    let observed = layout.observed_row(first + point)[variable];
                    let mut pull = if observed.is_nan() { 0.0 } else { (observed - mean) / noise };
                    if point == 0 {
                        pull += (self.dynamics.initial_means[variable] - mean)
                            / self.dynamics.initial_variances[variable];
                    } else {
                        pull -= errors[at - d + variable] / (innovation_variance * step(point - 1));
                    }
                    if point + 1 < n {
                        let h = step(point);
                        pull += (1.0 + h * own) * errors[at + variable] / (innovation_variance * h)
                            - h * self.uncertainty[variable] * mean;
                        for &(target, slope) in &slopes {
                            pull += slope * errors[at + target] / self.innovation_variance(target);
                        }
                    }
                    pull
                })
                .collect();
            factored.solve(&mut change);
            for point in 0..n {
                let at = (first + point) * d;
                paths.means[at + variable] += change[point];
                if point + 1 < n {
                    let h = step(point);
                    errors[at + variable] += change[point + 1] - (1.0 + h * own) * change[point];
                    for &(target, slope) in &slopes {
                        errors[at + target] -= h * slope * change[point];
                    }
                }
            }
        }
        self.place_variances(group, variable, &factored, paths);
        let log_det: f64 = factored.pivots.iter().map(|&pivot| ln(pivot)).sum();
        let constant = n as f64 * (ln(std::f64::consts::TAU) + 1.0);
        0.5 * group.first_points.len() as f64 * (constant - log_det)
    }

    fn place_variances(
        &self,
        group: &Group,
        variable: usize,
        factored: &Factored,
        paths: &mut SmoothedPaths,
    ) {
        let d = self.grid.n_variables();
        let mut variance = 0.0;
        for point in (0..group.n_points).rev() {
            let at = (group.first_deviation_row + point) * d + variable;
            // cov(z_k+1, z_k) = -ratio_k V_k+1;  V_k = 1 / pivot_k + ratio_k² V_k+1.
            let ratio = factored.ratios[point];
            paths.neighbours[at] = -ratio * variance;
            variance = 1.0 / factored.pivots[point] + ratio * ratio * variance;
            paths.variances[at] = variance;
        }
    }

    /// What the uncertainty of the states adds to the sums.
    fn add_covariances(&self, paths: &mut SmoothedPaths) {
        let (d, m, layout) =
            (self.grid.n_variables(), self.grid.n_variables() + 1, self.grid.layout());
        for group in self.grid.groups() {
            let n = group.first_points.len() as f64;
            for point in 0..group.n_points - 1 {
                let h = layout.step(group.first_deviation_row + point);
                for idx in 0..d {
                    let at = (group.first_deviation_row + point) * d + idx;
                    let (before, after) = (paths.variances[at], paths.variances[at + d]);
                    let (cross, scale) = (paths.neighbours[at], self.grid.scales()[idx]);
                    paths.sums.products[idx * (m + 1)] += n * h * before;
                    paths.sums.responses[idx * m + idx] += n * (cross - before) / scale;
                    paths.sums.squares[idx] +=
                        n * (after + before - 2.0 * cross) / (scale * scale * h);
                }
            }
        }
    }

    /// E log p(paths, data), with what the uncertainty of effects costs.
    fn expected_log_joint(&self, paths: &SmoothedPaths) -> f64 {
        let (d, m, layout) =
            (self.grid.n_variables(), self.grid.n_variables() + 1, self.grid.layout());
        let sums = &paths.sums;
        let residuals = sums.residuals(&self.dynamics.effects);
        let log_steps: f64 = (layout.series().iter())
            .flat_map(|rows| (0..rows.n_steps()).map(move |step| rows.first_deviation_row + step))
            .map(|row| ln(layout.step(row)))
            .sum();
        let moments = super::ascent::PathMoments::new(self.grid, paths);
        let tau = std::f64::consts::TAU;
        let cost =
            |n: f64, square: f64, variance: f64| 0.5 * (n * ln(tau * variance) + square / variance);
        let mut joint = -0.5 * d as f64 * log_steps;
        for idx in 0..d {
            let row = &self.dynamics.effects[idx * m..(idx + 1) * m];
            let scale = self.grid.scales()[idx].powi(2);
            let square = scale * sums.residual_square(idx, row, &residuals);
            joint -= cost(sums.n_steps, square, self.innovation_variance(idx));
            joint -= cost(moments.n_observed[idx], moments.misfits[idx], self.dynamics.noise[idx]);
            let mean = self.dynamics.initial_means[idx];
            let square = moments.first_squares[idx] - 2.0 * mean * moments.first_sums[idx]
                + moments.n_series * mean * mean;
            joint -= cost(moments.n_series, square, self.dynamics.initial_variances[idx]);
            joint -= 0.5 * self.uncertainty[idx] * sums.products[idx * (m + 1)];
        }
        joint
    }
}

impl Factored {
    /// By forward elimination.
    fn new(diagonal: &[f64], off: &[f64]) -> Self {
        let n = diagonal.len();
        let (mut pivots, mut ratios) = (diagonal.to_vec(), vec![0.0; n]);
        for row in 0..n {
            ratios[row] = off[row] / pivots[row];
            if row + 1 < n {
                pivots[row + 1] -= off[row] * ratios[row];
            }
        }
        Self { pivots, ratios }
    }

    fn solve(&self, values: &mut [f64]) {
        let n = values.len();
        for row in 1..n {
            values[row] -= self.ratios[row - 1] * values[row - 1];
        }
        for row in (0..n).rev() {
            values[row] /= self.pivots[row];
            if row + 1 < n {
                values[row] -= self.ratios[row] * values[row + 1];
            }
        }
    }
}
