//! Few regulators of many variables: a linear process with room for the pairs that may be edges alone.

use driftgraph_core::fitted::edges::{EdgeKind, LearnedEdge, Sign, ninety_percent};
use driftgraph_core::graph::limited_prior::LimitedPrior;
use driftgraph_core::train::bridge::{BridgeSettings, StopReason};
use driftgraph_core::train::linear::limited::{LimitedEdge, LimitedFit, fit_limited};
use driftgraph_core::train::progress::Progress;
use driftgraph_core::train::settings::KnownEdge;
use driftgraph_core::{SeriesSet, Uninformative};
use driftgraph_data::record::{EdgeLimits, MemberRecord, TrainingRecord};

use crate::bridge::push_sentences;
use crate::doubts::doubts;
use crate::limits::AllowedPairs;
use crate::method::{Learned, MethodError};
use crate::plan::{PlanError, positions};

/// Variables up to which matrices of all pairs are small.
const MOST_VARIABLES: usize = 400;
/// Share of all pairs up to which they are few.
const FEW_PAIRS: f64 = 0.25;

/// What is known of edges, where few pairs of many may be edges; `None` elsewhere.
pub(crate) fn few_pairs(
    limits: &EdgeLimits,
    edges: &[KnownEdge],
    no_self_loops: bool,
    data: &SeriesSet,
) -> Result<Option<LimitedPrior>, PlanError> {
    let n = data.n_variables();
    if limits.is_empty() || n <= MOST_VARIABLES {
        return Ok(None);
    }
    let mut prior = AllowedPairs::new(limits, data)?.prior(no_self_loops);
    if prior.n_pairs() as f64 > FEW_PAIRS * (n * n) as f64 {
        return Ok(None);
    }
    for edge in edges {
        let [source, target] = positions(edge, data.variables())?;
        prior.know(source, target, edge.probability)?;
    }
    (0..n)
        .filter(|&idx| Uninformative::of(data, idx).is_some())
        .for_each(|idx| prior.leave_out(idx));
    Ok(Some(prior))
}

/// Fits, and says what was done differently.
pub(crate) fn learn(
    data: &SeriesSet,
    knowledge: &LimitedPrior,
    settings: &BridgeSettings,
    progress: &dyn Progress,
) -> Result<Learned, MethodError> {
    let checked = settings.clone().check().map_err(PlanError::from)?;
    let fit = fit_limited(data, knowledge, &checked, progress)??;
    let edges = learned_edges(&fit, knowledge);
    let mut remarks = vec![format!(
        "{} of {} pairs may be edges: a linear process with room for these alone, without a choice among candidates; it cannot be asked \
         to simulate",
        edges.len(),
        data.n_variables().pow(2)
    )];
    remarks.extend(push_sentences(data, &fit.pushes));
    let member = MemberRecord {
        seed: settings.seed,
        steps: fit.n_steps,
        stop_reason: fit.stop,
        terms: None,
        undone_steps: 0,
    };
    let training = TrainingRecord {
        seed: Some(settings.seed),
        converged: Some(fit.stop == StopReason::Converged),
        members: vec![member],
        doubts: doubts(&fit.adequacy, &edges, data.n_variables()),
        adequacy: Some(fit.adequacy),
        ..TrainingRecord::default()
    };
    Ok(Learned { training, remarks, ..Learned::edges(edges) })
}

/// The edges that may be, the most probable first.
fn learned_edges(fit: &LimitedFit, knowledge: &LimitedPrior) -> Vec<LearnedEdge> {
    let allowed = fit.edges.iter().filter(|edge| knowledge.allows(edge.source, edge.target));
    let mut edges: Vec<LearnedEdge> = allowed.map(learned_edge).collect();
    let probability = |edge: &LearnedEdge| edge.probability.unwrap_or(0.0);
    edges.sort_by(|a, b| {
        let by_score = || b.score.total_cmp(&a.score).then(a.ends().cmp(&b.ends()));
        probability(b).total_cmp(&probability(a)).then_with(by_score)
    });
    edges
}

fn learned_edge(edge: &LimitedEdge) -> LearnedEdge {
    LearnedEdge {
        source: edge.source,
        target: edge.target,
        probability: Some(edge.probability),
        score: edge.log_odds,
        probability_lagged: Some(edge.probability),
        sign: Some(if edge.effect > 0.0 { Sign::Positive } else { Sign::Negative }),
        effect: Some(edge.effect),
        strength: Some(edge.strength),
        interval: Some(ninety_percent(edge.effect, edge.deviation)),
        disagreement: Some(edge.disagreement),
        kind: Some(EdgeKind::Lagged),
        probability_directed: Some(edge.probability),
        ..LearnedEdge::default()
    }
}
