//! A normal law, cut at 0 where the sign of what it describes is known.

use std::f64::consts::LN_2;

use crate::numeric::real::{exp, ln};
use crate::numeric::special::LN_TAU;
use crate::random::RandomStream;

/// A normal law of this mean and variance, given that the number has this sign; 0 stands for any.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CutNormal {
    /// Mean before the cut.
    pub mean: f64,
    /// Variance before the cut.
    pub variance: f64,
    /// The sign that is known.
    pub sign: f64,
}

/// Below so many deviations the ratio of density to distribution comes from a continued fraction.
const FAR: f64 = -8.0;
/// Fractions after which nothing changes any more that far out.
const FRACTIONS: u32 = 60;

/// Mean and variance of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The variance.
    pub variance: f64,
}

impl CutNormal {
    /// Nothing was learned yet: 0, as if it were known.
    pub fn unknown(sign: f64) -> Self {
        Self { mean: 0.0, variance: 0.0, sign }
    }

    /// Divergence from the law N(0, 1 / precision) with the same cut; 0 where nothing was learned.
    pub fn divergence(&self, precision: f64) -> f64 {
        let Self { mean, variance, sign } = *self;
        if variance == 0.0 {
            return 0.0;
        }
        let own = self.moments();
        let square = own.variance + own.mean * own.mean;
        let around = own.variance + (own.mean - mean).powi(2);
        let cut = if sign == 0.0 { 0.0 } else { LN_2 + ln_normal(sign * mean / variance.sqrt()) };
        0.5 * (precision * square - around / variance - ln(precision * variance)) - cut
    }

    /// Mean and variance.
    pub fn moments(&self) -> Moments {
        let Self { mean, variance, sign } = *self;
        if sign == 0.0 || variance == 0.0 {
            return Moments { mean, variance };
        }
        let deviation = variance.sqrt();
        // With x = sign (value), x ~ N(m, v) given x > 0; r = density / distribution at m / s.
        let centre = sign * mean / deviation;
        let ratio = density_ratio(centre);
        let shrunk = (1.0 - ratio * (centre + ratio)).max(f64::MIN_POSITIVE);
        Moments { mean: sign * deviation * (centre + ratio), variance: variance * shrunk }
    }

    /// A number drawn from it, by inverting its distribution.
    pub fn draw(&self, random: &mut RandomStream) -> f64 {
        let Self { mean, variance, sign } = *self;
        let deviation = variance.sqrt();
        if sign == 0.0 {
            return mean + deviation * random.normal();
        }
        let cut = -sign * mean / deviation;
        sign * deviation * (tail(cut, random) - cut)
    }
}

/// A standard normal number beyond a cut.
fn tail(cut: f64, random: &mut RandomStream) -> f64 {
    if cut <= 0.0 {
        // At least every second number lies beyond.
        loop {
            let number = random.normal();
            if number > cut {
                return number;
            }
        }
    }
    // Robert (1995), doi:10.1007/BF00143942: a shifted exponential, accepted as often as it is normal.
    let rate = 0.5 * (cut + (cut * cut + 4.0).sqrt());
    loop {
        let number = cut - ln(1.0 - random.uniform()) / rate;
        if random.uniform() <= exp(-0.5 * (number - rate).powi(2)) {
            return number;
        }
    }
}

/// log Φ(x).
fn ln_normal(x: f64) -> f64 {
    if x < FAR {
        return -0.5 * x * x - 0.5 * LN_TAU - ln(density_ratio(x));
    }
    ln(0.5 * libm::erfc(-x / std::f64::consts::SQRT_2))
}

/// φ(x) / Φ(x).
fn density_ratio(x: f64) -> f64 {
    if x < FAR {
        // Mills' ratio turned over, as Laplace's continued fraction y + 1 / (y + 2 / (y + 3 / ...)).
        let y = -x;
        return (1..=FRACTIONS).rev().fold(y, |tail, number| y + f64::from(number) / tail);
    }
    let density = exp(-0.5 * x * x - 0.5 * LN_TAU);
    density / (0.5 * libm::erfc(-x / std::f64::consts::SQRT_2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn moments_are_those_of_draws_near_the_cut_and_far_beyond_it() {
        for (mean, sign) in [(0.3, 1.0), (-1.0, 1.0), (2.0, -1.0), (-6.0, 1.0), (0.7, 0.0)] {
            let law = CutNormal { mean, variance: 0.25, sign };
            let mut random = RandomStream::new(1, Purpose::Sampler, 9);
            let n = 40_000;
            let draws: Vec<f64> = (0..n).map(|_| law.draw(&mut random)).collect();
            assert!(draws.iter().all(|value| sign == 0.0 || value * sign > 0.0));
            let average = draws.iter().sum::<f64>() / f64::from(n);
            let spread = draws.iter().map(|value| (value - average).powi(2)).sum::<f64>();
            let Moments { mean: expected, variance } = law.moments();
            // Five standard errors of a mean; the variance of a variance is at most that of an exponential, 8 v².
            let error = (variance / f64::from(n)).sqrt();
            assert!((average - expected).abs() < 5.0 * error, "{mean}: {average} {expected}");
            let relative = spread / f64::from(n) / variance - 1.0;
            assert!(relative.abs() < 5.0 * (8.0 / f64::from(n)).sqrt(), "{mean}: {relative}");
        }
    }
}
