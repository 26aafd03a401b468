//! Files of a run with regimes: which holds when, its edges in each, and what differs.

use std::io;
use std::path::Path;

use driftgraph_data::regimes::{RegimeKind, RegimesRecord};
use driftgraph_data::table::{Table, TableFormat};
use driftgraph_report::{Calendar, differences_picture, regimes_picture};
use driftgraph_view::regimes_view;

use crate::error::JobError;

/// Which regime holds when, and its picture.
pub(crate) const TIMES: [&str; 2] = ["regimes.csv", "regimes.svg"];
/// Edges of every regime.
const EDGES: &str = "regime_edges.csv";
/// What differs, and its picture.
const DIFFERENCES: [&str; 2] = ["differences.csv", "differences.svg"];
/// All of them.
const ALL: [&str; 5] = [TIMES[0], TIMES[1], EDGES, DIFFERENCES[0], DIFFERENCES[1]];

/// What times and variables are called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Labels<'a> {
    pub(crate) variables: &'a [String],
    pub(crate) time_label: &'a str,
    pub(crate) calendar: Option<Calendar>,
}

/// The files by their names.
pub(crate) fn regime_files(
    record: &RegimesRecord,
    labels: &Labels<'_>,
) -> Result<Vec<(&'static str, String)>, JobError> {
    let view = regimes_view(record);
    let mut files = vec![
        (EDGES, text(&record.edge_table(labels.variables))),
        (DIFFERENCES[0], text(&record.difference_table(labels.variables))),
    ];
    if record.kind != RegimeKind::Conditions {
        files.push((TIMES[0], text(&record.time_table())));
    }
    let pictures = [
        (TIMES[1], regimes_picture(&view, labels.time_label, labels.calendar)?),
        (DIFFERENCES[1], differences_picture(&view, labels.variables)?),
    ];
    files.extend(pictures.into_iter().filter_map(|(name, picture)| Some((name, picture?))));
    Ok(files)
}

pub(crate) fn text(table: &Table) -> String {
    let mut out = Vec::new();
    table.write(&mut out, TableFormat::Csv).expect("memory takes whatever is written to it");
    String::from_utf8(out).expect("names and numbers are text")
}

/// Removes files of an earlier run with regimes or effects that move, so that none passes for one of this.
pub(crate) fn forget_regime_files(folder: &Path) -> io::Result<()> {
    for name in ALL.into_iter().chain(crate::drifting::ALL) {
        match std::fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
