//! Gauss-Newton over the terms of the drift and the paths together, with the noise and the prior learned beside them.

use rayon::prelude::*;

use super::belief::Belief;
use super::gaps::Gap;
use super::library::Library;
use super::normal_equations::{WeightedGap, curvature, pull};
use super::tangent::{Drift, Tangent, Weighed};
use crate::numeric::kernels::{View, product};
use crate::numeric::linalg::{cholesky, identity, solve_lower, solve_upper};
use crate::numeric::real::{ln, ln_1p};

/// Degrees of freedom of Student's law of what a gap leaves unexplained: single gaps whose path went elsewhere must not decide.
pub(super) const FREEDOM: f64 = 4.0;
/// Precision of constants under the prior; they are no matter of belief.
const OF_CONSTANTS: f64 = 1e-4;
/// Rounds until the objective stands still, at most, and rounds that learn the precisions of the prior.
const N_ROUNDS: usize = 60;
const N_PRIOR_ROUNDS: usize = 12;
/// The objective stands still when it falls by less than this per gap, and noise changes by less than that, so many times.
const STILL: f64 = 3e-3;
const STILL_NOISE: f64 = 0.03;
const N_STILL: usize = 3;
/// No state of a path moves by more than this in a step, in deviations.
const LARGEST_MOVE: f64 = 1.0;
/// Lengths tried along a step of a path, each so much shorter than the one before.
const N_LENGTHS: usize = 4;
const SHORTER: f64 = 0.4;
/// Steps of paths alone after each step of the terms.
const N_PATH_STEPS: usize = 2;
/// Smallest and largest damping of the terms.
const DAMPING: [f64; 2] = [1e-4, 1e6];

/// A fit of the terms of a library to some gaps.
pub struct Descent<'a> {
    library: &'a Library,
    gaps: &'a [Gap],
    /// θ, `[term, target]`.
    theta: Vec<f64>,
    /// Prior precision of each term.
    precisions: Vec<f64>,
    /// q: variance per unit of time of each variable.
    noise: Vec<f64>,
    paths: Vec<Vec<f64>>,
    damping: f64,
}

/// All gaps around their paths, under the noise of a moment.
struct Linearised {
    tangents: Vec<Tangent>,
    weighed: Vec<Weighed>,
}

/// Terms and paths that may be better.
struct Proposal {
    theta: Vec<f64>,
    paths: Vec<Vec<f64>>,
    objective: f64,
}

/// Why there is no fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFit {
    /// It was told to stop.
    Stopped,
    /// Numbers that are not finite from the beginning on: data that a straight line between rows cannot begin with.
    NotFinite,
}

impl<'a> Descent<'a> {
    /// Straight lines between rows, and the terms that explain their slopes best.
    pub fn new(library: &'a Library, gaps: &'a [Gap]) -> Option<Self> {
        let precision = |term: usize| if term == 0 { OF_CONSTANTS } else { 1.0 };
        let mut descent = Self {
            library,
            gaps,
            theta: Vec::new(),
            precisions: (0..library.n_terms()).map(precision).collect(),
            noise: Vec::new(),
            paths: gaps.iter().map(Gap::straight_line).collect(),
            damping: 1.0,
        };
        descent.start()?;
        Some(descent)
    }

