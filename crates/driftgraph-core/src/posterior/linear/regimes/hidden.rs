//! Which regime holds when: a Markov process that is seen through the density of every step.

use crate::numeric::real::{exp, ln};
use crate::random::RandomStream;

/// Mean times in a regime that are compared, in mean steps.
const STAYS: [f64; 15] =
    [2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0, 80.0, 120.0, 200.0, 300.0, 500.0, 1000.0, 2000.0];

/// How regimes follow each other: any other one, at one rate.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Switching {
    /// Mean time in a regime, in mean steps.
    pub stay: f64,
    /// Probability of each regime at the start of a series.
    pub first: Vec<f64>,
}

/// What is known of the regimes of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Filtered {
    /// Probabilities given the steps up to and with this one, `[step, regime]`.
    pub probabilities: Vec<f64>,
    /// Log density of all steps, the regimes summed out.
    pub log_density: f64,
}

impl Switching {
    /// Number of regimes.
    pub fn n_regimes(&self) -> usize {
        self.first.len()
    }

    /// Probabilities that a regime still holds (or holds again) after a time, and that a given other one does.
    pub fn after(&self, time: f64) -> [f64; 2] {
        let k = self.n_regimes() as f64;
        if k < 2.0 {
            return [1.0, 0.0];
        }
        let left = exp(-time / self.stay * k / (k - 1.0));
        let other = (1.0 - left) / k;
        [other + left, other]
    }

    /// Goes forward through the steps of a series; `lengths` are their lengths.
    pub fn forward(&self, log_densities: &[f64], lengths: &[f64]) -> Filtered {
        let k = self.n_regimes();
        let mut out = Filtered { probabilities: vec![0.0; log_densities.len()], log_density: 0.0 };
        let mut before = self.first.clone();
        for (step, logs) in log_densities.chunks_exact(k).enumerate() {
            if step > 0 {
                before = self.moved(&before, lengths[step - 1]);
            }
            let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let here = &mut out.probabilities[step * k..(step + 1) * k];
            for (regime, p) in here.iter_mut().enumerate() {
                *p = before[regime] * exp(logs[regime] - largest);
            }
            let sum: f64 = here.iter().sum();
            here.iter_mut().for_each(|p| *p /= sum);
            out.log_density += largest + ln(sum);
            before.copy_from_slice(here);
        }
        out
    }

    /// Probabilities given all steps, `[step, regime]`.
    pub fn smooth(&self, filtered: &Filtered, lengths: &[f64]) -> Vec<f64> {
        let k = self.n_regimes();
        let mut out = filtered.probabilities.clone();
        for step in (0..(out.len() / k).saturating_sub(1)).rev() {
            let here = &filtered.probabilities[step * k..(step + 1) * k];
            let predicted = self.moved(here, lengths[step]);
            let ratio: Vec<f64> = (0..k)
                .map(|idx| out[(step + 1) * k + idx] / predicted[idx].max(f64::MIN_POSITIVE))
                .collect();
            let back = self.moved(&ratio, lengths[step]);
            let smoothed: Vec<f64> = here.iter().zip(&back).map(|(p, back)| p * back).collect();
            let sum: f64 = smoothed.iter().sum();
            for (idx, p) in smoothed.iter().enumerate() {
                out[step * k + idx] = p / sum;
            }
        }
        out
    }

    /// Draws the regimes of all steps, from the last to the first.
    pub fn draw(&self, filtered: &Filtered, lengths: &[f64], random: &mut RandomStream) -> Vec<u8> {
        let k = self.n_regimes();
        let n = filtered.probabilities.len() / k;
        let mut labels = vec![0; n];
        for step in (0..n).rev() {
            let mut weights = filtered.probabilities[step * k..(step + 1) * k].to_vec();
            if step + 1 < n {
                let [same, other] = self.after(lengths[step]);
                for (regime, weight) in weights.iter_mut().enumerate() {
                    *weight *= if regime == usize::from(labels[step + 1]) { same } else { other };
                }
            }
            labels[step] = picked(&weights, random) as u8;
        }
        labels
    }

    /// Probabilities some time later; the matrix is symmetric, so this goes back as well.
    fn moved(&self, probabilities: &[f64], time: f64) -> Vec<f64> {
        let [same, other] = self.after(time);
        let sum: f64 = probabilities.iter().sum();
        probabilities.iter().map(|p| same * p + other * (sum - p)).collect()
    }

