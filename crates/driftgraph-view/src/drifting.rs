//! Effects that move in time as a report shows them.

use driftgraph_data::drifting::{DriftingEdgeRecord, DriftingRecord};
use driftgraph_report::view::{CourseView, DriftingView};

/// What a report shows of effects over time.
pub fn drifting_view(record: &DriftingRecord) -> DriftingView {
    let course = |edge: &DriftingEdgeRecord| CourseView {
        source: edge.source,
        target: edge.target,
        probability: edge.probability,
        drifting: edge.drifting,
        effects: edge.effects.clone(),
        bounds: [-1.0, 1.0].map(|side| edge.bounds(side).collect()),
    };
    DriftingView { times: record.times.clone(), edges: record.edges.iter().map(course).collect() }
}
