//! The bridge posterior: settings chosen on held-out series, then an ensemble over seeds.

use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::graph::density::GraphDensity;
use driftgraph_core::graph::limited_prior::LimitedPrior;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::bridge::LearnedPush;
use driftgraph_core::train::bridge::memory::{BridgeShape, limited_bytes, predicted_bytes};
use driftgraph_core::train::bridge::{BRIDGE_SETTINGS, BridgeFit, BridgeSettings};
use driftgraph_core::train::polynomial::{PolynomialSettings, predicted_bytes as equation_bytes};
use driftgraph_core::train::progress::{Checkpoint, Progress};
use driftgraph_core::train::select::{
    CandidateReport, EnsembleFit, HeldOutUnit, SelectSettings, Selection, Stability, Task,
    fit_ensemble, select, stability,
};
use driftgraph_core::train::settings::{KnownEdge, Range, Setting};
use driftgraph_core::{InnovationLaw, SeriesSet, Uninformative};
use driftgraph_data::record::{EdgeLimits, MemberRecord, MethodRequest, TrainingRecord};
use serde_json::{Map, Value, json};

use crate::doubts::{aloud, doubts};
use crate::limited;
use crate::limits::ForbidEdges;
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Preset, Takes};
use crate::plan::{FitPlan, PlanError, from_value, positions, to_object};
use crate::polynomial::{self, Wish};
use crate::settings::row;

/// The name of the method, and of a table of its settings in a settings file.
pub(crate) const NAME: &str = "bridge";
/// A setting of tests alone: steps that count as not finite.
pub(crate) const BROKEN_STEPS: &str = "broken_steps";
/// Under what the choice among candidates is kept.
const SELECTION: &str = "selection";

/// Ours: a Gauss-Markov posterior of the paths, without simulation.
pub(crate) struct Bridge;

impl Method for Bridge {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "SCOTCH with a Gauss-Markov posterior of the paths: fast, and chooses its own settings on held-out series"
    }

    fn settings(&self) -> Vec<Setting> {
        let mut settings = RUNNING.to_vec();
        // The number of steps has one name in all methods.
        settings.extend(BRIDGE_SETTINGS.map(|setting| match setting.name {
            "max_steps" => Setting { name: "steps", ..setting },
            _ => setting,
        }));
        settings
    }

    fn presets(&self) -> Vec<Preset> {
        vec![
            Preset::new(
                NAME,
                "chooses instantaneous effects, a neural drift and equations with products of variables by itself",
                &json!({}),
            ),
            Preset::new("bridge-linear", "the linear candidate alone", &json!({"select": "none"})),
            Preset::new(
                "bridge-instantaneous",
                "the linear candidate with effects within a step alone",
                &json!({"select": "none", "instantaneous": true}),
            ),
            Preset::new("bridge-all", "an older name of `bridge`", &json!({"select": "all"})),
            Preset::new(
                "bridge-polynomial",
                "equations with products of variables alone",
                &json!({"select": "polynomial"}),
            ),
            Preset::new(
                "bridge-neural",
                "the candidate with node functions alone",
                &json!({"select": "none", "drift": "linear-and-neural"}),
            ),
        ]
    }

    fn takes(&self) -> Takes {
        Takes { experiments: Handling::Full, ..Takes::ALL }
    }

    fn is_fast(&self) -> bool {
        false
    }

    fn short_trial(&self) -> Value {
        json!({"steps": 40, "ensemble": 1})
    }

    fn resolve(&self, asked: &MethodRequest) -> Result<Map<String, Value>, PlanError> {
        let plan = BridgePlan::new(asked)?;
        Ok(plan.in_effect(&plan.settings.base))
    }

    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        let plan = BridgePlan::new(plan.asked()).ok()?;
        let shape = BridgeShape::new(data, &plan.settings.base).ok()?;
        if let Some(knowledge) = plan.few_pairs(data).ok().flatten() {
            return Some(limited_bytes(&shape, knowledge.n_pairs()));
        }
        let n_threads = rayon::current_num_threads();
        let own = predicted_bytes(&shape, &plan.settings, plan.select.compares(), n_threads);
        let equations = (plan.select == Select::Polynomial).then(|| {
            equation_bytes(&PolynomialSettings::default(), shape.n_variables, shape.n_rows)
        });
        Some(own.max(equations.unwrap_or(0)))
    }

    fn last_step(&self, plan: &FitPlan, progress: &dyn Progress) -> Option<u64> {
        let plan = BridgePlan::new(plan.asked()).ok()?;
        let selection = plan.kept_selection(progress);
        plan.chosen(selection.as_ref()).check().ok().map(|settings| settings.max_steps())
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        BridgePlan::new(task.plan.asked())?.learn(task.data, task.progress)
    }
}

