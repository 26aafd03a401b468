//! Rows of a chunk of series whose numbers of steps and observations differ.

use super::plan::PlannedSeries;

/// Where the states, steps and observations of a chunk's series lie.
///
/// Series come by falling number of steps, so that those still running at a step are always the
/// first ones. States, steps and observations are stored by time, then by series; observations
/// have an order of their own, by falling number of observations.
#[derive(Debug, Clone, Default)]
pub struct ChunkLayout {
    /// First state row of each point in time; one entry more than points.
    pub state_starts: Vec<usize>,
    /// First step row of each step; one entry more than steps.
    pub step_starts: Vec<usize>,
    /// First observation row of each observation number; one entry more than observations.
    pub observation_starts: Vec<usize>,
    /// Place of each series in the order of observations.
    pub ranks: Vec<usize>,
    /// Series in the order of observations.
    by_rank: Vec<usize>,
}

impl ChunkLayout {
    /// Lays out the series with these (steps, observations); steps must not increase.
    pub fn arrange<R>(&mut self, plans: &[PlannedSeries<R>], chunk: &[usize]) {
        let n_steps = |series: usize| plans[series].steps.len();
        let n_observations = |series: usize| plans[series].readouts.len();
        debug_assert!(
            chunk.windows(2).all(|pair| n_steps(pair[0]) >= n_steps(pair[1])),
            "a chunk's series come by falling number of steps"
        );
        let most_steps = chunk.first().map_or(0, |&series| n_steps(series));
        starts(&mut self.state_starts, most_steps + 1, |time| {
            chunk.iter().filter(|&&series| n_steps(series) >= time).count()
        });
        starts(&mut self.step_starts, most_steps, |step| {
            chunk.iter().filter(|&&series| n_steps(series) > step).count()
        });
        self.by_rank.clear();
        self.by_rank.extend(0..chunk.len());
        self.by_rank.sort_unstable_by_key(|&place| {
            (std::cmp::Reverse(n_observations(chunk[place])), place)
        });
        self.ranks.clear();
        self.ranks.resize(chunk.len(), 0);
        for (rank, &place) in self.by_rank.iter().enumerate() {
            self.ranks[place] = rank;
        }
        let most = chunk.iter().map(|&series| n_observations(series)).max().unwrap_or(0);
        starts(&mut self.observation_starts, most, |idx| {
            chunk.iter().filter(|&&series| n_observations(series) > idx).count()
        });
    }

    /// Number of steps of the longest series.
    pub fn n_steps(&self) -> usize {
        self.step_starts.len() - 1
    }

    /// Number of state rows.
    pub fn n_state_rows(&self) -> usize {
        self.state_starts[self.state_starts.len() - 1]
    }

    /// Number of step rows.
    pub fn n_step_rows(&self) -> usize {
        self.step_starts[self.step_starts.len() - 1]
    }

    /// Number of observation rows.
    pub fn n_observation_rows(&self) -> usize {
        self.observation_starts[self.observation_starts.len() - 1]
    }

    /// Number of series that take step `step`.
    pub fn n_running(&self, step: usize) -> usize {
        self.step_starts[step + 1] - self.step_starts[step]
    }

    /// Row of the state of a series at point `time`.
    pub fn state_row(&self, time: usize, place: usize) -> usize {
        self.state_starts[time] + place
    }

    /// Row of a step of a series.
    pub fn step_row(&self, step: usize, place: usize) -> usize {
        self.step_starts[step] + place
    }

    /// Row of an observation of a series.
    pub fn observation_row(&self, idx: usize, place: usize) -> usize {
        self.observation_starts[idx] + self.ranks[place]
    }

    /// Series (by place in the chunk) of each rank.
    pub fn by_rank(&self) -> &[usize] {
        &self.by_rank
    }
}

fn starts(out: &mut Vec<usize>, n: usize, count: impl Fn(usize) -> usize) {
    out.clear();
    out.push(0);
    let mut total = 0;
    for idx in 0..n {
        total += count(idx);
        out.push(total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObservedSeries;
    use crate::posterior::plan::{EncoderInput, StepGrid};

    #[test]
    fn series_that_still_run_come_first_and_observations_have_their_own_order() {
        let plan = |times: Vec<f64>| {
            let values = vec![0.0; times.len()];
            let series = ObservedSeries::new("a", 1, times, values).unwrap();
            PlannedSeries::<f64>::new(&series, StepGrid::Exact, 1.0, EncoderInput::Values).unwrap()
        };
        // Four steps with two observations; two steps with three.
        let plans = [plan(vec![0.0, 4.0]), plan(vec![0.0, 1.0, 2.0])];
        let mut layout = ChunkLayout::default();
        layout.arrange(&plans, &[0, 1]);
        assert_eq!(layout.state_starts, [0, 2, 4, 6, 7, 8]);
        assert_eq!(layout.step_starts, [0, 2, 4, 5, 6]);
        assert_eq!(layout.observation_starts, [0, 2, 4, 5]);
        assert_eq!(layout.ranks, [1, 0]);
        assert_eq!(layout.observation_row(2, 1), 4);
    }
}
