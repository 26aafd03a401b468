//! The lower bound of the log evidence that coordinate ascent climbs.

use super::{AMOUNT_PRECISION, Ascent, FIRST_SQUARE, OFFSET_PRECISION, SLAB_SQUARE};
use crate::numeric::real::{exp, ln, ln_1p};
use crate::numeric::special::ln_beta;
use crate::posterior::linear::grid::LinearGrid;
use crate::posterior::linear::joint::SmoothedPaths;
use crate::posterior::linear::pools::{BetaLaw, Gate};

/// Moments of smoothed paths beside those of their steps.
#[derive(Debug, Clone)]
pub struct PathMoments {
    /// Number of series whose first state was not set, by variable.
    pub n_first: Vec<f64>,
    /// Σ E z_0 by variable.
    pub first_sums: Vec<f64>,
    /// Σ E z_0² by variable.
    pub first_squares: Vec<f64>,
    /// Σ E (x - z)² over observed cells, by variable.
    pub misfits: Vec<f64>,
    /// Observed cells by variable.
    pub n_observed: Vec<f64>,
}

impl PathMoments {
    /// Sums over all series.
    pub fn new(grid: &LinearGrid, paths: &SmoothedPaths) -> Self {
        let (d, layout) = (grid.n_variables(), grid.layout());
        let zero = || vec![0.0; d];
        let mut moments = Self {
            n_first: zero(),
            first_sums: zero(),
            first_squares: zero(),
            misfits: zero(),
            n_observed: zero(),
        };
        for rows in layout.series() {
            for point in 0..rows.n_points {
                let observed = layout.observed_row(rows.first_point + point);
                for (idx, value) in observed.iter().enumerate() {
                    let mean = paths.means[(rows.first_point + point) * d + idx];
                    let variance = paths.variances[(rows.first_deviation_row + point) * d + idx];
                    let is_set = layout.set_value(rows.first_point + point, idx).is_some();
                    if point == 0 && !is_set {
                        moments.n_first[idx] += 1.0;
                        moments.first_sums[idx] += mean;
                        moments.first_squares[idx] += mean * mean + variance;
                    }
                    if !value.is_nan() {
                        moments.misfits[idx] += (value - mean).powi(2) + variance;
                        moments.n_observed[idx] += 1.0;
                    }
                }
            }
        }
        moments
    }
}

impl Ascent<'_> {
    /// The bound right after a smoothing under the parameters of the moment.
    pub fn bound(&self, paths: &SmoothedPaths) -> f64 {
        let rows = self.grid.rows();
        // What uncertain effects cost is in the smoothing; what uncertain offsets cost does not depend on paths.
        let offsets: f64 = (0..rows.n_variables())
            .map(|target| {
                let offset = rows.offset(target);
                let variance = self.state.effects.variances[offset];
                let time = paths.sums.square(offset, target);
                0.5 * time * variance / self.state.dynamics.variances[target]
            })
            .sum();
        let amounts = paths.sums.pushes.iter().zip(&self.state.effects.amounts);
        let pushed: f64 = amounts
            .map(|(push, law)| {
                0.5 * push.square * law.moments().variance
                    / self.state.dynamics.variances[push.target]
            })
            .sum();
        paths.log_evidence - offsets - pushed - self.prior_cost()
    }

    /// E log p(paths, data | effects) - KL(effects) - log priors, up to what no update of parameters changes:
    /// what an update under fixed paths must not lower.
    #[cfg(feature = "testing")]
    pub fn expected_gain(&self, paths: &SmoothedPaths) -> f64 {
        let sums = &paths.sums;
        let residuals = sums.residuals(&self.state.dynamics);
        let dynamics = &self.state.dynamics;
        let moments = PathMoments::new(self.grid, paths);
        let cost =
            |n: f64, square: f64, variance: f64| 0.5 * (n * ln(variance) + square / variance);
        let mut gain = -self.prior_cost();
        for idx in 0..self.grid.n_variables() {
            let square = self.expected_square(idx, sums, &residuals);
            gain -= cost(sums.n_steps[idx], square, dynamics.variances[idx]);
            gain -= cost(moments.n_observed[idx], moments.misfits[idx], dynamics.noise[idx]);
            let mean = dynamics.initial_means[idx];
            let square = moments.first_squares[idx] - 2.0 * mean * moments.first_sums[idx]
                + moments.n_first[idx] * mean * mean;
            gain -= cost(moments.n_first[idx], square, dynamics.initial_variances[idx]);
        }
        gain
    }

    /// KL of the effects from their prior, and minus the log priors of slabs and first variances.
    pub(super) fn prior_cost(&self) -> f64 {
        let rows = self.grid.rows();
        let effects = &self.state.effects;
        let normal_kl = |idx: usize, prior_variance: f64| {
            let square = (effects.means[idx].powi(2) + effects.variances[idx]) / prior_variance;
            // Before the first sweep nothing is known of the effects.
            if effects.variances[idx] == 0.0 {
                return 0.0;
            }
            0.5 * (square - 1.0 - ln(effects.variances[idx] / prior_variance))
        };
        let mut cost = 0.0;
        for target in 0..rows.n_variables() {
            cost += normal_kl(rows.offset(target), 1.0 / OFFSET_PRECISION);
            for (idx, source) in rows.sources(target) {
                let p = effects.probabilities[idx];
                cost += p * normal_kl(idx, effects.slabs.of(source, target).powi(2));
                if self.pools.gate_of(idx) == Gate::Free {
                    cost -= entropy(p) + p * self.pools.knowledge_of(idx);
                }
            }
        }
        cost += effects.amounts.iter().map(|law| law.divergence(AMOUNT_PRECISION)).sum::<f64>();
        for slab in [effects.slabs.others, effects.slabs.own] {
            cost += ln(slab) + 0.5 * SLAB_SQUARE / (slab * slab);
        }
        for variance in &self.state.dynamics.initial_variances {
            cost += 0.5 * (ln(*variance) + FIRST_SQUARE / variance);
        }
        cost - self.density_gain()
    }

    /// E log p(gates), densities integrated out under the best independent law of them.
    fn density_gain(&self) -> f64 {
        let expected = self.expected_edges();
        let pools = expected.iter().zip(self.pools.sizes()).filter(|(_, size)| **size > 0.0);
        match self.pools.law() {
            None => {
                let log_odds = self.pools.fixed_log_odds();
                let never = -ln_1p(exp(log_odds));
                pools.map(|(k, n)| k * log_odds + n * never).sum()
            }
            Some(BetaLaw { alpha, beta }) => {
                pools.map(|(k, n)| ln_beta(alpha + k, beta + n - k) - ln_beta(alpha, beta)).sum()
            }
        }
    }
}

fn entropy(p: f64) -> f64 {
    let part = |p: f64| if p > 0.0 { -p * ln(p) } else { 0.0 };
    part(p) + part(1.0 - p)
}
