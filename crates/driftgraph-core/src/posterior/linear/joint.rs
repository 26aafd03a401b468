//! Kalman filter and smoother of all variables jointly; series alike share covariances.

mod draws;
mod record;
mod transition;

use std::borrow::Cow;
use std::sync::Arc;

use self::record::{PointMarks, Record, completion, symmetrise};
use self::transition::Transition;
use super::dynamics::LinearDynamics;
use super::effect_rows::EffectRows;
use super::grid::{Group, LinearGrid};
use super::sums::StepSums;
use crate::numeric::kernels::{View, add_product, product, transpose};
use crate::numeric::linalg::{cholesky, solve_lower, solve_upper};
use crate::posterior::bridge::layout::BridgeLayout;

/// Relative change of a covariance from one point to the next below which it stands still.
const STEADY: f64 = 1e-9;

/// Variance of a value that was set, in place of none.
pub(super) const SET_VARIANCE: f64 = 1e-10;
/// Variance of a state that begins anew, where what led to it is left out.
pub(super) const ANEW_VARIANCE: f64 = 4.0;

/// What uncertain effects add to the precision of a state, per time.
#[derive(Debug, Clone)]
pub(super) struct Uncertainty {
    /// Σ_target Var(W) / g of each source.
    sums: Vec<f64>,
    /// Var(W) / g of every entry; empty where the sums are all that is needed.
    parts: Vec<f64>,
    rows: Arc<EffectRows>,
}

impl Uncertainty {
    /// Effects that are known.
    pub(super) fn none(n_variables: usize) -> Self {
        let rows = Arc::new(EffectRows::between(&[], &[]));
        Self { sums: vec![0.0; n_variables], parts: Vec::new(), rows }
    }

    /// From Var(W) / g of every entry.
    pub(super) fn new(
        rows: &Arc<EffectRows>,
        part: impl Fn(usize) -> f64,
        keep_parts: bool,
    ) -> Self {
        let mut sums = vec![0.0; rows.n_variables()];
        let mut parts = vec![0.0; if keep_parts { rows.len() } else { 0 }];
        for target in 0..rows.n_variables() {
            for (entry, source) in rows.sources(target) {
                let part = part(entry);
                sums[source] += part;
                if keep_parts {
                    parts[entry] = part;
                }
            }
        }
        Self { sums, parts, rows: Arc::clone(rows) }
    }

    /// Where a step leads to this point: effects on targets of whose causes it says nothing cost nothing.
    pub(super) fn at(&self, layout: &BridgeLayout, next: Option<usize>) -> Cow<'_, [f64]> {
        let d = self.sums.len();
        let Some(next) = next.filter(|_| !self.parts.is_empty()) else {
            return Cow::Borrowed(&self.sums);
        };
        let mut sums = self.sums.clone();
        for target in (0..d).filter(|&target| layout.is_left_out(next, target)) {
            for (entry, source) in self.rows.sources(target) {
                sums[source] = (sums[source] - self.parts[entry]).max(0.0);
            }
        }
        Cow::Owned(sums)
    }
}

/// The posterior of all paths: moments by point, and the sums of their steps.
#[derive(Debug, Clone, PartialEq)]
pub struct SmoothedPaths {
    /// Means, `[point, variable]`.
    pub means: Vec<f64>,
    /// Variances, `[deviation row, variable]`.
    pub variances: Vec<f64>,
    /// Covariances of a point with the next, `[deviation row, variable]`.
    pub neighbours: Vec<f64>,
    /// Expected sums of steps.
    pub sums: StepSums,
    /// Σ log of the predictive densities of everything observed (and of what stands for the uncertainty of
    /// effects): the evidence of the dynamics, the paths integrated out.
    pub log_evidence: f64,
}

/// What is computed once for all series of a group.
struct Covariances {
    /// One record for points that are alike.
    records: Vec<Record>,
    /// The record of each point.
    of_point: Vec<usize>,
}

/// One step back: gains, and what is left of the uncertainty once the next state is known.
struct Back {
    key: (usize, usize),
    /// mean += (next - predicted next) gain.
    gain: Vec<f64>,
    /// L⁻¹ T' F with L L' the predicted covariance of the next point: the gain before its last solve.
    half_gain: Vec<f64>,
}

