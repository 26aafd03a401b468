//! The simulated posterior of the paper.

use std::process::ExitCode;

use anyhow::Context;
use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::train::error::FitError;
use driftgraph_core::train::fit::{Fit, fit};
use driftgraph_core::train::preset::Preset;
use driftgraph_core::train::settings::CheckedSettings;
use serde_json::json;

use super::{Job, Learned};
use crate::printer;
use crate::progress::Follower;

pub(super) fn run(
    job: &Job<'_>,
    preset: Preset,
    settings: &CheckedSettings,
) -> anyhow::Result<ExitCode> {
    let args = job.args;
    let log = job.folder.open_log().context("cannot open the log")?;
    let truth = job.followed_truth();
    let mut follower = Follower::new(log, args.log_every, truth, args.time_budget, settings.steps);
    let result = fit(&job.loaded.data, settings, &mut follower);
    follower.finish();
    let elapsed = follower.elapsed();
    match result {
        Ok(fit) => {
            let learned = learned(&fit, &job.loaded.data, preset);
            job.save(&learned, follower.ending.name(), elapsed)?;
            if let Some(error) = follower.log_error.take() {
                return Err(error).context("the model was saved, but the log is incomplete");
            }
            job.tell(&learned, follower.ending, elapsed)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(FitError::Diverged { step, term, attempts, last_finite_elbo, last_good }) => {
            job.save(&learned(&last_good, &job.loaded.data, preset), "diverged", elapsed)?;
            printer::note(&format!(
                "the last good model is in `{}`; a smaller `--learning-rate`, or `--clip-norm 100`, may help",
                job.folder.path().display()
            ));
            Err(FitError::Diverged { step, term, attempts, last_finite_elbo, last_good }.into())
        }
        Err(error) => Err(error.into()),
    }
}

fn learned(fit: &Fit, data: &SeriesSet, preset: Preset) -> Learned {
    let counters = fit.counters();
    let elbo = fit.last_terms().map(|terms| terms.elbo());
    let mut remarks = Vec::new();
    if let Some(elbo) = elbo {
        remarks.push(format!("ELBO {elbo:.1} after {} steps", counters.steps));
    }
    if counters.rollbacks > 0 {
        remarks
            .push(format!("warning: {} steps were not finite and were undone", counters.rollbacks));
    }
    if counters.floor_hits > 0 {
        remarks
            .push(format!("warning: the diffusion was at its floor {} times", counters.floor_hits));
    }
    let description = json!({
        "posterior": "simulated",
        "preset": preset.name(),
        "seed": fit.settings().seed,
        "elbo": elbo,
        "noise_scales": fit.noise_scales(),
    });
    Learned::new(FittedModel::from_fit(fit.clone(), data), description, remarks)
}
