//! What is known without a fit: systems with true graphs, baselines, and metrics of rankings.

use std::collections::HashMap;

use driftgraph_core::fitted::score::{self, MetricOptions, SelfEdges};
use driftgraph_core::process::solver::Scheme;
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{EdgeScores, SignatureGraph};
use driftgraph_methods::{FitPlan, METHODS, edge_scores};
use driftgraph_systems::registry::{self, SYSTEMS};
use driftgraph_systems::{Dropping, MeasurementNoise, Recipe, Sampling};
use numpy::{PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::matrix;
use crate::data::SeriesData;
use crate::errors::{Class, OrRaise};

/// A number that shapes a system: name, default, least, most, whether it counts, meaning.
type ParameterRow = (&'static str, f64, f64, f64, bool, &'static str);

/// All systems: name, meaning, parameters.
#[pyfunction]
pub(crate) fn systems() -> Vec<(&'static str, &'static str, Vec<ParameterRow>)> {
    let row = |entry: &&'static registry::Entry| {
        let parameters = entry.parameters.iter();
        let rows = parameters.map(|p| (p.name, p.default, p.min, p.max, p.whole, p.about));
        (entry.name, entry.about, rows.collect())
    };
    SYSTEMS.iter().map(row).collect()
}

/// Data of a known system; `None` leaves what the system usually has.
#[pyfunction]
#[pyo3(signature = (system, parameters, *, seed=0, paper=false, n_series=None, n_points=None, span=None,
    step_size=None, scheme="euler-maruyama", standardise=false, sampling="regular", drop=0.0, drop_by="time", noise=0.0))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn generate(
    py: Python<'_>,
    system: &str,
    parameters: HashMap<String, f64>,
    seed: u64,
    paper: bool,
    n_series: Option<usize>,
    n_points: Option<usize>,
    span: Option<(f64, f64)>,
    step_size: Option<f64>,
    scheme: &str,
    standardise: bool,
    sampling: &str,
    drop: f64,
    drop_by: &str,
    noise: f64,
) -> PyResult<SeriesData> {
    let mut given: Vec<(&str, f64)> =
        parameters.iter().map(|(name, x)| (name.as_str(), *x)).collect();
    // The same message whatever the order of a hash map.
    given.sort_by(|a, b| a.0.cmp(b.0));
    let built = registry::build(system, &given, seed).or_raise()?;
    let mut recipe = if paper {
        Recipe::paper(system, drop, seed).or_raise()?
    } else {
        Recipe::usual(built.as_ref(), seed)
    };
    recipe.n_series = n_series.unwrap_or(recipe.n_series);
    recipe.n_points = n_points.map_or(recipe.n_points, |n| n.saturating_mul(recipe.keep_every));
    recipe.time_range = span.unwrap_or(recipe.time_range);
    recipe.step_size = step_size.unwrap_or(recipe.step_size);
    recipe.scheme = scheme_of(scheme)?;
    recipe.standardise |= standardise;
    recipe.sampling = one_of(
        "sampling",
        sampling,
        &[("regular", Sampling::Regular), ("random", Sampling::Random)],
    )?;
    let droppings = [
        ("time", Dropping::TimesOfAllSeries(drop)),
        ("series-time", Dropping::TimesPerSeries(drop)),
        ("cell", Dropping::Cells(drop)),
    ];
    let dropping = one_of("drop_by", drop_by, &droppings)?;
    recipe.dropping = if drop == 0.0 { Dropping::Nothing } else { dropping };
    if noise != 0.0 {
        recipe.noise = MeasurementNoise::Relative(noise);
    }
    let generated =
        py.detach(|| driftgraph_systems::generate(built.as_ref(), &recipe)).or_raise()?;
    Ok(SeriesData::of_set(generated.data, Some(generated.truth)))
}

/// The solver of that name.
pub(crate) fn scheme_of(name: &str) -> PyResult<Scheme> {
    one_of("scheme", name, &Scheme::ALL.map(|scheme| (scheme.name(), scheme)))
}

/// What a word stands for.
pub(crate) fn one_of<T: Copy>(what: &str, word: &str, known: &[(&str, T)]) -> PyResult<T> {
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        Class::Question
            .with(&format!("`{what}` must be one of {}, found `{word}`", words.join(", ")))
    })
}

/// Names of the methods that take seconds.
#[pyfunction]
pub(crate) fn baselines() -> Vec<&'static str> {
    let fast = METHODS.iter().filter(|method| method.is_fast());
    fast.map(|method| method.name()).collect()
}

/// Scores of all edges by a simple method, row = source.
#[pyfunction]
pub(crate) fn baseline<'py>(
    py: Python<'py>,
    method: &str,
    data: &SeriesData,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let plan = FitPlan::named(method).or_raise()?;
    let learned = py.detach(|| plan.learn(data.set(), &Silent)).or_raise()?;
    let n = data.set().n_variables();
    let scores = edge_scores(&learned.edges, n).or_raise()?;
    Ok(matrix(py, (n, n), scores.matrix().to_vec()))
}

/// How well scores find a true graph, as JSON.
#[pyfunction]
#[pyo3(signature = (scores, truth, *, self_edges=true, threshold=None, k=None, ranking_only=false))]
pub(crate) fn graph_metrics(
    scores: PyReadonlyArray2<'_, f64>,
    truth: PyReadonlyArray2<'_, bool>,
    self_edges: bool,
    threshold: Option<f64>,
    k: Option<usize>,
    ranking_only: bool,
) -> PyResult<String> {
    let (scores, truth) = pair(&scores, &truth)?;
    let self_edges = kept(self_edges);
    let options = MetricOptions { self_edges, threshold, k, ranking_only };
    to_json(&score::graph_metrics(&scores, &truth, options).or_raise()?)
}

/// ROC and precision-recall curves, as JSON.
#[pyfunction]
#[pyo3(signature = (scores, truth, *, self_edges=true))]
pub(crate) fn curves(
    scores: PyReadonlyArray2<'_, f64>,
    truth: PyReadonlyArray2<'_, bool>,
    self_edges: bool,
) -> PyResult<String> {
    let (scores, truth) = pair(&scores, &truth)?;
    to_json(&score::curves(&scores, &truth, kept(self_edges)).or_raise()?)
}

fn kept(self_edges: bool) -> SelfEdges {
    if self_edges { SelfEdges::Kept } else { SelfEdges::Dropped }
}

pub(crate) fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| Class::Computation.with(&error.to_string()))
}

fn pair(
    scores: &PyReadonlyArray2<'_, f64>,
    truth: &PyReadonlyArray2<'_, bool>,
) -> PyResult<(EdgeScores, SignatureGraph)> {
    let size = |shape: &[usize]| -> PyResult<usize> {
        if shape[0] == shape[1] {
            return Ok(shape[0]);
        }
        let message = format!("a matrix of edges is square, found {} x {}", shape[0], shape[1]);
        Err(Class::Question.with(&message))
    };
    let (n, m) = (size(scores.shape())?, size(truth.shape())?);
    let scores = EdgeScores::from_matrix(n, scores.as_slice()?.to_vec()).or_raise()?;
    let truth = SignatureGraph::from_matrix(m, truth.as_slice()?.to_vec()).or_raise()?;
    Ok((scores, truth))
}
