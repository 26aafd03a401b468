//! Parquet files, by the same rules of columns as tables of text.

use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::decoding::{decoded, without_panics};
use crate::error::{Collector, DataError, DataErrors, Place};
use crate::numbers::NumberStyle;
use crate::options::{DateOrder, ReadOptions};
use crate::problem::Problem;
use crate::roles::{self, Roles};
use crate::rows::{KeyColumns, LongRows, NameColumn, Rows, check_row_count, even_times};
use crate::source::{OpenFile, TableFile};
use crate::time::{RawTimes, TimeColumn, whole_numbers};

/// Reads a whole file.
pub(crate) fn read(source: TableFile<'_>, options: &ReadOptions) -> Result<Rows, DataErrors> {
    let file = source.open(options.max_bytes)?;
    decoded(source.path, || Table::open(source.path, file, options)?.read(options))
}

/// Names of the columns; none where the file cannot be read.
pub(crate) fn column_names(source: TableFile<'_>, options: &ReadOptions) -> Vec<String> {
    let Ok(file) = source.open(options.max_bytes) else { return Vec::new() };
    let table =
        without_panics(|| Table::open(source.path, file, options).map(|table| table.columns));
    table.and_then(Result::ok).unwrap_or_default()
}

struct Table<'a> {
    path: &'a Path,
    reader: Box<dyn FileReader>,
    columns: Vec<String>,
    n_rows: usize,
    style: NumberStyle,
}

/// A reader of what is on disk or in memory.
fn reader_of(file: OpenFile) -> Result<Box<dyn FileReader>, ParquetError> {
    Ok(match file {
        OpenFile::Disk(file) => Box::new(SerializedFileReader::new(file)?),
        OpenFile::Memory(bytes) => Box::new(SerializedFileReader::new(bytes.into_inner())?),
    })
}

/// Times, and a sentence on how they were read where that is not obvious.
type TimesAndNotice = (RawTimes, Option<String>);

impl<'a> Table<'a> {
    fn open(path: &'a Path, file: OpenFile, options: &ReadOptions) -> Result<Self, DataError> {
        let reader = reader_of(file).map_err(|error| damaged(path, &error))?;
        let metadata = reader.metadata();
        let columns: Vec<String> = (metadata.file_metadata().schema_descr().columns().iter())
            .map(|column| column.path().string())
            .collect();
        let (mut n_rows, mut n_bytes) = (0_u64, 0_u64);
        for group in metadata.row_groups() {
            let sizes = (u64::try_from(group.num_rows()), u64::try_from(group.total_byte_size()));
            let (Ok(rows), Ok(bytes)) = sizes else {
                let reason = "a group of rows has a negative size".to_owned();
                return Err(Place::file(path).problem(Problem::Damaged { reason }));
            };
            n_rows = n_rows.saturating_add(rows);
            n_bytes = n_bytes.saturating_add(bytes);
        }
        // Repeated values take no room in the file, but eight bytes each in memory.
        let n_bytes_here = n_rows.saturating_mul(columns.len() as u64).saturating_mul(8);
        let limit = options.max_bytes;
        if n_bytes.max(n_bytes_here) > limit {
            return Err(Place::file(path).problem(Problem::TooLarge { limit }));
        }
        if n_rows == 0 {
            return Err(Place::file(path).problem(Problem::NoRows));
        }
        check_row_count(n_rows as usize).map_err(|problem| Place::file(path).problem(problem))?;
        Ok(Self {
            path,
            reader,
            columns,
            n_rows: n_rows as usize,
            style: NumberStyle::new(options),
        })
    }

    fn read(&self, options: &ReadOptions) -> Result<Rows, DataErrors> {
        let roles = roles::assign(&self.columns, options)
            .map_err(|problem| Place::file(self.path).problem(problem))?;
        let lines = (1..=self.n_rows as u32).collect();
        let file = self.path.to_owned();
        let key_columns = KeyColumns::new(&self.columns, roles.time(), roles.series());
        let series = roles.series().map(|column| self.names(column)).transpose()?;
        match roles {
            Roles::Wide { time, variables, .. } => {
                let (times, notice) = self.times(time, &[series.as_ref()], options)?;
                let mut words = NameColumn::default();
                let of_words = options.words.as_ref();
                let of_words =
                    of_words.and_then(|name| self.columns.iter().position(|c| c == name));
                let values = self.matrix(&variables, of_words.map(|at| (at, &mut words)))?;
                Ok(Rows {
                    words: words.names,
                    file,
                    key_columns,
                    series,
                    times,
                    values,
                    variables: variables.iter().map(|&idx| self.columns[idx].clone()).collect(),
                    lines,
                    notices: notice.into_iter().collect(),
                })
            }
            Roles::Long { time, variable, value, .. } => {
                let variables = self.names(variable)?;
                let names = [series.as_ref(), Some(&variables)];
                let (times, notice) = self.times(time, &names, options)?;
                let rows = LongRows {
                    file,
                    key_columns,
                    series,
                    times,
                    variables,
                    values: self.matrix(&[value], None)?,
                    lines,
                    notices: notice.into_iter().collect(),
                };
                Ok(rows.pivot(options)?)
            }
        }
    }

