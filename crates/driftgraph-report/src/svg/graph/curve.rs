//! Lines between nodes: where they start, how they bend, and where their arrow touches.

use super::circle::Circle;
use crate::svg::element::{Element, PathData};

/// A place on the sheet; y grows downwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Point {
    /// The point `length` away in a direction in radians.
    pub(super) fn towards(self, angle: f64, length: f64) -> Self {
        let (sine, cosine) = libm::sincos(angle);
        Self { x: self.x + length * cosine, y: self.y + length * sine }
    }

    pub(super) fn distance(self, other: Self) -> f64 {
        let (dx, dy) = (other.x - self.x, other.y - self.y);
        (dx * dx + dy * dy).sqrt()
    }

    /// The point at a share of the way to another.
    fn between(self, other: Self, share: f64) -> Self {
        let along = |from: f64, to: f64| from + share * (to - from);
        Self { x: along(self.x, other.x), y: along(self.y, other.y) }
    }

    fn pair(self) -> [f64; 2] {
        [self.x, self.y]
    }
}

/// The line of one edge and the triangle at its end.
#[derive(Debug, Clone)]
pub(super) struct Arrow {
    line: PathData,
    line_end: Point,
    pub(super) tip: Point,
    width: f64,
}

impl Arrow {
    /// The arrow from one node to another, or from a node to itself.
    pub(super) fn new(circle: &Circle, source: usize, target: usize, width: f64) -> Self {
        if source == target {
            self_loop(circle, source, width)
        } else {
            bent_line(circle, source, target, width)
        }
    }

    /// The line alone, to be given a stroke.
    pub(super) fn line(&self) -> Element {
        let line = self.line.clone().into_element().set("fill", "none");
        line.at("stroke-width", self.width)
    }

    /// The arrow head, to be given a fill.
    pub(super) fn head(&self) -> Element {
        let length = self.line_end.distance(self.tip);
        let across = 0.5 * head_breadth(self.width) / length;
        let (dx, dy) = (self.tip.x - self.line_end.x, self.tip.y - self.line_end.y);
        let Point { x, y } = self.line_end;
        PathData::default()
            .then('M', &self.tip.pair())
            .then('L', &[x - across * dy, y + across * dx])
            .then('L', &[x + across * dy, y - across * dx])
            .then('z', &[])
            .into_element()
    }
}

fn head_length(width: f64) -> f64 {
    3.5 + 2.2 * width
}

fn head_breadth(width: f64) -> f64 {
    3.0 + 2.0 * width
}

/// A quadratic curve (Bezier) between two points.
#[derive(Debug, Clone, Copy)]
struct Curve {
    from: Point,
    control: Point,
    to: Point,
}

impl Curve {
    fn at(&self, share: f64) -> Point {
        let first = self.from.between(self.control, share);
        let second = self.control.between(self.to, share);
        first.between(second, share)
    }

    /// The part between two shares of the curve, itself such a curve.
    fn part(&self, start: f64, end: f64) -> Self {
        let control = (self.from.between(self.control, start))
            .between(self.control.between(self.to, start), end);
        Self { from: self.at(start), control, to: self.at(end) }
    }

