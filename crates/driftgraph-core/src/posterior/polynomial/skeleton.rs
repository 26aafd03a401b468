//! Which variables may be sources of which, where there are too many for all products: those whose terms explain slopes best.
//!
//! Rows are too far apart for slopes between them to be right, and yet the terms of a target's true sources stand out among
//! all others. Terms are taken one after the other, each the one that explains most of what those before it leave.

use rayon::prelude::*;

use super::gaps::Gap;
use super::library::Library;
use crate::numeric::kernels::{View, product};

/// Terms that are taken for a target at most.
const MOST_TERMS: usize = 24;
/// A term of which the others leave less than this share explains nothing of its own.
const OWN_SHARE: f64 = 1e-3;

/// What every target may choose from.
pub struct Candidates<'a> {
    /// Gaps of all series.
    pub gaps: &'a [Gap],
    /// Whether a variable may be a source of another, whether it must be.
    pub rules: &'a (dyn Fn(usize, usize) -> [bool; 2] + Sync),
    /// Sources of a target at most; those that must be one are not counted out.
    pub most: usize,
}

/// Products of all pairs of middles of gaps, and of these with slopes.
struct Moments {
    library: Library,
    /// Σ φ φ', `[term, term]`.
    squares: Vec<f64>,
    /// Σ φ slope, `[term, target]`.
    pulls: Vec<f64>,
}

impl Candidates<'_> {
    /// Whether a variable is a source of another, `[source, target]`.
    pub fn chosen(&self, n: usize) -> Vec<bool> {
        let moments = Moments::new(self.gaps, n);
        let columns: Vec<Vec<bool>> = (0..n)
            .into_par_iter()
            .map(|target| {
                let mut sources: Vec<bool> =
                    (0..n).map(|source| (self.rules)(source, target)[1]).collect();
                sources[target] |= (self.rules)(target, target)[0];
                moments.choose(target, self, &mut sources);
                sources
            })
            .collect();
        (0..n * n).map(|idx| columns[idx % n][idx / n]).collect()
    }
}

impl Moments {
    fn new(gaps: &[Gap], n: usize) -> Self {
        let library = Library::new(n, 2);
        let n_terms = library.n_terms();
        let mut values = vec![0.0; gaps.len() * n_terms];
        let mut slopes = Vec::with_capacity(gaps.len() * n);
        for (gap, values) in gaps.iter().zip(values.chunks_exact_mut(n_terms)) {
            let ends = || gap.before.iter().zip(&gap.after);
            let middle: Vec<f64> = ends().map(|(a, b)| 0.5 * (a + b)).collect();
            library.values_into(&middle, values);
            slopes.extend(ends().map(|(a, b)| (b - a) / gap.duration));
        }
        let rows = View::new(&values, gaps.len(), n_terms);
        let mut squares = vec![0.0; n_terms * n_terms];
        product(&mut squares, n_terms, rows.t(), rows);
        let mut pulls = vec![0.0; n_terms * n];
        product(&mut pulls, n, rows.t(), View::new(&slopes, gaps.len(), n));
        Self { library, squares, pulls }
    }

    /// Adds the variables of the terms that explain most.
    fn choose(&self, target: usize, candidates: &Candidates<'_>, sources: &mut [bool]) {
        let (n, n_terms) = (self.library.n_variables(), self.library.n_terms());
        let mut pulls: Vec<f64> = (0..n_terms).map(|term| self.pulls[term * n + target]).collect();
        let whole: Vec<f64> = self.squares.iter().step_by(n_terms + 1).copied().collect();
        let mut own = whole.clone();
        let mut taken: Vec<Vec<f64>> = Vec::new();
        let mut next = Some(0);
        while let Some(term) = next {
            self.library.factors(term).iter().for_each(|&source| sources[source] = true);
            let direction = self.direction(term, own[term], &taken);
            let pull = pulls[term] / own[term].sqrt();
            for (idx, part) in direction.iter().enumerate() {
                pulls[idx] -= part * pull;
                own[idx] -= part * part;
            }
            taken.push(direction);
            if taken.len() > MOST_TERMS {
                break;
            }
            let gain = |&idx: &usize| pulls[idx] * pulls[idx] / own[idx];
            let is_open = |&idx: &usize| {
                own[idx] > OWN_SHARE * whole[idx]
                    && candidates.allows(self.library.factors(idx), target, sources)
            };
            next = (1..n_terms).filter(is_open).max_by(|a, b| gain(a).total_cmp(&gain(b)));
        }
    }

    /// What a term shares with all others once those taken before it are taken out, scaled to its own length.
    fn direction(&self, term: usize, own: f64, taken: &[Vec<f64>]) -> Vec<f64> {
        let n_terms = self.library.n_terms();
        let mut direction = self.squares[term * n_terms..][..n_terms].to_vec();
        for earlier in taken {
            let weight = earlier[term];
            direction.iter_mut().zip(earlier).for_each(|(sum, part)| *sum -= weight * part);
        }
        let length = own.sqrt();
        direction.iter_mut().for_each(|part| *part /= length);
        direction
    }
}

impl Candidates<'_> {
    /// Whether a term's variables may be sources, and are not too many with those chosen before.
    fn allows(&self, factors: &[usize], target: usize, sources: &[bool]) -> bool {
        let mut distinct = factors.to_vec();
        distinct.dedup();
        let n_new = distinct.iter().filter(|&&source| !sources[source]).count();
        let n_chosen = sources.iter().filter(|&&is| is).count();
        let may_be = |&source: &usize| (self.rules)(source, target)[0];
        distinct.iter().all(may_be) && (n_new == 0 || n_chosen + n_new <= self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_product_are_chosen_and_what_is_forbidden_is_not() {
        // dx_0 = x_1 x_2, dx_1 = -x_3, the others rest; states without a pattern.
        let number = |idx: usize| ((idx * idx * 7919 + 131 * idx) % 1009) as f64 / 504.5 - 1.0;
        let gaps: Vec<Gap> = (0..200)
            .map(|idx| {
                let before: Vec<f64> = (0..6).map(|place| number(7 * idx + place)).collect();
                let mut after = before.clone();
                after[0] += 0.01 * before[1] * before[2];
                after[1] -= 0.01 * before[3];
                let rows = [idx, idx + 1];
                Gap { before, after, duration: 0.01, n_steps: 2, series: 0, rows }
            })
            .collect();
        let all = |_: usize, _: usize| [true, false];
        let chosen = Candidates { gaps: &gaps, rules: &all, most: 3 }.chosen(6);
        assert!(chosen[6] && chosen[12] && chosen[0], "{chosen:?}");
        assert!(chosen[3 * 6 + 1] && chosen[7]);
        for target in 0..6 {
            assert!((0..6).filter(|source| chosen[source * 6 + target]).count() <= 3);
        }
        let but_one =
            |source: usize, target: usize| [(source, target) != (3, 1), (source, target) == (5, 2)];
        let chosen = Candidates { gaps: &gaps, rules: &but_one, most: 3 }.chosen(6);
        assert!(!chosen[3 * 6 + 1] && chosen[5 * 6 + 2]);
    }
}