    /// Values `[row, variable]`, read column by column; `words` is the column of words, with those found in it.
    fn matrix(
        &self,
        variables: &[usize],
        mut words: Option<(usize, &mut NameColumn)>,
    ) -> Result<Vec<f64>, DataErrors> {
        let mut values = Vec::new();
        let mut collector = Collector::default();
        for (position, &column) in variables.iter().enumerate() {
            let numbers = match (self.column(column)?, &mut words) {
                (Cells::Texts(texts), Some((own, words))) if *own == column => {
                    let text = |text: &Option<String>| {
                        words.number(text.as_deref().unwrap_or_default().trim(), &self.style)
                    };
                    texts.iter().map(text).collect()
                }
                (Cells::Numbers(mut numbers), _) => {
                    self.style.remove_missing(&mut numbers);
                    numbers
                }
                (Cells::Texts(texts), _) => {
                    self.numbers_of_texts(column, &texts, &mut collector)?
                }
                (Cells::Timestamps(_), _) => {
                    let problem = Problem::ColumnType { found: "date".to_owned() };
                    return Err(self.place(column).problem(problem).into());
                }
            };
            // Only a column read to its end proves that the rows which the file promises are there.
            values.resize(self.n_rows * variables.len(), f64::NAN);
            for (row, number) in numbers.into_iter().enumerate() {
                if number.is_infinite() {
                    let problem = Problem::Infinite { text: number.to_string() };
                    collector.push(self.place(column).row(row as u64 + 1).problem(problem))?;
                }
                values[row * variables.len() + position] = number;
            }
        }
        collector.finish()?;
        Ok(values)
    }

    /// Only a column of whole numbers may hold dates in basic form.
    fn dates_or_numbers(
        &self,
        column: usize,
        numbers: Vec<f64>,
        said: Option<DateOrder>,
    ) -> TimesAndNotice {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        match schema.column(column).physical_type() {
            PhysicalType::INT32 | PhysicalType::INT64 => whole_numbers(numbers, said),
            _ => (RawTimes::Numbers(numbers), None),
        }
    }

    fn numbers_of_texts(
        &self,
        column: usize,
        texts: &[Option<String>],
        collector: &mut Collector,
    ) -> Result<Vec<f64>, DataErrors> {
        let mut numbers = Vec::with_capacity(texts.len());
        for (row, text) in texts.iter().enumerate() {
            match self.style.parse(text.as_deref().unwrap_or_default().trim()) {
                Ok(number) => numbers.push(number),
                Err(problem) => {
                    collector.push(self.place(column).row(row as u64 + 1).problem(problem))?;
                    numbers.push(f64::NAN);
                }
            }
        }
        Ok(numbers)
    }

    fn names(&self, column: usize) -> Result<NameColumn, DataErrors> {
        let mut names = NameColumn::default();
        let mut collector = Collector::default();
        let texts: Vec<Option<String>> = match self.column(column)? {
            Cells::Texts(texts) => texts,
            Cells::Numbers(numbers) => {
                let text = |number: f64| (!number.is_nan()).then(|| number.to_string());
                numbers.into_iter().map(text).collect()
            }
            Cells::Timestamps(stamps) => {
                stamps.into_iter().map(|stamp| stamp.map(|stamp| stamp.to_string())).collect()
            }
        };
        for (row, text) in texts.iter().enumerate() {
            match text.as_deref().map(str::trim) {
                Some(name) if !name.is_empty() => names.push(name),
                _ => {
                    let place = self.place(column).row(row as u64 + 1);
                    collector.push(place.problem(Problem::EmptyCell { text: String::new() }))?;
                }
            }
        }
        collector.finish()?;
        Ok(names)
    }

