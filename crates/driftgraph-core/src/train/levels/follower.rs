//! Chains of levels between two sweeps, for whoever follows them.

use std::ops::ControlFlow;

use serde::Serialize;

use super::{LevelExtent, LevelRun, LevelTask};
use crate::EdgeScores;
use crate::numeric::real::Real;
use crate::objective::elbo::ElboTerms;
use crate::train::progress::{Checkpoint, Part, Progress, Step, Training};

/// Who follows chains of levels, and under what their state is kept.
pub struct LevelFollower<'a, Key> {
    /// The part of the whole.
    pub part: Part<'a>,
    /// Whom to tell.
    pub progress: &'a dyn Progress,
    /// Settings that the state depends on.
    pub key: &'a Key,
}

/// Chains between two sweeps.
struct Running<'a, Key> {
    task: &'a LevelTask,
    run: &'a LevelRun,
    key: &'a Key,
}

impl<Key: Serialize + Sync> LevelFollower<'_, Key> {
    /// After a sweep of all chains.
    pub(super) fn hears(
        &self,
        task: &LevelTask,
        run: &LevelRun,
        extent: LevelExtent,
    ) -> ControlFlow<()> {
        let sweeps = task.settings.n_sweeps;
        let usual = if extent == LevelExtent::Process { sweeps } else { 2 * sweeps };
        let training = &Running { task, run, key: self.key };
        self.progress.step(&Step {
            part: self.part,
            number: run.n_steps() - 1,
            end: usual.min(task.most_steps),
            terms: ElboTerms::default(),
            rate: 1.0,
            expected_edges: Some(training.edge_probabilities().iter().sum()),
            undone: None,
            extras: &[],
            training,
        })
    }
}

impl<Key: Serialize + Sync> Training for Running<'_, Key> {
    fn edge_probabilities(&self) -> Vec<f64> {
        self.task.odds_so_far(self.run).iter().map(|odds| odds.sigmoid()).collect()
    }

    fn edge_scores(&self) -> EdgeScores {
        let odds = self.task.odds_so_far(self.run);
        EdgeScores::from_matrix(self.task.n_user, odds).expect("log-odds are numbers")
    }

    fn state(&self) -> Checkpoint {
        Checkpoint::new(self.run, self.key)
    }
}
