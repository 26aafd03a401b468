//! One regression tree, of which only the importance of its variables is kept.
//!
//! Breiman (2001), doi:10.1023/A:1010933404324, and Geurts, Ernst and Wehenkel (2006), doi:10.1007/s10994-006-6226-1.

use driftgraph_core::random::RandomStream;

/// Variance, in units of the target's, below which a node is pure.
const PURE: f64 = 1e-14;

/// Values of all sources at all samples, with their ranks.
pub(super) struct Sources {
    pub(super) n_samples: usize,
    /// For each source.
    values: Vec<Vec<f64>>,
    /// For each source, the place of each sample's value among all; equal values share one.
    ranks: Vec<Vec<u32>>,
    /// For each source, the samples in the order of their values.
    sorted: Vec<Vec<u32>>,
}

impl Sources {
    /// Wraps columns, one value per sample.
    pub(super) fn new(values: Vec<Vec<f64>>) -> Self {
        let n_samples = values.first().map_or(0, Vec::len);
        let sorted: Vec<Vec<u32>> = values
            .iter()
            .map(|column| {
                let mut samples: Vec<u32> = (0..n_samples as u32).collect();
                samples.sort_by(|&a, &b| column[a as usize].total_cmp(&column[b as usize]));
                samples
            })
            .collect();
        let ranks =
            values.iter().zip(&sorted).map(|(column, sorted)| ranks(column, sorted)).collect();
        Self { n_samples, values, ranks, sorted }
    }

    pub(super) fn n_sources(&self) -> usize {
        self.values.len()
    }
}

fn ranks(column: &[f64], sorted: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; column.len()];
    let mut rank = 0;
    for pair in sorted.windows(2) {
        rank += u32::from(column[pair[1] as usize] != column[pair[0] as usize]);
        ranks[pair[1] as usize] = rank;
    }
    ranks
}

/// How splits are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Splits {
    /// The best threshold of each candidate, on samples drawn with replacement.
    RandomForest,
    /// One random threshold of each candidate, on all samples.
    ExtraTrees,
}

/// What all trees of a target share.
#[derive(Clone, Copy)]
pub(super) struct Forest<'a> {
    pub(super) sources: &'a Sources,
    /// One value per sample, of variance 1.
    pub(super) target: &'a [f64],
    /// Sources looked at for each split.
    pub(super) n_candidates: usize,
    pub(super) splits: Splits,
}

/// A tree that is being grown.
pub(super) struct Tree<'a> {
    forest: Forest<'a>,
    /// How often each sample counts.
    weights: Vec<f64>,
    random: RandomStream,
    importance: Vec<f64>,
    /// All sources, shuffled as far as they were drawn.
    pool: Vec<usize>,
    /// Which samples are in the node at hand.
    inside: Vec<bool>,
    keys: Vec<u64>,
}

/// Sums over the samples of a node.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    weight: f64,
    sum: f64,
}

impl Sums {
    fn add(&mut self, weight: f64, value: f64) {
        self.weight += weight;
        self.sum += weight * value;
    }

    /// What the mean of these samples explains.
    fn explained(self) -> f64 {
        self.sum * self.sum / self.weight
    }

    fn without(self, other: Self) -> Self {
        Self { weight: self.weight - other.weight, sum: self.sum - other.sum }
    }
}

/// The best split found so far.
#[derive(Debug, Clone, Copy)]
struct Split {
    source: usize,
    gain: f64,
    bound: Bound,
}

/// Which samples go to the left.
#[derive(Debug, Clone, Copy)]
enum Bound {
    /// Those of this rank or less.
    Rank(u32),
    /// Those of this value or less.
    Value(f64),
}

impl<'a> Tree<'a> {
    /// Draws the samples, for forests that do.
    pub(super) fn new(forest: Forest<'a>, mut random: RandomStream) -> Self {
        let n = forest.sources.n_samples;
        let mut weights = vec![0.0; n];
        match forest.splits {
            Splits::RandomForest => (0..n).for_each(|_| weights[random.below(n)] += 1.0),
            Splits::ExtraTrees => weights.fill(1.0),
        }
        Self::with_weights(forest, random, weights)
    }

    fn with_weights(forest: Forest<'a>, random: RandomStream, weights: Vec<f64>) -> Self {
        let n_sources = forest.sources.n_sources();
        Self {
            forest,
            random,
            importance: vec![0.0; n_sources],
            pool: (0..n_sources).collect(),
            inside: vec![false; weights.len()],
            keys: Vec::with_capacity(weights.len()),
            weights,
        }
    }

