//! Many fits as one page: what was averaged, and a graph with its strongest edges for every data set and fit.

use std::fmt::Write as _;

use driftgraph_text::count;

use super::{STYLES, page_head, plain_table, section, share};
use crate::edges::{EffectSign, LearnedEdges};
use crate::svg::element::Element;
use crate::svg::graph::{EdgeSelection, GraphOptions, graph_svg};
use crate::view::{AveragedGraph, SweepView};

/// 1 for the edge that every fit puts first, 0 for the one that every fit puts last.
const SCORE_NAME: &str = "mean rank (1 is first)";
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
    let mut main = Element::new("main").with(summary(view));
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

fn summary(view: &SweepView) -> Element {
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
    let (own, between): (Vec<usize>, Vec<usize>) =
        graph.ranked().into_iter().partition(|&idx| graph.is_self_loop(idx));
    place.push(edge_table(graph, &format!("strongest edges of {title}"), &between));
    let summary = Element::new("summary").text("Edges from a variable to itself");
    let own = edge_table(graph, &format!("self edges of {title}"), &own);
    place.with(Element::new("details").with(summary).with(own))
}

/// The first of some edges; a method that only ranks has no columns of probabilities.
fn edge_table(graph: &AveragedGraph, name: &str, edges: &[usize]) -> Element {
    let columns = [
        ("mean probability", graph.probabilities.as_ref()),
        ("deviation", graph.deviations.as_ref()),
        ("share of fits", graph.shares.as_ref()),
        (SCORE_NAME, Some(&graph.scores)),
    ];
    let known: Vec<_> = columns.iter().filter_map(|(name, all)| Some((*name, (*all)?))).collect();
    let header: Vec<&str> =
        ["source", "target"].into_iter().chain(known.iter().map(|(name, _)| *name)).collect();
    let n = graph.variables.len();
    let row = |&idx: &usize| {
        let ends = [&graph.variables[idx / n], &graph.variables[idx % n]].map(String::clone);
        ends.into_iter().chain(known.iter().map(|(_, all)| share(Some(all[idx])))).collect()
    };
    plain_table(name, &header, edges.iter().take(MOST_LISTED).map(row).collect())
}

/// The averaged graph: shares of the fits where the method gives probabilities, mean ranks of the strongest elsewhere.
fn picture(graph: &AveragedGraph, title: &str) -> Option<String> {
    let n = graph.variables.len();
    if n > MOST_DRAWN {
        return None;
    }
    // That a variable tells its own next value best says nothing of who drives whom.
    let mut ranks = graph.scores.clone();
    (0..n).for_each(|idx| ranks[idx * n + idx] = 0.0);
    let (scores, score_name, selection) = match &graph.shares {
        Some(shares) => (shares, "share of fits", EdgeSelection::AtLeast(0.5)),
        None => (&ranks, SCORE_NAME, EdgeSelection::Strongest(n)),
    };
    let sign = |effect: &f64| match effect {
        effect if *effect > 0.0 => EffectSign::Positive,
        effect if *effect < 0.0 => EffectSign::Negative,
        _ => EffectSign::Unknown,
    };
    // Where some effects are not known, colours would say something of these, too.
    let known = graph.effects.as_ref().filter(|all| all.iter().all(|effect| !effect.is_nan()));
    let signs: Option<Vec<EffectSign>> = known.map(|all| all.iter().map(sign).collect());
    let edges = LearnedEdges {
        score_name,
        signs: signs.as_deref(),
        ..LearnedEdges::probabilities(&graph.variables, scores)
    };
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
            deviations: None,
            effects: None,
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
        // What only ranks has no columns of probabilities, no sign, and no arrow from `<b>`'s x to itself.
        assert!(!page.contains("mean probability") && page.contains("told by the method"));
        assert!(!page.contains("x → x:") && page.contains("x → y&amp;z:"), "{page}");
    }
}
