//! Divergence of the posterior path from the prior process, by Girsanov's theorem.

use crate::numeric::real::Real;

/// The control of one variable in one step, and what it was divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Control<R> {
    /// u = (posterior drift - prior drift) / diffusion.
    pub value: R,
    /// The diffusion, or the floor in its place.
    pub divisor: R,
    /// Whether the diffusion was at or below the floor.
    pub(crate) floored: bool,
}

/// Eq. 14 (eq: u): control = (posterior_drift - prior_drift) / diffusion.
///
/// A diffusion of magnitude `floor` or less is replaced by the floor, and said to be.
#[inline]
pub fn control<R: Real>(posterior_drift: R, prior_drift: R, diffusion: R, floor: R) -> Control<R> {
    let floored = diffusion.abs() <= floor;
    let signed_floor = if diffusion < R::ZERO { -floor } else { floor };
    let divisor = if floored { signed_floor } else { diffusion };
    Control { value: (posterior_drift - prior_drift) / divisor, divisor, floored }
}

impl<R: Real> Control<R> {
    /// The step's part of the path KL: dt u² / 2.
    ///
    /// Departs from Eq. 13 (eq: ELBO 2) in the factor 1/2, see D1.
    #[inline]
    pub fn path_kl(self, dt: R) -> R {
        R::from_f64(0.5) * self.value * self.value * dt
    }

    /// Derivatives of [`path_kl`](Self::path_kl) by the posterior drift and by the diffusion.
    ///
    /// That by the prior drift is minus the first. A floored diffusion has no influence.
    #[inline]
    pub(crate) fn path_kl_slopes(self, dt: R) -> (R, R) {
        let by_drift = self.value / self.divisor * dt;
        let by_diffusion = if self.floored { R::ZERO } else { -self.value * by_drift };
        (by_drift, by_diffusion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_gap_costs_its_square_over_twice_the_variance() {
        // c = 0.3, g = 0.2, T = 5 in 50 steps: c^2 T / (2 g^2) = 5.625.
        let step = control(1.3, 1.0, 0.2, 1e-7);
        let total: f64 = (0..50).map(|_| step.path_kl(0.1)).sum();
        // Fifty sums of rounded numbers.
        assert!((total - 5.625).abs() < 1e-12);
        assert_eq!(control(0.7, 0.7, 0.2, 1e-7).path_kl(0.1), 0.0);
    }

    #[test]
    fn slopes_agree_with_central_differences() {
        let kl =
            |posterior: f64, diffusion: f64| control(posterior, 0.4, diffusion, 1e-7).path_kl(0.1);
        let (by_drift, by_diffusion) = control(0.9, 0.4, 0.3, 1e-7).path_kl_slopes(0.1);
        let step = 1e-6;
        let drift = (kl(0.9 + step, 0.3) - kl(0.9 - step, 0.3)) / (2.0 * step);
        let diffusion = (kl(0.9, 0.3 + step) - kl(0.9, 0.3 - step)) / (2.0 * step);
        // Curvature of order 10 times step^2, and rounding 1e-16 / step.
        assert!((drift - by_drift).abs() < 1e-8 && (diffusion - by_diffusion).abs() < 1e-8);
    }

    #[test]
    fn the_floor_is_never_silent() {
        let hit = control(1.0, 0.0, 1e-9, 1e-7);
        assert!(hit.floored && hit.divisor == 1e-7);
        assert_eq!(hit.path_kl_slopes(1.0).1, 0.0);
        let exact = control(1.0_f64, 0.0, 0.0, 1e-7);
        assert!(exact.floored && exact.value.is_finite());
        assert!(!control(1.0, 0.0, 2e-7, 1e-7).floored);
    }
}
