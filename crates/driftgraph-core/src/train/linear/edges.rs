//! What ascent and chains say of the edges together.

use super::{LinearState, LinearTask, N_CAREFUL, N_PLAIN};
use crate::numeric::real::{Real, ln};
use crate::posterior::linear::gibbs::ChainTotals;
use crate::posterior::linear::pools::Gate;

/// Edges of a linear process, `[source, target]` in the user's order of variables.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearEdges {
    /// Log-odds of the mean probability over all chains, which rank edges best; infinite where an edge is fixed.
    ///
    /// Not the mean of the log-odds: where innovations are small single sweeps have log-odds in the hundreds, whose mean is that of
    /// the few most extreme. On simulated gene networks (10 genes with 4 series, 50 with 30) probabilities of
    /// all chains ranked better than log-odds, with or without those of the ascent.
    pub log_odds: Vec<f64>,
    /// Probabilities that allow for the model being wrong.
    pub probabilities: Vec<f64>,
    /// Mean effects given their edges, in increment scales per time.
    pub effects: Vec<f64>,
    /// Their deviations.
    pub deviations: Vec<f64>,
    /// Difference between chains that learn the density of the graph and that are told, in log-odds.
    pub disagreement: Vec<f64>,
}

impl LinearEdges {
    /// Averages over what was counted so far; the ascent alone before chains have counted anything.
    pub(super) fn new(task: &LinearTask, state: &LinearState) -> Self {
        let d = task.grid.n_variables();
        let mut all = vec![Entry::absent(); d * d];
        for edge in entries(task, state) {
            all[edge.source * d + edge.target] = edge.entry;
        }
        let column = |of: fn(&Entry) -> f64, absent: f64| -> Vec<f64> {
            task.to_user(&all.iter().map(of).collect::<Vec<f64>>(), absent)
        };
        Self {
            log_odds: column(|edge| edge.log_odds, f64::NEG_INFINITY),
            probabilities: column(|edge| edge.probability, 0.0),
            effects: column(|edge| edge.effect, 0.0),
            deviations: column(|edge| edge.deviation, 0.0),
            disagreement: column(|edge| edge.disagreement, 0.0),
        }
    }
}

/// What is said of one edge, source and target in the grid's order of variables.
pub(super) struct EdgeEntry {
    pub(super) source: usize,
    pub(super) target: usize,
    pub(super) entry: Entry,
}

impl std::ops::Deref for EdgeEntry {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}

/// All edges there is room for, target by target; from the ascent alone before chains have counted anything.
pub(super) fn entries<'a>(
    task: &'a LinearTask,
    state: &'a LinearState,
) -> impl Iterator<Item = EdgeEntry> + 'a {
    let totals: Vec<&ChainTotals> =
        (state.chains.iter()).map(|chain| &chain.totals).filter(|totals| totals.n > 0.0).collect();
    let counted = totals.len() == N_PLAIN + N_CAREFUL;
    let ascent = &state.ascent.effects;
    let rows = task.pools.rows();
    let of_targets = (0..rows.n_variables())
        .flat_map(|target| rows.sources(target).map(move |(idx, source)| (idx, source, target)));
    of_targets.map(move |(idx, source, target)| {
        let mut entry = Entry {
            log_odds: ascent.log_odds[idx],
            probability: ascent.log_odds[idx].sigmoid(),
            effect: ascent.means[idx],
            deviation: ascent.variances[idx].sqrt(),
            disagreement: 0.0,
        };
        if counted {
            entry = Entry::of_chains(&totals, idx, state.evidence_share);
        }
        match task.pools.gate(source, target) {
            Gate::Off => entry.fix(f64::NEG_INFINITY, 0.0),
            Gate::On if source != target => entry.fix(f64::INFINITY, 1.0),
            _ => {}
        }
        EdgeEntry { source, target, entry }
    })
}

