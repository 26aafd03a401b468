//! The graph of a page with its controls, and the best edges in a table.

use driftgraph_text::count;

use super::{plain_table, section, short, value_text};
use crate::prose::probability;
use crate::svg::element::Element;
use crate::svg::graph::layout::node_positions;
use crate::svg::graph::{
    DrawnEdge, INPUT_MEANING, SAMPLE_WIDTH, STANDINGS, Standing, UNASKED, draw, input_sample,
    line_sample, sign_class, sign_samples,
};
use crate::svg::legend::SAMPLE;
use crate::view::{EdgeView, EquationView, GraphView, LinkKind, ReportView};

/// Rows of the table that are open at first, and in all.
const SHOWN_ROWS: usize = 10;
const MOST_ROWS: usize = 100;
/// Above this number of variables the matrix is easier to read than the graph.
const EASY: usize = 60;

/// Largest share of false edges that can be chosen instead of a threshold.
const MOST_FALSE: f64 = 0.5;

/// The section with graph and table.
pub(super) fn graph_section(view: &ReportView) -> Element {
    let graph = &view.graph;
    let truth = view.truth.as_ref().map(|truth| &truth.edges[..]);
    let drawn = drawn_edges(graph, truth);
    let mut out = section("graph", "Who drives whom").with(Element::new("p").text(&lead(view)));
    if graph.variables.len() > EASY {
        let hint = Element::new("p").set("class", "hint");
        let link = Element::new("a").set("href", "#matrix").text("matrix of all pairs");
        out.push(
            hint.text("With so many variables, search for one of them here, or read the ")
                .with(link)
                .text("."),
        );
    }
    out.push(controls(graph));
    let mut stage = Element::new("div").set("class", "stage");
    let frame = Element::new("div").set("class", "graph-frame").set("tabindex", "0");
    let frame = frame.set("role", "group").set("aria-label", "graph, scrollable");
    let picture = graph_element(&graph.variables, &graph.positions, &drawn, &graph.inputs);
    stage.push(frame.with(picture.set("id", "graph-svg")));
    let panel = Element::new("div").set("id", "node-panel").set("class", "panel scripted");
    stage.push(
        panel.set("aria-live", "polite").with(Element::new("p").set("class", "faint").text(
            "Click a variable to see what drives it and what it drives. Drag it to move it.",
        )),
    );
    out.push(stage);
    out.push(legend(graph, truth));
    out.push(table(graph));
    if !view.equations.is_empty() {
        out.push(equations(&view.equations));
    }
    out
}

/// The drift of every variable, with its terms folded below.
fn equations(equations: &[EquationView]) -> Element {
    let lead = "The rate of change of every variable, per unit of time and in the units of the data. Coefficients are those \
                that remain if all terms that are not listed are zero.";
    let lines =
        equations.iter().map(|one| Element::new("li").with(Element::new("code").text(&one.text)));
    let rows = equations.iter().flat_map(|one| {
        let target = one.text.split("/dt").next().unwrap_or_default().trim_start_matches('d');
        one.terms.iter().map(move |term| {
            let product = if term.text.is_empty() { "1" } else { &term.text };
            vec![
                format!("{target}: {product}"),
                short(term.coefficient),
                term.interval.map_or_else(
                    || "-".to_owned(),
                    |[low, high]| format!("{} to {}", short(low), short(high)),
                ),
                format!("{:.3}", term.probability),
            ]
        })
    });
    let header = ["term", "coefficient", "90 % interval", "probability"];
    let terms = plain_table("terms", &header, rows.collect());
    let summary = Element::new("summary").text("All terms with their intervals");
    Element::new("div")
        .set("id", "equations")
        .with(Element::new("h3").text("Equations"))
        .with(Element::new("p").text(lead))
        .with(Element::new("ul").set("class", "equations").with_all(lines))
        .with(Element::new("details").with(summary).with(terms))
}

