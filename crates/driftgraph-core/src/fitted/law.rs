//! The law of one number: a mixture of normal laws, or samples; mean, quantiles and score.

use super::bands::quantile;
use crate::numeric::special::{mean_magnitude, normal_cdf};

/// The law of one number.
#[derive(Debug, Clone, PartialEq)]
pub enum Law {
    /// Normal laws of equal weight: mean and deviation each.
    Mixture(Vec<(f64, f64)>),
    /// Samples of equal weight, sorted.
    Samples(Vec<f64>),
}

impl Law {
    /// The law of these samples.
    pub(crate) fn of_samples(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        Self::Samples(samples)
    }

    /// Its mean.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Mixture(parts) => average(parts.iter().map(|part| part.0)),
            Self::Samples(samples) => average(samples.iter().copied()),
        }
    }

    /// Its deviation.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        match self {
            Self::Mixture(parts) => {
                average(parts.iter().map(|(centre, s)| s * s + (centre - mean).powi(2))).sqrt()
            }
            Self::Samples(samples) => {
                average(samples.iter().map(|sample| (sample - mean).powi(2))).sqrt()
            }
        }
    }

    /// The number below which a share `level` lies.
    pub fn quantile(&self, level: f64) -> f64 {
        let parts = match self {
            Self::Samples(samples) => return quantile(samples, level),
            Self::Mixture(parts) => parts,
        };
        // The quantile of a mixture lies between those of its parts, which lie within 9 deviations.
        let ends = parts.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (m, s)| {
            (low.min(m - 9.0 * s), high.max(m + 9.0 * s))
        });
        let below = |x: f64| average(parts.iter().map(|(m, s)| normal_cdf((x - m) / s)));
        let (mut low, mut high) = ends;
        // Each round halves the interval: 60 reach the last digit.
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if below(middle) < level { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }

    /// The law with independent noise of that deviation added; samples are widened one by one.
    #[must_use]
    pub(super) fn with_noise(&self, deviation: f64, draws: impl FnMut() -> f64) -> Self {
        match self {
            Self::Mixture(parts) => {
                Self::Mixture(parts.iter().map(|(m, s)| (*m, s.hypot(deviation))).collect())
            }
            Self::Samples(samples) => {
                let mut draws = draws;
                Self::of_samples(
                    samples.iter().map(|sample| sample + deviation * draws()).collect(),
                )
            }
        }
    }

    /// Continuous ranked probability score of an outcome: E|X - y| - 1/2 E|X - X'|.
    ///
    /// Closed form for mixtures (Grimit et al. 2006, doi:10.1256/qj.05.235), the unbiased estimate for
    /// samples. Smaller is better; for a certain forecast it is the absolute error.
    pub fn crps(&self, outcome: f64) -> f64 {
        match self {
            Self::Mixture(parts) => {
                let to = average(parts.iter().map(|(m, s)| mean_distance(outcome - m, *s)));
                let within = average(parts.iter().flat_map(|(m, s)| {
                    parts.iter().map(move |(other, t)| mean_distance(m - other, s.hypot(*t)))
                }));
                to - 0.5 * within
            }
            Self::Samples(samples) => {
                let n = samples.len() as f64;
                let to = average(samples.iter().map(|sample| (sample - outcome).abs()));
                // Sorted: each sample is above k others and below n - 1 - k.
                let spread: f64 = (samples.iter().enumerate())
                    .map(|(below, sample)| sample * (2.0 * below as f64 - n + 1.0))
                    .sum();
                to - spread / (n * (n - 1.0).max(1.0))
            }
        }
    }
}

/// E|gap + s e| with e standard normal.
fn mean_distance(gap: f64, s: f64) -> f64 {
    if s == 0.0 {
        return gap.abs();
    }
    mean_magnitude(gap, s).value
}

fn average(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for value in values {
        sum += value;
        n += 1.0;
    }
    sum / n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normal_law_has_its_known_quantiles_and_score() {
        let law = Law::Mixture(vec![(2.0, 3.0)]);
        // The 95 % quantile of the standard normal law is 1.6448536269514722.
        assert!((law.quantile(0.95) - (2.0 + 3.0 * 1.6448536269514722)).abs() < 1e-9);
        assert!((law.quantile(0.5) - 2.0).abs() < 1e-9);
        // CRPS at the mean: s (sqrt 2 - 1) / sqrt π.
        let expected = 3.0 * (2.0_f64.sqrt() - 1.0) / std::f64::consts::PI.sqrt();
        assert!((law.crps(2.0) - expected).abs() < 1e-9);
        assert_eq!((law.mean(), law.deviation()), (2.0, 3.0));
    }

    #[test]
    fn a_mixture_has_mean_and_spread_of_its_parts() {
        let law = Law::Mixture(vec![(-1.0, 1.0), (1.0, 1.0)]);
        assert!((law.deviation() - 2.0_f64.sqrt()).abs() < 1e-15);
        assert!(law.quantile(0.5).abs() < 1e-9);
    }

    #[test]
    fn samples_score_as_their_pairs_do() {
        let samples = [3.0, -1.0, 0.5, 2.0];
        let law = Law::of_samples(samples.to_vec());
        let to: f64 = samples.iter().map(|x| (x - 1.0_f64).abs()).sum::<f64>() / 4.0;
        let pairs: f64 = samples.iter().flat_map(|x| samples.map(|y| (x - y).abs())).sum();
        // Twelve ordered pairs of different samples; rounding of a few sums.
        assert!((law.crps(1.0) - (to - 0.5 * pairs / 12.0)).abs() < 1e-15);
        assert_eq!(Law::Mixture(vec![(4.0, 0.0)]).crps(1.5), 2.5);
    }
}
