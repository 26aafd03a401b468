//! `check`: what was understood, every warning, and the verdict.

use std::fmt::Write as _;
use std::io::Read;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::{Sandbox, keys, loader_fixture};

#[test]
fn good_data_are_described() {
    let sandbox = Sandbox::with(
        "mice.csv",
        "mouse,Time,glucose,insulin\nm1,0,5.1,40\nm1,30,9.8,\nm1,60,7.5,95\nm1,90,5.5,60\n\
         m2,0,4.9,38\nm2,45,8.8,110\nm2,90,5.2,55\n",
    );
    assert_snapshot!(sandbox.run("check mice.csv --series mouse"), @"");
}

#[test]
fn what_was_decided_while_reading_is_told() {
    let sandbox = Sandbox::with(
        "InSilico.tsv",
        "\"Time\"\t\"G1\"\t\"G2\"\n0\t.1\t.2\n10\t.3\t.4\n20\t.2\t.1\n0\t.5\t.6\n10\t.7\t.8\n20\t.1\t.1\n",
    );
    assert_snapshot!(sandbox.run("check InSilico.tsv"), @"");
}

#[test]
fn dates_are_counted_in_a_unit_that_is_told() {
    let sandbox = Sandbox::with(
        "lake.csv",
        "date,algae,phosphate\n2026-03-01,1.5,3\n2026-03-08,2.5,2\n2026-03-15,4,1\n",
    );
    assert_snapshot!(sandbox.run("check lake.csv"), @"");
}

#[test]
fn every_warning_is_given_at_once() {
    let sandbox = Sandbox::with(
        "wide.csv",
        "series,time,10,20,30,flat,unseen,huge,x,y\n\
         a,0,1,2,3,7,,1e6,1,2\na,1,2,1,5,7,,3e6,2,1\n\
         b,0,1,2,3,7,,2e6,1.5,2\nb,1,2,2,3,7,,1e6,1,1\n",
    );
    assert_snapshot!(sandbox.run("check wide.csv"), @"");
}

#[test]
fn a_table_that_lies_on_its_side_looks_transposed() {
    let mut text = "time".to_owned();
    for sample in 0..40 {
        let _ = write!(text, ",sample{sample}");
    }
    for time in 0..3 {
        let _ = write!(text, "\n{time}");
        for sample in 0..40 {
            let _ = write!(text, ",{}", time * sample);
        }
    }
    let sandbox = Sandbox::with("genes.csv", text);
    assert_snapshot!(sandbox.run("check genes.csv"), @"");
}

#[test]
fn data_in_which_nothing_changes_are_unusable() {
    let sandbox = Sandbox::with("flat.csv", "id,time,x\na,0,1\na,1,1\nb,0,2\nb,1,2\n");
    assert_snapshot!(sandbox.run("check flat.csv"), @"");
    assert_eq!(sandbox.output("check flat.csv --json").status.code(), Some(1));
}

#[test]
fn json_has_the_promised_keys() {
    let sandbox = Sandbox::with("a.csv", "id,time,x,y\na,0,1,2\na,1,,3\nb,0,2,4\n");
    let object = sandbox.json("check a.csv --json");
    let expected = [
        "median_gap",
        "missing_cells",
        "missing_share",
        "notices",
        "rows",
        "rows_per_series",
        "series",
        "span",
        "time",
        "usable",
        "variable_details",
        "variables",
        "warnings",
    ];
    let mut found = keys(&object);
    found.sort_unstable();
    assert_eq!(found, expected);
    let counts = ["series", "variables", "rows", "missing_cells"].map(|key| object[key].as_u64());
    assert_eq!(counts, [Some(2), Some(2), Some(3), Some(1)]);
    assert_eq!(object["warnings"].as_array().unwrap().len(), 1);
}

#[test]
fn every_format_is_read() {
    let sandbox = Sandbox::new();
    for name in ["full.npz", "pandas_wide.parquet", "pandas_dates_index.parquet"] {
        sandbox.write(name, loader_fixture(name));
        let object = sandbox.json(&format!("check {name} --json"));
        let counts = ["series", "variables", "rows"].map(|key| object[key].as_u64());
        assert_eq!(counts, [Some(2), Some(2), Some(6)], "{name}");
    }
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let mut text = "time,x\n".to_owned();
    for time in 0..1000 {
        let _ = writeln!(text, "{time},{}", time % 7);
    }
    let sandbox = Sandbox::with("a.csv", text);
    let mut child = sandbox
        .command("baseline var a.csv --json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Closing the pipe before anything is written makes every write fail.
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}
