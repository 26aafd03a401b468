//! Columns that are nearly functions of others: copies, sums, differences, products and ratios.

use driftgraph_core::SeriesSet;

use super::exact_sums::{self, Known};
use super::exactness::{Exactness, Left};
use super::regression::deviation;
use super::{named, observed};

/// Rows looked at; more say no more.
const MOST_ROWS: usize = 1000;
/// With fewer, smooth series resemble each other.
pub(super) const FEWEST_ROWS: usize = 20;
/// Columns of which all threes are tried, and regressions on all others.
pub(super) const MOST_VARIABLES: usize = 40;

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

/// All such columns, in words.
pub(super) fn warnings(data: &SeriesSet) -> Vec<String> {
    let copies = near_copies(data);
    let mut told: Vec<String> =
        copies.iter().take(MOST_TOLD).map(|copy| copy.warning(data)).collect();
    let second_of: Vec<usize> = copies.into_iter().map(|copy| copy.second).collect();
    told.extend(identities(data, &second_of));
    told
}

/// Two columns that are nearly one.
struct NearCopy {
    first: usize,
    second: usize,
    correlation: f64,
}

impl NearCopy {
    fn warning(&self, data: &SeriesSet) -> String {
        let (names, _) = named(data, &[self.first, self.second]);
        let (_, name) = named(data, &[self.second]);
        format!(
            "{names} are nearly one variable (correlation {:.3}), so that their effects cannot be told apart: leave one \
             out with `--ignore {name}`",
            self.correlation
        )
    }
}

/// Pairs with a correlation above 0.98 that no shared trend explains.
///
/// Of random walks of 40 rows no pair of thirty passes this in any of 300 tables.
fn near_copies(data: &SeriesSet) -> Vec<NearCopy> {
    const LEAST: f64 = 0.98;
    const MOST_VARIABLES: usize = 300;
    if data.n_variables() > MOST_VARIABLES {
        return Vec::new();
    }
    let columns = columns(data, true);
    let mut found = Vec::new();
    for first in 0..columns.len() {
        for second in first + 1..columns.len() {
            let (n, correlation) = correlation(&columns[first], &columns[second]);
            // Columns that are equal are told elsewhere.
            if n >= FEWEST_ROWS && correlation.abs() > LEAST && !is_equal(data, first, second) {
                found.push(NearCopy { first, second, correlation });
            }
        }
    }
    found
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

/// Columns of which one is a sum, a product or a share of others, up to rounding; `copies` are known to be nearly others.
fn identities(data: &SeriesSet, copies: &[usize]) -> Vec<String> {
    if data.n_variables() > exact_sums::MOST_PARTS {
        return Vec::new();
    }
    let columns: Vec<Column> = columns(data, false).into_iter().map(Column::new).collect();
    let threes =
        if (3..=MOST_VARIABLES).contains(&columns.len()) { threes(&columns) } else { Vec::new() };
    let mut told: Vec<String> = threes.iter().map(|three| three.warning(data)).collect();
    let threes: Vec<[usize; 3]> = threes.iter().map(Three::columns).collect();
    told.extend(exact_sums::warnings(data, &columns, &Known { threes: &threes, copies }));
    told.truncate(MOST_TOLD);
    told
}

/// Three columns of which one is a function of the others.
struct Three {
    whole: usize,
    parts: [usize; 2],
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Sum,
    Product,
    /// The first part divided by the sum of both.
    Share,
}

impl Three {
    fn columns(&self) -> [usize; 3] {
        [self.whole, self.parts[0], self.parts[1]]
    }

    fn warning(&self, data: &SeriesSet) -> String {
        let [whole, first, second] =
            [self.whole, self.parts[0], self.parts[1]].map(|idx| &data.variables()[idx]);
        let relation = match self.kind {
            Kind::Sum => format!("`{first}` + `{second}` is `{whole}`"),
            Kind::Product => format!("`{first}` x `{second}` is `{whole}`"),
            Kind::Share => {
                format!("`{first}` / (`{first}` + `{second}`) is `{whole}`, up to its unit,")
            }
        };
        format!(
            "{relation} in nearly every row: an identity, which no method can tell from causes; leave one of the three \
             out with `--ignore`"
        )
    }
}

fn threes(columns: &[Column]) -> Vec<Three> {
    let n = columns.len();
    let mut found = Vec::new();
    for whole in 0..n {
        for first in (0..n).filter(|&first| first != whole) {
            for second in (first + 1..n).filter(|&second| second != whole) {
                let kind = kind_of([&columns[whole], &columns[first], &columns[second]]);
                if let Some((kind, is_swapped)) = kind {
                    let parts = if is_swapped { [second, first] } else { [first, second] };
                    found.push(Three { whole, parts, kind });
                }
            }
        }
    }
    found
}

/// What the first column is of the others, and whether these change places.
fn kind_of(columns: [&Column; 3]) -> Option<(Kind, bool)> {
    let kinds = [
        (Kind::Sum, false, is_sum as fn(&Common) -> bool),
        (Kind::Product, false, is_product),
        (Kind::Share, false, |common| is_share(common, [1, 2])),
        (Kind::Share, true, |common| is_share(common, [2, 1])),
    ];
    let few = Common::few(columns);
    let found = kinds.into_iter().find(|(.., holds)| holds(&few) && holds(&Common::all(columns)));
    found.map(|(kind, is_swapped, _)| (kind, is_swapped))
}

/// A column, and how exactly it is written.
pub(super) struct Column {
    pub(super) values: Vec<f64>,
    /// Half a unit of the last digit; 0 where there are more than six.
    pub(super) half_digit: f64,
    /// Where it is when nothing happens, as a column of rare events mostly is.
    pub(super) usual: f64,
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
        let mut known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        let half = known.len() / 2;
        let usual = if known.is_empty() {
            f64::NAN
        } else {
            *known.select_nth_unstable_by(half, f64::total_cmp).1
        };
        Self { half_digit: digits.map_or(0.0, |digits| 0.5 * 10_f64.powi(-digits)), usual, values }
    }
}

