//! Where the nodes stand: on a circle, in the order of the variables.
//!
//! On a circle no edge has to pass through a node, and a variable stands at the same place in
//! every picture of the same data, whatever its edges.

use super::curve::Point;

/// Up to here every node has room for a name beside or inside it.
const FEW: usize = 20;
/// Radius of a node that holds its name.
pub(super) const NAMED_RADIUS: f64 = 22.0;

/// Positions of the nodes and the sizes that go with their number.
#[derive(Debug, Clone)]
pub(super) struct Circle {
    pub(super) centre: Point,
    pub(super) n: usize,
    radius: f64,
    pub(super) node_radius: f64,
    pub(super) names_inside: bool,
    pub(super) font: f64,
    /// Widths of the weakest and strongest line.
    pub(super) widths: (f64, f64),
}

impl Circle {
    /// A circle around the origin for `n` nodes, which may hold their names if they are few.
    pub(super) fn new(n: usize, names_fit: bool) -> Self {
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
            node_radius: match few {
                true if names_fit => NAMED_RADIUS,
                true => 13.0,
                false => (0.22 * spacing).clamp(4.0, 11.0),
            },
            names_inside: few && names_fit,
            font: if few { 13.0 } else { (0.45 * spacing).clamp(8.5, 12.0) },
            widths: if few { (1.2, 4.2) } else { (0.6, (0.06 * spacing).clamp(1.6, 3.2)) },
        }
    }

    /// Whether names are written level; many names only fit along rays.
    pub(super) fn has_level_names(&self) -> bool {
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
        0.9 * self.node_radius + 8.0
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
            for names_fit in [false, true] {
                let circle = Circle::new(n, names_fit);
                let apart = circle.position(0).distance(circle.position(1));
                assert!(apart > 2.0 * circle.node_radius + 10.0, "{n}");
            }
        }
    }
}
