//! What was understood of uploaded tables, and how long a fit of them may take.

use std::path::Path;

use driftgraph_data::summary::Summary;
use driftgraph_data::{ReadOptions, column_names, load, tables_in};
use serde_json::{Value, json};

use crate::library::truth;
use crate::page_words::in_page_words;
use crate::upload::known_edges;

/// The columns of the tables in a folder, what they were taken for, and every problem.
pub(crate) fn understood(tables: &Path, options: &ReadOptions) -> Value {
    let files = tables_in(tables);
    let columns = files.first().map(|file| column_names(file, options)).unwrap_or_default();
    let here = |text: &str| in_page_words(&without_folder(text, tables));
    match load(&[tables.to_owned()], options) {
        Ok(loaded) => {
            let mut summary = Summary::new(&loaded);
            let seconds = estimate(summary.variables, summary.rows);
            let span = summary.time.time_texts(&summary.span);
            for sentence in summary.warnings.iter_mut().chain(&mut summary.notices) {
                *sentence = here(sentence);
            }
            let truth = known_edges(tables).map(|_| known(tables, &summary));
            json!({
                "columns": columns, "summary": summary, "span": span, "estimate": seconds,
                "files": files.len(), "truth": truth, "problems": [],
            })
        }
        Err(errors) => {
            let problems: Vec<Value> = errors
                .errors()
                .iter()
                .map(|error| {
                    let place = here(&error.place.to_string());
                    json!({"problem": here(&error.problem.to_string()), "place": place})
                })
                .collect();
            let hints: Vec<String> = errors.hints().iter().map(|hint| here(hint)).collect();
            json!({"columns": columns, "problems": problems, "hints": hints, "files": files.len(), "summary": null})
        }
    }
}

/// How many known edges there are, or why they cannot be used.
fn known(tables: &Path, summary: &Summary) -> Value {
    let names: Vec<String> = summary.variable_details.iter().map(|one| one.name.clone()).collect();
    match truth(tables, &names) {
        Ok(truth) => json!({"edges": truth.graph.n_edges()}),
        Err(refusal) => {
            json!({"problem": in_page_words(&without_folder(refusal.reason(), tables))})
        }
    }
}

/// Where uploads are kept is of no interest to whoever uploaded them.
fn without_folder(text: &str, tables: &Path) -> String {
    let folder = format!("{}{}", tables.display(), std::path::MAIN_SEPARATOR);
    text.replace(&folder, "")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_stay_whole_and_advice_names_fields() {
        let folder = tempfile::tempdir().unwrap();
        let tables = folder.path().join("pelts");
        std::fs::create_dir(&tables).unwrap();
        let row = |t: u32| format!("{t},{},{}\n", t % 7, (t * t) % 11);
        let rows = (1845..=1935).map(row).collect::<Vec<_>>().concat();
        std::fs::write(tables.join("pelts.csv"), format!("Year,Hare,Lynx\n{rows}")).unwrap();
        let found = understood(&tables, &ReadOptions::default());
        assert_eq!(found["span"], json!(["1845", "1935"]));
        assert_eq!(found["summary"]["time_column"], "Year");
        assert!(!found.to_string().contains("`--"), "{found}");
        std::fs::write(tables.join("pelts.csv"), "a,b\n1,2\n1,3\n").unwrap();
        let found = understood(&tables, &ReadOptions::default());
        assert!(found["summary"].is_null());
        assert_eq!(found["problems"][0]["place"], "`pelts.csv`");
        let hint = found["hints"][0].as_str().unwrap();
        assert!(hint.contains("“Time”") && !hint.contains("--"), "{hint}");
    }
}
