//! Separated text: one row at a time, every cell checked where it stands.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use csv::StringRecord;

use crate::error::{Collector, DataError, DataErrors, Place, Problem};
use crate::roles::{self, ReadOptions, Roles};
use crate::rows::{LongRows, NameColumn, Rows};
use crate::source;
use crate::time::{TimeColumn, is_missing};

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

/// A table of text being read; also used for lists of edges.
pub(crate) struct Table<'a> {
    path: &'a Path,
    max_bytes: u64,
    reader: csv::Reader<BufReader<Box<dyn Read>>>,
    record: StringRecord,
}

impl<'a> Table<'a> {
    /// Opens a file; without a given separator the first line decides.
    pub(crate) fn open(
        path: &'a Path,
        separator: Option<u8>,
        max_bytes: u64,
    ) -> Result<Self, DataError> {
        let mut bytes = BufReader::with_capacity(1 << 18, source::open_text(path, max_bytes)?);
        let start = bytes.fill_buf().map_err(|error| read_error(path, &error, max_bytes))?;
        let separator = separator.unwrap_or_else(|| separator_of(start));
        let reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .has_headers(false)
            .flexible(true)
            .from_reader(bytes);
        Ok(Self { path, max_bytes, reader, record: StringRecord::new() })
    }

    /// The file as a place.
    pub(crate) fn place(&self) -> Place {
        Place::file(self.path)
    }

    /// The names in the first row, trimmed.
    pub(crate) fn header(&mut self) -> Result<Vec<String>, DataError> {
        match self.next_record()? {
            None => Err(self.place().problem(Problem::NoRows)),
            Some(record) => {
                let mut names: Vec<String> = record.iter().map(|name| name.trim().into()).collect();
                if let Some(first) = names.first_mut() {
                    *first = first.trim_start_matches('\u{feff}').trim().to_owned();
                }
                Ok(names)
            }
        }
    }

    /// The next row, or `None` at the end; blank lines are skipped.
    pub(crate) fn next_record(&mut self) -> Result<Option<&StringRecord>, DataError> {
        match self.reader.read_record(&mut self.record) {
            Ok(true) => Ok(Some(&self.record)),
            Ok(false) => Ok(None),
            Err(error) => Err(csv_error(self.path, error, self.max_bytes)),
        }
    }

    /// Line of the row read last.
    pub(crate) fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }
}

fn csv_error(path: &Path, error: csv::Error, max_bytes: u64) -> DataError {
    let row = error.position().map(csv::Position::line);
    let reason = error.to_string();
    let mut place = Place::file(path);
    place.row = row;
    match error.into_kind() {
        csv::ErrorKind::Utf8 { .. } => place.problem(Problem::NotUtf8),
        csv::ErrorKind::Io(error) => read_error(path, &error, max_bytes),
        _ => place.problem(Problem::Damaged { reason }),
    }
}

fn read_error(path: &Path, error: &std::io::Error, limit: u64) -> DataError {
    if error.kind() == std::io::ErrorKind::FileTooLarge {
        return Place::file(path).problem(Problem::TooLarge { limit });
    }
    source::io_error(path, error)
}

/// The separator that occurs most often in the first line, outside quotes.
fn separator_of(start: &[u8]) -> u8 {
    let mut quoted = false;
    let mut counts = [(b',', 0), (b'\t', 0), (b';', 0), (b'|', 0)];
    for &byte in start.iter().take_while(|&&byte| byte != b'\n') {
        quoted ^= byte == b'"';
        for (separator, count) in &mut counts {
            *count += usize::from(!quoted && byte == *separator);
        }
    }
    // The comma comes first and wins where nothing else is more frequent.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(byte, _)| byte)
}

/// One cell's number, `NaN` where missing.
pub(crate) fn parse_number(text: &str) -> Result<f64, Problem> {
    match text.parse::<f64>() {
        Ok(number) if number.is_infinite() => Err(Problem::Infinite { text: shorten(text) }),
        Ok(number) => Ok(number),
        Err(_) if is_missing(text) => Ok(f64::NAN),
        Err(_) => Err(Problem::NotANumber { text: shorten(text) }),
    }
}

