//! One process for all time that is no linear one with normal innovations: what regimes have to be compared with.
//!
//! Two linear regimes imitate products of variables (each is right on its side of a fold) and heavy tails (one regime is wide).
//! Here are single processes with both, as regressions along known paths: products of two variables beside the variables
//! where there is room for them, and innovations of Student's law, by variable or with one scale for all that come at once.

use super::start::{KnownPaths, OFFSET_AND_RIDGE as PENALTY, PRIOR_STEPS};
use crate::numeric::linalg::{cholesky, solve_lower, solve_upper};
use crate::numeric::real::ln;
use crate::posterior::linear::ascent::MIN_VARIANCE;

/// Degrees of freedom that are compared; the last is nearly a normal law.
const DEGREES: [f64; 4] = [3.0, 5.0, 10.0, 1000.0];
/// Rounds of scales and weights.
const ROUNDS: usize = 20;
/// Rounds of effects and weights.
const REGRESSIONS: usize = 4;
/// Most columns of a regression.
const MOST_COLUMNS: usize = 900;

/// What a single process has beside linear effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum SingleKind {
    /// Innovations with heavy tails.
    HeavyTails,
    /// Effects of products of two variables, and innovations with tails that fit.
    Products,
}

impl SingleKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::HeavyTails, Self::Products];
}

/// Increments of all steps over the root of their lengths, with what may explain them.
struct Rows {
    n_columns: usize,
    /// `[step, column]`.
    columns: Vec<f64>,
    /// `[step, variable]`, `NaN` where a step says nothing.
    added: Vec<f64>,
    n_variables: usize,
}

/// Log density of every step under one process that was fitted to the steps that count; `None` where there is no room for it,
/// or it cannot be computed.
pub fn step_densities(
    known: &KnownPaths<'_>,
    kind: SingleKind,
    counts: &[bool],
) -> Option<Vec<f64>> {
    let rows = Rows::new(known, kind, counts)?;
    let weighted = kind == SingleKind::HeavyTails;
    let residuals = rows.residuals(counts, weighted)?;
    let d = rows.n_variables;
    let mut out = vec![0.0; counts.len()];
    let (own, together) = (own_tails(&residuals, d, counts), shared_tails(&residuals, d, counts));
    let of = |logs: &[f64]| -> f64 {
        logs.iter().zip(counts).filter(|(_, counts)| **counts).map(|(log, _)| log).sum()
    };
    let better = if of(&own) >= of(&together) { own } else { together };
    for (step, (out, log)) in out.iter_mut().zip(better).enumerate() {
        // From increments over the root of the length to increments.
        let n = residuals[step * d..(step + 1) * d].iter().filter(|one| !one.is_nan()).count();
        *out = log - 0.5 * n as f64 * ln(known.steps.lengths[step]);
    }
    Some(out)
}

impl Rows {
    fn new(known: &KnownPaths<'_>, kind: SingleKind, counts: &[bool]) -> Option<Self> {
        let (grid, steps) = (known.grid, known.steps);
        let d = grid.n_variables();
        let n_products = if kind == SingleKind::Products { d * (d + 1) / 2 } else { 0 };
        let n_columns = d + 1 + n_products;
        let n_counted = counts.iter().filter(|counts| **counts).count();
        if n_columns > MOST_COLUMNS || (n_products > 0 && 2 * n_columns > n_counted) {
            return None;
        }
        let (mut columns, mut added) = (Vec::new(), Vec::new());
        for series in &steps.series {
            for step in 0..series.n {
                let (at, point) = (series.first + step, series.first_point + step);
                let (here, next) =
                    (&known.paths[point * d..][..d], &known.paths[(point + 1) * d..][..d]);
                columns.extend_from_slice(here);
                columns.push(1.0);
                if n_products > 0 {
                    for (idx, one) in here.iter().enumerate() {
                        columns.extend(here[idx..].iter().map(|other| one * other));
                    }
                }
                let root = steps.lengths[at].sqrt();
                added.extend((0..d).map(|idx| {
                    if steps.is_silent(at, idx) {
                        return f64::NAN;
                    }
                    (next[idx] - here[idx]) / grid.scales()[idx] / root
                }));
            }
        }
        let mut rows = Self { n_columns, columns, added, n_variables: d };
        rows.standardise(d + 1, counts);
        for (row, length) in rows.columns.chunks_exact_mut(n_columns).zip(&steps.lengths) {
            let root = length.sqrt();
            row.iter_mut().for_each(|value| *value *= root);
        }
        Some(rows)
    }

