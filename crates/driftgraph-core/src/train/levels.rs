//! Effects within a row and of the row before, learned together from levels: probabilities from chains.

mod follower;
mod process;

use rayon::prelude::*;
use serde::Serialize;

use super::progress::{Part, Progress, StopAlone};
use crate::graph::density::GraphDensity;
use crate::graph::prior::EdgePrior;
use crate::numeric::real::{Real, ln};
use crate::posterior::bridge::layout::default_step_size;
use crate::posterior::level::chain::{
    LevelChain, LevelDraw, LevelRules, LevelState, LevelTotals, OddsTotals, is_heavy,
};
use crate::posterior::level::independence::dependence;
use crate::posterior::level::rows::LevelRows;
use crate::posterior::level::score_matching::LevelLaw;
use crate::posterior::linear::adequacy::{Adequacy, InnovationRows, Neighbours};
use crate::posterior::linear::gibbs::DensityRule;
use crate::posterior::linear::grid::LinearGrid;
use crate::posterior::linear::pools::{BetaLaw, EdgePools};
use crate::{CoreError, SeriesSet, Standardizer};

pub use follower::LevelFollower;
pub(crate) use process::LevelUnits;

/// Chains whose evidence counts in full, which rank with the others.
const N_PLAIN: u64 = 2;
/// Share of the sweeps that is not counted.
const BURN_IN: u64 = 4;
/// Linked pairs, and pairs without a link, that are seen beforehand.
const LINKS: BetaLaw = BetaLaw { alpha: 1.0, beta: 3.0 };

/// Dependence of errors, in shares of variance, from which on their process is taken for curved.
///
/// Imitations of brain imaging (`scripts/brain_imitation.py`), linear with errors that are not normal, have 0.0003 to 0.0008;
/// Lorenz-96 and glycolysis with a gap of 1 have 0.003 to 0.04, and the law of the levels ranks them better.
const INDEPENDENT: f64 = 0.0015;
/// Degree of the law of the levels, and most coefficients that it may have: their number is that of variables, squared.
const LAW_DEGREE: u32 = 3;
const MOST_COEFFICIENTS: usize = 2_000;

/// Sweeps between two draws of the same chain that are kept as processes.
const BETWEEN_DRAWS: u64 = 20;

/// How levels are fitted.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct LevelSettings {
    /// Sweeps of each chain.
    pub n_sweeps: u64,
    /// Seed of all draws.
    pub seed: u64,
    /// Processes that are kept as they were drawn.
    pub n_draws: usize,
}

/// What was found, matrices `[source, target]` in the user's order of variables.
#[derive(Debug, Clone)]
pub struct LevelFit {
    /// Of the row before.
    pub lagged: LevelOdds,
    /// Within a row, either way: the same for both orders of a pair.
    pub links: LevelOdds,
    /// Scores of any influence, which rank edges.
    pub ranks: Vec<f64>,
    /// What the errors still contain.
    pub adequacy: Adequacy,
    /// Rows used, and how many of them know the row before.
    pub n_rows: usize,
    /// Rows whose past is known: the row before, one usual gap away.
    pub n_with_past: usize,
}

/// Log-odds that rank, and probabilities that can be believed.
#[derive(Debug, Clone)]
pub struct LevelOdds {
    /// Of the mean probability over all chains.
    pub log_odds: Vec<f64>,
    /// From chains whose evidence counts as far as the model is adequate.
    pub probabilities: Vec<f64>,
}

/// What chains of levels work with, laid out once.
#[derive(Debug)]
pub struct LevelTask {
    rows: LevelRows,
    usual: EdgePools,
    careful: EdgePools,
    /// The user's number of each variable.
    order: Vec<usize>,
    n_user: usize,
    settings: LevelSettings,
    /// Most of the evidence that careful chains may count.
    most_evidence: f64,
    /// Steps after which the chains are cut off.
    most_steps: u64,
}

