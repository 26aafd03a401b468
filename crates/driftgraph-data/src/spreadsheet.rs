//! Sheets of spreadsheets (.xlsx, .ods) as cells of text, read by the rules of text tables.

use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use calamine::{Data, ExcelDateTime, Ods, Range, Reader, Xlsx};
use zip::ZipArchive;

use crate::decoding::decoded;
use crate::error::{DataError, DataErrors, Place};
use crate::grid::Grid;
use crate::message_text::list;
use crate::options::ReadOptions;
use crate::problem::Problem;
use crate::source;

/// The cells of the sheet asked for, or of the first one, and what must be told about the choice.
pub(crate) fn read_cells(
    path: &Path,
    options: &ReadOptions,
) -> Result<(Grid, Vec<String>), DataErrors> {
    let bytes = whole_file(path, options.max_bytes)?;
    decoded(path, || {
        let is_ods = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ods"));
        Ok(if is_ods {
            sheet::<Ods<_>>(path, bytes, options)?
        } else {
            sheet::<Xlsx<_>>(path, bytes, options)?
        })
    })
}

/// The bytes of the file; what they promise to decompress to must be within the limit too.
fn whole_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, DataError> {
    let file = source::open(path, max_bytes)?;
    let mut bytes = Vec::new();
    let read = BufReader::new(file).read_to_end(&mut bytes);
    read.map_err(|error| source::io_error(path, &error))?;
    let damaged = |reason: String| Place::file(path).problem(Problem::Damaged { reason });
    let mut archive =
        ZipArchive::new(Cursor::new(&bytes)).map_err(|error| damaged(error.to_string()))?;
    let mut n_bytes = 0_u64;
    for idx in 0..archive.len() {
        // What is told in the archive may be a lie: what counts is what comes out of it.
        let entry = archive.by_index(idx).map_err(|error| damaged(error.to_string()))?;
        let left = (max_bytes - n_bytes).saturating_add(1);
        let size = std::io::copy(&mut entry.take(left), &mut std::io::sink());
        n_bytes += size.map_err(|error| damaged(error.to_string()))?;
        if n_bytes > max_bytes {
            return Err(Place::file(path).problem(Problem::TooLarge { limit: max_bytes }));
        }
    }
    Ok(bytes)
}

fn sheet<R: Reader<Cursor<Vec<u8>>>>(
    path: &Path,
    bytes: Vec<u8>,
    options: &ReadOptions,
) -> Result<(Grid, Vec<String>), DataError>
where
    R::Error: std::fmt::Display,
{
    let damaged =
        |error: R::Error| Place::file(path).problem(Problem::Damaged { reason: error.to_string() });
    let mut workbook = R::new(Cursor::new(bytes)).map_err(damaged)?;
    let names = workbook.sheet_names();
    let unknown = |name: String| {
        Place::file(path).problem(Problem::NoSuchSheet { name, sheets: names.clone() })
    };
    let name = match &options.sheet {
        Some(name) if names.contains(name) => name.clone(),
        Some(name) => return Err(unknown(name.clone())),
        None => names.first().cloned().ok_or_else(|| Place::file(path).problem(Problem::NoRows))?,
    };
    let range = workbook.worksheet_range(&name).map_err(damaged)?;
    let mut notices = Vec::new();
    if names.len() > 1 && options.sheet.is_none() {
        let others = list(&names[1..]);
        notices.push(format!(
            "the first sheet, `{name}`, was read; `--sheet` reads another one: {others}"
        ));
    }
    let cells = u64::try_from(range.get_size().0 * range.get_size().1).unwrap_or(u64::MAX);
    // Empty cells take no room in the file, but some in memory.
    if cells.saturating_mul(8) > options.max_bytes {
        return Err(Place::file(path).problem(Problem::TooLarge { limit: options.max_bytes }));
    }
    Ok((grid_of(&range), notices))
}

fn grid_of(range: &Range<Data>) -> Grid {
    let mut grid = Grid::default();
    let first_line = range.start().map_or(1, |(row, _)| u64::from(row) + 1);
    for (idx, row) in range.rows().enumerate() {
        grid.push(first_line + idx as u64, row.iter().map(text).collect());
    }
    grid
}

/// A cell as it would be written in a table of text.
fn text(cell: &Data) -> String {
    match cell {
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::String(text) => text.clone(),
        Data::Bool(is_true) => u8::from(*is_true).to_string(),
        Data::DateTime(date) if date.is_datetime() => date_text(date),
        // A length of time is counted in days, as spreadsheets do.
        Data::DateTime(duration) => duration.as_f64().to_string(),
        Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
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
