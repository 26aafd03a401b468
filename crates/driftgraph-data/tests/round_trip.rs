//! What is written is read back bit by bit.

mod support;

use driftgraph_core::{ObservedSeries, SeriesSet};
use driftgraph_data::write::write_series;
use proptest::prelude::*;
use support::load_text;

/// Any finite number, zeros of both signs and the smallest ones included.
fn number() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("finite", |value| value.is_finite())
}

/// One series: increasing times, and rows with at least one value.
fn rows(n_variables: usize) -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let cell = prop_oneof![4 => number(), 1 => Just(f64::NAN)];
    let row = (number(), number(), prop::collection::vec(cell, n_variables - 1));
    prop::collection::vec(row, 1..6).prop_map(|mut rows| {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        rows.dedup_by(|a, b| a.0 == b.0);
        let times = rows.iter().map(|row| row.0).collect();
        let values = rows.into_iter().flat_map(|row| [vec![row.1], row.2].concat()).collect();
        (times, values)
    })
}

/// A name without blanks around it, which reading would take off.
fn name() -> impl Strategy<Value = String> {
    "v[a-zA-Z0-9_ ,;\"\\n'äµ-]{0,6}z"
}

fn series_set() -> impl Strategy<Value = SeriesSet> {
    (1_usize..4, 1_usize..4).prop_flat_map(|(n_variables, n_series)| {
        let names = |n| prop::collection::hash_set(name(), n).prop_map(Vec::from_iter);
        let all_rows = prop::collection::vec(rows(n_variables), n_series);
        (names(n_variables), names(n_series), all_rows).prop_map(
            move |(variables, names, all_rows)| {
                let series = names.iter().zip(all_rows).map(|(name, (times, values))| {
                    ObservedSeries::new(name, n_variables, times, values).unwrap()
                });
                SeriesSet::new(variables, series.collect()).unwrap()
            },
        )
    })
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    let bits = |number: &f64| if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() };
    numbers.iter().map(bits).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_written_table_gives_the_same_bits(data in series_set()) {
        let mut text = Vec::new();
        write_series(&mut text, &data).unwrap();
        let loaded = load_text("data.csv", &text).unwrap().data;
        prop_assert_eq!(loaded.variables(), data.variables());
        prop_assert_eq!(loaded.n_series(), data.n_series());
        for (read, written) in loaded.series().iter().zip(data.series()) {
            prop_assert_eq!(read.name(), written.name());
            prop_assert_eq!(bits(read.times()), bits(written.times()));
            prop_assert_eq!(bits(read.values()), bits(written.values()));
        }
    }
}

#[test]
fn times_that_look_like_dates_are_read_back_as_the_numbers_they_were() {
    let times = vec![20_260_101.0, 20_260_131.0];
    let series = ObservedSeries::new("a", 1, times.clone(), vec![1.0, 2.0]).unwrap();
    let mut text = Vec::new();
    write_series(&mut text, &SeriesSet::new(vec!["x".into()], vec![series]).unwrap()).unwrap();
    assert_eq!(load_text("data.csv", &text).unwrap().data.series()[0].times(), times);
}
