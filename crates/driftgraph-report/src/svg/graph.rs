//! The learned graph as nodes and arrows, drawn once for SVG files, the report and the page.

pub(crate) mod arrow;
pub(crate) mod layout;

use super::element::{Element, PathData};
use super::legend::{Legend, SAMPLE};
use super::page::{Caption, MARGIN, sheet, style};
use crate::{EffectSign, LearnedEdges, ReportError};
use arrow::{Arrow, Node, line_width};
use layout::{HALF_HEIGHT, LOOP_ROOM, half_width, node_positions, node_texts};

/// Width of the line of a known edge that was not selected, and of the samples in a legend.
const MISSED_WIDTH: f64 = 1.4;
pub(crate) const SAMPLE_WIDTH: f64 = 2.0;

/// How round the corners of inputs are.
const INPUT_ROUNDING: f64 = 1.5;

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

/// How an edge compares with the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Selected; the truth is not known.
    Learned,
    /// Selected and true.
    Correct,
    /// Selected, but not true.
    False,
    /// True, but not selected.
    Missed,
    /// Selected, of a variable on itself, which the known edges are not about.
    Unasked,
}

impl Standing {
    /// Of a selected edge; a list of known edges without a single self edge says nothing of these.
    pub(crate) fn of_selected(is_true: Option<bool>, is_unasked: bool) -> Self {
        match is_true {
            None => Self::Learned,
            Some(true) => Self::Correct,
            Some(false) if is_unasked => Self::Unasked,
            Some(false) => Self::False,
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Learned => "",
            Self::Correct => ", known",
            Self::False => ", not known",
            Self::Missed => ", known but not selected",
            Self::Unasked => ", of which the known edges say nothing",
        }
    }
}

/// One arrow of a picture.
#[derive(Debug, Clone)]
pub(crate) struct DrawnEdge {
    pub(crate) source: usize,
    pub(crate) target: usize,
    /// The score between 0 and 1.
    pub(crate) share: f64,
    /// The score as it is told.
    pub(crate) value: String,
    /// The sign, where the method gives any.
    pub(crate) sign: Option<EffectSign>,
    /// Whether it is a line without a head.
    pub(crate) is_undirected: bool,
    pub(crate) standing: Standing,
    /// Its position in the list that scripts have.
    pub(crate) listed: Option<usize>,
}

/// Edges and nodes, and the width and height they take from the corner on.
pub(crate) struct Drawing {
    pub(crate) content: [Element; 2],
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Draws nodes at their places and arrows between them, the last on top.
///
/// Width is the score, colour and head the sign. False edges are dashed and missed ones dotted.
///
/// Inputs are boxes with corners.
pub(crate) fn draw(
    names: &[String],
    positions: &[[f64; 2]],
    edges: &[DrawnEdge],
    inputs: &[usize],
) -> Drawing {
    let texts = node_texts(names);
    let nodes: Vec<Node> = (texts.iter().zip(positions))
        .map(|(text, &[x, y])| Node { x, y, half_width: half_width(text) })
        .collect();
    let most = |of: &dyn Fn(&Node) -> f64| nodes.iter().map(of).fold(0.0, f64::max);
    let width = most(&|node| node.x + node.half_width) + 12.0;
    let height = most(&|node| node.y) + HALF_HEIGHT + LOOP_ROOM;
    let lines = edges.iter().map(|edge| {
        let (from, to) = (nodes[edge.source], nodes[edge.target]);
        let line = edge.width();
        let arrow = if edge.source == edge.target {
            arrow::self_loop(from, 2.0 * from.y <= height, line, edge.sign)
        } else if edge.is_undirected {
            arrow::link(from, to)
        } else {
            arrow::between(from, to, line, edge.sign)
        };
        edge.element(names, arrow)
    });
    let discs = nodes.iter().enumerate().map(|(idx, node)| {
        let label = NodeLabel { name: &names[idx], text: &texts[idx] };
        node_element(idx, label, *node, inputs.contains(&idx))
    });
    let group = |class| Element::new("g").set("class", class);
    let content = [group("edges").with_all(lines), group("nodes").with_all(discs)];
    Drawing { content, width, height }
}

impl DrawnEdge {
    fn width(&self) -> f64 {
        if self.standing == Standing::Missed { MISSED_WIDTH } else { line_width(self.share) }
    }

