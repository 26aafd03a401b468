//! A Gibbs sampler of gates, effects, scales and paths.
//!
//! Given the paths, targets are regressions that know of each other only through the densities of the graph. A sweep
//! visits every effect in turn, draws its gate with the effect integrated out, then the effect; densities, slabs and
//! innovations follow, and at last new paths. Probabilities are means of those with which gates were drawn, not of the
//! gates (Rao and Blackwell).

mod densities;

use super::ascent::{
    AMOUNT_PRECISION, CutNormal, MIN_VARIANCE, OFFSET_PRECISION, SLAB_SQUARE, Slabs, move_effect,
};
use super::dynamics::LinearDynamics;
use super::effect_rows::EffectRows;
use super::grid::LinearGrid;
use super::joint::{JointFilter, Uncertainty};
use super::pools::{BetaLaw, EdgePools, Gate};
use super::sums::StepSums;
use crate::numeric::real::{Real, ln};
use crate::random::{Purpose, RandomStream};

pub use densities::DensityRule;

/// The prior of an innovation's variance g: inverse gamma of shape 1, and this rate.
pub(super) const VARIANCE_RATE: f64 = 0.01;
/// Largest slab: beyond it an effect moves a variable by several of its increments in one.
pub(super) const MAX_SLAB: f64 = 5.0;
/// Sweeps over effects for each draw of the paths.
const SWEEPS_PER_PATH: usize = 2;

/// What a chain is run with.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainRules {
    /// Share of the evidence that counts, by target; 1 under a model that is right.
    pub tempering: Vec<f64>,
    /// What is learned of densities.
    pub densities: DensityRule,
    /// Sweeps, those of the beginning among them.
    pub n_sweeps: u64,
    /// Sweeps at the beginning that are not counted.
    pub burn_in: u64,
    /// Seed of all draws.
    pub seed: u64,
    /// Number of the chain: chains of one seed have draws of their own.
    pub number: u64,
}

/// Where the sums of steps come from.
#[derive(Debug, Clone)]
pub enum PathSource<'a> {
    /// Paths are drawn anew in every sweep; the noise is drawn where it is learned.
    Drawn {
        /// The series.
        grid: &'a LinearGrid,
        /// Whether the observation noise is learned.
        learn_noise: bool,
    },
    /// Sums that do not change: paths are known, or their moments stand for them.
    Known(&'a StepSums),
}

/// A chain between two sweeps.
#[derive(Debug, Clone)]
pub struct Chain<'a> {
    pools: &'a EdgePools,
    paths: PathSource<'a>,
    rules: ChainRules,
    state: ChainState,
}

/// Everything that changes in a chain.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ChainState {
    /// Sweeps done.
    pub sweep: u64,
    /// Effects (0 where their gate is closed) and scales.
    pub dynamics: LinearDynamics,
    /// Gates, in the rows of effects.
    gates: Vec<bool>,
    slabs: Slabs,
    law: Option<BetaLaw>,
    /// Observation noise at the start: the centre of its prior.
    first_noise: Vec<f64>,
    /// Signs of the amounts by which variables are pushed; 0 where any.
    signs: Vec<f64>,
    /// Sums over counted sweeps.
    pub totals: ChainTotals,
}

/// Sums over counted visits, in the rows of effects: `[target, source]`.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ChainTotals {
    /// Number of counted visits.
    pub n: f64,
    /// Of the log-odds with which gates were drawn.
    pub log_odds: Vec<f64>,
    /// Of the probabilities.
    pub probabilities: Vec<f64>,
    /// Of the probabilities that there is no edge, which have digits where the others round to 1.
    pub absences: Vec<f64>,
    /// Of effects given their edges, weighted by probabilities.
    pub effects: Vec<f64>,
    /// Of squared effects given their edges, weighted by probabilities.
    pub squares: Vec<f64>,
}

/// One visit to an effect.
struct Visit {
    mean: f64,
    deviation: f64,
    evidence: f64,
}

