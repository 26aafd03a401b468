//! One effect over all regimes: absent, the same everywhere, or of its own in each.

use super::hidden::picked;
use crate::numeric::real::{exp, ln};
use crate::posterior::linear::pools::Gate;
use crate::random::RandomStream;

/// What the steps of one regime say of an effect: precision and product of a normal likelihood.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pull {
    /// Precision.
    pub precision: f64,
    /// Precision times the effect that fits best.
    pub product: f64,
}

/// The law of an effect that is there, and the evidence for it against none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// Mean.
    pub mean: f64,
    /// Variance.
    pub variance: f64,
    /// Log of the evidence with the effect over that without.
    pub evidence: f64,
}

impl Law {
    fn new(pull: Pull, slab: f64) -> Self {
        let precision = pull.precision + 1.0 / (slab * slab);
        let mean = pull.product / precision;
        let evidence = 0.5 * mean * mean * precision - 0.5 * ln(precision * slab * slab);
        Self { mean, variance: 1.0 / precision, evidence }
    }
}

/// Prior odds of the states of one effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntryPrior {
    /// Whether it is learned at all.
    pub gate: Gate,
    /// Log-odds of being there in any regime.
    pub log_odds: f64,
    /// Probability that it differs between regimes, if it is there.
    pub differs: f64,
    /// Scale of effects.
    pub slab: f64,
}

/// In which state an effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum EntryState {
    /// In no regime.
    Absent,
    /// The same in all.
    Same,
    /// Of its own in the regimes of a pattern of bits, absent in the others.
    Own(u32),
}

impl EntryState {
    /// Whether the effect is there in a regime.
    pub fn is_in(self, regime: usize) -> bool {
        match self {
            Self::Absent => false,
            Self::Same => true,
            Self::Own(pattern) => pattern >> regime & 1 == 1,
        }
    }
}

/// Laws and probabilities of one effect given everything else.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its law if it is the same everywhere.
    pub same: Law,
    /// Its law in each regime if it is of its own there.
    pub own: Vec<Law>,
    /// Probability of no effect.
    pub absent: f64,
    /// Probability of the same effect in all regimes.
    pub everywhere: f64,
    /// Probability of each pattern of regimes with effects of their own; the pattern 0 is impossible.
    pub patterns: Vec<f64>,
}

impl Entry {
    /// Weighs the states of an effect.
    pub fn new(pulls: &[Pull], prior: &EntryPrior) -> Self {
        let k = pulls.len();
        let together = pulls.iter().fold(Pull { precision: 0.0, product: 0.0 }, |sum, pull| Pull {
            precision: sum.precision + pull.precision,
            product: sum.product + pull.product,
        });
        let same = Law::new(together, prior.slab);
        let own: Vec<Law> = pulls.iter().map(|&pull| Law::new(pull, prior.slab)).collect();
        let n_patterns = 1_usize << k;
        let mut out =
            Self { same, own, absent: 0.0, everywhere: 0.0, patterns: vec![0.0; n_patterns] };
        let is_free = match prior.gate {
            Gate::Off => {
                out.absent = 1.0;
                return out;
            }
            Gate::On => false,
            Gate::Free => true,
        };
        let present = if is_free { prior.log_odds } else { 0.0 };
        let differs = if k > 1 { prior.differs } else { 0.0 };
        let own_prior = ln(differs) - if is_free { ln((n_patterns - 1) as f64) } else { 0.0 };
        let mut logs = vec![f64::NEG_INFINITY; n_patterns];
        for (pattern, log) in logs.iter_mut().enumerate().skip(1) {
            // What must be there is there in all regimes.
            if differs > 0.0 && (is_free || pattern == n_patterns - 1) {
                let inside = (0..k).filter(|regime| pattern >> regime & 1 == 1);
                let evidence: f64 = inside.map(|regime| out.own[regime].evidence).sum();
                *log = present + own_prior + evidence;
            }
        }
        let everywhere = present + ln(1.0 - differs) + out.same.evidence;
        let absent = if is_free { 0.0 } else { f64::NEG_INFINITY };
        let largest = logs.iter().copied().fold(everywhere.max(absent), f64::max);
        let weight = |log: f64| if log == f64::NEG_INFINITY { 0.0 } else { exp(log - largest) };
        out.absent = weight(absent);
        out.everywhere = weight(everywhere);
        out.patterns = logs.iter().map(|&log| weight(log)).collect();
        let sum = out.absent + out.everywhere + out.patterns.iter().sum::<f64>();
        out.absent /= sum;
        out.everywhere /= sum;
        out.patterns.iter_mut().for_each(|p| *p /= sum);
        out
    }

