//! Columns that add up: a total and its parts, parts of a whole, a column that is weighted from others.
//!
//! One column after the other is regressed on those before it that are no sums themselves. Where they explain it to the last
//! digit, those that are not needed are left out again, so that every column that is redundant is told with the smallest sum found.

use driftgraph_core::SeriesSet;

use super::dependent_columns::{Column, FEWEST_ROWS, MOST_VARIABLES};
use super::exactness::{Exactness, Left};
use super::near_sums::nearly_sums;
use super::regression::{Swept, deviation, weights};

/// In wider tables nothing is looked for.
pub(super) const MOST_PARTS: usize = 2000;
/// Columns with more holes than this share are not asked.
const MOST_MISSING: f64 = 0.2;

/// What is told already.
pub(super) struct Known<'a> {
    /// Columns of which the first is a function of the others.
    pub(super) threes: &'a [[usize; 3]],
    /// Columns that are nearly others.
    pub(super) copies: &'a [usize],
}

/// All such columns, but for what is known.
pub(super) fn warnings(data: &SeriesSet, columns: &[Column], known: &Known<'_>) -> Vec<String> {
    let table = Complete::of(columns);
    if !table.has_rows_for_sums() {
        return table.whole().map(|sum| sum.warning(data)).into_iter().collect();
    }
    let (sums, free) = table.sums();
    let is_known = |sum: &ExactSum| {
        let is_in =
            |three: &[usize; 3]| sum.terms.iter().all(|term| three.contains(&term.variable));
        known.threes.iter().any(is_in)
    };
    let new = sums.iter().filter(|sum| sum.terms.len() > 2 && !is_known(sum));
    let mut told: Vec<String> = new.map(|sum| sum.warning(data)).collect();
    let is_told = |variable: &usize| {
        known.copies.contains(variable) || known.threes.iter().any(|three| three[0] == *variable)
    };
    let others: Vec<usize> = free.into_iter().filter(|variable| !is_told(variable)).collect();
    told.extend(nearly_sums(data, &others));
    told
}

/// Columns that add up to a number.
struct ExactSum {
    terms: Vec<Term>,
    /// What they add up to, in most rows within this.
    total: f64,
    rounding: f64,
}

#[derive(Clone, Copy)]
struct Term {
    variable: usize,
    weight: f64,
}

impl ExactSum {
    fn is_plain(&self) -> bool {
        self.terms.iter().all(|term| term.weight.abs() == 1.0)
    }

    /// The number of fewest digits that the parts may add up to.
    fn plain_total(&self) -> String {
        let total = self.total.abs();
        let with_digits = |n: usize| -> f64 { format!("{total:.n$e}").parse().unwrap_or(total) };
        let fewest = (0..3).map(with_digits).find(|plain| (plain - total).abs() <= self.rounding);
        fewest.map_or_else(|| short(total), |plain| plain.to_string())
    }

    fn warning(&self, data: &SeriesSet) -> String {
        let of_sign = |sign: f64| -> Vec<&Term> {
            self.terms.iter().filter(|term| term.weight * sign > 0.0).collect()
        };
        let (plus, minus) = (of_sign(1.0), of_sign(-1.0));
        if self.is_plain() && (plus.is_empty() || minus.is_empty()) {
            let parts = side(data, if plus.is_empty() { &minus } else { &plus }, " + ");
            return format!(
                "{parts} is {} in nearly every row: parts of a whole, of which some rise because others fall; leave one of \
                 them out with `--ignore`, or give amounts instead of shares",
                self.plain_total()
            );
        }
        let relation = if self.is_plain() {
            let (long, few) = if plus.len() >= minus.len() { (plus, minus) } else { (minus, plus) };
            format!("{} is {}", side(data, &long, " + "), side(data, &few, " + "))
        } else {
            let (first, others) = self.terms.split_first().expect("a sum has terms");
            let others: Vec<Term> =
                others.iter().map(|term| Term { weight: -term.weight, ..*term }).collect();
            let others: Vec<&Term> = others.iter().collect();
            let name = &data.variables()[first.variable];
            format!("`{name}` is {}, up to a constant,", side(data, &others, " + "))
        };
        format!(
            "{relation} in nearly every row: an identity, which no method can tell from causes; leave one of them out with \
             `--ignore`"
        )
    }
}

