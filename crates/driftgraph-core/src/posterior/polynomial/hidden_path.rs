//! The hidden path of a whole series under a drift that is known: every cell that was measured constrains it.
//!
//! A Gauss-Newton step of the path is a Kalman smoother of the process linearised around it (Bell 1994,
//! doi:10.1137/0804035): with p the path, z_{k+1} = p_{k+1} + T_k (z_k - p_k) + R_k (w_k - e_k), where w_k has the variance of
//! the noise over the sub-step.

use super::library::Library;
use super::tangent::Drift;
use crate::numeric::linalg::log_det_and_inverse;

/// Steps of the path at most.
const N_ROUNDS: usize = 15;
/// A path that moves by less, in deviations, has arrived.
const ARRIVED: f64 = 1e-4;
/// Lengths tried along a step, each so much shorter than the one before.
const N_LENGTHS: usize = 5;
const SHORTER: f64 = 0.4;

/// A process whose terms are known, on standardised values.
#[derive(Debug, Clone, Copy)]
pub struct KnownProcess<'a> {
    /// Its monomials.
    pub library: &'a Library,
    /// Their coefficients, `[term, target]`.
    pub theta: &'a [f64],
    /// Variance of the noise per unit of time.
    pub noise: &'a [f64],
    /// Variance of what is measured around the state.
    pub measurement: &'a [f64],
}

/// One series on its grid.
#[derive(Debug, Clone)]
pub struct GridSeries {
    /// Lengths of the sub-steps, in units of time.
    pub steps: Vec<f64>,
    /// What was measured at each point, `[point, variable]`; `NaN` where nothing was.
    pub observed: Vec<f64>,
    /// Where the path begins its search, `[point, variable]`.
    pub start: Vec<f64>,
}

/// The law of a path, `[point, variable]`.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct HiddenPath {
    /// Means.
    pub means: Vec<f64>,
    /// Variances.
    pub variances: Vec<f64>,
    /// Covariance of each point with the next, variable by variable; 0 for the last.
    pub with_next: Vec<f64>,
}

/// A sub-step linearised around the path, `[row, column]` with the target as the row.
struct Transition {
    /// T.
    carry: Vec<f64>,
    /// -R e.
    offset: Vec<f64>,
    /// h R diag(q) R'.
    noise: Vec<f64>,
}

/// Mean and covariance of the deviation from the path.
#[derive(Clone)]
struct Moments {
    mean: Vec<f64>,
    covariance: Vec<f64>,
}

