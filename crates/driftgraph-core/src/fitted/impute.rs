//! Hidden states at any time of the observed series: missing cells, and times between rows.

use super::accuracy::{MethodAccuracy, Tally};
use super::bands::{Bands, LEVELS};
use super::dynamics::Dynamics;
use super::engine::ShareDone;
use super::error::FittedError;
use super::forecast::fill_measurement_noise;
use super::hidden::HiddenPaths;
use super::law::Law;
use super::model::FittedModel;
use super::schedule::check_times;
use crate::random::{Purpose, RandomStream};
use crate::{ObservedSeries, SeriesSet};

/// Which hidden states are asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum ImputeTimes {
    /// At every row of the data.
    Rows,
    /// At these times, as far as they lie inside a series.
    At(Vec<f64>),
}

/// How hidden states are imputed.
#[derive(Debug, Clone, PartialEq)]
pub struct ImputeSettings {
    /// When.
    pub times: ImputeTimes,
    /// Paths per series, where the posterior is sampled.
    pub n_samples: usize,
    /// Decides everything random.
    pub seed: u64,
}

impl Default for ImputeSettings {
    fn default() -> Self {
        Self { times: ImputeTimes::Rows, n_samples: 200, seed: 0 }
    }
}

/// Hidden states of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct ImputedSeries {
    /// Name of the series.
    pub name: String,
    /// Mean and bands of the hidden state, in the user's units.
    pub bands: Bands,
    /// What was measured at these times, `[time, variable]`; `NaN` where nothing was.
    pub observed: Vec<f64>,
}

/// How well hidden cells were imputed.
#[derive(Debug, Clone, PartialEq)]
pub struct ImputeTest {
    /// The model, then linear interpolation.
    pub methods: Vec<MethodAccuracy>,
    /// Number of cells that were hidden.
    pub n_cells: usize,
}

impl FittedModel {
    /// The posterior of the hidden states of the series this model was fitted to.
    pub fn impute(
        &self,
        data: &SeriesSet,
        settings: &ImputeSettings,
    ) -> Result<Vec<ImputedSeries>, FittedError> {
        self.check_data(data)?;
        if let ImputeTimes::At(times) = &settings.times {
            check_times(times)?;
        }
        let hidden = HiddenPaths::new(self, Some(data), settings.n_samples, settings.seed)?;
        let mut imputed = Vec::new();
        for (series_idx, name) in hidden.names().into_iter().enumerate() {
            let Some(series) = data.series().iter().find(|series| series.name() == name) else {
                let known = data.series().iter().map(|series| series.name().to_owned()).collect();
                return Err(FittedError::UnknownSeries { name, known });
            };
            let grid = hidden.times(series_idx);
            let inside = grid[0]..=grid[grid.len() - 1];
            let asked = match &settings.times {
                ImputeTimes::Rows => series.times(),
                ImputeTimes::At(times) => times,
            };
            let times: Vec<f64> =
                asked.iter().copied().filter(|time| inside.contains(time)).collect();
            let mut bands = Bands::empty(&times, self.n_variables());
            for &time in &times {
                for (variable, law) in hidden.laws(series_idx, time)?.into_iter().enumerate() {
                    bands.push_law(&self.measured_law(variable, time, law));
                }
            }
            let observed = times.iter().flat_map(|time| {
                let row = series.times().iter().position(|other| other == time);
                row.map_or_else(
                    || vec![f64::NAN; self.n_variables()],
                    |row| series.row(row).to_vec(),
                )
            });
            imputed.push(ImputedSeries { name, observed: observed.collect(), bands });
        }
        Ok(imputed)
    }

    /// Hides a share of the observed cells, refits with the same settings, and compares.
    ///
    /// Only cells with an observed one before and after them are hidden, so that a straight line
    /// between neighbours is always possible.
    pub fn impute_test(
        &self,
        data: &SeriesSet,
        share: f64,
        settings: &ImputeSettings,
        progress: &ShareDone<'_>,
    ) -> Result<ImputeTest, FittedError> {
        if !(share > 0.0 && share < 1.0) {
            let (setting, condition) = ("holdout_cells", "above 0 % and below 100 %");
            return Err(FittedError::BadSetting { setting, condition, found: share });
        }
        self.check_data(data)?;
        let cells = chosen_cells(data, share, settings.seed)?;
        let reduced = without(data, &cells)?;
        let refit = self.refit(&reduced, progress)?;
        let hidden = HiddenPaths::new(&refit, Some(&reduced), settings.n_samples, settings.seed)?;
        let scales = self.measured_scales();
        let mut model = Tally::new("driftgraph", scales, true);
        let mut line = Tally::new("linear interpolation", scales, false);
        let dynamics = Dynamics::of(&refit);
        let (law, noise) = dynamics[0].measurement_noise();
        let unit_deviation = law.unit_variance().sqrt();
        let mut draws = RandomStream::new(settings.seed, Purpose::MeasurementNoise, 0);
        let mut draw = || {
            let mut one = [0.0];
            fill_measurement_noise(law, &mut draws, &mut one);
            one[0] / unit_deviation
        };
        for &Cell { series, row, variable } in &cells {
            let before = &data.series()[series];
            let time = before.times()[row];
            let outcome = before.row(row)[variable];
            let place = hidden.find(before.name())?;
            let laws = hidden.laws(place, time)?;
            let deviation = unit_deviation * noise[variable];
            let law = laws[variable].with_noise(deviation, &mut draw);
            model.add(variable, &refit.measured_law(variable, time, law), outcome);
            let between = interpolator(&reduced.series()[series], variable).at(time);
            let between = between.expect("a hidden cell has observed neighbours");
            line.add(variable, &Law::Mixture(vec![(between, 0.0)]), outcome);
        }
        let methods = [model, line].iter().filter_map(Tally::finish).collect();
        Ok(ImputeTest { methods, n_cells: cells.len() })
    }
}

