//! Kalman filter, smoother and sampler of all variables jointly; series alike share covariances.

use super::dynamics::LinearDynamics;
use super::grid::{Group, LinearGrid};
use super::sums::StepSums;
use crate::numeric::kernels::{View, add_product, add_scaled, product, transpose};
use crate::numeric::linalg::{cholesky, identity, solve_lower, solve_upper};
use crate::numeric::real::ln;
use crate::random::RandomStream;

/// Relative change of a covariance from one point to the next below which it stands still.
///
/// For moments, and for draws: what draws are averaged into has Monte Carlo errors of a hundredth.
const STEADY: f64 = 1e-9;
const STEADY_FOR_DRAWS: f64 = 1e-6;
/// What is added to the diagonal of a covariance before it is drawn from, against rounding.
const JITTER: f64 = 1e-10;

/// The posterior of all paths: moments by point, and the sums of their steps.
#[derive(Debug, Clone, PartialEq)]
pub struct SmoothedPaths {
    /// Means, `[point, variable]`.
    pub means: Vec<f64>,
    /// Variances, `[spread, variable]`.
    pub variances: Vec<f64>,
    /// Covariances of a point with the next, `[spread, variable]`.
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

struct Record {
    predicted: Vec<f64>,
    filtered: Vec<f64>,
    /// Precision of what each variable was observed with; 0 where it was not.
    precisions: Vec<f64>,
    cells: Vec<usize>,
    /// Rows of the gain: mean += (observed - mean)[cells] gain.
    gain: Vec<f64>,
    /// Lower factor of the predicted covariance of the observed cells.
    factor: Vec<f64>,
    /// Length of the step before the point.
    step: f64,
    /// Whether the covariance is that of the point before.
    steady: bool,
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
    /// Σ_target Var(W) / g of each source: what uncertain effects add to the precision of a state, per time.
    uncertainty: &'a [f64],
    /// Relative change below which a covariance stands still.
    steady: f64,
}

impl<'a> JointFilter<'a> {
    pub(super) fn new(
        grid: &'a LinearGrid,
        dynamics: &'a LinearDynamics,
        uncertainty: &'a [f64],
    ) -> Self {
        Self { grid, dynamics, uncertainty, steady: STEADY }
    }

    fn transition(&self, step: f64) -> Transition {
        Transition::new(self.dynamics, self.grid.scales(), step)
    }

    fn offsets(&self, step: f64) -> Vec<f64> {
        let d = self.grid.n_variables();
        let offset = |target: usize| {
            step * self.grid.scales()[target] * self.dynamics.effects[target * (d + 1) + d]
        };
        (0..d).map(offset).collect()
    }

    fn step_before(&self, group: &Group, point: usize) -> f64 {
        if point == 0 { 0.0 } else { self.grid.layout().step(group.first_spread + point - 1) }
    }

