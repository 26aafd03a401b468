//! A linear fit where few variables may drive others: time and memory go with sources times targets.
//!
//! It is the same fit as that of any linear process, but what it ends with is a list of edges: a process of thousands of
//! variables would have matrices of all pairs to be asked with.

use super::{Extent, Follower, LearnedPush, LinearEnd, LinearState, LinearTask, edges};
use crate::graph::limited_prior::LimitedPrior;
use crate::train::bridge::{Adequacy, BridgeError, CheckedBridgeSettings, StopReason, state_key};
use crate::train::progress::{Checkpoint, Divergence, Part, Progress, find};
use crate::{SeriesSet, Standardizer};

/// An edge that there was room for, in the user's order of variables and units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitedEdge {
    /// The source.
    pub source: usize,
    /// The target.
    pub target: usize,
    /// Log-odds that rank edges; infinite where an edge is fixed.
    pub log_odds: f64,
    /// Probability that allows for the model being wrong.
    pub probability: f64,
    /// Mean effect given the edge: the target's unit per unit of time and of the source.
    pub effect: f64,
    /// Its deviation.
    pub deviation: f64,
    /// The effect in deviations of target and source.
    pub strength: f64,
    /// How far chains lie apart, in log-odds.
    pub disagreement: f64,
}

/// A finished fit.
#[derive(Debug)]
pub struct LimitedFit {
    /// All edges there was room for, target by target.
    pub edges: Vec<LimitedEdge>,
    /// What the innovations still contain, variables in the user's order.
    pub adequacy: Adequacy,
    /// By how much variables were pushed, in their own units.
    pub pushes: Vec<LearnedPush>,
    /// Rounds and sweeps.
    pub n_steps: u64,
    /// Why it ended.
    pub stop: StopReason,
}

/// Fits a linear process with room for the edges of `knowledge` alone.
pub fn fit_limited(
    data: &SeriesSet,
    knowledge: &LimitedPrior,
    settings: &CheckedBridgeSettings,
    progress: &dyn Progress,
) -> Result<Result<LimitedFit, Divergence>, BridgeError> {
    let task = settings.limited_task(data, knowledge)?;
    let (part, key) = (Part::WHOLE, state_key(settings.get()));
    let kept: Option<LinearState> = find(progress, &part.to_string(), &key);
    let follower = Follower { part, progress, key };
    let Some((fit, end)) = task.fit(Extent::Chains, kept, &follower) else {
        let term = "covariance";
        return Ok(Err(Divergence { step: 0, term, attempts: 1, last_finite_elbo: None }));
    };
    let stop = match end {
        LinearEnd::Stopped => StopReason::Stopped,
        LinearEnd::Done if fit.is_cut() => StopReason::StepLimit,
        LinearEnd::Done => StopReason::Converged,
    };
    if stop != StopReason::Stopped {
        progress.keep(&part.to_string(), &Checkpoint::new(&fit.state, &follower.key));
    }
    let standardizer = Standardizer::fit(data);
    let scales = standardizer.scales();
    let mut pushes = fit.pushes();
    for push in &mut pushes {
        push.mean *= scales[push.amount.variable];
        push.deviation *= scales[push.amount.variable];
    }
    Ok(Ok(LimitedFit {
        edges: task.user_edges(&fit.state, scales),
        adequacy: fit.user_adequacy(),
        pushes,
        n_steps: fit.n_steps(),
        stop,
    }))
}

impl LinearTask {
    fn user_edges(&self, state: &LinearState, scales: &[f64]) -> Vec<LimitedEdge> {
        let grid = &self.grid;
        let user = |own: usize| self.kept[grid.variables()[own]];
        let edge = |edge: edges::EdgeEntry| {
            let (source, target) = (user(edge.source), user(edge.target));
            let rate = grid.scales()[edge.target] / grid.layout().time_unit();
            let unit = rate * scales[target] / scales[source];
            LimitedEdge {
                source,
                target,
                log_odds: edge.log_odds,
                probability: edge.probability,
                effect: edge.effect * unit,
                deviation: edge.deviation * unit,
                strength: edge.effect * rate,
                disagreement: edge.disagreement,
            }
        };
        edges::entries(self, state).map(edge).collect()
    }
}
