//! Results of all cells as a table: mean and deviation over seeds, the paper's figures beside them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use driftgraph_core::fitted::calibration::Reliability;
use driftgraph_core::fitted::score::SelfEdges;
use serde::Serialize;

use super::cell::Cell;
use super::plan::{ORACLE, Plan};
use super::tables::{Refusal, Results};
use super::variants::{PaperFigure, Variant, paper_mean};

/// The metrics of a table, in its order.
const METRICS: [&str; 9] =
    ["auroc", "auprc", "prevalence", "f1", "tpr", "fdr", "calibration_error", "brier", "log_loss"];

type Values = [Option<f64>; METRICS.len()];

/// One variant and method under one convention on self edges.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    pub(super) data: String,
    pub(super) method: String,
    pub(super) self_edges: SelfEdges,
    /// Whether the paper counts self edges in this way.
    pub(super) as_in_the_paper: bool,
    /// Seeds finished.
    pub(super) n_seeds: usize,
    /// Seeds asked for.
    pub(super) n_planned: u64,
    /// By the names of the metrics.
    pub(super) metrics: BTreeMap<&'static str, Option<Spread>>,
    pub(super) paper: Option<PaperFigure>,
    pub(super) cpu_seconds: Option<f64>,
    pub(super) note: String,
}

/// A metric over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) mean: f64,
    /// Standard deviation, with n - 1; undefined for one seed.
    pub(super) deviation: Option<f64>,
    /// Seeds for which the metric is defined.
    pub(super) n: usize,
}

impl Spread {
    pub(super) fn new(values: &[f64]) -> Option<Self> {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (n > 1).then(|| (squares / (n - 1) as f64).sqrt());
        (n > 0).then_some(Self { mean, deviation, n })
    }
}

/// All rows: every variant, then the means over groups of variants; both conventions each.
pub(super) fn rows(plan: &Plan, results: &Results) -> Vec<Row> {
    let conventions = match plan.self_edges {
        SelfEdges::Kept => [SelfEdges::Kept, SelfEdges::Dropped],
        SelfEdges::Dropped => [SelfEdges::Dropped, SelfEdges::Kept],
    };
    let mut rows = Vec::new();
    let mut groups: Vec<(&str, Vec<&Variant>)> = Vec::new();
    for variant in &plan.variants {
        let parts = [variant];
        rows.extend(rows_of(plan, results, &variant.name, &parts, conventions));
        if let Some(group) = variant.group {
            match groups.iter_mut().find(|(name, _)| *name == group) {
                Some((_, members)) => members.push(variant),
                None => groups.push((group, vec![variant])),
            }
        }
    }
    for (name, members) in groups {
        rows.extend(rows_of(plan, results, name, &members, conventions));
    }
    rows
}

fn rows_of(
    plan: &Plan,
    results: &Results,
    name: &str,
    parts: &[&Variant],
    conventions: [SelfEdges; 2],
) -> Vec<Row> {
    let mut rows = Vec::new();
    for method in &plan.methods {
        // A seed counts where every part has it.
        let planned = plan.seeds(parts[0], method);
        let n_planned = planned.end - planned.start;
        let find = |variant: &Variant, seed: u64| {
            results.cells.iter().find(|cell| cell.is(&variant.name, method, seed))
        };
        let complete = |seed: u64| parts.iter().map(|part| find(part, seed)).collect();
        let seeds: Vec<Vec<&Cell>> = planned.filter_map(complete).collect();
        let refusals: Vec<&Refusal> = (results.refusals.iter())
            .filter(|one| parts.iter().any(|part| one.is(&part.name, method)))
            .collect();
        if seeds.is_empty() && refusals.is_empty() {
            continue;
        }
        let paper = if let [only] = parts { only.figure(method) } else { paper_mean(name, method) };
        for self_edges in conventions {
            let as_in_the_paper = self_edges == plan.self_edges;
            rows.push(Row {
                data: name.to_owned(),
                method: method.clone(),
                self_edges,
                as_in_the_paper,
                n_seeds: seeds.len(),
                n_planned,
                metrics: metrics(&seeds, self_edges),
                paper: paper.filter(|_| as_in_the_paper),
                cpu_seconds: mean_cpu_seconds(&seeds),
                note: note(method, &seeds, &refusals),
            });
        }
    }
    rows
}

