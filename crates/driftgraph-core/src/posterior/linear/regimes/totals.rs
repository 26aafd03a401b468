//! What chains over regimes have counted.

use super::entry::Entry;
use crate::posterior::linear::dynamics::LinearDynamics;

/// Sums over counted sweeps; matrices `[target, source]` of D rows of D.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RegimeTotals {
    /// Counted sweeps.
    pub n: f64,
    /// Probabilities of no effect in any regime.
    pub absent: Vec<f64>,
    /// By regime.
    pub regimes: Vec<OneRegime>,
    /// By pair of regimes, in the order (0, 1), (0, 2), ..., (1, 2), ...
    pub pairs: Vec<OnePair>,
    /// Probabilities of the regimes, `[step, regime]`.
    pub labels: Vec<f64>,
    /// Counted draws of regimes.
    pub n_labels: f64,
    /// Of the mean time in a regime.
    pub stay: f64,
}

/// Sums of one regime.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OneRegime {
    /// Probabilities that the effect is there.
    pub present: Vec<f64>,
    /// Of effects given that they are there, weighted by probabilities.
    pub effects: Vec<f64>,
    /// Of squared effects, in the same way.
    pub squares: Vec<f64>,
    /// Of the innovations' variances.
    pub variances: Vec<f64>,
    /// Of the offsets.
    pub offsets: Vec<f64>,
}

/// Sums of one pair of regimes.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OnePair {
    /// Probabilities that the effect is in the first alone.
    pub first_alone: Vec<f64>,
    /// That it is in the second alone.
    pub second_alone: Vec<f64>,
    /// That it is in both, and not the same.
    pub both: Vec<f64>,
    /// Of the second effect less the first if they differ, weighted by probabilities.
    pub differences: Vec<f64>,
    /// Of its square, in the same way.
    pub squares: Vec<f64>,
    /// Draws in which the effect has different signs.
    pub turned: Vec<f64>,
}

/// The pairs of K regimes in their order.
pub fn pairs_of(k: usize) -> Vec<[usize; 2]> {
    (0..k).flat_map(|first| (first + 1..k).map(move |second| [first, second])).collect()
}

impl RegimeTotals {
    /// Nothing counted, for D variables, K regimes and so many steps.
    pub fn new(d: usize, k: usize, n_steps: usize) -> Self {
        let zeros = || vec![0.0; d * d];
        let regime = || OneRegime {
            present: zeros(),
            effects: zeros(),
            squares: zeros(),
            variances: vec![0.0; d],
            offsets: vec![0.0; d],
        };
        let pair = || OnePair {
            first_alone: zeros(),
            second_alone: zeros(),
            both: zeros(),
            differences: zeros(),
            squares: zeros(),
            turned: zeros(),
        };
        Self {
            n: 0.0,
            absent: zeros(),
            regimes: (0..k).map(|_| regime()).collect(),
            pairs: pairs_of(k).iter().map(|_| pair()).collect(),
            labels: vec![0.0; n_steps * k],
            n_labels: 0.0,
            stay: 0.0,
        }
    }

    pub(super) fn add_labels(&mut self, probabilities: &[f64]) {
        self.labels.iter_mut().zip(probabilities).for_each(|(sum, p)| *sum += p);
        self.n_labels += 1.0;
    }

    pub(super) fn add_scales(&mut self, dynamics: &[LinearDynamics], stay: f64) {
        self.n += 1.0;
        self.stay += stay;
        for (regime, dynamics) in self.regimes.iter_mut().zip(dynamics) {
            let m = dynamics.n_variables() + 1;
            for (idx, variance) in dynamics.variances.iter().enumerate() {
                regime.variances[idx] += variance;
                regime.offsets[idx] += dynamics.effects[idx * m + m - 1];
            }
        }
    }

    /// Counts one effect: the weights of its states, and what was drawn.
    pub(super) fn add_entry(&mut self, at: usize, entry: &Entry, drawn: &[f64]) {
        let k = self.regimes.len();
        self.absent[at] += entry.absent;
        for (regime, totals) in self.regimes.iter_mut().enumerate() {
            let (same, own) = (&entry.same, &entry.own[regime]);
            let own_there = entry.own_in(regime);
            // A pattern without this regime has no effect in it.
            totals.present[at] += entry.everywhere + own_there;
            totals.effects[at] += entry.everywhere * same.mean + own_there * own.mean;
            totals.squares[at] += entry.everywhere * (same.mean.powi(2) + same.variance)
                + own_there * (own.mean.powi(2) + own.variance);
        }
        for ([first, second], totals) in pairs_of(k).into_iter().zip(&mut self.pairs) {
            let (a, b) = (&entry.own[first], &entry.own[second]);
            for (pattern, p) in entry.patterns.iter().enumerate() {
                let there = [first, second].map(|regime| pattern >> regime & 1 == 1);
                let (mean, variance, sum) = match there {
                    [false, false] => continue,
                    [true, false] => (-a.mean, a.variance, &mut totals.first_alone[at]),
                    [false, true] => (b.mean, b.variance, &mut totals.second_alone[at]),
                    [true, true] => {
                        (b.mean - a.mean, a.variance + b.variance, &mut totals.both[at])
                    }
                };
                *sum += p;
                totals.differences[at] += p * mean;
                totals.squares[at] += p * (mean * mean + variance);
            }
            totals.turned[at] += f64::from(u8::from(drawn[first] * drawn[second] < 0.0));
        }
    }
}
