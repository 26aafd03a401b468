//! A page per method, from what the program says of its registry.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::shell::target_dir;

/// Where the list of chapters has the methods.
pub(super) const PLACE: &str = "<!-- methods -->";
/// The method that is built for tests alone.
const FOR_TESTS: &str = "toy";

/// What a method says of data, by its name in the registry and in words.
const DATA: [(&str, &str); 5] = [
    ("several_series", "several series"),
    ("irregular_times", "unevenly spaced times"),
    ("missing_cells", "missing cells"),
    ("experiments", "inputs and interventions"),
    ("prior_edges", "known edges (`--forbid`, `--require`, `--prior`)"),
];

/// Writes the pages into a folder and returns their lines in the list of chapters.
pub(super) fn write_pages(folder: &Path) -> anyhow::Result<String> {
    fs::create_dir_all(folder)?;
    let methods = registry()?;
    let methods = methods.as_array().context("the registry is a list")?;
    ensure!(!methods.is_empty(), "the registry is empty");
    let mut chapters = String::from("- [Methods and their settings](methods/README.md)\n");
    let mut overview = String::from(
        "# Methods and their settings\n\n*For those who look up a setting. [Other methods](../other-methods.md) says when to take which.*\n\n\
         This page and those below it are made from the list in the program (`driftgraph methods`).\n\n| method | what it is |\n| --- | --- |\n",
    );
    for method in methods.iter().filter(|method| method["name"] != FOR_TESTS) {
        let name = word(method, "name")?;
        fs::write(folder.join(name).with_extension("md"), page(method)?)?;
        let _ = writeln!(chapters, "  - [{name}](methods/{name}.md)");
        let _ = writeln!(overview, "| [`{name}`]({name}.md) | {} |", cell(method, "description")?);
    }
    fs::write(folder.join("README.md"), overview)?;
    Ok(chapters)
}

fn registry() -> anyhow::Result<Value> {
    let program = target_dir().join("debug/driftgraph");
    let output = Command::new(&program)
        .args(["methods", "--json"])
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    serde_json::from_slice(&output.stdout).context("`driftgraph methods --json` gives no JSON")
}

fn page(method: &Value) -> anyhow::Result<String> {
    let name = word(method, "name")?;
    let mut page = format!("# {name}\n\n{}.\n\n", word(method, "description")?);
    let _ = writeln!(page, "    driftgraph fit measurements.csv --method {name} --out run\n");
    let _ = writeln!(page, "## Data\n\n| what data may have | what it does |\n| --- | --- |");
    for (key, meaning) in DATA {
        let _ = writeln!(page, "| {meaning} | {} |", handling(&method["takes"][key])?);
    }
    let (presets, settings) = (list(method, "presets")?, list(method, "settings")?);
    if !presets.is_empty() {
        page.push_str("\n## Presets\n\n| preset | what it is |\n| --- | --- |\n");
    }
    for preset in presets {
        let _ = writeln!(page, "| `{}` | {} |", word(preset, "name")?, cell(preset, "meaning")?);
    }
    if settings.is_empty() {
        page.push_str("\nIt has no settings.\n");
        return Ok(page);
    }
    let name = word(&settings[0], "name")?;
    let flag = name.replace('_', "-");
    let _ = writeln!(
        page,
        "\n## Settings\n\nEach is a flag (such as `--{flag}`), a line of a settings file (`{name} = ...`) and a keyword in Python.\n"
    );
    page.push_str("| setting | default | range | what it does |\n| --- | --- | --- | --- |\n");
    for setting in settings {
        let (name, default) = (word(setting, "name")?, cell(setting, "default")?);
        let (range, meaning) = (cell(setting, "range")?, cell(setting, "meaning")?);
        let _ = writeln!(page, "| `{name}` | {default} | {range} | {meaning} |");
    }
    Ok(page)
}

fn handling(takes: &Value) -> anyhow::Result<String> {
    match takes {
        Value::Bool(true) => Ok("taken as they are".to_owned()),
        Value::Bool(false) => Ok("refused".to_owned()),
        other => cell(other, "instead"),
    }
}

fn list<'a>(from: &'a Value, key: &str) -> anyhow::Result<&'a Vec<Value>> {
    from[key].as_array().with_context(|| format!("a method has no {key}"))
}

fn word<'a>(from: &'a Value, key: &str) -> anyhow::Result<&'a str> {
    from[key].as_str().with_context(|| format!("the registry has no {key} in {from}"))
}

/// A word that may stand in a cell of a table.
fn cell(from: &Value, key: &str) -> anyhow::Result<String> {
    Ok(word(from, key)?.replace('|', "\\|").replace('<', "&lt;"))
}
