//! Tables of text cells: one row at a time, every cell checked where it stands.

use std::path::Path;

use crate::cells::{CellRow, CellRows, NAMELESS_FIRST};
use crate::error::{Collector, DataErrors, Place};
use crate::formats::TextSource;
use crate::numbers::NumberStyle;
use crate::options::ReadOptions;
use crate::problem::Problem;
use crate::roles::{self, Roles};
use crate::rows::{KeyColumns, LongRows, NameColumn, Rows, check_row_count, even_times};
use crate::time::{RawTimes, TimeColumn};

/// Reads a whole table.
pub(crate) fn read(
    path: &Path,
    source: TextSource,
    options: &ReadOptions,
) -> Result<Rows, DataErrors> {
    let mut table = CellRows::open(path, source, options)?;
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
pub(crate) fn column_names(path: &Path, source: TextSource, options: &ReadOptions) -> Vec<String> {
    let table = CellRows::open(path, source, options);
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
    keys: Keys,
}

impl TextReader<'_> {
    /// Reads one row's time and series.
    fn push_keys(&mut self, row: &CellRow<'_>) -> Result<(), RowProblem> {
        let (expected, found) = (self.columns.len(), row.len());
        if found != expected {
            return Err((None, Problem::Ragged { expected, found }));
        }
        if let Some(series) = self.series {
            let name = row.cell(series).trim();
            if self.numbers.is_missing(name) {
                return Err((Some(series), Problem::EmptyCell { text: name.to_owned() }));
            }
            self.keys.series.push(name);
        }
        if let Some(time) = self.time {
            let pushed = self.keys.times.push(row.cell(time).trim(), &self.numbers);
            pushed.map_err(|problem| (Some(time), problem))?;
        }
        self.keys.lines.push(u32::try_from(row.line()).unwrap_or(u32::MAX));
        Ok(())
    }

    fn number(&self, row: &CellRow<'_>, column: usize) -> Result<f64, RowProblem> {
        self.numbers.parse(row.cell(column)).map_err(|problem| (Some(column), problem))
    }

    fn read_wide(
        &mut self,
        table: &mut CellRows<'_>,
        variables: &[usize],
        options: &ReadOptions,
    ) -> Result<Rows, DataErrors> {
        let mut values = Vec::new();
        read_rows(table, self.columns, |row| {
            self.push_keys(row)?;
            for &column in variables {
                values.push(self.number(row, column)?);
            }
            Ok(())
        })?;
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
        })
    }

    fn read_long(
        &mut self,
        table: &mut CellRows<'_>,
        [variable, value]: [usize; 2],
        options: &ReadOptions,
    ) -> Result<LongRows, DataErrors> {
        let mut values = Vec::new();
        let mut variables = NameColumn::default();
        read_rows(table, self.columns, |row| {
            self.push_keys(row)?;
            let name = row.cell(variable).trim();
            if name.is_empty() {
                return Err((Some(variable), Problem::EmptyCell { text: String::new() }));
            }
            variables.push(name);
            values.push(self.number(row, value)?);
            Ok(())
        })?;
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

/// Calls `read_row` for each row and gathers what is wrong, so that all of it is reported at once.
fn read_rows(
    table: &mut CellRows<'_>,
    columns: &[String],
    mut read_row: impl FnMut(&CellRow<'_>) -> Result<(), RowProblem>,
) -> Result<(), DataErrors> {
    let mut collector = Collector::default();
    let mut n_rows = 0_usize;
    let path = table.path;
    while let Some(row) = table.next_row()? {
        n_rows += 1;
        check_row_count(n_rows).map_err(|problem| Place::file(path).problem(problem))?;
        if let Err((column, problem)) = read_row(&row) {
            let mut place = Place::file(path).row(row.line());
            place.column = column.map(|idx| columns[idx].clone());
            collector.push(place.problem(problem))?;
        }
    }
    collector.finish()?;
    if n_rows == 0 { Err(Place::file(path).problem(Problem::NoRows).into()) } else { Ok(()) }
}
