//! Where to begin with hidden regimes: expectation and maximisation from several first guesses.
//!
//! Effects are those of a ridge regression here; which of them are there at all is for the chains to say.

use rayon::prelude::*;

use super::hidden::Switching;
use super::steps::Steps;
use crate::numeric::linalg::{cholesky, solve_lower, solve_upper};
use crate::posterior::linear::ascent::{MIN_VARIANCE, OFFSET_PRECISION};
use crate::posterior::linear::dynamics::LinearDynamics;
use crate::posterior::linear::grid::LinearGrid;
use crate::posterior::linear::sums::StepSums;
use crate::random::{Purpose, RandomStream};

/// Mean time in a regime while nothing is learned of it, in mean steps.
const STAY: f64 = 50.0;
/// Precision of effects in innovations' units: as of a slab of a third.
const RIDGE: f64 = 9.0;
/// Rounds of expectation and maximisation.
const ROUNDS: usize = 40;
/// Change of the log density that counts as none.
const TOLERANCE: f64 = 1e-4;
/// First guesses beside equal blocks of time.
const GUESSES: u64 = 10;
/// Penalties of an offset and of an effect.
pub(super) const OFFSET_AND_RIDGE: [f64; 2] = [OFFSET_PRECISION, RIDGE];
/// A variance is as if this many steps of variance 1 had been seen before: a regime of few steps is no spike.
pub(super) const PRIOR_STEPS: f64 = 2.0;

/// Paths with the steps that are known of them.
#[derive(Clone, Copy)]
pub struct KnownPaths<'a> {
    /// The grid.
    pub grid: &'a LinearGrid,
    /// Its steps.
    pub steps: &'a Steps,
    /// Paths, `[point, variable]`.
    pub paths: &'a [f64],
    /// Whether to go on looking for regimes.
    pub goes_on: &'a (dyn Fn() -> bool + Sync),
}

/// Regimes as expectation and maximisation leave them.
#[derive(Debug, Clone, PartialEq)]
pub struct Regimes {
    /// Effects and innovations of each regime.
    pub dynamics: Vec<LinearDynamics>,
    /// How they follow each other.
    pub switching: Switching,
    /// Probabilities, `[step, regime]`.
    pub probabilities: Vec<f64>,
    /// Log density of the steps that count, regimes summed out.
    pub log_density: f64,
    /// The same less what the effects cost.
    pub evidence: f64,
}

impl KnownPaths<'_> {
    /// The best of several starts with K regimes; `counts` says which steps may be looked at. `None` where nothing can be
    /// computed, or it is not to go on.
    pub fn best_start(&self, k: usize, counts: &[bool], seed: u64) -> Option<Regimes> {
        let n_guesses = if k == 1 { 1 } else { 1 + GUESSES };
        let found: Vec<Option<Regimes>> = (0..n_guesses)
            .into_par_iter()
            .map(|guess| {
                let mut random = RandomStream::new(seed, Purpose::Resampling, 1 << 40 | guess);
                let labels = self.guess(k, guess, &mut random);
                self.climb(k, counts, &labels)
            })
            .collect();
        if !(self.goes_on)() {
            return None;
        }
        let mut best: Option<Regimes> = None;
        for one in found.into_iter().flatten() {
            if best.as_ref().is_none_or(|best| one.evidence > best.evidence) {
                best = Some(one);
            }
        }
        best
    }

    /// First labels: equal blocks of time in every series, else blocks of random lengths with random labels.
    fn guess(&self, k: usize, guess: u64, random: &mut RandomStream) -> Vec<u8> {
        let mut labels = vec![0; self.steps.len()];
        for series in &self.steps.series {
            let block = match guess {
                0 => series.n.div_ceil(k).max(1),
                odd if odd % 2 == 1 => series.n.div_ceil(2 * k).max(1),
                _ => series.n.div_ceil(5 * k).max(4),
            };
            let mut label = random.below(k);
            for step in 0..series.n {
                if step % block == 0 {
                    label = if guess == 0 { step / block } else { random.below(k) };
                }
                labels[series.first + step] = label.min(k - 1) as u8;
            }
        }
        labels
    }

    fn climb(&self, k: usize, counts: &[bool], labels: &[u8]) -> Option<Regimes> {
        let mut probabilities = vec![0.0; self.steps.len() * k];
        for (at, &label) in labels.iter().enumerate() {
            // Not quite sure, so that every regime sees something.
            for regime in 0..k {
                let own = regime == usize::from(label);
                probabilities[at * k + regime] =
                    if own { 0.9 } else { 0.1 / (k as f64 - 1.0).max(1.0) };
            }
        }
        if k == 1 {
            probabilities.fill(1.0);
        }
        let switching = Switching { stay: STAY, first: vec![1.0 / k as f64; k] };
        let mut last = f64::NEG_INFINITY;
        let mut found = None;
        for _ in 0..ROUNDS {
            if !(self.goes_on)() {
                return None;
            }
            let regimes = self.round(k, counts, &probabilities, &switching)?;
            probabilities.copy_from_slice(&regimes.probabilities);
            let done = (regimes.evidence - last).abs() < TOLERANCE;
            last = regimes.evidence;
            found = Some(regimes);
            if done || k == 1 {
                break;
            }
        }
        found
    }

    /// Effects given probabilities, then probabilities given effects.
    fn round(
        &self,
        k: usize,
        counts: &[bool],
        probabilities: &[f64],
        switching: &Switching,
    ) -> Option<Regimes> {
        let weights: Vec<f64> = (probabilities.iter().enumerate())
            .map(|(at, p)| if counts[at / k] { *p } else { 0.0 })
            .collect();
        let fits: Vec<RidgeFit> = (self.steps.sums(self.grid, self.paths, &weights, k).iter())
            .map(ridge)
            .collect::<Option<_>>()?;
        let cost: f64 = fits.iter().map(|fit| fit.cost).sum();
        let dynamics: Vec<LinearDynamics> = fits.into_iter().map(|fit| fit.dynamics).collect();
        let mut regimes = Regimes {
            dynamics,
            switching: switching.clone(),
            probabilities: Vec::new(),
            log_density: 0.0,
            evidence: 0.0,
        };
        let logs = self.steps.log_densities(self.grid, self.paths, &regimes.dynamics);
        regimes.log_density = regimes.log_density_of(self.steps, &logs, counts);
        regimes.probabilities = regimes.smoothed(self.steps, &logs, counts);
        regimes.evidence = regimes.log_density - cost;
        Some(regimes)
    }
}

