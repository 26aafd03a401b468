//! Parquet files, written column by column here and by pandas (fixtures/make.py).

mod support;

use std::path::PathBuf;
use std::sync::Arc;

use driftgraph_data::{Problem, ReadOptions, TimeUnit, load};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use support::{Folder, content, fixture, only_problem, series};

const HOLE: f64 = -999.0;

/// Cells of one column, `None` where null.
enum Column {
    Double(Vec<Option<f64>>),
    Float(Vec<Option<f32>>),
    Int32(Vec<Option<i32>>),
    Int64(Vec<Option<i64>>),
    Bool(Vec<Option<bool>>),
    Text(Vec<Option<&'static str>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

/// Writes `schema`'s columns, repeated in `n_groups` groups of rows.
fn parquet(folder: &Folder, schema: &str, columns: &[Column], n_groups: usize) -> PathBuf {
    let schema = Arc::new(parse_message_type(&format!("message table {{ {schema} }}")).unwrap());
    let properties = WriterProperties::builder().set_dictionary_enabled(true).build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    for _ in 0..n_groups {
        let mut group = file.next_row_group().unwrap();
        for column in columns {
            let mut writer = group.next_column().unwrap().unwrap();
            macro_rules! write {
                ($type:ty, $cells:expr, $convert:expr) => {
                    write_cells(writer.typed::<$type>(), $cells, $convert)
                };
            }
            match column {
                Column::Double(cells) => write!(DoubleType, cells, |v| *v),
                Column::Float(cells) => write!(FloatType, cells, |v| *v),
                Column::Int32(cells) => write!(Int32Type, cells, |v| *v),
                Column::Int64(cells) => write!(Int64Type, cells, |v| *v),
                Column::Bool(cells) => write!(BoolType, cells, |v| *v),
                Column::Text(cells) => write!(ByteArrayType, cells, |v| ByteArray::from(*v)),
                Column::Bytes(cells) => {
                    write!(ByteArrayType, cells, |v| ByteArray::from(v.clone()));
                }
            }
            writer.close().unwrap();
        }
        group.close().unwrap();
    }
    folder.file("made.parquet", file.into_inner().unwrap())
}

fn write_cells<T: DataType, C>(
    writer: &mut parquet::column::writer::ColumnWriterImpl<'_, T>,
    cells: &[Option<C>],
    convert: impl Fn(&C) -> T::T,
) {
    let present: Vec<T::T> = cells.iter().flatten().map(convert).collect();
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    // Required columns ignore the levels.
    writer.write_batch(&present, Some(&levels), None).unwrap();
}

fn some<T: Copy>(values: &[T]) -> Vec<Option<T>> {
    values.iter().copied().map(Some).collect()
}

#[test]
fn numbers_of_every_type_and_nulls_are_read() {
    let folder = Folder::new();
    let schema = "required double time; optional double a; optional float b; optional int32 c; \
                  optional int64 d; optional boolean e; optional int32 f (UINT_32); \
                  required binary series (UTF8);";
    let columns = [
        Column::Double(some(&[0.0, 1.0])),
        Column::Double(vec![Some(0.1), None]),
        Column::Float(vec![None, Some(0.5)]),
        Column::Int32(some(&[-3, 4])),
        Column::Int64(some(&[1 << 40, 6])),
        Column::Bool(some(&[true, false])),
        Column::Int32(some(&[-1, 7])),
        Column::Text(some(&["p", "p"])),
    ];
    let loaded = load(&[parquet(&folder, schema, &columns, 1)], &ReadOptions::default()).unwrap();
    assert_eq!(loaded.data.variables(), ["a", "b", "c", "d", "e", "f"]);
    // The bits of -1 are the largest unsigned number.
    let first = [0.1, HOLE, -3.0, (1_u64 << 40) as f64, 1.0, f64::from(u32::MAX)];
    let second = [HOLE, 0.5, 4.0, 6.0, 0.0, 7.0];
    assert_eq!(content(&loaded), [series("p", &[0.0, 1.0], &[first, second].concat())]);
}

#[test]
fn groups_of_rows_follow_each_other_and_restarts_are_series() {
    let folder = Folder::new();
    let columns = [Column::Int64(some(&[0, 1])), Column::Double(some(&[2.0, 3.0]))];
    let path = parquet(&folder, "required int64 t; required double x;", &columns, 2);
    let loaded = load(&[path], &ReadOptions::default()).unwrap();
    let expected = [series("1", &[0.0, 1.0], &[2.0, 3.0]), series("2", &[0.0, 1.0], &[2.0, 3.0])];
    assert_eq!(content(&loaded), expected);
}

#[test]
fn timestamps_and_dates_become_times_with_a_unit() {
    let folder = Folder::new();
    let cases = [
        ("required int64 time (TIMESTAMP_MILLIS); required double x;", 3_600_000_i64),
        ("required int64 time (TIMESTAMP_MICROS); required double x;", 3_600_000_000),
        ("required int64 time (TIMESTAMP(NANOS,true)); required double x;", 3_600_000_000_000),
    ];
    for (schema, hour) in cases {
        let columns = [Column::Int64(some(&[0, hour, 3 * hour])), Column::Double(some(&[1.0; 3]))];
        let loaded =
            load(&[parquet(&folder, schema, &columns, 1)], &ReadOptions::default()).unwrap();
        assert_eq!(loaded.data.series()[0].times(), [0.0, 1.0, 3.0]);
        assert_eq!(loaded.time_axis.unit, TimeUnit::Hours);
    }
    let columns = [Column::Int32(some(&[0, 2])), Column::Double(some(&[1.0; 2]))];
    let path = parquet(&folder, "required int32 date (DATE); required double x;", &columns, 1);
    let loaded = load(&[path], &ReadOptions::default()).unwrap();
    assert_eq!(loaded.data.series()[0].times(), [0.0, 2.0]);
    assert_eq!(loaded.time_axis.to_string(), "days since 1970-01-01T00:00:00Z");
}

#[test]
fn text_columns_may_hold_numbers_times_and_the_long_layout() {
    let folder = Folder::new();
    let schema = "required binary time (UTF8); required binary variable (UTF8); \
                  optional binary value (UTF8);";
    let columns = [
        Column::Text(some(&["2026-01-01", "2026-01-01", "2026-01-02"])),
        Column::Text(some(&["x", "y", "x"])),
        Column::Text(vec![Some("1.5"), Some("2"), None]),
    ];
    let loaded = load(&[parquet(&folder, schema, &columns, 1)], &ReadOptions::default()).unwrap();
    assert_eq!(content(&loaded), [series("made", &[0.0], &[1.5, 2.0])]);
}

#[test]
fn faulty_cells_are_told_with_row_and_column() {
    let folder = Folder::new();
    let problem = |schema: &str, columns: &[Column]| {
        let path = parquet(&folder, schema, columns, 1);
        only_problem(&load(&[path], &ReadOptions::default()).unwrap_err())
    };
    let schema = "optional double time; optional double x;";
    let infinite = [Column::Double(some(&[0.0, 1.0])), Column::Double(some(&[0.0, f64::INFINITY]))];
    let expected = (Problem::Infinite { text: "inf".into() }, Some(2), Some("x".into()));
    assert_eq!(problem(schema, &infinite), expected);
    let no_time = [Column::Double(vec![None, Some(1.0)]), Column::Double(some(&[0.0, 1.0]))];
    let expected = (Problem::EmptyCell { text: String::new() }, Some(1), Some("time".into()));
    assert_eq!(problem(schema, &no_time), expected);
    let schema = "required double time; required binary x (UTF8);";
    let text = [Column::Double(some(&[0.0])), Column::Text(some(&["high"]))];
    let expected = (Problem::NotANumber { text: "high".into() }, Some(1), Some("x".into()));
    assert_eq!(problem(schema, &text), expected);
    let bytes = [Column::Double(some(&[0.0])), Column::Bytes(vec![Some(vec![0xff])])];
    assert!(matches!(problem(schema, &bytes).0, Problem::Damaged { .. }));
    let schema = "required double time; required group x (LIST) { repeated group list { optional double element; } }";
    let nested = [Column::Double(vec![]), Column::Double(vec![])];
    assert_eq!(problem(schema, &nested).0, Problem::NoRows);
}

#[test]
fn repeated_values_do_not_slip_past_the_limit() {
    let folder = Folder::new();
    let columns = [
        Column::Double((0..10_000).map(|time| Some(f64::from(time))).collect()),
        Column::Double(vec![Some(1.0); 10_000]),
    ];
    let path = parquet(&folder, "required double time; required double x;", &columns, 1);
    let load_with = |max_bytes| {
        load(std::slice::from_ref(&path), &ReadOptions { max_bytes, ..ReadOptions::default() })
    };
    // Two columns of ten thousand numbers take 160,000 bytes.
    let refused = load_with(159_999).unwrap_err();
    assert_eq!(only_problem(&refused).0, Problem::TooLarge { limit: 159_999 });
    assert!(load_with(1_000_000).is_ok());
}

#[test]
fn files_of_pandas_are_read_with_categories_dates_and_index() {
    let rows = [[0.0, 0.5, 1.0, 1.5, 2.0, HOLE], [10.0, 10.5, 11.0, 11.5, 12.0, 12.5]];
    let expected =
        [series("a", &[0.0, 1.0, 2.5], &rows[0]), series("b", &[0.0, 1.0, 2.5], &rows[1])];
    let wide = load(&[fixture("pandas_wide.parquet")], &ReadOptions::default()).unwrap();
    assert_eq!(content(&wide), expected);
    let dates = load(&[fixture("pandas_dates_index.parquet")], &ReadOptions::default()).unwrap();
    assert_eq!(content(&dates), expected);
    assert_eq!(dates.data.variables(), ["x1", "x2"]);
    assert_eq!(dates.time_axis.to_string(), "days since 2026-01-01T00:00:00Z");
}

#[test]
fn a_file_cut_anywhere_is_damaged() {
    let whole = std::fs::read(fixture("pandas_wide.parquet")).unwrap();
    let folder = Folder::new();
    for length in (0..whole.len()).step_by(7) {
        let path = folder.file("cut.parquet", &whole[..length]);
        let (problem, ..) = only_problem(&load(&[path], &ReadOptions::default()).unwrap_err());
        assert!(matches!(problem, Problem::Damaged { .. }), "{length}: {problem}");
    }
}

#[test]
fn whole_numbers_that_are_all_dates_are_read_as_dates() {
    let folder = Folder::new();
    let times = vec![Some(20_231_229), Some(20_240_102), Some(20_240_103)];
    let values = vec![Some(1.0), Some(2.0), Some(3.0)];
    let columns = [Column::Int64(times), Column::Double(values)];
    let file = parquet(&folder, "REQUIRED INT64 date; REQUIRED DOUBLE x;", &columns, 1);
    let loaded = load(&[file], &ReadOptions::default()).unwrap();
    assert_eq!(loaded.data.series()[0].times(), [0.0, 4.0, 5.0]);
    assert_eq!(
        loaded.notices,
        ["times such as 20231229 were read as dates; `--date-order none` overrules"]
    );
}
