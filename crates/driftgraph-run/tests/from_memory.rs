//! What was read and learned once is not read again: the report is made of what is in memory.

use std::fs;

use driftgraph_core::train::progress::Silent;
use driftgraph_data::record::MethodRequest;
use driftgraph_data::{ReadOptions, load};
use driftgraph_methods::FitPlan;
use driftgraph_run::{FitJob, Pace, fit};
use serde_json::{Value, json};

#[test]
fn a_report_needs_neither_the_table_nor_a_second_look_at_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("data.csv");
    let row = |row: usize| format!("{row},{},{}\n", row * 7 % 13, row * 5 % 11);
    let rows: String = (0..40).map(row).collect();
    fs::write(&table, format!("time,pressure,volume\n{rows}")).unwrap();
    let read_options = ReadOptions::default();
    let loaded = load(std::slice::from_ref(&table), &read_options).unwrap();
    fs::remove_file(&table).unwrap();
    let Value::Object(settings) = json!({"select": "none", "ensemble": 1}) else {
        panic!("settings are an object")
    };
    let job = FitJob {
        loaded,
        read_options,
        plan: FitPlan::new(MethodRequest { settings, ..MethodRequest::default() }).unwrap(),
        folder: folder.path().join("run"),
        replace: false,
        truth: None,
        pace: Pace::default(),
        report: true,
    };
    let finished = fit(&job, &Silent).unwrap();
    let report = finished.report.unwrap().expect("a report was asked for");
    let report = fs::read_to_string(report).unwrap();
    // The fit to the series is drawn from the data themselves.
    assert!(
        report.contains("pressure") && report.contains("<section id=\"fit\""),
        "the fit is shown"
    );
}