impl<'a> Chain<'a> {
    /// Starts a chain at a point of coordinate ascent: gates are drawn from its probabilities.
    pub fn new(
        pools: &'a EdgePools,
        paths: PathSource<'a>,
        rules: ChainRules,
        start: &super::ascent::AscentState,
    ) -> Self {
        let mut random = stream(&rules, 0);
        let mut dynamics = start.dynamics.clone();
        let effects = &start.effects;
        let rows = pools.rows();
        let mut gates = vec![true; effects.probabilities.len()];
        for target in 0..rows.n_variables() {
            let offset = rows.offset(target);
            for idx in rows.row(target) {
                let gate = idx == offset || random.uniform() < effects.probabilities[idx];
                dynamics.effects[idx] = if gate { effects.means[idx] } else { 0.0 };
                gates[idx] = gate;
            }
        }
        let zeros = || vec![0.0; gates.len()];
        let totals = ChainTotals {
            n: 0.0,
            log_odds: zeros(),
            probabilities: zeros(),
            absences: zeros(),
            effects: zeros(),
            squares: zeros(),
        };
        let state = ChainState {
            sweep: 0,
            first_noise: dynamics.noise.clone(),
            signs: effects.amounts.iter().map(|law| law.sign).collect(),
            dynamics,
            law: pools.law(),
            slabs: effects.slabs,
            gates,
            totals,
        };
        Self { pools, paths, rules, state }
    }

    /// Goes on from a state.
    #[must_use]
    pub fn with_state(self, state: ChainState) -> Self {
        Self { state, ..self }
    }

    /// What was drawn last, and the sums so far.
    pub fn state(&self) -> &ChainState {
        &self.state
    }

    /// Whether all sweeps are done.
    pub fn is_done(&self) -> bool {
        self.state.sweep >= self.rules.n_sweeps
    }

    /// One sweep; `None` where the paths' covariance is not positive definite.
    pub fn sweep(&mut self) -> Option<()> {
        // Every sweep has numbers of its own, so that a chain can be taken up anywhere.
        let mut random = stream(&self.rules, self.state.sweep + 1);
        let drawn = match &self.paths {
            PathSource::Known(_) => None,
            PathSource::Drawn { grid, learn_noise } => {
                Some(self.state.draw_paths(grid, *learn_noise, &mut random)?)
            }
        };
        let (sums, n_visits) = match (&self.paths, &drawn) {
            (PathSource::Known(sums), _) => (*sums, 1),
            (_, drawn) => (drawn.as_ref()?, SWEEPS_PER_PATH),
        };
        let counted = self.state.sweep >= self.rules.burn_in;
        for _ in 0..n_visits {
            self.state.visit_all(self.pools, &self.rules, sums, counted, &mut random);
        }
        self.state.sweep += 1;
        Some(())
    }
}

fn stream(rules: &ChainRules, sweep: u64) -> RandomStream {
    RandomStream::new(rules.seed, Purpose::Sampler, (rules.number << 40) | sweep)
}

impl ChainState {
    /// Scales of the effects' prior that were drawn last.
    #[cfg(feature = "testing")]
    pub fn slabs(&self) -> Slabs {
        self.slabs
    }

    /// New paths, then their first states' law and the noise; the sums of their steps.
    fn draw_paths(
        &mut self,
        grid: &LinearGrid,
        learn_noise: bool,
        random: &mut RandomStream,
    ) -> Option<StepSums> {
        let d = grid.n_variables();
        let certain = Uncertainty::none(d);
        let paths = JointFilter::new(grid, &self.dynamics, &certain).draw(random)?;
        let layout = grid.layout();
        for idx in 0..d {
            let free = || {
                let series = layout.series().iter();
                series.filter(move |rows| layout.set_value(rows.first_point, idx).is_none())
            };
            let first = || free().map(|rows| paths[rows.first_point * d + idx]);
            // One at the least: where every first state was set, their law is never asked.
            let n = free().count().max(1) as f64;
            let mean = first().sum::<f64>() / n;
            let variance = &mut self.dynamics.initial_variances[idx];
            let mean = mean + random.normal() * (*variance / n).sqrt();
            let square: f64 = first().map(|value| (value - mean).powi(2)).sum();
            *variance = random.inverse_gamma(0.5 * n + 1.0, 0.5 * (square + 1.0));
            self.dynamics.initial_means[idx] = mean;
            if learn_noise {
                let (mut n_cells, mut misfit) = (0.0, 0.0);
                for point in 0..layout.n_points() {
                    let error = layout.observed_row(point)[idx] - paths[point * d + idx];
                    if !error.is_nan() {
                        n_cells += 1.0;
                        misfit += error * error;
                    }
                }
                let rate = 0.5 * misfit + self.first_noise[idx];
                self.dynamics.noise[idx] =
                    random.inverse_gamma(0.5 * n_cells + 1.0, rate).max(MIN_VARIANCE);
            }
        }
        Some(StepSums::of_paths(grid, &paths))
    }

