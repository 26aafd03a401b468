//! Where each series has settled: methods that compare levels leave out the rows before.
//!
//! The first rows of an experiment often still tell how it was started. One row that lies far from all others bends
//! covariances more than a hundred that do not.

use crate::SeriesSet;
use crate::data::scaling::Standardizer;
use crate::numeric::linalg::{cholesky, solve_lower};
use crate::numeric::real::{exp, ln};

/// Rows that a series must have to be asked.
const MIN_ROWS: usize = 20;
/// One in so many leading rows of a series may be left out; a longer way is the series itself.
const LARGEST_PART: usize = 10;
/// A row is far out where it lies beyond this share of the rows of the second quarters.
const FAR: f64 = 0.95;
/// Chance with which so many first rows would be far out in settled series.
const SURPRISE: f64 = 1e-3;
/// A single row is plainly not settled where its squared distance is so many times the largest of the second quarters.
const PLAINLY: f64 = 4.0;

/// The first row of each series that is used; `leading_rows(data)[series]` rows stand before it.
///
/// Distances (Mahalanobis) are those from the rows in the second half of all series; the second quarters say which
/// distances are usual. Row by row from the start, at most a tenth of a series: the rows of this number are left out in
/// every series if more of them are far out (beyond 95 % of the usual distances) than chance would put there once in a
/// thousand times; and in one series, if its distance is more than four times the largest usual one (squared). Where the
/// row after the tenth would go too, nothing is left out: the whole series is on its way then, and that is what there
/// is to see. Series of fewer than 20 rows stay whole.
pub fn leading_rows(data: &SeriesSet) -> Vec<usize> {
    let Some(distances) = Distances::new(data) else { return vec![0; data.n_series()] };
    let mut kept_from = vec![0; data.n_series()];
    let longest = distances.rows.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..=longest / LARGEST_PART {
        // Only series that went on until here: what is left out is the beginning, without holes.
        let open: Vec<usize> = (0..data.n_series())
            .filter(|&idx| kept_from[idx] == row && distances.reaches(idx, row))
            .collect();
        let far = open.iter().filter(|&&idx| distances.rows[idx][row] > distances.usual).count();
        let all_go = chance_of_at_least(far, open.len()) < SURPRISE;
        for &idx in &open {
            let goes = all_go || distances.rows[idx][row] > PLAINLY * distances.largest;
            kept_from[idx] += usize::from(goes);
        }
    }
    for (from, rows) in kept_from.iter_mut().zip(&distances.rows) {
        if *from > rows.len() / LARGEST_PART {
            *from = 0;
        }
    }
    kept_from
}

/// Squared distances of all rows from where the series end up.
struct Distances {
    /// `[series][row]`; empty for series that are too short.
    rows: Vec<Vec<f64>>,
    /// Beyond it lies one in twenty rows of the second quarters.
    usual: f64,
    /// The largest of the second quarters.
    largest: f64,
}

impl Distances {
    fn new(data: &SeriesSet) -> Option<Self> {
        let varies = |idx: &usize| {
            let mut values = data.observed_values(*idx);
            values.next().is_some_and(|first| values.any(|value| value != first))
        };
        let varying: Vec<usize> = (0..data.n_variables()).filter(varies).collect();
        if varying.is_empty() {
            return None;
        }
        let data = &data.with_variables(&varying).ok()?;
        let standard = Standardizer::fit(data).apply(data);
        let long: Vec<usize> = (0..data.n_series())
            .filter(|&idx| data.series()[idx].n_observations() >= MIN_ROWS)
            .collect();
        let d = data.n_variables();
        let row = |series: usize, row: usize| standard.series()[series].row(row);
        let late = || {
            let rows = |&idx: &usize| {
                let n = standard.series()[idx].n_observations();
                (n / 2..n).map(move |row| (idx, row))
            };
            long.iter().flat_map(rows)
        };
        let n_late = late().count();
        if n_late == 0 {
            return None;
        }
        let (mut sums, mut counts) = (vec![0.0; d], vec![0.0; d]);
        for (series, at) in late() {
            for (idx, value) in row(series, at).iter().enumerate().filter(|(_, v)| !v.is_nan()) {
                sums[idx] += value;
                counts[idx] += 1.0;
            }
        }
        let means: Vec<f64> =
            sums.iter().zip(&counts).map(|(sum, n): (&f64, &f64)| sum / n.max(1.0)).collect();
        // A missing cell counts as being at its mean, which moves no row farther out.
        let centred = |series: usize, at: usize| -> Vec<f64> {
            let cells = row(series, at).iter().zip(&means);
            cells.map(|(value, mean)| if value.is_nan() { 0.0 } else { value - mean }).collect()
        };
        let mut covariance = vec![0.0; d * d];
        for (series, at) in late() {
            let values = centred(series, at);
            for (i, a) in values.iter().enumerate() {
                for (j, b) in values.iter().enumerate() {
                    covariance[i * d + j] += a * b / n_late as f64;
                }
            }
        }
        // As many rows as variables would leave directions without any variance: some of that of each variable is its own.
        let share = d as f64 / (d + n_late) as f64;
        for (at, value) in covariance.iter_mut().enumerate() {
            *value = if at / d == at % d { value.max(1e-18) } else { (1.0 - share) * *value };
        }
        let factor = cholesky(&covariance, d)?;
        let distance = |series: usize, at: usize| {
            let mut values = centred(series, at);
            solve_lower(&factor, d, &mut values, 1);
            values.iter().map(|value| value * value).sum::<f64>()
        };
        let mut rows = vec![Vec::new(); data.n_series()];
        for &idx in &long {
            let n = standard.series()[idx].n_observations();
            rows[idx] = (0..n).map(|at| distance(idx, at)).collect();
        }
        let mut usual: Vec<f64> = long
            .iter()
            .flat_map(|&idx| &rows[idx][rows[idx].len() / 4..rows[idx].len() / 2])
            .copied()
            .collect();
        usual.sort_by(f64::total_cmp);
        let largest = *usual.last()?;
        let beyond = ((usual.len() as f64 * FAR) as usize).min(usual.len() - 1);
        Some(Self { rows, usual: usual[beyond], largest })
    }

