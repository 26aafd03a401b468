//! Gauss-Newton over the terms of the drift and the paths together, with the noise and the prior learned beside them.

mod outcome;
mod start;
mod state;

pub use state::DescentState;

use rayon::prelude::*;

use super::gaps::Gap;
use super::library::{Library, Unknown};
use super::normal_equations::{WeightedGap, curvature, pull};
use super::tangent::{Drift, Tangent, Weighed};
use crate::numeric::linalg::{cholesky, solve_lower, solve_upper};
use crate::numeric::real::{ln, ln_1p};

/// Degrees of freedom of Student's law of what a gap leaves unexplained: single gaps whose path went elsewhere must not decide.
pub(super) const FREEDOM: f64 = 4.0;
/// Precision of constants under the prior; they are no matter of belief.
const OF_CONSTANTS: f64 = 1e-4;
/// Rounds until the objective stands still, at most, and rounds that learn the precisions of the prior.
const N_ROUNDS: usize = 60;
const N_PRIOR_ROUNDS: usize = 12;
/// All rounds, at most.
pub const MOST_ROUNDS: usize = N_ROUNDS + N_PRIOR_ROUNDS;
/// The objective stands still when it falls by less than this per gap, and noise changes by less than that, so many times.
const STILL: f64 = 3e-3;
const STILL_NOISE: f64 = 0.03;
const N_STILL: usize = 3;
/// The prior stands still when its precisions change by less than this share.
const STILL_PRIOR: f64 = 3e-3;
/// A curvature serves the next rounds too, until the objective has fallen by this per gap, or noise has changed by this share.
const CURVATURE_LASTS: f64 = 0.01;
const CURVATURE_LASTS_NOISE: f64 = 0.1;
/// Where the objective falls by less than this per gap, noise alone is far from its place: it takes further steps.
const CALM: f64 = 0.05;
const N_NOISE_STEPS: usize = 2;
/// A path whose step is shorter, in deviations, is where it belongs.
const ARRIVED: f64 = 1e-4;
/// Steps of paths alone after each step of the terms, one where the last round was calm.
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
    /// Of these paths under θ, where they are known already.
    tangents: Option<Vec<Tangent>>,
    /// What still serves, of an earlier round.
    curvature: Option<KeptCurvature>,
    /// Whether terms and paths hardly moved in the last round.
    is_calm: bool,
    damping: f64,
    /// After the last round, up to a constant; not finite before the first.
    objective: f64,
    course: Course,
}

/// How far a descent has come.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
struct Course {
    n_rounds: usize,
    /// Rounds in a row in which nothing moved.
    n_still: usize,
    /// Rounds that learned the precisions of the prior.
    n_prior_rounds: usize,
    has_ended: bool,
}

/// Σ w J' P^-1 J, and what has changed since.
struct KeptCurvature {
    matrix: Vec<f64>,
    /// What it was made of.
    origin: Origin,
    /// How far the objective has fallen since.
    fall: f64,
}

/// Terms, paths and noise around which a curvature was made.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Origin {
    theta: Vec<f64>,
    paths: Vec<Vec<f64>>,
    noise: Vec<f64>,
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
    /// Of these paths under these terms.
    tangents: Vec<Tangent>,
    objective: f64,
}