/// The process on a grid, ready to be filtered.
pub(super) struct JointFilter<'a> {
    grid: &'a LinearGrid,
    dynamics: &'a LinearDynamics,
    /// What uncertain effects add to the precision of a state.
    uncertainty: &'a Uncertainty,
    /// Relative change below which a covariance stands still.
    steady: f64,
}

impl<'a> JointFilter<'a> {
    pub(super) fn new(
        grid: &'a LinearGrid,
        dynamics: &'a LinearDynamics,
        uncertainty: &'a Uncertainty,
    ) -> Self {
        Self { grid, dynamics, uncertainty, steady: STEADY }
    }

    fn transition(&self, record: &Record) -> Transition {
        Transition::new(self.dynamics, self.grid.scales(), record.step, &record.marks.left_out)
    }

    /// What was done to the variables at a point of a group.
    fn marks(&self, group: &Group, point: usize) -> PointMarks {
        let (layout, at) = (self.grid.layout(), group.first_points[0] + point);
        if !layout.has_marks() {
            return PointMarks::default();
        }
        let all = || 0..self.grid.n_variables();
        PointMarks {
            left_out: all().filter(|&idx| layout.is_left_out(at, idx)).collect(),
            set: all().filter(|&idx| layout.set_value(at, idx).is_some()).collect(),
        }
    }

    fn offsets(&self, step: f64) -> Vec<f64> {
        let d = self.grid.n_variables();
        let offset = |target: usize| {
            step * self.grid.scales()[target] * self.dynamics.effects[target * (d + 1) + d]
        };
        (0..d).map(offset).collect()
    }

    fn step_before(&self, group: &Group, point: usize) -> f64 {
        if point == 0 {
            0.0
        } else {
            self.grid.layout().step(group.first_deviation_row + point - 1)
        }
    }

    /// Precisions of what is known of each variable at a point, apart from the process.
    fn precisions(&self, group: &Group, point: usize) -> Vec<f64> {
        let layout = self.grid.layout();
        let observed = layout.observed_row(group.first_points[0] + point);
        let last = point + 1 == group.n_points;
        let step = if last { 0.0 } else { layout.step(group.first_deviation_row + point) };
        let next = group.first_points[0] + point + 1;
        let uncertainty = self.uncertainty.at(layout, if last { None } else { Some(next) });
        (observed.iter().enumerate())
            .map(|(idx, value)| {
                let known = if value.is_nan() { 0.0 } else { 1.0 / self.dynamics.noise[idx] };
                known + step * uncertainty[idx]
            })
            .collect()
    }

    /// Covariances before and after every point of a group; `None` where one is not positive definite.
    fn covariances(&self, group: &Group) -> Option<Covariances> {
        let d = self.grid.n_variables();
        let mut all = Covariances { records: Vec::new(), of_point: Vec::new() };
        for point in 0..group.n_points {
            let step = self.step_before(group, point);
            let precisions = self.precisions(group, point);
            let marks = self.marks(group, point);
            let before = all.of_point.last().map(|&idx| &all.records[idx]);
            if let Some(before) = before
                && before.steady
                && before.step == step
                && before.precisions == precisions
                && before.marks == marks
            {
                all.of_point.push(all.records.len() - 1);
                continue;
            }
            let predicted = match before {
                None => {
                    let mut first = vec![0.0; d * d];
                    for (idx, variance) in self.dynamics.initial_variances.iter().enumerate() {
                        first[idx * (d + 1)] =
                            if marks.set.contains(&idx) { SET_VARIANCE } else { *variance };
                    }
                    first
                }
                Some(before) => self.predicted_covariance(&before.filtered, step, &marks),
            };
            let mut record = Record::new(predicted, precisions, step, marks)?;
            record.steady = before.is_some_and(|before| {
                before.step == record.step
                    && before.marks == record.marks
                    && before.precisions == record.precisions
                    && nearly_equal(&before.filtered, &record.filtered, self.steady)
            });
            all.of_point.push(all.records.len());
            all.records.push(record);
        }
        Some(all)
    }

