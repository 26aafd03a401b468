//! A linear fit as the parameters and paths of a bridge model.

use super::LinearFit;
use crate::numeric::real::ln;
use crate::posterior::bridge::batch::LocalValues;
use crate::posterior::bridge::layout::BridgeLayout;
use crate::posterior::linear::ascent::AscentState;

/// A linear fit in the units of a bridge model, in its own order of variables; matrices `[source, target]`.
pub(crate) struct LinearValues {
    /// The user's number of each variable.
    pub(crate) variables: Vec<usize>,
    pub(crate) logits: Vec<f64>,
    pub(crate) means: Vec<f64>,
    pub(crate) deviations: Vec<f64>,
    pub(crate) slabs: [f64; 2],
    pub(crate) offsets: Vec<f64>,
    pub(crate) log_diffusions: Vec<f64>,
    pub(crate) log_noise: Vec<f64>,
    pub(crate) initial_means: Vec<f64>,
    pub(crate) initial_log_deviations: Vec<f64>,
}

impl LinearFit<'_> {
    /// Everything a bridge model needs to know; `unit_variance` is that of its noise law at scale 1.
    pub(crate) fn values(&self, unit_variance: f64) -> LinearValues {
        let grid = &self.task.grid;
        let AscentState { dynamics, effects, .. } = &self.state.ascent;
        let d = grid.n_variables();
        let matrix = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..d * d).map(|at| of(at % d * (d + 1) + at / d)).collect()
        };
        let row = |of: &dyn Fn(usize) -> f64| -> Vec<f64> { (0..d).map(of).collect() };
        LinearValues {
            variables: grid.variables().iter().map(|&idx| self.task.kept[idx]).collect(),
            // A fixed gate's logit is not read; it must only be a number.
            logits: matrix(&|idx| effects.log_odds[idx].clamp(-1e3, 1e3)),
            means: matrix(&|idx| effects.means[idx]),
            deviations: matrix(&|idx| effects.variances[idx].sqrt()),
            slabs: [effects.slabs.others, effects.slabs.own],
            offsets: row(&|idx| dynamics.effects[idx * (d + 1) + d]),
            log_diffusions: row(&|idx| 0.5 * ln(dynamics.variances[idx])),
            log_noise: row(&|idx| 0.5 * ln(dynamics.noise[idx] / unit_variance)),
            initial_means: row(&|idx| dynamics.initial_means[idx]),
            initial_log_deviations: row(&|idx| 0.5 * ln(dynamics.initial_variances[idx])),
        }
    }

    /// Puts the smoothed paths into those of a bridge posterior on the user's layout.
    ///
    /// Points that only other variables were seen at keep what they have.
    pub(crate) fn place_paths(&self, layout: &BridgeLayout, values: &mut LocalValues) {
        /// Correlations beyond this are 1 to the bridge.
        const LARGEST: f64 = 1.0 - 1e-9;
        let (grid, n, d) = (&self.task.grid, layout.n_variables(), self.task.grid.n_variables());
        for own in grid.layout().series() {
            let user = grid.series_of(own);
            let Some(rows) = layout.series().iter().find(|rows| rows.series_idx == user) else {
                continue;
            };
            let (times, all) = (grid.layout().times(own), layout.times(rows));
            for (point, time) in times.iter().enumerate() {
                let Ok(to) = all.binary_search_by(|other| other.total_cmp(time)) else { continue };
                let from = (own.first_point + point) * d;
                let row = (own.first_deviation_row + point) * d;
                let next = times.get(point + 1);
                let next_is_next = next.is_some_and(|next| all.get(to + 1) == Some(next));
                for (idx, &variable) in grid.variables().iter().enumerate() {
                    let variable = self.task.kept[variable];
                    let at = (rows.first_deviation_row + to) * n + variable;
                    let variance = self.paths.variances[row + idx].max(f64::MIN_POSITIVE);
                    values.means[(rows.first_point + to) * n + variable] =
                        self.paths.means[from + idx];
                    values.log_deviations[at] = 0.5 * ln(variance);
                    if next_is_next {
                        let next = self.paths.variances[row + d + idx].max(f64::MIN_POSITIVE);
                        let shared = self.paths.neighbours[row + idx];
                        let correlation = shared / (variance * next).sqrt();
                        values.correlations[at] = libm::atanh(correlation.clamp(-LARGEST, LARGEST));
                    }
                }
            }
        }
    }
}
