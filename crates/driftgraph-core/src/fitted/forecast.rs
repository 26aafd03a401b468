//! Futures of observed series: the posterior of their last state pushed forward.

use rayon::prelude::*;

use super::accuracy::{MethodAccuracy, Tally};
use super::bands::Bands;
use super::dynamics::{Dynamics, GraphChoice};
use super::engine::{Engine, ShareDone};
use super::error::FittedError;
use super::hidden::HiddenPaths;
use super::intervention::Interventions;
use super::law::Law;
use super::model::FittedModel;
use super::schedule::{Schedule, check_times};
use super::simulate::{check_graph, check_paths, even_times};
use crate::numeric::real::ln;
use crate::objective::observation::ObservationNoise;
use crate::process::solver::Scheme;
use crate::random::{Purpose, RandomStream};
use crate::{ObservedSeries, SeriesSet, SetPiece};

/// When the future is asked for, in the user's unit of time.
#[derive(Debug, Clone, PartialEq)]
pub enum ForecastTimes {
    /// So long after the end of each series.
    After(Vec<f64>),
    /// At these times, as far as they lie after the end of a series.
    At(Vec<f64>),
}

/// Share of a usual series that is forecast where nothing else is said.
const USUAL_SHARE: f64 = 0.2;
/// Forecasts of a series where nothing else is said.
const USUAL_TIMES: f64 = 20.0;

impl ForecastTimes {
    /// Even times after the end of each series; `span` is the length of a usual one.
    pub fn even(span: f64, horizon: Option<f64>, every: Option<f64>) -> Result<Self, FittedError> {
        let horizon = horizon.unwrap_or(USUAL_SHARE * span);
        let every = every.unwrap_or(horizon / USUAL_TIMES);
        Ok(Self::After(even_times(0.0, horizon, Some(every))?.split_off(1)))
    }
}

/// How futures are simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct ForecastSettings {
    /// Paths per series.
    pub n_paths: usize,
    /// When.
    pub times: ForecastTimes,
    /// Longest solver step; that of the fit where not given.
    pub step_size: Option<f64>,
    /// Which graph each path moves under.
    pub graph: GraphChoice,
    /// The solver.
    pub scheme: Scheme,
    /// Decides everything random.
    pub seed: u64,
    /// What inputs do; those that are still set in the last row of a series stay so where nothing is said here.
    pub given: Interventions,
}

impl ForecastSettings {
    /// 1000 paths per series, each under a graph of its own.
    pub fn new(times: ForecastTimes) -> Self {
        Self {
            n_paths: 1000,
            times,
            step_size: None,
            graph: GraphChoice::Sampled,
            scheme: Scheme::default(),
            seed: 0,
            given: Interventions::default(),
        }
    }
}

/// The future of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesForecast {
    /// Name of the series.
    pub name: String,
    /// Its last time.
    pub from: f64,
    /// What would be measured: hidden state and measurement noise, in the user's units.
    pub bands: Bands,
    /// The measurements behind the bands, `[path, time, variable]`.
    pub paths: Vec<f64>,
}

/// How well the ends of series were forecast from their beginnings.
#[derive(Debug, Clone, PartialEq)]
pub struct ForecastTest {
    /// The model, then persistence and a random walk.
    pub methods: Vec<MethodAccuracy>,
    /// Futures of the shortened series at the held-out times.
    pub forecasts: Vec<SeriesForecast>,
    /// Number of series with a held-out end.
    pub n_series: usize,
    /// Number of rows held out.
    pub n_rows: usize,
}

impl FittedModel {
    /// Forecasts every series of the fit; series without a time to forecast are left out.
    ///
    /// `data` are those of the fit, needed for the simulated posterior only.
    pub fn forecast(
        &self,
        settings: &ForecastSettings,
        data: Option<&SeriesSet>,
        progress: &ShareDone<'_>,
    ) -> Result<Vec<SeriesForecast>, FittedError> {
        check_paths(settings.n_paths)?;
        check_graph(settings.graph)?;
        let given = match &settings.times {
            ForecastTimes::After(times) | ForecastTimes::At(times) => times,
        };
        check_times(given)?;
        let first = given.first().copied().unwrap_or(0.0);
        if matches!(settings.times, ForecastTimes::After(_)) && first <= 0.0 {
            let (setting, condition) = ("horizon", "positive");
            return Err(FittedError::BadSetting { setting, condition, found: first });
        }
        let ends = |_: &str, end: f64| match &settings.times {
            ForecastTimes::After(gaps) => gaps.iter().map(|gap| end + gap).collect(),
            ForecastTimes::At(times) => times.iter().copied().filter(|time| *time > end).collect(),
        };
        self.forecast_at(settings, data, &ends, progress)
    }