    fn element(&self, names: &[String], arrow: Arrow) -> Element {
        let sign = match (self.standing, self.sign) {
            (Standing::Missed, _) | (_, None) => String::new(),
            (_, Some(sign)) => format!(", {} effect", sign_name(sign)),
        };
        let (source, target) = (&names[self.source], &names[self.target]);
        let between = if self.is_undirected { "—" } else { "→" };
        let tooltip = format!(
            "{source} {between} {target}: {}{sign}{}",
            self.value,
            self.standing.in_words()
        );
        let mut group = Element::new("g").set("class", &edge_class(self.sign, self.standing));
        if let Some(listed) = self.listed {
            group = group.set("data-edge", &listed.to_string());
        }
        arrow_in(group.tooltip(&tooltip), arrow, self.width())
    }
}

fn arrow_in(group: Element, arrow: Arrow, width: f64) -> Element {
    let line = arrow.line.into_element().set("class", "line").at("stroke-width", width);
    group.with(line).with(arrow.head.into_element().set("class", "head"))
}

fn edge_class(sign: Option<EffectSign>, standing: Standing) -> String {
    let standing = match standing {
        Standing::Learned | Standing::Correct => "",
        Standing::False => " false",
        Standing::Missed => " missed",
        Standing::Unasked => " unasked",
    };
    format!("edge {}{standing}", sign_class(sign))
}

/// The class that has the colour of a sign.
pub(crate) fn sign_class(sign: Option<EffectSign>) -> &'static str {
    match sign {
        Some(EffectSign::Positive) => "more",
        Some(EffectSign::Negative) => "less",
        Some(EffectSign::Unknown) => "mixed",
        None => "plain",
    }
}

fn sign_name(sign: EffectSign) -> &'static str {
    match sign {
        EffectSign::Positive => "positive",
        EffectSign::Negative => "negative",
        EffectSign::Unknown => "unknown",
    }
}

/// A variable's name, and what is written of it.
#[derive(Clone, Copy)]
struct NodeLabel<'a> {
    name: &'a str,
    text: &'a str,
}

fn node_element(idx: usize, label: NodeLabel<'_>, node: Node, is_input: bool) -> Element {
    let NodeLabel { name, text: shown } = label;
    let disc = Element::new("rect").place(&[
        ("x", -node.half_width),
        ("y", -HALF_HEIGHT),
        ("width", 2.0 * node.half_width),
        ("height", 2.0 * HALF_HEIGHT),
        ("rx", if is_input { INPUT_ROUNDING } else { HALF_HEIGHT }),
    ]);
    let tooltip = if is_input { format!("{name}, set from outside") } else { name.to_owned() };
    let text = Element::new("text").set("y", "4.5").set("text-anchor", "middle");
    Element::new("g")
        .set("class", if is_input { "node input" } else { "node" })
        .set("data-node", &idx.to_string())
        .set("transform", &format!("translate({} {})", node.x, node.y))
        .tooltip(&tooltip)
        .with(disc)
        .with(text.text(shown))
}

/// What the heads and colours mean.
pub(crate) const SIGN_MEANINGS: [(EffectSign, &str); 3] = [
    (EffectSign::Positive, "more of it, faster growth"),
    (EffectSign::Negative, "more of it, slower growth"),
    (EffectSign::Unknown, "depends on the state"),
];

/// What an arrow without a sign means.
const NO_SIGN: &str = "sign not told by the method";

/// Samples for a legend, from x = 0 to [`SAMPLE`] around y = 0: of all signs, or of arrows without any.
pub(crate) fn sign_samples(has_signs: bool) -> Vec<(Element, &'static str)> {
    let sample = |sign, text| {
        let group = Element::new("g").set("class", &edge_class(sign, Standing::Learned));
        (arrow_in(group, arrow::level(SAMPLE, SAMPLE_WIDTH, sign), SAMPLE_WIDTH), text)
    };
    if !has_signs {
        return vec![sample(None, NO_SIGN)];
    }
    SIGN_MEANINGS.map(|(sign, text)| sample(Some(sign), text)).into()
}

/// The shape of an input for a legend, from x = 0 to [`SAMPLE`] around y = 0.
pub(crate) fn input_sample() -> Element {
    let (width, height) = (0.8 * SAMPLE, 11.0);
    let shape = Element::new("rect").place(&[
        ("x", 0.5 * (SAMPLE - width)),
        ("y", -0.5 * height),
        ("width", width),
        ("height", height),
        ("rx", INPUT_ROUNDING),
    ]);
    Element::new("g").set("class", "node input").with(shape)
}

/// What the shape of an input means.
pub(crate) const INPUT_MEANING: &str = "input: set from outside";

/// What lines say about the truth, and the sample of each.
pub(crate) const STANDINGS: [(Standing, &str); 3] = [
    (Standing::Correct, "known"),
    (Standing::False, "not known"),
    (Standing::Missed, "known, not selected"),
];

/// What a pale line says of an edge from a variable to itself.
pub(crate) const UNASKED: (Standing, &str) = (Standing::Unasked, "on itself, not asked");

/// A sample of a line alone.
pub(crate) fn line_sample(standing: Standing, width: f64) -> Element {
    let class = edge_class(Some(EffectSign::Unknown), standing);
    let line = PathData::default().then('M', &[0.0, 0.0]).then('H', &[SAMPLE]);
    let line = line.into_element().set("class", "line").at("stroke-width", width);
    Element::new("g").set("class", &class).with(line)
}

