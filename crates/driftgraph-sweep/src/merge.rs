//! All shards become averaged graphs, tables and one report; the same shards give the same bytes.

mod average;
mod output;

use std::path::{Path, PathBuf};

use crate::error::SweepError;
use crate::folder::Sweep;
use crate::shard::ShardResult;
use average::Average;

/// Missing shards that an error names.
const SHOWN: usize = 5;

/// What a sweep came to.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Merged {
    /// Shards in all.
    pub shards: usize,
    /// Shards that are not there.
    pub missing: usize,
    /// Shards from whose data nothing could be learned.
    pub unusable: usize,
    /// One per data set and fit.
    pub groups: Vec<MergedGroup>,
}

/// The averaged graph of one data set and fit.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct MergedGroup {
    /// The data set.
    pub data: String,
    /// The fit.
    pub fit: String,
    /// Shards that count.
    pub shards: usize,
    /// Shards from whose data nothing could be learned.
    pub unusable: usize,
    /// Σ of the mean probabilities, where the method gives such.
    pub expected_edges: Option<f64>,
    /// Edges that at least half of the shards give more than an even chance, where the method gives probabilities.
    pub kept_edges: Option<usize>,
    /// All pairs, the best supported first.
    pub edges_file: PathBuf,
}

/// One row of the table of shards.
#[derive(Debug, Clone)]
struct Row {
    idx: usize,
    expected_edges: Option<f64>,
    problem: Option<String>,
}

/// Averages all shards of a sweep into a folder; one that lacks shards is refused unless `partial` is set.
pub fn merge(sweep: &Sweep, out: &Path, partial: bool) -> Result<Merged, SweepError> {
    let mut averages = empty_averages(sweep);
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    // In their order: sums of floats depend on it.
    for idx in 0..sweep.n_shards() {
        let place = sweep.place(idx);
        let Some(result) = sweep.result(idx) else {
            missing.push(idx);
            continue;
        };
        averages[place.data * sweep.record.fits.len() + place.fit].add(&result);
        rows.push(Row::new(idx, result));
    }
    if !missing.is_empty() && (!partial || rows.is_empty()) {
        let examples = missing.iter().take(SHOWN).map(|&idx| describe_missing(sweep, idx));
        return Err(SweepError::Incomplete {
            n_missing: missing.len(),
            n_shards: sweep.n_shards(),
            examples: examples.collect(),
        });
    }
    output::write(sweep, out, &averages, &rows, missing.len())
}

fn empty_averages(sweep: &Sweep) -> Vec<Average> {
    let sizes = sweep.record.data.iter().map(|data| data.variables.len());
    sizes.flat_map(|n| sweep.record.fits.iter().map(move |_| Average::new(n))).collect()
}

fn describe_missing(sweep: &Sweep, idx: usize) -> String {
    let damaged = sweep.results().file(sweep.name(idx)).exists();
    format!("{}{}", sweep.describe(idx), if damaged { " (damaged)" } else { "" })
}

impl Row {
    fn new(idx: usize, result: ShardResult) -> Self {
        let expected_edges = result.probabilities.map(|all| all.iter().sum());
        Self { idx, expected_edges, problem: result.problem }
    }
}
