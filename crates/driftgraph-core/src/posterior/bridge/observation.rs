//! Expected log density of an observation when the latent value is normal: closed forms.

use crate::numeric::real::exp;
use crate::numeric::special::{LN_TAU, mean_magnitude};
use crate::objective::observation::ObservationNoise;

/// E log p(x | z) over z ~ N(mean, deviation²), with its derivatives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ExpectedLogDensity {
    /// The expectation.
    pub value: f64,
    /// Its derivative by the mean of z.
    pub(crate) by_mean: f64,
    /// Its derivative by the logarithm of the deviation of z.
    pub(crate) by_log_deviation: f64,
    /// Its derivative by the logarithm of the noise scale.
    pub(crate) by_log_scale: f64,
}

/// The normal law of a latent value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Marginal {
    /// Its mean.
    pub mean: f64,
    /// Its deviation.
    pub deviation: f64,
}

/// The expectation for one observed cell; the noise scale is given by its logarithm.
pub(crate) fn expected_log_density(
    noise: ObservationNoise,
    observed: f64,
    Marginal { mean, deviation }: Marginal,
    log_scale: f64,
) -> ExpectedLogDensity {
    let residual = observed - mean;
    match noise {
        ObservationNoise::Gaussian => {
            let precision = exp(-2.0 * log_scale);
            let spread = deviation * deviation * precision;
            let square = residual * residual * precision + spread;
            ExpectedLogDensity {
                value: -0.5 * square - log_scale - 0.5 * LN_TAU,
                by_mean: residual * precision,
                by_log_deviation: -spread,
                by_log_scale: square - 1.0,
            }
        }
        ObservationNoise::Laplace => {
            let inverse_scale = exp(-log_scale);
            let magnitude = mean_magnitude(residual, deviation);
            ExpectedLogDensity {
                value: -magnitude.value * inverse_scale - log_scale - std::f64::consts::LN_2,
                by_mean: magnitude.by_mean * inverse_scale,
                by_log_deviation: -magnitude.by_deviation * deviation * inverse_scale,
                by_log_scale: magnitude.value * inverse_scale - 1.0,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAWS: [ObservationNoise; 2] = [ObservationNoise::Gaussian, ObservationNoise::Laplace];

    #[test]
    fn a_certain_latent_value_gives_the_plain_log_density() {
        for law in LAWS {
            let found =
                expected_log_density(law, 0.3, Marginal { mean: -0.4, deviation: 1e-9 }, -0.7)
                    .value;
            let plain = law.log_density(0.3, -0.4, -0.7).value;
            assert!((found - plain).abs() < 1e-12, "{law:?}");
        }
    }

    #[test]
    fn the_closed_form_is_the_mean_over_latent_values() {
        for law in LAWS {
            // Midpoint rule over ±10 deviations; its error is far below the tolerance.
            let (mean, deviation, log_scale, n) = (0.2, 0.6, -0.5, 40_000);
            let width = 20.0 / f64::from(n);
            let expected: f64 = (0..n)
                .map(|idx| {
                    let unit = -10.0 + (f64::from(idx) + 0.5) * width;
                    let weight = (-0.5 * unit * unit).exp() / std::f64::consts::TAU.sqrt();
                    width * weight * law.log_density(0.9, mean + deviation * unit, log_scale).value
                })
                .sum();
            let found =
                expected_log_density(law, 0.9, Marginal { mean, deviation }, log_scale).value;
            // The kink of the Laplace density costs a term of order width squared, 2.5e-7.
            assert!((found - expected).abs() < 1e-6, "{law:?}: {found} {expected}");
        }
    }

    #[test]
    fn derivatives_agree_with_central_differences() {
        for law in LAWS {
            let at = |q: [f64; 3]| {
                let latent = Marginal { mean: q[0], deviation: q[1].exp() };
                expected_log_density(law, 0.9, latent, q[2])
            };
            let point = [0.2, -0.4, -0.5];
            let found = at(point);
            let slopes = [found.by_mean, found.by_log_deviation, found.by_log_scale];
            for idx in 0..3 {
                let (step, mut shifted) = (1e-6, [point; 2]);
                shifted[0][idx] += step;
                shifted[1][idx] -= step;
                let slope = (at(shifted[0]).value - at(shifted[1]).value) / (2.0 * step);
                // Curvature of order 1 times step^2, and rounding 1e-16 / step.
                assert!((slope - slopes[idx]).abs() < 1e-8, "{law:?} {idx}");
            }
        }
    }
}
