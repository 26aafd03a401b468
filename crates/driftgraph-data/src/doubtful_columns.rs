//! Columns of numbers that are probably no measurements, which only a warning can tell: the user knows better.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use driftgraph_core::{ObservedSeries, SeriesSet};

use crate::Loaded;
use crate::message_text::{in_shell, list, option_names};

/// Variables that never change within a series but differ between series.
pub(crate) fn labels(loaded: &Loaded) -> Option<String> {
    let data = &loaded.data;
    let is_label = |variable: usize| {
        let first = data.observed_values(variable).next();
        data.observed_values(variable).any(|value| Some(value) != first)
            && data.series().iter().all(|series| !changes(series, variable))
            // Where series have one value each, none of them could have changed.
            && data.series().iter().any(|series| values(series, variable).nth(1).is_some())
    };
    let labels = named(data, is_label);
    let first = labels.first()?;
    let change = if labels.len() == 1 { "never changes" } else { "never change" };
    let series = match loaded.series_column {
        None => format!("name the series with `--series {}`, or ", in_shell(first)),
        Some(_) => String::new(),
    };
    Some(format!(
        "{} {change} within a series, as a label would: {series}leave it out with `--ignore {}`",
        list(&labels),
        option_names(&labels),
    ))
}

/// Variables that rise by one from row to row, over all series.
pub(crate) fn row_numbers(data: &SeriesSet) -> Option<String> {
    /// A measurement may rise by one a few times.
    const FEWEST: usize = 10;
    let counts = |variable: usize| {
        let mut all = data.series().iter().flat_map(|series| {
            (0..series.n_observations()).map(move |row| series.value(row, variable))
        });
        let Some(Some(first)) = all.next() else { return false };
        let mut expected = first;
        all.all(|value| {
            expected += 1.0;
            value == Some(expected)
        })
    };
    if data.n_rows() < FEWEST {
        return None;
    }
    let counting = named(data, counts);
    (!counting.is_empty()).then(|| {
        format!(
            "{} counts the rows: leave it out with `--ignore {}` if it is a row number",
            list(&counting),
            option_names(&counting),
        )
    })
}

/// Values that say "not measured" in numbers, such as -999: nines alone, far outside of everything else.
pub(crate) fn sentinels(data: &SeriesSet) -> Vec<String> {
    let told = |variable: usize| {
        let (value, n) = sentinel(data, variable)?;
        Some(format!(
            "`{}` is {value} in {n} cells, far outside of its other values: if that says that nothing was measured, pass `--missing {value}`",
            data.variables()[variable],
        ))
    };
    (0..data.n_variables()).filter_map(told).collect()
}

/// The suspicious value of a variable, and in how many cells it is.
pub(crate) fn sentinel(data: &SeriesSet, variable: usize) -> Option<(f64, usize)> {
    /// Fewer cells may be mistakes of another kind.
    const FEWEST: usize = 3;
    const LEAST_SHARE: f64 = 0.01;
    /// How far outside it lies, in ranges of all other values.
    const FAR: f64 = 5.0;
    let all = || data.observed_values(variable);
    let (least, most) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    [least, most].into_iter().filter(|&value| is_all_nines(value)).find_map(|value| {
        let others = || all().filter(|&other| other != value);
        let (low, high) = (others().reduce(f64::min)?, others().reduce(f64::max)?);
        let n = all().filter(|&other| other == value).count();
        let often = n >= FEWEST && n as f64 >= LEAST_SHARE * all().count() as f64;
        let distance = (low - value).max(value - high);
        (often && distance > FAR * (high - low)).then_some((value, n))
    })
}

/// -99, 999, 9999 and so on.
fn is_all_nines(value: f64) -> bool {
    let digits = value.abs().to_string();
    digits.len() > 1 && digits.bytes().all(|digit| digit == b'9')
}

