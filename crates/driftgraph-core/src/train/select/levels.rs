//! The candidate that is learned from levels: effects within a step and of the row before, by chains instead of by gradients.

use std::ops::ControlFlow;

use super::Task;
use super::training::{Trained, until_interrupted};
use crate::numeric::real::Real;
use crate::objective::elbo::ElboTerms;
use crate::train::bridge::{
    BridgeError, BridgeFit, BridgeSettings, BridgeTrainer, CheckedBridgeSettings, LevelResult,
    StopReason, state_key,
};
use crate::train::levels::{LevelEnd, LevelExtent, LevelRun, LevelSettings, LevelTask, usual_gap};
use crate::train::linear::{Extent, Follower};
use crate::train::progress::{Checkpoint, Divergence, Part, Progress, Step, Training, find};
use crate::{EdgeScores, SeriesSet};

/// Sweeps of every chain of a final fit, and of the one that is to predict.
const SWEEPS: u64 = 400;
const FOLD_SWEEPS: u64 = 200;

/// The settings with levels in place of steps; `None` where the process is not linear and normal throughout.
///
/// Steps are as long as the usual gap: an effect within a row is one of a whole gap.
pub(super) fn settings_of(data: &SeriesSet, base: &BridgeSettings) -> Option<BridgeSettings> {
    let gap = usual_gap(data)?;
    let step_size = Some(gap * (1.0 + 1e-6));
    base.is_closed_form().then(|| BridgeSettings {
        instantaneous: true,
        levels: true,
        step_size,
        ..base.clone()
    })
}

/// How long the chains of some settings are.
fn chain_settings(settings: &BridgeSettings, extent: Extent, n_draws: usize) -> LevelSettings {
    let n_sweeps = if extent == Extent::Ascent { FOLD_SWEEPS } else { SWEEPS };
    LevelSettings { n_sweeps, seed: settings.seed, n_draws }
}

/// A part of a fit of levels, and whom it tells.
pub(super) struct LevelPart<'a> {
    pub(super) part: Part<'a>,
    pub(super) extent: Extent,
    pub(super) n_draws: usize,
    pub(super) progress: &'a dyn Progress,
}

/// One fit: paths of the linear process, then chains of levels.
pub(super) fn train_levels(
    Task { data, knowledge }: Task<'_>,
    settings: CheckedBridgeSettings,
    LevelPart { part, extent, n_draws, progress }: LevelPart<'_>,
) -> Result<Vec<Trained>, BridgeError> {
    let chains = chain_settings(settings.get(), extent, n_draws);
    let limit = settings.get().max_steps.unwrap_or(u64::MAX);
    let task = LevelTask::new(data, knowledge, chains)?.with_most_steps(limit);
    let key = (state_key(settings.get()), chains);
    let mut run: LevelRun = find(progress, &part.to_string(), &key).unwrap_or_default();
    let mut trainer = BridgeTrainer::new(data, knowledge, settings)?;
    // A process in time that moves together within rows is further from the data than levels can tell.
    let linear = place_linear_paths(Task { data, knowledge }, &mut trainer, progress)?;
    let task = task.with_most_evidence(linear);
    let follow = |run: &LevelRun| {
        let running = Running { task: &task, run, key: &key };
        running.tell(part, extent, progress)
    };
    let levels = if extent == Extent::Ascent { LevelExtent::Process } else { LevelExtent::Edges };
    // Paths that were cut short are not those that the chains began with.
    let end = if progress.is_interrupted() {
        LevelEnd::Stopped
    } else {
        task.sweep(&mut run, levels, &follow)
    };
    let stop = stop_reason(end, extent, &run);
    let has_ended = matches!(stop, StopReason::Converged | StopReason::StepLimit);
    if has_ended && extent == Extent::Chains {
        progress.keep(&part.to_string(), &Checkpoint::new(&run, &key));
    }
    let divergence = (end == LevelEnd::Broken).then(|| broken_at(run.n_steps()));
    let found = task.found(&run);
    let member = |number: usize| {
        let mut trainer = trainer.clone();
        trainer.start_from_levels(&task, &run, number);
        let effects = task.drawn_effects(&run, trainer.level_units());
        let levels = found.clone().map(|found| LevelResult { found, effects });
        Trained { trainer, stop, divergence, linear: None, levels }
    };
    Ok((0..n_draws).map(member).collect())
}