    /// Precisions of what is known of each variable at a point, apart from the process.
    fn precisions(&self, group: &Group, point: usize) -> Vec<f64> {
        let layout = self.grid.layout();
        let observed = layout.observed_row(group.first_points[0] + point);
        let last = point + 1 == group.n_points;
        let step = if last { 0.0 } else { layout.step(group.first_spread + point) };
        (observed.iter().enumerate())
            .map(|(idx, value)| {
                let known = if value.is_nan() { 0.0 } else { 1.0 / self.dynamics.noise[idx] };
                known + step * self.uncertainty[idx]
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
            let before = all.of_point.last().map(|&idx| &all.records[idx]);
            if let Some(before) = before
                && before.steady
                && before.step == step
                && before.precisions == precisions
            {
                all.of_point.push(all.records.len() - 1);
                continue;
            }
            let predicted = match before {
                None => {
                    let mut first = vec![0.0; d * d];
                    for (idx, variance) in self.dynamics.initial_variances.iter().enumerate() {
                        first[idx * (d + 1)] = *variance;
                    }
                    first
                }
                Some(before) => self.predicted_covariance(&before.filtered, step),
            };
            let mut record = Record::new(predicted, precisions, step)?;
            record.steady = before.is_some_and(|before| {
                before.step == record.step
                    && before.precisions == record.precisions
                    && nearly_equal(&before.filtered, &record.filtered, self.steady)
            });
            all.of_point.push(all.records.len());
            all.records.push(record);
        }
        Some(all)
    }

    fn predicted_covariance(&self, filtered: &[f64], step: f64) -> Vec<f64> {
        let d = self.grid.n_variables();
        let transition = self.transition(step);
        // F is symmetric: F T = (T' F)'.
        let half = transition.transposed_times(filtered);
        let mut turned = vec![0.0; d * d];
        transpose(&mut turned, &half, d, d);
        let mut predicted = transition.transposed_times(&turned);
        symmetrise(&mut predicted, d);
        for (idx, scale) in self.grid.scales().iter().enumerate() {
            predicted[idx * (d + 1)] += scale * scale * self.dynamics.variances[idx] * step;
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
        let mut gain = self.transition(next.step).transposed_times(&here.filtered);
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
        let mut last: Option<(f64, Transition, Vec<f64>)> = None;
        for (point, &idx) in all.of_point.iter().enumerate() {
            let record = &all.records[idx];
            if point > 0 {
                if last.as_ref().is_none_or(|last| last.0 != record.step) {
                    let step = record.step;
                    last = Some((step, self.transition(step), self.offsets(step)));
                }
                if let Some((_, transition, offsets)) = &last {
                    here = transition.next(&here, offsets);
                }
            }
            means.predicted.extend_from_slice(&here);
            let n_cells = record.cells.len();
            let errors = self.errors(group, point, record, &here);
            let factors = (View::new(&errors, n, n_cells), View::new(&record.gain, n_cells, d));
            add_product(&mut here, d, factors.0, factors.1);
            means.filtered.extend_from_slice(&here);
        }
        means
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
            variances: vec![0.0; layout.n_spreads() * d],
            neighbours: vec![0.0; layout.n_spreads() * d],
            sums: StepSums::zero(d),
            log_evidence: 0.0,
        };
        for group in self.grid.groups() {
            self.smooth_group(group, &mut paths)?;
        }
        paths.sums.add_paths(self.grid, &paths.means);
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
                self.add_spreads(group, point, both.map(|matrix| &matrix[..]), &mut paths.sums);
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
                self.add_spreads(group, point, [&covariance, &earlier, &cross], &mut paths.sums);
            }
            paths.place(group, point, &mean, &covariance, d);
            for idx in 0..d {
                paths.neighbours[(group.first_spread + point) * d + idx] = cross[idx * (d + 1)];
            }
            back = Some(step);
        }
        Some(())
    }

    /// What the uncertainty of a step's two states adds to the sums, for all series of the group.
    ///
    /// The covariances of the state before, of the state after, and `[after, before]` between them.
    fn add_spreads(
        &self,
        group: &Group,
        point: usize,
        [before, after, cross]: [&[f64]; 3],
        sums: &mut StepSums,
    ) {
        let (d, m) = (self.grid.n_variables(), self.grid.n_variables() + 1);
        let (h, n) =
            (self.grid.layout().step(group.first_spread + point), group.first_points.len());
        let (weight, n) = (h * n as f64, n as f64);
        for row in 0..d {
            let scale = n / self.grid.scales()[row];
            for col in 0..d {
                sums.products[row * m + col] += weight * before[row * d + col];
                // Σ u d' as [target, source]: cov(z_j' - z_j, z_i).
                sums.responses[row * m + col] +=
                    scale * (cross[row * d + col] - before[row * d + col]);
            }
            let diagonal = row * (d + 1);
            let increment = after[diagonal] + before[diagonal] - 2.0 * cross[diagonal];
            sums.squares[row] += scale * increment / (self.grid.scales()[row] * h);
        }
    }

