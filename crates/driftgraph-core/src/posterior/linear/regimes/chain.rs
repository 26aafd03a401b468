//! A Gibbs sampler over regimes, paths, gates, effects and scales.
//!
//! Probabilities are means of those with which states were drawn, not of the states (Rao and Blackwell).

use super::entry::{Entry, EntryPrior, EntryState, Pull};
use super::hidden::Switching;
use super::paths::Switched;
use super::start::smoothed;
use super::steps::Steps;
use super::totals::RegimeTotals;
use crate::numeric::real::ln;
use crate::posterior::linear::ascent::{
    FIRST_SQUARE, MIN_VARIANCE, OFFSET_PRECISION, SLAB_SQUARE, Slabs, move_effect,
};
use crate::posterior::linear::dynamics::LinearDynamics;
use crate::posterior::linear::gibbs::{MAX_SLAB, VARIANCE_RATE};
use crate::posterior::linear::grid::LinearGrid;
use crate::posterior::linear::pools::{EdgePools, Gate};
use crate::posterior::linear::sums::StepSums;
use crate::random::{Purpose, RandomStream};

/// Effects that differ and that are the same, as if seen beforehand: one in five differs, and data soon say more.
const DIFFERING: f64 = 1.0;
const ALIKE: f64 = 4.0;
/// First chain number: those of plain fits come before.
const FIRST_NUMBER: u64 = 64;

/// Where regimes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Labels {
    /// They are known.
    Known,
    /// They are drawn.
    Hidden,
}

/// What a chain works with.
#[derive(Debug, Clone)]
pub struct RegimeTask<'a> {
    /// The series.
    pub grid: &'a LinearGrid,
    /// Their steps.
    pub steps: &'a Steps,
    /// The graph prior.
    pub pools: &'a EdgePools,
    /// Paths that are not drawn anew; `None` where they are.
    pub paths: Option<&'a [f64]>,
    /// Whether the observation noise is learned.
    pub learn_noise: bool,
    /// Whether regimes are known.
    pub labels: Labels,
    /// Share of the evidence that counts, by target.
    pub tempering: &'a [f64],
    /// Seed of all draws, and the number of the chain.
    pub seed: u64,
    /// Number of the chain.
    pub number: u64,
}

/// Everything that changes in a chain.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RegimeState {
    /// Sweeps done.
    pub sweep: u64,
    /// Dynamics by regime; noise and first states are those of the first.
    pub dynamics: Vec<LinearDynamics>,
    /// Regime of each step.
    pub labels: Vec<u8>,
    /// How regimes follow each other.
    pub switching: Switching,
    /// States of all effects, `[target, source]`, D rows of D.
    states: Vec<EntryState>,
    slabs: Slabs,
    first_noise: Vec<f64>,
    /// Log density of all steps before the last sweep over effects, hidden regimes summed out.
    pub log_density: f64,
    /// Sums over counted sweeps.
    pub totals: RegimeTotals,
}

impl RegimeState {
    /// Begins with effects that all differ, at a start that was found.
    pub fn new(
        dynamics: Vec<LinearDynamics>,
        labels: Vec<u8>,
        switching: Switching,
        pools: &EdgePools,
    ) -> Self {
        let (d, k) = (pools.n_variables(), dynamics.len());
        let all = (1_u32 << k) - 1;
        let mut dynamics = dynamics;
        let state = |at: usize, dynamics: &mut [LinearDynamics]| {
            if pools.gate(at % d, at / d) == Gate::Off {
                let idx = at / d * (d + 1) + at % d;
                dynamics.iter_mut().for_each(|one| one.effects[idx] = 0.0);
                return EntryState::Absent;
            }
            EntryState::Own(all)
        };
        Self {
            sweep: 0,
            states: (0..d * d).map(|at| state(at, &mut dynamics)).collect(),
            slabs: Slabs { others: 0.3, own: 0.5 },
            first_noise: dynamics[0].noise.clone(),
            log_density: f64::NAN,
            totals: RegimeTotals::new(d, k, labels.len()),
            dynamics,
            labels,
            switching,
        }
    }