/// How a fit is run, beside the settings of a single one.
#[rustfmt::skip]
const RUNNING: [Setting; 4] = [
    row("select", "auto", Range::Choice(&["auto", "all", "none", "polynomial"]), "choose instantaneous effects and neural drift on held-out series and equations with products of variables by the evidence (all: an older word for auto), take what is said, or take equations"),
    row("ensemble", "3", Range::Number { min: 1.0, max: 1e4, above: false }, "fits with different seeds that are averaged"),
    row("stability", "none", Range::Number { min: 2.0, max: 1e5, above: false }, "bootstrap samples of the data that are fitted besides, to say which edges others would show too"),
    row("no_self_loops", "false", Range::YesNo, "forbid edges from a variable to itself"),
];

/// What was asked for, as types.
pub(crate) struct BridgePlan {
    /// How settings are chosen.
    select: Select,
    /// What all candidates share, and how they are chosen.
    settings: SelectSettings,
    /// What is known of single edges.
    edges: Vec<KnownEdge>,
    no_self_loops: bool,
    /// Which variables may drive and be driven.
    limits: EdgeLimits,
    /// Number of bootstrap samples, where they are asked for.
    stability: Option<usize>,
}

impl BridgePlan {
    /// Settings of the bridge: its own table, then what stands beside it, which counts more.
    pub(crate) fn new(asked: &MethodRequest) -> Result<Self, PlanError> {
        let preset = asked.preset.as_deref();
        let preset = Bridge.presets().into_iter().find(|known| Some(known.name) == preset);
        let mut given = preset.map(|preset| preset.settings).unwrap_or_default();
        let mut beside = asked.settings.clone();
        match beside.remove(NAME) {
            None => {}
            Some(Value::Object(own)) => given.extend(own),
            Some(other) => {
                let reason = format!("it must be a table, found {other}");
                return Err(PlanError::Value { what: "`bridge`", reason });
            }
        }
        given.extend(beside);
        let known = Bridge.settings();
        let is_known = |name: &str| {
            // `max_steps` is the older word.
            ["max_steps", BROKEN_STEPS].contains(&name) || known.iter().any(|row| row.name == name)
        };
        if let Some(name) = given.keys().find(|name| !is_known(name)) {
            return Err(PlanError::OtherSetting { name: name.clone(), method: NAME });
        }
        let mut take = |name: &str| given.remove(name).filter(|value| !value.is_null());
        let no_self_loops = take("no_self_loops")
            .map_or(Ok(false), |value| from_value(value, "`no_self_loops`"))?;
        let mut settings = SelectSettings::default();
        if let Some(ensemble) = take("ensemble") {
            settings.ensemble = from_value(ensemble, "`ensemble`")?;
        }
        let stability =
            take("stability").map(|value| from_value(value, "`stability`")).transpose()?;
        let select =
            take("select").map_or(Ok(Select::Auto), |value| from_value(value, "`select`"))?;
        settings.base = base_settings(given)?;
        settings.base.clone().check()?;
        Ok(Self {
            select,
            settings,
            edges: asked.edges.clone(),
            no_self_loops,
            limits: asked.limits.clone(),
            stability,
        })
    }

