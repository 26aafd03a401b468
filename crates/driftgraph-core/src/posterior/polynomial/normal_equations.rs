//! Σ w J' P^-1 J over all gaps.
//!
//! J_{i,(j,f)} = Σ_k h N_k[i,j] φ_f(m_k). Where gaps have about as many sub-steps as there are variables, L^-1 J is made row by row
//! and multiplied with itself. Where sub-steps are far fewer, the block of two targets is Φ' B Φ with a small matrix B of each
//! gap, as many rows as it has sub-steps: far less work, without ever having J.

use rayon::prelude::*;

use super::gaps::Gap;
use super::library::Library;
use super::tangent::{Tangent, Weighed};
use crate::numeric::kernels::{View, add_product, product};

/// A gap, its linearisation and its weight in the sums.
#[derive(Clone, Copy)]
pub(super) struct WeightedGap<'a> {
    pub(super) gap: &'a Gap,
    pub(super) tangent: &'a Tangent,
    pub(super) weighed: &'a Weighed,
    pub(super) weight: f64,
}

/// How many times the rows J may have, to be better: its products are few and large.
const MORE_ROWS: usize = 2;

/// Σ w J' P^-1 J, `[unknown, unknown]`.
pub(super) fn curvature(gaps: &[WeightedGap<'_>], library: &Library) -> Vec<f64> {
    let n_steps: usize = gaps.iter().map(|one| one.gap.n_steps).sum();
    if gaps.len() * library.n_variables() <= MORE_ROWS * n_steps {
        by_rows(gaps, library)
    } else {
        by_blocks(gaps, library)
    }
}

/// From √w L^-1 J, `[row, unknown]`.
fn by_rows(gaps: &[WeightedGap<'_>], library: &Library) -> Vec<f64> {
    let (n, size) = (library.n_variables(), library.unknowns().len());
    let mut rows = vec![0.0; gaps.len() * n * size];
    (rows.par_chunks_exact_mut(n * size).zip(gaps))
        .for_each(|(rows, one)| one.white_jacobian(library, rows));
    let n_rows = gaps.len() * n;
    let bands: Vec<Vec<f64>> = (0..n)
        .into_par_iter()
        .map(|target| {
            let (first, n_own) = (library.first_unknown(target), library.unknowns_of(target).len());
            let width = first + n_own;
            let mut band = vec![0.0; n_own * width];
            let own = View::strided(&rows[first..], [n_rows, n_own], size);
            product(&mut band, width, own.t(), View::strided(&rows, [n_rows, width], size));
            band
        })
        .collect();
    let mut all = vec![0.0; size * size];
    for (target, band) in bands.iter().enumerate() {
        let (first, n_own) = (library.first_unknown(target), library.unknowns_of(target).len());
        for (row, values) in band.chunks_exact((first + n_own).max(1)).enumerate() {
            for (col, &value) in values.iter().enumerate() {
                all[(first + row) * size + col] = value;
                all[col * size + first + row] = value;
            }
        }
    }
    all
}

impl WeightedGap<'_> {
    /// √w L^-1 J of one gap.
    fn white_jacobian(&self, library: &Library, rows: &mut [f64]) {
        let (n, n_terms, size) =
            (library.n_variables(), library.n_terms(), library.unknowns().len());
        let n_steps = self.gap.n_steps;
        let scale = self.weight.sqrt() * self.gap.step();
        let white: Vec<f64> = self.weighed.white.iter().map(|value| scale * value).collect();
        let mut chosen = Vec::new();
        for target in 0..n {
            let own = library.unknowns_of(target);
            let values = if own.len() == n_terms {
                &self.tangent.values
            } else {
                chosen.clear();
                for values in self.tangent.values.chunks_exact(n_terms) {
                    chosen.extend(own.iter().map(|unknown| values[unknown.term]));
                }
                &chosen
            };
            let carried = View::strided(&white[target * n..], [n_steps, n], n * n);
            let values = View::new(values, n_steps, own.len());
            product(&mut rows[library.first_unknown(target)..], size, carried.t(), values);
        }
    }
}

/// Block by block of two targets.
fn by_blocks(gaps: &[WeightedGap<'_>], library: &Library) -> Vec<f64> {
    let n = library.n_variables();
    let columns: Vec<Columns> =
        (0..n).into_par_iter().map(|target| Columns::new(gaps, library, target)).collect();
    let pairs: Vec<[usize; 2]> = (0..n).flat_map(|a| (0..=a).map(move |b| [a, b])).collect();
    let blocks: Vec<Vec<f64>> = (pairs.par_iter())
        .map(|&[a, b]| {
            let (left, right) = (&columns[a], &columns[b]);
            let weighted = right.weighted(gaps, n, [a, b]);
            let mut block = vec![0.0; left.n_terms * right.n_terms];
            let n_rows = left.values.len() / left.n_terms;
            product(
                &mut block,
                right.n_terms,
                View::new(&left.values, n_rows, left.n_terms).t(),
                View::new(&weighted, n_rows, right.n_terms),
            );
            block
        })
        .collect();
    let size = library.unknowns().len();
    let mut all = vec![0.0; size * size];
    for (&[a, b], block) in pairs.iter().zip(&blocks) {
        let (above, left) = (library.first_unknown(a), library.first_unknown(b));
        for (row, values) in block.chunks_exact(columns[b].n_terms).enumerate() {
            for (col, &value) in values.iter().enumerate() {
                all[(above + row) * size + left + col] = value;
                all[(left + col) * size + above + row] = value;
            }
        }
    }
    all
}

/// φ_f(m_k) of all gaps for the terms of one target, `[step, term]`.
struct Columns {
    n_terms: usize,
    values: Vec<f64>,
}

impl Columns {
    fn new(gaps: &[WeightedGap<'_>], library: &Library, target: usize) -> Self {
        let own = library.unknowns_of(target);
        let rows = gaps.iter().flat_map(|one| one.tangent.values.chunks_exact(library.n_terms()));
        let values = rows.flat_map(|row| own.iter().map(|unknown| row[unknown.term])).collect();
        Self { n_terms: own.len(), values }
    }

    /// B Φ of all gaps for two targets, these columns being those of the second: B_kl = w h² (N_k' P^-1 N_l)[a, b].
    fn weighted(&self, gaps: &[WeightedGap<'_>], n: usize, [a, b]: [usize; 2]) -> Vec<f64> {
        let mut out = vec![0.0; self.values.len()];
        let mut between = Vec::new();
        let mut first = 0;
        for one in gaps {
            let (n_steps, white) = (one.gap.n_steps, &one.weighed.white);
            let scale = one.weight * one.gap.step() * one.gap.step();
            between.clear();
            between.resize(n_steps * n_steps, 0.0);
            let rows_of = |target: usize| View::strided(&white[target * n..], [n_steps, n], n * n);
            product(&mut between, n_steps, rows_of(a), rows_of(b).t());
            between.iter_mut().for_each(|weight| *weight *= scale);
            let own = first * self.n_terms..(first + n_steps) * self.n_terms;
            let values = View::new(&self.values[own.clone()], n_steps, self.n_terms);
            product(&mut out[own], self.n_terms, View::new(&between, n_steps, n_steps), values);
            first += n_steps;
        }
        out
    }
}

/// Σ w J' P^-1 ρ minus the gradient of Σ log|P| / 2, by unknown.
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
                let weight = one.weight * gap.step();
                let pulls: Vec<f64> = one.weighed.pulls.iter().map(|pull| weight * pull).collect();
                let values = View::new(&tangent.values, gap.n_steps, n_terms);
                add_product(&mut sums, n_terms, View::new(&pulls, gap.n_steps, n).t(), values);
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
    library.unknowns().iter().map(|own| all[own.target * n_terms + own.term]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tangent::Drift;
    use super::*;

    #[test]
    fn rows_and_blocks_have_the_same_sum() {
        let library = Library::among(3, 2, &|source, target| source != 2 || target == 2);
        let n_terms = library.n_terms();
        let number = |idx: usize| ((idx * idx * 7919 + 131 * idx) % 1009) as f64 / 504.5 - 1.0;
        let theta: Vec<f64> = (0..n_terms * 3).map(|idx| 0.3 * number(idx)).collect();
        let drift = Drift { library: &library, theta: &theta };
        let gaps: Vec<Gap> = (0..4)
            .map(|idx| Gap {
                before: (0..3).map(|place| number(10 * idx + place)).collect(),
                after: (0..3).map(|place| number(10 * idx + 5 + place)).collect(),
                duration: 0.5,
                n_steps: 2 + idx,
                series: 0,
                rows: [idx, idx + 1],
            })
            .collect();
        let tangents: Vec<Tangent> =
            gaps.iter().map(|gap| drift.tangent(gap, &gap.straight_line()).unwrap()).collect();
        let noise = [0.4, 1.0, 0.7];
        let weighed: Vec<Weighed> = (tangents.iter().zip(&gaps))
            .map(|(tangent, gap)| tangent.weighed(gap, &noise).unwrap())
            .collect();
        let all: Vec<WeightedGap<'_>> = (0..4)
            .map(|idx| WeightedGap {
                gap: &gaps[idx],
                tangent: &tangents[idx],
                weighed: &weighed[idx],
                weight: 0.5 + idx as f64,
            })
            .collect();
        let (rows, blocks) = (by_rows(&all, &library), by_blocks(&all, &library));
        let largest = rows.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        for (a, b) in rows.iter().zip(&blocks) {
            // Rounding of sums of some tens of products.
            assert!((a - b).abs() < 1e-12 * largest, "{a} and {b}");
        }
        assert!(largest > 0.1);
    }
}
