//! Copies the tables of committed results into the documentation, so that both agree by construction.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::shell::{root, say};

/// The page with the tables.
const PAGE: &str = "docs/accuracy.md";
/// The folder of results, one folder per experiment.
const RESULTS: &str = "results";

/// Writes the tables into the page, or with `check` fails if it does not hold them already.
pub(crate) fn run(check: bool) -> anyhow::Result<()> {
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let tables = tables(&root().join(RESULTS))?;
    let rendered = rendered(&page, &tables)?;
    if check {
        if let Some((line, found, wanted)) = first_difference(&page, &rendered) {
            bail!(
                "{PAGE} differs from {RESULTS}/ in line {line}; run `cargo xtask docs-tables`\n\
                 page:    {found}\nresults: {wanted}"
            );
        }
    } else if page != rendered {
        fs::write(&path, rendered).with_context(|| format!("cannot write {PAGE}"))?;
    }
    say(&format!("docs-tables: ok, {} tables with results", tables.len()));
    Ok(())
}

/// The tables of all experiments that have results, by name.
fn tables(folder: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut tables = BTreeMap::new();
    if !folder.is_dir() {
        return Ok(tables);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let table = path.join("table.md");
        if let Some(name) = path.file_name().filter(|_| table.is_file()) {
            let text = fs::read_to_string(&table)?;
            ensure!(
                text.starts_with("`driftgraph experiment "),
                "{} does not begin with the command that makes it",
                table.display()
            );
            ensure!(
                !text.contains("**Shortened data and training"),
                "{} was made with `--quick`",
                table.display()
            );
            tables.insert(name.to_string_lossy().into_owned(), text);
        }
    }
    Ok(tables)
}

/// The page with every table between its markers; without results it says how to make them.
fn rendered(page: &str, tables: &BTreeMap<String, String>) -> anyhow::Result<String> {
    let mut out = String::new();
    let mut rest = page;
    let mut seen = Vec::new();
    while let Some((before, after)) = rest.split_once("<!-- ") {
        let Some((name, after)) = after.split_once(":begin -->\n") else {
            bail!("a comment in {PAGE} is no marker `<!-- name:begin -->`");
        };
        let end = format!("<!-- {name}:end -->");
        let Some((_, after)) = after.split_once(&end) else {
            bail!("{PAGE} lacks the marker `{end}`");
        };
        let command = format!("driftgraph experiment {name} --out {RESULTS}/{name}");
        let none = format!("No results yet; they are made by `{command}`.\n");
        let table = tables.get(name).map_or(none.as_str(), String::as_str);
        out.extend([before, "<!-- ", name, ":begin -->\n", table.trim_end(), "\n", &end]);
        seen.push(name);
        rest = after;
    }
    out.push_str(rest);
    if let Some(name) = tables.keys().find(|name| !seen.contains(&name.as_str())) {
        bail!("{PAGE} has no marker `<!-- {name}:begin -->` for {RESULTS}/{name}");
    }
    Ok(out)
}

/// The first line in which two texts differ, and what each has there.
fn first_difference(page: &str, wanted: &str) -> Option<(usize, String, String)> {
    if page == wanted {
        return None;
    }
    let (page, wanted): (Vec<&str>, Vec<&str>) = (page.lines().collect(), wanted.lines().collect());
    let line = (0..page.len()).find(|&idx| page.get(idx) != wanted.get(idx));
    let line = line.unwrap_or(page.len());
    let text = |lines: &[&str]| lines.get(line).map_or("(end of file)", |text| *text).to_owned();
    Some((line + 1, text(&page), text(&wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_TEXT: &str = "# Accuracy\n\n<!-- lorenz:begin -->\nold\n<!-- lorenz:end -->\n\nWords.\n\
                             <!-- netsim:begin -->\n<!-- netsim:end -->\n";

    fn tables(auroc: &str) -> BTreeMap<String, String> {
        let table = format!("`driftgraph experiment lorenz`\n\n| AUROC |\n| --- |\n| {auroc} |\n");
        BTreeMap::from([("lorenz".to_owned(), table)])
    }

    #[test]
    fn tables_stand_between_their_markers_and_nothing_else_changes() {
        let page = rendered(PAGE_TEXT, &tables("0.781")).unwrap();
        assert!(page.starts_with("# Accuracy\n\n<!-- lorenz:begin -->\n`driftgraph experiment"));
        assert!(page.contains("| 0.781 |\n<!-- lorenz:end -->\n\nWords.\n"));
        assert!(page.contains("No results yet; they are made by `driftgraph experiment netsim"));
        assert!(!page.contains("old"));
        // Doing it again changes nothing.
        assert_eq!(rendered(&page, &tables("0.781")).unwrap(), page);
    }

    #[test]
    fn a_changed_number_is_found_on_either_side() {
        let page = rendered(PAGE_TEXT, &tables("0.781")).unwrap();
        assert_eq!(first_difference(&page, &page), None);
        let results_changed = rendered(&page, &tables("0.782")).unwrap();
        let (line, found, wanted) = first_difference(&page, &results_changed).unwrap();
        assert_eq!((line, found.as_str(), wanted.as_str()), (8, "| 0.781 |", "| 0.782 |"));
        let page_changed = page.replace("0.781", "0.799");
        let again = rendered(&page_changed, &tables("0.781")).unwrap();
        assert!(first_difference(&page_changed, &again).is_some());
    }

    #[test]
    fn results_without_a_place_and_places_without_an_end_are_errors() {
        assert!(rendered("no markers", &tables("0.5")).is_err());
        assert!(rendered("<!-- lorenz:begin -->\n", &tables("0.5")).is_err());
    }
}