/// Names with their weights, where these are not 1.
fn side(data: &SeriesSet, terms: &[&Term], sign: &str) -> String {
    const SHOWN: usize = 6;
    let name = |term: &&Term| {
        let name = &data.variables()[term.variable];
        match term.weight.abs() {
            1.0 => format!("`{name}`"),
            _ => format!("{} x `{name}`", short(term.weight)),
        }
    };
    let shown: Vec<String> = terms.iter().take(SHOWN).map(name).collect();
    let shown = shown.join(sign).replace("+ -", "- ");
    match terms.len() {
        n if n > SHOWN => format!("{shown}{sign}{} more", n - SHOWN),
        _ => shown,
    }
}

/// Four digits of a number.
fn short(number: f64) -> String {
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    rounded.to_string()
}

/// The columns that move, over the rows in which all of them are known.
struct Complete<'a> {
    variables: Vec<usize>,
    columns: Vec<&'a Column>,
    values: Vec<Vec<f64>>,
    /// Rows in which some column is not where it mostly is: the others may agree because nothing happens.
    moves: Vec<bool>,
    deviations: Vec<f64>,
}

impl<'a> Complete<'a> {
    fn of(all: &'a [Column]) -> Self {
        let is_asked = |column: &Column| {
            let n_missing = column.values.iter().filter(|value| value.is_nan()).count();
            let moves = column.values.iter().any(|value| !value.is_nan() && *value != column.usual);
            moves && n_missing as f64 <= MOST_MISSING * column.values.len() as f64
        };
        let variables: Vec<usize> = (0..all.len()).filter(|&idx| is_asked(&all[idx])).collect();
        let columns: Vec<&Column> = variables.iter().map(|&idx| &all[idx]).collect();
        let n_rows = all.first().map_or(0, |column| column.values.len());
        let is_known = |&row: &usize| columns.iter().all(|column| !column.values[row].is_nan());
        let rows: Vec<usize> = (0..n_rows).filter(is_known).collect();
        let moves = |row: &usize| columns.iter().any(|column| column.values[*row] != column.usual);
        let moves = rows.iter().map(moves).collect();
        let values: Vec<Vec<f64>> = columns
            .iter()
            .map(|column| rows.iter().map(|&row| column.values[row]).collect())
            .collect();
        let deviations = values.iter().map(|column| deviation(column)).collect();
        Self { variables, columns, values, moves, deviations }
    }

    fn n_rows(&self) -> usize {
        self.values.first().map_or(0, Vec::len)
    }

    /// Whether there are rows enough to learn weights from.
    fn has_rows_for_sums(&self) -> bool {
        let n = self.variables.len();
        (2..=MOST_VARIABLES).contains(&n) && self.n_rows() >= FEWEST_ROWS.max(2 * n + 10)
    }

    /// Whether all columns add up to a number, or to one of them: nothing is learned for that, so that few rows suffice.
    fn whole(&self) -> Option<ExactSum> {
        const FEWEST: usize = 6;
        let n = self.variables.len();
        if n < 3 {
            return None;
        }
        let exactness = Exactness { fewest_rows: FEWEST, ..Exactness::OF_FORM };
        let signs = vec![1.0; n];
        let (sums, reach) = (self.rests(&signs), self.reach(&signs));
        let rounding = self.rounding(&signs);
        let holds = |total: Option<usize>| {
            let rest = |(row, sum): (usize, &f64)| {
                let rest = total.map_or(*sum, |column| sum - 2.0 * self.values[column][row]);
                Left { rest, rounding }
            };
            exactness.holds(sums.iter().enumerate().map(rest).collect(), &self.moves, reach)
        };
        let total = std::iter::once(None).chain((0..n).map(Some)).find(|total| holds(*total))?;
        let signs: Vec<f64> =
            (0..n).map(|column| if Some(column) == total { -1.0 } else { 1.0 }).collect();
        Some(self.sum(&signs))
    }

    /// The deviation that a sum would have if its terms knew nothing of each other.
    fn reach(&self, weights: &[f64]) -> f64 {
        let terms = weights.iter().zip(&self.deviations);
        terms.map(|(weight, own)| (weight * own).powi(2)).sum::<f64>().sqrt()
    }

