//! What each method does with the data of a cell.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Parser;
use driftgraph_baselines::Baseline;
use driftgraph_core::EdgeScores;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::fitted::score::{MetricOptions, SelfEdges};
use driftgraph_core::train::bridge::BridgeSettings;
use driftgraph_core::train::error::FitError;
use driftgraph_core::train::fit::{Fit, fit};
use driftgraph_core::train::observer::{FitObserver, StepReport};
use driftgraph_core::train::select::{FitName, SelectEvent, fit_ensemble, fit_selected};
use driftgraph_core::train::settings::CheckedSettings;
use driftgraph_core::train::trainer::Trainer;
use driftgraph_run::plan::{BridgePlan, FitPlan, PlannedPosterior};
use serde_json::{Value, json};

use super::cell::{CellResult, Details, Epochs, Judged, Moment};
use super::plan::Variant;
use super::sample::Sample;
use crate::args::{Cli, Command, ExperimentArgs, Method};
use crate::commands::score::ranked_metrics;
use crate::progress::interrupted;
use crate::settings::asked;

/// Points of a curve over training.
const N_MOMENTS: u64 = 200;

/// A method with everything it needs but the data.
pub(super) enum Work {
    Bridge(Box<BridgePlan>),
    /// Candidates of a finished cell of `bridge`, and how many fits are averaged.
    Oracle(Box<CellResult>, Box<BridgePlan>),
    Simulated(Box<CheckedSettings>, Duration),
    Baseline(Baseline),
}

/// What a method found.
pub(super) struct Found {
    pub(super) ranking: EdgeScores,
    /// `None` for methods without probabilities.
    pub(super) probabilities: Option<EdgeScores>,
    pub(super) details: Details,
}

/// A cell's work, the same as a command of its own, and its settings.
pub(super) struct Prepared {
    pub(super) work: Work,
    pub(super) command: String,
    pub(super) settings: Value,
}

/// Takes settings from the same place as `fit`, so that they are what a user gets.
///
/// `bridge` is the finished cell whose candidates `Oracle` judges.
pub(super) fn prepare(
    method: Method,
    variant: &Variant,
    seed: u64,
    args: &ExperimentArgs,
    bridge: Option<&CellResult>,
) -> anyhow::Result<Prepared> {
    if let Some(baseline) = method.baseline() {
        let command = format!("driftgraph baseline {baseline} DATA");
        return Ok(Prepared { work: Work::Baseline(baseline), command, settings: json!({}) });
    }
    let seed = seed.to_string();
    let mut line = vec!["driftgraph", "fit", "DATA", "--seed", &seed];
    if method == Method::ScotchPaper {
        line.extend(variant.paper_options);
        line.extend(args.quick.then_some(["--steps", "3", "--hidden-size", "8"]).iter().flatten());
    } else {
        line.extend(args.quick.then_some(["--steps", "40", "--ensemble", "1"]).iter().flatten());
        if method == Method::BridgeLinear {
            line.extend(["--select", "none"]);
        }
    }
    let command = line.join(" ");
    match (resolve_line(&line)?, method) {
        (PlannedPosterior::Simulated(_, settings), Method::ScotchPaper) => {
            let budget = args.budget;
            let described = json!({"fit": &**settings, "budget_seconds": budget.as_secs_f64()});
            Ok(Prepared { work: Work::Simulated(settings, budget), command, settings: described })
        }
        (PlannedPosterior::Bridge(plan), Method::Oracle) => {
            let cell = bridge.context("its cell of `bridge` is not finished")?.clone();
            let settings = json!({"bridge": cell.key});
            Ok(Prepared { work: Work::Oracle(Box::new(cell), plan), command, settings })
        }
        (PlannedPosterior::Bridge(plan), _) => {
            let settings = json!({"select": plan.select, "fit": plan.settings});
            Ok(Prepared { work: Work::Bridge(plan), command, settings })
        }
        (PlannedPosterior::Simulated(..), _) => {
            unreachable!("without a preset `fit` means the bridge")
        }
    }
}

fn resolve_line(line: &[&str]) -> anyhow::Result<PlannedPosterior> {
    match Cli::try_parse_from(line)?.command {
        Command::Fit(args) => Ok(FitPlan::new(asked(&args)?)?.posterior().clone()),
        _ => unreachable!("the line names the command `fit`"),
    }
}