impl KnownProcess<'_> {
    /// The law of the hidden path; `None` where it cannot be computed.
    pub fn hidden_path(&self, series: &GridSeries) -> Option<HiddenPath> {
        let mut path = series.start.clone();
        let mut before = self.cost(series, &path);
        let mut smoothed = self.smoothed(series, &path)?;
        for _ in 0..N_ROUNDS {
            let change: Vec<f64> = smoothed.means.iter().zip(&path).map(|(a, b)| a - b).collect();
            let largest = change.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
            if largest < ARRIVED {
                break;
            }
            let Some((moved, cost)) = self.along(series, &path, &change, before) else { break };
            (path, before) = (moved, cost);
            smoothed = self.smoothed(series, &path)?;
        }
        // Around the last path, which may be a little better than the smoothed mean where the search was stopped.
        smoothed.means = path;
        let HiddenPath { means, variances, with_next } = &smoothed;
        let mut all = means.iter().chain(variances).chain(with_next);
        all.all(|value| value.is_finite()).then_some(smoothed)
    }

    fn along(
        &self,
        series: &GridSeries,
        path: &[f64],
        change: &[f64],
        before: f64,
    ) -> Option<(Vec<f64>, f64)> {
        let mut length = 1.0;
        for _ in 0..N_LENGTHS {
            let moved: Vec<f64> = path.iter().zip(change).map(|(a, b)| a + length * b).collect();
            let cost = self.cost(series, &moved);
            if cost < before {
                return Some((moved, cost));
            }
            length *= SHORTER;
        }
        None
    }

    /// Twice the negative log density of path and measurements, up to what does not depend on the path.
    fn cost(&self, series: &GridSeries, path: &[f64]) -> f64 {
        let n = self.noise.len();
        let drift = Drift { library: self.library, theta: self.theta };
        let mut sum = path[..n].iter().map(|value| value * value).sum::<f64>();
        for (observed, state) in series.observed.chunks_exact(n).zip(path.chunks_exact(n)) {
            for ((observed, state), variance) in observed.iter().zip(state).zip(self.measurement) {
                if !observed.is_nan() {
                    sum += (observed - state).powi(2) / variance;
                }
            }
        }
        for (step, &length) in series.steps.iter().enumerate() {
            let residual = drift.residual_of(&path[step * n..(step + 2) * n], length);
            let squares = residual.iter().zip(self.noise).map(|(e, q)| e * e / (q * length));
            sum += squares.sum::<f64>();
        }
        if sum.is_nan() { f64::INFINITY } else { sum }
    }

    /// One Kalman smoother around a path.
    fn smoothed(&self, series: &GridSeries, path: &[f64]) -> Option<HiddenPath> {
        let n = self.noise.len();
        let n_points = series.steps.len() + 1;
        let transitions: Option<Vec<Transition>> = (series.steps.iter().enumerate())
            .map(|(step, &length)| self.transition(&path[step * n..(step + 2) * n], length))
            .collect();
        let transitions = transitions?;
        // Standardised states have mean 0 and variance 1.
        let mut now = Moments {
            mean: path[..n].iter().map(|value| -value).collect(),
            covariance: crate::numeric::linalg::identity(n),
        };
        let mut filtered: Vec<Moments> = Vec::with_capacity(n_points);
        let mut predicted: Vec<Moments> = Vec::with_capacity(n_points);
        for point in 0..n_points {
            if point > 0 {
                now = transitions[point - 1].ahead(&filtered[point - 1], n);
            }
            predicted.push(now.clone());
            let range = point * n..(point + 1) * n;
            now.observe(&series.observed[range.clone()], &path[range], self.measurement);
            filtered.push(now.clone());
        }
        let mut out = HiddenPath {
            means: vec![0.0; n_points * n],
            variances: vec![0.0; n_points * n],
            with_next: vec![0.0; n_points * n],
        };
        let mut later = now;
        out.set(n_points - 1, path, &later);
        for point in (0..n_points - 1).rev() {
            let step = &transitions[point];
            let gain = gain(&filtered[point], step, &predicted[point + 1], n)?;
            let (moments, with_next) =
                filtered[point].given_next(&gain, step, &predicted[point + 1].mean, &later);
            out.with_next[point * n..(point + 1) * n].copy_from_slice(&with_next);
            later = moments;
            out.set(point, path, &later);
        }
        Some(out)
    }

    fn transition(&self, ends: &[f64], length: f64) -> Option<Transition> {
        let n = self.noise.len();
        let drift = Drift { library: self.library, theta: self.theta };
        let middle: Vec<f64> =
            ends[..n].iter().zip(&ends[n..]).map(|(a, b)| 0.5 * (a + b)).collect();
        let mut values = vec![0.0; self.library.n_terms()];
        let mut jacobian = vec![0.0; n * n];
        self.library.values_into(&middle, &mut values);
        self.library.jacobian_into(&values, self.theta, &mut jacobian);
        // I - h A / 2 with the target as the row.
        let mut matrix = vec![0.0; n * n];
        for row in 0..n {
            for col in 0..n {
                let own = f64::from(u8::from(row == col));
                matrix[row * n + col] = own - 0.5 * length * jacobian[col * n + row];
            }
        }
        let inverse = log_det_and_inverse(&matrix, n)?.1;
        let residual = drift.residual_of(ends, length);
        let offset = (inverse.chunks_exact(n))
            .map(|row| -row.iter().zip(&residual).map(|(a, b)| a * b).sum::<f64>())
            .collect();
        let mut noise = vec![0.0; n * n];
        for row in 0..n {
            for col in 0..n {
                let terms = (0..n)
                    .map(|k| inverse[row * n + k] * inverse[col * n + k] * self.noise[k] * length);
                noise[row * n + col] = terms.sum();
            }
        }
        let mut carry = inverse;
        carry.iter_mut().for_each(|entry| *entry *= 2.0);
        carry.iter_mut().step_by(n + 1).for_each(|entry| *entry -= 1.0);
        Some(Transition { carry, offset, noise })
    }
}

