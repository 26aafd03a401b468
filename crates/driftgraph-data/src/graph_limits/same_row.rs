//! What moves together within a row, of which nobody can say what came first.

use driftgraph_core::{ObservedSeries, SeriesSet};

use super::is_regular;
use super::regression::{Swept, beyond_chance};

/// Of what the row before leaves open of a variable, the share that other variables of the same row explain: the mean.
///
/// By linear regressions on the row before, beyond what chance explains; `None` where rows are few or uneven.
pub(super) fn share_of_same_row(data: &SeriesSet) -> Option<f64> {
    /// With fewer pairs of rows, or more variables, shares are too uncertain.
    const FEWEST_PAIRS: usize = 50;
    const MOST_VARIABLES: usize = 100;
    /// More say no more.
    const MOST_PAIRS: usize = 4000;
    let n = data.n_variables();
    if !(2..=MOST_VARIABLES).contains(&n) {
        return None;
    }
    let pairs: Vec<&[f64]> = data
        .series()
        .iter()
        .filter(|series| series.n_observations() >= 3 && is_regular(series))
        .flat_map(|series| pairs_of_rows(series, n))
        .collect();
    let stride = pairs.len().div_ceil(MOST_PAIRS).max(1);
    let pairs: Vec<&[f64]> = pairs.into_iter().step_by(stride).collect();
    if pairs.len() < FEWEST_PAIRS.max(5 * n) {
        return None;
    }
    let columns: Vec<Vec<f64>> =
        (0..2 * n).map(|cell| pairs.iter().map(|pair| pair[cell]).collect()).collect();
    let mut swept = Swept::of_columns(&columns);
    (0..n).for_each(|before| {
        swept.give(before);
    });
    let moving: Vec<usize> = (n..2 * n).filter(|&variable| swept.left(variable) > 0.0).collect();
    if moving.len() < 2 {
        return None;
    }
    let shares = swept.shares_of_each_other(&moving);
    let others = moving.len() - 1;
    let beyond = shares.iter().map(|&share| beyond_chance(share, others, pairs.len() - n));
    Some(beyond.sum::<f64>() / moving.len() as f64)
}

/// Neighbouring rows without holes, one after the other.
fn pairs_of_rows(series: &ObservedSeries, n: usize) -> impl Iterator<Item = &[f64]> {
    series
        .values()
        .windows(2 * n)
        .step_by(n)
        .filter(|pair| pair.iter().all(|value| !value.is_nan()))
}

#[cfg(test)]
mod tests {
    use driftgraph_core::random::{Purpose, RandomStream};

    use super::super::tests::table;
    use super::*;

    /// Two variables with memory, the noise of the second in part that of the first.
    fn pair(common: f64, n: usize) -> SeriesSet {
        let mut random = RandomStream::new(11, Purpose::MeasurementNoise, 1);
        let (mut x, mut y) = (vec![0.0], vec![0.0]);
        for row in 1..n {
            let first = random.normal();
            let second = common * first + (1.0 - common * common).sqrt() * random.normal();
            x.push(0.8 * x[row - 1] + first);
            y.push(0.7 * y[row - 1] + 0.3 * x[row - 1] + second);
        }
        table(&[x, y])
    }

    #[test]
    fn noise_in_common_is_told_from_effects_of_the_row_before() {
        // A correlation of 0.7 explains half.
        let common = share_of_same_row(&pair(0.5_f64.sqrt(), 2000)).unwrap();
        assert!((common - 0.5).abs() < 0.05, "{common}");
        let apart = share_of_same_row(&pair(0.0, 2000)).unwrap();
        assert!(apart < 0.01, "{apart}");
        assert_eq!(share_of_same_row(&pair(0.5, 40)), None);
    }
}
