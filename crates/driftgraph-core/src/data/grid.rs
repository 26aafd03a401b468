//! The solver's steps along one series.

use std::ops::Range;

use crate::CoreError;

/// More steps than this would not fit into the memory of a laptop.
const MAX_STEPS: usize = 1 << 30;

/// Solver steps of one series: every observation time exactly, no step longer than asked.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeGrid {
    times: Vec<f64>,
    observation_idx: Vec<usize>,
}

impl TimeGrid {
    /// Splits each gap between observations into the fewest equal steps of at most `step_size`.
    ///
    /// `observation_times` must increase strictly, as those of an
    /// [`ObservedSeries`](crate::ObservedSeries) do.
    pub fn new(observation_times: &[f64], step_size: f64) -> Result<Self, CoreError> {
        Self::through(observation_times, step_size, |gap, step, n_steps| gap * (step / n_steps))
    }

    /// Steps of exactly `step_size` from each time on; the last one before the next time is shorter.
    ///
    /// A process that was learned for steps of one length is followed in such steps, wherever it is
    /// looked at.
    pub fn even(times: &[f64], step_size: f64) -> Result<Self, CoreError> {
        Self::through(times, step_size, |_, step, _| step_size * step)
    }

    /// `end` gives where a step of a gap ends, from the gap, the step's number and the number of steps.
    fn through(
        observation_times: &[f64],
        step_size: f64,
        end: impl Fn(f64, f64, f64) -> f64,
    ) -> Result<Self, CoreError> {
        if !(step_size > 0.0 && step_size.is_finite()) {
            return Err(CoreError::BadStepSize { step_size });
        }
        debug_assert!(observation_times.is_sorted(), "an observed series has increasing times");
        let n_steps: f64 = observation_times
            .windows(2)
            .map(|pair| steps_in_gap(pair[1] - pair[0], step_size))
            .sum();
        if n_steps > MAX_STEPS as f64 {
            return Err(CoreError::TooManySteps { step_size, n_steps, limit: MAX_STEPS });
        }
        let mut times = Vec::with_capacity(n_steps as usize + 1);
        let mut observation_idx = Vec::with_capacity(observation_times.len());
        for (idx, &time) in observation_times.iter().enumerate() {
            if idx > 0 {
                let start = observation_times[idx - 1];
                let (gap, n_steps) = (time - start, steps_in_gap(time - start, step_size));
                let ends = (1..n_steps as usize).map(|step| start + end(gap, step as f64, n_steps));
                push_inner_times(&mut times, start..time, ends);
            }
            observation_idx.push(times.len());
            times.push(time);
        }
        Ok(Self { times, observation_idx })
    }

    /// All grid times, strictly increasing.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Position in [`times`](Self::times) of each observation.
    pub fn observation_idx(&self) -> &[usize] {
        &self.observation_idx
    }

    /// Number of steps: one less than the number of times.
    pub fn n_steps(&self) -> usize {
        self.times.len().saturating_sub(1)
    }

    /// Length of step `step_idx`, from time `step_idx` to the next.
    pub fn step(&self, step_idx: usize) -> f64 {
        self.times[step_idx + 1] - self.times[step_idx]
    }
}

/// Adds the times that lie strictly inside `gap`.
fn push_inner_times(times: &mut Vec<f64>, gap: Range<f64>, ends: impl Iterator<Item = f64>) {
    for time in ends {
        // Where the clock is too coarse for the step (1e9 with a step of 1e-9) times would repeat.
        if time > *times.last().unwrap_or(&gap.start) && time < gap.end {
            times.push(time);
        }
    }
}

/// A gap of 0.3 holds three steps of 0.1, although 0.3 / 0.1 rounds to a little more than 3.
fn steps_in_gap(gap: f64, step_size: f64) -> f64 {
    let ratio = gap / step_size;
    (ratio * (1.0 - 1e-9)).ceil().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_observation_time_is_a_grid_time_to_the_bit() {
        let observed = [0.1, 0.2, 0.7, 3.0];
        let grid = TimeGrid::new(&observed, 0.25).unwrap();
        let on_grid: Vec<f64> =
            grid.observation_idx().iter().map(|&idx| grid.times()[idx]).collect();
        assert_eq!(on_grid, observed);
        // Gaps 0.1, 0.5 and 2.3 hold 1, 2 and 10 steps of at most 0.25.
        assert_eq!(grid.n_steps(), 13);
    }

    #[test]
    fn no_step_is_longer_than_asked_and_all_move_forward() {
        let observed = [0.0, 0.3, 1e3, 1e3 + 1e-3];
        for step_size in [0.1, 0.7, 50.0, 1e9] {
            let grid = TimeGrid::new(&observed, step_size).unwrap();
            for idx in 0..grid.n_steps() {
                // One part in 1e9 is allowed so that 0.3 holds three steps of 0.1.
                let step = grid.step(idx);
                assert!(step > 0.0 && step <= step_size * (1.0 + 2e-9), "{step} > {step_size}");
            }
        }
    }

    #[test]
    fn even_steps_do_not_depend_on_where_a_gap_ends() {
        let grid = TimeGrid::even(&[0.0, 2.5, 4.5], 1.0).unwrap();
        assert_eq!(grid.times(), [0.0, 1.0, 2.0, 2.5, 3.5, 4.5]);
        // 0.3 / 0.1 rounds to a little more than 3: still three steps.
        assert_eq!(TimeGrid::even(&[0.0, 0.3], 0.1).unwrap().n_steps(), 3);
    }

    #[test]
    fn a_coarse_clock_gives_fewer_steps_and_never_a_repeated_time() {
        let grid = TimeGrid::new(&[1e9, 1e9 + 1e-6], 1e-8).unwrap();
        assert!(grid.times().windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn steps_that_are_not_positive_or_too_many_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(TimeGrid::new(&[0.0, 1.0], bad), Err(CoreError::BadStepSize { .. })));
        }
        let tiny = TimeGrid::new(&[0.0, 1e12], 1e-3);
        assert!(matches!(tiny, Err(CoreError::TooManySteps { .. })));
    }
}
