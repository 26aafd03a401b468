//! One gap linearised around its path: how the row at its end depends on terms, noise and path.
//!
//! With midpoints m_k of K sub-steps of length h and A_k = ∂f/∂u there: e_k = z_{k+1} - z_k - h f(m_k) is what a
//! sub-step leaves unexplained, R_k = (I - h A_k / 2)^-1 and T_k = 2 R_k - I carry a change through it, N_k carries e_k
//! to the end of the gap. Then ρ = Σ N_k e_k has covariance P = Σ h N_k diag(q) N_k'. Matrices are kept transposed,
//! row = source, since that is how the derivatives of the library come.

#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined is not compiled for the wide instructions"
)]

use rayon::prelude::*;

use super::descent::FREEDOM;
use super::gaps::Gap;
use super::library::Library;
use crate::numeric::kernels::{View, add_scaled, dot, product, vectorised};
use crate::numeric::linalg::{cholesky, log_det_and_inverse};
use crate::numeric::real::{ln, ln_1p};
use crate::numeric::small::{add_weighted_rows, inverse_of_lower, invert, multiply};

/// No state of a path moves by more than this in a step, in deviations.
const LARGEST_MOVE: f64 = 1.0;
/// Lengths tried along a step of a path, each so much shorter than the one before.
const N_LENGTHS: usize = 4;
const SHORTER: f64 = 0.4;
/// Rounds of Newton's iteration for the nearest orthogonal matrix: each doubles the number of right digits.
const N_TURNS: usize = 10;
/// Share of its own diagonal that is added to P, so that it can always be factored.
const JITTER: f64 = 1e-6;

/// What does not depend on the noise.
#[derive(Debug, Clone)]
pub struct Tangent {
    /// φ_f(m_k), `[step, term]`.
    pub values: Vec<f64>,
    /// e_k, `[step, target]`.
    pub residuals: Vec<f64>,
    /// R_k', `[step, row, column]`.
    carried: Vec<f64>,
    /// N_k', `[step, row, column]`.
    pub to_end: Vec<f64>,
    /// ρ.
    pub rho: Vec<f64>,
}

/// The law of ρ under one noise.
#[derive(Debug, Clone)]
pub struct Weighed {
    /// L^-1 of P = L L'.
    inverse_factor: Vec<f64>,
    /// (L^-1 N_k)', `[step, row, column]`.
    pub white: Vec<f64>,
    /// N_k' P^-1 ρ, `[step, target]`.
    pub pulls: Vec<f64>,
    /// L^-1 ρ.
    pub white_rho: Vec<f64>,
    /// ρ' P^-1 ρ.
    pub distance: f64,
    /// log|P| / 2.
    pub half_log_det: f64,
}

/// θ `[term, target]` of a library, as paths see it.
#[derive(Debug, Clone, Copy)]
pub struct Drift<'a> {
    /// The monomials.
    pub library: &'a Library,
    /// Their coefficients.
    pub theta: &'a [f64],
}

