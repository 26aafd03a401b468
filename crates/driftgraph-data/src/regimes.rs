//! Regimes of a run: which holds when, and what differs between them, as `run.json` and tables have it.

use serde::{Deserialize, Serialize};

use crate::table::{Column, Table};

/// What a run says of its regimes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RegimesRecord {
    /// Their names, in the order in which they first hold, or as they were named.
    pub names: Vec<String>,
    /// Where they come from.
    pub kind: RegimeKind,
    /// Edges between different variables that are expected in each.
    pub expected_edges: Vec<f64>,
    /// Offsets of the drift and diffusions in each, by variable.
    pub processes: Vec<RegimeProcessRecord>,
    /// Mean time in a regime, where they are hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stay: Option<f64>,
    /// What more regimes gained on held-out blocks of time, where their number was chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<RegimeTrial>,
    /// When the most probable regime changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<RegimeSwitch>,
    /// Which regime when.
    pub series: Vec<RegimeSeries>,
    /// Every edge in every regime.
    pub edges: Vec<RegimeEdgeRow>,
    /// Every edge between every two regimes, the most probable difference first.
    pub differences: Vec<DifferenceRow>,
}

/// What a regime has beside its edges.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RegimeProcessRecord {
    /// Offsets of the drift, per unit of time.
    pub offsets: Vec<f64>,
    /// Diffusions, per square root of time.
    pub diffusions: Vec<f64>,
}

/// Where regimes come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RegimeKind {
    /// They were found in the data.
    #[default]
    Hidden,
    /// A column says which holds.
    Column,
    /// Series belong to conditions.
    Conditions,
}

/// More regimes than the best so far, on held-out blocks of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegimeTrial {
    /// Number of regimes.
    pub regimes: usize,
    /// Mean gain per block, in nats.
    pub gain: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The same against one process for all time that is not linear or not normal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_single: Option<RegimeOverSingle>,
}

/// Regimes against one process for all time, on held-out blocks of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegimeOverSingle {
    /// What process that is.
    pub what: String,
    /// Mean gain of the regimes per block, in nats.
    pub gain: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// A change of regime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegimeSwitch {
    /// Name of the series.
    pub series: String,
    /// When.
    pub time: f64,
    /// The last time at which the new regime was unlikely, and the first at which it is nearly sure.
    pub between: [f64; 2],
    /// Regime before, by position.
    pub from: usize,
    /// Regime after.
    pub to: usize,
}

/// Probabilities of the regimes along one series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegimeSeries {
    /// Name of the series.
    pub name: String,
    /// Times from which on they hold, and the end.
    pub times: Vec<f64>,
    /// Probabilities, `[time, regime]`.
    pub probabilities: Vec<f64>,
}

/// One edge in one regime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegimeEdgeRow {
    /// Position of the regime.
    pub regime: usize,
    /// Position of the source.
    pub source: usize,
    /// Position of the target.
    pub target: usize,
    /// Probability.
    pub probability: f64,
    /// Effect if it is there, with the deviation of what is known of it.
    pub effect: f64,
    /// Its deviation.
    pub deviation: f64,
    /// Effect in deviations of target and source.
    pub strength: f64,
}

/// One edge between two regimes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DifferenceRow {
    /// Position of the source.
    pub source: usize,
    /// Position of the target.
    pub target: usize,
    /// Positions of the regimes.
    pub regimes: [usize; 2],
    /// Probability that the edge differs.
    pub probability: f64,
    /// Probability that it is in the first alone.
    pub first_alone: f64,
    /// Probability that it is in the second alone.
    pub second_alone: f64,
    /// Probability that its sign is another.
    pub turned: f64,
    /// Effect in the second less that in the first, if they differ.
    pub difference: f64,
    /// Its deviation.
    pub deviation: f64,
    /// Effects in both, 0 where an edge is less likely than not.
    pub effects: [f64; 2],
}

/// Deviations on either side of the mean within which a normal law has 90 % of its mass.
pub const NINETY_PERCENT: f64 = 1.644_853_626_951_472_2;

impl DifferenceRow {
    /// What most probably becomes of the edge from the first regime to the second, if it differs.
    pub fn change(&self) -> &'static str {
        let both = (self.probability - self.first_alone - self.second_alone).max(0.0);
        if self.second_alone >= self.first_alone.max(both) {
            return "appears";
        }
        if self.first_alone >= both {
            return "disappears";
        }
        if 2.0 * self.turned > both {
            return "turns";
        }
        let [first, second] = self.effects;
        if second.abs() >= first.abs() { "stronger" } else { "weaker" }
    }

    /// Where the difference lies with a probability of 90 %, if there is one.
    pub fn interval(&self) -> [f64; 2] {
        [-1.0, 1.0].map(|side| self.difference + side * NINETY_PERCENT * self.deviation)
    }
}