    /// Draws a state.
    pub fn draw_state(&self, random: &mut RandomStream) -> EntryState {
        let mut weights = self.patterns.clone();
        weights.push(self.absent);
        weights.push(self.everywhere);
        let n = self.patterns.len();
        match picked(&weights, random) {
            at if at == n => EntryState::Absent,
            at if at == n + 1 => EntryState::Same,
            pattern => EntryState::Own(pattern as u32),
        }
    }

    /// Draws the effects of all regimes in a state.
    pub fn draw_effects(&self, state: EntryState, random: &mut RandomStream) -> Vec<f64> {
        let drawn =
            |law: &Law, random: &mut RandomStream| law.mean + law.variance.sqrt() * random.normal();
        match state {
            EntryState::Absent => vec![0.0; self.own.len()],
            EntryState::Same => vec![drawn(&self.same, random); self.own.len()],
            EntryState::Own(_) => (self.own.iter().enumerate())
                .map(|(regime, law)| if state.is_in(regime) { drawn(law, random) } else { 0.0 })
                .collect(),
        }
    }

    /// Probability that it is there in a regime with an effect of that regime alone.
    pub fn own_in(&self, regime: usize) -> f64 {
        let with =
            self.patterns.iter().enumerate().filter(|(pattern, _)| pattern >> regime & 1 == 1);
        with.map(|(_, p)| p).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prior(gate: Gate) -> EntryPrior {
        EntryPrior { gate, log_odds: -1.0, differs: 0.2, slab: 0.3 }
    }

    #[test]
    fn weights_are_those_of_the_integrals() {
        // Two regimes with pulls a and b: the evidence of an effect is the integral of exp(b w - P w² / 2) over its slab.
        let pulls =
            [Pull { precision: 30.0, product: 9.0 }, Pull { precision: 20.0, product: -4.0 }];
        let integral = |pulls: &[Pull]| -> f64 {
            let (n, width) = (200_001, 3.0);
            let h = 2.0 * width / f64::from(n - 1);
            (0..n)
                .map(|at| {
                    let w = -width + h * f64::from(at);
                    let fit: f64 =
                        pulls.iter().map(|p| p.product * w - 0.5 * p.precision * w * w).sum();
                    h * (fit - 0.5 * w * w / 0.09).exp() / (std::f64::consts::TAU.sqrt() * 0.3)
                })
                .sum()
        };
        let present = (-1.0_f64).exp();
        let weights = [
            1.0,
            present * 0.8 * integral(&pulls),
            present * 0.2 / 3.0 * integral(&pulls[..1]),
            present * 0.2 / 3.0 * integral(&pulls[1..]),
            present * 0.2 / 3.0 * integral(&pulls[..1]) * integral(&pulls[1..]),
        ];
        let sum: f64 = weights.iter().sum();
        let entry = Entry::new(&pulls, &prior(Gate::Free));
        let found = [
            entry.absent,
            entry.everywhere,
            entry.patterns[1],
            entry.patterns[2],
            entry.patterns[3],
        ];
        for (found, weight) in found.iter().zip(weights) {
            assert!((found - weight / sum).abs() < 1e-6, "{found} {}", weight / sum);
        }
        assert!((entry.own_in(0) - found[2] - found[4]).abs() < 1e-12);
    }

    #[test]
    fn what_is_required_is_there_and_what_is_forbidden_is_not() {
        let pulls = [Pull { precision: 1.0, product: 0.0 }; 3];
        let entry = Entry::new(&pulls, &prior(Gate::On));
        assert_eq!(entry.absent, 0.0);
        assert_eq!(entry.patterns[1..7].iter().sum::<f64>(), 0.0);
        let entry = Entry::new(&pulls, &prior(Gate::Off));
        assert_eq!((entry.absent, entry.everywhere), (1.0, 0.0));
    }

    #[test]
    fn one_regime_has_nothing_to_differ_from() {
        let entry = Entry::new(&[Pull { precision: 9.0, product: 9.0 }], &prior(Gate::Free));
        assert_eq!(entry.patterns, [0.0, 0.0]);
        let log_odds = (entry.everywhere / entry.absent).ln();
        assert!((log_odds - (-1.0 + entry.same.evidence)).abs() < 1e-12);
    }
}