    fn predicted_covariance(&self, filtered: &[f64], step: f64, marks: &PointMarks) -> Vec<f64> {
        let (d, scales) = (self.grid.n_variables(), self.grid.scales());
        let transition = Transition::new(self.dynamics, scales, step, &marks.left_out);
        // F is symmetric: F T = (T' F)'.
        let half = transition.transposed_times(filtered);
        let mut turned = vec![0.0; d * d];
        transpose(&mut turned, &half, d, d);
        let mut predicted = transition.transposed_times(&turned);
        symmetrise(&mut predicted, d);
        for (idx, scale) in self.grid.scales().iter().enumerate() {
            predicted[idx * (d + 1)] += match marks.left_out.binary_search(&idx) {
                Ok(_) if marks.set.contains(&idx) => SET_VARIANCE,
                Ok(_) => ANEW_VARIANCE,
                Err(_) => scale * scale * self.dynamics.variances[idx] * step,
            };
        }
        predicted
    }

    /// The gain back over one step, made anew only where the records differ.
    fn back(&self, all: &Covariances, point: usize, last: Option<Back>) -> Option<Back> {
        let d = self.grid.n_variables();
        let key = (all.of_point[point], all.of_point[point + 1]);
        if let Some(last) = last
            && last.key == key
        {
            return Some(last);
        }
        let (here, next) = (&all.records[key.0], &all.records[key.1]);
        // J = P⁻¹ T' F with P the predicted covariance of the next point and F the filtered one of this.
        let mut gain = self.transition(next).transposed_times(&here.filtered);
        let factor = cholesky(&next.predicted, d)?;
        solve_lower(&factor, d, &mut gain, d);
        let half_gain = gain.clone();
        solve_upper(&factor, d, &mut gain, d);
        Some(Back { key, gain, half_gain })
    }

    /// Means before and after each point, `[point][series, variable]`.
    fn means(&self, group: &Group, all: &Covariances) -> Means {
        let (d, n) = (self.grid.n_variables(), group.first_points.len());
        let size = group.n_points * n * d;
        let mut means =
            Means { filtered: Vec::with_capacity(size), predicted: Vec::with_capacity(size) };
        let mut here = self.dynamics.initial_means.repeat(n);
        let mut last: Option<(usize, Transition, Vec<f64>)> = None;
        for (point, &idx) in all.of_point.iter().enumerate() {
            let record = &all.records[idx];
            if point > 0 {
                let differs = |last: &(usize, Transition, Vec<f64>)| {
                    let last = &all.records[last.0];
                    last.step != record.step || last.marks != record.marks
                };
                if last.as_ref().is_none_or(differs) {
                    last = Some((idx, self.transition(record), self.offsets(record.step)));
                }
                if let Some((_, transition, offsets)) = &last {
                    here = transition.next(&here, offsets);
                }
            }
            self.place_marks(group, point, record, &mut here);
            means.predicted.extend_from_slice(&here);
            let n_cells = record.cells.len();
            let errors = self.errors(group, point, record, &here);
            let factors = (View::new(&errors, n, n_cells), View::new(&record.gain, n_cells, d));
            add_product(&mut here, d, factors.0, factors.1);
            means.filtered.extend_from_slice(&here);
        }
        means
    }

    /// What was done to the variables on the way to a point: values that were set, and pushes.
    fn place_marks(&self, group: &Group, point: usize, record: &Record, here: &mut [f64]) {
        let (layout, d) = (self.grid.layout(), self.grid.n_variables());
        for (&first, mean) in group.first_points.iter().zip(here.chunks_exact_mut(d)) {
            let at = first + point;
            if point > 0 {
                for push in layout.pushes_at(at - 1) {
                    let amount = self.dynamics.amounts[push.amount];
                    let scale = self.grid.scales()[push.variable];
                    mean[push.variable] += push.share * record.step * scale * amount;
                }
            }
            for &idx in &record.marks.left_out {
                mean[idx] = layout.set_value(at, idx).unwrap_or(0.0);
            }
            if point == 0 {
                for &idx in &record.marks.set {
                    mean[idx] = layout.set_value(at, idx).unwrap_or(mean[idx]);
                }
            }
        }
    }