    fn n_regimes(&self) -> usize {
        self.dynamics.len()
    }

    /// One sweep; `None` where a covariance is not positive definite.
    pub fn sweep(&mut self, task: &RegimeTask<'_>, counted: bool) -> Option<()> {
        let mut random = task.stream(self.sweep, 0);
        let drawn = match task.paths {
            Some(_) => None,
            None => Some(self.draw_paths(task, &mut random)?),
        };
        let paths = drawn.as_deref().or(task.paths)?;
        let logs = task.steps.log_densities(task.grid, paths, &self.dynamics);
        self.log_density = match task.labels {
            Labels::Hidden => self.draw_labels(task, &logs, counted, &mut random),
            Labels::Known => {
                let own =
                    |(at, label): (usize, &u8)| logs[at * self.n_regimes() + usize::from(*label)];
                self.labels.iter().enumerate().map(own).sum()
            }
        };
        let k = self.n_regimes();
        let mut weights = vec![0.0; self.labels.len() * k];
        for (at, &label) in self.labels.iter().enumerate() {
            weights[at * k + usize::from(label)] = 1.0;
        }
        let sums = task.steps.sums(task.grid, paths, &weights, k);
        let n_visits = if drawn.is_some() { 2 } else { 1 };
        for visit in 0..n_visits {
            self.visit_all(task, &sums, counted && visit + 1 == n_visits, &mut random);
        }
        self.sweep += 1;
        Some(())
    }

    fn draw_paths(&mut self, task: &RegimeTask<'_>, random: &mut RandomStream) -> Option<Vec<f64>> {
        let (grid, d, sweep) = (task.grid, task.grid.n_variables(), self.sweep);
        let switched = Switched { dynamics: &self.dynamics, labels: &self.labels };
        let paths = switched.draw(grid, task.steps, &|at| task.stream(sweep, at as u64 + 1))?;
        let n = task.steps.series.len() as f64;
        let mut law = self.dynamics[0].clone();
        for idx in 0..d {
            let first = || task.steps.series.iter().map(|one| paths[one.first_point * d + idx]);
            let mean = first().sum::<f64>() / n
                + random.normal() * (law.initial_variances[idx] / n).sqrt();
            let square: f64 = first().map(|value| (value - mean).powi(2)).sum();
            let rate = 0.5 * (square + 10.0 * FIRST_SQUARE);
            law.initial_variances[idx] = random.inverse_gamma(0.5 * n + 1.0, rate);
            law.initial_means[idx] = mean;
            if task.learn_noise {
                let (mut n_cells, mut misfit) = (0.0, 0.0);
                for point in 0..grid.layout().n_points() {
                    let error = grid.layout().observed_row(point)[idx] - paths[point * d + idx];
                    if !error.is_nan() {
                        n_cells += 1.0;
                        misfit += error * error;
                    }
                }
                let rate = 0.5 * misfit + self.first_noise[idx];
                law.noise[idx] = random.inverse_gamma(0.5 * n_cells + 1.0, rate).max(MIN_VARIANCE);
            }
        }
        let LinearDynamics { noise, initial_means, initial_variances, .. } = law;
        let first = &mut self.dynamics[0];
        (first.noise, first.initial_means, first.initial_variances) =
            (noise, initial_means, initial_variances);
        Some(paths)
    }

    /// New regimes and their law; gives the log density of all steps.
    fn draw_labels(
        &mut self,
        task: &RegimeTask<'_>,
        logs: &[f64],
        counted: bool,
        random: &mut RandomStream,
    ) -> f64 {
        let (steps, k) = (task.steps, self.n_regimes());
        let mut log_density = 0.0;
        for series in &steps.series {
            let own = &logs[series.first * k..(series.first + series.n) * k];
            let lengths = steps.lengths_of(series);
            let filtered = self.switching.forward(own, lengths);
            log_density += filtered.log_density;
            let labels = self.switching.draw(&filtered, lengths, random);
            self.labels[series.first..series.first + series.n].copy_from_slice(&labels);
        }
        if counted {
            let probabilities = smoothed(&self.switching, steps, logs);
            self.totals.add_labels(&probabilities);
        }
        let labels: Vec<&[u8]> = (steps.series.iter())
            .map(|series| &self.labels[series.first..series.first + series.n])
            .collect();
        let lengths: Vec<&[f64]> =
            steps.series.iter().map(|series| steps.lengths_of(series)).collect();
        self.switching.draw_law(&labels, &lengths, random);
        log_density
    }