    /// Mean 0 and variance 1 over the steps that count, for products.
    fn standardise(&mut self, first: usize, counts: &[bool]) {
        let n = counts.iter().filter(|counts| **counts).count().max(1) as f64;
        for column in first..self.n_columns {
            let values = || {
                let own = self.columns.iter().skip(column).step_by(self.n_columns);
                own.zip(counts).filter(|(_, counts)| **counts).map(|(value, _)| *value)
            };
            let mean = values().sum::<f64>() / n;
            let square = values().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
            let scale = square.sqrt() + 1e-9;
            let own = self.columns.iter_mut().skip(column).step_by(self.n_columns);
            own.for_each(|value| *value = (*value - mean) / scale);
        }
    }

    /// What is left of all increments, those of steps that do not count among them, `[step, variable]`.
    fn residuals(&self, counts: &[bool], weighted: bool) -> Option<Vec<f64>> {
        let (d, p) = (self.n_variables, self.n_columns);
        let mut out = vec![f64::NAN; self.added.len()];
        let whole = (0..d).all(|target| !self.has_silent(target, counts));
        let shared = if whole { Some(Factor::new(self, counts, &[], 0)?) } else { None };
        for target in 0..d {
            let mut weights = Vec::new();
            let n_rounds = if weighted { REGRESSIONS } else { 1 };
            for round in 0..n_rounds {
                let own = match &shared {
                    Some(_) if round == 0 => None,
                    _ => Some(Factor::new(self, counts, &weights, target)?),
                };
                let factor = own.as_ref().or(shared.as_ref())?;
                let mut effects = vec![0.0; p];
                for (step, row) in self.counted(target, counts) {
                    let weight = weights.get(step).copied().unwrap_or(1.0);
                    let value = weight * self.added[step * d + target];
                    effects.iter_mut().zip(row).for_each(|(sum, column)| *sum += value * column);
                }
                solve_lower(&factor.lower, p, &mut effects, 1);
                solve_upper(&factor.lower, p, &mut effects, 1);
                // What is fitted is too near to its own rows: by as much as it has freely chosen.
                let n = self.counted(target, counts).count() as f64;
                let stretch = (n / (n - factor.freedom).max(0.5 * n)).sqrt();
                for (step, row) in self.columns.chunks_exact(p).enumerate() {
                    let explained: f64 = row.iter().zip(&effects).map(|(x, w)| x * w).sum();
                    let left = self.added[step * d + target] - explained;
                    let stretch = if counts[step] { stretch } else { 1.0 };
                    out[step * d + target] = stretch * left;
                }
                if round + 1 < n_rounds {
                    let own: Vec<f64> = out.iter().skip(target).step_by(d).copied().collect();
                    weights = Tails::of(&own, counts).weights(&own);
                }
            }
        }
        Some(out)
    }

    fn has_silent(&self, target: usize, counts: &[bool]) -> bool {
        let own = self.added.iter().skip(target).step_by(self.n_variables);
        own.zip(counts).any(|(value, counts)| *counts && value.is_nan())
    }

    /// Steps that count and say something of a target, with their columns.
    fn counted<'a>(
        &'a self,
        target: usize,
        counts: &'a [bool],
    ) -> impl Iterator<Item = (usize, &'a [f64])> {
        let d = self.n_variables;
        let rows = self.columns.chunks_exact(self.n_columns).enumerate();
        rows.filter(move |(step, _)| counts[*step] && !self.added[step * d + target].is_nan())
    }
}

/// The lower factor of X'WX + penalty, and how many columns it leaves free.
struct Factor {
    lower: Vec<f64>,
    freedom: f64,
}

