//! Coordinate ascent: paths given effects, effects given paths, until the bound stands still.
//!
//! Nothing is random and there are no rates: every update is the best one given all others.

mod bound;
mod cut_normal;

use super::dynamics::LinearDynamics;
use super::grid::LinearGrid;
use super::joint::{JointFilter, SmoothedPaths, Uncertainty};
use super::pools::{EdgePools, Gate};
use super::single::{held_values, smooth_by_variable};
use super::sums::StepSums;
use crate::Amount;
use crate::numeric::real::{Real, ln};

pub use bound::PathMoments;
pub use cut_normal::{CutNormal, Moments};

/// Rounds of smoothing and regression at the most.
pub const MAX_ROUNDS: u64 = 40;
/// Sweeps over all effects in a round.
const SWEEPS: usize = 2;
/// Rounds in which no edge is given up: early paths are smoother than those of the end.
const OPEN_ROUNDS: u64 = 5;
/// Least probability of a free edge in those rounds.
const OPEN_PROBABILITY: f64 = 0.05;
/// Largest change of a probability in a round that counts as none.
const EDGE_TOLERANCE: f64 = 1e-4;
/// Change of the bound in a round, relative to its size, that counts as none.
const BOUND_TOLERANCE: f64 = 1e-7;
/// Prior precision of offsets.
pub(super) const OFFSET_PRECISION: f64 = 0.01;
/// Prior precision of the amounts by which variables are pushed.
pub(super) const AMOUNT_PRECISION: f64 = 0.1;
/// Least variance of innovations, in squared increment scales.
pub(super) const MIN_VARIANCE: f64 = 1e-6;
/// A slab's squared scale s² has the prior density s⁻¹ exp(-0.05 / s²), as of one effect of size 0.3 seen before.
pub(super) const SLAB_SQUARE: f64 = 0.1;
/// The same for the variance of first states.
pub(super) const FIRST_SQUARE: f64 = 0.1;
/// Slab scales at the start: of effects on others and on itself.
const FIRST_SLABS: Slabs = Slabs { others: 0.15, own: 0.5 };
/// Multiplications per smoothing beyond which variables are smoothed one by one.
pub(super) const MOST_JOINT_WORK: f64 = 4e9;

/// Scales of effects given their edges.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Slabs {
    /// Of effects on other variables.
    pub others: f64,
    /// Of a variable's effect on itself.
    pub own: f64,
}

impl Slabs {
    /// The scale of one effect.
    pub(super) fn of(&self, source: usize, target: usize) -> f64 {
        if source == target { self.own } else { self.others }
    }
}

/// The posterior of the effects, in the rows of effects: matrices `[target, source]` of D rows of D + 1, offsets in the
/// last column, where there is room for all.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GatedEffects {
    /// Probabilities of the gates.
    pub probabilities: Vec<f64>,
    /// Means of effects given their edges.
    pub means: Vec<f64>,
    /// Variances of effects given their edges.
    pub variances: Vec<f64>,
    /// Log-odds of the gates, also of those that are fixed.
    pub log_odds: Vec<f64>,
    /// Scales of the effects' prior.
    pub slabs: Slabs,
    /// Laws of the amounts by which variables are pushed.
    pub amounts: Vec<CutNormal>,
}

impl GatedEffects {
    fn new(pools: &EdgePools, amounts: &[Amount]) -> Self {
        let rows = pools.rows();
        let mut probabilities = vec![1.0; rows.len()];
        for target in 0..rows.n_variables() {
            for (entry, _) in rows.sources(target) {
                probabilities[entry] = match pools.gate_of(entry) {
                    Gate::Free => OPEN_PROBABILITY,
                    Gate::On => 1.0,
                    Gate::Off => 0.0,
                };
            }
        }
        let zeros = || vec![0.0; rows.len()];
        Self {
            probabilities,
            means: zeros(),
            variances: zeros(),
            log_odds: zeros(),
            slabs: FIRST_SLABS,
            amounts: amounts.iter().map(|amount| CutNormal::unknown(amount.sign())).collect(),
        }
    }

    /// Var(G A) of one entry.
    fn entry_variance(&self, idx: usize) -> f64 {
        let (p, mean) = (self.probabilities[idx], self.means[idx]);
        p * (mean * mean + self.variances[idx]) - (p * mean).powi(2)
    }
}

