//! Equations and effects in the user's units, from what is believed on standardised values.

use super::belief::{Belief, TargetLaw};
use super::library::{Bend, Library, Saturation, Unknown};
use crate::Standardizer;
use crate::numeric::kernels::{View, product};
use crate::numeric::linalg::log_det_and_inverse;
use crate::numeric::real::{exp, ln};

/// Half the width of an interval of 90 %, in deviations.
const WIDTH: f64 = 1.6448536269514722;
/// Terms of this probability or more make an equation.
const IN_EQUATION: f64 = 0.5;
/// Deviation of what a term adds to the drift, as a share of the drift's size, that comes from looking at one path and
/// what is linear around it instead of at all paths. The rows do not know of it: with many of them terms that are not
/// there would be certain, and intervals too narrow.
///
/// Chosen on Lorenz-96 and Lorenz-63, seeds 1001 and 1002 (`examples/equation_terms.rs --seeds 2`): with 0.002, 103 of 282 true
/// coefficients lie inside their intervals, and 131 terms are false; with this value 279 do, and none is.
const LINEARISED: f64 = 0.025;

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
    /// Positions of the variables that are multiplied, or that a function depends on; none for a constant.
    pub factors: Vec<usize>,
    /// The function of them that the term is; `None` for products.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<TermFunction>,
    /// What their product is multiplied by, in the user's units, given that the terms that are not listed are zero.
    pub coefficient: f64,
    /// Where it lies with a probability of 90 %, given the same; `None` where that is not known.
    pub interval: Option<[f64; 2]>,
    /// Probability that it is there at all, whatever the other terms.
    pub probability: f64,
}

/// A function of one or two variables, in the user's units.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TermFunction {
    /// x² / (half² + x²).
    Hill {
        /// Where half of the effect is reached.
        half: f64,
    },
    /// tanh((x - centre) / width).
    Tanh {
        /// The middle.
        centre: f64,
        /// How far from it the effect levels off.
        width: f64,
    },
    /// sin(x), or sin(x - y) of two variables.
    Sine,
    /// cos(x), or cos(x - y) of two variables.
    Cosine,
}

/// From standardised values and the fit's time to the user's.
#[derive(Debug, Clone, Copy)]
pub struct Units<'a> {
    /// Means and deviations.
    pub standardizer: &'a Standardizer,
    /// The user's time per unit of time.
    pub time: f64,
    /// How large terms and drifts are where the system goes.
    pub sizes: &'a Sizes,
}

/// Root mean squares along paths.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizes {
    /// Of each term, products those of unscaled variables.
    pub terms: Vec<f64>,
    /// Of the drift of each variable, on standardised values.
    pub drift: Vec<f64>,
}

impl Sizes {
    /// Along points on standardised values, one after the other.
    pub fn along<'a>(
        points: impl Iterator<Item = &'a [f64]>,
        library: &Library,
        theta: &[f64],
        standardizer: &Standardizer,
    ) -> Self {
        let n = library.n_variables();
        let (means, scales) = (standardizer.means(), standardizer.scales());
        let mut sizes = Self { terms: vec![0.0; library.n_terms()], drift: vec![0.0; n] };
        let mut values = vec![0.0; library.n_terms()];
        let mut unscaled = vec![0.0; n];
        let mut n_points = 0.0;
        for point in points {
            library.values_into(point, &mut values);
            for (target, sum) in sizes.drift.iter_mut().enumerate() {
                let terms = values.iter().zip(theta[target..].iter().step_by(n));
                *sum += terms.map(|(value, theta)| value * theta).sum::<f64>().powi(2);
            }
            for (idx, state) in unscaled.iter_mut().enumerate() {
                *state = means[idx] + scales[idx] * point[idx];
            }
            for (term, sum) in sizes.terms.iter_mut().enumerate() {
                let product = || library.factors(term).iter().map(|&idx| unscaled[idx]).product();
                let value: f64 = library.bend(term).map_or_else(product, |_| values[term]);
                *sum += value * value;
            }
            n_points += 1.0;
        }
        let root = |sum: &mut f64| *sum = (*sum / f64::max(n_points, 1.0)).sqrt();
        sizes.terms.iter_mut().for_each(root);
        sizes.drift.iter_mut().for_each(root);
        sizes
    }

    /// Deviation of a coefficient from what linearised paths get wrong.
    fn error(&self, target: usize, term: usize) -> f64 {
        LINEARISED * self.drift[target] / self.terms[term].max(f64::MIN_POSITIVE)
    }
}

