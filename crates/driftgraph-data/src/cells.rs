//! Rows of text cells, wherever they come from: a file of text read line by line, or a grid in memory.

use std::path::Path;

use crate::csv_table::{Table, TextRow};
use crate::date_parts::DateParts;
use crate::error::{DataError, DataErrors, Place};
use crate::formats::TextSource;
use crate::grid::{Grid, GridRow};
use crate::options::{Encoding, ReadOptions};
use crate::problem::Problem;
use crate::source::TableFile;
use crate::spreadsheet;

/// The rows of one table, one at a time.
pub(crate) struct CellRows<'a> {
    pub(crate) path: &'a Path,
    rows: RowSource<'a>,
    /// What was decided while opening, in whole sentences.
    pub(crate) notices: Vec<String>,
    /// Columns that make a date together, and the row in which they are one.
    parts: Option<(DateParts, GridRow)>,
}

enum RowSource<'a> {
    Text(Table<'a>),
    Grid(std::vec::IntoIter<GridRow>, Option<GridRow>),
}

/// One row of text cells.
pub(crate) enum CellRow<'a> {
    Text(&'a TextRow),
    Grid(&'a GridRow),
}

impl CellRow<'_> {
    /// Line of the file, from 1.
    pub(crate) fn line(&self) -> u64 {
        match self {
            Self::Text(row) => row.line(),
            Self::Grid(row) => row.line,
        }
    }

    /// Number of cells.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(row) => row.len(),
            Self::Grid(row) => row.cells.len(),
        }
    }

    /// One cell as written, or nothing where the row is too short.
    pub(crate) fn cell(&self, column: usize) -> &str {
        match self {
            Self::Text(row) => row.cell(column),
            Self::Grid(row) => row.cells.get(column).map_or("", String::as_str),
        }
    }
}

impl<'a> CellRows<'a> {
    /// Opens a table as the options say.
    pub(crate) fn open(
        file: TableFile<'a>,
        source: TextSource,
        options: &ReadOptions,
    ) -> Result<Self, DataErrors> {
        let mut opened = Self::open_upright(file, source, options)?;
        if options.transpose {
            let mut grid = Grid::default();
            while let Some(row) = opened.next_row()? {
                let cells = (0..row.len()).map(|column| row.cell(column).to_owned()).collect();
                grid.push(row.line(), cells);
            }
            let turned = grid.transposed();
            let (grid, notices) =
                turned.map_err(|problem| Place::file(file.path).problem(problem))?;
            opened.rows = RowSource::Grid(grid.rows.into_iter(), None);
            opened.notices.extend(notices);
        }
        Ok(opened)
    }

    fn open_upright(
        file: TableFile<'a>,
        source: TextSource,
        options: &ReadOptions,
    ) -> Result<Self, DataErrors> {
        let mut notices = Vec::new();
        let rows = match source {
            TextSource::Spreadsheet(read) => {
                let (grid, told) = spreadsheet::read_cells(file, read, options)?;
                notices.extend(told);
                RowSource::Grid(grid.rows.into_iter(), None)
            }
            TextSource::Separated(separator) => {
                let (table, encoding) =
                    Table::open_as(file, separator, options.max_bytes, options.encoding)?;
                if encoding == Encoding::Utf16 && options.encoding.is_none() {
                    notices.push(
                        "the text is UTF-16, which its first bytes say; `--encoding` overrules"
                            .to_owned(),
                    );
                }
                RowSource::Text(table)
            }
        };
        Ok(Self { path: file.path, rows, notices, parts: None })
    }

    /// The names in the first row; a nameless first column, as indices have, gets one.
    pub(crate) fn header(&mut self) -> Result<Vec<String>, DataError> {
        let path = self.path;
        let Some(row) = self.next_row()? else {
            return Err(Place::file(path).problem(Problem::NoRows));
        };
        let mut names: Vec<String> =
            (0..row.len()).map(|column| row.cell(column).trim().to_owned()).collect();
        if names.len() > 1 && names[0].is_empty() {
            NAMELESS_FIRST.clone_into(&mut names[0]);
        }
        Ok(names)
    }

    /// The same, with the columns of a date in parts as one, which the rows that follow have, too.
    pub(crate) fn joined_header(
        &mut self,
        options: &ReadOptions,
    ) -> Result<Vec<String>, DataError> {
        let names = self.header()?;
        let Some(parts) = DateParts::of(&names, options) else { return Ok(names) };
        self.notices.push(parts.notice(&names));
        let header = parts.join_header(&GridRow { line: 1, cells: names });
        let names = header.cells.clone();
        self.parts = Some((parts, header));
        Ok(names)
    }

    /// The next row, or `None` at the end; blank rows are skipped.
    pub(crate) fn next_row(&mut self) -> Result<Option<CellRow<'_>>, DataError> {
        let row = match &mut self.rows {
            RowSource::Text(table) => table.next_row()?.map(CellRow::Text),
            RowSource::Grid(rows, current) => {
                *current = rows.next();
                current.as_ref().map(CellRow::Grid)
            }
        };
        let (Some(row), Some((parts, joined))) = (&row, &mut self.parts) else { return Ok(row) };
        let cells = (0..row.len()).map(|column| row.cell(column).to_owned()).collect();
        *joined = parts.join(&GridRow { line: row.line(), cells });
        Ok(Some(CellRow::Grid(joined)))
    }

    /// The text whose lines may be read in blocks, where the rows are those of a text as they stand.
    pub(crate) fn as_text(&mut self) -> Option<&mut Table<'a>> {
        match &mut self.rows {
            // Dates in parts are joined row by row.
            RowSource::Text(table) if self.parts.is_none() => Some(table),
            _ => None,
        }
    }

    /// The separator of a file of text whose first row was read.
    pub(crate) fn separator(&self) -> Option<u8> {
        match &self.rows {
            RowSource::Text(table) => table.separator(),
            RowSource::Grid(..) => None,
        }
    }
}

/// What a first column without a name is called.
pub(crate) const NAMELESS_FIRST: &str = "column 1";