    /// Densities, then every effect, then slabs and innovations.
    fn visit_all(
        &mut self,
        pools: &EdgePools,
        rules: &ChainRules,
        sums: &StepSums,
        counted: bool,
        random: &mut RandomStream,
    ) {
        let rows = pools.rows();
        let counts = self.edge_counts(pools);
        self.law = rules.densities.draw_law(pools, &counts, random);
        let prior: Vec<f64> = (counts.iter().zip(pools.sizes()))
            .map(|(&edges, &size)| match self.law {
                None => pools.fixed_log_odds(),
                Some(BetaLaw { alpha, beta }) => {
                    let density = random.beta(alpha + edges, beta + size - edges);
                    let density = density.clamp(1e-12, 1.0 - 1e-9);
                    ln(density / (1.0 - density))
                }
            })
            .collect();
        let mut residuals = sums.residuals(&self.dynamics);
        let mut visits = Vec::with_capacity(if counted { rows.len() } else { 0 });
        for target in 0..rows.n_variables() {
            let weight = rules.tempering[target];
            for (entry, source) in rows.sources(target) {
                let slab = self.slabs.of(source, target).powi(2);
                let visit = self.evidence(entry, target, weight, slab, sums, &residuals);
                let prior = prior[pools.pool(source, target)] + pools.knowledge_of(entry);
                self.draw_gate(entry, &visit, pools, prior, random);
                let effect = self.drawn_effect(entry, &visit, random);
                let effects = &mut self.dynamics.effects;
                move_effect(effect, entry, target, sums, &mut residuals, effects);
                if counted {
                    visits.push(visit);
                }
            }
            self.draw_offset(target, sums, &mut residuals, random);
            self.draw_amounts(target, sums, &mut residuals, random);
            self.draw_variance(target, weight, sums, &residuals, random);
        }
        self.draw_slabs(rows, random);
        if counted {
            self.count(pools, &visits);
        }
    }

    /// Free edges of every pool.
    fn edge_counts(&self, pools: &EdgePools) -> Vec<f64> {
        let rows = pools.rows();
        let mut counts = vec![0.0; rows.n_variables()];
        for target in 0..rows.n_variables() {
            for (entry, source) in rows.sources(target) {
                if self.gates[entry] && pools.gate_of(entry) == Gate::Free {
                    counts[pools.pool(source, target)] += 1.0;
                }
            }
        }
        counts
    }

    /// The law of one effect given all others, and the evidence for it.
    fn evidence(
        &self,
        entry: usize,
        target: usize,
        weight: f64,
        slab: f64,
        sums: &StepSums,
        residuals: &[f64],
    ) -> Visit {
        let square = sums.square(entry, target);
        let product = residuals[entry] + square * self.dynamics.effects[entry];
        let weight = weight / self.dynamics.variances[target];
        let precision = square * weight + 1.0 / slab;
        let mean = product * weight / precision;
        let evidence = 0.5 * mean * mean * precision - 0.5 * ln(precision * slab);
        Visit { mean, deviation: precision.sqrt().recip(), evidence }
    }

    fn draw_gate(
        &mut self,
        entry: usize,
        visit: &Visit,
        pools: &EdgePools,
        prior: f64,
        random: &mut RandomStream,
    ) {
        self.gates[entry] = match pools.gate_of(entry) {
            Gate::On => true,
            Gate::Off => false,
            Gate::Free => random.uniform() < (prior + visit.evidence).sigmoid(),
        };
    }

    fn drawn_effect(&self, entry: usize, visit: &Visit, random: &mut RandomStream) -> f64 {
        if self.gates[entry] { visit.mean + visit.deviation * random.normal() } else { 0.0 }
    }

