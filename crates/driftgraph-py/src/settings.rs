//! The tables of settings, from which signatures and documentation of the estimators are made.

use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_methods::METHODS;
use pyo3::prelude::*;

/// Name, kind of value, default, range and meaning of a setting.
type Row = (&'static str, &'static str, &'static str, String, &'static str);

/// Name, description, names of presets, settings, and the name of its class where that is not the words' capitals.
type MethodRow = (&'static str, &'static str, Vec<&'static str>, Vec<Row>, Option<&'static str>);

/// All methods, the default first.
#[pyfunction]
pub(crate) fn methods() -> Vec<MethodRow> {
    let row = |method: &&dyn driftgraph_methods::Method| {
        let presets = method.presets().into_iter().map(|preset| preset.name).collect();
        let settings = method.settings().iter().map(setting_row).collect();
        (method.name(), method.description(), presets, settings, method.class_name())
    };
    METHODS.iter().map(row).collect()
}

fn setting_row(setting: &Setting) -> Row {
    let kind = match setting.range {
        Range::Number { .. } => "number",
        Range::Choice(_) => "word",
        Range::YesNo => "bool",
        Range::Any => "whole",
        Range::Edges => "edges",
        Range::Mixed { .. } => "any",
    };
    (setting.name, kind, setting.default, setting.range.to_string(), setting.meaning)
}
