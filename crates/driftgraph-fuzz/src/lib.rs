//! Everything that reads bytes from outside, as functions that must not panic, hang, or take much memory.
//!
//! The tests run them on the corpus and on changed copies of it; `cargo xtask fuzz` gives them to
//! libFuzzer, which looks for inputs that reach new code. Each new finding becomes a file of the corpus.

#![expect(clippy::missing_panics_doc, reason = "a panic is what is looked for")]

mod change;
mod model;

use std::fs;
use std::path::PathBuf;

use driftgraph_core::fitted::expression::Expression;
use driftgraph_core::fitted::intervention::Interventions;
use driftgraph_data::edges::{Orientation, read_edges};
use driftgraph_data::{Duplicates, ReadOptions, load};
use driftgraph_methods::{FitPlan, asked_in_toml};
use driftgraph_run::checkpoint::{Checkpoints, key};

pub use change::changed;
pub use model::{description, model, sound};

/// One reader of bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder in the corpus.
    pub name: &'static str,
    /// Reads the bytes.
    pub run: fn(&[u8]),
    /// Words that matter to the reader.
    pub words: &'static [&'static str],
}

/// All readers.
pub const TARGETS: [Target; 10] = [
    Target {
        name: "csv",
        run: csv,
        words: &[
            "time",
            "series",
            "variable",
            "value",
            "NaN",
            "\r\n",
            "1.234,5",
            "31.01.2020",
            "1959Q1",
            "t=20",
        ],
    },
    Target {
        name: "npz",
        run: npz,
        words: &["PK", "<f8", ">f8", "fortran_order", "shape", "(2, 3)"],
    },
    Target {
        name: "spreadsheet",
        run: spreadsheet,
        words: &["PK", "xl/workbook.xml", "content.xml", "<sheetData>", "table:table-cell"],
    },
    Target { name: "parquet", run: parquet, words: &["PAR1", "time", "pandas", "snappy"] },
    Target {
        name: "edges",
        run: edges,
        words: &["source", "target", "probability", "->", "graph"],
    },
    Target {
        name: "settings",
        run: settings,
        words: &["preset", "bridge", "steps", "1e400", "nan"],
    },
    Target {
        name: "interventions",
        run: interventions,
        words: &["x1", "d ", "sin(", "**", "`", "in "],
    },
    Target {
        name: "model",
        run: model,
        words: &["F64", "F32", "shape", "data_offsets", "__metadata__"],
    },
    Target {
        name: "description",
        run: description,
        words: &["format_version", "model", "null", "-1"],
    },
    Target { name: "checkpoint", run: checkpoint, words: &["driftgraph checkpoint 1\n"] },
];

/// The committed inputs of a reader.
pub fn corpus(target: &Target) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name)
}

thread_local! {
    // One folder per thread: making one for each of millions of inputs would be most of the work.
    static FOLDER: tempfile::TempDir = scratch();
}

/// A folder in memory where the system has one.
fn scratch() -> tempfile::TempDir {
    let memory = tempfile::Builder::new().prefix("driftgraph-fuzz-").tempdir_in("/dev/shm");
    memory.or_else(|_| tempfile::tempdir()).expect("there is room for a small folder")
}

/// The bytes as a file of this name.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    FOLDER.with(|folder| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("there is room for a small file");
        path
    })
}

fn read_table(name: &str, bytes: &[u8]) {
    let path = file(name, bytes);
    let strict = ReadOptions { max_bytes: 1 << 22, ..ReadOptions::default() };
    let lenient = ReadOptions { duplicates: Duplicates::Mean, ..strict.clone() };
    let turned = ReadOptions { transpose: true, ..lenient.clone() };
    for options in [&strict, &lenient, &turned] {
        if let Ok(loaded) = load(std::slice::from_ref(&path), options) {
            assert!(loaded.data.n_rows() > 0, "data without rows were accepted");
        }
    }
}

/// A text table.
pub fn csv(bytes: &[u8]) {
    read_table("a.csv", bytes);
}

/// An archive of numpy arrays.
pub fn npz(bytes: &[u8]) {
    read_table("a.npz", bytes);
}

/// A spreadsheet.
pub fn spreadsheet(bytes: &[u8]) {
    read_table("a.xlsx", bytes);
    read_table("a.ods", bytes);
}

/// A Parquet file.
pub fn parquet(bytes: &[u8]) {
    read_table("a.parquet", bytes);
}

/// A list or matrix of edges.
pub fn edges(bytes: &[u8]) {
    let path = file("edges.csv", bytes);
    for orientation in [None, Some(Orientation::SourceRows)] {
        if let Ok(edges) = read_edges(&path, orientation) {
            let _ = edges.scores(&edges.variables).map(|scores| scores.ranked());
            let _ = edges.graph(&edges.variables);
        }
    }
}

/// A settings file.
pub fn settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(asked) = asked_in_toml(text) else { return };
    let Ok(plan) = FitPlan::new(asked) else { return };
    assert!(plan.differences(&plan).is_empty(), "settings differ from themselves");
}

/// Interventions, one per line.
pub fn interventions(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let names: Vec<String> = ["x1", "x2", "gene 1"].map(String::from).into();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if let Ok(interventions) = Interventions::parse(&lines, &names) {
        let _ = (interventions.bounds(), interventions.variables());
    }
    for line in &lines {
        if let Ok(expression) = Expression::parse(line, &names) {
            let _ = expression.value(0.5, &[1.0, -2.0, 0.0]);
        }
    }
}

/// A checkpoint.
pub fn checkpoint(bytes: &[u8]) {
    let folder = FOLDER.with(|folder| folder.path().join("checkpoint"));
    let checkpoints = Checkpoints::open(folder.clone());
    fs::write(folder.join("fit-1.state"), bytes).expect("there is room for a small file");
    let _ = checkpoints.check();
    let _ = checkpoints.find("fit-1", &key("data", "settings"));
}
