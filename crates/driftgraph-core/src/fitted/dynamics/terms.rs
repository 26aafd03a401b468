//! The terms of a polynomial drift under a graph: drawn from their joint law, or the most probable ones.

use std::collections::HashMap;

use super::GraphChoice;
use crate::fitted::edges::MeanEffects;
use crate::fitted::model::PolynomialPart;
use crate::numeric::linalg::{cholesky, log_det_and_inverse, solve_lower, solve_upper};
use crate::posterior::polynomial::library::{Curves, Library};
use crate::random::RandomStream;

/// Equations are known where data went, and as far beyond as they reached; there they go on as they are at the border.
const BEYOND: f64 = 1.0;

/// The equations of a process, standardised.
#[derive(Debug)]
pub(super) struct Terms {
    library: Library,
    /// Positions of the variables that are part of it.
    varying: Vec<usize>,
    /// Number of all variables.
    n: usize,
    targets: Vec<TargetTerms>,
    /// Half a solver step, in the model's time.
    half_step: f64,
    /// Between what values equations are known, by variable of the process.
    known: Vec<[f64; 2]>,
    /// θ and covariance of each target, for effects.
    means: Vec<f64>,
    covariances: Vec<Vec<f64>>,
}

/// The joint normal law of one target's terms.
#[derive(Debug)]
struct TargetTerms {
    /// Inverse covariance, and its product with the means.
    precision: Vec<f64>,
    pulls: Vec<f64>,
}

/// The law of the terms whose sources are all there, the others being zero.
struct GivenGraph {
    /// Places among the target's unknowns.
    places: Vec<usize>,
    means: Vec<f64>,
    /// L of the precision L L'.
    factor: Vec<f64>,
}

