//! Whether edge probabilities mean what they say where the model is wrong: a row per family of systems and method.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use driftgraph_core::fitted::calibration::{N_BINS, Reliability};
use driftgraph_report::{ReliabilityCurve, ReliabilityPoint, reliability_svg};
use serde::Serialize;

use super::cell::Cell;
use super::plan::Plan;
use super::table::Spread;

/// The row that averages all families.
const MEAN: &str = "mean of families";

/// All systems of one family by one method; self edges are left out, since all are there and easily found.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    family: String,
    method: String,
    n_systems: usize,
    n_pairs: usize,
    ece: Option<f64>,
    brier: Option<f64>,
    log_loss: Option<f64>,
    /// Share of the absent pairs with a probability above 0.9.
    absent_above: Option<f64>,
    /// Share of the pairs above 0.9 that are edges.
    right_above: Option<f64>,
    /// Mean over systems.
    auroc: Option<f64>,
    auprc: Option<f64>,
    cpu_seconds: Option<f64>,
    chosen: String,
}

/// A row for every family and method, then the means over families.
pub(super) fn rows(plan: &Plan, cells: &[Cell]) -> Vec<Row> {
    let mut rows = Vec::new();
    for variant in &plan.variants {
        for method in &plan.methods {
            let is_own = |cell: &&Cell| cell.variant == variant.name && cell.method == *method;
            let own: Vec<&Cell> = cells.iter().filter(is_own).collect();
            if !own.is_empty() {
                rows.push(Row::new(&variant.name, method, &own));
            }
        }
    }
    if plan.variants.len() > 1 {
        let means: Vec<Row> = plan.methods.iter().filter_map(|name| mean(name, &rows)).collect();
        rows.extend(means);
    }
    rows
}

impl Row {
    fn new(family: &str, method: &str, cells: &[&Cell]) -> Self {
        let pairs = pooled(cells);
        let top = pairs.bins[N_BINS - 1];
        let n_absent = pairs.n_pairs() - pairs.n_edges();
        let share = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
        let metric =
            |of: &dyn Fn(&Cell) -> Option<f64>| average(cells.iter().filter_map(|cell| of(cell)));
        let mut chosen: BTreeMap<&str, usize> = BTreeMap::new();
        for name in cells.iter().filter_map(|cell| cell.chosen.as_deref()) {
            *chosen.entry(name).or_default() += 1;
        }
        let chosen: Vec<String> = chosen.iter().map(|(name, n)| format!("{name} ({n})")).collect();
        Self {
            family: family.to_owned(),
            method: method.to_owned(),
            n_systems: cells.len(),
            n_pairs: pairs.n_pairs(),
            ece: pairs.calibration_error(),
            brier: pairs.brier(),
            log_loss: pairs.log_loss(),
            absent_above: share(top.n_pairs - top.n_edges, n_absent),
            right_above: share(top.n_edges, top.n_pairs),
            auroc: metric(&|cell| cell.without_self_edges.metrics.auroc),
            auprc: metric(&|cell| cell.without_self_edges.metrics.auprc),
            cpu_seconds: metric(&|cell| cell.cost.cpu_seconds),
            chosen: chosen.join(", "),
        }
    }

