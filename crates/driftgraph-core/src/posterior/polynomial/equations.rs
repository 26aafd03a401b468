//! Equations and effects in the user's units, from what is believed on standardised values.

use super::belief::Belief;
use super::library::Library;
use crate::Standardizer;
use crate::numeric::linalg::log_det_and_inverse;
use crate::numeric::real::{exp, ln};

/// Half the width of an interval of 90 %, in deviations.
const WIDTH: f64 = 1.6448536269514722;
/// Terms of this probability or more make an equation.
const IN_EQUATION: f64 = 0.5;
/// A source whose effect has one sign in this share of the rows has that sign.
const ONE_SIGN: f64 = 0.9;

/// The drift of one variable: dx/dt = Σ coefficient Π factors.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Equation {
    /// Position of the variable.
    pub target: usize,
    /// Its terms, by degree.
    pub terms: Vec<EquationTerm>,
}

/// One term of an equation.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct EquationTerm {
    /// Positions of the variables that are multiplied; none for a constant.
    pub factors: Vec<usize>,
    /// What their product is multiplied by, in the user's units, given that the terms that are not listed are zero.
    pub coefficient: f64,
    /// Where it lies with a probability of 90 %, given the same.
    pub interval: [f64; 2],
    /// Probability that it is there at all, whatever the other terms.
    pub probability: f64,
}

/// The mean partial derivative of a target's drift by a source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TermEffect {
    /// In the user's units.
    pub effect: f64,
    /// In deviations of target and source, per unit of the user's time.
    pub strength: f64,
    /// Where the effect lies with a probability of 90 %.
    pub interval: [f64; 2],
    /// Whether nearly all rows have a derivative above zero (`Some(true)`) or below; `None` where they differ.
    pub is_positive: Option<bool>,
}

/// From standardised values and the fit's time to the user's.
#[derive(Debug, Clone, Copy)]
pub struct Units<'a> {
    /// Means and deviations.
    pub standardizer: &'a Standardizer,
    /// The user's time per unit of time.
    pub time: f64,
}

/// The equations of all variables.
pub fn equations(belief: &Belief, library: &Library, units: Units<'_>) -> Vec<Equation> {
    let scales = units.standardizer.scales();
    let expansion = library.expansion(units.standardizer.means(), scales);
    (0..library.n_variables())
        .map(|target| {
            let scale = scales[target] / units.time;
            let law = UserLaw::new(belief, library, target, &expansion);
            let kept = law.believed();
            let terms = law.given_only(&kept).unwrap_or_default();
            let terms = (kept.iter().zip(terms))
                .map(|(&term, [mean, deviation])| EquationTerm {
                    factors: library.factors(term).to_vec(),
                    coefficient: scale * mean,
                    interval: [-WIDTH, WIDTH].map(|width| scale * (mean + width * deviation)),
                    probability: law.probabilities[term],
                })
                .collect();
            Equation { target, terms }
        })
        .collect()
}

/// The law of one target's terms as monomials of unscaled variables, up to the target's own scale.
struct UserLaw {
    means: Vec<f64>,
    covariance: Vec<f64>,
    probabilities: Vec<f64>,
}

impl UserLaw {
    fn new(belief: &Belief, library: &Library, target: usize, expansion: &[f64]) -> Self {
        let (n, n_terms) = (library.n_variables(), library.n_terms());
        let all: Vec<usize> = (0..n_terms).collect();
        let block = belief.block(library, target, &all);
        let row = |matrix: &[f64], at: usize, vector: &dyn Fn(usize) -> f64| -> f64 {
            (0..n_terms).map(|idx| matrix[at * n_terms + idx] * vector(idx)).sum()
        };
        let means: Vec<f64> = all
            .iter()
            .map(|&term| row(expansion, term, &|idx| belief.theta[idx * n + target]))
            .collect();
        // E C first, then (E C) E'.
        let mut half = vec![0.0; n_terms * n_terms];
        for at in 0..n_terms {
            for col in 0..n_terms {
                half[at * n_terms + col] = row(expansion, at, &|idx| block[idx * n_terms + col]);
            }
        }
        let mut covariance = vec![0.0; n_terms * n_terms];
        for at in 0..n_terms {
            for col in 0..n_terms {
                covariance[at * n_terms + col] =
                    row(&half, at, &|idx| expansion[col * n_terms + idx]);
            }
        }
        let probability = |&term: &usize| {
            let variance = covariance[term * (n_terms + 1)];
            let prior: f64 = (0..n_terms)
                .map(|idx| expansion[term * n_terms + idx].powi(2) / belief.precisions[idx])
                .sum();
            let log_odds = 0.5 * (means[term].powi(2) / variance + ln(variance / prior));
            1.0 / (1.0 + exp(-log_odds))
        };
        let probabilities = all.iter().map(probability).collect();
        Self { means, covariance, probabilities }
    }

