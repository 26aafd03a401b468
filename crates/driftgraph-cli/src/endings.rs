//! Endings of files to write: one that promises another format is refused before any work is done.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use driftgraph_data::formats::written_endings;
use driftgraph_data::graph_formats::GraphFormat;

/// A file for a table of numbers.
pub(crate) fn table_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| check(path, &written_endings()))
}

/// A file for edges with their scores.
pub(crate) fn edges_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| check(path, &["csv", "txt"]))
}

/// A file for a picture.
pub(crate) fn picture_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| check(path, &["svg"]))
}

/// A file for a page.
pub(crate) fn page_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| check(path, &["html", "htm"]))
}

/// The format of a graph by the name of its file; one without an ending is a table.
pub(crate) fn graph_format(path: &std::path::Path) -> anyhow::Result<GraphFormat> {
    match GraphFormat::of_file(path) {
        Some(format) => Ok(format),
        None if matches!(ending(path).as_deref(), None | Some("txt")) => Ok(GraphFormat::Csv),
        None => anyhow::bail!(
            "the format of `{}` does not follow from its name: end it with .csv, .dot, .graphml, .gexf, .cyjs or \
             .json, or say it with `--format`",
            path.display()
        ),
    }
}

fn ending(path: &std::path::Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase())
}

/// Endings as people write them: `.csv, .tsv, .txt`.
pub(crate) fn told(endings: &[&str]) -> String {
    endings.iter().map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(", ")
}

/// The path itself if it has one of the endings, or none.
fn check(path: PathBuf, known: &[&str]) -> Result<PathBuf, String> {
    match ending(&path) {
        Some(ending) if !known.contains(&ending.as_str()) => {
            Err(format!("`.{ending}` files cannot be written, only {}", told(known)))
        }
        _ => Ok(path),
    }
}
