//! How many rows the variables take to change, and what can be seen at that pace: arrows, or links alone.

use driftgraph_core::{ObservedSeries, SeriesSet};

/// With fewer pairs of neighbouring rows the pace is not known well enough to advise.
const FEWEST_ROWS: usize = 50;
/// Most rows between which changes are looked at.
const MOST_ROWS: usize = 100;
/// Rows per deviation from which on direction is left in how one row follows from another: an oscillation has more than
/// one row in each of its turns then.
const ARROWS: f64 = 1.5;
/// Rows per deviation below which next to nothing is left of the row before.
const LINKS: f64 = 0.6;

/// How fast the variables change, counted in rows.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Pace {
    /// Rows in which the variable in the middle changes by one deviation.
    pub rows: f64,
    /// Whether it is more than that: no series is long enough to see more.
    pub is_more: bool,
    /// What that means for a graph, in one sentence.
    pub advice: String,
}

impl Pace {
    /// The pace of series of at least fifty pairs of neighbouring rows; `None` where they are fewer, or nothing moves.
    ///
    /// For every variable the mean squared difference of rows so far apart, in units of its variance within series,
    /// which grows from 0 to 2. A variable changes by a deviation where it is 1; between rows it grows evenly.
    pub fn of(data: &SeriesSet) -> Option<Self> {
        let n_pairs: usize =
            data.series().iter().map(|series| series.n_observations().saturating_sub(1)).sum();
        if n_pairs < FEWEST_ROWS {
            return None;
        }
        let longest = data.series().iter().map(ObservedSeries::n_observations).max()?;
        let most = (longest / 2).clamp(1, MOST_ROWS);
        let mut all: Vec<f64> =
            (0..data.n_variables()).filter_map(|idx| rows_of(data, idx, most)).collect();
        all.sort_unstable_by(f64::total_cmp);
        let rows = *all.get(all.len() / 2)?;
        let is_more = rows.is_infinite();
        let rows = if is_more { most as f64 } else { rows };
        Some(Self { rows, is_more, advice: advice(rows, is_more) })
    }
}

fn advice(rows: f64, is_more: bool) -> String {
    let time = if is_more {
        format!("more than {rows:.0} rows")
    } else if rows < LINKS {
        "half a row".to_owned()
    } else if rows < 1.5 {
        if rows < 1.0 { "less than a row".to_owned() } else { "about a row".to_owned() }
    } else {
        format!("about {rows:.0} rows")
    };
    let meaning = if rows >= ARROWS {
        "directions can be seen"
    } else if rows >= LINKS {
        "directions are hard to see and links surer, unless products of variables explain the data (a fit looks for them)"
    } else {
        "only links, unless products of variables explain the data (a fit looks for them); sample faster, or at irregular times"
    };
    format!("your variables change by one deviation in {time}: {meaning}")
}

/// Rows in which one variable changes by a deviation; infinite where it does not within `most`.
fn rows_of(data: &SeriesSet, variable: usize, most: usize) -> Option<f64> {
    let (mut square, mut n) = (0.0, 0.0);
    for series in data.series() {
        let values = || (0..series.n_observations()).filter_map(|row| series.value(row, variable));
        let count = values().count() as f64;
        if count > 1.0 {
            let mean = values().sum::<f64>() / count;
            square += values().map(|value| (value - mean).powi(2)).sum::<f64>();
            n += count - 1.0;
        }
    }
    let variance = square / n;
    if !(variance > 0.0 && variance.is_finite()) {
        return None;
    }
    let mut before = 0.0;
    for apart in 1..=most {
        let Some(change) = mean_square_change(data, variable, apart) else { continue };
        let change = change / variance;
        if change >= 1.0 {
            let missing = (1.0 - before) / (change - before);
            return Some((apart - 1) as f64 + missing);
        }
        before = change;
    }
    Some(f64::INFINITY)
}

/// Mean squared difference of rows so many rows apart.
fn mean_square_change(data: &SeriesSet, variable: usize, apart: usize) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0.0);
    for series in data.series() {
        for row in apart..series.n_observations() {
            let pair = (series.value(row - apart, variable), series.value(row, variable));
            if let (Some(earlier), Some(later)) = pair {
                sum += (later - earlier).powi(2);
                n += 1.0;
            }
        }
    }
    (n > 0.0).then(|| sum / n)
}

#[cfg(test)]
mod tests {
    use driftgraph_core::random::{Purpose, RandomStream};

    use super::super::tests::table;
    use super::*;

    /// Noise that remembers a share of the row before.
    fn memory(share: f64, n: usize) -> Vec<f64> {
        let mut random = RandomStream::new(1000, Purpose::MeasurementNoise, 1);
        let mut last = 0.0;
        let next = |_| {
            last = share * last + random.normal();
            last
        };
        (0..n).map(next).collect()
    }

    #[test]
    fn the_pace_of_memory_is_its_closed_form() {
        // 2 (1 - 0.8^k) = 1 at k = ln 2 / -ln 0.8 = 3.1.
        let slow = Pace::of(&table(&[memory(0.8, 4000)])).unwrap();
        assert!((slow.rows - 3.1).abs() < 0.3, "{slow:?}");
        assert_eq!(
            slow.advice,
            "your variables change by one deviation in about 3 rows: directions can be seen"
        );
        // Without memory the first difference has twice the variance.
        let noise = Pace::of(&table(&[memory(0.0, 4000)])).unwrap();
        assert!((noise.rows - 0.5).abs() < 0.03, "{noise:?}");
        assert!(noise.advice.contains("in half a row: only links"), "{noise:?}");
        // 2 (1 - 0.3) = 1.4.
        let between = Pace::of(&table(&[memory(0.3, 4000)])).unwrap();
        assert!((between.rows - 1.0 / 1.4).abs() < 0.05, "{between:?}");
        assert!(between.advice.contains("less than a row: directions are hard to see"));
    }

    #[test]
    fn few_rows_and_what_never_moves_get_no_advice() {
        assert_eq!(Pace::of(&table(&[memory(0.8, 30)])), None);
        assert_eq!(Pace::of(&table(&[vec![1.0; 80]])), None);
        let line = (0..80).map(f64::from).collect();
        let pace = Pace::of(&table(&[line])).unwrap();
        // A deviation of 80 even steps is 23 of them.
        assert!((pace.rows - 23.0).abs() < 1.0 && !pace.is_more, "{pace:?}");
    }
}
