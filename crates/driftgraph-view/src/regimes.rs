//! Regimes of a run as a report shows them.

use driftgraph_data::regimes::{DifferenceRow, RegimeKind, RegimesRecord};
use driftgraph_report::view::{DifferenceView, RegimeChange, RegimeStrip, RegimesView};

/// Differences that a report lists at most, and from which probability on.
const MOST: usize = 300;
const LISTED_FROM: f64 = 0.01;

/// What a report shows of regimes.
pub fn regimes_view(record: &RegimesRecord) -> RegimesView {
    let strips = record.series.iter().map(|one| RegimeStrip {
        name: one.name.clone(),
        times: one.times.clone(),
        probabilities: one.probabilities.clone(),
    });
    let changes = record.switches.iter().map(|one| RegimeChange {
        series: one.series.clone(),
        time: one.time,
        between: one.between,
        from: one.from,
        to: one.to,
    });
    let listed = record.differences.iter().filter(|one| one.probability >= LISTED_FROM);
    RegimesView {
        names: record.names.clone(),
        are_hidden: record.kind == RegimeKind::Hidden,
        are_conditions: record.kind == RegimeKind::Conditions,
        expected_edges: record.expected_edges.clone(),
        // Whole series that belong to one regime are no picture.
        series: if record.kind == RegimeKind::Conditions { Vec::new() } else { strips.collect() },
        switches: changes.collect(),
        differences: listed.take(MOST).map(|one| difference(record, one)).collect(),
    }
}

fn difference(record: &RegimesRecord, one: &DifferenceRow) -> DifferenceView {
    let deviation = |regime: usize| {
        let same = |row: &&driftgraph_data::regimes::RegimeEdgeRow| {
            (row.regime, row.source, row.target) == (regime, one.source, one.target)
        };
        record.edges.iter().find(same).map_or(0.0, |row| row.deviation)
    };
    let [low, high] = one.interval();
    DifferenceView {
        source: one.source,
        target: one.target,
        regimes: one.regimes,
        probability: one.probability,
        change: one.change().to_owned(),
        effects: [0, 1].map(|at| [one.effects[at], deviation(one.regimes[at])]),
        difference: [one.difference, low, high],
    }
}
