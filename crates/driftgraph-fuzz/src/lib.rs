//! Everything that reads bytes from outside, as functions that must not panic, hang, or take much memory.
//!
//! The tests run them on the corpus and on changed copies of it; `cargo xtask fuzz` gives them to
//! libFuzzer, which looks for inputs that reach new code. Each new finding becomes a file of the corpus.

#![expect(clippy::missing_panics_doc, reason = "a panic is what is looked for")]

mod change;
mod model;

use std::path::{Path, PathBuf};

use bytes::Bytes;
use driftgraph_core::Experiment;
use driftgraph_core::fitted::expression::Expression;
use driftgraph_core::fitted::intervention::Interventions;
use driftgraph_data::edges::{Orientation, read_edges_in_memory};
use driftgraph_data::interventions::read_interventions_in_memory;
use driftgraph_data::{Duplicates, ReadOptions, load_in_memory};
use driftgraph_methods::{FitPlan, asked_in_toml};
use driftgraph_run::checkpoint::{key, state_in};

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
pub const TARGETS: [Target; 12] = [
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
        name: "done",
        run: done,
        words: &[
            "series", "variable", "kind", "value", "from", "to", "knockout", "hold", "shift", "*",
        ],
    },
    Target {
        name: "columns",
        run: columns,
        words: &[
            "time",
            "series",
            "knockout:x",
            "hold:y",
            "knockdown:",
            "shift:",
            "overexpress:",
            "x",
            "night",
        ],
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

fn read_table(name: &str, bytes: &[u8]) {
    let (name, bytes) = (Path::new(name), Bytes::copy_from_slice(bytes));
    let strict = ReadOptions { max_bytes: 1 << 22, ..ReadOptions::default() };
    let lenient = ReadOptions { duplicates: Duplicates::Mean, ..strict.clone() };
    let turned = ReadOptions { transpose: true, ..lenient.clone() };
    for options in [&strict, &lenient, &turned] {
        if let Ok(loaded) = load_in_memory(name, &bytes, options) {
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
    let bytes = Bytes::copy_from_slice(bytes);
    for orientation in [None, Some(Orientation::SourceRows)] {
        if let Ok(edges) = read_edges_in_memory(Path::new("edges.csv"), &bytes, orientation) {
            let _ = edges.scores(&edges.variables).map(|scores| scores.ranked());
            let _ = edges.graph(&edges.variables);
        }
    }
}

/// A table of what was done to the system, with data that it may go with.
pub fn done(bytes: &[u8]) {
    const MEASURED: &[u8] = b"series,time,x,y\na,0,1,2\na,1,2,3\na,2,,4\nb,0,1,1\nb,1,3,3\n";
    let measured = Bytes::from_static(MEASURED);
    let loaded = load_in_memory(Path::new("measured.csv"), &measured, &ReadOptions::default())
        .expect("the table is a good one");
    let bytes = Bytes::copy_from_slice(bytes);
    let table = read_interventions_in_memory(Path::new("done.csv"), &bytes, &loaded.time_axis);
    let Ok(table) = table else { return };
    for inputs in [Vec::new(), vec!["y".to_owned()]] {
        let interventions = table.rows.clone();
        let experiment = Experiment { inputs, interventions, ..Experiment::default() };
        let Ok(set) = experiment.apply(&loaded.data) else { continue };
        let _ = (set.has_interventions(), set.amounts().len());
        (0..set.n_series()).for_each(|series| {
            let _ = set.set_pieces(series);
        });
    }
}

/// A table whose own columns say what was done, with a column of words; and the same as a table of inputs by time.
pub fn columns(bytes: &[u8]) {
    let (name, bytes) = (Path::new("columns.csv"), Bytes::copy_from_slice(bytes));
    let limited = ReadOptions { max_bytes: 1 << 22, ..ReadOptions::default() };
    let handled = ReadOptions { interventions: Some("columns".into()), ..limited.clone() };
    let worded = ReadOptions { words: Some("x".to_owned()), ..limited };
    for options in [handled, worded] {
        let Ok(loaded) = load_in_memory(name, &bytes, &options) else { continue };
        let set = &loaded.data;
        let _ = (set.has_interventions(), set.amounts().len(), set.word(0, 1.0));
        for series in 0..set.n_series() {
            let pieces = set.set_pieces(series);
            let _ = Interventions::of_pieces(&pieces, set.variables());
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
    let _ = state_in(bytes, &key("data", "settings"));
}
