//! How candidates predict series that they have not seen.

use std::ops::Range;

use rayon::prelude::*;

use super::folds::Folds;
use super::training::train;
use super::{CandidateReport, Task};
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
    tried: &[BridgeSettings],
    progress: &dyn Progress,
) -> Result<Vec<CandidateReport>, BridgeError> {
    let n_folds = some.len();
    let jobs: Vec<Result<FoldPrediction, BridgeError>> = (0..tried.len() * n_folds)
        .into_par_iter()
        .map(|job| {
            let (settings, fold) = (&tried[job / n_folds], some.start + job % n_folds);
            predict_fold(folds, fold, knowledge, settings, progress)
        })
        .collect();
    let results = jobs.into_iter().collect::<Result<Vec<_>, _>>()?;
    let report = |(settings, results): (&BridgeSettings, &[FoldPrediction])| {
        let mut log_likelihoods = vec![None; folds.n_units()];
        for (fold, result) in some.clone().zip(results) {
            for (&unit, &value) in folds.units_of(fold).iter().zip(&result.log_likelihoods) {
                log_likelihoods[unit] = value;
            }
        }
        CandidateReport {
            log_likelihoods,
            converged: results.iter().all(|result| result.converged),
            stopped: results.iter().any(|result| result.stopped),
            not_asked: (0..folds.n_folds())
                .filter(|fold| !some.contains(fold))
                .flat_map(|fold| folds.units_of(fold).to_vec())
                .collect(),
            ..CandidateReport::plain(&name_of(settings), settings)
        }
    };
    Ok(tried.iter().zip(results.chunks(n_folds)).map(report).collect())
}

/// How a candidate predicted a fold that it had not seen.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct FoldPrediction {
    /// Held-out log likelihood of every unit; `None` where it could not be computed.
    log_likelihoods: Vec<Option<f64>>,
    /// Whether the fit converged.
    converged: bool,
    /// Whether it was stopped from outside.
    stopped: bool,
}

pub(super) fn prediction_name(part: Part<'_>) -> String {
    format!("{part}-predicted")
}

fn predict_fold(
    folds: &Folds,
    fold: usize,
    knowledge: &EdgePrior,
    settings: &BridgeSettings,
    progress: &dyn Progress,
) -> Result<FoldPrediction, BridgeError> {
    let name = name_of(settings);
    let part = Part::Candidate { name: &name, fold, n_folds: folds.n_folds() };
    let (name, training) = (prediction_name(part), part.to_string());
    kept_or_made(progress, Shard { name: &name, training: &training }, settings, || {
        make_prediction(folds, part, knowledge, settings, progress)
    })
}

fn make_prediction(
    folds: &Folds,
    part: Part<'_>,
    knowledge: &EdgePrior,
    settings: &BridgeSettings,
    progress: &dyn Progress,
) -> Result<Made<FoldPrediction>, BridgeError> {
    let Part::Candidate { fold, .. } = part else { unreachable!("only candidates hold out folds") };
    let (train_data, held_out) = folds.split(fold)?;
    let n_units = held_out.n_series();
    let task = Task { data: &train_data, knowledge };
    let trained = train(task, settings.clone().check()?, part, Extent::Ascent, progress)?;
    let (trainer, stop) = (&trained.trainer, trained.stop);
    let mut log_likelihoods = vec![None; n_units];
    let standardised = trainer.standardizer().apply(&held_out);
    let step_size = settings.step_size.map_or_else(|| default_step_size(&train_data), Ok)?;
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
