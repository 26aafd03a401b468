//! Columns that are nearly functions of others: copies, sums, differences, products and ratios.

use driftgraph_core::SeriesSet;

use super::{named, observed};

/// Rows looked at; more say no more.
const MOST_ROWS: usize = 1000;
/// With fewer, smooth series resemble each other.
const FEWEST_ROWS: usize = 20;

/// The columns of all series, each minus its own straight line in each series; rows thinned out where there are many.
fn columns(data: &SeriesSet, is_detrended: bool) -> Vec<Vec<f64>> {
    let stride = data.n_rows().div_ceil(MOST_ROWS).max(1);
    let column = |variable: usize| -> Vec<f64> {
        let all = data.series().iter().flat_map(|series| {
            let line = if is_detrended { line(series, variable) } else { (0.0, 0.0) };
            (0..series.n_observations()).map(move |row| {
                let expected = line.0 + line.1 * series.times()[row];
                series.value(row, variable).map_or(f64::NAN, |value| value - expected)
            })
        });
        all.step_by(stride).collect()
    };
    (0..data.n_variables()).map(column).collect()
}

/// Start and slope of the straight line through a variable of a series; its mean where the series is short.
fn line(series: &driftgraph_core::ObservedSeries, variable: usize) -> (f64, f64) {
    let n = observed(series, variable).count() as f64;
    let mean = observed(series, variable).sum::<f64>() / n.max(1.0);
    if n < FEWEST_ROWS as f64 {
        return (mean, 0.0);
    }
    let points = || {
        (0..series.n_observations())
            .filter_map(|row| Some((series.times()[row], series.value(row, variable)?)))
    };
    let mean_time = points().map(|(time, _)| time).sum::<f64>() / n;
    let slope = points().map(|(t, x)| (t - mean_time) * (x - mean)).sum::<f64>()
        / points().map(|(t, _)| (t - mean_time).powi(2)).sum::<f64>();
    (mean - slope * mean_time, slope)
}

/// Pairs with a correlation above 0.98 that no shared trend explains.
///
/// Of random walks of 40 rows no pair of thirty passes this in any of 300 tables.
pub(super) fn near_copies(data: &SeriesSet) -> Vec<String> {
    const LEAST: f64 = 0.98;
    const MOST_VARIABLES: usize = 300;
    if data.n_variables() > MOST_VARIABLES {
        return Vec::new();
    }
    let columns = columns(data, true);
    let mut told = Vec::new();
    for first in 0..columns.len() {
        for second in first + 1..columns.len() {
            let (n, r) = correlation(&columns[first], &columns[second]);
            // Columns that are equal are told elsewhere.
            if n >= FEWEST_ROWS && r.abs() > LEAST && !is_equal(data, first, second) {
                let (names, _) = named(data, &[first, second]);
                let (_, name) = named(data, &[second]);
                told.push(format!(
                    "{names} are nearly one variable (correlation {r:.3}), so that their effects cannot be told apart: \
                     leave one out with `--ignore {name}`"
                ));
            }
        }
    }
    told.truncate(MOST_TOLD);
    told
}

/// Warnings of one kind.
const MOST_TOLD: usize = 5;

fn is_equal(data: &SeriesSet, first: usize, second: usize) -> bool {
    data.series().iter().all(|series| {
        (0..series.n_observations())
            .all(|row| series.value(row, first) == series.value(row, second))
    })
}

/// Number of common rows, and the correlation over them.
fn correlation(a: &[f64], b: &[f64]) -> (usize, f64) {
    let pairs = || a.iter().zip(b).filter(|(a, b)| !a.is_nan() && !b.is_nan());
    let n = pairs().count();
    let mean = |sum: f64| sum / (n as f64).max(1.0);
    let (mean_a, mean_b) = (mean(pairs().map(|p| p.0).sum()), mean(pairs().map(|p| p.1).sum()));
    let sums = pairs().fold([0.0; 3], |[aa, ab, bb], (a, b)| {
        let (a, b) = (a - mean_a, b - mean_b);
        [aa + a * a, ab + a * b, bb + b * b]
    });
    let scale = (sums[0] * sums[2]).sqrt();
    (n, if scale > 0.0 { sums[1] / scale } else { 0.0 })
}