/// Does the work; `None` if the user asked to stop. `tell` shows what is going on.
pub(super) fn find(
    work: &Work,
    sample: &Sample,
    self_edges: SelfEdges,
    tell: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Option<Found>> {
    let found = match work {
        Work::Baseline(baseline) => {
            let ranking = baseline.run(&sample.data)?;
            Found { ranking, probabilities: None, details: Details::default() }
        }
        Work::Bridge(plan) => bridge(plan, sample, tell)?,
        Work::Oracle(cell, plan) => oracle(cell, plan, sample, self_edges, tell)?,
        Work::Simulated(settings, budget) => {
            simulated(settings, *budget, (sample, self_edges), tell)?
        }
    };
    Ok((!interrupted()).then_some(found))
}

/// Says which fit is going on, and stops it when the user wants to.
fn follow(event: &SelectEvent<'_>, tell: &(dyn Fn(&str) + Sync)) -> ControlFlow<()> {
    let (n_fits, step) = (event.n_fits, event.progress.step);
    let what = match event.fit {
        FitName::Candidate { name, fold } => {
            format!("trying {name}, part {} of {n_fits} held out", fold + 1)
        }
        FitName::Member(member) => format!("final fit {} of {n_fits}", member + 1),
    };
    if step.is_multiple_of(50) {
        tell(&format!("{what}, step {step}"));
    }
    if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn bridge(
    plan: &BridgePlan,
    sample: &Sample,
    tell: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Found> {
    let data = &sample.data;
    let knowledge = plan.knowledge(data.variables())?;
    let observer = |event: &SelectEvent<'_>| follow(event, tell);
    let (mut chosen, mut tried) = (None, None);
    let ensemble = if plan.select {
        let (selection, ensemble) = fit_selected(data, &knowledge, &plan.settings, &observer)?;
        chosen = Some(selection.candidates[selection.chosen].name.clone());
        tried = Some(serde_json::to_value(&selection)?);
        ensemble
    } else {
        let members = (&plan.settings.base, plan.settings.ensemble);
        fit_ensemble(data, &knowledge, members, &observer)?
    };
    let model = FittedModel::from_ensemble(&ensemble, &knowledge, data);
    let details = Details {
        chosen,
        converged: Some(ensemble.converged()),
        selection: tried,
        ..Details::default()
    };
    let probabilities = EdgeScores::from_matrix(data.n_variables(), model.edge_probabilities())?;
    Ok(Found { ranking: model.edge_scores(), probabilities: Some(probabilities), details })
}

/// Fits every candidate to all data and keeps the one that the truth likes best.
fn oracle(
    cell: &CellResult,
    plan: &BridgePlan,
    sample: &Sample,
    self_edges: SelfEdges,
    tell: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Found> {
    let data = &sample.data;
    let knowledge = plan.knowledge(data.variables())?;
    let observer = |event: &SelectEvent<'_>| follow(event, tell);
    let mut best: Option<(Found, Option<f64>)> = None;
    let mut judged = Vec::new();
    for (name, settings) in candidates(cell)? {
        let members = (&settings, plan.settings.ensemble);
        let ensemble = fit_ensemble(data, &knowledge, members, &observer)?;
        let model = FittedModel::from_ensemble(&ensemble, &knowledge, data);
        let ranking = model.edge_scores();
        let probabilities =
            EdgeScores::from_matrix(data.n_variables(), model.edge_probabilities())?;
        let options = MetricOptions::new(self_edges);
        let auroc = ranked_metrics(&probabilities, &ranking, &sample.truth, options)?.auroc;
        judged.push(Judged { name: name.clone(), auroc });
        if best.as_ref().is_none_or(|(_, other)| auroc > *other) {
            let converged = Some(ensemble.converged());
            let details = Details { chosen: Some(name), converged, ..Details::default() };
            best = Some((Found { ranking, probabilities: Some(probabilities), details }, auroc));
        }
    }
    let (mut found, _) = best.context("no candidate was tried")?;
    found.details.by_the_truth = judged;
    Ok(found)
}

/// Names and settings of all candidates that a cell of `bridge` has tried.
fn candidates(cell: &CellResult) -> anyhow::Result<Vec<(String, BridgeSettings)>> {
    let tried = cell.details.selection.as_ref().and_then(|selection| {
        let candidate = |candidate: &Value| {
            let name = candidate["name"].as_str()?.to_owned();
            Some((name, serde_json::from_value(candidate["settings"].clone()).ok()?))
        };
        selection["candidates"].as_array()?.iter().map(candidate).collect()
    });
    tried.with_context(|| format!("the cell `{}` does not say what was tried", cell.key))
}

fn simulated(
    settings: &CheckedSettings,
    budget: Duration,
    (sample, self_edges): (&Sample, SelfEdges),
    tell: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Found> {
    let mut observer =
        Curve { sample, self_edges, budget, tell, start: Instant::now(), history: Vec::new() };
    let (fit, diverged) = match fit(&sample.data, settings, &mut observer) {
        Ok(fit) => (fit, false),
        Err(FitError::Diverged { last_good, .. }) => (*last_good, true),
        Err(other) => return Err(other.into()),
    };
    let (reached, planned) = (fit.counters().steps, settings.steps);
    let details = Details {
        epochs: Some(Epochs { reached, planned, diverged }),
        history: observer.history,
        ..Details::default()
    };
    let probabilities = probabilities(&fit)?;
    Ok(Found { ranking: fit.edge_scores(), probabilities: Some(probabilities), details })
}

fn probabilities(fit: &Fit) -> anyhow::Result<EdgeScores> {
    Ok(EdgeScores::from_matrix(fit.variables().len(), fit.edge_probabilities())?)
}

/// Follows the paper's training: metrics along the way, the budget, and the user's wish to stop.
struct Curve<'a> {
    sample: &'a Sample,
    self_edges: SelfEdges,
    budget: Duration,
    tell: &'a (dyn Fn(&str) + Sync),
    start: Instant,
    history: Vec<Moment>,
}

impl FitObserver for Curve<'_> {
    fn step(&mut self, report: &StepReport, trainer: &Trainer) -> ControlFlow<()> {
        let last = report.step + 1 == report.n_steps;
        if report.step.is_multiple_of((report.n_steps / N_MOMENTS).max(1)) || last {
            self.history.push(self.moment(report.step, trainer));
            (self.tell)(&format!("epoch {} of {}", report.step + 1, report.n_steps));
        }
        if interrupted() || self.start.elapsed() >= self.budget {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl Curve<'_> {
    fn moment(&self, epoch: u64, trainer: &Trainer) -> Moment {
        let ranking = trainer.edge_scores();
        let probabilities = trainer.edge_probabilities();
        let probabilities = EdgeScores::from_matrix(ranking.n_variables(), probabilities);
        let probabilities = probabilities.expect("probabilities are numbers");
        let options = MetricOptions::new(self.self_edges);
        let metrics = ranked_metrics(&probabilities, &ranking, &self.sample.truth, options);
        let metrics = metrics.expect("truth and data have the same variables");
        Moment { epoch, auroc: metrics.auroc, f1: metrics.f1, tpr: metrics.tpr, fdr: metrics.fdr }
    }
}
