//! The comparison with known edges: curves and metrics, simple methods beside them.

use driftgraph_text::count;

use super::chart::{Chart, Layer};
use super::{CURVE_CLASSES, plain_table, section, share};
use crate::svg::element::Element;
use crate::view::{MetricsView, RankingView, TruthView};

/// The section, where there is a truth.
pub(super) fn comparison_section(truth: &TruthView) -> Element {
    let lead = format!(
        "{} known. Curves count pairs of different variables only; 1 is perfect, the dashed line is chance.",
        count(truth.edges.len(), "edge is", "edges are")
    );
    let mut charts = Element::new("div").set("class", "charts");
    charts.push(chart(
        "True against false positive rate",
        "false positive rate",
        truth,
        |method| &method.roc,
    ));
    charts.push(chart("Precision against recall", "recall", truth, |method| {
        &method.precision_recall
    }));
    section("truth", "Against known edges")
        .with(Element::new("p").text(&lead))
        .with(legend(truth))
        .with(charts)
        .with(table(truth))
}

fn chart(
    title: &str,
    x_label: &str,
    truth: &TruthView,
    points: fn(&RankingView) -> &Vec<[f64; 2]>,
) -> Element {
    let prevalence = truth.methods.first().and_then(|method| method.without_self_edges.prevalence);
    let chance = if x_label == "recall" {
        prevalence.map_or_else(Vec::new, |share| vec![(0.0, share), (1.0, share)])
    } else {
        vec![(0.0, 0.0), (1.0, 1.0)]
    };
    let chance = Layer::Line { class: "chance", points: chance };
    let curves = truth.methods.iter().zip(CURVE_CLASSES).rev().map(|(method, class)| {
        let points = points(method).iter().map(|&[x, y]| (x, y)).collect();
        Layer::Line { class, points }
    });
    Chart {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        layers: std::iter::once(chance).chain(curves).collect(),
        unit_square: true,
        mark: None,
        calendar: None,
    }
    .draw()
}

fn legend(truth: &TruthView) -> Element {
    let entries = truth.methods.iter().zip(CURVE_CLASSES).map(|(method, class)| {
        let key = Element::new("span").set("class", &format!("key {class}"));
        Element::new("span").with(key).text(&method.name)
    });
    Element::new("p").set("class", "legend").with_all(entries)
}

fn table(truth: &TruthView) -> Element {
    let header =
        ["method", "self edges", "AUROC", "AUPRC", "by chance", "F1", "found", "false", "SHD"];
    // Where no method says where to cut, the columns about a cut would be empty.
    let has_cut = truth.methods.iter().any(|method| method.without_self_edges.tpr.is_some());
    let n_columns = if has_cut { header.len() } else { 5 };
    let row = |method: &RankingView, which: &str, metrics: &MetricsView| {
        let mut cells = vec![method.name.clone(), which.to_owned()];
        let shares = [metrics.auroc, metrics.auprc, metrics.prevalence, metrics.f1];
        cells.extend(shares.map(share));
        cells.extend([metrics.tpr, metrics.fdr].map(share));
        cells.push(metrics.shd.map_or_else(|| "–".to_owned(), |distance| distance.to_string()));
        cells.truncate(n_columns);
        cells
    };
    let rows = truth.methods.iter().flat_map(|method| {
        [
            row(method, "left out", &method.without_self_edges),
            row(method, "counted", &method.with_self_edges),
        ]
    });
    let mut note = "AUROC: chance that a known edge outranks another pair. AUPRC: average precision; by chance it \
                    would be the share of pairs that are edges."
        .to_owned();
    if has_cut {
        note.push_str(
            " F1, found (of the known edges), false (of the found ones) and SHD (pairs that differ) are at a \
             probability of 0.5.",
        );
    }
    Element::new("div")
        .with(plain_table("metrics", &header[..n_columns], rows.collect()))
        .with(Element::new("p").set("class", "faint").text(&note))
}