/// Per seed the mean over parts, then mean and deviation over the seeds where it is defined.
fn metrics(seeds: &[Vec<&Cell>], self_edges: SelfEdges) -> BTreeMap<&'static str, Option<Spread>> {
    let per_seed: Vec<Values> = seeds.iter().map(|parts| mean_values(parts, self_edges)).collect();
    let spread = |idx: usize| {
        let defined: Vec<f64> = per_seed.iter().filter_map(|values| values[idx]).collect();
        Spread::new(&defined)
    };
    METRICS.iter().enumerate().map(|(idx, name)| (*name, spread(idx))).collect()
}

fn mean_values(parts: &[&Cell], self_edges: SelfEdges) -> Values {
    let all: Vec<Values> = parts.iter().map(|cell| values(cell, self_edges)).collect();
    std::array::from_fn(|idx| {
        let sum: Option<f64> = all.iter().map(|values| values[idx]).sum();
        sum.map(|sum| sum / all.len() as f64)
    })
}

fn values(cell: &Cell, self_edges: SelfEdges) -> Values {
    let scores = cell.scores(self_edges);
    let (metrics, reliability) = (&scores.metrics, scores.reliability.as_ref());
    [
        metrics.auroc,
        metrics.auprc,
        metrics.prevalence,
        metrics.f1,
        metrics.tpr,
        metrics.fdr,
        reliability.and_then(Reliability::calibration_error),
        reliability.and_then(Reliability::brier),
        reliability.and_then(Reliability::log_loss),
    ]
}

fn mean_cpu_seconds(seeds: &[Vec<&Cell>]) -> Option<f64> {
    let all: Option<Vec<f64>> = seeds.iter().flatten().map(|cell| cell.cost.cpu_seconds).collect();
    all.and_then(|all| Spread::new(&all)).map(|spread| spread.mean)
}

/// What was chosen, how far training came, or why there is nothing.
fn note(method: &str, seeds: &[Vec<&Cell>], refusals: &[&Refusal]) -> String {
    let cells = || seeds.iter().flatten();
    let mut chosen: BTreeMap<&str, usize> = BTreeMap::new();
    for name in cells().filter_map(|cell| cell.chosen.as_deref()) {
        *chosen.entry(name).or_default() += 1;
    }
    let mut notes = Vec::new();
    if !chosen.is_empty() {
        let names: Vec<String> = chosen.iter().map(|(name, n)| format!("{name} ({n})")).collect();
        notes.push(names.join(", "));
    }
    if method == ORACLE {
        notes.push("by the truth, for information only".to_owned());
    }
    let epochs: Vec<_> = cells().filter_map(|cell| cell.epochs).collect();
    if let (Some(least), Some(most)) =
        (epochs.iter().map(|e| e.reached).min(), epochs.iter().map(|e| e.reached).max())
    {
        let reached = if least == most { least.to_string() } else { format!("{least} to {most}") };
        notes.push(format!("{} {reached} of {}", epochs[0].unit, epochs[0].planned));
    }
    let n_diverged = epochs.iter().filter(|epochs| epochs.diverged).count();
    if n_diverged > 0 {
        notes.push(format!("{n_diverged} diverged"));
    }
    let mut reasons: Vec<&str> = refusals.iter().map(|one| one.reason.as_str()).collect();
    reasons.dedup();
    notes.extend(reasons.into_iter().map(str::to_owned));
    notes.join("; ")
}