/// Rows in which three columns are observed.
struct Common {
    rows: Vec<[f64; 3]>,
    /// Whether they are not all where they mostly are, which would be no sign of anything.
    moves: Vec<bool>,
    /// Mean and deviation of each.
    moments: [(f64, f64); 3],
    half_digits: [f64; 3],
    exactness: Exactness,
}

impl Common {
    fn all(columns: [&Column; 3]) -> Self {
        Self::of(columns, 1, Exactness::OF_FORM)
    }

    /// Few rows, which exclude most identities at little cost.
    fn few(columns: [&Column; 3]) -> Self {
        const ROWS: usize = 80;
        let stride = columns[0].values.len() / ROWS;
        let exactness = Exactness { share: 0.85, fewest_rows: 10, ..Exactness::OF_FORM };
        Self::of(columns, stride.max(1), exactness)
    }

    fn of(columns: [&Column; 3], stride: usize, exactness: Exactness) -> Self {
        let rows: Vec<[f64; 3]> = (0..columns[0].values.len())
            .step_by(stride)
            .map(|row| columns.map(|column| column.values[row]))
            .filter(|values| values.iter().all(|value| !value.is_nan()))
            .collect();
        let moves = |row: &[f64; 3]| row.iter().zip(columns).any(|(value, c)| *value != c.usual);
        let moves = rows.iter().map(moves).collect();
        let moments = [0, 1, 2].map(|column| {
            let mean = rows.iter().map(|row| row[column]).sum::<f64>() / rows.len().max(1) as f64;
            let own: Vec<f64> = rows.iter().map(|row| row[column]).collect();
            (mean, deviation(&own))
        });
        Self {
            rows,
            moves,
            moments,
            half_digits: columns.map(|column| column.half_digit),
            exactness,
        }
    }

    /// Whether what a formula leaves of every row is as good as equal; rows of which it leaves nothing finite are none.
    fn leaves_nothing(&self, deviation: f64, left: impl Fn([f64; 3]) -> Left) -> bool {
        let left = self.rows.iter().map(|&row| left(row)).collect();
        self.exactness.holds(left, &self.moves, deviation)
    }

    /// The middle one of finite numbers.
    fn middle(&self, of: impl Fn([f64; 3]) -> f64) -> Option<f64> {
        let mut all: Vec<f64> =
            self.rows.iter().map(|&row| of(row)).filter(|number| number.is_finite()).collect();
        let half = all.len() / 2;
        (!all.is_empty()).then(|| *all.select_nth_unstable_by(half, f64::total_cmp).1)
    }
}

fn is_sum(common: &Common) -> bool {
    let [(_, whole), (_, first), (_, second)] = common.moments;
    let rounding = common.half_digits.iter().sum();
    let left = |[whole, first, second]: [f64; 3]| Left { rest: whole - first - second, rounding };
    // Where one part hardly varies, the sum is nearly the other part: it has to explain that little.
    let least = first.min(second);
    common.leaves_nothing(if least > 0.1 * whole { whole } else { least }, left)
}

/// Whether the whole is the product of the others times a constant, which units may make.
///
/// Looked at as a ratio too, since rounding a small factor changes the product a lot.
fn is_product(common: &Common) -> bool {
    let [whole, first, second] = common.moments;
    let Some(factor) = common.middle(|[whole, a, b]| whole / (a * b)) else { return false };
    let [of_whole, of_first, of_second] = common.half_digits;
    let rest_of = |[whole, a, b]: [f64; 3]| Left {
        rest: if a * b == 0.0 { f64::NAN } else { whole - factor * a * b },
        rounding: of_whole + factor.abs() * (of_first * b.abs() + of_second * a.abs()),
    };
    // Where one part varies by less than a tenth of its size, the product is nearly the other part: it has to explain that little.
    let varies = |(mean, deviation): (f64, f64)| deviation > 0.1 * mean.abs();
    if !varies(first) || !varies(second) {
        let share = |(mean, deviation): (f64, f64)| deviation / mean.abs();
        let size = (whole.0.powi(2) + whole.1.powi(2)).sqrt();
        let least = share(first).min(share(second)) * size;
        return common.leaves_nothing(least.min(whole.1), rest_of);
    }
    let ratio = |part: fn([f64; 3], f64) -> f64| {
        move |row: [f64; 3]| Left { rest: part(row, factor), rounding: 0.0 }
    };
    common.leaves_nothing(whole.1, rest_of)
        || common.leaves_nothing(first.1, ratio(|[whole, a, b], factor| a - whole / (factor * b)))
        || common.leaves_nothing(second.1, ratio(|[whole, a, b], factor| b - whole / (factor * a)))
}