impl Bands {
    fn push_law(&mut self, law: &Law) {
        self.mean.push(law.mean());
        self.deviation.push(law.deviation());
        for (quantiles, level) in self.quantiles.iter_mut().zip(LEVELS) {
            quantiles.push(law.quantile(level));
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    series: usize,
    row: usize,
    variable: usize,
}

/// Cells to hide: a random share of those between other observed cells of their variable.
fn chosen_cells(data: &SeriesSet, share: f64, seed: u64) -> Result<Vec<Cell>, FittedError> {
    let mut cells = Vec::new();
    for (series, values) in data.series().iter().enumerate() {
        for variable in 0..data.n_variables() {
            let observed: Vec<usize> = (0..values.n_observations())
                .filter(|&row| values.value(row, variable).is_some())
                .collect();
            let inner = observed.get(1..observed.len().saturating_sub(1)).unwrap_or_default();
            cells.extend(inner.iter().map(|&row| Cell { series, row, variable }));
        }
    }
    if cells.is_empty() {
        let reason = "no cell has observed ones before and after it";
        return Err(FittedError::NothingToHoldOut { reason });
    }
    RandomStream::new(seed, Purpose::MissingCells, 0).shuffle(&mut cells);
    cells.truncate(((share * cells.len() as f64).round() as usize).max(1));
    cells.sort_unstable_by_key(|cell| (cell.series, cell.row, cell.variable));
    Ok(cells)
}

fn without(data: &SeriesSet, cells: &[Cell]) -> Result<SeriesSet, FittedError> {
    let d = data.n_variables();
    let mut values: Vec<Vec<f64>> =
        data.series().iter().map(|series| series.values().to_vec()).collect();
    for cell in cells {
        values[cell.series][cell.row * d + cell.variable] = f64::NAN;
    }
    let series =
        data.series().iter().zip(values).map(|(series, values)| series.with_values(values));
    Ok(data.with_series(series.collect())?)
}

/// Straight lines between the observed cells of one variable.
pub(super) struct Interpolator {
    times: Vec<f64>,
    values: Vec<f64>,
}

/// The observed cells of one variable of a series.
pub(super) fn interpolator(series: &ObservedSeries, variable: usize) -> Interpolator {
    let cells = (0..series.n_observations())
        .filter_map(|row| Some((series.times()[row], series.value(row, variable)?)));
    let (times, values) = cells.unzip();
    Interpolator { times, values }
}

impl Interpolator {
    /// The value at a time, constant before the first and after the last; `None` without a cell.
    pub(super) fn at(&self, time: f64) -> Option<f64> {
        let last = self.times.len().checked_sub(1)?;
        let after = self.times.partition_point(|&other| other < time);
        if after == 0 || after > last {
            return Some(self.values[after.min(last)]);
        }
        let share = (time - self.times[after - 1]) / (self.times[after] - self.times[after - 1]);
        Some(self.values[after - 1] + share * (self.values[after] - self.values[after - 1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> ObservedSeries {
        let values = vec![1.0, f64::NAN, f64::NAN, f64::NAN, 4.0, 2.0, 6.0, f64::NAN];
        ObservedSeries::new("a", 2, vec![0.0, 1.0, 3.0, 4.0], values).unwrap()
    }

    #[test]
    fn lines_run_between_observed_cells_and_stay_level_outside() {
        let line = interpolator(&series(), 0);
        assert_eq!(
            [-1.0, 0.0, 1.5, 3.5, 9.0].map(|time| line.at(time)),
            [1.0, 1.0, 2.5, 5.0, 6.0].map(Some)
        );
        assert_eq!(interpolator(&series(), 1).at(0.0), Some(2.0));
        let empty = ObservedSeries::new("b", 1, vec![0.0], vec![f64::NAN]).unwrap();
        assert_eq!(interpolator(&empty, 0).at(0.0), None);
    }

    #[test]
    fn only_cells_between_observed_ones_are_hidden() {
        let data = SeriesSet::new(vec!["x".into(), "y".into()], vec![series()]).unwrap();
        let cells = chosen_cells(&data, 0.99, 0).unwrap();
        assert_eq!((cells.len(), cells[0].row, cells[0].variable), (1, 2, 0));
        let reduced = without(&data, &cells).unwrap();
        assert_eq!(reduced.n_missing(), data.n_missing() + 1);
    }
}
