//! Scales read off the smoothed paths, where training starts.

use super::BridgePosterior;
use crate::numeric::real::ln;

/// What the smoothed paths say about scales.
pub(super) struct PathSummary {
    pub(super) log_diffusions: Vec<f64>,
    pub(super) skews: Vec<f64>,
    pub(super) first_means: Vec<f64>,
    pub(super) first_deviations: Vec<f64>,
}

impl PathSummary {
    pub(super) fn new(posterior: &BridgePosterior, increment_scales: &[f64]) -> Self {
        let layout = &posterior.layout;
        let n_series = layout.series().len() as f64;
        let mut summary = Self {
            log_diffusions: Vec::new(),
            skews: Vec::new(),
            first_means: Vec::new(),
            first_deviations: Vec::new(),
        };
        for (variable, scale) in increment_scales.iter().enumerate() {
            let mean =
                |point: usize| posterior.values.means[point * layout.n_variables() + variable];
            let increments: Vec<f64> = (layout.series().iter())
                .flat_map(|rows| (0..rows.n_steps()).map(move |step| (rows, step)))
                .map(|(rows, step)| {
                    let point = rows.first_point + step;
                    let root = layout.step(rows.first_deviation_row + step).sqrt();
                    (mean(point + 1) - mean(point)) / (scale * root)
                })
                .collect();
            let (variance, skew) = variance_and_skew(&increments);
            // Between 2 % and e times the typical increment.
            summary.log_diffusions.push((0.5 * ln(variance)).clamp(-4.0, 1.0));
            summary.skews.push(skew);
            let first = layout.series().iter().map(|rows| mean(rows.first_point));
            let first_mean = first.clone().sum::<f64>() / n_series;
            let spread: f64 = first.map(|value| (value - first_mean).powi(2)).sum();
            summary.first_means.push(first_mean);
            // One series says nothing about the spread of initial states: start at 1.
            let deviation = if n_series > 1.0 { (spread / n_series).sqrt() } else { 1.0 };
            summary.first_deviations.push(deviation + 1e-3);
        }
        summary
    }
}

fn variance_and_skew(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment = |power| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n;
    (moment(2), moment(3))
}