    fn believed(&self) -> Vec<usize> {
        let is_believed = |&term: &usize| self.probabilities[term] >= IN_EQUATION;
        (0..self.means.len()).filter(is_believed).collect()
    }

    /// Mean and deviation of some terms if the others are zero.
    fn given_only(&self, kept: &[usize]) -> Option<Vec<[f64; 2]>> {
        let n_terms = self.means.len();
        // In units of the terms' own deviations, which differ by orders of magnitude.
        let own: Vec<f64> =
            self.covariance.iter().step_by(n_terms + 1).map(|value| value.sqrt()).collect();
        let scaled: Vec<f64> = (self.covariance.iter().enumerate())
            .map(|(idx, value)| value / (own[idx / n_terms] * own[idx % n_terms]))
            .collect();
        let precision = log_det_and_inverse(&scaled, n_terms)?.1;
        let pull = |row: usize| -> f64 {
            (0..n_terms)
                .map(|col| precision[row * n_terms + col] * self.means[col] / own[col])
                .sum()
        };
        let pulls: Vec<f64> = kept.iter().map(|&row| pull(row)).collect();
        let block: Vec<f64> = (kept.iter())
            .flat_map(|&row| kept.iter().map(move |&col| [row, col]))
            .map(|[row, col]| precision[row * n_terms + col])
            .collect();
        let covariance = log_det_and_inverse(&block, kept.len())?.1;
        let size = kept.len();
        let law = |idx: usize| {
            let mean: f64 = (0..size).map(|col| covariance[idx * size + col] * pulls[col]).sum();
            [mean, covariance[idx * (size + 1)].sqrt()].map(|value| value * own[kept[idx]])
        };
        Some((0..size).map(law).collect())
    }
}

/// Effects of all sources on all targets, `[source, target]`, over standardised states.
pub fn effects(
    belief: &Belief,
    library: &Library,
    units: Units<'_>,
    states: &[&[f64]],
) -> Vec<TermEffect> {
    let (n, n_terms) = (library.n_variables(), library.n_terms());
    let scales = units.standardizer.scales();
    let mut values = vec![0.0; n_terms];
    let mut jacobian = vec![0.0; n * n];
    let mut n_positive = vec![0_usize; n * n];
    let mut slopes = vec![0.0; n * n_terms];
    for state in states {
        library.values_into(state, &mut values);
        library.jacobian_into(&values, &belief.theta, &mut jacobian);
        n_positive
            .iter_mut()
            .zip(&jacobian)
            .for_each(|(count, value)| *count += usize::from(*value > 0.0));
        for source in 0..n {
            library.add_slopes(&values, source, &mut slopes[source * n_terms..][..n_terms]);
        }
    }
    let n_states = states.len().max(1) as f64;
    slopes.iter_mut().for_each(|slope| *slope /= n_states);
    let mut all = Vec::with_capacity(n * n);
    for source in 0..n {
        let terms = library.terms_with(source);
        let slope = |term: usize| slopes[source * n_terms + term];
        for target in 0..n {
            let block = belief.block(library, target, &terms);
            let mean: f64 =
                terms.iter().map(|&term| slope(term) * belief.theta[term * n + target]).sum();
            let products = block.iter().enumerate().map(|(idx, value)| {
                value * slope(terms[idx / terms.len()]) * slope(terms[idx % terms.len()])
            });
            let deviation = products.sum::<f64>().max(0.0).sqrt();
            let scale = scales[target] / (scales[source] * units.time);
            let share = n_positive[source * n + target] as f64 / n_states;
            let has_one_sign = share >= ONE_SIGN || share <= 1.0 - ONE_SIGN;
            all.push(TermEffect {
                effect: scale * mean,
                strength: mean / units.time,
                interval: [-WIDTH, WIDTH].map(|width| scale * (mean + width * deviation)),
                is_positive: has_one_sign.then_some(share >= ONE_SIGN),
            });
        }
    }
    all
}