    /// What was observed at a point, with what stands for the uncertainty of effects, less the predicted means;
    /// `[series, cell]`.
    fn errors(&self, group: &Group, point: usize, record: &Record, predicted: &[f64]) -> Vec<f64> {
        let d = self.grid.n_variables();
        let mut errors = Vec::with_capacity(group.first_points.len() * record.cells.len());
        for (&first, mean) in group.first_points.iter().zip(predicted.chunks_exact(d)) {
            let observed = self.grid.layout().observed_row(first + point);
            errors.extend(record.cells.iter().map(|&cell| {
                let known = observed[cell] / self.dynamics.noise[cell];
                let value = if known.is_nan() { 0.0 } else { known / record.precisions[cell] };
                value - mean[cell]
            }));
        }
        errors
    }

    /// Σ log of the predictive densities of all points of a group.
    fn log_evidence(&self, group: &Group, all: &Covariances, means: &Means) -> f64 {
        let n = group.first_points.len();
        let size = n * self.grid.n_variables();
        let mut sum = 0.0;
        for (point, &idx) in all.of_point.iter().enumerate() {
            let record = &all.records[idx];
            let predicted = &means.predicted[point * size..][..size];
            sum += record.log_density(&self.errors(group, point, record, predicted), n);
            for &first in &group.first_points {
                let observed = self.grid.layout().observed_row(first + point);
                for &cell in &record.cells {
                    sum += completion(observed[cell], self.dynamics.noise[cell], record, cell);
                }
            }
        }
        sum
    }

    /// Smooths all series; `None` where a covariance is not positive definite.
    pub(super) fn smooth(&self) -> Option<SmoothedPaths> {
        let (d, layout) = (self.grid.n_variables(), self.grid.layout());
        let mut paths = SmoothedPaths {
            means: vec![0.0; layout.n_points() * d],
            variances: vec![0.0; layout.n_deviation_rows() * d],
            neighbours: vec![0.0; layout.n_deviation_rows() * d],
            sums: StepSums::none(self.grid.rows()),
            log_evidence: 0.0,
        };
        for group in self.grid.groups() {
            self.smooth_group(group, &mut paths)?;
        }
        paths.sums.add_paths(self.grid, &paths.means);
        paths.sums.finish();
        Some(paths)
    }

    fn smooth_group(&self, group: &Group, paths: &mut SmoothedPaths) -> Option<()> {
        let (d, n) = (self.grid.n_variables(), group.first_points.len());
        let all = self.covariances(group)?;
        let found = self.means(group, &all);
        paths.log_evidence += self.log_evidence(group, &all, &found);
        let last = group.n_points - 1;
        let row = |values: &[f64], point: usize| values[point * n * d..][..n * d].to_vec();
        let mut mean = row(&found.filtered, last);
        let mut covariance = all.records[all.of_point[last]].filtered.clone();
        paths.place(group, last, &mean, &covariance, d);
        let (mut back, mut steady) = (None, false);
        let mut cross = vec![0.0; d * d];
        for point in (0..last).rev() {
            let key = (all.of_point[point], all.of_point[point + 1]);
            let same = back.as_ref().is_some_and(|back: &Back| back.key == key);
            let step = self.back(&all, point, back.take())?;
            let mut ahead = row(&found.predicted, point + 1);
            ahead.iter_mut().zip(&mean).for_each(|(ahead, mean)| *ahead = mean - *ahead);
            mean = row(&found.filtered, point);
            add_product(&mut mean, d, View::new(&ahead, n, d), View::new(&step.gain, d, d));
            if same && steady {
                let both = [&covariance, &covariance, &cross];
                self.add_covariances(group, point, both.map(|matrix| &matrix[..]), &mut paths.sums);
            } else {
                // cov(z_k+1, z_k) = V_k+1 J;  V_k = F_k + J' (V_k+1 - P_k+1) J.
                let gain = View::new(&step.gain, d, d);
                product(&mut cross, d, View::new(&covariance, d, d), gain);
                let (here, next) = (&all.records[key.0], &all.records[key.1]);
                let mut rest = cross.clone();
                let mut negative = next.predicted.clone();
                negative.iter_mut().for_each(|value| *value = -*value);
                add_product(&mut rest, d, View::new(&negative, d, d), gain);
                let mut smoothed = here.filtered.clone();
                add_product(&mut smoothed, d, gain.t(), View::new(&rest, d, d));
                symmetrise(&mut smoothed, d);
                steady = same && nearly_equal(&smoothed, &covariance, self.steady);
                let earlier = std::mem::replace(&mut covariance, smoothed);
                self.add_covariances(
                    group,
                    point,
                    [&covariance, &earlier, &cross],
                    &mut paths.sums,
                );
            }
            paths.place(group, point, &mean, &covariance, d);
            for idx in 0..d {
                paths.neighbours[(group.first_deviation_row + point) * d + idx] =
                    cross[idx * (d + 1)];
            }
            back = Some(step);
        }
        Some(())
    }