fn stop_reason(end: LevelEnd, extent: Extent, run: &LevelRun) -> StopReason {
    let is_cut = extent == Extent::Chains && run.n_steps() < 2 * SWEEPS;
    match end {
        LevelEnd::Stopped => StopReason::Stopped,
        LevelEnd::Broken => StopReason::Diverged,
        LevelEnd::Done if is_cut => StopReason::StepLimit,
        LevelEnd::Done => StopReason::Converged,
    }
}

fn broken_at(step: u64) -> Divergence {
    Divergence { step, term: "determinant", attempts: 1, last_finite_elbo: None }
}

/// Paths where nothing was observed, and first states, are those of the linear process; how much of its evidence counts.
fn place_linear_paths(
    Task { data, knowledge }: Task<'_>,
    trainer: &mut BridgeTrainer,
    progress: &dyn Progress,
) -> Result<f64, BridgeError> {
    let linear = trainer.settings().linear_task(data, knowledge)?;
    let listen = until_interrupted(progress);
    let key = state_key(trainer.settings().get());
    let follower = Follower { part: Part::WHOLE, progress: &listen, key };
    let Some((fit, _)) = linear.fit(Extent::Ascent, None, &follower) else { return Ok(1.0) };
    trainer.start_from(&fit, false);
    Ok(fit.adequacy.mean_tempering())
}

/// The final fit: edges from all chains, and as many processes as there are members, as the chains have drawn them.
pub(super) fn fit_members(
    task: Task<'_>,
    settings: &BridgeSettings,
    n_members: usize,
    progress: &dyn Progress,
) -> Result<(Vec<BridgeFit>, Option<Divergence>), BridgeError> {
    let checked = settings.clone().check()?;
    let part = Part::Member { number: 0, n_members: 1 };
    let own = LevelPart { part, extent: Extent::Chains, n_draws: n_members.max(1), progress };
    let trained = train_levels(task, checked, own)?;
    let divergence = trained.first().and_then(|member| member.divergence);
    let careful = super::careful_beliefs(task, settings, progress)?;
    let fit = |one: Trained| match one.levels {
        Some(levels) => {
            BridgeFit::of_levels(one.trainer, one.stop, levels).no_surer_than(careful.as_deref())
        }
        None => BridgeFit::new(one.trainer, one.stop, None),
    };
    Ok((trained.into_iter().map(fit).collect(), divergence))
}

/// Chains between two sweeps.
struct Running<'a, Key> {
    task: &'a LevelTask,
    run: &'a LevelRun,
    key: &'a Key,
}

impl<Key: serde::Serialize + Sync> Running<'_, Key> {
    fn tell(&self, part: Part<'_>, extent: Extent, progress: &dyn Progress) -> ControlFlow<()> {
        let sweeps = self.task.settings().n_sweeps;
        let usual = if extent == Extent::Ascent { sweeps } else { 2 * sweeps };
        let end = usual.min(self.task.most_steps());
        progress.step(&Step {
            part,
            number: self.run.n_steps() - 1,
            end,
            terms: ElboTerms::default(),
            rate: 1.0,
            expected_edges: Some(self.edge_probabilities().iter().sum()),
            undone: None,
            extras: &[],
            training: self,
        })
    }
}

impl<Key: serde::Serialize + Sync> Training for Running<'_, Key> {
    fn edge_probabilities(&self) -> Vec<f64> {
        self.task.odds_so_far(self.run).iter().map(|odds| odds.sigmoid()).collect()
    }

    fn edge_scores(&self) -> EdgeScores {
        let n = self.task.n_variables();
        EdgeScores::from_matrix(n, self.task.odds_so_far(self.run)).expect("log-odds are numbers")
    }

    fn state(&self) -> Checkpoint {
        Checkpoint::new(self.run, self.key)
    }
}
