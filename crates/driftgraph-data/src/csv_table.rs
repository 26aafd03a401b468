//! Separated text: one row at a time, every cell checked where it stands.

use std::io::{self, BufReader, Read};
use std::path::Path;

use crate::error::{Collector, DataError, DataErrors, Place};
use crate::problem::Problem;
use crate::records::{RecordError, Records};
use crate::roles::{self, ReadOptions, Roles};
use crate::rows::{KeyColumns, LongRows, NameColumn, Rows, check_row_count};
use crate::source;
use crate::time::{TimeColumn, is_missing};
use crate::words::shorten;

/// Reads a whole table of text.
pub(crate) fn read(
    path: &Path,
    separator: Option<u8>,
    options: &ReadOptions,
) -> Result<Rows, DataErrors> {
    let mut table = Table::open(path, separator, options.max_bytes)?;
    let columns = table.header()?;
    let roles =
        roles::assign(&columns, options).map_err(|problem| table.place().problem(problem))?;
    match roles {
        Roles::Wide { time, series, variables } => {
            read_wide(&mut table, &columns, time, series, &variables)
        }
        Roles::Long { time, series, variable, value } => {
            let rows = read_long(&mut table, &columns, time, series, [variable, value])?;
            Ok(rows.pivot(options)?)
        }
    }
}

/// The rows of a file of text.
pub(crate) type TextRow = Records<BufReader<Box<dyn Read>>>;

/// A table of text being read; also used for lists of edges.
pub(crate) struct Table<'a> {
    path: &'a Path,
    max_bytes: u64,
    records: TextRow,
}

impl<'a> Table<'a> {
    /// Opens a file; without a given separator the first line decides.
    pub(crate) fn open(
        path: &'a Path,
        separator: Option<u8>,
        max_bytes: u64,
    ) -> Result<Self, DataError> {
        let bytes = BufReader::with_capacity(1 << 18, source::open_text(path, max_bytes)?);
        Ok(Self { path, max_bytes, records: Records::new(bytes, separator) })
    }

    /// The file as a place.
    pub(crate) fn place(&self) -> Place {
        Place::file(self.path)
    }

    /// The names in the first row, trimmed.
    pub(crate) fn header(&mut self) -> Result<Vec<String>, DataError> {
        match self.next_row()? {
            None => Err(self.place().problem(Problem::NoRows)),
            Some(row) => Ok(row.trimmed_cells().map(str::to_owned).collect()),
        }
    }

    /// The next row, or `None` at the end; blank lines are skipped.
    pub(crate) fn next_row(&mut self) -> Result<Option<&TextRow>, DataError> {
        match self.records.advance() {
            Ok(true) => Ok(Some(&self.records)),
            Ok(false) => Ok(None),
            Err(error) => Err(self.read_error(error)),
        }
    }

    fn read_error(&self, error: RecordError) -> DataError {
        let row = || self.place().row(self.records.line());
        match error {
            RecordError::NotUtf8 => row().problem(Problem::NotUtf8),
            RecordError::OpenQuote => row().problem(Problem::OpenQuote),
            RecordError::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                self.place().problem(Problem::TooLarge { limit: self.max_bytes })
            }
            RecordError::Io(error) => source::io_error(self.path, &error),
        }
    }
}

/// One cell's number, `NaN` where missing.
pub(crate) fn parse_number(text: &str) -> Result<f64, Problem> {
    // Most cells are bare numbers: blanks around them are looked for only where parsing fails.
    let parsed = text.parse::<f64>().or_else(|_| text.trim().parse::<f64>());
    match parsed {
        Ok(number) if number.is_infinite() => Err(Problem::Infinite { text: shorten(text) }),
        Ok(number) => Ok(number),
        Err(_) if is_missing(text.trim()) => Ok(f64::NAN),
        Err(_) => Err(Problem::NotANumber { text: shorten(text.trim()) }),
    }
}

/// What is wrong with a row, and in which column, if it is in one.
type RowProblem = (Option<usize>, Problem);

/// What all rows of text share: time, series, line.
#[derive(Default)]
struct Keys {
    times: TimeColumn,
    series: NameColumn,
    lines: Vec<u32>,
}

