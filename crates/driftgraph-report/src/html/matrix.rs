//! The heat map of a page with its controls.

use super::{section, value_text};
use crate::svg::element::Element;
use crate::svg::heatmap::{Cell, Drawing, draw};
use crate::view::{EdgeView, GraphView, ReportView};

/// The section with the matrix.
pub(super) fn matrix_section(view: &ReportView) -> Element {
    let graph = &view.graph;
    let mut lead = format!(
        "Row drives column. The stronger the colour, the {} the edge",
        if graph.score.is_some() { "higher the score of" } else { "more probable" }
    );
    if graph.has_signs() {
        lead.push_str(
            "; blue speeds the target's growth up, orange slows it down, grey depends on the state",
        );
    }
    lead.push('.');
    if view.truth.is_some() {
        lead.push_str(" Known edges are outlined.");
    }
    let mut out = section("matrix", "All pairs").with(Element::new("p").text(&lead));
    out.push(controls(graph, view.truth.is_some()));
    let frame = Element::new("div").set("class", "matrix-frame").set("tabindex", "0");
    let frame = frame.set("role", "group").set("aria-label", "matrix, scrollable");
    let truth = view.truth.as_ref().map(|truth| &truth.edges[..]);
    let order = &graph.orders[first_order(graph)].variables;
    let drawing = draw(&graph.variables, order, &cells(graph), truth);
    out.push(frame.with(matrix_element(&graph.variables, drawing).set("id", "matrix-svg")));
    out
}

/// Large matrices say nothing in the order of the data.
fn first_order(graph: &GraphView) -> usize {
    usize::from(graph.variables.len() > 30 && graph.orders.len() > 3)
}

fn controls(graph: &GraphView, has_truth: bool) -> Element {
    let options = graph.orders.iter().enumerate().map(|(idx, order)| {
        let option = Element::new("option").set("value", &idx.to_string());
        let chosen = idx == first_order(graph);
        let option = if chosen { option.set("selected", "") } else { option };
        option.text(&order.name)
    });
    let select = Element::new("select").set("id", "order").with_all(options);
    let label = Element::new("label").with(Element::new("span").text("Order "));
    let mut controls =
        Element::new("div").set("class", "controls scripted").with(label.with(select));
    if has_truth {
        let box_ =
            Element::new("input").set("type", "checkbox").set("id", "outline").set("checked", "");
        let label = Element::new("label").with(box_);
        controls.push(label.with(Element::new("span").text(" outline known edges")));
    }
    controls.push(Element::new("output").set("id", "cell").set("class", "faint"));
    controls
}

fn cells(graph: &GraphView) -> Vec<Cell> {
    let has_signs = graph.has_signs();
    let cell = |edge: &EdgeView| Cell {
        source: edge.source,
        target: edge.target,
        share: edge.probability,
        value: match graph.score {
            Some(_) => value_text(graph, edge.probability),
            None => format!("{:.2}", edge.probability.min(1.0)),
        },
        sign: has_signs.then_some(edge.sign),
    };
    graph.edges.iter().map(cell).collect()
}

fn matrix_element(names: &[String], drawing: Drawing) -> Element {
    let side = drawing.side;
    let (most, least) = (1.15 * side, (0.6 * side).min(700.0));
    let what = format!("Matrix of all pairs of {} variables, row drives column", names.len());
    Element::new("svg")
        .set("class", "matrix")
        .set("viewBox", &format!("0 0 {side:.0} {side:.0}"))
        .set("style", &format!("max-width:{most:.0}px;min-width:{least:.0}px"))
        .set("role", "img")
        .set("aria-label", &what)
        .with_all(drawing.content)
}

/// An empty matrix, for a script to colour.
pub fn matrix_picture(names: &[String]) -> String {
    let order: Vec<usize> = (0..names.len()).collect();
    matrix_element(names, draw(names, &order, &[], None)).into_svg()
}
