//! The matrix of edge scores as a heat map: sources in rows, targets in columns.

use super::colour;
use super::element::{Element, PathData};
use super::legend::Legend;
use super::page::{MARGIN, Words, faint_label, sheet};
use super::text::{Anchor, LABEL_EMS, coloured_label, label, shortened, text_width};
use crate::{LearnedEdges, ReportError};

/// Room for one axis title.
const AXIS_TITLE: f64 = 22.0;
/// Space between labels and cells.
const GAP: f64 = 6.0;
/// Scores below this share of the full scale round to zero and are left to the background.
const INVISIBLE: f64 = 0.005;
/// Width and greatest height of the colour scale in the legend.
const SCALE: (f64, f64) = (16.0, 180.0);
/// Room for the heading above the colour scale and the space below it.
const SCALE_FRAME: f64 = 38.0;

/// Draws the scores `[source, target]` as a heat map, light = absent and dark = certain.
///
/// True edges, where known, are outlined; self edges carry a small mark. Cells and letters adapt
/// to the number of variables, up to about a hundred; shortened names are whole in tooltips.
pub fn heatmap_svg(edges: &LearnedEdges, title: &str) -> Result<String, ReportError> {
    edges.check()?;
    let n = edges.n_variables();
    let subtitle = format!("{} from source (row) to target (column)", edges.score_name);
    let words = Words { title, subtitle, description: description(edges) };
    let frame = Frame::new(edges, words.height());
    let legend = key(edges);
    let scale_height = (frame.side - legend.height() - SCALE_FRAME).clamp(80.0, SCALE.1);
    let legend_x = frame.left + frame.side.max(frame.overhang) + 28.0;
    let legend_width = legend.width().max(1.06 * text_width(edges.score_name, 12.0));
    let legend_height = SCALE_FRAME + scale_height + legend.height();
    let width = legend_x + legend_width + MARGIN;
    let height = frame.top + frame.side.max(legend_height) + MARGIN;

    let mut svg = sheet(width, height, &words);
    svg.push(axis_titles(&frame));
    svg.push(row_labels(edges, &frame));
    svg.push(column_labels(edges, &frame));
    svg.push(background(&frame, n));
    svg.push(cells(edges, &frame));
    svg.push(self_edge_marks(&frame, n));
    if edges.truth.is_some() {
        svg.push(true_edge_outlines(edges, &frame));
    }
    svg.push(colour_scale(edges, legend_x, frame.top, scale_height));
    svg.push(legend.draw(legend_x, frame.top + SCALE_FRAME + scale_height));
    Ok(svg.into_svg())
}

/// Sizes and positions of everything in the matrix.
#[derive(Debug)]
struct Frame {
    cell: f64,
    font: f64,
    /// Names as shown.
    labels: Vec<String>,
    /// How far column labels are turned, in degrees.
    turn: f64,
    /// How far column labels reach from the left edge of the matrix.
    overhang: f64,
    /// Height of the column labels and the gap below them.
    label_band: f64,
    left: f64,
    top: f64,
    /// Width and height of the matrix.
    side: f64,
}

impl Frame {
    fn new(edges: &LearnedEdges, header: f64) -> Self {
        let n = edges.n_variables() as f64;
        let cell = (560.0 / n).clamp(9.5, 46.0);
        let font = (0.72 * cell).clamp(7.0, 13.0);
        let labels: Vec<String> =
            edges.names.iter().map(|name| shortened(name, font, LABEL_EMS * font)).collect();
        let longest = labels.iter().map(|label| text_width(label, font)).fold(0.0, f64::max);
        // Slanted labels need room of their own height along the row, upright ones least of all.
        let turn = match cell {
            _ if longest <= 0.9 * cell => 0.0,
            _ if cell >= 1.6 * font => 50.0,
            _ => 90.0_f64,
        };
        let (sine, cosine) = libm::sincos(turn.to_radians());
        let side = n * cell;
        let label_band = longest * sine + 0.7 * font + GAP;
        Self {
            cell,
            font,
            turn,
            overhang: side - 0.5 * cell + longest * cosine,
            left: MARGIN + AXIS_TITLE + longest + GAP,
            top: header + AXIS_TITLE + label_band,
            label_band,
            side,
            labels,
        }
    }

    /// Corner of a row or column.
    fn x(&self, column: usize) -> f64 {
        self.left + column as f64 * self.cell
    }

