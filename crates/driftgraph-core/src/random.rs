//! Random numbers addressed by what they are for, never by who asks first.
//!
//! Every number is a function of (seed, purpose, stream, position), so results do not depend on
//! the number of threads, and work can be resumed anywhere without a generator's state.

use crate::numeric::real::{exp, ln};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// 2^-53: what 53 random bits are multiplied by for a number in [0, 1).
pub(crate) const TO_UNIT: f64 = 1.0 / 9_007_199_254_740_992.0;
/// 2^-31.
const TO_UNIT_SINGLE: f32 = 1.0 / 2_147_483_648.0;

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
    /// States within a solver's step.
    WithinStep = 12,
    /// Draws of a sampler over graphs, effects and paths.
    Sampler = 13,
}

/// One stream of random numbers, readable from any position.
#[derive(Debug, Clone)]
pub struct RandomStream {
    generator: ChaCha8Rng,
}

impl RandomStream {
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
    pub(crate) fn seek(&mut self, position: u64) {
        self.generator.set_word_pos(2 * u128::from(position));
    }

    /// A uniform number in [0, 1) with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 * TO_UNIT
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

    /// One standard normal number; takes two positions.
    pub fn normal(&mut self) -> f64 {
        self.normal_pair().0
    }

    /// A number of the gamma law with this shape and scale 1 (Marsaglia and Tsang, 2000, doi:10.1145/358407.358414).
    pub(crate) fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            // A larger shape, then a power of a uniform number.
            let boost = exp(ln(1.0 - self.uniform()) / shape);
            return self.gamma(shape + 1.0) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let normal = self.normal();
            let root = 1.0 + c * normal;
            if root <= 0.0 {
                continue;
            }
            let volume = root * root * root;
            let uniform = 1.0 - self.uniform();
            if ln(uniform) < 0.5 * normal * normal + d - d * volume + d * ln(volume) {
                return d * volume;
            }
        }
    }

    /// A number of the inverse gamma law: `rate` divided by a gamma number of this shape.
    pub(crate) fn inverse_gamma(&mut self, shape: f64, rate: f64) -> f64 {
        rate / self.gamma(shape).max(f64::MIN_POSITIVE)
    }

    /// A number of the beta law.
    pub(crate) fn beta(&mut self, alpha: f64, beta: f64) -> f64 {
        let (a, b) = (self.gamma(alpha), self.gamma(beta));
        if a + b == 0.0 { 0.5 } else { a / (a + b) }
    }

    /// Fills `out` with standard normal numbers of single precision, several times as fast.
    ///
    /// Each takes 32 random bits, in whole blocks: none is further from 0 than 6.7.
    pub(crate) fn fill_normal_single(&mut self, out: &mut [f32]) {
        const BLOCK: usize = 64;
        let mut bytes = [0_u8; 4 * BLOCK];
        for out in out.chunks_mut(BLOCK) {
            self.generator.fill_bytes(&mut bytes);
            let (words, _) = bytes.as_chunks::<4>();
            let mut normals = [0.0_f32; BLOCK];
            crate::numeric::kernels::vectorised(
                #[inline(always)]
                || {
                    let (first, second) = words.split_at(BLOCK / 2);
                    let (cosines, sines) = normals.split_at_mut(BLOCK / 2);
                    for idx in 0..BLOCK / 2 {
                        let bits = [first[idx], second[idx]].map(u32::from_le_bytes);
                        (cosines[idx], sines[idx]) = normal_pair_single(bits);
                    }
                },
            );
            out.copy_from_slice(&normals[..out.len()]);
        }
    }

    /// Fills `out` with standard normal numbers of single precision, for draws whose digits nobody looks at.
    pub(crate) fn fill_normal_fast(&mut self, out: &mut [f64]) {
        let mut single = [0.0_f32; 256];
        for out in out.chunks_mut(single.len()) {
            let single = &mut single[..out.len()];
            self.fill_normal_single(single);
            out.iter_mut().zip(single).for_each(|(out, single)| *out = f64::from(*single));
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
        #[expect(
            clippy::disallowed_methods,
            reason = "every number of every seed, and with them data and fits, would change in the last digit"
        )]
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        (radius * cos, radius * sin)
    }
}

/// Two standard normal numbers from two words (Box and Muller), in operations that vectorise.
#[expect(clippy::inline_always, reason = "called inside a vectorised loop")]
#[inline(always)]
fn normal_pair_single([radius_bits, angle_bits]: [u32; 2]) -> (f32, f32) {
    // Signed conversions are single instructions. Uniform in (0, 1], 24 bits and more near 0.
    let uniform = (((radius_bits >> 1) as i32) as f32 + 0.5) * TO_UNIT_SINGLE;
    let radius = (-2.0 * log_single(uniform)).sqrt();
    // The angle as quarter turns and a rest between -1/2 and 1/2 of one.
    let quarters = (angle_bits >> 30) as i32;
    let rest = ((angle_bits << 2) as i32 as f32) * (0.5 * TO_UNIT_SINGLE);
    let turn = rest * std::f32::consts::FRAC_PI_2;
    let square = turn * turn;
    // Taylor series on [-π/4, π/4]: the first terms left out are below 3e-8.
    let sine = turn
        * (1.0
            + square
                * (-1.0 / 6.0
                    + square * (1.0 / 120.0 + square * (-1.0 / 5040.0 + square / 362_880.0))));
    let cosine =
        1.0 + square * (-0.5 + square * (1.0 / 24.0 + square * (-1.0 / 720.0 + square / 40_320.0)));
    let odd = quarters & 1 == 1;
    let (a, b) = (if odd { sine } else { cosine }, if odd { cosine } else { sine });
    let sign = if quarters & 2 == 2 { -radius } else { radius };
    (sign * if odd { -a } else { a }, sign * b)
}

