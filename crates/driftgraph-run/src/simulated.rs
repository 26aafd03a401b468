//! The simulated posterior of the paper.

use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::train::error::FitError;
use driftgraph_core::train::fit::{Fit, fit, resume};
use driftgraph_core::train::preset::Preset;
use driftgraph_core::train::settings::CheckedSettings;
use driftgraph_core::train::trainer::TrainingState;
use serde_json::json;

use crate::error::JobError;
use crate::follower::{Follower, SIMULATED, simulated_key};
use crate::job::{FinishedRun, Work};
use crate::learned::Learned;
use crate::observer::DIVERGED;

pub(crate) fn run(
    work: &Work<'_>,
    preset: Preset,
    settings: &CheckedSettings,
) -> Result<FinishedRun, JobError> {
    let key = simulated_key(&work.fingerprint, settings.get());
    let state: Option<TrainingState> = work.folder.checkpoints.find(SIMULATED, &key)?;
    let follower = Follower::new(work, state.as_ref().map_or(0, |state| state.step))?;
    let data = &work.loaded.data;
    let result = match state {
        Some(state) => resume(data, settings, state, &mut &follower),
        None => fit(data, settings, &mut &follower),
    };
    let ending = follower.ending()?;
    let elapsed = follower.elapsed();
    match result {
        Ok(fit) => {
            let finished =
                learned(&fit, work, preset).save(work, ending, ending.name(), elapsed)?;
            follower.finish_log()?;
            Ok(finished)
        }
        Err(FitError::Diverged { step, term, attempts, last_finite_elbo, last_good }) => {
            let saved = last_good
                .last_terms()
                .map(|_| learned(&last_good, work, preset).save(work, ending, DIVERGED, elapsed));
            let error = FitError::Diverged { step, term, attempts, last_finite_elbo, last_good };
            // The diagnosis counts more than trouble with what could be saved.
            let (diagnosis, saved) =
                (error.to_string(), saved.and_then(Result::ok).map(|run| run.folder));
            Err(JobError::Diverged { diagnosis, saved })
        }
        Err(error) => Err(JobError::Fit(error)),
    }
}

fn learned(fit: &Fit, work: &Work<'_>, preset: Preset) -> Learned {
    let counters = fit.counters();
    let elbo = fit.last_terms().map(|terms| terms.elbo());
    let mut remarks = Vec::new();
    if let Some(elbo) = elbo {
        remarks.push(format!("ELBO {elbo:.1} after {} steps", counters.steps));
    }
    if counters.rollbacks > 0 {
        let n_undone = counters.rollbacks;
        remarks.push(format!("warning: {n_undone} steps were not finite and were undone"));
    }
    if counters.floor_hits > 0 {
        let n_hits = counters.floor_hits;
        remarks.push(format!("warning: the diffusion was at its floor {n_hits} times"));
    }
    let description = json!({
        "posterior": "simulated",
        "preset": preset.name(),
        "seed": fit.settings().seed,
        "elbo": elbo,
        "noise_scales": fit.noise_scales(),
        "counters": counters,
    });
    Learned { model: FittedModel::from_fit(fit.clone(), &work.loaded.data), description, remarks }
}