    /// Filtered and predicted means of every point, `[point, variable]`; `None` where the filter would cost too much
    /// or a covariance is not positive definite.
    pub(super) fn predictions(&self) -> Option<Predictions> {
        if super::ascent::joint_work(self.grid) > super::ascent::MOST_JOINT_WORK {
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

    /// Draws all paths; `None` where a covariance is not positive definite.
    pub(super) fn draw(&self, random: &mut RandomStream) -> Option<Vec<f64>> {
        Self { steady: STEADY_FOR_DRAWS, ..*self }.draw_all(random)
    }

    fn draw_all(&self, random: &mut RandomStream) -> Option<Vec<f64>> {
        let (d, layout) = (self.grid.n_variables(), self.grid.layout());
        let mut paths = vec![0.0; layout.n_points() * d];
        for group in self.grid.groups() {
            let n = group.first_points.len();
            let all = self.covariances(group)?;
            let found = self.means(group, &all);
            let last = group.n_points - 1;
            let mut noise = vec![0.0; n * d];
            let row = |values: &[f64], point: usize| values[point * n * d..][..n * d].to_vec();
            let mut state = row(&found.filtered, last);
            let filtered = &all.records[all.of_point[last]].filtered;
            random.fill_normal_fast(&mut noise);
            add_product(
                &mut state,
                d,
                View::new(&noise, n, d),
                View::new(&root(filtered, d)?, d, d).t(),
            );
            place_rows(&mut paths, group, last, &state, d);
            let (mut back, mut spread): (Option<Back>, Vec<f64>) = (None, Vec::new());
            for point in (0..last).rev() {
                let key = (all.of_point[point], all.of_point[point + 1]);
                let same = back.as_ref().is_some_and(|back| back.key == key);
                let step = self.back(&all, point, back.take())?;
                if !same {
                    spread = self.remaining(&all, &step)?;
                }
                let mut ahead = row(&found.predicted, point + 1);
                ahead.iter_mut().zip(&state).for_each(|(ahead, state)| *ahead = state - *ahead);
                state = row(&found.filtered, point);
                add_product(&mut state, d, View::new(&ahead, n, d), View::new(&step.gain, d, d));
                random.fill_normal_fast(&mut noise);
                add_product(&mut state, d, View::new(&noise, n, d), View::new(&spread, d, d).t());
                place_rows(&mut paths, group, point, &state, d);
                back = Some(step);
            }
        }
        Some(paths)
    }

    /// The lower factor of cov(z_k | z_k+1) = F - J' P J.
    fn remaining(&self, all: &Covariances, back: &Back) -> Option<Vec<f64>> {
        let d = self.grid.n_variables();
        let mut rest = all.records[back.key.0].filtered.clone();
        let negative: Vec<f64> = back.half_gain.iter().map(|value| -value).collect();
        let half = View::new(&back.half_gain, d, d);
        add_product(&mut rest, d, half.t(), View::new(&negative, d, d));
        symmetrise(&mut rest, d);
        root(&rest, d)
    }
}

/// One step of the process without noise: z' = z T + h b, with T = I + h W `[source, target]`.
///
/// A graph that was drawn has few edges, and products with it are worth skipping what is not there.
struct Transition {
    n_variables: usize,
    edges: Edges,
}

enum Edges {
    /// All of T.
    Dense(Vec<f64>),
    /// Source, target and weight of what T has beside the identity, ordered by target.
    Sparse(Vec<(usize, usize, f64)>),
}

/// Share of all pairs up to which edges are handled one by one.
const FEW_EDGES: f64 = 0.1;

impl Transition {
    fn new(dynamics: &LinearDynamics, scales: &[f64], step: f64) -> Self {
        let d = scales.len();
        let weight =
            |source: usize, target: usize| step * scales[target] * dynamics.effect(source, target);
        let pairs = (0..d).flat_map(|target| (0..d).map(move |source| (source, target)));
        let few: Vec<(usize, usize, f64)> = pairs
            .map(|(source, target)| (source, target, weight(source, target)))
            .filter(|(_, _, weight)| *weight != 0.0)
            .collect();
        if few.len() as f64 <= FEW_EDGES * (d * d) as f64 {
            return Self { n_variables: d, edges: Edges::Sparse(few) };
        }
        let mut dense = identity(d);
        for (source, target, weight) in few {
            dense[source * d + target] += weight;
        }
        Self { n_variables: d, edges: Edges::Dense(dense) }
    }

    /// T' M for a square matrix.
    fn transposed_times(&self, matrix: &[f64]) -> Vec<f64> {
        let d = self.n_variables;
        match &self.edges {
            Edges::Dense(dense) => {
                let mut out = vec![0.0; d * d];
                product(&mut out, d, View::new(dense, d, d).t(), View::new(matrix, d, d));
                out
            }
            Edges::Sparse(edges) => {
                let mut out = matrix.to_vec();
                for &(source, target, weight) in edges {
                    add_scaled(&mut out[target * d..][..d], weight, &matrix[source * d..][..d]);
                }
                out
            }
        }
    }

    /// z T + offsets for rows of states.
    fn next(&self, states: &[f64], offsets: &[f64]) -> Vec<f64> {
        let d = self.n_variables;
        let n = states.len() / d;
        let mut next = offsets.repeat(n);
        match &self.edges {
            Edges::Dense(dense) => {
                add_product(&mut next, d, View::new(states, n, d), View::new(dense, d, d));
            }
            Edges::Sparse(edges) => {
                for (next, state) in next.chunks_exact_mut(d).zip(states.chunks_exact(d)) {
                    next.iter_mut().zip(state).for_each(|(next, state)| *next += state);
                    for &(source, target, weight) in edges {
                        next[target] += weight * state[source];
                    }
                }
            }
        }
        next
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

impl Record {
    fn new(predicted: Vec<f64>, precisions: Vec<f64>, step: f64) -> Option<Self> {
        let d = precisions.len();
        let cells: Vec<usize> = (0..d).filter(|&idx| precisions[idx] > 0.0).collect();
        let n = cells.len();
        let mut variance = vec![0.0; n * n];
        let mut gain = vec![0.0; n * d];
        for (row, &cell) in cells.iter().enumerate() {
            let covariances = &predicted[cell * d..(cell + 1) * d];
            gain[row * d..(row + 1) * d].copy_from_slice(covariances);
            for (col, &other) in cells.iter().enumerate() {
                variance[row * n + col] = covariances[other];
            }
            variance[row * (n + 1)] += 1.0 / precisions[cell];
        }
        let factor = cholesky(&variance, n)?;
        solve_lower(&factor, n, &mut gain, d);
        let mut filtered = predicted.clone();
        let mut negative = gain.clone();
        negative.iter_mut().for_each(|value| *value = -*value);
        add_product(&mut filtered, d, View::new(&gain, n, d).t(), View::new(&negative, n, d));
        symmetrise(&mut filtered, d);
        solve_upper(&factor, n, &mut gain, d);
        Some(Self { predicted, filtered, precisions, cells, gain, factor, step, steady: false })
    }

    /// Σ log N(error; 0, S) over series.
    fn log_density(&self, errors: &[f64], n_series: usize) -> f64 {
        let n = self.cells.len();
        if n == 0 {
            return 0.0;
        }
        let log_det: f64 = (0..n).map(|idx| ln(self.factor[idx * (n + 1)])).sum();
        let mut columns = vec![0.0; errors.len()];
        transpose(&mut columns, errors, n_series, n);
        solve_lower(&self.factor, n, &mut columns, n_series);
        let squares: f64 = columns.iter().map(|value| value * value).sum();
        let constant = log_det + 0.5 * n as f64 * ln(std::f64::consts::TAU);
        -0.5 * squares - n_series as f64 * constant
    }
}

/// log of [N(x; z, r) exp(-e z² / 2)] / N(y; z, 1 / l), with l = 1 / r + e and y = x / (r l).
fn completion(observed: f64, noise: f64, record: &Record, cell: usize) -> f64 {
    let precision = record.precisions[cell];
    let log_unit = 0.5 * ln(std::f64::consts::TAU / precision);
    if observed.is_nan() {
        return log_unit;
    }
    let value = observed / (noise * precision);
    log_unit
        - 0.5 * ln(std::f64::consts::TAU * noise)
        - 0.5 * (observed * observed / noise - precision * value * value)
}

impl SmoothedPaths {
    fn place(&mut self, group: &Group, point: usize, means: &[f64], covariance: &[f64], d: usize) {
        place_rows(&mut self.means, group, point, means, d);
        for idx in 0..d {
            self.variances[(group.first_spread + point) * d + idx] = covariance[idx * (d + 1)];
        }
    }
}

fn place_rows(paths: &mut [f64], group: &Group, point: usize, rows: &[f64], d: usize) {
    for (&first, row) in group.first_points.iter().zip(rows.chunks_exact(d)) {
        paths[(first + point) * d..][..d].copy_from_slice(row);
    }
}

/// The lower factor of a covariance that rounding may have left slightly indefinite.
fn root(covariance: &[f64], d: usize) -> Option<Vec<f64>> {
    let mut raised = covariance.to_vec();
    let largest = (0..d).map(|idx| raised[idx * (d + 1)]).fold(0.0, f64::max);
    for idx in 0..d {
        raised[idx * (d + 1)] += JITTER * largest + f64::MIN_POSITIVE;
    }
    cholesky(&raised, d)
}

fn symmetrise(matrix: &mut [f64], d: usize) {
    for row in 0..d {
        for col in 0..row {
            let mean = 0.5 * (matrix[row * d + col] + matrix[col * d + row]);
            matrix[row * d + col] = mean;
            matrix[col * d + row] = mean;
        }
    }
}

fn nearly_equal(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let largest = a.iter().fold(0.0, |max: f64, value| max.max(value.abs()));
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * largest)
}
