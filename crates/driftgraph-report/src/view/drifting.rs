//! Effects that move in time, as a report shows them.

use serde::{Deserialize, Serialize};

/// Effects over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DriftingView {
    /// Times at which effects are told.
    pub times: Vec<f64>,
    /// The probable edges, those that most probably move first.
    pub edges: Vec<CourseView>,
}

/// One edge over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CourseView {
    /// Number of the source.
    pub source: usize,
    /// Number of the target.
    pub target: usize,
    /// Probability of an effect, constant or not.
    pub probability: f64,
    /// Probability that it moves.
    pub drifting: f64,
    /// Effect at each time.
    pub effects: Vec<f64>,
    /// Where it lies with a probability of 90 %.
    pub bounds: [Vec<f64>; 2],
}
