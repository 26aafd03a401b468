//! A finished bridge fit: what was learned, by name.

use super::state::BridgeState;
use super::trainer::{BridgeTrainer, StopReason};
use crate::numeric::real::{Real, ln};
use crate::objective::elbo::ElboTerms;
use crate::posterior::bridge::BridgePosterior;
use crate::posterior::bridge::edge_gains::log_odds_from_gains;
use crate::posterior::bridge::log_odds::{PathSums, closed_form_log_odds};
use crate::posterior::linear::adequacy::Adequacy;
use crate::posterior::linear::gibbs::DensityRule;
use crate::posterior::linear::pools::BetaLaw;
use crate::train::levels::LevelFit;
use crate::train::linear::{LearnedPush, LinearEdges, LinearResult};

/// The result of a bridge fit.
#[derive(Debug, Clone)]
pub struct BridgeFit {
    trainer: BridgeTrainer,
    stop: StopReason,
    terms: Option<ElboTerms>,
    lagged_log_odds: Vec<f64>,
    instant_log_odds: Option<Vec<f64>>,
    beliefs: EdgeBeliefs,
    adequacy: Adequacy,
    pushes: Vec<LearnedPush>,
}

/// What is believed of the edges, `[source, target]`, the model's failings allowed for.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeBeliefs {
    /// Probabilities of lagged edges.
    pub lagged: Vec<f64>,
    /// Probabilities of instantaneous edges, where they were fitted.
    pub instant: Option<Vec<f64>>,
    /// Lagged effects given their edges, where chains have drawn them.
    pub effects: Option<DrawnEffects>,
    /// How far chains lie apart in log-odds, where there are chains.
    pub disagreement: Option<Vec<f64>>,
    /// Scores that rank edges of any kind, where log-odds of lagged ones and of links do not say all.
    pub ranks: Option<Vec<f64>>,
}

/// Effects as chains have drawn them, in increment scales per time.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnEffects {
    /// Means given the edge.
    pub means: Vec<f64>,
    /// Deviations given the edge.
    pub deviations: Vec<f64>,
}

/// What chains of levels have found of the edges.
#[derive(Debug, Clone)]
pub struct LevelResult {
    /// Edges of the row before and within a row.
    pub found: LevelFit,
    /// Effects of the row before given their edges.
    pub effects: DrawnEffects,
}

impl BridgeFit {
    /// Ends training where it is, and computes the scores of all edges; `linear` is what took its place, if anything did.
    pub fn new(mut trainer: BridgeTrainer, stop: StopReason, linear: Option<LinearResult>) -> Self {
        let terms = trainer.full_elbo();
        if let Some(LinearResult { edges, adequacy, mut pushes, .. }) = linear {
            for push in &mut pushes {
                let scale = trainer.standardizer().scales()[push.amount.variable];
                push.mean *= scale;
                push.deviation *= scale;
            }
            let LinearEdges { log_odds, probabilities, effects, deviations, disagreement } = edges;
            let beliefs = EdgeBeliefs {
                lagged: probabilities,
                instant: None,
                effects: Some(DrawnEffects { means: effects, deviations }),
                disagreement: Some(disagreement),
                ranks: None,
            };
            let (lagged_log_odds, instant_log_odds) = (log_odds, None);
            return Self {
                trainer,
                stop,
                terms,
                lagged_log_odds,
                instant_log_odds,
                beliefs,
                adequacy,
                pushes,
            };
        }
        let (lagged_log_odds, instant_log_odds) = log_odds(&trainer);
        let adequacy = trainer.adequacy();
        let weights = adequacy.tempering();
        let beliefs = EdgeBeliefs {
            lagged: tempered(&lagged_log_odds, &weights),
            instant: instant_log_odds.as_ref().map(|odds| tempered(odds, &weights)),
            effects: None,
            disagreement: None,
            ranks: None,
        };
        Self {
            trainer,
            stop,
            terms,
            lagged_log_odds,
            instant_log_odds,
            beliefs,
            adequacy,
            pushes: Vec::new(),
        }
    }

