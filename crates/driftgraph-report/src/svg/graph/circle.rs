//! Where the nodes stand: on a circle, in the order of the variables.
//!
//! On a circle no edge has to pass through a node, and a variable stands at the same place in
//! every picture of the same data, whatever its edges.

use super::curve::Point;

/// Up to here nodes are large enough to show their edges one by one.
const FEW: usize = 20;

/// Positions of the nodes and the sizes that go with their number.
#[derive(Debug, Clone)]
pub(super) struct Circle {
    pub(super) centre: Point,
    pub(super) n: usize,
    radius: f64,
    pub(super) node_radius: f64,
    pub(super) font: f64,
    /// Widths of the weakest and strongest line.
    pub(super) widths: (f64, f64),
    pub(super) opacity: f64,
}

impl Circle {
    /// A circle around the origin for `n` nodes.
    pub(super) fn new(n: usize) -> Self {
        let count = n as f64;
        let few = n <= FEW;
        let radius = match n {
            1 => 0.0,
            _ if few => 84.0 + 10.0 * count,
            // Never less than 22 pixels between neighbours.
            _ => (255.0 + 1.45 * count).max(22.0 * count / std::f64::consts::TAU),
        };
        let spacing = std::f64::consts::TAU * radius / count;
        Self {
            centre: Point { x: 0.0, y: 0.0 },
            n,
            radius,
            node_radius: if few { 22.0 } else { (0.22 * spacing).clamp(4.0, 13.0) },
            font: if few { 13.0 } else { (0.45 * spacing).clamp(8.5, 12.0) },
            widths: if few { (1.2, 4.2) } else { (0.6, (0.06 * spacing).clamp(1.6, 3.2)) },
            opacity: if few { 0.9 } else { 0.65 },
        }
    }

    /// Whether nodes are large enough to hold a short name.
    pub(super) fn has_large_nodes(&self) -> bool {
        self.n <= FEW
    }

    /// The direction from the centre to a node in radians, clockwise from the right.
    pub(super) fn angle(&self, node: usize) -> f64 {
        // Two nodes stand side by side; otherwise the first is at the top.
        let start = if self.n == 2 { -std::f64::consts::PI } else { -std::f64::consts::FRAC_PI_2 };
        start + std::f64::consts::TAU * node as f64 / self.n as f64
    }

    pub(super) fn position(&self, node: usize) -> Point {
        self.centre.towards(self.angle(node), self.radius)
    }

    /// Whether two nodes stand side by side on the circle.
    pub(super) fn are_neighbours(&self, a: usize, b: usize) -> bool {
        let apart = a.abs_diff(b);
        apart.min(self.n - apart) == 1
    }

    /// How far a loop reaches from its node's border.
    pub(super) fn loop_reach(&self) -> f64 {
        1.05 * self.node_radius + 4.0
    }

    /// Width of a line for a score between 0 and 1.
    pub(super) fn line_width(&self, fraction: f64) -> f64 {
        self.widths.0 + fraction * (self.widths.1 - self.widths.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_never_touch() {
        for n in 2..=300 {
            let circle = Circle::new(n);
            let apart = circle.position(0).distance(circle.position(1));
            assert!(apart > 2.0 * circle.node_radius + 10.0, "{n}");
        }
    }
}
