//! What is known of the data's course in time and taken out before a graph is learned: seasons, trends, logarithms.
//!
//! x(t) = r(t) + baseline(t), or log x(t) = r(t) + baseline(t): the graph is that of r, and everything that leaves a
//! model is turned back into x. The baseline is one function of time for all series, so that it goes on after their
//! end and into new paths.

use crate::numeric::linalg::log_det_and_inverse;
use crate::numeric::real::{exp, ln};
use crate::{CoreError, ObservedSeries, SeriesSet, Standardizer};

/// Most waves of a season: enough for every row of a day of hours or a year of months.
const MOST_HARMONICS: usize = 12;
/// Gaps this close to the median one are steps from a row to the next; others are holes. Months are.
const SAME_GAP: f64 = 0.11;
/// The word that stands for every variable.
const ALL: &str = "all";

/// What is to be taken out, as the user says it.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preparation {
    /// Rows of a season.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub season: Option<usize>,
    /// Whether straight lines in time are taken out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub detrend: bool,
    /// Variables that are learned on a logarithmic scale; `all` stands for every one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

impl Preparation {
    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What it comes to for these data; `None` where nothing is to be done.
    pub fn fit(&self, data: &SeriesSet) -> Result<Option<Transform>, CoreError> {
        if self.is_empty() {
            return Ok(None);
        }
        let is_log = self.logarithms(data)?;
        let season = self.season.map(|rows| Season::of(rows, data)).transpose()?;
        let mut transform = Transform {
            preparation: self.clone(),
            is_log,
            origin: data.series().iter().map(|s| s.times()[0]).fold(f64::INFINITY, f64::min),
            season,
            slopes: vec![0.0; data.n_variables()],
            waves: Vec::new(),
            scales: Standardizer::fit(data).scales().to_vec(),
        };
        let courses = (0..data.n_variables()).map(|variable| transform.course(data, variable));
        let courses: Vec<Course> = courses.collect();
        for (slope, course) in transform.slopes.iter_mut().zip(&courses) {
            *slope = course.slope;
        }
        transform.waves = courses.into_iter().flat_map(|course| course.waves).collect();
        Ok(Some(transform))
    }

    /// Which variables are logarithmic; every value of theirs must be positive.
    fn logarithms(&self, data: &SeriesSet) -> Result<Vec<bool>, CoreError> {
        let names = data.variables();
        let mut is_log = vec![false; names.len()];
        for name in &self.log {
            match names.iter().position(|known| known == name) {
                Some(idx) => is_log[idx] = true,
                None if name == ALL => is_log.fill(true),
                None => {
                    let (name, known) = (name.clone(), names.to_vec());
                    return Err(CoreError::UnknownLogVariable { name, known });
                }
            }
        }
        for series in data.series() {
            for row in 0..series.n_observations() {
                let own = (0..names.len()).filter(|&idx| is_log[idx]);
                let bad = own.filter_map(|idx| Some((idx, series.value(row, idx)?)));
                if let Some((idx, value)) = bad.into_iter().find(|(_, value)| *value <= 0.0) {
                    return Err(CoreError::NoLogarithm {
                        variable: names[idx].clone(),
                        value,
                        series: series.name().to_owned(),
                        row: row + 1,
                    });
                }
            }
        }
        Ok(is_log)
    }
}

/// A season of the calendar of the data.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
struct Season {
    /// Its length, in the user's unit of time.
    period: f64,
    /// How many waves fit into it, from one per season on.
    n_harmonics: usize,
}

impl Season {
    fn of(rows: usize, data: &SeriesSet) -> Result<Self, CoreError> {
        if rows < 2 {
            return Err(CoreError::SeasonTooShort { season: rows });
        }
        let longest = data.series().iter().map(ObservedSeries::n_observations).max().unwrap_or(0);
        if longest < 2 * rows {
            return Err(CoreError::SeasonTooLong { season: rows, longest });
        }
        let gaps = data.series().iter().flat_map(|series| series.times().windows(2));
        let mut gaps: Vec<f64> = gaps.map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let median = gaps[gaps.len() / 2];
        let steps = || gaps.iter().filter(|gap| (**gap - median).abs() <= SAME_GAP * median);
        let n_steps = steps().count();
        if 2 * n_steps < gaps.len() {
            return Err(CoreError::SeasonOfUnevenRows { season: rows });
        }
        let step = steps().sum::<f64>() / n_steps as f64;
        Ok(Self { period: rows as f64 * step, n_harmonics: (rows / 2).min(MOST_HARMONICS) })
    }

