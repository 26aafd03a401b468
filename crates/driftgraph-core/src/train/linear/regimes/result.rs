//! What chains over regimes say, in the user's units and order of variables, series and time.

use super::{Choice, Fit, OverSingle, RegimeRequest, Run};
use crate::Standardizer;
use crate::posterior::linear::regimes::chain::log_odds;
use crate::posterior::linear::regimes::start::most_probable;
use crate::posterior::linear::regimes::totals::{OnePair, OneRegime, RegimeTotals, pairs_of};
use crate::train::bridge::Adequacy;
use crate::train::linear::LinearTask;

/// A change is dated between these probabilities of the new regime.
const DATED: [f64; 2] = [0.05, 0.95];
/// Probability from which on an effect is part of a regime's process.
const PRESENT: f64 = 0.5;

/// Regimes of a linear process.
#[derive(Debug, Clone, PartialEq)]
pub struct RegimeFit {
    /// Number of regimes.
    pub n_regimes: usize,
    /// Every ordered pair of variables, row = source.
    pub edges: Vec<RegimeEdge>,
    /// Which regime when, by series.
    pub series: Vec<SeriesRegimes>,
    /// Changes of the most probable regime.
    pub switches: Vec<Switch>,
    /// How their number was chosen, where it was.
    pub choice: Option<Choice>,
    /// Hidden regimes against one process for all time.
    pub over_single: Option<OverSingle>,
    /// What the innovations still contain, variables in the user's order.
    pub adequacy: Adequacy,
    /// Mean time in a regime, where they are hidden.
    pub stay: Option<f64>,
    /// Offsets and noise of each regime.
    pub processes: Vec<RegimeProcess>,
    /// Whether as many sweeps were counted as usual.
    pub is_complete: bool,
}

/// What one regime has beside its edges, in the user's units and order of variables.
#[derive(Debug, Clone, PartialEq)]
pub struct RegimeProcess {
    /// Offsets of the drift, per unit of time, beside the effects that are more likely there than not.
    pub offsets: Vec<f64>,
    /// Diffusions, per square root of time.
    pub diffusions: Vec<f64>,
}

/// One edge over all regimes.
#[derive(Debug, Clone, PartialEq)]
pub struct RegimeEdge {
    /// Position of the source.
    pub source: usize,
    /// Position of the target.
    pub target: usize,
    /// Probability that it is in any regime.
    pub probability: f64,
    /// Its log-odds, also where probabilities round to 1.
    pub log_odds: f64,
    /// In each regime.
    pub regimes: Vec<EdgeInRegime>,
    /// Between each pair of regimes.
    pub contrasts: Vec<EdgeContrast>,
}

/// One edge in one regime.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EdgeInRegime {
    /// Its probability.
    pub probability: f64,
    /// Its mean effect if it is there: the target's unit per unit of time and of the source.
    pub effect: f64,
    /// Deviation of the effect if it is there.
    pub deviation: f64,
    /// The effect in deviations of target and source.
    pub strength: f64,
}

/// How one edge differs between two regimes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EdgeContrast {
    /// The first regime.
    pub first: usize,
    /// The second.
    pub second: usize,
    /// Probability that it differs at all.
    pub probability: f64,
    /// That it is in the first alone.
    pub first_alone: f64,
    /// That it is in the second alone.
    pub second_alone: f64,
    /// That it is in both, with different signs.
    pub turned: f64,
    /// Mean of the second effect less the first if they differ.
    pub difference: f64,
    /// Deviation of the difference if they differ.
    pub deviation: f64,
}

/// Which regime when, in one series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesRegimes {
    /// Position of the series in the data.
    pub series: usize,
    /// Times at which steps begin, and the end of the last.
    pub times: Vec<f64>,
    /// Probabilities of the regimes from each time on, `[time, regime]`; the last are those before the end.
    pub probabilities: Vec<f64>,
}

/// A change from one regime to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Switch {
    /// Position of the series in the data.
    pub series: usize,
    /// When.
    pub time: f64,
    /// The last time at which the new regime was still unlikely, and the first at which it is nearly sure.
    pub between: [f64; 2],
    /// The regime before.
    pub from: usize,
    /// The regime after.
    pub to: usize,
}

/// Totals of both chains with their weights.
struct Weighted<'a> {
    chains: Vec<(&'a RegimeTotals, f64)>,
}

impl<'a> Weighted<'a> {
    fn new(run: &'a Run) -> Self {
        let weights = [1.0 - run.evidence_share, run.evidence_share];
        let chains = run.chains.iter().zip(weights);
        Self { chains: chains.map(|(chain, weight)| (&chain.totals, weight)).collect() }
    }

