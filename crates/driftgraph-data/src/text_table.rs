//! Tables of text cells: one row at a time, every cell checked where it stands.

use std::path::Path;

use crate::blocks::{self, Layout};
use crate::cells::{CellRow, CellRows, NAMELESS_FIRST};
use crate::csv_table::Table;
use crate::error::{Collector, DataErrors, Place};
use crate::formats::TextSource;
use crate::numbers::NumberStyle;
use crate::options::ReadOptions;
use crate::problem::Problem;
use crate::roles::{self, Roles};
use crate::rows::{KeyColumns, LongRows, NameColumn, Rows, check_row_count, even_times};
use crate::source::TableFile;
use crate::time::{RawTimes, TimeColumn};

/// Reads a whole table.
pub(crate) fn read(
    file: TableFile<'_>,
    source: TextSource,
    options: &ReadOptions,
) -> Result<Rows, DataErrors> {
    let path = file.path;
    let mut table = CellRows::open(file, source, options)?;
    let columns = table.joined_header(options)?;
    let roles =
        roles::assign(&columns, options).map_err(|problem| Place::file(path).problem(problem))?;
    let is_used = roles.time() == Some(0)
        || matches!(&roles, Roles::Wide { variables, .. } if variables.contains(&0));
    if columns[0] == NAMELESS_FIRST && !is_used {
        table.notices.push(
            "the first column has no name, so it was left out; `--variables` overrules".to_owned(),
        );
    }
    let mut reader = TextReader {
        columns: &columns,
        time: roles.time(),
        series: roles.series(),
        numbers: NumberStyle::new(options),
        words: options.words.as_ref().and_then(|name| columns.iter().position(|own| own == name)),
        found_words: NameColumn::default(),
        keys: Keys::default(),
    };
    match &roles {
        Roles::Wide { variables, .. } => reader.read_wide(&mut table, variables, options),
        Roles::Long { variable, value, .. } => {
            let rows = reader.read_long(&mut table, [*variable, *value], options)?;
            Ok(rows.pivot(options)?)
        }
    }
}

/// Names of the columns; none where the file cannot be read.
pub(crate) fn column_names(
    file: TableFile<'_>,
    source: TextSource,
    options: &ReadOptions,
) -> Vec<String> {
    let table = CellRows::open(file, source, options);
    table.ok().and_then(|mut table| table.header().ok()).unwrap_or_default()
}

/// What is wrong with a row, and in which column, if it is in one.
type RowProblem = (Option<usize>, Problem);

/// What all rows share: time, series, line.
#[derive(Default)]
struct Keys {
    times: TimeColumn,
    series: NameColumn,
    lines: Vec<u32>,
}

struct TextReader<'a> {
    columns: &'a [String],
    /// None where rows are equally spaced.
    time: Option<usize>,
    series: Option<usize>,
    numbers: NumberStyle,
    /// The column of words, and those found in it.
    words: Option<usize>,
    found_words: NameColumn,
    keys: Keys,
}

