//! Keeps the tags of equations in the code, the table in `paper/EQUATIONS.md` and the page that explains them
//! true to each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::shell::{files_below, root, say};

/// The page that explains every equation of the table.
const PAGE: &str = "docs/how-it-works.md";

/// Fails if a tag is missing from the table, or a row's file or the page does not carry its tag.
pub(crate) fn check() -> anyhow::Result<()> {
    let table = read("paper/EQUATIONS.md")?;
    let deviations = read("paper/DEVIATIONS.md")?;
    let rows = rows_of(&table);
    let mut problems = Vec::new();
    let mut tagged: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for path in sources()? {
        let text = fs::read_to_string(&path)?;
        for tag in tags(&text) {
            problems.extend(tag.problem(&rows).map(|why| format!("{}: {why}", path.display())));
            tagged.entry(path.clone()).or_default().insert(tag.number);
        }
        for name in deviation_tags(&text) {
            if !deviations.contains(&format!("| {name} |")) {
                problems.push(format!("{}: {name} is not in DEVIATIONS.md", path.display()));
            }
        }
    }
    for row in &rows {
        for file in &row.files {
            let path = root().join("crates/driftgraph-core").join(file);
            if !tagged.get(&path).is_some_and(|numbers| numbers.contains(&row.number)) {
                problems.push(format!("{file} carries no tag of Eq. {}", row.number));
            }
        }
    }
    problems.extend(page_problems(&read(PAGE)?, &rows));
    if problems.is_empty() {
        say(&format!("equations: ok, {} rows", rows.len()));
        return Ok(());
    }
    bail!("paper/EQUATIONS.md, the code and {PAGE} disagree:\n{}", problems.join("\n"))
}

fn read(path: &str) -> anyhow::Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))
}

struct Row {
    number: String,
    label: String,
    files: Vec<String>,
}

/// Rows of the form `| Eq. 4 | `label` | what | `file`, `file` | ...`.
fn rows_of(table: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| Eq. ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let [equation, label, _, files, ..] = cells[..] {
            rows.push(Row {
                number: equation.trim_start_matches("Eq. ").to_owned(),
                label: label.trim_matches('`').to_owned(),
                files: files
                    .split(',')
                    .map(|file| file.trim().trim_matches('`').to_owned())
                    .collect(),
            });
        }
    }
    rows
}

struct Tag {
    number: String,
    label: Option<String>,
}

impl Tag {
    /// Why the table does not have it.
    fn problem(&self, rows: &[Row]) -> Option<String> {
        match rows.iter().find(|row| row.number == self.number) {
            None => Some(format!("Eq. {} has no row", self.number)),
            Some(row) if self.label.as_ref().is_some_and(|label| *label != row.label) => {
                Some(format!("Eq. {} is `{}`", self.number, row.label))
            }
            Some(_) => None,
        }
    }
}

/// Tags of the page that the table does not have, and rows that the page does not explain.
fn page_problems(page: &str, rows: &[Row]) -> Vec<String> {
    let tags = tags(page);
    let unknown = tags.iter().filter_map(|tag| tag.problem(rows));
    let explained =
        |row: &Row| tags.iter().any(|tag| tag.number == row.number && tag.label.is_some());
    let missing = rows.iter().filter(|row| !explained(row));
    let missing = missing.map(|row| format!("Eq. {} ({}) is not explained", row.number, row.label));
    unknown.chain(missing).map(|why| format!("{PAGE}: {why}")).collect()
}

/// All `Eq. 14` and `Eq. 14 (eq: u)` of a text.
fn tags(text: &str) -> Vec<Tag> {
    let after = text.split("Eq. ").skip(1);
    let mut tags = Vec::new();
    for rest in after {
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        if number.is_empty() {
            continue;
        }
        let label =
            rest[number.len()..].strip_prefix(" (eq: ").and_then(|rest| rest.split_once(')'));
        tags.push(Tag { number, label: label.map(|(label, _)| format!("eq: {label}")) });
    }
    tags
}

/// All `see D7` of a text.
fn deviation_tags(text: &str) -> Vec<String> {
    let after = text.split("see D").skip(1);
    let numbers =
        after.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    numbers.filter(|number| !number.is_empty()).map(|number| format!("D{number}")).collect()
}

/// All Rust files of the crates' `src` folders.
fn sources() -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("crates"))? {
        files.extend(files_below(&entry?.path().join("src"), "rs")?);
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "| Eq. 4 | `eq: step` | a step | `a.rs` |\n| Eq. 7 | `eq: prior` | p | `b.rs` |\n";

    #[test]
    fn a_page_that_explains_every_row_is_fine() {
        let page = "z = 1   Eq. 4 (eq: step)\nEq. 7 (eq: prior), and Eq. 4 again";
        assert!(page_problems(page, &rows_of(TABLE)).is_empty());
    }

    #[test]
    fn unknown_numbers_wrong_labels_and_missing_rows_are_told() {
        let problems = page_problems("Eq. 5, Eq. 4 (eq: stop), Eq. 7", &rows_of(TABLE));
        let wanted =
            ["Eq. 5 has no row", "Eq. 4 is `eq: step`", "Eq. 7 (eq: prior) is not explained"];
        assert_eq!(problems, wanted.map(|why| format!("{PAGE}: {why}")));
    }
}
