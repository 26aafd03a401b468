//! What is believed of the terms once they are found: log-odds of sources, as far as the evidence counts.

use super::library::Library;
use crate::numeric::linalg::{cholesky, log_det_and_inverse, solve_lower, solve_upper};
use crate::numeric::real::ln;

/// The normal law of the terms around their optimum, on standardised values.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Belief {
    /// θ, `[term, target]`.
    pub theta: Vec<f64>,
    /// Covariance of each target's unknowns, in their order.
    pub covariances: Vec<Vec<f64>>,
    /// Prior precision of each term.
    pub precisions: Vec<f64>,
    /// Variance per unit of time of each variable's noise.
    pub noise: Vec<f64>,
    /// log p(rows after | rows before) with the terms integrated out.
    pub log_evidence: f64,
    /// Whether the descent ended because nothing changed any more.
    pub has_converged: bool,
    /// What each gap leaves unexplained, in its own deviations, `[gap][variable]`.
    pub innovations: Vec<Vec<f64>>,
    /// The path of each gap, `[step + 1, variable]`.
    pub paths: Vec<Vec<f64>>,
}

/// The normal law of one target's unknowns.
#[derive(Debug, Clone)]
pub struct TargetLaw {
    /// In the order of the library.
    pub means: Vec<f64>,
    /// Their covariance.
    pub covariance: Vec<f64>,
}

impl Belief {
    /// What is believed of one target's terms if the evidence counts by this share alone; `None` where it cannot be computed.
    ///
    /// The terms of other targets are integrated out first.
    pub fn law(&self, library: &Library, target: usize, share: f64) -> Option<TargetLaw> {
        let (n, own) = (library.n_variables(), library.unknowns_of(target));
        let size = own.len();
        let means: Vec<f64> =
            own.iter().map(|unknown| self.theta[unknown.term * n + target]).collect();
        let covariance = self.covariances[target].clone();
        if share >= 1.0 {
            return Some(TargetLaw { means, covariance });
        }
        // The precision is that of the prior and that of the data; only the latter counts less.
        let mut precision = log_det_and_inverse(&covariance, size)?.1;
        let mut pulls: Vec<f64> = (precision.chunks_exact(size))
            .map(|row| share * row.iter().zip(&means).map(|(a, b)| a * b).sum::<f64>())
            .collect();
        precision.iter_mut().for_each(|entry| *entry *= share);
        for (idx, unknown) in own.iter().enumerate() {
            precision[idx * (size + 1)] += (1.0 - share) * self.precisions[unknown.term];
        }
        let factor = cholesky(&precision, size)?;
        solve_lower(&factor, size, &mut pulls, 1);
        solve_upper(&factor, size, &mut pulls, 1);
        let covariance = log_det_and_inverse(&precision, size)?.1;
        Some(TargetLaw { means: pulls, covariance })
    }

    /// Log-odds that a source has any term in the drift of a target, `[source, target]`, by Savage and Dickey: the
    /// density of no term at all under the prior over that under the posterior. `shares` say how much of the
    /// evidence counts for each target.
    pub fn log_odds(&self, library: &Library, shares: &[f64]) -> Option<Vec<f64>> {
        let n = library.n_variables();
        let mut all = vec![0.0; n * n];
        for (target, &share) in shares.iter().enumerate() {
            let law = self.law(library, target, share)?;
            for source in 0..n {
                let places = library.places_with(source, target);
                all[source * n + target] = if places.is_empty() {
                    f64::NEG_INFINITY
                } else {
                    self.of_group(library, target, &law, &places)?
                };
            }
        }
        Some(all)
    }

    /// θ_g' C_gg^-1 θ_g / 2 + log|C_gg| / 2 + log|Λ_gg| / 2.
    fn of_group(
        &self,
        library: &Library,
        target: usize,
        law: &TargetLaw,
        places: &[usize],
    ) -> Option<f64> {
        let size = places.len();
        let factor = cholesky(&law.block(places), size)?;
        let mut white: Vec<f64> = places.iter().map(|&place| law.means[place]).collect();
        solve_lower(&factor, size, &mut white, 1);
        let distance: f64 = white.iter().map(|value| value * value).sum();
        let half_log_det: f64 = factor.iter().step_by(size + 1).map(|pivot| ln(*pivot)).sum();
        let own = library.unknowns_of(target);
        let prior: f64 = places.iter().map(|&at| ln(self.precisions[own[at].term])).sum();
        Some(0.5 * distance + half_log_det + 0.5 * prior)
    }
}

impl TargetLaw {
    /// Covariance of some of the unknowns.
    pub fn block(&self, places: &[usize]) -> Vec<f64> {
        let size = self.means.len();
        let rows = places.iter().flat_map(|&row| places.iter().map(move |&col| [row, col]));
        rows.map(|[row, col]| self.covariance[row * size + col]).collect()
    }
}