/// Numbers that are not finite: data that a straight line between rows cannot begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotFinite;

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
            tangents: None,
            curvature: None,
            is_calm: false,
            damping: 1.0,
            objective: f64::NAN,
            course: Course::default(),
        };
        descent.start()?;
        Some(descent)
    }

    /// One round: descends until nothing changes, then learns the prior.
    pub fn advance(&mut self) -> Result<(), NotFinite> {
        if self.is_descending() {
            let is_still = self.round(false).ok_or(NotFinite)?;
            self.course.n_rounds += 1;
            self.course.n_still = if is_still { self.course.n_still + 1 } else { 0 };
            if !self.is_descending() {
                self.damping = self.damping.min(1e-2);
                // The prior is learned from a curvature of its own.
                self.curvature.iter_mut().for_each(|kept| kept.fall = f64::INFINITY);
            }
            return Ok(());
        }
        let before = self.precisions.clone();
        let is_still = self.round(true).ok_or(NotFinite)?;
        self.course.n_prior_rounds += 1;
        let is_known = is_still && largest_ratio(&self.precisions, &before) < STILL_PRIOR;
        self.course.has_ended = is_known || self.course.n_prior_rounds == N_PRIOR_ROUNDS;
        Ok(())
    }

    /// Whether terms and paths are still looked for.
    fn is_descending(&self) -> bool {
        self.course.n_rounds < N_ROUNDS && !self.stands_still()
    }

    fn stands_still(&self) -> bool {
        self.course.n_still > N_STILL
    }

    /// Whether nothing is left to be done.
    pub fn has_ended(&self) -> bool {
        self.course.has_ended
    }

    /// Rounds so far.
    pub fn n_rounds(&self) -> usize {
        self.course.n_rounds + self.course.n_prior_rounds
    }

    /// After the last round, up to a constant; not finite before the first.
    pub fn objective(&self) -> f64 {
        self.objective
    }

    /// One step of terms, paths and noise; whether they stand still. `None` where numbers are not finite.
    fn round(&mut self, learns_prior: bool) -> Option<bool> {
        let linearised = self.linearised()?;
        let weighted = self.weighted(&linearised);
        let pull = pull(&weighted, self.library, &self.noise);
        let noise = self.better_noise(&weighted);
        let mut kept =
            self.curvature.take().filter(|kept| self.serves(kept)).unwrap_or_else(|| {
                let matrix = curvature(&weighted, self.library);
                KeptCurvature { matrix, origin: self.here(), fall: 0.0 }
            });
        let log_dets = linearised.weighed.iter().map(|one| one.half_log_det).sum::<f64>();
        let before = self.objective_of(&self.theta, &self.paths, log_dets);
        let mut fall = 0.0;
        let proposal = self.better_theta(&kept.matrix, &pull);
        let proposal = proposal.and_then(|theta| self.proposal(theta, &linearised));
        if let Some(better) = proposal.filter(|proposal| proposal.objective < before) {
            fall = before - better.objective;
            (self.theta, self.paths) = (better.theta, better.paths);
            self.tangents = Some(better.tangents);
            self.damping = (self.damping / 2.5).max(DAMPING[0]);
            kept.fall += fall;
        } else {
            self.damping = (self.damping * 4.0).min(DAMPING[1]);
            self.paths = self.settled(&self.theta, self.paths.clone(), 1);
            kept.fall = f64::INFINITY;
        }
        let is_still = largest_ratio(&noise, &self.noise) < STILL_NOISE;
        if learns_prior {
            self.learn_precisions(&kept.matrix)?;
        }
        self.curvature = Some(kept);
        self.noise = noise;
        self.objective = before - fall;
        let n_gaps = self.gaps.len() as f64;
        self.is_calm = fall > 0.0 && fall < CALM * n_gaps;
        if self.is_calm {
            self.settle_noise()?;
        }
        Some(is_still && fall < STILL * n_gaps)
    }

    /// Whether a curvature of an earlier round is still near enough.
    fn serves(&self, kept: &KeptCurvature) -> bool {
        kept.fall < CURVATURE_LASTS * self.gaps.len() as f64
            && largest_ratio(&self.noise, &kept.origin.noise) < CURVATURE_LASTS_NOISE
    }

    /// Further steps of the noise, terms and paths as they are.
    fn settle_noise(&mut self) -> Option<()> {
        for _ in 0..N_NOISE_STEPS {
            let linearised = self.linearised()?;
            self.noise = self.better_noise(&self.weighted(&linearised));
            self.tangents = Some(linearised.tangents);
        }
        Some(())
    }

    fn linearised(&mut self) -> Option<Linearised> {
        let drift = Drift { library: self.library, theta: &self.theta };
        let tangents = match self.tangents.take() {
            Some(known) => known,
            None => drift.tangents(self.gaps, &self.paths)?,
        };
        let weighed: Option<Vec<Weighed>> = (self.gaps.par_iter().zip(&tangents))
            .map(|(gap, tangent)| tangent.weighed(gap, &self.noise))
            .collect();
        Some(Linearised { weighed: weighed?, tangents })
    }

    /// Gaps with their weights under Student's law.
    fn weighted<'b>(&self, linearised: &'b Linearised) -> Vec<WeightedGap<'b>>
    where
        'a: 'b,
    {
        let n = self.library.n_variables() as f64;
        let (gaps, both) = (self.gaps, linearised.tangents.iter().zip(&linearised.weighed));
        (gaps.iter().zip(both))
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

    fn objective_of(&self, theta: &[f64], paths: &[Vec<f64>], half_log_dets: f64) -> f64 {
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
        let n = self.library.n_variables();
        let unknowns = self.library.unknowns();
        let size = unknowns.len();
        let largest = curvature.iter().step_by(size + 1).copied().fold(0.0, f64::max);
        let mut matrix = curvature.to_vec();
        let mut change = pull.to_vec();
        for (idx, &Unknown { target, term }) in unknowns.iter().enumerate() {
            let entry = &mut matrix[idx * (size + 1)];
            *entry += self.precisions[term] + self.damping * *entry + 1e-8 * largest;
            change[idx] -= self.precisions[term] * self.theta[term * n + target];
        }
        let factor = cholesky(&matrix, size)?;
        solve_lower(&factor, size, &mut change, 1);
        solve_upper(&factor, size, &mut change, 1);
        let mut theta = self.theta.clone();
        for (unknown, change) in unknowns.iter().zip(change) {
            theta[unknown.term * n + unknown.target] += change;
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
                drift.along(gap, path, &step, &self.noise)
            })
            .collect();
        let n_steps = if self.is_calm { 1 } else { N_PATH_STEPS };
        let paths = self.settled(&theta, paths, n_steps);
        let tangents = drift.tangents(self.gaps, &paths)?;
        let log_dets: Option<Vec<f64>> = (self.gaps.par_iter().zip(&tangents))
            .map(|(gap, tangent)| tangent.half_log_det(gap, &self.noise))
            .collect();
        let objective = self.objective_of(&theta, &paths, log_dets?.iter().sum());
        objective.is_finite().then_some(Proposal { theta, paths, tangents, objective })
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
                    if step.iter().all(|change| change.abs() < ARRIVED) {
                        break;
                    }
                    path = drift.along(gap, &path, &step, &self.noise);
                }
                path
            })
            .collect()
    }

    /// One precision for linear terms, one for the others: (Σ γ + 1) / (Σ θ² + 1) with γ what the data decide of each.
    fn learn_precisions(&mut self, curvature: &[f64]) -> Option<()> {
        let (n, n_terms) = (self.library.n_variables(), self.library.n_terms());
        let unknowns = self.library.unknowns();
        let size = unknowns.len();
        let inverse = self.inverse_factor(curvature)?.inverse;
        let mut variances = vec![0.0; size];
        for row in inverse.chunks_exact(size) {
            variances.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
        }
        for is_linear in [true, false] {
            let (mut decided, mut squares) = (1.0, 1.0);
            let of_kind = |term: usize| term > 0 && self.library.is_linear(term) == is_linear;
            for (&Unknown { target, term }, variance) in unknowns.iter().zip(&variances) {
                if of_kind(term) {
                    decided += (1.0 - self.precisions[term] * variance).clamp(0.0, 1.0);
                    squares += self.theta[term * n + target].powi(2);
                }
            }
            let precision: f64 = decided / squares;
            (0..n_terms)
                .filter(|&term| of_kind(term))
                .for_each(|term| self.precisions[term] = precision.clamp(1e-2, 1e6));
        }
        Some(())
    }
}

/// The largest change of any, as a logarithm.
fn largest_ratio(new: &[f64], old: &[f64]) -> f64 {
    new.iter().zip(old).map(|(new, old)| ln(new / old).abs()).fold(0.0, f64::max)
}

/// log p(row after | row before) of one gap under a process that is known, Student's law as in the descent.
pub fn gap_log_density(gap: &Gap, library: &Library, theta: &[f64], noise: &[f64]) -> Option<f64> {
    const N_STEPS: usize = 8;
    let drift = Drift { library, theta };
    let mut path = gap.straight_line();
    for _ in 0..N_STEPS {
        let tangent = drift.tangent(gap, &path)?;
        let weighed = tangent.weighed(gap, noise)?;
        let step = tangent.path_change(gap, noise, &weighed, None);
        path = drift.along(gap, &path, &step, noise);
    }
    Some(drift.tangent(gap, &path)?.weighed(gap, noise)?.log_density(library.n_variables()))
}
