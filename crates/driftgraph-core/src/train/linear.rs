//! Fitting a linear process: rounds of coordinate ascent, then sweeps of Gibbs chains.
//!
//! One part of a fit, from the first round to the last sweep: every round and every sweep of all chains is a step, after which
//! the state may be kept.

mod bridge_values;
pub mod drifting;
mod edges;
pub mod limited;
pub mod regimes;

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::bridge::{BridgeSettings, CheckedBridgeSettings};
use super::progress::{Checkpoint, Part, Progress, Step, Training};
use crate::graph::limited_prior::LimitedPrior;
use crate::graph::prior::EdgePrior;
use crate::objective::elbo::ElboTerms;
use crate::posterior::bridge::SmootherStart;
use crate::posterior::linear::adequacy::Adequacy;
use crate::posterior::linear::ascent::{Ascent, AscentState, CutNormal, MAX_ROUNDS, Moments};
use crate::posterior::linear::dynamics::LinearDynamics;
use crate::posterior::linear::effect_rows::EffectRows;
use crate::posterior::linear::gibbs::{
    Chain, ChainRules, ChainState, ChainTotals, DensityRule, PathSource,
};
use crate::posterior::linear::grid::LinearGrid;
use crate::posterior::linear::joint::SmoothedPaths;
use crate::posterior::linear::pools::EdgePools;
use crate::{Amount, CoreError, EdgeScores, SeriesSet};

pub use edges::LinearEdges;

/// Chains whose evidence counts in full: one with the density law of the settings, one that learns it.
const N_PLAIN: usize = 2;
const LEARNS_DENSITIES: usize = 1;
/// Chains whose evidence counts as far as the model is adequate: with a careful law of densities, which is believed where
/// evidence counts for little, and with that of the settings.
///
/// Of the laws that were tried on the families of `experiment calibration`, seeds 1000 to 1009, these two together
/// came closest to the truth.
const N_CAREFUL: usize = 2;
const CAREFUL_LAW: usize = 2;
/// Variables up to which chains are run twice as long: they are cheap there, and fewer edges average less.
const FEW_VARIABLES: usize = 40;
const SWEEPS: u64 = 400;

/// Sweeps of every chain, unless settings ask for another number of steps.
pub fn usual_sweeps(n_variables: usize) -> u64 {
    if n_variables <= FEW_VARIABLES { 2 * SWEEPS } else { SWEEPS }
}

/// What a linear fit works with, laid out once.
#[derive(Debug)]
pub struct LinearTask {
    grid: LinearGrid,
    pools: EdgePools,
    /// The same with a careful law of densities.
    careful_pools: EdgePools,
    start: LinearDynamics,
    learn_noise: bool,
    seed: u64,
    max_steps: Option<u64>,
    /// The user's numbers of the variables that are fitted: those without any edge are no part of the process.
    kept: Vec<usize>,
    /// Number of all variables.
    n_user: usize,
}

/// Series on their grids, with what may be an edge.
struct LaidOut {
    grid: LinearGrid,
    pools: EdgePools,
    kept: Vec<usize>,
    n_user: usize,
    learn_noise: bool,
}

/// Where a linear fit begins: the smoother's scales, and what is known of the noise.
#[derive(Debug, Clone, Copy)]
pub struct LinearStart<'a> {
    /// Standardised series.
    pub data: &'a SeriesSet,
    /// Longest step of the grids.
    pub step_size: f64,
    /// Scales of the local-level smoother, in the user's order of variables.
    pub smoother: &'a SmootherStart,
    /// Whether the observation noise is learned.
    pub learn_noise: bool,
}

/// Everything that changes in a linear fit.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LinearState {
    /// Where coordinate ascent is, or ended.
    pub ascent: AscentState,
    /// The chains, once the ascent has ended.
    pub chains: Vec<ChainState>,
    /// Share of the evidence that counts, over targets; set when the chains begin.
    pub evidence_share: f64,
    /// Whether a step could not be computed; what is left is the last good state.
    pub broken: bool,
}

