//! The bridge posterior: settings chosen on held-out series, then an ensemble over seeds.

use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::Context;
use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::select::{EnsembleFit, SelectEvent, Selection, fit_ensemble, select};
use serde_json::json;

use super::{Job, Learned};
use crate::progress::{BridgeFollower, Ending};
use crate::settings::BridgePlan;

pub(super) fn run(job: &Job<'_>, plan: &BridgePlan) -> anyhow::Result<ExitCode> {
    let data = &job.loaded.data;
    let knowledge = plan.knowledge(data.variables())?;
    let log = job.folder.open_log().context("cannot open the log")?;
    let args = job.args;
    let follower = BridgeFollower::new(log, args.log_every, job.followed_truth(), args.time_budget);
    let observer = |event: &SelectEvent<'_>| -> ControlFlow<()> { follower.event(event) };
    let mut selection = None;
    if plan.select {
        let found = select(data, &knowledge, &plan.settings, &observer)?;
        // Candidates that were stopped early cannot be compared; the plain one is the safe choice.
        selection = (!follower.selection_was_cut()).then_some(found);
        anyhow::ensure!(
            !follower.was_interrupted(),
            "interrupted while settings were being chosen; nothing was learned yet"
        );
    }
    let chosen = selection
        .as_ref()
        .map_or(&plan.settings.base, |selection| &selection.candidates[selection.chosen].settings);
    let members = (chosen, plan.settings.ensemble);
    let ensemble = fit_ensemble(data, &knowledge, members, &observer)?;
    let (ending, log_error) = follower.finish();
    let elapsed = follower.elapsed();
    let learned = learned((&ensemble, &knowledge), data, selection.as_ref(), ending);
    job.save(&learned, ending.name(), elapsed)?;
    if let Some(error) = log_error {
        return Err(error).context("the model was saved, but the log is incomplete");
    }
    job.tell(&learned, ending, elapsed)?;
    Ok(ExitCode::SUCCESS)
}

fn learned(
    (ensemble, knowledge): (&EnsembleFit, &EdgePrior),
    data: &SeriesSet,
    selection: Option<&Selection>,
    ending: Ending,
) -> Learned {
    let model = FittedModel::from_ensemble(ensemble, knowledge, data);
    Learned::new(model, description(ensemble, selection), remarks(ensemble, selection, ending))
}

fn description(ensemble: &EnsembleFit, selection: Option<&Selection>) -> serde_json::Value {
    let first = &ensemble.members()[0];
    let trainer = first.trainer();
    json!({
        "posterior": "bridge",
        "preset": "bridge",
        "seed": trainer.settings().get().seed,
        "settings": trainer.settings(),
        "noise_scale": trainer.noise_scale(),
        "selection": selection,
        "converged": ensemble.converged(),
        "elbo": first.terms().map(|terms| terms.elbo()),
        "members": ensemble.members().iter().map(|fit| json!({
            "seed": fit.trainer().settings().get().seed,
            "steps": fit.state().step,
            "stop_reason": fit.stop_reason(),
            "terms": fit.terms(),
            "undone_steps": fit.state().n_undone,
        })).collect::<Vec<_>>(),
    })
}

fn remarks(ensemble: &EnsembleFit, selection: Option<&Selection>, ending: Ending) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(selection) = selection {
        for candidate in &selection.candidates {
            let gain = candidate.gain.map_or_else(String::new, |gain| {
                format!(
                    ": {:+.1} nats per held-out series (standard error {:.1})",
                    gain.mean, gain.standard_error
                )
            });
            remarks.push(format!("tried {}{gain}", candidate.name));
        }
        let chosen = &selection.candidates[selection.chosen].name;
        remarks.push(match selection.unit {
            Some(_) => format!("chose {chosen}"),
            None => format!("the data are too few to compare models: {chosen}"),
        });
    }
    let n_undone: u64 = ensemble.members().iter().map(|fit| fit.state().n_undone).sum();
    if n_undone > 0 {
        remarks.push(format!("warning: {n_undone} steps were not finite and were undone"));
    }
    if !ensemble.converged() && ending == Ending::Finished {
        remarks.push("warning: not converged; allow more with `--steps`".to_owned());
    }
    remarks
}
