//! The law of what a step adds beyond its drift: normal, Laplace, or a mixture of two normals.
//!
//! The residual of a step has a mean and a variance under the posterior. A normal law needs no more.
//! For the Laplace law the residual is taken as normal with these moments (exact for certain
//! gates); for the mixture, log Σ exp E log is a lower bound of E log Σ exp.

use crate::nn::parameters::{Init, ParameterTable, Slot, WithGradient};
use crate::numeric::real::{exp, ln};
use crate::numeric::special::{LN_TAU, mean_magnitude};

/// The law of the innovations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InnovationLaw {
    /// Normal: an SDE's own; cannot orient instantaneous effects.
    #[default]
    Gaussian,
    /// Laplace with the same scale parameter; orients instantaneous effects.
    Laplace,
    /// Two normal components per variable, learned; orients instantaneous effects.
    Mixture,
}

/// The law with the places of its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Innovation {
    law: InnovationLaw,
    /// Centres, log deviations and logits of the two components, each `[component, variable]`.
    mixture: Option<[Slot; 3]>,
}

/// One residual: mean, variance, logarithm of the step's scale, and the step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Residual {
    /// Its mean under the posterior.
    pub mean: f64,
    /// Its variance under the posterior.
    pub variance: f64,
    /// Logarithm of the innovations' scale per square root of time.
    pub log_scale: f64,
    /// Length of the step.
    pub step: f64,
}

/// Minus the expected log density, less the constant ½ log 2π, and its derivatives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CrossEntropy {
    /// The value.
    pub value: f64,
    /// Its derivative by the residual's mean.
    pub(crate) by_mean: f64,
    /// Its derivative by the residual's variance.
    pub(crate) by_variance: f64,
    /// Its derivative by the log scale.
    pub(crate) by_log_scale: f64,
}

impl Innovation {
    /// Adds the parameters the law needs.
    pub fn new(table: &mut ParameterTable, law: InnovationLaw, n_variables: usize) -> Self {
        let mut add = |part: &str| {
            table.add(format!("innovation.{part}"), [2, n_variables], Init::Constant(0.0))
        };
        let mixture = (law == InnovationLaw::Mixture)
            .then(|| [add("centres"), add("log_deviations"), add("logits")]);
        Self { law, mixture }
    }

    /// Splits the two components of every variable, the wider one on the side of the skew.
    pub(crate) fn initialise(&self, parameters: &mut [f64], skews: &[f64]) {
        let Some([centres, log_deviations, _]) = self.mixture else { return };
        let n_variables = skews.len();
        for (idx, skew) in skews.iter().enumerate() {
            let side = 0.2 * if *skew < 0.0 { -1.0 } else { 1.0 };
            for (component, sign) in [(0, -1.0), (1, 1.0)] {
                centres.of_mut(parameters)[component * n_variables + idx] = sign * side;
                log_deviations.of_mut(parameters)[component * n_variables + idx] = sign * 0.2;
            }
        }
    }

    /// The law.
    pub fn law(&self) -> InnovationLaw {
        self.law
    }

