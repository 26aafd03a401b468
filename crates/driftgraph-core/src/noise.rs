//! Random numbers addressed by what they are for, never by who asks first.
//!
//! Every number is a function of (seed, purpose, stream, position), so results do not depend on
//! the number of threads, and work can be resumed anywhere without a generator's state.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What random numbers are used for; different purposes never share numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// Random parameters of a known system (a sparse matrix, a gene network).
    System = 1,
    /// States at the first time.
    InitialState = 2,
    /// Increments of Brownian motion.
    Brownian = 3,
    /// Times of observation, and which are dropped.
    ObservationTimes = 4,
    /// Cells that were not observed.
    MissingCells = 5,
    /// Noise added to observations.
    MeasurementNoise = 6,
    /// Initial weights of networks.
    Weights = 7,
    /// Graphs sampled from a posterior.
    Graph = 8,
    /// Which series or steps form a batch, or are held out.
    Batch = 9,
    /// Bootstrap and permutation draws.
    Resampling = 10,
    /// Sizes of effects drawn from their posterior.
    Effects = 11,
}

/// One stream of random numbers, readable from any position.
#[derive(Debug, Clone)]
pub struct Noise {
    generator: ChaCha8Rng,
}

impl Noise {
    /// The stream number `stream` (a series, a path) of a purpose.
    pub fn new(seed: u64, purpose: Purpose, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(stream);
        Self { generator }
    }

    /// Moves to number `position`; each uniform number is one position, each normal number too.
    pub fn seek(&mut self, position: u64) {
        self.generator.set_word_pos(2 * u128::from(position));
    }

    /// A uniform number in [0, 1) with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 * (-53.0_f64).exp2()
    }

    /// A whole number below `bound`, each equally likely up to one part in 2^53 / `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((self.uniform() * bound as f64) as usize).min(bound.saturating_sub(1))
    }

    /// Fills `out` with standard normal numbers; an odd length uses up one position more.
    pub fn fill_normal(&mut self, out: &mut [f64]) {
        for pair in out.chunks_mut(2) {
            let (first, second) = self.normal_pair();
            pair[0] = first;
            if let Some(last) = pair.get_mut(1) {
                *last = second;
            }
        }
    }

    /// Shuffles `items` (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Two independent standard normal numbers (Box and Muller, 1958).
    fn normal_pair(&mut self) -> (f64, f64) {
        // 1 - u lies in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        (radius * cos, radius * sin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normals(noise: &mut Noise, n: usize) -> Vec<f64> {
        let mut out = vec![0.0; n];
        noise.fill_normal(&mut out);
        out
    }

    #[test]
    fn a_number_depends_on_its_address_alone() {
        let whole = normals(&mut Noise::new(7, Purpose::Brownian, 3), 20);
        let mut later = Noise::new(7, Purpose::Brownian, 3);
        later.seek(12);
        assert_eq!(normals(&mut later, 8), whole[12..]);
    }

    #[test]
    fn seeds_purposes_and_streams_do_not_share_numbers() {
        let first = |seed, purpose, stream| Noise::new(seed, purpose, stream).uniform();
        let base = first(1, Purpose::Brownian, 0);
        assert_ne!(base, first(2, Purpose::Brownian, 0));
        assert_ne!(base, first(1, Purpose::InitialState, 0));
        assert_ne!(base, first(1, Purpose::Brownian, 1));
    }

    #[test]
    fn normal_numbers_have_the_moments_of_the_normal_law() {
        let n = 200_000;
        let draws = normals(&mut Noise::new(0, Purpose::Brownian, 0), n);
        let moment = |power| draws.iter().map(|z| z.powi(power)).sum::<f64>() / f64::from(n as u32);
        // Standard errors 1/sqrt(n) x (1, sqrt 2, sqrt 15, sqrt 96); five of them: the seed is
        // fixed, so this can only fail when the generator or the transform changes.
        let unit = 5.0 / f64::from(n as u32).sqrt();
        assert!(moment(1).abs() < unit);
        assert!((moment(2) - 1.0).abs() < unit * 2.0_f64.sqrt());
        assert!(moment(3).abs() < unit * 15.0_f64.sqrt());
        assert!((moment(4) - 3.0).abs() < unit * 96.0_f64.sqrt());
    }

    #[test]
    fn whole_numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut noise = Noise::new(0, Purpose::Batch, 0);
        let mut counts = [0; 5];
        for _ in 0..5_000 {
            counts[noise.below(5)] += 1;
        }
        // Mean 1000, deviation 28: six deviations.
        assert!(counts.iter().all(|&count| (830..1170).contains(&count)), "{counts:?}");
    }
}
