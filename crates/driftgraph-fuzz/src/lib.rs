//! Everything that reads bytes from outside, as functions that must not panic, hang, or take much memory.
//!
//! The tests run them on the corpus and on changed copies of it; `cargo xtask fuzz` gives them to
//! libFuzzer, which looks for inputs that reach new code. Each new finding becomes a file of the corpus.

#![expect(clippy::missing_panics_doc, reason = "a panic is what is looked for")]

mod change;
mod checkpoint;
mod model;

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use bytes::Bytes;
use driftgraph_core::Experiment;
use driftgraph_core::fitted::expression::Expression;
use driftgraph_core::fitted::intervention::Interventions;
use driftgraph_data::edges::{Orientation, read_edges_in_memory};
use driftgraph_data::interventions::read_interventions_in_memory;
use driftgraph_data::{Duplicates, Loaded, ReadOptions, load_in_memory};
use driftgraph_methods::{FitPlan, asked_in_toml};

pub use change::changed;
pub use checkpoint::checkpoint;
pub use model::{description, model, sound};

/// One reader of bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder in the corpus.
    pub name: &'static str,
    /// The ways in which it may be asked to read; the tests try them all.
    pub ways: u64,
    /// Reads the bytes in one of its ways, counted from 0.
    pub run: fn(&[u8], u64),
    /// Words that matter to the reader.
    pub words: &'static [&'static str],
}

impl Target {
    /// Reads the bytes in one way, the same for the same bytes.
    ///
    /// A fuzzer has so many inputs that each way gets its share, in a fraction of the time of reading all of them in
    /// all ways.
    pub fn run_one_way(&self, bytes: &[u8]) {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        (self.run)(bytes, hasher.finish() % self.ways);
    }
}

/// All readers.
pub const TARGETS: [Target; 12] = [
    Target {
        name: "csv",
        ways: TABLE_WAYS,
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
        ways: TABLE_WAYS,
        run: npz,
        words: &["PK", "<f8", ">f8", "fortran_order", "shape", "(2, 3)"],
    },
    Target {
        name: "spreadsheet",
        ways: 2 * TABLE_WAYS,
        run: spreadsheet,
        words: &["PK", "xl/workbook.xml", "content.xml", "<sheetData>", "table:table-cell"],
    },
    Target {
        name: "parquet",
        ways: TABLE_WAYS,
        run: parquet,
        words: &["PAR1", "time", "pandas", "snappy"],
    },
    Target {
        name: "edges",
        ways: 2,
        run: edges,
        words: &["source", "target", "probability", "->", "graph"],
    },
    Target {
        name: "done",
        ways: 2,
        run: done,
        words: &[
            "series", "variable", "kind", "value", "from", "to", "knockout", "hold", "shift", "*",
        ],
    },
    Target {
        name: "columns",
        ways: 2,
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
        ways: 1,
        run: settings,
        words: &["preset", "bridge", "steps", "1e400", "nan"],
    },
    Target {
        name: "interventions",
        ways: 1,
        run: interventions,
        words: &["x1", "d ", "sin(", "**", "`", "in "],
    },
    Target {
        name: "model",
        ways: 1,
        run: model,
        words: &["F64", "F32", "shape", "data_offsets", "__metadata__"],
    },
    Target {
        name: "description",
        ways: 1,
        run: description,
        words: &["format_version", "model", "null", "-1"],
    },
    Target { name: "checkpoint", ways: 1, run: checkpoint, words: &["driftgraph checkpoint 1\n"] },
];

/// The committed inputs of a reader.
pub fn corpus(target: &Target) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name)
}

/// Ways to read a table: strictly, with duplicates merged, with rows as variables.
const TABLE_WAYS: u64 = 3;