    /// All settings in effect, in the words of the table.
    fn in_effect(&self, base: &BridgeSettings) -> Map<String, Value> {
        let mut settings = to_object(base);
        for (name, value) in &mut settings {
            let mut words = ["kind", "scale"].into_iter().filter_map(|key| value.get(key));
            let word = words.find(|word| spelled_out(name, word).as_ref() == Some(&*value));
            if let Some(word) = word.cloned() {
                *value = word;
            }
        }
        if let Some(steps) = settings.remove("max_steps") {
            settings.insert("steps".to_owned(), steps);
        }
        settings.insert("select".to_owned(), json!(self.select));
        settings.insert("ensemble".to_owned(), self.settings.ensemble.into());
        settings.insert("no_self_loops".to_owned(), self.no_self_loops.into());
        settings.insert("stability".to_owned(), self.stability.into());
        settings
    }

    /// Settings that all candidates share.
    pub(crate) fn base(&self) -> &BridgeSettings {
        &self.settings.base
    }

    /// What the user knows about edges; variables that tell nothing are left out.
    pub(crate) fn knowledge(&self, data: &SeriesSet) -> Result<EdgePrior, PlanError> {
        let mut prior = EdgePrior::new(data.n_variables(), 0.0);
        if self.no_self_loops {
            prior.forbid_self_loops();
        }
        let mut prior = with_knowledge(prior, &self.edges, data)?;
        self.limits.forbid(data, &mut prior)?;
        Ok(prior)
    }

    /// What is known of edges, where few of many pairs may be edges and nothing but a linear process was asked for.
    fn few_pairs(&self, data: &SeriesSet) -> Result<Option<LimitedPrior>, PlanError> {
        let is_linear = matches!(self.select, Select::Auto | Select::None);
        if !is_linear || !self.settings.base.is_closed_form() || self.stability.is_some() {
            return Ok(None);
        }
        limited::few_pairs(&self.limits, &self.edges, self.no_self_loops, data)
    }

    fn learn(&self, data: &SeriesSet, progress: &dyn Progress) -> Result<Learned, MethodError> {
        if let Some(knowledge) = self.few_pairs(data)? {
            let mut learned = limited::learn(data, &knowledge, self.base(), progress)?;
            learned.training.left_out = left_out(data);
            let left_out = learned.training.left_out.iter();
            learned.remarks.extend(left_out.map(|sentence| format!("warning: {sentence}")));
            learned.remarks.extend(aloud(&learned.training.doubts));
            learned.settings = Some(self.in_effect(self.base()));
            return Ok(learned);
        }
        let knowledge = self.knowledge(data)?;
        let task = Task { data, knowledge: &knowledge };
        let selection = self.selection(task, progress)?;
        let settings = self.chosen(selection.as_ref());
        let equations = selection.as_ref().and_then(Selection::equations).copied();
        let equations = if self.select == Select::Polynomial {
            Some(PolynomialSettings::default())
        } else {
            equations
        };
        if let Some(equations) = equations {
            return self.learn_equations(task, &equations, selection, &settings, progress);
        }
        let ensemble = fit_ensemble(task, &settings, self.settings.ensemble, progress)?;
        let divergence = ensemble.divergence();
        if let Some(divergence) = divergence
            && !ensemble.members().iter().all(BridgeFit::has_learned)
        {
            return Err(divergence.into());
        }
        let model = FittedModel::from_ensemble(&ensemble, &knowledge, data);
        let mut remarks: Vec<String> = selection.iter().flat_map(selection_remarks).collect();
        remarks.extend(ensemble_remarks(&ensemble));
        remarks.extend(pushes(data, &ensemble));
        let left_out = left_out(data);
        remarks.extend(left_out.iter().map(|sentence| format!("warning: {sentence}")));
        if self.select.compares() && selection.is_none() {
            let remark = "the time was too short to compare models: the plain one was taken";
            remarks.push(remark.to_owned());
        }
        let mut training = training_record(&ensemble, selection, left_out);
        training.stability = self.stability(task, &settings, progress)?;
        if self.stability.is_some() && training.stability.is_none() {
            let remark =
                "warning: there was no time for the bootstrap samples: edges have no stability";
            remarks.push(remark.to_owned());
        }
        let mut edges = model.edges();
        training.complete_edges(&mut edges);
        training.doubts = doubts(ensemble.adequacy(), &edges, data.n_variables());
        remarks.extend(aloud(&training.doubts));
        let settings = Some(self.in_effect(ensemble.members()[0].trainer().settings().get()));
        Ok(Learned {
            model: Some(model),
            settings,
            training,
            remarks,
            divergence,
            ..Learned::edges(edges)
        })
    }