    /// Forecasts each series at the times that `times` gives for its name and end.
    fn forecast_at(
        &self,
        settings: &ForecastSettings,
        data: Option<&SeriesSet>,
        times: &(dyn Fn(&str, f64) -> Vec<f64> + Sync),
        progress: &ShareDone<'_>,
    ) -> Result<Vec<SeriesForecast>, FittedError> {
        let hidden = HiddenPaths::new(self, data, settings.n_paths, settings.seed)?;
        let names = hidden.names();
        let dynamics = Dynamics::of(self);
        let done = std::sync::atomic::AtomicUsize::new(0);
        let forecasts: Vec<Result<Option<SeriesForecast>, FittedError>> = (0..names.len())
            .into_par_iter()
            .map(|series| {
                let asked = times(&names[series], hidden.end(series));
                let forecast = if asked.is_empty() {
                    None
                } else {
                    let given = self.still_set(data, &names[series])?.then(&settings.given);
                    let settings = ForecastSettings { given, ..settings.clone() };
                    Some(self.one_forecast(&settings, &hidden, series, &asked, &dynamics)?)
                };
                let done = 1 + done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                progress(done as f64 / names.len() as f64);
                Ok(forecast)
            })
            .collect();
        Ok(forecasts.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// What is still set in the last row of a series of the data, where they are known.
    fn still_set(
        &self,
        data: Option<&SeriesSet>,
        name: &str,
    ) -> Result<Interventions, FittedError> {
        let Some(data) = data else { return Ok(Interventions::default()) };
        let place = data.series().iter().position(|series| series.name() == name);
        let pieces = place.map_or_else(Vec::new, |place| data.set_pieces(place));
        let open: Vec<SetPiece> =
            pieces.into_iter().filter(|piece| piece.to == f64::INFINITY).collect();
        Ok(Interventions::of_pieces(&open, self.variables())?)
    }

    fn one_forecast(
        &self,
        settings: &ForecastSettings,
        hidden: &HiddenPaths<'_>,
        series: usize,
        asked: &[f64],
        members: &[Dynamics],
    ) -> Result<SeriesForecast, FittedError> {
        let d = self.n_variables();
        let end = hidden.end(series);
        let mut kept = vec![end];
        kept.extend_from_slice(asked);
        let step_size = settings.step_size.unwrap_or_else(|| self.step_size());
        let bounds: Vec<f64> =
            settings.given.bounds().into_iter().filter(|time| *time > end).collect();
        let schedule = Schedule::new(&kept, &bounds, step_size)?;
        let first_stream = (series * settings.n_paths) as u64;
        let engine = Engine {
            model: self,
            schedule: &schedule,
            start: &hidden.start_law(series, end)?,
            graph: settings.graph,
            scheme: settings.scheme,
            n_paths: settings.n_paths,
            seed: settings.seed,
            first_stream,
            interventions: Some(&settings.given).filter(|all| !all.is_empty()),
            progress: &|_| (),
        };
        let states = engine.run()?;
        let mut paths = Vec::with_capacity(settings.n_paths * asked.len() * d);
        for (path, states) in states.chunks_exact(kept.len() * d).enumerate() {
            let (law, scales) = members[path % members.len()].measurement_noise();
            let mut random = RandomStream::new(
                settings.seed,
                Purpose::MeasurementNoise,
                first_stream + path as u64,
            );
            let mut draws = vec![0.0; asked.len() * d];
            fill_measurement_noise(law, &mut random, &mut draws);
            let cells = states[d..].iter().zip(&draws).enumerate();
            paths.extend(cells.map(|(idx, (state, draw))| state + scales[idx % d] * draw));
        }
        self.measured(asked, &mut paths);
        // What is set is known: nobody measures it.
        for (row, state) in paths.chunks_exact_mut(d).enumerate() {
            settings.given.assign(asked[row % asked.len()], state)?;
        }
        let bands = Bands::of_paths(asked, d, &paths);
        let name = hidden.names()[series].clone();
        Ok(SeriesForecast { name, from: end, bands, paths })
    }

    /// Holds out the last `share` of each series' rows, refits with the same settings, and compares.
    pub fn forecast_test(
        &self,
        data: &SeriesSet,
        share: f64,
        settings: &ForecastSettings,
        progress: &ShareDone<'_>,
    ) -> Result<ForecastTest, FittedError> {
        if !(share > 0.0 && share < 1.0) {
            let (setting, condition) = ("holdout", "above 0 % and below 100 %");
            return Err(FittedError::BadSetting { setting, condition, found: share });
        }
        self.check_data(data)?;
        let split = Split::new(data, share)?;
        let refit = self.refit(&split.head, &|done| progress(0.9 * done))?;
        let asked = |name: &str, end: f64| split.tail_times(name, end);
        let rest = |done: f64| progress(0.9 + 0.1 * done);
        let forecasts = refit.forecast_at(settings, Some(&split.head), &asked, &rest)?;
        let methods = split.compare(&forecasts, self.measured_scales());
        if methods.is_empty() {
            let reason = "no cell was observed in the ends of the series";
            return Err(FittedError::NothingToHoldOut { reason });
        }
        let n_rows = split.tails.iter().flatten().map(ObservedSeries::n_observations).sum();
        Ok(ForecastTest { methods, n_series: forecasts.len(), forecasts, n_rows })
    }
}

/// Measurement noise of unit scale.
pub(super) fn fill_measurement_noise(
    law: ObservationNoise,
    random: &mut RandomStream,
    out: &mut [f64],
) {
    match law {
        ObservationNoise::Gaussian => random.fill_normal(out),
        ObservationNoise::Laplace => out.iter_mut().for_each(|out| {
            // The inverse of Laplace's distribution function at a uniform number around 0.
            let centred = random.uniform() - 0.5;
            *out = -centred.signum() * ln((1.0 - 2.0 * centred.abs()).max(f64::MIN_POSITIVE));
        }),
    }
}

/// Series without their ends, and the ends.
struct Split {
    head: SeriesSet,
    /// By series of the data; `None` where it is too short to split.
    tails: Vec<Option<ObservedSeries>>,
}

impl Split {
    fn new(data: &SeriesSet, share: f64) -> Result<Self, FittedError> {
        let (mut heads, mut tails) = (Vec::new(), Vec::new());
        for series in data.series() {
            let n = series.n_observations();
            let n_tail = ((share * n as f64).round() as usize).max(1);
            // Two rows must stay: one step at least.
            if n < n_tail + 2 {
                heads.push(series.clone());
                tails.push(None);
                continue;
            }
            let cut = n - n_tail;
            let part = |rows| series.with_rows(series.name().to_owned(), rows);
            heads.push(part(0..cut));
            tails.push(Some(part(cut..n)));
        }
        if tails.iter().all(Option::is_none) {
            let reason = "every series is too short to lose its end";
            return Err(FittedError::NothingToHoldOut { reason });
        }
        Ok(Self { head: data.with_series(heads)?, tails })
    }

    fn tail(&self, name: &str) -> Option<&ObservedSeries> {
        self.tails.iter().flatten().find(|series| series.name() == name)
    }

    fn tail_times(&self, name: &str, end: f64) -> Vec<f64> {
        let times = self.tail(name).map_or(&[][..], ObservedSeries::times);
        times.iter().copied().filter(|time| *time > end).collect()
    }

    fn compare(&self, forecasts: &[SeriesForecast], scales: &[f64]) -> Vec<MethodAccuracy> {
        let d = scales.len();
        let mut model = Tally::new("driftgraph", scales, true);
        let mut persistence = Tally::new("persistence", scales, false);
        let mut walk = Tally::new("random walk", scales, true);
        let rates: Vec<f64> = (0..d).map(|idx| variance_per_time(&self.head, idx)).collect();
        let head = |name: &str| self.head.series().iter().find(|series| series.name() == name);
        for forecast in forecasts {
            let Some((tail, head)) = self.tail(&forecast.name).zip(head(&forecast.name)) else {
                continue;
            };
            let cells = forecast.bands.times.len() * d;
            for (row, &time) in forecast.bands.times.iter().enumerate() {
                let Some(tail_row) = tail.times().iter().position(|other| *other == time) else {
                    continue;
                };
                for (idx, rate) in rates.iter().enumerate() {
                    // Methods are compared where all of them can say something.
                    let known = tail.value(tail_row, idx).zip(last_value(head, idx));
                    let Some((outcome, (last_time, last))) = known else { continue };
                    let cell = row * d + idx;
                    let samples = forecast.paths.iter().skip(cell).step_by(cells).copied();
                    model.add(idx, &Law::of_samples(samples.collect()), outcome);
                    persistence.add(idx, &Law::Mixture(vec![(last, 0.0)]), outcome);
                    let deviation = (rate * (time - last_time)).sqrt();
                    walk.add(idx, &Law::Mixture(vec![(last, deviation)]), outcome);
                }
            }
        }
        [model, persistence, walk].iter().filter_map(Tally::finish).collect()
    }
}

/// Time and value of a variable's last observed cell.
fn last_value(series: &ObservedSeries, variable: usize) -> Option<(f64, f64)> {
    let rows = (0..series.n_observations()).rev();
    let mut cells =
        rows.filter_map(|row| Some((series.times()[row], series.value(row, variable)?)));
    cells.next()
}

/// Mean squared increment between neighbouring observed cells, per time.
fn variance_per_time(data: &SeriesSet, variable: usize) -> f64 {
    let (mut squares, mut time) = (0.0, 0.0);
    for series in data.series() {
        let cells: Vec<(f64, f64)> = (0..series.n_observations())
            .filter_map(|row| Some((series.times()[row], series.value(row, variable)?)))
            .collect();
        for pair in cells.windows(2) {
            squares += (pair[1].1 - pair[0].1).powi(2);
            time += pair[1].0 - pair[0].0;
        }
    }
    if time > 0.0 { squares / time } else { 0.0 }
}