/// What an arrow means, and which ones there are.
fn lead(view: &ReportView) -> String {
    let graph = &view.graph;
    let drawn = graph.drawn().into_iter().filter(|(_, edge)| !edge.is_self_loop()).count();
    let meaning = if view.method.has_process {
        "An arrow means that the first variable enters what makes the second one change"
    } else {
        "An arrow means that the first variable helps to say what the second one does next"
    };
    let wide = if graph.score.is_some() { "the higher its score" } else { "the more probable" };
    let which = match drawn {
        n if n == graph.selection.most => format!("{n} best supported edges"),
        n => count(n, "edge", "edges"),
    };
    let lines = if graph.links().any(EdgeView::is_undirected) {
        ". A line without a head joins variables that move together within a step, and nobody can tell which way"
    } else {
        ""
    };
    format!(
        "{meaning}; the wider, {wide}{lines}. The {which} with a {} of at least {} {} drawn.",
        graph.score_name(),
        value_text(graph, graph.selection.threshold),
        if drawn == 1 { "is" } else { "are" },
    )
}

fn controls(graph: &GraphView) -> Element {
    let has_probabilities = graph.score.is_none();
    let threshold = Element::new("input")
        .set("type", "range")
        .set("id", "threshold")
        .set("min", "0.05")
        .set("max", "1")
        .set("step", "0.01")
        .at("value", graph.selection.threshold);
    let shown = Element::new("output").set("id", "threshold-shown").set("for", "threshold");
    let rate = Element::new("input")
        .set("type", "range")
        .set("id", "fdr")
        .set("min", "0")
        .at("max", MOST_FALSE)
        .set("step", "0.01")
        .set("value", "0");
    let rate_shown = Element::new("output").set("id", "fdr-shown").set("for", "fdr");
    let most = Element::new("input")
        .set("type", "number")
        .set("id", "most")
        .set("min", "1")
        .at("max", graph.edges.len().max(1) as f64)
        .at("value", graph.selection.most as f64);
    let search = Element::new("input")
        .set("type", "search")
        .set("id", "search")
        .set("list", "variables")
        .set("placeholder", "name")
        .set("autocomplete", "off");
    let names = graph.variables.iter().map(|name| Element::new("option").set("value", name));
    let loops = Element::new("input").set("type", "checkbox").set("id", "loops");
    let loops = if graph.selection.self_loops { loops.set("checked", "") } else { loops };
    let label = |text: &str| Element::new("label").with(Element::new("span").text(text));
    Element::new("div")
        .set("class", "controls scripted")
        .with(
            label(&format!("{} at least ", capitalised(graph.score_name())))
                .with(threshold)
                .with(shown.text(&value_text(graph, graph.selection.threshold))),
        )
        .with_all(
            has_probabilities
                .then(|| label("or false at most ").with(rate).with(rate_shown.text("any number"))),
        )
        .with(label("At most ").with(most).with(Element::new("span").text(" edges")))
        .with(Element::new("label").with(loops).with(Element::new("span").text(" self-loops")))
        .with(label("Find ").with(search))
        .with(Element::new("datalist").set("id", "variables").with_all(names))
        .with(Element::new("output").set("id", "edge-count").set("class", "faint"))
}

/// The picture of a graph alone, its colours those of the page.
pub fn graph_picture(graph: &GraphView) -> String {
    graph_element(&graph.variables, &graph.positions, &drawn_edges(graph, None), &graph.inputs)
        .into_svg()
}

/// A ring of nodes, for a script to draw edges into.
pub fn nodes_picture(names: &[String]) -> String {
    let n = names.len();
    let all: Vec<(usize, usize)> = (0..n * n).map(|idx| (idx / n, idx % n)).collect();
    graph_element(names, &node_positions(names, &all), &[], &[]).into_svg()
}