impl Factor {
    fn new(rows: &Rows, counts: &[bool], weights: &[f64], target: usize) -> Option<Self> {
        let (d, p) = (rows.n_variables, rows.n_columns);
        let mut matrix = vec![0.0; p * p];
        for (step, row) in rows.counted(target, counts) {
            let weight = weights.get(step).copied().unwrap_or(1.0);
            for (into, value) in matrix.chunks_exact_mut(p).zip(row) {
                let scaled = weight * value;
                into.iter_mut().zip(row).for_each(|(sum, other)| *sum += scaled * other);
            }
        }
        let [offset, ridge] = PENALTY;
        let penalty = |column: usize| if column == d { offset } else { ridge };
        (0..p).for_each(|column| matrix[column * (p + 1)] += penalty(column));
        let lower = cholesky(&matrix, p)?;
        // tr(M⁻¹ X'WX) = p - Σ penalty (M⁻¹)_kk, with (M⁻¹)_kk the squared length of a column of L⁻¹.
        let mut inverse = vec![0.0; p * p];
        (0..p).for_each(|column| inverse[column * (p + 1)] = 1.0);
        solve_lower(&lower, p, &mut inverse, p);
        let square = |column: usize| -> f64 {
            inverse.iter().skip(column).step_by(p).map(|value| value * value).sum()
        };
        let penalised: f64 = (0..p).map(|column| penalty(column) * square(column)).sum();
        Some(Self { lower, freedom: (p as f64 - penalised).max(0.0) })
    }
}

/// Student's law of one variable.
#[derive(Debug, Clone, Copy)]
struct Tails {
    degrees: f64,
    square: f64,
}

impl Tails {
    /// The most probable one of those compared.
    fn of(residuals: &[f64], counts: &[bool]) -> Self {
        let own: Vec<f64> = (residuals.iter().zip(counts))
            .filter(|(value, counts)| **counts && !value.is_nan())
            .map(|(value, _)| *value)
            .collect();
        let fitted = |degrees: f64| {
            let mut law = Self { degrees, square: 1.0 };
            for _ in 0..ROUNDS {
                let sum: f64 = own.iter().map(|one| law.weight(*one) * one * one).sum();
                let n = own.len() as f64 + PRIOR_STEPS;
                law.square = ((sum + PRIOR_STEPS) / n).max(MIN_VARIANCE);
            }
            law
        };
        let log = |law: &Self| own.iter().map(|one| law.log_density(&[*one])).sum::<f64>();
        best(DEGREES.map(fitted), log)
    }

    fn weight(&self, residual: f64) -> f64 {
        (self.degrees + 1.0) / (self.degrees + residual * residual / self.square)
    }

    fn weights(&self, residuals: &[f64]) -> Vec<f64> {
        residuals.iter().map(|one| if one.is_nan() { 1.0 } else { self.weight(*one) }).collect()
    }

    /// Of values that share this scale and one draw of the tails.
    fn log_density(&self, values: &[f64]) -> f64 {
        let squares: f64 = values.iter().map(|value| value * value / self.square).sum();
        let n = values.len() as f64;
        student(self.degrees, n, squares) - 0.5 * n * ln(self.square)
    }
}

/// Log density of Student's law of n variables of scale 1, from the sum of their squares.
fn student(degrees: f64, n: f64, squares: f64) -> f64 {
    libm::lgamma(0.5 * (degrees + n))
        - libm::lgamma(0.5 * degrees)
        - 0.5 * n * ln(std::f64::consts::PI * degrees)
        - 0.5 * (degrees + n) * ln(1.0 + squares / degrees)
}

/// The first with the highest number.
fn best<T, const N: usize>(all: [T; N], number: impl Fn(&T) -> f64) -> T {
    let mut all = all.into_iter();
    let first = all.next().expect("there is something to compare");
    let start = (number(&first), first);
    let better = |best: (f64, T), next: T| {
        let own = number(&next);
        if own > best.0 { (own, next) } else { best }
    };
    all.fold(start, better).1
}