/// Σ of the probabilities of all edges there is room for.
pub(super) fn expected(task: &LinearTask, state: &LinearState) -> f64 {
    let totals: Vec<&ChainTotals> = state.chains.iter().map(|chain| &chain.totals).collect();
    let careful = match totals[..] {
        [_, _, careful, usual] if careful.n > 0.0 => Some([careful, usual]),
        _ => None,
    };
    let rows = task.pools.rows();
    let probability =
        |target: usize, idx: usize, source: usize| match task.pools.gate(source, target) {
            Gate::Off => 0.0,
            Gate::On if source != target => 1.0,
            _ => match careful {
                Some(totals) => believed(totals, idx, state.evidence_share),
                None => state.ascent.effects.log_odds[idx].sigmoid(),
            },
        };
    let of_target = |target: usize| -> f64 {
        rows.sources(target).map(|(idx, source)| probability(target, idx, source)).sum()
    };
    (0..rows.n_variables()).map(of_target).sum()
}

/// Probabilities of the two careful chains together, `[source, target]` in the user's order of variables.
pub(super) fn careful(task: &LinearTask, totals: [&ChainTotals; 2], usual_share: f64) -> Vec<f64> {
    let d = task.grid.n_variables();
    let probability = |at: usize| {
        let (source, target) = (at / d, at % d);
        match task.pools.gate(source, target) {
            Gate::Off => 0.0,
            Gate::On if source != target => 1.0,
            _ => believed(totals, target * (d + 1) + source, usual_share),
        }
    };
    task.to_user(&(0..d * d).map(probability).collect::<Vec<f64>>(), 0.0)
}

/// The chain with a careful law of densities, and the one with that of the settings as far as evidence counts.
fn believed([careful, usual]: [&ChainTotals; 2], idx: usize, usual_share: f64) -> f64 {
    let probability = |one: &ChainTotals| one.probabilities[idx] / one.n;
    (1.0 - usual_share) * probability(careful) + usual_share * probability(usual)
}

/// Log-odds of the mean probability over chains; where it rounds to 0 or 1 in every digit, the mean log-odds, which are beyond it.
fn log_odds_of_means(totals: &[&ChainTotals], idx: usize) -> f64 {
    let mean = |of: fn(&ChainTotals) -> &[f64]| -> f64 {
        totals.iter().map(|one| of(one)[idx] / one.n).sum::<f64>() / totals.len() as f64
    };
    let (present, absent) = (mean(|one| &one.probabilities), mean(|one| &one.absences));
    if present.min(absent) > f64::MIN_POSITIVE {
        ln(present / absent)
    } else {
        mean(|one| &one.log_odds)
    }
}

/// What is said of one edge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) log_odds: f64,
    pub(super) probability: f64,
    pub(super) effect: f64,
    pub(super) deviation: f64,
    pub(super) disagreement: f64,
}

impl Entry {
    /// An edge that there is no room for.
    fn absent() -> Self {
        let (log_odds, probability) = (f64::NEG_INFINITY, 0.0);
        Self { log_odds, probability, effect: 0.0, deviation: 0.0, disagreement: 0.0 }
    }

    /// All chains rank; the careful ones are believed; effects are those of the plain ones.
    fn of_chains(totals: &[&ChainTotals], idx: usize, usual_share: f64) -> Self {
        let (plain, careful) = totals.split_at(N_PLAIN);
        let odds: Vec<f64> = plain.iter().map(|one| one.log_odds[idx] / one.n).collect();
        let mean = odds.iter().sum::<f64>() / odds.len() as f64;
        let spread = odds.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / odds.len() as f64;
        let weight: f64 = plain.iter().map(|one| one.probabilities[idx]).sum();
        let effect = plain.iter().map(|one| one.effects[idx]).sum::<f64>() / weight;
        let square = plain.iter().map(|one| one.squares[idx]).sum::<f64>() / weight;
        Self {
            log_odds: log_odds_of_means(totals, idx),
            probability: believed([careful[0], careful[1]], idx, usual_share),
            effect: if effect.is_finite() { effect } else { 0.0 },
            deviation: (square - effect * effect).max(0.0).sqrt(),
            disagreement: spread.sqrt(),
        }
    }

    fn fix(&mut self, log_odds: f64, probability: f64) {
        (self.log_odds, self.probability, self.disagreement) = (log_odds, probability, 0.0);
    }
}