    /// Cosine and sine of every wave.
    fn waves(self, since: f64) -> impl Iterator<Item = f64> {
        let angle = std::f64::consts::TAU * since / self.period;
        (1..=self.n_harmonics).flat_map(move |k| {
            let angle = k as f64 * angle;
            [angle.cos(), angle.sin()]
        })
    }
}

/// The fitted preparation: from the user's values to those that a graph is learned from, and back.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Transform {
    preparation: Preparation,
    is_log: Vec<bool>,
    /// The first time of the data, from which lines and seasons are counted.
    origin: f64,
    season: Option<Season>,
    /// Per variable, in its (logarithmic) unit per unit of time.
    slopes: Vec<f64>,
    /// `[variable, wave]`, cosine and sine in turn.
    waves: Vec<f64>,
    /// Deviation of each variable as it was measured.
    scales: Vec<f64>,
}

/// What is taken out of one variable.
struct Course {
    slope: f64,
    waves: Vec<f64>,
}

impl Transform {
    /// What was asked for.
    pub fn preparation(&self) -> &Preparation {
        &self.preparation
    }

    /// Deviation of each variable as it was measured, in the user's units.
    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// Whether a variable is on a logarithmic scale.
    pub fn is_log(&self, variable: usize) -> bool {
        self.is_log[variable]
    }

    /// Whether it belongs to so many variables and has finite numbers only.
    pub(crate) fn is_valid(&self, n_variables: usize) -> bool {
        let n_waves = self.season.map_or(0, |season| 2 * season.n_harmonics);
        let numbers = || self.slopes.iter().chain(&self.waves).chain([&self.origin]);
        let sizes = [self.is_log.len(), self.slopes.len(), self.scales.len()];
        sizes.iter().all(|size| *size == n_variables)
            && self.waves.len() == n_waves * n_variables
            && numbers().all(|number| number.is_finite())
            && self.season.is_none_or(|season| season.period > 0.0 && season.period.is_finite())
            && self.scales.iter().all(|scale| scale.is_finite() && *scale > 0.0)
    }

    /// A value of the user's, as the graph is learned from; `NaN` where it has no logarithm.
    pub fn forward(&self, variable: usize, time: f64, value: f64) -> f64 {
        let value = if self.is_log[variable] { ln(value) } else { value };
        value - self.baseline(variable, time)
    }

    /// The same way back.
    pub fn back(&self, variable: usize, time: f64, value: f64) -> f64 {
        let value = value + self.baseline(variable, time);
        if self.is_log[variable] { exp(value) } else { value }
    }

    /// The series as a graph is learned from them.
    #[must_use]
    pub fn apply(&self, data: &SeriesSet) -> SeriesSet {
        data.map_series(|series| {
            let mut values = series.values().to_vec();
            self.for_each_row(series.times(), &mut values, Self::forward);
            series.with_values(values)
        })
    }

    /// Turns states `[.., time, variable]` at these times back into the user's units.
    pub(crate) fn undo(&self, times: &[f64], states: &mut [f64]) {
        for path in states.chunks_exact_mut(times.len() * self.is_log.len()) {
            self.for_each_row(times, path, Self::back);
        }
    }

    fn for_each_row(
        &self,
        times: &[f64],
        values: &mut [f64],
        change: impl Fn(&Self, usize, f64, f64) -> f64,
    ) {
        for (row, &time) in values.chunks_exact_mut(self.is_log.len()).zip(times) {
            for (variable, value) in row.iter_mut().enumerate() {
                *value = change(self, variable, time, *value);
            }
        }
    }