/// Log density of every step with tails of each variable's own.
fn own_tails(residuals: &[f64], d: usize, counts: &[bool]) -> Vec<f64> {
    let mut out = vec![0.0; counts.len()];
    for target in 0..d {
        let own: Vec<f64> = residuals.iter().skip(target).step_by(d).copied().collect();
        let law = Tails::of(&own, counts);
        for (out, value) in out.iter_mut().zip(&own).filter(|(_, value)| !value.is_nan()) {
            *out += law.log_density(&[*value]);
        }
    }
    out
}

/// Log density of every step whose variables are wild together.
fn shared_tails(residuals: &[f64], d: usize, counts: &[bool]) -> Vec<f64> {
    let rows = || residuals.chunks_exact(d).zip(counts);
    let n_own =
        |idx: usize| rows().filter(|(row, counts)| **counts && !row[idx].is_nan()).count() as f64;
    let numbers: Vec<f64> = (0..d).map(n_own).collect();
    let squares_of = |row: &[f64], scales: &[f64]| -> [f64; 2] {
        let known = row.iter().zip(scales).filter(|(value, _)| !value.is_nan());
        known.fold([0.0; 2], |[n, sum], (value, scale)| [n + 1.0, sum + value * value / scale])
    };
    let log = |row: &[f64], degrees: f64, scales: &[f64]| {
        let [n, squares] = squares_of(row, scales);
        let known = row.iter().zip(scales).filter(|(value, _)| !value.is_nan());
        let constant: f64 = known.map(|(_, scale)| 0.5 * ln(*scale)).sum();
        if n == 0.0 { 0.0 } else { student(degrees, n, squares) - constant }
    };
    let fitted = |degrees: f64| {
        let mut scales = vec![1.0; d];
        for _ in 0..ROUNDS {
            let mut sums = vec![PRIOR_STEPS; d];
            for (row, _) in rows().filter(|(_, counts)| **counts) {
                let [n, squares] = squares_of(row, &scales);
                let weight = (degrees + n) / (degrees + squares);
                let known = sums.iter_mut().zip(row).filter(|(_, value)| !value.is_nan());
                known.for_each(|(sum, value)| *sum += weight * value * value);
            }
            let next = sums.iter().zip(&numbers);
            scales = next.map(|(sum, n)| (sum / (n + PRIOR_STEPS)).max(MIN_VARIANCE)).collect();
        }
        (degrees, scales)
    };
    let total = |(degrees, scales): &(f64, Vec<f64>)| {
        rows().filter(|(_, counts)| **counts).map(|(row, _)| log(row, *degrees, scales)).sum()
    };
    let (degrees, scales) = best(DEGREES.map(fitted), total);
    residuals.chunks_exact(d).map(|row| log(row, degrees, &scales)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, RandomStream};

    #[test]
    fn students_law_is_normal_for_many_degrees_and_has_its_known_values() {
        // Cauchy at 0 and 1: 1 / pi and 1 / (2 pi).
        let pi = std::f64::consts::PI;
        assert!((student(1.0, 1.0, 0.0) + pi.ln()).abs() < 1e-12);
        assert!((student(1.0, 1.0, 1.0) + (2.0 * pi).ln()).abs() < 1e-12);
        let normal = -(2.0 * pi).ln() - 1.0;
        assert!((student(1e6, 2.0, 2.0) - normal).abs() < 1e-5);
    }

    #[test]
    fn tails_are_told_apart() {
        let mut random = RandomStream::new(3, Purpose::System, 0);
        let normal: Vec<f64> = (0..2000).map(|_| 0.5 * random.normal()).collect();
        let counts = vec![true; normal.len()];
        let law = Tails::of(&normal, &counts);
        assert!(law.degrees >= 10.0, "{law:?}");
        assert!((law.square - 0.25).abs() < 0.06, "{law:?}");
        // Student's law with 3 degrees: a normal number over the root of a mean of three squares.
        let wild: Vec<f64> = (0..2000)
            .map(|_| {
                let mean = (0..3).map(|_| random.normal().powi(2)).sum::<f64>() / 3.0;
                random.normal() / mean.sqrt()
            })
            .collect();
        let law = Tails::of(&wild, &counts);
        assert!(law.degrees <= 5.0, "{law:?}");
        assert!((law.square - 1.0).abs() < 0.3, "{law:?}");
    }
}