    /// The mixture's slots.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.mixture.into_iter().flatten()
    }

    /// Mean and variance of one variable's innovation over a unit of time.
    pub fn moments(&self, parameters: &[f64], variable: usize, log_scale: f64) -> (f64, f64) {
        let square_scale = exp(2.0 * log_scale);
        match self.law {
            InnovationLaw::Gaussian => (0.0, square_scale),
            InnovationLaw::Laplace => (0.0, 2.0 * square_scale),
            InnovationLaw::Mixture => {
                let components = self.components(parameters, variable);
                let mean: f64 = components.iter().map(|c| exp(c.log_weight) * c.centre).sum();
                let square: f64 = (components.iter())
                    .map(|c| {
                        let variance = square_scale * exp(2.0 * c.log_deviation);
                        exp(c.log_weight) * (c.centre * c.centre + variance)
                    })
                    .sum();
                (mean, square - mean * mean)
            }
        }
    }

    /// Minus the expected log density of a residual; adds to the gradient of the law's parameters.
    #[inline]
    pub(crate) fn cross_entropy(
        &self,
        WithGradient { parameters, grads }: WithGradient<'_, f64>,
        variable: usize,
        residual: Residual,
        weight: f64,
    ) -> CrossEntropy {
        match self.law {
            InnovationLaw::Gaussian => gaussian(residual),
            InnovationLaw::Laplace => laplace(residual),
            InnovationLaw::Mixture => {
                self.mixture(WithGradient { parameters, grads }, variable, residual, weight)
            }
        }
    }

    pub(crate) fn components(&self, parameters: &[f64], variable: usize) -> [Component; 2] {
        let [centres, log_deviations, logits] =
            self.mixture.expect("only called for the mixture, which has its slots");
        let at =
            |slot: Slot, component: usize| slot.of(parameters)[component * slot.cols + variable];
        let (first, second) = (at(logits, 0), at(logits, 1));
        let top = first.max(second);
        let log_sum = top + ln(exp(first - top) + exp(second - top));
        [0, 1].map(|component| Component {
            centre: at(centres, component),
            log_deviation: at(log_deviations, component),
            log_weight: at(logits, component) - log_sum,
        })
    }

    fn mixture(
        &self,
        WithGradient { parameters, grads }: WithGradient<'_, f64>,
        variable: usize,
        residual: Residual,
        weight: f64,
    ) -> CrossEntropy {
        let components = self.components(parameters, variable);
        let root = residual.step.sqrt();
        let gaps = components.map(|c| residual.mean - c.centre * root);
        let log_scales = components.map(|c| residual.log_scale + c.log_deviation);
        let precisions = log_scales.map(|log_scale| exp(-2.0 * log_scale) / residual.step);
        let squares = [0, 1].map(|q| (gaps[q] * gaps[q] + residual.variance) * precisions[q]);
        let terms = [0, 1].map(|q| components[q].log_weight - 0.5 * squares[q] - log_scales[q]);
        let top = terms[0].max(terms[1]);
        let sum: f64 = terms.iter().map(|term| exp(term - top)).sum();
        let mut out = CrossEntropy {
            value: -top - ln(sum) + 0.5 * ln(residual.step),
            by_mean: 0.0,
            by_variance: 0.0,
            by_log_scale: 0.0,
        };
        let [centres, log_deviations, logits] =
            self.mixture.expect("only called for the mixture, which has its slots");
        for q in 0..2 {
            let share = exp(terms[q] - top) / sum;
            out.by_mean += share * gaps[q] * precisions[q];
            out.by_variance += 0.5 * share * precisions[q];
            let by_scale = share * (1.0 - squares[q]);
            out.by_log_scale += by_scale;
            let idx = q * centres.cols + variable;
            centres.of_mut(grads)[idx] -= weight * share * gaps[q] * precisions[q] * root;
            log_deviations.of_mut(grads)[idx] += weight * by_scale;
            logits.of_mut(grads)[idx] -= weight * (share - exp(components[q].log_weight));
        }
        out
    }
}

/// One component of a mixture, relative to the innovations' scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Component {
    pub(crate) centre: f64,
    pub(crate) log_deviation: f64,
    pub(crate) log_weight: f64,
}

#[inline]
fn gaussian(residual: Residual) -> CrossEntropy {
    let precision = exp(-2.0 * residual.log_scale) / residual.step;
    let square = (residual.mean * residual.mean + residual.variance) * precision;
    CrossEntropy {
        value: 0.5 * square + residual.log_scale + 0.5 * ln(residual.step),
        by_mean: residual.mean * precision,
        by_variance: 0.5 * precision,
        by_log_scale: 1.0 - square,
    }
}

