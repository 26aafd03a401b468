//! Effects that move in time, as `run.json` and tables have them.

use serde::{Deserialize, Serialize};

use crate::regimes::NINETY_PERCENT;
use crate::table::{Column, Table};

/// What a run says of effects over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DriftingRecord {
    /// Times at which effects are told.
    pub times: Vec<f64>,
    /// The probable edges, those that most probably move first.
    pub edges: Vec<DriftingEdgeRecord>,
}

/// One edge over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DriftingEdgeRecord {
    /// Position of the source.
    pub source: usize,
    /// Position of the target.
    pub target: usize,
    /// Probability of an effect, constant or not.
    pub probability: f64,
    /// Probability that it moves.
    pub drifting: f64,
    /// Effect at each time, if there is one.
    pub effects: Vec<f64>,
    /// Their deviations.
    pub deviations: Vec<f64>,
}

impl DriftingEdgeRecord {
    /// Where the effect lies at each time with a probability of 90 %, if there is one.
    pub fn bounds(&self, side: f64) -> impl Iterator<Item = f64> + '_ {
        let both = self.effects.iter().zip(&self.deviations);
        both.map(move |(effect, deviation)| effect + side * NINETY_PERCENT * deviation)
    }
}

impl DriftingRecord {
    /// `drifting.csv`: one row per edge and time, those that most probably move first.
    pub fn course_table(&self, variables: &[String]) -> Table {
        let k = self.times.len();
        let name = |of: fn(&DriftingEdgeRecord) -> usize| {
            let names = self.edges.iter().flat_map(|edge| std::iter::repeat_n(of(edge), k));
            Column::Text(names.map(|idx| variables[idx].clone()).collect())
        };
        let times = self.edges.iter().flat_map(|_| self.times.iter().copied()).collect();
        let effects = self.edges.iter().flat_map(|edge| edge.effects.iter().copied()).collect();
        let bound = |side: f64| {
            Column::Number(self.edges.iter().flat_map(|edge| edge.bounds(side)).collect())
        };
        Table::default()
            .with("time", Column::Number(times))
            .with("source", name(|edge| edge.source))
            .with("target", name(|edge| edge.target))
            .with("effect", Column::Number(effects))
            .with("low", bound(-1.0))
            .with("high", bound(1.0))
    }

    /// `drifting_edges.csv`: which edges move, the most probable first.
    pub fn edge_table(&self, variables: &[String]) -> Table {
        let name = |of: fn(&DriftingEdgeRecord) -> usize| {
            Column::Text(self.edges.iter().map(|edge| variables[of(edge)].clone()).collect())
        };
        let number = |of: fn(&DriftingEdgeRecord) -> f64| {
            Column::Number(self.edges.iter().map(of).collect())
        };
        let first = |edge: &DriftingEdgeRecord| edge.effects.first().copied().unwrap_or(0.0);
        let last = |edge: &DriftingEdgeRecord| edge.effects.last().copied().unwrap_or(0.0);
        Table::default()
            .with("source", name(|edge| edge.source))
            .with("target", name(|edge| edge.target))
            .with("probability", number(|edge| edge.probability))
            .with("probability_drifting", number(|edge| edge.drifting))
            .with("effect_first", number(first))
            .with("effect_last", number(last))
    }
}
