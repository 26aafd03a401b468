//! Everything random in CUTS.

use driftgraph_core::random::{Purpose, RandomStream};

/// Where samples and graphs come from; numbers are addressed, so that threads and resuming change nothing.
pub(super) trait Chance: Sync {
    /// The order of the samples in an epoch.
    fn order(&self, epoch: u64, n_samples: usize) -> Vec<usize>;

    /// Uniform numbers for epoch and batch, for a stage and a target.
    fn fill_uniform(&self, place: [u64; 2], of: (u64, usize), out: &mut [f64]);

    /// Differences of two Gumbel numbers each: a logistic law.
    fn fill_logistic(&self, place: [u64; 2], of: (u64, usize), out: &mut [f64]);
}

/// Random numbers of a seed.
pub(super) struct Seeded(pub(super) u64);

impl Seeded {
    fn stream(&self, [epoch, batch]: [u64; 2], (stage, target): (u64, usize)) -> RandomStream {
        let stream = (((epoch << 20) + batch) << 21) + ((target as u64) << 1) + stage;
        RandomStream::new(self.0, Purpose::Graph, stream)
    }
}

impl Chance for Seeded {
    fn order(&self, epoch: u64, n_samples: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n_samples).collect();
        RandomStream::new(self.0, Purpose::Batch, epoch).shuffle(&mut order);
        order
    }

    fn fill_uniform(&self, place: [u64; 2], of: (u64, usize), out: &mut [f64]) {
        let mut random = self.stream(place, of);
        out.fill_with(|| random.uniform());
    }

    fn fill_logistic(&self, place: [u64; 2], of: (u64, usize), out: &mut [f64]) {
        let mut random = self.stream(place, of);
        out.fill_with(|| {
            // Away from 0 and 1, whose logits are infinite.
            let uniform = random.uniform().clamp(1e-16, 1.0 - 1e-16);
            (uniform / (1.0 - uniform)).ln()
        });
    }
}