/// A linear process in fitting.
#[derive(Debug, Clone)]
pub struct Ascent<'a> {
    grid: &'a LinearGrid,
    pools: &'a EdgePools,
    learn_noise: bool,
    /// Sources in the order in which their effects are updated, offsets last.
    order: Vec<usize>,
    state: AscentState,
}

/// Everything that changes in the ascent.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct AscentState {
    /// Rounds done.
    pub round: u64,
    /// Means of effects and all scales.
    pub dynamics: LinearDynamics,
    /// Posterior of the effects.
    pub effects: GatedEffects,
    /// Lower bound of the log evidence after the last smoothing.
    pub bound: f64,
    /// Whether the last round changed next to nothing.
    pub converged: bool,
    /// Means of the paths, where variables are smoothed one by one.
    means: Option<Vec<f64>>,
}

impl<'a> Ascent<'a> {
    /// Starts from dynamics without effects.
    pub fn new(
        grid: &'a LinearGrid,
        pools: &'a EdgePools,
        start: LinearDynamics,
        learn_noise: bool,
    ) -> Self {
        let mut order: Vec<usize> = (0..grid.n_variables()).collect();
        order.push(grid.n_variables());
        let effects = GatedEffects::new(pools, grid.amounts());
        let state = AscentState {
            round: 0,
            dynamics: start,
            effects,
            bound: f64::NEG_INFINITY,
            converged: false,
            means: (!grid.is_smoothed_jointly()).then(|| held_values(grid)),
        };
        Self { grid, pools, learn_noise, order, state }
    }

    /// Goes on from a state.
    #[must_use]
    pub fn with_state(self, state: AscentState) -> Self {
        Self { state, ..self }
    }

    /// What has been learned so far.
    pub fn state(&self) -> &AscentState {
        &self.state
    }

