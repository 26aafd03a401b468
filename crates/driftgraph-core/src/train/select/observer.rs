//! How the outside follows the fits of a selection, stops them, and lets them go on later.

use std::ops::ControlFlow;

use crate::train::bridge::{BridgeProgress, BridgeSettings, BridgeState, BridgeTrainer};

/// One of the fits of a selection or of an ensemble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitName<'a> {
    /// A candidate without one fold.
    Candidate {
        /// Name of the candidate.
        name: &'a str,
        /// The fold held out, from 0.
        fold: usize,
    },
    /// A final fit to all data, from 0.
    Member(usize),
}

/// A step of one of the fits.
#[derive(Debug, Clone, Copy)]
pub struct SelectEvent<'a> {
    /// The fit.
    pub fit: FitName<'a>,
    /// Number of folds, or of final fits.
    pub n_fits: usize,
    /// The step.
    pub progress: &'a BridgeProgress,
    /// The fit so far.
    pub trainer: &'a BridgeTrainer,
}

/// How a candidate predicted a fold that it had not seen.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FoldPrediction {
    /// Held-out log likelihood of every unit; `None` where it could not be computed.
    pub log_likelihoods: Vec<Option<f64>>,
    /// Whether the fit converged.
    pub converged: bool,
}

/// Follows a selection from several threads; a closure over events is one.
pub trait SelectObserver: Sync {
    /// Called after every step of every fit; `Break` ends that fit with what it has.
    fn event(&self, event: &SelectEvent<'_>) -> ControlFlow<()>;

    /// Where a fit was left, to go on from there.
    fn begun(&self, _fit: FitName<'_>, _settings: &BridgeSettings) -> Option<BridgeState> {
        None
    }

    /// What a candidate's fit has predicted already, so that it need not be repeated.
    fn predicted(&self, _fit: FitName<'_>, _settings: &BridgeSettings) -> Option<FoldPrediction> {
        None
    }

    /// Called when a fit has come to its end by itself, with its prediction where a fold was held out.
    fn ended(&self, _: FitName<'_>, _: &BridgeTrainer, _: Option<&FoldPrediction>) {}
}

impl<F: Fn(&SelectEvent<'_>) -> ControlFlow<()> + Sync> SelectObserver for F {
    fn event(&self, event: &SelectEvent<'_>) -> ControlFlow<()> {
        self(event)
    }
}