    /// Draws the law itself given the regimes of all series.
    pub fn draw_law(&mut self, labels: &[&[u8]], lengths: &[&[f64]], random: &mut RandomStream) {
        let k = self.n_regimes();
        let mut weights: Vec<f64> = vec![1.0; k];
        labels
            .iter()
            .filter_map(|labels| labels.first())
            .for_each(|&label| weights[usize::from(label)] += 1.0);
        let drawn: Vec<f64> = weights.iter().map(|&weight| random.gamma(weight)).collect();
        let sum: f64 = drawn.iter().sum();
        self.first = drawn.iter().map(|value| value / sum).collect();
        let logs: Vec<f64> =
            STAYS.iter().map(|&stay| self.log_law(stay, labels, lengths)).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| exp(log - largest)).collect();
        self.stay = STAYS[picked(&weights, random)];
    }

    fn log_law(&self, stay: f64, labels: &[&[u8]], lengths: &[&[f64]]) -> f64 {
        let law = Self { stay, first: self.first.clone() };
        let mut sum = 0.0;
        for (labels, lengths) in labels.iter().zip(lengths) {
            for (pair, &length) in labels.windows(2).zip(*lengths) {
                let [same, other] = law.after(length);
                sum += ln(if pair[0] == pair[1] { same } else { other });
            }
        }
        sum
    }
}

/// A position drawn in proportion to weights.
pub(super) fn picked(weights: &[f64], random: &mut RandomStream) -> usize {
    let mut left = random.uniform() * weights.iter().sum::<f64>();
    for (idx, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return idx;
        }
    }
    // Rounding may leave a last bit: the last that can be drawn takes it.
    weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    const LENGTHS: [f64; 4] = [1.0, 0.5, 2.0, 1.0];

    fn example() -> (Switching, Vec<f64>) {
        let law = Switching { stay: 3.0, first: vec![0.5, 0.3, 0.2] };
        let logs = (0..12).map(|idx| -0.3 * f64::from(idx * idx % 7)).collect();
        (law, logs)
    }

    /// Probability of every sequence of four regimes, by multiplying out.
    fn enumerated(law: &Switching, logs: &[f64]) -> Vec<(Vec<usize>, f64)> {
        (0..81)
            .map(|code| {
                let labels: Vec<usize> = (0..4).map(|at| code / 3_usize.pow(at) % 3).collect();
                let mut weight = law.first[labels[0]];
                for (step, &label) in labels.iter().enumerate() {
                    weight *= logs[step * 3 + label].exp();
                    if step > 0 {
                        let [same, other] = law.after(LENGTHS[step - 1]);
                        weight *= if label == labels[step - 1] { same } else { other };
                    }
                }
                (labels, weight)
            })
            .collect()
    }

    #[test]
    fn forward_and_backward_agree_with_enumeration() {
        let (law, logs) = example();
        let all = enumerated(&law, &logs);
        let total: f64 = all.iter().map(|(_, weight)| weight).sum();
        let filtered = law.forward(&logs, &LENGTHS);
        assert!((filtered.log_density - total.ln()).abs() < 1e-12);
        let smoothed = law.smooth(&filtered, &LENGTHS);
        for step in 0..4 {
            for regime in 0..3 {
                let with = all.iter().filter(|(labels, _)| labels[step] == regime);
                let expected = with.map(|(_, weight)| weight).sum::<f64>() / total;
                assert!((smoothed[step * 3 + regime] - expected).abs() < 1e-12, "{step} {regime}");
            }
        }
    }

    #[test]
    fn drawn_sequences_come_as_often_as_enumeration_says() {
        let (law, logs) = example();
        let all = enumerated(&law, &logs);
        let total: f64 = all.iter().map(|(_, weight)| weight).sum();
        let filtered = law.forward(&logs, &LENGTHS);
        let mut random = RandomStream::new(1000, Purpose::Sampler, 0);
        let n = 20_000;
        let mut counts = vec![0.0; 81];
        for _ in 0..n {
            let labels = law.draw(&filtered, &LENGTHS, &mut random);
            let code =
                (0..4).map(|at| usize::from(labels[at]) * 3_usize.pow(at as u32)).sum::<usize>();
            counts[code] += 1.0 / f64::from(n);
        }
        // Five standard errors of a share: false alarms once in 20,000 runs of all 81.
        for (code, (_, weight)) in all.iter().enumerate() {
            let p = weight / total;
            let error = (p * (1.0 - p) / f64::from(n)).sqrt();
            assert!((counts[code] - p).abs() < 5.0 * error + 1e-4, "{code}: {} {p}", counts[code]);
        }
    }

    #[test]
    fn regimes_leave_at_their_rate_whatever_the_steps() {
        let law = Switching { stay: 4.0, first: vec![0.25; 4] };
        // Two steps after each other are one of both lengths.
        let [same, other] = law.after(0.7);
        let twice = same * same + 3.0 * other * other;
        assert!((twice - law.after(1.4)[0]).abs() < 1e-12);
        // In a short time a regime is left at the rate 1 / stay.
        assert!((1.0 - law.after(1e-6)[0] - 1e-6 / 4.0).abs() < 1e-11);
        assert_eq!(Switching { stay: 4.0, first: vec![1.0] }.after(9.0), [1.0, 0.0]);
    }
}