/// How far a linear fit is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// To the end of the ascent: enough to predict.
    Ascent,
    /// Through all sweeps: probabilities that can be believed.
    Chains,
}

/// Why a linear fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinearEnd {
    /// All that was asked for is done.
    Done,
    /// The follower asked for it.
    Stopped,
}

/// A finished linear fit.
#[derive(Debug)]
pub struct LinearFit<'a> {
    task: &'a LinearTask,
    /// The last state.
    pub state: LinearState,
    /// Paths at the end of the ascent.
    pub paths: SmoothedPaths,
    /// What the innovations still contain.
    pub adequacy: Adequacy,
}

impl LinearTask {
    /// Lays out the series; `knowledge` is in the user's order of variables.
    pub fn new(
        start: LinearStart<'_>,
        knowledge: &EdgePrior,
        settings: &CheckedBridgeSettings,
    ) -> Result<Self, CoreError> {
        let LinearStart { data, step_size, smoother, learn_noise } = start;
        let chosen = settings.get();
        let n_user = data.n_variables();
        let mut kept = knowledge.variables_with_edges();
        let laid_out = |kept: &[usize]| {
            let scales: Vec<f64> = kept.iter().map(|&idx| smoother.increment_scales[idx]).collect();
            LinearGrid::new(&data.with_variables(kept)?, step_size, &scales)
        };
        // Where nothing is left to fit, all of it is, so that there is a process to ask.
        let grid = if let Ok(grid) = laid_out(&kept) {
            grid
        } else {
            kept = (0..n_user).collect();
            laid_out(&kept)?
        };
        let order: Vec<usize> = grid.variables().iter().map(|&idx| kept[idx]).collect();
        let pools = EdgePools::new(chosen.density, &knowledge.reordered(&order));
        let laid_out = LaidOut { grid, pools, kept, n_user, learn_noise };
        Ok(Self::on_grid(laid_out, smoother, settings))
    }

    /// The same where few may drive others, with room for what may be an edge alone.
    pub fn limited(
        start: LinearStart<'_>,
        knowledge: &LimitedPrior,
        settings: &CheckedBridgeSettings,
    ) -> Result<Self, CoreError> {
        let LinearStart { data, step_size, smoother, learn_noise } = start;
        let n_user = data.n_variables();
        let kept: Vec<usize> = (0..n_user).filter(|&idx| knowledge.has_edges(idx)).collect();
        let scales: Vec<f64> = kept.iter().map(|&idx| smoother.increment_scales[idx]).collect();
        let grid = LinearGrid::new(&data.with_variables(&kept)?, step_size, &scales)?;
        let order: Vec<usize> = grid.variables().iter().map(|&idx| kept[idx]).collect();
        let [may_drive, may_be_driven] = knowledge.chosen(&order);
        let grid = grid.with_rows(EffectRows::between(&may_drive, &may_be_driven));
        let known = |source: usize, target: usize| knowledge.known(order[source], order[target]);
        let pools = EdgePools::with_rows(settings.get().density, grid.rows(), known);
        let laid_out = LaidOut { grid, pools, kept, n_user, learn_noise };
        Ok(Self::on_grid(laid_out, smoother, settings))
    }

    fn on_grid(
        laid_out: LaidOut,
        smoother: &SmootherStart,
        settings: &CheckedBridgeSettings,
    ) -> Self {
        let LaidOut { grid, pools, kept, n_user, learn_noise } = laid_out;
        let chosen = settings.get();
        let d = grid.n_variables();
        let of = |value: &dyn Fn(usize) -> f64| -> Vec<f64> {
            grid.variables().iter().map(|&idx| value(kept[idx])).collect()
        };
        let min_variance = chosen.min_scale * chosen.min_scale;
        let relative = |idx: usize| {
            let scale = smoother.increment_scales[idx];
            (smoother.levels[idx].process_variance / (scale * scale)).max(min_variance)
        };
        let start = LinearDynamics {
            effects: vec![0.0; grid.rows().len()],
            amounts: vec![0.0; grid.amounts().len()],
            variances: of(&relative),
            noise: of(&|idx| smoother.levels[idx].noise_variance.max(min_variance)),
            initial_means: vec![0.0; d],
            initial_variances: vec![1.0; d],
        };
        let (seed, max_steps) = (chosen.seed, chosen.max_steps);
        // What is usual is a number of sources for each target: of all others, or of those that may drive.
        let n_sources = if grid.rows().is_all() { d - 1 } else { grid.rows().common().len() };
        let careful_pools = pools.with_law(DensityRule::careful_law(n_sources + 1));
        Self { grid, pools, careful_pools, start, learn_noise, seed, max_steps, kept, n_user }
    }