impl Transition {
    fn ahead(&self, from: &Moments, n: usize) -> Moments {
        let mut mean = self.offset.clone();
        for (sum, row) in mean.iter_mut().zip(self.carry.chunks_exact(n)) {
            *sum += row.iter().zip(&from.mean).map(|(a, b)| a * b).sum::<f64>();
        }
        let carried = times(&self.carry, &from.covariance, n);
        let mut covariance = times_transposed(&carried, &self.carry, n);
        covariance.iter_mut().zip(&self.noise).for_each(|(sum, own)| *sum += own);
        symmetrise(&mut covariance, n);
        Moments { mean, covariance }
    }
}

impl Moments {
    /// Takes in the cells of a row, one after the other.
    fn observe(&mut self, observed: &[f64], path: &[f64], variances: &[f64]) {
        let n = observed.len();
        for idx in (0..n).filter(|&idx| !observed[idx].is_nan()) {
            let column: Vec<f64> = (0..n).map(|row| self.covariance[row * n + idx]).collect();
            let total = column[idx] + variances[idx];
            let gap = observed[idx] - path[idx] - self.mean[idx];
            for row in 0..n {
                let gain = column[row] / total;
                self.mean[row] += gain * gap;
                for col in 0..n {
                    self.covariance[row * n + col] -= gain * column[col];
                }
            }
        }
    }

    /// The moments given those of the next point, and the covariance of each variable with its next value.
    ///
    /// As (I - G T) P (I - G T)' + G (P of the next + Q) G', whose parts are all positive: where there is hardly any noise,
    /// the shorter P + G (P of the next - P as predicted) G' is a difference of numbers that agree in every digit.
    fn given_next(
        &self,
        gain: &[f64],
        step: &Transition,
        predicted: &[f64],
        later: &Moments,
    ) -> (Self, Vec<f64>) {
        let n = self.mean.len();
        let gap: Vec<f64> = later.mean.iter().zip(predicted).map(|(a, b)| a - b).collect();
        let mut mean = self.mean.clone();
        for (sum, row) in mean.iter_mut().zip(gain.chunks_exact(n)) {
            *sum += row.iter().zip(&gap).map(|(a, b)| a * b).sum::<f64>();
        }
        let mut left: Vec<f64> = times(gain, &step.carry, n).iter().map(|entry| -entry).collect();
        left.iter_mut().step_by(n + 1).for_each(|entry| *entry += 1.0);
        let own = times_transposed(&times(&left, &self.covariance, n), &left, n);
        let next: Vec<f64> = later.covariance.iter().zip(&step.noise).map(|(a, b)| a + b).collect();
        let passed_on = times_transposed(&times(gain, &next, n), gain, n);
        let mut covariance: Vec<f64> = own.iter().zip(&passed_on).map(|(a, b)| a + b).collect();
        symmetrise(&mut covariance, n);
        let crossed = times(gain, &later.covariance, n);
        let with_next = crossed.iter().step_by(n + 1).copied().collect();
        (Self { mean, covariance }, with_next)
    }
}

impl HiddenPath {
    /// A path that is known but for a variance.
    pub fn known(means: Vec<f64>, variance: f64) -> Self {
        let n = means.len();
        Self { means, variances: vec![variance; n], with_next: vec![0.0; n] }
    }

    fn set(&mut self, point: usize, path: &[f64], moments: &Moments) {
        let n = moments.mean.len();
        for idx in 0..n {
            self.means[point * n + idx] = path[point * n + idx] + moments.mean[idx];
            self.variances[point * n + idx] = moments.covariance[idx * (n + 1)].max(0.0);
        }
    }
}

/// P T' (P of the next point)^-1.
fn gain(from: &Moments, step: &Transition, next: &Moments, n: usize) -> Option<Vec<f64>> {
    let carried = times_transposed(&from.covariance, &step.carry, n);
    let inverse = log_det_and_inverse(&next.covariance, n)?.1;
    Some(times(&carried, &inverse, n))
}

