//! Observation: complete clean series in; measurement noise added, times and cells dropped.

use std::ops::Range;

use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::{ObservedSeries, SeriesSet, Standardizer};

use crate::SystemError;

/// At which times a series is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// Equally spaced, both ends of the time range included, the same for all series.
    #[default]
    Regular,
    /// Uniform on the time range, sorted, drawn anew for each series.
    Random,
}

/// What is not observed after all; numbers are probabilities, at least 0 and below 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Dropping {
    /// Nothing is dropped.
    #[default]
    Nothing,
    /// The paper's way: an observation number is dropped for all series at once if U <= p.
    ///
    /// Any of them can go, the first one too; series then start later.
    TimesOfAllSeries(f64),
    /// Each series loses its own times.
    TimesPerSeries(f64),
    /// Each cell is dropped on its own; a time without any cell left is dropped as a whole.
    Cells(f64),
}

impl Dropping {
    fn probability(self) -> f64 {
        match self {
            Self::Nothing => 0.0,
            Self::TimesOfAllSeries(p) | Self::TimesPerSeries(p) | Self::Cells(p) => p,
        }
    }

    pub(crate) fn check(self) -> Result<(), SystemError> {
        let probability = self.probability();
        if (0.0..1.0).contains(&probability) {
            Ok(())
        } else {
            Err(SystemError::BadProbability { probability })
        }
    }
}

/// Gaussian noise added to every observed cell, in the units of the data set returned.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum MeasurementNoise {
    /// Values are exact.
    #[default]
    Nothing,
    /// The same deviation for all variables.
    Absolute(f64),
    /// A multiple of each variable's own deviation over all series and times returned.
    ///
    /// A variable that never varies counts as having deviation 1.
    Relative(f64),
}

impl MeasurementNoise {
    pub(crate) fn check(self) -> Result<(), SystemError> {
        match self {
            Self::Absolute(deviation) | Self::Relative(deviation)
                if !(deviation >= 0.0 && deviation.is_finite()) =>
            {
                Err(SystemError::BadDeviation { deviation })
            }
            _ => Ok(()),
        }
    }

    fn deviations(self, clean: &SeriesSet) -> Vec<f64> {
        match self {
            Self::Nothing => vec![0.0; clean.n_variables()],
            Self::Absolute(deviation) => vec![deviation; clean.n_variables()],
            Self::Relative(share) => {
                Standardizer::fit(clean).scales().iter().map(|scale| share * scale).collect()
            }
        }
    }
}

/// The times of series number `series`: `n_points` of them between `start` and `end`.
pub(crate) fn sampling_times(
    sampling: Sampling,
    Range { start, end }: Range<f64>,
    n_points: usize,
    seed: u64,
    series: usize,
) -> Vec<f64> {
    match sampling {
        Sampling::Regular => {
            let gaps = (n_points - 1) as f64;
            let time = |idx| (start + (end - start) * (idx as f64 / gaps)).min(end);
            // The last time by itself: start + (end - start) may round to another number.
            (0..n_points - 1).map(time).chain([end]).collect()
        }
        Sampling::Random => {
            let mut random =
                RandomStream::new(seed, Purpose::ObservationTimes, times_stream(series));
            let mut times: Vec<f64> =
                (0..n_points).map(|_| start + (end - start) * random.uniform()).collect();
            times.sort_by(f64::total_cmp);
            // Two equal draws are one observation.
            times.dedup();
            times
        }
    }
}

// Streams of random numbers under `Purpose::ObservationTimes`: even numbers for the times of a
// series, odd ones for those it drops, and the last of all for times dropped by all series at once.
const ALL_SERIES_STREAM: u64 = u64::MAX;

fn times_stream(series: usize) -> u64 {
    2 * series as u64
}

fn dropping_stream(series: usize) -> u64 {
    2 * series as u64 + 1
}

/// What is seen of `clean`: every cell with its noise, without what is dropped.
///
/// The noise of a cell does not depend on what is dropped. `clean` may be measured data too, to see
/// what a method makes of them with more holes.
pub fn observe(
    clean: &SeriesSet,
    noise: MeasurementNoise,
    dropping: Dropping,
    seed: u64,
) -> Result<SeriesSet, SystemError> {
    noise.check()?;
    dropping.check()?;
    let deviations = noise.deviations(clean);
    let mut observed = Vec::with_capacity(clean.n_series());
    for (idx, series) in clean.series().iter().enumerate() {
        let mut values = series.values().to_vec();
        if noise != MeasurementNoise::Nothing {
            let mut draws = RandomStream::new(seed, Purpose::MeasurementNoise, idx as u64);
            add_noise(&mut values, &deviations, &mut draws);
        }
        drop_cells(&mut values, series.n_variables(), dropping, seed, idx);
        observed.push(without_empty_rows(series, &values, dropping)?);
    }
    Ok(SeriesSet::new(clean.variables().to_vec(), observed)?)
}

