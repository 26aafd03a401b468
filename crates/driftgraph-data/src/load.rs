//! Files in, a checked set of series out.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use driftgraph_core::{Experiment, SeriesSet, SignatureGraph};

use crate::assemble::assemble;
use crate::error::{Collector, DataErrors, Place};
use crate::formats::{FileContent, format_of};
use crate::guesses;
use crate::interventions::with_experiment;
use crate::options::ReadOptions;
use crate::problem::Problem;
use crate::rows::KeyColumns;
use crate::source::{self, TableFile};
use crate::time::TimeAxis;
use crate::time_names::TimeName;

/// What was read, and what was noticed on the way.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The measurements.
    pub data: SeriesSet,
    /// What was done to the system meanwhile, in names; the data know of it.
    pub experiment: Experiment,
    /// What the numbers on the time axis mean.
    pub time_axis: TimeAxis,
    /// The graph behind the data, where an archive carries one.
    pub truth: Option<SignatureGraph>,
    /// The files read.
    pub files: Vec<PathBuf>,
    /// The column that the times are in; an archive of arrays has none.
    pub time_column: Option<String>,
    /// The column that names the series, if there is one.
    pub series_column: Option<String>,
    /// What was decided or changed while reading, in whole sentences.
    pub notices: Vec<String>,
}

/// Reads tables (files, or folders of files) into one set of series.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("visits.csv");
/// std::fs::write(&path, "series,time,x,y\na,0,1.0,2.0\na,1.5,,2.5\nb,0,0.5,1.0\n")?;
/// let loaded = driftgraph_data::load(&[path], &driftgraph_data::ReadOptions::default())?;
/// assert_eq!(loaded.data.variables(), ["x", "y"]);
/// assert_eq!(loaded.data.series()[0].value(1, 0), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load(paths: &[PathBuf], options: &ReadOptions) -> Result<Loaded, DataErrors> {
    let mut notices = Vec::new();
    let files = source::expand(paths, &mut notices)?;
    let sources: Vec<TableFile<'_>> = files.iter().map(|file| TableFile::on_disk(file)).collect();
    load_files(&sources, options, notices)
}

/// Reads a table whose bytes are in memory; its name says what format it has, and messages call it so.
///
/// ```
/// let table = b"time,x\n0,1.0\n1,2.0\n".to_vec().into();
/// let options = driftgraph_data::ReadOptions::default();
/// let loaded = driftgraph_data::load_in_memory("sent.csv".as_ref(), &table, &options)?;
/// assert_eq!(loaded.data.n_rows(), 2);
/// # Ok::<(), driftgraph_data::DataErrors>(())
/// ```
pub fn load_in_memory(
    name: &Path,
    bytes: &Bytes,
    options: &ReadOptions,
) -> Result<Loaded, DataErrors> {
    load_files(&[TableFile::in_memory(name, bytes)], options, Vec::new())
}

fn load_files(
    files: &[TableFile<'_>],
    options: &ReadOptions,
    mut notices: Vec<String>,
) -> Result<Loaded, DataErrors> {
    let mut tables = Vec::new();
    let mut truth = None;
    // Every file is looked at before giving up, so that all problems are reported at once.
    let mut collector = Collector::default();
    for file in files {
        match read_file(*file, options) {
            Ok((mut rows, graph)) => {
                for notice in std::mem::take(&mut rows.notices) {
                    // What was found in many files is told once.
                    if !notices.contains(&notice) {
                        notices.push(notice);
                    }
                }
                tables.push(rows);
                truth = truth.or(graph);
            }
            Err(errors) => {
                for error in errors.errors() {
                    collector.push(error.clone())?;
                }
            }
        }
    }
    collector.finish()?;
    let mut words = Vec::new();
    if let Some(column) = &options.words {
        tables.iter_mut().for_each(|rows| rows.number_words(column, &mut words));
    }
    let key_columns = tables[0].key_columns.clone();
    let (data, time_axis) = assemble(tables, options, &mut notices)?;
    let (data, experiment) = with_experiment(data, options, &time_axis, &mut notices)?;
    let of_words = options.words.as_ref().filter(|_| !words.is_empty());
    let of_words = of_words.and_then(|name| data.variables().iter().position(|own| own == name));
    let data = match of_words {
        Some(place) => data.with_words(place, words),
        None => data,
    };
    let KeyColumns { time: time_column, series: series_column, .. } = key_columns;
    let is_likely =
        |column: &&String| TimeName::of(column).is_some_and(|name| name.is_likely_only());
    if let Some(column) = time_column.as_ref().filter(is_likely).filter(|_| options.time.is_none())
    {
        notices.push(format!("`{column}` was taken as time, by its name; `--time` overrules"));
    }
    if options.even_steps {
        notices.push(
            "rows were taken as equally spaced in time, and counted: 0, 1, 2, ...".to_owned(),
        );
    }
    let files = files.iter().map(|file| file.path.to_owned()).collect();
    Ok(Loaded { data, experiment, time_axis, truth, files, time_column, series_column, notices })
}

/// Reads a file as the user said, and where that fails, or makes no sense, by guesses, which are told.
fn read_file(file: TableFile<'_>, said: &ReadOptions) -> Result<FileContent, DataErrors> {
    let path = file.path;
    if !file.exists() {
        return Err(Place::file(path).problem(Problem::NotFound).into());
    }
    let unknown = || Place::file(path).problem(Problem::UnknownFormat);
    let format = format_of(path).ok_or_else(unknown)?;
    let (mut options, mut told) = (said.clone(), Vec::new());
    loop {
        let guess = match format.read(file, &options) {
            Ok((mut rows, graph)) => {
                if let Some(guess) = guesses::row_numbers(&rows, &options) {
                    guess
                } else {
                    rows.notices.splice(0..0, told);
                    return Ok((rows, graph));
                }
            }
            Err(errors) => format.guess(file, errors, &options)?,
        };
        options = guess.options;
        told.push(guess.notice);
    }
}

/// Names of the columns of a table, as far as they can be read; an archive of arrays has none.
///
/// For those who ask which column is which before anything else is certain: a table with other problems still has
/// columns.
pub fn column_names(path: &Path, options: &ReadOptions) -> Vec<String> {
    format_of(path)
        .map_or_else(Vec::new, |format| format.column_names(TableFile::on_disk(path), options))
}

/// The tables of a folder in the order they are read, or the file itself; none where there is nothing to read.
pub fn tables_in(path: &Path) -> Vec<PathBuf> {
    source::expand(&[path.to_owned()], &mut Vec::new()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_even_where_the_rest_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("visits.csv");
        std::fs::write(&path, "\u{feff}time;\"a;b\";\"say \"\"x\"\"\"\n0;1;what\n").unwrap();
        assert_eq!(column_names(&path, &ReadOptions::default()), ["time", "a;b", "say \"x\""]);
        assert!(load(std::slice::from_ref(&path), &ReadOptions::default()).is_err());
        let missing = folder.path().join("none.csv");
        assert!(column_names(&missing, &ReadOptions::default()).is_empty());
    }
}
