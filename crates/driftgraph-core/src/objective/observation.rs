//! Observation noise, Eq. 10 (eq: observation likelihood): x = z + noise at the observed cells.

use crate::numeric::real::Real;
use crate::numeric::special::LN_TAU;

/// The law of the observation noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObservationNoise {
    /// Density exp(-|x - z| / scale) / (2 scale), as in the paper.
    #[default]
    Laplace,
    /// Normal with deviation `scale`.
    Gaussian,
}

/// The log density of one observation and its derivatives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogDensity<R> {
    /// log p(x | z).
    pub value: R,
    /// Its derivative by the latent value z.
    pub(crate) by_latent: R,
    /// Its derivative by the logarithm of the scale.
    pub(crate) by_log_scale: R,
}

impl ObservationNoise {
    /// Variance of the law per squared scale.
    pub(crate) fn unit_variance(self) -> f64 {
        match self {
            Self::Gaussian => 1.0,
            Self::Laplace => 2.0,
        }
    }

    /// log p(x | z) for a noise scale given by its logarithm.
    pub fn log_density<R: Real>(self, observed: R, latent: R, log_scale: R) -> LogDensity<R> {
        let scale = log_scale.exp();
        let residual = (observed - latent) / scale;
        match self {
            Self::Laplace => {
                let sign = if residual > R::ZERO {
                    R::ONE
                } else if residual < R::ZERO {
                    -R::ONE
                } else {
                    // As PyTorch's gradient of |x| at 0; and `NaN` stays `NaN`.
                    residual
                };
                LogDensity {
                    value: -residual.abs() - log_scale - R::from_f64(std::f64::consts::LN_2),
                    by_latent: sign / scale,
                    by_log_scale: residual.abs() - R::ONE,
                }
            }
            Self::Gaussian => {
                let half_log_tau = R::from_f64(0.5 * LN_TAU);
                let square = residual * residual;
                LogDensity {
                    value: -R::from_f64(0.5) * square - log_scale - half_log_tau,
                    by_latent: residual / scale,
                    by_log_scale: square - R::ONE,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_by_hand() {
        // Laplace, scale 0.5, distance 1: exp(-2) / 1. Gaussian: exp(-2) / (0.5 sqrt(2 pi)).
        let log_scale = 0.5_f64.ln();
        let laplace = ObservationNoise::Laplace.log_density(3.0, 2.0, log_scale).value;
        let gaussian = ObservationNoise::Gaussian.log_density(3.0, 2.0, log_scale).value;
        assert!((laplace + 2.0).abs() < 1e-15);
        let expected = -2.0 - (0.5 * std::f64::consts::TAU.sqrt()).ln();
        assert!((gaussian - expected).abs() < 1e-15);
    }

    #[test]
    fn derivatives_agree_with_central_differences() {
        for law in [ObservationNoise::Laplace, ObservationNoise::Gaussian] {
            let at = |latent: f64, log_scale: f64| law.log_density(0.3, latent, log_scale);
            let (latent, log_scale, step) = (-0.4, -0.7, 1e-6);
            let found = at(latent, log_scale);
            let by_latent = at(latent + step, log_scale).value - at(latent - step, log_scale).value;
            let by_scale = at(latent, log_scale + step).value - at(latent, log_scale - step).value;
            // Curvature of order 1 times step^2, and rounding 1e-16 / step.
            assert!((by_latent / (2.0 * step) - found.by_latent).abs() < 1e-8);
            assert!((by_scale / (2.0 * step) - found.by_log_scale).abs() < 1e-8);
        }
    }
}
