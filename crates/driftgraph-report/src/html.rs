//! One run as one HTML file: no network, no build step, readable without scripts and on paper.

mod agreement;
mod base64;
mod chart;
mod comparison;
pub(crate) mod drifting;
mod graph;
mod matrix;
mod provenance;
pub(crate) mod regimes;
mod series;
mod sweep;
mod training;

pub use self::agreement::{agreement_html, agreement_sections};
pub use self::graph::{graph_picture, nodes_picture};
pub use self::matrix::matrix_picture;
pub use self::sweep::sweep_html;

use driftgraph_text::json_in_html;

use crate::prose::{cautions, probability, sentences};
use crate::svg::element::Element;
use crate::view::{
    DataView, FitView, FutureView, GraphView, InterventionView, MethodView, ReportView,
    TrainingView,
};

/// Styles of the report and of the local page.
pub const STYLES: &str =
    concat!(include_str!("../assets/pictures.css"), include_str!("../assets/report.css"));
/// Those of the page around its pictures, and those that a picture needs to stand alone.
pub(crate) const PAGE_STYLES: &str = include_str!("../assets/report.css");
pub(crate) const PICTURE_STYLES: &str = include_str!("../assets/pictures.css");
/// Scripts of the report, in the order in which they run.
pub const SCRIPTS: [&str; 3] = [
    include_str!("../assets/charts.js"),
    include_str!("../assets/graph.js"),
    include_str!("../assets/matrix.js"),
];

/// Styles of curves, in the order of what they show.
const CURVE_CLASSES: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

/// Nothing is fetched, whatever a name may contain.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// What the scripts know of a report.
#[derive(serde::Serialize)]
struct ForScripts<'a> {
    data: &'a DataView,
    graph: &'a GraphView,
    truth: Option<&'a [[usize; 2]]>,
    fit: Option<&'a FitView>,
    training: Option<&'a TrainingView>,
    future: Option<&'a FutureView>,
    interventions: &'a [InterventionView],
}

/// The whole report, ready to be written to a file.
///
/// Everything in the view may come from strangers: names are escaped wherever they go.
pub fn report_html(view: &ReportView) -> String {
    let sections: String = report_sections(view).into_iter().map(|(_, text)| text).collect();
    let head = page_head(&view.name).with(Element::new("style").markup(STYLES));
    let header = Element::new("header")
        .with(Element::new("p").set("class", "brand").text("driftgraph"))
        .with(Element::new("h1").text(&view.name));
    let mut body = Element::new("body")
        .with(Element::new("a").set("class", "skip").set("href", "#words").text("Skip to the results"))
        .with(header)
        .with(navigation(view))
        .with(Element::new("main").markup(&sections))
        .with(Element::new("footer").text(&format!(
            "Made by driftgraph {}. An edge says that a variable enters the change of another within this model; hidden \
             common causes and samples coarser than the dynamics can produce edges that are not there.",
            env!("CARGO_PKG_VERSION")
        )));
    body.push(script_data(view));
    for script in SCRIPTS {
        body.push(Element::new("script").markup(script));
    }
    let page = Element::new("html").set("lang", "en").with(head).with(body);
    format!("<!doctype html>{}", page.into_svg())
}

/// The head of any page of its own, without styles.
fn page_head(name: &str) -> Element {
    let charset = Element::new("meta").set("charset", "utf-8");
    let policy =
        Element::new("meta").set("http-equiv", "Content-Security-Policy").set("content", POLICY);
    let viewport = Element::new("meta")
        .set("name", "viewport")
        .set("content", "width=device-width, initial-scale=1");
    let scheme = Element::new("meta").set("name", "color-scheme").set("content", "light dark");
    Element::new("head")
        .with_all([charset, policy, viewport, scheme])
        .with(Element::new("title").text(&format!("{name} – driftgraph")))
}

/// The sections of a report by their places, to be put into a page.
pub fn report_sections(view: &ReportView) -> Vec<(&'static str, String)> {
    let provenance = provenance::provenance_section(&view.provenance, &view.downloads);
    let sections = [
        ("words", Some(words_section(view))),
        ("graph", Some(graph::graph_section(view))),
        ("regimes", view.regimes.as_ref().map(|regimes| regimes::regimes_section(view, regimes))),
        ("drifting", view.drifting.as_ref().map(|own| drifting::drifting_section(view, own))),
        ("matrix", Some(matrix::matrix_section(view))),
        ("truth", view.truth.as_ref().map(comparison::comparison_section)),
        ("fit", view.fit.as_ref().map(|fit| series::fit_section(view, fit))),
        ("next", view.method.has_process.then(|| series::next_section(view))),
        ("training", view.training.as_ref().map(training::training_section)),
        ("provenance", Some(provenance)),
    ];
    let drawn = sections.into_iter().filter_map(|(place, section)| Some((place, section?)));
    drawn.map(|(place, section)| (place, section.into_svg())).collect()
}

