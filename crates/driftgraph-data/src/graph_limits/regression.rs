//! Least squares among a few columns at a time, by sweeping a matrix of correlations.

/// What is left of a variance of 1 once it counts as explained in every digit.
const NOTHING: f64 = 1e-10;

/// A symmetric matrix in which some variables are taken as given.
///
/// With the set A swept, `(a, b)` is the weight of a of A on b outside, and `(b, c)` outside of A is what A leaves of their
/// covariance. Sweeping costs one pass over the matrix (Goodnight 1979, doi:10.1080/00031305.1979.10482685).
#[derive(Debug, Clone)]
pub(super) struct Swept {
    values: Vec<f64>,
    n: usize,
    is_given: Vec<bool>,
}

impl Swept {
    /// Correlations of columns over rows that are complete; a column that never moves is explained by nothing.
    pub(super) fn of_columns(columns: &[Vec<f64>]) -> Self {
        let n = columns.len();
        let scaled: Vec<Vec<f64>> = columns.iter().map(|column| standardised(column)).collect();
        let mut values = vec![0.0; n * n];
        for a in 0..n {
            for b in 0..=a {
                let sum: f64 = scaled[a].iter().zip(&scaled[b]).map(|(x, y)| x * y).sum();
                values[a * n + b] = sum;
                values[b * n + a] = sum;
            }
        }
        Self { values, n, is_given: vec![false; n] }
    }

    /// Takes a variable as given; `false`, and nothing happens, where those before it leave nothing of it.
    pub(super) fn give(&mut self, pivot: usize) -> bool {
        let n = self.n;
        let own = self.values[pivot * n + pivot];
        if own < NOTHING || self.is_given[pivot] {
            return false;
        }
        let row: Vec<f64> = self.values[pivot * n..][..n].iter().map(|value| value / own).collect();
        for idx in (0..n).filter(|&idx| idx != pivot) {
            let factor = self.values[idx * n + pivot];
            for (value, of_row) in self.values[idx * n..][..n].iter_mut().zip(&row) {
                *value -= factor * of_row;
            }
            self.values[idx * n + pivot] = -factor / own;
        }
        self.values[pivot * n..][..n].copy_from_slice(&row);
        self.values[pivot * n + pivot] = 1.0 / own;
        self.is_given[pivot] = true;
        true
    }

    /// The share of a variable's variance that those which are given leave.
    pub(super) fn left(&self, variable: usize) -> f64 {
        self.values[variable * self.n + variable].max(0.0)
    }

    /// Weight of a given variable on another one, both in deviations.
    pub(super) fn weight(&self, given: usize, variable: usize) -> f64 {
        if self.is_given[given] { self.values[given * self.n + variable] } else { 0.0 }
    }

    /// For each of some variables, the share of what was left of it that the others among them explain.
    pub(super) fn shares_of_each_other(&self, among: &[usize]) -> Vec<f64> {
        let mut all = self.clone();
        let whole: Vec<f64> = among.iter().map(|&idx| self.left(idx)).collect();
        let is_independent: Vec<bool> = among.iter().map(|&idx| all.give(idx)).collect();
        let share = |(place, &variable): (usize, &usize)| {
            if !is_independent[place] || is_independent.contains(&false) {
                // Something among them is a function of the rest: each is asked alone.
                let mut others = self.clone();
                among.iter().filter(|&&other| other != variable).for_each(|&other| {
                    others.give(other);
                });
                return if whole[place] > 0.0 {
                    1.0 - others.left(variable) / whole[place]
                } else {
                    0.0
                };
            }
            // An inverse has 1 / (what the others leave) on its diagonal.
            1.0 - 1.0 / (all.values[variable * self.n + variable] * whole[place])
        };
        among.iter().enumerate().map(share).collect()
    }
}

/// A column around its mean, of length 1; zeros where it never moves.
fn standardised(column: &[f64]) -> Vec<f64> {
    let mean = column.iter().sum::<f64>() / column.len().max(1) as f64;
    let size = column.iter().map(|value| (value - mean).powi(2)).sum::<f64>().sqrt();
    // Sums of equal numbers are off by rounding.
    let is_constant = size <= 1e-12 * mean.abs() * (column.len() as f64).sqrt() || size == 0.0;
    let scale = if is_constant { 0.0 } else { 1.0 / size };
    column.iter().map(|value| scale * (value - mean)).collect()
}

/// Weights of some columns on another one, in their units, by least squares over the rows that are kept.
pub(super) fn weights(target: &[f64], sources: &[&[f64]], is_kept: &[bool]) -> Vec<f64> {
    let kept = |column: &[f64]| -> Vec<f64> {
        column.iter().zip(is_kept).filter(|(_, kept)| **kept).map(|(value, _)| *value).collect()
    };
    let columns: Vec<Vec<f64>> = sources.iter().copied().chain([target]).map(kept).collect();
    let mut swept = Swept::of_columns(&columns);
    let last = sources.len();
    (0..last).for_each(|source| {
        swept.give(source);
    });
    let deviations: Vec<f64> = columns.iter().map(|column| deviation(column)).collect();
    (0..last)
        .map(|source| match deviations[source] {
            0.0 => 0.0,
            own => swept.weight(source, last) * deviations[last] / own,
        })
        .collect()
}

/// Deviation of numbers around their mean.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// A share of variance beyond what so many columns explain of so many rows of noise.
pub(super) fn beyond_chance(share: f64, n_columns: usize, n_rows: usize) -> f64 {
    if n_rows <= n_columns + 1 {
        return 0.0;
    }
    let (n, k) = (n_rows as f64, n_columns as f64);
    (1.0 - (1.0 - share) * (n - 1.0) / (n - 1.0 - k)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::random;
    use super::*;

    #[test]
    fn weights_are_those_that_made_the_column() {
        let (a, b) = (random(1, 60), random(2, 60));
        let made: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 2.0 * a - 3.0 * b + 7.0).collect();
        let found = weights(&made, &[&a, &b], &[true; 60]);
        assert!((found[0] - 2.0).abs() < 1e-9 && (found[1] + 3.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn shares_are_those_of_regressions_whether_or_not_something_is_a_function_of_the_rest() {
        let (a, b, c) = (random(1, 60), random(2, 60), random(3, 60));
        let swept = Swept::of_columns(&[a.clone(), b.clone(), c.clone()]);
        let fast = swept.shares_of_each_other(&[0, 1, 2]);
        for (variable, fast) in fast.iter().enumerate() {
            let mut slow = swept.clone();
            (0..3).filter(|&other| other != variable).for_each(|other| {
                slow.give(other);
            });
            assert!((1.0 - slow.left(variable) - fast).abs() < 1e-9);
        }
        let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        let shares = Swept::of_columns(&[a, b, c, sum]).shares_of_each_other(&[0, 1, 2, 3]);
        assert!(shares[0] > 0.999_999 && shares[1] > 0.999_999 && shares[3] > 0.999_999);
        assert!(shares[2] < 0.2, "{shares:?}");
    }

    #[test]
    fn chance_explains_nothing_beyond_itself() {
        assert!((beyond_chance(0.5, 30, 61)).abs() < 1e-9);
        assert!((beyond_chance(1.0, 3, 60) - 1.0).abs() < 1e-9);
        assert!(beyond_chance(0.9, 60, 60) == 0.0);
    }
}