    /// Where the curve leaves a circle around `centre`, between a share inside and one outside.
    fn crossing(&self, centre: Point, radius: f64, inside: f64, outside: f64) -> f64 {
        let (mut inside, mut outside) = (inside, outside);
        for _ in 0..40 {
            let middle = 0.5 * (inside + outside);
            if self.at(middle).distance(centre) < radius {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        outside
    }
}

/// From border to border: bent to the left of its direction, and past the nodes in between.
fn bent_line(circle: &Circle, source: usize, target: usize, width: f64) -> Arrow {
    let (from, to) = (circle.position(source), circle.position(target));
    let whole = Curve { from, control: control_point(circle, source, target), to };
    let start = whole.crossing(from, circle.node_radius, 0.0, 0.5);
    let tip = whole.crossing(to, circle.node_radius, 1.0, 0.5);
    let end = whole.crossing(to, circle.node_radius + head_length(width), 1.0, 0.5);
    let line = whole.part(start, end.max(start));
    let [control_x, control_y] = line.control.pair();
    Arrow {
        line: PathData::default()
            .then('M', &line.from.pair())
            .then('Q', &[control_x, control_y, line.to.x, line.to.y]),
        line_end: line.to,
        tip: whole.at(tip),
        width,
    }
}

fn control_point(circle: &Circle, source: usize, target: usize) -> Point {
    let (from, to) = (circle.position(source), circle.position(target));
    let length = from.distance(to);
    let middle = from.between(to, 0.5);
    let depth = middle.distance(circle.centre);
    // Nodes between the two stand outside the chord; drawn inwards, the line stays clear of them.
    let inwards = if circle.are_neighbours(source, target) || depth < 1.0 {
        0.0
    } else {
        (0.4 * length / depth).min(0.35)
    };
    let drawn_in = middle.between(circle.centre, inwards);
    // Both directions of a cycle of two bend to their own left, hence apart.
    let aside = (0.2 * length).min(1.4 * circle.node_radius + 20.0) / length;
    Point { x: drawn_in.x + aside * (to.y - from.y), y: drawn_in.y - aside * (to.x - from.x) }
}

/// A loop at the outer side of a node.
fn self_loop(circle: &Circle, node: usize, width: f64) -> Arrow {
    let (centre, outwards) = (circle.position(node), circle.angle(node));
    let opening = 0.55;
    let (leave, enter) = (outwards - opening, outwards + opening);
    let border = circle.node_radius;
    let line_end = centre.towards(enter, border + head_length(width).min(0.8 * border + 2.0));
    // A cubic curve reaches three quarters of the way to its control points.
    let reach = border + circle.loop_reach() / 0.75;
    let (first, second) = (centre.towards(leave, reach), centre.towards(enter, reach));
    Arrow {
        line: PathData::default()
            .then('M', &centre.towards(leave, border).pair())
            .then('C', &[first.x, first.y, second.x, second.y, line_end.x, line_end.y]),
        line_end,
        tip: centre.towards(enter, border),
        width,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_touch_the_border_of_their_target() {
        for (n, names_fit) in [(2, true), (7, true), (7, false), (20, true), (100, false)] {
            let circle = Circle::new(n, names_fit);
            for target in 0..n {
                let arrow = Arrow::new(&circle, 0, target, 2.0);
                let gap = arrow.tip.distance(circle.position(target)) - circle.node_radius;
                // Forty halvings of a curve of a thousand pixels leave 1e-9 of them.
                assert!(gap.abs() < 1e-8, "{n} {target}: {gap}");
            }
        }
    }

    #[test]
    fn lines_pass_all_nodes_they_do_not_join() {
        for n in 3..=100 {
            let circle = Circle::new(n, true);
            for target in 1..n {
                for (source, target) in [(0, target), (target, 0)] {
                    let (from, to) = (circle.position(source), circle.position(target));
                    let curve = Curve { from, control: control_point(&circle, source, target), to };
                    let nearest = (0..n)
                        .filter(|&node| node != source && node != target)
                        .flat_map(|node| (0..=50).map(move |step| (node, f64::from(step) / 50.0)))
                        .map(|(node, share)| curve.at(share).distance(circle.position(node)))
                        .fold(f64::INFINITY, f64::min);
                    assert!(nearest > circle.node_radius, "{n}: {source} {target} {nearest}");
                }
            }
        }
    }

    #[test]
    fn the_two_directions_of_a_cycle_run_apart() {
        let circle = Circle::new(7, true);
        let middle = |source, target| {
            let (from, to) = (circle.position(source), circle.position(target));
            Curve { from, control: control_point(&circle, source, target), to }.at(0.5)
        };
        for target in 1..7 {
            assert!(middle(0, target).distance(middle(target, 0)) > 15.0);
        }
    }

    #[test]
    fn a_part_of_a_curve_lies_on_it() {
        let point = |x, y| Point { x, y };
        let curve = Curve { from: point(0.0, 0.0), control: point(1.0, 2.0), to: point(4.0, 0.0) };
        let part = curve.part(0.2, 0.7);
        // The middle of the part is the whole at (0.2 + 0.7) / 2.
        assert!(part.at(0.5).distance(curve.at(0.45)) < 1e-12);
    }
}
