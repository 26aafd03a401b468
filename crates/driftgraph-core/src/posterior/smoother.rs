//! The local-level Kalman smoother that starts the bridge posterior near the answer.
//!
//! One variable at a time: z is a random walk of variance `process_variance` per unit of time, seen
//! with noise of variance `noise_variance`. Its smoothed means, deviations and correlations of
//! neighbours are the bridge's own parameters.

/// The two variances of a local-level model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LocalLevel {
    /// Variance of the observation noise.
    pub noise_variance: f64,
    /// Variance of the random walk per unit of time.
    pub process_variance: f64,
}

/// Sums over the observed increments of one variable, from which the variances follow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IncrementMoments {
    n: f64,
    sum: f64,
    sum_of_squares: f64,
    n_pairs: f64,
    sum_of_products: f64,
    sum_of_gaps: f64,
}

impl IncrementMoments {
    /// Adds one series; `values` may be `NaN` where nothing was observed.
    pub(crate) fn add(&mut self, times: &[f64], values: impl Iterator<Item = f64>) {
        let mut last: Option<(f64, f64)> = None;
        let mut last_increment: Option<f64> = None;
        for (&time, value) in times.iter().zip(values) {
            if value.is_nan() {
                continue;
            }
            if let Some((before, level)) = last {
                let increment = value - level;
                self.n += 1.0;
                self.sum += increment;
                self.sum_of_squares += increment * increment;
                self.sum_of_gaps += time - before;
                if let Some(previous) = last_increment {
                    self.n_pairs += 1.0;
                    self.sum_of_products += increment * previous;
                }
                last_increment = Some(increment);
            }
            last = Some((time, value));
        }
    }

    /// Variance of an increment, and its covariance with the next one.
    fn variance_and_covariance(&self) -> (f64, f64) {
        let mean = self.sum / self.n.max(1.0);
        let variance = self.sum_of_squares / self.n.max(1.0) - mean * mean;
        let covariance = self.sum_of_products / self.n_pairs.max(1.0) - mean * mean;
        (variance.max(0.0), covariance)
    }

    /// Squared increments per unit of time, or `None` without two observed values that differ.
    pub(crate) fn variance_per_time(&self) -> Option<f64> {
        (self.sum_of_squares > 0.0).then(|| self.sum_of_squares / self.sum_of_gaps)
    }

    /// The variances that explain these increments; the noise may be known.
    ///
    /// Neighbouring increments share one noisy value, so their covariance is minus the noise
    /// variance. It is kept between 1 % and 45 % of the increments' variance, since few increments
    /// estimate it badly; the process keeps at least 2 %. A variable without increments gets ones.
    pub(crate) fn local_level(&self, known_noise: Option<f64>) -> LocalLevel {
        let (variance, covariance) = self.variance_and_covariance();
        if variance <= 0.0 {
            let noise_variance = known_noise.unwrap_or(1e-2);
            return LocalLevel { noise_variance, process_variance: 1.0 };
        }
        let estimate = (-covariance).clamp(0.01 * variance, 0.45 * variance);
        let noise_variance = known_noise.unwrap_or(estimate);
        let mean_gap = self.sum_of_gaps / self.n;
        let process_variance = (variance - 2.0 * noise_variance).max(0.02 * variance) / mean_gap;
        LocalLevel { noise_variance, process_variance }
    }
}

/// Smoothed moments of one variable at one point of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Smoothed {
    /// E z.
    pub mean: f64,
    /// Deviation of z.
    pub deviation: f64,
    /// Correlation with the next point of the grid; 0 at the last.
    pub correlation: f64,
}

/// What the filter knows at one point.
#[derive(Debug, Clone, Copy)]
struct Filtered {
    mean: f64,
    variance: f64,
}

impl LocalLevel {
    /// Smooths values on a grid of `times`, `NaN` where nothing was observed.
    ///
    /// The level has a flat prior, so that only the data speak. Without any observation it is 0
    /// with the variance of one unit of time.
    pub fn smooth(&self, times: &[f64], values: &[f64]) -> Vec<Smoothed> {
        let filtered = self.filter(times, values);
        let mut smoothed = vec![Smoothed::default(); times.len()];
        let unknown = Filtered { mean: 0.0, variance: self.process_variance };
        let mut next = filtered.last().copied().flatten().unwrap_or(unknown);
        for idx in (0..times.len()).rev() {
            let mut correlation = 0.0;
            if idx + 1 < times.len() {
                let after = next;
                let walked = self.process_variance * (times[idx + 1] - times[idx]);
                let gain;
                (next, gain) = step_back(filtered[idx], after, walked);
                // Cov(z_k, z_k+1) = gain Var(z_k+1) under the smoothed law.
                correlation = gain * (after.variance / next.variance).sqrt();
            }
            smoothed[idx] =
                Smoothed { mean: next.mean, deviation: next.variance.sqrt(), correlation };
        }
        smoothed
    }

    /// What is known at each point from the past; `None` before the first observation.
    fn filter(&self, times: &[f64], values: &[f64]) -> Vec<Option<Filtered>> {
        let mut state: Option<Filtered> = None;
        let mut filtered = Vec::with_capacity(times.len());
        for idx in 0..times.len() {
            if let Some(state) = &mut state {
                state.variance += self.process_variance * (times[idx] - times[idx - 1]);
            }
            if !values[idx].is_nan() {
                state = Some(match state {
                    None => Filtered { mean: values[idx], variance: self.noise_variance },
                    Some(Filtered { mean, variance }) => {
                        let gain = variance / (variance + self.noise_variance);
                        let mean = mean + gain * (values[idx] - mean);
                        Filtered { mean, variance: variance * (1.0 - gain) }
                    }
                });
            }
            filtered.push(state);
        }
        filtered
    }
}