    /// Equations instead of the bridge's own process.
    fn learn_equations(
        &self,
        task: Task<'_>,
        equations: &PolynomialSettings,
        selection: Option<Selection>,
        settings: &BridgeSettings,
        progress: &dyn Progress,
    ) -> Result<Learned, MethodError> {
        let mut selection = selection;
        let wish = match selection.as_mut() {
            Some(selection) => Wish::Chosen(selection.found.take()),
            None => Wish::Asked,
        };
        let mut learned = polynomial::learn(task, equations, wish, progress)?;
        let mut remarks: Vec<String> = selection.iter().flat_map(selection_remarks).collect();
        remarks.append(&mut learned.remarks);
        let left_out = left_out(task.data);
        remarks.extend(left_out.iter().map(|sentence| format!("warning: {sentence}")));
        let training = TrainingRecord {
            seed: Some(settings.seed),
            selection,
            left_out,
            stability: self.stability(task, settings, progress)?,
            ..learned.training
        };
        let mut edges = learned.edges;
        training.complete_edges(&mut edges);
        let settings = Some(self.in_effect(settings));
        Ok(Learned { edges, settings, training, remarks, ..learned })
    }

    /// How often bootstrap samples keep each edge, if they were asked for and there was time.
    fn stability(
        &self,
        task: Task<'_>,
        settings: &BridgeSettings,
        progress: &dyn Progress,
    ) -> Result<Option<Stability>, MethodError> {
        let Some(n_samples) = self.stability else { return Ok(None) };
        Ok(stability(task, settings, n_samples, progress)?)
    }

    /// What was chosen among the candidates, if it was asked for and there was time.
    fn selection(
        &self,
        task: Task<'_>,
        progress: &dyn Progress,
    ) -> Result<Option<Selection>, MethodError> {
        if !self.select.compares() {
            return Ok(None);
        }
        if let Some(kept) = self.kept_selection(progress) {
            return Ok(Some(kept));
        }
        let found = select(task, &self.settings, progress)?;
        // Where the time is up, the plain model still gets its first step.
        if progress.is_interrupted() && !progress.is_out_of_time() {
            return Err(MethodError::Stopped);
        }
        // Candidates that were stopped early cannot be compared; the plain one is the safe choice.
        if found.was_cut() {
            return Ok(None);
        }
        let bytes = serde_json::to_vec(&found).expect("a selection is plain values");
        progress.keep(SELECTION, &Checkpoint { depends_on: self.selection_key(), bytes });
        found.forget_parts(self.settings.n_folds, progress);
        Ok(Some(found))
    }

    /// What was chosen when this fit was begun, if it came so far.
    fn kept_selection(&self, progress: &dyn Progress) -> Option<Selection> {
        let bytes = progress.find(SELECTION, &self.selection_key())?;
        let selection: Selection = serde_json::from_slice(&bytes).ok()?;
        (selection.chosen < selection.candidates.len()).then_some(selection)
    }

    /// What the choice depends on; more steps of the final fits do not change it.
    fn selection_key(&self) -> String {
        let base = BridgeSettings { max_steps: None, ..self.settings.base.clone() };
        let settings = SelectSettings { base, ensemble: 1, ..self.settings.clone() };
        // Older checkpoints know of no limits.
        if self.limits.is_empty() {
            return json!([settings, self.edges, self.no_self_loops]).to_string();
        }
        json!([settings, self.edges, self.no_self_loops, self.limits]).to_string()
    }

