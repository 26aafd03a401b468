//! Divergences of gates and effects from their priors, and the way back to the parameters.

use std::ops::Range;

use rayon::prelude::*;

use super::{CHUNK, GatedAdjoints, GatedMatrix, GatedMoments};
use crate::graph::density::DensityPrior;
use crate::graph::prior::EdgeRule;
use crate::numeric::kernels::vectorised;
use crate::numeric::real::Real;

/// What all entries read.
struct Inputs<'a> {
    matrix: &'a GatedMatrix,
    parameters: &'a [f64],
    rules: &'a [EdgeRule],
    prior_weight: f64,
    prior_log_odds: &'a [f64],
    moments: &'a GatedMoments,
    adjoints: &'a GatedAdjoints,
}

/// Gradients of some rows of entries.
struct RowGrads<'a> {
    logits: &'a mut [f64],
    means: &'a mut [f64],
    log_deviations: &'a mut [f64],
}

/// What some rows of entries add to what all share; by target where that vectorises.
struct Share {
    kl: Vec<f64>,
    by_slab: Vec<f64>,
    by_diagonal_slab: f64,
    by_probability: Vec<f64>,
}

impl GatedMatrix {
    /// KL of gates and effects from their priors, `prior_weight` on the gates' prior.
    ///
    /// Adds its gradient, together with that of the loss through the moments, to `grads`.
    pub fn backward(
        &self,
        parameters: &[f64],
        grads: &mut [f64],
        prior: &DensityPrior,
        prior_weight: f64,
        moments: &GatedMoments,
        adjoints: &GatedAdjoints,
    ) -> f64 {
        let d = self.means.rows;
        let prior_log_odds = prior.log_odds(&moments.probabilities);
        let inputs = Inputs {
            matrix: self,
            parameters,
            rules: prior.rules(),
            prior_weight,
            prior_log_odds: &prior_log_odds,
            moments,
            adjoints,
        };
        let n_rows = (CHUNK / d).max(1);
        let shares: Vec<Share> = (self.row_grads(grads, n_rows * d).enumerate())
            .map(|(chunk, mut grads)| inputs.rows(chunk * n_rows, &mut grads))
            .collect();
        let mut kl = -prior_weight * prior.expected_log_prior(&moments.probabilities);
        let slabs = self.log_slabs.of_mut(grads);
        let last = slabs.len() - 1;
        for share in shares {
            kl += share.kl.iter().sum::<f64>();
            slabs[0] += share.by_slab.iter().sum::<f64>();
            slabs[last] += share.by_diagonal_slab;
        }
        kl
    }

    /// The gradients of the entries' own parameters, `len` entries at a time.
    fn row_grads<'a>(
        &self,
        grads: &'a mut [f64],
        len: usize,
    ) -> impl IndexedParallelIterator<Item = RowGrads<'a>> {
        let n = self.means.len();
        let in_a_row = self.means.offset == self.edge_logits.offset + n
            && self.log_deviations.offset == self.means.offset + n;
        assert!(in_a_row, "the three were added one after the other");
        let (logits, rest) = grads[self.edge_logits.offset..].split_at_mut(n);
        let (means, rest) = rest.split_at_mut(n);
        let chunks = (logits.par_chunks_mut(len))
            .zip(means.par_chunks_mut(len))
            .zip(rest[..n].par_chunks_mut(len));
        chunks.map(|((logits, means), log_deviations)| RowGrads { logits, means, log_deviations })
    }
}

/// Gradients of some effects of one source.
struct EffectGrads<'a> {
    means: &'a mut [f64],
    log_deviations: &'a mut [f64],
}

