//! The learned edges as a report shows them, and as files it carries.

use driftgraph_core::fitted::edges::{
    EdgeKind, LearnedEdge, Sign, directed_graph, expected_edges, feedback_loops, links,
};
use driftgraph_data::graph_formats::{GraphFormat, graph_text};
use driftgraph_report::view::{Download, EdgeView, GraphView, LinkKind, ScoreView, SelectionView};
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
/// The least share that the slider of a report reaches.
const LEAST_THRESHOLD: f64 = 0.05;
/// Above this number of variables loops hide what is between them.
const MOST_LOOPS: usize = 30;
/// Edges inside the carried files at most: a report is to be sent by mail.
const MOST_CARRIED: usize = 500;
/// Variables in the carried picture at most.
const MOST_DRAWN: usize = 200;

/// Edges, where they are drawn, and what goes round in circles.
pub(crate) fn graph_view(names: &[String], learned: &[LearnedEdge]) -> GraphView {
    let n = names.len();
    let score = score_view(learned);
    let shares = learned.iter().map(|edge| (edge, share(edge, score.as_ref())));
    let listed_from = LISTED_FROM[usize::from(n > FEW)];
    let listed = shares.filter(|(_, share)| *share >= listed_from).take(MOST_LISTED);
    let edges: Vec<EdgeView> = listed.map(|(edge, share)| edge_view(edge, share)).collect();
    // Three arrows per node are about what can be told apart; the slider shows more.
    let most = (3 * n).clamp(12, 150);
    // Scores do not say where to cut: the best edge of each variable or so is drawn at first.
    let cut = edges.iter().filter(|edge| !edge.is_self_loop()).nth(n).map(|edge| edge.probability);
    let threshold = match score {
        Some(_) => rounded(cut.unwrap_or(0.0), 2).max(LEAST_THRESHOLD),
        None => THRESHOLD,
    };
    let probable = learned.iter().filter(|edge| edge.is_at_least(THRESHOLD));
    let probable = directed_graph(n, probable);
    let mut view = GraphView {
        inputs: Vec::new(),
        n_fits: 1,
        positions: Vec::new(),
        orders: matrix_orders(n, &edges),
        feedback_loops: feedback_loops(&probable),
        expected_edges: expected_edges(learned),
        variables: names.to_vec(),
        score,
        listed_from,
        selection: SelectionView { threshold, most, self_loops: n <= MOST_LOOPS },
        edges,
    };
    let drawn: Vec<(usize, usize)> =
        view.drawn().iter().map(|(_, edge)| (edge.source, edge.target)).collect();
    view.positions = node_positions(names, &drawn);
    view
}

/// What edges are ranked by, where none has a probability.
fn score_view(learned: &[LearnedEdge]) -> Option<ScoreView> {
    let has_probabilities = learned.iter().any(|edge| edge.probability.is_some());
    let largest = learned.iter().map(|edge| edge.score).filter(|score| score.is_finite());
    let largest = largest.fold(0.0, f64::max);
    let full_scale = if largest > 0.0 { largest } else { 1.0 };
    (!has_probabilities).then(|| ScoreView { name: "score".to_owned(), full_scale })
}

/// The probability of an edge, or its score as a share of the largest; what is negative counts as nothing.
fn share(edge: &LearnedEdge, score: Option<&ScoreView>) -> f64 {
    let share = match score {
        None => edge.probability.unwrap_or(0.0),
        Some(score) => (edge.score / score.full_scale).clamp(0.0, 1.0),
    };
    if share.is_nan() { 0.0 } else { share }
}

fn edge_view(edge: &LearnedEdge, share: f64) -> EdgeView {
    EdgeView {
        source: edge.source,
        target: edge.target,
        probability: rounded(share, 4),
        sign: effect_sign(edge.sign),
        effect: edge.effect.map(significant),
        strength: edge.strength.map(significant),
        disagreement: rounded(edge.disagreement.unwrap_or(0.0), 2),
        instantaneous: edge.parts.as_ref().map(|parts| rounded(parts.within_step.probability, 4)),
        stability: edge.stability.map(|share| rounded(share, 4)),
        kind: link_kind(edge),
        interval: edge.interval.map(|bounds| bounds.map(significant)),
        parts: edge
            .parts
            .as_ref()
            .filter(|_| edge.kind == Some(EdgeKind::Both))
            .map(|parts| [parts.lagged.effect, parts.within_step.effect].map(significant)),
    }
}