/// Whether the whole is the share of one part in both, times a constant.
fn is_share(common: &Common, [part, other]: [usize; 2]) -> bool {
    if common.rows.iter().any(|row| row[part] < 0.0 || row[other] < 0.0) {
        return false;
    }
    let factor = common.middle(|row| row[0] * (row[part] + row[other]) / row[part]);
    let Some(factor) = factor else { return false };
    let [of_whole, of_part, of_other] = [0, part, other].map(|idx| common.half_digits[idx]);
    let [(_, whole), (mean, own), (mean_other, of_others)] =
        [0, part, other].map(|idx| common.moments[idx]);
    let rest_of = |row: [f64; 3]| {
        let both = row[part] + row[other];
        Left {
            rest: row[0] - factor * row[part] / both,
            rounding: of_whole
                + factor.abs() * (row[other] * of_part + row[part] * of_other) / both.powi(2),
        }
    };
    // What each part moves of the share has to be explained.
    let by_part = factor.abs() / (mean + mean_other).powi(2);
    let least = (by_part * mean_other * own).min(by_part * mean * of_others);
    common.leaves_nothing(least.min(whole), rest_of)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{random, scatter, table};
    use super::*;

    fn told(columns: &[Vec<f64>]) -> Vec<String> {
        warnings(&table(columns))
    }

    #[test]
    fn copies_sums_and_products_are_found_and_nothing_else_is() {
        let (a, b) = (scatter(1, 80), scatter(2, 80).iter().map(|x| x + 1.0).collect::<Vec<_>>());
        let copy: Vec<f64> = a.iter().zip(scatter(5, 80)).map(|(a, x)| 3.0 * a + 0.2 * x).collect();
        let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        let product: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 100.0 * a * b).collect();
        let copies = told(&[a.clone(), copy, b.clone()]);
        assert_eq!(copies.len(), 1, "{copies:?}");
        assert!(copies[0].contains("`--ignore x1`"), "{copies:?}");
        let found = told(&[a.clone(), b.clone(), sum, scatter(7, 80)]);
        assert!(found[0].starts_with("`x0` + `x1` is `x2`"), "{found:?}");
        assert_eq!(found.len(), 1);
        let found = told(&[product, a.clone(), b.clone()]);
        assert!(found[0].starts_with("`x1` x `x2` is `x0`"), "{found:?}");
        assert!(told(&[a, b, scatter(9, 80)]).is_empty());
    }

    #[test]
    fn ratios_of_what_varies_little_and_shares_are_found() {
        let a: Vec<f64> = random(1, 120).iter().map(|x| 12.0 + 0.3 * x).collect();
        let b: Vec<f64> = random(2, 120).iter().map(|x| 20.0 + 0.5 * x).collect();
        let pairs = || a.iter().zip(&b);
        let ratio: Vec<f64> = pairs().map(|(a, b)| a / b).collect();
        let found = told(&[a.clone(), b.clone(), ratio]);
        assert!(found[0].starts_with("`x1` x `x2` is `x0`"), "{found:?}");
        assert_eq!(found.len(), 1, "{found:?}");
        let percent: Vec<f64> =
            pairs().map(|(a, b)| (10_000.0 * b / (a + b)).round() / 100.0).collect();
        let share: Vec<f64> = pairs().map(|(a, b)| b / (a + b)).collect();
        for share in [share, percent] {
            let found = told(&[a.clone(), random(5, 120), b.clone(), share]);
            assert!(
                found[0].starts_with("`x2` / (`x2` + `x0`) is `x3`, up to its unit,"),
                "{found:?}"
            );
            assert_eq!(found.len(), 1, "{found:?}");
        }
        let noisy: Vec<f64> =
            pairs().zip(random(9, 120)).map(|((a, b), x)| a / b + 0.02 * x).collect();
        assert!(told(&[a, b, noisy]).is_empty());
    }

    #[test]
    fn a_product_of_rounded_numbers_is_found_whatever_rounding_left() {
        let rounded = |x: f64| (100.0 * x).round() / 100.0;
        // Animals by the hundred times a ratio of two digits: the product is off by up to 1.
        let animals: Vec<f64> = scatter(1, 300).iter().map(|x| (2.5 + 6.0 * x).exp()).collect();
        let ratio: Vec<f64> = scatter(2, 300).iter().map(|x| 0.4 + 0.6 * x).collect();
        let eggs = animals.iter().zip(&ratio).map(|(a, b)| rounded(a * b)).collect();
        let [animals, ratio] = [animals, ratio].map(|all| all.into_iter().map(rounded).collect());
        let found = told(&[animals, ratio, eggs]);
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
