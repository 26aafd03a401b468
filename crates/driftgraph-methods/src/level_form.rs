//! Levels within a row and of the row before: links without direction and lagged effects, with probabilities.

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::edges::{Direction, EdgeKind, LearnedEdge, mark_mirrored};
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::levels::{LevelFit, LevelSettings, fit_levels};
use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_data::record::TrainingRecord;

use crate::FitPlan;
use crate::bridge::with_knowledge;
use crate::doubts::{aloud, doubts};
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Takes};
use crate::settings::row;
use crate::settled::SettledRows;

/// Probability from which on a part carries an edge.
const CARRIES: f64 = 0.5;

/// y_k (I - B) = y_{k-1} A + c + e with sparse A and B and heavy-tailed e, by Gibbs chains.
///
/// For rows that are too far apart for arrows: what moves together within a row is a link, and B has no direction that
/// could be trusted. What a variable keeps of itself is part of the model, and given as certain. Probabilities are those of chains whose evidence counts as far as the errors look like noise.
pub(crate) struct LevelForm;

#[rustfmt::skip]
const SETTINGS: [Setting; 2] = [
    row("seed", "0", Range::Any, "decides all draws"),
    row("sweeps", "400", Range::Number { min: 8.0, max: 1e6, above: false }, "sweeps of each of the four chains; a quarter of them is not counted"),
];

impl Method for LevelForm {
    fn name(&self) -> &'static str {
        "level-form"
    }

    fn description(&self) -> &'static str {
        "links within a row, and effects of the row before, from levels: for rows too far apart to see directions"
    }

    fn settings(&self) -> Vec<Setting> {
        SETTINGS.to_vec()
    }

    fn takes(&self) -> Takes {
        Takes {
            irregular_times: Handling::Instead(
                "takes the row before as the past where the gap is the usual one, within a factor of 1.5, and other rows by themselves",
            ),
            ..Takes::ALL
        }
    }

    /// Four chains: levels with their past, and sums of squares for each target.
    fn predicted_bytes(&self, _plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        let (n, n_rows) = (data.n_variables(), data.n_rows());
        let chain = 8 * (n_rows * 9 * n + 4 * n * n * n + 20 * n * n);
        let at_once = rayon::current_num_threads().min(2);
        Some((2 * chain + at_once * chain + 8 * 3 * n * n_rows) as u64)
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let settings: Settings = task.plan.typed()?;
        let nothing = EdgePrior::new(task.data.n_variables(), 0.0);
        let knowledge = with_knowledge(nothing, &task.plan.asked().edges, task.data)?;
        let chosen = LevelSettings { n_sweeps: settings.sweeps, seed: settings.seed, n_draws: 0 };
        let fit = fit_levels(task.data, &knowledge, chosen, task.progress)?;
        let fit = fit.ok_or(MethodError::Stopped)?;
        let edges = edges(&fit, task.data.n_variables());
        let doubts = doubts(&fit.adequacy, &edges, task.data.n_variables());
        let mut learned = Learned::edges(edges);
        learned.remarks = remarks(&fit, task.data);
        learned.remarks.extend(aloud(&doubts));
        learned.training = TrainingRecord {
            seed: Some(settings.seed),
            adequacy: Some(fit.adequacy),
            doubts,
            ..TrainingRecord::default()
        };
        Ok(learned)
    }
}

/// What was asked for, as files have it.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
struct Settings {
    seed: u64,
    sweeps: u64,
}

/// All pairs of variables, the most probable first.
fn edges(fit: &LevelFit, n: usize) -> Vec<LearnedEdge> {
    let (lagged, links) = (&fit.lagged, &fit.links);
    let kind = |idx: usize| {
        let (past, link) = (lagged.probabilities[idx], links.probabilities[idx]);
        match (past >= CARRIES, link >= CARRIES) {
            (true, true) => EdgeKind::Both,
            (false, true) => EdgeKind::WithinStep,
            (false, false) if link > past => EdgeKind::WithinStep,
            (_, false) => EdgeKind::Lagged,
        }
    };
    let finite = fit.ranks.iter().copied().filter(|score| score.is_finite());
    let first = 1.0 + finite.fold(0.0, f64::max);
    // What a variable keeps of itself has no gate, unless it was forbidden or the variable is left out.
    let is_own = |idx: usize| idx / n == idx % n && lagged.log_odds[idx] > f64::NEG_INFINITY;
    let score = |idx: usize| if is_own(idx) { first } else { fit.ranks[idx] };
    let edge = |idx: usize| {
        let (source, target) = (idx / n, idx % n);
        let past = if is_own(idx) { 1.0 } else { lagged.probabilities[idx] };
        let link = links.probabilities[idx];
        let own = kind(idx);
        let is_link = own == EdgeKind::WithinStep && source != target;
        LearnedEdge {
            source,
            target,
            probability: Some(1.0 - (1.0 - past) * (1.0 - link)),
            score: score(idx),
            probability_lagged: Some(past),
            kind: Some(if is_own(idx) { EdgeKind::Lagged } else { own }),
            direction: if is_link { Direction::Either } else { Direction::Forward },
            probability_directed: Some(past.max(0.5 * link)),
            ..LearnedEdge::default()
        }
    };
    let mut edges: Vec<LearnedEdge> = (0..n * n).map(edge).collect();
    edges.sort_by(|a, b| {
        let probability = |edge: &LearnedEdge| edge.probability.unwrap_or(0.0);
        probability(b).total_cmp(&probability(a)).then(b.score.total_cmp(&a.score))
    });
    // Of two equal rows the better supported one stays.
    mark_mirrored(&mut edges);
    edges
}

fn remarks(fit: &LevelFit, data: &SeriesSet) -> Vec<String> {
    let mut remarks: Vec<String> = SettledRows::of(data).remark.into_iter().collect();
    if 2 * fit.n_with_past < fit.n_rows {
        remarks.push(format!(
            "{} of {} rows have a row before them at the usual gap: the others say what moves together, and nothing of the past",
            fit.n_with_past, fit.n_rows
        ));
    }
    remarks.push(
        "links within a row have no direction: `kind` tells them from lagged edges".to_owned(),
    );
    remarks
}
