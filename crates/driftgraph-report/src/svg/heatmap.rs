//! All pairs as a heat map, drawn once for SVG files, the report and the page.

use super::element::{Element, PathData};
use super::graph::{SIGN_MEANINGS, sign_class};
use super::legend::{Legend, SAMPLE};
use super::page::{Caption, MARGIN, sheet, style};
use super::text::{shortened, text_width};
use crate::{EffectSign, LearnedEdges, ReportError};

/// Steps between absent and certain that are told apart.
const LEVELS: usize = 12;
/// Up to here every cell shows its score.
const WITH_NUMBERS: usize = 12;
/// Scores below this share of the full scale are not written into their cells.
const WORTH_A_NUMBER: f64 = 0.05;
/// Longest name beside the matrix, in letters' heights.
const LABEL: f64 = 9.0;

/// One pair of variables.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) source: usize,
    pub(crate) target: usize,
    /// The score between 0 and 1.
    pub(crate) share: f64,
    /// The score as it is written into the cell.
    pub(crate) value: String,
    /// The sign, where the method gives any.
    pub(crate) sign: Option<EffectSign>,
}

/// The parts of a heat map from back to front, and its side from the corner on.
pub(crate) struct Drawing {
    pub(crate) content: Vec<Element>,
    pub(crate) side: f64,
}

/// Where everything stands.
struct Frame<'a> {
    names: &'a [String],
    /// Variables from first to last, and the place of each.
    order: &'a [usize],
    place: Vec<usize>,
    cell: f64,
    font: f64,
    margin: f64,
    labels: Vec<String>,
}

impl Cell {
    /// Its value as it stands inside.
    fn number(&self) -> &str {
        self.value.strip_prefix('0').unwrap_or(&self.value)
    }

    /// Whether it has room there.
    fn has_short_number(&self) -> bool {
        self.number().chars().count() <= 5
    }
}

/// Draws rows of sources and columns of targets in the given order: colour is the sign, its strength the score.
pub(crate) fn draw(
    names: &[String],
    order: &[usize],
    cells: &[Cell],
    truth: Option<&[[usize; 2]]>,
) -> Drawing {
    let frame = Frame::new(names, order);
    let (margin, extent) = (frame.margin, frame.cell * order.len() as f64);
    let square = [("x", margin), ("y", margin), ("width", extent), ("height", extent)];
    let mut content = vec![Element::new("rect").place(&square).set("class", "ground")];
    content.extend(frame.colours(cells));
    let worth: Vec<&Cell> = cells.iter().filter(|cell| cell.share >= WORTH_A_NUMBER).collect();
    if order.len() <= WITH_NUMBERS && worth.iter().all(|cell| cell.has_short_number()) {
        content.push(frame.numbers(&worth));
    }
    content.extend(truth.map(|truth| frame.outlines(truth)));
    if frame.font > 0.0 {
        content.push(frame.names());
    }
    Drawing { content, side: margin + extent + 2.0 }
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

impl<'a> Frame<'a> {
    fn new(names: &'a [String], order: &'a [usize]) -> Self {
        let (cell, font) = sizes(order.len());
        let label = |&idx: &usize| shortened(&names[idx], font, LABEL * font);
        let labels: Vec<String> = order.iter().map(label).collect();
        let widest = labels.iter().map(|label| text_width(label, font)).fold(0.0, f64::max);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(idx, &variable)| place[variable] = idx);
        Self { names, order, place, cell, font, margin: widest + 10.0, labels }
    }

    fn corner(&self, source: usize, target: usize) -> [f64; 2] {
        [target, source].map(|variable| self.margin + self.cell * self.place[variable] as f64)
    }

    /// Side of the coloured part of a cell.
    fn side(&self) -> f64 {
        self.cell - if self.cell > 12.0 { 1.5 } else { 0.5 }
    }

    /// One path for all cells of a sign and a level: a hundred variables fit into some kilobytes.
    fn colours(&self, cells: &[Cell]) -> Vec<Element> {
        let mut paths = Vec::new();
        let signs = SIGN_MEANINGS.map(|(sign, _)| Some(sign));
        for sign in signs.into_iter().chain([None]) {
            for level in 1..=LEVELS {
                let alike = |cell: &&Cell| {
                    cell.sign == sign && (LEVELS as f64 * cell.share).round() as usize == level
                };
                let mut alike = cells.iter().filter(alike).peekable();
                if alike.peek().is_some() {
                    let path = alike.fold(PathData::default(), |path, cell| {
                        square(path, self.corner(cell.source, cell.target), self.side())
                    });
                    paths.push(coloured(path, sign, level as f64 / LEVELS as f64));
                }
            }
        }
        paths
    }

    fn numbers(&self, cells: &[&Cell]) -> Element {
        let texts = cells.iter().map(|cell| {
            let [x, y] = self.corner(cell.source, cell.target);
            let place = [("x", x + 0.5 * self.cell), ("y", y + 0.5 * self.cell + 4.0)];
            let text = Element::new("text").place(&place).set("text-anchor", "middle");
            let text = if cell.share >= 0.6 { text.set("class", "on-dark") } else { text };
            text.text(cell.number())
        });
        Element::new("g").set("class", "numbers").with_all(texts)
    }

    fn outlines(&self, truth: &[[usize; 2]]) -> Element {
        let inset = if self.cell > 12.0 { 2.0 } else { 1.0 };
        let path = truth.iter().fold(PathData::default(), |path, &[source, target]| {
            let corner = self.corner(source, target).map(|place| place + inset);
            square(path, corner, self.side() - 2.0 * inset)
        });
        path.into_element().set("class", "truth")
    }

    fn names(&self) -> Element {
        let mut group = Element::new("g").set("class", "names").at("font-size", self.font);
        for (idx, (label, &variable)) in self.labels.iter().zip(self.order).enumerate() {
            let middle = self.margin + self.cell * (idx as f64 + 0.5) + 0.35 * self.font;
            let end = self.margin - 6.0;
            let row = Element::new("text").place(&[("x", end), ("y", middle)]);
            let name = &self.names[variable];
            group.push(row.set("text-anchor", "end").tooltip(name).text(label));
            let turn = format!("translate({middle:.2} {end:.2}) rotate(-90)");
            group.push(Element::new("text").set("transform", &turn).tooltip(name).text(label));
        }
        group
    }
}