    /// Every effect, then offsets, innovations and slabs.
    fn visit_all(
        &mut self,
        task: &RegimeTask<'_>,
        sums: &[StepSums],
        counted: bool,
        random: &mut RandomStream,
    ) {
        let d = task.grid.n_variables();
        let mut residuals: Vec<Vec<f64>> = (sums.iter().zip(&self.dynamics))
            .map(|(sums, dynamics)| sums.residuals(dynamics))
            .collect();
        let mut counts = self.counts(task.pools);
        for target in 0..d {
            for source in 0..d {
                let prior = self.prior(task.pools, source, target, &mut counts);
                let pulls = self.pulls(task.tempering[target], source, target, sums, &residuals);
                let entry = Entry::new(&pulls, &prior);
                let state = entry.draw_state(random);
                let effects = entry.draw_effects(state, random);
                self.set(source, target, state, &effects, sums, &mut residuals);
                counts.add(task.pools, source, target, state, 1.0);
                if counted {
                    self.totals.add_entry(target * d + source, &entry, &effects);
                }
            }
            for regime in 0..self.n_regimes() {
                self.draw_offset(regime, target, &sums[regime], &mut residuals[regime], random);
                let weight = task.tempering[target];
                self.draw_variance(
                    regime,
                    target,
                    weight,
                    &sums[regime],
                    &residuals[regime],
                    random,
                );
            }
        }
        self.draw_slabs(d, random);
        if counted {
            self.totals.add_scales(&self.dynamics, self.switching.stay);
        }
    }

    fn counts(&self, pools: &EdgePools) -> Counts {
        let d = pools.n_variables();
        let mut counts = Counts { present: vec![0.0; d], differing: 0.0, alike: 0.0 };
        for (at, &state) in self.states.iter().enumerate() {
            counts.add(pools, at % d, at / d, state, 1.0);
        }
        counts
    }

    /// The prior of one effect given the states of all others; takes its own state out of the counts.
    fn prior(
        &self,
        pools: &EdgePools,
        source: usize,
        target: usize,
        counts: &mut Counts,
    ) -> EntryPrior {
        let d = pools.n_variables();
        counts.add(pools, source, target, self.states[target * d + source], -1.0);
        let pool = pools.pool(source, target);
        EntryPrior {
            gate: pools.gate(source, target),
            log_odds: pools.collapsed_log_odds(pool, counts.present[pool], pools.law())
                + pools.knowledge(source, target),
            differs: (DIFFERING + counts.differing)
                / (DIFFERING + ALIKE + counts.differing + counts.alike),
            slab: self.slabs.of(source, target),
        }
    }

    /// What the steps of each regime say of one effect.
    fn pulls(
        &self,
        weight: f64,
        source: usize,
        target: usize,
        sums: &[StepSums],
        residuals: &[Vec<f64>],
    ) -> Vec<Pull> {
        let (d, m) = (self.dynamics[0].n_variables(), self.dynamics[0].n_variables() + 1);
        let idx = target * m + source;
        debug_assert!(source < d, "offsets are no entries");
        (self.dynamics.iter().zip(sums).zip(residuals))
            .map(|((dynamics, sums), residuals)| {
                let square = sums.square(idx, target);
                let weight = weight / dynamics.variances[target];
                let product = residuals[idx] + square * dynamics.effects[idx];
                Pull { precision: square * weight, product: product * weight }
            })
            .collect()
    }

