//! The graph of a page: nodes, arrows, controls, and the best edges in a table.

use super::arrow::{Arrow, Node, between, line_width, self_loop};
use super::section;
use crate::EffectSign;
use crate::layout::{HALF_HEIGHT, LOOP_ROOM, half_width, node_text};
use crate::prose::{count, probability};
use crate::svg::element::Element;
use crate::view::{EdgeView, GraphView, ReportView};

/// Rows of the table that are open at first, and in all.
const SHOWN_ROWS: usize = 10;
const MOST_ROWS: usize = 100;
/// Above this number of variables the matrix is easier to read than the graph.
const EASY: usize = 60;

/// The section with graph and table.
pub(super) fn graph_section(view: &ReportView) -> Element {
    let graph = &view.graph;
    let mut drawn = graph.drawn();
    let n_drawn = drawn.iter().filter(|(_, edge)| !edge.is_self_loop()).count();
    let lead = format!(
        "An arrow means that the first variable enters what makes the second one change; the wider, the more probable. \
         The {} with a probability of at least {} {} drawn.",
        if n_drawn == graph.selection.most {
            format!("{n_drawn} best supported edges")
        } else {
            count(n_drawn, "edge", "edges")
        },
        probability(graph.selection.threshold),
        if n_drawn == 1 { "is" } else { "are" },
    );
    // Strong edges lie on top.
    drawn.reverse();
    let mut out = section("graph", "Who drives whom").with(Element::new("p").text(&lead));
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
    stage.push(frame.with(graph_svg(graph, &drawn).set("id", "graph-svg")));
    let panel = Element::new("div").set("id", "node-panel").set("class", "panel scripted");
    stage.push(
        panel.set("aria-live", "polite").with(Element::new("p").set("class", "faint").text(
            "Click a variable to see what drives it and what it drives. Drag it to move it.",
        )),
    );
    out.push(stage);
    out.push(legend());
    out.push(table(graph));
    out
}

fn controls(graph: &GraphView) -> Element {
    let threshold = Element::new("input")
        .set("type", "range")
        .set("id", "threshold")
        .set("min", "0.05")
        .set("max", "1")
        .set("step", "0.01")
        .at("value", graph.selection.threshold);
    let shown = Element::new("output").set("id", "threshold-shown").set("for", "threshold");
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
            label("Probability at least ")
                .with(threshold)
                .with(shown.text(&format!("{:.2}", graph.selection.threshold))),
        )
        .with(label("At most ").with(most).with(Element::new("span").text(" edges")))
        .with(Element::new("label").with(loops).with(Element::new("span").text(" self-loops")))
        .with(label("Find ").with(search))
        .with(Element::new("datalist").set("id", "variables").with_all(names))
        .with(Element::new("output").set("id", "edge-count").set("class", "faint"))
}

/// The picture of a graph alone, its colours those of the page.
pub fn graph_picture(graph: &GraphView) -> String {
    let mut drawn = graph.drawn();
    drawn.reverse();
    graph_svg(graph, &drawn).into_svg()
}

fn graph_svg(graph: &GraphView, drawn: &[(usize, EdgeView)]) -> Element {
    let nodes: Vec<Node> = (graph.variables.iter().zip(&graph.positions))
        .map(|(name, &[x, y])| Node { x, y, half_width: half_width(name) })
        .collect();
    let most = |of: &dyn Fn(&Node) -> f64| nodes.iter().map(of).fold(0.0, f64::max);
    let width = most(&|node| node.x + node.half_width) + 12.0;
    let height = most(&|node| node.y) + HALF_HEIGHT + LOOP_ROOM;
    let middle = 0.5 * height;
    let mut lines = Element::new("g").set("class", "edges");
    for (idx, edge) in drawn {
        let width = line_width(edge.probability);
        let (from, to) = (nodes[edge.source], nodes[edge.target]);
        let arrow = if edge.source == edge.target {
            self_loop(from, from.y <= middle, width, edge.sign)
        } else {
            between(from, to, width, edge.sign)
        };
        lines.push(edge_element(graph, *idx, edge, arrow));
    }
    let mut discs = Element::new("g").set("class", "nodes");
    for (idx, (name, node)) in graph.variables.iter().zip(&nodes).enumerate() {
        discs.push(node_element(idx, name, *node));
    }
    let names = "Learned graph; the same edges are in the table below";
    Element::new("svg")
        .set("class", "graph")
        .set("viewBox", &format!("0 0 {width} {height}"))
        .set("role", "group")
        .set("aria-label", names)
        // Small graphs are not blown up to the width of the page, large ones may scroll on a phone.
        .set(
            "style",
            &format!(
                "max-width:{:.0}px;min-width:{:.0}px",
                1.35 * width,
                (0.62 * width).min(900.0)
            ),
        )
        .with(lines)
        .with(discs)
}