impl TextReader<'_> {
    /// Reads one row's time and series.
    fn push_keys(&mut self, row: &CellRow<'_>) -> Result<(), RowProblem> {
        let (expected, found) = (self.columns.len(), row.len());
        if found != expected {
            return Err((None, Problem::Ragged { expected, found }));
        }
        let text = |column: Option<usize>| column.map_or("", |column| row.cell(column).trim());
        self.push_texts(text(self.series), text(self.time), row.line())
    }

    /// Reads time and series as they are written in a row, where there are columns for them.
    fn push_texts(&mut self, name: &str, time: &str, line: u64) -> Result<(), RowProblem> {
        if let Some(series) = self.series
            && !self.keys.series.push_again(name)
        {
            if self.numbers.is_missing(name) {
                return Err((Some(series), Problem::EmptyCell { text: name.to_owned() }));
            }
            self.keys.series.push(name);
        }
        if let Some(column) = self.time {
            let pushed = self.keys.times.push(time, &self.numbers);
            pushed.map_err(|problem| (Some(column), problem))?;
        }
        self.keys.lines.push(u32::try_from(line).unwrap_or(u32::MAX));
        Ok(())
    }

    fn number(&mut self, row: &CellRow<'_>, column: usize) -> Result<f64, RowProblem> {
        if self.words == Some(column) {
            return Ok(self.found_words.number(row.cell(column).trim(), &self.numbers));
        }
        self.numbers.parse(row.cell(column)).map_err(|problem| (Some(column), problem))
    }

    fn read_wide(
        &mut self,
        table: &mut CellRows<'_>,
        variables: &[usize],
        options: &ReadOptions,
    ) -> Result<Rows, DataErrors> {
        let mut values = Vec::new();
        let mut tally = RowTally::new(table.path, self.columns);
        if let Some(text) = table.as_text().filter(|_| self.words.is_none()) {
            self.read_blocks(text, variables, &mut values, &mut tally)?;
        }
        while let Some(row) = table.next_row()? {
            let read = self.push_wide(&row, variables, &mut values);
            tally.row(row.line(), read)?;
        }
        tally.finish()?;
        let series = self.series.map(|_| std::mem::take(&mut self.keys.series));
        let n_rows = self.keys.lines.len();
        let times = self.times(table, options, || even_times(n_rows, &[series.as_ref()]))?;
        Ok(Rows {
            file: table.path.to_owned(),
            variables: variables.iter().map(|&idx| self.columns[idx].clone()).collect(),
            key_columns: KeyColumns::new(self.columns, self.time, self.series),
            series,
            times,
            values,
            lines: std::mem::take(&mut self.keys.lines),
            notices: std::mem::take(&mut table.notices),
            words: std::mem::take(&mut self.found_words).names,
        })
    }

    fn push_wide(
        &mut self,
        row: &CellRow<'_>,
        variables: &[usize],
        values: &mut Vec<f64>,
    ) -> Result<(), RowProblem> {
        self.push_keys(row)?;
        for &column in variables {
            let number = self.number(row, column)?;
            values.push(number);
        }
        Ok(())
    }

    /// Reads rows with all threads as long as they can be; the rest is to be read row by row.
    fn read_blocks(
        &mut self,
        table: &mut Table<'_>,
        variables: &[usize],
        values: &mut Vec<f64>,
        tally: &mut RowTally<'_>,
    ) -> Result<(), DataErrors> {
        let numbers = self.numbers.clone();
        let separator = table.separator().unwrap_or(b',');
        let layout = self.layout(separator, variables, &numbers);
        let mut block = table.take_lines(blocks::BLOCK, Vec::new())?;
        let mut memory = Vec::new();
        while let Some(bytes) = block {
            let (parts, next) =
                blocks::read_beside(&bytes, &layout, || table.take_lines(blocks::BLOCK, memory));
            for part in parts {
                let n_before = table.n_lines();
                if let Some(rows) = part.rows {
                    for row in rows.keys() {
                        let line = n_before + row.n_before + 1;
                        tally.row(line, self.push_texts(row.series, row.time, line))?;
                    }
                    values.extend_from_slice(&rows.values);
                    table.count_lines(rows.n_lines);
                    continue;
                }
                let mut slowly = table.rows_of(part.bytes, n_before);
                while let Some(row) = slowly.next_row()? {
                    let read = self.push_wide(&CellRow::Text(row), variables, values);
                    tally.row(row.line(), read)?;
                }
                table.count_lines(slowly.n_lines() - n_before);
            }
            block = next?;
            memory = bytes;
        }
        Ok(())
    }

    fn layout<'l>(
        &self,
        separator: u8,
        variables: &'l [usize],
        numbers: &'l NumberStyle,
    ) -> Layout<'l> {
        Layout {
            separator,
            n_columns: self.columns.len(),
            series: self.series,
            time: self.time,
            variables,
            numbers,
            is_plain: numbers.is_plain(),
        }
    }

    fn read_long(
        &mut self,
        table: &mut CellRows<'_>,
        [variable, value]: [usize; 2],
        options: &ReadOptions,
    ) -> Result<LongRows, DataErrors> {
        let mut values = Vec::new();
        let mut variables = NameColumn::default();
        let mut tally = RowTally::new(table.path, self.columns);
        let mut read_row = |row: &CellRow<'_>| {
            self.push_keys(row)?;
            let name = row.cell(variable).trim();
            if name.is_empty() {
                return Err((Some(variable), Problem::EmptyCell { text: String::new() }));
            }
            variables.push(name);
            values.push(self.number(row, value)?);
            Ok(())
        };
        while let Some(row) = table.next_row()? {
            tally.row(row.line(), read_row(&row))?;
        }
        tally.finish()?;
        let series = self.series.map(|_| std::mem::take(&mut self.keys.series));
        let n_rows = self.keys.lines.len();
        let times = self
            .times(table, options, || even_times(n_rows, &[series.as_ref(), Some(&variables)]))?;
        Ok(LongRows {
            file: table.path.to_owned(),
            key_columns: KeyColumns::new(self.columns, self.time, self.series),
            series,
            times,
            variables,
            values,
            lines: std::mem::take(&mut self.keys.lines),
            notices: std::mem::take(&mut table.notices),
        })
    }

    /// The times of all rows, once the last one is known.
    fn times(
        &mut self,
        table: &mut CellRows<'_>,
        options: &ReadOptions,
        even: impl FnOnce() -> RawTimes,
    ) -> Result<RawTimes, DataErrors> {
        let Some(column) = self.time else { return Ok(even()) };
        let finished = std::mem::take(&mut self.keys.times).finish(options.date_order);
        let (times, notice) = finished.map_err(|(row, problem)| {
            let place = Place::file(table.path).column(&self.columns[column]);
            place.row(u64::from(self.keys.lines[row])).problem(problem)
        })?;
        table.notices.extend(notice);
        Ok(times)
    }
}

/// How many rows were read, and what is wrong with them, so that all of it is reported at once.
struct RowTally<'a> {
    path: &'a Path,
    columns: &'a [String],
    n_rows: usize,
    collector: Collector,
}

impl<'a> RowTally<'a> {
    fn new(path: &'a Path, columns: &'a [String]) -> Self {
        Self { path, columns, n_rows: 0, collector: Collector::default() }
    }

    /// Counts a row and takes note of what is wrong with it.
    fn row(&mut self, line: u64, read: Result<(), RowProblem>) -> Result<(), DataErrors> {
        self.n_rows += 1;
        check_row_count(self.n_rows).map_err(|problem| Place::file(self.path).problem(problem))?;
        if let Err((column, problem)) = read {
            let mut place = Place::file(self.path).row(line);
            place.column = column.map(|idx| self.columns[idx].clone());
            self.collector.push(place.problem(problem))?;
        }
        Ok(())
    }

    fn finish(self) -> Result<(), DataErrors> {
        self.collector.finish()?;
        if self.n_rows == 0 {
            return Err(Place::file(self.path).problem(Problem::NoRows).into());
        }
        Ok(())
    }
}