impl Terms {
    pub(super) fn new(part: &PolynomialPart) -> Self {
        let (fit, library) = (&part.fit, part.fit.library());
        let (n, own) = (part.knowledge.n_variables(), fit.varying.len());
        let targets = (0..own).map(|target| {
            let unknowns = library.unknowns_of(target);
            let size = unknowns.len();
            let precision = log_det_and_inverse(&fit.belief.covariances[target], size);
            let precision = precision.map_or_else(|| vec![0.0; size * size], |found| found.1);
            let means: Vec<f64> =
                unknowns.iter().map(|one| fit.belief.theta[one.term * own + target]).collect();
            let dot = |row: &[f64]| row.iter().zip(&means).map(|(a, b)| a * b).sum::<f64>();
            let pulls = precision.chunks_exact(size.max(1)).map(dot).collect();
            TargetTerms { precision, pulls }
        });
        let targets = targets.collect();
        let known = fit.varying.iter().map(|&variable| {
            let values = part.paths.means.iter().skip(variable).step_by(n);
            let ends = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &value| {
                [low.min(value), high.max(value)]
            });
            let reach = BEYOND * (ends[1] - ends[0]);
            // Angles turn on and on, and what they do repeats itself.
            let turns = matches!(fit.curves, Some(Curves::Waves(_)));
            if turns {
                [f64::NEG_INFINITY, f64::INFINITY]
            } else {
                [ends[0] - reach, ends[1] + reach]
            }
        });
        Self {
            half_step: 0.5 * part.step_size() / fit.unit,
            known: known.collect(),
            varying: fit.varying.clone(),
            n,
            targets,
            means: fit.belief.theta.clone(),
            covariances: fit.belief.covariances.clone(),
            library,
        }
    }

    /// Appends θ `[term, target]` for each graph `[source, target]` of all variables.
    ///
    /// `sizes` gives random numbers where terms are drawn; else they are the most probable under the graph.
    pub(super) fn push(
        &self,
        choice: GraphChoice,
        graph: &[f64],
        sizes: &mut RandomStream,
        cache: &mut TermCache,
        out: &mut Vec<f64>,
    ) {
        let own = self.varying.len();
        let first = out.len();
        out.resize(first + self.library.n_terms() * own, 0.0);
        for target in 0..own {
            let unknowns = self.library.unknowns_of(target);
            let mut draws = vec![0.0; unknowns.len()];
            if choice == GraphChoice::Sampled {
                sizes.fill_normal(&mut draws);
            }
            let present: Vec<bool> = (self.varying.iter())
                .map(|source| graph[source * self.n + self.varying[target]] > 0.0)
                .collect();
            let law = (cache.laws.entry((target, present)))
                .or_insert_with_key(|(target, present)| self.given(*target, present));
            let Some(law) = law else { continue };
            // L^-T e has the covariance (L L')^-1.
            let mut values = draws[..law.places.len()].to_vec();
            solve_upper(&law.factor, law.places.len(), &mut values, 1);
            for ((place, mean), value) in law.places.iter().zip(&law.means).zip(values) {
                out[first + unknowns[*place].term * own + target] = mean + value;
            }
        }
    }

    fn given(&self, target: usize, present: &[bool]) -> Option<GivenGraph> {
        let unknowns = self.library.unknowns_of(target);
        let all = unknowns.len();
        let is_there = |&place: &usize| {
            self.library.factors(unknowns[place].term).iter().all(|&source| present[source])
        };
        let places: Vec<usize> = (0..all).filter(is_there).collect();
        let TargetTerms { precision, pulls } = &self.targets[target];
        let rows = places.iter().flat_map(|&row| places.iter().map(move |&col| [row, col]));
        let block: Vec<f64> = rows.map(|[row, col]| precision[row * all + col]).collect();
        let factor = cholesky(&block, places.len())?;
        let mut means: Vec<f64> = places.iter().map(|&place| pulls[place]).collect();
        solve_lower(&factor, places.len(), &mut means, 1);
        solve_upper(&factor, places.len(), &mut means, 1);
        Some(GivenGraph { places, means, factor })
    }

    /// Number of coefficients of a graph.
    pub(super) fn size(&self) -> usize {
        self.library.n_terms() * self.varying.len()
    }

    /// Adds the drift over a solver step from standardised states `[path, variable]`; `theta` of all paths, or one for all.
    ///
    /// Products grow without bounds where nothing was ever measured: beyond what is known the drift is that of the
    /// border, and a pull back to it. The drift is that half a step ahead (the explicit midpoint rule): Euler's steps
    /// would feed energy into whatever rotates.
    pub(super) fn add_drift(&self, theta: &[f64], states: &[f64], drift: &mut [f64]) {
        let own = self.varying.len();
        let mut values = vec![0.0; self.library.n_terms()];
        let (mut here, mut slopes) = (vec![0.0; own], vec![0.0; own]);
        let rows = states.chunks_exact(self.n).zip(drift.chunks_exact_mut(self.n));
        for (path, (state, drift)) in rows.enumerate() {
            let first = if theta.len() == self.size() { 0 } else { path * self.size() };
            let theta = &theta[first..first + self.size()];
            for (here, &variable) in here.iter_mut().zip(&self.varying) {
                *here = state[variable];
            }
            self.slopes_at(&here, theta, &mut values, &mut slopes);
            here.iter_mut().zip(&slopes).for_each(|(at, slope)| *at += self.half_step * slope);
            self.slopes_at(&here, theta, &mut values, &mut slopes);
            for (slope, &variable) in slopes.iter().zip(&self.varying) {
                drift[variable] += slope;
            }
        }
    }

    /// The drift at a state of the variables of the process.
    fn slopes_at(&self, state: &[f64], theta: &[f64], values: &mut [f64], slopes: &mut [f64]) {
        let inside: Vec<f64> = state
            .iter()
            .zip(&self.known)
            .map(|(value, [low, high])| value.clamp(*low, *high))
            .collect();
        for ((slope, value), inside) in slopes.iter_mut().zip(state).zip(&inside) {
            *slope = inside - value;
        }
        self.library.values_into(&inside, values);
        for (value, theta) in values.iter().zip(theta.chunks_exact(self.varying.len())) {
            slopes.iter_mut().zip(theta).for_each(|(slope, theta)| *slope += value * theta);
        }
    }

    /// Mean derivatives by each source over standardised states `[state, variable]`, with all terms at their means.
    pub(super) fn mean_effects(&self, states: &[f64]) -> MeanEffects {
        let (n, own, n_terms) = (self.n, self.varying.len(), self.library.n_terms());
        let mut slopes = vec![0.0; own * n_terms];
        let mut signs = vec![(0.0, 0.0); n * n];
        let (mut values, mut jacobian) = (vec![0.0; n_terms], vec![0.0; own * own]);
        let n_states = (states.len() / n).max(1) as f64;
        for state in states.chunks_exact(n) {
            let state: Vec<f64> = self.varying.iter().map(|&variable| state[variable]).collect();
            self.library.values_into(&state, &mut values);
            self.library.jacobian_into(&values, &self.means, &mut jacobian);
            for (idx, slope) in jacobian.iter().enumerate() {
                let sign = &mut signs[self.varying[idx / own] * n + self.varying[idx % own]];
                sign.0 += f64::from(u8::from(*slope > 0.0)) / n_states;
                sign.1 += f64::from(u8::from(*slope < 0.0)) / n_states;
            }
            for (source, slopes) in slopes.chunks_exact_mut(n_terms).enumerate() {
                self.library.add_slopes(&values, source, slopes);
            }
        }
        slopes.iter_mut().for_each(|slope| *slope /= n_states);
        let (mut drift, mut deviations) = (vec![0.0; n * n], vec![0.0; n * n]);
        for source in 0..own {
            for target in 0..own {
                let at = self.varying[source] * n + self.varying[target];
                let slopes = &slopes[source * n_terms..][..n_terms];
                (drift[at], deviations[at]) = self.mean_effect(slopes, target);
            }
        }
        MeanEffects { drift, deviations, noise: None, signs }
    }

    /// Mean and deviation of Σ slope θ of one target.
    fn mean_effect(&self, slopes: &[f64], target: usize) -> (f64, f64) {
        let own = self.library.unknowns_of(target);
        let slopes: Vec<f64> = own.iter().map(|unknown| slopes[unknown.term]).collect();
        let theta = own.iter().map(|one| self.means[one.term * self.varying.len() + target]);
        let mean = slopes.iter().zip(theta).map(|(slope, theta)| slope * theta).sum();
        let rows = self.covariances[target].chunks_exact(own.len()).zip(&slopes);
        let dot = |row: &[f64]| row.iter().zip(&slopes).map(|(a, b)| a * b).sum::<f64>();
        let variance: f64 = rows.map(|(row, slope)| slope * dot(row)).sum();
        (mean, variance.max(0.0).sqrt())
    }
}

/// Laws of terms under graphs that were drawn before: most graphs of a target are the same.
#[derive(Default)]
pub(super) struct TermCache {
    laws: HashMap<(usize, Vec<bool>), Option<GivenGraph>>,
}
