//! When the solver steps, and when states are kept.

use super::error::FittedError;
use crate::TimeGrid;

/// The solver's steps, and times at which states are kept.
///
/// The steps do not depend on the times: a drift that was learned for steps of one length would be another
/// process in shorter ones. Where a time lies within a step, the state there is that of the step cut short.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    pub(super) grid: TimeGrid,
    /// For each grid time, the place of the kept state, where it is kept.
    pub(super) kept: Vec<Option<usize>>,
    /// States kept within steps: the step, the time since its start, and the place; by time.
    within: Vec<(usize, f64, usize)>,
    pub(super) n_kept: usize,
}

/// A time so close to a step's end, in steps, is the end.
const SAME_TIME: f64 = 1e-9;

impl Schedule {
    /// `times` increase and start with the first; `bounds` are times that no step may cross.
    pub(super) fn new(times: &[f64], bounds: &[f64], step_size: f64) -> Result<Self, FittedError> {
        let (first, last) = (times[0], times[times.len() - 1]);
        let mut fixed = vec![first];
        fixed.extend(bounds.iter().filter(|time| **time > first && **time < last));
        if last > first {
            fixed.push(last);
        }
        fixed.sort_by(f64::total_cmp);
        fixed.dedup();
        let grid = TimeGrid::even(&fixed, step_size)?;
        let mut kept = vec![None; grid.times().len()];
        let mut within = Vec::new();
        for (place, &time) in times.iter().enumerate() {
            let after = grid.times().partition_point(|&other| other < time - SAME_TIME * step_size);
            match grid.times().get(after) {
                Some(&other) if other > time + SAME_TIME * step_size => {
                    within.push((after - 1, time - grid.times()[after - 1], place));
                }
                // The last time is a grid time, to the bit.
                _ => kept[after.min(grid.n_steps())] = Some(place),
            }
        }
        Ok(Self { grid, kept, within, n_kept: times.len() })
    }

    /// The states kept within a step.
    pub(super) fn within(&self, step: usize) -> &[(usize, f64, usize)] {
        let first = self.within.partition_point(|one| one.0 < step);
        let n = self.within[first..].partition_point(|one| one.0 == step);
        &self.within[first..first + n]
    }

    /// Number of solver steps.
    pub(super) fn n_steps(&self) -> usize {
        self.grid.n_steps()
    }
}

/// Refuses times that do not increase strictly.
pub(super) fn check_times(times: &[f64]) -> Result<(), FittedError> {
    if let Some(&time) = times.iter().find(|time| !time.is_finite()) {
        return Err(FittedError::BadSetting { setting: "times", condition: "finite", found: time });
    }
    match times.windows(2).find(|pair| pair[1] <= pair[0]) {
        None => Ok(()),
        Some(pair) => Err(FittedError::TimesNotIncreasing { previous: pair[0], next: pair[1] }),
    }
}
