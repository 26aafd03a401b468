//! What a fit tells the outside after each step, and how the outside stops it.

use std::ops::ControlFlow;

use super::trainer::Trainer;
use crate::objective::elbo::ElboTerms;

/// What happened in one training step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepReport {
    /// Number of the step, from 0.
    pub step: u64,
    /// Steps that were asked for.
    pub n_steps: u64,
    /// Terms of the ELBO at the parameters before the step.
    pub terms: ElboTerms,
    /// What was minimised.
    pub loss: f64,
    /// Weight of initial and path KL in the loss.
    pub kl_weight: f64,
    /// Learning rate of the step.
    pub learning_rate: f64,
    /// Norm of the gradient, before clipping.
    pub gradient_norm: f64,
    /// Σ of the edge probabilities.
    pub expected_edges: f64,
    /// How often the diffusion was at or below its floor in this step.
    pub floor_hits: u64,
    /// The term that was not finite, when the step was not applied; or `gradient`.
    pub rolled_back: Option<&'static str>,
}

/// Follows a fit: progress, logs, checkpoints, clocks and interrupts hang here.
pub trait FitObserver {
    /// Called after every step; `Break` ends the fit with what it has.
    fn step(&mut self, report: &StepReport, trainer: &Trainer) -> ControlFlow<()>;
}

/// Lets a fit run to its end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl FitObserver for Silent {
    fn step(&mut self, _report: &StepReport, _trainer: &Trainer) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
