//! The data of a run: where they came from, and whether they are still the same.

use std::path::{Path, PathBuf};

use driftgraph_core::SeriesSet;

use crate::fingerprint::fingerprint;
use crate::intervention_columns::COLUMNS;
use crate::load::{Loaded, load};
use crate::roles::ReadOptions;
use crate::run_error::RunError;
use crate::source;
use crate::time::TimeAxis;

/// Where the data of a run came from, and how to tell whether they have changed.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct DataDescription {
    /// The files.
    pub files: Vec<PathBuf>,
    /// How they were read.
    pub options: ReadOptions,
    /// Hash of their contents.
    pub fingerprint: String,
    /// Names of series that were called after files with other names than now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_names: Option<Vec<String>>,
    /// Number of series.
    pub series: usize,
    /// Number of variables.
    pub variables: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of cells without a value.
    pub missing_cells: usize,
    /// What the numbers on the time axis mean.
    pub time: TimeAxis,
}

impl DataDescription {
    /// Describes data as they were read.
    pub fn new(loaded: &Loaded, options: &ReadOptions) -> Self {
        let data = &loaded.data;
        let absolute = |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let files: Vec<PathBuf> = loaded.files.iter().map(absolute).collect();
        // The word that stands for columns of the data is no file.
        let table = |table: &PathBuf| {
            if table.as_os_str() == COLUMNS { table.clone() } else { absolute(table) }
        };
        let names = data.series().iter().map(|series| series.name().to_owned()).collect();
        let series_names = Some(names)
            .filter(|names| named_after_files(loaded) && *names != source::names_of_files(&files));
        Self {
            files,
            options: ReadOptions {
                interventions: options.interventions.as_ref().map(table),
                ..options.clone()
            },
            fingerprint: fingerprint(data),
            series_names,
            series: data.n_series(),
            variables: data.n_variables(),
            rows: data.n_rows(),
            missing_cells: data.n_missing(),
            time: loaded.time_axis.clone(),
        }
    }

    /// Reads the data again, from `files` where they were moved; changed data are refused.
    ///
    /// Data that lie in the run's folder are found there wherever the folder is now.
    pub fn load_again(&self, folder: &Path, files: &[PathBuf]) -> Result<Loaded, RunError> {
        let remembered = self.files.iter().map(|file| {
            let inside = file.file_name().map(|name| folder.join(name));
            inside
                .filter(|inside| !file.exists() && inside.exists())
                .unwrap_or_else(|| file.clone())
        });
        let files = if files.is_empty() { remembered.collect() } else { files.to_vec() };
        let folder = folder.to_owned();
        let mut options = self.options.clone();
        if let Some(table) = &mut options.interventions {
            let inside = table.file_name().map(|name| folder.join(name));
            if let Some(inside) = inside.filter(|inside| !table.exists() && inside.exists()) {
                *table = inside;
            }
        }
        let loaded = match load(&files, &options) {
            Ok(loaded) => loaded,
            Err(source) => return Err(RunError::Data { folder, source }),
        };
        self.same(loaded).ok_or(RunError::DataChanged { folder, files })
    }

    /// The data with the names they had at the fit, or `None` if they are not those of the fit.
    ///
    /// Series without a column for their name are called after their files, which may have other names by now.
    pub fn same(&self, mut loaded: Loaded) -> Option<Loaded> {
        if fingerprint(&loaded.data) == self.fingerprint {
            return Some(loaded);
        }
        if !named_after_files(&loaded) || loaded.files.len() != self.files.len() {
            return None;
        }
        let names = self.series_names.clone();
        let names = names.unwrap_or_else(|| source::names_of_files(&self.files));
        loaded.data = renamed(&loaded.data, &names)?;
        (fingerprint(&loaded.data) == self.fingerprint).then_some(loaded)
    }
}

/// Whether each file is one series, which no column names.
fn named_after_files(loaded: &Loaded) -> bool {
    // Archives of arrays have neither column, and number their series.
    loaded.time_column.is_some()
        && loaded.series_column.is_none()
        && loaded.data.n_series() == loaded.files.len()
}

/// The same series under other names; `None` if two of these are equal.
fn renamed(data: &SeriesSet, names: &[String]) -> Option<SeriesSet> {
    let series = data.series().iter().zip(names).map(|(series, name)| series.renamed(name));
    data.with_series(series.collect()).ok()
}
