//! Answers of a model as dictionaries of arrays.

use driftgraph_core::fitted::bands::Bands;
use driftgraph_core::fitted::edges::LearnedEdge;
use driftgraph_core::fitted::forecast::SeriesForecast;
use driftgraph_core::fitted::impute::ImputedSeries;
use driftgraph_core::fitted::intervene::InterventionEffect;
use driftgraph_core::fitted::simulate::SimulatedPaths;
use driftgraph_data::graph_formats::edge_table;
use driftgraph_data::table::Column;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{cube, matrix};

/// `times`, `mean`, `deviation` and `quantiles` (level, time, variable).
pub(crate) fn bands<'py>(py: Python<'py>, bands: &Bands) -> PyResult<Bound<'py, PyDict>> {
    let (n_times, d) = (bands.times.len(), bands.n_variables);
    let answer = PyDict::new(py);
    answer.set_item("times", bands.times.clone().into_pyarray(py))?;
    answer.set_item("mean", matrix(py, (n_times, d), bands.mean.clone()))?;
    answer.set_item("deviation", matrix(py, (n_times, d), bands.deviation.clone()))?;
    let quantiles = bands.quantiles.concat();
    answer.set_item("quantiles", cube(py, (bands.quantiles.len(), n_times, d), quantiles))?;
    Ok(answer)
}

/// Columns of the table of edges, as `edges.csv` has them, and which rows say again what others do.
pub(crate) fn edges<'py>(
    py: Python<'py>,
    names: &[String],
    edges: &[LearnedEdge],
) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    for (name, column) in edge_table(names, edges).columns() {
        match column {
            Column::Text(texts) => answer.set_item(name, texts)?,
            Column::Whole(numbers) => answer.set_item(name, numbers.clone().into_pyarray(py))?,
            Column::Number(numbers) => answer.set_item(name, numbers.clone().into_pyarray(py))?,
        }
    }
    let mirrored: Vec<bool> = edges.iter().map(|edge| edge.mirrored).collect();
    answer.set_item("mirrored", mirrored.into_pyarray(py))?;
    Ok(answer)
}

/// `times` and `values` (path, time, variable).
pub(crate) fn paths(py: Python<'_>, paths: SimulatedPaths) -> PyResult<Bound<'_, PyDict>> {
    let shape = (paths.n_paths, paths.times.len(), paths.variables.len());
    let answer = PyDict::new(py);
    answer.set_item("times", paths.times.into_pyarray(py))?;
    answer.set_item("values", cube(py, shape, paths.states))?;
    answer.set_item("n_steps", paths.n_steps)?;
    Ok(answer)
}

/// Bands with `name`, `start` and `paths` (path, time, variable).
pub(crate) fn forecast(py: Python<'_>, one: SeriesForecast) -> PyResult<Bound<'_, PyDict>> {
    let answer = bands(py, &one.bands)?;
    let (n_times, d) = (one.bands.times.len(), one.bands.n_variables);
    let n_paths = one.paths.len() / (n_times * d).max(1);
    answer.set_item("name", one.name)?;
    answer.set_item("start", one.from)?;
    answer.set_item("paths", cube(py, (n_paths, n_times, d), one.paths))?;
    Ok(answer)
}

/// Bands with `name` and `observed` (time, variable).
pub(crate) fn imputed(py: Python<'_>, one: ImputedSeries) -> PyResult<Bound<'_, PyDict>> {
    let answer = bands(py, &one.bands)?;
    let shape = (one.bands.times.len(), one.bands.n_variables);
    answer.set_item("name", one.name)?;
    answer.set_item("observed", matrix(py, shape, one.observed))?;
    Ok(answer)
}

/// Bands `without` and `with`, their difference, and variables by how much they changed.
pub(crate) fn effect(py: Python<'_>, effect: InterventionEffect) -> PyResult<Bound<'_, PyDict>> {
    let shape = (effect.times.len(), effect.variables.len());
    let answer = PyDict::new(py);
    answer.set_item("without", bands(py, &effect.without)?)?;
    answer.set_item("with", bands(py, &effect.with)?)?;
    answer.set_item("difference", matrix(py, shape, effect.difference))?;
    answer.set_item("standard_error", matrix(py, shape, effect.standard_error))?;
    let mut rows = Vec::new();
    for one in &effect.ranking {
        let row = PyDict::new(py);
        row.set_item("variable", &effect.variables[one.variable])?;
        row.set_item("difference", one.difference)?;
        row.set_item("standard_error", one.standard_error)?;
        row.set_item("time", one.time)?;
        row.set_item("relative", one.relative)?;
        row.set_item("intervened", one.intervened)?;
        row.set_item("changed", one.changed)?;
        rows.push(row);
    }
    answer.set_item("ranking", rows)?;
    Ok(answer)
}
