//! Runs of several methods beside each other: what each found, how far they agree, and on what.

use std::fmt::Write as _;

use super::{STYLES, page_head, plain_table, section, share, with_names};
use crate::edges::LearnedEdges;
use crate::svg::element::Element;
use crate::svg::graph::{EdgeSelection, GraphOptions, graph_svg};
use crate::view::{AgreementView, ComparedRun};

/// Variables of a picture at most.
const MOST_DRAWN: usize = 60;
/// Rows of the table of agreed edges at most.
const MOST_LISTED: usize = 60;

/// The whole comparison as one file.
pub fn agreement_html(view: &AgreementView) -> String {
    let header = Element::new("header")
        .with(Element::new("p").set("class", "brand").text("driftgraph"))
        .with(Element::new("h1").text(&view.title));
    let body = Element::new("body")
        .with(header)
        .with(Element::new("main").markup(&agreement_sections(view)));
    let head = page_head(&view.title).with(Element::new("style").markup(STYLES));
    let page = Element::new("html").set("lang", "en").with(head).with(body);
    format!("<!doctype html>{}", page.into_svg())
}

/// The sections of a comparison, to be put into a page.
pub fn agreement_sections(view: &AgreementView) -> String {
    let sections = [runs_section(view), agreement_section(view), agreed_section(view)];
    sections.into_iter().map(Element::into_svg).collect()
}

fn runs_section(view: &AgreementView) -> Element {
    let with_truth = view.runs.iter().any(|run| run.metrics.is_some());
    let mut header = vec!["run", "method", "seconds", "edges found"];
    if with_truth {
        header.extend(["AUROC", "AUPRC", "by chance", "F1", "false"]);
    }
    let row = |run: &ComparedRun| {
        let found = run.found.map_or_else(|| "ranks only".to_owned(), |found| found.to_string());
        let seconds = format!("{:.1}", run.seconds);
        let mut cells = vec![run.name.clone(), run.method.clone(), seconds, found];
        if let (true, metrics) = (with_truth, run.metrics.as_ref()) {
            let shares = metrics
                .map_or([None; 5], |one| [one.auroc, one.auprc, one.prevalence, one.f1, one.fdr]);
            cells.extend(shares.map(share));
        }
        cells
    };
    let mut lead = format!(
        "Pairs of {} variables, a variable's effect on itself left out.",
        view.variables.len()
    );
    if !view.left_out.is_empty() {
        let _ = write!(lead, " Not in all runs, and left out: {}.", view.left_out.join(", "));
    }
    let mut place = section("runs", "What each found")
        .with(Element::new("p").text(&lead))
        .with(plain_table("runs", &header, view.runs.iter().map(row).collect()));
    if view.runs.iter().any(|run| !run.remarks.is_empty()) {
        let mut list = Element::new("ul");
        for run in &view.runs {
            for remark in &run.remarks {
                let name = Element::new("li").text(&format!("{}: ", run.name));
                list = list.with(with_names(name, remark));
            }
        }
        place = place.with(Element::new("h3").text("Remarks")).with(list);
    }
    place
}

fn agreement_section(view: &AgreementView) -> Element {
    let names: Vec<&str> = view.runs.iter().map(|run| run.name.as_str()).collect();
    let header: Vec<&str> = std::iter::once("").chain(names.iter().copied()).collect();
    let matrix = |of: &dyn Fn(usize, usize) -> Option<f64>| {
        let row = |(idx, name): (usize, &&str)| {
            let cells = (0..names.len()).map(|other| share(of(idx, other)));
            std::iter::once((*name).to_owned()).chain(cells).collect()
        };
        names.iter().enumerate().map(row).collect::<Vec<Vec<String>>>()
    };
    let ranks = matrix(&|a, b| view.rank_correlations[a][b]);
    let overlaps = matrix(&|a, b| Some(view.overlaps[a][b]));
    let lead = format!(
        "Rank correlation: 1 where two runs order all pairs alike, 0 where they have nothing in common. Overlap: the \
         share of the {} strongest edges that two runs share.",
        view.top
    );
    section("agreement", "How far they agree")
        .with(Element::new("p").text(&lead))
        .with(Element::new("h3").text("Rank correlation"))
        .with(plain_table("rank correlation", &header, ranks))
        .with(Element::new("h3").text("Overlap of the strongest edges"))
        .with(plain_table("overlap", &header, overlaps))
}

fn agreed_section(view: &AgreementView) -> Element {
    let place = section("agreed", "What most agree on");
    if view.agreed.is_empty() {
        let text = "No edge is among the strongest of more than half of the runs.";
        return place.with(Element::new("p").text(text));
    }
    let with_truth = view.agreed.iter().any(|edge| edge.known.is_some());
    let mut header = vec!["source", "target", "runs", "mean rank"];
    header.extend(with_truth.then_some("known"));
    let rows = view.agreed.iter().take(MOST_LISTED).map(|edge| {
        let mut cells = vec![
            view.variables[edge.source].clone(),
            view.variables[edge.target].clone(),
            format!("{} of {}", edge.n_runs, view.runs.len()),
            format!("{:.1}", edge.mean_rank),
        ];
        cells.extend(edge.known.map(|known| if known { "yes" } else { "no" }.to_owned()));
        cells
    });
    let table = plain_table("agreed edges", &header, rows.collect());
    let text = format!("Edges among the {} strongest of more than half of the runs.", view.top);
    let mut place = place.with(Element::new("p").text(&text));
    if let Some(picture) = picture(view) {
        let frame = Element::new("div")
            .set("class", "graph-frame")
            .set("tabindex", "0")
            .set("role", "group")
            .set("aria-label", "graph of agreed edges");
        place.push(frame.markup(&picture));
    }
    place.with(table)
}

/// The agreed edges, stronger where more runs have them.
fn picture(view: &AgreementView) -> Option<String> {
    let n = view.variables.len();
    if n > MOST_DRAWN {
        return None;
    }
    let mut shares = vec![0.0; n * n];
    for edge in &view.agreed {
        shares[edge.source * n + edge.target] = edge.n_runs as f64 / view.runs.len() as f64;
    }
    let edges = LearnedEdges {
        score_name: "share of runs",
        ..LearnedEdges::probabilities(&view.variables, &shares)
    };
    let selection = EdgeSelection::Strongest(view.agreed.len());
    graph_svg(&edges, &GraphOptions { title: "What most agree on", selection }).ok()
}