    /// Times, counted for each combination of names where no column holds them.
    fn times(
        &self,
        column: Option<usize>,
        names: &[Option<&NameColumn>],
        options: &ReadOptions,
    ) -> Result<TimesAndNotice, DataErrors> {
        let Some(column) = column else { return Ok((even_times(self.n_rows, names), None)) };
        let mut collector = Collector::default();
        let empty = |row: usize, collector: &mut Collector| {
            collector.push(
                self.place(column)
                    .row(row as u64 + 1)
                    .problem(Problem::EmptyCell { text: String::new() }),
            )
        };
        let times = match self.column(column)? {
            Cells::Numbers(numbers) => {
                for (row, number) in numbers.iter().enumerate() {
                    if number.is_nan() {
                        empty(row, &mut collector)?;
                    } else if number.is_infinite() {
                        let problem = Problem::NotATime { text: number.to_string() };
                        collector.push(self.place(column).row(row as u64 + 1).problem(problem))?;
                    }
                }
                self.dates_or_numbers(column, numbers, options.date_order)
            }
            Cells::Timestamps(stamps) => {
                for (row, _) in stamps.iter().enumerate().filter(|(_, stamp)| stamp.is_none()) {
                    empty(row, &mut collector)?;
                }
                (RawTimes::Timestamps(stamps.into_iter().flatten().collect()), None)
            }
            Cells::Texts(texts) => {
                let mut times = TimeColumn::default();
                for (row, text) in texts.iter().enumerate() {
                    let text = text.as_deref().unwrap_or_default().trim();
                    if let Err(problem) = times.push(text, &self.style) {
                        collector.push(self.place(column).row(row as u64 + 1).problem(problem))?;
                    }
                }
                std::mem::take(&mut collector).finish()?;
                times.finish(options.date_order).map_err(|(row, problem)| {
                    self.place(column).row(row as u64 + 1).problem(problem)
                })?
            }
        };
        collector.finish()?;
        Ok(times)
    }

    /// All cells of one column, over all row groups.
    fn column(&self, column: usize) -> Result<Cells, DataError> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let descriptor = schema.column(column);
        let Some(mut cells) = Cells::for_column(&descriptor) else {
            let problem = Problem::ColumnType { found: type_text(&descriptor) };
            return Err(self.place(column).problem(problem));
        };
        let error = |error: ParquetError| damaged(self.path, &error);
        for group in 0..self.reader.num_row_groups() {
            let group = self.reader.get_row_group(group).map_err(error)?;
            let n_rows = group.metadata().num_rows() as usize;
            let reader = group.get_column_reader(column).map_err(error)?;
            cells.extend(reader, n_rows, &descriptor).map_err(error)?;
        }
        if cells.len() != self.n_rows {
            let reason = format!("a column has {} rows instead of {}", cells.len(), self.n_rows);
            return Err(self.place(column).problem(Problem::Damaged { reason }));
        }
        Ok(cells)
    }

    fn place(&self, column: usize) -> Place {
        Place::file(self.path).column(&self.columns[column])
    }
}

/// A column in the types this crate knows; nulls are `NaN` or `None`.
enum Cells {
    Numbers(Vec<f64>),
    Texts(Vec<Option<String>>),
    Timestamps(Vec<Option<i64>>),
}

impl Cells {
    /// An empty column of the right kind, or `None` for types that hold no numbers or text.
    fn for_column(column: &ColumnDescriptor) -> Option<Self> {
        let is_flat = column.max_rep_level() == 0 && column.max_def_level() <= 1;
        if !is_flat || column.converted_type() == ConvertedType::DECIMAL {
            return None;
        }
        match column.physical_type() {
            PhysicalType::INT32 | PhysicalType::INT64 if nanoseconds_per_unit(column).is_some() => {
                Some(Self::Timestamps(Vec::new()))
            }
            PhysicalType::BOOLEAN
            | PhysicalType::INT32
            | PhysicalType::INT64
            | PhysicalType::FLOAT
            | PhysicalType::DOUBLE => Some(Self::Numbers(Vec::new())),
            PhysicalType::BYTE_ARRAY => Some(Self::Texts(Vec::new())),
            _ => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Numbers(cells) => cells.len(),
            Self::Texts(cells) => cells.len(),
            Self::Timestamps(cells) => cells.len(),
        }
    }

