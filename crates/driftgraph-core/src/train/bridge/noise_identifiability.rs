//! Whether the data can tell observation noise from the process: moments of AR(1) plus noise.

use crate::posterior::bridge::layout::BridgeLayout;

/// Medians over the variables of what the first three autocovariances say.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct NoiseMoments {
    /// gamma_2 / gamma_1, the persistence of an AR(1) process seen with noise.
    pub persistence: f64,
    /// 1 - gamma_1 / (persistence gamma_0), the noise's share of the variance.
    pub noise_share: f64,
}

impl NoiseMoments {
    /// The medians, or `None` where no variable was observed at three neighbouring grid points.
    pub fn new(layout: &BridgeLayout) -> Option<Self> {
        let (mut persistences, mut shares): (Vec<f64>, Vec<f64>) = (0..layout.n_variables())
            .filter_map(|variable| {
                let gamma = autocovariances(layout, variable)?;
                let persistence = gamma[2] / gamma[1];
                Some((persistence, 1.0 - gamma[1] / (persistence * gamma[0])))
            })
            .unzip();
        Some(Self { persistence: median(&mut persistences)?, noise_share: median(&mut shares)? })
    }

    /// Whether a noise scale can be learned: slow enough a process, and a believable share.
    pub fn identifies_noise(self) -> bool {
        (0.5..1.0).contains(&self.persistence) && (0.01..0.6).contains(&self.noise_share)
    }
}

/// Autocovariances of one variable at lags 0, 1 and 2, about its mean over all series.
fn autocovariances(layout: &BridgeLayout, variable: usize) -> Option<[f64; 3]> {
    let value = |point: usize| layout.observed_row(point)[variable];
    let observed = (0..layout.n_points()).map(value).filter(|value| !value.is_nan());
    let (n, sum) = observed.fold((0.0, 0.0), |(n, sum), value| (n + 1.0, sum + value));
    let mean = sum / n;
    let mut gamma = [0.0; 3];
    for (lag, gamma) in gamma.iter_mut().enumerate() {
        let (mut n_pairs, mut sum) = (0.0, 0.0);
        for rows in layout.series() {
            for point in rows.first_point..(rows.first_point + rows.n_points).saturating_sub(lag) {
                let product = (value(point) - mean) * (value(point + lag) - mean);
                if !product.is_nan() {
                    n_pairs += 1.0;
                    sum += product;
                }
            }
        }
        *gamma = sum / n_pairs;
    }
    gamma.iter().all(|gamma| gamma.is_finite() && *gamma != 0.0).then_some(gamma)
}

fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    let (_, median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    Some(*median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, RandomStream};
    use crate::{ObservedSeries, SeriesSet};

    /// AR(1) of unit variance, seen with noise of a given deviation.
    fn layout(persistence: f64, noise: f64) -> BridgeLayout {
        let n = 4_000;
        let mut draws = vec![0.0; 2 * n];
        RandomStream::new(3, Purpose::Brownian, 0).fill_normal(&mut draws);
        let mut state = 0.0;
        let values = draws.chunks(2).map(|pair| {
            state = persistence * state + (1.0 - persistence * persistence).sqrt() * pair[0];
            state + noise * pair[1]
        });
        let times = (0..n).map(|idx| idx as f64).collect();
        let series = ObservedSeries::new("a", 1, times, values.collect()).unwrap();
        BridgeLayout::new(&SeriesSet::new(vec!["x".into()], vec![series]).unwrap(), 1.0).unwrap()
    }

    #[test]
    fn persistence_and_share_of_a_noisy_process_are_found() {
        let moments = NoiseMoments::new(&layout(0.9, 0.5)).unwrap();
        // The share is 0.25 / 1.25 = 0.2; errors of order 1 / sqrt(n) = 0.016 times a few.
        assert!((moments.persistence - 0.9).abs() < 0.05, "{moments:?}");
        assert!((moments.noise_share - 0.2).abs() < 0.08, "{moments:?}");
        assert!(moments.identifies_noise());
    }

    #[test]
    fn exact_values_and_fast_processes_identify_no_noise() {
        assert!(!NoiseMoments::new(&layout(0.9, 0.0)).unwrap().identifies_noise());
        assert!(!NoiseMoments::new(&layout(0.1, 0.5)).unwrap().identifies_noise());
    }
}