fn square(path: PathData, corner: [f64; 2], side: f64) -> PathData {
    path.then('M', &corner).then('h', &[side]).then('v', &[side]).then('h', &[-side]).then('z', &[])
}

fn coloured(path: PathData, sign: Option<EffectSign>, opacity: f64) -> Element {
    let class = format!("cells {}", sign_class(sign));
    path.into_element().set("class", &class).at("fill-opacity", opacity)
}

/// Draws the scores `[source, target]` as a heat map, pale = absent and strong = certain, ready for a file.
///
/// True edges, where known, are outlined. Cells and letters adapt to the number of variables; shortened
/// names are whole in tooltips.
pub fn heatmap_svg(edges: &LearnedEdges, title: &str) -> Result<String, ReportError> {
    edges.check()?;
    let n = edges.n_variables();
    let subtitle = format!("{} from source (row) to target (column)", edges.score_name);
    let caption = Caption { title, subtitle, description: description(edges) };
    let pairs = || (0..n * n).map(|idx| [idx / n, idx % n]);
    let cells = pairs().map(|[source, target]| Cell {
        source,
        target,
        share: edges.fraction(source, target),
        value: edges.score_text(edges.score(source, target)),
        sign: edges.sign(source, target),
    });
    let cells: Vec<Cell> = cells.collect();
    let truth: Option<Vec<[usize; 2]>> =
        edges.truth.map(|truth| pairs().zip(truth).filter(|one| *one.1).map(|one| one.0).collect());
    let drawing = draw(edges.names, &(0..n).collect::<Vec<_>>(), &cells, truth.as_deref());
    let legend = legend(edges);
    let (top, legend_x) = (caption.height(), MARGIN + drawing.side + 24.0);
    let height = top + drawing.side.max(legend.height() + MARGIN) + MARGIN;
    let mut svg = sheet(legend_x + legend.width() + MARGIN, height, &caption);
    svg.push(style());
    let shift = format!("translate({MARGIN} {top:.2})");
    svg.push(Element::new("g").set("transform", &shift).with_all(drawing.content));
    svg.push(legend.draw(legend_x, top + MARGIN));
    Ok(svg.into_svg())
}

/// What colours and outlines mean.
fn legend(edges: &LearnedEdges) -> Legend {
    let mut legend = Legend::default();
    let sample = || square(PathData::default(), [0.5 * SAMPLE - 8.0, -8.0], 16.0);
    legend.heading(edges.score_name);
    for share in [1.0, 0.75, 0.5, 0.25] {
        let sign = edges.signs.map(|_| EffectSign::Unknown);
        legend.entry(coloured(sample(), sign, share), &edges.score_text(share * edges.full_scale));
    }
    if edges.signs.is_some() {
        legend.heading("effect of source on target");
        for (sign, text) in SIGN_MEANINGS {
            legend.entry(coloured(sample(), Some(sign), 1.0), text);
        }
    }
    if edges.truth.is_some() {
        legend.heading("compared with known edges");
        legend.entry(sample().into_element().set("class", "truth"), "known");
    }
    legend
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
