//! Answers of a model as dictionaries of arrays.

use driftgraph_core::fitted::bands::Bands;
use driftgraph_core::fitted::edges::LearnedEdge;
use driftgraph_core::fitted::forecast::SeriesForecast;
use driftgraph_core::fitted::impute::ImputedSeries;
use driftgraph_core::fitted::intervene::InterventionEffect;
use driftgraph_core::fitted::simulate::SimulatedPaths;
use driftgraph_data::graph_formats::sign_word;
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

/// A column that only some models have.
type Optional = (&'static str, fn(&LearnedEdge) -> Option<f64>);

/// Columns of the table of edges, names for positions.
pub(crate) fn edges<'py>(
    py: Python<'py>,
    names: &[String],
    edges: &[LearnedEdge],
) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    let name = |of: fn(&LearnedEdge) -> usize| -> Vec<&str> {
        edges.iter().map(|edge| names[of(edge)].as_str()).collect()
    };
    answer.set_item("source", name(|edge| edge.source))?;
    answer.set_item("target", name(|edge| edge.target))?;
    let numbers = |of: &dyn Fn(&LearnedEdge) -> f64| {
        edges.iter().map(of).collect::<Vec<f64>>().into_pyarray(py)
    };
    answer.set_item("probability", numbers(&|edge| edge.probability.unwrap_or(f64::NAN)))?;
    answer.set_item("score", numbers(&|edge| edge.score))?;
    answer.set_item(
        "probability_lagged",
        numbers(&|edge| edge.probability_lagged.unwrap_or(f64::NAN)),
    )?;
    answer.set_item("effect", numbers(&|edge| edge.effect.unwrap_or(f64::NAN)))?;
    answer.set_item("strength", numbers(&|edge| edge.strength.unwrap_or(f64::NAN)))?;
    let signs: Vec<&str> = edges.iter().map(|edge| sign_word(edge.sign)).collect();
    answer.set_item("sign", signs)?;
    let optional: [Optional; 3] = [
        ("noise_effect", |edge| edge.noise_effect),
        ("probability_instantaneous", |edge| edge.probability_instantaneous),
        ("effect_instantaneous", |edge| edge.effect_instantaneous),
    ];
    for (column, of) in optional {
        if edges.iter().any(|edge| of(edge).is_some()) {
            answer.set_item(column, numbers(&|edge| of(edge).unwrap_or(f64::NAN)))?;
        }
    }
    answer.set_item("disagreement", numbers(&|edge| edge.disagreement.unwrap_or(f64::NAN)))?;
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
