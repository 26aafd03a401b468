//! `score`: how well scored edges match the true ones.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use driftgraph_core::fitted::score::{GraphMetrics, MetricOptions, SelfEdges, graph_metrics};
use driftgraph_core::{CoreError, EdgeScores, SignatureGraph};
use driftgraph_data::edges::{EdgeTable, read_edges};
use driftgraph_text::count;

use crate::args::ScoreArgs;
use crate::commands::table;
use crate::output::short;
use crate::printer;

pub(crate) fn run(args: &ScoreArgs) -> anyhow::Result<ExitCode> {
    let orientation = args.orientation.map(Into::into);
    let edges = read_edges(&edges_file(&args.edges)?, orientation)?;
    let truth = read_edges(&args.truth, orientation)?;
    let variables = all_variables(&edges, &truth)?;
    tell_missing_pairs(&edges, variables.len());
    let (scores, ranking) = (edges.scores(&variables)?, edges.ranking(&variables)?);
    let cannot = || format!("cannot use the truth in `{}`", args.truth.display());
    let graph = truth.graph(&variables).with_context(cannot)?;
    let metrics = |self_edges: SelfEdges| {
        let options = MetricOptions {
            threshold: args.threshold,
            k: args.k,
            ranking_only: !are_probabilities(&edges),
            ..MetricOptions::new(self_edges)
        };
        ranked_metrics(&scores, &ranking, &graph, options)
    };
    if args.json {
        let self_edges = args.self_edges.map_or(SelfEdges::Kept, Into::into);
        printer::data(&serde_json::to_string_pretty(&metrics(self_edges)?)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let columns = match args.self_edges {
        Some(one) => vec![metrics(one.into())?],
        None => vec![metrics(SelfEdges::Kept)?, metrics(SelfEdges::Dropped)?],
    };
    printer::data(&describe(&columns))?;
    Ok(ExitCode::SUCCESS)
}

/// Metrics of scores (or probabilities) whose order is better told by another column.
pub(crate) fn ranked_metrics(
    scores: &EdgeScores,
    ranking: &EdgeScores,
    truth: &SignatureGraph,
    options: MetricOptions,
) -> Result<GraphMetrics, CoreError> {
    let ranked = graph_metrics(ranking, truth, options)?;
    // Where probabilities round to 1, the scores beside them still tell edges apart.
    Ok(GraphMetrics {
        auroc: ranked.auroc,
        auprc: ranked.auprc,
        precision_at_k: ranked.precision_at_k,
        ..graph_metrics(scores, truth, options)?
    })
}

/// A run folder holds its edges under a fixed name.
fn edges_file(path: &Path) -> anyhow::Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let edges = path.join("edges.csv");
    anyhow::ensure!(edges.is_file(), "the folder `{}` holds no edges.csv", path.display());
    Ok(edges)
}

/// Numbers called probability are; bare edges are certain; other scores only rank.
fn are_probabilities(edges: &EdgeTable) -> bool {
    edges.score_name.as_deref().is_none_or(|name| name == "probability")
}

/// The variables of the edges, then those that only the truth names.
fn all_variables(edges: &EdgeTable, truth: &EdgeTable) -> anyhow::Result<Vec<String>> {
    let known: HashSet<&String> = edges.variables.iter().collect();
    let unknown: Vec<&String> =
        truth.variables.iter().filter(|name| !known.contains(name)).collect();
    if let Some(first) = unknown.first() {
        anyhow::ensure!(
            unknown.len() < truth.variables.len() || edges.is_empty(),
            "the edges and the truth have no variable in common; the truth names `{first}`, the \
             edges name `{}`",
            edges.variables.first().map_or("", String::as_str)
        );
        printer::note(&format!(
            "note: the scored edges lack {} of the truth, such as `{first}`",
            count(unknown.len(), "variable", "variables")
        ));
    }
    Ok(edges.variables.iter().chain(unknown).cloned().collect())
}

fn tell_missing_pairs(edges: &EdgeTable, n_variables: usize) {
    let n_missing = n_variables * n_variables - edges.len();
    if n_missing > 0 {
        printer::note(&format!(
            "note: {n_missing} of {} pairs of variables are not listed and rank last",
            n_variables * n_variables
        ));
    }
}

type Value = fn(&GraphMetrics) -> Option<f64>;

/// The metrics side by side, one row each.
pub(crate) fn describe(columns: &[GraphMetrics]) -> String {
    let mut header = vec!["metric"];
    header.extend(columns.iter().map(|metrics| match metrics.self_edges {
        SelfEdges::Kept => "with self edges",
        SelfEdges::Dropped => "without",
    }));
    let mut table = table(&header);
    let rows: [(&str, Value); 13] = [
        ("AUROC", |m| m.auroc),
        ("AUPRC", |m| m.auprc),
        ("prevalence", |m| m.prevalence),
        ("threshold", |m| m.threshold),
        ("F1", |m| m.f1),
        ("TPR", |m| m.tpr),
        ("FDR", |m| m.fdr),
        ("precision", |m| m.precision),
        ("SHD (a reversal counts 2)", |m| m.shd.map(|distance| distance as f64)),
        ("precision at k", |m| m.precision_at_k),
        ("Brier score", |m| m.brier),
        ("calibration error", |m| m.calibration_error),
        ("true edges", |m| Some(m.n_edges as f64)),
    ];
    for (name, value) in rows {
        let cells =
            columns.iter().map(|metrics| value(metrics).map_or("undefined".to_owned(), short));
        table.add_row(std::iter::once(name.to_owned()).chain(cells));
    }
    table.trim_fmt()
}