/// Everything that changes: chains whose evidence counts in full, then careful ones.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LevelRun {
    plain: Vec<LevelState>,
    careful: Vec<LevelState>,
    /// Processes as the plain chains have drawn them, the last ones last.
    draws: Vec<LevelDraw>,
}

impl LevelRun {
    /// Sweeps of all chains together, one after the other.
    pub fn n_steps(&self) -> u64 {
        [&self.plain, &self.careful].iter().filter_map(|of| of.first()).map(LevelState::sweep).sum()
    }
}

/// Why chains of levels ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelEnd {
    /// All sweeps are done.
    Done,
    /// The follower asked for it.
    Stopped,
    /// Effects within a row have no solution.
    Broken,
}

/// Which chains are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelExtent {
    /// The first plain one: enough to predict.
    Process,
    /// All.
    Edges,
}

/// Runs the chains; `None` if it is to stop, or effects have no solution. The same bits on any number of threads.
pub fn fit_levels(
    data: &SeriesSet,
    knowledge: &EdgePrior,
    settings: LevelSettings,
    progress: &dyn Progress,
) -> Result<Option<LevelFit>, CoreError> {
    let task = LevelTask::new(data, knowledge, settings)?;
    let mut run = LevelRun::default();
    let progress = &StopAlone(progress);
    let follower = LevelFollower { part: Part::WHOLE, progress, key: &settings };
    let end = task.sweep(&mut run, LevelExtent::Edges, &follower);
    Ok(if end == LevelEnd::Done { task.found(&run) } else { None })
}

impl LevelTask {
    /// Lays out the rows of the variables that may have edges; `knowledge` is in the user's order of variables.
    pub fn new(
        data: &SeriesSet,
        knowledge: &EdgePrior,
        settings: LevelSettings,
    ) -> Result<Self, CoreError> {
        let kept = knowledge.variables_with_edges();
        let chosen = if kept.is_empty() { (0..data.n_variables()).collect() } else { kept };
        let own = data.with_variables(&chosen)?;
        let standard = Standardizer::fit(&own).apply(&own);
        let grid = LinearGrid::new(&standard, default_step_size(&own)?, &vec![1.0; chosen.len()])?;
        let rows = LevelRows::new(&own, &grid);
        let order: Vec<usize> = grid.variables().iter().map(|&idx| chosen[idx]).collect();
        let usual = EdgePools::new(GraphDensity::default(), &knowledge.reordered(&order));
        let careful = usual.with_law(DensityRule::careful_law(order.len()));
        let n_user = data.n_variables();
        Ok(Self {
            rows,
            usual,
            careful,
            order,
            n_user,
            settings,
            most_evidence: 1.0,
            most_steps: u64::MAX,
        })
    }

    /// The same with at most this share of the evidence for what is to be believed.
    #[must_use]
    pub(crate) fn with_most_evidence(self, share: f64) -> Self {
        Self { most_evidence: share.min(1.0), ..self }
    }

    /// The same with at most so many steps.
    #[must_use]
    pub(crate) fn with_most_steps(self, most_steps: u64) -> Self {
        Self { most_steps, ..self }
    }

    /// Log-odds of any effect of one variable on another, of the row before or within a row, as far as the chains have
    /// come: `[source, target]` in the user's order.
    fn odds_so_far(&self, run: &LevelRun) -> Vec<f64> {
        let (d, n) = (self.order.len(), self.n_user);
        let states = run.plain.iter().chain(&run.careful).map(LevelState::totals);
        let totals: Vec<&LevelTotals> = states.filter(|totals| totals.n > 0.0).collect();
        let mut odds = vec![f64::NEG_INFINITY; n * n];
        for at in 0..d * d {
            let idx = self.order[at / d] * n + self.order[at % d];
            let mean = |of: fn(&LevelTotals) -> &OddsTotals| {
                let share = |totals: &&LevelTotals| of(totals).probabilities[at] / totals.n;
                totals.iter().map(share).sum::<f64>() / totals.len().max(1) as f64
            };
            let none = (1.0 - mean(|totals| &totals.lagged)) * (1.0 - mean(|totals| &totals.links));
            odds[idx] = ln((1.0 - none) / none);
        }
        odds
    }