fn add_noise(values: &mut [f64], deviations: &[f64], random: &mut RandomStream) {
    let mut draws = vec![0.0; values.len()];
    random.fill_normal(&mut draws);
    for ((value, draw), deviation) in values.iter_mut().zip(draws).zip(deviations.iter().cycle()) {
        *value += deviation * draw;
    }
}

/// Turns what is dropped into `NaN`; one uniform number decides about a time or a cell.
fn drop_cells(
    values: &mut [f64],
    n_variables: usize,
    dropping: Dropping,
    seed: u64,
    series: usize,
) {
    let (probability, purpose, stream, unit) = match dropping {
        Dropping::Nothing => return,
        Dropping::TimesOfAllSeries(p) => {
            (p, Purpose::ObservationTimes, ALL_SERIES_STREAM, n_variables)
        }
        Dropping::TimesPerSeries(p) => {
            (p, Purpose::ObservationTimes, dropping_stream(series), n_variables)
        }
        Dropping::Cells(p) => (p, Purpose::MissingCells, series as u64, 1),
    };
    let mut random = RandomStream::new(seed, purpose, stream);
    for cells in values.chunks_exact_mut(unit) {
        // At p = 0 the rule U <= p could still drop, once in 2^53 draws.
        if random.uniform() <= probability && probability > 0.0 {
            cells.fill(f64::NAN);
        }
    }
}

