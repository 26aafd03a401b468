//! Lines with bands over time: one panel per variable, all on the same axis of time.

use super::axis::Axis;
use super::calendar::Calendar;
use super::colour;
use super::element::{Element, PathData};
use super::legend::{Legend, SAMPLE};
use super::page::{Caption, MARGIN, sheet};
use super::text::{Anchor, coloured_label, label, shortened};
use crate::ReportError;

/// A chart of bands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BandChart {
    /// The line above the chart; may be empty.
    pub title: String,
    /// What is shown, in one line.
    pub subtitle: String,
    /// What the axis of time counts.
    pub time_label: String,
    /// What dates the times are, where they are dates.
    pub calendar: Option<Calendar>,
    /// What lines and bands are.
    pub meaning: BandMeaning,
    /// Whether both axes are logarithmic; then all numbers must be positive.
    pub is_log: bool,
    /// What else is special about the axes.
    pub axes: BandAxes,
    /// The panels, in reading order.
    pub panels: Vec<Panel>,
}

/// Axes that are not simply around what is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BandAxes {
    /// Whether the axis of time alone is logarithmic; then all times must be positive.
    pub has_log_times: bool,
    /// Ends of the axis of values, the same in all panels; around its own values in each panel where there are none.
    pub values: Option<[f64; 2]>,
    /// What marks are, for the legend; empty where they are the end of the data.
    pub mark: &'static str,
}

/// What the line and the bands of a [`Band`] are, for the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BandMeaning {
    /// The line.
    pub middle: &'static str,
    /// The narrow band.
    pub half: &'static str,
    /// The wide band.
    pub most: &'static str,
}

impl Default for BandMeaning {
    fn default() -> Self {
        Self { middle: "median", half: "50 % band", most: "90 % band" }
    }
}

/// One variable over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    /// Name of the variable.
    pub name: String,
    /// Bands, those behind first; at most six can be told apart.
    pub bands: Vec<Band>,
    /// Single paths, each of time and value, drawn thin.
    pub paths: Vec<Vec<(f64, f64)>>,
    /// What the paths are, for the legend.
    pub paths_label: String,
    /// Measurements: time and value.
    pub points: Vec<(f64, f64)>,
    /// What the points are, for the legend.
    pub points_label: String,
    /// Times at which something begins.
    pub marks: Vec<f64>,
    /// Windows of time that are shaded.
    pub windows: Vec<(f64, f64)>,
}

/// A middle line with a narrow and a wide band around it, usually of 50 % and 90 %.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Band {
    /// What it shows, for the legend.
    pub label: String,
    /// The times, increasing.
    pub times: Vec<f64>,
    /// The middle line.
    pub middle: Vec<f64>,
    /// Lower and upper end of the narrow band; empty where there is none.
    pub half: [Vec<f64>; 2],
    /// Lower and upper end of the wide band; empty where there is none.
    pub most: [Vec<f64>; 2],
}