/// Draws the selected edges as arrows between nodes, ready to be written to a file.
///
/// Where the truth is known, correct edges are solid, false ones dashed, and true edges that were
/// not selected are thin, grey and dotted.
pub fn graph_svg(edges: &LearnedEdges, options: &GraphOptions) -> Result<String, ReportError> {
    edges.check()?;
    let drawn = drawn_edges(edges, options.selection)?;
    let caption = caption(edges, options, &drawn);
    let drawing =
        draw(edges.names, &node_positions(edges.names, &ends(&drawn)), &drawn, edges.inputs);
    let legend = legend(edges, &drawn);
    let (top, legend_x) = (caption.height(), MARGIN + drawing.width + 14.0);
    let height = drawing.height.max(legend.height() + LOOP_ROOM);
    // A graph lower than its legend stands at half the height of it.
    let shift = format!("translate({MARGIN} {:.2})", top + 0.5 * (height - drawing.height));
    let mut svg = sheet(legend_x + legend.width() + MARGIN, top + height, &caption);
    svg.push(style());
    svg.push(Element::new("g").set("transform", &shift).with_all(drawing.content));
    svg.push(legend.draw(legend_x, top + LOOP_ROOM));
    Ok(svg.into_svg())
}

/// The edges that decide where nodes stand: the selected ones, or all where these join no two nodes.
fn ends(drawn: &[DrawnEdge]) -> Vec<(usize, usize)> {
    let joins = |edge: &&DrawnEdge| edge.standing != Standing::Missed && edge.source != edge.target;
    let all = drawn.iter().find(joins).is_none();
    let deciding = drawn.iter().filter(|edge| all || edge.standing != Standing::Missed);
    deciding.map(|edge| (edge.source, edge.target)).collect()
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
    let is_undirected = |idx: usize| edges.undirected.is_some_and(|all| all[idx]);
    let back = |idx: usize| (idx % n) * n + idx / n;
    let is_true = |idx: usize| {
        edges.truth.map(|truth| truth[idx] || (is_undirected(idx) && truth[back(idx)]))
    };
    // A link without a direction covers both.
    for &idx in ranked.iter().filter(|&&idx| is_undirected(idx)) {
        selected[back(idx)] = true;
    }
    let drawn = |idx: usize, standing| DrawnEdge {
        source: idx / n,
        target: idx % n,
        share: edges.scores[idx] / edges.full_scale,
        value: edges.score_text(edges.scores[idx]),
        sign: edges.signs.map(|signs| signs[idx]),
        is_undirected: is_undirected(idx),
        standing,
        listed: None,
    };
    let is_known = |idx: usize| edges.truth.is_some_and(|truth| truth[idx]);
    let missed = (0..n * n).filter(|&idx| !selected[idx] && is_known(idx));
    let missed = missed.map(|idx| drawn(idx, Standing::Missed));
    let is_unasked =
        |idx: usize| idx / n == idx % n && !(0..n).any(|node| is_known(node * n + node));
    let found = ranked.into_iter().rev();
    let found = found.map(|idx| drawn(idx, Standing::of_selected(is_true(idx), is_unasked(idx))));
    Ok(missed.chain(found).collect())
}

fn legend(edges: &LearnedEdges, drawn: &[DrawnEdge]) -> Legend {
    let mut legend = Legend::default();
    legend.heading(edges.score_name);
    for share in [1.0, 0.5] {
        let line = line_sample(Standing::Learned, line_width(share));
        legend.entry(line, &edges.score_text(share * edges.full_scale));
    }
    legend.heading("effect of source on target");
    for (sample, text) in sign_samples(edges.signs.is_some()) {
        legend.entry(sample, text);
    }
    if drawn.iter().any(|edge| edge.is_undirected) {
        let line = line_sample(Standing::Learned, SAMPLE_WIDTH);
        legend.entry(line, "no head: direction unknown");
    }
    if !edges.inputs.is_empty() {
        legend.heading("variables");
        legend.entry(input_sample(), INPUT_MEANING);
    }
    if edges.truth.is_some() {
        legend.heading("compared with known edges");
        let number = |standing| drawn.iter().filter(|edge| edge.standing == standing).count();
        let unasked = Some(UNASKED).filter(|(standing, _)| number(*standing) > 0);
        for (standing, text) in STANDINGS.into_iter().chain(unasked) {
            let number = number(standing);
            legend.entry(line_sample(standing, SAMPLE_WIDTH), &format!("{text} ({number})"));
        }
    }
    legend
}

fn caption<'a>(
    edges: &LearnedEdges,
    options: &GraphOptions<'a>,
    drawn: &[DrawnEdge],
) -> Caption<'a> {
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
    Caption { title: options.title, subtitle, description }
}