    /// Grows until every leaf is pure, and gives the variance that splits on each source take away.
    pub(super) fn importance(mut self) -> Vec<f64> {
        let mut samples: Vec<u32> = (0..self.weights.len() as u32)
            .filter(|&sample| self.weights[sample as usize] > 0.0)
            .collect();
        let total: f64 = self.weights.iter().sum();
        // Nodes wait as ranges of `samples`, which are put in order in place.
        let whole = 0..samples.len();
        let mut waiting = vec![whole];
        while let Some(range) = waiting.pop() {
            let node = &mut samples[range.clone()];
            let Some(split) = self.best_split(node) else { continue };
            self.importance[split.source] += split.gain;
            let n_left = self.partition(node, split);
            let middle = range.start + n_left;
            waiting.extend(
                [middle..range.end, range.start..middle].into_iter().filter(|part| part.len() > 1),
            );
        }
        self.importance.iter_mut().for_each(|value| *value /= total);
        self.importance
    }

    fn best_split(&mut self, node: &[u32]) -> Option<Split> {
        let mut all = Sums::default();
        let mut squares = 0.0;
        for &sample in node {
            let (weight, value) =
                (self.weights[sample as usize], self.forest.target[sample as usize]);
            all.add(weight, value);
            squares += weight * value * value;
        }
        if squares - all.explained() <= PURE * all.weight {
            return None;
        }
        // A scan over all samples in order beats sorting while a node has a fair share of them.
        let scans = node.len() * 8 >= self.weights.len();
        if scans {
            node.iter().for_each(|&sample| self.inside[sample as usize] = true);
        }
        let best = self.best_of_candidates(node, all, scans);
        if scans {
            node.iter().for_each(|&sample| self.inside[sample as usize] = false);
        }
        best
    }

    /// The best of some random sources; more are looked at until one can be split.
    fn best_of_candidates(&mut self, node: &[u32], all: Sums, scans: bool) -> Option<Split> {
        let mut best: Option<Split> = None;
        for drawn in 0..self.pool.len() {
            if drawn >= self.forest.n_candidates && best.is_some() {
                break;
            }
            let place = drawn + self.random.below(self.pool.len() - drawn);
            self.pool.swap(drawn, place);
            let source = self.pool[drawn];
            let found = match self.forest.splits {
                Splits::RandomForest => self.best_rank(node, source, all, scans),
                Splits::ExtraTrees => self.random_value(node, source, all),
            };
            if let Some(found) = found
                && best.is_none_or(|best| found.gain > best.gain)
            {
                best = Some(found);
            }
        }
        best
    }

    /// The best threshold of a source; `None` where all samples have one value.
    fn best_rank(&mut self, node: &[u32], source: usize, all: Sums, scans: bool) -> Option<Split> {
        let ranks = &self.forest.sources.ranks[source];
        self.keys.clear();
        let key = |sample: u32| (u64::from(ranks[sample as usize]) << 32) | u64::from(sample);
        if scans {
            let inside = &self.inside;
            let sorted = self.forest.sources.sorted[source].iter().copied();
            self.keys.extend(sorted.filter(|&sample| inside[sample as usize]).map(key));
        } else {
            self.keys.extend(node.iter().map(|&sample| key(sample)));
            self.keys.sort_unstable();
        }
        let mut left = Sums::default();
        let mut best: Option<(f64, u32)> = None;
        for (idx, &key) in self.keys.iter().enumerate() {
            let (rank, sample) = ((key >> 32) as u32, (key & 0xffff_ffff) as usize);
            left.add(self.weights[sample], self.forest.target[sample]);
            let Some(next) = self.keys.get(idx + 1) else { break };
            if (next >> 32) as u32 == rank {
                continue;
            }
            let gain = left.explained() + all.without(left).explained();
            if best.is_none_or(|(largest, _)| gain > largest) {
                best = Some((gain, rank));
            }
        }
        let (explained, rank) = best?;
        Some(Split {
            source,
            gain: (explained - all.explained()).max(0.0),
            bound: Bound::Rank(rank),
        })
    }

