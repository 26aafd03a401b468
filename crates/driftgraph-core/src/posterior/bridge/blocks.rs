//! Mini-batches: runs of consecutive steps, dealt anew in every epoch.
//!
//! Runs rather than single steps, since a grid point belongs to the two steps around it and its
//! gradient needs both. Cuts move from epoch to epoch, so that no point stays at an edge.

use super::layout::BridgeLayout;
use crate::random::{Purpose, RandomStream};

/// Longest run of steps.
const RUN: usize = 64;

/// A run of consecutive steps of one series, with the observations at their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Position in [`BridgeLayout::series`].
    pub series: usize,
    /// First step.
    pub first_step: usize,
    /// Number of steps; 0 for a series of a single point.
    pub n_steps: usize,
}

impl Block {
    /// Whether the block starts the series, and so holds its first point and initial law.
    pub(crate) fn starts_series(&self) -> bool {
        self.first_step == 0
    }
}

/// All steps of all series, cut into blocks and dealt into batches.
#[derive(Debug, Clone)]
pub struct Epoch {
    blocks: Vec<Block>,
    n_batches: usize,
}

/// Number of batches for about `batch_steps` steps in each.
pub fn n_batches(layout: &BridgeLayout, batch_steps: usize) -> usize {
    let longest = layout.series().iter().map(|rows| rows.n_steps().min(RUN)).max().unwrap_or(1);
    let most = layout.n_steps().div_ceil(longest.max(1));
    layout.n_steps().div_ceil(batch_steps.max(1)).clamp(1, most.max(1))
}

impl Epoch {
    /// Cuts and deals epoch number `epoch`, a function of seed and number alone.
    pub fn new(layout: &BridgeLayout, n_batches: usize, seed: u64, epoch: u64) -> Self {
        let mut random = RandomStream::new(seed, Purpose::Batch, epoch);
        if n_batches == 1 {
            return Self { blocks: whole(layout), n_batches };
        }
        let mut blocks = cut(layout, 1 + random.below(RUN));
        random.shuffle(&mut blocks);
        // Empty batches would have no gradient; there are always enough blocks for one each.
        let n_batches = n_batches.min(blocks.len());
        Self { blocks, n_batches }
    }

    /// Number of batches of this epoch; a batch stands for the whole with this weight.
    pub fn n_batches(&self) -> usize {
        self.n_batches
    }

    /// The blocks of one batch.
    pub fn batch(&self, batch: usize) -> &[Block] {
        let n = self.blocks.len();
        &self.blocks[batch * n / self.n_batches..(batch + 1) * n / self.n_batches]
    }
}

/// Every series as one block.
fn whole(layout: &BridgeLayout) -> Vec<Block> {
    let blocks = layout.series().iter().enumerate();
    blocks.map(|(series, rows)| Block { series, first_step: 0, n_steps: rows.n_steps() }).collect()
}

/// Cuts every series after `first_cut` steps and then every [`RUN`] steps.
fn cut(layout: &BridgeLayout, first_cut: usize) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (series, rows) in layout.series().iter().enumerate() {
        let n_steps = rows.n_steps();
        if n_steps <= RUN {
            blocks.push(Block { series, first_step: 0, n_steps });
            continue;
        }
        let mut first_step = 0;
        while first_step < n_steps {
            let end = if first_step == 0 { first_cut } else { first_step + RUN }.min(n_steps);
            blocks.push(Block { series, first_step, n_steps: end - first_step });
            first_step = end;
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ObservedSeries, SeriesSet};

    fn layout(lengths: &[usize]) -> BridgeLayout {
        let series = lengths.iter().enumerate().map(|(idx, &n)| {
            let times = (0..n).map(|time| time as f64).collect();
            ObservedSeries::new(format!("s{idx}"), 1, times, vec![0.5; n]).unwrap()
        });
        BridgeLayout::new(&SeriesSet::new(vec!["x".into()], series.collect()).unwrap(), 1.0)
            .unwrap()
    }

    #[test]
    fn every_epoch_deals_every_step_once() {
        let layout = layout(&[1, 30, 500, 65, 66]);
        for (epoch, batch_steps) in [(0, 100), (1, 100), (2, 17), (3, 10_000)] {
            let n_batches = n_batches(&layout, batch_steps);
            let epoch = Epoch::new(&layout, n_batches, 5, epoch);
            let mut seen: Vec<(usize, usize)> = (0..epoch.n_batches())
                .flat_map(|batch| epoch.batch(batch))
                .flat_map(|block| {
                    let steps = block.first_step..block.first_step + block.n_steps;
                    steps.map(move |step| (block.series, step))
                })
                .collect();
            seen.sort_unstable();
            let expected: Vec<(usize, usize)> = (0..5)
                .flat_map(|series| {
                    let n_steps = layout.series()[series].n_steps();
                    (0..n_steps).map(move |step| (series, step))
                })
                .collect();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn epochs_differ_and_repeat_with_their_number() {
        let layout = layout(&[500, 500]);
        let batch = |epoch| Epoch::new(&layout, 4, 5, epoch).batch(0).to_vec();
        assert_eq!(batch(3), batch(3));
        assert_ne!(batch(3), batch(4));
    }
}
