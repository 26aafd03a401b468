//! Arrows between nodes; `assets/graph.js` draws the same ones once nodes are dragged.

use super::layout::HALF_HEIGHT;
use crate::EffectSign;
use crate::svg::element::PathData;

/// How far a line bends to its left, as a share of its length: two directions run apart.
const BEND: f64 = 0.13;
/// Space between an arrow and the node it touches.
const GAP: f64 = 2.0;

/// A node: its middle and half its width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) half_width: f64,
}

impl Node {
    /// Whether a place lies on the node or within its gap: a rectangle with very round corners.
    fn covers(&self, [x, y]: [f64; 2]) -> bool {
        let across = (x - self.x) / (self.half_width + GAP);
        let along = (y - self.y) / (HALF_HEIGHT + GAP);
        across.powi(4) + along.powi(4) < 1.0
    }
}

/// The line and the head of one arrow.
pub(crate) struct Arrow {
    pub(crate) line: PathData,
    pub(crate) head: PathData,
}

/// Width of the line of an edge.
pub(crate) fn line_width(probability: f64) -> f64 {
    0.7 + 3.0 * probability * probability
}

/// A line between two nodes without a head.
pub(crate) fn link(from: Node, to: Node) -> Arrow {
    curved(from, to, |tip, _| (PathData::default(), tip))
}

/// From one node to another.
pub(crate) fn between(from: Node, to: Node, width: f64, sign: Option<EffectSign>) -> Arrow {
    curved(from, to, |tip, slope| head(tip, slope, width, sign))
}

/// A curve between two nodes with what stands at its end.
fn curved(
    from: Node,
    to: Node,
    head: impl Fn([f64; 2], [f64; 2]) -> (PathData, [f64; 2]),
) -> Arrow {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let control = [0.5 * (from.x + to.x) + BEND * dy, 0.5 * (from.y + to.y) - BEND * dx];
    let at = |t: f64| {
        let u = 1.0 - t;
        [
            u * u * from.x + 2.0 * u * t * control[0] + t * t * to.x,
            u * u * from.y + 2.0 * u * t * control[1] + t * t * to.y,
        ]
    };
    let start = crossing(|t| from.covers(at(t)), 0.0, 0.5);
    let end = crossing(|t| to.covers(at(t)), 1.0, 0.5);
    let tip = at(end);
    let slope = [
        2.0 * (1.0 - end) * (control[0] - from.x) + 2.0 * end * (to.x - control[0]),
        2.0 * (1.0 - end) * (control[1] - from.y) + 2.0 * end * (to.y - control[1]),
    ];
    let (head, neck) = head(tip, slope);
    // The part of the curve between the nodes has this control point (de Casteljau).
    let mixed = |axis: usize| {
        let first = [from.x, from.y][axis] * (1.0 - start) + control[axis] * start;
        let second = control[axis] * (1.0 - start) + [to.x, to.y][axis] * start;
        first * (1.0 - end) + second * end
    };
    let line = PathData::default()
        .then('M', &at(start))
        .then('Q', &[mixed(0), mixed(1), neck[0], neck[1]]);
    Arrow { line, head }
}

/// From a node to itself, above it or below.
pub(crate) fn self_loop(node: Node, above: bool, width: f64, sign: Option<EffectSign>) -> Arrow {
    let side = if above { -1.0 } else { 1.0 };
    let reach = 8.0_f64.min(0.4 * node.half_width);
    let border = node.y + side * (HALF_HEIGHT + GAP);
    let top = border + side * 30.0;
    let tip = [node.x + reach, border];
    let (head, neck) = head(tip, [-0.45, -side], width.min(2.4), sign);
    let line = PathData::default()
        .then('M', &[node.x - reach, border])
        .then('C', &[node.x - 2.6 * reach, top, node.x + 2.6 * reach, top, neck[0], neck[1]]);
    Arrow { line, head }
}

/// A level arrow from the origin on, as a legend has it.
pub(crate) fn level(length: f64, width: f64, sign: Option<EffectSign>) -> Arrow {
    let (head, neck) = head([length, 0.0], [1.0, 0.0], width, sign);
    Arrow { line: PathData::default().then('M', &[0.0, 0.0]).then('L', &neck), head }
}

/// Where a curve leaves a node, between a place inside and one outside.
fn crossing(covers: impl Fn(f64) -> bool, inside: f64, outside: f64) -> f64 {
    let (mut inside, mut outside) = (inside, outside);
    for _ in 0..20 {
        let middle = 0.5 * (inside + outside);
        if covers(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    outside
}

/// The head at a tip, and where the line ends: a triangle for more, a bar for less, a diamond else.
fn head(
    tip: [f64; 2],
    slope: [f64; 2],
    width: f64,
    sign: Option<EffectSign>,
) -> (PathData, [f64; 2]) {
    let length = libm::hypot(slope[0], slope[1]).max(1e-9);
    let (ux, uy) = (slope[0] / length, slope[1] / length);
    // So far back along the line, and so far to its side.
    let at =
        |back: f64, aside: f64| [tip[0] - back * ux - aside * uy, tip[1] - back * uy + aside * ux];
    let (long, half) = (5.5 + 1.6 * width, 2.8 + 1.1 * width);
    let (corners, neck) = match sign {
        Some(EffectSign::Positive) | None => {
            (vec![at(0.0, 0.0), at(long, half), at(long, -half)], at(long, 0.0))
        }
        Some(EffectSign::Negative) => {
            let (thick, half) = (1.4 + 0.5 * width, half + 2.2);
            (vec![at(0.0, half), at(0.0, -half), at(thick, -half), at(thick, half)], at(thick, 0.0))
        }
        Some(EffectSign::Unknown) => {
            let corners =
                vec![at(0.0, 0.0), at(0.5 * long, half), at(long, 0.0), at(0.5 * long, -half)];
            (corners, at(long, 0.0))
        }
    };
    let path = corners.iter().enumerate().fold(PathData::default(), |path, (idx, corner)| {
        path.then(if idx == 0 { 'M' } else { 'L' }, corner)
    });
    (path.then('Z', &[]), neck)
}