/// One step of the smoother of Rauch, Tung and Striebel (1965), and its gain.
fn step_back(here: Option<Filtered>, after: Filtered, walked: f64) -> (Filtered, f64) {
    // With a flat prior and nothing seen yet the gain is 1: the walk runs backwards.
    let Some(here) = here else {
        return (Filtered { variance: after.variance + walked, ..after }, 1.0);
    };
    let predicted = here.variance + walked;
    let gain = here.variance / predicted;
    let smoothed = Filtered {
        mean: here.mean + gain * (after.mean - here.mean),
        variance: here.variance + gain * gain * (after.variance - predicted),
    };
    (smoothed, gain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVEL: LocalLevel = LocalLevel { noise_variance: 0.3, process_variance: 0.7 };

    /// Posterior mean and covariance of the levels by dense linear algebra, flat prior.
    fn dense(times: &[f64], values: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = times.len();
        let mut precision = vec![0.0; n * n];
        let mut shift = vec![0.0; n];
        for k in 1..n {
            let weight = 1.0 / (LEVEL.process_variance * (times[k] - times[k - 1]));
            for (row, col, sign) in
                [(k, k, 1.0), (k - 1, k - 1, 1.0), (k, k - 1, -1.0), (k - 1, k, -1.0)]
            {
                precision[row * n + col] += sign * weight;
            }
        }
        for (k, value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            precision[k * n + k] += 1.0 / LEVEL.noise_variance;
            shift[k] += value / LEVEL.noise_variance;
        }
        let covariance = inverse(precision, n);
        let mean = (0..n).map(|k| (0..n).map(|l| covariance[k * n + l] * shift[l]).sum()).collect();
        (mean, covariance)
    }

    /// Gauss and Jordan; the matrices here are small and positive definite.
    fn inverse(mut a: Vec<f64>, n: usize) -> Vec<f64> {
        let mut out: Vec<f64> =
            (0..n * n).map(|idx| f64::from(u8::from(idx / n == idx % n))).collect();
        for col in 0..n {
            let pivot = a[col * n + col];
            for k in 0..n {
                a[col * n + k] /= pivot;
                out[col * n + k] /= pivot;
            }
            for row in (0..n).filter(|&row| row != col) {
                let factor = a[row * n + col];
                for k in 0..n {
                    a[row * n + k] -= factor * a[col * n + k];
                    out[row * n + k] -= factor * out[col * n + k];
                }
            }
        }
        out
    }

    #[test]
    fn smoothing_equals_dense_conditioning_with_holes_and_uneven_gaps() {
        let times = [0.0, 0.5, 0.7, 2.0, 2.1, 4.0, 4.5];
        let hole = f64::NAN;
        for values in
            [[1.0, 2.0, hole, -1.0, hole, 0.5, 0.2], [hole, hole, 1.0, 0.3, 0.1, hole, hole]]
        {
            let (mean, covariance) = dense(&times, &values);
            let n = times.len();
            for (k, found) in LEVEL.smooth(&times, &values).iter().enumerate() {
                // The two ways differ by rounding in a 7 x 7 inversion.
                assert!((found.mean - mean[k]).abs() < 1e-12);
                let variance = covariance[k * n + k];
                assert!((found.deviation.powi(2) - variance).abs() < 1e-12);
                if k + 1 < n {
                    let both = (variance * covariance[(k + 1) * n + k + 1]).sqrt();
                    let correlation = covariance[k * n + k + 1] / both;
                    assert!((found.correlation - correlation).abs() < 1e-12, "{k}");
                }
            }
        }
    }

    #[test]
    fn variances_of_a_simulated_walk_are_found() {
        let n = 40_000;
        let mut random = crate::random::RandomStream::new(1, crate::random::Purpose::Brownian, 0);
        let mut draws = vec![0.0; 2 * n];
        random.fill_normal(&mut draws);
        let mut level = 0.0;
        let mut moments = IncrementMoments::default();
        let times: Vec<f64> = (0..n).map(|idx| idx as f64 * 2.0).collect();
        let values = (0..n).map(|idx| {
            level += (2.0_f64 * 0.5).sqrt() * draws[2 * idx];
            level + 0.6 * draws[2 * idx + 1]
        });
        moments.add(&times, values.collect::<Vec<_>>().into_iter());
        let found = moments.local_level(None);
        // Noise variance 0.36 and 0.5 per time; relative errors of order sqrt(10 / n) = 0.016.
        assert!((found.noise_variance - 0.36).abs() < 0.03, "{found:?}");
        assert!((found.process_variance - 0.5).abs() < 0.04, "{found:?}");
        assert_eq!(moments.local_level(Some(0.1)).noise_variance, 0.1);
    }

    #[test]
    fn a_variable_that_never_varies_gets_finite_variances() {
        let mut moments = IncrementMoments::default();
        moments.add(&[0.0, 1.0, 2.0], [3.0; 3].into_iter());
        assert_eq!(moments.variance_per_time(), None);
        let level = moments.local_level(None);
        assert!(level.noise_variance > 0.0 && level.process_variance > 0.0);
        let nothing = level.smooth(&[0.0, 1.0], &[f64::NAN; 2]);
        assert!(nothing.iter().all(|point| point.mean == 0.0 && point.deviation > 0.0));
    }
}