    /// Whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        self.state.converged || self.state.round >= MAX_ROUNDS
    }

    /// The paths under the effects of the moment; `None` where a covariance is not positive definite.
    pub fn smoothed(&self) -> Option<SmoothedPaths> {
        let uncertainty = self.uncertainty();
        let dynamics = &self.state.dynamics;
        match &self.state.means {
            None => JointFilter::new(self.grid, dynamics, &uncertainty).smooth(),
            Some(means) => {
                Some(smooth_by_variable(self.grid, dynamics, &uncertainty, means.clone()))
            }
        }
    }

    /// One round: smooths the paths, then learns scales and effects from them.
    pub fn round(&mut self) -> Option<()> {
        let paths = self.smoothed()?;
        let bound = self.bound(&paths);
        if !bound.is_finite() {
            return None;
        }
        let before = self.state.effects.probabilities.clone();
        let change = (bound - self.state.bound) / bound.abs().max(1.0);
        self.state.bound = bound;
        if let Some(means) = &mut self.state.means {
            means.copy_from_slice(&paths.means);
        }
        self.learn_scales(&paths);
        let floor = if self.state.round < OPEN_ROUNDS { OPEN_PROBABILITY } else { 0.0 };
        for _ in 0..SWEEPS {
            self.learn_effects(&paths.sums, floor);
        }
        self.state.round += 1;
        let moved = (before.iter().zip(&self.state.effects.probabilities))
            .fold(0.0, |max: f64, (before, now)| max.max((before - now).abs()));
        self.state.converged = self.state.round > OPEN_ROUNDS
            && moved < EDGE_TOLERANCE
            && change.abs() < BOUND_TOLERANCE;
        Some(())
    }

    /// What uncertain effects add to the precision of states.
    fn uncertainty(&self) -> Uncertainty {
        let AscentState { dynamics, effects, .. } = &self.state;
        let rows = self.grid.rows();
        let mut parts = vec![0.0; rows.len()];
        for target in 0..rows.n_variables() {
            for (entry, _) in rows.sources(target) {
                parts[entry] = effects.entry_variance(entry) / dynamics.variances[target];
            }
        }
        Uncertainty::new(rows, |entry| parts[entry], self.grid.layout().has_marks())
    }

    /// The law of first states and the observation noise.
    pub fn learn_scales(&mut self, paths: &SmoothedPaths) {
        let moments = PathMoments::new(self.grid, paths);
        let dynamics = &mut self.state.dynamics;
        for idx in 0..self.grid.n_variables() {
            let n = moments.n_first[idx];
            let mean = if n > 0.0 { moments.first_sums[idx] / n } else { 0.0 };
            dynamics.initial_means[idx] = mean;
            let square = moments.first_squares[idx] - n * mean * mean;
            dynamics.initial_variances[idx] = (square.max(0.0) + FIRST_SQUARE) / (n + 1.0);
            if self.learn_noise && moments.n_observed[idx] > 0.0 {
                let variance = moments.misfits[idx] / moments.n_observed[idx];
                dynamics.noise[idx] = variance.max(MIN_VARIANCE);
            }
        }
    }

    /// One sweep over all effects, then innovations and slabs.
    pub fn learn_effects(&mut self, sums: &StepSums, floor: f64) {
        let d = self.grid.n_variables();
        let mut residuals = sums.residuals(&self.state.dynamics);
        let mut expected = self.expected_edges();
        for idx in 0..self.order.len() {
            let source = self.order[idx];
            if source == d {
                self.learn_offsets(sums, &mut residuals);
            } else {
                self.learn_source(source, sums, &mut residuals, &mut expected, floor);
            }
        }
        self.learn_amounts(sums, &mut residuals);
        self.learn_variances(sums, &residuals);
        self.learn_slabs();
    }

    /// Expected number of free edges of every pool.
    fn expected_edges(&self) -> Vec<f64> {
        let rows = self.grid.rows();
        let mut expected = vec![0.0; rows.n_variables()];
        for target in 0..rows.n_variables() {
            for (entry, source) in rows.sources(target) {
                if self.pools.gate_of(entry) == Gate::Free {
                    expected[self.pools.pool(source, target)] +=
                        self.state.effects.probabilities[entry];
                }
            }
        }
        expected
    }

    /// All effects of one source.
    fn learn_source(
        &mut self,
        source: usize,
        sums: &StepSums,
        residuals: &mut [f64],
        expected: &mut [f64],
        floor: f64,
    ) {
        let AscentState { dynamics, effects, .. } = &mut self.state;
        for (idx, target) in self.grid.rows().targets(source) {
            let square = sums.square(idx, target);
            let gate = self.pools.gate_of(idx);
            let variance = dynamics.variances[target];
            let slab = effects.slabs.of(source, target).powi(2);
            let product = residuals[idx] + square * dynamics.effects[idx];
            let precision = square / variance + 1.0 / slab;
            let mean = product / variance / precision;
            let evidence = 0.5 * mean * mean * precision - 0.5 * ln(precision * slab);
            let (pool, own) = (self.pools.pool(source, target), effects.probabilities[idx]);
            let is_free = gate == Gate::Free;
            let others = expected[pool] - if is_free { own } else { 0.0 };
            let prior = self.pools.collapsed_log_odds(pool, others, self.pools.law())
                + self.pools.knowledge_of(idx);
            effects.log_odds[idx] = prior + evidence;
            let probability = match gate {
                Gate::On => 1.0,
                Gate::Off => 0.0,
                Gate::Free => effects.log_odds[idx].sigmoid().max(floor),
            };
            if is_free {
                expected[pool] += probability - own;
            }
            effects.probabilities[idx] = probability;
            effects.means[idx] = mean;
            effects.variances[idx] = 1.0 / precision;
            let effect = probability * mean;
            move_effect(effect, idx, target, sums, residuals, &mut dynamics.effects);
        }
    }

    fn learn_offsets(&mut self, sums: &StepSums, residuals: &mut [f64]) {
        let AscentState { dynamics, effects, .. } = &mut self.state;
        let rows = self.grid.rows();
        for target in 0..rows.n_variables() {
            let idx = rows.offset(target);
            let (square, variance) = (sums.square(idx, target), dynamics.variances[target]);
            let precision = square / variance + OFFSET_PRECISION;
            let product = residuals[idx] + square * dynamics.effects[idx];
            let mean = product / variance / precision;
            effects.means[idx] = mean;
            effects.variances[idx] = 1.0 / precision;
            move_effect(mean, idx, target, sums, residuals, &mut dynamics.effects);
        }
    }

    /// By how much variables are pushed: normal laws cut at 0 where the direction is stated.
    fn learn_amounts(&mut self, sums: &StepSums, residuals: &mut [f64]) {
        let rows = self.grid.rows();
        let AscentState { dynamics, effects, .. } = &mut self.state;
        for (number, push) in sums.pushes.iter().enumerate() {
            let variance = dynamics.variances[push.target];
            let own = dynamics.amounts[number];
            let product = sums.push_residual(number, dynamics) + push.square * own;
            let precision = push.square / variance + AMOUNT_PRECISION;
            let law = CutNormal {
                mean: product / variance / precision,
                variance: 1.0 / precision,
                sign: self.grid.amounts()[number].sign(),
            };
            let mean = law.moments().mean;
            dynamics.amounts[number] = mean;
            effects.amounts[number] = law;
            let row = &mut residuals[rows.row(push.target)];
            let states = row.iter_mut().zip(&push.states);
            states.for_each(|(left, state)| *left -= (mean - own) * state);
        }
    }

    fn learn_variances(&mut self, sums: &StepSums, residuals: &[f64]) {
        for target in 0..self.grid.n_variables() {
            let square = self.expected_square(target, sums, residuals);
            // Where every step is left out there is nothing to learn from.
            if sums.n_steps[target] > 0.0 {
                let variance = (square / sums.n_steps[target]).max(MIN_VARIANCE);
                self.state.dynamics.variances[target] = variance;
            }
        }
    }

    /// E Σ e² / h of one target under the posterior of its effects.
    fn expected_square(&self, target: usize, sums: &StepSums, residuals: &[f64]) -> f64 {
        let (row, products) = (self.grid.rows().row(target), sums.products_of(target));
        let spread: f64 = (row.enumerate())
            .map(|(column, entry)| {
                products.square(column) * self.state.effects.entry_variance(entry)
            })
            .sum();
        let own = sums.pushes.iter().zip(&self.state.effects.amounts);
        let pushed: f64 = own
            .filter(|(push, _)| push.target == target)
            .map(|(push, law)| push.square * law.moments().variance)
            .sum();
        sums.residual_square(target, &self.state.dynamics, residuals) + spread + pushed
    }

    fn learn_slabs(&mut self) {
        let rows = self.grid.rows();
        let effects = &mut self.state.effects;
        let (mut counts, mut squares) = ([0.0; 2], [0.0; 2]);
        for target in 0..rows.n_variables() {
            for (idx, source) in rows.sources(target) {
                let own = usize::from(source == target);
                let p = effects.probabilities[idx];
                counts[own] += p;
                squares[own] += p * (effects.means[idx].powi(2) + effects.variances[idx]);
            }
        }
        let scale = |own: usize| ((SLAB_SQUARE + squares[own]) / (counts[own] + 1.0)).sqrt();
        effects.slabs = Slabs { others: scale(0), own: scale(1) };
    }
}