    fn chain(&self, number: u64, tempering: f64) -> LevelChain<'_> {
        let is_careful = number == N_PLAIN;
        let rules = LevelRules {
            tempering,
            n_sweeps: self.settings.n_sweeps,
            burn_in: self.settings.n_sweeps / BURN_IN,
            links: if is_careful { DensityRule::careful_law(self.order.len()) } else { LINKS },
            seed: self.settings.seed,
            number,
        };
        LevelChain::new(&self.rows, if is_careful { &self.careful } else { &self.usual }, rules)
    }

    /// Sweeps from the start or from where a run was left, and tells a follower after each.
    pub fn sweep<Key: Serialize + Sync>(
        &self,
        run: &mut LevelRun,
        extent: LevelExtent,
        follower: &LevelFollower<'_, Key>,
    ) -> LevelEnd {
        let n_plain = if extent == LevelExtent::Process { 1 } else { N_PLAIN };
        let chains = (0..n_plain).map(|number| self.chain(number, 1.0)).collect();
        let mut plain = taken_up(chains, &run.plain);
        while !plain[0].is_done() && run.n_steps() < self.most_steps {
            if plain.par_iter_mut().map(LevelChain::sweep).collect::<Vec<_>>().contains(&None) {
                return LevelEnd::Broken;
            }
            run.plain = plain.iter().map(LevelChain::state).collect();
            self.keep_draws(run, &plain);
            if follower.hears(self, run, extent).is_break() {
                return LevelEnd::Stopped;
            }
        }
        if extent == LevelExtent::Process || !plain[0].is_done() {
            return LevelEnd::Done;
        }
        let tempering = self.tempering(&adequacy_of(&self.rows, &plain[0]));
        let chains = (N_PLAIN..N_PLAIN + 2).map(|number| self.chain(number, tempering)).collect();
        let mut careful = taken_up(chains, &run.careful);
        while !careful[0].is_done() && run.n_steps() < self.most_steps {
            if careful.par_iter_mut().map(LevelChain::sweep).collect::<Vec<_>>().contains(&None) {
                return LevelEnd::Broken;
            }
            run.careful = careful.iter().map(LevelChain::state).collect();
            if follower.hears(self, run, extent).is_break() {
                return LevelEnd::Stopped;
            }
        }
        LevelEnd::Done
    }

    /// The share of the evidence that counts.
    fn tempering(&self, adequacy: &Adequacy) -> f64 {
        adequacy.mean_tempering().min(self.most_evidence)
    }

    /// Keeps the processes drawn now, if it is one of the last times for it.
    fn keep_draws(&self, run: &mut LevelRun, plain: &[LevelChain<'_>]) {
        let left = self.settings.n_sweeps - run.plain[0].sweep();
        let n_times = self.settings.n_draws.div_ceil(plain.len()) as u64;
        if left.is_multiple_of(BETWEEN_DRAWS) && left / BETWEEN_DRAWS < n_times {
            run.draws.extend(plain.iter().map(LevelChain::draw));
        }
    }

    /// What the chains say of the edges; `None` before any has counted something.
    pub fn found(&self, run: &LevelRun) -> Option<LevelFit> {
        let states = run.plain.iter().chain(&run.careful).map(LevelState::totals);
        let all: Vec<&LevelTotals> = states.filter(|totals| totals.n > 0.0).collect();
        if all.is_empty() {
            return None;
        }
        let first = self.chain(0, 1.0).with_state(run.plain[0].clone());
        let adequacy = adequacy_of(&self.rows, &first);
        let (share, order) = (self.tempering(&adequacy).sqrt(), &self.order[..]);
        let summary = Summary { totals: all, share, order, d: order.len() };
        let lagged = summary.odds(|totals| &totals.lagged, self.n_user);
        let links = summary.odds(|totals| &totals.links, self.n_user);
        let pairs = self.ranked_pairs(&first);
        let ranks = Ranking { lagged: &lagged.log_odds, links: &links.log_odds, pairs };
        Some(LevelFit {
            ranks: ranks.scores(),
            lagged,
            links,
            adequacy: self.to_user(&adequacy),
            n_rows: self.rows.n_rows(),
            n_with_past: self.rows.n_with_past(),
        })
    }

    /// What ranks links beside the chains where errors depend on each other: log-odds of each pair of variables, by the law of
    /// the levels; `None` where errors are as independent as the chains suppose.
    fn ranked_pairs(&self, chain: &LevelChain<'_>) -> Option<Vec<f64>> {
        let d = self.order.len();
        if dependence(&chain.errors(), d) < INDEPENDENT {
            return None;
        }
        let n_rows = self.rows.n_rows();
        let mut log_odds = vec![f64::NEG_INFINITY; self.n_user * self.n_user];
        if LevelLaw::n_coefficients(d, LAW_DEGREE) > n_rows.min(MOST_COEFFICIENTS) {
            return Some(log_odds);
        }
        let levels: Vec<f64> = (0..n_rows).flat_map(|row| chain.level(row).to_vec()).collect();
        if let Some(law) = LevelLaw::fit(&levels, d, LAW_DEGREE) {
            // As Schwarz's criterion weighs them: the law has three coefficients of exactly two variables.
            let against = 1.5 * ln(n_rows as f64);
            for (at, wald) in law.wald_matrix(d).into_iter().enumerate() {
                let idx = self.order[at / d] * self.n_user + self.order[at % d];
                log_odds[idx] = 0.5 * wald - against;
            }
        }
        Some(log_odds)
    }

    /// Of the user's variables; nothing is said of those that were not fitted.
    fn to_user(&self, own: &Adequacy) -> Adequacy {
        let mut all = Adequacy { n_rows: own.n_rows, ..Adequacy::unknown(self.n_user) };
        for (idx, &user) in self.order.iter().enumerate() {
            (all.shares[user], all.clustering[user]) = (own.shares[idx], own.clustering[idx]);
        }
        all
    }
}

