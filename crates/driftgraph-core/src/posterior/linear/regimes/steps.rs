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
    /// Whether a step says nothing of the causes of a variable, `[step, variable]`; empty where all say something.
    silent: Vec<bool>,
    /// Number of variables.
    n_variables: usize,
}

impl Steps {
    /// The steps of a grid.
    pub fn new(grid: &LinearGrid) -> Self {
        let (layout, d) = (grid.layout(), grid.n_variables());
        let (series, lengths, silent) = (Vec::new(), Vec::new(), Vec::new());
        let mut all = Self { series, lengths, silent, n_variables: d };
        let was_handled = layout.has_marks() || !layout.pushes().is_empty();
        for rows in layout.series() {
            let (first, n) = (all.lengths.len(), rows.n_steps());
            all.series.push(SeriesSteps { first, first_point: rows.first_point, n });
            let steps = (0..n).map(|step| layout.step(rows.first_deviation_row + step));
            all.lengths.extend(steps);
            for point in (rows.first_point..rows.first_point + n).filter(|_| was_handled) {
                // By how much a variable is pushed is not learned here: what moves it then is not known.
                let pushes = layout.pushes_at(point);
                let is_pushed = |idx: usize| pushes.iter().any(|push| push.variable == idx);
                let is_silent = |idx| layout.is_left_out(point + 1, idx) || is_pushed(idx);
                all.silent.extend((0..d).map(is_silent));
            }
        }
        all
    }

    /// Whether a step says nothing of the causes of a variable: it was set, or pushed.
    pub fn is_silent(&self, step: usize, variable: usize) -> bool {
        !self.silent.is_empty() && self.silent[step * self.n_variables + variable]
    }

    /// The variables of whose causes a step says nothing, as flags; none where all steps say something.
    fn silent_at(&self, step: usize) -> &[bool] {
        let d = self.n_variables;
        if self.silent.is_empty() { &[] } else { &self.silent[step * d..(step + 1) * d] }
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
                        let silent = self.silent_at(series.first + step);
                        add_step(sums, weight, h, &state, &added, silent);
                        keep_from(sums, grid, silent, weight * h, &state);
                    }
                }
            }
        }
        sums.iter_mut().for_each(StepSums::finish);
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
                    let silent = self.silent_at(at);
                    out[at * k + regime] =
                        drift.log_density(self.lengths[at], &state, &added, silent);
                }
            }
        }
        out
    }

    /// What each step added beyond its prediction, in increment scales per root of time, `[step, variable]`; 0 where it
    /// says nothing.
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
                    if !self.is_silent(at, target) {
                        *out = (added[target] - h * drift.of(target, &state)) / h.sqrt();
                    }
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

/// Adds one step to the sums of a regime, but to the products alone for targets of whose causes it says nothing.
fn add_step(
    sums: &mut StepSums,
    weight: f64,
    h: f64,
    state: &[f64],
    added: &[f64],
    silent: &[bool],
) {
    let m = state.len();
    for (row, value) in state.iter().enumerate() {
        let factor = weight * h * value;
        let products = &mut sums.products[row * m..(row + 1) * m];
        products.iter_mut().zip(state).for_each(|(sum, other)| *sum += factor * other);
    }
    for (target, increment) in added.iter().enumerate() {
        if silent.get(target) == Some(&true) {
            continue;
        }
        let factor = weight * increment;
        let responses = &mut sums.responses[target * m..(target + 1) * m];
        responses.iter_mut().zip(state).for_each(|(sum, value)| *sum += factor * value);
        sums.squares[target] += factor * increment / h;
        sums.n_steps[target] += weight;
    }
}

/// Takes the products of a step of this weight from the targets of whose causes it says nothing.
fn keep_from(sums: &mut StepSums, grid: &LinearGrid, silent: &[bool], weight: f64, state: &[f64]) {
    // Inputs have no causes at all, and so no use for products of their own.
    let silent = silent.iter().enumerate().filter(|(idx, silent)| **silent && !grid.is_input(*idx));
    for (target, _) in silent {
        sums.keep_from(target, |own| {
            for (own, value) in own.chunks_exact_mut(state.len()).zip(state) {
                let scaled = weight * value;
                own.iter_mut().zip(state).for_each(|(own, u)| *own -= scaled * u);
            }
        });
    }
}

/// A drift with the effects that are not 0, target by target.
struct Drift {
    entries: Vec<Vec<(usize, f64)>>,
    /// 1 / g and log(2 pi g) / 2 by target.
    precisions: Vec<f64>,
    halves: Vec<f64>,
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
        let halves: Vec<f64> = dynamics.variances.iter().map(half).collect();
        Self {
            entries: dynamics.effects.chunks_exact(m).map(row).collect(),
            precisions: dynamics.variances.iter().map(|g| 1.0 / g).collect(),
            constant: halves.iter().sum(),
            halves,
        }
    }

    fn of(&self, target: usize, state: &[f64]) -> f64 {
        self.entries[target].iter().map(|(source, effect)| effect * state[*source]).sum()
    }

    fn log_density(&self, h: f64, state: &[f64], added: &[f64], silent: &[bool]) -> f64 {
        let says = |target: usize| silent.get(target) != Some(&true);
        let square: f64 = (added.iter().enumerate())
            .filter(|(target, _)| says(*target))
            .map(|(target, added)| {
                let error = added - h * self.of(target, state);
                error * error * self.precisions[target]
            })
            .sum();
        let (mut n, mut constant) = (added.len(), self.constant);
        if !silent.is_empty() {
            n = silent.iter().filter(|silent| !**silent).count();
            constant = (0..added.len()).filter(|&idx| says(idx)).map(|idx| self.halves[idx]).sum();
        }
        -0.5 * square / h - constant - 0.5 * n as f64 * crate::numeric::real::ln(h)
    }
}