    fn draw_offset(
        &mut self,
        target: usize,
        sums: &StepSums,
        residuals: &mut [f64],
        random: &mut RandomStream,
    ) {
        let idx = sums.rows().offset(target);
        let square = sums.square(idx, target);
        let product = residuals[idx] + square * self.dynamics.effects[idx];
        let variance = self.dynamics.variances[target];
        let precision = square / variance + OFFSET_PRECISION;
        let offset = product / variance / precision + random.normal() / precision.sqrt();
        move_effect(offset, idx, target, sums, residuals, &mut self.dynamics.effects);
    }

    /// By how much a variable is pushed, each amount that there is for it.
    fn draw_amounts(
        &mut self,
        target: usize,
        sums: &StepSums,
        residuals: &mut [f64],
        random: &mut RandomStream,
    ) {
        for (number, push) in sums.pushes.iter().enumerate() {
            if push.target != target {
                continue;
            }
            let (variance, own) = (self.dynamics.variances[target], self.dynamics.amounts[number]);
            let product = sums.push_residual(number, &self.dynamics) + push.square * own;
            let precision = push.square / variance + AMOUNT_PRECISION;
            let (mean, sign) = (product / variance / precision, self.signs[number]);
            let amount = CutNormal { mean, variance: 1.0 / precision, sign }.draw(random);
            self.dynamics.amounts[number] = amount;
            let row = residuals[sums.rows().row(target)].iter_mut();
            row.zip(&push.states).for_each(|(left, state)| *left -= (amount - own) * state);
        }
    }

    fn draw_variance(
        &mut self,
        target: usize,
        weight: f64,
        sums: &StepSums,
        residuals: &[f64],
        random: &mut RandomStream,
    ) {
        let square = sums.residual_square(target, &self.dynamics, residuals).max(1e-9);
        let rate = 0.5 * weight * square + VARIANCE_RATE;
        let drawn = random.inverse_gamma(0.5 * weight * sums.n_steps[target] + 1.0, rate);
        self.dynamics.variances[target] = drawn.max(MIN_VARIANCE);
    }

    fn draw_slabs(&mut self, rows: &EffectRows, random: &mut RandomStream) {
        let (mut counts, mut squares) = ([0.0; 2], [0.0; 2]);
        for target in 0..rows.n_variables() {
            for (entry, source) in rows.sources(target) {
                if self.gates[entry] {
                    let own = usize::from(source == target);
                    counts[own] += 1.0;
                    squares[own] += self.dynamics.effects[entry].powi(2);
                }
            }
        }
        let mut scale = |own: usize| {
            let rate = 0.5 * (SLAB_SQUARE + squares[own]);
            random.inverse_gamma(0.5 * (counts[own] + 1.0), rate).sqrt().min(MAX_SLAB)
        };
        self.slabs = Slabs { others: scale(0), own: scale(1) };
    }

    /// Adds the visits of a sweep to the totals, with densities integrated out.
    fn count(&mut self, pools: &EdgePools, visits: &[Visit]) {
        let rows = pools.rows();
        let counts = self.edge_counts(pools);
        self.totals.n += 1.0;
        let entries = (0..rows.n_variables()).flat_map(|target| {
            rows.sources(target).map(move |(idx, source)| (idx, source, target))
        });
        for ((idx, source, target), visit) in entries.zip(visits) {
            let pool = pools.pool(source, target);
            let own = self.gates[idx] && pools.gate_of(idx) == Gate::Free;
            let others = counts[pool] - f64::from(u8::from(own));
            let log_odds = pools.collapsed_log_odds(pool, others, self.law)
                + pools.knowledge_of(idx)
                + visit.evidence;
            let probability = log_odds.sigmoid();
            let totals = &mut self.totals;
            totals.log_odds[idx] += log_odds;
            totals.probabilities[idx] += probability;
            totals.absences[idx] += (-log_odds).sigmoid();
            totals.effects[idx] += probability * visit.mean;
            totals.squares[idx] +=
                probability * (visit.mean * visit.mean + visit.deviation * visit.deviation);
        }
    }
}
