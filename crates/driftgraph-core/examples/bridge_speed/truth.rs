//! How soon a fixed linear fit ranks the edges as well as it will at the end.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, ensure};
use driftgraph_core::fitted::score::{MetricOptions, SelfEdges, graph_metrics};
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::bridge::BridgeSettings;
use driftgraph_core::train::progress::Step;
use driftgraph_core::train::select::{Task, fit_ensemble};
use driftgraph_core::{EdgeScores, ObservedSeries, SeriesSet, SignatureGraph};
use serde_json::{Value, json};

use crate::clock::cpu_seconds;

/// Steps between two looks at the truth.
const LOOK_EVERY: u64 = 10;
/// Distance from the last area under the curve that counts as none.
const CLOSE: f64 = 0.01;

/// Fits the data and compares with the truth along the way, outside the time that is counted.
pub(crate) fn measure(data: &Path, truth: &Path) -> anyhow::Result<Value> {
    let data = table(data)?;
    let truth = edges(truth, data.variables())?;
    let settings = BridgeSettings::default();
    let knowledge = EdgePrior::new(data.n_variables(), 0.0);
    let auroc = |scores: Vec<f64>| -> anyhow::Result<f64> {
        let scores = EdgeScores::from_matrix(truth.n_variables(), scores)?;
        let metrics = graph_metrics(&scores, &truth, MetricOptions::new(SelfEdges::Dropped))?;
        metrics.auroc.context("the truth has edges and others")
    };
    let start = cpu_seconds();
    // Steps, what was seen along the way, and the time that looking took.
    let seen = Mutex::new((0, Vec::new(), 0.0));
    let task = Task { data: &data, knowledge: &knowledge };
    let ensemble = fit_ensemble(task, &settings, 1, &|step: &Step<'_>| {
        let (n_steps, looks, looking) = &mut *seen.lock().expect("no thread has panicked");
        *n_steps = step.number + 1;
        if n_steps.is_multiple_of(LOOK_EVERY) {
            let now = cpu_seconds();
            looks.push((now - start - *looking, auroc(step.training.edge_probabilities())));
            *looking += cpu_seconds() - now;
        }
        ControlFlow::Continue(())
    })?;
    let (n_steps, looks, looking) = seen.into_inner().expect("no thread has panicked");
    let fit = &ensemble.members()[0];
    let seconds = cpu_seconds() - start - looking;
    let looks: Vec<(f64, f64)> =
        looks.into_iter().map(|(at, found)| Ok((at, found?))).collect::<anyhow::Result<_>>()?;
    let last = looks.last().context("at least one look")?.1;
    // From then on it never leaves the neighbourhood of the end.
    let far = looks.iter().rposition(|(_, found)| (found - last).abs() > CLOSE);
    let reached = looks[far.map_or(0, |far| far + 1)].0;
    Ok(json!({
        "cpu_seconds_until_close": reached,
        "cpu_seconds": seconds,
        "steps": n_steps,
        "last_auroc": last,
        "closed_form_auroc": auroc(fit.lagged_log_odds().to_vec())?,
    }))
}

/// A plain table with columns `series`, `time` and one per variable.
fn table(path: &Path) -> anyhow::Result<SeriesSet> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().context("an empty table")?.split(',').collect();
    ensure!(head.starts_with(&["series", "time"]), "columns `series`, `time` come first");
    let variables: Vec<String> = head[2..].iter().map(|&name| name.to_owned()).collect();
    let mut rows: BTreeMap<String, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        ensure!(cells.len() == head.len(), "a row of {} cells", cells.len());
        let (times, values) = rows.entry(cells[0].to_owned()).or_default();
        times.push(cells[1].parse()?);
        for cell in &cells[2..] {
            values.push(cell.parse()?);
        }
    }
    let series = rows
        .into_iter()
        .map(|(name, (times, values))| ObservedSeries::new(name, variables.len(), times, values))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(SeriesSet::new(variables, series)?)
}

/// A plain table of edges, source and target first.
fn edges(path: &Path, variables: &[String]) -> anyhow::Result<SignatureGraph> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut graph = SignatureGraph::empty(variables.len());
    for line in text.lines().skip(1) {
        let mut places = line.split(',').map(|cell| variables.iter().position(|own| own == cell));
        let source = places.next().flatten().context("an unknown source")?;
        let target = places.next().flatten().context("an unknown target")?;
        graph.set_edge(source, target, true);
    }
    Ok(graph)
}
