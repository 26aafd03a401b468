//! Futures of series, and what interventions change.

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::bands::Bands;
use driftgraph_core::fitted::error::FittedError;
use driftgraph_core::fitted::forecast::{ForecastSettings, ForecastTimes};
use driftgraph_core::fitted::intervention::Interventions;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::fitted::simulate::{SimulateSettings, even_times};
use driftgraph_data::TimeAxis;
use driftgraph_data::run_folder::Run;
use driftgraph_report::view::{
    ChangeView, Column, FanSeries, FitView, FutureView, InterventionView,
};

/// Paths per series.
const N_PATHS: usize = 200;
/// Share of a usual series that is forecast, in so many times.
const HORIZON: f64 = 0.2;
const N_TIMES: f64 = 20.0;
/// Multiplications a report may spend on its forecasts: some seconds of one core.
const MOST_WORK: f64 = 2e10;
/// Times of a simulated intervention.
const N_SIMULATED: f64 = 60.0;

/// Futures of the series that a report shows; `None` where computing them would take long.
pub(crate) fn future_view(
    run: &Run,
    model: &FittedModel,
    data: Option<&SeriesSet>,
    fit: Option<&FitView>,
) -> Result<Option<FutureView>, FittedError> {
    let horizon = HORIZON * model.usual_span();
    let d = model.n_variables() as f64;
    let steps = (horizon / model.step_size()).max(N_TIMES);
    let work = run.record.data.series as f64 * N_PATHS as f64 * steps * d * d;
    if work > MOST_WORK || horizon <= 0.0 {
        return Ok(None);
    }
    let mut future = match forecast_view(model, data, horizon) {
        Ok(future) => future,
        // A process that runs away, or data that are gone: a report without futures is still one.
        Err(FittedError::PathNotFinite { .. }) => return Ok(None),
        Err(_) if data.is_none() => return Ok(None),
        Err(error) => return Err(error),
    };
    let shown = |name: &str| fit.is_none_or(|fit| fit.series.iter().any(|one| one.name == name));
    future.series.retain(|one| shown(&one.name));
    Ok(Some(future))
}

/// Futures of all series over a given time.
pub fn forecast_view(
    model: &FittedModel,
    data: Option<&SeriesSet>,
    horizon: f64,
) -> Result<FutureView, FittedError> {
    let times = even_times(0.0, horizon, Some(horizon / N_TIMES))?.split_off(1);
    let settings =
        ForecastSettings { n_paths: N_PATHS, ..ForecastSettings::new(ForecastTimes::After(times)) };
    let forecasts = model.forecast(&settings, data, &|_| ())?;
    Ok(FutureView { series: forecasts.iter().map(|one| fan(&one.name, &one.bands)).collect() })
}

/// What is changed, when, and over how long.
#[derive(Debug, Clone, PartialEq)]
pub struct InterventionQuestion {
    /// Changes in the grammar of `driftgraph intervene`.
    pub changes: Vec<String>,
    /// Number of pairs of paths.
    pub n_paths: usize,
    /// How long is simulated; as long as a usual series where not given.
    pub horizon: Option<f64>,
    /// Decides everything random.
    pub seed: u64,
}

impl InterventionQuestion {
    /// 300 pairs of paths, as long as a usual series.
    pub fn new(changes: Vec<String>) -> Self {
        Self { changes, n_paths: 300, horizon: None, seed: 0 }
    }
}

/// Inputs are held at their means in paths that start in no series.
fn inputs_at_means(
    model: &FittedModel,
    data: Option<&SeriesSet>,
) -> Result<Interventions, FittedError> {
    let pieces = data.map_or_else(Vec::new, SeriesSet::mean_pieces);
    Ok(Interventions::of_pieces(&pieces, model.variables())?)
}

/// Computes what interventions change; `time` is that of the run, so that windows may have dates.
pub fn intervention_view(
    model: &FittedModel,
    time: &TimeAxis,
    data: Option<&SeriesSet>,
    question: &InterventionQuestion,
) -> Result<InterventionView, FittedError> {
    let read_time = |text: &str| time.read_bound(text).map_err(|problem| problem.to_string());
    let changes = Interventions::parse_with(&question.changes, model.variables(), &read_time)
        .map_err(FittedError::from)?;
    let horizon = question.horizon.unwrap_or_else(|| model.usual_span());
    let from = model.first_time_in(data);
    let times = even_times(from, horizon, Some(time.whole(horizon / N_SIMULATED)))?;
    let idle = changes.idle(&times).map(|one| one.text.clone()).collect();
    let settings = SimulateSettings {
        n_paths: question.n_paths,
        seed: question.seed,
        given: inputs_at_means(model, data)?,
        ..SimulateSettings::new(times)
    };
    let effect = model.intervene(&changes, &settings, data, &|_| ())?;
    let change = |one: &driftgraph_core::fitted::intervene::VariableChange| ChangeView {
        variable: one.variable,
        difference: one.difference,
        standard_error: one.standard_error,
        time: one.time,
        relative: one.relative,
        intervened: one.intervened,
        changed: one.changed,
    };
    Ok(InterventionView {
        text: question.changes.join("; "),
        idle,
        without: fan("left alone", &effect.without),
        with: fan("under the intervention", &effect.with),
        changes: effect.ranking.iter().map(change).collect(),
    })
}

fn fan(name: &str, bands: &Bands) -> FanSeries {
    let d = bands.n_variables;
    let columns = |values: &Vec<f64>| -> Vec<Column> {
        (0..d)
            .map(|variable| Column(values.iter().skip(variable).step_by(d).copied().collect()))
            .collect()
    };
    FanSeries {
        name: name.to_owned(),
        times: bands.times.clone(),
        quantiles: std::array::from_fn(|level| columns(&bands.quantiles[level])),
    }
}