    /// The grids, with variables and series in their own order.
    pub fn grid(&self) -> &LinearGrid {
        &self.grid
    }

    /// What innovations still contain, in the user's order of variables.
    fn user_adequacy(&self, adequacy: &Adequacy) -> Adequacy {
        let own = adequacy.reordered(&self.grid.own_numbers());
        let mut all = Adequacy { n_rows: own.n_rows, ..Adequacy::unknown(self.n_user) };
        for (idx, &user) in self.kept.iter().enumerate() {
            (all.shares[user], all.clustering[user]) = (own.shares[idx], own.clustering[idx]);
        }
        all
    }

    /// A matrix `[source, target]` over all variables, from one over those of the grid.
    fn to_user(&self, matrix: &[f64], absent: f64) -> Vec<f64> {
        let mut out = vec![absent; self.n_user * self.n_user];
        let own = self.grid.to_user(matrix);
        for (at, value) in own.into_iter().enumerate() {
            let (source, target) = (at / self.kept.len(), at % self.kept.len());
            out[self.kept[source] * self.n_user + self.kept[target]] = value;
        }
        out
    }

    /// Fits from the start or from a state that was kept; `None` where not even the first smoothing can be computed.
    pub fn fit(
        &self,
        extent: Extent,
        kept: Option<LinearState>,
        follower: &Follower<'_>,
    ) -> Option<(LinearFit<'_>, LinearEnd)> {
        let mut ascent = Ascent::new(&self.grid, &self.pools, self.start.clone(), self.learn_noise);
        let mut state = LinearState {
            ascent: ascent.state().clone(),
            chains: Vec::new(),
            evidence_share: 1.0,
            broken: false,
        };
        if let Some(kept) = kept {
            ascent = ascent.with_state(kept.ascent.clone());
            state = kept;
        }
        let limit = self.max_steps.unwrap_or(u64::MAX);
        let mut end = LinearEnd::Done;
        while !ascent.is_done() && !state.broken && ascent.state().round < limit {
            let before = ascent.state().clone();
            if ascent.round().is_none() {
                if before.round == 0 {
                    return None;
                }
                ascent = ascent.with_state(before);
                state.broken = true;
                break;
            }
            state.ascent = ascent.state().clone();
            if self.tell(&state, follower).is_break() {
                end = LinearEnd::Stopped;
                break;
            }
        }
        let paths = ascent.smoothed()?;
        let adequacy = Adequacy::new(&self.grid, ascent.state(), &paths);
        if extent == Extent::Chains && end == LinearEnd::Done && !state.broken {
            end = self.sweep(&mut state, &paths, &adequacy, follower);
        }
        Some((LinearFit { task: self, state, paths, adequacy }, end))
    }

    /// What may be believed of the edges of a linear process, `[source, target]`, from chains whose evidence counts as
    /// far as the process is adequate; `None` if it cannot be computed, or is to stop.
    pub fn careful_probabilities(&self, follower: &Follower<'_>) -> Option<Vec<f64>> {
        let (fit, end) = self.fit(Extent::Ascent, None, follower)?;
        if end == LinearEnd::Stopped || fit.state.broken {
            return None;
        }
        let LinearFit { mut state, paths, adequacy, .. } = fit;
        let mut chains = self.chains(N_PLAIN, &state, &paths, &adequacy);
        state.evidence_share = evidence_share(&adequacy);
        while !chains[0].is_done() {
            if follower.progress.is_interrupted() {
                return None;
            }
            let fine = chains.par_iter_mut().map(Chain::sweep).collect::<Vec<_>>();
            if fine.iter().any(Option::is_none) {
                return None;
            }
        }
        let totals: Vec<&ChainTotals> = chains.iter().map(|chain| &chain.state().totals).collect();
        let [given, learned] = totals[..] else { return None };
        Some(edges::careful(self, [given, learned], state.evidence_share))
    }

