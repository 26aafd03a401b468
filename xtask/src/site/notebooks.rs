//! Notebooks as pages: text, code and the outputs that are kept with them.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::shell::root;

/// How the names of notebooks end.
pub(super) const ENDING: &str = "ipynb";

/// Writes a notebook as a page beside where the notebook itself stands.
pub(super) fn write_page(notebook: &Path, source: &Path) -> anyhow::Result<()> {
    let unusable = || format!("{} is no notebook", notebook.display());
    let text = fs::read_to_string(root().join(notebook)).with_context(unusable)?;
    let parsed: Value = serde_json::from_str(&text).with_context(unusable)?;
    let name = notebook.file_name().with_context(unusable)?.to_string_lossy();
    let page = page(&parsed, &name).with_context(unusable)?;
    let place = source.join(notebook).with_extension("md");
    fs::create_dir_all(place.parent().context("a page lies in a folder")?)?;
    Ok(fs::write(place, page)?)
}

/// The text of a page with its links to notebooks leading to their pages.
pub(super) fn linked_to_pages(text: &str) -> String {
    text.replace(&format!(".{ENDING})"), ".md)")
}

fn page(notebook: &Value, name: &str) -> anyhow::Result<String> {
    let cells = notebook["cells"].as_array().context("it has no cells")?;
    let mut page = String::new();
    for cell in cells {
        let source = joined(&cell["source"]);
        match cell["cell_type"].as_str() {
            Some("markdown") => page.push_str(&source),
            Some("code") => {
                page.push_str(&fenced("python", &source)?);
                for output in cell["outputs"].as_array().into_iter().flatten() {
                    page.push_str(&shown(output)?);
                }
            }
            _ => continue,
        }
        page.push_str("\n\n");
    }
    page.extend([
        "---\n\nThis page is a notebook with its outputs: [download it](<",
        name,
        ">) to run it.\n",
    ]);
    Ok(page)
}

/// What a cell has put out: a table or a picture where there is one, else text.
fn shown(output: &Value) -> anyhow::Result<String> {
    let data = &output["data"];
    if let Some(picture) = data["image/png"].as_str() {
        let bytes: String = picture.split_whitespace().collect();
        return Ok(format!("\n\n<img alt=\"picture\" src=\"data:image/png;base64,{bytes}\">"));
    }
    if !data["text/html"].is_null() {
        return Ok(format!("\n\n{}", html(&joined(&data["text/html"]))));
    }
    let text = if data.is_null() { &output["text"] } else { &data["text/plain"] };
    match joined(text) {
        none if none.is_empty() => Ok(none),
        text => Ok(format!("\n\n{}", fenced("text", text.trim_end())?)),
    }
}

/// Markup without styles of its own, and in lines that Markdown does not take for its own.
fn html(markup: &str) -> String {
    let mut kept = String::new();
    let mut rest = markup;
    while let Some((before, style)) = rest.split_once("<style") {
        kept.push_str(before);
        rest = style.split_once("</style>").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    let lines = kept.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

fn fenced(language: &str, text: &str) -> anyhow::Result<String> {
    ensure!(!text.contains("```"), "a cell has a fence in it");
    Ok(format!("```{language}\n{text}\n```"))
}

/// Text that may be kept as a list of lines.
fn joined(text: &Value) -> String {
    match text {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells_and_their_outputs_become_a_page() {
        let table =
            "<div>\n<style scoped>\n  a {}\n</style>\n<table>\n\n    <td>1</td></table></div>";
        let notebook = json!({"cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "text"]},
            {"cell_type": "raw", "source": "left out"},
            {"cell_type": "code", "source": "f()", "outputs": [
                {"output_type": "stream", "text": ["said\n"]},
                {"data": {"text/html": table, "text/plain": "1"}},
                {"data": {"image/png": "QUJD\nRA==\n", "text/plain": "<Figure>"}},
                {"data": {"text/plain": "2"}},
            ]},
        ]});
        let wanted = "# Title\ntext\n\n```python\nf()\n```\n\n```text\nsaid\n```\n\n\
                      <div>\n<table>\n<td>1</td></table></div>\n\n\
                      <img alt=\"picture\" src=\"data:image/png;base64,QUJDRA==\">\n\n```text\n2\n```\n\n";
        let page = page(&notebook, "a.ipynb").unwrap();
        assert!(page.starts_with(wanted), "{page}");
        assert!(page.ends_with("[download it](<a.ipynb>) to run it.\n"), "{page}");
        let linked = linked_to_pages("[a](notebooks/a.ipynb) `a.ipynb`");
        assert_eq!(linked, "[a](notebooks/a.md) `a.ipynb`");
    }
}
