//! Copies the tables of committed results into the documentation, so that both agree by construction.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::shell::{root, say};

/// The pages with tables; other markers than those of results belong to other commands.
const PAGES: [&str; 9] = [
    "docs/accuracy.md",
    "docs/accuracy-tables.md",
    "docs/experiments-in-the-data.md",
    "docs/limits.md",
    "docs/regimes-and-conditions.md",
    "docs/other-methods.md",
    "docs/speed.md",
    "README.md",
    "paper.md",
];
/// The folder of results, one folder per experiment.
const RESULTS: &str = "results";
/// How commands begin that make tables.
const COMMANDS: [&str; 3] =
    ["`driftgraph experiment ", "`cargo run --release -p driftgraph-core ", "`python benches/"];

/// Writes the tables into the pages, or with `check` fails if they do not hold them already.
pub(crate) fn run(check: bool) -> anyhow::Result<()> {
    let tables = tables(&root().join(RESULTS))?;
    let mut seen = Vec::new();
    for name in PAGES {
        let path = root().join(name);
        let page = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        let (rendered, own) = rendered(name, &page, &tables)?;
        seen.extend(own);
        if check {
            if let Some((line, found, wanted)) = first_difference(&page, &rendered) {
                bail!(
                    "{name} differs from {RESULTS}/ in line {line}; run `cargo xtask docs-tables`\n\
                     page:    {found}\nresults: {wanted}"
                );
            }
        } else if page != rendered {
            fs::write(&path, rendered).with_context(|| format!("cannot write {name}"))?;
        }
    }
    if let Some(name) = tables.keys().find(|name| !seen.contains(name)) {
        bail!("no page has a marker `<!-- {name}:begin -->` for {RESULTS}/{name}");
    }
    say(&format!("docs-tables: ok, {} tables with results", tables.len()));
    Ok(())
}

/// The tables of all experiments that have results, by name; `overview` puts them together.
fn tables(folder: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut tables = BTreeMap::new();
    if !folder.is_dir() {
        return Ok(tables);
    }
    let mut files = vec![("overview".to_owned(), folder.join("overview.md"))];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.push((name, path.join("table.md")));
    }
    for (name, table) in files.into_iter().filter(|(_, table)| table.is_file()) {
        let text = fs::read_to_string(&table)?;
        ensure!(
            COMMANDS.iter().any(|command| text.starts_with(command)),
            "{} does not begin with the command that makes it",
            table.display()
        );
        ensure!(
            !text.contains("**Shortened data and training"),
            "{} was made with `--quick`",
            table.display()
        );
        tables.insert(name, text);
    }
    Ok(tables)
}

/// A page with every table between its markers, and the names of these tables.
fn rendered(
    name: &str,
    page: &str,
    tables: &BTreeMap<String, String>,
) -> anyhow::Result<(String, Vec<String>)> {
    let mut out = String::new();
    let mut rest = page;
    let mut seen = Vec::new();
    while let Some((before, after)) = rest.split_once("<!-- ") {
        let Some((table, after)) = after.split_once(":begin -->\n") else {
            bail!("a comment in {name} is no marker `<!-- name:begin -->`");
        };
        let end = format!("<!-- {table}:end -->");
        let Some((old, after)) = after.split_once(&end) else {
            bail!("{name} lacks the marker `{end}`");
        };
        out.extend([before, "<!-- ", table, ":begin -->\n"]);
        match tables.get(table) {
            Some(text) => out.extend([text.trim_end(), "\n"]),
            None => out.push_str(old),
        }
        out.push_str(&end);
        seen.push(table.to_owned());
        rest = after;
    }
    out.push_str(rest);
    Ok((out, seen))
}

/// A page with other content between the markers of one name; none where the page lacks them.
pub(crate) fn between_markers(page: &str, name: &str, content: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {name}:begin -->\n"), format!("<!-- {name}:end -->"));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{}\n{end}{after}", content.trim_end()))
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
                             <!-- netsim:begin -->\nmade elsewhere\n<!-- netsim:end -->\n";

    fn tables(auroc: &str) -> BTreeMap<String, String> {
        let table = format!("`driftgraph experiment lorenz`\n\n| AUROC |\n| --- |\n| {auroc} |\n");
        BTreeMap::from([("lorenz".to_owned(), table)])
    }

    fn page_of(text: &str, tables: &BTreeMap<String, String>) -> String {
        rendered("page", text, tables).unwrap().0
    }

    #[test]
    fn tables_stand_between_their_markers_and_nothing_else_changes() {
        let (page, seen) = rendered("page", PAGE_TEXT, &tables("0.781")).unwrap();
        assert!(page.starts_with("# Accuracy\n\n<!-- lorenz:begin -->\n`driftgraph experiment"));
        assert!(page.contains("| 0.781 |\n<!-- lorenz:end -->\n\nWords.\n"));
        assert!(page.contains("<!-- netsim:begin -->\nmade elsewhere\n<!-- netsim:end -->"));
        assert!(!page.contains("old"));
        assert_eq!(seen, ["lorenz", "netsim"]);
        // Doing it again changes nothing.
        assert_eq!(page_of(&page, &tables("0.781")), page);
    }

    #[test]
    fn a_changed_number_is_found_on_either_side() {
        let page = page_of(PAGE_TEXT, &tables("0.781"));
        assert_eq!(first_difference(&page, &page), None);
        let results_changed = page_of(&page, &tables("0.782"));
        let (line, found, wanted) = first_difference(&page, &results_changed).unwrap();
        assert_eq!((line, found.as_str(), wanted.as_str()), (8, "| 0.781 |", "| 0.782 |"));
        let page_changed = page.replace("0.781", "0.799");
        let again = page_of(&page_changed, &tables("0.781"));
        assert!(first_difference(&page_changed, &again).is_some());
    }

    #[test]
    fn one_place_is_filled_and_others_stay() {
        let page = between_markers(PAGE_TEXT, "netsim", "new\n").unwrap();
        assert_eq!(page, PAGE_TEXT.replace("made elsewhere", "new"));
        assert_eq!(between_markers(PAGE_TEXT, "dream3", "new"), None);
    }

    #[test]
    fn places_without_an_end_are_errors() {
        assert!(rendered("page", "<!-- lorenz:begin -->\n", &tables("0.5")).is_err());
        assert!(rendered("page", "<!-- lorenz -->\n", &tables("0.5")).is_err());
    }
}
