//! Pictures of edges, beside the table they are drawn from.

use std::path::Path;

use driftgraph_core::SignatureGraph;
use driftgraph_report::{EdgeSelection, GraphOptions, LearnedEdges, graph_svg, heatmap_svg};

use crate::output::write_file;

/// Above this number of variables a picture of all pairs shows nothing but noise.
const MOST_VARIABLES: usize = 200;
/// Edges in a picture of a large graph; more hide each other.
const MOST_EDGES: usize = 150;

/// Draws `edges.svg` (all pairs) and `graph.svg` (probable edges) into a folder.
///
/// Returns whether there was something to draw: more than 200 variables are not drawn.
pub(crate) fn draw_probabilities(
    folder: &Path,
    names: &[String],
    probabilities: &[f64],
    truth: Option<&SignatureGraph>,
) -> anyhow::Result<bool> {
    if names.len() > MOST_VARIABLES {
        return Ok(false);
    }
    let edges = LearnedEdges {
        truth: truth.map(SignatureGraph::matrix),
        ..LearnedEdges::probabilities(names, probabilities)
    };
    let heatmap = heatmap_svg(&edges, "Probability of every edge")?;
    write_file(&folder.join("edges.svg"), |out| out.write_all(heatmap.as_bytes()))?;
    let n_probable = probabilities.iter().filter(|&&probability| probability >= 0.5).count();
    let (title, selection) = if n_probable > MOST_EDGES {
        ("The most probable edges", EdgeSelection::Strongest(MOST_EDGES))
    } else {
        ("Edges with a probability of at least 0.5", EdgeSelection::AtLeast(0.5))
    };
    let graph = graph_svg(&edges, &GraphOptions { title, selection })?;
    write_file(&folder.join("graph.svg"), |out| out.write_all(graph.as_bytes()))?;
    Ok(true)
}