fn without_empty_rows(
    clean: &ObservedSeries,
    values: &[f64],
    dropping: Dropping,
) -> Result<ObservedSeries, SystemError> {
    let n_variables = clean.n_variables();
    let rows = clean.times().iter().zip(values.chunks_exact(n_variables));
    let (times, rows): (Vec<f64>, Vec<&[f64]>) =
        rows.filter(|(_, row)| row.iter().any(|value| !value.is_nan())).unzip();
    if times.is_empty() {
        let series = clean.name().to_owned();
        return Err(SystemError::NothingLeft { series, probability: dropping.probability() });
    }
    Ok(ObservedSeries::new(clean.name(), n_variables, times, rows.concat())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N_TIMES: usize = 400;

    /// Values 10000 series + 10 time + variable, so that every cell is told apart.
    fn clean(n_series: usize) -> SeriesSet {
        let series = |idx: usize| {
            let times: Vec<f64> = (0..N_TIMES).map(|time| time as f64).collect();
            let values = (0..N_TIMES * 3)
                .map(|cell| (10_000 * idx + 10 * (cell / 3) + cell % 3) as f64)
                .collect();
            ObservedSeries::new(format!("series-{}", idx + 1), 3, times, values).unwrap()
        };
        let names = ["a", "b", "c"].map(String::from).to_vec();
        SeriesSet::new(names, (0..n_series).map(series).collect()).unwrap()
    }

    fn dropped(dropping: Dropping, seed: u64) -> SeriesSet {
        observe(&clean(4), MeasurementNoise::Nothing, dropping, seed).unwrap()
    }

    /// Five deviations of a binomial share over `n` draws; the seeds are fixed.
    fn share_tolerance(p: f64, n: usize) -> f64 {
        5.0 * (p * (1.0 - p) / n as f64).sqrt()
    }

    #[test]
    fn the_papers_way_drops_the_same_times_of_all_series_and_keeps_the_rest_whole() {
        let observed = dropped(Dropping::TimesOfAllSeries(0.3), 1);
        let first = &observed.series()[0];
        for (idx, series) in observed.series().iter().enumerate() {
            assert_eq!(series.times(), first.times());
            for (row, &time) in series.times().iter().enumerate() {
                let base = (10_000 * idx) as f64 + 10.0 * time;
                assert_eq!(series.row(row), [base, base + 1.0, base + 2.0]);
            }
        }
        let share = 1.0 - first.n_observations() as f64 / N_TIMES as f64;
        assert!((share - 0.3).abs() < share_tolerance(0.3, N_TIMES), "share {share}");
    }

    #[test]
    fn the_first_time_can_be_dropped() {
        let starts_late =
            |seed| dropped(Dropping::TimesOfAllSeries(0.5), seed).series()[0].times()[0] > 0.0;
        // Ten fixed seeds that all keep the first time would have probability 2^-10.
        assert!((0..10).any(starts_late) && !(0..10).all(starts_late));
    }

    #[test]
    fn series_can_lose_their_own_times() {
        let observed = dropped(Dropping::TimesPerSeries(0.3), 1);
        let times = |idx: usize| observed.series()[idx].times();
        assert_ne!(times(0), times(1));
        assert_eq!(observed.n_missing(), 0);
        let share = 1.0 - observed.n_rows() as f64 / (4 * N_TIMES) as f64;
        assert!((share - 0.3).abs() < share_tolerance(0.3, 4 * N_TIMES), "share {share}");
    }

    #[test]
    fn cells_can_be_dropped_one_by_one_and_no_row_is_left_empty() {
        let observed = dropped(Dropping::Cells(0.6), 1);
        let n_observed: usize = observed.series().iter().map(ObservedSeries::n_observed).sum();
        let n_cells = 4 * N_TIMES * 3;
        let share = 1.0 - n_observed as f64 / n_cells as f64;
        assert!((share - 0.6).abs() < share_tolerance(0.6, n_cells), "share {share}");
        for series in observed.series() {
            let n_rows = series.n_observations();
            assert!(n_rows < N_TIMES, "0.6^3 of the rows lose all cells");
            assert!((0..n_rows).all(|row| (0..3).any(|idx| series.value(row, idx).is_some())));
        }
    }

    #[test]
    fn a_series_that_would_be_empty_is_an_error_with_its_name() {
        let short = clean(1);
        let series = &short.series()[0];
        let one_row = ObservedSeries::new("lonely", 3, vec![0.0], series.row(0).to_vec()).unwrap();
        let set = SeriesSet::new(short.variables().to_vec(), vec![one_row]).unwrap();
        for dropping in [
            Dropping::TimesOfAllSeries(0.999),
            Dropping::TimesPerSeries(0.999),
            Dropping::Cells(0.999),
        ] {
            let error = observe(&set, MeasurementNoise::Nothing, dropping, 0).unwrap_err();
            let expected = SystemError::NothingLeft { series: "lonely".into(), probability: 0.999 };
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn relative_noise_is_a_share_of_each_variables_own_deviation() {
        let clean = clean(4);
        let noise = MeasurementNoise::Relative(0.1);
        let noisy = observe(&clean, noise, Dropping::Nothing, 2).unwrap();
        for (variable, scale) in Standardizer::fit(&clean).scales().iter().enumerate() {
            let pairs = noisy.observed_values(variable).zip(clean.observed_values(variable));
            let squares: Vec<f64> = pairs.map(|(a, b)| ((a - b) / (0.1 * scale)).powi(2)).collect();
            let mean_square = squares.iter().sum::<f64>() / squares.len() as f64;
            // Five standard errors sqrt(2/n) of a mean square of n normal numbers; fixed seed.
            let tolerance = 5.0 * (2.0 / squares.len() as f64).sqrt();
            assert!((mean_square - 1.0).abs() < tolerance, "variable {variable}: {mean_square}");
        }
    }

    #[test]
    fn noise_of_a_cell_does_not_depend_on_what_is_dropped() {
        let clean = clean(2);
        let noise = MeasurementNoise::Absolute(0.5);
        let whole = observe(&clean, noise, Dropping::Nothing, 2).unwrap();
        let part = observe(&clean, noise, Dropping::TimesPerSeries(0.5), 2).unwrap();
        for (whole, part) in whole.series().iter().zip(part.series()) {
            for (row, &time) in part.times().iter().enumerate() {
                assert_eq!(part.row(row), whole.row(time as usize));
            }
        }
    }

    #[test]
    fn random_times_increase_stay_in_range_and_differ_between_series() {
        let times = |series| sampling_times(Sampling::Random, 2.0..5.0, 50, 0, series);
        assert_eq!(times(0).len(), 50);
        assert!(times(0).windows(2).all(|pair| pair[0] < pair[1]));
        assert!(times(0).iter().all(|time| (2.0..5.0).contains(time)));
        assert_ne!(times(0), times(1));
    }

    #[test]
    fn regular_times_hold_both_ends_to_the_bit() {
        for (start, end) in [(0.0, 100.0), (0.1, 0.7), (-3.3, 1e-3), (0.7, 1.1)] {
            let times = sampling_times(Sampling::Regular, start..end, 1000, 0, 0);
            assert_eq!((times.len(), times[0], times[999]), (1000, start, end));
        }
    }
}
