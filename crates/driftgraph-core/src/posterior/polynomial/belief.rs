//! What is believed of the terms once they are found: log-odds of sources and of terms.

use super::library::Library;
use crate::numeric::linalg::{cholesky, solve_lower};
use crate::numeric::real::ln;

/// The normal law of the terms around their optimum, on standardised values.
#[derive(Debug, Clone)]
pub struct Belief {
    /// θ, `[term, target]`.
    pub theta: Vec<f64>,
    /// Covariance, `[target, term; target, term]`.
    pub covariance: Vec<f64>,
    /// Prior precision of each term.
    pub precisions: Vec<f64>,
    /// log p(rows after | rows before) with the terms integrated out.
    pub log_evidence: f64,
    /// Whether the descent ended because nothing changed any more.
    pub has_converged: bool,
}

impl Belief {
    /// Log-odds that a source has any term in the drift of a target, `[source, target]`, by Savage and Dickey: the
    /// density of no term at all under the prior over that under the posterior.
    pub fn log_odds(&self, library: &Library) -> Option<Vec<f64>> {
        let n = library.n_variables();
        let mut all = vec![0.0; n * n];
        for source in 0..n {
            let terms = library.terms_with(source);
            for target in 0..n {
                all[source * n + target] = self.of_group(library, &terms, target)?;
            }
        }
        Some(all)
    }

    /// θ_g' C_gg^-1 θ_g / 2 + log|C_gg| / 2 + log|Λ_gg| / 2.
    fn of_group(&self, library: &Library, terms: &[usize], target: usize) -> Option<f64> {
        let (n, size) = (library.n_variables(), terms.len());
        let block = self.block(library, target, terms);
        let factor = cholesky(&block, size)?;
        let mut white: Vec<f64> = terms.iter().map(|&term| self.theta[term * n + target]).collect();
        solve_lower(&factor, size, &mut white, 1);
        let distance: f64 = white.iter().map(|value| value * value).sum();
        let half_log_det: f64 = factor.iter().step_by(size + 1).map(|pivot| ln(*pivot)).sum();
        let prior: f64 = terms.iter().map(|&term| ln(self.precisions[term])).sum();
        Some(0.5 * distance + half_log_det + 0.5 * prior)
    }

    /// Covariance of some terms of one target.
    pub fn block(&self, library: &Library, target: usize, terms: &[usize]) -> Vec<f64> {
        let n_terms = library.n_terms();
        let size = library.n_variables() * n_terms;
        let at = |term: usize| target * n_terms + term;
        let rows = terms.iter().flat_map(|&row| terms.iter().map(move |&col| [row, col]));
        rows.map(|[row, col]| self.covariance[at(row) * size + at(col)]).collect()
    }
}