/// Triples of which one is the sum or the product of the others, up to rounding.
pub(super) fn identities(data: &SeriesSet) -> Vec<String> {
    const MOST_VARIABLES: usize = 40;
    let n = data.n_variables();
    if !(3..=MOST_VARIABLES).contains(&n) {
        return Vec::new();
    }
    let columns: Vec<Column> = columns(data, false).into_iter().map(Column::new).collect();
    let mut told = Vec::new();
    for whole in 0..n {
        for first in (0..n).filter(|&first| first != whole) {
            for second in (first + 1..n).filter(|&second| second != whole) {
                let columns = [&columns[whole], &columns[first], &columns[second]];
                let sign = match (is_sum(columns), is_product(columns)) {
                    (true, _) => "+",
                    (false, true) => "x",
                    (false, false) => continue,
                };
                let [whole, first, second] =
                    [whole, first, second].map(|idx| &data.variables()[idx]);
                told.push(format!(
                    "`{first}` {sign} `{second}` is `{whole}` in nearly every row: an identity, which no method can tell \
                     from causes; leave one of the three out with `--ignore`"
                ));
            }
        }
    }
    told.truncate(MOST_TOLD);
    told
}

/// What an identity leaves of a row.
#[derive(Clone, Copy)]
struct Left {
    rest: f64,
    /// How much of it the digits of the table can make.
    rounding: f64,
}

/// Whether nearly all rests are as good as equal, measured by the deviation of a column that they should explain.
fn are_equal(mut left: Vec<Left>, deviation: f64) -> bool {
    const LEAST_SHARE: f64 = 0.95;
    /// What rounding may leave whatever the digits, and what it may leave at most.
    const ROUNDING: [f64; 2] = [0.02, 0.1];
    if left.len() < FEWEST_ROWS || deviation <= 0.0 {
        return false;
    }
    let half = left.len() / 2;
    let middle = left.select_nth_unstable_by(half, |a, b| a.rest.total_cmp(&b.rest)).1.rest;
    let [least, most] = ROUNDING.map(|share| share * deviation);
    let is_near =
        |left: &&Left| (left.rest - middle).abs() < (1.01 * left.rounding).clamp(least, most);
    let n_near = left.iter().filter(is_near).count();
    n_near as f64 >= LEAST_SHARE * left.len() as f64
}

/// A column, and how exactly it is written.
struct Column {
    values: Vec<f64>,
    /// Half a unit of the last digit; 0 where there are more than six.
    half_digit: f64,
}

impl Column {
    fn new(values: Vec<f64>) -> Self {
        let is_written_with = |digits: i32| {
            let scale = 10_f64.powi(digits);
            values.iter().filter(|value| !value.is_nan()).all(|value| {
                let scaled = value * scale;
                // Decimals are not exact in binary.
                (scaled - scaled.round()).abs() <= 1e-9 * scaled.abs().max(1.0)
            })
        };
        let digits = (0..=6).find(|&digits| is_written_with(digits));
        Self { half_digit: digits.map_or(0.0, |digits| 0.5 * 10_f64.powi(-digits)), values }
    }
}

/// Mean and deviation of each of three columns.
fn moments(rows: &[[f64; 3]]) -> [(f64, f64); 3] {
    let n = rows.len().max(1) as f64;
    [0, 1, 2].map(|column| {
        let mean = rows.iter().map(|row| row[column]).sum::<f64>() / n;
        let squares: f64 = rows.iter().map(|row| (row[column] - mean).powi(2)).sum();
        (mean, (squares / n).sqrt())
    })
}

/// Rows in which all three are observed.
fn common(columns: [&Column; 3]) -> Vec<[f64; 3]> {
    (0..columns[0].values.len())
        .map(|row| columns.map(|column| column.values[row]))
        .filter(|values| values.iter().all(|value| !value.is_nan()))
        .collect()
}

fn is_sum(columns: [&Column; 3]) -> bool {
    let rows = common(columns);
    let [(_, whole), (_, first), (_, second)] = moments(&rows);
    let rounding = columns.iter().map(|column| column.half_digit).sum();
    let left =
        rows.iter().map(|[whole, first, second]| Left { rest: whole - first - second, rounding });
    // Where one part hardly varies, the sum is nearly the other part.
    first.min(second) > 0.1 * whole && are_equal(left.collect(), whole)
}