    /// Mean over sweeps and chains.
    fn mean(&self, of: impl Fn(&RegimeTotals) -> f64) -> f64 {
        self.chains.iter().map(|(totals, weight)| weight * of(totals) / totals.n.max(1.0)).sum()
    }

    fn regime(&self, regime: usize, of: impl Fn(&OneRegime) -> f64) -> f64 {
        self.mean(|totals| of(&totals.regimes[regime]))
    }

    fn pair(&self, pair: usize, of: impl Fn(&OnePair) -> f64) -> f64 {
        self.mean(|totals| of(&totals.pairs[pair]))
    }
}

/// Probability and its complement as the log-odds of an edge.
pub(super) fn odds(present: f64, absent: f64) -> f64 {
    log_odds(present, absent)
}

/// Something of every edge from the probabilities that it is anywhere and nowhere, `[source, target]` of the user.
pub(super) fn edge_matrix(
    task: &LinearTask,
    run: &Run,
    missing: f64,
    of: impl Fn(f64, f64) -> f64,
) -> Vec<f64> {
    let d = task.grid.n_variables();
    let weighted = Weighted::new(run);
    let counted = run.chains[0].totals.n > 0.0;
    let entry = |at: usize| {
        let idx = at % d * d + at / d;
        let absent = if counted { weighted.mean(|totals| totals.absent[idx]) } else { 0.5 };
        of(1.0 - absent, absent)
    };
    task.to_user(&(0..d * d).map(entry).collect::<Vec<_>>(), missing)
}

/// Everything, once chains have ended.
pub(super) fn result<Key: serde::Serialize + Sync>(
    fit: &Fit<'_, Key>,
    run: &Run,
    scales: &Standardizer,
) -> RegimeFit {
    let hidden = !matches!(fit.request, RegimeRequest::Known { .. });
    let all = Reading::new(fit, run, scales, hidden);
    let mut series = all.series();
    series.sort_by_key(|one| one.series);
    let k = all.order.len();
    RegimeFit {
        n_regimes: k,
        edges: all.edges(),
        switches: series.iter().flat_map(|one| switches(one, k)).collect(),
        series,
        choice: run.choice.clone(),
        over_single: run.over_single,
        adequacy: fit.task.user_adequacy(&run.adequacy),
        stay: hidden
            .then(|| all.weighted.mean(|totals| totals.stay) * fit.task.grid.layout().time_unit()),
        processes: (0..k).map(|regime| all.process(regime)).collect(),
        is_complete: fit.task.max_steps.is_none() && run.chains[0].sweep >= super::SWEEPS,
    }
}

/// Chains on their way to the user's words.
struct Reading<'a> {
    task: &'a LinearTask,
    steps: &'a crate::posterior::linear::regimes::steps::Steps,
    scales: &'a Standardizer,
    weighted: Weighted<'a>,
    /// The chains' number of each regime.
    order: Vec<usize>,
    /// Probabilities of the chains' regimes, `[step, regime]`.
    labels: Vec<f64>,
}

impl<'a> Reading<'a> {
    fn new<Key>(fit: &Fit<'a, Key>, run: &'a Run, scales: &'a Standardizer, hidden: bool) -> Self {
        let weighted = Weighted::new(run);
        let k = run.chains[0].dynamics.len();
        let labels: Vec<f64> = if hidden {
            let mean = |at: usize| {
                let share = |(totals, weight): &(&RegimeTotals, f64)| {
                    weight * totals.labels[at] / totals.n_labels.max(1.0)
                };
                weighted.chains.iter().map(share).sum()
            };
            (0..run.chains[0].totals.labels.len()).map(mean).collect()
        } else {
            let known = &run.chains[0].labels;
            let one = |at: usize| f64::from(u8::from(usize::from(known[at / k]) == at % k));
            (0..known.len() * k).map(one).collect()
        };
        let mut out = Self {
            task: fit.task,
            steps: fit.steps,
            scales,
            weighted,
            order: (0..k).collect(),
            labels,
        };
        if hidden {
            out.order = out.by_appearance(k);
        }
        out
    }

