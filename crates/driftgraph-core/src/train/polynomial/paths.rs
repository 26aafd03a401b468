//! The grid of every series, and the hidden path on it.

use std::collections::HashMap;

use rayon::prelude::*;

use super::SeriesPath;
use crate::posterior::polynomial::belief::Belief;
use crate::posterior::polynomial::gaps::{Gap, Gaps};
use crate::posterior::polynomial::hidden_path::{GridSeries, HiddenPath, KnownProcess};
use crate::posterior::polynomial::library::Library;
use crate::{ObservedSeries, SeriesSet};

/// Variance of measurements, in squared deviations, that are taken as they are.
pub(super) const AS_MEASURED: f64 = 1e-6;
/// Least noise of a hidden path per unit of time: with less, covariances over a gap in which the process spreads span more
/// orders of magnitude than numbers have digits.
const LEAST_NOISE: f64 = 1e-5;
/// Fewest and most sub-steps between two rows.
const N_STEPS: [usize; 2] = [2, 40];

/// The hidden paths of all series; the path of the fit, as if it were known, where one cannot be computed.
pub(super) fn hidden_paths(
    standard: &SeriesSet,
    gaps: &Gaps,
    library: &Library,
    belief: &Belief,
    measurement: &[f64],
) -> Vec<SeriesPath> {
    let noise: Vec<f64> = belief.noise.iter().map(|noise| noise.max(LEAST_NOISE)).collect();
    let process = KnownProcess { library, theta: &belief.theta, noise: &noise, measurement };
    let known: HashMap<[usize; 3], usize> = (gaps.used.iter().enumerate())
        .map(|(idx, gap)| ([gap.series, gap.rows[0], gap.rows[1]], idx))
        .collect();
    (standard.series().par_iter().enumerate())
        .map(|(number, series)| {
            let gap_between = |rows: [usize; 2]| -> Option<(&Gap, &[f64])> {
                let idx = *known.get(&[number, rows[0], rows[1]])?;
                Some((&gaps.used[idx], &belief.paths[idx][..]))
            };
            let grid = Grid::new(series, gaps, &gap_between);
            let law = process.hidden_path(&grid.series);
            let law = law.unwrap_or_else(|| HiddenPath::known(grid.series.start, AS_MEASURED));
            SeriesPath { times: grid.times, law }
        })
        .collect()
}

/// A series with the sub-steps between its rows.
struct Grid {
    times: Vec<f64>,
    series: GridSeries,
}

impl Grid {
    fn new<'a>(
        series: &ObservedSeries,
        gaps: &Gaps,
        gap_between: &dyn Fn([usize; 2]) -> Option<(&'a Gap, &'a [f64])>,
    ) -> Self {
        let n = series.n_variables();
        let is_seen = |&row: &usize| series.row(row).iter().any(|value| !value.is_nan());
        let mut rows: Vec<usize> = (0..series.n_observations()).filter(is_seen).collect();
        if rows.is_empty() {
            rows.push(0);
        }
        let mut times = vec![series.times()[rows[0]]];
        let mut observed = series.row(rows[0]).to_vec();
        // Points whose path the fit knows already.
        let mut known: Vec<(usize, &[f64])> = Vec::new();
        for pair in rows.windows(2) {
            let (from, to) = (series.times()[pair[0]], series.times()[pair[1]]);
            let gap = gap_between([pair[0], pair[1]]);
            let n_steps = gap.map_or_else(
                || {
                    let steps = ((to - from) / (gaps.unit * gaps.sub_step)).ceil() as usize;
                    steps.clamp(N_STEPS[0], N_STEPS[1])
                },
                |(gap, _)| gap.n_steps,
            );
            if let Some((_, path)) = gap {
                known.push((times.len() - 1, path));
            }
            for step in 1..n_steps {
                times.push(from + (to - from) * step as f64 / n_steps as f64);
                observed.extend(std::iter::repeat_n(f64::NAN, n));
            }
            times.push(to);
            observed.extend_from_slice(series.row(pair[1]));
        }
        let mut start = filled(&times, &observed, n);
        for (first, path) in known {
            start[first * n..first * n + path.len()].copy_from_slice(path);
        }
        let steps = times.windows(2).map(|pair| (pair[1] - pair[0]) / gaps.unit).collect();
        Self { times, series: GridSeries { steps, observed, start } }
    }
}

/// Cells that were not measured on straight lines between those that were; 0, the mean, where none was.
fn filled(times: &[f64], observed: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; observed.len()];
    for variable in 0..n {
        let at = |point: usize| observed[point * n + variable];
        let seen: Vec<usize> = (0..times.len()).filter(|&point| !at(point).is_nan()).collect();
        let mut next = 0;
        for point in 0..times.len() {
            while next < seen.len() && seen[next] < point {
                next += 1;
            }
            let (before, after) = (next.checked_sub(1).map(|at| seen[at]), seen.get(next).copied());
            out[point * n + variable] = match (before, after) {
                (_, Some(after)) if after == point => at(point),
                (Some(before), Some(after)) => {
                    let share = (times[point] - times[before]) / (times[after] - times[before]);
                    at(before) + share * (at(after) - at(before))
                }
                (Some(one), None) | (None, Some(one)) => at(one),
                (None, None) => 0.0,
            };
        }
    }
    out
}
