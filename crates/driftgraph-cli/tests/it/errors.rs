//! Bad input: each kind with its message, exit code 2, and nothing written.

use insta::assert_snapshot;

use crate::{Sandbox, loader_fixture};

/// What `check` says of a file; other commands read data the same way, and write nothing.
fn refused(name: &str, content: impl AsRef<[u8]>) -> String {
    refused_with(name, content, "")
}

fn refused_with(name: &str, content: impl AsRef<[u8]>, options: &str) -> String {
    let sandbox = Sandbox::with(name, content);
    let said = sandbox.run(&format!("check {name} {options}"));
    let same = sandbox.run(&format!("baseline ridge {name} {options} --out edges.csv"));
    assert_eq!(same, said);
    assert!(!sandbox.path("edges.csv").exists());
    assert_eq!(std::fs::read_dir(sandbox.path("")).unwrap().count(), 1, "a stray file");
    assert!(said.starts_with("exit 2\n--- stderr\n"), "{said}");
    said
}

#[test]
fn missing_file() {
    assert_snapshot!(Sandbox::new().run("check visits.csv"), @r"
    exit 2
    --- stderr
    error: no such file or folder
      in `visits.csv`
    ");
}

#[test]
fn folder_without_tables() {
    assert_snapshot!(Sandbox::new().run("check ."), @r"
    exit 2
    --- stderr
    error: the folder holds no table: .csv, .tsv, .txt (also with .gz), .xlsx, .ods, .parquet, .npz
      in `.`
    ");
}

#[test]
fn unknown_ending() {
    assert_snapshot!(refused("visits.doc", "PK"), @r"
    exit 2
    --- stderr
    error: the ending of the file name is not one of .csv, .tsv, .txt (also with .gz), .xlsx, .ods, .parquet, .npz
      in `visits.doc`

    hint: save the table as CSV or as a spreadsheet
    ");
}

#[test]
fn not_utf8() {
    assert_snapshot!(refused("a.csv", b"time,Temp \xb0C\x01\n0,1\n"), @r"
    exit 2
    --- stderr
    error: the file is not UTF-8 text
      in `a.csv`, row 1

    hint: name the encoding with `--encoding utf-16` or `latin-1`, or save the table as UTF-8
    ");
}

#[test]
fn ragged_rows() {
    assert_snapshot!(refused("a.csv", "time,x,y\n0,1,2\n1,3\n2,4,5,6\n"), @r"
    exit 2
    --- stderr
    error: the row has 2 cells, the header has 3
      in `a.csv`, row 3
    error: the row has 4 cells, the header has 3
      in `a.csv`, row 4

    hint: check for a stray separator, or a missing cell at the end
    ");
}

#[test]
fn quote_that_never_closes() {
    assert_snapshot!(refused("a.csv", "time,x\n0,\"1\n1,2\n"), @r#"
    exit 2
    --- stderr
    error: a quotation mark opens a cell in this row, and none closes it
      in `a.csv`, row 2

    hint: close it, or double it ("") if it is part of the text
    "#);
}

#[test]
fn text_in_a_number_column() {
    assert_snapshot!(refused("a.csv", "time,x,note\n0,1,fine\n1,n.d.,ill\n"), @r"
    exit 2
    --- stderr
    error: `fine` is not a number
      in `a.csv`, row 2, column `note`
    error: `ill` is not a number
      in `a.csv`, row 3, column `note`

    hint: leave missing cells empty, or say which words mean that with `--missing WORD`; drop a column of text with `--ignore COLUMN`, or make it the series with `--series COLUMN`
    ");
}

#[test]
fn decimal_commas_among_decimal_points() {
    assert_snapshot!(refused("a.csv", "time;x\n0;1,5\n1;2.5\n"), @r"
    exit 2
    --- stderr
    error: `1,5` is not a number
      in `a.csv`, row 2, column `x`

    hint: write all decimals with a point, or all with a comma; `--decimal comma` or `--decimal point` says which
    ");
}

#[test]
fn infinite_value() {
    assert_snapshot!(refused("a.csv", "time,x\n0,1\n1,inf\n"), @r"
    exit 2
    --- stderr
    error: `inf` is not a finite number
      in `a.csv`, row 3, column `x`

    hint: leave the cell empty if it was not measured
    ");
}

#[test]
fn decreasing_time() {
    assert_snapshot!(refused("a.csv", "time,x\n0,1\n5,2\n3,1\n5,3\n"), @r"
    exit 2
    --- stderr
    error: time goes back from 5 to 3, and some times appear more than once
      in `a.csv`, row 4

    hint: if these are several series, name the column that tells them apart with `--series COLUMN`, or add one; if they are repeated measurements of one, pass `--duplicates mean`, `first` or `last`
    ");
}

#[test]
fn duplicated_time() {
    assert_snapshot!(refused("visits.csv", "subject,time,x\np7,3.5,1\np7,3.5,2\n"), @r"
    exit 2
    --- stderr
    error: series `p7` has two rows at time 3.5; the other is row 2
      in `visits.csv`, row 3

    hint: keep one row per series and time, or pass `--duplicates mean`, `first` or `last`
    ");
}

#[test]
fn duplicated_time_in_a_long_table() {
    let text = "subject,time,variable,value\np7,3.5,x,1\np7,3.5,y,1\np7,3.5,x,2\n";
    assert_snapshot!(refused("visits.csv", text), @r"
    exit 2
    --- stderr
    error: series `p7` has two values of `x` at time 3.5; the other is row 2
      in `visits.csv`, row 4

    hint: keep one row per series and time, or pass `--duplicates mean`, `first` or `last`
    ");
}

#[test]
fn time_that_is_none() {
    assert_snapshot!(refused("a.csv", "time,x\nmonday,1\n,2\n"), @r"
    exit 2
    --- stderr
    error: `monday` is neither a number nor a date
      in `a.csv`, row 2, column `time`
    error: the cell is empty
      in `a.csv`, row 3, column `time`

    hint: use numbers throughout, or dates of one form, such as 2026-01-31 or 2026-01-31T12:30:00Z
    hint: fill in the cell, or delete the row
    ");
}

#[test]
fn dates_and_numbers_mixed() {
    assert_snapshot!(refused("a.csv", "time,x\n2026-01-31,1\n3,2\n"), @r"
    exit 2
    --- stderr
    error: `3` is a number, but the times before it are dates
      in `a.csv`, row 3, column `time`

    hint: use numbers throughout, or dates of one form, such as 2026-01-31 or 2026-01-31T12:30:00Z
    ");
}

#[test]
fn no_time_column() {
    assert_snapshot!(refused("a.csv", "when,x,y\n0,1,2\n"), @r"
    exit 2
    --- stderr
    error: no column holds the time; the columns are `when`, `x`, `y`
      in `a.csv`

    hint: name the column with `--time COLUMN`, or pass `--even-steps` if the rows are equally spaced in time
    ");
}

#[test]
fn transposed_table_without_a_time_column() {
    assert_snapshot!(refused("a.csv", "gene,0,10,20\nG1,1,2,3\nG2,4,5,6\n"), @r"
    exit 2
    --- stderr
    error: the names of the columns look like times (`0`, `10`, `20`), and the first column holds names such as `G1`, `G2`
      in `a.csv`

    hint: pass `--transpose` if the times are in the header and the variables in rows
    ");
}

#[test]
fn column_that_is_not_there() {
    let text = "minutes,x,y\n0,1,2\n";
    assert_snapshot!(refused_with("a.csv", text, "--time hours"), @r"
    exit 2
    --- stderr
    error: there is no column `hours`; the columns are `minutes`, `x`, `y`
      in `a.csv`
    ");
}

#[test]
fn column_with_two_roles() {
    let text = "time,x,y\n0,1,2\n";
    assert_snapshot!(refused_with("a.csv", text, "--variables x,y,x"), @r"
    exit 2
    --- stderr
    error: `x` is named twice among the time, the series, the variables to keep and the columns to ignore
      in `a.csv`
    ");
}

#[test]
fn header_missing() {
    assert_snapshot!(refused("a.csv", "0,1,2\n1,3,4\n"), @r"
    exit 2
    --- stderr
    error: the first row holds numbers where names of columns should be
      in `a.csv`

    hint: add a first row with names, such as `time,x1,x2`
    ");
}

#[test]
fn duplicated_name() {
    assert_snapshot!(refused("a.csv", "time,x,y,x\n0,1,2,3\n"), @r"
    exit 2
    --- stderr
    error: two columns are named `x`
      in `a.csv`

    hint: give every column its own name
    ");
}

#[test]
fn empty_name() {
    assert_snapshot!(refused("a.csv", "time,x,\n0,1,\n"), @r"
    exit 2
    --- stderr
    error: column number 3 has no name
      in `a.csv`

    hint: name every column, or remove it: spreadsheets write an empty last one after a stray separator
    ");
}

#[test]
fn zero_usable_series() {
    assert_snapshot!(refused("a.csv", "time,x\n0,NA\n1,\n"), @r"
    exit 2
    --- stderr
    error: no cell holds a value
      in `a.csv`
    ");
}

#[test]
fn no_rows() {
    assert_snapshot!(refused("a.csv", "time,x\n"), @r"
    exit 2
    --- stderr
    error: there are no rows of data
      in `a.csv`
    ");
}

#[test]
fn no_variables() {
    assert_snapshot!(refused("a.csv", "id,time\na,0\n"), @r"
    exit 2
    --- stderr
    error: no column holds a variable
      in `a.csv`

    hint: choose columns with `--variables A,B,C`
    ");
}

#[test]
fn truncated_gzip() {
    // A header, and nothing after it.
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    assert_snapshot!(refused("a.csv.gz", header), @r"
    exit 2
    --- stderr
    error: the file is damaged or cut short: incomplete deflate stream
      in `a.csv.gz`

    hint: copy or download the file again
    ");
}

#[test]
fn truncated_parquet() {
    let whole = loader_fixture("pandas_wide.parquet");
    assert_snapshot!(refused("a.parquet", &whole[..whole.len() / 2]), @r"
    exit 2
    --- stderr
    error: the file is damaged or cut short: Invalid Parquet file. Corrupt footer
      in `a.parquet`

    hint: copy or download the file again
    ");
}

#[test]
fn truncated_npz() {
    let whole = loader_fixture("full.npz");
    assert_snapshot!(refused("a.npz", &whole[..whole.len() / 2]), @r"
    exit 2
    --- stderr
    error: the file is damaged or cut short: invalid Zip archive: Could not find EOCD
      in `a.npz`

    hint: copy or download the file again
    ");
}

#[test]
fn object_array() {
    assert_snapshot!(refused("a.npz", loader_fixture("object.npz")), @r"
    exit 2
    --- stderr
    error: array `x` holds Python objects, which are never read
      in `a.npz`

    hint: save it with a numeric type: `x.astype(float)`
    ");
}

#[test]
fn array_of_text() {
    assert_snapshot!(refused("a.npz", loader_fixture("text.npz")), @r"
    exit 2
    --- stderr
    error: array `x` has type <U1, expected numbers
      in `a.npz`
    ");
}

#[test]
fn file_beyond_the_limit() {
    let text = format!("time,x\n{}", "0,1\n".repeat(300));
    assert_snapshot!(refused_with("a.csv", text, "--max-bytes 1000"), @r"
    exit 2
    --- stderr
    error: the file holds more than 1000 bytes
      in `a.csv`

    hint: raise the limit with `--max-bytes N`, or split the file
    ");
}

#[test]
fn very_many_faults() {
    let text = format!("time,x\n{}", "0,low\n".repeat(300));
    assert_snapshot!(refused("a.csv", text), @r"
    exit 2
    --- stderr
    error: `low` is not a number
      in `a.csv`, row 2, column `x`
    error: `low` is not a number
      in `a.csv`, row 3, column `x`
    error: `low` is not a number
      in `a.csv`, row 4, column `x`
    error: `low` is not a number
      in `a.csv`, row 5, column `x`
    error: `low` is not a number
      in `a.csv`, row 6, column `x`
    error: `low` is not a number
      in `a.csv`, row 7, column `x`
    error: `low` is not a number
      in `a.csv`, row 8, column `x`
    error: `low` is not a number
      in `a.csv`, row 9, column `x`
    error: `low` is not a number
      in `a.csv`, row 10, column `x`
    error: `low` is not a number
      in `a.csv`, row 11, column `x`
    and more: reading stopped here

    hint: leave missing cells empty, or say which words mean that with `--missing WORD`; drop a column of text with `--ignore COLUMN`, or make it the series with `--series COLUMN`
    ");
}

#[test]
fn files_that_do_not_match() {
    let sandbox = Sandbox::with("day1.csv", "time,x,y\n0,1,2\n");
    sandbox.write("day2.csv", "time,x,z\n0,1,2\n");
    assert_snapshot!(sandbox.run("check day1.csv day2.csv"), @r"
    exit 2
    --- stderr
    error: the file has no column `y` but `z`, unlike `day1.csv`
      in `day2.csv`

    hint: choose common columns with `--variables A,B,C`
    ");
}

#[test]
fn the_same_time_in_two_files() {
    let sandbox = Sandbox::with("day1.csv", "id,time,x\na,0,1\na,1,2\n");
    sandbox.write("day2.csv", "id,time,x\na,1,2\na,2,3\n");
    assert_snapshot!(sandbox.run("check day1.csv day2.csv"), @r"
    exit 2
    --- stderr
    error: series `a` has two rows at time 1; the other is row 3 of `day1.csv`
      in `day2.csv`, row 2

    hint: keep one row per series and time, or pass `--duplicates mean`, `first` or `last`
    ");
}

#[test]
fn a_parquet_file_on_which_the_decoder_panics_is_a_damaged_file_and_nothing_more() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../driftgraph-fuzz/corpus");
    let bytes = std::fs::read(corpus.join("parquet/no_dictionary.parquet")).unwrap();
    let text = Sandbox::with("a.parquet", bytes).run("check a.parquet");
    assert!(text.contains("exit 2") && text.contains("the file is damaged"), "{text}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn a_matrix_is_no_list_of_edges_and_no_option_is_named_that_is_not_there() {
    let sandbox = Sandbox::with("data.csv", "time,x,y\n0,1,2\n1,2,1\n2,1,3\n");
    sandbox.write("matrix.csv", ",x,y\nx,0,1\ny,0,0\n");
    assert_snapshot!(sandbox.run("fit data.csv --edge-prior matrix.csv --out run"), @r"
    exit 2
    --- stderr
    error: this is a matrix, which does not say whether its rows are sources or targets; a list of edges is needed here
      in `matrix.csv`

    hint: give one row per edge: `source,target` for known edges, `source,target,probability` for guesses
    ");
    assert_snapshot!(sandbox.run("fit data.csv --truth matrix.csv --out run"), @r"
    exit 2
    --- stderr
    error: this is a matrix, which does not say whether its rows are sources or targets; a list of edges is needed here
      in `matrix.csv`

    hint: give one row per edge: `source,target` for known edges, `source,target,probability` for guesses
    ");
}

#[test]
fn a_length_of_time_where_a_number_belongs_is_explained() {
    let sandbox = Sandbox::with("data.csv", "date,x\n2020-01-01,1\n2020-01-08,2\n2020-01-15,1\n");
    assert_snapshot!(sandbox.run("fit data.csv --step-size 1w"), @r"
    exit 2
    --- stderr
    error: `--step-size` needs a number above 0 in the unit that `driftgraph check` names, such as 7 for a week of data in days, found `1w`
    ");
}

#[test]
fn a_prior_without_probabilities_is_refused() {
    let sandbox = Sandbox::with("data.csv", "time,a,b\n0,1,2\n1,2,1\n2,1,2\n");
    sandbox.write("bare.csv", "source,target\na,b\n");
    assert_snapshot!(sandbox.run("fit data.csv --edge-prior bare.csv --out run"), @r#"
    exit 2
    --- stderr
    error: cannot use the edge prior in `bare.csv`
      caused by: the list gives bare edges, but no column `probability`: nothing says how sure each edge is

    hint: give `source,target,probability` with numbers from 0 (forbidden) to 1 (required); edges that are certain can be given with `--require A->B`
    "#);
    sandbox.write("scores.csv", "source,target,score\na,b,0.5\n");
    assert_snapshot!(sandbox.run("fit data.csv --edge-prior scores.csv --out run"), @r#"
    exit 2
    --- stderr
    error: cannot use the edge prior in `scores.csv`
      caused by: the list gives a column `score`, but no column `probability`: nothing says how sure each edge is

    hint: give `source,target,probability` with numbers from 0 (forbidden) to 1 (required); edges that are certain can be given with `--require A->B`
    "#);
}