    /// What chains of levels have found, with one of the processes that they have drawn.
    pub(crate) fn of_levels(trainer: BridgeTrainer, stop: StopReason, levels: LevelResult) -> Self {
        let LevelResult { found, effects } = levels;
        let LevelFit { mut lagged, links, mut ranks, adequacy, .. } = found;
        let first =
            1.0 + ranks.iter().copied().filter(|score| score.is_finite()).fold(0.0, f64::max);
        let n = adequacy.shares.len();
        for own in (0..n).map(|idx| idx * (n + 1)) {
            // What a variable keeps of itself is part of the process, unless it was forbidden.
            if lagged.log_odds[own] > f64::NEG_INFINITY {
                (lagged.log_odds[own], lagged.probabilities[own]) = (first, 1.0);
                ranks[own] = first;
            }
        }
        let beliefs = EdgeBeliefs {
            lagged: lagged.probabilities,
            instant: Some(links.probabilities),
            effects: Some(effects),
            disagreement: None,
            ranks: Some(ranks),
        };
        Self {
            trainer,
            stop,
            terms: None,
            lagged_log_odds: lagged.log_odds,
            instant_log_odds: Some(links.log_odds),
            beliefs,
            adequacy,
            pushes: Vec::new(),
        }
    }

    /// The same with lagged edges that are believed no more than a linear process believes them: levels of rows that are
    /// far apart take what passes through other variables for effects of the row before.
    #[must_use]
    pub(crate) fn no_surer_than(mut self, careful: Option<&[f64]>) -> Self {
        let n = self.adequacy.shares.len();
        for (idx, most) in careful.into_iter().flatten().enumerate() {
            if idx / n != idx % n {
                self.beliefs.lagged[idx] = self.beliefs.lagged[idx].min(*most);
            }
        }
        self
    }

    /// The same with beliefs that lean on `careful` ones of a linear process.
    ///
    /// Log-odds of processes that are fitted by gradients count every step as if the process were right, and those of
    /// node functions run into thousands. Of node functions the order is kept: which edges are believed more than others
    /// is theirs to say, how far edges are believed is not. Effects within a step mean that rows are too far apart for
    /// the direction of lagged ones, about which the careful beliefs alone are kept.
    #[must_use]
    pub(crate) fn leaning_on(mut self, careful: &[f64]) -> Self {
        self.beliefs.lagged = if self.trainer.model().is_sampled() {
            reordered(careful, &self.lagged_log_odds)
        } else {
            careful.to_vec()
        };
        self
    }

    /// What is believed of the edges.
    pub fn beliefs(&self) -> &EdgeBeliefs {
        &self.beliefs
    }

    /// What the innovations still contain.
    pub fn adequacy(&self) -> &Adequacy {
        &self.adequacy
    }

    /// By how much variables were pushed in windows of the data, in their own units.
    pub fn pushes(&self) -> &[LearnedPush] {
        &self.pushes
    }

    /// Why training ended.
    pub fn stop_reason(&self) -> StopReason {
        self.stop
    }

    /// Whether a whole cycle of training changed next to nothing.
    pub fn converged(&self) -> bool {
        self.stop == StopReason::Converged
    }

    /// Whether any step was finite.
    pub fn has_learned(&self) -> bool {
        self.state().last_elbo.is_some()
    }

    /// Terms of the ELBO over all data; `None` where they are not finite.
    pub fn terms(&self) -> Option<ElboTerms> {
        self.terms
    }

    /// The training state.
    pub fn state(&self) -> &BridgeState {
        self.trainer.state()
    }

    /// The trainer, to go on training or to read its model.
    pub fn trainer(&self) -> &BridgeTrainer {
        &self.trainer
    }

    /// Names of the variables.
    pub fn variables(&self) -> &[String] {
        self.trainer.variables()
    }

    /// The posterior of the paths, standardised.
    pub fn posterior(&self) -> BridgePosterior {
        BridgePosterior {
            layout: self.trainer.layout().clone(),
            values: self.trainer.state().paths.clone(),
        }
    }

    /// Log-odds of the lagged edges, `[source, target]`; infinite where not learned.
    ///
    /// In closed form where the drift is linear, from edge gains where it has node functions.
    pub fn lagged_log_odds(&self) -> &[f64] {
        &self.lagged_log_odds
    }

    /// Log-odds of the instantaneous edges, where they were fitted.
    pub fn instant_log_odds(&self) -> Option<&[f64]> {
        self.instant_log_odds.as_deref()
    }

    /// Probabilities q(G) of the lagged edges, `[source, target]`, as training left them.
    pub fn lagged_probabilities(&self) -> Vec<f64> {
        self.trainer.edge_probabilities()
    }

