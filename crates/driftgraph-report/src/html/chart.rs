//! Small line charts whose colours come from the page, so that they follow light, dark and print.

use crate::svg::axis::Axis;
use crate::svg::calendar::Calendar;
use crate::svg::element::{Element, PathData};
use crate::svg::text::{shortened, text_width};

/// The sheet of one chart; `assets/charts.js` draws on the same one.
const SIZE: (f64, f64) = (340.0, 190.0);
const RIGHT: f64 = 12.0;
const BOTTOM: f64 = 34.0;
const TOP: f64 = 28.0;

/// One chart.
#[derive(Debug, Clone, Default)]
pub(super) struct Chart {
    /// The line above it.
    pub(super) title: String,
    /// What the level axis counts.
    pub(super) x_label: String,
    /// What dates the level axis has, where it has dates.
    pub(super) calendar: Option<Calendar>,
    /// What is drawn, from back to front.
    pub(super) layers: Vec<Layer>,
    /// Both axes from 0 to 1.
    pub(super) unit_square: bool,
    /// A place on the level axis where something begins.
    pub(super) mark: Option<f64>,
}

/// What can be drawn; numbers that are not finite leave a gap.
#[derive(Debug, Clone)]
pub(super) enum Layer {
    /// A line, in one of the styles of the page.
    Line { class: &'static str, points: Vec<(f64, f64)> },
    /// The area between two lines.
    Band { class: &'static str, points: Vec<(f64, f64, f64)> },
    /// One dot each.
    Dots { points: Vec<(f64, f64)> },
}

impl Chart {
    pub(super) fn draw(&self) -> Element {
        let (horizontal, vertical) = self.axes();
        let ticks = vertical.ticks();
        let widest = ticks.iter().map(|(_, text)| text_width(text, 11.0)).fold(0.0, f64::max);
        let left = widest + 14.0;
        let frame = Frame { left, horizontal, vertical };
        let title = shortened(&self.title, 13.0, SIZE.0 - 20.0);
        let mut svg = Element::new("svg")
            .set("class", "chart")
            .set("viewBox", &format!("0 0 {} {}", SIZE.0, SIZE.1))
            .set("role", "img")
            .set("aria-label", &self.title);
        let heading =
            Element::new("text").set("class", "heading").place(&[("x", 4.0), ("y", 15.0)]);
        svg.push(heading.tooltip(&self.title).text(&title));
        svg.push(frame.draw(&ticks, &self.x_label));
        if let Some(mark) = self.mark {
            let x = frame.x(mark);
            let line = PathData::default().then('M', &[x, TOP]).then('V', &[SIZE.1 - BOTTOM]);
            svg.push(line.into_element().set("class", "mark"));
        }
        svg.with_all(self.layers.iter().map(|layer| frame.layer(layer)))
    }

    fn axes(&self) -> (Axis, Axis) {
        if self.unit_square {
            let unit = || Axis::around([0.0, 1.0].into_iter(), false);
            return (unit(), unit());
        }
        let (mut xs, mut ys) = (Vec::new(), Vec::new());
        for layer in &self.layers {
            match layer {
                Layer::Line { points, .. } | Layer::Dots { points } => {
                    xs.extend(points.iter().map(|point| point.0));
                    ys.extend(points.iter().map(|point| point.1));
                }
                Layer::Band { points, .. } => {
                    xs.extend(points.iter().map(|point| point.0));
                    ys.extend(points.iter().flat_map(|point| [point.1, point.2]));
                }
            }
        }
        let finite = |all: Vec<f64>| all.into_iter().filter(|value| value.is_finite());
        let horizontal = Axis::around(finite(xs), false).with_calendar(self.calendar);
        (horizontal, Axis::around(finite(ys), true))
    }
}

/// The axes of a chart on its sheet.
struct Frame {
    left: f64,
    horizontal: Axis,
    vertical: Axis,
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        self.left + self.horizontal.share(value) * (SIZE.0 - RIGHT - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        SIZE.1 - BOTTOM - self.vertical.share(value) * (SIZE.1 - BOTTOM - TOP)
    }

    fn draw(&self, ticks: &[(f64, String)], x_label: &str) -> Element {
        let mut group = Element::new("g").set("class", "axes");
        for (value, text) in ticks {
            let y = self.y(*value);
            let line = PathData::default().then('M', &[self.left, y]).then('H', &[SIZE.0 - RIGHT]);
            group.push(line.into_element());
            let place = [("x", self.left - 6.0), ("y", y + 3.8)];
            let label = Element::new("text").place(&place).set("text-anchor", "end");
            group.push(label.text(text));
        }
        let below = SIZE.1 - BOTTOM;
        for (value, text) in self.horizontal.ticks() {
            let place = [("x", self.x(value)), ("y", below + 14.0)];
            let label = Element::new("text").place(&place).set("text-anchor", "middle");
            group.push(label.text(&text));
        }
        let place = [("x", 0.5 * (self.left + SIZE.0 - RIGHT)), ("y", SIZE.1 - 5.0)];
        let name = Element::new("text").place(&place).set("text-anchor", "middle");
        group.with(name.set("class", "name").text(x_label))
    }

    fn layer(&self, layer: &Layer) -> Element {
        match layer {
            Layer::Line { class, points } => {
                self.line(points).into_element().set("class", &format!("line {class}"))
            }
            Layer::Dots { points } => {
                let finite = points.iter().filter(|point| point.1.is_finite());
                // A stroke of no length with round ends is a dot, in a tenth of the text of a circle.
                let dots = finite.fold(PathData::default(), |path, &(x, y)| {
                    path.then('M', &[self.x(x), self.y(y)]).then('h', &[0.0])
                });
                dots.into_element().set("class", "dots")
            }
            Layer::Band { class, points } => {
                let whole = |point: &&(f64, f64, f64)| point.1.is_finite() && point.2.is_finite();
                let finite: Vec<_> = points.iter().filter(whole).collect();
                let forth = finite.iter().map(|point| (point.0, point.1));
                let back = finite.iter().rev().map(|point| (point.0, point.2));
                let outline: Vec<(f64, f64)> = forth.chain(back).collect();
                self.line(&outline).into_element().set("class", &format!("band {class}"))
            }
        }
    }

    fn line(&self, points: &[(f64, f64)]) -> PathData {
        let mut path = PathData::default();
        let mut pen_down = false;
        for &(x, y) in points {
            if y.is_finite() {
                let command = if pen_down { 'L' } else { 'M' };
                path = path.then(command, &[self.x(x), self.y(y)]);
            }
            pen_down = y.is_finite();
        }
        path
    }
}