    /// The figures of a row, by their names.
    fn figures(&self) -> [(&'static str, Option<f64>); 8] {
        [
            ("ECE", self.ece),
            ("Brier score", self.brier),
            ("log loss", self.log_loss),
            ("absent pairs above 0.9", self.absent_above),
            ("right above 0.9", self.right_above),
            ("AUROC", self.auroc),
            ("AUPRC", self.auprc),
            ("CPU s", self.cpu_seconds),
        ]
    }
}

/// Every family counts the same, however many pairs it has.
fn mean(method: &str, rows: &[Row]) -> Option<Row> {
    let own: Vec<&Row> = rows.iter().filter(|row| row.method == method).collect();
    let metric = |of: &dyn Fn(&Row) -> Option<f64>| average(own.iter().filter_map(|row| of(row)));
    (!own.is_empty()).then(|| Row {
        family: MEAN.to_owned(),
        method: method.to_owned(),
        n_systems: own.iter().map(|row| row.n_systems).sum(),
        n_pairs: own.iter().map(|row| row.n_pairs).sum(),
        ece: metric(&|row| row.ece),
        brier: metric(&|row| row.brier),
        log_loss: metric(&|row| row.log_loss),
        absent_above: metric(&|row| row.absent_above),
        right_above: metric(&|row| row.right_above),
        auroc: metric(&|row| row.auroc),
        auprc: metric(&|row| row.auprc),
        cpu_seconds: metric(&|row| row.cpu_seconds),
        chosen: String::new(),
    })
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    Spread::new(&values.collect::<Vec<_>>()).map(|spread| spread.mean)
}

/// The pairs of several systems together, without self edges.
fn pooled(cells: &[&Cell]) -> Reliability {
    let mut sum = Reliability::default();
    for reliability in cells.iter().filter_map(|cell| cell.without_self_edges.reliability.as_ref())
    {
        sum.add(reliability);
    }
    sum
}

/// The table for readers.
pub(super) fn markdown(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let names = first.figures().map(|(name, _)| name).join(" | ");
    let rules = first.figures().map(|_| "---:").join(" | ");
    let mut text = format!(
        "| family | method | systems | {names} | chosen |\n| --- | --- | ---: | {rules} | --- |\n"
    );
    for row in rows {
        let figures = row.figures().map(|(name, value)| match (name, value) {
            (_, None) => "-".to_owned(),
            ("CPU s", Some(value)) => format!("{value:.1}"),
            (_, Some(value)) => format!("{value:.3}"),
        });
        let figures = figures.join(" | ");
        let Row { family, method, n_systems, chosen, .. } = row;
        let _ = writeln!(text, "| {family} | `{method}` | {n_systems} | {figures} | {chosen} |");
    }
    text
}

/// The table for programs.
pub(super) fn csv(rows: &[Row]) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// For each method the bins of all families together.
pub(super) fn picture(plan: &Plan, cells: &[Cell]) -> anyhow::Result<String> {
    let curve = |method: &'_ String| {
        let own: Vec<&Cell> = cells.iter().filter(|cell| cell.method == *method).collect();
        let point = |bin: &driftgraph_core::fitted::calibration::ReliabilityBin| {
            Some(ReliabilityPoint {
                predicted: bin.predicted()?,
                observed: bin.observed()?,
                count: bin.n_pairs,
            })
        };
        pooled(&own).bins.iter().filter_map(point).collect::<Vec<_>>()
    };
    let curves: Vec<ReliabilityCurve<'_>> = (plan.methods.iter())
        .map(|name| ReliabilityCurve { name, points: curve(name) })
        .filter(|curve| !curve.points.is_empty())
        .collect();
    Ok(reliability_svg(&curves, "How often edges of a probability are there, all families")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(family: &str, ece: f64) -> Row {
        Row {
            family: family.to_owned(),
            method: "bridge".to_owned(),
            n_systems: 2,
            n_pairs: 100,
            ece: Some(ece),
            brier: Some(0.1),
            log_loss: Some(0.3),
            absent_above: Some(0.01),
            right_above: None,
            auroc: Some(0.9),
            auprc: Some(0.8),
            cpu_seconds: Some(3.0),
            chosen: "linear (2)".to_owned(),
        }
    }

    #[test]
    fn every_family_counts_the_same_in_the_mean_and_what_is_undefined_is_left_out() {
        let rows = [row("linear", 0.02), Row { right_above: Some(0.7), ..row("hill", 0.08) }];
        let mean = mean("bridge", &rows).unwrap();
        assert!((mean.ece.unwrap() - 0.05).abs() < 1e-12);
        assert_eq!((mean.right_above, mean.n_systems), (Some(0.7), 4));
        assert!(super::mean("ridge", &rows).is_none());
    }

    #[test]
    fn tables_say_what_is_undefined() {
        let rows = [row("linear", 0.02)];
        let text = markdown(&rows);
        assert!(text.ends_with(
            "| linear | `bridge` | 2 | 0.020 | 0.100 | 0.300 | 0.010 | - | 0.900 | 0.800 | 3.0 | linear (2) |\n"
        ));
        let text = csv(&rows).unwrap();
        assert!(text.ends_with("linear,bridge,2,100,0.02,0.1,0.3,0.01,,0.9,0.8,3.0,linear (2)\n"));
    }
}
