//! One fit of a candidate, from the start or from where it was left.

use std::ops::ControlFlow;

use super::Task;
use super::levels::{LevelPart, train_levels};
use crate::train::bridge::{
    BridgeError, BridgeTrainer, CheckedBridgeSettings, LevelResult, StopReason, state_key,
};
use crate::train::linear::{Extent, Follower, LinearEnd, LinearResult, LinearState};
use crate::train::progress::{Checkpoint, Divergence, Part, Progress, Step, Training, find};

/// A fit that has come to an end.
pub(super) struct Trained {
    pub(super) trainer: BridgeTrainer,
    pub(super) stop: StopReason,
    pub(super) divergence: Option<Divergence>,
    /// What ascent and chains found, where the fit has a closed form.
    pub(super) linear: Option<LinearResult>,
    /// What chains of levels found, where there are any and they have come so far.
    pub(super) levels: Option<LevelResult>,
}

impl Trained {
    /// Everything needed to go on.
    pub(super) fn kept(&self) -> Checkpoint {
        match &self.linear {
            Some(linear) => {
                Checkpoint::new(&linear.state, &state_key(self.trainer.settings().get()))
            }
            None => Training::state(&self.trainer),
        }
    }

    /// Neither stopped from outside nor broken: what it has is final.
    pub(super) fn ended_by_itself(&self) -> bool {
        !matches!(self.stop, StopReason::Stopped | StopReason::Diverged)
    }
}

/// Trains from the start, or from where it was left.
pub(super) fn train(
    Task { data, knowledge }: Task<'_>,
    settings: CheckedBridgeSettings,
    part: Part<'_>,
    extent: Extent,
    progress: &dyn Progress,
) -> Result<Trained, BridgeError> {
    if settings.get().is_closed_form() {
        let trainer = BridgeTrainer::new(data, knowledge, settings)?;
        return train_linear(Task { data, knowledge }, trainer, part, extent, progress);
    }
    if settings.get().levels {
        let own = LevelPart { part, extent, n_draws: 1, progress };
        let mut trained = train_levels(Task { data, knowledge }, settings, own)?;
        return Ok(trained.pop().expect("one draw is asked for"));
    }
    let kept = find(progress, &part.to_string(), &state_key(settings.get()));
    let mut trainer = if let Some(state) = kept {
        BridgeTrainer::resume(data, knowledge, settings, state)?
    } else {
        let mut trainer = BridgeTrainer::new(data, knowledge, settings)?;
        if trainer.settings().get().starts_linear() {
            start_from_ascent(Task { data, knowledge }, &mut trainer, part, progress)?;
        }
        trainer
    };
    let (stop, divergence) = match trainer.run(part, progress) {
        Ok(stop) => (stop, None),
        Err(divergence) => (StopReason::Diverged, Some(divergence)),
    };
    Ok(Trained { trainer, stop, divergence, linear: None, levels: None })
}

/// Coordinate ascent, and chains where they are asked for, in place of training.
fn train_linear(
    Task { data, knowledge }: Task<'_>,
    mut trainer: BridgeTrainer,
    part: Part<'_>,
    extent: Extent,
    progress: &dyn Progress,
) -> Result<Trained, BridgeError> {
    let linear = trainer.settings().linear_task(data, knowledge)?;
    let key = state_key(trainer.settings().get());
    let kept: Option<LinearState> = find(progress, &part.to_string(), &key);
    let Some((fit, end)) = linear.fit(extent, kept, &Follower { part, progress, key }) else {
        let divergence =
            Divergence { step: 0, term: "covariance", attempts: 1, last_finite_elbo: None };
        let (stop, divergence) = (StopReason::Diverged, Some(divergence));
        return Ok(Trained { trainer, stop, divergence, linear: None, levels: None });
    };
    trainer.start_from(&fit, false);
    let stop = match end {
        LinearEnd::Stopped => StopReason::Stopped,
        LinearEnd::Done if fit.is_cut() => StopReason::StepLimit,
        LinearEnd::Done => StopReason::Converged,
    };
    let linear = Some(fit.into_result());
    Ok(Trained { trainer, stop, divergence: None, linear, levels: None })
}

/// Follows a computation that is no part of the fit, and passes on nothing but the wish to stop.
pub(super) fn until_interrupted(
    progress: &dyn Progress,
) -> impl Fn(&Step<'_>) -> ControlFlow<()> + Sync {
    move |_| {
        if progress.is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Whether the user wishes an end, whatever the clock says.
pub(super) fn is_stopped_by_user(progress: &dyn Progress) -> bool {
    progress.is_interrupted() && !progress.is_out_of_time()
}

/// The same as [`until_interrupted`], whatever the clock says.
pub(super) fn until_stopped_by_user(
    progress: &dyn Progress,
) -> impl Fn(&Step<'_>) -> ControlFlow<()> + Sync {
    move |_| {
        if is_stopped_by_user(progress) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Starts training where coordinate ascent of the linear part alone ends.
fn start_from_ascent(
    Task { data, knowledge }: Task<'_>,
    trainer: &mut BridgeTrainer,
    part: Part<'_>,
    progress: &dyn Progress,
) -> Result<(), BridgeError> {
    let linear = trainer.settings().linear_task(data, knowledge)?;
    // Steps of the start are not steps of the fit: only the wish to stop is passed on.
    let listen = until_interrupted(progress);
    let key = state_key(trainer.settings().get());
    let follower = Follower { part, progress: &listen, key };
    if let Some((fit, LinearEnd::Done)) = linear.fit(Extent::Ascent, None, &follower) {
        trainer.start_from(&fit, true);
    }
    Ok(())
}
