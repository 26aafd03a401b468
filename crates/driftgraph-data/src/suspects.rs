//! Columns of numbers that are probably no measurements, which only a warning can tell: the user knows better.

use driftgraph_core::{ObservedSeries, SeriesSet};

use crate::Loaded;
use crate::words::list;

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
        None => format!("name the series with `--series {first}`, or "),
        Some(_) => String::new(),
    };
    Some(format!(
        "{} {change} within a series, as a label would: {series}leave it out with `--ignore {}`",
        list(&labels),
        labels.join(","),
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
            counting.join(","),
        )
    })
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