/// Edges that are drawn at first, the strong ones last; known ones that are not among them lie below.
fn drawn_edges(graph: &GraphView, truth: Option<&[[usize; 2]]>) -> Vec<DrawnEdge> {
    let has_signs = graph.has_signs();
    let drawn = |edge: &EdgeView, standing, listed| DrawnEdge {
        source: edge.source,
        target: edge.target,
        share: edge.probability,
        value: format!("{} {}", graph.score_name(), value_text(graph, edge.probability)),
        sign: has_signs.then_some(edge.sign),
        is_undirected: edge.is_undirected(),
        standing,
        listed,
    };
    let mut found: Vec<DrawnEdge> = (graph.drawn().iter().rev())
        .map(|(idx, edge)| {
            let is_true = truth.map(|truth| truth.iter().any(|&[s, t]| edge.joins(s, t)));
            let is_unasked = edge.is_self_loop() && !asks_of_self_edges(truth);
            drawn(edge, Standing::of_selected(is_true, is_unasked), Some(*idx))
        })
        .collect();
    let is_drawn =
        |pair: &[usize; 2]| graph.drawn().iter().any(|(_, edge)| edge.joins(pair[0], pair[1]));
    let missed = truth.into_iter().flatten().filter(|pair| {
        let is_shown = graph.selection.self_loops || pair[0] != pair[1];
        is_shown && !is_drawn(pair)
    });
    let mut all: Vec<DrawnEdge> = missed
        .map(|&[source, target]| {
            let place = graph.edges.iter().position(|e| [e.source, e.target] == [source, target]);
            let unlisted = EdgeView::unlisted(source, target);
            let edge = place.map_or(unlisted, |place| graph.edges[place]);
            drawn(&edge, Standing::Missed, place)
        })
        .collect();
    all.append(&mut found);
    all
}

/// Whether the known edges are about edges from variables to themselves: one of them is such an edge.
fn asks_of_self_edges(truth: Option<&[[usize; 2]]>) -> bool {
    truth.is_some_and(|truth| truth.iter().any(|[source, target]| source == target))
}

fn graph_element(
    names: &[String],
    positions: &[[f64; 2]],
    edges: &[DrawnEdge],
    inputs: &[usize],
) -> Element {
    let drawing = draw(names, positions, edges, inputs);
    let (width, height) = (drawing.width, drawing.height);
    // Small graphs are not blown up to the width of the page, large ones may scroll on a phone.
    let (most, least) = (1.35 * width, (0.62 * width).min(900.0));
    Element::new("svg")
        .set("class", "graph")
        .set("viewBox", &format!("0 0 {width} {height}"))
        .set("role", "group")
        .set("aria-label", "Learned graph; the same edges are in the table below")
        .set("style", &format!("max-width:{most:.0}px;min-width:{least:.0}px"))
        .with_all(drawing.content)
}

fn legend(graph: &GraphView, truth: Option<&[[usize; 2]]>) -> Element {
    let entry = |sample: Element, text: &str| {
        let svg = Element::new("svg").set("viewBox", &format!("0 -8 {SAMPLE} 16"));
        Element::new("span").with(svg.set("aria-hidden", "true").with(sample)).text(text)
    };
    let signs = sign_samples(graph.has_signs()).into_iter();
    let has_self_loops = graph.edges.iter().any(EdgeView::is_self_loop);
    let unasked = Some(UNASKED).filter(|_| has_self_loops && !asks_of_self_edges(truth));
    let standings = STANDINGS.into_iter().chain(unasked).filter(|_| truth.is_some());
    let inputs = (!graph.inputs.is_empty()).then(|| entry(input_sample(), INPUT_MEANING));
    Element::new("p")
        .set("class", "legend")
        .with_all(signs.map(|(sample, text)| entry(sample, text)))
        .with_all(inputs)
        .with_all(standings.map(|(one, text)| entry(line_sample(one, SAMPLE_WIDTH), text)))
}

fn table(graph: &GraphView) -> Element {
    let rows = |self_loops: bool| -> Vec<Element> {
        let edges = graph.links().filter(|edge| edge.is_self_loop() == self_loops);
        edges.take(MOST_ROWS).map(|edge| table_row(graph, edge)).collect()
    };
    let header = table_header(graph);
    let fill = |rows: Vec<Element>| {
        let body = Element::new("tbody").with_all(rows);
        let head = Element::new("thead").with(header.clone());
        let table = Element::new("table").with(head).with(body);
        Element::new("div")
            .set("class", "wide")
            .set("tabindex", "0")
            .set("role", "group")
            .set("aria-label", "table of edges")
            .with(table)
    };
    let mut between = rows(false);
    let rest = between.split_off(between.len().min(SHOWN_ROWS));
    let mut out = Element::new("div").with(Element::new("h3").text("The best supported edges"));
    out.push(fill(between));
    let more = format!("The next {}", count(rest.len(), "edge", "edges"));
    for (title, rows) in [(more.as_str(), rest), ("Edges from a variable to itself", rows(true))] {
        if !rows.is_empty() {
            let title = Element::new("summary").text(title);
            out.push(Element::new("details").with(title).with(fill(rows)));
        }
    }
    if graph.edges.iter().all(|edge| edge.effect.is_none()) {
        return out;
    }
    out.with(Element::new("p").set("class", "faint").text(&what_columns_mean(graph)))
}