/// What the scripts need to know, safe inside a page.
pub fn report_data(view: &ReportView) -> String {
    let data = ForScripts {
        data: &view.data,
        graph: &view.graph,
        truth: view.truth.as_ref().map(|truth| &truth.edges[..]),
        fit: view.fit.as_ref(),
        training: view.training.as_ref(),
        future: view.future.as_ref(),
        interventions: &view.interventions,
    };
    let text = serde_json::to_string(&data).expect("numbers and texts can always be written");
    json_in_html(&text)
}

fn script_data(view: &ReportView) -> Element {
    let script = Element::new("script").set("type", "application/json").set("id", "report-data");
    script.markup(&report_data(view))
}

/// The links to the parts of a report, to be put into a page.
pub fn report_navigation(view: &ReportView) -> String {
    navigation(view).into_svg()
}

fn navigation(view: &ReportView) -> Element {
    let places = [
        ("#graph", "Graph", true),
        ("#regimes", "Regimes", view.regimes.is_some()),
        ("#drifting", "Over time", view.drifting.is_some()),
        ("#matrix", "All pairs", true),
        ("#truth", "Known edges", view.truth.is_some()),
        ("#fit", "Fit", view.fit.is_some()),
        ("#next", "What next", view.method.has_process),
        ("#training", "Training", view.training.is_some()),
        ("#provenance", "Provenance", true),
    ];
    let links = places.into_iter().filter(|(.., is_there)| *is_there);
    let links = links.map(|(place, text, _)| Element::new("a").set("href", place).text(text));
    Element::new("nav").set("aria-label", "Parts of the report").with_all(links)
}

fn words_section(view: &ReportView) -> Element {
    let section = Element::new("section").set("id", "words").set("aria-label", "In words");
    let words = sentences(view).into_iter().map(|sentence| Element::new("p").text(&sentence));
    let MethodView { name, description, .. } = &view.method;
    let method = format!("Method {name}: {}.", description.trim_end_matches('.'));
    let method = Element::new("p").set("class", "faint").text(&method);
    let cautions = cautions(view);
    let section = section.with_all(words).with(method);
    if cautions.is_empty() {
        return section;
    }
    let list = cautions.iter().map(|caution| with_names(Element::new("li"), caution));
    let caution = Element::new("div").set("class", "caution").set("role", "note");
    section.with(
        caution
            .with(Element::new("strong").text("Read with care"))
            .with(Element::new("ul").with_all(list)),
    )
}

/// Words in which names and options stand between backquotes.
fn with_names(place: Element, words: &str) -> Element {
    words.split('`').enumerate().fold(place, |place, (idx, part)| {
        if idx % 2 == 1 { place.with(Element::new("code").text(part)) } else { place.text(part) }
    })
}

/// A titled part of the page.
fn section(id: &'static str, title: &str) -> Element {
    let heading = Element::new("h2").set("id", &format!("{id}-title")).text(title);
    let section = Element::new("section").set("id", id);
    section.set("aria-labelledby", &format!("{id}-title")).with(heading)
}

/// A table whose first column names its rows.
fn plain_table(name: &str, header: &[&str], rows: Vec<Vec<String>>) -> Element {
    let heads = header.iter().enumerate().map(|(idx, text)| {
        let class = if idx == 0 { "" } else { "number" };
        Element::new("th").set("scope", "col").set("class", class).text(text)
    });
    let head = Element::new("thead").with(Element::new("tr").with_all(heads));
    let rows = rows.into_iter().map(|row| {
        let cells = row.into_iter().enumerate().map(|(idx, text)| match idx {
            0 => Element::new("th").set("scope", "row").set("class", "variable").text(&text),
            _ => Element::new("td").set("class", "number").text(&text),
        });
        Element::new("tr").with_all(cells)
    });
    let table = Element::new("table").with(head).with(Element::new("tbody").with_all(rows));
    Element::new("div")
        .set("class", "wide")
        .set("tabindex", "0")
        .set("role", "group")
        .set("aria-label", &format!("table of {name}"))
        .with(table)
}

/// The score of an edge as people read it, by its share of the full scale.
pub(crate) fn value_text(graph: &GraphView, share: f64) -> String {
    graph.score.as_ref().map_or_else(|| probability(share), |score| short(share * score.full_scale))
}

/// A number with three digits, as people read it.
fn short(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e5).contains(&magnitude) {
        return format!("{value:.1e}").replace('-', "−");
    }
    let before = libm::floor(libm::log10(magnitude)) as i32 + 1;
    let text = format!("{value:.*}", (3 - before).clamp(0, 5) as usize);
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.replace('-', "−")
}

/// The same with a plus sign where it is positive.
fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", short(value)) } else { short(value) }
}

/// A share with two digits, or a dash.
fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_true_minus() {
        let shown = [0.0, 1.0, -0.5, 1234.5, 12.36, 0.001234, 1e-9].map(short);
        assert_eq!(shown, ["0", "1", "−0.5", "1234", "12.4", "0.00123", "1.0e−9"]);
        assert_eq!([2.0, -2.0, 0.0].map(signed), ["+2", "−2", "0"]);
    }
}
