//! Which edges survive other draws of the data: bootstrap samples of series, or of blocks of time.
//!
//! Samples are fitted by coordinate ascent of the linear process, whatever was chosen for the data: it is the part of every
//! candidate that costs little enough to be fitted a hundred times.

use rayon::prelude::*;

use super::folds::{HeldOutUnit, time_blocks};
use super::training::train;
use super::{Task, linear_only, settled};
use crate::random::{Purpose, RandomStream};
use crate::train::bridge::{BridgeError, BridgeSettings};
use crate::train::linear::Extent;
use crate::train::progress::{Made, Part, Progress, Shard, kept_or_made};
use crate::{CoreError, SeriesSet};

/// Whole series are drawn from this number on; fewer would give samples that hardly differ.
const ENOUGH_SERIES: usize = 10;
/// Blocks of time into which fewer series are cut, in all.
const N_BLOCKS: usize = 20;
/// Probability above which a sample keeps an edge.
const KEPT_ABOVE: f64 = 0.5;
/// Streams of samples lie above those that other resampling of the same seed uses.
const FIRST_STREAM: u64 = 1 << 32;

/// How often each edge was kept.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stability {
    /// Samples that could be fitted.
    pub n_samples: usize,
    /// What was drawn, with replacement.
    pub unit: HeldOutUnit,
    /// Share of these samples whose fit gives the edge more than an even chance, `[source, target]`.
    pub shares: Vec<f64>,
}

/// Fits `n_samples` bootstrap samples; `None` where it was stopped, or no sample could be fitted.
///
/// The same data, settings and seed give the same shares on any number of threads.
pub fn stability(
    task: Task<'_>,
    settings: &BridgeSettings,
    n_samples: usize,
    progress: &dyn Progress,
) -> Result<Option<Stability>, BridgeError> {
    // Steps and noise rule are those of all data, so that samples differ in their rows alone.
    let settings = settled(task.data, &linear_only(settings))?;
    let (units, unit) = units(task.data)?;
    let samples: Vec<Result<Vec<bool>, NoSample>> = (0..n_samples)
        .into_par_iter()
        .map(|number| {
            let part = Part::Sample { number, n_samples };
            let drawn = drawn(&units, settings.seed, number as u64)?;
            kept_edges(Task { data: &drawn, ..task }, &settings, part, progress)
        })
        .collect();
    let mut counts = vec![0.0; task.data.n_variables().pow(2)];
    let mut n_fitted = 0;
    for sample in samples {
        match sample {
            Err(NoSample::Failed(error)) => return Err(error),
            Err(NoSample::Stopped) => return Ok(None),
            Err(NoSample::Unusable) => {}
            Ok(kept) => {
                n_fitted += 1;
                counts.iter_mut().zip(kept).for_each(|(count, kept)| *count += f64::from(kept));
            }
        }
    }
    let shares = counts.into_iter().map(|count| count / f64::from(n_fitted)).collect();
    let n_samples = n_fitted as usize;
    Ok((n_fitted > 0).then_some(Stability { n_samples, unit, shares }))
}

/// Why a sample says nothing.
enum NoSample {
    /// Its rows have no fit, as where a variable never moves in them.
    Unusable,
    /// Stopped from outside.
    Stopped,
    /// Something is wrong with all of it.
    Failed(BridgeError),
}

impl From<BridgeError> for NoSample {
    fn from(error: BridgeError) -> Self {
        Self::Failed(error)
    }
}

