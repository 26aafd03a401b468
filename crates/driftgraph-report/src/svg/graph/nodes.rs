//! The nodes with their names: inside where all of them fit, else around the circle.

use super::circle::{Circle, NAMED_RADIUS};
use super::curve::Point;
use crate::svg::colour;
use crate::svg::element::Element;
use crate::svg::text::{Anchor, LABEL_EMS, label, shortened, text_width};

const INSIDE_FONT: f64 = 12.5;

/// Whether all names are short enough to be written into nodes.
pub(super) fn fit_inside(names: &[String]) -> bool {
    names.iter().all(|name| text_width(name, INSIDE_FONT) <= 1.75 * NAMED_RADIUS)
}

/// Names as shown, and where.
#[derive(Debug, Clone)]
pub(super) struct Labels {
    texts: Vec<String>,
    font: f64,
    placement: Placement,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Placement {
    Inside,
    /// Level text beside each node, this far from its middle.
    Beside(f64),
    /// Text along the ray from the centre, starting this far from the middle of the node.
    AlongRay(f64),
}

/// How far a picture reaches from the centre of the circle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Labels {
    /// Chooses the place of all names together, so that the picture stays even.
    pub(super) fn new(circle: &Circle, names: &[String], has_loops: bool) -> Self {
        if circle.names_inside {
            return Self { texts: names.to_vec(), font: INSIDE_FONT, placement: Placement::Inside };
        }
        let font = circle.font;
        let texts = names.iter().map(|name| shortened(name, font, LABEL_EMS * font)).collect();
        let past_loop = if has_loops { circle.loop_reach() } else { 0.0 };
        let offset = circle.node_radius + past_loop + 5.0;
        let level = circle.has_level_names();
        let placement = if level { Placement::Beside(offset) } else { Placement::AlongRay(offset) };
        Self { texts, font, placement }
    }

    /// Room for nodes, loops and names around the origin.
    pub(super) fn extent(&self, circle: &Circle, has_loops: bool) -> Extent {
        let border = circle.node_radius + if has_loops { circle.loop_reach() + 4.0 } else { 2.0 };
        let mut extent = Extent { left: 0.0, right: 0.0, top: 0.0, bottom: 0.0 };
        for (node, text) in self.texts.iter().enumerate() {
            let Point { x, y } = circle.position(node);
            extent.include(x - border, y - border);
            extent.include(x + border, y + border);
            let (width, angle) = (text_width(text, self.font), circle.angle(node));
            match self.placement {
                Placement::Inside => {}
                Placement::Beside(offset) => {
                    let start = circle.position(node).towards(angle, offset);
                    let (left, right) = match anchor_beside(angle) {
                        Anchor::Start => (0.0, width),
                        Anchor::Middle => (0.5 * width, 0.5 * width),
                        Anchor::End => (width, 0.0),
                    };
                    extent.include(start.x - left, start.y - self.font);
                    extent.include(start.x + right, start.y + self.font);
                }
                Placement::AlongRay(offset) => {
                    let end = circle.position(node).towards(angle, offset + width);
                    extent.include(end.x - self.font, end.y - self.font);
                    extent.include(end.x + self.font, end.y + self.font);
                }
            }
        }
        extent
    }

    pub(super) fn draw(&self, circle: &Circle, names: &[String]) -> Element {
        let mut group = Element::new("g").set("class", "nodes");
        for (node, name) in names.iter().enumerate() {
            let Point { x, y } = circle.position(node);
            let disc = Element::new("circle")
                .place(&[("cx", x), ("cy", y), ("r", circle.node_radius)])
                .set("fill", "#f3f5f8")
                .set("stroke", colour::TEXT)
                .at("stroke-width", if circle.has_level_names() { 1.5 } else { 1.0 });
            let text = self.place(circle, node).text(&self.texts[node]);
            group.push(Element::new("g").set("class", "node").tooltip(name).with(disc).with(text));
        }
        group
    }

    fn place(&self, circle: &Circle, node: usize) -> Element {
        let (position, angle) = (circle.position(node), circle.angle(node));
        match self.placement {
            Placement::Inside => {
                let text = label(position.x, position.y, self.font, Anchor::Middle);
                text.set("font-weight", "600")
            }
            Placement::Beside(offset) => {
                let Point { x, y } = position.towards(angle, offset);
                // Names above or below their node keep clear of it by half their height.
                let lift = 0.4 * self.font * libm::sin(angle);
                label(x, y + lift, self.font, anchor_beside(angle))
            }
            Placement::AlongRay(offset) => {
                let Point { x, y } = position.towards(angle, offset);
                let left_half = libm::cos(angle) < -1e-9;
                // Text on the left half is turned round, so that no name stands on its head.
                let turn = angle.to_degrees() + if left_half { 180.0 } else { 0.0 };
                let anchor = if left_half { Anchor::End } else { Anchor::Start };
                let turn = format!("rotate({turn:.2} {x:.2} {y:.2})");
                label(x, y, self.font, anchor).set("transform", &turn)
            }
        }
    }
}

impl Extent {
    fn include(&mut self, x: f64, y: f64) {
        self.left = self.left.max(-x);
        self.right = self.right.max(x);
        self.top = self.top.max(-y);
        self.bottom = self.bottom.max(y);
    }
}

/// Names grow away from the circle; right above and below it they are centred.
fn anchor_beside(angle: f64) -> Anchor {
    match libm::cos(angle) {
        cosine if cosine > 0.2 => Anchor::Start,
        cosine if cosine < -0.2 => Anchor::End,
        _ => Anchor::Middle,
    }
}