/// Whether the whole is the product of the others times a constant, which units may make.
///
/// Looked at as a ratio too, since rounding a small factor changes the product a lot.
fn is_product(columns: [&Column; 3]) -> bool {
    let rows: Vec<[f64; 3]> =
        common(columns).into_iter().filter(|[_, first, second]| first * second != 0.0).collect();
    let [whole, first, second] = moments(&rows);
    // Where one part varies by less than a tenth of its size, the product is nearly the other part.
    let varies = |(mean, deviation): (f64, f64)| deviation > 0.1 * mean.abs();
    if rows.len() < FEWEST_ROWS || !varies(first) || !varies(second) {
        return false;
    }
    let mut ratios: Vec<f64> = rows.iter().map(|[whole, a, b]| whole / (a * b)).collect();
    let half = ratios.len() / 2;
    let factor = *ratios.select_nth_unstable_by(half, f64::total_cmp).1;
    let [of_whole, of_first, of_second] = columns.map(|column| column.half_digit);
    let rest_of = |[whole, a, b]: [f64; 3]| Left {
        rest: whole - factor * a * b,
        rounding: of_whole + factor.abs() * (of_first * b.abs() + of_second * a.abs()),
    };
    let ratio = |part: fn([f64; 3], f64) -> f64| {
        rows.iter().map(|&row| Left { rest: part(row, factor), rounding: 0.0 }).collect()
    };
    are_equal(rows.iter().map(|&row| rest_of(row)).collect(), whole.1)
        || are_equal(ratio(|[whole, a, b], factor| a - whole / (factor * b)), first.1)
        || are_equal(ratio(|[whole, a, b], factor| b - whole / (factor * a)), second.1)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{scatter, table};
    use super::*;

    #[test]
    fn copies_sums_and_products_are_found_and_nothing_else_is() {
        let (a, b) = (scatter(1, 80), scatter(2, 80).iter().map(|x| x + 1.0).collect::<Vec<_>>());
        let copy: Vec<f64> = a.iter().zip(scatter(5, 80)).map(|(a, x)| 3.0 * a + 0.2 * x).collect();
        let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        let product: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 100.0 * a * b).collect();
        let copies = near_copies(&table(&[a.clone(), copy, b.clone()]));
        assert_eq!(copies.len(), 1, "{copies:?}");
        assert!(copies[0].contains("`--ignore x1`"), "{copies:?}");
        let found = identities(&table(&[a.clone(), b.clone(), sum, scatter(7, 80)]));
        assert!(found[0].starts_with("`x0` + `x1` is `x2`"), "{found:?}");
        assert_eq!(found.len(), 1);
        let found = identities(&table(&[product, a.clone(), b.clone()]));
        assert!(found[0].starts_with("`x1` x `x2` is `x0`"), "{found:?}");
        assert!(identities(&table(&[a, b, scatter(9, 80)])).is_empty());
    }

    #[test]
    fn a_product_of_rounded_numbers_is_found_whatever_rounding_left() {
        let rounded = |x: f64| (100.0 * x).round() / 100.0;
        // Animals by the hundred times a ratio of two digits: the product is off by up to 1.
        let animals: Vec<f64> = scatter(1, 300).iter().map(|x| (2.5 + 6.0 * x).exp()).collect();
        let ratio: Vec<f64> = scatter(2, 300).iter().map(|x| 0.4 + 0.6 * x).collect();
        let eggs = animals.iter().zip(&ratio).map(|(a, b)| rounded(a * b)).collect();
        let [animals, ratio] = [animals, ratio].map(|all| all.into_iter().map(rounded).collect());
        let found = identities(&table(&[animals, ratio, eggs]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("`x0` x `x1` is `x2`"), "{found:?}");
    }

    #[test]
    fn a_shared_trend_makes_no_copies() {
        let line = |seed: usize| -> Vec<f64> {
            scatter(seed, 60).iter().enumerate().map(|(row, x)| row as f64 + x).collect()
        };
        assert!(near_copies(&table(&[line(1), line(2)])).is_empty());
    }
}
