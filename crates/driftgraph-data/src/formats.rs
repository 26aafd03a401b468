//! The formats of tables, in one list: how files are called, read and written. A new format is one entry of it.

use std::path::Path;

use driftgraph_core::SignatureGraph;

use crate::error::DataErrors;
use crate::guesses::Guess;
use crate::options::ReadOptions;
use crate::rows::Rows;
use crate::source::TableFile;
use crate::spreadsheet::{self, SheetReader};
use crate::table::TableFormat;
use crate::{guesses, npz, parquet_table, text_table};

/// The rows of a file, and the graph behind them where it carries one.
pub(crate) type FileContent = (Rows, Option<SignatureGraph>);

/// A format of tables.
#[derive(Debug)]
pub struct Format {
    /// Endings of file names in lower case, the usual one first.
    endings: &'static [&'static str],
    /// Whether `.gz` may follow; the other formats compress themselves.
    is_also_gzip: bool,
    reader: FormatReader,
    pub(crate) written_as: Option<TableFormat>,
}

#[derive(Debug)]
enum FormatReader {
    /// Cells of text, for whose meaning there are rules and guesses.
    Cells(TextSource),
    /// Columns with types.
    Typed {
        read: fn(TableFile<'_>, &ReadOptions) -> Result<FileContent, DataErrors>,
        column_names: fn(TableFile<'_>, &ReadOptions) -> Vec<String>,
    },
}

/// Where cells of text come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TextSource {
    /// A file with a known separator, or one to be found in the first line.
    Separated(Option<u8>),
    /// A sheet of a spreadsheet.
    Spreadsheet(SheetReader),
}

static FORMATS: [Format; 7] = [
    text(&["csv"], None, TableFormat::Csv),
    text(&["tsv"], Some(b'\t'), TableFormat::Tsv),
    text(&["txt"], None, TableFormat::Csv),
    spreadsheet(&["xlsx"], spreadsheet::xlsx),
    spreadsheet(&["ods"], spreadsheet::ods),
    Format {
        endings: &["parquet", "pq"],
        is_also_gzip: false,
        reader: FormatReader::Typed {
            read: |file, options| Ok((parquet_table::read(file, options)?, None)),
            column_names: parquet_table::column_names,
        },
        written_as: Some(TableFormat::Parquet),
    },
    Format {
        endings: &["npz"],
        is_also_gzip: false,
        reader: FormatReader::Typed { read: npz::read, column_names: |_, _| Vec::new() },
        written_as: None,
    },
];

const fn text(
    endings: &'static [&'static str],
    separator: Option<u8>,
    written_as: TableFormat,
) -> Format {
    let reader = FormatReader::Cells(TextSource::Separated(separator));
    Format { endings, is_also_gzip: true, reader, written_as: Some(written_as) }
}

const fn spreadsheet(endings: &'static [&'static str], sheet: SheetReader) -> Format {
    let reader = FormatReader::Cells(TextSource::Spreadsheet(sheet));
    Format { endings, is_also_gzip: false, reader, written_as: None }
}

impl Format {
    /// Reads a file by the options alone.
    pub(crate) fn read(
        &self,
        file: TableFile<'_>,
        options: &ReadOptions,
    ) -> Result<FileContent, DataErrors> {
        match self.reader {
            FormatReader::Cells(source) => Ok((text_table::read(file, source, options)?, None)),
            FormatReader::Typed { read, .. } => read(file, options),
        }
    }

    /// Options under which a file may be read that could not be, or what is wrong with it.
    pub(crate) fn guess(
        &self,
        file: TableFile<'_>,
        errors: DataErrors,
        options: &ReadOptions,
    ) -> Result<Guess, DataErrors> {
        match self.reader {
            FormatReader::Cells(source) => guesses::guess(file, source, errors, options),
            FormatReader::Typed { .. } => Err(errors),
        }
    }

    /// Names of the columns; none where they cannot be read.
    pub(crate) fn column_names(&self, file: TableFile<'_>, options: &ReadOptions) -> Vec<String> {
        match self.reader {
            FormatReader::Cells(source) => text_table::column_names(file, source, options),
            FormatReader::Typed { column_names, .. } => column_names(file, options),
        }
    }
}

/// The format that a file's name promises.
pub fn format_of(path: &Path) -> Option<&'static Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let (name, is_gzip) = name.strip_suffix(".gz").map_or((&*name, false), |name| (name, true));
    let ending = name.rsplit_once('.')?.1;
    let fits =
        |format: &&Format| format.endings.contains(&ending) && (format.is_also_gzip || !is_gzip);
    FORMATS.iter().find(fits)
}

/// What can be read, for people: `.csv, .tsv, ...`.
pub fn readable() -> String {
    let (also_gzip, alone): (Vec<_>, Vec<_>) =
        FORMATS.iter().partition(|format| format.is_also_gzip);
    let names = |formats: &[&Format]| {
        let names = formats.iter().map(|format| format!(".{}", format.endings[0]));
        names.collect::<Vec<_>>().join(", ")
    };
    format!("{} (also with .gz), {}", names(&also_gzip), names(&alone))
}

/// Every ending that can be read, as the `accept` of a page's field for files wants them.
pub fn accepted_by_page() -> String {
    let endings = FORMATS.iter().flat_map(|format| format.endings);
    endings.map(|ending| format!(".{ending},")).chain([".gz".to_owned()]).collect()
}

/// Every ending that can be written.
pub fn written_endings() -> Vec<&'static str> {
    let written = FORMATS.iter().filter(|format| format.written_as.is_some());
    written.flat_map(|format| format.endings).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_name_the_format_whatever_their_case() {
        let ending = |name: &str| format_of(Path::new(name)).map(|format| format.endings[0]);
        assert_eq!(ending("a.TSV.gz"), Some("tsv"));
        assert_eq!(ending("a.b.pq"), Some("parquet"));
        assert_eq!(ending("a.npz.gz"), None);
        assert_eq!(ending("data"), None);
    }

    #[test]
    fn people_pages_and_writers_are_told_the_same_list() {
        assert_eq!(readable(), ".csv, .tsv, .txt (also with .gz), .xlsx, .ods, .parquet, .npz");
        assert_eq!(accepted_by_page(), ".csv,.tsv,.txt,.xlsx,.ods,.parquet,.pq,.npz,.gz");
        assert_eq!(written_endings(), ["csv", "tsv", "txt", "parquet", "pq"]);
    }
}
