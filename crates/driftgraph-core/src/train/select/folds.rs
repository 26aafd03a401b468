//! What is held out: whole series, or blocks of time where there are few of them.

use crate::random::{Purpose, RandomStream};
use crate::{CoreError, SeriesSet};

/// Blocks of time into which fewer series are cut, in all.
const N_BLOCKS: usize = 6;
/// Fewest rows of a block.
const MIN_ROWS: usize = 8;

/// What one held-out unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldOutUnit {
    /// A whole series.
    Series,
    /// A block of consecutive rows of a series.
    TimeBlock,
}

/// Units dealt into folds.
#[derive(Debug, Clone)]
pub struct Folds {
    units: SeriesSet,
    unit: HeldOutUnit,
    /// Units of each fold.
    members: Vec<Vec<usize>>,
}

impl Folds {
    /// Deals the series, or blocks of them, into `n_folds` folds; `None` for fewer than two units.
    pub fn new(data: &SeriesSet, n_folds: usize, seed: u64) -> Result<Option<Self>, CoreError> {
        let (units, unit) = if data.n_series() >= SeriesSet::MIN_HELD_OUT_WHOLE {
            (data.clone(), HeldOutUnit::Series)
        } else {
            (time_blocks(data, N_BLOCKS)?, HeldOutUnit::TimeBlock)
        };
        let n_folds = n_folds.max(2).min(units.n_series());
        if n_folds < 2 {
            return Ok(None);
        }
        let mut order: Vec<usize> = (0..units.n_series()).collect();
        RandomStream::new(seed, Purpose::Resampling, 0).shuffle(&mut order);
        let mut folds = vec![Vec::new(); n_folds];
        for (place, unit) in order.into_iter().enumerate() {
            folds[place % n_folds].push(unit);
        }
        for fold in &mut folds {
            fold.sort_unstable();
        }
        Ok(Some(Self { units, unit, members: folds }))
    }

    /// What one held-out unit is.
    pub fn unit(&self) -> HeldOutUnit {
        self.unit
    }

    /// Number of folds, at least 2.
    pub fn n_folds(&self) -> usize {
        self.members.len()
    }

    /// Number of units.
    pub fn n_units(&self) -> usize {
        self.units.n_series()
    }

    /// The units of one fold, increasing.
    pub fn units_of(&self, fold: usize) -> &[usize] {
        &self.members[fold]
    }

    /// All units but one fold's, and that fold's.
    pub fn split(&self, fold: usize) -> Result<(SeriesSet, SeriesSet), CoreError> {
        let held_out = &self.members[fold];
        let kept: Vec<usize> =
            (0..self.n_units()).filter(|unit| held_out.binary_search(unit).is_err()).collect();
        Ok((self.units.subset(&kept)?, self.units.subset(held_out)?))
    }
}

/// Each series cut into equal runs of rows, about `wanted` in all.
pub(super) fn time_blocks(data: &SeriesSet, wanted: usize) -> Result<SeriesSet, CoreError> {
    let mut blocks = Vec::new();
    for series in data.series() {
        let n_rows = series.n_observations();
        let n_blocks = wanted.div_ceil(data.n_series()).min(n_rows / MIN_ROWS).max(1);
        for block in 0..n_blocks {
            let rows = block * n_rows / n_blocks..(block + 1) * n_rows / n_blocks;
            blocks.push(series.with_rows(format!("{} block {}", series.name(), block + 1), rows));
        }
    }
    data.with_series(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObservedSeries;

    fn set(lengths: &[usize]) -> SeriesSet {
        let series = lengths.iter().enumerate().map(|(idx, &n)| {
            let times = (0..n).map(|time| time as f64).collect();
            ObservedSeries::new(format!("s{idx}"), 1, times, vec![idx as f64; n]).unwrap()
        });
        SeriesSet::new(vec!["x".into()], series.collect()).unwrap()
    }

    #[test]
    fn every_series_is_held_out_once() {
        let folds = Folds::new(&set(&[5; 7]), 3, 1).unwrap().unwrap();
        assert_eq!((folds.unit(), folds.n_folds()), (HeldOutUnit::Series, 3));
        let mut held_out: Vec<usize> =
            (0..3).flat_map(|fold| folds.units_of(fold).to_vec()).collect();
        held_out.sort_unstable();
        assert_eq!(held_out, [0, 1, 2, 3, 4, 5, 6]);
        for fold in 0..3 {
            let (kept, out) = folds.split(fold).unwrap();
            assert_eq!(kept.n_series() + out.n_series(), 7);
            assert_eq!(out.series()[0].values()[0], folds.units_of(fold)[0] as f64);
        }
    }

    #[test]
    fn few_series_are_cut_into_blocks_that_lose_no_row() {
        let data = set(&[100, 50]);
        let folds = Folds::new(&data, 3, 1).unwrap().unwrap();
        assert_eq!((folds.unit(), folds.n_units()), (HeldOutUnit::TimeBlock, 6));
        let (kept, out) = folds.split(0).unwrap();
        assert_eq!(kept.n_rows() + out.n_rows(), 150);
    }

    #[test]
    fn one_short_series_cannot_be_split() {
        assert!(Folds::new(&set(&[10]), 3, 1).unwrap().is_none());
    }
}