    /// Appends the `n_rows` cells of one row group.
    fn extend(
        &mut self,
        reader: ColumnReader,
        n_rows: usize,
        column: &ColumnDescriptor,
    ) -> Result<(), ParquetError> {
        let optional = column.max_def_level() == 1;
        let nanoseconds = nanoseconds_per_unit(column).unwrap_or(1);
        match (self, reader) {
            (Self::Numbers(out), ColumnReader::BoolColumnReader(reader)) => {
                append(reader, n_rows, optional, |cell| {
                    out.push(number(cell, |v| f64::from(u8::from(*v))));
                })
            }
            (Self::Numbers(out), ColumnReader::Int32ColumnReader(reader)) => {
                let unsigned = is_unsigned(column);
                let convert = |value: &i32| {
                    if unsigned { f64::from(value.cast_unsigned()) } else { f64::from(*value) }
                };
                append(reader, n_rows, optional, |cell| out.push(number(cell, convert)))
            }
            (Self::Numbers(out), ColumnReader::Int64ColumnReader(reader)) => {
                let unsigned = is_unsigned(column);
                let convert = |value: &i64| {
                    if unsigned { value.cast_unsigned() as f64 } else { *value as f64 }
                };
                append(reader, n_rows, optional, |cell| out.push(number(cell, convert)))
            }
            (Self::Numbers(out), ColumnReader::FloatColumnReader(reader)) => {
                append(reader, n_rows, optional, |cell| out.push(number(cell, |v| f64::from(*v))))
            }
            (Self::Numbers(out), ColumnReader::DoubleColumnReader(reader)) => {
                append(reader, n_rows, optional, |cell| out.push(number(cell, |v| *v)))
            }
            (Self::Texts(out), ColumnReader::ByteArrayColumnReader(reader)) => {
                let mut all_utf8 = true;
                let mut text = |bytes: &ByteArray| {
                    let text = String::from_utf8(bytes.data().to_vec());
                    all_utf8 &= text.is_ok();
                    text.unwrap_or_default()
                };
                append(reader, n_rows, optional, |cell| out.push(cell.map(&mut text)))?;
                if all_utf8 { Ok(()) } else { Err(general("a text is not UTF-8")) }
            }
            (Self::Timestamps(out), ColumnReader::Int64ColumnReader(reader)) => {
                let stamp = |units: &i64| units.saturating_mul(nanoseconds);
                append(reader, n_rows, optional, |cell| out.push(cell.map(stamp)))
            }
            (Self::Timestamps(out), ColumnReader::Int32ColumnReader(reader)) => {
                let stamp = |units: &i32| i64::from(*units).saturating_mul(nanoseconds);
                append(reader, n_rows, optional, |cell| out.push(cell.map(stamp)))
            }
            _ => Err(general("the column is not of its declared type")),
        }
    }
}

/// A cell as a number, `NaN` for null.
fn number<T>(cell: Option<&T>, convert: impl Fn(&T) -> f64) -> f64 {
    cell.map_or(f64::NAN, convert)
}

/// Hands over `n_rows` cells in order, `None` for nulls.
fn append<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    n_rows: usize,
    optional: bool,
    mut push: impl FnMut(Option<&T::T>),
) -> Result<(), ParquetError> {
    /// Cells decoded at a time.
    const BLOCK: usize = 1 << 14;
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let mut n_done = 0;
    while n_done < n_rows {
        levels.clear();
        values.clear();
        let definitions = optional.then_some(&mut levels);
        let n_asked = BLOCK.min(n_rows - n_done);
        let (n_read, ..) = reader.read_records(n_asked, definitions, None, &mut values)?;
        if n_read == 0 {
            return Err(ParquetError::EOF("a column ends early".to_owned()));
        }
        if optional {
            let mut present = values.iter();
            for &level in &levels {
                push(if level == 1 { present.next() } else { None });
            }
        } else {
            for value in &values {
                push(Some(value));
            }
        }
        n_done += n_read;
    }
    Ok(())
}

/// Nanoseconds in one unit of a date or timestamp column.
fn nanoseconds_per_unit(column: &ColumnDescriptor) -> Option<i64> {
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Date), _) | (_, ConvertedType::DATE) => Some(86_400_000_000_000),
        (Some(LogicalType::Timestamp(timestamp)), _) => Some(match timestamp.unit {
            TimeUnit::MILLIS => 1_000_000,
            TimeUnit::MICROS => 1_000,
            TimeUnit::NANOS => 1,
        }),
        (_, ConvertedType::TIMESTAMP_MILLIS) => Some(1_000_000),
        (_, ConvertedType::TIMESTAMP_MICROS) => Some(1_000),
        _ => None,
    }
}

/// Whether whole numbers are to be read as unsigned.
fn is_unsigned(column: &ColumnDescriptor) -> bool {
    use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
    matches!(column.converted_type(), UINT_8 | UINT_16 | UINT_32 | UINT_64)
}

fn general(reason: &str) -> ParquetError {
    ParquetError::General(reason.to_owned())
}

fn type_text(column: &ColumnDescriptor) -> String {
    match column.converted_type() {
        _ if column.max_rep_level() > 0 || column.max_def_level() > 1 => "nested".to_owned(),
        ConvertedType::NONE => column.physical_type().to_string(),
        converted => converted.to_string(),
    }
}

fn damaged(path: &Path, error: &ParquetError) -> DataError {
    let reason = error.to_string().trim_start_matches("Parquet error: ").to_owned();
    Place::file(path).problem(Problem::Damaged { reason })
}
