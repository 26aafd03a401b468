//! The learned graph as nodes and arrows: width is the score, colour the sign of the effect.

mod circle;
mod curve;
mod nodes;

use super::colour;
use super::element::{Element, PathData};
use super::legend::{Legend, SAMPLE};
use super::page::{MARGIN, Words, sheet};
use crate::{EffectSign, LearnedEdges, ReportError};
use circle::Circle;
use curve::{Arrow, Point};
use nodes::Labels;

/// What a picture of a graph shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphOptions<'a> {
    /// The line above the picture; may be empty.
    pub title: &'a str,
    /// Which edges are drawn.
    pub selection: EdgeSelection,
}

/// Which edges of all possible ones are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EdgeSelection {
    /// Edges of positive score, this or higher.
    AtLeast(f64),
    /// So many edges of highest positive score; ties in the order of the matrix.
    Strongest(usize),
}

/// Draws the selected edges as arrows between nodes on a circle.
///
/// Where the truth is known, correct edges are solid, false ones dashed, and true edges that were
/// not selected are thin, grey and dotted.
pub fn graph_svg(edges: &LearnedEdges, options: &GraphOptions) -> Result<String, ReportError> {
    edges.check()?;
    let drawn = drawn_edges(edges, options.selection)?;
    let words = words(edges, options, &drawn);
    let mut circle = Circle::new(edges.n_variables(), nodes::fit_inside(edges.names));
    let has_loops = drawn.iter().any(|edge| edge.source == edge.target);
    let labels = Labels::new(&circle, edges.names, has_loops);
    let legend = legend(edges, &circle, &drawn);
    let reach = labels.extent(&circle, has_loops);
    let top = words.height() + MARGIN;
    let tallest = legend.height().max(reach.top + reach.bottom);
    // A graph lower than its legend stands at half the height of it.
    let above = 0.5 * (tallest - reach.top - reach.bottom);
    circle.centre = Point { x: MARGIN + reach.left, y: top + above + reach.top };
    let legend_x = circle.centre.x + reach.right + 30.0;

    let size = (legend_x + legend.width() + MARGIN, top + tallest + MARGIN);
    let mut svg = sheet(size.0, size.1, &words);
    let opacity = opacity(drawn.len());
    let mut lines = Element::new("g").set("class", "edges");
    for edge in &drawn {
        lines.push(edge_element(edges, &circle, edge, opacity));
    }
    svg.push(lines);
    svg.push(labels.draw(&circle, edges.names));
    svg.push(legend.draw(legend_x, top));
    Ok(svg.into_svg())
}

/// One arrow of the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
struct DrawnEdge {
    source: usize,
    target: usize,
    standing: Standing,
}

/// How an edge compares with the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Selected; the truth is not known.
    Learned,
    /// Selected and true.
    Correct,
    /// Selected, but not true.
    False,
    /// True, but not selected.
    Missed,
}

/// Missed edges first, then the selected ones from weak to strong, so that strong ones lie on top.
fn drawn_edges(
    edges: &LearnedEdges,
    selection: EdgeSelection,
) -> Result<Vec<DrawnEdge>, ReportError> {
    let n = edges.n_variables();
    let mut ranked: Vec<usize> = (0..n * n).filter(|&idx| edges.scores[idx] > 0.0).collect();
    ranked.sort_by(|&a, &b| edges.scores[b].total_cmp(&edges.scores[a]));
    match selection {
        EdgeSelection::AtLeast(threshold) if !threshold.is_finite() => {
            return Err(ReportError::ThresholdNotFinite { threshold });
        }
        EdgeSelection::AtLeast(threshold) => ranked.retain(|&idx| edges.scores[idx] >= threshold),
        EdgeSelection::Strongest(k) => ranked.truncate(k),
    }
    let mut selected = vec![false; n * n];
    for &idx in &ranked {
        selected[idx] = true;
    }
    let drawn = |idx: usize, standing| DrawnEdge { source: idx / n, target: idx % n, standing };
    let mut out: Vec<DrawnEdge> = (0..n * n)
        .filter(|&idx| !selected[idx] && edges.truth.is_some_and(|truth| truth[idx]))
        .map(|idx| drawn(idx, Standing::Missed))
        .collect();
    out.extend(ranked.into_iter().rev().map(|idx| {
        let standing = match edges.truth {
            None => Standing::Learned,
            Some(truth) if truth[idx] => Standing::Correct,
            Some(_) => Standing::False,
        };
        drawn(idx, standing)
    }));
    Ok(out)
}

/// Solid for few edges, lighter for many, so that crossings stay readable.
fn opacity(n_edges: usize) -> f64 {
    (9.0 / (n_edges as f64).max(1.0).sqrt()).clamp(0.4, 0.9)
}

