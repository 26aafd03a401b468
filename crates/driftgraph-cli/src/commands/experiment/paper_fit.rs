//! The paper's training of one cell: metrics along the way, as long as the budget lasts.
//!
//! Training takes hours; it is kept once a minute and whenever it stops, and goes on from there when the cell is asked
//! for again, with the same budget after an interrupt or with a larger one later.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::Context;
use driftgraph_core::EdgeScores;
use driftgraph_core::train::error::FitError;
use driftgraph_core::train::fit::{fit, resume};
use driftgraph_core::train::observer::{FitObserver, StepReport};
use driftgraph_core::train::settings::CheckedSettings;
use driftgraph_core::train::trainer::{Trainer, TrainingState};
use driftgraph_data::fingerprint;
use driftgraph_run::checkpoint::{Checkpoints, Key, key};

use super::cell::{Details, Epochs, Moment, Spent};
use super::work::{Bench, Found};
use crate::cpu_time::cpu_seconds;
use crate::progress::interrupted;

/// Epochs between two points of a curve over training.
const EPOCHS_PER_MOMENT: u64 = 25;
const TIME_PER_CHECKPOINT: Duration = Duration::from_secs(60);

/// A cell's fit with the paper's settings.
pub(super) struct PaperFit<'a> {
    pub(super) settings: &'a CheckedSettings,
    /// Of all starts of the cell together.
    pub(super) budget: Duration,
    /// Of the cell.
    pub(super) key: &'a str,
    pub(super) bench: Bench<'a>,
}

impl PaperFit<'_> {
    /// Trains until the paper's epochs or the budget are used up, or the user asks to stop.
    pub(super) fn run(&self) -> anyhow::Result<Found> {
        let data = &self.bench.sample.data;
        let checkpoint_key = key(&fingerprint(data), self.settings.get());
        let folder = self.bench.checkpoints;
        let checkpoints = Checkpoints::open(folder.to_owned())
            .with_context(|| format!("cannot write to `{}`", folder.display()))?;
        let left =
            checkpoints.find::<(TrainingState, Vec<Moment>, Spent)>(self.key, &checkpoint_key)?;
        let (state, history, spent_before) = match left {
            Some((state, history, spent)) => (Some(state), history, spent),
            None => (None, Vec::new(), Spent::default()),
        };
        let mut follower = Follower {
            fit: self,
            checkpoints: &checkpoints,
            checkpoint_key,
            history,
            spent_before,
            start: (Instant::now(), cpu_seconds()),
            kept: Instant::now(),
            trouble: None,
        };
        let result = match state {
            Some(state) => resume(data, self.settings, state, &mut follower),
            None => fit(data, self.settings, &mut follower),
        };
        if let Some(error) = follower.trouble {
            return Err(error.into());
        }
        let (fit, diverged) = match result {
            Ok(fit) => (fit, false),
            Err(FitError::Diverged { last_good, .. }) => (*last_good, true),
            Err(other) => return Err(other.into()),
        };
        let (reached, planned) = (fit.counters().steps, self.settings.steps);
        if reached >= planned {
            checkpoints.forget(self.key)?;
        }
        let details = Details {
            epochs: Some(Epochs { reached, planned, diverged }),
            history: follower.history,
            ..Details::default()
        };
        let probabilities =
            EdgeScores::from_matrix(fit.variables().len(), fit.edge_probabilities())?;
        let (ranking, probabilities) = (fit.edge_scores(), Some(probabilities));
        Ok(Found { ranking, probabilities, details, spent_before })
    }
}

/// Watches training and keeps it.
struct Follower<'a> {
    fit: &'a PaperFit<'a>,
    checkpoints: &'a Checkpoints,
    checkpoint_key: Key,
    history: Vec<Moment>,
    spent_before: Spent,
    /// By the clock, and of all threads.
    start: (Instant, Option<f64>),
    /// When the last checkpoint was written.
    kept: Instant,
    /// Why a checkpoint could not be written.
    trouble: Option<std::io::Error>,
}

impl FitObserver for Follower<'_> {
    fn step(&mut self, report: &StepReport, trainer: &Trainer) -> ControlFlow<()> {
        let is_last = report.step + 1 == report.n_steps;
        if report.step.is_multiple_of(EPOCHS_PER_MOMENT) || is_last {
            self.history.push(self.moment(report.step, trainer));
            let progress = format!("epoch {} of {}", report.step + 1, report.n_steps);
            (self.fit.bench.tell)(&progress);
        }
        let spent = self.spent();
        let stop = interrupted() || spent.seconds >= self.fit.budget.as_secs_f64();
        if stop || self.kept.elapsed() >= TIME_PER_CHECKPOINT {
            let state = (trainer.state(), &self.history, spent);
            let kept = self.checkpoints.keep(self.fit.key, &self.checkpoint_key, &state);
            self.trouble = kept.err();
            self.kept = Instant::now();
        }
        if stop || self.trouble.is_some() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl Follower<'_> {
    fn spent(&self) -> Spent {
        let (clock, cpu) = self.start;
        self.spent_before.and(Spent::since(clock, cpu))
    }

    fn moment(&self, epoch: u64, trainer: &Trainer) -> Moment {
        let ranking = trainer.edge_scores();
        let probabilities = trainer.edge_probabilities();
        let probabilities = EdgeScores::from_matrix(ranking.n_variables(), probabilities);
        let probabilities = probabilities.expect("probabilities are numbers");
        Moment::new(epoch, (&ranking, &probabilities), self.fit.bench)
    }
}
