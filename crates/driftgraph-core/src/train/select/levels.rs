//! The candidate that is learned from levels: effects within a step and of the row before, by chains instead of by gradients.

use super::candidates::Seen;
use super::training::Trained;
use super::{CandidateReport, Task};
use crate::train::bridge::memory::BridgeShape;
use crate::train::bridge::{
    BridgeError, BridgeFit, BridgeSettings, BridgeTrainer, CheckedBridgeSettings, LevelResult,
    StopReason, state_key,
};
use crate::train::levels::{
    LevelEnd, LevelExtent, LevelFollower, LevelRun, LevelSettings, LevelTask, level_bytes,
    usual_gap,
};
use crate::train::linear::{Extent, Follower};
use crate::train::progress::{Checkpoint, Divergence, Part, Progress, StopAlone, find};

/// Sweeps of every chain of a final fit, and of the one that is to predict.
const SWEEPS: u64 = 400;
const FOLD_SWEEPS: u64 = 200;

/// Share that products of states explain of what a linear process leaves beyond which levels, which are linear, are too sure.
///
/// Of glycolysis at a gap of 1 (seeds 1000 and 1002; products explain four fifths) they claimed 21 links above 0.9, 9 of them
/// false; effects by gradients claimed two, both true.
const LEVELS_ARE_LINEAR: f64 = 0.25;

/// The candidate with levels in place of steps; `None` where the process is not linear and normal throughout, or another length
/// of steps was asked for.
///
/// Steps are as long as the usual gap: an effect within a row is one of a whole gap.
pub(super) fn report(seen: &Seen<'_>) -> Option<CandidateReport> {
    let are_bent = seen.left.is_some_and(|left| left.products > LEVELS_ARE_LINEAR);
    if are_bent || !seen.base.is_closed_form() || seen.settings.base.step_size.is_some() {
        return None;
    }
    let step_size = Some(usual_gap(seen.task.data)? * (1.0 + 1e-6));
    Some(CandidateReport::plain(&BridgeSettings {
        instantaneous: true,
        levels: true,
        step_size,
        ..seen.base.clone()
    }))
}

/// Bytes of the chains and of the processes that they draw.
pub(super) fn bytes(shape: &BridgeShape, base: &BridgeSettings, kept: usize) -> usize {
    let is_tried = base.is_closed_form() && base.step_size.is_none();
    if is_tried { kept + level_bytes(shape.n_variables, shape.n_rows) } else { 0 }
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
    let follower = LevelFollower { part, progress, key: &key };
    let levels = if extent == Extent::Ascent { LevelExtent::Process } else { LevelExtent::Edges };
    // Paths that were cut short are not those that the chains began with.
    let end = if progress.is_interrupted() {
        LevelEnd::Stopped
    } else {
        task.sweep(&mut run, levels, &follower)
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
    let key = state_key(trainer.settings().get());
    let follower = Follower { part: Part::WHOLE, progress: &StopAlone(progress), key };
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
