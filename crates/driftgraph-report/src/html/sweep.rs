//! Many fits as one page: what was averaged, and a graph with its strongest edges for every data set and fit.

use std::fmt::Write as _;

use driftgraph_text::count;

use super::{STYLES, page_head, plain_table, section, share};
use crate::edges::LearnedEdges;
use crate::svg::element::Element;
use crate::svg::graph::{EdgeSelection, GraphOptions, graph_svg};
use crate::view::{AveragedGraph, SweepView};

/// Variables of a picture at most.
const MOST_DRAWN: usize = 60;
/// Rows of a table of edges at most.
const MOST_LISTED: usize = 40;
/// Lines of problems at most.
const MOST_PROBLEMS: usize = 100;

/// The whole sweep as one file.
pub fn sweep_html(view: &SweepView) -> String {
    let header = Element::new("header")
        .with(Element::new("p").set("class", "brand").text("driftgraph"))
        .with(Element::new("h1").text(&view.title));
    let mut main = Element::new("main").with(overview(view));
    for graph in &view.graphs {
        main.push(graph_section(graph));
    }
    if !view.problems.is_empty() {
        main.push(problems(view));
    }
    let head = page_head(&view.title).with(Element::new("style").markup(STYLES));
    let body = Element::new("body").with(header).with(main);
    let page = Element::new("html").set("lang", "en").with(head).with(body);
    format!("<!doctype html>{}", page.into_svg())
}

fn overview(view: &SweepView) -> Element {
    let mut lead = format!(
        "{} of {}.",
        count(view.shards, "fit", "fits"),
        count(
            view.graphs.len(),
            "combination of data and method",
            "combinations of data and method"
        )
    );
    if view.bootstrap > 0 {
        let samples = view.bootstrap as usize;
        let _ = write!(
            lead,
            " Each is averaged over {} of {}.",
            count(samples, "bootstrap sample", "bootstrap samples"),
            count(view.seeds.len(), "seed", "seeds")
        );
    }
    if view.missing > 0 {
        let _ = write!(lead, " {} are missing: this is not all of it.", view.missing);
    }
    let header = ["data", "method", "fits", "without a result", "edges expected", "edges kept"];
    let row = |graph: &AveragedGraph| {
        let expected = graph.probabilities.as_ref().map(|all| all.iter().sum::<f64>());
        let kept = graph.shares.as_ref().map(|all| all.iter().filter(|one| **one >= 0.5).count());
        vec![
            graph.data.clone(),
            graph.fit.clone(),
            graph.shards.to_string(),
            graph.unusable.to_string(),
            expected.map_or_else(|| "ranks only".to_owned(), |sum| format!("{sum:.1}")),
            kept.map_or_else(|| "–".to_owned(), |kept| kept.to_string()),
        ]
    };
    let rows = view.graphs.iter().map(row).collect();
    section("fits", "What was averaged")
        .with(Element::new("p").text(&lead))
        .with(plain_table("fits", &header, rows))
        .with(
            Element::new("p").text(
                "Kept are edges that at least half of the fits give more than an even chance.",
            ),
        )
}

fn graph_section(graph: &AveragedGraph) -> Element {
    let title = format!("{}: {}", graph.data, graph.fit);
    let mut place = Element::new("section").with(Element::new("h2").text(&title));
    if let Some(picture) = picture(graph, &title) {
        let frame = Element::new("div")
            .set("class", "graph-frame")
            .set("tabindex", "0")
            .set("role", "group")
            .set("aria-label", &format!("averaged graph of {title}"));
        place.push(frame.markup(&picture));
    }
    let n = graph.variables.len();
    let header = ["source", "target", "mean probability", "deviation", "share of fits", "score"];
    let row = |idx: usize| {
        let of = |matrix: &Option<Vec<f64>>| share(matrix.as_ref().map(|all| all[idx]));
        vec![
            graph.variables[idx / n].clone(),
            graph.variables[idx % n].clone(),
            of(&graph.probabilities),
            of(&graph.spreads),
            of(&graph.shares),
            share(Some(graph.scores[idx])),
        ]
    };
    let rows = graph.ranked().into_iter().take(MOST_LISTED).map(row).collect();
    place.with(plain_table(&format!("strongest edges of {title}"), &header, rows))
}

/// The averaged graph: shares of the fits where the method gives probabilities, mean ranks of the strongest elsewhere.
fn picture(graph: &AveragedGraph, title: &str) -> Option<String> {
    if graph.variables.len() > MOST_DRAWN {
        return None;
    }
    let (scores, score_name, selection) = match &graph.shares {
        Some(shares) => (shares, "share of fits", EdgeSelection::AtLeast(0.5)),
        None => (&graph.scores, "mean rank", EdgeSelection::Strongest(graph.variables.len())),
    };
    let edges =
        LearnedEdges { score_name, ..LearnedEdges::probabilities(&graph.variables, scores) };
    graph_svg(&edges, &GraphOptions { title, selection }).ok()
}

fn problems(view: &SweepView) -> Element {
    let lines = view.problems.iter().take(MOST_PROBLEMS);
    let list =
        lines.fold(Element::new("ul"), |list, line| list.with(Element::new("li").text(line)));
    section("problems", "Fits without a result").with(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_every_graph_and_escapes_every_name() {
        let graph = AveragedGraph {
            data: "<b>".into(),
            fit: "ridge".into(),
            variables: vec!["x".into(), "y&z".into()],
            shards: 3,
            unusable: 1,
            scores: vec![1.0, 0.5, 0.2, 0.0],
            probabilities: None,
            shares: None,
            spreads: None,
        };
        let view = SweepView {
            title: "Many fits".into(),
            shards: 4,
            missing: 0,
            seeds: vec![0],
            bootstrap: 4,
            graphs: vec![graph],
            problems: vec!["sample 2: <i>never moves".into()],
        };
        let page = sweep_html(&view);
        assert!(page.starts_with("<!doctype html>") && page.contains("&lt;b&gt;: ridge"));
        assert!(page.contains("y&amp;z") && !page.contains("<i>") && page.contains("ranks only"));
        assert!(page.contains("4 bootstrap samples of 1 seed"));
    }
}
