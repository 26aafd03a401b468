//! Everything random in CUTS.

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
        let mut random = self.stream(draw);
        out.fill_with(|| {
            // Away from 0 and 1, whose logits are infinite.
            let uniform = random.uniform().clamp(1e-16, 1.0 - 1e-16);
            (uniform / (1.0 - uniform)).ln()
        });
    }
}
