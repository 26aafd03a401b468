//! Fits with different seeds, averaged.

use crate::train::bridge::{BridgeFit, combined_scores};
use crate::train::progress::Divergence;

/// Final fits of the same settings with different seeds.
#[derive(Debug, Clone)]
pub struct EnsembleFit {
    members: Vec<BridgeFit>,
    divergence: Option<Divergence>,
}

impl EnsembleFit {
    /// At least one fit.
    pub fn new(members: Vec<BridgeFit>) -> Self {
        assert!(!members.is_empty(), "an ensemble has at least one member");
        Self { members, divergence: None }
    }

    /// The same, ended by steps that were not finite any more: members are the last good ones.
    pub(super) fn with_divergence(self, divergence: Option<Divergence>) -> Self {
        Self { divergence, ..self }
    }

    /// How training came to its end without a finite step, if it did.
    pub fn divergence(&self) -> Option<Divergence> {
        self.divergence
    }

    /// What the innovations of the first fit still contain.
    pub fn adequacy(&self) -> &crate::train::bridge::Adequacy {
        self.members[0].adequacy()
    }

    /// The single fits.
    pub fn members(&self) -> &[BridgeFit] {
        &self.members
    }

    /// Whether every member converged.
    pub fn converged(&self) -> bool {
        self.members.iter().all(BridgeFit::converged)
    }

    /// Mean log-odds of the lagged edges, `[source, target]`.
    pub fn lagged_log_odds(&self) -> Vec<f64> {
        self.mean(|fit| fit.lagged_log_odds().to_vec())
    }

    /// Mean log-odds of the instantaneous edges, where they were fitted.
    pub fn instant_log_odds(&self) -> Option<Vec<f64>> {
        self.members[0].instant_log_odds()?;
        Some(self.mean(|fit| fit.instant_log_odds().unwrap_or_default().to_vec()))
    }

    /// Mean probabilities of the lagged edges.
    pub fn lagged_probabilities(&self) -> Vec<f64> {
        self.mean(BridgeFit::lagged_probabilities)
    }

    /// Mean probabilities of the instantaneous edges, where they were fitted.
    pub fn instant_probabilities(&self) -> Option<Vec<f64>> {
        self.members[0].instant_probabilities()?;
        Some(self.mean(|fit| fit.instant_probabilities().unwrap_or_default()))
    }

    /// Scores of any influence of source on target: the mean of what members rank by, or from the mean log-odds.
    pub fn combined_scores(&self) -> Vec<f64> {
        if self.members.iter().all(|member| member.beliefs().ranks.is_some()) {
            return self.mean(BridgeFit::combined_scores);
        }
        combined_scores(&self.lagged_log_odds(), self.instant_log_odds().as_deref())
    }

    /// Deviation of the lagged log-odds over members, 0 for one member or fixed edges.
    pub fn disagreement(&self) -> Vec<f64> {
        let mean = self.lagged_log_odds();
        let n = self.members.len() as f64;
        (mean.iter().enumerate())
            .map(|(idx, mean)| {
                if !mean.is_finite() {
                    return 0.0;
                }
                let gap = |fit: &BridgeFit| (fit.lagged_log_odds()[idx] - mean).powi(2);
                (self.members.iter().map(gap).sum::<f64>() / n).sqrt()
            })
            .collect()
    }

    fn mean(&self, values: impl Fn(&BridgeFit) -> Vec<f64>) -> Vec<f64> {
        let n = self.members.len() as f64;
        let mut mean = values(&self.members[0]);
        for member in &self.members[1..] {
            for (sum, value) in mean.iter_mut().zip(values(member)) {
                *sum += value;
            }
        }
        for value in &mut mean {
            *value /= n;
        }
        mean
    }
}
