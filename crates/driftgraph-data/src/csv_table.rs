//! Files of separated text, one row at a time.

use std::io::{self, BufReader, Read};
use std::path::Path;

use crate::encoding::as_utf8;
use crate::error::{DataError, Place};
use crate::options::Encoding;
use crate::problem::Problem;
use crate::records::{RecordError, Records};
use crate::source::{self, TableFile};

pub(crate) use crate::numbers::parse_number;

/// The rows of a file of text.
pub(crate) type TextRow = Records<BufReader<Box<dyn Read + Send>>>;

/// A table of text being read; also used for lists of edges.
pub(crate) struct Table<'a> {
    path: &'a Path,
    max_bytes: u64,
    records: TextRow,
}

impl<'a> Table<'a> {
    /// Opens a file; without a given separator the first line decides.
    pub(crate) fn open(
        file: TableFile<'a>,
        separator: Option<u8>,
        max_bytes: u64,
    ) -> Result<Self, DataError> {
        Ok(Self::open_as(file, separator, max_bytes, None)?.0)
    }

    /// Opens a file in an encoding, which is returned; where none is given, its first bytes decide.
    pub(crate) fn open_as(
        file: TableFile<'a>,
        separator: Option<u8>,
        max_bytes: u64,
        encoding: Option<Encoding>,
    ) -> Result<(Self, Encoding), DataError> {
        let path = file.path;
        let bytes = source::open_text(file, max_bytes)?;
        let (text, found) =
            as_utf8(bytes, encoding).map_err(|error| read_error(path, max_bytes, &error))?;
        let text = BufReader::with_capacity(1 << 18, text);
        Ok((Self { path, max_bytes, records: Records::new(text, separator) }, found))
    }

    /// The separator, once the first row was read.
    pub(crate) fn separator(&self) -> Option<u8> {
        self.records.separator()
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
            Err(error) => Err(self.row_error(error)),
        }
    }

    /// The next whole lines as bytes, where they can be read apart from the rest.
    pub(crate) fn take_lines(
        &mut self,
        n_bytes: usize,
        memory: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, DataError> {
        let taken = self.records.take_lines(n_bytes, memory);
        taken.map_err(|error| read_error(self.path, self.max_bytes, &error))
    }

    /// Lines read so far.
    pub(crate) fn n_lines(&self) -> u64 {
        self.records.n_lines()
    }

    /// Counts lines that were read elsewhere.
    pub(crate) fn count_lines(&mut self, n_lines: u64) {
        self.records.count_lines(n_lines);
    }

    /// The rows of lines that were taken from this table, or from one like it, after so many others.
    pub(crate) fn rows_of(&self, lines: &[u8], n_before: u64) -> Self {
        let reader: Box<dyn Read + Send> = Box::new(io::Cursor::new(lines.to_vec()));
        let records = Records::after(BufReader::new(reader), self.separator(), n_before);
        Self { path: self.path, max_bytes: self.max_bytes, records }
    }

    fn row_error(&self, error: RecordError) -> DataError {
        let row = || self.place().row(self.records.line());
        match error {
            RecordError::NotUtf8 => row().problem(Problem::NotUtf8),
            RecordError::OpenQuote => row().problem(Problem::OpenQuote),
            RecordError::Io(error) => read_error(self.path, self.max_bytes, &error),
        }
    }
}

fn read_error(path: &Path, max_bytes: u64, error: &io::Error) -> DataError {
    match error.kind() {
        io::ErrorKind::FileTooLarge => {
            Place::file(path).problem(Problem::TooLarge { limit: max_bytes })
        }
        _ => source::io_error(path, error),
    }
}