impl Inputs<'_> {
    /// Rows from number `first` on; the diagonal has a slab of its own.
    fn rows(&self, first: usize, grads: &mut RowGrads<'_>) -> Share {
        let d = self.matrix.means.rows;
        let zeros = || vec![0.0; d];
        let mut share =
            Share { kl: zeros(), by_slab: zeros(), by_diagonal_slab: 0.0, by_probability: zeros() };
        let slabs = self.matrix.log_slabs.of(self.parameters);
        let (slab, diagonal_slab) = (slabs[0], slabs[slabs.len() - 1]);
        let rows = (grads.logits.chunks_exact_mut(d))
            .zip(grads.means.chunks_exact_mut(d))
            .zip(grads.log_deviations.chunks_exact_mut(d));
        for (row, ((logits, means), log_deviations)) in rows.enumerate() {
            let source = first + row;
            share.by_probability.copy_from_slice(&self.adjoints.probabilities[source * d..][..d]);
            if self.matrix.has_effects {
                let off_diagonal = share.by_slab[source];
                for (targets, log_slab) in
                    [(0..source, slab), (source..source + 1, diagonal_slab), (source + 1..d, slab)]
                {
                    let by = EffectGrads {
                        means: &mut means[targets.clone()],
                        log_deviations: &mut log_deviations[targets.clone()],
                    };
                    self.effects(source, targets, log_slab, by, &mut share);
                }
                share.by_diagonal_slab += share.by_slab[source] - off_diagonal;
                share.by_slab[source] = off_diagonal;
            }
            self.gates(source, logits, &mut share);
        }
        share
    }

    /// Effects of one source on a range of targets; forbidden ones have weight 0.
    fn effects(
        &self,
        source: usize,
        targets: Range<usize>,
        log_slab: f64,
        by: EffectGrads<'_>,
        share: &mut Share,
    ) {
        let EffectGrads { means: by_means, log_deviations: by_log_deviations } = by;
        let (d, matrix) = (self.matrix.means.rows, self.matrix);
        let n = targets.len();
        let place = source * d + targets.start..source * d + targets.end;
        let ps = &self.moments.probabilities[place.clone()];
        let gated_means = &self.moments.mean[place.clone()];
        let squares = &self.moments.square[place.clone()];
        let deviation_squares = &self.moments.deviation_square[place.clone()];
        let by_mean = &self.adjoints.mean[place.clone()];
        let by_second = &self.adjoints.second[place.clone()];
        let by_variance = &self.adjoints.variance[place.clone()];
        let means = &matrix.means.of(self.parameters)[place.clone()];
        let log_deviations = &matrix.log_deviations.of(self.parameters)[place];
        let kl = &mut share.kl[targets.clone()];
        let by_slab = &mut share.by_slab[targets.clone()];
        let by_probability = &mut share.by_probability[targets];
        let precision = Real::exp(-2.0 * log_slab);
        vectorised(
            #[inline(always)]
            || {
                for v in 0..n {
                    let (p, mean, square) = (ps[v], means[v], squares[v]);
                    let ratio = square * precision;
                    let slab_kl = 0.5 * (ratio - 1.0) + log_slab - log_deviations[v];
                    // variance = second - mean².
                    let by_second = by_second[v] + by_variance[v];
                    let by_mean = by_mean[v] - 2.0 * gated_means[v] * by_variance[v];
                    let by_square = p * (2.0 * by_second + precision);
                    by_means[v] += p * by_mean + mean * by_square;
                    by_log_deviations[v] += deviation_squares[v] * by_square - p;
                    kl[v] += p * slab_kl;
                    by_slab[v] += p * (1.0 - ratio);
                    by_probability[v] += mean * by_mean + square * by_second + slab_kl;
                }
            },
        );
    }

    /// Entropy and prior of one source's free gates.
    fn gates(&self, source: usize, by_logits: &mut [f64], share: &mut Share) {
        let d = self.matrix.means.rows;
        let row = source * d..(source + 1) * d;
        let ps = &self.moments.probabilities[row.clone()];
        let rules = &self.rules[row.clone()];
        let prior_log_odds = &self.prior_log_odds[row.clone()];
        let logits = &self.matrix.edge_logits.of(self.parameters)[row];
        let (kl, by_probability) = (&mut share.kl[..d], &share.by_probability[..d]);
        let (by_logits, prior_weight) = (&mut by_logits[..d], self.prior_weight);
        vectorised(
            #[inline(always)]
            || {
                for v in 0..d {
                    let free = if rules[v] == EdgeRule::Free { 1.0 } else { 0.0 };
                    let (p, logit) = (ps[v], logits[v]);
                    // Minus the entropy: p logit - softplus(logit), of slope logit by p.
                    kl[v] += free * (p * logit - logit.softplus());
                    let by_probability =
                        by_probability[v] + logit - prior_weight * prior_log_odds[v];
                    by_logits[v] += free * p * (1.0 - p) * by_probability;
                }
            },
        );
    }
}
