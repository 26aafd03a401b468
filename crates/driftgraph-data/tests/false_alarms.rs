//! How often sound data are said to carry no graph: at most 1 table in 100 for each kind of data and warning.

use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::{Experiment, ObservedSeries, SeriesSet};
use driftgraph_data::summary::Summary;
use driftgraph_data::{Loaded, TimeAxis, TimeUnit};

const N_TABLES: u64 = 200;

/// Words by which each warning is known.
const WARNINGS: [&str; 10] = [
    "share a season",
    "follow straight lines",
    "nearly one variable",
    "an identity",
    "stays the same for long",
    "far above the others",
    "no row says anything",
    "to and fro",
    "weighted sum",
    "parts of a whole",
];

/// One series of monthly rows, made step by step from the row before and Gaussian noise.
fn table(
    seed: u64,
    n_rows: usize,
    n_variables: usize,
    mut next: impl FnMut(&[f64], &[f64]) -> Vec<f64>,
) -> Loaded {
    /// Rows until the start is forgotten.
    const BURN_IN: usize = 50;
    let mut random = RandomStream::new(seed, Purpose::MeasurementNoise, 7);
    let (mut row, mut noise) = (vec![0.0; n_variables], vec![0.0; n_variables]);
    let mut values = Vec::new();
    for idx in 0..BURN_IN + n_rows {
        random.fill_normal(&mut noise);
        row = next(&row, &noise);
        if idx >= BURN_IN {
            values.extend_from_slice(&row);
        }
    }
    let times = (0..n_rows).map(|row| row as f64).collect();
    let series = ObservedSeries::new("a", n_variables, times, values).unwrap();
    let names = (0..n_variables).map(|idx| format!("x{idx}")).collect();
    Loaded {
        data: SeriesSet::new(names, vec![series]).unwrap(),
        experiment: Experiment::default(),
        time_axis: TimeAxis {
            unit: TimeUnit::Given,
            origin: None,
            named_unit: Some("months".to_owned()),
        },
        truth: None,
        files: Vec::new(),
        time_column: Some("time".to_owned()),
        series_column: None,
        notices: Vec::new(),
    }
}

/// In how many tables each warning was given.
fn counts(make: impl Fn(u64) -> Loaded) -> [usize; WARNINGS.len()] {
    let mut counts = [0; WARNINGS.len()];
    for seed in 0..N_TABLES {
        let warnings = Summary::new(&make(seed)).warnings;
        for (count, words) in counts.iter_mut().zip(WARNINGS) {
            *count += usize::from(warnings.iter().any(|warning| warning.contains(words)));
        }
    }
    counts
}

fn assert_rare(what: &str, counts: [usize; WARNINGS.len()]) {
    for (count, words) in counts.into_iter().zip(WARNINGS) {
        assert!(
            count * 100 <= N_TABLES as usize,
            "{what}: `{words}` in {count} of {N_TABLES} tables"
        );
    }
}

/// The same of what columns are said to be of each other; such data may well be warned of for something else.
fn assert_no_sums(what: &str, counts: [usize; WARNINGS.len()]) {
    for (count, words) in counts.into_iter().zip(WARNINGS) {
        let is_about_sums =
            ["identity", "weighted sum", "parts of"].iter().any(|w| words.contains(w));
        assert!(!is_about_sums || count == 0, "{what}: `{words}` in {count} of {N_TABLES} tables");
    }
}

#[test]
fn autoregressions_and_random_walks_are_seldom_warned_of() {
    for (n_rows, n_variables) in [(80, 2), (80, 10), (200, 10)] {
        for memory in [0.5, 0.9, 1.0] {
            let found = counts(|seed| {
                table(seed, n_rows, n_variables, |row, noise| {
                    row.iter().zip(noise).map(|(x, e)| memory * x + e).collect()
                })
            });
            assert_rare(&format!("memory {memory}, {n_rows} x {n_variables}"), found);
        }
    }
}

#[test]
fn coupled_noisy_oscillators_are_seldom_warned_of() {
    // A period of 12 rows, as the year has, but with a phase that wanders.
    let (sin, cos) = (std::f64::consts::TAU / 12.0).sin_cos();
    let found = counts(|seed| {
        table(seed, 120, 4, |row, noise| {
            let turned = |a: f64, b: f64| [0.93 * (cos * a - sin * b), 0.93 * (sin * a + cos * b)];
            let ([a, b], [c, d]) = (turned(row[0], row[1]), turned(row[2] + 0.2 * row[0], row[3]));
            [a, b, c, d].iter().zip(noise).map(|(x, e)| x + 0.5 * e).collect()
        })
    });
    assert_rare("oscillators", found);
}

#[test]
fn strongly_correlated_data_are_no_sums() {
    // Twelve variables that follow one hidden one, and twelve slow ones whose slopes are random walks.
    let followers = counts(|seed| {
        table(seed, 120, 13, |row, noise| {
            let hidden = 0.9 * row[12] + noise[12];
            let next =
                |idx: usize| 0.3 * row[idx] + (0.5 + idx as f64 / 12.0) * hidden + noise[idx];
            (0..12).map(next).chain([hidden]).collect()
        })
    });
    assert_no_sums("followers", followers);
    let smooth = counts(|seed| {
        table(seed, 120, 24, |row, noise| {
            let slope = |idx: usize| 0.97 * row[12 + idx] + noise[idx];
            let level = |idx: usize| 0.98 * row[idx] + row[12 + idx] + 0.3 * noise[12 + idx];
            (0..12).map(level).chain((0..12).map(slope)).collect()
        })
    });
    assert_no_sums("smooth", smooth);
}

#[test]
fn counts_of_rare_events_are_no_sums() {
    let found = counts(|seed| {
        table(seed, 300, 8, |_, noise| {
            noise.iter().map(|x| f64::from(*x > 1.9) + f64::from(*x > 2.5)).collect()
        })
    });
    assert_no_sums("rare events", found);
}

#[test]
fn white_noise_is_said_to_carry_nothing() {
    let found = counts(|seed| table(seed, 200, 4, |_, noise| noise.to_vec()));
    // The bound is one that noise exceeds in 1 of 20 tables.
    assert!(found[6] * 100 >= 90 * N_TABLES as usize, "{found:?}");
}
