//! What methods of levels do with the first rows of series that have not settled yet.

use driftgraph_core::SeriesSet;
use driftgraph_core::levels::leading_rows;

/// The data without the first rows of series that have clearly not settled there, and a sentence if any were left out.
pub(crate) struct SettledRows {
    pub(crate) data: SeriesSet,
    pub(crate) remark: Option<String>,
}

impl SettledRows {
    /// See [`leading_rows`] for the rule.
    pub(crate) fn of(data: &SeriesSet) -> Self {
        let leading = leading_rows(data);
        let n_rows: usize = leading.iter().sum();
        let n_series = leading.iter().filter(|rows| **rows > 0).count();
        let remark = (n_rows > 0).then(|| {
            let (rows, series) = (counted(n_rows, "row"), counted_of(n_series, data.n_series()));
            format!(
                "the first {rows} of {series} left out: they lie far from where the series settle, and levels are \
                 compared as if nothing changed over time"
            )
        });
        Self { data: data.without_leading_rows(&leading), remark }
    }
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { what.to_owned() } else { format!("{n} {what}s in all") }
}

fn counted_of(n: usize, all: usize) -> String {
    match (n, all) {
        (1, 1) => "the series was".to_owned(),
        (1, _) => format!("one of {all} series was"),
        _ => format!("{n} of {all} series were"),
    }
}
