//! Rows of values on one axis, a mark for each method: who is where at a glance.

use super::axis::Axis;
use super::colour;
use super::element::{Element, PathData};
use super::legend::{Legend, SAMPLE};
use super::page::{Caption, MARGIN, faint_label, sheet};
use super::text::{Anchor, label, shortened, text_width};
use crate::ReportError;

const ROW: f64 = 26.0;
const WIDTH: f64 = 420.0;
const FONT: f64 = 13.0;
const LONGEST_NAME: f64 = 280.0;
/// Colours of the methods, in their order (palette of Okabe and Ito 2008).
const COLOURS: [&str; 4] = [colour::POSITIVE, colour::NEGATIVE, "#009e73", "#cc79a7"];

/// What is compared over several rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DotChart {
    /// The line above the chart.
    pub title: String,
    /// What is shown, in one line.
    pub subtitle: String,
    /// What the axis measures.
    pub axis_label: String,
    /// What the methods are called together; "Methods" where nothing is said.
    pub heading: String,
    /// Names of the methods, the most important first; at most four can be told apart.
    pub methods: Vec<String>,
    /// What the values of the background are; empty where there are none.
    pub background_label: String,
    /// The rows, from above.
    pub rows: Vec<DotRow>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DotRow {
    /// Its name.
    pub name: String,
    /// For each method its value, with its deviation where known.
    pub values: Vec<Option<(f64, Option<f64>)>>,
    /// Values to compare with, drawn behind.
    pub background: Vec<f64>,
}

/// Draws the rows; a line through a mark is its deviation to both sides.
pub fn dots_svg(chart: &DotChart) -> Result<String, ReportError> {
    for row in &chart.rows {
        if let Some(value) = numbers(row).find(|value| !value.is_finite()) {
            return Err(ReportError::NotFinite { panel: row.name.clone(), value });
        }
        if row.values.len() != chart.methods.len() {
            return Err(ReportError::WrongBandSize {
                panel: chart.title.clone(),
                band: row.name.clone(),
                expected: chart.methods.len(),
                found: row.values.len(),
            });
        }
    }
    let caption = Caption {
        title: &chart.title,
        subtitle: chart.subtitle.clone(),
        description: description(chart),
    };
    let names =
        chart.rows.iter().map(|row| text_width(&shortened(&row.name, FONT, LONGEST_NAME), FONT));
    let left = MARGIN + names.fold(0.0, f64::max) + 14.0;
    let top = caption.height() + MARGIN;
    let bottom = top + ROW * chart.rows.len() as f64;
    let legend = legend(chart);
    let legend_x = left + WIDTH + 28.0;
    let height = (bottom + 44.0).max(top + legend.height()) + MARGIN;
    let mut svg = sheet(legend_x + legend.width() + MARGIN, height, &caption);
    let axis = Axis::around(chart.rows.iter().flat_map(numbers), true);
    let place = |value: f64| left + WIDTH * axis.share(value);
    for (value, text) in axis.ticks() {
        let line = PathData::default().then('M', &[place(value), top]).then('V', &[bottom]);
        svg.push(line.into_element().set("stroke", colour::GUIDE).at("stroke-opacity", 0.45));
        svg.push(faint_label((place(value), bottom + 14.0), Anchor::Middle).text(&text));
    }
    let middle = left + 0.5 * WIDTH;
    svg.push(faint_label((middle, bottom + 32.0), Anchor::Middle).text(&chart.axis_label));
    for (idx, row) in chart.rows.iter().enumerate() {
        let y = top + ROW * (idx as f64 + 0.5);
        let name = shortened(&row.name, FONT, LONGEST_NAME);
        svg.push(label(left - 10.0, y, FONT, Anchor::End).tooltip(&row.name).text(&name));
        for &value in &row.background {
            svg.push(tick(place(value), y));
        }
        // The first method is drawn last, on top.
        for (method, value) in row.values.iter().enumerate().rev() {
            let Some((value, deviation)) = *value else { continue };
            let colour = COLOURS[method % COLOURS.len()];
            if let Some(deviation) = deviation {
                let (low, high) = (axis.clamp(value - deviation), axis.clamp(value + deviation));
                let line =
                    PathData::default().then('M', &[place(low), y]).then('H', &[place(high)]);
                svg.push(line.into_element().set("stroke", colour).at("stroke-width", 1.4));
            }
            svg.push(mark(method, (place(value), y)));
        }
    }
    svg.push(legend.draw(legend_x, top));
    Ok(svg.into_svg())
}

fn numbers(row: &DotRow) -> impl Iterator<Item = f64> {
    let own = row.values.iter().flatten().map(|(value, _)| *value);
    own.chain(row.background.iter().copied())
}

fn mark(method: usize, (x, y): (f64, f64)) -> Element {
    let colour = COLOURS[method % COLOURS.len()];
    let dot = Element::new("circle").place(&[("cx", x), ("cy", y), ("r", 5.0)]);
    // The first is filled: it can be told from the others without colours.
    let fill = if method == 0 { colour } else { "#fff" };
    dot.set("fill", fill).set("stroke", colour).at("stroke-width", 2.0)
}

fn tick(x: f64, y: f64) -> Element {
    let line = PathData::default().then('M', &[x, y - 6.0]).then('v', &[12.0]);
    line.into_element().set("stroke", colour::FAINT_TEXT).at("stroke-width", 1.6)
}

fn legend(chart: &DotChart) -> Legend {
    let mut legend = Legend::default();
    legend.heading(if chart.heading.is_empty() { "Methods" } else { &chart.heading });
    for (method, name) in chart.methods.iter().enumerate() {
        legend.entry(mark(method, (SAMPLE / 2.0, 0.0)), name);
    }
    if !chart.background_label.is_empty() {
        legend.entry(tick(SAMPLE / 2.0, 0.0), &chart.background_label);
    }
    legend
}

/// All values in words.
fn description(chart: &DotChart) -> String {
    let row = |row: &DotRow| {
        let values = chart.methods.iter().zip(&row.values);
        let values =
            values.filter_map(|(name, value)| Some(format!("{name} {:.3}", value.as_ref()?.0)));
        format!("{}: {}", row.name, values.collect::<Vec<_>>().join(", "))
    };
    chart.rows.iter().map(row).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> DotChart {
        DotChart {
            title: "Ranking".to_owned(),
            methods: vec!["ours".to_owned(), "paper".to_owned()],
            background_label: "simple".to_owned(),
            rows: vec![DotRow {
                name: "Netsim <full>".to_owned(),
                values: vec![Some((0.97, Some(0.01))), None],
                background: vec![0.8, 0.9],
            }],
            ..DotChart::default()
        }
    }

    #[test]
    fn a_mark_for_every_value_and_nothing_for_what_is_unknown() {
        let svg = dots_svg(&chart()).unwrap();
        // One value and two entries of the legend.
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("Netsim &lt;full&gt;: ours 0.970"), "{svg}");
    }

    #[test]
    fn rows_that_do_not_fit_the_methods_are_refused() {
        let mut short = chart();
        short.rows[0].values.pop();
        assert!(dots_svg(&short).is_err());
        let mut odd = chart();
        odd.rows[0].background[0] = f64::NAN;
        assert!(dots_svg(&odd).is_err());
    }
}
