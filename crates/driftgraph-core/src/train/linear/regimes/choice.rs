//! How many regimes there are: as many as predict what was held back clearly better than fewer.

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
    for n_regimes in 2..=MOST {
        let d = known.grid.n_variables();
        if known.steps.len() < n_regimes * (d + 2) {
            break;
        }
        let found = held_out(known, &blocks, n_regimes, seed)?;
        let gains: Vec<f64> = found.iter().zip(&best).map(|(own, other)| own - other).collect();
        let n = gains.len() as f64;
        let gain = gains.iter().sum::<f64>() / n;
        let squares: f64 = gains.iter().map(|one| (one - gain).powi(2)).sum();
        let standard_error = (squares / (n - 1.0) / n).sqrt();
        let is_clear = gain > CLEAR * standard_error;
        let n_blocks = blocks.len();
        choice.trials.push(Trial { n_regimes, gain, standard_error, n_blocks, is_clear });
        if !is_clear {
            break;
        }
        choice.chosen = n_regimes;
        best = found;
    }
    Some(choice)
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
        let mut counts = vec![true; known.steps.len()];
        let own = || blocks.iter().enumerate().filter(move |(at, _)| at % FOLDS == fold);
        for (_, block) in own() {
            counts[block.first..block.first + block.n].fill(false);
        }
        let regimes = known.best_start(k, &counts, seed)?;
        let logs = known.steps.log_densities(known.grid, known.paths, &regimes.dynamics);
        let without = density(&regimes, known, &logs, &counts);
        for (at, block) in own() {
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