    /// The chains from number `first` on.
    fn chains<'b>(
        &'b self,
        first: usize,
        state: &LinearState,
        paths: &'b SmoothedPaths,
        adequacy: &Adequacy,
    ) -> Vec<Chain<'b>> {
        let chain = |number: usize| {
            let pools = if number == CAREFUL_LAW { &self.careful_pools } else { &self.pools };
            let rules = self.rules(number, adequacy, state.ascent.round);
            Chain::new(pools, self.path_source(number, paths), rules, &state.ascent)
        };
        (first..N_PLAIN + N_CAREFUL).map(chain).collect()
    }

    /// Sweeps of all chains, each chain's own business: threads change nothing.
    fn sweep(
        &self,
        state: &mut LinearState,
        paths: &SmoothedPaths,
        adequacy: &Adequacy,
        follower: &Follower<'_>,
    ) -> LinearEnd {
        state.evidence_share = evidence_share(adequacy);
        let mut chains = self.chains(0, state, paths, adequacy);
        if state.chains.len() == chains.len() {
            chains = (chains.into_iter().zip(state.chains.iter().cloned()))
                .map(|(chain, kept)| chain.with_state(kept))
                .collect();
        }
        while !chains[0].is_done() {
            let fine = chains.par_iter_mut().map(Chain::sweep).collect::<Vec<_>>();
            if fine.iter().any(Option::is_none) {
                state.broken = true;
                return LinearEnd::Done;
            }
            state.chains = chains.iter().map(|chain| chain.state().clone()).collect();
            if self.tell(state, follower).is_break() {
                return LinearEnd::Stopped;
            }
        }
        LinearEnd::Done
    }

    fn rules(&self, number: usize, adequacy: &Adequacy, rounds: u64) -> ChainRules {
        let d = self.grid.n_variables();
        let usual = usual_sweeps(d);
        let sweeps = self.max_steps.map_or(usual, |steps| steps.saturating_sub(rounds));
        ChainRules {
            tempering: if number < N_PLAIN { vec![1.0; d] } else { adequacy.tempering() },
            densities: match number {
                LEARNS_DENSITIES => DensityRule::any_law(),
                _ => DensityRule::Given,
            },
            n_sweeps: sweeps,
            burn_in: usual / 4,
            seed: self.seed,
            number: number as u64,
        }
    }

    /// Plain chains draw paths where something about them is uncertain; careful ones take their moments.
    fn path_source<'b>(&'b self, number: usize, paths: &'b SmoothedPaths) -> PathSource<'b> {
        if number < N_PLAIN && self.draws_paths() {
            PathSource::Drawn { grid: &self.grid, learn_noise: self.learn_noise }
        } else {
            PathSource::Known(&paths.sums)
        }
    }

    /// Whether paths are uncertain enough to be drawn, and can be drawn in reasonable time.
    fn draws_paths(&self) -> bool {
        (self.learn_noise || !self.grid.is_complete()) && self.grid.can_be_drawn()
    }

    fn tell(&self, state: &LinearState, follower: &Follower<'_>) -> ControlFlow<()> {
        let sweeps = state.chains.first().map_or(0, |chain| chain.sweep);
        let number = state.ascent.round + sweeps;
        let usual = MAX_ROUNDS + usual_sweeps(self.grid.n_variables());
        let end = self.max_steps.unwrap_or(usual);
        let running = Running { task: self, state, key: &follower.key };
        let expected_edges = if self.grid.rows().is_all() {
            running.edge_probabilities().iter().sum()
        } else {
            edges::expected(self, state)
        };
        follower.progress.step(&Step {
            part: follower.part,
            number: number - 1,
            end,
            terms: ElboTerms { log_likelihood: state.ascent.bound, ..ElboTerms::default() },
            rate: 1.0,
            expected_edges: Some(expected_edges),
            undone: None,
            extras: &[],
            training: &running,
        })
    }
}