    /// The settings of the final fits, with the limit of steps of the plan.
    fn chosen(&self, selection: Option<&Selection>) -> BridgeSettings {
        let base = &self.settings.base;
        let winner = selection.map_or(base, Selection::winner);
        BridgeSettings { max_steps: base.max_steps, ..winner.clone() }
    }
}

/// The prior with what the user knows about single edges; variables that tell nothing are left out.
pub(crate) fn with_knowledge(
    mut prior: EdgePrior,
    edges: &[KnownEdge],
    data: &SeriesSet,
) -> Result<EdgePrior, PlanError> {
    let variables = data.variables();
    for edge in edges {
        let [source, target] = positions(edge, variables)?;
        if data.inputs().contains(&target) && edge.probability > 0.0 {
            let edge = format!("{} -> {}", edge.source, edge.target);
            return Err(PlanError::EdgeIntoInput { edge, input: variables[target].clone() });
        }
        prior.know(source, target, edge.probability)?;
    }
    // Their missing edges would count as evidence that edges are rare.
    (0..variables.len())
        .filter(|&idx| Uninformative::of(data, idx).is_some())
        .for_each(|idx| prior.leave_out(idx));
    Ok(prior)
}

/// The settings of a single fit, from the words of the table.
fn base_settings(mut given: Map<String, Value>) -> Result<BridgeSettings, PlanError> {
    if let Some(steps) = given.remove("steps") {
        given.insert("max_steps".to_owned(), steps);
    }
    for (name, value) in &mut given {
        if let Some(whole) = spelled_out(name, value) {
            *value = whole;
        } else if let (true, Value::String(kind)) = (name.ends_with("density"), &*value) {
            let reason = format!("there is no kind `{kind}`");
            return Err(PlanError::Value { what: "`density`", reason });
        }
    }
    let mut values = to_object(&BridgeSettings::default());
    // What is taken away is at its default.
    values.extend(given.into_iter().filter(|(_, value)| !value.is_null()));
    from_value(Value::Object(values), "the settings")
}

/// What a word or a number of the table stands for, where that is a table of its own.
fn spelled_out(name: &str, word: &Value) -> Option<Value> {
    match (name, word) {
        ("noise_scale" | "estimator", Value::Number(_)) => {
            Some(json!({"kind": "fixed", "scale": word}))
        }
        ("noise_scale" | "estimator", Value::String(_)) => Some(json!({"kind": word})),
        ("density" | "instant_density", Value::String(kind)) => {
            GraphDensity::of_kind(kind).map(|density| json!(density))
        }
        _ => None,
    }
}