const PANEL: (f64, f64) = (270.0, 130.0);
const GAP: (f64, f64) = (64.0, 46.0);
const NAME_FONT: f64 = 13.0;
const TICK_FONT: f64 = 10.5;
/// Colours of the bands, in their order (palette of Okabe and Ito 2008).
const COLOURS: [&str; 6] =
    [colour::POSITIVE, colour::NEGATIVE, "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const POINT: &str = "#24292f";
const PATH: &str = "#57606a";
const WINDOW: &str = "#f0e442";

/// Draws all panels, in one to three columns.
pub fn bands_svg(chart: &BandChart) -> Result<String, ReportError> {
    if chart.panels.is_empty() {
        return Err(ReportError::NoVariables);
    }
    chart.panels.iter().try_for_each(|panel| panel.check(chart))?;
    let n = chart.panels.len();
    let n_columns = if n <= 3 {
        1
    } else if n <= 8 {
        2
    } else {
        3
    };
    let n_rows = n.div_ceil(n_columns);
    let caption = Caption {
        title: &chart.title,
        subtitle: chart.subtitle.clone(),
        description: description(chart),
    };
    let legend = legend(chart);
    let top = caption.height() + MARGIN;
    let cell = (PANEL.0 + GAP.0, PANEL.1 + GAP.1);
    let legend_x = MARGIN + cell.0 * n_columns as f64 + 14.0;
    let height = (top + cell.1 * n_rows as f64).max(top + legend.height()) + MARGIN;
    let mut svg = sheet(legend_x + legend.width() + MARGIN, height, &caption);
    let times =
        axis_around(chart.panels.iter().flat_map(Panel::times), chart.has_log_times(), false)
            .with_calendar(chart.calendar);
    for (idx, panel) in chart.panels.iter().enumerate() {
        let x = MARGIN + GAP.0 - 12.0 + cell.0 * (idx % n_columns) as f64;
        let y = top + 18.0 + cell.1 * (idx / n_columns) as f64;
        // Only the lowest panel of a column says what the axis counts.
        let is_last = idx + n_columns >= n;
        let values = match chart.axes.values {
            Some(ends) => Axis::around(ends.into_iter(), false),
            None => axis_around(panel.values(), chart.is_log, true),
        };
        let time_label = if is_last { &chart.time_label } else { "" };
        svg.push(panel.draw((x, y), (&times, &values), time_label));
    }
    svg.push(legend.draw(legend_x, top));
    Ok(svg.into_svg())
}

impl BandChart {
    fn has_log_times(&self) -> bool {
        self.is_log || self.axes.has_log_times
    }
}

fn axis_around(numbers: impl Iterator<Item = f64>, is_log: bool, with_room: bool) -> Axis {
    if is_log { Axis::around_log(numbers, with_room) } else { Axis::around(numbers, with_room) }
}

fn description(chart: &BandChart) -> String {
    let names: Vec<&str> = chart.panels.iter().map(|panel| panel.name.as_str()).collect();
    let labels: Vec<&str> = chart.panels[0].bands.iter().map(|band| band.label.as_str()).collect();
    if labels.is_empty() {
        return format!("Over time: {}", names.join("; "));
    }
    format!("Over time, {} of {}", labels.join(" and "), names.join(", "))
}

fn legend(chart: &BandChart) -> Legend {
    let mut legend = Legend::default();
    let line = |colour: &str, width: f64| {
        let line = PathData::default().then('M', &[0.0, 0.0]).then('h', &[SAMPLE]);
        line.into_element().set("stroke", colour).at("stroke-width", width)
    };
    let box_of = |colour: &str, opacity: f64| {
        let sizes = [("y", -6.0), ("width", SAMPLE), ("height", 12.0)];
        Element::new("rect").place(&sizes).set("fill", colour).at("fill-opacity", opacity)
    };
    let mut labels: Vec<(&Band, usize)> = Vec::new();
    for panel in &chart.panels {
        for (idx, band) in panel.bands.iter().enumerate() {
            if labels.iter().all(|(known, _)| known.label != band.label) {
                labels.push((band, idx));
            }
        }
    }
    for (band, idx) in labels {
        let colour = COLOURS[idx % COLOURS.len()];
        legend.heading(&band.label);
        legend.entry(line(colour, 2.0), chart.meaning.middle);
        if !band.half[0].is_empty() {
            legend.entry(box_of(colour, HALF_OPACITY + MOST_OPACITY), chart.meaning.half);
        }
        if !band.most[0].is_empty() {
            legend.entry(box_of(colour, MOST_OPACITY), chart.meaning.most);
        }
    }
    if let Some(panel) = chart.panels.iter().find(|panel| !panel.paths.is_empty()) {
        legend.entry(line(PATH, 1.0), &panel.paths_label);
    }
    let any = |has: fn(&Panel) -> bool| chart.panels.iter().any(has);
    let points = chart.panels.iter().find(|panel| !panel.points.is_empty());
    if points.is_some() || any(|panel| !panel.marks.is_empty()) {
        legend.heading(if chart.axes.mark.is_empty() { "Data" } else { "Times" });
    } else if any(|panel| !panel.windows.is_empty()) {
        legend.heading("Times");
    }
    if let Some(panel) = points {
        let dot = Element::new("circle").place(&[("cx", SAMPLE / 2.0), ("r", 2.2)]);
        legend.entry(dot.set("fill", POINT), &panel.points_label);
    }
    if any(|panel| !panel.marks.is_empty()) {
        let mark = PathData::default().then('M', &[SAMPLE / 2.0, -8.0]).then('v', &[16.0]);
        let mark = mark.into_element().set("stroke", POINT).set("stroke-dasharray", "3 3");
        let meaning = chart.axes.mark;
        legend.entry(mark, if meaning.is_empty() { "end of the data" } else { meaning });
    }
    if any(|panel| !panel.windows.is_empty()) {
        legend.entry(box_of(WINDOW, WINDOW_OPACITY), "intervention");
    }
    legend
}

const MOST_OPACITY: f64 = 0.16;
const HALF_OPACITY: f64 = 0.24;
const WINDOW_OPACITY: f64 = 0.35;

impl Panel {
    fn check(&self, chart: &BandChart) -> Result<(), ReportError> {
        for band in &self.bands {
            for column in [&band.middle].into_iter().chain(&band.half).chain(&band.most) {
                let is_band = !std::ptr::eq(column, &raw const band.middle);
                if column.len() != band.times.len() && !(is_band && column.is_empty()) {
                    return Err(ReportError::WrongBandSize {
                        panel: self.name.clone(),
                        band: band.label.clone(),
                        expected: band.times.len(),
                        found: column.len(),
                    });
                }
            }
        }
        let is_good = |value: f64, is_log: bool| value.is_finite() && (value > 0.0 || !is_log);
        let times = self.times().chain(self.marks.iter().copied());
        let mut wrong_times = times.filter(|&time| !is_good(time, chart.has_log_times()));
        let mut wrong = self.values().filter(|&value| !is_good(value, chart.is_log));
        match wrong.next().or_else(|| wrong_times.next()) {
            Some(value) => Err(ReportError::NotFinite { panel: self.name.clone(), value }),
            None => Ok(()),
        }
    }

    fn times(&self) -> impl Iterator<Item = f64> {
        let bands = self.bands.iter().flat_map(|band| band.times.iter().copied());
        bands.chain(self.points.iter().chain(self.paths.iter().flatten()).map(|point| point.0))
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let bands = self.bands.iter().flat_map(|band| {
            [&band.middle].into_iter().chain(&band.half).chain(&band.most).flatten().copied()
        });
        bands.chain(self.points.iter().chain(self.paths.iter().flatten()).map(|point| point.1))
    }

    /// Name, axes, bands from behind, points and marks; the upper left corner is at the place.
    fn draw(
        &self,
        (x, y): (f64, f64),
        (times, values): (&Axis, &Axis),
        time_label: &str,
    ) -> Element {
        let place = Place { x, y, times, values };
        let mut group = Element::new("g").set("class", "panel");
        let name = shortened(&self.name, NAME_FONT, PANEL.0);
        let title = label(x, y - 11.0, NAME_FONT, Anchor::Start).set("font-weight", "600");
        group.push(title.tooltip(&self.name).text(&name));
        place.draw_axes(&mut group, time_label);
        for &(from, to) in &self.windows {
            let (from, to) = (times.clamp(from), times.clamp(to));
            let (left, right) = (place.time(from), place.time(to));
            let sizes =
                [("x", left), ("y", y), ("width", (right - left).max(1.0)), ("height", PANEL.1)];
            let window = Element::new("rect").place(&sizes).set("fill", WINDOW);
            group.push(window.at("fill-opacity", WINDOW_OPACITY));
        }
        for path in &self.paths {
            let line = place.line(path.iter().map(|(time, value)| (time, value))).into_element();
            let line = line.set("fill", "none").set("stroke", PATH).at("stroke-opacity", 0.5);
            group.push(line.at("stroke-width", 0.8));
        }
        for (idx, band) in self.bands.iter().enumerate().filter(|(_, band)| !band.times.is_empty())
        {
            place.draw_band(&mut group, band, COLOURS[idx % COLOURS.len()]);
        }
        let mut points = Element::new("g").set("fill", POINT).set("fill-opacity", "0.8");
        for &(time, value) in &self.points {
            let at = [("cx", place.time(time)), ("cy", place.value(value)), ("r", 1.7)];
            points.push(Element::new("circle").place(&at));
        }
        group.push(points);
        for &mark in self.marks.iter().filter(|mark| times.holds(**mark)) {
            let line = PathData::default().then('M', &[place.time(mark), y]).then('v', &[PANEL.1]);
            group.push(line.into_element().set("stroke", POINT).set("stroke-dasharray", "3 3"));
        }
        group
    }
}

/// A panel on the sheet.
struct Place<'a> {
    x: f64,
    y: f64,
    times: &'a Axis,
    values: &'a Axis,
}

