//! q(path) without simulation: a Gauss-Markov bridge per variable on each series' own grid.
//!
//! q(z_0) = N(m_0, s_0²), q(z_k+1 | z_k) = N(m_k+1 + a_k (z_k - m_k), v_k). Free parameters are the mean m,
//! the deviation s and the correlation r of neighbours at every grid point; then a_k = r_k s_k+1 / s_k and
//! v_k = s_k+1² (1 - r_k²), and nothing is sequential: every step has its own exact divergence from the
//! process, so that a training step costs the same whatever the length of the series.

pub mod batch;
pub mod blocks;
pub mod deviations;
pub mod edge_gains;
pub mod gated;
pub mod innovation;
pub mod kalman;
pub mod layout;

pub mod log_odds;
pub mod mean_field;
pub mod model;
pub mod moments;
pub mod node_part;
pub mod observation;
pub(crate) mod part;
mod sampled;
pub mod sampled_graphs;
pub mod structure;
mod summary;
#[cfg(test)]
mod toy_part;
pub mod transition;

use crate::numeric::real::{exp, ln};
use batch::LocalValues;
use layout::{BridgeLayout, SeriesRows};

use super::smoother::{IncrementMoments, LocalLevel};

/// Correlations start inside this range, where their gradient is alive.
const CORRELATION_RANGE: (f64, f64) = (0.02, 0.98);

/// Deviation of a value that was set, in place of none.
const SET_DEVIATION: f64 = 1e-5;

/// The posterior of all paths.
#[derive(Debug, Clone)]
pub struct BridgePosterior {
    /// Where every point lives.
    pub layout: BridgeLayout,
    /// Parameters of all points and deviation rows.
    pub values: LocalValues,
}

/// What the smoother learned about each variable on the way.
#[derive(Debug, Clone)]
pub struct SmootherStart {
    /// Variances of the local-level model, time in the layout's unit.
    pub levels: Vec<LocalLevel>,
    /// Typical size of an increment over one unit of time; always positive.
    pub increment_scales: Vec<f64>,
}

impl BridgePosterior {
    /// Starts near the answer: a local-level smoother per variable (and series).
    ///
    /// `known_noise` is the variance of the observation noise where it is not learned.
    pub fn smoothed(layout: BridgeLayout, known_noise: Option<f64>) -> (Self, SmootherStart) {
        let start = levels(&layout, known_noise);
        let n_variables = layout.n_variables();
        let mut values = LocalValues::default();
        values.reset(layout.n_points(), layout.n_deviation_rows(), n_variables);
        for rows in layout.series() {
            let times = unit_times(&layout, rows);
            for (variable, level) in start.levels.iter().enumerate() {
                let observed: Vec<f64> = (0..rows.n_points)
                    .map(|point| layout.observed_row(rows.first_point + point)[variable])
                    .collect();
                for (point, smoothed) in level.smooth(&times, &observed).iter().enumerate() {
                    let at = |row: usize| (row + point) * n_variables + variable;
                    values.means[at(rows.first_point)] = smoothed.mean;
                    // Series that share deviation rows have the same deviations: any may write them.
                    let row = at(rows.first_deviation_row);
                    values.log_deviations[row] = ln(smoothed.deviation.max(1e-6));
                    let (low, high) = CORRELATION_RANGE;
                    values.correlations[row] = libm::atanh(smoothed.correlation.clamp(low, high));
                    if let Some(value) = layout.set_value(rows.first_point + point, variable) {
                        values.means[at(rows.first_point)] = value;
                        values.log_deviations[row] = ln(SET_DEVIATION);
                        values.correlations[row] = 0.0;
                    }
                }
            }
        }
        (Self { layout, values }, start)
    }

    /// Means of one series' grid points, `[point, variable]`, standardised.
    pub fn means(&self, rows: &SeriesRows) -> &[f64] {
        let n_variables = self.layout.n_variables();
        &self.values.means[rows.first_point * n_variables..][..rows.n_points * n_variables]
    }

    /// Deviations of one series' grid points, `[point, variable]`, standardised.
    pub fn deviations(&self, rows: &SeriesRows) -> Vec<f64> {
        let n_variables = self.layout.n_variables();
        let logs = &self.values.log_deviations[rows.first_deviation_row * n_variables..];
        logs[..rows.n_points * n_variables].iter().map(|&log| exp(log)).collect()
    }
}

fn levels(layout: &BridgeLayout, known_noise: Option<f64>) -> SmootherStart {
    let moments: Vec<IncrementMoments> = (0..layout.n_variables())
        .map(|variable| {
            let mut moments = IncrementMoments::default();
            for rows in layout.series() {
                let values = (0..rows.n_points)
                    .map(|point| layout.observed_row(rows.first_point + point)[variable]);
                moments.add(&unit_times(layout, rows), values);
            }
            moments
        })
        .collect();
    SmootherStart {
        levels: moments.iter().map(|moments| moments.local_level(known_noise)).collect(),
        increment_scales: (moments.iter())
            .map(|moments| moments.variance_per_time().map_or(1.0, f64::sqrt))
            .collect(),
    }
}

/// Times of a series' grid points since its start, in the layout's unit.
fn unit_times(layout: &BridgeLayout, rows: &SeriesRows) -> Vec<f64> {
    let times = layout.times(rows);
    times.iter().map(|time| (time - times[0]) / layout.time_unit()).collect()
}