/// Chains as they were left, where they were kept.
fn taken_up<'a>(chains: Vec<LevelChain<'a>>, kept: &[LevelState]) -> Vec<LevelChain<'a>> {
    if kept.len() != chains.len() {
        return chains;
    }
    (chains.into_iter().zip(kept)).map(|(chain, kept)| chain.with_state(kept.clone())).collect()
}

/// Bytes that the chains of a fit need at once: two that run, and all as they were left.
pub(crate) fn level_bytes(n_variables: usize, n_rows: usize) -> usize {
    let pairs = n_variables * n_variables;
    // Sums of odds and effects; levels with their past and errors; products for each target where rows have weights.
    let left = 8 * 14 * pairs;
    let squares = 4 * pairs * if is_heavy(n_rows, n_variables) { n_variables } else { 1 };
    let running = 8 * (left / 8 + 9 * n_rows * n_variables + squares + 4 * pairs);
    2 * running + 4 * left
}

/// The gap that most rows have before them, nearly; `None` where there are no gaps.
pub(crate) fn usual_gap(data: &SeriesSet) -> Option<f64> {
    let standard = Standardizer::fit(data).apply(data);
    let ones = vec![1.0; data.n_variables()];
    let grid = LinearGrid::new(&standard, default_step_size(data).ok()?, &ones).ok()?;
    LevelRows::new(data, &grid).usual_gap()
}

/// What the errors of the effects drawn last still contain.
fn adequacy_of(rows: &LevelRows, chain: &LevelChain<'_>) -> Adequacy {
    let (d, errors) = (rows.n_variables(), chain.errors());
    let error = |row: usize| &errors[row * d..(row + 1) * d];
    let mut found = InnovationRows::new(d, rows.n_series());
    for row in 0..rows.n_rows() {
        let Some(before) = rows.before(row) else { continue };
        let Some(earlier) = rows.before(before) else { continue };
        found.add(
            rows.place(row),
            Neighbours {
                state: chain.level(before),
                error: error(row),
                earlier_state: chain.level(earlier),
                earlier_error: error(before),
            },
        );
    }
    Adequacy::of_rows(&found)
}