impl Regimes {
    /// Log density of the steps that count, given their logs under each regime.
    pub fn log_density_of(&self, steps: &Steps, logs: &[f64], counts: &[bool]) -> f64 {
        let k = self.switching.n_regimes();
        let logs = masked(logs, counts, k);
        (steps.series.iter())
            .map(|series| {
                let own = &logs[series.first * k..(series.first + series.n) * k];
                self.switching.forward(own, steps.lengths_of(series)).log_density
            })
            .sum()
    }

    /// Probabilities of the regimes of all steps, given those that count.
    fn smoothed(&self, steps: &Steps, logs: &[f64], counts: &[bool]) -> Vec<f64> {
        smoothed(&self.switching, steps, &masked(logs, counts, self.switching.n_regimes()))
    }

    /// The most probable regime of each step.
    pub fn labels(&self) -> Vec<u8> {
        most_probable(&self.probabilities, self.switching.n_regimes())
    }
}

/// Probabilities of the regimes of all steps, `[step, regime]`, from log densities.
pub fn smoothed(switching: &Switching, steps: &Steps, logs: &[f64]) -> Vec<f64> {
    let k = switching.n_regimes();
    let mut out = Vec::with_capacity(logs.len());
    for series in &steps.series {
        let own = &logs[series.first * k..(series.first + series.n) * k];
        let lengths = steps.lengths_of(series);
        out.extend(switching.smooth(&switching.forward(own, lengths), lengths));
    }
    out
}

/// The most probable of K regimes at each step; the first of equal ones.
pub fn most_probable(probabilities: &[f64], k: usize) -> Vec<u8> {
    let best = |row: &[f64]| {
        let mut best = 0;
        for (regime, p) in row.iter().enumerate() {
            if *p > row[best] {
                best = regime;
            }
        }
        best as u8
    };
    probabilities.chunks_exact(k).map(best).collect()
}

/// Log densities with those that do not count left out.
fn masked(logs: &[f64], counts: &[bool], k: usize) -> Vec<f64> {
    logs.iter().enumerate().map(|(at, log)| if counts[at / k] { *log } else { 0.0 }).collect()
}

/// A regression of all targets on all sources.
struct RidgeFit {
    dynamics: LinearDynamics,
    /// Log density of the effects under their prior, with the sign turned.
    cost: f64,
}

/// Effects of one regime from the sums of its steps, shrunk.
fn ridge(sums: &StepSums) -> Option<RidgeFit> {
    let (d, m) = (sums.n_variables(), sums.n_variables() + 1);
    let factor_of = |mut matrix: Vec<f64>| {
        for idx in 0..d {
            matrix[idx * (m + 1)] += RIDGE;
        }
        matrix[m * m - 1] += OFFSET_PRECISION;
        cholesky(&matrix, m)
    };
    let shared = factor_of(sums.products.clone())?;
    let (mut effects, mut variances, mut cost) = (Vec::with_capacity(d * m), Vec::new(), 0.0);
    for target in 0..d {
        let own = match sums.own_products(target) {
            Some(products) => Some(factor_of(products.to_vec())?),
            None => None,
        };
        let factor = own.as_ref().unwrap_or(&shared);
        let responses = &sums.responses[target * m..(target + 1) * m];
        let mut row = responses.to_vec();
        solve_lower(factor, m, &mut row, 1);
        solve_upper(factor, m, &mut row, 1);
        let explained: f64 = row.iter().zip(responses).map(|(effect, sum)| effect * sum).sum();
        let square = (sums.squares[target] - explained).max(0.0);
        let variance =
            ((square + PRIOR_STEPS) / (sums.n_steps[target] + PRIOR_STEPS)).max(MIN_VARIANCE);
        let squares: f64 = row[..d].iter().map(|effect| effect * effect).sum();
        cost += 0.5 * (RIDGE * squares + PRIOR_STEPS) / variance
            + 0.5 * PRIOR_STEPS * crate::numeric::real::ln(variance);
        effects.extend(row);
        variances.push(variance);
    }
    let dynamics = LinearDynamics {
        effects,
        amounts: Vec::new(),
        variances,
        noise: vec![MIN_VARIANCE; d],
        initial_means: vec![0.0; d],
        initial_variances: vec![1.0; d],
    };
    Some(RidgeFit { dynamics, cost })
}

/// Effects of regimes that are known, shrunk: where chains begin.
pub fn known_start(known: &KnownPaths<'_>, labels: &[u8], k: usize) -> Option<Vec<LinearDynamics>> {
    let mut weights = vec![0.0; labels.len() * k];
    labels.iter().enumerate().for_each(|(at, &label)| weights[at * k + usize::from(label)] = 1.0);
    let sums = known.steps.sums(known.grid, known.paths, &weights, k);
    sums.iter().map(|sums| ridge(sums).map(|fit| fit.dynamics)).collect()
}