impl Drift<'_> {
    /// e of one sub-step between two states that stand behind each other.
    pub fn residual_of(&self, ends: &[f64], length: f64) -> Vec<f64> {
        let (here, next) = ends.split_at(ends.len() / 2);
        let middle: Vec<f64> = here.iter().zip(next).map(|(a, b)| 0.5 * (a + b)).collect();
        let mut residual: Vec<f64> = next.iter().zip(here).map(|(a, b)| a - b).collect();
        let mut values = vec![0.0; self.library.n_terms()];
        self.library.values_into(&middle, &mut values);
        for (value, theta) in values.iter().zip(self.theta.chunks_exact(residual.len())) {
            add_scaled(&mut residual, -length * value, theta);
        }
        residual
    }

    /// Σ_k e_k' diag(q)^-1 e_k / h of a path `[step + 1, variable]`; infinite where it is not a number.
    pub fn cost(&self, gap: &Gap, path: &[f64], noise: &[f64]) -> f64 {
        let n = self.library.n_variables();
        let mut values = vec![0.0; gap.n_steps * self.library.n_terms()];
        let mut residuals = vec![0.0; gap.n_steps * n];
        self.residuals(gap, path, &mut values, &mut residuals);
        let squares = |row: &[f64]| -> f64 {
            row.iter().zip(noise).map(|(residual, q)| residual * residual / q).sum()
        };
        let cost = residuals.chunks_exact(n).map(squares).sum::<f64>() / gap.step();
        if cost.is_nan() { f64::INFINITY } else { cost }
    }

    /// The best path along a step, that without it among them.
    pub fn along(&self, gap: &Gap, path: &[f64], step: &[f64], noise: &[f64]) -> Vec<f64> {
        let largest = step.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        if !(largest > 0.0 && largest.is_finite()) {
            return path.to_vec();
        }
        let mut length = (LARGEST_MOVE / largest).min(1.0);
        let before = self.cost(gap, path, noise);
        for _ in 0..N_LENGTHS {
            let moved: Vec<f64> =
                path.iter().zip(step).map(|(at, step)| at + length * step).collect();
            if self.cost(gap, &moved, noise) < before {
                return moved;
            }
            length *= SHORTER;
        }
        path.to_vec()
    }

    /// φ at all midpoints, and e of all sub-steps.
    fn residuals(&self, gap: &Gap, path: &[f64], values: &mut [f64], residuals: &mut [f64]) {
        let (n, n_terms) = (self.library.n_variables(), self.library.n_terms());
        let mut midpoint = vec![0.0; n];
        for (step, values) in values.chunks_exact_mut(n_terms).enumerate() {
            let (here, next) = path[step * n..(step + 2) * n].split_at(n);
            for (middle, (a, b)) in midpoint.iter_mut().zip(here.iter().zip(next)) {
                *middle = 0.5 * (a + b);
            }
            self.library.values_into(&midpoint, values);
        }
        self.slopes(values, residuals);
        let (length, moves) = (gap.step(), path.iter().zip(&path[n..]));
        for (residual, (here, next)) in residuals.iter_mut().zip(moves) {
            *residual = next - here - length * *residual;
        }
    }

    /// f at states with these values of the terms, `[state, target]`.
    fn slopes(&self, values: &[f64], slopes: &mut [f64]) {
        let (n, n_terms) = (self.library.n_variables(), self.library.n_terms());
        let values = View::new(values, values.len() / n_terms, n_terms);
        product(slopes, n, values, View::new(self.theta, n_terms, n));
    }

    /// The gap around a path; `None` where a step is so long that its equation has no solution.
    pub fn tangent(&self, gap: &Gap, path: &[f64]) -> Option<Tangent> {
        let (n, n_terms, n_steps) =
            (self.library.n_variables(), self.library.n_terms(), gap.n_steps);
        let mut values = vec![0.0; n_steps * n_terms];
        let mut residuals = vec![0.0; n_steps * n];
        self.residuals(gap, path, &mut values, &mut residuals);
        let mut carried = vec![0.0; n_steps * n * n];
        let mut to_end = vec![0.0; n_steps * n * n];
        let mut rho = vec![0.0; n];
        vectorised(
            #[inline(always)]
            || {
                self.carry(&values, gap.step(), &mut carried)?;
                let mut onward = vec![0.0; n * n];
                onward.iter_mut().step_by(n + 1).for_each(|entry| *entry = 1.0);
                for step in (0..n_steps).rev() {
                    let own = &mut to_end[step * n * n..][..n * n];
                    multiply(own, &carried[step * n * n..][..n * n], &onward, n);
                    // M_k = M_{k+1} T_k = 2 N_k - M_{k+1}.
                    for (onward, own) in onward.iter_mut().zip(&*own) {
                        *onward = 2.0 * own - *onward;
                    }
                    add_weighted_rows(&mut rho, &residuals[step * n..][..n], own);
                }
                Some(())
            },
        )?;
        rho.iter().all(|value| value.is_finite()).then_some(())?;
        Some(Tangent { values, residuals, carried, to_end, rho })
    }

    /// All gaps around their paths.
    pub(super) fn tangents(&self, gaps: &[Gap], paths: &[Vec<f64>]) -> Option<Vec<Tangent>> {
        gaps.par_iter().zip(paths).map(|(gap, path)| self.tangent(gap, path)).collect()
    }

    /// R_k' of all sub-steps.
    #[inline(always)]
    fn carry(&self, values: &[f64], length: f64, carried: &mut [f64]) -> Option<()> {
        let n = self.library.n_variables();
        let mut pivots = vec![0; n];
        let values = values.chunks_exact(self.library.n_terms());
        for (matrix, values) in carried.chunks_exact_mut(n * n).zip(values) {
            self.library.jacobian_into(values, self.theta, matrix);
            matrix.iter_mut().for_each(|entry| *entry *= -0.5 * length);
            matrix.iter_mut().step_by(n + 1).for_each(|entry| *entry += 1.0);
            invert(matrix, n, &mut pivots).then_some(())?;
        }
        Some(())
    }
}

