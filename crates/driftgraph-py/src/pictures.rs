//! Pictures of edges as SVG text, drawn as the binary draws them.

use driftgraph_report::{EdgeSelection, EffectSign, GraphOptions, LearnedEdges, graph_svg};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// The probable edges of a graph as SVG; signs are 1, -1 and 0, edges that are `undirected` have no head.
#[pyfunction]
#[pyo3(signature = (names, probabilities, signs, title, threshold=0.5, truth=None, undirected=None, inputs=Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn graph_picture(
    names: Vec<String>,
    probabilities: PyReadonlyArray2<'_, f64>,
    signs: PyReadonlyArray2<'_, i8>,
    title: &str,
    threshold: f64,
    truth: Option<PyReadonlyArray2<'_, bool>>,
    undirected: Option<PyReadonlyArray2<'_, bool>>,
    inputs: Vec<usize>,
) -> PyResult<String> {
    let signs = effect_signs(&signs)?;
    let truth = truth.as_ref().map(|truth| truth.as_slice()).transpose()?;
    let undirected = undirected.as_ref().map(|edges| edges.as_slice()).transpose()?;
    let edges = LearnedEdges {
        signs: Some(&signs),
        truth,
        undirected,
        inputs: &inputs,
        ..LearnedEdges::probabilities(&names, probabilities.as_slice()?)
    };
    let options = GraphOptions { title, selection: EdgeSelection::AtLeast(threshold) };
    graph_svg(&edges, &options).or_raise()
}

fn effect_signs(signs: &PyReadonlyArray2<'_, i8>) -> PyResult<Vec<EffectSign>> {
    let sign = |sign: &i8| match sign.signum() {
        1 => EffectSign::Positive,
        -1 => EffectSign::Negative,
        _ => EffectSign::Unknown,
    };
    Ok(signs.as_slice()?.iter().map(sign).collect())
}
