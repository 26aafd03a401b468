//! The bridge posterior: settings chosen on held-out series, then an ensemble over seeds.

use std::fs;

use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::bridge::{BridgeError, BridgeFit, BridgeSettings, BridgeState};
use driftgraph_core::train::select::{
    EnsembleFit, FitName, HeldOutUnit, Selection, fit_ensemble, select,
};
use driftgraph_core::{InnovationLaw, SeriesSet, Uninformative};
use driftgraph_data::whole_file::write_whole;
use serde_json::json;

use crate::error::JobError;
use crate::follower::{Follower, part_name, state_key};
use crate::job::{FinishedRun, Work};
use crate::learned::Learned;
use crate::observer::{DIVERGED, Ending};
use crate::plan::BridgePlan;

pub(crate) fn run(work: &Work<'_>, plan: &BridgePlan) -> Result<FinishedRun, JobError> {
    let data = &work.loaded.data;
    let knowledge = plan.knowledge(data)?;
    let mut selection = kept_selection(work)?;
    let next_step = match chosen(selection.as_ref(), plan) {
        settings if selection.is_some() || !plan.select => first_step(work, &settings)?,
        _ => 0,
    };
    let follower = Follower::new(work, next_step)?;
    if plan.select && selection.is_none() {
        let found = select(data, &knowledge, &plan.settings, &follower);
        if follower.ending()? == Ending::Interrupted {
            follower.finish_log()?;
            let folder = work.folder.run.path().to_owned();
            return Err(JobError::StoppedBeforeModel { folder });
        }
        let found = found.map_err(JobError::Bridge)?;
        // Candidates that were stopped early cannot be compared; the plain one is the safe choice.
        if !follower.selection_was_cut() {
            keep_selection(work, &found)?;
            selection = Some(found);
        }
    }
    let settings = chosen(selection.as_ref(), plan);
    let members = (&settings, plan.settings.ensemble);
    let fitted = fit_ensemble(data, &knowledge, members, &follower);
    let ending = follower.ending()?;
    let elapsed = follower.elapsed();
    let not_compared = plan.select && selection.is_none();
    let learned = |ensemble: &EnsembleFit| {
        let mut learned = learned((ensemble, &knowledge), work, selection.as_ref(), ending);
        let left_out = left_out(data);
        learned.remarks.extend(left_out.iter().map(|sentence| format!("warning: {sentence}")));
        learned.description["left_out"] = json!(left_out);
        if not_compared {
            let remark = "the time was too short to compare models: the plain one was taken";
            learned.remarks.push(remark.to_owned());
        }
        learned
    };
    match fitted {
        Ok(ensemble) => {
            let finished = learned(&ensemble).save(work, ending, ending.name(), elapsed)?;
            follower.finish_log()?;
            Ok(finished)
        }
        Err(BridgeError::Diverged { divergence, last_good }) => {
            // The diagnosis counts more than trouble with what could be saved.
            let saved = last_good
                .filter(|ensemble| ensemble.members().iter().all(BridgeFit::has_learned))
                .map(|ensemble| learned(&ensemble).save(work, ending, DIVERGED, elapsed))
                .and_then(Result::ok);
            let (diagnosis, saved) = (divergence.to_string(), saved.map(|run| run.folder));
            Err(JobError::Diverged { diagnosis, saved })
        }
        Err(error) => Err(JobError::Bridge(error)),
    }
}

/// The settings of the final fits, with the limit of steps of the plan.
fn chosen(selection: Option<&Selection>, plan: &BridgePlan) -> BridgeSettings {
    let base = &plan.settings.base;
    selection.map_or_else(
        || base.clone(),
        |selection| {
            let winner = &selection.candidates[selection.chosen].settings;
            BridgeSettings { max_steps: base.max_steps, ..winner.clone() }
        },
    )
}

/// Most steps of the final fits so far.
pub(crate) fn max_steps(work: &Work<'_>, plan: &BridgePlan) -> Result<u64, JobError> {
    let settings = chosen(kept_selection(work)?.as_ref(), plan);
    Ok(settings.check().map_err(JobError::Bridge)?.max_steps())
}

/// The step at which the first of the final fits goes on.
fn first_step(work: &Work<'_>, settings: &BridgeSettings) -> Result<u64, JobError> {
    let key = state_key(&work.fingerprint, settings);
    let part = part_name(FitName::Member(0));
    let state: Option<BridgeState> = work.folder.checkpoints.find(&part, &key)?;
    Ok(state.map_or(0, |state| state.step))
}

/// What was chosen when this fit was begun, if it came so far.
fn kept_selection(work: &Work<'_>) -> Result<Option<Selection>, JobError> {
    let file = work.folder.run.selection_file();
    if !file.is_file() {
        return Ok(None);
    }
    let text = fs::read_to_string(&file).map_err(JobError::file("read", &file))?;
    let selection: Selection = serde_json::from_str(&text)
        .map_err(|error| JobError::Damaged { file: file.clone(), reason: error.to_string() })?;
    if selection.chosen >= selection.candidates.len() {
        let reason = "it names a candidate that it does not have".to_owned();
        return Err(JobError::Damaged { file, reason });
    }
    Ok(Some(selection))
}

/// Keeps the choice, after which the candidates' own fits are no longer needed.
fn keep_selection(work: &Work<'_>, selection: &Selection) -> Result<(), JobError> {
    let file = work.folder.run.selection_file();
    let text = serde_json::to_string_pretty(selection).expect("a selection is plain values");
    let checkpoints = &work.folder.checkpoints;
    write_whole(&file, |out| writeln!(out, "{text}"))
        .and_then(|()| {
            let parts = checkpoints.parts()?;
            parts
                .iter()
                .filter(|part| part.contains("-without-part-"))
                .try_for_each(|part| checkpoints.forget(part))
        })
        .map_err(JobError::file("write", &file))
}

fn learned(
    (ensemble, knowledge): (&EnsembleFit, &EdgePrior),
    work: &Work<'_>,
    selection: Option<&Selection>,
    ending: Ending,
) -> Learned {
    Learned {
        model: FittedModel::from_ensemble(ensemble, knowledge, &work.loaded.data),
        description: description(ensemble, selection),
        remarks: remarks(ensemble, selection, ending),
    }
}

/// A sentence for each variable whose edges are not learned.
fn left_out(data: &SeriesSet) -> Vec<String> {
    let shortages = data.variables().iter().enumerate();
    shortages
        .filter_map(|(idx, name)| Some((name, Uninformative::of(data, idx)?)))
        .map(|(name, shortage)| {
            format!("`{name}` {shortage}: its edges are not learned, and given as 0")
        })
        .collect()
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
                let unit = match selection.unit {
                    Some(HeldOutUnit::TimeBlock) => "block of time",
                    _ => "series",
                };
                format!(
                    ": {:+.1} nats per held-out {unit} (standard error {:.1})",
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
    let settings = ensemble.members()[0].trainer().settings().get();
    if settings.instantaneous && settings.innovations == InnovationLaw::Gaussian {
        let remark = "effects within a step count in both directions: `probability_lagged` tells them \
                      apart, and a smaller `--step-size` may do without them";
        remarks.push(remark.to_owned());
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
