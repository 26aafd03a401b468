//! How far several runs on the same data agree.

use serde::{Deserialize, Serialize};

use super::MetricsView;

/// Runs beside each other, over the pairs of different variables that all of them have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgreementView {
    /// What is compared, in words.
    pub title: String,
    /// Variables that all runs have.
    pub variables: Vec<String>,
    /// Variables that only some have, and that are left out.
    pub left_out: Vec<String>,
    /// The runs.
    pub runs: Vec<ComparedRun>,
    /// How many edges of each run count as its top.
    pub top: usize,
    /// Rank correlations of the edges' scores, by run and run; `None` where all scores of a run are equal.
    pub rank_correlations: Vec<Vec<Option<f64>>>,
    /// Shares of the top edges that two runs have in common, by run and run.
    pub overlaps: Vec<Vec<f64>>,
    /// Edges in the top of more than half of the runs, most agreed on first.
    pub agreed: Vec<AgreedEdge>,
}

/// One run of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// Its name.
    pub name: String,
    /// The method that made it.
    pub method: String,
    /// How long it took.
    pub seconds: f64,
    /// Edges of probability 0.5 or more; `None` where the method only ranks.
    pub found: Option<usize>,
    /// Against known edges, without self edges.
    pub metrics: Option<MetricsView>,
    /// What it did with data that it cannot take as they are, and other remarks.
    #[serde(default)]
    pub remarks: Vec<String>,
}

/// An edge that runs agree on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgreedEdge {
    /// Position of the source among the variables.
    pub source: usize,
    /// Position of the target.
    pub target: usize,
    /// Runs that have it in their top.
    pub n_runs: usize,
    /// Its mean place in the rankings, from 1.
    pub mean_rank: f64,
    /// Whether it is a known edge.
    pub known: Option<bool>,
}
