//! How candidates predict series that they have not seen.

use std::ops::Range;

use rayon::prelude::*;

use super::folds::Folds;
use super::training::train;
use super::{CandidateReport, Task, equations};
use crate::SeriesSet;
use crate::graph::prior::EdgePrior;
use crate::posterior::bridge::kalman::predictive_scores;
use crate::posterior::bridge::layout::{BridgeLayout, default_step_size};
use crate::posterior::bridge::structure::DriftParts;
use crate::train::bridge::{BridgeError, BridgeSettings, StopReason};
use crate::train::linear::Extent;
use crate::train::progress::{Made, Part, Progress, Shard, kept_or_made};

/// `linear`, or what is added to it.
pub(super) fn name_of(settings: &BridgeSettings) -> String {
    let mut name = match settings.drift {
        DriftParts::Linear => "linear",
        DriftParts::Neural => "neural",
        DriftParts::LinearAndNeural => "linear + neural",
    }
    .to_owned();
    if settings.levels {
        name.push_str(" + levels");
    } else if settings.instantaneous {
        name.push_str(" + instantaneous");
    }
    name
}

/// Fits every candidate without each of some folds, in parallel, and predicts the fold.
pub(super) fn evaluate(
    folds: &Folds,
    some: Range<usize>,
    knowledge: &EdgePrior,
    tried: &mut [&mut CandidateReport],
    progress: &dyn Progress,
) -> Result<(), BridgeError> {
    let n_folds = some.len();
    let jobs: Vec<Result<FoldPrediction, BridgeError>> = (0..tried.len() * n_folds)
        .into_par_iter()
        .map(|job| {
            let (report, fold) = (&*tried[job / n_folds], some.start + job % n_folds);
            let part = Part::Candidate { name: &report.name, fold, n_folds: folds.n_folds() };
            let (name, training) = (prediction_name(part), part.to_string());
            let shard = Shard { name: &name, training: &training };
            let (data, held_out) = folds.split(fold)?;
            let task = Task { data: &data, knowledge };
            match &report.equations {
                Some(settings) => kept_or_made(progress, shard, settings, || {
                    Ok(equations::predict(task, settings, &held_out, part, progress))
                }),
                None => kept_or_made(progress, shard, &report.settings, || {
                    predict(task, part, &report.settings, &held_out, progress)
                }),
            }
        })
        .collect();
    let results = jobs.into_iter().collect::<Result<Vec<_>, _>>()?;
    for (report, results) in tried.iter_mut().zip(results.chunks(n_folds)) {
        for (fold, result) in some.clone().zip(results) {
            report.add(folds, fold, result);
        }
    }
    Ok(())
}

/// How a candidate predicted a fold that it had not seen.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct FoldPrediction {
    /// Held-out log likelihood of every unit; `None` where it could not be computed.
    pub(super) log_likelihoods: Vec<Option<f64>>,
    /// Whether the fit converged.
    pub(super) converged: bool,
    /// Whether it was stopped from outside.
    pub(super) stopped: bool,
}

impl CandidateReport {
    /// Adds how it predicted a fold.
    fn add(&mut self, folds: &Folds, fold: usize, prediction: &FoldPrediction) {
        if !self.is_compared() {
            self.log_likelihoods = vec![None; folds.n_units()];
            self.not_asked = (0..folds.n_units()).collect();
        }
        let units = folds.units_of(fold);
        for (&unit, &value) in units.iter().zip(&prediction.log_likelihoods) {
            self.log_likelihoods[unit] = value;
        }
        self.not_asked.retain(|unit| units.binary_search(unit).is_err());
        self.converged &= prediction.converged;
        self.stopped |= prediction.stopped;
    }
}

pub(super) fn prediction_name(part: Part<'_>) -> String {
    format!("{part}-predicted")
}

fn predict(
    task: Task<'_>,
    part: Part<'_>,
    settings: &BridgeSettings,
    held_out: &SeriesSet,
    progress: &dyn Progress,
) -> Result<Made<FoldPrediction>, BridgeError> {
    let trained = train(task, settings.clone().check()?, part, Extent::Ascent, progress)?;
    let (trainer, stop) = (&trained.trainer, trained.stop);
    let mut log_likelihoods = vec![None; held_out.n_series()];
    let standardised = trainer.standardizer().apply(held_out);
    let step_size = settings.step_size.map_or_else(|| default_step_size(task.data), Ok)?;
    // A candidate that cannot be fitted, or not in time, predicts nothing, and so cannot win; and a fold of
    // single rows has no step to predict.
    if trained.ended_by_itself()
        && let Ok(layout) = BridgeLayout::new(&standardised, step_size)
    {
        let (layout, dynamics) = (layout.without_pushes(), trainer.filter_dynamics());
        let found = dynamics.map(|dynamics| predictive_scores(&dynamics, &layout));
        for (rows, value) in layout.series().iter().zip(found.unwrap_or_default()) {
            log_likelihoods[rows.series_idx] = value;
        }
    }
    let prediction = FoldPrediction {
        log_likelihoods,
        converged: stop == StopReason::Converged,
        stopped: stop == StopReason::Stopped,
    };
    Ok(if trained.ended_by_itself() { Made::Final(prediction) } else { Made::Passing(prediction) })
}
