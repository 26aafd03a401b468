//! What a fit tells the outside after each step, and how the outside stops it.

use std::ops::ControlFlow;

use driftgraph_core::ElboTerms;

/// What is being fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase<'a> {
    /// A candidate is fitted without one fold, to see how it predicts the fold.
    Choosing {
        /// Name of the candidate.
        candidate: &'a str,
        /// The fold held out, from 0.
        fold: usize,
        /// Number of folds.
        n_folds: usize,
    },
    /// All data are fitted.
    Fitting {
        /// Number of the fit, from 0.
        member: usize,
        /// Number of fits with different seeds.
        n_members: usize,
    },
}

/// What happened in one training step.
#[derive(Clone, Copy)]
pub struct News<'a> {
    /// What is being fitted.
    pub phase: Phase<'a>,
    /// Number of the step, from 0.
    pub step: u64,
    /// Number of the step at which this part may end.
    pub end: u64,
    /// Terms of the ELBO.
    pub terms: ElboTerms,
    /// Learning rate, or its share of the largest.
    pub rate: f64,
    /// Σ of the edge probabilities.
    pub expected_edges: f64,
    /// What was not finite, when the step was undone.
    pub undone: Option<&'static str>,
    pub(crate) probabilities: &'a dyn Fn() -> Vec<f64>,
}

impl News<'_> {
    /// Probabilities of the lagged edges as they are now, `[source, target]`.
    pub fn edge_probabilities(&self) -> Vec<f64> {
        (self.probabilities)()
    }
}

/// Follows a fit, from several threads.
pub trait RunObserver: Sync {
    /// Called after every step; `Break` stops the fit in order: all is saved and can be resumed.
    fn step(&self, news: &News<'_>) -> ControlFlow<()>;

    /// Something the user should hear at once, such as a checkpoint that could not be written.
    fn note(&self, _text: &str) {}
}

/// Lets a fit run to its end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl RunObserver for Silent {
    fn step(&self, _: &News<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Why a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself.
    Finished,
    /// Its observer asked for it.
    Interrupted,
    /// Its time was over.
    OutOfTime,
}

/// The word in run.json for a fit that ended because its steps were not finite any more.
pub const DIVERGED: &str = "diverged";

impl Ending {
    /// The word in run.json.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::OutOfTime => "time-budget",
        }
    }
}
