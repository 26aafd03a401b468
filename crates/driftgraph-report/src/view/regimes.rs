//! Regimes or conditions of a run: which holds when, and what differs between them.

use serde::{Deserialize, Serialize};

/// What a report shows of regimes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RegimesView {
    /// Their names.
    pub names: Vec<String>,
    /// Whether they were found in the data; else they were known.
    pub are_hidden: bool,
    /// Whether they are conditions of whole series.
    pub are_conditions: bool,
    /// Edges between different variables that are expected in each.
    pub expected_edges: Vec<f64>,
    /// Which holds when; empty where whole series belong to one.
    pub series: Vec<RegimeStrip>,
    /// Changes from one to another.
    pub switches: Vec<RegimeChange>,
    /// Edges that may differ, the most probable first.
    pub differences: Vec<DifferenceView>,
}

/// Probabilities along one series.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RegimeStrip {
    /// Name of the series.
    pub name: String,
    /// Times from which on they hold, and the end.
    pub times: Vec<f64>,
    /// Probabilities, `[time, regime]`.
    pub probabilities: Vec<f64>,
}

/// A change of regime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegimeChange {
    /// Name of the series.
    pub series: String,
    /// When.
    pub time: f64,
    /// Between which times for nearly sure.
    pub between: [f64; 2],
    /// Regime before, by position.
    pub from: usize,
    /// Regime after.
    pub to: usize,
}

/// An edge between two regimes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DifferenceView {
    /// Position of the source.
    pub source: usize,
    /// Position of the target.
    pub target: usize,
    /// Positions of the regimes.
    pub regimes: [usize; 2],
    /// Probability that it differs.
    pub probability: f64,
    /// What most probably becomes of it.
    pub change: String,
    /// Effects in both, 0 where there is probably none, with the deviations of what is known of them.
    pub effects: [[f64; 2]; 2],
    /// Effect in the second less that in the first, and where it lies with a probability of 90 %.
    pub difference: [f64; 3],
}