    fn baseline(&self, variable: usize, time: f64) -> f64 {
        let since = time - self.origin;
        let Some(season) = self.season else { return self.slopes[variable] * since };
        let own = &self.waves[variable * 2 * season.n_harmonics..];
        let waves: f64 = season.waves(since).zip(own).map(|(wave, weight)| wave * weight).sum();
        self.slopes[variable] * since + waves
    }

    /// Line and waves of a variable by least squares, every series around a level of its own.
    fn course(&self, data: &SeriesSet, variable: usize) -> Course {
        let n_waves = self.season.map_or(0, |season| 2 * season.n_harmonics);
        let first_wave = usize::from(self.preparation.detrend);
        let n = first_wave + n_waves;
        let span = data.series().iter().filter_map(|series| series.times().last());
        let span = span.fold(self.origin, |most: f64, time| most.max(*time)) - self.origin;
        let unit = if span > 0.0 { span } else { 1.0 };
        let (mut squares, mut products) = (vec![0.0; n * n], vec![0.0; n]);
        for series in data.series() {
            let mut rows = Vec::new();
            for row in 0..series.n_observations() {
                let Some(value) = series.value(row, variable) else { continue };
                let since = series.times()[row] - self.origin;
                let line = self.preparation.detrend.then_some(since / unit);
                let mut parts: Vec<f64> = line.into_iter().collect();
                parts.extend(self.season.into_iter().flat_map(|season| season.waves(since)));
                parts.push(if self.is_log[variable] { ln(value) } else { value });
                rows.push(parts);
            }
            add_centred(&rows, &mut squares, &mut products);
        }
        let weights = solve(squares, &products);
        let slope = weights.first().filter(|_| first_wave == 1).map_or(0.0, |line| line / unit);
        Course { slope, waves: weights[first_wave..].to_vec() }
    }
}

/// Adds the products of columns around their means; the last column is what is explained.
fn add_centred(rows: &[Vec<f64>], squares: &mut [f64], products: &mut [f64]) {
    let n = products.len();
    let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64;
    let means: Vec<f64> = (0..=n).map(mean).collect();
    for row in rows {
        for a in 0..n {
            let own = row[a] - means[a];
            products[a] += own * (row[n] - means[n]);
            for b in 0..n {
                squares[a * n + b] += own * (row[b] - means[b]);
            }
        }
    }
}