/// What ranks edges of any kind, matrices `[source, target]`.
///
/// A link ranks the same both ways: which way it goes is read from errors that are not normal, and chains can be wrong
/// about it together. Where the square of one error tells of another, the process is curved and its linear form misses
/// pairs: then what the law of the levels says of a pair counts too, which knows curved dependence.
struct Ranking<'a> {
    lagged: &'a [f64],
    links: &'a [f64],
    /// Log-odds of the pair by the law of the levels, where errors depend on each other.
    pairs: Option<Vec<f64>>,
}

impl Ranking<'_> {
    fn scores(&self) -> Vec<f64> {
        let pair = |idx: usize| match &self.pairs {
            // What was forbidden both ways stays so.
            Some(pairs) if self.links[idx] > f64::NEG_INFINITY => pairs[idx].softplus(),
            _ => 0.0,
        };
        let score =
            |idx: usize| self.lagged[idx].softplus() + self.links[idx].softplus() + pair(idx);
        (0..self.lagged.len()).map(score).collect()
    }
}

/// All chains: two plain ones, the one with a careful law of densities, and the one with the usual law; the careful ones are missing from a run
/// that was cut.
struct Summary<'a> {
    totals: Vec<&'a LevelTotals>,
    /// How far the usual law is believed: the root of the share of the evidence that counts.
    share: f64,
    order: &'a [usize],
    d: usize,
}

impl Summary<'_> {
    fn odds(&self, of: impl Fn(&LevelTotals) -> &OddsTotals, n: usize) -> LevelOdds {
        let mut odds =
            LevelOdds { log_odds: vec![f64::NEG_INFINITY; n * n], probabilities: vec![0.0; n * n] };
        for at in 0..self.d * self.d {
            let mean = |part: fn(&OddsTotals) -> &Vec<f64>, chains: &[&LevelTotals]| {
                let sum: f64 = chains.iter().map(|totals| part(of(totals))[at] / totals.n).sum();
                sum / chains.len() as f64
            };
            let all = &self.totals[..];
            let (present, absent) =
                (mean(|odds| &odds.probabilities, all), mean(|odds| &odds.absences, all));
            let probability =
                |chain: usize| mean(|odds| &odds.probabilities, &self.totals[chain..=chain]);
            let first_tempered = N_PLAIN as usize;
            let idx = self.order[at / self.d] * n + self.order[at % self.d];
            // Where a probability rounds to 0 or 1 in every digit, the mean log-odds are beyond it.
            odds.log_odds[idx] = if present.min(absent) > f64::MIN_POSITIVE {
                ln(present / absent)
            } else {
                mean(|odds| &odds.log_odds, all)
            };
            odds.probabilities[idx] = if all.len() > first_tempered {
                (1.0 - self.share) * probability(first_tempered)
                    + self.share * probability(first_tempered + 1)
            } else {
                present
            };
        }
        odds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_of_the_levels_counts_where_errors_depend_on_each_other_and_nothing_is_forbidden() {
        let lagged = [-4.0, 1.0];
        let scores =
            |links: [f64; 2], pairs| Ranking { lagged: &lagged, links: &links, pairs }.scores();
        let linear = scores([9.0, 2.0], None);
        let curved = scores([9.0, 2.0], Some(vec![3.0, 5.0]));
        for (idx, more) in [3.0f64, 5.0].into_iter().enumerate() {
            assert!((curved[idx] - linear[idx] - more.softplus()).abs() < 1e-12, "{curved:?}");
        }
        let forbidden = scores([f64::NEG_INFINITY, 2.0], Some(vec![3.0, 5.0]));
        assert_eq!(forbidden[0], lagged[0].softplus());
    }
}
