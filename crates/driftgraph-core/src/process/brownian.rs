//! Increments of Brownian motion, addressed by seed, series and step.

use crate::random::{Purpose, RandomStream};

/// The Brownian increments of one series: normal with variance `dt`, independent over variables.
#[derive(Debug, Clone)]
pub struct BrownianIncrements {
    random: RandomStream,
    next_step: usize,
}

impl BrownianIncrements {
    /// The increments of series number `series` under `seed`.
    pub fn new(seed: u64, series: u64) -> Self {
        Self { random: RandomStream::new(seed, Purpose::Brownian, series), next_step: 0 }
    }

    /// Writes the increments of step `step_idx`, of length `dt`, one per variable into `dw`.
    ///
    /// The underlying normal numbers depend on seed, series, step and the number of variables
    /// alone: steps may be asked for in any order.
    pub fn fill(&mut self, step_idx: usize, dt: f64, dw: &mut [f64]) {
        // Steps are mostly asked for in order, and seeking throws away numbers made ahead.
        if step_idx != self.next_step {
            // Normal numbers come in pairs, so an odd number of variables takes one place more.
            self.random.seek(step_idx as u64 * dw.len().next_multiple_of(2) as u64);
        }
        self.next_step = step_idx + 1;
        self.random.fill_normal(dw);
        let deviation = dt.sqrt();
        for value in dw {
            *value *= deviation;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn increments_do_not_depend_on_the_order_of_the_steps() {
        for n_variables in [1, 4, 5] {
            let mut forwards = BrownianIncrements::new(3, 8);
            let mut in_order = vec![vec![0.0; n_variables]; 6];
            for (step_idx, dw) in in_order.iter_mut().enumerate() {
                forwards.fill(step_idx, 0.25, dw);
            }
            let mut backwards = BrownianIncrements::new(3, 8);
            let mut dw = vec![0.0; n_variables];
            for step_idx in (0..6).rev() {
                backwards.fill(step_idx, 0.25, &mut dw);
                assert_eq!(dw, in_order[step_idx], "{n_variables} variables, step {step_idx}");
            }
        }
    }

    #[test]
    fn increments_have_mean_zero_and_the_variance_of_their_step() {
        let (n_steps, dt) = (50_000, 0.01);
        let mut increments = BrownianIncrements::new(1, 0);
        let (mut sum, mut sum_of_squares) = ([0.0; 3], [0.0; 3]);
        let mut dw = [0.0; 3];
        for step_idx in 0..n_steps {
            increments.fill(step_idx, dt, &mut dw);
            for idx in 0..3 {
                sum[idx] += dw[idx];
                sum_of_squares[idx] += dw[idx] * dw[idx];
            }
        }
        // The mean has standard error sqrt(dt/n), the variance dt sqrt(2/n); five of them, with a
        // fixed seed: fails only when the address or the scale of an increment changes.
        let n = n_steps as f64;
        for idx in 0..3 {
            assert!((sum[idx] / n).abs() < 5.0 * (dt / n).sqrt());
            assert!((sum_of_squares[idx] / n / dt - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
        }
    }

    #[test]
    fn series_and_seeds_have_their_own_increments() {
        let first = |seed, series| {
            let mut dw = [0.0];
            BrownianIncrements::new(seed, series).fill(0, 1.0, &mut dw);
            dw[0]
        };
        assert_ne!(first(0, 0), first(0, 1));
        assert_ne!(first(0, 0), first(1, 0));
    }
}