fn edge_element(edges: &LearnedEdges, circle: &Circle, edge: &DrawnEdge, opacity: f64) -> Element {
    let &DrawnEdge { source, target, standing } = edge;
    let name = edges.edge_name(source, target);
    let score = edges.score_text(edges.score(source, target));
    let sign = edges.sign(source, target);
    let group = Element::new("g");
    if standing == Standing::Missed {
        let width = circle.widths.0.max(1.0);
        let arrow = Arrow::new(circle, source, target, width);
        let style = Style { colour: MISSED, opacity: 1.0, dashes: Some(dotted(width)) };
        let tooltip = format!("{name}: true but not selected, {score}");
        return style.dress(
            group.set("class", "missed").tooltip(&tooltip),
            arrow.line(),
            arrow.head(),
        );
    }
    let width = circle.line_width(edges.fraction(source, target));
    let arrow = Arrow::new(circle, source, target, width);
    let sign_words = edges.signs.map_or(String::new(), |_| format!(", {} effect", sign_name(sign)));
    let verdict = match standing {
        Standing::Correct => ", correct",
        Standing::False => ", not in the truth",
        Standing::Learned | Standing::Missed => "",
    };
    let tooltip = format!("{name}: {score}{sign_words}{verdict}");
    let dashes = (standing == Standing::False).then(|| dashed(width));
    let style = Style { colour: sign_colour(sign), opacity, dashes };
    style.dress(group.set("class", "edge").tooltip(&tooltip), arrow.line(), arrow.head())
}

/// Colour of true edges that were not selected.
const MISSED: &str = "#8c959f";

/// How a line and its head are drawn.
#[derive(Debug, Clone)]
struct Style {
    colour: &'static str,
    opacity: f64,
    dashes: Option<String>,
}

impl Style {
    fn dress(&self, group: Element, line: Element, head: Element) -> Element {
        let mut line = line.set("stroke", self.colour);
        if let Some(dashes) = &self.dashes {
            line = line.set("stroke-dasharray", dashes);
        }
        let group = if self.opacity < 1.0 { group.at("opacity", self.opacity) } else { group };
        group.with(line).with(head.set("fill", self.colour))
    }

    /// A straight piece of the line for the legend.
    fn sample(&self, width: f64) -> Element {
        let line = PathData::default().then('M', &[0.0, 0.0]).then('h', &[SAMPLE]);
        let line = line.into_element().at("stroke-width", width).set("stroke", self.colour);
        match &self.dashes {
            None => line,
            Some(dashes) => line.set("stroke-dasharray", dashes),
        }
    }
}

/// Long enough to be told from dots at any width.
fn dashed(width: f64) -> String {
    format!("{:.2} {:.2}", 3.0 + 1.6 * width, 2.0 + 1.1 * width)
}

fn dotted(width: f64) -> String {
    format!("{:.2} {:.2}", 1.2 * width, 1.2 + 1.4 * width)
}

fn sign_colour(sign: EffectSign) -> &'static str {
    match sign {
        EffectSign::Positive => colour::POSITIVE,
        EffectSign::Negative => colour::NEGATIVE,
        EffectSign::Unknown => colour::UNKNOWN,
    }
}

fn sign_name(sign: EffectSign) -> &'static str {
    match sign {
        EffectSign::Positive => "positive",
        EffectSign::Negative => "negative",
        EffectSign::Unknown => "unknown",
    }
}

fn legend(edges: &LearnedEdges, circle: &Circle, drawn: &[DrawnEdge]) -> Legend {
    let mut legend = Legend::default();
    let plain = |colour| Style { colour, opacity: 1.0, dashes: None };
    legend.heading(edges.score_name);
    for fraction in [1.0, 0.5] {
        let sample = plain(colour::UNKNOWN).sample(circle.line_width(fraction));
        legend.entry(sample, &edges.score_text(fraction * edges.full_scale));
    }
    if edges.signs.is_some() {
        legend.heading("effect of source on target");
        let occurs = |sign| drawn.iter().any(|edge| edges.sign(edge.source, edge.target) == sign);
        for sign in [EffectSign::Positive, EffectSign::Negative, EffectSign::Unknown] {
            if sign != EffectSign::Unknown || occurs(sign) {
                legend.entry(plain(sign_colour(sign)).sample(2.5), sign_name(sign));
            }
        }
    }
    if edges.truth.is_some() {
        legend.heading("compared with the truth");
        let count = |standing| drawn.iter().filter(|edge| edge.standing == standing).count();
        let kinds = [
            (Standing::Correct, "correct", colour::UNKNOWN, None, 2.5),
            (Standing::False, "false", colour::UNKNOWN, Some(dashed(2.5)), 2.5),
            (Standing::Missed, "missed", MISSED, Some(dotted(1.5)), 1.5),
        ];
        for (standing, name, colour, dashes, width) in kinds {
            let sample = Style { colour, opacity: 1.0, dashes }.sample(width);
            legend.entry(sample, &format!("{name} ({})", count(standing)));
        }
    }
    legend
}

fn words<'a>(edges: &LearnedEdges, options: &GraphOptions<'a>, drawn: &[DrawnEdge]) -> Words<'a> {
    let n = edges.n_variables();
    let selected: Vec<_> = drawn.iter().filter(|edge| edge.standing != Standing::Missed).collect();
    let which = match options.selection {
        EdgeSelection::AtLeast(threshold) => {
            format!("{} at least {threshold}", edges.score_name)
        }
        EdgeSelection::Strongest(_) => format!("highest {}", edges.score_name),
    };
    let subtitle = format!("{} of {} possible edges: {which}", selected.len(), n * n);
    let strongest: Vec<String> = (selected.iter().rev().take(5))
        .map(|edge| edges.edge_name(edge.source, edge.target))
        .collect();
    let strongest = match strongest.join(", ") {
        names if names.is_empty() => names,
        names => format!(" Strongest: {names}."),
    };
    let description = format!("Directed graph of {n} variables with {subtitle}.{strongest}");
    Words { title: options.title, subtitle, description }
}
