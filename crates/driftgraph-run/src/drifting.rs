//! Files of a run with effects that move in time: their courses, which do, and a picture.

use driftgraph_data::drifting::DriftingRecord;
use driftgraph_report::drifting_picture;
use driftgraph_view::drifting_view;

use crate::error::JobError;
use crate::regimes::{Labels, text};

/// Courses, their picture, and which edges move.
pub(crate) const ALL: [&str; 3] = ["drifting.csv", "drifting.svg", "drifting_edges.csv"];

/// The files by their names.
pub(crate) fn drifting_files(
    record: &DriftingRecord,
    labels: &Labels<'_>,
) -> Result<Vec<(&'static str, String)>, JobError> {
    let view = drifting_view(record);
    let picture = drifting_picture(&view, labels.variables, labels.time_label, labels.calendar)?;
    let mut files = vec![
        (ALL[0], text(&record.course_table(labels.variables))),
        (ALL[2], text(&record.edge_table(labels.variables))),
    ];
    files.extend(picture.map(|picture| (ALL[1], picture)));
    Ok(files)
}