impl From<CoreError> for NoSample {
    fn from(error: CoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// Which edges the fit of a sample keeps.
fn kept_edges(
    task: Task<'_>,
    settings: &BridgeSettings,
    part: Part<'_>,
    progress: &dyn Progress,
) -> Result<Vec<bool>, NoSample> {
    let (name, training) = (format!("{part}-edges"), part.to_string());
    let shard = Shard { name: &name, training: &training };
    kept_or_made(progress, shard, settings, || {
        let trained = match train(task, settings.clone().check()?, part, Extent::Ascent, progress) {
            Err(BridgeError::Data(_)) => return Err(NoSample::Unusable),
            trained => trained?,
        };
        let Some(linear) = &trained.linear else { return Err(NoSample::Unusable) };
        if !trained.ended_by_itself() {
            return Err(NoSample::Stopped);
        }
        let probabilities = linear.edges.probabilities.iter();
        Ok(Made::Final(probabilities.map(|p| *p > KEPT_ABOVE).collect()))
    })
}

/// One bootstrap sample of the data: as many series, or blocks of time where series are few, drawn with replacement.
///
/// The same data, seed and number give the same sample, here and in [`stability`].
pub fn bootstrap_sample(data: &SeriesSet, seed: u64, number: u64) -> Result<SeriesSet, CoreError> {
    drawn(&units(data)?.0, seed, number)
}

/// What is drawn: whole series, or blocks of them where they are few.
fn units(data: &SeriesSet) -> Result<(SeriesSet, HeldOutUnit), CoreError> {
    if data.n_series() >= ENOUGH_SERIES {
        return Ok((data.clone(), HeldOutUnit::Series));
    }
    Ok((time_blocks(data, N_BLOCKS)?, HeldOutUnit::TimeBlock))
}

/// As many units as there are, drawn with replacement; each copy has a name of its own.
fn drawn(units: &SeriesSet, seed: u64, number: u64) -> Result<SeriesSet, CoreError> {
    let n = units.n_series();
    let mut random = RandomStream::new(seed, Purpose::Resampling, FIRST_STREAM + number);
    let copy = |place: usize| units.series()[random.below(n)].renamed(format!("{}", place + 1));
    units.with_series((0..n).map(copy).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObservedSeries;
    use crate::graph::prior::EdgePrior;
    use crate::train::progress::Silent;

    /// `a` moves by itself, `b` is driven by it, `c` is noise.
    fn system(n_series: u64, n_rows: usize) -> SeriesSet {
        let series = (0..n_series).map(|idx| {
            let mut random = RandomStream::new(11, Purpose::MeasurementNoise, idx);
            let mut state = [0.0; 3];
            let mut values = Vec::new();
            for _ in 0..n_rows {
                let [a, b, c] = state;
                state = [
                    0.8 * a + random.normal(),
                    0.5 * b + 0.6 * a + random.normal(),
                    0.5 * c + random.normal(),
                ];
                values.extend(state);
            }
            let times = (0..n_rows).map(|row| row as f64).collect();
            ObservedSeries::new(format!("s{idx}"), 3, times, values).unwrap()
        });
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        SeriesSet::new(names, series.collect()).unwrap()
    }

    fn found(data: &SeriesSet, n_threads: usize) -> Stability {
        let knowledge = EdgePrior::new(3, 0.0);
        let task = Task { data, knowledge: &knowledge };
        let settings = BridgeSettings { seed: 4, ..BridgeSettings::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| stability(task, &settings, 12, &Silent)).unwrap().unwrap()
    }

    #[test]
    fn samples_of_series_keep_what_is_there_and_threads_change_nothing() {
        let data = system(12, 30);
        let stable = found(&data, 1);
        assert_eq!((stable.n_samples, stable.unit), (12, HeldOutUnit::Series));
        assert_eq!(stable, found(&data, 3));
        let share = |source: usize, target: usize| stable.shares[source * 3 + target];
        // Effects of half a deviation and more are seen in 360 rows of any draw; absent ones in few.
        assert_eq!((share(0, 1), share(0, 0)), (1.0, 1.0));
        assert!(share(2, 0) < 0.5 && share(2, 1) < 0.5, "{:?}", stable.shares);
    }

    #[test]
    fn few_series_are_drawn_in_blocks() {
        let stable = found(&system(1, 300), 2);
        assert_eq!((stable.n_samples, stable.unit), (12, HeldOutUnit::TimeBlock));
        assert_eq!(stable.shares[1], 1.0);
    }

    #[test]
    fn draws_have_as_many_units_and_differ_from_each_other() {
        let data = system(12, 5);
        let [first, again, other] = [0, 0, 1].map(|number| drawn(&data, 4, number).unwrap());
        let values = |set: &SeriesSet| set.observed_values(0).collect::<Vec<f64>>();
        assert_eq!(values(&first), values(&again));
        assert_ne!(values(&first), values(&other));
        assert_eq!(first.n_series(), 12);
    }
}
