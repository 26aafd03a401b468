//! A matrix of effects that may each be absent: spike-and-slab posterior in closed form.
//!
//! Effect ij is G_ij A_ij with G_ij ~ Bernoulli(p_ij) and A_ij | G_ij = 1 ~ N(m_ij, t_ij²); the slab
//! prior of A is N(0, s²) with s learned. Everything the ELBO needs is a moment of p, m and t.

mod backward;

use rayon::prelude::*;

use crate::graph::prior::EdgeRule;
use crate::nn::parameters::{Init, ParameterTable, Slot};
use crate::numeric::kernels::vectorised;
use crate::numeric::real::{Real, exp, ln};

/// Places of a gated matrix' parameters, all `[source, target]` but the slab scales.
#[derive(Debug, Clone, Copy)]
pub struct GatedMatrix {
    /// Logits of the gates.
    pub edge_logits: Slot,
    means: Slot,
    log_deviations: Slot,
    /// One scale for the entries off the diagonal, and one for those on it where it has any.
    log_slabs: Slot,
    /// Whether there are effects at all, or gates only.
    has_effects: bool,
}

/// Moments of the entries, `[source, target]`.
#[derive(Debug, Clone, Default)]
pub struct GatedMoments {
    /// p, exactly 0 or 1 where the edge is not learned.
    pub probabilities: Vec<f64>,
    /// E(G A) = p m.
    pub mean: Vec<f64>,
    /// E((G A)²) = p (m² + t²).
    pub second: Vec<f64>,
    /// Var(G A), the difference of the second moment and the squared mean.
    pub variance: Vec<f64>,
    /// m² + t².
    square: Vec<f64>,
    /// t².
    deviation_square: Vec<f64>,
}

/// Derivatives of a loss by the moments.
#[derive(Debug, Clone, Default)]
pub struct GatedAdjoints {
    /// By the probability itself, beside what follows through the moments.
    pub probabilities: Vec<f64>,
    /// By the mean.
    pub mean: Vec<f64>,
    /// By the second moment.
    pub second: Vec<f64>,
    /// By the variance.
    pub variance: Vec<f64>,
}

impl GatedAdjoints {
    /// Zeros for `n_entries` entries.
    pub(crate) fn reset(&mut self, n_entries: usize) {
        for buffer in
            [&mut self.probabilities, &mut self.mean, &mut self.second, &mut self.variance]
        {
            buffer.clear();
            buffer.resize(n_entries, 0.0);
        }
    }
}

/// A known posterior of a gated matrix, `[source, target]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GatedValues<'a> {
    /// Logits of the gates.
    pub(crate) logits: &'a [f64],
    /// Means of effects given their edges.
    pub(crate) means: &'a [f64],
    /// Their deviations.
    pub(crate) deviations: &'a [f64],
    /// Scales of effects off and on the diagonal.
    pub(crate) slabs: [f64; 2],
}

/// Least deviation that is told apart from none.
const LEAST_DEVIATION: f64 = 1e-9;
/// Deviation of an effect's posterior at the start.
const FIRST_DEVIATION: f64 = 0.05;
/// Entries per parallel piece: fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 1 << 14;
/// Slab scales at the start: off the diagonal and on it.
const FIRST_SLABS: [f64; 2] = [0.2, 0.5];

impl GatedMatrix {
    /// Adds the parameters of `name`; `with_diagonal` gives the diagonal a slab of its own.
    pub fn new(
        table: &mut ParameterTable,
        name: &str,
        n_variables: usize,
        with_diagonal: bool,
    ) -> Self {
        let shape = [n_variables, n_variables];
        let mut add = |part: &str, shape, value| {
            table.add(format!("{name}.{part}"), shape, Init::Constant(value))
        };
        Self {
            edge_logits: add("edge_logits", shape, 0.0),
            means: add("means", shape, 0.0),
            log_deviations: add("log_deviations", shape, ln(FIRST_DEVIATION)),
            log_slabs: add("log_slabs", [1, 1 + usize::from(with_diagonal)], ln(FIRST_SLABS[0])),
            has_effects: true,
        }
    }

    /// The same gates, with or without linear effects behind them.
    #[must_use]
    pub(crate) fn with_effects(self, has_effects: bool) -> Self {
        Self { has_effects, ..self }
    }

    /// Sets what no table of constants can: the diagonal's own slab.
    pub(crate) fn initialise(&self, parameters: &mut [f64]) {
        if let Some(diagonal) = self.log_slabs.of_mut(parameters).get_mut(1) {
            *diagonal = ln(FIRST_SLABS[1]);
        }
    }