    fn rests(&self, weights: &[f64]) -> Vec<f64> {
        let mut rests = vec![0.0; self.n_rows()];
        for (weight, column) in weights.iter().zip(&self.values).filter(|(w, _)| **w != 0.0) {
            rests.iter_mut().zip(column).for_each(|(rest, value)| *rest += weight * value);
        }
        rests
    }

    /// What the digits of the table can make of a sum that is exact.
    fn rounding(&self, weights: &[f64]) -> f64 {
        let digits = weights.iter().zip(&self.columns);
        digits.map(|(weight, column)| weight.abs() * column.half_digit).sum()
    }

    fn is_exact(&self, weights: &[f64], exactness: Exactness, deviation: f64) -> bool {
        let rounding = self.rounding(weights);
        let left = self.rests(weights).into_iter().map(|rest| Left { rest, rounding });
        exactness.holds(left.collect(), &self.moves, deviation)
    }

    fn sum(&self, weights: &[f64]) -> ExactSum {
        let terms = weights.iter().zip(&self.variables).filter(|(weight, _)| **weight != 0.0);
        let mut rests = self.rests(weights);
        let half = rests.len() / 2;
        let total = *rests.select_nth_unstable_by(half, f64::total_cmp).1;
        let terms = terms.map(|(&weight, &variable)| Term { variable, weight });
        ExactSum { terms: terms.collect(), total, rounding: self.rounding(weights) }
    }

    /// A sum for every column that is one of those before it, and the variables that are none.
    fn sums(&self) -> (Vec<ExactSum>, Vec<usize>) {
        /// What may be left of a column at first, mistakes in a few rows included.
        const MOST_LEFT: f64 = 0.1;
        let mut swept = Swept::of_columns(&self.values);
        let (mut sums, mut free) = (Vec::new(), Vec::new());
        for column in 0..self.variables.len() {
            let sum = (swept.left(column) < MOST_LEFT && !free.is_empty())
                .then(|| self.smallest_sum(column, &free))
                .flatten();
            match sum {
                Some(weights) => {
                    let mut sum = self.sum(&weights);
                    // Where weights differ, the column that was asked about is told by the others.
                    if !sum.is_plain() {
                        sum.terms.sort_by_key(|term| term.variable != self.variables[column]);
                    }
                    sums.push(sum);
                }
                None if swept.give(column) => free.push(column),
                None => {}
            }
        }
        let free = free.into_iter().map(|column| self.variables[column]).collect();
        (sums, free)
    }

    /// The weights of all columns, with -1 and 1 where these do, that leave nothing of a column.
    fn smallest_sum(&self, column: usize, sources: &[usize]) -> Option<Vec<f64>> {
        /// Deviations of the column that a source has to move.
        const HARDLY: f64 = 0.005;
        let mut kept = sources.to_vec();
        let mut found = None;
        loop {
            let fitted = self.trimmed_weights(column, &kept);
            // Whole numbers that hold need no more thought.
            if let Some(plain) = self.plain(column, &fitted) {
                return Some(plain);
            }
            if self.is_exact(&fitted, OF_WEIGHTS, self.step(column)) {
                found = Some(fitted.clone());
            } else if found.is_some() {
                return self.without_needless(column, kept, found);
            }
            // Those that hardly matter go first, all at once.
            let matters = |&&source: &&usize| {
                fitted[source].abs() * self.deviations[source] > HARDLY * self.deviations[column]
            };
            let fewer: Vec<usize> = kept.iter().filter(matters).copied().collect();
            if fewer.len() == kept.len() || fewer.is_empty() {
                return self.without_needless(column, kept, found);
            }
            kept = fewer;
        }
    }

    /// The same with as few columns as will do, left out one by one, the weakest first.
    fn without_needless(
        &self,
        column: usize,
        mut kept: Vec<usize>,
        found: Option<Vec<f64>>,
    ) -> Option<Vec<f64>> {
        let mut found = found?;
        loop {
            kept.retain(|&source| found[source] != 0.0);
            let size = |source: usize| found[source].abs() * self.deviations[source];
            kept.sort_by(|&a, &b| size(a).total_cmp(&size(b)));
            let fewer = (0..kept.len()).find_map(|place| {
                let mut fewer = kept.clone();
                fewer.remove(place);
                let fitted = self.trimmed_weights(column, &fewer);
                self.is_exact(&fitted, OF_WEIGHTS, self.step(column)).then_some((fewer, fitted))
            });
            let Some((fewer, fitted)) = fewer else { break };
            (kept, found) = (fewer, fitted);
        }
        Some(self.plain(column, &found).unwrap_or(found))
    }

