//! All pairs as a heat map: colour is the sign of the effect, its strength the probability.

use super::graph::sign_class;
use super::section;
use crate::EffectSign;
use crate::svg::element::{Element, PathData};
use crate::svg::text::{shortened, text_width};
use crate::view::{GraphView, ReportView};

/// Steps between absent and certain that are told apart.
const LEVELS: usize = 12;
/// Up to here every cell shows its probability.
const WITH_NUMBERS: usize = 12;
/// Longest name beside the matrix, in letters' heights.
const LABEL: f64 = 9.0;

/// The section with the matrix.
pub(super) fn matrix_section(view: &ReportView) -> Element {
    let graph = &view.graph;
    let mut lead =
        "Row drives column. The stronger the colour, the more probable the edge; blue speeds the \
                    target's growth up, orange slows it down, grey depends on the state."
            .to_owned();
    if view.truth.is_some() {
        lead.push_str(" Known edges are outlined.");
    }
    let mut out = section("matrix", "All pairs").with(Element::new("p").text(&lead));
    out.push(controls(graph, view.truth.is_some()));
    let frame = Element::new("div").set("class", "matrix-frame").set("tabindex", "0");
    let frame = frame.set("role", "group").set("aria-label", "matrix, scrollable");
    let truth = view.truth.as_ref().map(|truth| &truth.edges[..]);
    out.push(frame.with(matrix_svg(graph, &graph.orders[first_order(graph)].variables, truth)));
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

/// Side of a cell, and height of the letters, for so many variables.
fn sizes(n: usize) -> (f64, f64) {
    match n {
        0..=12 => (44.0, 13.0),
        13..=30 => (26.0, 12.0),
        31..=60 => (16.0, 11.0),
        61..=130 => (10.0, 8.0),
        _ => (5.0, 0.0),
    }
}

fn matrix_svg(graph: &GraphView, order: &[usize], truth: Option<&[[usize; 2]]>) -> Element {
    let n = order.len();
    let (cell, font) = sizes(n);
    let labels: Vec<String> =
        order.iter().map(|&idx| shortened(&graph.variables[idx], font, LABEL * font)).collect();
    let widest = labels.iter().map(|label| text_width(label, font)).fold(0.0, f64::max);
    let margin = widest + 10.0;
    let side = margin + cell * n as f64 + 2.0;
    let mut place = vec![0; n];
    order.iter().enumerate().for_each(|(idx, &variable)| place[variable] = idx);
    let corner = |source: usize, target: usize| {
        [margin + cell * place[target] as f64, margin + cell * place[source] as f64]
    };
    let mut svg = Element::new("svg")
        .set("id", "matrix-svg")
        .set("viewBox", &format!("0 0 {side:.0} {side:.0}"))
        .set(
            "style",
            &format!("max-width:{:.0}px;min-width:{:.0}px", 1.15 * side, (0.6 * side).min(700.0)),
        )
        .set("role", "img")
        .set("aria-label", "Matrix of edge probabilities, row drives column")
        .with(background(margin, cell * n as f64));
    for path in cells(graph, &corner, cell) {
        svg.push(path);
    }
    if n <= WITH_NUMBERS {
        svg.push(numbers(graph, &corner, cell));
    }
    if let Some(truth) = truth {
        svg.push(outlines(truth, &corner, cell));
    }
    if font > 0.0 {
        svg.push(names(graph, order, &labels, (margin, cell, font)));
    }
    svg
}

fn background(margin: f64, extent: f64) -> Element {
    Element::new("rect")
        .place(&[("x", margin), ("y", margin), ("width", extent), ("height", extent)])
        .set("class", "ground")
}

/// One path for all cells of a sign and a level: a hundred variables fit into some kilobytes.
fn cells(graph: &GraphView, corner: &dyn Fn(usize, usize) -> [f64; 2], cell: f64) -> Vec<Element> {
    let mut paths = Vec::new();
    let side = cell - if cell > 12.0 { 1.5 } else { 0.5 };
    for sign in [EffectSign::Positive, EffectSign::Negative, EffectSign::Unknown] {
        for level in 1..=LEVELS {
            let chosen = graph.edges.iter().filter(|edge| {
                edge.sign == sign && (LEVELS as f64 * edge.probability).round() as usize == level
            });
            let path = chosen.fold(None, |path: Option<PathData>, edge| {
                let path = path.unwrap_or_default().then('M', &corner(edge.source, edge.target));
                Some(path.then('h', &[side]).then('v', &[side]).then('h', &[-side]).then('z', &[]))
            });
            if let Some(path) = path {
                let class = format!("cells {}", sign_class(sign));
                let opacity = level as f64 / LEVELS as f64;
                paths.push(path.into_element().set("class", &class).at("fill-opacity", opacity));
            }
        }
    }
    paths
}

fn numbers(graph: &GraphView, corner: &dyn Fn(usize, usize) -> [f64; 2], cell: f64) -> Element {
    let mut group = Element::new("g").set("class", "numbers");
    for edge in graph.edges.iter().filter(|edge| edge.probability >= 0.05) {
        let [x, y] = corner(edge.source, edge.target);
        let place = [("x", x + 0.5 * cell), ("y", y + 0.5 * cell + 4.0)];
        let text = Element::new("text").place(&place).set("text-anchor", "middle");
        let text = if edge.probability >= 0.6 { text.set("class", "on-dark") } else { text };
        let shown = format!("{:.2}", edge.probability.min(1.0));
        group.push(text.text(shown.trim_start_matches('0')));
    }
    group
}

fn outlines(truth: &[[usize; 2]], corner: &dyn Fn(usize, usize) -> [f64; 2], cell: f64) -> Element {
    let inset = if cell > 12.0 { 2.0 } else { 1.0 };
    let side = cell - 2.0 * inset - if cell > 12.0 { 1.5 } else { 0.5 };
    let path = truth.iter().fold(PathData::default(), |path, &[source, target]| {
        let [x, y] = corner(source, target);
        path.then('M', &[x + inset, y + inset])
            .then('h', &[side])
            .then('v', &[side])
            .then('h', &[-side])
            .then('z', &[])
    });
    path.into_element().set("class", "truth")
}

fn names(
    graph: &GraphView,
    order: &[usize],
    labels: &[String],
    (margin, cell, font): (f64, f64, f64),
) -> Element {
    let mut group = Element::new("g").set("class", "names").at("font-size", font);
    for (idx, (label, &variable)) in labels.iter().zip(order).enumerate() {
        let middle = margin + cell * (idx as f64 + 0.5) + 0.35 * font;
        let row = Element::new("text").place(&[("x", margin - 6.0), ("y", middle)]);
        let name = &graph.variables[variable];
        group.push(row.set("text-anchor", "end").tooltip(name).text(label));
        let turn = format!("translate({middle:.2} {:.2}) rotate(-90)", margin - 6.0);
        group.push(Element::new("text").set("transform", &turn).tooltip(name).text(label));
    }
    group
}
