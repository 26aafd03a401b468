//! A series made ready for training: solver steps, where observations are read, encoder inputs.

use crate::data::grid::TimeGrid;
use crate::numeric::real::{Real, ln_1p};
use crate::{CoreError, ObservedSeries};

/// Where the solver's steps lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepGrid {
    /// Every observation time is a step's end: see [`TimeGrid`].
    #[default]
    Exact,
    /// Steps of the same length from the first time on, the last one shortened; observations in
    /// between are read off by linear interpolation, as the published code does.
    Published,
}

/// What the encoder is told about an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncoderInput {
    /// Values, 0 where missing; then whether each was observed; then log(1 + time to the next row).
    #[default]
    ValuesMaskGap,
    /// Values only, 0 where missing, as the published code does: it cannot see gaps.
    Values,
}

impl EncoderInput {
    /// Number of inputs per observation.
    pub fn n_inputs(self, n_variables: usize) -> usize {
        match self {
            Self::ValuesMaskGap => 2 * n_variables + 1,
            Self::Values => n_variables,
        }
    }
}

/// Where an observation is read: state `state_idx` and, with `weight`, the state after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Readout<R> {
    /// The state at or before the observation.
    pub state_idx: usize,
    /// Share of the state after it; 0 when the observation is at a step's end.
    pub weight: R,
}

/// One series with its solver steps; times and values in the model's units.
#[derive(Debug, Clone)]
pub struct PlannedSeries<R> {
    /// Length of each solver step.
    pub steps: Vec<R>,
    /// For each step, the observation whose context drives it: the first one after its start.
    pub context_idx: Vec<usize>,
    /// Where each observation is read.
    pub readouts: Vec<Readout<R>>,
    /// Values `[observation, variable]`, `NaN` where missing.
    pub values: Vec<R>,
    /// Encoder inputs `[observation, input]`.
    pub inputs: Vec<R>,
}

impl<R: Real> PlannedSeries<R> {
    /// Plans the steps of a series whose times and values are in the model's units.
    pub fn new(
        series: &ObservedSeries,
        grid: StepGrid,
        step_size: f64,
        input: EncoderInput,
    ) -> Result<Self, CoreError> {
        let (steps, context_idx, readouts) = match grid {
            StepGrid::Exact => exact_grid(series.times(), step_size)?,
            StepGrid::Published => published_grid(series.times(), step_size)?,
        };
        let values = series.values().iter().map(|&value| R::from_f64(value)).collect();
        let inputs = encoder_inputs(series, input);
        Ok(Self { steps, context_idx, readouts, values, inputs })
    }

    /// Number of solver steps.
    pub fn n_steps(&self) -> usize {
        self.steps.len()
    }

    /// Number of observations, that is, rows.
    #[cfg(feature = "testing")]
    pub fn n_observations(&self) -> usize {
        self.readouts.len()
    }
}

/// Step lengths, context of each step, and readouts.
type Grid<R> = (Vec<R>, Vec<usize>, Vec<Readout<R>>);

fn exact_grid<R: Real>(observed: &[f64], step_size: f64) -> Result<Grid<R>, CoreError> {
    let grid = TimeGrid::new(observed, step_size)?;
    let observation_idx = grid.observation_idx();
    // Lengths are taken in `f64`: differences of large times would lose digits in `f32`.
    let steps = (0..grid.n_steps()).map(|step| R::from_f64(grid.step(step))).collect();
    let context_idx = (0..grid.n_steps())
        .map(|step| observation_idx.partition_point(|&idx| idx <= step))
        .collect();
    let readout = |&state_idx: &usize| Readout { state_idx, weight: R::ZERO };
    Ok((steps, context_idx, observation_idx.iter().map(readout).collect()))
}