/// Variables that are equal in every cell, constant ones aside, which are told elsewhere.
pub(crate) fn twins(data: &SeriesSet) -> Vec<String> {
    let column = |variable: usize| -> Vec<u64> {
        let rows = data.series().iter().flat_map(|series| {
            (0..series.n_observations()).map(move |row| series.value(row, variable))
        });
        // Adding zero takes the sign off it.
        rows.map(|value| value.map_or(f64::NAN, |value| value + 0.0).to_bits()).collect()
    };
    let mut by_hash: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut told = Vec::new();
    for variable in 0..data.n_variables() {
        let mut values = data.observed_values(variable);
        let first = values.next();
        if values.all(|value| Some(value) == first) {
            continue;
        }
        let cells = column(variable);
        let mut hasher = DefaultHasher::new();
        cells.hash(&mut hasher);
        let alike = by_hash.entry(hasher.finish()).or_default();
        // Only a hash is kept of each column, so that a wide table is not held twice.
        if let Some(&twin) = alike.iter().find(|&&other| column(other) == cells) {
            let (name, twin) = (&data.variables()[variable], &data.variables()[twin]);
            told.push(format!(
                "`{name}` is equal to `{twin}` in every cell, so that their effects cannot be told apart: \
                 leave one out with `--ignore {}`",
                in_shell(name)
            ));
        }
        alike.push(variable);
    }
    told
}

fn named(data: &SeriesSet, chosen: impl Fn(usize) -> bool) -> Vec<&str> {
    let chosen = (0..data.n_variables()).filter(|&variable| chosen(variable));
    chosen.map(|variable| data.variables()[variable].as_str()).collect()
}

fn values(series: &ObservedSeries, variable: usize) -> impl Iterator<Item = f64> {
    (0..series.n_observations()).filter_map(move |row| series.value(row, variable))
}

/// Whether a variable has two different values along the series.
pub(crate) fn changes(series: &ObservedSeries, variable: usize) -> bool {
    let mut values = values(series, variable);
    let first = values.next();
    values.any(|value| Some(value) != first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One series with one variable per column.
    fn table(columns: &[&[f64]]) -> SeriesSet {
        let n_rows = columns[0].len();
        let times = (0..n_rows).map(|row| row as f64).collect();
        let values = (0..n_rows).flat_map(|row| columns.iter().map(move |column| column[row]));
        let series = ObservedSeries::new("a", columns.len(), times, values.collect()).unwrap();
        let names = (0..columns.len()).map(|idx| format!("x{idx}")).collect();
        SeriesSet::new(names, vec![series]).unwrap()
    }

    #[test]
    fn a_sentinel_is_made_of_nines_comes_often_and_lies_far_outside() {
        let found = |values: &[f64]| sentinel(&table(&[values]), 0);
        assert_eq!(found(&[1.0, -999.0, 2.5, -999.0, -999.0]), Some((-999.0, 3)));
        assert_eq!(found(&[1.0, 9999.0, 2.5, 9999.0, 9999.0]), Some((9999.0, 3)));
        assert_eq!(found(&[1.0, -999.0, 2.5, -999.0, 3.0]), None);
        assert_eq!(found(&[1.0, -999.0, 800.0, -999.0, -999.0]), None);
        // Rare pulses are no sentinels.
        assert_eq!(found(&[0.0, 1.0, 0.0, 1.0, 1.0, 0.0]), None);
        let rare: Vec<f64> = (0..400).map(|row| if row < 3 { 99.0 } else { 0.5 }).collect();
        assert_eq!(found(&rare), None);
    }

    #[test]
    fn twins_are_told_once_and_constants_never() {
        let (a, b, flat) = ([1.0, f64::NAN, 0.0], [1.0, 2.0, 0.0], [5.0, 5.0, 5.0]);
        let found = twins(&table(&[&a, &b, &flat, &a, &flat, &[1.0, f64::NAN, -0.0]]));
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("`x3` is equal to `x0` in every cell"), "{found:?}");
        assert!(found[1].starts_with("`x5` is equal to `x0` in every cell"), "{found:?}");
    }
}