    /// A threshold drawn between the smallest and the largest value; `None` where they are one.
    fn random_value(&mut self, node: &[u32], source: usize, all: Sums) -> Option<Split> {
        let values = &self.forest.sources.values[source];
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for &sample in node {
            low = low.min(values[sample as usize]);
            high = high.max(values[sample as usize]);
        }
        if low >= high {
            return None;
        }
        let drawn = low + self.random.uniform() * (high - low);
        // Rounding must not leave the right side empty.
        let bound = if drawn < high { drawn } else { low };
        let mut left = Sums::default();
        for &sample in node.iter().filter(|&&sample| values[sample as usize] <= bound) {
            left.add(self.weights[sample as usize], self.forest.target[sample as usize]);
        }
        let explained = left.explained() + all.without(left).explained();
        Some(Split {
            source,
            gain: (explained - all.explained()).max(0.0),
            bound: Bound::Value(bound),
        })
    }

    /// Puts the samples of the left part first, and tells how many they are.
    fn partition(&self, node: &mut [u32], split: Split) -> usize {
        let sources = self.forest.sources;
        let is_left = |sample: u32| match split.bound {
            Bound::Rank(rank) => sources.ranks[split.source][sample as usize] <= rank,
            Bound::Value(value) => sources.values[split.source][sample as usize] <= value,
        };
        let mut n_left = 0;
        for idx in 0..node.len() {
            if is_left(node[idx]) {
                node.swap(idx, n_left);
                n_left += 1;
            }
        }
        n_left
    }
}

#[cfg(test)]
mod tests {
    use driftgraph_core::random::Purpose;

    use super::*;

    fn importance_of(
        columns: &[&[f64]],
        target: &[f64],
        weights: &[f64],
        splits: Splits,
    ) -> Vec<f64> {
        let sources = Sources::new(columns.iter().map(|column| column.to_vec()).collect());
        let forest = Forest { sources: &sources, target, n_candidates: columns.len(), splits };
        let random = RandomStream::new(0, Purpose::Resampling, 0);
        Tree::with_weights(forest, random, weights.to_vec()).importance()
    }

    #[test]
    fn a_tree_of_two_splits_is_that_of_the_hand() {
        // The root splits on a between 2 and 3: sum of squares 149 + 0.25 ... by hand:
        // y = 1, 3, 10, 10 has mean 6 and squares 25 + 9 + 16 + 16 = 66. Left mean 2 leaves 1 + 1 = 2, right
        // mean 10 leaves 0: the split takes 64. Then b splits 1 from 3 and takes 2. Over four samples: 16 and 0.5.
        let (a, b) = ([1.0, 1.0, 3.0, 4.0], [5.0, 6.0, 5.0, 6.0]);
        let found =
            importance_of(&[&a, &b], &[1.0, 3.0, 10.0, 10.0], &[1.0; 4], Splits::RandomForest);
        assert!((found[0] - 16.0).abs() < 1e-13 && (found[1] - 0.5).abs() < 1e-13, "{found:?}");
    }

    #[test]
    fn weights_count_as_repeated_samples_and_samples_of_weight_zero_not_at_all() {
        // 0, 0 against 6: mean 2, squares 24, all taken by one split; over three samples 8.
        let found = importance_of(
            &[&[1.0, 2.0, 3.0]],
            &[0.0, 6.0, 99.0],
            &[2.0, 1.0, 0.0],
            Splits::RandomForest,
        );
        assert!((found[0] - 8.0).abs() < 1e-13, "{found:?}");
    }

    #[test]
    fn what_a_tree_grown_out_explains_is_the_whole_variance() {
        let mut random = RandomStream::new(1, Purpose::System, 0);
        let mut column = || (0..200).map(|_| random.uniform()).collect::<Vec<f64>>();
        let (a, b, y) = (column(), column(), column());
        let mean = y.iter().sum::<f64>() / 200.0;
        let variance = y.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 200.0;
        for splits in [Splits::RandomForest, Splits::ExtraTrees] {
            let found: f64 = importance_of(&[&a, &b], &y, &[1.0; 200], splits).iter().sum();
            // Sums of two hundred roundings.
            assert!((found - variance).abs() < 1e-12, "{found} and {variance}");
        }
    }

    #[test]
    fn sources_without_variation_give_no_split() {
        let found = importance_of(&[&[1.0; 3]], &[0.0, 1.0, 2.0], &[1.0; 3], Splits::RandomForest);
        assert_eq!(found, [0.0]);
        let found = importance_of(&[&[1.0; 3]], &[0.0, 1.0, 2.0], &[1.0; 3], Splits::ExtraTrees);
        assert_eq!(found, [0.0]);
    }
}