    fn set(
        &mut self,
        source: usize,
        target: usize,
        state: EntryState,
        effects: &[f64],
        sums: &[StepSums],
        residuals: &mut [Vec<f64>],
    ) {
        let d = self.dynamics[0].n_variables();
        self.states[target * d + source] = state;
        let idx = target * (d + 1) + source;
        for (regime, dynamics) in self.dynamics.iter_mut().enumerate() {
            let own = &mut residuals[regime];
            move_effect(effects[regime], idx, target, &sums[regime], own, &mut dynamics.effects);
        }
    }

    fn draw_offset(
        &mut self,
        regime: usize,
        target: usize,
        sums: &StepSums,
        residuals: &mut [f64],
        random: &mut RandomStream,
    ) {
        let dynamics = &mut self.dynamics[regime];
        let m = dynamics.n_variables() + 1;
        let idx = target * m + m - 1;
        let square = sums.square(idx, target);
        let variance = dynamics.variances[target];
        let product = residuals[idx] + square * dynamics.effects[idx];
        let precision = square / variance + OFFSET_PRECISION;
        let offset = product / variance / precision + random.normal() / precision.sqrt();
        move_effect(offset, idx, target, sums, residuals, &mut dynamics.effects);
    }

    fn draw_variance(
        &mut self,
        regime: usize,
        target: usize,
        weight: f64,
        sums: &StepSums,
        residuals: &[f64],
        random: &mut RandomStream,
    ) {
        let dynamics = &mut self.dynamics[regime];
        let square = sums.residual_square(target, dynamics, residuals).max(0.0);
        // As if one step of the usual size had been seen: a regime without steps keeps a scale.
        let rate = 0.5 * (weight * square + 1.0).max(2.0 * VARIANCE_RATE);
        let drawn = random.inverse_gamma(0.5 * (weight * sums.n_steps[target] + 1.0) + 0.5, rate);
        dynamics.variances[target] = drawn.max(MIN_VARIANCE);
    }

    fn draw_slabs(&mut self, d: usize, random: &mut RandomStream) {
        let (mut counts, mut squares) = ([0.0; 2], [0.0; 2]);
        for (at, &state) in self.states.iter().enumerate() {
            let idx = at / d * (d + 1) + at % d;
            let own = usize::from(at / d == at % d);
            for (regime, dynamics) in self.dynamics.iter().enumerate() {
                // What is the same everywhere is one effect.
                let counts_here = match state {
                    EntryState::Absent => false,
                    EntryState::Same => regime == 0,
                    EntryState::Own(_) => state.is_in(regime),
                };
                if counts_here {
                    counts[own] += 1.0;
                    squares[own] += dynamics.effects[idx].powi(2);
                }
            }
        }
        let mut scale = |own: usize| {
            let rate = 0.5 * (SLAB_SQUARE + squares[own]);
            random.inverse_gamma(0.5 * (counts[own] + 1.0), rate).sqrt().min(MAX_SLAB)
        };
        self.slabs = Slabs { others: scale(0), own: scale(1) };
    }
}

impl RegimeTask<'_> {
    /// Every sweep has numbers of its own, and every series in it, so that a chain can be taken up anywhere.
    fn stream(&self, sweep: u64, series: u64) -> RandomStream {
        let number = FIRST_NUMBER + self.number;
        RandomStream::new(self.seed, Purpose::Sampler, number << 52 | sweep << 32 | series)
    }
}

/// How many effects there are, and how many of them differ.
struct Counts {
    /// Free edges that are anywhere, by pool.
    present: Vec<f64>,
    differing: f64,
    alike: f64,
}

impl Counts {
    fn add(&mut self, pools: &EdgePools, source: usize, target: usize, state: EntryState, n: f64) {
        match state {
            EntryState::Absent => return,
            EntryState::Same => self.alike += n,
            EntryState::Own(_) => self.differing += n,
        }
        if pools.gate(source, target) == Gate::Free {
            self.present[pools.pool(source, target)] += n;
        }
    }
}

/// Log-odds of a probability whose complement is known with all its digits.
pub(crate) fn log_odds(present: f64, absent: f64) -> f64 {
    ln(present.max(f64::MIN_POSITIVE)) - ln(absent.max(f64::MIN_POSITIVE))
}
