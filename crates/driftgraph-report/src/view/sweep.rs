//! Graphs averaged over many fits.

use serde::{Deserialize, Serialize};

/// What a sweep came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepView {
    /// What it is, in words.
    pub title: String,
    /// Shards in all.
    pub shards: usize,
    /// Shards that were not there.
    pub missing: usize,
    /// Seeds of methods and samples.
    pub seeds: Vec<u64>,
    /// Bootstrap samples per seed; 0 means the data as they are.
    pub bootstrap: u64,
    /// One per data set and fit.
    pub graphs: Vec<AveragedGraph>,
    /// Why nothing could be learned from single shards, one line each.
    pub problems: Vec<String>,
}

/// The averaged graph of one data set and fit; every matrix is `[source, target]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AveragedGraph {
    /// The data set.
    pub data: String,
    /// The fit.
    pub fit: String,
    /// Names of the variables.
    pub variables: Vec<String>,
    /// Shards that count.
    pub shards: usize,
    /// Shards from whose data nothing could be learned.
    pub unusable: usize,
    /// 1 for the edge that every shard puts first, 0 for the one that every shard puts last.
    pub scores: Vec<f64>,
    /// Mean probabilities, where the method gives such.
    pub probabilities: Option<Vec<f64>>,
    /// Shares of the shards that give an edge more than an even chance.
    pub shares: Option<Vec<f64>>,
    /// Deviations of the probabilities over shards.
    pub deviations: Option<Vec<f64>>,
    /// Mean effects, `NaN` where no shard knows one; `None` where the method gives none.
    pub effects: Option<Vec<f64>>,
}

impl AveragedGraph {
    /// Positions of all pairs, the best supported first.
    pub fn ranked(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.scores.len()).collect();
        order.sort_by(|&a, &b| self.scores[b].total_cmp(&self.scores[a]));
        order
    }

    /// Whether an edge leads from a variable to itself.
    pub fn is_self_loop(&self, idx: usize) -> bool {
        idx / self.variables.len() == idx % self.variables.len()
    }
}
