//! The simulated posterior of the paper, as published or on any data.

mod stuck;

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::train::fit::{Fit, fit};
use driftgraph_core::train::memory::predicted_bytes;
use driftgraph_core::train::preset::Preset as Published;
use driftgraph_core::train::progress::Progress;
use driftgraph_core::train::settings::{CheckedSettings, FitSettings, Range, SETTINGS, Setting};
use driftgraph_data::record::{MethodRequest, TrainingRecord};
use serde_json::{Map, Value, json};

use crate::bridge::BROKEN_STEPS;
use crate::method::{Learned, Method, MethodError, MethodTask, Preset, Takes};
use crate::plan::{FitPlan, PlanError, from_value, to_object};
use crate::settings::checked_by_table;
use stuck::{RESTARTS, Watch};

/// The paper's: paths are simulated, and learned by gradients through them.
pub(crate) struct Simulated;

impl Method for Simulated {
    fn name(&self) -> &'static str {
        Published::Simulated.name()
    }

    fn description(&self) -> &'static str {
        "SCOTCH with the paper's posterior: paths are simulated, and learned by gradients through them"
    }

    fn settings(&self) -> Vec<Setting> {
        // Edges are given by name, one by one.
        let settings = SETTINGS.iter().filter(|setting| setting.range != Range::Edges);
        settings.copied().chain([RESTARTS]).collect()
    }

    fn presets(&self) -> Vec<Preset> {
        let of =
            |preset: Published| Preset::new(preset.name(), preset.meaning(), &preset.settings());
        Published::ALL.map(of).to_vec()
    }

    fn takes(&self) -> Takes {
        Takes::ALL
    }

    fn is_fast(&self) -> bool {
        false
    }

    fn short_trial(&self) -> Value {
        json!({"steps": 3, "hidden_size": 8})
    }

    fn resolve(&self, asked: &MethodRequest) -> Result<Map<String, Value>, PlanError> {
        let mut settings = to_object(settings(asked)?.get());
        // What is known of edges stands beside the settings.
        settings.remove("edge_priors");
        settings.insert(RESTARTS.name.to_owned(), restarts(asked)?.into());
        Ok(settings)
    }

    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        predicted_bytes(data, &settings(plan.asked()).ok()?, rayon::current_num_threads()).ok()
    }

    fn last_step(&self, plan: &FitPlan, _: &dyn Progress) -> Option<u64> {
        settings(plan.asked()).ok().map(|settings| settings.steps)
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let settings = settings(task.plan.asked())?;
        let Trained { fit, stuck } = trained(task, &settings)?;
        let divergence = fit.divergence();
        if let (Some(divergence), None) = (divergence, fit.last_terms()) {
            return Err(divergence.into());
        }
        let (mut remarks, training) = (remarks(&fit), training_record(&fit));
        remarks.extend(stuck);
        let model = FittedModel::from_fit(fit, task.data);
        let edges = model.edges();
        Ok(Learned { model: Some(model), training, remarks, divergence, ..Learned::edges(edges) })
    }
}

/// A training, and what is to be said of attempts that were stuck.
struct Trained {
    fit: Fit,
    stuck: Vec<String>,
}

/// Trains, again with another seed where a training is stuck and that is allowed.
fn trained(task: &MethodTask<'_>, settings: &CheckedSettings) -> Result<Trained, MethodError> {
    let restarts = restarts(task.plan.asked())?;
    let mut said: Vec<String> = Vec::new();
    let first = stuck::given_up(task.progress, settings).min(restarts);
    for attempt in 0..first {
        let seed = stuck::seed_of(settings.seed, attempt);
        said.push(format!("warning: training with seed {seed} was stuck and given up"));
    }
    for attempt in first..=restarts {
        let seed = stuck::seed_of(settings.seed, attempt);
        let own =
            FitSettings { seed, ..settings.get().clone() }.check().map_err(PlanError::from)?;
        let watch = Watch::new(task.progress, task.data, &own, attempt < restarts);
        let fit = fit(task.data, &own, &watch)?;
        let Some(distance) = watch.stuck() else { return Ok(Trained { fit, stuck: said }) };
        let warning = format!(
            "warning: training with seed {seed} exploded and stays stuck: its paths are {distance:.0} times as far \
             from the data as their means"
        );
        if attempt == restarts {
            let advice = if restarts == 0 { "; another `--seed` may go well" } else { "" };
            said.push(format!("{warning}{advice}"));
            return Ok(Trained { fit, stuck: said });
        }
        let next = stuck::seed_of(settings.seed, attempt + 1);
        let text =
            format!("{warning}; it begins again with seed {next} (`--restarts 0` would keep it)");
        task.progress.note(&text);
        stuck::give_up(task.progress, settings, attempt + 1);
        said.push(format!("warning: training with seed {seed} was stuck and given up"));
    }
    unreachable!("the last attempt ends the loop")
}

/// How often a stuck training may begin again.
fn restarts(asked: &MethodRequest) -> Result<u64, PlanError> {
    let asked = asked.settings.iter().filter(|(name, _)| *name == RESTARTS.name);
    let asked = asked.map(|(name, value)| (name.clone(), value.clone())).collect();
    let checked = checked_by_table(Simulated.name(), &[RESTARTS], Map::new(), &asked)?;
    let found = checked[RESTARTS.name].as_f64();
    Ok(found.expect("the table asks for a number") as u64)
}

/// The preset's settings with what was asked for.
fn settings(asked: &MethodRequest) -> Result<CheckedSettings, PlanError> {
    let preset: Published = asked.preset.as_deref().map_or(Ok(Published::Simulated), str::parse)?;
    let mut values = to_object(&preset.settings());
    for (name, value) in &asked.settings {
        if name == RESTARTS.name {
            continue;
        }
        let known = name == BROKEN_STEPS || SETTINGS.iter().any(|setting| setting.name == name);
        if !known {
            let (name, method) = (name.clone(), Simulated.name());
            return Err(PlanError::OtherSetting { name, method });
        }
        values.insert(name.clone(), value.clone());
    }
    let mut settings: FitSettings = from_value(Value::Object(values), "the settings")?;
    settings.edge_priors.extend(asked.edges.iter().cloned());
    Ok(settings.check()?)
}

fn remarks(fit: &Fit) -> Vec<String> {
    let counters = fit.counters();
    let mut remarks = Vec::new();
    if let Some(terms) = fit.last_terms() {
        remarks.push(format!("ELBO {:.1} after {} steps", terms.elbo(), counters.steps));
    }
    if counters.rollbacks > 0 {
        let n_undone = counters.rollbacks;
        remarks.push(format!("warning: {n_undone} steps were not finite and were undone"));
    }
    if counters.floor_hits > 0 {
        let n_hits = counters.floor_hits;
        remarks.push(format!("warning: the diffusion was at its floor {n_hits} times"));
    }
    remarks
}

fn training_record(fit: &Fit) -> TrainingRecord {
    TrainingRecord {
        seed: Some(fit.settings().seed),
        elbo: fit.last_terms().map(|terms| terms.elbo()),
        noise_scales: Some(fit.noise_scales()),
        counters: Some(fit.counters()),
        ..TrainingRecord::default()
    }
}