    fn y(&self, row: usize) -> f64 {
        self.top + row as f64 * self.cell
    }

    /// A square inside a cell, `inset` away from its border.
    fn square(&self, row: usize, column: usize, inset: f64) -> Element {
        let side = self.cell - 2.0 * inset;
        Element::new("rect").place(&[
            ("x", self.x(column) + inset),
            ("y", self.y(row) + inset),
            ("width", side),
            ("height", side),
        ])
    }
}

fn axis_titles(frame: &Frame) -> Element {
    let middle = 0.5 * frame.side;
    let above = (frame.left + middle, frame.top - frame.label_band - 0.6 * AXIS_TITLE);
    let (x, y) = (MARGIN + 0.5 * AXIS_TITLE, frame.top + middle);
    let turn = format!("rotate(-90 {x:.2} {y:.2})");
    Element::new("g")
        .with(faint_label(above, Anchor::Middle).text("target"))
        .with(faint_label((x, y), Anchor::Middle).set("transform", &turn).text("source"))
}

fn row_labels(edges: &LearnedEdges, frame: &Frame) -> Element {
    let mut group = Element::new("g").set("class", "sources");
    for (row, name) in edges.names.iter().enumerate() {
        let (x, y) = (frame.left - GAP, frame.y(row) + 0.5 * frame.cell);
        let text = label(x, y, frame.font, Anchor::End).tooltip(name).text(&frame.labels[row]);
        group.push(text);
    }
    group
}

fn column_labels(edges: &LearnedEdges, frame: &Frame) -> Element {
    let mut group = Element::new("g").set("class", "targets");
    for (column, name) in edges.names.iter().enumerate() {
        let x = frame.x(column) + 0.5 * frame.cell;
        let y = frame.top - GAP - 0.35 * frame.font;
        let anchor = if frame.turn == 0.0 { Anchor::Middle } else { Anchor::Start };
        let turn = format!("rotate({:.2} {x:.2} {y:.2})", -frame.turn);
        let text = label(x, y, frame.font, anchor).set("transform", &turn);
        group.push(text.tooltip(name).text(&frame.labels[column]));
    }
    group
}

/// The colour of absence and a grid of cell borders.
fn background(frame: &Frame, n: usize) -> Element {
    let (left, top, side) = (frame.left, frame.top, frame.side);
    let plane = Element::new("rect").place(&[("x", left), ("y", top)]);
    let plane = plane.place(&[("width", side), ("height", side)]).set("fill", &colour::ramp(0.0));
    let mut grid = PathData::default();
    for idx in 0..=n {
        grid = grid.then('M', &[frame.x(idx), top]).then('v', &[side]);
        grid = grid.then('M', &[left, frame.y(idx)]).then('h', &[side]);
    }
    let grid = grid.into_element().set("stroke", "#ffffff").at("stroke-width", grid_width(frame));
    Element::new("g").with(plane).with(grid)
}

/// Thin between small cells, so that the grid never covers the colours.
fn grid_width(frame: &Frame) -> f64 {
    (0.06 * frame.cell).clamp(0.5, 2.0)
}

fn cells(edges: &LearnedEdges, frame: &Frame) -> Element {
    let n = edges.n_variables();
    let mut group = Element::new("g").set("class", "cells");
    for (row, column) in (0..n * n).map(|idx| (idx / n, idx % n)) {
        let fraction = edges.fraction(row, column);
        if fraction < INVISIBLE {
            continue;
        }
        let value = edges.score_text(edges.score(row, column));
        let square = frame.square(row, column, 0.5 * grid_width(frame));
        let tooltip = format!("{}: {value}", edges.edge_name(row, column));
        group.push(square.set("fill", &colour::ramp(fraction)).tooltip(&tooltip));
        let font = 0.28 * frame.cell;
        if font >= 9.0 && text_width(&value, font) < 0.9 * frame.cell {
            let middle = 0.5 * frame.cell;
            let place = (frame.x(column) + middle, frame.y(row) + middle);
            let ink = colour::text_on_ramp(fraction);
            // Numbers let the pointer through to the tooltip of their cell.
            let number =
                coloured_label(place, font, Anchor::Middle, ink).set("pointer-events", "none");
            group.push(number.text(&value));
        }
    }
    group
}