/// How far the law of the settings is believed: the root of the share of the evidence that counts.
fn evidence_share(adequacy: &Adequacy) -> f64 {
    adequacy.mean_tempering().sqrt()
}

/// Who follows a linear fit, and under what its state is kept.
pub struct Follower<'a> {
    /// The part of the whole.
    pub part: Part<'a>,
    /// Whom to tell.
    pub progress: &'a dyn Progress,
    /// Settings that the state depends on.
    pub key: BridgeSettings,
}

/// A linear fit between two steps.
struct Running<'a> {
    task: &'a LinearTask,
    state: &'a LinearState,
    key: &'a BridgeSettings,
}

impl Training for Running<'_> {
    fn edge_probabilities(&self) -> Vec<f64> {
        LinearEdges::new(self.task, self.state).probabilities
    }

    fn edge_scores(&self) -> EdgeScores {
        let edges = LinearEdges::new(self.task, self.state);
        EdgeScores::from_matrix(self.task.n_user, edges.log_odds).expect("log-odds are numbers")
    }

    fn state(&self) -> Checkpoint {
        Checkpoint::new(self.state, self.key)
    }
}

/// What is left of a linear fit when its grids are gone.
#[derive(Debug, Clone)]
pub struct LinearResult {
    /// The last state.
    pub state: LinearState,
    /// What was learned of the edges.
    pub edges: LinearEdges,
    /// What the innovations still contain, variables in the user's order.
    pub adequacy: Adequacy,
    /// By how much variables were pushed.
    pub pushes: Vec<LearnedPush>,
}

/// By how much a variable was pushed, in its own unit per time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnedPush {
    /// What was done to which variable.
    pub amount: Amount,
    /// Mean of the push.
    pub mean: f64,
    /// Its deviation.
    pub deviation: f64,
}

impl LinearFit<'_> {
    /// Whether it ended before its chains had counted as many sweeps as usual.
    pub fn is_cut(&self) -> bool {
        let usual = MAX_ROUNDS.min(self.state.ascent.round);
        let short = |steps: u64| steps < usual + usual_sweeps(self.task.grid.n_variables());
        self.task.max_steps.is_some_and(short)
    }

    /// Keeps what does not depend on the grids.
    pub fn into_result(self) -> LinearResult {
        let (edges, adequacy) = (self.edges(), self.user_adequacy());
        let pushes = self.pushes();
        LinearResult { state: self.state, edges, adequacy, pushes }
    }

    /// By how much variables were pushed, standardised, per the user's unit of time.
    fn pushes(&self) -> Vec<LearnedPush> {
        let grid = &self.task.grid;
        let laws = grid.amounts().iter().zip(&self.state.ascent.effects.amounts);
        let push = |(amount, law): (&Amount, &CutNormal)| {
            let unit = grid.scales()[amount.variable] / grid.layout().time_unit();
            let Moments { mean, variance } = law.moments();
            let variable = self.task.kept[grid.variables()[amount.variable]];
            let amount = Amount { variable, ..*amount };
            LearnedPush { amount, mean: unit * mean, deviation: unit * variance.sqrt() }
        };
        laws.map(push).collect()
    }

    /// Steps so far: rounds of the ascent and sweeps of the chains.
    pub fn n_steps(&self) -> u64 {
        self.state.ascent.round + self.state.chains.first().map_or(0, |chain| chain.sweep)
    }

    /// What was learned of the edges, in the user's order.
    pub fn edges(&self) -> LinearEdges {
        LinearEdges::new(self.task, &self.state)
    }

    /// The adequacy, variables in the user's order; nothing is said of those that were not fitted.
    pub fn user_adequacy(&self) -> Adequacy {
        self.task.user_adequacy(&self.adequacy)
    }
}
