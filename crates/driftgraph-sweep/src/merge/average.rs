//! Edges averaged over shards, one shard after the other: memory does not grow with their number.

use driftgraph_core::graph::scores::shared_ranks;

use crate::shard::ShardResult;

/// Probability above which a shard keeps an edge.
const KEPT_ABOVE: f64 = 0.5;

/// Sums over shards of the same variables; every matrix is `[source, target]`.
#[derive(Debug, Clone)]
pub(super) struct Average {
    n_variables: usize,
    /// Shards that count.
    pub(super) n: usize,
    /// Shards without a result.
    pub(super) n_unusable: usize,
    ranks: Vec<f64>,
    /// `None` once a shard has none.
    probabilities: Option<Probabilities>,
    effects: Vec<f64>,
    n_effects: Vec<f64>,
}

#[derive(Debug, Clone)]
struct Probabilities {
    sums: Vec<f64>,
    squares: Vec<f64>,
    kept: Vec<f64>,
}

impl Average {
    pub(super) fn new(n_variables: usize) -> Self {
        let zeros = vec![0.0; n_variables * n_variables];
        let probabilities =
            Probabilities { sums: zeros.clone(), squares: zeros.clone(), kept: zeros.clone() };
        Self {
            n_variables,
            n: 0,
            n_unusable: 0,
            ranks: zeros.clone(),
            probabilities: Some(probabilities),
            effects: zeros.clone(),
            n_effects: zeros,
        }
    }

    pub(super) fn add(&mut self, result: &ShardResult) {
        if result.problem.is_some() || result.scores.len() != self.ranks.len() {
            self.n_unusable += 1;
            return;
        }
        self.n += 1;
        add(&mut self.ranks, shared_ranks(&result.scores).into_iter());
        match (&mut self.probabilities, &result.probabilities) {
            (Some(sums), Some(found)) => {
                add(&mut sums.sums, found.iter().copied());
                add(&mut sums.squares, found.iter().map(|p| p * p));
                add(&mut sums.kept, found.iter().map(|p| f64::from(*p > KEPT_ABOVE)));
            }
            _ => self.probabilities = None,
        }
        if let Some(effects) = &result.effects {
            let known = |effect: &f64| f64::from(!effect.is_nan());
            add(&mut self.n_effects, effects.iter().map(known));
            add(&mut self.effects, effects.iter().map(|e| if e.is_nan() { 0.0 } else { *e }));
        }
    }

    /// 1 for the edge that every shard puts first, 0 for the one that every shard puts last.
    pub(super) fn scores(&self) -> Vec<f64> {
        let last = (self.n_variables * self.n_variables) as f64;
        let score = |sum: &f64| match (self.n, last > 1.0) {
            (0, _) => 0.0,
            (_, false) => 1.0,
            (n, true) => (last - sum / n as f64) / (last - 1.0),
        };
        self.ranks.iter().map(score).collect()
    }

    /// Mean probabilities.
    pub(super) fn probabilities(&self) -> Option<Vec<f64>> {
        self.means(|sums| &sums.sums)
    }

    /// Shares of the shards that give an edge more than an even chance.
    pub(super) fn kept(&self) -> Option<Vec<f64>> {
        self.means(|sums| &sums.kept)
    }

    /// Deviations of the probabilities over shards.
    pub(super) fn deviations(&self) -> Option<Vec<f64>> {
        let (means, squares) = (self.probabilities()?, self.means(|sums| &sums.squares)?);
        // Rounding may leave a little less than nothing.
        let deviation = |(mean, square): (f64, f64)| (square - mean * mean).max(0.0).sqrt();
        Some(means.into_iter().zip(squares).map(deviation).collect())
    }

    /// Mean effects over the shards that know one, `NaN` where none does; `None` where there are none at all.
    pub(super) fn effects(&self) -> Option<Vec<f64>> {
        let some = self.n_effects.iter().any(|n| *n > 0.0);
        let means = || self.effects.iter().zip(&self.n_effects).map(|(sum, n)| sum / n).collect();
        some.then(means)
    }

    fn means(&self, of: impl Fn(&Probabilities) -> &Vec<f64>) -> Option<Vec<f64>> {
        let sums = self.probabilities.as_ref().filter(|_| self.n > 0)?;
        Some(of(sums).iter().map(|sum| sum / self.n as f64).collect())
    }
}

fn add(sums: &mut [f64], numbers: impl Iterator<Item = f64>) {
    sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(probabilities: [f64; 4]) -> ShardResult {
        ShardResult {
            scores: probabilities.to_vec(),
            probabilities: Some(probabilities.to_vec()),
            effects: Some(vec![1.0, f64::NAN, 2.0, f64::NAN]),
            problem: None,
        }
    }

    #[test]
    fn means_shares_and_deviations_are_those_of_the_shards_that_count() {
        let mut average = Average::new(2);
        average.add(&result([0.9, 0.2, 0.6, 0.0]));
        average.add(&result([0.7, 0.2, 0.4, 0.0]));
        let nothing = ShardResult { problem: Some("no rows".into()), ..result([0.0; 4]) };
        average.add(&nothing);
        assert_eq!((average.n, average.n_unusable), (2, 1));
        let close = |found: Vec<f64>, wanted: [f64; 4]| {
            // Means of two numbers with one digit: nothing but rounding is left.
            assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-7), "{found:?}");
        };
        close(average.probabilities().unwrap(), [0.8, 0.2, 0.5, 0.0]);
        close(average.kept().unwrap(), [1.0, 0.0, 0.5, 0.0]);
        close(average.deviations().unwrap(), [0.1, 0.0, 0.1, 0.0]);
        close(average.scores(), [1.0, 1.0 / 3.0, 2.0 / 3.0, 0.0]);
        let effects = average.effects().unwrap();
        assert_eq!((effects[0], effects[2]), (1.0, 2.0));
        assert!(effects[1].is_nan());
        // A method that only ranks has neither probabilities nor shares.
        average.add(&ShardResult { probabilities: None, ..result([0.0; 4]) });
        assert!(average.probabilities().is_none() && average.deviations().is_none());
    }
}