    /// Regimes in the order in which they are first seen, series after series as in the data.
    fn by_appearance(&self, k: usize) -> Vec<usize> {
        let best = most_probable(&self.labels, k);
        let grid = &self.task.grid;
        let mut places: Vec<usize> = (0..self.steps.series.len()).collect();
        places.sort_by_key(|&at| grid.series_of(&grid.layout().series()[at]));
        let mut order = Vec::new();
        for at in places {
            let series = &self.steps.series[at];
            for label in &best[series.first..series.first + series.n] {
                let label = usize::from(*label);
                if !order.contains(&label) {
                    order.push(label);
                }
            }
        }
        order.extend((0..k).filter(|label| !order.contains(label)).collect::<Vec<_>>());
        order
    }

    fn series(&self) -> Vec<SeriesRegimes> {
        let (grid, k) = (&self.task.grid, self.order.len());
        let one = |at: usize| {
            let (rows, series) = (&grid.layout().series()[at], &self.steps.series[at]);
            let mut probabilities = Vec::with_capacity((series.n + 1) * k);
            for step in 0..=series.n {
                // The last time has the regime of the step before it.
                let at = series.first + step.min(series.n.saturating_sub(1));
                let row = &self.labels[at * k..(at + 1) * k];
                probabilities.extend(self.order.iter().map(|&own| row[own]));
            }
            let times = grid.layout().times(rows)[..=series.n].to_vec();
            SeriesRegimes { series: grid.series_of(rows), times, probabilities }
        };
        let with_steps = (0..self.steps.series.len()).filter(|&at| self.steps.series[at].n > 0);
        with_steps.map(one).collect()
    }

    /// A matrix `[source, target]` of the user from one by entry of the totals.
    fn matrix(&self, missing: f64, of: impl Fn(usize) -> f64) -> Vec<f64> {
        let d = self.task.grid.n_variables();
        let turned: Vec<f64> = (0..d * d).map(|at| of(at % d * d + at / d)).collect();
        self.task.to_user(&turned, missing)
    }

    /// The user's unit of the drift of each variable, per unit of time.
    fn drift_units(&self) -> Vec<f64> {
        let grid = &self.task.grid;
        let mut units = vec![0.0; self.task.n_user];
        for (own, &kept) in grid.variables().iter().enumerate() {
            let user = self.task.kept[kept];
            units[user] =
                grid.scales()[own] * self.scales.scales()[user] / grid.layout().time_unit();
        }
        units
    }

    fn edges(&self) -> Vec<RegimeEdge> {
        let (n, units, scales) = (self.task.n_user, self.drift_units(), self.scales.scales());
        let absent = self.matrix(1.0, |idx| self.weighted.mean(|totals| totals.absent[idx]));
        let regimes: Vec<RegimeMatrices> =
            self.order.iter().map(|&regime| self.regime_matrices(regime)).collect();
        let pairs: Vec<PairMatrices> = pairs_of(self.order.len())
            .into_iter()
            .map(|[first, second]| self.pair_matrices(first, second))
            .collect();
        let edge = |at: usize| {
            let (source, target) = (at / n, at % n);
            let unit = units[target] / scales[source];
            let in_regime = |one: &RegimeMatrices| EdgeInRegime {
                probability: one.present[at],
                effect: one.effects[at] * unit,
                deviation: one.deviations[at] * unit,
                strength: one.effects[at] * units[target] / scales[target],
            };
            RegimeEdge {
                source,
                target,
                probability: 1.0 - absent[at],
                log_odds: if absent[at] >= 1.0 {
                    f64::NEG_INFINITY
                } else {
                    log_odds(1.0 - absent[at], absent[at])
                },
                regimes: regimes.iter().map(in_regime).collect(),
                contrasts: pairs.iter().map(|pair| pair.contrast(at, unit)).collect(),
            }
        };
        (0..n * n).map(edge).collect()
    }

    fn regime_matrices(&self, regime: usize) -> RegimeMatrices {
        let sum = |of: fn(&OneRegime) -> &Vec<f64>| {
            self.matrix(0.0, |idx| self.weighted.regime(regime, |one| of(one)[idx]))
        };
        let present = sum(|one| &one.present);
        let (sums, squares) = (sum(|one| &one.effects), sum(|one| &one.squares));
        let (effects, deviations) = moments(&present, &sums, &squares);
        RegimeMatrices { present, effects, deviations }
    }