/// The natural logarithm of a positive number, to single precision.
#[expect(clippy::inline_always, reason = "called inside a vectorised loop")]
#[inline(always)]
fn log_single(x: f32) -> f32 {
    // x = m 2^e with m in [sqrt(1/2), sqrt 2); log m = 2 artanh((m - 1) / (m + 1)).
    let bits = x.to_bits() as i32;
    let shifted = bits - std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32;
    let exponent = shifted >> 23;
    let mantissa = f32::from_bits((bits - (exponent << 23)) as u32);
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    // |ratio| < 0.172: the first term left out is below 2e-9.
    let series = 1.0 + square * (1.0 / 3.0 + square * (0.2 + square * (1.0 / 7.0 + square / 9.0)));
    (exponent as f32) * std::f32::consts::LN_2 + 2.0 * ratio * series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normals(random: &mut RandomStream, n: usize) -> Vec<f64> {
        let mut out = vec![0.0; n];
        random.fill_normal(&mut out);
        out
    }

    #[test]
    fn a_number_depends_on_its_address_alone() {
        let whole = normals(&mut RandomStream::new(7, Purpose::Brownian, 3), 20);
        let mut later = RandomStream::new(7, Purpose::Brownian, 3);
        later.seek(12);
        assert_eq!(normals(&mut later, 8), whole[12..]);
    }

    #[test]
    fn seeds_purposes_and_streams_do_not_share_numbers() {
        let first = |seed, purpose, stream| RandomStream::new(seed, purpose, stream).uniform();
        let base = first(1, Purpose::Brownian, 0);
        assert_ne!(base, first(2, Purpose::Brownian, 0));
        assert_ne!(base, first(1, Purpose::InitialState, 0));
        assert_ne!(base, first(1, Purpose::Brownian, 1));
    }

    #[test]
    fn normal_numbers_have_the_moments_of_the_normal_law() {
        let n = 200_000;
        let draws = normals(&mut RandomStream::new(0, Purpose::Brownian, 0), n);
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
    fn fast_normal_numbers_have_the_moments_and_tails_of_the_normal_law() {
        let n = 400_000;
        let mut draws = vec![0.0_f32; n];
        RandomStream::new(0, Purpose::Brownian, 0).fill_normal_single(&mut draws);
        let wide = || draws.iter().map(|&z| f64::from(z));
        let size = n as f64;
        let moment = |power| wide().map(|z| z.powi(power)).sum::<f64>() / size;
        // Standard errors as above; five of them, with a fixed seed.
        let unit = 5.0 / size.sqrt();
        assert!(moment(1).abs() < unit);
        assert!((moment(2) - 1.0).abs() < unit * 2.0_f64.sqrt());
        assert!(moment(3).abs() < unit * 15.0_f64.sqrt());
        assert!((moment(4) - 3.0).abs() < unit * 96.0_f64.sqrt());
        // Neighbours and the two halves of a pair are not correlated.
        for gap in [1, 32] {
            let product: f64 = draws.iter().zip(&draws[gap..]).map(|(a, b)| f64::from(a * b)).sum();
            assert!((product / size).abs() < unit, "{gap}");
        }
        // Shares beyond 1, 2 and 3 deviations on either side.
        for (bound, share) in [(1.0, 0.158_655), (2.0, 0.022_750), (3.0, 0.001_350)] {
            let error = 5.0 * f64::sqrt(share / size);
            let above = wide().filter(|z| *z > bound).count() as f64 / size;
            let below = wide().filter(|z| *z < -bound).count() as f64 / size;
            assert!((above - share).abs() < error && (below - share).abs() < error, "{bound}");
        }
    }

    #[test]
    fn the_fast_logarithm_is_exact_to_single_precision() {
        for exponent in -32..=0 {
            for step in 0..100 {
                let x = (exponent as f32).exp2() * (1.0 + step as f32 / 100.0);
                let exact = f64::from(x).ln();
                // A few roundings of the result, and of the exponent's share.
                assert!(
                    (f64::from(log_single(x)) - exact).abs() < 3e-7 * exact.abs().max(0.3),
                    "{x}"
                );
            }
        }
    }

    #[test]
    fn whole_numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut random = RandomStream::new(0, Purpose::Batch, 0);
        let mut counts = [0; 5];
        for _ in 0..5_000 {
            counts[random.below(5)] += 1;
        }
        // Mean 1000, deviation 28: six deviations.
        assert!(counts.iter().all(|&count| (830..1170).contains(&count)), "{counts:?}");
    }
}
