//! Smoothing one variable after the other, the others at their means: linear in the number of variables squared.
//!
//! The posterior of the paths is then independent between variables. The best law of one variable given the others is
//! Gauss-Markov, with a tridiagonal precision that all series of a group share.

use super::dynamics::LinearDynamics;
use super::grid::{Group, LinearGrid};
use super::joint::{ANEW_VARIANCE, SmoothedPaths, Uncertainty};
use super::sums::StepSums;
use crate::numeric::real::ln;

/// Smooths every variable once, starting from the means of all; `means` is `[point, variable]`.
pub(super) fn smooth_by_variable(
    grid: &LinearGrid,
    dynamics: &LinearDynamics,
    uncertainty: &Uncertainty,
    means: Vec<f64>,
) -> SmoothedPaths {
    let (d, layout) = (grid.n_variables(), grid.layout());
    let smoother = SingleSmoother { grid, dynamics, uncertainty };
    let mut paths = SmoothedPaths {
        means,
        variances: vec![0.0; layout.n_deviation_rows() * d],
        neighbours: vec![0.0; layout.n_deviation_rows() * d],
        sums: StepSums::none(grid.rows()),
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
    paths.sums.finish();
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
            let value = |point: usize| {
                layout.set_value(point, idx).unwrap_or(layout.observed_row(point)[idx])
            };
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

/// The drift of a target in a state, per increment scale; `common` are the values of the common sources, and 1.
pub(super) fn drift_of(
    grid: &LinearGrid,
    dynamics: &LinearDynamics,
    target: usize,
    common: &[f64],
    value: f64,
) -> f64 {
    let rows = grid.rows();
    let (first, offset) = (rows.row(target).start, rows.offset(target));
    let effects = &dynamics.effects[first..offset];
    let own = rows.own(target).map_or(0.0, |own| dynamics.effects[own] * value);
    dynamics.effects[offset] + effects.iter().zip(common).map(|(w, z)| w * z).sum::<f64>() + own
}

struct SingleSmoother<'a> {
    grid: &'a LinearGrid,
    dynamics: &'a LinearDynamics,
    uncertainty: &'a Uncertainty,
}

/// Precision of a value that was set.
const SET_PRECISION: f64 = 1e10;

/// A tridiagonal precision, factored: pivots, and what each row passes to the next.
struct Factored {
    pivots: Vec<f64>,
    ratios: Vec<f64>,
}

impl SingleSmoother<'_> {
    /// c_j W_ij: the drift of the standardised target per unit of the source.
    fn slope(&self, entry: usize, target: usize) -> f64 {
        self.grid.scales()[target] * self.dynamics.effects[entry]
    }

    /// Variance of the standardised target's innovations per time.
    fn innovation_variance(&self, target: usize) -> f64 {
        self.grid.scales()[target].powi(2) * self.dynamics.variances[target]
    }

    /// z_k+1 - z_k - h drift(z_k) at the means, in the rows of the points where steps begin.
    fn errors(&self, means: &[f64]) -> Vec<f64> {
        let (d, layout) = (self.grid.n_variables(), self.grid.layout());
        let mut errors = vec![0.0; means.len()];
        let mut state = Vec::new();
        for rows in layout.series() {
            for step in 0..rows.n_steps() {
                let (here, h) =
                    ((rows.first_point + step) * d, layout.step(rows.first_deviation_row + step));
                state.clear();
                self.grid.rows().push_common(&means[here..here + d], &mut state);
                for target in 0..d {
                    let drift =
                        drift_of(self.grid, self.dynamics, target, &state, means[here + target]);
                    errors[here + target] = means[here + d + target]
                        - means[here + target]
                        - h * self.grid.scales()[target] * drift;
                }
                for push in layout.pushes_at(rows.first_point + step) {
                    errors[here + push.variable] -= push.share
                        * h
                        * self.grid.scales()[push.variable]
                        * self.dynamics.amounts[push.amount];
                }
            }
        }
        errors
    }

    /// What uncertain effects of a variable add to its precision, by point.
    fn uncertainty_of(&self, group: &Group, variable: usize) -> Vec<f64> {
        let next = |point: usize| {
            (point + 1 < group.n_points).then_some(group.first_points[0] + point + 1)
        };
        let at = |point: usize| self.uncertainty.at(self.grid.layout(), next(point))[variable];
        (0..group.n_points).map(at).collect()
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
        let own = self.grid.rows().entry(variable, variable);
        let own = own.map_or(0.0, |entry| self.slope(entry, variable));
        let innovation_variance = self.innovation_variance(variable);
        let slopes: Vec<(usize, f64)> = (self.grid.rows().targets(variable))
            .filter(|(_, target)| *target != variable)
            .map(|(entry, target)| (target, self.slope(entry, target)))
            .filter(|(_, slope)| *slope != 0.0)
            .collect();
        // Effects on targets of whose causes a step says nothing are no reason to move.
        let counts = |point: usize, target: usize| {
            !layout.is_left_out(group.first_points[0] + point + 1, target)
        };
        let outward = |point: usize| -> f64 {
            (slopes.iter())
                .filter(|(target, _)| counts(point, *target))
                .map(|&(target, slope)| slope * slope / self.innovation_variance(target))
                .sum()
        };
        let step = |point: usize| layout.step(group.first_deviation_row + point);
        let uncertainty = self.uncertainty_of(group, variable);
        let is_set =
            |point: usize| layout.set_value(group.first_points[0] + point, variable).is_some();
        let noise = self.dynamics.noise[variable];
        let (mut diagonal, mut off) = (vec![0.0; n], vec![0.0; n]);
        for point in 0..n {
            let observed = layout.observed_row(group.first_points[0] + point)[variable];
            diagonal[point] += if observed.is_nan() { 0.0 } else { 1.0 / noise };
            if is_set(point) {
                diagonal[point] += SET_PRECISION;
            }
            if point > 0 && !counts(point - 1, variable) {
                diagonal[point] += 1.0 / ANEW_VARIANCE;
            } else if point == 0 {
                diagonal[0] += 1.0 / self.dynamics.initial_variances[variable];
            } else {
                diagonal[point] += 1.0 / (innovation_variance * step(point - 1));
            }
            if point + 1 < n {
                let (h, carried) = (step(point), 1.0 + step(point) * own);
                diagonal[point] += h * (outward(point) + uncertainty[point]);
                if counts(point, variable) {
                    diagonal[point] += carried * carried / (innovation_variance * h);
                    off[point] = -carried / (innovation_variance * h);
                }
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
                    if let Some(value) = layout.set_value(first + point, variable) {
                        pull += (value - mean) * SET_PRECISION;
                    }
                    if point > 0 && !counts(point - 1, variable) {
                        pull -= mean / ANEW_VARIANCE;
                    } else if point == 0 {
                        pull += (self.dynamics.initial_means[variable] - mean)
                            / self.dynamics.initial_variances[variable];
                    } else {
                        pull -= errors[at - d + variable] / (innovation_variance * step(point - 1));
                    }
                    if point + 1 < n {
                        let h = step(point);
                        pull -= h * uncertainty[point] * mean;
                        if counts(point, variable) {
                            pull +=
                                (1.0 + h * own) * errors[at + variable] / (innovation_variance * h);
                        }
                        let moved = slopes.iter().filter(|(target, _)| counts(point, *target));
                        for &(target, slope) in moved {
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
        let (d, layout) = (self.grid.n_variables(), self.grid.layout());
        let rows = self.grid.rows();
        for group in self.grid.groups() {
            let n = group.first_points.len() as f64;
            for point in 0..group.n_points - 1 {
                let h = layout.step(group.first_deviation_row + point);
                let next = group.first_points[0] + point + 1;
                let left_out = (0..d).filter(|&idx| layout.is_left_out(next, idx));
                for target in left_out.filter(|&idx| !self.grid.is_input(idx)) {
                    let row = (group.first_deviation_row + point) * d;
                    let before = &paths.variances[row..row + d];
                    let (first, width) = (rows.row(target).start, rows.row(target).len());
                    paths.sums.keep_from(target, |own| {
                        for (entry, source) in rows.sources(target) {
                            own[(entry - first) * (width + 1)] -= n * h * before[source];
                        }
                    });
                }
                for idx in 0..d {
                    let at = (group.first_deviation_row + point) * d + idx;
                    let (before, after) = (paths.variances[at], paths.variances[at + d]);
                    let (cross, scale) = (paths.neighbours[at], self.grid.scales()[idx]);
                    paths.sums.add_variance(idx, n * h * before);
                    if layout.is_left_out(next, idx) {
                        continue;
                    }
                    if let Some(own) = rows.entry(idx, idx) {
                        paths.sums.responses[own] += n * (cross - before) / scale;
                    }
                    paths.sums.squares[idx] +=
                        n * (after + before - 2.0 * cross) / (scale * scale * h);
                }
            }
        }
    }

    /// E log p(paths, data), with what the uncertainty of effects costs.
    fn expected_log_joint(&self, paths: &SmoothedPaths) -> f64 {
        let d = self.grid.n_variables();
        let sums = &paths.sums;
        let residuals = sums.residuals(self.dynamics);
        let (log_steps, uncertain) = self.costs_of_steps(paths);
        let moments = super::ascent::PathMoments::new(self.grid, paths);
        let tau = std::f64::consts::TAU;
        let cost =
            |n: f64, square: f64, variance: f64| 0.5 * (n * ln(tau * variance) + square / variance);
        let mut joint = -0.5 * (log_steps + uncertain);
        for idx in 0..d {
            let scale = self.grid.scales()[idx].powi(2);
            let square = scale * sums.residual_square(idx, self.dynamics, &residuals);
            joint -= cost(sums.n_steps[idx], square, self.innovation_variance(idx));
            joint -= cost(moments.n_observed[idx], moments.misfits[idx], self.dynamics.noise[idx]);
            let mean = self.dynamics.initial_means[idx];
            let square = moments.first_squares[idx] - 2.0 * mean * moments.first_sums[idx]
                + moments.n_first[idx] * mean * mean;
            joint -= cost(moments.n_first[idx], square, self.dynamics.initial_variances[idx]);
        }
        joint
    }

    /// Σ log h over the steps of all variables that say something of their causes, and what uncertain effects cost.
    fn costs_of_steps(&self, paths: &SmoothedPaths) -> (f64, f64) {
        let (d, layout) = (self.grid.n_variables(), self.grid.layout());
        let (mut log_steps, mut uncertain) = (0.0, 0.0);
        for rows in layout.series() {
            for step in 0..rows.n_steps() {
                let (point, row) = (rows.first_point + step, rows.first_deviation_row + step);
                let h = layout.step(row);
                let counted = (0..d).filter(|&idx| !layout.is_left_out(point + 1, idx)).count();
                log_steps += counted as f64 * ln(h);
                let costs = self.uncertainty.at(layout, Some(point + 1));
                for (idx, cost) in costs.iter().enumerate() {
                    let mean = paths.means[point * d + idx];
                    uncertain += h * cost * (mean * mean + paths.variances[row * d + idx]);
                }
            }
        }
        (log_steps, uncertain)
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

#[cfg(test)]
mod tests {
    use super::super::joint::JointFilter;
    use super::*;
    use crate::random::{Purpose, RandomStream};
    use crate::{Experiment, InterventionKind, InterventionRow, ObservedSeries, SeriesSet};

    /// With hardly any noise both smoothers see the same paths, and what was set, released or pushed is the same to both.
    #[test]
    fn one_by_one_or_together_what_was_done_counts_alike() {
        let mut random = RandomStream::new(1501, Purpose::System, 0);
        let values: Vec<f64> = (0..36).map(|_| random.normal()).collect();
        let times = (0..12).map(f64::from).collect();
        let series = ObservedSeries::new("s", 3, times, values).unwrap();
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let line = |variable: &str, kind, from: f64, to: f64| InterventionRow {
            series: "*".into(),
            variable: variable.into(),
            kind,
            value: None,
            from: Some(from),
            to: Some(to),
        };
        let experiment = Experiment {
            inputs: vec!["c".into()],
            interventions: vec![
                line("a", InterventionKind::Knockout, 2.0, 5.5),
                line("b", InterventionKind::Knockdown, 3.0, 8.0),
            ],
            ..Experiment::default()
        };
        let data = experiment.apply(&SeriesSet::new(names, vec![series]).unwrap()).unwrap();
        let grid = LinearGrid::new(&data, 10.0, &[0.8, 1.1, 1.0]).unwrap();
        let dynamics = LinearDynamics {
            effects: (0..12).map(|idx| 0.3 - 0.05 * f64::from(idx)).collect(),
            amounts: vec![-0.4],
            variances: vec![0.9, 1.2, 0.7],
            noise: vec![1e-9; 3],
            initial_means: vec![0.1; 3],
            initial_variances: vec![1.0; 3],
        };
        let certain = Uncertainty::none(3);
        let together = JointFilter::new(&grid, &dynamics, &certain).smooth().unwrap();
        let mut means = held_values(&grid);
        for _ in 0..20 {
            means = smooth_by_variable(&grid, &dynamics, &certain, means).means;
        }
        let apart = smooth_by_variable(&grid, &dynamics, &certain, means);
        let close = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4 * (1.0 + b.abs()))
        };
        assert!(close(&apart.means, &together.means));
        assert!(close(&apart.sums.responses, &together.sums.responses));
        assert_eq!(apart.sums.n_steps, together.sums.n_steps);
        for target in 0..3 {
            let [apart, together] =
                [&apart, &together].map(|paths| paths.sums.products_of(target).whole());
            assert!(close(&apart, &together));
        }
        let pushed = |paths: &SmoothedPaths| paths.sums.pushes[0].clone();
        assert!(close(&pushed(&apart).states, &pushed(&together).states));
        assert!(close(&[pushed(&apart).response], &[pushed(&together).response]));
    }
}
