//! Σ w J' P^-1 J over all gaps without ever having J.
//!
//! J_{i,(j,f)} = Σ_k h N_k[i,j] φ_f(m_k), so that the block of two targets is Φ' B Φ with a small matrix B of each gap,
//! as many rows as it has sub-steps: far less work than products of J where sub-steps are fewer than variables.

use rayon::prelude::*;

use super::gaps::Gap;
use super::library::Library;
use super::tangent::{Tangent, Weighed};
use crate::numeric::kernels::{View, product};

/// A gap, its linearisation and its weight in the sums.
#[derive(Clone, Copy)]
pub(super) struct WeightedGap<'a> {
    pub(super) gap: &'a Gap,
    pub(super) tangent: &'a Tangent,
    pub(super) weighed: &'a Weighed,
    pub(super) weight: f64,
}

/// Σ w J' P^-1 J, `[target, term; target, term]`.
pub(super) fn curvature(gaps: &[WeightedGap<'_>], library: &Library) -> Vec<f64> {
    let (n, n_terms) = (library.n_variables(), library.n_terms());
    let values: Vec<f64> = gaps.iter().flat_map(|one| one.tangent.values.iter().copied()).collect();
    let n_rows = values.len() / n_terms;
    let pairs: Vec<[usize; 2]> = (0..n).flat_map(|a| (0..=a).map(move |b| [a, b])).collect();
    let blocks: Vec<Vec<f64>> = (pairs.par_iter())
        .map(|&[a, b]| {
            let weighted = between_targets(gaps, n, n_terms, [a, b]);
            let mut block = vec![0.0; n_terms * n_terms];
            let (left, right) =
                (View::new(&values, n_rows, n_terms), View::new(&weighted, n_rows, n_terms));
            product(&mut block, n_terms, left.t(), right);
            block
        })
        .collect();
    let size = n * n_terms;
    let mut all = vec![0.0; size * size];
    for ([a, b], block) in pairs.iter().zip(&blocks) {
        for row in 0..n_terms {
            for col in 0..n_terms {
                let value = block[row * n_terms + col];
                all[(a * n_terms + row) * size + b * n_terms + col] = value;
                all[(b * n_terms + col) * size + a * n_terms + row] = value;
            }
        }
    }
    all
}

/// B Φ of all gaps for two targets: B_kl = w h² (N_k' P^-1 N_l)[a, b].
fn between_targets(
    gaps: &[WeightedGap<'_>],
    n: usize,
    n_terms: usize,
    [a, b]: [usize; 2],
) -> Vec<f64> {
    let mut out = Vec::new();
    for one in gaps {
        let scale = one.weight * one.gap.step() * one.gap.step();
        for step in 0..one.gap.n_steps {
            let left = &one.weighed.white[(step * n + a) * n..][..n];
            let from = out.len();
            out.resize(from + n_terms, 0.0);
            for (other, values) in one.tangent.values.chunks_exact(n_terms).enumerate() {
                let right = &one.weighed.white[(other * n + b) * n..][..n];
                let weight: f64 = scale * left.iter().zip(right).map(|(a, b)| a * b).sum::<f64>();
                out[from..].iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
            }
        }
    }
    out
}

/// Σ w J' P^-1 ρ minus the gradient of Σ log|P| / 2, `[target, term]`.
pub(super) fn pull(gaps: &[WeightedGap<'_>], library: &Library, noise: &[f64]) -> Vec<f64> {
    /// Gaps summed together, whatever the number of threads.
    const CHUNK: usize = 32;
    let (n, n_terms) = (library.n_variables(), library.n_terms());
    let parts: Vec<Vec<f64>> = (gaps.par_chunks(CHUNK))
        .map(|chunk| {
            let mut log_det = vec![0.0; n_terms * n];
            let mut sums = vec![0.0; n * n_terms];
            for one in chunk {
                let (gap, tangent) = (one.gap, one.tangent);
                tangent.add_log_det_gradient(gap, noise, one.weighed, library, &mut log_det);
                for (pulls, values) in
                    one.weighed.pulls.chunks_exact(n).zip(tangent.values.chunks_exact(n_terms))
                {
                    for (pull, sums) in pulls.iter().zip(sums.chunks_exact_mut(n_terms)) {
                        let weight = one.weight * gap.step() * pull;
                        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
                    }
                }
            }
            for term in 0..n_terms {
                (0..n)
                    .for_each(|target| sums[target * n_terms + term] -= log_det[term * n + target]);
            }
            sums
        })
        .collect();
    let mut all = vec![0.0; n * n_terms];
    for part in &parts {
        all.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
    }
    all
}
