//! Series with their posterior, their futures, and what interventions change: one chart per variable.

use std::fmt::Write as _;

use super::chart::{Chart, Layer};
use super::{plain_table, section, short, signed};
use crate::svg::element::Element;
use crate::view::{Column, FanSeries, FitSeries, FitView, InterventionView, ReportView};

/// Charts that are drawn before scripts run, and on paper.
const SHOWN: usize = 6;
/// Rows of a table of changes.
const MOST_CHANGES: usize = 12;

/// The section with observations and posterior.
pub(super) fn fit_section(view: &ReportView, fit: &FitView) -> Element {
    let mut lead = "Dots are measurements, the line is the posterior mean of the hidden state, the band holds it \
                    with 90 % probability. Where dots are missing, the band shows how much is still known."
        .to_owned();
    if fit.series.len() < fit.n_series {
        let (shown, all) = (fit.series.len(), fit.n_series);
        let _ = write!(
            lead,
            " {shown} of {all} series are in this file; `driftgraph impute` gives all of them."
        );
    }
    let mut charts = Element::new("div").set("class", "charts").set("id", "fit-charts");
    if let Some(series) = fit.series.first() {
        for variable in 0..view.graph.variables.len().min(SHOWN) {
            charts.push(fit_chart(view, series, variable).draw());
        }
    }
    section("fit", "Does it fit?")
        .with(Element::new("p").text(&lead))
        .with(chooser("fit", fit.series.iter().map(|series| series.name.as_str()), view))
        .with(charts)
}

fn fit_chart(view: &ReportView, series: &FitSeries, variable: usize) -> Chart {
    let zip = |column: &Column| pairs(&series.times, column);
    let (low, high) = (&series.low[variable].0, &series.high[variable].0);
    let band = series.times.iter().zip(low.iter().zip(high));
    let band = band.map(|(&time, (&low, &high))| (time, low, high)).collect();
    Chart {
        title: view.graph.variables[variable].clone(),
        x_label: view.data.time_label.clone(),
        calendar: view.data.calendar,
        layers: vec![
            Layer::Band { class: "first", points: band },
            Layer::Line { class: "first", points: zip(&series.mean[variable]) },
            Layer::Dots { points: zip(&series.observed[variable]) },
        ],
        ..Chart::default()
    }
}

fn pairs(times: &[f64], column: &Column) -> Vec<(f64, f64)> {
    times.iter().copied().zip(column.0.iter().copied()).collect()
}

/// Lists to choose series and variables from; of use with scripts only.
fn chooser<'a>(what: &str, series: impl Iterator<Item = &'a str>, view: &ReportView) -> Element {
    let names: Vec<&str> = series.collect();
    let list = |id: String, options: Vec<(usize, &str)>| {
        let options = options.into_iter().map(|(value, text)| {
            Element::new("option").set("value", &value.to_string()).text(text)
        });
        Element::new("select").set("id", &id).with_all(options)
    };
    let label = |text: &str| Element::new("label").with(Element::new("span").text(text));
    let series = names.into_iter().enumerate().collect();
    let variables = view.graph.variables.iter().enumerate();
    let mut variables: Vec<(usize, &str)> =
        variables.map(|(idx, name)| (idx + 1, name.as_str())).collect();
    variables.insert(0, (0, "the first ones"));
    Element::new("div")
        .set("class", "controls scripted")
        .with(label("Series ").with(list(format!("{what}-series"), series)))
        .with(label("Variable ").with(list(format!("{what}-variable"), variables)))
}

/// The section with futures and interventions.
pub(super) fn next_section(view: &ReportView) -> Element {
    let mut out = section("next", "What next?");
    match &view.future {
        Some(future) => {
            let lead = "Futures after the end of a series, simulated under graphs drawn from the posterior: \
                        median, and bands that hold half and nine tenths of what would be measured.";
            out.push(Element::new("p").text(lead));
            let names = future.series.iter().map(|series| series.name.as_str());
            out.push(chooser("future", names, view));
            let mut charts = Element::new("div").set("class", "charts").set("id", "future-charts");
            if let Some(fan) = future.series.first() {
                for variable in 0..view.graph.variables.len().min(SHOWN) {
                    charts.push(future_chart(view, fan, variable).draw());
                }
            }
            out.push(charts);
        }
        None => out.push(Element::new("p").text("No forecast was computed.")),
    }
    for (idx, intervention) in view.interventions.iter().enumerate() {
        out.push(intervention_part(view, idx, intervention));
    }
    if view.interventions.is_empty() {
        let command = Element::new("code").text("driftgraph report RUN --do 'variable = value'");
        // The page has a form for it.
        let text = Element::new("p").set("class", "faint only-in-report");
        let text = text.text("No intervention was asked for. ");
        out.push(text.with(command).text(" adds what happens when a variable is held."));
    }
    out
}

