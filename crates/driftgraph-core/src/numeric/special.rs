//! Special functions of the closed forms: digamma, log beta, and moments of normal numbers.

use crate::numeric::real::{exp, ln};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// ln(2 π).
pub(crate) const LN_TAU: f64 = 1.837_877_066_409_345_3;

/// The derivative of the logarithm of the gamma function, for x > 0.
pub(crate) fn digamma(x: f64) -> f64 {
    // psi(x) = psi(x + 1) - 1/x until the asymptotic series (Abramowitz and Stegun 6.3.18) is
    // exact to rounding: its first neglected term is 0.0211 / x^12, below 3e-14 from x = 10 on.
    let (mut shift, mut x) = (0.0, x);
    while x < 10.0 {
        shift -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let mut series = 0.0;
    for coefficient in [1.0 / 132.0, -1.0 / 240.0, 1.0 / 252.0, -1.0 / 120.0, 1.0 / 12.0] {
        series = coefficient + square * series;
    }
    shift + ln(x) - 0.5 / x - series * square
}

/// The logarithm of the beta function.
pub(crate) fn ln_beta(a: f64, b: f64) -> f64 {
    libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b)
}

/// The share of a standard normal law below x.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// E|X| of a normal number, with its derivatives by mean and deviation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeanMagnitude {
    pub(crate) value: f64,
    pub(crate) by_mean: f64,
    pub(crate) by_deviation: f64,
}

/// E|X| = s sqrt(2/pi) exp(-m²/2s²) + m erf(m / (s sqrt 2)) for X ~ N(m, s²), s > 0.
pub(crate) fn mean_magnitude(mean: f64, deviation: f64) -> MeanMagnitude {
    let ratio = mean / deviation;
    let density = (2.0 / PI).sqrt() * exp(-0.5 * ratio * ratio);
    let sign = libm::erf(ratio * FRAC_1_SQRT_2);
    // The derivatives of the two exponentials cancel: what is left is erf and the density.
    MeanMagnitude { value: deviation * density + mean * sign, by_mean: sign, by_deviation: density }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_has_its_known_values_and_is_the_slope_of_log_gamma() {
        // psi(1) = -Euler's constant; psi(1/2) = psi(1) - 2 log 2. Rounding of about ten terms.
        let euler = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + euler).abs() < 1e-13);
        assert!((digamma(0.5) + euler + 2.0 * 2.0_f64.ln()).abs() < 1e-13);
        for x in [0.3, 2.0, 7.5, 40.0, 900.0] {
            let step = 1e-5 * x;
            let slope = (libm::lgamma(x + step) - libm::lgamma(x - step)) / (2.0 * step);
            // Rounding of values up to 5e3 over a step of 1e-2, and curvature times step squared.
            assert!((digamma(x) - slope).abs() < 1e-7, "{x}");
        }
    }

    #[test]
    fn log_beta_by_hand() {
        // B(2, 3) = 1! 2! / 4! = 1/12.
        assert!((ln_beta(2.0, 3.0) + 12.0_f64.ln()).abs() < 1e-14);
    }

    #[test]
    fn mean_magnitude_is_right_at_the_ends_and_in_its_slopes() {
        // A centred normal number: s sqrt(2/pi); one far from zero: its mean.
        assert!((mean_magnitude(0.0, 3.0).value - 3.0 * (2.0 / PI).sqrt()).abs() < 1e-15);
        assert!((mean_magnitude(-50.0, 1.0).value - 50.0).abs() < 1e-12);
        for (mean, deviation) in [(0.3, 0.5), (-1.2, 0.4), (0.0, 1.0)] {
            let (found, step) = (mean_magnitude(mean, deviation), 1e-6);
            let at = |m: f64, s: f64| mean_magnitude(m, s).value;
            let by_mean = (at(mean + step, deviation) - at(mean - step, deviation)) / (2.0 * step);
            let by_scale = (at(mean, deviation + step) - at(mean, deviation - step)) / (2.0 * step);
            // Rounding 1e-16 / step and curvature times step squared.
            assert!((by_mean - found.by_mean).abs() < 1e-9);
            assert!((by_scale - found.by_deviation).abs() < 1e-9);
        }
    }
}