impl Keys {
    /// Reads one row's time and series.
    fn push(
        &mut self,
        row: &TextRow,
        time: usize,
        series: Option<usize>,
    ) -> Result<(), RowProblem> {
        if let Some(series) = series {
            let name = row.cell(series).trim();
            if is_missing(name) {
                return Err((Some(series), Problem::EmptyCell { text: name.to_owned() }));
            }
            self.series.push(name);
        }
        self.times.push(row.cell(time).trim()).map_err(|problem| (Some(time), problem))?;
        self.lines.push(u32::try_from(row.line()).unwrap_or(u32::MAX));
        Ok(())
    }
}

fn check_length(row: &TextRow, expected: usize) -> Result<(), RowProblem> {
    let found = row.len();
    if found == expected { Ok(()) } else { Err((None, Problem::Ragged { expected, found })) }
}

fn read_wide(
    table: &mut Table<'_>,
    columns: &[String],
    time: usize,
    series: Option<usize>,
    variables: &[usize],
) -> Result<Rows, DataErrors> {
    let mut keys = Keys::default();
    let mut values = Vec::new();
    read_rows(table, columns, |row| {
        check_length(row, columns.len())?;
        keys.push(row, time, series)?;
        for &column in variables {
            let value =
                parse_number(row.cell(column)).map_err(|problem| (Some(column), problem))?;
            values.push(value);
        }
        Ok(())
    })?;
    let (times, has_basic_dates) = keys.times.finish();
    Ok(Rows {
        file: table.path.to_owned(),
        variables: variables.iter().map(|&idx| columns[idx].clone()).collect(),
        key_columns: KeyColumns { has_basic_dates, ..KeyColumns::new(columns, time, series) },
        series: series.map(|_| keys.series),
        times,
        values,
        lines: keys.lines,
    })
}

fn read_long(
    table: &mut Table<'_>,
    columns: &[String],
    time: usize,
    series: Option<usize>,
    [variable, value]: [usize; 2],
) -> Result<LongRows, DataErrors> {
    let mut keys = Keys::default();
    let mut values = Vec::new();
    let mut variables = NameColumn::default();
    read_rows(table, columns, |row| {
        check_length(row, columns.len())?;
        keys.push(row, time, series)?;
        let name = row.cell(variable).trim();
        if name.is_empty() {
            return Err((Some(variable), Problem::EmptyCell { text: String::new() }));
        }
        variables.push(name);
        values.push(parse_number(row.cell(value)).map_err(|problem| (Some(value), problem))?);
        Ok(())
    })?;
    let (times, has_basic_dates) = keys.times.finish();
    Ok(LongRows {
        file: table.path.to_owned(),
        key_columns: KeyColumns { has_basic_dates, ..KeyColumns::new(columns, time, series) },
        series: series.map(|_| keys.series),
        times,
        variables,
        values,
        lines: keys.lines,
    })
}

/// Calls `read_row` for each row and gathers what is wrong, so that all of it is reported at once.
fn read_rows(
    table: &mut Table<'_>,
    columns: &[String],
    mut read_row: impl FnMut(&TextRow) -> Result<(), RowProblem>,
) -> Result<(), DataErrors> {
    let mut collector = Collector::default();
    let mut n_rows = 0_usize;
    let path = table.path;
    while let Some(row) = table.next_row()? {
        n_rows += 1;
        check_row_count(n_rows).map_err(|problem| Place::file(path).problem(problem))?;
        if let Err((column, problem)) = read_row(row) {
            let mut place = Place::file(path).row(row.line());
            place.column = column.map(|idx| columns[idx].clone());
            collector.push(place.problem(problem))?;
        }
    }
    collector.finish()?;
    if n_rows == 0 { Err(table.place().problem(Problem::NoRows).into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_holes_and_nonsense_are_told_apart() {
        assert_eq!(parse_number("-1.5e-3").unwrap(), -0.0015);
        assert_eq!(parse_number(" 2 ").unwrap(), 2.0);
        for hole in ["", "  ", "NA", "nan", "NaN", " NULL"] {
            assert!(parse_number(hole).unwrap().is_nan(), "{hole}");
        }
        assert!(matches!(parse_number("1e999"), Err(Problem::Infinite { .. })));
        assert!(matches!(parse_number("-inf"), Err(Problem::Infinite { .. })));
        assert!(matches!(parse_number("n.d."), Err(Problem::NotANumber { .. })));
    }
}
