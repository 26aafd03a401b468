//! `check`: what was understood of a table, and every problem it has.

use std::fmt::Write as _;
use std::process::ExitCode;

use driftgraph_data::summary::Summary;
use driftgraph_data::{ROW_NUMBER, load};
use driftgraph_text::count;

use crate::args::CheckArgs;
use crate::commands::table;
use crate::output::short_or_dash;
use crate::printer;

/// Variables shown one by one; more would scroll the summary away.
const MOST_VARIABLES: usize = 30;

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let loaded = load(&args.data.files, &args.data.options())?;
    let summary = Summary::new(&loaded);
    if args.json {
        printer::data(&serde_json::to_string_pretty(&summary)?)?;
    } else {
        printer::data(&describe(&summary))?;
    }
    Ok(if summary.usable { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The summary in words and one table.
pub(crate) fn describe(summary: &Summary) -> String {
    let mut text = String::new();
    let [fewest, most] = summary.rows_per_series;
    let per_series =
        if fewest == most { fewest.to_string() } else { format!("{fewest} to {most}") };
    let [first, last] = [0, 1].map(|end| summary.time.time_texts(&summary.span)[end].clone());
    let unit = if summary.time.is_dated() {
        summary.time.unit.to_string()
    } else {
        summary.time.to_string()
    };
    let _ = writeln!(
        text,
        "{} of {per_series} rows, {}, {} in all\n{}time {} to {}, median gap {} ({})\n{} of {} cells missing ({:.1} %)\n",
        count(summary.series, "series", "series"),
        count(summary.variables, "variable", "variables"),
        count(summary.rows, "row", "rows"),
        key_columns(summary),
        first,
        last,
        short_or_dash(summary.median_gap),
        unit,
        summary.missing_cells,
        summary.rows * summary.variables,
        100.0 * summary.missing_share,
    );
    let mut variables = table(&["variable", "observed", "missing", "min", "mean", "max"]);
    for variable in summary.variable_details.iter().take(MOST_VARIABLES) {
        variables.add_row([
            variable.name.clone(),
            variable.observed.to_string(),
            variable.missing.to_string(),
            short_or_dash(variable.min),
            short_or_dash(variable.mean),
            short_or_dash(variable.max),
        ]);
    }
    let _ = writeln!(text, "{}", variables.trim_fmt());
    if summary.variables > MOST_VARIABLES {
        let more = summary.variables - MOST_VARIABLES;
        let _ = writeln!(text, " ... and {more} more variables (all of them with --json)");
    }
    text.push('\n');
    if let Some(pace) = &summary.pace {
        let _ = writeln!(text, "{}", pace.advice);
    }
    for notice in &summary.notices {
        let _ = writeln!(text, "note: {notice}");
    }
    for warning in &summary.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    let _ = writeln!(text, "{}", verdict(summary));
    text
}

/// Which columns say when and in which series a row was measured; nothing for an archive of arrays.
fn key_columns(summary: &Summary) -> String {
    match (&summary.time_column, &summary.series_column) {
        (None, _) => String::new(),
        (Some(time), Some(series)) if time == ROW_NUMBER => {
            format!("time is {ROW_NUMBER}, series in `{series}`\n")
        }
        (Some(time), None) if time == ROW_NUMBER => {
            format!("time is {ROW_NUMBER}, no series column\n")
        }
        (Some(time), Some(series)) => format!("time in column `{time}`, series in `{series}`\n"),
        (Some(time), None) => format!("time in column `{time}`, no series column\n"),
    }
}

fn verdict(summary: &Summary) -> String {
    match (summary.usable, summary.warnings.len()) {
        (false, _) => "not usable: no variable changes within a series".to_owned(),
        (true, 0) => "usable, no warnings".to_owned(),
        (true, n) => format!("usable, {}", count(n, "warning", "warnings")),
    }
}
