//! The whole path of the lasso by least angle regression.
//!
//! Efron, Hastie, Johnstone and Tibshirani (2004), doi:10.1214/009053604000000067.

/// Where the path ends although variables are left.
const SMALLEST_PENALTY: f64 = 1.2e-7;
/// A variable that others explain so well is passed over.
const SMALLEST_PIVOT: f64 = 1e-7;
/// Keeps divisions finite without changing any number of the size of data.
const TINY: f64 = f64::MIN_POSITIVE;

/// Second moments of centred data: sums over rows, not means.
pub(super) struct Moments<'a> {
    /// Number of regressors.
    pub(super) size: usize,
    /// `[regressor, regressor]`.
    pub(super) gram: &'a [f64],
    /// Of each regressor with the target.
    pub(super) cross: &'a [f64],
    pub(super) n_rows: f64,
}

/// A point of the path at which a variable enters or leaves.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Knot {
    /// The penalty of (1/2n) |y - X b|² + alpha |b|₁.
    pub(super) alpha: f64,
    pub(super) coefficients: Vec<f64>,
}

/// All knots, from the penalty at which nothing enters to the end.
pub(super) fn lasso_path(moments: &Moments<'_>) -> Vec<Knot> {
    let mut path = Path::new(moments);
    let mut knots = Vec::new();
    // Each step lets a variable in or out; drops are rare, so this is far beyond any path.
    for _ in 0..20 * moments.size + 20 {
        let correlation = path.largest_correlation();
        let alpha = correlation.map_or(0.0, |(_, size)| size) / moments.n_rows;
        knots.push(Knot { alpha, coefficients: path.coefficients.clone() });
        let Some((entering, size)) = correlation.filter(|_| alpha > SMALLEST_PENALTY) else {
            break;
        };
        if !path.dropped && !path.enter(entering) {
            knots.pop();
            continue;
        }
        path.step(size);
    }
    knots
}

struct Path<'a> {
    moments: &'a Moments<'a>,
    coefficients: Vec<f64>,
    /// Correlations of all variables with what is left of the target.
    correlations: Vec<f64>,
    active: Vec<usize>,
    /// Cholesky's factor of the moments of the active variables, by rows.
    factor: Vec<Vec<f64>>,
    /// Whether a variable may still enter.
    waits: Vec<bool>,
    /// Whether the last step ended where a coefficient reached zero.
    dropped: bool,
}

impl<'a> Path<'a> {
    fn new(moments: &'a Moments<'a>) -> Self {
        Self {
            moments,
            coefficients: vec![0.0; moments.size],
            correlations: moments.cross.to_vec(),
            active: Vec::new(),
            factor: Vec::new(),
            waits: vec![true; moments.size],
            dropped: false,
        }
    }

    fn gram(&self, one: usize, other: usize) -> f64 {
        self.moments.gram[one * self.moments.size + other]
    }

    /// The variable outside with the largest absolute correlation, the first of equal ones.
    fn largest_correlation(&self) -> Option<(usize, f64)> {
        let mut largest: Option<(usize, f64)> = None;
        for idx in (0..self.moments.size).filter(|&idx| self.waits[idx]) {
            let size = self.correlations[idx].abs();
            if largest.is_none_or(|(_, best)| size > best) {
                largest = Some((idx, size));
            }
        }
        largest
    }

    /// Lets a variable in, unless those inside explain it.
    fn enter(&mut self, variable: usize) -> bool {
        self.waits[variable] = false;
        let row = self.factor_row(variable);
        if row.last().is_none_or(|pivot| *pivot < SMALLEST_PIVOT) {
            return false;
        }
        self.active.push(variable);
        self.factor.push(row);
        true
    }

    /// The next row of the factor, for a variable after the active ones.
    fn factor_row(&self, variable: usize) -> Vec<f64> {
        let size = self.factor.len();
        let mut row = Vec::with_capacity(size + 1);
        for (column, above) in self.factor.iter().enumerate() {
            let explained: f64 = row.iter().zip(above).map(|(a, b): (&f64, &f64)| a * b).sum();
            row.push((self.gram(variable, self.active[column]) - explained) / above[column]);
        }
        let explained: f64 = row.iter().map(|entry| entry * entry).sum();
        row.push((self.gram(variable, variable) - explained).max(0.0).sqrt());
        row
    }

    /// Lets an active variable out; it may come back.
    fn leave(&mut self, place: usize) {
        let variable = self.active.remove(place);
        self.coefficients[variable] = 0.0;
        self.waits[variable] = true;
        let behind = self.active.split_off(place);
        self.factor.truncate(place);
        for variable in behind {
            let row = self.factor_row(variable);
            self.active.push(variable);
            self.factor.push(row);
        }
    }

    /// The direction in which all active correlations shrink at the same rate, and that rate.
    fn direction(&self) -> (Vec<f64>, f64) {
        let factor = &self.factor;
        let size = self.active.len();
        let signs: Vec<f64> =
            self.active.iter().map(|&idx| self.correlations[idx].signum()).collect();
        let mut weights = signs.clone();
        for row in 0..size {
            let before: f64 = (0..row).map(|k| factor[row][k] * weights[k]).sum();
            weights[row] = (weights[row] - before) / factor[row][row];
        }
        for row in (0..size).rev() {
            let after: f64 = (row + 1..size).map(|k| factor[k][row] * weights[k]).sum();
            weights[row] = (weights[row] - after) / factor[row][row];
        }
        let rate = 1.0 / weights.iter().zip(&signs).map(|(a, b)| a * b).sum::<f64>().sqrt();
        weights.iter_mut().for_each(|weight| *weight *= rate);
        (weights, rate)
    }

    /// How fast the correlation of each variable changes in a direction.
    fn moved(&self, weights: &[f64]) -> Vec<f64> {
        let of = |idx: usize| {
            let active = self.active.iter().zip(weights);
            active.map(|(&other, weight)| self.gram(idx, other) * weight).sum()
        };
        (0..self.moments.size).map(of).collect()
    }

    /// Moves until a variable wants in, a coefficient reaches zero, or nothing is left to explain.
    fn step(&mut self, correlation: f64) {
        let (weights, rate) = self.direction();
        let moved = self.moved(&weights);
        let mut length = correlation / rate;
        for idx in (0..self.moments.size).filter(|&idx| self.waits[idx]) {
            let (own, change) = (self.correlations[idx], moved[idx]);
            for until in [
                (correlation - own) / (rate - change + TINY),
                (correlation + own) / (rate + change + TINY),
            ] {
                if until > 0.0 {
                    length = length.min(until);
                }
            }
        }
        let leaving = (self.active.iter().zip(&weights).enumerate())
            .map(|(place, (&idx, weight))| (place, -self.coefficients[idx] / (weight + TINY)))
            .filter(|(_, until)| *until > 0.0 && *until < length)
            .min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((_, until)) = leaving {
            length = until;
        }
        for (&idx, weight) in self.active.iter().zip(&weights) {
            self.coefficients[idx] += length * weight;
        }
        for (own, change) in self.correlations.iter_mut().zip(&moved) {
            *own -= length * change;
        }
        self.dropped = leaving.is_some();
        if let Some((place, _)) = leaving {
            self.leave(place);
        }
    }
}