/// A small triangle in the corner of every diagonal cell.
fn self_edge_marks(frame: &Frame, n: usize) -> Element {
    let mut marks = PathData::default();
    for idx in 0..n {
        marks = corner_mark(marks, frame.x(idx), frame.y(idx), frame.cell);
    }
    self_edge_style(marks.into_element()).set("class", "self-edges")
}

fn corner_mark(marks: PathData, x: f64, y: f64, cell: f64) -> PathData {
    // Inside the outline of a true edge.
    let inset = (0.11 * cell).clamp(1.5, 4.5);
    let leg = (0.24 * cell).clamp(2.5, 8.0);
    let corner = [x + cell - inset - leg, y + inset];
    marks.then('M', &corner).then('h', &[leg]).then('v', &[leg]).then('z', &[])
}

fn self_edge_style(mark: Element) -> Element {
    mark.set("fill", "#8c959f").set("pointer-events", "none")
}

fn true_edge_outlines(edges: &LearnedEdges, frame: &Frame) -> Element {
    let n = edges.n_variables();
    let width = (0.07 * frame.cell).clamp(1.1, 2.5);
    let mut group = true_edge_style(Element::new("g"), width).set("class", "true-edges");
    for (row, column) in (0..n * n).map(|idx| (idx / n, idx % n)) {
        if edges.is_true(row, column) == Some(true) {
            group.push(frame.square(row, column, 0.5 * (width + grid_width(frame))));
        }
    }
    group
}

fn true_edge_style(outline: Element, width: f64) -> Element {
    outline
        .set("fill", "none")
        .set("stroke", colour::NEGATIVE)
        .at("stroke-width", width)
        .set("pointer-events", "none")
}

/// What outlines and marks mean.
fn key(edges: &LearnedEdges) -> Legend {
    let mut legend = Legend::default();
    let square = || {
        let rect = Element::new("rect").place(&[("x", 1.0), ("y", -8.0)]);
        rect.place(&[("width", 16.0), ("height", 16.0)])
    };
    if edges.truth.is_some() {
        legend.entry(true_edge_style(square(), 2.0), "true edge");
    }
    let mark = corner_mark(PathData::default(), 1.0, -8.0, 16.0).into_element();
    let cell = Element::new("g").with(square().set("fill", &colour::ramp(0.0)));
    legend.entry(cell.with(self_edge_style(mark)), "self edge");
    legend
}

/// The ramp from 0 at the bottom to the full scale at the top.
fn colour_scale(edges: &LearnedEdges, x: f64, y: f64, height: f64) -> Element {
    let mut group = Element::new("g").set("class", "scale");
    let heading = label(x, y + 6.0, 12.0, Anchor::Start).set("font-weight", "600");
    group.push(heading.text(edges.score_name));
    let (top, n_steps) = (y + 20.0, 50);
    let step = height / f64::from(n_steps);
    for idx in 0..n_steps {
        let fraction = 1.0 - (f64::from(idx) + 0.5) / f64::from(n_steps);
        // Each step reaches under the next, so that no gaps show when the picture is scaled.
        let overlap = if idx + 1 < n_steps { 1.0 } else { 0.0 };
        let band = [("x", x), ("y", top + f64::from(idx) * step), ("width", SCALE.0)];
        let band = Element::new("rect").place(&band).at("height", step + overlap);
        group.push(band.set("fill", &colour::ramp(fraction)));
    }
    for fraction in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let tick_y = top + (1.0 - fraction) * height;
        let tick = PathData::default().then('M', &[x + SCALE.0, tick_y]).then('h', &[4.0]);
        group.push(tick.into_element().set("stroke", colour::GUIDE));
        let text = label(x + SCALE.0 + 8.0, tick_y, 11.0, Anchor::Start);
        group.push(text.text(&edges.score_text(fraction * edges.full_scale)));
    }
    group
}

/// The strongest edges in words.
fn description(edges: &LearnedEdges) -> String {
    let n = edges.n_variables();
    let mut ranked: Vec<usize> = (0..n * n).collect();
    ranked.sort_by(|&a, &b| edges.scores[b].total_cmp(&edges.scores[a]));
    let strongest: Vec<String> = (ranked.into_iter().take(5))
        .map(|idx| {
            let value = edges.score_text(edges.scores[idx]);
            format!("{} ({value})", edges.edge_name(idx / n, idx % n))
        })
        .collect();
    format!(
        "Heat map of {} between {n} variables, sources in rows and targets in columns. \
         Strongest: {}.",
        edges.score_name,
        strongest.join(", ")
    )
}