    /// What the uncertainty of a step's two states adds to the sums, for all series of the group.
    ///
    /// The covariances of the state before, of the state after, and `[after, before]` between them.
    fn add_covariances(
        &self,
        group: &Group,
        point: usize,
        [before, after, cross]: [&[f64]; 3],
        sums: &mut StepSums,
    ) {
        let (d, m) = (self.grid.n_variables(), self.grid.n_variables() + 1);
        let (h, n) =
            (self.grid.layout().step(group.first_deviation_row + point), group.first_points.len());
        let (weight, n) = (h * n as f64, n as f64);
        let is_left_out =
            |idx: usize| self.grid.layout().is_left_out(group.first_points[0] + point + 1, idx);
        for target in (0..d).filter(|&idx| is_left_out(idx) && !self.grid.is_input(idx)) {
            sums.keep_from(target, |own| {
                for row in 0..d {
                    let before = &before[row * d..(row + 1) * d];
                    let own = own[row * m..(row + 1) * m].iter_mut();
                    own.zip(before).for_each(|(own, value)| *own -= weight * value);
                }
            });
        }
        for row in 0..d {
            let scale = n / self.grid.scales()[row];
            for col in 0..d {
                sums.products[row * m + col] += weight * before[row * d + col];
                // Σ u d' as [target, source]: cov(z_j' - z_j, z_i).
                if !is_left_out(row) {
                    sums.responses[row * m + col] +=
                        scale * (cross[row * d + col] - before[row * d + col]);
                }
            }
            if is_left_out(row) {
                continue;
            }
            let diagonal = row * (d + 1);
            let increment = after[diagonal] + before[diagonal] - 2.0 * cross[diagonal];
            sums.squares[row] += scale * increment / (self.grid.scales()[row] * h);
        }
    }

    /// Filtered and predicted means of every point, `[point, variable]`; `None` where the filter would cost too much
    /// or a covariance is not positive definite.
    pub(super) fn predictions(&self) -> Option<Predictions> {
        if !self.grid.is_smoothed_jointly() {
            return None;
        }
        let d = self.grid.n_variables();
        let size = self.grid.layout().n_points() * d;
        let mut out = Predictions { filtered: vec![0.0; size], predicted: vec![0.0; size] };
        for group in self.grid.groups() {
            let all = self.covariances(group)?;
            let found = self.means(group, &all);
            let n = group.first_points.len() * d;
            for point in 0..group.n_points {
                place_rows(&mut out.filtered, group, point, &found.filtered[point * n..][..n], d);
                place_rows(&mut out.predicted, group, point, &found.predicted[point * n..][..n], d);
            }
        }
        Some(out)
    }
}

/// Means before and after each point was seen, `[point, variable]`.
pub(super) struct Predictions {
    pub(super) filtered: Vec<f64>,
    pub(super) predicted: Vec<f64>,
}

struct Means {
    filtered: Vec<f64>,
    predicted: Vec<f64>,
}

impl SmoothedPaths {
    fn place(&mut self, group: &Group, point: usize, means: &[f64], covariance: &[f64], d: usize) {
        place_rows(&mut self.means, group, point, means, d);
        for idx in 0..d {
            self.variances[(group.first_deviation_row + point) * d + idx] =
                covariance[idx * (d + 1)];
        }
    }
}

fn place_rows(paths: &mut [f64], group: &Group, point: usize, rows: &[f64], d: usize) {
    for (&first, row) in group.first_points.iter().zip(rows.chunks_exact(d)) {
        paths[(first + point) * d..][..d].copy_from_slice(row);
    }
}

fn nearly_equal(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let largest = a.iter().fold(0.0, |max: f64, value| max.max(value.abs()));
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * largest)
}