/// A cell may hold a novel; a message should not.
fn shorten(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// What all rows of text share: time, series, line.
#[derive(Default)]
struct Keys {
    times: TimeColumn,
    series: NameColumn,
    lines: Vec<u32>,
}

impl Keys {
    /// Reads one row's time and series; a faulty row is noted and skipped.
    fn push(
        &mut self,
        record: &StringRecord,
        line: u64,
        time: usize,
        series: Option<usize>,
    ) -> Result<(), (Option<usize>, Problem)> {
        let cell = |column: usize| record.get(column).unwrap_or_default().trim();
        if let Some(series) = series {
            if is_missing(cell(series)) {
                return Err((Some(series), Problem::EmptyCell));
            }
            self.series.push(cell(series));
        }
        self.times.push(cell(time)).map_err(|problem| (Some(time), problem))?;
        self.lines.push(u32::try_from(line).unwrap_or(u32::MAX));
        Ok(())
    }
}

fn check_length(record: &StringRecord, expected: usize) -> Result<(), (Option<usize>, Problem)> {
    let found = record.len();
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
    let values_of_row = |record: &StringRecord, values: &mut Vec<f64>| {
        for &column in variables {
            let text = record.get(column).unwrap_or_default().trim();
            values.push(parse_number(text).map_err(|problem| (Some(column), problem))?);
        }
        Ok(())
    };
    read_rows(table, columns, |record, line| {
        check_length(record, columns.len())?;
        keys.push(record, line, time, series)?;
        values_of_row(record, &mut values)
    })?;
    Ok(Rows {
        file: table.path.to_owned(),
        variables: variables.iter().map(|&idx| columns[idx].clone()).collect(),
        series: series.map(|_| keys.series),
        times: keys.times.finish(),
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
    read_rows(table, columns, |record, line| {
        check_length(record, columns.len())?;
        keys.push(record, line, time, series)?;
        let cell = |column: usize| record.get(column).unwrap_or_default().trim();
        if cell(variable).is_empty() {
            return Err((Some(variable), Problem::EmptyCell));
        }
        variables.push(cell(variable));
        values.push(parse_number(cell(value)).map_err(|problem| (Some(value), problem))?);
        Ok(())
    })?;
    Ok(LongRows {
        file: table.path.to_owned(),
        series: series.map(|_| keys.series),
        times: keys.times.finish(),
        variables,
        values,
        lines: keys.lines,
    })
}

/// Calls `read_row` for each row and gathers what is wrong, so that all of it is reported at once.
fn read_rows(
    table: &mut Table<'_>,
    columns: &[String],
    mut read_row: impl FnMut(&StringRecord, u64) -> Result<(), (Option<usize>, Problem)>,
) -> Result<(), DataErrors> {
    let mut collector = Collector::default();
    let mut n_rows = 0_u64;
    while table.next_record()?.is_some() {
        n_rows += 1;
        if let Err((column, problem)) = read_row(&table.record, table.line()) {
            let mut place = table.place().row(table.line());
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
    fn the_separator_is_the_most_frequent_one_outside_quotes() {
        assert_eq!(separator_of(b"time,a,b\n1\t2\t3\t4\t5"), b',');
        assert_eq!(separator_of(b"\"Time\"\t\"G1, G2, G3\"\t\"G4\"\n"), b'\t');
        assert_eq!(separator_of(b"time;a;b\n"), b';');
        assert_eq!(separator_of(b"time\n"), b',');
    }

    #[test]
    fn numbers_holes_and_nonsense_are_told_apart() {
        assert_eq!(parse_number("-1.5e-3").unwrap(), -0.0015);
        for hole in ["", "NA", "nan", "NaN", "NULL"] {
            assert!(parse_number(hole).unwrap().is_nan(), "{hole}");
        }
        assert!(matches!(parse_number("1e999"), Err(Problem::Infinite { .. })));
        assert!(matches!(parse_number("-inf"), Err(Problem::Infinite { .. })));
        assert!(matches!(parse_number("n.d."), Err(Problem::NotANumber { .. })));
    }
}