impl Weighed {
    /// What each variable's noise has done in this gap, in deviations: independent and of variance 1 where the process is right.
    ///
    /// The noise of variable j over the gap follows from L^-1 ρ by the row Σ_k (L^-1 N_k)'_j; of all orthogonal matrices the
    /// nearest to these rows turns L^-1 ρ into one number per variable.
    pub fn innovation(&self, n: usize) -> Vec<f64> {
        let mut rows = vec![0.0; n * n];
        for white in self.white.chunks_exact(n * n) {
            rows.iter_mut().zip(white).for_each(|(sum, value)| *sum += value);
        }
        let scale = (rows.iter().map(|value| value * value).sum::<f64>() / n as f64).sqrt();
        rows.iter_mut().for_each(|value| *value /= scale);
        for _ in 0..N_TURNS {
            let Some((_, inverse)) = log_det_and_inverse(&rows, n) else { break };
            for row in 0..n {
                for col in 0..n {
                    let at = row * n + col;
                    rows[at] = 0.5 * (rows[at] + inverse[col * n + row]);
                }
            }
        }
        rows.chunks_exact(n).map(|row| dot(row, &self.white_rho)).collect()
    }

    /// log p(row after | row before) under Student's law.
    pub fn log_density(&self, n: usize) -> f64 {
        let dimension = n as f64;
        let constant = libm::lgamma(0.5 * (FREEDOM + dimension))
            - libm::lgamma(0.5 * FREEDOM)
            - 0.5 * dimension * ln(FREEDOM * std::f64::consts::PI);
        constant - self.half_log_det - 0.5 * (FREEDOM + dimension) * ln_1p(self.distance / FREEDOM)
    }
}

impl Tangent {
    /// The law of ρ with noise of variance q per unit of time; `None` where P cannot be factored.
    pub fn weighed(&self, gap: &Gap, noise: &[f64]) -> Option<Weighed> {
        let n = noise.len();
        let covariance = self.covariance(gap, noise);
        let factor = cholesky(&covariance, n)?;
        let half_log_det = factor.iter().step_by(n + 1).map(|pivot| ln(*pivot)).sum();
        let inverse_factor = inverse_of_lower(&factor, n);
        let white = self.times_rows(View::new(&inverse_factor, n, n).t(), n);
        let white_rho: Vec<f64> =
            inverse_factor.chunks_exact(n).map(|row| dot(row, &self.rho)).collect();
        let distance = white_rho.iter().map(|value| value * value).sum();
        let pulls = white.chunks_exact(n).map(|row| dot(row, &white_rho)).collect();
        Some(Weighed { inverse_factor, white, pulls, white_rho, distance, half_log_det })
    }

    /// N_k' B of all sub-steps, `[step, row, column]`.
    fn times_rows(&self, right: View<'_, f64>, n: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.to_end.len()];
        product(&mut out, n, View::new(&self.to_end, self.to_end.len() / n, n), right);
        out
    }

    /// P with its jitter.
    fn covariance(&self, gap: &Gap, noise: &[f64]) -> Vec<f64> {
        let n = noise.len();
        let mut weighted = self.to_end.clone();
        for (idx, row) in weighted.chunks_exact_mut(n).enumerate() {
            let weight = gap.step() * noise[idx % n];
            row.iter_mut().for_each(|value| *value *= weight);
        }
        let (left, right) = (View::new(&weighted, weighted.len() / n, n), &self.to_end);
        let mut covariance = vec![0.0; n * n];
        product(&mut covariance, n, left.t(), View::new(right, right.len() / n, n));
        covariance.iter_mut().step_by(n + 1).for_each(|entry| *entry *= 1.0 + JITTER);
        covariance
    }

    /// log|P| / 2 alone.
    pub fn half_log_det(&self, gap: &Gap, noise: &[f64]) -> Option<f64> {
        let factor = cholesky(&self.covariance(gap, noise), noise.len())?;
        Some(factor.iter().step_by(noise.len() + 1).map(|pivot| ln(*pivot)).sum())
    }

