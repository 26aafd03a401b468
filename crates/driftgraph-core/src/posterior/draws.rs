//! The random numbers of a training step, addressed by seed, step and series.

use super::chunk::PathDraws;
use crate::numeric::real::{Real, ln, ln_1p};
use crate::random::{Purpose, RandomStream, TO_UNIT};

/// Noise of one step; any step can be asked for at any time, so a fit resumes exactly.
#[derive(Debug, Clone, Copy)]
pub struct StepDraws {
    seed: u64,
    step: u64,
}

impl StepDraws {
    /// The numbers of step `step` under `seed`.
    pub fn new(seed: u64, step: u64) -> Self {
        Self { seed, step }
    }

    /// The stream of a series, at this step's place; every step uses `len` places.
    fn stream(self, purpose: Purpose, series: usize, len: usize) -> RandomStream {
        let mut random = RandomStream::new(self.seed, purpose, series as u64);
        // Normal numbers come in pairs, so an odd number of them takes one place more.
        random.seek(self.step * len.next_multiple_of(2) as u64);
        random
    }

    fn normals<R: Real>(self, purpose: Purpose, series: usize, out: &mut [R]) {
        let mut random = self.stream(purpose, series, out.len());
        // An even length, so that blocks do not waste half a pair.
        let mut block = [0.0; 64];
        for out in out.chunks_mut(block.len()) {
            random.fill_normal(&mut block[..out.len()]);
            for (out, &draw) in out.iter_mut().zip(&block) {
                *out = R::from_f64(draw);
            }
        }
    }
}

impl<R: Real> PathDraws<R> for StepDraws {
    fn graph(&self, series: usize, out: &mut [R]) {
        let mut random = self.stream(Purpose::Graph, series, out.len());
        for out in out {
            // Half a place up, so that the number is never 0 and its logarithm finite.
            let uniform = random.uniform() + 0.5 * TO_UNIT;
            *out = R::from_f64(ln(uniform) - ln_1p(-uniform));
        }
    }

    fn initial_state(&self, series: usize, out: &mut [R]) {
        self.normals(Purpose::InitialState, series, out);
    }

    fn path(&self, series: usize, out: &mut [R]) {
        self.normals(Purpose::Brownian, series, out);
    }
}

/// The series of a step's batch, sorted: a random subset, or all.
pub fn batch(
    seed: u64,
    step: u64,
    n_series: usize,
    batch_size: Option<usize>,
    out: &mut Vec<usize>,
) {
    out.clear();
    out.extend(0..n_series);
    let Some(size) = batch_size.filter(|&size| size < n_series) else { return };
    // One pass over all series after another, each in its own order.
    let per_pass = (n_series / size) as u64;
    RandomStream::new(seed, Purpose::Batch, step / per_pass).shuffle(out);
    let start = (step % per_pass) as usize * size;
    out.copy_within(start..start + size, 0);
    out.truncate(size);
    out.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_series_never_share_numbers() {
        let draw = |step, series| {
            let mut out = [0.0_f64; 3];
            StepDraws::new(1, step).path(series, &mut out);
            out
        };
        assert_eq!(draw(4, 2), draw(4, 2));
        let all = [draw(0, 0), draw(1, 0), draw(0, 1), draw(1, 1)].concat();
        let mut sorted = all.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        assert_eq!(sorted.len(), all.len());
    }

    #[test]
    fn long_paths_are_one_stream() {
        let mut whole = vec![0.0_f64; 131];
        StepDraws::new(1, 0).path(0, &mut whole);
        let mut plain = vec![0.0; 131];
        RandomStream::new(1, Purpose::Brownian, 0).fill_normal(&mut plain);
        assert_eq!(whole, plain);
    }

    #[test]
    fn batches_cover_all_series_before_they_repeat() {
        let mut seen = Vec::new();
        let mut out = Vec::new();
        for step in 6..9 {
            batch(3, step, 6, Some(2), &mut out);
            seen.extend_from_slice(&out);
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
        batch(3, 0, 6, Some(9), &mut out);
        assert_eq!(out, [0, 1, 2, 3, 4, 5]);
    }
}
