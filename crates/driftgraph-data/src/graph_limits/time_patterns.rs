//! Seasons and trends that variables share: they predict each other without driving each other.

use driftgraph_core::{ObservedSeries, SeriesSet};

use super::{is_regular, named, observed};
use crate::time_names::days_in;
use crate::{TimeAxis, TimeUnit};

/// A season that predicts at least two variables well.
pub(super) struct SharedSeason {
    /// Its rows.
    pub(super) period: usize,
    what: &'static str,
    variables: Vec<usize>,
}

impl SharedSeason {
    /// In words, with what to do about it.
    pub(super) fn warning(&self, data: &SeriesSet) -> String {
        let Self { period, what, variables } = self;
        let (names, _) = named(data, variables);
        format!(
            "{names} share a season of {period} rows ({what}), which looks like one driving the other: `--season \
             {period}` keeps it out of the graph"
        )
    }
}

/// The first period of the calendar that variables share.
pub(super) fn season(data: &SeriesSet, axis: &TimeAxis) -> Option<SharedSeason> {
    periods(data, axis).into_iter().find_map(|(period, what)| {
        let variables: Vec<usize> = (0..data.n_variables())
            .filter(|&variable| is_seasonal(data, variable, period))
            .collect();
        (variables.len() >= 2).then_some(SharedSeason { period, what, variables })
    })
}

/// Rows per period of the calendar, where times say what they are.
fn periods(data: &SeriesSet, axis: &TimeAxis) -> Vec<(usize, &'static str)> {
    // The mean: months are of different lengths.
    let (mut span, mut n_gaps) = (0.0, 0.0);
    for times in data.series().iter().map(ObservedSeries::times) {
        span += times[times.len() - 1] - times[0];
        n_gaps += times.len() as f64 - 1.0;
    }
    if n_gaps == 0.0 {
        return Vec::new();
    }
    let gap = span / n_gaps;
    let Some(days) = days_per_unit(axis).map(|days| days * gap) else {
        return Vec::new();
    };
    [(1.0, "day"), (7.0, "week"), (365.25, "year")]
        .into_iter()
        .map(|(length, what)| (length / days, what))
        .filter(|(rows, _)| *rows > 2.5 && (rows - rows.round()).abs() < 0.05 * rows.sqrt())
        .map(|(rows, what)| (rows.round() as usize, what))
        .collect()
}

fn days_per_unit(axis: &TimeAxis) -> Option<f64> {
    match axis.unit {
        TimeUnit::Seconds => Some(1.0 / 86_400.0),
        TimeUnit::Minutes => Some(1.0 / 1440.0),
        TimeUnit::Hours => Some(1.0 / 24.0),
        TimeUnit::Days => Some(1.0),
        TimeUnit::Given => axis.named_unit.as_deref().and_then(days_in),
    }
}

/// Whether the mean course of either half of a series predicts most of the other half, slow changes aside.
///
/// In white noise, autoregressions and random walks of 40 to 200 rows this share is below 0.4 in all of 300 tables.
fn is_seasonal(data: &SeriesSet, variable: usize, period: usize) -> bool {
    const FEWEST_PERIODS: usize = 6;
    const LEAST_SHARE: f64 = 0.7;
    let long_enough = |series: &&ObservedSeries| {
        series.n_observations() >= FEWEST_PERIODS * period && is_regular(series)
    };
    let Some(series) = data.series().iter().filter(long_enough).max_by_key(|s| s.n_observations())
    else {
        return false;
    };
    let rows: Vec<f64> = (0..series.n_observations())
        .map(|row| series.value(row, variable).unwrap_or(f64::NAN))
        .collect();
    let fast = without_slow_part(&rows, period);
    let half = fast.len() / 2;
    [(0..half, half..fast.len()), (half..fast.len(), 0..half)].into_iter().all(
        |(learn, predict)| {
            let mut profile = vec![(0.0, 0.0); period];
            for row in learn.filter(|&row| !fast[row].is_nan()) {
                let (sum, n) = &mut profile[row % period];
                *sum += fast[row];
                *n += 1.0;
            }
            let (mut left, mut whole) = (0.0, 0.0);
            for row in predict.filter(|&row| !fast[row].is_nan()) {
                let (sum, n) = profile[row % period];
                left += (fast[row] - sum / f64::max(n, 1.0)).powi(2);
                whole += fast[row].powi(2);
            }
            left < (1.0 - LEAST_SHARE) * whole
        },
    )
}