/// The equations of all variables: terms that are believed, as far as the evidence counts for each target.
pub fn equations(
    belief: &Belief,
    library: &Library,
    units: Units<'_>,
    shares: &[f64],
) -> Vec<Equation> {
    let scales = units.standardizer.scales();
    let expansion = library.expansion(units.standardizer.means(), scales);
    (0..library.n_variables())
        .map(|target| {
            let scale = scales[target] / units.time;
            let own = library.unknowns_of(target);
            let terms = belief.law(library, target, shares[target]).and_then(|law| {
                let errors: Vec<f64> =
                    own.iter().map(|unknown| units.sizes.error(target, unknown.term)).collect();
                let law = UserLaw::new(belief, library, own, &law, &expansion, &errors);
                let kept = law.believed();
                let values = law.given_only(&kept)?;
                Some((kept, values, law.probabilities))
            });
            let (kept, values, probabilities) = terms.unwrap_or_default();
            let terms = (kept.iter().zip(values))
                .map(|(&place, [mean, deviation])| EquationTerm {
                    factors: library.factors(own[place].term).to_vec(),
                    function: function(library, own[place].term, units.standardizer),
                    coefficient: scale * mean,
                    interval: Some([-WIDTH, WIDTH].map(|width| scale * (mean + width * deviation))),
                    probability: probabilities[place],
                })
                .collect();
            Equation { target, terms }
        })
        .collect()
}

fn function(library: &Library, term: usize, units: &Standardizer) -> Option<TermFunction> {
    let variable = library.factors(term).first().copied()?;
    let (centre, width) = (units.means()[variable], units.scales()[variable]);
    Some(match library.bend(term)? {
        Bend::Sine => TermFunction::Sine,
        Bend::Cosine => TermFunction::Cosine,
        Bend::Saturated(Saturation::Tanh) => TermFunction::Tanh { centre, width },
        Bend::Saturated(Saturation::Hill { slope, .. }) => {
            TermFunction::Hill { half: width / slope }
        }
    })
}

/// The law of one target's terms as monomials of unscaled variables, up to the target's own scale.
struct UserLaw {
    means: Vec<f64>,
    covariance: Vec<f64>,
    probabilities: Vec<f64>,
}

impl UserLaw {
    fn new(
        belief: &Belief,
        library: &Library,
        own: &[Unknown],
        law: &TargetLaw,
        expansion: &[f64],
        errors: &[f64],
    ) -> Self {
        let (size, n_terms) = (own.len(), library.n_terms());
        // Monomials of a target's sources expand into monomials of these.
        let expansion: Vec<f64> = (own.iter())
            .flat_map(|row| own.iter().map(move |col| expansion[row.term * n_terms + col.term]))
            .collect();
        let wide = View::new(&expansion, size, size);
        let mut means = vec![0.0; size];
        product(&mut means, 1, wide, View::new(&law.means, size, 1));
        let mut half = vec![0.0; size * size];
        product(&mut half, size, wide, View::new(&law.covariance, size, size));
        let mut covariance = vec![0.0; size * size];
        product(&mut covariance, size, View::new(&half, size, size), wide.t());
        for (place, error) in errors.iter().enumerate() {
            covariance[place * (size + 1)] += error * error;
        }
        let probability = |place: usize| {
            let variance = covariance[place * (size + 1)];
            let row = &expansion[place * size..][..size];
            let prior: f64 = (row.iter().zip(own))
                .map(|(weight, unknown)| weight * weight / belief.precisions[unknown.term])
                .sum();
            let log_odds = 0.5 * (means[place].powi(2) / variance + ln(variance / prior));
            1.0 / (1.0 + exp(-log_odds))
        };
        let probabilities = (0..size).map(probability).collect();
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