    /// Weights rounded to whole numbers from -1 to 1, where they leave nothing either.
    fn plain(&self, column: usize, fitted: &[f64]) -> Option<Vec<f64>> {
        let mut rounded: Vec<f64> = fitted.iter().map(|weight| weight.round()).collect();
        if rounded.iter().any(|weight| weight.abs() > 1.0) {
            return None;
        }
        let reach = self.reach(&rounded);
        let holds = |weights: &[f64]| self.is_exact(weights, Exactness::OF_FORM, reach);
        if !holds(&rounded) {
            return None;
        }
        // What is too small to be seen beside the others was rounded for nothing, unless it makes the sum more exact.
        let spread = |weights: &[f64]| {
            let mut rests = self.rests(weights);
            let half = rests.len() / 2;
            let middle = *rests.select_nth_unstable_by(half, f64::total_cmp).1;
            let mut off: Vec<f64> = rests.iter().map(|rest| (rest - middle).abs()).collect();
            *off.select_nth_unstable_by(half, f64::total_cmp).1
        };
        for idx in (0..rounded.len()).filter(|&idx| idx != column) {
            let mut without = rounded.clone();
            without[idx] = 0.0;
            if rounded[idx] != 0.0 && holds(&without) && spread(&without) <= 2.0 * spread(&rounded)
            {
                rounded = without;
            }
        }
        Some(rounded)
    }

    /// 1 for a column and what has to be taken off it: least squares over the rows that are left best, so that mistakes in a
    /// few do not hide a sum.
    fn trimmed_weights(&self, column: usize, sources: &[usize]) -> Vec<f64> {
        const ROUNDS: usize = 3;
        const KEPT: f64 = 0.95;
        let mut all = vec![0.0; self.variables.len()];
        let mut is_kept = vec![true; self.n_rows()];
        let of_sources: Vec<&[f64]> =
            sources.iter().map(|&source| self.values[source].as_slice()).collect();
        for _ in 0..ROUNDS {
            let found = weights(&self.values[column], &of_sources, &is_kept);
            all.fill(0.0);
            all[column] = 1.0;
            for (&source, weight) in sources.iter().zip(&found) {
                all[source] = -weight;
            }
            let mut rests = self.rests(&all);
            let half = rests.len() / 2;
            let middle = *rests.clone().select_nth_unstable_by(half, f64::total_cmp).1;
            rests.iter_mut().for_each(|rest| *rest = (*rest - middle).abs());
            let last = ((KEPT * rests.len() as f64) as usize).min(rests.len() - 1);
            let bound = *rests.clone().select_nth_unstable_by(last, f64::total_cmp).1;
            is_kept = rests.iter().map(|rest| *rest <= bound).collect();
        }
        all
    }

    /// What a column moves from row to row, or in all if that is less: slow columns resemble many others.
    fn step(&self, column: usize) -> f64 {
        let values = &self.values[column];
        let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        deviation(&steps).min(self.deviations[column])
    }
}

/// An identity whose weights are learned from the table.
const OF_WEIGHTS: Exactness =
    Exactness { share: 0.95, fewest_rows: FEWEST_ROWS, left: [0.005, 0.1] };

#[cfg(test)]
mod tests {
    use super::super::dependent_columns::warnings;
    use super::super::tests::{random, table};

    fn rounded(values: Vec<f64>, digits: i32) -> Vec<f64> {
        let scale = 10_f64.powi(digits);
        values.into_iter().map(|value| (scale * value).round() / scale).collect()
    }

    fn added(columns: &[&[f64]], weights: &[f64]) -> Vec<f64> {
        let row = |row: usize| columns.iter().zip(weights).map(|(column, w)| w * column[row]).sum();
        (0..columns[0].len()).map(row).collect()
    }

