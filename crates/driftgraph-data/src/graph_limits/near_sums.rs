//! Variables that others of the same row explain nearly whole, though no identity does.

use driftgraph_core::{ObservedSeries, SeriesSet};

use super::dependent_columns::FEWEST_ROWS;
use super::named;
use super::regression::{Swept, beyond_chance};

/// Variables that others explain nearly whole, in what they are, in how they move and in how that changes: chance and slow
/// courses do not manage all three.
pub(super) fn nearly_sums(data: &SeriesSet, among: &[usize]) -> Option<String> {
    /// Less is common among what fast reactions tie together.
    const LEAST: f64 = 0.99;
    /// More changes say no more.
    const MOST_ROWS: usize = 2000;
    if among.len() < 3 {
        return None;
    }
    let mut least = vec![1.0_f64; among.len()];
    for order in 0..3 {
        let columns = changes(data, among, order, MOST_ROWS);
        let n_rows = columns[0].len();
        if n_rows < FEWEST_ROWS.max(3 * among.len()) {
            return None;
        }
        let all: Vec<usize> = (0..among.len()).collect();
        let shares = Swept::of_columns(&columns).shares_of_each_other(&all);
        for (least, share) in least.iter_mut().zip(shares) {
            *least = least.min(beyond_chance(share, among.len() - 1, n_rows));
        }
    }
    let found: Vec<usize> = (0..among.len()).filter(|&place| least[place] >= LEAST).collect();
    // Two alone are copies, which are told elsewhere.
    if found.len() < 3 {
        return None;
    }
    let share = found.iter().map(|&place| least[place]).fold(1.0, f64::min);
    let variables: Vec<usize> = found.into_iter().map(|place| among[place]).collect();
    let (names, _) = named(data, &variables);
    Some(format!(
        "each of {names} is nearly a weighted sum of others in the same row, which explain {:.0} % of it or more, so that \
         their effects cannot be told apart: leave one out with `--ignore`",
        (100.0 * share).floor()
    ))
}

/// Changes of variables from row to row, of so many orders, over the rows in which all are known.
fn changes(data: &SeriesSet, among: &[usize], order: usize, most: usize) -> Vec<Vec<f64>> {
    let stride = data.n_rows().div_ceil(most).max(1);
    let change = |series: &ObservedSeries, row: usize, variable: usize| -> Option<f64> {
        let value = |back: usize| series.value(row - back, variable);
        Some(match order {
            0 => value(0)?,
            1 => value(0)? - value(1)?,
            _ => value(0)? - 2.0 * value(1)? + value(2)?,
        })
    };
    let rows = data
        .series()
        .iter()
        .flat_map(|series| (order..series.n_observations()).map(move |row| (series, row)));
    let rows = rows.step_by(stride).filter_map(|(series, row)| {
        among.iter().map(|&variable| change(series, row, variable)).collect::<Option<Vec<f64>>>()
    });
    let rows: Vec<Vec<f64>> = rows.collect();
    (0..among.len()).map(|place| rows.iter().map(|row| row[place]).collect()).collect()
}
