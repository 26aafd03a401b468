//! What a descent ends with: covariances, evidence, and the noise as a normal law has it.

use super::{Descent, FREEDOM, Linearised};
use crate::numeric::kernels::{View, product};
use crate::numeric::linalg::{cholesky, identity, solve_lower};
use crate::numeric::real::ln;
use crate::posterior::polynomial::belief::Belief;
use crate::posterior::polynomial::library::{Library, Unknown};
use crate::posterior::polynomial::normal_equations::curvature;
use crate::posterior::polynomial::tangent::Weighed;

impl Descent<'_> {
    /// Cholesky's factor of curvature and prior together, inverted.
    pub(super) fn inverse_factor(&self, curvature: &[f64]) -> Option<InverseFactor> {
        let unknowns = self.library.unknowns();
        let size = unknowns.len();
        let mut matrix = curvature.to_vec();
        for (idx, unknown) in unknowns.iter().enumerate() {
            matrix[idx * (size + 1)] += self.precisions[unknown.term];
        }
        let factor = cholesky(&matrix, size)?;
        let half_log_det = factor.iter().step_by(size + 1).map(|pivot| ln(*pivot)).sum();
        let mut inverse = identity(size);
        solve_lower(&factor, size, &mut inverse, size);
        Some(InverseFactor { inverse, half_log_det })
    }

    /// What is believed where it is now; `None` where that cannot be computed.
    pub fn belief(mut self) -> Option<Belief> {
        let has_converged = self.has_ended() && self.stands_still();
        let n = self.library.n_variables();
        let linearised = self.linearised()?;
        let curvature = curvature(&self.weighted(&linearised), self.library);
        let inverse = self.inverse_factor(&curvature)?;
        let covariances = (0..n).map(|target| inverse.block(self.library, target)).collect();
        let log_evidence = self.log_evidence(&linearised, inverse.half_log_det);
        let noise = self.usual_noise(&linearised);
        Some(Belief {
            innovations: linearised.weighed.iter().map(|one| weighted_innovation(one, n)).collect(),
            theta: self.theta,
            covariances,
            precisions: self.precisions,
            noise,
            log_evidence,
            has_converged,
            paths: self.paths,
        })
    }

    /// log p(rows after | rows before) with the terms integrated out around their optimum.
    fn log_evidence(&self, linearised: &Linearised, half_log_det: f64) -> f64 {
        let n = self.library.n_variables();
        let of_gaps: f64 = linearised.weighed.iter().map(|one| one.log_density(n)).sum();
        let of_terms = self.library.unknowns().iter().map(|&Unknown { target, term }| {
            let precision = self.precisions[term];
            0.5 * (ln(precision) - precision * self.theta[term * n + target].powi(2))
        });
        of_gaps + of_terms.sum::<f64>() - half_log_det
    }

    /// The noise as a normal law has it: Student's law has its own scale for the same data.
    fn usual_noise(&self, linearised: &Linearised) -> Vec<f64> {
        let n = self.library.n_variables() as f64;
        let mut distances: Vec<f64> = linearised.weighed.iter().map(|one| one.distance).collect();
        distances.sort_by(f64::total_cmp);
        let median = distances[distances.len() / 2];
        // Wilson and Hilferty's median of a sum of squares of n normal numbers.
        let expected = n * (1.0 - 2.0 / (9.0 * n)).powi(3);
        self.noise.iter().map(|noise| noise * (median / expected).clamp(1e-6, 1e3)).collect()
    }
}

/// What a gap leaves unexplained, gaps whose path went elsewhere as little as they count in the descent.
fn weighted_innovation(one: &Weighed, n: usize) -> Vec<f64> {
    let weight = ((FREEDOM + n as f64) / (FREEDOM + one.distance)).sqrt();
    one.innovation(n).into_iter().map(|value| weight * value).collect()
}

/// L^-1 of H = L L' and log|H| / 2.
pub(super) struct InverseFactor {
    pub(super) inverse: Vec<f64>,
    half_log_det: f64,
}

impl InverseFactor {
    /// The covariance of one target's terms, H^-1 = L^-1' L^-1.
    fn block(&self, library: &Library, target: usize) -> Vec<f64> {
        let (size, first) = (library.unknowns().len(), library.first_unknown(target));
        let n_own = library.unknowns_of(target).len();
        // Rows above the block are zero there.
        let rows: Vec<f64> = (self.inverse.chunks_exact(size).skip(first))
            .flat_map(|row| row[first..first + n_own].iter().copied())
            .collect();
        let mut block = vec![0.0; n_own * n_own];
        let view = View::new(&rows, size - first, n_own);
        product(&mut block, n_own, view.t(), view);
        block
    }
}