    /// Whether the series is long enough for this row to be asked about.
    fn reaches(&self, series: usize, row: usize) -> bool {
        row <= self.rows[series].len() / LARGEST_PART && !self.rows[series].is_empty()
    }
}

/// The chance that so many of `n` settled rows or more are far out.
fn chance_of_at_least(far: usize, n: usize) -> f64 {
    let p = 1.0 - FAR;
    let log_choose = |k: usize| (0..k).map(|i| ln((n - i) as f64 / (i + 1) as f64)).sum::<f64>();
    (far..=n).map(|k| exp(log_choose(k) + k as f64 * ln(p) + (n - k) as f64 * ln(1.0 - p))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObservedSeries;
    use crate::random::{Purpose, RandomStream};

    /// Stationary series of two variables that remember half of the row before; `start` is added to the first rows, and
    /// half of it is left in each that follows.
    fn series(n_series: u64, n_rows: usize, start: impl Fn(u64) -> f64) -> SeriesSet {
        let series = (0..n_series).map(|number| {
            let mut random = RandomStream::new(1000, Purpose::System, number);
            let mut state = [random.normal() / 0.75_f64.sqrt(), random.normal() / 0.75_f64.sqrt()];
            state[0] += start(number);
            let mut values = Vec::new();
            for _ in 0..n_rows {
                values.extend(state);
                state = state.map(|value| 0.5 * value + random.normal());
            }
            let times = (0..n_rows).map(|row| row as f64).collect();
            ObservedSeries::new(format!("s{number}"), 2, times, values).unwrap()
        });
        SeriesSet::new(vec!["a".into(), "b".into()], series.collect()).unwrap()
    }

    #[test]
    fn stationary_series_stay_whole() {
        assert_eq!(leading_rows(&series(12, 80, |_| 0.0)), [0; 12]);
        assert_eq!(leading_rows(&series(1, 200, |_| 0.0)), [0]);
    }

    #[test]
    fn rows_that_tell_how_all_series_were_started_go() {
        let found =
            leading_rows(&series(12, 80, |number| if number % 2 == 0 { 8.0 } else { -8.0 }));
        // 8, 4 and 2 deviations out, or nearly, in every series; a deviation is not far.
        assert!(found.iter().all(|rows| (2..=4).contains(rows)), "{found:?}");
    }

    #[test]
    fn one_series_alone_goes_only_where_it_is_plain() {
        let found = leading_rows(&series(12, 80, |number| if number == 3 { 40.0 } else { 0.0 }));
        assert!(found[3] >= 2, "{found:?}");
        assert!(found.iter().enumerate().all(|(idx, rows)| idx == 3 || *rows == 0), "{found:?}");
        assert!(leading_rows(&series(1, 80, |_| 40.0))[0] >= 2);
    }

    #[test]
    fn a_way_that_takes_a_whole_series_is_no_beginning() {
        // Half of the start is left after each row: 1e9 takes 30 of 80 rows to fade.
        assert_eq!(leading_rows(&series(12, 80, |_| 1e9)), [0; 12]);
        // Too short to tell.
        assert_eq!(leading_rows(&series(12, 19, |_| 8.0)), [0; 12]);
    }

    #[test]
    fn the_chance_of_far_rows_is_that_of_the_binomial_law() {
        // 1 - .95^2, and .05^3.
        assert!((chance_of_at_least(1, 2) - 0.0975).abs() < 1e-12);
        assert!((chance_of_at_least(3, 3) - 1.25e-4).abs() < 1e-12);
        assert!((chance_of_at_least(0, 5) - 1.0).abs() < 1e-12);
    }
}
