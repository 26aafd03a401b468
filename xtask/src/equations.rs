//! Keeps the tags of equations in the code and the table in `paper/EQUATIONS.md` true to each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::shell::{root, say};

/// Fails if a tag is missing from the table, or a row's file does not carry its tag.
pub(crate) fn check() -> anyhow::Result<()> {
    let table = read("paper/EQUATIONS.md")?;
    let deviations = read("paper/DEVIATIONS.md")?;
    let rows = rows_of(&table);
    let mut problems = Vec::new();
    let mut tagged: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for path in sources()? {
        let text = fs::read_to_string(&path)?;
        for tag in tags(&text) {
            match rows.iter().find(|row| row.number == tag.number) {
                None => problems.push(format!("{}: Eq. {} has no row", path.display(), tag.number)),
                Some(row) if tag.label.as_ref().is_some_and(|label| *label != row.label) => {
                    problems.push(format!(
                        "{}: Eq. {} is `{}`",
                        path.display(),
                        tag.number,
                        row.label
                    ));
                }
                Some(_) => {}
            }
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
    if problems.is_empty() {
        say(&format!("equations: ok, {} rows", rows.len()));
        return Ok(());
    }
    bail!("paper/EQUATIONS.md and the code disagree:\n{}", problems.join("\n"))
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
        collect(&entry?.path().join("src"), &mut files)?;
    }
    files.sort();
    Ok(files)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