    /// Probabilities q(G) of the instantaneous edges, where they were fitted.
    pub fn instant_probabilities(&self) -> Option<Vec<f64>> {
        let model = self.trainer.model();
        let logits = model.instant()?.edge_logits.of(&self.trainer.state().parameters);
        let rules = model.instant_prior().rules();
        Some(crate::graph::posterior::edge_probabilities(logits, rules))
    }

    /// One score per edge: how strongly the data speak for any influence of source on target.
    ///
    /// The lagged log-odds where nothing instantaneous was fitted. Else softplus(lagged) +
    /// softplus(instantaneous in either direction, whichever is larger): Gaussian innovations cannot
    /// say in which direction an instantaneous effect goes. Levels have [their own](crate::train::levels::LevelFit::ranks).
    pub fn combined_scores(&self) -> Vec<f64> {
        if let Some(ranks) = &self.beliefs.ranks {
            return ranks.clone();
        }
        combined_scores(&self.lagged_log_odds, self.instant_log_odds.as_deref())
    }
}

/// The same probabilities, the largest for the pair of variables with the largest log-odds and so on.
///
/// Edges from a variable to itself, and those that are fixed, stay what they are.
fn reordered(probabilities: &[f64], log_odds: &[f64]) -> Vec<f64> {
    let n = probabilities.len().isqrt();
    let is_free = |idx: &usize| idx / n != idx % n && log_odds[*idx].is_finite();
    let mut pairs: Vec<usize> = (0..n * n).filter(is_free).collect();
    let mut values: Vec<f64> = pairs.iter().map(|&idx| probabilities[idx]).collect();
    values.sort_by(f64::total_cmp);
    pairs.sort_by(|&a, &b| log_odds[a].total_cmp(&log_odds[b]));
    let mut out = probabilities.to_vec();
    pairs.into_iter().zip(values).for_each(|(idx, value)| out[idx] = value);
    out
}

/// Probabilities of log-odds whose evidence counts only in part: the rest of the way they stay at what is usual.
fn tempered(log_odds: &[f64], weights: &[f64]) -> Vec<f64> {
    let n = weights.len();
    let BetaLaw { alpha, beta } = DensityRule::careful_law(n);
    let usual = ln(alpha / beta);
    (log_odds.iter().enumerate())
        .map(|(idx, odds)| {
            // An edge that is fixed stays so.
            let weight = if odds.is_finite() { weights[idx % n] } else { 1.0 };
            (usual + weight * (odds - usual)).sigmoid()
        })
        .collect()
}

/// Closed forms where the drift is linear; else edge gains, and logits of instantaneous edges.
fn log_odds(trainer: &BridgeTrainer) -> (Vec<f64>, Option<Vec<f64>>) {
    let (model, state, layout) = (trainer.model(), trainer.state(), trainer.layout());
    // Sums along all paths know of no steps that are left out.
    if !model.is_sampled() && (!layout.has_marks() || model.instant().is_some()) {
        let sums = PathSums::new(layout, model.increment_scales(), &state.paths);
        let odds = closed_form_log_odds(model, &state.parameters, &sums);
        return (odds.lagged, odds.instant);
    }
    let lagged = log_odds_from_gains(model, state.learned(), layout, trainer.settings().get().seed);
    let instant = model.instant().map(|matrix| {
        let logits = matrix.edge_logits.of(&state.parameters).iter();
        (logits.zip(model.instant_prior().rules()))
            .map(|(&logit, rule)| rule.log_odds(logit))
            .collect()
    });
    (lagged, instant)
}

/// See [`BridgeFit::combined_scores`].
pub fn combined_scores(lagged: &[f64], instant: Option<&[f64]>) -> Vec<f64> {
    let Some(instant) = instant else { return lagged.to_vec() };
    let n = lagged.len().isqrt();
    (0..n * n)
        .map(|idx| {
            let (source, target) = (idx / n, idx % n);
            let either = instant[idx].max(instant[target * n + source]);
            lagged[idx].softplus() + either.softplus()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_change_places_by_the_log_odds_and_fixed_ones_stay() {
        let careful = [1.0, 0.2, 0.9, 0.5, 1.0, 0.4, 0.1, 0.0, 1.0];
        let odds = [9.0, 700.0, -3.0, 20.0, 8.0, 100.0, -50.0, f64::NEG_INFINITY, 7.0];
        let expected = [1.0, 0.9, 0.2, 0.4, 1.0, 0.5, 0.1, 0.0, 1.0];
        assert_eq!(reordered(&careful, &odds), expected);
    }
}