fn what_columns_mean(graph: &GraphView) -> String {
    let mut meaning = String::from(
        "Effect: mean change of the target's rate per unit of the source, in your units; within a step, change of the \
         target per change of the source. 90 %: where the effect lies with that probability, if the edge exists. In deviations: the effect \
         for standardised variables, to compare edges with each other.",
    );
    if graph.edges.iter().any(|edge| edge.disagreement > 0.0) {
        meaning.push_str(if graph.n_fits > 1 {
            " Seeds differ by: deviation of the log-odds over fits with other random numbers."
        } else {
            " Chains differ by: deviation of the log-odds over the chains that the fit has drawn."
        });
    }
    if graph.edges.iter().any(|edge| edge.stability.is_some()) {
        meaning.push_str(
            " Kept by samples: share of bootstrap samples of the data whose fit has the edge.",
        );
    }
    meaning
}

/// The column of what carries an edge.
const KIND: &str = "kind";

/// One column of numbers: its name, and what an edge has in it.
type NumberColumn = (&'static str, fn(&EdgeView) -> Option<String>);

/// The columns of numbers that any edge fills.
fn number_columns(graph: &GraphView) -> Vec<NumberColumn> {
    let differ_by = if graph.n_fits > 1 { "seeds differ by" } else { "chains differ by" };
    let all: [NumberColumn; 8] = [
        (KIND, kind_text),
        ("effect", |edge| edge.effect.map(super::signed)),
        ("90 %", |edge| {
            edge.interval
                .map(|[low, high]| format!("{} to {}", super::signed(low), super::signed(high)))
        }),
        ("in deviations", |edge| edge.strength.map(super::signed)),
        (differ_by, |edge| (edge.disagreement > 0.0).then(|| short(edge.disagreement))),
        ("kept by samples", |edge| edge.stability.map(|share| format!("{:.0} %", 100.0 * share))),
        ("within a step", |edge| edge.instantaneous.map(probability)),
        ("lagged; within a step", |edge| {
            let parts = edge.parts?.map(super::signed);
            Some(parts.join("; "))
        }),
    ];
    let is_used = |(_, of): &NumberColumn| graph.edges.iter().any(|edge| of(edge).is_some());
    all.into_iter().filter(is_used).collect()
}

/// What carries an edge, where that is not the drift alone.
fn kind_text(edge: &EdgeView) -> Option<String> {
    let text = match edge.kind {
        LinkKind::Lagged | LinkKind::Mirrored => return None,
        LinkKind::WithinStep => "within a step",
        LinkKind::Undirected => "within a step, either way",
        LinkKind::Both => "lagged and within a step",
    };
    Some(text.to_owned())
}

fn table_header(graph: &GraphView) -> Element {
    let head = |text: &str, class: &str| {
        Element::new("th").set("scope", "col").set("class", class).text(text)
    };
    Element::new("tr")
        .with_all([head("source", ""), head("target", ""), head(graph.score_name(), "bar")])
        .with_all(number_columns(graph).into_iter().map(|(name, _)| head(name, "number")))
}

fn table_row(graph: &GraphView, edge: &EdgeView) -> Element {
    let meter = Element::new("span")
        .set("class", "meter")
        .set("style", &format!("--share:{:.3}", edge.probability))
        .with(Element::new("b").text(&value_text(graph, edge.probability)));
    let end = |idx: usize| Element::new("td").set("class", "variable").text(&graph.variables[idx]);
    let numbers = number_columns(graph).into_iter().map(|(name, of)| {
        // The usual kind is named beside others, and needs no column of its own.
        let absent = if name == KIND { "lagged" } else { "–" };
        let text = of(edge).unwrap_or_else(|| absent.to_owned());
        Element::new("td").set("class", "number").text(&text)
    });
    Element::new("tr")
        .set("class", sign_class(graph.has_signs().then_some(edge.sign)))
        .with_all([end(edge.source), end(edge.target)])
        .with(Element::new("td").set("class", "bar").with(meter))
        .with_all(numbers)
}

/// A name at the start of a label.
fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