fn link_kind(edge: &LearnedEdge) -> LinkKind {
    match edge.kind {
        _ if edge.mirrored => LinkKind::Mirrored,
        _ if edge.is_undirected() => LinkKind::Undirected,
        Some(EdgeKind::WithinStep) => LinkKind::WithinStep,
        Some(EdgeKind::Both) => LinkKind::Both,
        Some(EdgeKind::Lagged) | None => LinkKind::Lagged,
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

/// The links that a graph for other programs has: the probable ones, those that passed a method's tests, or all that a
/// method with neither ranks.
pub fn exported_links(learned: &[LearnedEdge]) -> Vec<LearnedEdge> {
    let mut links = links(learned);
    links.retain(|edge| !edge.failed_its_tests());
    if learned.iter().any(|edge| edge.probability.is_some()) {
        links.retain(|edge| edge.is_at_least(THRESHOLD));
    }
    links
}

/// The edges as a table, as GraphML and as a picture.
pub(crate) fn downloads(
    names: &[String],
    learned: &[LearnedEdge],
) -> Result<Vec<Download>, ReportError> {
    let all = learned.len() <= MOST_CARRIED;
    let table = &learned[..learned.len().min(MOST_CARRIED)];
    let kept = match learned.first() {
        Some(edge) if edge.test.is_some() => "tested",
        Some(edge) if edge.probability.is_none() => "ranked",
        _ => "probable",
    };
    let mut exported = exported_links(learned);
    exported.truncate(MOST_CARRIED);
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
                "{} {kept} edges, those of a variable on itself included, for Cytoscape, Gephi or yEd",
                exported.len(),
            ),
            graph_text(names, &exported, GraphFormat::GraphMl),
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
    let score = score_view(learned);
    let full_scale = score.as_ref().map_or(1.0, |score| score.full_scale);
    let mut scores = vec![0.0; n * n];
    let mut signs = vec![EffectSign::Unknown; n * n];
    let mut undirected = vec![false; n * n];
    for edge in learned.iter().filter(|edge| !edge.mirrored) {
        undirected[edge.source * n + edge.target] = edge.is_undirected();
        scores[edge.source * n + edge.target] = full_scale * share(edge, score.as_ref());
        signs[edge.source * n + edge.target] = effect_sign(edge.sign);
    }
    let mut edges = LearnedEdges {
        full_scale,
        undirected: Some(&undirected),
        ..LearnedEdges::probabilities(names, &scores)
    };
    if learned.iter().any(|edge| edge.sign.is_some()) {
        edges.signs = Some(&signs);
    }
    let probable = learned.iter().filter(|edge| edge.is_at_least(THRESHOLD) && !edge.mirrored);
    let mut shown = probable.count();
    if let Some(score) = &score {
        edges.score_name = &score.name;
        shown = n;
    }
    let selection = EdgeSelection::Strongest(shown.min((3 * n).clamp(12, 150)));
    graph_svg(&edges, &GraphOptions { title: "Who drives whom", selection })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_without_probabilities_are_shares_of_the_largest_score() {
        let edge =
            |source, target, score| LearnedEdge { source, target, score, ..LearnedEdge::default() };
        let names = ["a".to_owned(), "b".to_owned()];
        let learned = [edge(0, 1, 8.0), edge(1, 0, 2.0), edge(0, 0, -1.0), edge(1, 1, f64::NAN)];
        let view = graph_view(&names, &learned);
        assert_eq!(view.score.as_ref().map(|score| score.full_scale), Some(8.0));
        let shares: Vec<f64> = view.edges.iter().map(|edge| edge.probability).collect();
        assert_eq!(shares, [1.0, 0.25]);
        assert_eq!(view.drawn().len(), 2);
        assert!(picture(&names, &learned).unwrap().contains("a → b: 8.00"));
    }
}
