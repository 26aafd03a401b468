//! What was understood of an uploaded table, and how long a fit of it may take.

use std::path::Path;

use driftgraph_data::summary::Summary;
use driftgraph_data::{ReadOptions, column_names, load};
use serde_json::{Value, json};

/// The columns of a table, what they were taken for, and every problem.
pub(crate) fn understood(file: &Path, options: &ReadOptions) -> Value {
    let columns = column_names(file, options);
    match load(&[file.to_owned()], options) {
        Ok(loaded) => {
            let summary = Summary::new(&loaded);
            let seconds = estimate(summary.variables, summary.rows);
            json!({"columns": columns, "summary": summary, "estimate": seconds, "problems": []})
        }
        Err(errors) => {
            let problems: Vec<Value> = errors
                .errors()
                .iter()
                .map(|error| json!({"problem": error.problem.to_string(), "place": error.place.to_string()}))
                .collect();
            json!({"columns": columns, "problems": problems, "hints": errors.hints(), "summary": null})
        }
    }
}

/// Seconds that a default fit may take, least and most.
///
/// A rough rule: it tells seconds from hours. Which candidates are tried and when they converge decides the rest.
fn estimate(n_variables: usize, n_rows: usize) -> [f64; 2] {
    let (d, rows) = (n_variables as f64, n_rows as f64);
    // A step sees at most about 12,000 numbers, whatever the size of the data.
    let step = 0.0004 + 4e-9 * (rows * d).min(12_000.0) * d;
    let (fewest, most) = (3.0 * 600.0 * step, 60.0 * 1500.0 * step);
    [fewest.max(1.0), most.max(10.0)]
}
