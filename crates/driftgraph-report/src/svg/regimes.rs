//! Which regime holds when: a strip for each series, as high at each time as the regimes are probable.

use super::axis::Axis;
use super::colour;
use super::element::{Element, PathData};
use super::legend::{Legend, SAMPLE};
use super::page::{Caption, MARGIN, faint_label, sheet};
use super::text::{Anchor, label, shortened, text_width};
use crate::view::RegimesView;
use crate::{Calendar, ReportError};

const STRIP: f64 = 26.0;
const GAP: f64 = 10.0;
const WIDTH: f64 = 560.0;
const FONT: f64 = 13.0;
const LONGEST_NAME: f64 = 200.0;
/// Strips in a picture at most.
const MOST_SERIES: usize = 40;
/// Colours of the regimes, in their order (palette of Okabe and Ito 2008).
const COLOURS: [&str; 6] =
    [colour::POSITIVE, colour::NEGATIVE, "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// Draws the probabilities of the regimes over time.
pub(crate) fn regimes_svg(
    view: &RegimesView,
    time_label: &str,
    calendar: Option<Calendar>,
) -> Result<String, ReportError> {
    let k = view.names.len();
    let shown = &view.series[..view.series.len().min(MOST_SERIES)];
    for series in shown {
        let bad = series.times.iter().chain(&series.probabilities).find(|value| !value.is_finite());
        if let Some(&value) = bad {
            return Err(ReportError::NotFinite { panel: series.name.clone(), value });
        }
        if series.probabilities.len() != k * series.times.len() || k > COLOURS.len() {
            return Err(ReportError::WrongBandSize {
                panel: series.name.clone(),
                band: "regimes".to_owned(),
                expected: k * series.times.len(),
                found: series.probabilities.len(),
            });
        }
    }
    let left_out = view.series.len() - shown.len();
    let more = if left_out > 0 {
        format!("; {left_out} more series are not shown")
    } else {
        String::new()
    };
    let caption = Caption {
        title: "Which regime holds when",
        subtitle: format!("the height of a colour is the probability of its regime{more}"),
        description: description(view),
    };
    let names = shown.iter().map(|one| text_width(&shortened(&one.name, FONT, LONGEST_NAME), FONT));
    let left = MARGIN + names.fold(0.0, f64::max) + 14.0;
    let top = caption.height() + MARGIN;
    let bottom = top + (STRIP + GAP) * shown.len() as f64;
    let mut legend = Legend::default();
    legend.heading("Regimes");
    for (regime, name) in view.names.iter().enumerate() {
        let sample = Element::new("rect").place(&[
            ("x", 6.0),
            ("y", -6.0),
            ("width", SAMPLE - 12.0),
            ("height", 12.0),
        ]);
        legend.entry(sample.set("fill", COLOURS[regime]), name);
    }
    let legend_x = left + WIDTH + 28.0;
    let height = (bottom + 40.0).max(top + legend.height()) + MARGIN;
    let mut svg = sheet(legend_x + legend.width() + MARGIN, height, &caption);
    let times = shown.iter().flat_map(|one| one.times.iter().copied());
    let axis = Axis::around(times, false).with_calendar(calendar);
    let place = |time: f64| left + WIDTH * axis.share(time);
    for (time, text) in axis.ticks() {
        svg.push(faint_label((place(time), bottom + 10.0), Anchor::Middle).text(&text));
    }
    svg.push(faint_label((left + 0.5 * WIDTH, bottom + 28.0), Anchor::Middle).text(time_label));
    for (at, series) in shown.iter().enumerate() {
        let y = top + (STRIP + GAP) * at as f64;
        let name = shortened(&series.name, FONT, LONGEST_NAME);
        let text = label(left - 10.0, y + 0.5 * STRIP, FONT, Anchor::End);
        svg.push(text.tooltip(&series.name).text(&name));
        for regime in 0..k {
            let edge = |row: usize, regimes: usize| -> f64 {
                y + STRIP
                    * series.probabilities[row * k..row * k + regimes].iter().sum::<f64>().min(1.0)
            };
            let area =
                stepped(&series.times, &place, &|row| [edge(row, regime), edge(row, regime + 1)]);
            svg.push(area.into_element().set("fill", COLOURS[regime]));
        }
    }
    svg.push(legend.draw(legend_x, top));
    Ok(svg.into_svg())
}

/// An area between two heights that hold from each time to the next.
fn stepped(
    times: &[f64],
    place: &dyn Fn(f64) -> f64,
    heights: &dyn Fn(usize) -> [f64; 2],
) -> PathData {
    let n = times.len();
    let mut path = PathData::default().then('M', &[place(times[0]), heights(0)[0]]);
    for row in 0..n - 1 {
        path = path.then('V', &[heights(row)[0]]).then('H', &[place(times[row + 1])]);
    }
    for row in (0..n - 1).rev() {
        path = path.then('V', &[heights(row)[1]]).then('H', &[place(times[row])]);
    }
    path.then('Z', &[])
}

/// All changes in words.
fn description(view: &RegimesView) -> String {
    let changes = view
        .switches
        .iter()
        .map(|one| format!("{}: {} from {}", one.series, view.names[one.to], one.time));
    changes.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{RegimeChange, RegimeStrip};

    fn view() -> RegimesView {
        RegimesView {
            names: vec!["rest".to_owned(), "work".to_owned()],
            series: vec![RegimeStrip {
                name: "a <b>".to_owned(),
                times: vec![0.0, 1.0, 2.0],
                probabilities: vec![1.0, 0.0, 0.25, 0.75, 0.25, 0.75],
            }],
            switches: vec![RegimeChange {
                series: "a <b>".to_owned(),
                time: 1.0,
                between: [0.0, 1.0],
                from: 0,
                to: 1,
            }],
            ..RegimesView::default()
        }
    }

    #[test]
    fn every_regime_has_an_area_in_every_strip() {
        let svg = regimes_svg(&view(), "time", None).unwrap();
        assert_eq!(svg.matches("fill=\"#0072b2\"").count(), 2);
        assert!(svg.contains("a &lt;b&gt;: work from 1"), "{svg}");
    }

    #[test]
    fn probabilities_that_do_not_fit_are_refused() {
        let mut odd = view();
        odd.series[0].probabilities.pop();
        assert!(regimes_svg(&odd, "time", None).is_err());
    }
}