/// Each row minus the mean of the period around it.
fn without_slow_part(rows: &[f64], period: usize) -> Vec<f64> {
    let reach = period / 2;
    let at = |row: usize| {
        if row < reach || row + reach >= rows.len() {
            return f64::NAN;
        }
        let window = &rows[row - reach..=row + reach];
        // With an even period both ends are the same season and count half.
        let ends = if period.is_multiple_of(2) {
            f64::midpoint(window[0], window[2 * reach])
        } else {
            0.0
        };
        rows[row] - (window.iter().sum::<f64>() - ends) / period as f64
    };
    (0..rows.len()).map(at).collect()
}

/// Variables of which a straight line explains nearly everything.
///
/// Of ten random walks of 40 rows a quarter passes this in 1 table of 100; in anything that comes back, in none.
pub(super) fn trending(data: &SeriesSet) -> Vec<usize> {
    const FEWEST_ROWS: usize = 40;
    const LEAST_SHARE: f64 = 0.9;
    let is_trending = |variable: &usize| {
        let mut long = data
            .series()
            .iter()
            .filter(|series| observed(series, *variable).count() >= FEWEST_ROWS)
            .peekable();
        long.peek().is_some() && long.all(|series| share_of_line(series, *variable) > LEAST_SHARE)
    };
    (0..data.n_variables()).filter(is_trending).collect()
}

/// Lines in many variables at once, in words.
pub(super) fn trend_warning(data: &SeriesSet, trending: &[usize]) -> Option<String> {
    let (names, _) = named(data, trending);
    (trending.len() >= 2.max(data.n_variables().div_ceil(4))).then(|| {
        format!(
            "{names} follow straight lines in time, so that each predicts the others whatever drives them: `--detrend` \
             keeps the lines out of the graph"
        )
    })
}

/// Share of a variable's variance that a straight line in time explains.
fn share_of_line(series: &ObservedSeries, variable: usize) -> f64 {
    let points: Vec<(f64, f64)> = (0..series.n_observations())
        .filter_map(|row| Some((series.times()[row], series.value(row, variable)?)))
        .collect();
    let n = points.len() as f64;
    let mean = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / n, sum.1 + p.1 / n));
    let sum = |f: fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(t, x)| f(t - mean.0, x - mean.1)).sum()
    };
    let (tt, tx, xx) = (sum(|t, _| t * t), sum(|t, x| t * x), sum(|_, x| x * x));
    if xx > 0.0 { tx * tx / (tt * xx) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{axis, scatter, table};
    use super::*;

    fn warning(data: &SeriesSet, unit: &str) -> Option<String> {
        Some(season(data, &axis(unit))?.warning(data))
    }

    #[test]
    fn units_are_known_however_people_write_them() {
        let wave: Vec<f64> =
            (0..96).map(|row| (f64::from(row) * std::f64::consts::TAU / 12.0).sin()).collect();
        let data = table(&[wave.clone(), wave]);
        for unit in ["month", "Months", "mo", "months since start"] {
            assert!(warning(&data, unit).unwrap().contains("12 rows (year)"), "{unit}");
        }
        assert!(warning(&data, "2 months").is_none());
    }

    #[test]
    fn a_season_of_the_calendar_is_found_and_another_period_is_not() {
        let wave = |period: f64, seed: usize| -> Vec<f64> {
            let noise = scatter(seed, 96);
            (0..96)
                .map(|row| (row as f64 * std::f64::consts::TAU / period).sin() + 0.3 * noise[row])
                .collect()
        };
        let found =
            warning(&table(&[wave(12.0, 1), scatter(2, 96), wave(12.0, 3)]), "months").unwrap();
        assert!(found.starts_with("`x0`, `x2` share a season of 12 rows (year)"), "{found}");
        assert!(warning(&table(&[wave(12.0, 1), wave(12.0, 3)]), "furlongs").is_none());
        assert!(warning(&table(&[wave(9.7, 1), wave(9.7, 3)]), "months").is_none());
        assert!(warning(&table(&[wave(12.0, 1), scatter(2, 96)]), "months").is_none());
    }

    #[test]
    fn lines_in_several_variables_are_a_shared_trend() {
        let line = |seed: usize| -> Vec<f64> {
            scatter(seed, 60).iter().enumerate().map(|(row, x)| row as f64 / 10.0 + x).collect()
        };
        let warning = |data: &SeriesSet| trend_warning(data, &trending(data));
        let found = warning(&table(&[line(1), scatter(5, 60), line(2)])).unwrap();
        assert!(found.starts_with("`x0`, `x2` follow straight lines"), "{found}");
        assert!(warning(&table(&[line(1), scatter(5, 60)])).is_none());
    }
}