/// The table for readers: the paper's convention, and the AUROC under the other.
pub(super) fn markdown(rows: &[Row], self_edges: SelfEdges) -> String {
    let (own, other) = match self_edges {
        SelfEdges::Dropped => ("dropped", "kept"),
        SelfEdges::Kept => ("kept", "dropped"),
    };
    let mut text = format!(
        "Self edges are {own}, as in the paper; one column has the AUROC with self edges {other}.\n\n\
         | data | method | seeds | AUROC | paper | AUPRC | prevalence | F1 | TPR | FDR | AUROC, self edges {other} | CPU s | note |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n"
    );
    for pair in rows.chunks(2) {
        let (row, other) = (&pair[0], &pair[pair.len() - 1]);
        let cell = |name: &str| shown(row.metrics.get(name).copied().flatten(), row.n_seeds);
        let prevalence = row.metrics.get("prevalence").copied().flatten();
        let cells = [
            row.data.clone(),
            row.method.clone(),
            seeds(row),
            cell("auroc"),
            row.paper.map_or("-".to_owned(), |paper| {
                format!("{:.3} ± {:.3}", paper.auroc, paper.deviation)
            }),
            cell("auprc"),
            prevalence.map_or("-".to_owned(), |spread| format!("{:.3}", spread.mean)),
            cell("f1"),
            cell("tpr"),
            cell("fdr"),
            shown(other.metrics.get("auroc").copied().flatten(), row.n_seeds),
            row.cpu_seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.1}")),
            row.note.clone(),
        ];
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

fn seeds(row: &Row) -> String {
    if row.n_seeds as u64 == row.n_planned {
        row.n_seeds.to_string()
    } else {
        format!("{} of {}", row.n_seeds, row.n_planned)
    }
}

pub(super) fn shown(spread: Option<Spread>, n_seeds: usize) -> String {
    let Some(Spread { mean, deviation, n }) = spread else { return "-".to_owned() };
    let deviation = deviation.map_or(String::new(), |deviation| format!(" ± {deviation:.3}"));
    let defined = if n < n_seeds { format!(" (defined for {n})") } else { String::new() };
    format!("{mean:.3}{deviation}{defined}")
}

/// The table for programs: both conventions, every digit.
pub(super) fn csv(rows: &[Row]) -> anyhow::Result<String> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<String> =
        ["data", "method", "self_edges", "as_in_the_paper", "seeds"].map(String::from).to_vec();
    for name in METRICS {
        header.extend([format!("{name}_mean"), format!("{name}_sd")]);
    }
    header.extend(["paper_auroc", "paper_auroc_sd", "cpu_seconds", "note"].map(String::from));
    table.write_record(&header)?;
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for row in rows {
        let self_edges = match row.self_edges {
            SelfEdges::Kept => "kept",
            SelfEdges::Dropped => "dropped",
        };
        let mut cells = vec![row.data.clone(), row.method.clone(), self_edges.to_owned()];
        cells.extend([row.as_in_the_paper.to_string(), row.n_seeds.to_string()]);
        for name in METRICS {
            let spread = row.metrics.get(name).copied().flatten();
            cells.push(number(spread.map(|spread| spread.mean)));
            cells.push(number(spread.and_then(|spread| spread.deviation)));
        }
        cells.push(number(row.paper.map(|paper| paper.auroc)));
        cells.push(number(row.paper.map(|paper| paper.deviation)));
        cells.extend([number(row.cpu_seconds), row.note.clone()]);
        table.write_record(&cells)?;
    }
    Ok(String::from_utf8(table.into_inner()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_have_the_deviation_of_a_sample() {
        // 0.6, 0.7, 0.8: mean 0.7, squares 0.01 + 0 + 0.01, over 2.
        let spread = Spread::new(&[0.6, 0.7, 0.8]).unwrap();
        // Decimals rounded once each.
        assert!((spread.mean - 0.7).abs() < 1e-15);
        assert!((spread.deviation.unwrap() - 0.1).abs() < 1e-15);
        assert_eq!(shown(Some(spread), 3), "0.700 ± 0.100");
        assert_eq!(shown(Some(spread), 5), "0.700 ± 0.100 (defined for 3)");
        assert_eq!(Spread::new(&[0.5]).unwrap().deviation, None);
        assert_eq!(Spread::new(&[]), None);
    }
}