fn edge_element(graph: &GraphView, idx: usize, edge: &EdgeView, arrow: Arrow) -> Element {
    let tooltip = format!(
        "{} → {}: probability {}",
        graph.variables[edge.source],
        graph.variables[edge.target],
        probability(edge.probability)
    );
    Element::new("g")
        .set("class", &format!("edge {}", sign_class(edge.sign)))
        .set("data-edge", &idx.to_string())
        .tooltip(&tooltip)
        .with(
            arrow
                .line
                .into_element()
                .set("class", "line")
                .at("stroke-width", line_width(edge.probability)),
        )
        .with(arrow.head.into_element().set("class", "head"))
}

fn node_element(idx: usize, name: &str, node: Node) -> Element {
    let disc = Element::new("rect").place(&[
        ("x", -node.half_width),
        ("y", -HALF_HEIGHT),
        ("width", 2.0 * node.half_width),
        ("height", 2.0 * HALF_HEIGHT),
        ("rx", HALF_HEIGHT),
    ]);
    let text = Element::new("text").set("y", "4.5").set("text-anchor", "middle");
    Element::new("g")
        .set("class", "node")
        .set("data-node", &idx.to_string())
        .set("transform", &format!("translate({} {})", node.x, node.y))
        .tooltip(name)
        .with(disc)
        .with(text.text(&node_text(name)))
}

pub(super) fn sign_class(sign: EffectSign) -> &'static str {
    match sign {
        EffectSign::Positive => "more",
        EffectSign::Negative => "less",
        EffectSign::Unknown => "mixed",
    }
}

fn legend() -> Element {
    let sample = |sign: EffectSign, text: &str| {
        let (from, to) =
            (Node { x: -10.0, y: 8.0, half_width: 8.0 }, Node { x: 56.0, y: 8.0, half_width: 8.0 });
        let arrow = between(from, to, 2.0, sign);
        let svg = Element::new("svg").set("viewBox", "0 0 48 16").set("aria-hidden", "true");
        let edge = Element::new("g").set("class", &format!("edge {}", sign_class(sign)));
        let edge = edge
            .with(arrow.line.into_element().set("class", "line").at("stroke-width", 2.0))
            .with(arrow.head.into_element().set("class", "head"));
        Element::new("span").with(svg.with(edge)).text(text)
    };
    Element::new("p")
        .set("class", "legend")
        .with(sample(EffectSign::Positive, "more of it, faster growth"))
        .with(sample(EffectSign::Negative, "more of it, slower growth"))
        .with(sample(EffectSign::Unknown, "depends on the state"))
}

fn table(graph: &GraphView) -> Element {
    let rows = |self_loops: bool| -> Vec<Element> {
        let edges = graph.edges.iter().filter(|edge| edge.is_self_loop() == self_loops);
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
    let below = Element::new("p").set("class", "faint").text(
        "Effect: mean change of the target's rate per unit of the source, in your units. In deviations: the same \
         for standardised variables, to compare edges with each other. Seeds differ by: deviation of the log-odds over fits with other random numbers.",
    );
    out.with(below)
}

fn table_header(graph: &GraphView) -> Element {
    let head = |text: &str, class: &str| {
        Element::new("th").set("scope", "col").set("class", class).text(text)
    };
    let mut header = Element::new("tr")
        .with(head("source", ""))
        .with(head("target", ""))
        .with(head("probability", "bar"))
        .with(head("effect", "number"))
        .with(head("in deviations", "number"));
    if graph.edges.iter().any(|edge| edge.disagreement > 0.0) {
        header = header.with(head("seeds differ by", "number"));
    }
    if graph.edges.iter().any(|edge| edge.instantaneous.is_some()) {
        header = header.with(head("within a step", "number"));
    }
    header
}

fn table_row(graph: &GraphView, edge: &EdgeView) -> Element {
    let number = |text: String| Element::new("td").set("class", "number").text(&text);
    let share = format!("--share:{:.3}", edge.probability);
    let bar = Element::new("td").set("class", "bar").with(
        Element::new("span")
            .set("class", "meter")
            .set("style", &share)
            .with(Element::new("b").text(&probability(edge.probability))),
    );
    let mut row = Element::new("tr")
        .set("class", sign_class(edge.sign))
        .with(Element::new("td").set("class", "variable").text(&graph.variables[edge.source]))
        .with(Element::new("td").set("class", "variable").text(&graph.variables[edge.target]))
        .with(bar)
        .with(number(super::signed(edge.effect)))
        .with(number(super::signed(edge.strength)));
    if graph.edges.iter().any(|edge| edge.disagreement > 0.0) {
        row = row.with(number(super::short(edge.disagreement)));
    }
    if graph.edges.iter().any(|edge| edge.instantaneous.is_some()) {
        row = row.with(number(edge.instantaneous.map_or_else(|| "–".to_owned(), probability)));
    }
    row
}
