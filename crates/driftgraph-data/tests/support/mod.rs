//! Tables in a temporary folder, and what the loader makes of them.

#![allow(dead_code, reason = "every test file uses some of it")]

use std::io::Write;
use std::path::{Path, PathBuf};

use driftgraph_data::{DataErrors, Loaded, Problem, ReadOptions, load};
use tempfile::TempDir;

/// A folder with files, removed when dropped.
pub(crate) struct Folder {
    dir: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Loads one table given as text.
pub(crate) fn load_text(name: &str, content: impl AsRef<[u8]>) -> Result<Loaded, DataErrors> {
    load_text_with(name, content, &ReadOptions::default())
}

pub(crate) fn load_text_with(
    name: &str,
    content: impl AsRef<[u8]>,
    options: &ReadOptions,
) -> Result<Loaded, DataErrors> {
    let folder = Folder::new();
    load(&[folder.file(name, content)], options)
}

/// The only problem of a table given as text, with its row and column.
pub(crate) fn problem_of(
    name: &str,
    content: impl AsRef<[u8]>,
) -> (Problem, Option<u64>, Option<String>) {
    only_problem(&load_text(name, content).unwrap_err())
}

pub(crate) fn only_problem(errors: &DataErrors) -> (Problem, Option<u64>, Option<String>) {
    assert_eq!(errors.errors().len(), 1, "{errors}");
    let error = &errors.errors()[0];
    (error.problem.clone(), error.place.row, error.place.column.clone())
}

/// Series by name with their times and rows; `NaN` cells are -999, so that tables can be compared.
pub(crate) fn content(loaded: &Loaded) -> Vec<(String, Vec<f64>, Vec<f64>)> {
    let present = |value: &f64| if value.is_nan() { -999.0 } else { *value };
    loaded
        .data
        .series()
        .iter()
        .map(|series| {
            let values = series.values().iter().map(present).collect();
            (series.name().to_owned(), series.times().to_vec(), values)
        })
        .collect()
}

/// One series as [`content`] shows it.
pub(crate) fn series(name: &str, times: &[f64], values: &[f64]) -> (String, Vec<f64>, Vec<f64>) {
    (name.to_owned(), times.to_vec(), values.to_vec())
}