    fn parts(n: usize, n_rows: usize) -> Vec<Vec<f64>> {
        (0..n as u64).map(|seed| random(seed, n_rows).iter().map(|x| 5.0 + x).collect()).collect()
    }

    #[test]
    fn a_total_of_many_parts_is_found_among_other_columns_and_whatever_its_place() {
        let columns = parts(5, 90);
        let total = added(&[&columns[0], &columns[2], &columns[3], &columns[4]], &[1.0; 4]);
        let mut all = columns.clone();
        all.push(total.clone());
        let found = warnings(&table(&all));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("`x0` + `x2` + `x3` + `x4` is `x5` in nearly"), "{found:?}");
        assert!(found[0].contains("leave one of them out with `--ignore`"), "{found:?}");
        let mut first = vec![rounded(total, 1)];
        first.extend(columns.into_iter().map(|column| rounded(column, 1)));
        let found = warnings(&table(&first));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("`x1` + `x3` + `x4` + `x5` is `x0` in nearly"), "{found:?}");
    }

    #[test]
    fn mistakes_in_a_few_rows_do_not_hide_a_total() {
        let columns = parts(3, 100);
        let mut total = added(&[&columns[0], &columns[1], &columns[2]], &[1.0; 3]);
        total[17] += 3.0;
        total[60] -= 1.0;
        let found = warnings(&table(&[&columns[..], &[total]].concat()));
        assert!(found[0].starts_with("`x0` + `x1` + `x2` is `x3`"), "{found:?}");
    }

    #[test]
    fn parts_of_a_whole_are_found_in_few_rows_and_in_wide_tables() {
        for (n, n_rows) in [(3, 120), (6, 60), (12, 10), (60, 30)] {
            let amounts = parts(n, n_rows);
            let whole =
                added(&amounts.iter().map(Vec::as_slice).collect::<Vec<_>>(), &vec![1.0; n]);
            let share = |column: &Vec<f64>| {
                rounded(
                    column.iter().zip(&whole).map(|(part, all)| 100.0 * part / all).collect(),
                    2,
                )
            };
            let shares: Vec<Vec<f64>> = amounts.iter().map(share).collect();
            let found = warnings(&table(&shares));
            assert_eq!(found.len(), 1, "{n} columns: {found:?}");
            assert!(found[0].starts_with("`x0` + `x1` + `x2`"), "{found:?}");
            assert!(
                found[0].contains(" is 100 in nearly every row: parts of a whole"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn weights_are_told() {
        let columns = parts(4, 90);
        let made = added(&[&columns[0], &columns[1], &columns[3]], &[2.0, -3.0, 0.5]);
        let found = warnings(&table(&[&columns[..], &[made]].concat()));
        assert_eq!(found.len(), 1, "{found:?}");
        let expected =
            "`x4` is 2 x `x0` - 3 x `x1` + 0.5 x `x3`, up to a constant, in nearly every row";
        assert!(found[0].starts_with(expected), "{found:?}");
    }

    #[test]
    fn what_is_nearly_a_weighted_sum_is_told_and_what_is_hardly_one_is_not() {
        let columns = parts(4, 200);
        let mut mix = added(&[&columns[0], &columns[1], &columns[2]], &[2.0, -3.0, 1.5]);
        let mut with_noise = |size: f64, seed: u64| {
            mix.iter_mut().zip(random(seed, 200)).for_each(|(mix, noise)| *mix += size * noise);
            warnings(&table(&[&columns[..], &[mix.clone()]].concat()))
        };
        let found = with_noise(0.05, 50);
        assert_eq!(found.len(), 1, "{found:?}");
        let expected = "each of `x0`, `x1`, `x2`, `x4` is nearly a weighted sum of others";
        assert!(found[0].starts_with(expected), "{found:?}");
        assert_eq!(with_noise(0.5, 51), Vec::<String>::new());
    }

    #[test]
    fn rare_events_are_no_sums_because_mostly_nothing_happens_or_one_of_them() {
        let rare = |seed: u64| -> Vec<f64> {
            random(seed, 600).iter().map(|x| f64::from(*x > 1.7)).collect()
        };
        let all: Vec<Vec<f64>> = (0..4).map(rare).collect();
        assert_eq!(warnings(&table(&all)), Vec::<String>::new());
    }
}
