//! Sheets of spreadsheets (.xlsx, .ods) as cells of text, read by the rules of text tables.

use std::collections::BTreeMap;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use calamine::{Data, ExcelDateTime, Ods, Reader, Xlsx, XlsxError};
use zip::ZipArchive;

use crate::decoding::decoded;
use crate::error::{DataError, DataErrors, Place};
use crate::grid::Grid;
use crate::message_text::list;
use crate::options::ReadOptions;
use crate::problem::Problem;
use crate::source::{self, TableFile};

/// The cells of a sheet, and what must be told about its choice.
type SheetCells = (Grid, Vec<String>);
/// Reads the bytes of a file.
pub(crate) type SheetReader = fn(&Path, Vec<u8>, &ReadOptions) -> Result<SheetCells, DataError>;

/// The cells of the sheet asked for, or of the first one.
pub(crate) fn read_cells(
    file: TableFile<'_>,
    read: SheetReader,
    options: &ReadOptions,
) -> Result<SheetCells, DataErrors> {
    let path = file.path;
    let bytes = whole_file(file, options.max_bytes)?;
    decoded(path, || Ok(read(path, bytes, options)?))
}

/// The bytes of the file; what they promise to decompress to must be within the limit too.
fn whole_file(file: TableFile<'_>, max_bytes: u64) -> Result<Vec<u8>, DataError> {
    let path = file.path;
    let file = file.open(max_bytes)?;
    let mut bytes = Vec::new();
    let read = BufReader::new(file).read_to_end(&mut bytes);
    read.map_err(|error| source::io_error(path, &error))?;
    let mut archive =
        ZipArchive::new(Cursor::new(&bytes)).map_err(|error| damaged(path, &error))?;
    let mut n_bytes = 0_u64;
    for idx in 0..archive.len() {
        // What is told in the archive may be a lie: what counts is what comes out of it.
        let entry = archive.by_index(idx).map_err(|error| damaged(path, &error))?;
        let left = (max_bytes - n_bytes).saturating_add(1);
        let size = std::io::copy(&mut entry.take(left), &mut std::io::sink());
        n_bytes += size.map_err(|error| damaged(path, &error))?;
        if n_bytes > max_bytes {
            return Err(Place::file(path).problem(Problem::TooLarge { limit: max_bytes }));
        }
    }
    Ok(bytes)
}

fn damaged(path: &Path, error: &impl ToString) -> DataError {
    Place::file(path).problem(Problem::Damaged { reason: error.to_string() })
}

pub(crate) fn ods(
    path: &Path,
    bytes: Vec<u8>,
    options: &ReadOptions,
) -> Result<SheetCells, DataError> {
    let mut workbook = Ods::new(Cursor::new(bytes)).map_err(|error| damaged(path, &error))?;
    let (name, notices) = choose(path, &workbook.sheet_names(), options)?;
    let range = workbook.worksheet_range(&name).map_err(|error| damaged(path, &error))?;
    let mut grid = Grid::default();
    let first_line = range.start().map_or(1, |(row, _)| u64::from(row) + 1);
    for (idx, row) in range.rows().enumerate() {
        grid.push(first_line + idx as u64, row.iter().map(text).collect());
    }
    Ok((grid, notices))
}

/// Reads cell by cell: two cells far apart would make a whole sheet of empty ones.
pub(crate) fn xlsx(
    path: &Path,
    bytes: Vec<u8>,
    options: &ReadOptions,
) -> Result<SheetCells, DataError> {
    let error = |error: XlsxError| damaged(path, &error);
    let mut workbook = Xlsx::new(Cursor::new(bytes)).map_err(error)?;
    let (name, notices) = choose(path, &workbook.sheet_names(), options)?;
    let mut reader = workbook.worksheet_cells_reader(&name).map_err(error)?;
    let mut rows: BTreeMap<u32, Vec<(u32, String)>> = BTreeMap::new();
    while let Some(cell) = reader.next_cell().map_err(error)? {
        let (row, column) = cell.get_position();
        let text = text(&Data::from(cell.get_value().clone()));
        if !text.is_empty() {
            rows.entry(row).or_default().push((column, text));
        }
    }
    let columns = || rows.values().flatten().map(|(column, _)| *column);
    let (first, last) = (columns().min().unwrap_or(0), columns().max().unwrap_or(0));
    let width = u64::from(last - first) + 1;
    let n_bytes =
        width.saturating_mul(rows.len() as u64).saturating_mul(size_of::<String>() as u64);
    if n_bytes > options.max_bytes {
        return Err(Place::file(path).problem(Problem::TooLarge { limit: options.max_bytes }));
    }
    let mut grid = Grid::default();
    for (row, cells) in rows {
        let mut texts = vec![String::new(); width as usize];
        for (column, text) in cells {
            texts[(column - first) as usize] = text;
        }
        grid.push(u64::from(row) + 1, texts);
    }
    Ok((grid, notices))
}

/// The sheet asked for, or the first one, which is told where there are others.
fn choose(
    path: &Path,
    sheets: &[String],
    options: &ReadOptions,
) -> Result<(String, Vec<String>), DataError> {
    if let Some(name) = options.sheet.clone() {
        if sheets.contains(&name) {
            return Ok((name, Vec::new()));
        }
        let problem = Problem::NoSuchSheet { name, sheets: sheets.to_vec() };
        return Err(Place::file(path).problem(problem));
    }
    let Some((first, others)) = sheets.split_first() else {
        return Err(Place::file(path).problem(Problem::NoRows));
    };
    let notice = (!others.is_empty()).then(|| {
        format!("the first sheet, `{first}`, was read; `--sheet` reads another: {}", list(others))
    });
    Ok((first.clone(), notice.into_iter().collect()))
}

/// A cell as it would be written in a table of text.
fn text(cell: &Data) -> String {
    match cell {
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Bool(is_true) => u8::from(*is_true).to_string(),
        Data::DateTime(date) if date.is_datetime() => date_text(date),
        // A length of time is counted in days, as spreadsheets do.
        Data::DateTime(duration) => duration.as_f64().to_string(),
        Data::Error(error) => error.to_string(),
        Data::Empty => String::new(),
    }
}

fn date_text(date: &ExcelDateTime) -> String {
    let (year, month, day, hour, minute, second, milli) = date.to_ymd_hms_milli();
    let day = format!("{year:04}-{month:02}-{day:02}");
    if (hour, minute, second, milli) == (0, 0, 0, 0) {
        return day;
    }
    format!("{day}T{hour:02}:{minute:02}:{second:02}.{milli:03}")
}
