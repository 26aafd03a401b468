//! Files in, a checked set of series out.

use std::path::{Path, PathBuf};

use driftgraph_core::{SeriesSet, SignatureGraph};

use crate::assemble::assemble;
use crate::error::{Collector, DataErrors, Place};
use crate::problem::Problem;
use crate::roles::ReadOptions;
use crate::rows::{KeyColumns, Rows};
use crate::source::{self, Format};
use crate::time::TimeAxis;
use crate::{csv_table, npz};

/// What was read, and what was noticed on the way.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The measurements.
    pub data: SeriesSet,
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
    let mut tables = Vec::new();
    let mut truth = None;
    // Every file is looked at before giving up, so that all problems are reported at once.
    let mut collector = Collector::default();
    for file in &files {
        match read_file(file, options, &mut notices) {
            Ok((rows, graph)) => {
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
    let key_columns = tables[0].key_columns.clone();
    let (data, time_axis) = assemble(tables, options, &mut notices)?;
    let KeyColumns { time: time_column, series: series_column, has_basic_dates } = key_columns;
    if let Some(column) = time_column.as_ref().filter(|_| has_basic_dates) {
        notices.push(format!("times in `{column}` such as 20260131 were read as dates"));
    }
    Ok(Loaded { data, time_axis, truth, files, time_column, series_column, notices })
}

/// Reads a file; a column of row numbers that is named like a series column is left out.
fn read_file(
    path: &Path,
    options: &ReadOptions,
    notices: &mut Vec<String>,
) -> Result<(Rows, Option<SignatureGraph>), DataErrors> {
    let (rows, graph) = read_format(path, options)?;
    let Some(column) = rows.row_numbers().filter(|_| options.series.is_none()) else {
        return Ok((rows, graph));
    };
    notices.push(format!(
        "`{column}` of `{}` has another number in every row, so it was left out as a row number",
        path.display(),
    ));
    let mut without = options.clone();
    without.ignore.push(column.to_owned());
    read_format(path, &without)
}

fn read_format(
    path: &Path,
    options: &ReadOptions,
) -> Result<(Rows, Option<SignatureGraph>), DataErrors> {
    match source::format_of(path) {
        _ if !path.exists() => Err(Place::file(path).problem(Problem::NotFound).into()),
        Some(Format::Text { separator }) => Ok((csv_table::read(path, separator, options)?, None)),
        Some(Format::Npz) => npz::read(path, options),
        #[cfg(feature = "parquet")]
        Some(Format::Parquet) => Ok((crate::parquet_table::read(path, options)?, None)),
        #[cfg(not(feature = "parquet"))]
        Some(Format::Parquet) => Err(Place::file(path).problem(Problem::ParquetNotBuiltIn).into()),
        None => Err(Place::file(path).problem(Problem::UnknownFormat).into()),
    }
}

/// Names of the columns of a table, as far as they can be read; an archive of arrays has none.
///
/// For those who ask which column is which before anything else is certain: a table with other problems still has
/// columns.
pub fn column_names(path: &Path, options: &ReadOptions) -> Vec<String> {
    match source::format_of(path) {
        Some(Format::Text { separator }) => {
            let table = csv_table::Table::open(path, separator, options.max_bytes);
            table.and_then(|mut table| table.header()).unwrap_or_default()
        }
        #[cfg(feature = "parquet")]
        Some(Format::Parquet) => crate::parquet_table::column_names(path, options),
        _ => Vec::new(),
    }
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
