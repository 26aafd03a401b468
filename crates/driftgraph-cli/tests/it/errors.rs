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
    assert_snapshot!(Sandbox::new().run("check visits.csv"), @"");
}

#[test]
fn folder_without_tables() {
    assert_snapshot!(Sandbox::new().run("check ."), @"");
}

#[test]
fn unknown_ending() {
    assert_snapshot!(refused("visits.xlsx", "PK"), @"");
}

#[test]
fn not_utf8() {
    assert_snapshot!(refused("a.csv", b"time,Temp \xb0C\n0,1\n"), @"");
}

#[test]
fn ragged_rows() {
    assert_snapshot!(refused("a.csv", "time,x,y\n0,1,2\n1,3\n2,4,5,6\n"), @"");
}

#[test]
fn quote_that_never_closes() {
    assert_snapshot!(refused("a.csv", "time,x\n0,\"1\n1,2\n"), @"");
}

#[test]
fn text_in_a_number_column() {
    assert_snapshot!(refused("a.csv", "time,x,note\n0,1,fine\n1,n.d.,ill\n"), @"");
}

#[test]
fn decimal_commas() {
    assert_snapshot!(refused("a.csv", "time;x\n0;1,5\n1;2,5\n"), @"");
}

#[test]
fn infinite_value() {
    assert_snapshot!(refused("a.csv", "time,x\n0,1\n1,inf\n"), @"");
}

#[test]
fn decreasing_time() {
    assert_snapshot!(refused("a.csv", "time,x\n0,1\n5,2\n3,1\n"), @"");
}

#[test]
fn duplicated_time() {
    assert_snapshot!(refused("visits.csv", "patient,time,x\np7,3.5,1\np7,3.5,2\n", ), @"");
}

#[test]
fn duplicated_time_in_a_long_table() {
    let text = "subject,time,variable,value\np7,3.5,x,1\np7,3.5,y,1\np7,3.5,x,2\n";
    assert_snapshot!(refused("visits.csv", text), @"");
}

#[test]
fn time_that_is_none() {
    assert_snapshot!(refused("a.csv", "time,x\nmonday,1\n,2\n"), @"");
}

#[test]
fn dates_and_numbers_mixed() {
    assert_snapshot!(refused("a.csv", "time,x\n2026-01-31,1\n3,2\n"), @"");
}

#[test]
fn no_time_column() {
    assert_snapshot!(refused("a.csv", "hours,x,y\n0,1,2\n"), @"");
}

#[test]
fn transposed_table_without_a_time_column() {
    assert_snapshot!(refused("a.csv", "gene,0,10,20\nG1,1,2,3\nG2,4,5,6\n"), @"");
}

#[test]
fn column_that_is_not_there() {
    let text = "minutes,x,y\n0,1,2\n";
    assert_snapshot!(refused_with("a.csv", text, "--time hours"), @"");
}

#[test]
fn column_with_two_roles() {
    let text = "time,x,y\n0,1,2\n";
    assert_snapshot!(refused_with("a.csv", text, "--variables x,y,x"), @"");
}

#[test]
fn header_missing() {
    assert_snapshot!(refused("a.csv", "0,1,2\n1,3,4\n"), @"");
}

#[test]
fn duplicated_name() {
    assert_snapshot!(refused("a.csv", "time,x,y,x\n0,1,2,3\n"), @"");
}

#[test]
fn empty_name() {
    assert_snapshot!(refused("a.csv", ",time,x\n0,0,1\n"), @"");
}

#[test]
fn zero_usable_series() {
    assert_snapshot!(refused("a.csv", "time,x\n0,NA\n1,\n"), @"");
}

#[test]
fn no_rows() {
    assert_snapshot!(refused("a.csv", "time,x\n"), @"");
}

#[test]
fn no_variables() {
    assert_snapshot!(refused("a.csv", "id,time\na,0\n"), @"");
}

#[test]
fn truncated_gzip() {
    // A header, and nothing after it.
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    assert_snapshot!(refused("a.csv.gz", header), @"");
}

#[test]
fn truncated_parquet() {
    let whole = loader_fixture("pandas_wide.parquet");
    assert_snapshot!(refused("a.parquet", &whole[..whole.len() / 2]), @"");
}

#[test]
fn truncated_npz() {
    let whole = loader_fixture("full.npz");
    assert_snapshot!(refused("a.npz", &whole[..whole.len() / 2]), @"");
}

#[test]
fn object_array() {
    assert_snapshot!(refused("a.npz", loader_fixture("object.npz")), @"");
}

#[test]
fn array_of_text() {
    assert_snapshot!(refused("a.npz", loader_fixture("text.npz")), @"");
}

#[test]
fn file_beyond_the_limit() {
    let text = format!("time,x\n{}", "0,1\n".repeat(300));
    assert_snapshot!(refused_with("a.csv", text, "--max-bytes 1000"), @"");
}

#[test]
fn very_many_faults() {
    let text = format!("time,x\n{}", "0,low\n".repeat(300));
    assert_snapshot!(refused("a.csv", text), @"");
}

#[test]
fn files_that_do_not_match() {
    let sandbox = Sandbox::with("day1.csv", "time,x,y\n0,1,2\n");
    sandbox.write("day2.csv", "time,x,z\n0,1,2\n");
    assert_snapshot!(sandbox.run("check day1.csv day2.csv"), @"");
}

#[test]
fn the_same_time_in_two_files() {
    let sandbox = Sandbox::with("day1.csv", "id,time,x\na,0,1\na,1,2\n");
    sandbox.write("day2.csv", "id,time,x\na,1,2\na,2,3\n");
    assert_snapshot!(sandbox.run("check day1.csv day2.csv"), @"");
}