/// Rounding must not leave a covariance that differs from its transpose: measurements do not shrink the difference, and a
/// process that spreads in two directions makes it grow without end.
fn symmetrise(covariance: &mut [f64], n: usize) {
    for row in 0..n {
        for col in 0..row {
            let mean = 0.5 * (covariance[row * n + col] + covariance[col * n + row]);
            (covariance[row * n + col], covariance[col * n + row]) = (mean, mean);
        }
    }
}

fn times(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for (out, a) in out.chunks_exact_mut(n).zip(a.chunks_exact(n)) {
        for (weight, row) in a.iter().zip(b.chunks_exact(n)) {
            out.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
        }
    }
    out
}

/// a b'.
fn times_transposed(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(n * n);
    for a in a.chunks_exact(n) {
        out.extend(b.chunks_exact(n).map(|b| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_spreads_leaves_no_path_without_a_law() {
        // A spiral that grows by a factor of e in each gap, measured as 0 in all of its 300 rows.
        let library = Library::new(2, 1);
        let theta = [0.0, 0.0, 1.0, 1.3, -0.7, 1.0];
        let process = KnownProcess {
            library: &library,
            theta: &theta,
            noise: &[0.1, 0.1],
            measurement: &[1e-6, 1e-6],
        };
        let (n_rows, n_steps) = (300, 5);
        let n_points = (n_rows - 1) * n_steps + 1;
        let observed =
            (0..n_points).flat_map(|point| [if point % n_steps == 0 { 0.0 } else { f64::NAN }; 2]);
        let series = GridSeries {
            steps: vec![1.0 / n_steps as f64; n_points - 1],
            observed: observed.collect(),
            start: vec![0.0; 2 * n_points],
        };
        let path = process.hidden_path(&series).unwrap();
        for (point, variances) in path.variances.chunks_exact(2).enumerate() {
            let is_row = point % n_steps == 0;
            for &variance in variances {
                // Between two rows a variable can be anywhere within what noise makes of half a gap.
                assert!(if is_row { variance <= 1e-6 } else { (1e-3..0.1).contains(&variance) });
            }
        }
    }

    /// dx = -x dt + dw as a library of two terms.
    fn decay(library: &Library) -> KnownProcess<'_> {
        KnownProcess { library, theta: &[0.0, -1.0], noise: &[2.0], measurement: &[1e-6] }
    }

    #[test]
    fn between_two_measurements_a_linear_path_is_the_known_bridge() {
        let library = Library::new(1, 1);
        let (n, span) = (40, 1.0);
        let mut observed = vec![f64::NAN; n + 1];
        (observed[0], observed[n]) = (1.0, -0.5);
        let series =
            GridSeries { steps: vec![span / n as f64; n], observed, start: vec![0.0; n + 1] };
        let path = decay(&library).hidden_path(&series).unwrap();
        // For rate 1 and noise 2 the middle has mean (a + b) sinh(1/2) / sinh(1) and variance
        // sinh(1/2)^2 / sinh(1) times 2.
        let half = 0.5_f64.sinh() / 1.0_f64.sinh();
        // The midpoint rule in steps of 1/40 is off by its square.
        assert!((path.means[n / 2] - 0.5 * half).abs() < 2e-4, "{}", path.means[n / 2]);
        let variance = 2.0 * 0.5_f64.sinh() * half;
        assert!((path.variances[n / 2] / variance - 1.0).abs() < 1e-3);
        assert!(path.variances[0] < 2e-6 && path.with_next[n / 2] > 0.0);
    }

    #[test]
    fn a_variable_that_was_never_measured_follows_from_the_other() {
        // dx_0 = x_1 dt: the slope of the measured one is the other.
        let library = Library::new(2, 1);
        let theta = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let process = KnownProcess {
            library: &library,
            theta: &theta,
            noise: &[1e-4, 1e-2],
            measurement: &[1e-6, 1e-6],
        };
        let observed = (0..21).flat_map(|row| [0.05 * f64::from(row), f64::NAN]).collect();
        let series = GridSeries { steps: vec![0.1; 20], observed, start: vec![0.0; 42] };
        let path = process.hidden_path(&series).unwrap();
        // 0.05 in a tenth of a unit: a slope of a half, known within a deviation of about (1e-4 1e-2)^(1/4) = 0.03.
        assert!((path.means[21] - 0.5).abs() < 0.02, "{}", path.means[21]);
    }
}
