//! Steps along known paths, with the knots of time at which effects may change.

use crate::posterior::linear::grid::LinearGrid;

/// Most knots: beyond, neighbouring times share one.
pub const MOST_KNOTS: usize = 200;

/// All steps of all series.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftSteps {
    /// Number of variables.
    pub n_variables: usize,
    /// Time of every knot, in the user's unit.
    pub knots: Vec<f64>,
    /// From each knot to the next, as shares of the whole span.
    pub gaps: Vec<f64>,
    /// First step of each series, and the end of the last.
    pub starts: Vec<usize>,
    /// The knot of each step, steps ordered by series and time.
    pub knot_of: Vec<usize>,
    /// Length of each step.
    pub lengths: Vec<f64>,
    /// States before steps, `[step, variable]`.
    pub states: Vec<f64>,
    /// Increments in increment scales, `[step, variable]`.
    pub added: Vec<f64>,
    /// Whether a step says something of the causes of a variable, `[step, variable]`.
    pub counts: Vec<bool>,
}

impl DriftSteps {
    /// The steps of a grid along paths, `[point, variable]`.
    pub fn new(grid: &LinearGrid, paths: &[f64]) -> Self {
        let (d, layout) = (grid.n_variables(), grid.layout());
        let mut all: Vec<f64> = Vec::new();
        for rows in layout.series() {
            let times = layout.times(rows);
            all.extend(&times[..rows.n_steps()]);
        }
        let knots = knots(all);
        let span = knots[knots.len() - 1] - knots[0];
        let gaps = knots.windows(2).map(|pair| (pair[1] - pair[0]) / span).collect();
        let mut steps = Self {
            n_variables: d,
            knots,
            gaps,
            starts: vec![0],
            knot_of: Vec::new(),
            lengths: Vec::new(),
            states: Vec::new(),
            added: Vec::new(),
            counts: Vec::new(),
        };
        for rows in layout.series() {
            for step in 0..rows.n_steps() {
                let (point, time) = (rows.first_point + step, layout.times(rows)[step]);
                steps.knot_of.push(nearest(&steps.knots, time));
                steps.lengths.push(layout.step(rows.first_deviation_row + step));
                let (here, next) = (&paths[point * d..][..d], &paths[(point + 1) * d..][..d]);
                steps.states.extend_from_slice(here);
                for idx in 0..d {
                    steps.added.push((next[idx] - here[idx]) / grid.scales()[idx]);
                    let is_pushed = layout.pushes_at(point).iter().any(|push| push.variable == idx);
                    steps.counts.push(!is_pushed && !layout.is_left_out(point + 1, idx));
                }
            }
            steps.starts.push(steps.lengths.len());
        }
        steps
    }

    /// Number of steps.
    pub fn n_steps(&self) -> usize {
        self.lengths.len()
    }
}

/// Different times, or as many evenly spaced ones as are allowed.
fn knots(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_by(f64::total_cmp);
    times.dedup();
    if times.is_empty() {
        return vec![0.0];
    }
    if times.len() <= MOST_KNOTS {
        return times;
    }
    let (first, last) = (times[0], times[times.len() - 1]);
    let share = |knot: usize| knot as f64 / (MOST_KNOTS - 1) as f64;
    (0..MOST_KNOTS).map(|knot| first + share(knot) * (last - first)).collect()
}

/// The knot next to a time.
fn nearest(knots: &[f64], time: f64) -> usize {
    let after = knots.partition_point(|knot| *knot < time).min(knots.len() - 1);
    if after > 0 && time - knots[after - 1] < knots[after] - time { after - 1 } else { after }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_beyond_the_limit_share_knots_evenly() {
        assert_eq!(knots(vec![2.0, 0.0, 1.0, 1.0]), [0.0, 1.0, 2.0]);
        let many = knots((0..1000).map(f64::from).collect());
        assert_eq!((many.len(), many[0], many[199]), (200, 0.0, 999.0));
        assert_eq!(nearest(&[0.0, 1.0, 2.0], 1.4), 1);
        assert_eq!(nearest(&[0.0, 1.0, 2.0], 1.6), 2);
        assert_eq!(nearest(&[0.0, 1.0, 2.0], 9.0), 2);
    }
}
