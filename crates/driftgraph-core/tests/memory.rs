//! Predicted memory of fits against what the system says they used.
//!
//! Every fit runs in a process of its own, this test binary started again, since a process' peak never falls.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "the started process tells its peak memory")]

use std::process::Command;

use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::bridge::BridgeSettings;
use driftgraph_core::train::bridge::memory::{self as bridge_memory, BridgeShape};
use driftgraph_core::train::fit::fit;
use driftgraph_core::train::memory as simulated_memory;
use driftgraph_core::train::polynomial::{
    self, PolynomialSettings, PolynomialTask, fit_polynomial,
};
use driftgraph_core::train::preset::Preset;
use driftgraph_core::train::progress::{Part, Silent};
use driftgraph_core::train::select::{SelectSettings, Task, fit_ensemble};
use driftgraph_core::train::settings::FitSettings;
use driftgraph_core::{ObservedSeries, SeriesSet};

/// The variable that tells a started process which fit to run.
const CASE: &str = "DRIFTGRAPH_MEMORY_CASE";
const N_THREADS: usize = 2;
/// What is counted are buffers; the allocator, the sorting of batches and the like come on top, and
/// what grows by doubling may be half empty.
const FACTOR: f64 = 2.0;

/// Random walks.
fn data(n_variables: usize, n_series: u64, n_points: usize) -> SeriesSet {
    let series = (0..n_series).map(|idx| {
        let mut values = vec![0.0; n_points * n_variables];
        RandomStream::new(3, Purpose::MeasurementNoise, idx).fill_normal(&mut values);
        for idx in n_variables..values.len() {
            values[idx] += 0.9 * values[idx - n_variables];
        }
        let times = (0..n_points).map(|point| point as f64).collect();
        ObservedSeries::new(format!("{idx}"), n_variables, times, values).unwrap()
    });
    let names = (0..n_variables).map(|idx| format!("x{idx}")).collect();
    SeriesSet::new(names, series.collect()).unwrap()
}

/// The data of a case.
fn case_data(case: &str) -> SeriesSet {
    match case {
        "many points" => data(5, 2, 120_000),
        "many variables" => data(500, 4, 100),
        "simulated" => data(20, 40, 60),
        "polynomial" => data(10, 5, 100),
        other => panic!("no case {other}"),
    }
}

fn bridge_settings(case: &str) -> SelectSettings {
    let base = BridgeSettings { max_steps: Some(12), ..BridgeSettings::default() };
    SelectSettings {
        base,
        ensemble: if case == "many points" { 2 } else { 1 },
        ..SelectSettings::default()
    }
}

fn simulated_settings() -> FitSettings {
    FitSettings { steps: 3, ..Preset::Simulated.settings() }
}

fn kilobytes(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Runs the fit of a case and prints the bytes that it added to the process.
fn run(case: &str) {
    let before = kilobytes("VmRSS:");
    let data = case_data(case);
    if case == "polynomial" {
        let knowledge = EdgePrior::new(data.n_variables(), 0.0);
        let settings = PolynomialSettings::default();
        let task = PolynomialTask { data: &data, knowledge: &knowledge, settings: &settings };
        fit_polynomial(task, Part::WHOLE, &Silent).unwrap();
    } else if case == "simulated" {
        fit(&data, &simulated_settings().check().unwrap(), &Silent).unwrap();
    } else {
        let settings = bridge_settings(case);
        let knowledge = EdgePrior::new(data.n_variables(), 0.0);
        let task = Task { data: &data, knowledge: &knowledge };
        let ensemble = fit_ensemble(task, &settings.base, settings.ensemble, &Silent).unwrap();
        FittedModel::from_ensemble(&ensemble, &knowledge, &data);
    }
    println!("peak bytes {}", 1024.0 * (kilobytes("VmHWM:") - before));
}

fn predicted(case: &str) -> f64 {
    let data = case_data(case);
    let bytes = if case == "polynomial" {
        let settings = PolynomialSettings::default();
        polynomial::predicted_bytes(&settings, data.n_variables(), data.n_rows())
    } else if case == "simulated" {
        let settings = simulated_settings().check().unwrap();
        simulated_memory::predicted_bytes(&data, &settings, N_THREADS).unwrap()
    } else {
        let settings = bridge_settings(case);
        let shape = BridgeShape::new(&data, &settings.base).unwrap();
        bridge_memory::predicted_bytes(&shape, &settings, false, N_THREADS)
    };
    bytes as f64
}

fn measured(case: &str) -> f64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "predicted_memory_is_within_a_factor_of_two", "--nocapture"])
        .env(CASE, case)
        .env("RAYON_NUM_THREADS", N_THREADS.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.split_once("peak bytes "));
    line.unwrap_or_else(|| panic!("{case}: {text}")).1.parse().unwrap()
}

#[test]
fn predicted_memory_is_within_a_factor_of_two() {
    if let Ok(case) = std::env::var(CASE) {
        run(&case);
        return;
    }
    for case in ["many points", "many variables", "simulated", "polynomial"] {
        let (predicted, measured) = (predicted(case), measured(case));
        let ratio = predicted / measured;
        println!("{case}: predicted {:.0} MB, measured {:.0} MB", predicted / 1e6, measured / 1e6);
        assert!((1.0 / FACTOR..FACTOR).contains(&ratio), "{case}: {predicted} {measured}");
    }
}