/// Sets one entry of a target's effects and takes its change out of the residuals.
pub(super) fn move_effect(
    effect: f64,
    entry: usize,
    target: usize,
    sums: &StepSums,
    residuals: &mut [f64],
    effects: &mut [f64],
) {
    let change = effect - effects[entry];
    effects[entry] = effect;
    if change != 0.0 {
        let row = sums.rows().row(target);
        let column = entry - row.start;
        sums.products_of(target).add_row(column, -change, &mut residuals[row]);
    }
}

/// Multiplications of one joint smoothing, about.
pub(super) fn joint_work(grid: &LinearGrid) -> f64 {
    let d = grid.n_variables() as f64;
    let covariances = grid.layout().n_deviation_rows().min(distinct_points(grid)) as f64;
    12.0 * covariances * d.powi(3) + 6.0 * grid.layout().n_points() as f64 * d * d
}

/// Points whose covariances have to be computed: where steps and holes repeat, they soon stand still.
fn distinct_points(grid: &LinearGrid) -> usize {
    /// Points after which covariances usually stand still.
    const SETTLED: usize = 40;
    let layout = grid.layout();
    let pattern = |group: &super::grid::Group, point: usize| {
        let holes = layout.observed_row(group.first_points[0] + point).iter();
        let step =
            if point == 0 { 0.0 } else { layout.step(group.first_deviation_row + point - 1) };
        (step, holes.map(|value| value.is_nan()).collect::<Vec<_>>())
    };
    let mut n = 0;
    for group in grid.groups() {
        let (mut run, mut last) = (0, None);
        for point in 0..group.n_points {
            let here = pattern(group, point);
            run = if last.as_ref() == Some(&here) { run + 1 } else { 0 };
            n += usize::from(run < SETTLED);
            last = Some(here);
        }
    }
    n
}
