//! What was understood of an uploaded table, and how long a fit of it may take.

use std::path::Path;

use driftgraph_data::summary::Summary;
use driftgraph_data::{ReadOptions, load};
use serde_json::{Value, json};

/// The columns of a table, what they were taken for, and every problem.
pub(crate) fn understood(file: &Path, options: &ReadOptions) -> Value {
    let columns = header(file);
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

/// The names of the columns of a text table, as far as its first line says them.
fn header(file: &Path) -> Vec<String> {
    use std::io::{BufRead, BufReader, Read};
    let name = file.to_string_lossy();
    let separator = if name.ends_with(".csv") {
        ','
    } else if name.ends_with(".tsv") || name.ends_with(".txt") {
        '\t'
    } else {
        return Vec::new();
    };
    let Ok(open) = std::fs::File::open(file) else { return Vec::new() };
    let mut line = String::new();
    if BufReader::new(open.take(1 << 20)).read_line(&mut line).is_err() {
        return Vec::new();
    }
    split(line.trim_start_matches('\u{feff}').trim_end(), separator)
}

/// The cells of one line, quoted ones included.
fn split(line: &str, separator: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let last = cells.len() - 1;
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cells[last].push('"');
            }
            '"' => quoted = !quoted,
            other if other == separator && !quoted => cells.push(String::new()),
            other => cells[last].push(other),
        }
    }
    cells
}

/// Seconds that a default fit may take, least and most; measured on two cores.
fn estimate(n_variables: usize, n_rows: usize) -> [f64; 2] {
    let (d, rows) = (n_variables as f64, n_rows as f64);
    // A step sees at most about 12,000 numbers, whatever the size of the data.
    let step = 0.0004 + 4e-9 * (rows * d).min(12_000.0) * d;
    let (fewest, most) = (3.0 * 600.0 * step, 60.0 * 1500.0 * step);
    [fewest.max(1.0), most.max(10.0)]
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn quoted_cells_keep_their_commas_and_quotes() {
        assert_eq!(split("time,\"a,b\",\"say \"\"x\"\"\"", ','), ["time", "a,b", "say \"x\""]);
        assert_eq!(split("t\tx", '\t'), ["t", "x"]);
    }
}
