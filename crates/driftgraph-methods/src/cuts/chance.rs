//! Everything random in CUTS.

use driftgraph_core::layers::{Real, vectorised};
use driftgraph_core::random::{Purpose, RandomStream};

/// What random numbers are drawn for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw {
    pub(super) epoch: u64,
    pub(super) batch: u64,
    pub(super) stage: Stage,
    pub(super) target: usize,
}

/// The two halves of an epoch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    Networks,
    Graph,
}

/// Where samples and graphs come from; numbers are addressed, so that threads and resuming change nothing.
pub(super) trait Chance: Sync {
    /// The order of the samples in an epoch.
    fn order(&self, epoch: u64, n_samples: usize) -> Vec<usize>;

    /// Uniform numbers.
    fn fill_uniform(&self, draw: Draw, out: &mut [f64]);

    /// Differences of two Gumbel numbers each: a logistic law.
    fn fill_logistic(&self, draw: Draw, out: &mut [f64]);
}

/// Random numbers of a seed.
pub(super) struct Seeded(pub(super) u64);

impl Seeded {
    fn stream(&self, draw: Draw) -> RandomStream {
        let place = ((draw.epoch << 20) + draw.batch) << 21;
        let stream = place + ((draw.target as u64) << 1) + draw.stage as u64;
        RandomStream::new(self.0, Purpose::Graph, stream)
    }
}

impl Chance for Seeded {
    fn order(&self, epoch: u64, n_samples: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n_samples).collect();
        RandomStream::new(self.0, Purpose::Batch, epoch).shuffle(&mut order);
        order
    }

    fn fill_uniform(&self, draw: Draw, out: &mut [f64]) {
        let mut random = self.stream(draw);
        out.fill_with(|| random.uniform());
    }

    fn fill_logistic(&self, draw: Draw, out: &mut [f64]) {
        self.fill_uniform(draw, out);
        vectorised(
            #[inline(always)]
            || out.iter_mut().for_each(|uniform| *uniform = logit(*uniform)),
        );
    }
}

/// ln(u / (1 - u)), in operations that vectorise.
#[inline(always)]
fn logit(uniform: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    const ONE: u64 = 1023 << 52;
    // Away from 0 and 1, whose logits are infinite.
    let uniform = if uniform < 1e-16 { 1e-16 } else { uniform };
    let uniform = if uniform > 1.0 - 1e-16 { 1.0 - 1e-16 } else { uniform };
    let odds = (uniform / (1.0 - uniform)).to_bits();
    // Odds are 2^n (1 + f) with f in [0, 1).
    let power = f64::from((odds >> 52) as i32 - 1023);
    let rest = f64::from_bits((odds & FRACTION) | ONE) - 1.0;
    power * std::f64::consts::LN_2 + rest.ln_1p_unit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logits_are_those_of_the_system_and_finite_at_the_ends() {
        for idx in 1..1000 {
            let uniform = f64::from(idx) / 1000.0;
            // Sums of two rounded numbers of size up to 7.
            assert!((logit(uniform) - (uniform / (1.0 - uniform)).ln()).abs() < 1e-14);
        }
        assert!(logit(0.0) < -36.0 && logit(1.0) > 36.0 && logit(1.0).is_finite());
    }
}
