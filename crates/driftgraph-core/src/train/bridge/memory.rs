//! How much memory a bridge fit will need, from the shape of its data and its settings.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::settings::BridgeSettings;
use super::trainer::batch_steps;
use crate::SeriesSet;
use crate::error::CoreError;
use crate::nn::parameters::ParameterTable;
use crate::posterior::bridge::innovation::InnovationLaw;
use crate::posterior::bridge::layout::default_step_size;
use crate::posterior::bridge::part::ProcessPart;
use crate::posterior::bridge::transition::piece_steps;
use crate::train::select::SelectSettings;

const DOUBLE: usize = size_of::<f64>();

/// The sizes of a data set that decide how much a bridge fit stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgeShape {
    /// Number of variables, D.
    pub n_variables: usize,
    /// Observed rows of all series.
    pub n_rows: usize,
    /// Grid points of all series.
    pub n_points: usize,
    /// Grid points of different grids: series of the same times and holes share one.
    pub n_deviation_rows: usize,
    /// Whether there are inputs, or interventions.
    pub has_experiment: bool,
}

impl BridgeShape {
    /// Counts grid points without laying them out.
    pub fn new(data: &SeriesSet, settings: &BridgeSettings) -> Result<Self, CoreError> {
        let step_size = settings.step_size.map_or_else(|| default_step_size(data), Ok)?;
        let (n_variables, has_experiment) = (data.n_variables(), data.has_experiment());
        let mut shape =
            Self { n_variables, n_rows: 0, n_points: 0, n_deviation_rows: 0, has_experiment };
        let mut known = HashSet::new();
        for series in data.series() {
            let (times, mut hasher) = (series.times(), DefaultHasher::new());
            let mut n_points = 1;
            for (row, time) in times.iter().enumerate() {
                (time - times[0]).to_bits().hash(&mut hasher);
                series.row(row).iter().for_each(|value| value.is_nan().hash(&mut hasher));
                if row > 0 {
                    n_points += ((time - times[row - 1]) / step_size).ceil().max(1.0) as usize;
                }
            }
            shape.n_rows += times.len();
            shape.n_points += n_points;
            if known.insert(hasher.finish()) {
                shape.n_deviation_rows += n_points;
            }
        }
        Ok(shape)
    }

    /// The part of the data that a fit without one of `n_folds` folds sees.
    fn without_fold(self, n_folds: usize) -> Self {
        let part = |count: usize| count - count / n_folds.max(1);
        Self {
            n_rows: part(self.n_rows),
            n_points: part(self.n_points),
            // A shared grid stays whole.
            n_deviation_rows: self.n_deviation_rows.min(part(self.n_points)),
            ..self
        }
    }

    /// Times and values of all rows.
    fn data_bytes(self) -> usize {
        self.n_rows * (self.n_variables + 1) * DOUBLE
    }
}

/// Bytes that fitting needs at its peak: the data, every fit alive at the same time, and the models
/// made of them.
///
/// With `selects`, candidates are compared on held-out series first, as many at once as there are threads.
/// Every final fit is kept until all are done. What a program needs besides, to read tables and
/// to write results, comes on top.
pub fn predicted_bytes(
    shape: &BridgeShape,
    settings: &SelectSettings,
    selects: bool,
    n_threads: usize,
) -> u64 {
    let n_threads = n_threads.max(1);
    let n_members = settings.ensemble.max(1);
    // The winner may have what any candidate has.
    let largest = if selects { settings.largest() } else { settings.base.clone() };
    // A fit standardises a copy of the data before it lays them out.
    let kept = n_members * (kept_bytes(shape, &largest) + model_bytes(shape, &largest));
    let working = n_members.min(n_threads) * (work_bytes(shape, &largest) + shape.data_bytes());
    let mut peak = kept + working;
    if selects {
        let fold = shape.without_fold(settings.n_folds);
        let at_once = n_threads.min(settings.n_at_once() * settings.n_folds.max(1));
        // Each job has its own training and held-out part besides.
        let job = kept_bytes(&fold, &largest) + work_bytes(&fold, &largest) + shape.data_bytes();
        peak = peak.max(at_once * job).max(settings.bytes_of_others(shape, kept));
    }
    (shape.data_bytes() + peak) as u64
}

/// The same of a linear process with room for so many pairs alone.
pub fn limited_bytes(shape: &BridgeShape, n_pairs: usize) -> u64 {
    /// Chains, the ascent, and what was kept of all of them; in each gates, effects, five sums and visits.
    const PER_PAIR: usize = 9 * 10;
    /// Paths, their variances, and what smoothing and the innovations make of them.
    const PER_CELL: usize = 40;
    (shape.data_bytes()
        + (PER_PAIR * n_pairs + PER_CELL * shape.n_points * shape.n_variables) * DOUBLE) as u64
}

