//! The learned edges as a report shows them, and as files it carries.

use driftgraph_core::SignatureGraph;
use driftgraph_core::fitted::edges::{LearnedEdge, Sign, feedback_loops};
use driftgraph_data::graph_formats::{GraphFormat, graph_text};
use driftgraph_report::view::{Download, EdgeView, GraphView, SelectionView};
use driftgraph_report::{
    EdgeSelection, EffectSign, GraphOptions, LearnedEdges, ReportError, graph_svg, matrix_orders,
    node_positions,
};

/// Edges less probable than this are not worth a line in the file, with few variables and with many.
const LISTED_FROM: [f64; 2] = [0.005, 0.02];
/// Up to here variables are few.
const FEW: usize = 40;
/// Edges that a report lists at most.
const MOST_LISTED: usize = 6_000;
/// An edge is drawn if it is more likely present than absent.
const THRESHOLD: f64 = 0.5;
/// Above this number of variables loops hide what is between them.
const MOST_LOOPS: usize = 30;
/// Edges inside the carried files at most: a report is to be sent by mail.
const MOST_CARRIED: usize = 500;
/// Variables in the carried picture at most.
const MOST_DRAWN: usize = 200;

/// Edges, where they are drawn, and what goes round in circles.
pub(crate) fn graph_view(names: &[String], learned: &[LearnedEdge]) -> GraphView {
    let n = names.len();
    let listed_from = LISTED_FROM[usize::from(n > FEW)];
    let listed = learned.iter().filter(|edge| edge.is_at_least(listed_from));
    let edges: Vec<EdgeView> = listed.take(MOST_LISTED).map(edge_view).collect();
    // Three arrows per node are about what can be told apart; the slider shows more.
    let selection = SelectionView {
        threshold: THRESHOLD,
        most: (3 * n).clamp(12, 150),
        self_loops: n <= MOST_LOOPS,
    };
    let mut probable = SignatureGraph::empty(n);
    for edge in learned.iter().filter(|edge| edge.is_at_least(THRESHOLD)) {
        probable.set_edge(edge.source, edge.target, true);
    }
    let mut view = GraphView {
        positions: Vec::new(),
        orders: matrix_orders(n, &edges),
        feedback_loops: feedback_loops(&probable),
        expected_edges: learned.iter().filter_map(|edge| edge.probability).sum(),
        variables: names.to_vec(),
        listed_from,
        selection,
        edges,
    };
    let drawn: Vec<(usize, usize)> =
        view.drawn().iter().map(|(_, edge)| (edge.source, edge.target)).collect();
    view.positions = node_positions(names, &drawn);
    view
}

fn edge_view(edge: &LearnedEdge) -> EdgeView {
    EdgeView {
        source: edge.source,
        target: edge.target,
        probability: rounded(edge.probability.unwrap_or(0.0), 4),
        sign: effect_sign(edge.sign),
        effect: significant(edge.effect.unwrap_or(0.0)),
        strength: significant(edge.strength.unwrap_or(0.0)),
        disagreement: rounded(edge.disagreement.unwrap_or(0.0), 2),
        instantaneous: edge.probability_instantaneous.map(|p| rounded(p, 4)),
    }
}

fn effect_sign(sign: Option<Sign>) -> EffectSign {
    match sign {
        Some(Sign::Positive) => EffectSign::Positive,
        Some(Sign::Negative) => EffectSign::Negative,
        Some(Sign::Mixed) | None => EffectSign::Unknown,
    }
}

fn rounded(value: f64, digits: i32) -> f64 {
    let unit = 10_f64.powi(digits);
    (value * unit).round() / unit
}

/// Four significant digits: more would be noise, and most of the file.
fn significant(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    format!("{value:.3e}").parse().expect("a printed number can be read")
}

/// The edges as a table, as GraphML and as a picture.
pub(crate) fn downloads(
    names: &[String],
    learned: &[LearnedEdge],
) -> Result<Vec<Download>, ReportError> {
    let all = learned.len() <= MOST_CARRIED;
    let table = &learned[..learned.len().min(MOST_CARRIED)];
    let n_probable = learned.iter().filter(|edge| edge.is_at_least(THRESHOLD)).count();
    let probable = &learned[..n_probable.min(MOST_CARRIED)];
    let download = |file: &str, media_type: &str, note: String, text: String| Download {
        file: file.to_owned(),
        media_type: media_type.to_owned(),
        note,
        text,
    };
    let which = if all {
        "all pairs of variables, the best supported first".to_owned()
    } else {
        format!("the {MOST_CARRIED} best supported edges; the run folder has all of them")
    };
    let mut downloads = vec![
        download("edges.csv", "text/csv", which, graph_text(names, table, GraphFormat::Csv)),
        download(
            "graph.graphml",
            "application/xml",
            format!(
                "{} probable edges, those of a variable on itself included, for Cytoscape, Gephi or yEd",
                probable.len()
            ),
            graph_text(names, probable, GraphFormat::GraphMl),
        ),
    ];
    if names.len() <= MOST_DRAWN {
        let picture = picture(names, learned)?;
        let note = "the graph as a picture".to_owned();
        downloads.push(download("graph.svg", "image/svg+xml", note, picture));
    }
    Ok(downloads)
}

fn picture(names: &[String], learned: &[LearnedEdge]) -> Result<String, ReportError> {
    let n = names.len();
    let mut probabilities = vec![0.0; n * n];
    let mut signs = vec![EffectSign::Unknown; n * n];
    for edge in learned {
        probabilities[edge.source * n + edge.target] = edge.probability.unwrap_or(0.0);
        signs[edge.source * n + edge.target] = effect_sign(edge.sign);
    }
    let edges =
        LearnedEdges { signs: Some(&signs), ..LearnedEdges::probabilities(names, &probabilities) };
    let n_probable = learned.iter().filter(|edge| edge.is_at_least(THRESHOLD)).count();
    let selection = EdgeSelection::Strongest(n_probable.min((3 * n).clamp(12, 150)));
    graph_svg(&edges, &GraphOptions { title: "Who drives whom", selection })
}
