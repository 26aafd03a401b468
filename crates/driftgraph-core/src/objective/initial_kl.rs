//! Divergence of the initial state's posterior from its learned prior, both diagonal normal laws.

use crate::numeric::real::Real;

/// A normal law of one variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normal<R> {
    /// Mean.
    pub mean: R,
    /// Logarithm of the deviation.
    pub log_scale: R,
}

/// A divergence and its derivatives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InitialKl<R> {
    /// KL(posterior || prior).
    pub value: R,
    /// Derivatives by the posterior's mean and log deviation.
    pub(crate) by_posterior: Normal<R>,
    /// Derivatives by the prior's mean and log deviation.
    pub(crate) by_prior: Normal<R>,
}

/// KL(posterior || prior) of one variable of the initial state; Eq. 15 has no such term, see D3.
pub fn initial_kl<R: Real>(posterior: Normal<R>, prior: Normal<R>) -> InitialKl<R> {
    let (half, two) = (R::from_f64(0.5), R::from_f64(2.0));
    let ratio = (two * (posterior.log_scale - prior.log_scale)).exp();
    let precision = (-two * prior.log_scale).exp();
    let gap = posterior.mean - prior.mean;
    let square = ratio + gap * gap * precision;
    InitialKl {
        value: prior.log_scale - posterior.log_scale + half * square - half,
        by_posterior: Normal { mean: gap * precision, log_scale: ratio - R::ONE },
        by_prior: Normal { mean: -gap * precision, log_scale: R::ONE - square },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_laws_have_no_divergence_and_a_shift_costs_half_its_square() {
        let law = Normal { mean: 0.3, log_scale: -0.5 };
        assert_eq!(initial_kl(law, law).value, 0.0);
        // Unit variances, means 2 apart: 2^2 / 2.
        let unit = |mean| Normal { mean, log_scale: 0.0 };
        assert_eq!(initial_kl(unit(2.0), unit(0.0)).value, 2.0);
    }

    #[test]
    fn derivatives_agree_with_central_differences() {
        let at = |q: [f64; 4]| {
            let law = |mean, log_scale| Normal { mean, log_scale };
            initial_kl(law(q[0], q[1]), law(q[2], q[3]))
        };
        let point = [0.4, -0.3, -0.2, 0.6];
        let found = at(point);
        let slopes = [
            found.by_posterior.mean,
            found.by_posterior.log_scale,
            found.by_prior.mean,
            found.by_prior.log_scale,
        ];
        for idx in 0..4 {
            let step = 1e-6;
            let mut shifted = [point; 2];
            shifted[0][idx] += step;
            shifted[1][idx] -= step;
            let difference = (at(shifted[0]).value - at(shifted[1]).value) / (2.0 * step);
            // Curvature of order 1 times step^2, and rounding 1e-16 / step.
            assert!((difference - slopes[idx]).abs() < 1e-8);
        }
    }
}
