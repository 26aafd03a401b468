//! What each method does with the data of a cell.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use driftgraph_baselines::Baseline;
use driftgraph_core::EdgeScores;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::bridge::{BridgeFit, BridgeSettings, StopReason};
use driftgraph_core::train::select::{
    EnsembleFit, FitName, SelectEvent, fit_ensemble, fit_selected,
};
use driftgraph_core::train::settings::CheckedSettings;
use driftgraph_run::plan::{BridgePlan, FitPlan, PlannedPosterior};
use serde_json::{Value, json};

use super::cell::{CellResult, Details, Judged, Moment, Spent};
use super::paper_fit::PaperFit;
use super::plan::Variant;
use super::sample::Sample;
use crate::args::{Cli, Command, ExperimentArgs, Method};
use crate::progress::interrupted;
use crate::settings::asked;

/// Steps of the bridge between two points of a curve over training.
const STEPS_PER_MOMENT: u64 = 50;

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
    /// What earlier starts of this cell have cost.
    pub(super) spent_before: Spent,
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
        line.extend(variant.bridge_options);
        line.extend(args.quick.then_some(["--steps", "40", "--ensemble", "1"]).iter().flatten());
        if method == Method::BridgeLinear {
            line.extend(["--select", "none"]);
        }
    }
    let command = line.join(" ");
    match (resolve_line(&line)?, method) {
        (PlannedPosterior::Simulated(_, settings), Method::ScotchPaper) => {
            let described = json!({"fit": &**settings});
            let work = Work::Simulated(settings, args.budget);
            Ok(Prepared { work, command, settings: described })
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

/// The settings of a line of `fit`, from the same place as there.
pub(super) fn resolve_line(line: &[&str]) -> anyhow::Result<PlannedPosterior> {
    match Cli::try_parse_from(line)?.command {
        Command::Fit(args) => Ok(FitPlan::new(asked(&args)?)?.posterior().clone()),
        _ => unreachable!("the line names the command `fit`"),
    }
}

impl Work {
    /// Whether a result has all that the work asks for; only the paper's training can be cut short.
    pub(super) fn is_done_by(&self, cell: &CellResult) -> bool {
        match (self, &cell.details.epochs) {
            (Self::Simulated(_, budget), Some(epochs)) => {
                let ended = epochs.diverged || epochs.reached >= epochs.planned;
                ended || cell.seconds >= budget.as_secs_f64()
            }
            _ => true,
        }
    }
}

/// What a cell's work is done with.
#[derive(Clone, Copy)]
pub(super) struct Bench<'a> {
    pub(super) sample: &'a Sample,
    /// The paper's convention.
    pub(super) self_edges: SelfEdges,
    /// Where work that takes long is kept on the way.
    pub(super) checkpoints: &'a Path,
    /// Shows what is going on.
    pub(super) tell: &'a (dyn Fn(&str) + Sync),
}

/// Does the work of the cell of that key; `None` if the user asked to stop.
pub(super) fn find(work: &Work, key: &str, bench: Bench<'_>) -> anyhow::Result<Option<Found>> {
    let found = match work {
        Work::Baseline(baseline) => {
            let ranking = baseline.run(&bench.sample.data)?;
            let (details, spent_before) = (Details::default(), Spent::default());
            Found { ranking, probabilities: None, details, spent_before }
        }
        Work::Bridge(plan) => bridge(plan, bench)?,
        Work::Oracle(cell, plan) => oracle(cell, plan, bench)?,
        Work::Simulated(settings, budget) => {
            PaperFit { settings, budget: *budget, key, bench }.run()?
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

fn bridge(plan: &BridgePlan, bench: Bench<'_>) -> anyhow::Result<Found> {
    let data = &bench.sample.data;
    let knowledge = plan.knowledge(data)?;
    let history = Mutex::new(Vec::new());
    let observer = |event: &SelectEvent<'_>| {
        let step = event.progress.step;
        if event.fit == FitName::Member(0) && step.is_multiple_of(STEPS_PER_MOMENT) {
            let fit = BridgeFit::new(event.trainer.clone(), StopReason::Stopped);
            let found = Scored::new(&EnsembleFit::new(vec![fit]), &knowledge, bench);
            if let Ok(found) = found {
                let mut history = history.lock().expect("no thread has panicked");
                history.push(found.moment(step, bench));
            }
        }
        follow(event, bench.tell)
    };
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
    let details = Details {
        chosen,
        converged: Some(ensemble.converged()),
        selection: tried,
        history: history.into_inner().expect("no thread has panicked"),
        ..Details::default()
    };
    Ok(Scored::new(&ensemble, &knowledge, bench)?.found(details))
}

/// Ranking and probabilities of the bridge.
struct Scored {
    ranking: EdgeScores,
    probabilities: EdgeScores,
}

impl Scored {
    fn new(
        ensemble: &EnsembleFit,
        knowledge: &EdgePrior,
        bench: Bench<'_>,
    ) -> anyhow::Result<Self> {
        let data = &bench.sample.data;
        let model = FittedModel::from_ensemble(ensemble, knowledge, data);
        let probabilities = model.edge_probabilities();
        let probabilities = EdgeScores::from_matrix(data.n_variables(), probabilities)?;
        Ok(Self { ranking: model.edge_scores(), probabilities })
    }

    fn moment(&self, step: u64, bench: Bench<'_>) -> Moment {
        Moment::new(step, (&self.ranking, &self.probabilities), bench)
    }

    fn found(self, details: Details) -> Found {
        let probabilities = Some(self.probabilities);
        Found { ranking: self.ranking, probabilities, details, spent_before: Spent::default() }
    }
}

/// Fits every candidate to all data and keeps the one that the truth likes best.
fn oracle(cell: &CellResult, plan: &BridgePlan, bench: Bench<'_>) -> anyhow::Result<Found> {
    let data = &bench.sample.data;
    let knowledge = plan.knowledge(data)?;
    let observer = |event: &SelectEvent<'_>| follow(event, bench.tell);
    let mut best: Option<(Found, Option<f64>)> = None;
    let mut judged = Vec::new();
    for (name, settings) in candidates(cell)? {
        let members = (&settings, plan.settings.ensemble);
        let ensemble = fit_ensemble(data, &knowledge, members, &observer)?;
        let scored = Scored::new(&ensemble, &knowledge, bench)?;
        let auroc = scored.moment(0, bench).auroc;
        judged.push(Judged { name: name.clone(), auroc });
        if best.as_ref().is_none_or(|(_, other)| auroc > *other) {
            let converged = Some(ensemble.converged());
            let details = Details { chosen: Some(name), converged, ..Details::default() };
            best = Some((scored.found(details), auroc));
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
