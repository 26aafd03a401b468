//! Why data may not carry a graph, whatever the method: warnings with what to do about it.
//!
//! Thresholds come from simulated noise and systems without the fault, not from real tables: few tables are
//! warned of wrongly, which `tests/false_alarms.rs` counts.

mod dependent_columns;
mod exact_sums;
mod exactness;
mod near_sums;
pub(crate) mod pace;
mod regression;
mod same_row;
mod sampling;
mod time_patterns;

use driftgraph_core::{ObservedSeries, Preparation, SeriesSet};

use crate::message_text::{list, option_names};
use crate::{TimeAxis, doubtful_columns};
use pace::{Pace, Reservations};
use sampling::Coarseness;

/// What speaks against a graph of some data.
pub(crate) struct Limits {
    /// In words, with what to do about it.
    pub(crate) warnings: Vec<String>,
    /// Seasons and lines that make variables look slower or faster than what drives them is.
    taken_out: Preparation,
    coarseness: Coarseness,
}

impl Limits {
    /// Looks for everything there is a warning for.
    pub(crate) fn of(data: &SeriesSet, axis: &TimeAxis) -> Self {
        let season = time_patterns::season(data, axis);
        let trending = time_patterns::trending(data);
        let coarseness = Coarseness::of(data);
        let mut warnings = Vec::new();
        warnings.extend(season.as_ref().map(|season| season.warning(data)));
        warnings.extend(time_patterns::trend_warning(data, &trending));
        warnings.extend(dependent_columns::warnings(data));
        warnings.extend(set_by_hand(data));
        warnings.extend(skewed(data));
        warnings.extend(coarseness.warning(data));
        let taken_out = Preparation {
            season: season.map(|season| season.period),
            detrend: !trending.is_empty(),
            ..Preparation::default()
        };
        Self { warnings, taken_out, coarseness }
    }

    /// How fast variables change once seasons and lines are out, and what that allows beside all warnings.
    pub(crate) fn pace(&self, data: &SeriesSet) -> Option<Pace> {
        // Where a season cannot be taken out the pace would be that of the season.
        let left = self.taken_out.fit(data).ok()?.map(|transform| transform.apply(data));
        let left = left.as_ref().unwrap_or(data);
        Pace::of(left).map(|pace| {
            pace.with(&Reservations {
                without_season: self.taken_out.season.is_some(),
                without_lines: self.taken_out.detrend,
                coarseness: Some(&self.coarseness),
                n_variables: data.n_variables(),
                share_of_same_row: same_row::share_of_same_row(left),
                has_warnings: !self.warnings.is_empty(),
            })
        })
    }
}

/// Rows of a variable in one series, holes left out.
fn observed(series: &ObservedSeries, variable: usize) -> impl Iterator<Item = f64> {
    (0..series.n_observations()).filter_map(move |row| series.value(row, variable))
}

/// Names in a sentence, and the same names as an option takes them in a shell.
fn named(data: &SeriesSet, variables: &[usize]) -> (String, String) {
    let names: Vec<&str> = variables.iter().map(|&idx| data.variables()[idx].as_str()).collect();
    (list(&names), option_names(&names))
}

/// Whether gaps are equal, months of 28 to 31 days included.
fn is_regular(series: &ObservedSeries) -> bool {
    const MOST_UNEVEN: f64 = 1.2;
    let gaps = || series.times().windows(2).map(|pair| pair[1] - pair[0]);
    gaps().fold(0.0, f64::max) <= MOST_UNEVEN * gaps().fold(f64::INFINITY, f64::min)
}

/// Variables that stay where they are and then jump, as what an experimenter sets does.
fn set_by_hand(data: &SeriesSet) -> Option<String> {
    /// In shorter ones a slow variable of few digits may stand still.
    const FEWEST_PAIRS: usize = 20;
    const MOST_CHANGES: f64 = 0.08;
    let is_set = |variable: &usize| {
        let (mut n_pairs, mut n_changes) = (0, 0);
        for series in data.series() {
            let values: Vec<f64> = observed(series, *variable).collect();
            n_pairs += values.len().saturating_sub(1);
            n_changes += values.windows(2).filter(|pair| pair[0] != pair[1]).count();
        }
        n_pairs >= FEWEST_PAIRS
            && n_changes > 0
            && n_changes as f64 <= MOST_CHANGES * n_pairs as f64
    };
    let set: Vec<usize> = (0..data.n_variables()).filter(is_set).collect();
    let (names, option) = named(data, &set);
    let (stays, jumps, it_was) = match set.len() {
        1 => ("stays", "jumps", "it was"),
        _ => ("stay", "jump", "they were"),
    };
    (!set.is_empty()).then(|| {
        format!(
            "{names} {stays} the same for long and then {jumps}, as what an experimenter sets does: if {it_was} set, \
             `--inputs {option}` says that nothing in the table drives {}",
            if set.len() == 1 { "it" } else { "them" },
        )
    })
}