fn future_chart(view: &ReportView, fan: &FanSeries, variable: usize) -> Chart {
    let past = view.fit.iter().flat_map(|fit| &fit.series).find(|series| series.name == fan.name);
    let mut layers = fan_layers(fan, variable, "first");
    if let (Some(past), Some(last)) = (past, fan.times.last()) {
        // As much of the past as helps to judge the future.
        let end = past.times.last().copied().unwrap_or(*last);
        let from = end - 2.0 * (last - end);
        let points = pairs(&past.times, &past.observed[variable]);
        let points = points.into_iter().filter(|(time, _)| *time >= from).collect();
        layers.push(Layer::Dots { points });
    }
    Chart {
        title: view.graph.variables[variable].clone(),
        x_label: view.data.time_label.clone(),
        calendar: view.data.calendar,
        layers,
        mark: past.and_then(|past| past.times.last().copied()),
        ..Chart::default()
    }
}

fn fan_layers(fan: &FanSeries, variable: usize, class: &'static str) -> Vec<Layer> {
    let quantile = |idx: usize| &fan.quantiles[idx][variable];
    let band = |low: usize, high: usize| {
        let ends = quantile(low).0.iter().zip(&quantile(high).0);
        let points = fan.times.iter().zip(ends).map(|(&time, (&low, &high))| (time, low, high));
        Layer::Band { class, points: points.collect() }
    };
    vec![band(0, 4), band(1, 3), Layer::Line { class, points: pairs(&fan.times, quantile(2)) }]
}

/// A time as the user wrote times, with every digit: 1845 is no 1850.
fn time_text(view: &ReportView, time: f64) -> String {
    // Twelve digits are more than anybody measures, and hide the rounding of sums.
    let plain = || {
        let rounded: f64 = format!("{time:.11e}").parse().unwrap_or(time);
        rounded.to_string().replace('-', "−")
    };
    view.data.calendar.map_or_else(plain, |calendar| calendar.text(time))
}

fn intervention_part(view: &ReportView, idx: usize, one: &InterventionView) -> Element {
    let title = Element::new("h3").text("Under ").with(Element::new("code").text(&one.text));
    let key = |class: &str, text: &str| {
        let key = Element::new("span").set("class", &format!("key {class}"));
        Element::new("span").with(key).text(text)
    };
    let legend = Element::new("p")
        .set("class", "legend")
        .with(key("first", "left alone"))
        .with(key("second", "under the intervention"));
    let mut charts =
        Element::new("div").set("class", "charts").set("data-intervention", &idx.to_string());
    for change in one.changes.iter().filter(|change| change.changed).take(SHOWN) {
        let mut layers = fan_layers(&one.without, change.variable, "first");
        layers.extend(fan_layers(&one.with, change.variable, "second"));
        let title = view.graph.variables[change.variable].clone();
        let (x_label, calendar) = (view.data.time_label.clone(), view.data.calendar);
        charts.push(Chart { title, x_label, calendar, layers, ..Chart::default() }.draw());
    }
    let header =
        ["variable", "largest mean difference", "standard error", "at time", "in deviations"];
    let changed = one.changes.iter().filter(|change| change.changed).take(MOST_CHANGES);
    let rows = changed.map(|change| {
        vec![
            view.graph.variables[change.variable].clone(),
            signed(change.difference),
            short(change.standard_error),
            time_text(view, change.time),
            signed(change.relative),
        ]
    });
    let n_same = one.changes.iter().filter(|change| !change.changed).count();
    let same = format!("{n_same} of {} variables do not change at all.", one.changes.len());
    let times = &one.without.times;
    let idle = one.idle.iter().map(|text| {
        let ends = [times.first(), times.last()];
        let [first, last] = ends.map(|time| time_text(view, time.copied().unwrap_or(0.0)));
        let sentence =
            format!(" does nothing: its times lie outside the simulated ones, {first} to {last}.");
        let caution = Element::new("p").set("class", "caution").set("role", "note");
        caution.with(Element::new("code").text(text)).text(&sentence)
    });
    Element::new("div")
        .with(title)
        .with_all(idle)
        .with(legend)
        .with(charts)
        .with(plain_table("changes", &header, rows.collect()))
        .with(Element::new("p").set("class", "faint").text(&same))
}
