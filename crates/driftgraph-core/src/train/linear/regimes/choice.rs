//! How many regimes there are: as many as predict what was held back clearly better than fewer, and than one process that
//! is not linear or not normal.

use crate::posterior::linear::regimes::one_process::{SingleKind, step_densities};
use crate::posterior::linear::regimes::start::{KnownPaths, Regimes};

/// Most regimes that are tried.
const MOST: usize = 4;
/// Blocks of time that are held back, one after the other, in so many groups.
const BLOCKS: usize = 20;
const FOLDS: usize = 5;
/// Least steps of a block.
const LEAST_BLOCK: usize = 2;
/// Standard errors by which more regimes must be better.
const CLEAR: f64 = 2.0;

/// How many regimes were chosen, and what was tried.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Choice {
    /// The number.
    pub chosen: usize,
    /// What more regimes gained, one after the other.
    pub trials: Vec<Trial>,
}

/// More regimes than the best so far, on held-out blocks of time.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Trial {
    /// Number of regimes.
    pub n_regimes: usize,
    /// Mean gain of log density per block, in nats.
    pub gain: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Number of blocks.
    pub n_blocks: usize,
    /// Whether it is clear.
    pub is_clear: bool,
    /// The single process that they are least ahead of.
    pub over_single: Option<OverSingle>,
}

impl Trial {
    /// Whether they are clearly better than fewer, whatever single processes come to.
    pub fn is_clear_of_fewer(&self) -> bool {
        self.gain > CLEAR * self.standard_error
    }
}

/// Regimes against one process for all time, on held-out blocks of time.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OverSingle {
    /// What the process has beside linear effects.
    pub kind: SingleKind,
    /// Mean gain of log density of the regimes per block, in nats.
    pub gain: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Whether it is clear.
    pub is_clear: bool,
}

/// A mean over blocks with its standard error.
struct Gain {
    mean: f64,
    standard_error: f64,
}

impl Gain {
    fn new(found: &[f64], other: &[f64]) -> Self {
        let gains: Vec<f64> = found.iter().zip(other).map(|(own, other)| own - other).collect();
        let n = gains.len() as f64;
        let mean = gains.iter().sum::<f64>() / n;
        let squares: f64 = gains.iter().map(|one| (one - mean).powi(2)).sum();
        Self { mean, standard_error: (squares / (n - 1.0) / n).sqrt() }
    }

    fn is_clear(&self) -> bool {
        self.mean > CLEAR * self.standard_error
    }
}

/// Steps of one series that are held back together.
struct Block {
    first: usize,
    n: usize,
}

/// Adds regimes as long as they are clearly better; `None` where nothing can be computed.
pub(super) fn choose(known: &KnownPaths<'_>, seed: u64) -> Option<Choice> {
    let blocks = blocks(known);
    let mut choice = Choice { chosen: 1, trials: Vec::new() };
    // Too few blocks say nothing of how sure a gain is.
    if blocks.len() < FOLDS {
        return Some(choice);
    }
    let mut best = held_out(known, &blocks, 1, seed)?;
    let singles = singles(known, &blocks);
    for n_regimes in 2..=MOST {
        let d = known.grid.n_variables();
        if known.steps.len() < n_regimes * (d + 2) {
            break;
        }
        let found = held_out(known, &blocks, n_regimes, seed)?;
        let gain = Gain::new(&found, &best);
        let over_single = over_single(&found, &singles);
        let is_clear = gain.is_clear() && over_single.is_none_or(|over| over.is_clear);
        choice.trials.push(Trial {
            n_regimes,
            gain: gain.mean,
            standard_error: gain.standard_error,
            n_blocks: blocks.len(),
            is_clear,
            over_single,
        });
        if !is_clear {
            break;
        }
        choice.chosen = n_regimes;
        best = found;
    }
    Some(choice)
}

/// So many regimes against single processes; `None` where there are too few blocks.
pub(super) fn against_single(known: &KnownPaths<'_>, k: usize, seed: u64) -> Option<OverSingle> {
    let blocks = blocks(known);
    if blocks.len() < FOLDS {
        return None;
    }
    over_single(&held_out(known, &blocks, k, seed)?, &singles(known, &blocks))
}

/// Log density of each block under every single process that there is room for, given all steps but those of its group.
fn singles(known: &KnownPaths<'_>, blocks: &[Block]) -> Vec<(SingleKind, Vec<f64>)> {
    let of_kind = |kind: SingleKind| {
        let mut out = vec![0.0; blocks.len()];
        for fold in 0..FOLDS {
            let counts = without_fold(known, blocks, fold);
            let logs = step_densities(known, kind, &counts)?;
            for (at, block) in of_fold(blocks, fold) {
                out[at] = logs[block.first..block.first + block.n].iter().sum();
            }
        }
        Some((kind, out))
    };
    SingleKind::ALL.into_iter().filter_map(of_kind).collect()
}

/// The single process that regimes are least ahead of.
fn over_single(found: &[f64], singles: &[(SingleKind, Vec<f64>)]) -> Option<OverSingle> {
    let against = |(kind, other): &(SingleKind, Vec<f64>)| {
        let gain = Gain::new(found, other);
        let is_clear = gain.is_clear();
        OverSingle { kind: *kind, gain: gain.mean, standard_error: gain.standard_error, is_clear }
    };
    singles.iter().map(against).min_by(|a, b| a.gain.total_cmp(&b.gain))
}

fn of_fold(blocks: &[Block], fold: usize) -> impl Iterator<Item = (usize, &Block)> {
    blocks.iter().enumerate().filter(move |(at, _)| at % FOLDS == fold)
}

/// Which steps count where the blocks of a group are held back.
fn without_fold(known: &KnownPaths<'_>, blocks: &[Block], fold: usize) -> Vec<bool> {
    let mut counts = vec![true; known.steps.len()];
    for (_, block) in of_fold(blocks, fold) {
        counts[block.first..block.first + block.n].fill(false);
    }
    counts
}

/// Every series in blocks alike, about [`BLOCKS`] of all together.
fn blocks(known: &KnownPaths<'_>) -> Vec<Block> {
    let per_series = BLOCKS.div_ceil(known.steps.series.len().max(1));
    let mut all = Vec::new();
    for series in &known.steps.series {
        let length = series.n.div_ceil(per_series).max(LEAST_BLOCK);
        for first in (0..series.n).step_by(length) {
            all.push(Block { first: series.first + first, n: length.min(series.n - first) });
        }
    }
    all
}

/// Log density of each block given all steps but those of its group.
fn held_out(known: &KnownPaths<'_>, blocks: &[Block], k: usize, seed: u64) -> Option<Vec<f64>> {
    let mut out = vec![0.0; blocks.len()];
    for fold in 0..FOLDS {
        let mut counts = without_fold(known, blocks, fold);
        let regimes = known.best_start(k, &counts, seed)?;
        let logs = known.steps.log_densities(known.grid, known.paths, &regimes.dynamics);
        let without = density(&regimes, known, &logs, &counts);
        for (at, block) in of_fold(blocks, fold) {
            let range = block.first..block.first + block.n;
            counts[range.clone()].fill(true);
            out[at] = density(&regimes, known, &logs, &counts) - without;
            counts[range].fill(false);
        }
    }
    Some(out)
}

fn density(regimes: &Regimes, known: &KnownPaths<'_>, logs: &[f64], counts: &[bool]) -> f64 {
    regimes.log_density_of(known.steps, logs, counts)
}