    /// Adds the gradient of log|P| / 2 by θ, `[term, target]`, the path as it is.
    pub fn add_log_det_gradient(
        &self,
        gap: &Gap,
        noise: &[f64],
        weighed: &Weighed,
        library: &Library,
        gradient: &mut [f64],
    ) {
        let (n, n_terms) = (noise.len(), library.n_terms());
        let size = n * n;
        // (P^-1 N_k)'.
        let mut pulled = vec![0.0; weighed.white.len()];
        let white = View::new(&weighed.white, weighed.white.len() / n, n);
        product(&mut pulled, n, white, View::new(&weighed.inverse_factor, n, n));
        vectorised(
            #[inline(always)]
            || {
                // S_k' = cov(end of the gap, state before step k), from S_0 = 0.
                let mut before = vec![0.0; size];
                let mut after = vec![0.0; size];
                let mut left = vec![0.0; size];
                let mut by_jacobian = vec![0.0; size];
                for step in 0..gap.n_steps {
                    let carried = &self.carried[step * size..][..size];
                    let to_end = &self.to_end[step * size..][..size];
                    // S_{k+1} = T_k S_k + h R_k diag(q) N_k', with T_k = 2 R_k - I, all transposed.
                    for row in 0..n {
                        for col in 0..n {
                            left[row * n + col] = 2.0 * before[row * n + col]
                                + gap.step() * noise[col] * to_end[col * n + row];
                        }
                    }
                    multiply(&mut after, &left, carried, n);
                    for (after, before) in after.iter_mut().zip(&mut before) {
                        *after -= *before;
                        *before = 0.5 * (*before + *after);
                    }
                    // V_k = (S_k + S_{k+1}) / 2 P^-1 N_k is the derivative by A_k'.
                    multiply(&mut left, &pulled[step * size..][..size], &before, n);
                    for row in 0..n {
                        (0..n).for_each(|col| by_jacobian[col * n + row] = left[row * n + col]);
                    }
                    let values = &self.values[step * n_terms..][..n_terms];
                    library.add_pulled_back(values, &by_jacobian, gap.step(), gradient);
                    std::mem::swap(&mut before, &mut after);
                }
            },
        );
    }