    /// Sets gates, effects and slabs to a known posterior of some variables, whose numbers here are given.
    pub(crate) fn set(
        &self,
        parameters: &mut [f64],
        values: &GatedValues<'_>,
        variables: &[usize],
    ) {
        let (n, d) = (self.edge_logits.cols, variables.len());
        for at in 0..d * d {
            let idx = variables[at / d] * n + variables[at % d];
            self.edge_logits.of_mut(parameters)[idx] = values.logits[at];
            self.means.of_mut(parameters)[idx] = values.means[at];
            self.log_deviations.of_mut(parameters)[idx] =
                ln(values.deviations[at].max(LEAST_DEVIATION));
        }
        for (out, slab) in self.log_slabs.of_mut(parameters).iter_mut().zip(values.slabs) {
            *out = ln(slab);
        }
    }

    /// Whether there are linear effects behind the gates.
    pub(crate) fn has_effects(&self) -> bool {
        self.has_effects
    }

    /// The slots that learn with the rate of effects rather than of edges.
    pub(crate) fn effect_slots(&self) -> [Slot; 3] {
        [self.means, self.log_deviations, self.log_slabs]
    }

    /// E(A | G = 1), `[source, target]`.
    pub fn effects<'a>(&self, parameters: &'a [f64]) -> &'a [f64] {
        self.means.of(parameters)
    }

    /// Mean and squared deviation of one effect given its edge; zeros without effects.
    pub fn effect(&self, parameters: &[f64], idx: usize) -> (f64, f64) {
        if !self.has_effects {
            return (0.0, 0.0);
        }
        let log_deviation = self.log_deviations.of(parameters)[idx];
        (self.means.of(parameters)[idx], exp(2.0 * log_deviation))
    }

    /// Means and variances of all effects under one graph, `[source, target]`.
    pub(super) fn gated_effects(&self, parameters: &[f64], graph: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let gated = graph.iter().enumerate().map(|(idx, edge)| {
            let (mean, variance) = self.effect(parameters, idx);
            (edge * mean, edge * variance)
        });
        gated.unzip()
    }

    /// Divergence of one effect from its slab, given its edge; zero without effects.
    pub(crate) fn slab_kl(&self, parameters: &[f64], idx: usize) -> f64 {
        if !self.has_effects {
            return 0.0;
        }
        let (mean, deviation_square) = self.effect(parameters, idx);
        let log_slab = self.log_slabs.of(parameters)[self.slab_of(idx)];
        let ratio = (mean * mean + deviation_square) * exp(-2.0 * log_slab);
        0.5 * (ratio - 1.0) + log_slab - self.log_deviations.of(parameters)[idx]
    }

    /// Slab scale of every entry's prior, for the entries off and on the diagonal.
    pub(crate) fn slab_scales(&self, parameters: &[f64]) -> [f64; 2] {
        let slabs = self.log_slabs.of(parameters);
        [exp(slabs[0]), exp(slabs[slabs.len() - 1])]
    }

    /// Computes all moments.
    pub fn moments(&self, parameters: &[f64], rules: &[EdgeRule], out: &mut GatedMoments) {
        let (logits, means) = (self.edge_logits.of(parameters), self.means.of(parameters));
        let log_deviations = self.log_deviations.of(parameters);
        let n = logits.len();
        for buffer in [
            &mut out.probabilities,
            &mut out.mean,
            &mut out.second,
            &mut out.variance,
            &mut out.square,
            &mut out.deviation_square,
        ] {
            buffer.resize(n, 0.0);
        }
        let chunks = (out.probabilities.par_chunks_mut(CHUNK))
            .zip(out.mean.par_chunks_mut(CHUNK))
            .zip(out.second.par_chunks_mut(CHUNK))
            .zip(out.variance.par_chunks_mut(CHUNK))
            .zip(out.square.par_chunks_mut(CHUNK))
            .zip(out.deviation_square.par_chunks_mut(CHUNK));
        chunks.enumerate().for_each(
            |(chunk, (((((ps, mean), second), variance), square), spread))| {
                let place = chunk * CHUNK..chunk * CHUNK + ps.len();
                let (logits, rules) = (&logits[place.clone()], &rules[place.clone()]);
                vectorised(
                    #[inline(always)]
                    || {
                        for ((p, &logit), &rule) in ps.iter_mut().zip(logits).zip(rules) {
                            *p = match rule {
                                EdgeRule::Free => logit.sigmoid(),
                                EdgeRule::Forbidden => 0.0,
                                EdgeRule::Required => 1.0,
                            };
                        }
                    },
                );
                if !self.has_effects {
                    return;
                }
                let (means, log_deviations) = (&means[place.clone()], &log_deviations[place]);
                let n = ps.len();
                let (mean, second, variance) =
                    (&mut mean[..n], &mut second[..n], &mut variance[..n]);
                let (square, spread) = (&mut square[..n], &mut spread[..n]);
                vectorised(
                    #[inline(always)]
                    || {
                        for idx in 0..n {
                            let (p, effect) = (ps[idx], means[idx]);
                            spread[idx] = Real::exp(2.0 * log_deviations[idx]);
                            square[idx] = effect * effect + spread[idx];
                            mean[idx] = p * effect;
                            second[idx] = p * square[idx];
                            variance[idx] = second[idx] - mean[idx] * mean[idx];
                        }
                    },
                );
            },
        );
    }

    /// Position of an entry's slab scale.
    fn slab_of(&self, idx: usize) -> usize {
        if idx.is_multiple_of(self.means.rows + 1) { self.log_slabs.len() - 1 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::density::{DensityPrior, GraphDensity};
    use crate::graph::prior::EdgePrior;

    /// A loss that weighs every moment of every entry differently, plus the divergences.
    fn loss(matrix: &GatedMatrix, prior: &DensityPrior, parameters: &[f64]) -> (f64, Vec<f64>) {
        let mut moments = GatedMoments::default();
        matrix.moments(parameters, prior.rules(), &mut moments);
        let n = moments.mean.len();
        let mut adjoints = GatedAdjoints::default();
        adjoints.reset(n);
        let mut value = 0.0;
        for idx in 0..n {
            let weight = 0.3 + idx as f64;
            adjoints.probabilities[idx] = 0.5 * weight;
            adjoints.mean[idx] = weight;
            adjoints.second[idx] = -0.7 * weight;
            adjoints.variance[idx] = 1.1 * weight;
            value += adjoints.probabilities[idx] * moments.probabilities[idx]
                + adjoints.mean[idx] * moments.mean[idx]
                + adjoints.second[idx] * moments.second[idx]
                + adjoints.variance[idx] * moments.variance[idx];
        }
        let mut grads = vec![0.0; parameters.len()];
        value += matrix.backward(parameters, &mut grads, prior, 0.8, &moments, &adjoints);
        (value, grads)
    }

    #[test]
    fn gradients_agree_with_central_differences() {
        let mut table = ParameterTable::default();
        let matrix = GatedMatrix::new(&mut table, "a", 3, true);
        let mut knowledge = EdgePrior::new(3, 0.0);
        knowledge.know(0, 1, 0.0).unwrap();
        knowledge.know(1, 1, 1.0).unwrap();
        let prior = DensityPrior::new(GraphDensity::default(), knowledge);
        let mut parameters = vec![0.0; table.len()];
        crate::random::RandomStream::new(1, crate::random::Purpose::Weights, 0)
            .fill_normal(&mut parameters);
        let (_, grads) = loss(&matrix, &prior, &parameters);
        for idx in 0..parameters.len() {
            let step = 1e-6;
            let at = |shift: f64| {
                let mut shifted = parameters.clone();
                shifted[idx] += shift;
                loss(&matrix, &prior, &shifted).0
            };
            let slope = (at(step) - at(-step)) / (2.0 * step);
            // Values of order 100: rounding 1e-14 / step, and curvature times step squared.
            assert!((slope - grads[idx]).abs() < 1e-6 * (1.0 + slope.abs()), "{idx}: {slope}");
        }
    }

    #[test]
    fn fixed_entries_have_exact_moments_and_unlearned_logits() {
        let mut table = ParameterTable::default();
        let matrix = GatedMatrix::new(&mut table, "a", 2, false);
        let mut knowledge = EdgePrior::new(2, 0.0);
        knowledge.know(0, 1, 0.0).unwrap();
        knowledge.know(1, 0, 1.0).unwrap();
        let prior = DensityPrior::new(GraphDensity::default(), knowledge);
        let parameters = vec![0.4; table.len()];
        let mut moments = GatedMoments::default();
        matrix.moments(&parameters, prior.rules(), &mut moments);
        assert_eq!((moments.probabilities[1], moments.probabilities[2]), (0.0, 1.0));
        assert_eq!((moments.mean[1], moments.mean[2]), (0.0, 0.4));
        let (_, grads) = loss(&matrix, &prior, &parameters);
        assert_eq!((grads[1], grads[2]), (0.0, 0.0));
    }
}
