//! Series with the posterior of their hidden states, as many as a file should carry.

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::error::FittedError;
use driftgraph_core::fitted::impute::{ImputeSettings, ImputedSeries};
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_report::view::{Column, FitSeries, FitView};

/// Cells of a report at most, 8 bytes each.
const MOST_CELLS: usize = 7_000;
/// Paths per series, where the posterior is sampled.
const N_SAMPLES: usize = 100;

/// The first series with their posterior.
pub(crate) fn fit_view(model: &FittedModel, data: &SeriesSet) -> Result<FitView, FittedError> {
    let settings = ImputeSettings { n_samples: N_SAMPLES, ..ImputeSettings::default() };
    let imputed = model.impute(data, &settings)?;
    let d = data.n_variables();
    let mut cells = 0;
    let mut series = Vec::new();
    for one in &imputed {
        let own = one.bands.times.len() * d;
        if !series.is_empty() && cells + own > MOST_CELLS {
            break;
        }
        cells += own;
        series.push(fit_series(one, d));
    }
    Ok(FitView { series, n_series: imputed.len() })
}

/// One series; a very long one is thinned to what can be drawn.
fn fit_series(one: &ImputedSeries, d: usize) -> FitSeries {
    let n_times = one.bands.times.len();
    let every = (n_times * d).div_ceil(MOST_CELLS).max(1);
    let columns = |values: &[f64]| -> Vec<Column> {
        (0..d)
            .map(|variable| {
                let rows = (0..n_times).step_by(every);
                Column(rows.map(|row| values[row * d + variable]).collect())
            })
            .collect()
    };
    let [low, .., high] = &one.bands.quantiles;
    FitSeries {
        name: one.name.clone(),
        times: one.bands.times.iter().step_by(every).copied().collect(),
        observed: columns(&one.observed),
        mean: columns(&one.bands.mean),
        low: columns(low),
        high: columns(high),
    }
}