    /// The change of the path that makes it most probable when θ changes by `change`, `[step + 1, variable]`; its ends stay.
    pub fn path_change(
        &self,
        gap: &Gap,
        noise: &[f64],
        weighed: &Weighed,
        change: Option<Drift<'_>>,
    ) -> Vec<f64> {
        let n = noise.len();
        let mut sources: Vec<f64> = self.residuals.iter().map(|residual| -residual).collect();
        let mut pulls = weighed.pulls.clone();
        if let Some(change) = change {
            let mut moved = vec![0.0; sources.len()];
            change.slopes(&self.values, &mut moved);
            let mut rest = self.rho.clone();
            for (source, moved) in sources.iter_mut().zip(&mut moved) {
                *moved *= gap.step();
                *source += *moved;
                *moved = -*moved;
            }
            add_weighted_rows(&mut rest, &moved, &self.to_end);
            let white: Vec<f64> =
                weighed.inverse_factor.chunks_exact(n).map(|row| dot(row, &rest)).collect();
            pulls = weighed.white.chunks_exact(n).map(|row| dot(row, &white)).collect();
        }
        let mut path = vec![0.0; (gap.n_steps + 1) * n];
        let mut source = vec![0.0; n];
        // The last state is known.
        for step in 0..gap.n_steps - 1 {
            let (done, next) = path.split_at_mut((step + 1) * n);
            let (here, next) = (&done[step * n..], &mut next[..n]);
            for idx in 0..n {
                let at = step * n + idx;
                source[idx] = sources[at] + gap.step() * noise[idx] * pulls[at] + 2.0 * here[idx];
            }
            add_weighted_rows(next, &source, &self.carried[step * n * n..][..n * n]);
            next.iter_mut().zip(here).for_each(|(next, here)| *next -= here);
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between -1 and 1 without a pattern.
    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        let number = |idx: usize| ((idx * idx * 7919 + 131 * idx + 17 * seed) % 1009) as f64;
        (1..=count).map(|idx| number(idx) / 504.5 - 1.0).collect()
    }

    struct Case {
        library: Library,
        gap: Gap,
        theta: Vec<f64>,
        path: Vec<f64>,
        noise: Vec<f64>,
    }

    fn case() -> Case {
        let library = Library::new(3, 2);
        let path: Vec<f64> = numbers(15, 3);
        let gap = Gap {
            before: path[..3].to_vec(),
            after: path[12..].to_vec(),
            duration: 0.4,
            n_steps: 4,
            series: 0,
            rows: [0, 1],
        };
        let theta = numbers(30, 1).iter().map(|value| 0.4 * value).collect();
        Case { library, gap, theta, path, noise: vec![0.5, 1.2, 0.8] }
    }

    impl Case {
        fn tangent(&self, theta: &[f64]) -> Tangent {
            let drift = Drift { library: &self.library, theta };
            drift.tangent(&self.gap, &self.path).unwrap()
        }
    }

    #[test]
    fn the_gradient_of_the_log_determinant_is_that_of_differences() {
        let case = case();
        let tangent = case.tangent(&case.theta);
        let weighed = tangent.weighed(&case.gap, &case.noise).unwrap();
        let mut gradient = vec![0.0; case.theta.len()];
        tangent.add_log_det_gradient(
            &case.gap,
            &case.noise,
            &weighed,
            &case.library,
            &mut gradient,
        );
        let step = 1e-5;
        for idx in 0..case.theta.len() {
            let at = |change: f64| {
                let mut theta = case.theta.clone();
                theta[idx] += change;
                case.tangent(&theta).half_log_det(&case.gap, &case.noise).unwrap()
            };
            let slope = (at(step) - at(-step)) / (2.0 * step);
            // Rounding 1e-15 over the step; the jitter of the diagonal is left out of the gradient: 1e-6 of it.
            assert!((gradient[idx] - slope).abs() < 1e-6, "{idx}: {} and {slope}", gradient[idx]);
        }
        assert!(gradient.iter().any(|value| value.abs() > 0.01));
    }

    #[test]
    fn the_end_of_a_gap_moves_with_the_terms_as_the_linearisation_says() {
        // ρ changes by -J dθ with J_{i,(j,f)} = Σ_k h N_k[i,j] φ_f(m_k) where the derivative of N_k meets residuals of zero.
        let mut case = case();
        let drift = Drift { library: &case.library, theta: &case.theta };
        let mut path = case.path[..3].to_vec();
        // A path without residuals, by fixed-point iterations of the midpoint rule.
        for step in 0..4 {
            let here = path[step * 3..].to_vec();
            path.extend(here.clone());
            for _ in 0..60 {
                let residual = drift.residual_of(&path[step * 3..(step + 2) * 3], 0.1);
                (0..3).for_each(|idx| path[(step + 1) * 3 + idx] -= residual[idx]);
            }
        }
        case.path = path;
        let tangent = case.tangent(&case.theta);
        for (term, target) in [(0, 0), (2, 1), (5, 2), (9, 0)] {
            let mut theta = case.theta.clone();
            theta[term * 3 + target] += 1e-6;
            let moved = case.tangent(&theta);
            for row in 0..3 {
                let slope: f64 = (0..4)
                    .map(|step| {
                        0.1 * tangent.to_end[(step * 3 + target) * 3 + row]
                            * tangent.values[step * 10 + term]
                    })
                    .sum();
                // Second order in a step of 1e-6, over that step.
                assert!(((tangent.rho[row] - moved.rho[row]) / 1e-6 - slope).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn a_path_step_lowers_the_cost_to_what_the_ends_leave() {
        // At the optimum of the path, Σ e' q^-1 e / h is ρ' P^-1 ρ: what no path between these ends can avoid.
        let case = case();
        let drift = Drift { library: &case.library, theta: &case.theta };
        let mut path = case.path.clone();
        for _ in 0..30 {
            let tangent = drift.tangent(&case.gap, &path).unwrap();
            let weighed = tangent.weighed(&case.gap, &case.noise).unwrap();
            let change = tangent.path_change(&case.gap, &case.noise, &weighed, None);
            path.iter_mut().zip(&change).for_each(|(value, change)| *value += change);
        }
        let distance = drift
            .tangent(&case.gap, &path)
            .unwrap()
            .weighed(&case.gap, &case.noise)
            .unwrap()
            .distance;
        let cost = drift.cost(&case.gap, &path, &case.noise);
        // The jitter: 1e-6 of the distance.
        assert!((cost - distance).abs() < 1e-5 * cost, "{cost} and {distance}");
        assert!(cost < drift.cost(&case.gap, &case.path, &case.noise));
    }
}