/// Times accumulate by addition in the model's own float, so that step counts agree too.
fn published_grid<R: Real>(observed: &[f64], step_size: f64) -> Result<Grid<R>, CoreError> {
    // The same limits as for the exact grid.
    TimeGrid::new(&[observed[0], observed[observed.len() - 1] + step_size], step_size)?;
    let observed: Vec<R> = observed.iter().map(|&time| R::from_f64(time)).collect();
    let (dt, last) = (R::from_f64(step_size), observed[observed.len() - 1]);
    let mut times = vec![observed[0]];
    let mut now = observed[0];
    while now < last {
        let next = now + dt;
        // A step too small for the clock would never arrive.
        now = if next < last && next > now { next } else { last };
        times.push(now);
    }
    let context =
        |start: &R| observed.partition_point(|time| time <= start).min(observed.len() - 1);
    let context_idx = times[..times.len() - 1].iter().map(context).collect();
    let readout = |&time: &R| match times.partition_point(|&grid_time| grid_time < time) {
        0 => Readout { state_idx: 0, weight: R::ZERO },
        after => {
            let (before, after_time) = (times[after - 1], times[after]);
            let weight = (time - before) / (after_time - before);
            Readout { state_idx: after - 1, weight }
        }
    };
    let readouts = observed.iter().map(readout).collect();
    let steps = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    Ok((steps, context_idx, readouts))
}

fn encoder_inputs<R: Real>(series: &ObservedSeries, input: EncoderInput) -> Vec<R> {
    let times = series.times();
    let known = |value: f64| if value.is_nan() { 0.0 } else { value };
    let mut inputs = Vec::new();
    for (row, &time) in times.iter().enumerate() {
        let values = series.row(row);
        inputs.extend(values.iter().map(|&value| known(value)));
        if input == EncoderInput::ValuesMaskGap {
            inputs.extend(values.iter().map(|value| f64::from(u8::from(!value.is_nan()))));
            let gap = times.get(row + 1).map_or(0.0, |next| next - time);
            inputs.push(ln_1p(gap));
        }
    }
    inputs.into_iter().map(R::from_f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(times: &[f64], grid: StepGrid, step_size: f64) -> PlannedSeries<f32> {
        let values = vec![0.0; times.len()];
        let series = ObservedSeries::new("a", 1, times.to_vec(), values).unwrap();
        PlannedSeries::new(&series, grid, step_size, EncoderInput::Values).unwrap()
    }

    fn linspace(end: f64, n: usize) -> Vec<f64> {
        (0..n).map(|idx| end * idx as f64 / (n - 1) as f64).collect()
    }

    #[test]
    fn the_published_grid_has_the_published_step_counts() {
        // Ecoli1, Netsim, and every tenth of 1000 points on [0, 100] for glycolysis.
        assert_eq!(planned(&linspace(1.05, 21), StepGrid::Published, 0.05).n_steps(), 21);
        assert_eq!(planned(&linspace(10.0, 200), StepGrid::Published, 0.05).n_steps(), 200);
        let every_tenth: Vec<f64> = linspace(100.0, 1000).into_iter().step_by(10).collect();
        assert_eq!(planned(&every_tenth, StepGrid::Published, 1.0).n_steps(), 100);
    }

    #[test]
    fn published_observations_are_interpolated_and_see_the_next_context() {
        let plan = planned(&[0.0, 0.1, 0.25, 0.6], StepGrid::Published, 0.125);
        // Steps end at 0.125, 0.25, 0.375, 0.5 and 0.6.
        assert_eq!(plan.n_steps(), 5);
        assert!((plan.readouts[1].weight - 0.8).abs() < 1e-6);
        assert_eq!((plan.readouts[2].state_idx, plan.readouts[2].weight), (1, 1.0));
        assert_eq!(plan.context_idx, [1, 2, 3, 3, 3]);
    }

    #[test]
    fn exact_observations_are_states_and_a_single_row_needs_no_step() {
        let plan = planned(&[5.0, 5.5, 7.0], StepGrid::Exact, 1.0);
        assert_eq!(plan.steps, [0.5, 0.75, 0.75]);
        let states: Vec<usize> = plan.readouts.iter().map(|readout| readout.state_idx).collect();
        assert_eq!(states, [0, 1, 3]);
        assert_eq!(plan.context_idx, [1, 2, 2]);
        for grid in [StepGrid::Exact, StepGrid::Published] {
            assert_eq!(planned(&[2.0], grid, 1.0).n_steps(), 0);
        }
    }

    #[test]
    fn the_encoder_is_told_values_holes_and_gaps() {
        let values = vec![1.0, f64::NAN, 3.0, 4.0];
        let series = ObservedSeries::new("a", 2, vec![0.0, 0.5], values).unwrap();
        let inputs: Vec<f64> = encoder_inputs(&series, EncoderInput::ValuesMaskGap);
        assert_eq!(inputs, [1.0, 0.0, 1.0, 0.0, 0.5_f64.ln_1p(), 3.0, 4.0, 1.0, 1.0, 0.0]);
    }
}
