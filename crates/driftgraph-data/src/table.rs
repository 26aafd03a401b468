//! Tables of results: columns with names, written as text or Parquet, by the name of the file.

use std::io::{self, Write};
use std::path::Path;

use crate::formats::format_of;

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Texts.
    Text(Vec<String>),
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Numbers; `NaN` is an empty cell.
    Number(Vec<f64>),
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Text(cells) => cells.len(),
            Self::Whole(cells) => cells.len(),
            Self::Number(cells) => cells.len(),
        }
    }

    fn text(&self, row: usize) -> String {
        match self {
            Self::Text(cells) => cells[row].clone(),
            Self::Whole(cells) => cells[row].to_string(),
            Self::Number(cells) if cells[row].is_nan() => String::new(),
            Self::Number(cells) => cells[row].to_string(),
        }
    }
}

/// Columns of the same length, each with a name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    columns: Vec<(String, Column)>,
}

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Cells separated by commas.
    Csv,
    /// Cells separated by tabs.
    Tsv,
    /// Apache Parquet.
    Parquet,
}

impl TableFormat {
    /// The format that a file's name asks for; text with commas where it asks for none.
    pub fn of(path: &Path) -> Self {
        format_of(path).and_then(|format| format.written_as).unwrap_or(Self::Csv)
    }
}

impl Table {
    /// The same table with one more column, which must be as long as the others.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, column: Column) -> Self {
        if let Some((_, first)) = self.columns.first() {
            assert_eq!(first.len(), column.len(), "columns of a table have the same length");
        }
        self.columns.push((name.into(), column));
        self
    }

    /// The columns with their names, in order.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.columns.iter().map(|(name, column)| (name.as_str(), column))
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Writes the table.
    pub fn write(&self, out: impl Write + Send, format: TableFormat) -> io::Result<()> {
        match format {
            TableFormat::Csv => self.write_text(out, b','),
            TableFormat::Tsv => self.write_text(out, b'\t'),
            TableFormat::Parquet => self.write_parquet(out),
        }
    }

    fn write_text(&self, out: impl Write, separator: u8) -> io::Result<()> {
        let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(out);
        writer.write_record(self.columns.iter().map(|(name, _)| name))?;
        for row in 0..self.n_rows() {
            writer.write_record(self.columns.iter().map(|(_, column)| column.text(row)))?;
        }
        writer.flush()
    }

    fn write_parquet(&self, out: impl Write + Send) -> io::Result<()> {
        use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
        use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
        use parquet::file::properties::WriterProperties;
        use parquet::file::writer::SerializedFileWriter;
        use parquet::schema::types::Type;

        let field = |(name, column): &(String, Column)| {
            let (physical, logical) = match column {
                Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Column::Whole(_) => (Physical::INT64, None),
                Column::Number(_) => (Physical::DOUBLE, None),
            };
            let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
            // Numbers may be missing, names and counts never are.
            let missing = matches!(column, Column::Number(_));
            let repetition = if missing { Repetition::OPTIONAL } else { Repetition::REQUIRED };
            field.with_repetition(repetition).build().map(std::sync::Arc::new)
        };
        let fields = self.columns.iter().map(field).collect::<Result<Vec<_>, _>>();
        let schema =
            Type::group_type_builder("table").with_fields(fields.map_err(io::Error::other)?);
        let schema = std::sync::Arc::new(schema.build().map_err(io::Error::other)?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut file = SerializedFileWriter::new(out, schema, std::sync::Arc::new(properties))
            .map_err(io::Error::other)?;
        let mut group = file.next_row_group().map_err(io::Error::other)?;
        for (_, column) in &self.columns {
            let writer = group.next_column().map_err(io::Error::other)?;
            let mut writer = writer.ok_or_else(|| io::Error::other("a column without a place"))?;
            let written = match column {
                Column::Text(cells) => {
                    let cells: Vec<ByteArray> =
                        cells.iter().map(|cell| ByteArray::from(cell.as_str())).collect();
                    writer.typed::<ByteArrayType>().write_batch(&cells, None, None)
                }
                Column::Whole(cells) => writer.typed::<Int64Type>().write_batch(cells, None, None),
                Column::Number(cells) => {
                    let present: Vec<f64> =
                        cells.iter().copied().filter(|cell| !cell.is_nan()).collect();
                    let levels: Vec<i16> =
                        cells.iter().map(|cell| i16::from(!cell.is_nan())).collect();
                    writer.typed::<DoubleType>().write_batch(&present, Some(&levels), None)
                }
            };
            written.map_err(io::Error::other)?;
            writer.close().map_err(io::Error::other)?;
        }
        group.close().map_err(io::Error::other)?;
        file.close().map_err(io::Error::other)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, load};

    fn table() -> Table {
        Table::default()
            .with("series", Column::Text(vec!["a, b".into(), "a, b".into(), "c".into()]))
            .with("time", Column::Whole(vec![0, 1, 0]))
            .with("x 1", Column::Number(vec![0.1, f64::NAN, -3e-7]))
            .with("y", Column::Number(vec![1.0, 2.0, 3.0]))
    }

    #[test]
    fn text_quotes_what_it_must_and_leaves_missing_cells_empty() {
        let mut out = Vec::new();
        table().write(&mut out, TableFormat::Csv).unwrap();
        let expected = "series,time,x 1,y\n\"a, b\",0,0.1,1\n\"a, b\",1,,2\nc,0,-0.0000003,3\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn every_format_is_read_back_by_our_own_reader() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["t.csv", "t.tsv", "t.parquet"] {
            let path = folder.path().join(name);
            let file = std::fs::File::create(&path).unwrap();
            table().write(file, TableFormat::of(&path)).unwrap();
            let loaded = load(&[path], &ReadOptions::default()).unwrap();
            assert_eq!(loaded.data.variables(), ["x 1", "y"], "{name}");
            assert_eq!(loaded.data.series()[0].name(), "a, b");
            assert_eq!(loaded.data.series()[0].value(0, 0), Some(0.1));
            assert_eq!(loaded.data.series()[0].value(1, 0), None);
            assert_eq!(loaded.data.series()[1].value(0, 0), Some(-3e-7));
        }
    }
}
