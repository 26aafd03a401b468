//! A reliability diagram: how often what was given a probability was there.

use super::colour;
use super::element::{Element, PathData};
use super::legend::{Legend, SAMPLE};
use super::page::{Caption, MARGIN, faint_label, sheet};
use super::text::Anchor;
use crate::ReportError;

/// Width and height of the square of probabilities.
const SIDE: f64 = 320.0;
/// Room for the numbers and the title of an axis.
const AXIS: f64 = 46.0;
/// Radius of the largest point; areas are proportional to counts.
const LARGEST: f64 = 11.0;
/// Points of few pairs must still be seen.
const SMALLEST: f64 = 2.0;
/// Colours of the curves, in their order.
const COLOURS: [&str; 3] = [colour::POSITIVE, colour::NEGATIVE, colour::UNKNOWN];

/// Pairs of similar probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReliabilityPoint {
    /// Their mean probability.
    pub predicted: f64,
    /// Share of them that are true edges.
    pub observed: f64,
    /// Number of pairs.
    pub count: usize,
}

/// One set of pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct ReliabilityCurve<'a> {
    /// What the pairs are.
    pub name: &'a str,
    /// From the least probable to the most probable.
    pub points: Vec<ReliabilityPoint>,
}

/// Draws observed frequencies against predicted probabilities; honest probabilities lie on the diagonal.
///
/// The area of a point is proportional to its number of pairs, relative to the largest of its curve.
pub fn reliability_svg(
    curves: &[ReliabilityCurve<'_>],
    title: &str,
) -> Result<String, ReportError> {
    for point in curves.iter().flat_map(|curve| &curve.points) {
        for value in [point.predicted, point.observed] {
            if !(0.0..=1.0).contains(&value) {
                return Err(ReportError::NotAProbability { value });
            }
        }
    }
    let subtitle = "points on the line: probabilities that mean what they say".to_owned();
    let caption = Caption { title, subtitle, description: description(curves) };
    let corner = (MARGIN + AXIS, caption.height() + MARGIN);
    let legend_x = corner.0 + SIDE + 28.0;
    let legend = legend(curves);
    let width = legend_x + legend.width() + MARGIN;
    let mut svg = sheet(width, corner.1 + SIDE + AXIS + MARGIN, &caption);
    svg.push(axes(corner));
    for (idx, curve) in curves.iter().enumerate() {
        svg.push(drawn(curve, COLOURS[idx % COLOURS.len()], corner));
    }
    svg.push(legend.draw(legend_x, corner.1));
    Ok(svg.into_svg())
}

fn place((left, top): (f64, f64), predicted: f64, observed: f64) -> (f64, f64) {
    (left + predicted * SIDE, top + (1.0 - observed) * SIDE)
}

/// The frame, a number at every fifth, the diagonal and the names of the axes.
fn axes(corner: (f64, f64)) -> Element {
    let (left, top) = corner;
    let mut group = Element::new("g").set("class", "axes");
    let frame =
        Element::new("rect").place(&[("x", left), ("y", top), ("width", SIDE), ("height", SIDE)]);
    group.push(frame.set("fill", "none").set("stroke", colour::GUIDE));
    let ((x1, y1), (x2, y2)) = (place(corner, 0.0, 0.0), place(corner, 1.0, 1.0));
    let line = PathData::default().then('M', &[x1, y1]).then('L', &[x2, y2]).into_element();
    group.push(line.set("stroke", colour::GUIDE).set("stroke-dasharray", "4 4"));
    for fifth in 0..=5 {
        let value = f64::from(fifth) / 5.0;
        let text = format!("{value:.1}");
        let (x, y) = place(corner, value, value);
        group.push(faint_label((x, top + SIDE + 14.0), Anchor::Middle).text(&text));
        group.push(faint_label((left - 8.0, y), Anchor::End).text(&text));
    }
    let middle = left + 0.5 * SIDE;
    group.push(faint_label((middle, top + SIDE + 34.0), Anchor::Middle).text("probability"));
    let (x, y) = (MARGIN + 6.0, top + 0.5 * SIDE);
    let turned =
        faint_label((x, y), Anchor::Middle).set("transform", &format!("rotate(-90 {x:.2} {y:.2})"));
    group.push(turned.text("share of true edges"));
    group
}

fn drawn(curve: &ReliabilityCurve<'_>, colour: &str, corner: (f64, f64)) -> Element {
    let mut group = Element::new("g").set("class", "curve");
    let places: Vec<(f64, f64)> =
        (curve.points.iter()).map(|point| place(corner, point.predicted, point.observed)).collect();
    if places.len() > 1 {
        let path = (places.iter().enumerate()).fold(PathData::default(), |path, (idx, &(x, y))| {
            path.then(if idx == 0 { 'M' } else { 'L' }, &[x, y])
        });
        group.push(path.into_element().set("fill", "none").set("stroke", colour));
    }
    let most = curve.points.iter().map(|point| point.count).max().unwrap_or(1).max(1) as f64;
    for (point, (x, y)) in curve.points.iter().zip(places) {
        let radius = (LARGEST * (point.count as f64 / most).sqrt()).max(SMALLEST);
        let circle = Element::new("circle")
            .place(&[("cx", x), ("cy", y), ("r", radius)])
            .set("fill", colour)
            .set("fill-opacity", "0.6");
        group.push(circle.tooltip(&in_words(curve.name, point)));
    }
    group
}

fn legend(curves: &[ReliabilityCurve<'_>]) -> Legend {
    let mut legend = Legend::default();
    for (idx, curve) in curves.iter().enumerate() {
        let sample = Element::new("circle")
            .place(&[("cx", 0.5 * SAMPLE), ("cy", 0.0), ("r", 6.0)])
            .set("fill", COLOURS[idx % COLOURS.len()])
            .set("fill-opacity", "0.6");
        legend.entry(sample, curve.name);
    }
    legend
}

fn in_words(name: &str, point: &ReliabilityPoint) -> String {
    let ReliabilityPoint { predicted, observed, count } = point;
    format!("{name}: probability {predicted:.2}, there {observed:.2} of the time, {count} pairs")
}

fn description(curves: &[ReliabilityCurve<'_>]) -> String {
    let points = curves
        .iter()
        .flat_map(|curve| curve.points.iter().map(|point| in_words(curve.name, point)));
    points.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(f64, f64, usize)]) -> ReliabilityCurve<'static> {
        let point = |&(predicted, observed, count): &(f64, f64, usize)| ReliabilityPoint {
            predicted,
            observed,
            count,
        };
        ReliabilityCurve { name: "a < b", points: points.iter().map(point).collect() }
    }

    #[test]
    fn points_stand_where_their_numbers_say_and_are_told_in_words() {
        let svg = reliability_svg(&[curve(&[(0.0, 0.0, 100), (1.0, 0.5, 25)])], "Trust").unwrap();
        let page = roxmltree::Document::parse(&svg).unwrap();
        let curve = page.descendants().find(|node| node.attribute("class") == Some("curve"));
        let number = |node: &roxmltree::Node, name: &str| -> f64 {
            node.attribute(name).unwrap().parse().unwrap()
        };
        let circles: Vec<_> =
            curve.unwrap().children().filter(|node| node.has_tag_name("circle")).collect();
        assert_eq!(circles.len(), 2);
        assert_eq!(number(&circles[1], "cx") - number(&circles[0], "cx"), SIDE);
        assert_eq!(number(&circles[0], "cy") - number(&circles[1], "cy"), 0.5 * SIDE);
        // A quarter of the pairs, a quarter of the area.
        assert_eq!(number(&circles[0], "r"), 2.0 * number(&circles[1], "r"));
        assert!(svg.contains("a &lt; b: probability 1.00, there 0.50 of the time, 25 pairs"));
    }

    #[test]
    fn what_is_no_probability_is_refused_and_nothing_is_no_error() {
        let error = reliability_svg(&[curve(&[(0.5, f64::NAN, 1)])], "").unwrap_err();
        assert!(matches!(error, ReportError::NotAProbability { value } if value.is_nan()));
        assert!(reliability_svg(&[curve(&[])], "").is_ok());
    }
}