/// Weights of least squares; what the rows cannot tell apart gets equal shares, by a trace of ridge.
fn solve(mut squares: Vec<f64>, products: &[f64]) -> Vec<f64> {
    const RIDGE: f64 = 1e-9;
    let n = products.len();
    let trace: f64 = (0..n).map(|idx| squares[idx * (n + 1)]).sum();
    if n == 0 || trace == 0.0 {
        return vec![0.0; n];
    }
    for idx in 0..n {
        squares[idx * (n + 1)] += RIDGE * trace;
    }
    let Some((_, inverse)) = log_det_and_inverse(&squares, n) else { return vec![0.0; n] };
    let weight = |row: &[f64]| row.iter().zip(products).map(|(a, b)| a * b).sum();
    inverse.chunks_exact(n).map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str], times: &[f64], row: impl Fn(f64) -> Vec<f64>) -> SeriesSet {
        let values = times.iter().flat_map(|&time| row(time)).collect();
        let series = ObservedSeries::new("a", names.len(), times.to_vec(), values).unwrap();
        SeriesSet::new(names.iter().map(|&name| name.to_owned()).collect(), vec![series]).unwrap()
    }

    fn rows(n: usize) -> Vec<f64> {
        (0..n).map(|row| 1900.0 + row as f64).collect()
    }

    fn fitted(preparation: &Preparation, data: &SeriesSet) -> Transform {
        preparation.fit(data).unwrap().unwrap()
    }

    fn left(transform: &Transform, data: &SeriesSet, variable: usize) -> f64 {
        let values: Vec<f64> = transform.apply(data).observed_values(variable).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn a_season_of_any_shape_and_a_line_leave_a_level() {
        // Twelve numbers in no order at all, again and again.
        let shape = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, -6.0, 5.0, 3.0, 5.0, -8.0];
        let data = set(&["x", "y"], &rows(60), |time| {
            let row = (time - 1900.0) as usize;
            vec![shape[row % 12] + 0.5 * time, 7.0]
        });
        let both = Preparation { season: Some(12), detrend: true, ..Preparation::default() };
        let transform = fitted(&both, &data);
        // The trace of ridge is a billionth.
        assert!(left(&transform, &data, 0) < 1e-6, "{}", left(&transform, &data, 0));
        assert!(left(&transform, &data, 1) < 1e-6);
        // Beyond the data the line and the season go on.
        let later = transform.back(0, 1972.0, 0.0) - transform.back(0, 1912.0, 0.0);
        // A billionth of all squares is 7e-8 of those of the line, which the slope is too small by.
        assert!((later - 0.5 * 60.0).abs() < 5e-6, "{later}");
        let season = Preparation { season: Some(12), ..Preparation::default() };
        assert!(left(&fitted(&season, &data), &data, 0) > 10.0);
    }

    #[test]
    fn there_and_back_is_where_one_was() {
        let data = set(&["x", "y"], &rows(30), |time| vec![time.sin() + 2.0, time.cos() - 4.0]);
        let all = Preparation { season: Some(5), detrend: true, log: vec!["x".into()] };
        let transform = fitted(&all, &data);
        let mut values = transform.apply(&data).series()[0].values().to_vec();
        transform.undo(data.series()[0].times(), &mut values);
        for (back, before) in values.iter().zip(data.series()[0].values()) {
            // A logarithm and its inverse, a sum and a difference: some roundings.
            assert!((back - before).abs() < 1e-13, "{back} and {before}");
        }
        assert!(transform.back(0, 1.0, -50.0) > 0.0);
        assert!(transform.is_valid(2) && !transform.is_valid(3));
    }

    #[test]
    fn months_and_holes_make_one_season() {
        // Days of the months of four years, April of the second left out.
        let lengths = [31.0, 28.25, 31.0, 30.0, 31.0, 30.0, 31.0, 31.0, 30.0, 31.0, 30.0, 31.0];
        let mut times = vec![0.0];
        (0..47).for_each(|month| times.push(times[month] + lengths[month % 12]));
        times.remove(15);
        let year = 365.25;
        let data = set(&["x"], &times, |time| vec![(std::f64::consts::TAU * time / year).sin()]);
        let season = Preparation { season: Some(12), ..Preparation::default() };
        // The mean month of these four years is not quite a twelfth of their year.
        assert!(left(&fitted(&season, &data), &data, 0) < 0.02);
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let data = set(&["x", "y"], &rows(20), |time| vec![time - 1905.0, 1.0]);
        let refused = |preparation: Preparation| preparation.fit(&data).unwrap_err().to_string();
        let season = |rows| Preparation { season: Some(rows), ..Preparation::default() };
        let log = |name: &str| Preparation { log: vec![name.to_owned()], ..Preparation::default() };
        assert_eq!(
            refused(log("x")),
            "`x` is -5 in row 1 of series `a`, and only positive numbers have a logarithm"
        );
        assert_eq!(
            refused(log("z")),
            "there is no variable `z` to take the logarithm of; there are `x`, `y`"
        );
        assert_eq!(
            refused(season(12)),
            "a season of 12 rows needs a series of at least 24, and the longest has 20"
        );
        assert_eq!(refused(season(1)), "a season has at least 2 rows, found 1");
        let uneven = set(&["x"], &[0.0, 1.0, 3.0, 7.0, 15.0, 31.0], |time| vec![time]);
        assert_eq!(
            season(2).fit(&uneven).unwrap_err().to_string(),
            "a season of 2 rows makes no sense here: the rows are not equally spaced in time"
        );
        assert_eq!(Preparation::default().fit(&data), Ok(None));
        // Not every variable needs to be positive, only those that are asked for.
        assert!(log("y").fit(&data).is_ok() && log("all").fit(&data).is_err());
    }
}
