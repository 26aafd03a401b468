//! The pages: what was uploaded and fitted, one run, and two runs side by side.

use std::fmt::Write as _;

use driftgraph_data::formats::{accepted_by_page, readable};
use driftgraph_report::view::{AgreementView, GraphView, ReportView};
use driftgraph_report::{
    agreement_sections, graph_picture, matrix_picture, nodes_picture, report_data,
    report_navigation, report_sections,
};
use driftgraph_text::{escaped, json_in_html};

use crate::entry::RunEntry;

/// Styles beside those of the report.
pub(crate) const STYLES: &str = include_str!("../assets/page.css");
/// Script of the first page.
pub(crate) const HOME_SCRIPT: &str = include_str!("../assets/home.js");
/// Script of the list of runs.
pub(crate) const RUNS_SCRIPT: &str = include_str!("../assets/runs.js");
/// Script of the page of a run.
pub(crate) const RUN_SCRIPT: &str = include_str!("../assets/run.js");

/// Up to here a graph that is being learned is drawn as one; more are a matrix.
const MOST_NODES: usize = 20;
/// Rows of the table of differences.
const MOST_DIFFERENCES: usize = 40;

fn shell(title: &str, body: &str, scripts: &[&str]) -> String {
    let scripts = scripts
        .iter()
        .fold(String::new(), |all, name| all + "<script src=\"/assets/" + name + "\"></script>\n");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{} – driftgraph</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <link rel=\"stylesheet\" href=\"/assets/report.css\">\n<link rel=\"stylesheet\" href=\"/assets/page.css\">\n\
         </head>\n<body>\n{body}\n{scripts}</body>\n</html>\n",
        escaped(title)
    )
}

fn header(title: &str) -> String {
    format!(
        "<header><p class=\"brand\"><a href=\"/\">driftgraph</a></p><h1>{}</h1></header>",
        escaped(title)
    )
}

/// The first page; its script fills it.
pub(crate) fn home() -> String {
    let home = include_str!("../assets/home.html").replace("{readable}", &readable());
    let body = header("Who drives whom?") + &home.replace("{accepted}", &accepted_by_page());
    shell("Who drives whom?", &body, &["charts.js", "home.js", "runs.js"])
}

/// The page of one run: its fit while it runs, its report when there is one.
pub(crate) fn run(entry: &RunEntry, view: Option<&ReportView>) -> String {
    let entry_data = serde_json::to_string(entry).expect("names are plain text");
    let entry_data = json_in_html(&entry_data);
    let mut body = header(&entry.name);
    if let Some(view) = view {
        body += &report_navigation(view);
    }
    let _ =
        write!(body, "<script type=\"application/json\" id=\"run-entry\">{entry_data}</script>");
    body += "<main>";
    body +=
        &include_str!("../assets/run.html").replace("<!-- forming -->", &forming(&entry.variables));
    for (place, section) in view.map(report_sections).unwrap_or_default() {
        if place == "next" {
            body += include_str!("../assets/ask.html");
        }
        body += &section;
    }
    body += "</main>";
    if let Some(view) = view {
        let _ = write!(
            body,
            "<script type=\"application/json\" id=\"report-data\">{}</script>",
            report_data(view)
        );
    }
    shell(&entry.name, &body, &["charts.js", "graph.js", "matrix.js", "run.js"])
}

/// The picture into which the script of a run draws what is learned by now.
fn forming(names: &[String]) -> String {
    match names.len() {
        0 => String::new(),
        1..=MOST_NODES => nodes_picture(names),
        _ => matrix_picture(names),
    }
}

/// Two runs: their graphs, and where their probabilities differ.
pub(crate) fn compare(
    first: &ReportView,
    second: &ReportView,
    agreement: &AgreementView,
) -> String {
    let mut other = second.graph.clone();
    if first.graph.variables == other.variables {
        // The same place for the same variable, or the eye compares nothing.
        other.positions.clone_from(&first.graph.positions);
    }
    let figure = |name: &str, graph: &GraphView| {
        format!(
            "<section aria-label=\"{0}\"><h2>{0}</h2><p>{1:.1} edges expected.</p><div class=\"graph-frame\">{2}</div></section>",
            escaped(name),
            graph.expected_edges,
            graph_picture(graph)
        )
    };
    let body = format!(
        "{}<main><div class=\"pair\">{}{}</div><section><h2>Where they differ</h2>{}</section>{}</main>",
        header("Two runs side by side"),
        figure(&first.name, &first.graph),
        figure(&second.name, &other),
        differences(first, second),
        // Of runs without a pair of variables in common there is nothing more to say.
        if agreement.variables.len() > 1 { agreement_sections(agreement) } else { String::new() }
    );
    shell("Two runs", &body, &[])
}

/// Edges by how much their probability differs, most first; edges go by the names of their ends.
///
/// Only variables that both runs have are compared: about others, one of the runs says nothing.
fn differences(first: &ReportView, second: &ReportView) -> String {
    let views = [first, second];
    let has = |view: &ReportView, name: &str| view.graph.variables.iter().any(|own| own == name);
    let mut pairs: std::collections::BTreeMap<(&str, &str), [f64; 2]> =
        std::collections::BTreeMap::new();
    for (place, view) in views.into_iter().enumerate() {
        let name = |idx: usize| view.graph.variables[idx].as_str();
        let edges =
            view.graph.edges.iter().map(|edge| (name(edge.source), name(edge.target), edge));
        let shared = |end: &str| views.iter().all(|view| has(view, end));
        for (source, target, edge) in edges.filter(|(from, to, _)| shared(from) && shared(to)) {
            pairs.entry((source, target)).or_default()[place] = edge.probability;
        }
    }
    let mut rows: Vec<_> = pairs.into_iter().collect();
    let gap = |[a, b]: [f64; 2]| (b - a).abs();
    rows.sort_by(|a, b| gap(b.1).total_cmp(&gap(a.1)));
    rows.truncate(MOST_DIFFERENCES);
    let only = |view: &ReportView, other: &ReportView| {
        let own = view.graph.variables.iter().filter(|name| !has(other, name));
        let own: Vec<String> = own.map(|name| escaped(name)).collect();
        let name = escaped(&view.name);
        let sentence = format!("<p>Only {name} has {}.</p>", own.join(", "));
        if own.is_empty() { String::new() } else { sentence }
    };
    let only = only(first, second) + &only(second, first);
    if rows.is_empty() {
        return only + "<p>The two runs have no edge between the same variables.</p>";
    }
    only + &differences_table([&first.name, &second.name], rows)
}

/// Both ends of an edge by name, and its probability in both runs.
type Difference<'a> = ((&'a str, &'a str), [f64; 2]);

fn differences_table(names: [&str; 2], rows: Vec<Difference<'_>>) -> String {
    let mut body = String::new();
    for ((source, target), [a, b]) in rows {
        let difference = format!("{:+.2}", b - a).replace('-', "−");
        let _ = write!(
            body,
            "<tr><td class=\"variable\">{}</td><td class=\"variable\">{}</td><td class=\"number\">{a:.2}</td>\
             <td class=\"number\">{b:.2}</td><td class=\"number\">{difference}</td></tr>",
            escaped(source),
            escaped(target),
        );
    }
    let [first, second] = names.map(escaped);
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"table of differences\"><table><thead><tr>\
         <th scope=\"col\">source</th><th scope=\"col\">target</th><th scope=\"col\" class=\"number\">{first}</th>\
         <th scope=\"col\" class=\"number\">{second}</th><th scope=\"col\" class=\"number\">difference</th></tr></thead>\
         <tbody>{body}</tbody></table></div>",
    )
}