fn read_table(name: &str, bytes: &[u8], way: u64) {
    let options = ReadOptions {
        max_bytes: 1 << 22,
        duplicates: if way == 0 { Duplicates::Error } else { Duplicates::Mean },
        transpose: way == 2,
        ..ReadOptions::default()
    };
    if let Ok(loaded) = load_in_memory(Path::new(name), &Bytes::copy_from_slice(bytes), &options) {
        assert!(loaded.data.n_rows() > 0, "data without rows were accepted");
    }
}

/// A text table.
pub fn csv(bytes: &[u8], way: u64) {
    read_table("a.csv", bytes, way);
}

/// An archive of numpy arrays.
pub fn npz(bytes: &[u8], way: u64) {
    read_table("a.npz", bytes, way);
}

/// A spreadsheet.
pub fn spreadsheet(bytes: &[u8], way: u64) {
    let name = if way < TABLE_WAYS { "a.xlsx" } else { "a.ods" };
    read_table(name, bytes, way % TABLE_WAYS);
}

/// A Parquet file.
pub fn parquet(bytes: &[u8], way: u64) {
    read_table("a.parquet", bytes, way);
}

/// A list or matrix of edges.
pub fn edges(bytes: &[u8], way: u64) {
    let bytes = Bytes::copy_from_slice(bytes);
    let orientation = (way == 1).then_some(Orientation::SourceRows);
    if let Ok(edges) = read_edges_in_memory(Path::new("edges.csv"), &bytes, orientation) {
        let _ = edges.scores(&edges.variables).map(|scores| scores.ranked());
        let _ = edges.graph(&edges.variables);
    }
}

/// Data that a table of what was done may go with.
static MEASURED: LazyLock<Loaded> = LazyLock::new(|| {
    const TABLE: &[u8] = b"series,time,x,y\na,0,1,2\na,1,2,3\na,2,,4\nb,0,1,1\nb,1,3,3\n";
    let table = Bytes::from_static(TABLE);
    let loaded = load_in_memory(Path::new("measured.csv"), &table, &ReadOptions::default());
    loaded.expect("the table is a good one")
});

/// A table of what was done to the system, with or without an input among the variables.
pub fn done(bytes: &[u8], way: u64) {
    let bytes = Bytes::copy_from_slice(bytes);
    let table = read_interventions_in_memory(Path::new("done.csv"), &bytes, &MEASURED.time_axis);
    let Ok(table) = table else { return };
    let inputs = if way == 0 { Vec::new() } else { vec!["y".to_owned()] };
    let experiment = Experiment { inputs, interventions: table.rows, ..Experiment::default() };
    let Ok(set) = experiment.apply(&MEASURED.data) else { return };
    let _ = (set.has_interventions(), set.amounts().len());
    (0..set.n_series()).for_each(|series| {
        let _ = set.set_pieces(series);
    });
}

/// A table whose own columns say what was done, with a column of words; and the same as a table of inputs by time.
pub fn columns(bytes: &[u8], way: u64) {
    let (name, bytes) = (Path::new("columns.csv"), Bytes::copy_from_slice(bytes));
    let limited = ReadOptions { max_bytes: 1 << 22, ..ReadOptions::default() };
    let options = if way == 0 {
        ReadOptions { interventions: Some("columns".into()), ..limited }
    } else {
        ReadOptions { words: Some("x".to_owned()), ..limited }
    };
    let Ok(loaded) = load_in_memory(name, &bytes, &options) else { return };
    let set = &loaded.data;
    let _ = (set.has_interventions(), set.amounts().len(), set.word(0, 1.0));
    for series in 0..set.n_series() {
        let pieces = set.set_pieces(series);
        let _ = Interventions::of_pieces(&pieces, set.variables());
    }
}

/// A settings file.
pub fn settings(bytes: &[u8], _: u64) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(asked) = asked_in_toml(text) else { return };
    let Ok(plan) = FitPlan::new(asked) else { return };
    assert!(plan.differences(&plan).is_empty(), "settings differ from themselves");
}

/// Interventions, one per line.
pub fn interventions(bytes: &[u8], _: u64) {
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