/// Variables that are positive and far from symmetric, but nearly symmetric on a logarithmic scale.
fn skewed(data: &SeriesSet) -> Option<String> {
    /// Skewness of a Gaussian sample of 30 is above 1 in 1 of 100.
    const FEWEST: usize = 30;
    const LEAST_SKEWNESS: f64 = 2.0;
    /// How far the largest value is above the middle one; in simulated gene networks it stays below.
    const LEAST_TAIL: f64 = 10.0;
    let is_skewed = |variable: &usize| {
        let mut values: Vec<f64> = data.observed_values(*variable).collect();
        if values.len() < FEWEST || values.iter().any(|value| *value <= 0.0) {
            return false;
        }
        let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let found = skewness(&values);
        values.sort_unstable_by(f64::total_cmp);
        let has_tail = values[values.len() - 1] > LEAST_TAIL * values[values.len() / 2];
        has_tail && found > LEAST_SKEWNESS && skewness(&logarithms).abs() < 0.5 * found
    };
    let skewed: Vec<usize> = (0..data.n_variables())
        .filter(|variable| doubtful_columns::sentinel(data, *variable).is_none())
        .filter(is_skewed)
        .collect();
    let (names, option) = named(data, &skewed);
    let has = if skewed.len() == 1 { "is positive and has" } else { "are positive and have" };
    (!skewed.is_empty()).then(|| {
        format!(
            "{names} {has} a few values far above the others: noise that grows with the level misleads every method \
             here; `--log {option}` learns on a logarithmic scale, on which predictions stay positive"
        )
    })
}

fn skewness(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment =
        |power: i32| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n;
    moment(3) / moment(2).powf(1.5)
}

#[cfg(test)]
pub(crate) mod tests {
    use driftgraph_core::random::{Purpose, RandomStream};

    use super::*;
    use crate::TimeUnit;

    /// One regular series with one variable per column.
    pub(crate) fn table(columns: &[Vec<f64>]) -> SeriesSet {
        let n_rows = columns[0].len();
        let times = (0..n_rows).map(|row| row as f64).collect();
        let values = (0..n_rows).flat_map(|row| columns.iter().map(move |column| column[row]));
        let series = ObservedSeries::new("a", columns.len(), times, values.collect()).unwrap();
        let names = (0..columns.len()).map(|idx| format!("x{idx}")).collect();
        SeriesSet::new(names, vec![series]).unwrap()
    }

    /// Times in a named unit.
    pub(crate) fn axis(unit: &str) -> TimeAxis {
        TimeAxis { unit: TimeUnit::Given, origin: None, named_unit: Some(unit.to_owned()) }
    }

    /// Numbers that look random, the same every time.
    pub(crate) fn scatter(seed: usize, n: usize) -> Vec<f64> {
        (0..n)
            .map(|row| ((row * 7919 + seed * 104_729) as f64 * 0.618_033_988).fract() - 0.5)
            .collect()
    }

    /// Numbers that know nothing of each other.
    pub(crate) fn random(seed: u64, n: usize) -> Vec<f64> {
        let mut numbers = vec![0.0; n];
        RandomStream::new(seed, Purpose::MeasurementNoise, 3).fill_normal(&mut numbers);
        numbers
    }

    #[test]
    fn steps_are_told_from_measurements() {
        let steps: Vec<f64> = (0..60).map(|row| if row < 30 { 80.0 } else { 160.0 }).collect();
        let counts: Vec<f64> = (0..60).map(|row| f64::from(row % 5 == 0)).collect();
        let found = set_by_hand(&table(&[steps.clone(), scatter(1, 60), counts])).unwrap();
        assert!(found.starts_with("`x0` stays the same for long"), "{found}");
        assert!(set_by_hand(&table(&[steps[..15].to_vec()])).is_none());
    }

    #[test]
    fn only_positive_values_with_a_long_tail_are_skewed() {
        let long: Vec<f64> = scatter(1, 100).iter().map(|x| (8.0 * x).exp()).collect();
        let negative: Vec<f64> = long.iter().map(|x| -x).collect();
        let even: Vec<f64> = scatter(2, 100).iter().map(|x| x + 1.0).collect();
        let found = skewed(&table(&[even, negative, long])).unwrap();
        assert!(found.starts_with("`x2` is positive and has"), "{found}");
    }
}