fn laplace(residual: Residual) -> CrossEntropy {
    let scale = exp(residual.log_scale) * residual.step.sqrt();
    let deviation = residual.variance.sqrt();
    let magnitude = mean_magnitude(residual.mean, deviation);
    CrossEntropy {
        value: magnitude.value / scale + ln(2.0 * scale) - 0.5 * LN_TAU,
        by_mean: magnitude.by_mean / scale,
        by_variance: 0.5 * magnitude.by_deviation / (deviation * scale),
        by_log_scale: 1.0 - magnitude.value / scale,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAWS: [InnovationLaw; 3] =
        [InnovationLaw::Gaussian, InnovationLaw::Laplace, InnovationLaw::Mixture];

    fn case(law: InnovationLaw) -> (Innovation, Vec<f64>) {
        let mut table = ParameterTable::default();
        let innovation = Innovation::new(&mut table, law, 2);
        let mut parameters = vec![0.0; table.len()];
        crate::random::RandomStream::new(4, crate::random::Purpose::Weights, 0)
            .fill_normal(&mut parameters);
        (innovation, parameters)
    }

    fn value(innovation: &Innovation, parameters: &[f64], q: [f64; 3]) -> f64 {
        let residual = Residual { mean: q[0], variance: q[1], log_scale: q[2], step: 0.7 };
        let mut unused = vec![0.0; parameters.len()];
        innovation
            .cross_entropy(WithGradient { parameters, grads: &mut unused }, 1, residual, 1.0)
            .value
    }

    #[test]
    fn derivatives_agree_with_central_differences() {
        for law in LAWS {
            let (innovation, parameters) = case(law);
            let (point, step) = ([0.4, 0.3, -0.2], 1e-6);
            let residual = Residual { mean: 0.4, variance: 0.3, log_scale: -0.2, step: 0.7 };
            let mut grads = vec![0.0; parameters.len()];
            let found = innovation.cross_entropy(
                WithGradient { parameters: &parameters, grads: &mut grads },
                1,
                residual,
                1.0,
            );
            let slopes = [found.by_mean, found.by_variance, found.by_log_scale];
            for idx in 0..3 {
                let mut shifted = [point; 2];
                shifted[0][idx] += step;
                shifted[1][idx] -= step;
                let values = shifted.map(|q| value(&innovation, &parameters, q));
                let slope = (values[0] - values[1]) / (2.0 * step);
                // Curvature of order 1 times step^2, and rounding 1e-16 / step.
                assert!((slope - slopes[idx]).abs() < 1e-8, "{law:?} {idx}");
            }
            for idx in 0..parameters.len() {
                let at = |shift: f64| {
                    let mut shifted = parameters.clone();
                    shifted[idx] += shift;
                    value(&innovation, &shifted, point)
                };
                let slope = (at(step) - at(-step)) / (2.0 * step);
                assert!((slope - grads[idx]).abs() < 1e-8, "{law:?} parameter {idx}");
            }
        }
    }

    #[test]
    fn a_mixture_of_two_standard_components_is_the_normal_law() {
        let (innovation, mut parameters) = case(InnovationLaw::Mixture);
        parameters.fill(0.0);
        let (plain, none) = case(InnovationLaw::Gaussian);
        let q = [0.4, 0.3, -0.2];
        // Rounding of a few exponentials.
        assert!((value(&innovation, &parameters, q) - value(&plain, &none, q)).abs() < 1e-14);
        assert!((innovation.moments(&parameters, 0, 0.0).1 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_certain_residual_has_the_densities_logarithm() {
        // Laplace of scale b: log 2b + |r| / b.
        let (innovation, parameters) = case(InnovationLaw::Laplace);
        let scale = (-0.2_f64).exp() * 0.7_f64.sqrt();
        let expected = (2.0 * scale).ln() + 0.4 / scale - 0.5 * std::f64::consts::TAU.ln();
        let found = value(&innovation, &parameters, [0.4, 1e-18, -0.2]);
        assert!((found - expected).abs() < 1e-12);
    }
}