/// What one fit stores between two steps.
fn kept_bytes(shape: &BridgeShape, settings: &BridgeSettings) -> usize {
    let d = shape.n_variables;
    // Per point: observed value, mean and its two moments; per deviation row: two parameters with two
    // moments each.
    let numbers = d * (4 * shape.n_points + 6 * shape.n_deviation_rows);
    // Per point its time and a count of steps, per deviation row its step and two counts.
    let counts = shape.n_points * (DOUBLE + 4) + shape.n_deviation_rows * (DOUBLE + 2 * 4);
    // Parameters with two moments, and those before the last step; what is known about every
    // pair, for the lagged and the instantaneous prior.
    let knowledge = 2 * d * d * (2 * DOUBLE + 1);
    (numbers + 4 * n_parameters(d, settings)) * DOUBLE + counts + knowledge
}

/// What one fit needs during a step.
fn work_bytes(shape: &BridgeShape, settings: &BridgeSettings) -> usize {
    let d = shape.n_variables;
    let n_steps = batch_steps(settings, d).min(shape.n_points);
    let pairs = d * d;
    // Moments of the effects and their derivatives; per piece of steps two sums, and two more
    // with instantaneous effects.
    let n_matrices = if settings.instantaneous { 2 } else { 1 };
    let n_pieces = n_steps.div_ceil(piece_steps(d));
    let matrices = n_matrices * pairs * (11 + 2 * n_pieces) * DOUBLE;
    // Values, gradients, moments, residuals and their derivatives of the batch.
    let rows = 40 * n_steps * d * DOUBLE;
    let gradient = n_parameters(d, settings) * DOUBLE;
    let parts: usize = parts(d, settings).iter().map(|part| part.work_bytes(n_steps)).sum();
    matrices + rows + gradient + parts
}

/// What the finished model holds of one fit: its paths and parameters.
fn model_bytes(shape: &BridgeShape, settings: &BridgeSettings) -> usize {
    let d = shape.n_variables;
    (d * (shape.n_points + 2 * shape.n_deviation_rows) + n_parameters(d, settings)) * DOUBLE
}

/// The parts of the process beyond linear effects, laid out alone.
fn parts(d: usize, settings: &BridgeSettings) -> Vec<Arc<dyn ProcessPart>> {
    settings.part_choice().lay_out(&mut ParameterTable::default(), d)
}

/// Number of parameters of the process.
fn n_parameters(d: usize, settings: &BridgeSettings) -> usize {
    let gated = 3 * d * d + if settings.instantaneous { 3 * d * d + 1 } else { 0 } + 2;
    let mixture = if settings.innovations == InnovationLaw::Mixture { 6 * d } else { 0 };
    let parts: usize = parts(d, settings).iter().map(|part| part.slot().cols).sum();
    gated + mixture + 5 * d + parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObservedSeries;
    use crate::graph::prior::EdgePrior;
    use crate::posterior::bridge::structure::DriftParts;
    use crate::train::bridge::BridgeTrainer;

    fn data() -> SeriesSet {
        let series = [(0.0, f64::NAN), (5.0, 2.0), (9.0, 1.0)].map(|(start, hole)| {
            let times = vec![start, start + 1.0, start + 2.0, start + 5.5];
            let values = vec![1.0, 2.0, 0.5, 1.5, 3.0, hole, 0.1, 0.2];
            ObservedSeries::new(format!("{start}"), 2, times, values).unwrap()
        });
        SeriesSet::new(vec!["a".into(), "b".into()], series.to_vec()).unwrap()
    }

    #[test]
    fn points_and_parameters_are_counted_as_they_are_laid_out() {
        for settings in [
            BridgeSettings::default(),
            BridgeSettings {
                instantaneous: true,
                innovations: InnovationLaw::Mixture,
                ..BridgeSettings::default()
            },
            BridgeSettings {
                drift: DriftParts::LinearAndNeural,
                neural_diffusion: true,
                ..BridgeSettings::default()
            },
        ] {
            let data = data();
            let shape = BridgeShape::new(&data, &settings).unwrap();
            let checked = settings.clone().check().unwrap();
            let trainer = BridgeTrainer::new(&data, &EdgePrior::new(2, 0.0), checked).unwrap();
            let layout = trainer.layout();
            assert_eq!(
                (shape.n_points, shape.n_deviation_rows),
                (layout.n_points(), layout.n_deviation_rows())
            );
            assert_eq!(n_parameters(2, &settings), trainer.model().table().len());
        }
    }

    #[test]
    fn more_members_threads_and_candidates_never_need_less() {
        let shape = BridgeShape {
            n_variables: 10,
            n_rows: 5000,
            n_points: 5000,
            n_deviation_rows: 5000,
            has_experiment: false,
        };
        let with = |ensemble, n_threads, selects| {
            let settings = SelectSettings { ensemble, ..SelectSettings::default() };
            predicted_bytes(&shape, &settings, selects, n_threads)
        };
        assert!(with(1, 1, false) < with(3, 1, false));
        assert!(with(3, 1, false) < with(3, 2, false));
        assert!(with(1, 4, false) < with(1, 4, true));
    }
}