    fn pair_matrices(&self, first: usize, second: usize) -> PairMatrices {
        let own = [self.order[first], self.order[second]];
        let is_turned = own[0] > own[1];
        let sorted = [own[0].min(own[1]), own[0].max(own[1])];
        let k = self.order.len();
        let pair =
            pairs_of(k).iter().position(|pair| *pair == sorted).expect("all pairs are there");
        let sum = |of: fn(&OnePair) -> &Vec<f64>| {
            self.matrix(0.0, |idx| self.weighted.pair(pair, |one| of(one)[idx]))
        };
        let mut alone = [sum(|one| &one.first_alone), sum(|one| &one.second_alone)];
        let both = sum(|one| &one.both);
        let mut sums = sum(|one| &one.differences);
        if is_turned {
            alone.swap(0, 1);
            sums.iter_mut().for_each(|sum| *sum = -*sum);
        }
        let [first_alone, second_alone] = alone;
        let differs: Vec<f64> = (0..both.len())
            .map(|at| (first_alone[at] + second_alone[at] + both[at]).min(1.0))
            .collect();
        let (differences, deviations) = moments(&differs, &sums, &sum(|one| &one.squares));
        let turned = sum(|one| &one.turned);
        PairMatrices {
            regimes: [first, second],
            differs,
            first_alone,
            second_alone,
            turned,
            differences,
            deviations,
        }
    }

    /// Offsets and noise of one regime.
    fn process(&self, regime: usize) -> RegimeProcess {
        let own = self.order[regime];
        let (n, units) = (self.task.n_user, self.drift_units());
        let (means, scales) = (self.scales.means(), self.scales.scales());
        let matrices = self.regime_matrices(own);
        let effect = |source: usize, target: usize| {
            let at = source * n + target;
            let there = matrices.present[at] >= PRESENT;
            if there { matrices.effects[at] * units[target] / scales[source] } else { 0.0 }
        };
        let (mut offsets, mut diffusions) = (vec![0.0; n], scales.to_vec());
        let grid = &self.task.grid;
        let time_unit = grid.layout().time_unit();
        for (position, &kept) in grid.variables().iter().enumerate() {
            let user = self.task.kept[kept];
            // What moves an input is not for its process to say.
            if grid.is_input(position) {
                diffusions[user] = 0.0;
                continue;
            }
            let inflow: f64 = (0..n).map(|source| effect(source, user) * means[source]).sum();
            let offset = self.weighted.regime(own, |one| one.offsets[position]);
            offsets[user] = units[user] * offset - inflow;
            let variance = self.weighted.regime(own, |one| one.variances[position]);
            diffusions[user] = units[user] * (variance * time_unit).sqrt();
        }
        RegimeProcess { offsets, diffusions }
    }
}

struct RegimeMatrices {
    present: Vec<f64>,
    effects: Vec<f64>,
    deviations: Vec<f64>,
}

struct PairMatrices {
    regimes: [usize; 2],
    differs: Vec<f64>,
    first_alone: Vec<f64>,
    second_alone: Vec<f64>,
    turned: Vec<f64>,
    differences: Vec<f64>,
    deviations: Vec<f64>,
}

impl PairMatrices {
    fn contrast(&self, at: usize, unit: f64) -> EdgeContrast {
        EdgeContrast {
            first: self.regimes[0],
            second: self.regimes[1],
            probability: self.differs[at],
            first_alone: self.first_alone[at],
            second_alone: self.second_alone[at],
            turned: self.turned[at],
            difference: self.differences[at] * unit,
            deviation: self.deviations[at] * unit,
        }
    }
}

/// Means and deviations from sums of weights, of values and of their squares.
fn moments(weights: &[f64], sums: &[f64], squares: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mean = |at: usize| if weights[at] > 0.0 { sums[at] / weights[at] } else { 0.0 };
    let deviation = |at: usize| {
        let square = if weights[at] > 0.0 { squares[at] / weights[at] } else { 0.0 };
        (square - mean(at).powi(2)).max(0.0).sqrt()
    };
    let all = 0..weights.len();
    (all.clone().map(mean).collect(), all.map(deviation).collect())
}

/// Where the most probable regime of a series changes, and between which times.
fn switches(series: &SeriesRegimes, k: usize) -> Vec<Switch> {
    let labels = most_probable(&series.probabilities, k);
    let n = labels.len();
    let mut out = Vec::new();
    for at in 1..n {
        let (from, to) = (usize::from(labels[at - 1]), usize::from(labels[at]));
        if from == to {
            continue;
        }
        let p = |row: usize| series.probabilities[row * k + to];
        let low = (0..at).rev().find(|&row| p(row) < DATED[0]).unwrap_or(0);
        let high = (at..n).find(|&row| p(row) >= DATED[1]).unwrap_or(n - 1);
        let between = [series.times[low], series.times[high]];
        out.push(Switch { series: series.series, time: series.times[at], between, from, to });
    }
    out
}
