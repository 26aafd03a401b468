//! The tables of settings, from which signature and documentation of the estimator are made.

use driftgraph_core::train::bridge::BRIDGE_SETTINGS;
use driftgraph_core::train::preset::Preset;
use driftgraph_core::train::settings::{Range, SETTINGS};
use driftgraph_run::plan::BRIDGE;
use pyo3::prelude::*;

/// Name, kind of value, default, range and meaning of a setting.
type Row = (&'static str, &'static str, &'static str, String, &'static str);

/// Names of the presets, settings of the bridge posterior, settings of the simulated one.
#[pyfunction]
pub(crate) fn settings() -> (Vec<&'static str>, Vec<Row>, Vec<Row>) {
    let presets = [BRIDGE].into_iter().chain(Preset::ALL.map(Preset::name)).collect();
    let bridge = BRIDGE_SETTINGS.iter().map(|setting| {
        let kind = if setting.range == "true or false" { "bool" } else { "any" };
        (setting.name, kind, setting.default, setting.range.to_owned(), setting.meaning)
    });
    let simulated = SETTINGS.iter().map(|setting| {
        let kind = match setting.range {
            Range::Number { .. } => "number",
            Range::Choice(_) => "word",
            Range::YesNo => "bool",
            Range::Any => "whole",
            Range::Edges => "edges",
        };
        (setting.name, kind, setting.default, setting.range.to_string(), setting.meaning)
    });
    (presets, bridge.collect(), simulated.collect())
}