impl RegimesRecord {
    /// `regimes.csv`: one row per series and time, with the most probable regime and all probabilities.
    pub fn time_table(&self) -> Table {
        let k = self.names.len();
        let rows: Vec<(&RegimeSeries, usize)> = (self.series.iter())
            .flat_map(|series| (0..series.times.len()).map(move |row| (series, row)))
            .collect();
        let best = |series: &RegimeSeries, row: usize| {
            let of = |regime: usize| series.probabilities[row * k + regime];
            (1..k).fold(0, |best, regime| if of(regime) > of(best) { regime } else { best })
        };
        let names = rows.iter().map(|(series, _)| series.name.clone()).collect();
        let times = rows.iter().map(|(series, row)| series.times[*row]).collect();
        let labels =
            rows.iter().map(|(series, row)| self.names[best(series, *row)].clone()).collect();
        let mut table = Table::default()
            .with("series", Column::Text(names))
            .with("time", Column::Number(times))
            .with("regime", Column::Text(labels));
        for (regime, name) in self.names.iter().enumerate() {
            let column = rows.iter().map(|(series, row)| series.probabilities[row * k + regime]);
            table = table.with(format!("probability {name}"), Column::Number(column.collect()));
        }
        table
    }

    /// `regime_edges.csv`: every edge of every regime, regime after regime.
    pub fn edge_table(&self, variables: &[String]) -> Table {
        let text = |of: &dyn Fn(&RegimeEdgeRow) -> String| {
            Column::Text(self.edges.iter().map(of).collect())
        };
        let number = |of: &dyn Fn(&RegimeEdgeRow) -> f64| {
            Column::Number(self.edges.iter().map(of).collect())
        };
        let bound = |side: f64| {
            move |edge: &RegimeEdgeRow| edge.effect + side * NINETY_PERCENT * edge.deviation
        };
        Table::default()
            .with("regime", text(&|edge| self.names[edge.regime].clone()))
            .with("source", text(&|edge| variables[edge.source].clone()))
            .with("target", text(&|edge| variables[edge.target].clone()))
            .with("probability", number(&|edge| edge.probability))
            .with("effect", number(&|edge| edge.effect))
            .with("strength", number(&|edge| edge.strength))
            .with("effect_low", number(&bound(-1.0)))
            .with("effect_high", number(&bound(1.0)))
    }

    /// `differences.csv`: which edges differ between regimes, the most probable first.
    pub fn difference_table(&self, variables: &[String]) -> Table {
        let all = &self.differences;
        let text =
            |of: &dyn Fn(&DifferenceRow) -> String| Column::Text(all.iter().map(of).collect());
        let number =
            |of: &dyn Fn(&DifferenceRow) -> f64| Column::Number(all.iter().map(of).collect());
        Table::default()
            .with("source", text(&|row| variables[row.source].clone()))
            .with("target", text(&|row| variables[row.target].clone()))
            .with("first", text(&|row| self.names[row.regimes[0]].clone()))
            .with("second", text(&|row| self.names[row.regimes[1]].clone()))
            .with("probability", number(&|row| row.probability))
            .with("change", text(&|row| row.change().to_owned()))
            .with("only_first", number(&|row| row.first_alone))
            .with("only_second", number(&|row| row.second_alone))
            .with("sign_changes", number(&|row| row.turned))
            .with("effect_first", number(&|row| row.effects[0]))
            .with("effect_second", number(&|row| row.effects[1]))
            .with("difference", number(&|row| row.difference))
            .with("difference_low", number(&|row| row.interval()[0]))
            .with("difference_high", number(&|row| row.interval()[1]))
    }

    /// Links between different variables that are more likely to differ than not.
    pub fn n_different(&self) -> usize {
        let other = |row: &&DifferenceRow| row.source != row.target && row.probability >= 0.5;
        self.differences.iter().filter(other).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(first_alone: f64, second_alone: f64, both: f64, turned: f64) -> DifferenceRow {
        DifferenceRow {
            source: 0,
            target: 1,
            regimes: [0, 1],
            probability: first_alone + second_alone + both,
            first_alone,
            second_alone,
            turned,
            difference: -1.0,
            deviation: 0.1,
            effects: [1.5, 0.5],
        }
    }

    #[test]
    fn a_change_is_called_by_what_is_most_probable() {
        assert_eq!(row(0.1, 0.7, 0.1, 0.0).change(), "appears");
        assert_eq!(row(0.7, 0.1, 0.1, 0.0).change(), "disappears");
        assert_eq!(row(0.1, 0.1, 0.7, 0.6).change(), "turns");
        assert_eq!(row(0.1, 0.1, 0.7, 0.1).change(), "weaker");
        let [low, high] = row(0.1, 0.1, 0.7, 0.1).interval();
        assert!((low + 1.164_485).abs() < 1e-5 && (high + 0.835_515).abs() < 1e-5);
    }
}
