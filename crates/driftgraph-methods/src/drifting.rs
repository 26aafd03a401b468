//! A linear process whose effects move in time.

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::edges::{EdgeKind, LearnedEdge, Sign};
use driftgraph_core::train::linear::drifting::{DriftError, DriftFit, DriftingEdge, fit_drifting};
use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_data::drifting::{DriftingEdgeRecord, DriftingRecord};
use driftgraph_data::record::{MethodRequest, TrainingRecord};
use driftgraph_text::count;
use serde_json::{Map, Value};

use crate::FitPlan;
use crate::beside_bridge::{self, bytes_beside};
use crate::bridge::BridgePlan;
use crate::doubts::{aloud, doubts};
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Takes};
use crate::plan::PlanError;
use crate::settings::row;

/// The name of the method, and of the setting that chooses it.
const NAME: &str = "drifting";
/// Times of a course that a record keeps at most.
const MOST_TIMES: usize = 60;
/// Edges whose courses are kept: those of at least this probability, and so many at most.
const KEPT_FROM: f64 = 0.1;
const MOST_KEPT: usize = 400;
/// An edge is more likely there than not.
const PRESENT: f64 = 0.5;

/// Linear dynamics whose effects may move as random walks.
pub(crate) struct Drifting;

const OWN: Setting = row(NAME, "true", Range::YesNo, "let effects move in time, with bands");

impl Method for Drifting {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "linear dynamics whose effects may move in time, with bands over time and the probability that each does"
    }

    fn settings(&self) -> Vec<Setting> {
        beside_bridge::settings(OWN)
    }

    fn takes(&self) -> Takes {
        Takes { experiments: Handling::Full, ..Takes::ALL }
    }

    fn is_fast(&self) -> bool {
        false
    }

    /// A plain fit, and beside it steps and the courses of all effects in both chains.
    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        let d = data.n_variables();
        let courses = 2 * 4 * d * (d + 1) * 200;
        bytes_beside(plan, data, |shape| 3 * shape.n_points * d + courses)
    }

    fn resolve(&self, asked: &MethodRequest) -> Result<Map<String, Value>, PlanError> {
        check(asked)?;
        beside_bridge::in_effect(asked, NAME, true.into())
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let bridge = BridgePlan::new(&beside_bridge::plain(task.plan.asked(), NAME))?;
        let knowledge = bridge.knowledge(task.data)?;
        let settings = bridge.base().clone().check().map_err(PlanError::from)?;
        let fit = fit_drifting(task.data, &knowledge, &settings, task.progress);
        Ok(learned(&fit.map_err(refusal)?, task.data))
    }
}

/// Effects that do not move are another method's.
fn check(asked: &MethodRequest) -> Result<(), PlanError> {
    beside_bridge::refuse_others(asked, NAME)?;
    match asked.settings.get(NAME) {
        None | Some(Value::Bool(true)) => Ok(()),
        Some(value) => Err(PlanError::OutOfRange {
            name: NAME.to_owned(),
            range: "true: effects that do not move are those of `bridge`".to_owned(),
            found: crate::settings::text_of(value),
        }),
    }
}

fn refusal(error: DriftError) -> MethodError {
    match error {
        DriftError::Bridge(error) => error.into(),
        DriftError::Stopped => MethodError::Stopped,
        other => MethodError::Unusable { method: NAME, reason: other.to_string() },
    }
}

fn learned(fit: &DriftFit, data: &SeriesSet) -> Learned {
    let record = record(fit);
    let between = record.edges.iter().filter(|edge| edge.source != edge.target);
    let n = between.filter(|edge| edge.drifting >= PRESENT).count();
    let mut remarks = vec![format!(
        "{} between different variables more likely to move in time than not; drifting.csv has the courses",
        count(n, "effect", "effects")
    )];
    let edges = edges(fit);
    let doubts = doubts(&fit.adequacy, &edges, data.n_variables());
    remarks.extend(aloud(&doubts));
    let training = TrainingRecord {
        converged: Some(fit.is_complete),
        doubts,
        adequacy: Some(fit.adequacy.clone()),
        drifting: Some(Box::new(record)),
        ..TrainingRecord::default()
    };
    Learned { training, remarks, tells_changes: true, ..Learned::edges(edges) }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// All edges, the most probable first; effects are means over time.
fn edges(fit: &DriftFit) -> Vec<LearnedEdge> {
    let finite = fit.edges.iter().map(|edge| edge.log_odds).filter(|odds| odds.is_finite());
    let [lowest, highest] =
        finite.fold([0.0, 0.0], |[low, high]: [f64; 2], odds| [low.min(odds), high.max(odds)]);
    let edge = |edge: &DriftingEdge| {
        let effect = mean(&edge.effects);
        let [up, down] =
            [1.0, -1.0].map(|sign| edge.effects.iter().filter(|one| *one * sign > 0.0).count());
        let clear = 3 * up.max(down) >= 2 * edge.effects.len();
        let sign = match (clear, up > down) {
            (false, _) => Sign::Mixed,
            (true, true) => Sign::Positive,
            (true, false) => Sign::Negative,
        };
        LearnedEdge {
            source: edge.source,
            target: edge.target,
            probability: Some(edge.probability),
            probability_lagged: Some(edge.probability),
            score: edge.log_odds.clamp(lowest - 1.0, highest + 1.0),
            sign: Some(sign),
            effect: Some(effect),
            strength: Some(effect * edge.per_strength),
            kind: Some(EdgeKind::Lagged),
            ..LearnedEdge::default()
        }
    };
    let mut all: Vec<LearnedEdge> = fit.edges.iter().map(edge).collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    all
}

/// Courses of the probable edges, those that most probably move first.
fn record(fit: &DriftFit) -> DriftingRecord {
    let every = fit.times.len().div_ceil(MOST_TIMES).max(1);
    let last = fit.times.len() - 1;
    let told: Vec<usize> = (0..=last).filter(|knot| knot % every == 0 || *knot == last).collect();
    let at = |values: &[f64]| told.iter().map(|&knot| values[knot]).collect();
    let mut kept: Vec<&DriftingEdge> =
        fit.edges.iter().filter(|edge| edge.probability >= KEPT_FROM).collect();
    kept.sort_by(|a, b| {
        let key = |edge: &DriftingEdge| (edge.drifting, edge.probability);
        let ((a_drifts, a_is), (b_drifts, b_is)) = (key(a), key(b));
        b_drifts.total_cmp(&a_drifts).then(b_is.total_cmp(&a_is))
    });
    kept.truncate(MOST_KEPT);
    let edge = |edge: &&DriftingEdge| DriftingEdgeRecord {
        source: edge.source,
        target: edge.target,
        probability: edge.probability,
        drifting: edge.drifting,
        effects: at(&edge.effects),
        deviations: at(&edge.deviations),
    };
    DriftingRecord { times: at(&fit.times), edges: kept.iter().map(edge).collect() }
}