/// The plan that fits a candidate alone which a plan of `bridge` has tried.
pub fn candidate_plan(plan: &FitPlan, candidate: &CandidateReport) -> Result<FitPlan, PlanError> {
    let select = if candidate.equations.is_some() { Select::Polynomial } else { Select::None };
    let alone = BridgePlan { select, ..BridgePlan::new(plan.asked())? };
    let max_steps = alone.base().max_steps;
    let settings = alone.in_effect(&BridgeSettings { max_steps, ..candidate.settings.clone() });
    let differs = |(name, value): &(String, Value)| plan.settings().get(name) != Some(value);
    plan.with(settings.into_iter().filter(differs))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Select {
    /// By what predicts best, and equations by the evidence.
    #[serde(alias = "all")]
    Auto,
    /// What is said.
    None,
    /// Equations.
    Polynomial,
}

impl Select {
    /// Whether candidates are compared.
    fn compares(self) -> bool {
        self == Self::Auto
    }
}

/// A sentence for each variable whose edges are not learned.
fn left_out(data: &SeriesSet) -> Vec<String> {
    let variables = data.variables().iter().enumerate();
    variables
        .filter_map(|(idx, name)| Some((name, Uninformative::of(data, idx)?)))
        .map(|(name, why)| format!("`{name}` {why}: its edges are not learned, and given as 0"))
        .collect()
}

/// By how much variables were pushed, a sentence each.
fn pushes(data: &SeriesSet, ensemble: &EnsembleFit) -> Vec<String> {
    let learned = ensemble.members()[0].pushes();
    if learned.is_empty() && !data.amounts().is_empty() {
        let left_out = "interventions: steps in which a variable is pushed were left out for it: this drift learns no amounts";
        return vec![left_out.to_owned()];
    }
    push_sentences(data, learned)
}

/// The same of amounts that were learned.
pub(crate) fn push_sentences(data: &SeriesSet, learned: &[LearnedPush]) -> Vec<String> {
    let sentence = |push: &LearnedPush| {
        let name = &data.variables()[push.amount.variable];
        let value = push.amount.value.map_or_else(String::new, |value| format!(" ({value})"));
        let kind = push.amount.kind.name();
        let (mean, deviation) = (push.mean, push.deviation);
        format!(
            "interventions: {kind}{value} of `{name}` changes its rate by {mean:+.3} (deviation {deviation:.3})"
        )
    };
    learned.iter().map(sentence).collect()
}

fn training_record(
    ensemble: &EnsembleFit,
    selection: Option<Selection>,
    left_out: Vec<String>,
) -> TrainingRecord {
    let first = &ensemble.members()[0];
    let trainer = first.trainer();
    TrainingRecord {
        seed: Some(trainer.settings().get().seed),
        elbo: first.terms().map(|terms| terms.elbo()),
        converged: Some(ensemble.converged()),
        selection,
        members: (ensemble.members().iter())
            .map(|fit| MemberRecord {
                seed: fit.trainer().settings().get().seed,
                steps: fit.state().step,
                stop_reason: fit.stop_reason(),
                terms: fit.terms(),
                undone_steps: fit.state().n_undone,
            })
            .collect(),
        noise_scale: Some(trainer.noise_scale()),
        adequacy: Some(ensemble.adequacy().clone()),
        left_out,
        ..TrainingRecord::default()
    }
}

/// What was tried, and what was chosen.
fn selection_remarks(selection: &Selection) -> Vec<String> {
    let mut remarks = Vec::new();
    for candidate in &selection.candidates {
        let unit = match selection.unit {
            Some(HeldOutUnit::TimeBlock) => "block of time",
            _ => "series",
        };
        let evidence =
            candidate.evidence.map(|nats| format!("evidence {nats:+.0} nats over linear terms"));
        let gain = candidate.gain.map(|gain| {
            format!(
                "{:+.1} nats per held-out {unit} (standard error {:.1})",
                gain.mean, gain.standard_error
            )
        });
        let both: Vec<String> = evidence.into_iter().chain(gain).collect();
        let colon = if both.is_empty() { "" } else { ": " };
        remarks.push(format!("tried {}{colon}{}", candidate.name, both.join(", ")));
    }
    remarks.extend(selection.skipped.iter().cloned());
    let chosen = &selection.candidates[selection.chosen].name;
    remarks.push(match selection.unit {
        Some(_) => format!("chose {chosen}"),
        None => format!("the data are too few to compare models: {chosen}"),
    });
    remarks
}

fn ensemble_remarks(ensemble: &EnsembleFit) -> Vec<String> {
    let mut remarks = Vec::new();
    let settings = ensemble.members()[0].trainer().settings().get();
    if settings.instantaneous && settings.innovations == InnovationLaw::Gaussian {
        let remark = "links within a step have no direction: `kind` tells them from lagged edges, and a smaller \
                      `--step-size` may do without them";
        remarks.push(remark.to_owned());
    }
    let n_undone: u64 = ensemble.members().iter().map(|fit| fit.state().n_undone).sum();
    if n_undone > 0 {
        remarks.push(format!("warning: {n_undone} steps were not finite and were undone"));
    }
    remarks
}