    /// Descends until nothing changes, then learns the prior, and says what is believed.
    pub fn run(mut self, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<Belief, NoFit> {
        let mut n_still = 0;
        let mut round = 0;
        while round < N_ROUNDS && n_still <= N_STILL {
            if !goes_on() {
                return Err(NoFit::Stopped);
            }
            let is_still = self.round(false).ok_or(NoFit::NotFinite)?;
            n_still = if is_still { n_still + 1 } else { 0 };
            round += 1;
        }
        self.damping = self.damping.min(1e-2);
        for _ in 0..N_PRIOR_ROUNDS {
            if !goes_on() {
                return Err(NoFit::Stopped);
            }
            self.round(true).ok_or(NoFit::NotFinite)?;
        }
        self.belief(n_still > N_STILL).ok_or(NoFit::NotFinite)
    }

    fn start(&mut self) -> Option<()> {
        let (n, n_terms) = (self.library.n_variables(), self.library.n_terms());
        let n_steps: usize = self.gaps.iter().map(|gap| gap.n_steps).sum();
        let (mut values, mut weighted, mut slopes) =
            (vec![0.0; n_steps * n_terms], Vec::new(), Vec::new());
        let mut row = 0;
        for (gap, path) in self.gaps.iter().zip(&self.paths) {
            for step in 0..gap.n_steps {
                let ends = path[step * n..(step + 2) * n].split_at(n);
                let middle: Vec<f64> =
                    ends.0.iter().zip(ends.1).map(|(a, b)| 0.5 * (a + b)).collect();
                let values = &mut values[row * n_terms..][..n_terms];
                self.library.values_into(&middle, values);
                weighted.extend(values.iter().map(|value| value * gap.step()));
                slopes.extend(ends.0.iter().zip(ends.1).map(|(a, b)| (b - a) / gap.step()));
                row += 1;
            }
        }
        let weighted = View::new(&weighted, n_steps, n_terms);
        let mut moments = vec![0.0; n_terms * n_terms];
        product(&mut moments, n_terms, weighted.t(), View::new(&values, n_steps, n_terms));
        let mut theta = vec![0.0; n_terms * n];
        product(&mut theta, n, weighted.t(), View::new(&slopes, n_steps, n));
        for (term, precision) in self.precisions.iter().enumerate() {
            let entry = &mut moments[term * (n_terms + 1)];
            *entry += precision + 1e-3 * *entry;
        }
        let factor = cholesky(&moments, n_terms)?;
        solve_lower(&factor, n_terms, &mut theta, n);
        solve_upper(&factor, n_terms, &mut theta, n);
        let mut fitted = vec![0.0; n_steps * n];
        product(
            &mut fitted,
            n,
            View::new(&values, n_steps, n_terms),
            View::new(&theta, n_terms, n),
        );
        let steps: Vec<f64> =
            self.gaps.iter().flat_map(|gap| std::iter::repeat_n(gap.step(), gap.n_steps)).collect();
        let variance = |target: usize| {
            let square = |row: usize| (slopes[row * n + target] - fitted[row * n + target]).powi(2);
            let sum: f64 = steps.iter().enumerate().map(|(row, step)| step * square(row)).sum();
            (sum / n_steps as f64).max(1e-8)
        };
        self.noise = (0..n).map(variance).collect();
        self.theta = theta;
        Some(())
    }

    /// One step of terms, paths and noise; whether they stand still. `None` where numbers are not finite.
    fn round(&mut self, learns_prior: bool) -> Option<bool> {
        let linearised = self.linearised(&self.theta, &self.paths)?;
        let weighted = self.weighted(&linearised);
        let curvature = curvature(&weighted, self.library);
        let pull = pull(&weighted, self.library, &self.noise);
        let noise = self.better_noise(&weighted);
        let log_dets = linearised.weighed.iter().map(|one| one.half_log_det).sum::<f64>();
        let before = self.objective(&self.theta, &self.paths, log_dets);
        let mut fall = 0.0;
        let proposal = self.better_theta(&curvature, &pull);
        let proposal = proposal.and_then(|theta| self.proposal(theta, &linearised));
        if let Some(better) = proposal.filter(|proposal| proposal.objective < before) {
            fall = before - better.objective;
            (self.theta, self.paths) = (better.theta, better.paths);
            self.damping = (self.damping / 2.5).max(DAMPING[0]);
        } else {
            self.damping = (self.damping * 4.0).min(DAMPING[1]);
            self.paths = self.settled(&self.theta, self.paths.clone(), 1);
        }
        let changes = noise.iter().zip(&self.noise).map(|(new, old)| ln(new / old).abs());
        let is_still = changes.fold(0.0, f64::max) < STILL_NOISE;
        if learns_prior {
            self.learn_precisions(&curvature)?;
        }
        self.noise = noise;
        Some(is_still && fall < STILL * self.gaps.len() as f64)
    }

    fn linearised(&self, theta: &[f64], paths: &[Vec<f64>]) -> Option<Linearised> {
        let drift = Drift { library: self.library, theta };
        let pairs: Option<Vec<(Tangent, Weighed)>> = (self.gaps.par_iter().zip(paths))
            .map(|(gap, path)| {
                let tangent = drift.tangent(gap, path)?;
                let weighed = tangent.weighed(gap, &self.noise)?;
                Some((tangent, weighed))
            })
            .collect();
        let (tangents, weighed) = pairs?.into_iter().unzip();
        Some(Linearised { tangents, weighed })
    }

    /// Gaps with their weights under Student's law.
    fn weighted<'b>(&'b self, linearised: &'b Linearised) -> Vec<WeightedGap<'b>> {
        let n = self.library.n_variables() as f64;
        let both = linearised.tangents.iter().zip(&linearised.weighed);
        (self.gaps.iter().zip(both))
            .map(|(gap, (tangent, weighed))| {
                let weight = (FREEDOM + n) / (FREEDOM + weighed.distance);
                WeightedGap { gap, tangent, weighed, weight }
            })
            .collect()
    }

    /// The fixed point of the maximum of likelihood: q_j Σ w h a_j² / Σ h (N_k' P^-1 N_k)_jj with a = N_k' P^-1 ρ.
    fn better_noise(&self, gaps: &[WeightedGap<'_>]) -> Vec<f64> {
        let n = self.library.n_variables();
        let (mut found, mut expected) = (vec![0.0; n], vec![0.0; n]);
        for one in gaps {
            let step = one.gap.step();
            for (idx, pull) in one.weighed.pulls.iter().enumerate() {
                found[idx % n] += one.weight * step * pull * pull;
            }
            for (idx, row) in one.weighed.white.chunks_exact(n).enumerate() {
                expected[idx % n] += step * row.iter().map(|value| value * value).sum::<f64>();
            }
        }
        let ratio = |idx: usize| (found[idx] / expected[idx]).clamp(0.2, 5.0);
        (0..n).map(|idx| (self.noise[idx] * ratio(idx)).max(1e-10)).collect()
    }

    fn objective(&self, theta: &[f64], paths: &[Vec<f64>], half_log_dets: f64) -> f64 {
        let n = self.library.n_variables();
        let drift = Drift { library: self.library, theta };
        let costs: Vec<f64> = (self.gaps.par_iter().zip(paths))
            .map(|(gap, path)| ln_1p(drift.cost(gap, path, &self.noise) / FREEDOM))
            .collect();
        let of_gaps = 0.5 * (FREEDOM + n as f64) * costs.iter().sum::<f64>();
        let squares = theta.chunks_exact(n).map(|row| row.iter().map(|value| value * value).sum());
        let of_prior: f64 =
            self.precisions.iter().zip(squares).map(|(a, b): (&f64, f64)| a * b).sum();
        of_gaps + half_log_dets + 0.5 * of_prior
    }

    /// θ after a damped step.
    fn better_theta(&self, curvature: &[f64], pull: &[f64]) -> Option<Vec<f64>> {
        let (n, n_terms) = (self.library.n_variables(), self.library.n_terms());
        let size = n * n_terms;
        let largest = curvature.iter().step_by(size + 1).copied().fold(0.0, f64::max);
        let mut matrix = curvature.to_vec();
        let mut change = pull.to_vec();
        for idx in 0..size {
            let (target, term) = (idx / n_terms, idx % n_terms);
            let entry = &mut matrix[idx * (size + 1)];
            *entry += self.precisions[term] + self.damping * *entry + 1e-8 * largest;
            change[idx] -= self.precisions[term] * self.theta[term * n + target];
        }
        let factor = cholesky(&matrix, size)?;
        solve_lower(&factor, size, &mut change, 1);
        solve_upper(&factor, size, &mut change, 1);
        let mut theta = self.theta.clone();
        for idx in 0..size {
            theta[(idx % n_terms) * n + idx / n_terms] += change[idx];
        }
        Some(theta)
    }

    /// Paths for other terms, and how good both are; `None` where that is not finite.
    fn proposal(&self, theta: Vec<f64>, linearised: &Linearised) -> Option<Proposal> {
        let change: Vec<f64> = theta.iter().zip(&self.theta).map(|(new, old)| new - old).collect();
        let drift = Drift { library: self.library, theta: &theta };
        let change = Drift { library: self.library, theta: &change };
        let both = linearised.tangents.par_iter().zip(&linearised.weighed);
        let paths: Vec<Vec<f64>> = (self.gaps.par_iter().zip(&self.paths).zip(both))
            .map(|((gap, path), (tangent, weighed))| {
                let step = tangent.path_change(gap, &self.noise, weighed, Some(change));
                self.along(drift, gap, path, &step)
            })
            .collect();
        let paths = self.settled(&theta, paths, N_PATH_STEPS);
        let log_dets: Option<Vec<f64>> = (self.gaps.par_iter().zip(&paths))
            .map(|(gap, path)| drift.tangent(gap, path)?.half_log_det(gap, &self.noise))
            .collect();
        let objective = self.objective(&theta, &paths, log_dets?.iter().sum());
        objective.is_finite().then_some(Proposal { theta, paths, objective })
    }

    /// Paths after some steps of their own.
    fn settled(&self, theta: &[f64], paths: Vec<Vec<f64>>, n_steps: usize) -> Vec<Vec<f64>> {
        let drift = Drift { library: self.library, theta };
        (self.gaps.par_iter().zip(paths))
            .map(|(gap, mut path)| {
                for _ in 0..n_steps {
                    let Some(tangent) = drift.tangent(gap, &path) else { break };
                    let Some(weighed) = tangent.weighed(gap, &self.noise) else { break };
                    let step = tangent.path_change(gap, &self.noise, &weighed, None);
                    path = self.along(drift, gap, &path, &step);
                }
                path
            })
            .collect()
    }

    /// The best path along a step, that without it among them.
    fn along(&self, drift: Drift<'_>, gap: &Gap, path: &[f64], step: &[f64]) -> Vec<f64> {
        let largest = step.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        if !(largest > 0.0 && largest.is_finite()) {
            return path.to_vec();
        }
        let mut length = (LARGEST_MOVE / largest).min(1.0);
        let before = drift.cost(gap, path, &self.noise);
        for _ in 0..N_LENGTHS {
            let moved: Vec<f64> =
                path.iter().zip(step).map(|(at, step)| at + length * step).collect();
            if drift.cost(gap, &moved, &self.noise) < before {
                return moved;
            }
            length *= SHORTER;
        }
        path.to_vec()
    }

    /// One precision for linear terms, one for the others: (Σ γ + 1) / (Σ θ² + 1) with γ what the data decide of each.
    fn learn_precisions(&mut self, curvature: &[f64]) -> Option<()> {
        let (n, n_terms) = (self.library.n_variables(), self.library.n_terms());
        let size = n * n_terms;
        let inverse = self.inverse_factor(curvature)?.inverse;
        let mut variances = vec![0.0; size];
        for row in inverse.chunks_exact(size) {
            variances.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
        }
        for is_linear in [true, false] {
            let (mut decided, mut squares) = (1.0, 1.0);
            let of_kind = |term: usize| (self.library.factors(term).len() == 1) == is_linear;
            let terms: Vec<usize> = (1..n_terms).filter(|&term| of_kind(term)).collect();
            for &term in &terms {
                for target in 0..n {
                    let share = self.precisions[term] * variances[target * n_terms + term];
                    decided += (1.0 - share).clamp(0.0, 1.0);
                    squares += self.theta[term * n + target].powi(2);
                }
            }
            let precision: f64 = decided / squares;
            terms.iter().for_each(|&term| self.precisions[term] = precision.clamp(1e-2, 1e6));
        }
        Some(())
    }

    /// Cholesky's factor of curvature and prior together, inverted.
    fn inverse_factor(&self, curvature: &[f64]) -> Option<InverseFactor> {
        let n_terms = self.library.n_terms();
        let size = self.library.n_variables() * n_terms;
        let mut matrix = curvature.to_vec();
        for idx in 0..size {
            matrix[idx * (size + 1)] += self.precisions[idx % n_terms];
        }
        let factor = cholesky(&matrix, size)?;
        let half_log_det = factor.iter().step_by(size + 1).map(|pivot| ln(*pivot)).sum();
        let mut inverse = identity(size);
        solve_lower(&factor, size, &mut inverse, size);
        Some(InverseFactor { inverse, half_log_det })
    }

    fn belief(self, has_converged: bool) -> Option<Belief> {
        let (n, n_terms) = (self.library.n_variables(), self.library.n_terms());
        let size = n * n_terms;
        let linearised = self.linearised(&self.theta, &self.paths)?;
        let curvature = curvature(&self.weighted(&linearised), self.library);
        let InverseFactor { inverse, half_log_det } = self.inverse_factor(&curvature)?;
        let mut covariance = vec![0.0; size * size];
        let view = View::new(&inverse, size, size);
        product(&mut covariance, size, view.t(), view);
        let dimension = n as f64;
        let constant = libm::lgamma(0.5 * (FREEDOM + dimension))
            - libm::lgamma(0.5 * FREEDOM)
            - 0.5 * dimension * ln(FREEDOM * std::f64::consts::PI);
        let log_density = |one: &Weighed| {
            constant
                - one.half_log_det
                - 0.5 * (FREEDOM + dimension) * ln_1p(one.distance / FREEDOM)
        };
        let of_gaps: f64 = linearised.weighed.iter().map(log_density).sum();
        let squares = |term: usize| {
            self.theta[term * n..][..n].iter().map(|value| value * value).sum::<f64>()
        };
        let of_prior: f64 = (self.precisions.iter().enumerate())
            .map(|(term, precision)| 0.5 * (dimension * ln(*precision) - precision * squares(term)))
            .sum();
        let log_evidence = of_gaps + of_prior - half_log_det;
        Some(Belief {
            theta: self.theta,
            covariance,
            precisions: self.precisions,
            log_evidence,
            has_converged,
        })
    }
}

/// L^-1 of H = L L' and log|H| / 2.
struct InverseFactor {
    inverse: Vec<f64>,
    half_log_det: f64,
}