impl Place<'_> {
    fn time(&self, time: f64) -> f64 {
        self.x + PANEL.0 * self.times.share(time)
    }

    fn value(&self, value: f64) -> f64 {
        self.y + PANEL.1 * (1.0 - self.values.share(value))
    }

    fn draw_axes(&self, group: &mut Element, time_label: &str) {
        let (right, bottom) = (self.x + PANEL.0, self.y + PANEL.1);
        for (value, text) in self.values.ticks() {
            let at = self.value(value);
            let guide = PathData::default().then('M', &[self.x, at]).then('H', &[right]);
            group
                .push(guide.into_element().set("stroke", colour::GUIDE).at("stroke-opacity", 0.45));
            let place = (self.x - 6.0, at);
            let tick = coloured_label(place, TICK_FONT, Anchor::End, colour::FAINT_TEXT);
            group.push(tick.text(&text));
        }
        for (time, text) in self.times.ticks() {
            let at = self.time(time);
            let tick = PathData::default().then('M', &[at, bottom]).then('v', &[4.0]);
            group.push(tick.into_element().set("stroke", colour::GUIDE));
            let place = (at, bottom + 12.0);
            let tick = coloured_label(place, TICK_FONT, Anchor::Middle, colour::FAINT_TEXT);
            group.push(tick.text(&text));
        }
        let frame = PathData::default()
            .then('M', &[self.x, self.y])
            .then('V', &[bottom])
            .then('H', &[right]);
        group.push(frame.into_element().set("fill", "none").set("stroke", colour::GUIDE));
        if !time_label.is_empty() {
            let place = (self.x + 0.5 * PANEL.0, bottom + 26.0);
            let label = coloured_label(place, TICK_FONT, Anchor::Middle, colour::FAINT_TEXT);
            group.push(label.text(time_label));
        }
    }

    fn draw_band(&self, group: &mut Element, band: &Band, colour: &str) {
        for (ends, opacity) in [(&band.most, MOST_OPACITY), (&band.half, HALF_OPACITY)] {
            let [low, high] = ends;
            if low.is_empty() || high.is_empty() {
                continue;
            }
            let up = band.times.iter().zip(high);
            let down = band.times.iter().zip(low).rev();
            let area = self.line(up.chain(down)).then('Z', &[]);
            let area = area.into_element().set("fill", colour).at("fill-opacity", opacity);
            group.push(area.set("stroke", "none"));
        }
        let line = self.line(band.times.iter().zip(&band.middle)).into_element();
        let line = line.set("fill", "none").set("stroke", colour).at("stroke-width", 1.8);
        group.push(line.set("stroke-linejoin", "round"));
    }

    fn line<'b>(&self, points: impl Iterator<Item = (&'b f64, &'b f64)>) -> PathData {
        points.enumerate().fold(PathData::default(), |path, (idx, (&time, &value))| {
            path.then(if idx == 0 { 'M' } else { 'L' }, &[self.time(time), self.value(value)])
        })
    }
}
