//! Pictures of edges.

use driftgraph_core::SignatureGraph;
use driftgraph_core::fitted::edges::{LearnedEdge, Sign, links};
use driftgraph_report::{
    EdgeSelection, EffectSign, GraphOptions, LearnedEdges, graph_svg, heatmap_svg,
};

use crate::error::JobError;

/// Above this number of variables a picture of all pairs shows nothing but noise.
const MOST_VARIABLES: usize = 200;
/// Edges in a picture of a large graph; more hide each other.
const MOST_EDGES: usize = 150;

/// Pictures of edges, by their file names.
pub type EdgePictures = [(&'static str, String); 2];

/// `edges.svg` (all pairs) and `graph.svg` (probable edges); `None` for more than 200 variables.
pub fn edge_pictures(
    names: &[String],
    edges: &[LearnedEdge],
    truth: Option<&SignatureGraph>,
    inputs: &[usize],
) -> Result<Option<EdgePictures>, JobError> {
    if names.len() > MOST_VARIABLES {
        return Ok(None);
    }
    let matrices = Matrices::new(names.len(), edges);
    let marked = marked(names, inputs);
    let drawn =
        LearnedEdges { truth: truth.map(SignatureGraph::matrix), ..matrices.edges(&marked) };
    let heatmap = heatmap_svg(&drawn, "Probability of every edge")?;
    // The matrix has a cell for every pair, the graph each link once.
    let links = links(edges);
    let n_probable = links.iter().filter(|edge| edge.is_at_least(0.5)).count();
    let (title, selection) = if n_probable > MOST_EDGES {
        ("The most probable edges", EdgeSelection::Strongest(MOST_EDGES))
    } else {
        ("Edges with a probability of at least 0.5", EdgeSelection::AtLeast(0.5))
    };
    let matrices = Matrices::new(names.len(), &links);
    let drawn = LearnedEdges { truth: drawn.truth, inputs, ..matrices.edges(names) };
    let graph = graph_svg(&drawn, &GraphOptions { title, selection })?;
    Ok(Some([("edges.svg", heatmap), ("graph.svg", graph)]))
}

/// Names of rows and columns: those of inputs say so.
fn marked(names: &[String], inputs: &[usize]) -> Vec<String> {
    let mark = |(idx, name): (usize, &String)| {
        if inputs.contains(&idx) { format!("{name} (input)") } else { name.clone() }
    };
    names.iter().enumerate().map(mark).collect()
}

/// A picture of the given edges alone.
pub fn graph_picture(
    names: &[String],
    edges: &[LearnedEdge],
    title: &str,
    inputs: &[usize],
) -> Result<String, JobError> {
    let matrices = Matrices::new(names.len(), edges);
    let options = GraphOptions { title, selection: EdgeSelection::Strongest(edges.len()) };
    Ok(graph_svg(&LearnedEdges { inputs, ..matrices.edges(names) }, &options)?)
}

/// Probabilities and signs of edges as matrices.
struct Matrices {
    probabilities: Vec<f64>,
    signs: Vec<EffectSign>,
    undirected: Vec<bool>,
}

impl Matrices {
    fn new(n: usize, edges: &[LearnedEdge]) -> Self {
        let mut matrices = Self {
            probabilities: vec![0.0; n * n],
            signs: vec![EffectSign::Unknown; n * n],
            undirected: vec![false; n * n],
        };
        for edge in edges {
            let idx = edge.source * n + edge.target;
            matrices.probabilities[idx] = edge.probability.unwrap_or(0.0);
            matrices.undirected[idx] = edge.is_undirected();
            matrices.signs[idx] = match edge.sign {
                Some(Sign::Positive) => EffectSign::Positive,
                Some(Sign::Negative) => EffectSign::Negative,
                Some(Sign::Mixed) | None => EffectSign::Unknown,
            };
        }
        matrices
    }

    fn edges<'a>(&'a self, names: &'a [String]) -> LearnedEdges<'a> {
        LearnedEdges {
            signs: Some(&self.signs),
            undirected: Some(&self.undirected),
            ..LearnedEdges::probabilities(names, &self.probabilities)
        }
    }
}
