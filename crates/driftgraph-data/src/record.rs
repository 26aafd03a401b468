//! What a run folder says of itself: `run.json`, `job.json` and `log.jsonl`, written and read with the same types.

use std::collections::BTreeMap;

use driftgraph_core::fitted::edges::{LearnedEdge, expected_edges};
use driftgraph_core::fitted::model::ModelDescription;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_core::train::bridge::{Adequacy, NoiseScale, StopReason};
use driftgraph_core::train::fit::FitCounters;
use driftgraph_core::train::progress::Step;
use driftgraph_core::train::select::{Selection, Stability};
use driftgraph_core::train::settings::KnownEdge;
use driftgraph_core::{ElboTerms, Preparation, SignatureGraph, Transform};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::drifting::DriftingRecord;
use crate::regimes::RegimesRecord;
use crate::run_folder::DataDescription;

/// Version of the layout of `run.json`; 2 had no method, since there was only one.
pub const RUN_VERSION: u32 = 3;
/// The oldest version that is still read.
pub const OLDEST_RUN_VERSION: u32 = 2;
/// Version of the layout of `job.json`.
pub const JOB_VERSION: u32 = 1;

/// What the user asked for, before anything is filled in; this is what a run folder remembers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MethodRequest {
    /// Name of the method; that of the preset, or the default, when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Name of the preset; the method's own settings when not given.
    pub preset: Option<String>,
    /// Settings by name, as in a settings file.
    pub settings: Map<String, Value>,
    /// What is known of single edges.
    pub edges: Vec<KnownEdge>,
    /// Which variables may drive and be driven.
    #[serde(skip_serializing_if = "EdgeLimits::is_empty")]
    pub limits: EdgeLimits,
    /// What is taken out of the data before the fit.
    #[serde(skip_serializing_if = "Preparation::is_empty")]
    pub preparation: Preparation,
}

/// Which variables may drive and be driven; all where none are named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EdgeLimits {
    /// Variables that may drive others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Variables that others may drive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
}

impl EdgeLimits {
    /// Whether every variable may do both.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.targets.is_empty()
    }
}

/// Why a fit ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// By itself.
    #[default]
    Finished,
    /// Its follower asked for it.
    Interrupted,
    /// Its time, or the steps that it was allowed, were over.
    TimeBudget,
    /// Its steps were not finite any more; what is there is the last good model.
    Diverged,
}

/// `run.json`: what was asked, what was learned in short, and how it went.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`RUN_VERSION`] of the program that wrote it.
    pub format_version: u32,
    /// Version of that program.
    #[serde(default)]
    pub driftgraph: String,
    /// Name of the method.
    #[serde(default)]
    pub method: String,
    /// Name of the preset.
    #[serde(default)]
    pub preset: Option<String>,
    /// The data.
    pub data: DataDescription,
    /// Names of the variables.
    #[serde(default)]
    pub variables: Vec<String>,
    /// The model without its arrays, where the method has one.
    #[serde(default)]
    pub model: Option<ModelDescription>,
    /// What was taken out of the data before the fit, where that was asked for and there is a model to be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<Transform>,
    /// Σ of the edge probabilities, where the method has such.
    #[serde(default)]
    pub expected_edges: Option<f64>,
    /// What was asked for.
    #[serde(default)]
    pub asked: MethodRequest,
    /// All settings in effect, by name.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// How the fit ended.
    #[serde(default)]
    pub ending: Ending,
    /// What the user should know, one line each.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// Time of the process that ended it; where one command makes many runs, of all processes together.
    #[serde(default)]
    pub seconds: f64,
    /// Number of its threads.
    #[serde(default)]
    pub threads: usize,
    /// How training went, where there was any.
    #[serde(flatten)]
    pub training: TrainingRecord,
}

/// How training went; everything is optional, since methods differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainingRecord {
    /// Decides everything random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The bound at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elbo: Option<f64>,
    /// Whether training ended because nothing changed any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub converged: Option<bool>,
    /// What was tried and chosen before the final fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The final fits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberRecord>,
    /// How the observation noise was treated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_scale: Option<NoiseScale>,
    /// Learned scales of the observation noise, in the model's units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_scales: Option<Vec<f64>>,
    /// What was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<FitCounters>,
    /// How far training came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<Reached>,
    /// What the innovations of the fit still contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adequacy: Option<Adequacy>,
    /// How often bootstrap samples keep each edge, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stability: Option<Stability>,
    /// Regimes or conditions, and what differs between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regimes: Option<Box<RegimesRecord>>,
    /// Effects that move in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drifting: Option<Box<DriftingRecord>>,
    /// Why the graph is not to be believed as it stands, and what to do; nothing where it may be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// A sentence for each variable whose edges were not learned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl TrainingRecord {
    /// Steps that were made, in the unit in which the method counts them; `None` where it does not.
    pub fn steps(&self) -> Option<u64> {
        let reached = self.reached.map(|reached| reached.steps);
        reached.or_else(|| self.counters.as_ref().map(|counters| counters.steps))
    }

    /// Says of each edge how often bootstrap samples keep it, where there were any.
    pub fn complete_edges(&self, edges: &mut [LearnedEdge]) {
        let Some(stability) = &self.stability else { return };
        let n = stability.shares.len().isqrt();
        for edge in edges {
            // A record from outside may have any number of shares.
            let inside = edge.source.max(edge.target) < n;
            edge.stability = inside.then(|| stability.shares[edge.source * n + edge.target]);
        }
    }
}

/// How far a training came that counts its own steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// Steps taken.
    pub steps: u64,
    /// Steps at which it would have ended, or must have.
    pub of: u64,
    /// Whether these are passes over all data.
    #[serde(default)]
    pub in_epochs: bool,
}

impl Reached {
    /// A sentence for training that was stopped before its end.
    pub fn warning(self) -> Option<String> {
        let Self { steps, of, in_epochs } = self;
        let what = if in_epochs { "epochs" } else { "steps" };
        (steps < of).then(|| format!("warning: stopped after {steps} of {of} {what}"))
    }
}

/// One of the final fits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemberRecord {
    /// Its seed.
    pub seed: u64,
    /// Steps it made.
    pub steps: u64,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// Terms of its bound.
    pub terms: Option<ElboTerms>,
    /// Steps that were not finite and undone.
    pub undone_steps: u64,
}

impl RunRecord {
    /// Fills in what older versions did not say.
    pub(crate) fn brought_up_to_date(mut self) -> Self {
        if self.method.is_empty() {
            let bridge = self.preset.as_deref().is_none_or(|preset| preset == "bridge");
            let method = if bridge { "bridge" } else { "simulated" };
            method.clone_into(&mut self.method);
        }
        if let (true, Some(model)) = (self.variables.is_empty(), &self.model) {
            self.variables = model.variables().to_vec();
        }
        self
    }

    /// Σ of the probabilities of edges, where they have such.
    pub fn expected(edges: &[LearnedEdge]) -> Option<f64> {
        let some = edges.iter().any(|edge| edge.probability.is_some());
        some.then(|| expected_edges(edges))
    }
}

/// `job.json`: enough to go on with a fit from its folder alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobRecord {
    /// [`JOB_VERSION`] of the program that wrote it.
    pub format_version: u32,
    /// Version of the program.
    pub driftgraph: String,
    /// The data.
    pub data: DataDescription,
    /// What was asked for.
    pub asked: MethodRequest,
    /// The known graph.
    pub truth: Option<TruthRecord>,
    /// Steps between two lines of the log.
    pub log_every: u64,
    /// Time between two checkpoints.
    pub checkpoint_seconds: f64,
}

/// The known graph, as numbers of variables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TruthRecord {
    /// Sources and targets.
    pub edges: Vec<(usize, usize)>,
    /// Whether edges of a variable to itself count.
    pub count_self_edges: bool,
}

impl TruthRecord {
    /// Remembers a graph.
    pub fn new(graph: &SignatureGraph, self_edges: SelfEdges) -> Self {
        let n = graph.n_variables();
        let edges = graph.matrix().iter().enumerate().filter(|(_, edge)| **edge);
        Self {
            edges: edges.map(|(idx, _)| (idx / n, idx % n)).collect(),
            count_self_edges: self_edges == SelfEdges::Kept,
        }
    }

    /// The graph; `None` if it has variables beyond those of the data.
    pub fn graph(&self, n_variables: usize) -> Option<SignatureGraph> {
        let mut graph = SignatureGraph::empty(n_variables);
        for &(source, target) in &self.edges {
            if source.max(target) >= n_variables {
                return None;
            }
            graph.set_edge(source, target, true);
        }
        Some(graph)
    }

    /// Whether edges of a variable to itself count.
    pub fn self_edges(&self) -> SelfEdges {
        if self.count_self_edges { SelfEdges::Kept } else { SelfEdges::Dropped }
    }
}

/// One line of `log.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogLine {
    /// Number of the step, from 0.
    pub step: u64,
    /// Seconds since the process began with the fit.
    pub seconds: f64,
    /// The bound, as far as this step saw it; null where it was not finite, and where training lowers a loss.
    pub elbo: Option<f64>,
    /// The loss of a method that has no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Its terms.
    pub log_likelihood: Option<f64>,
    /// Its terms.
    pub initial_kl: Option<f64>,
    /// Its terms.
    pub path_kl: Option<f64>,
    /// Its terms.
    pub graph_kl: Option<f64>,
    /// Σ of the edge probabilities; null where the method gives none.
    pub expected_edges: Option<f64>,
    /// Learning rate, or its share of the largest.
    #[serde(alias = "learning_rate")]
    pub rate: Option<f64>,
    /// What was not finite, when the step was undone.
    pub rolled_back: Option<String>,
    /// What only some methods log, and metrics against a known graph.
    #[serde(flatten)]
    pub extras: BTreeMap<String, Value>,
}

impl LogLine {
    /// What is logged of a step.
    pub fn new(step: &Step<'_>, seconds: f64) -> Self {
        let finite = |value: f64| value.is_finite().then_some(value);
        let number = |value: f64| {
            let whole = value.fract() == 0.0 && value.abs() < 9e15;
            if whole { Value::from(value as i64) } else { Value::from(value) }
        };
        Self {
            step: step.number,
            seconds,
            elbo: step.elbo().and_then(finite),
            loss: step.loss().and_then(finite),
            log_likelihood: step.elbo().and_then(|_| finite(step.terms.log_likelihood)),
            initial_kl: finite(step.terms.initial_kl),
            path_kl: finite(step.terms.path_kl),
            graph_kl: finite(step.terms.graph_kl),
            expected_edges: step.expected_edges.and_then(finite),
            rate: finite(step.rate),
            rolled_back: step.undone.map(str::to_owned),
            extras: step
                .extras
                .iter()
                .map(|(name, value)| ((*name).to_owned(), number(*value)))
                .collect(),
        }
    }

    /// One of the extras as a number.
    pub fn extra(&self, name: &str) -> Option<f64> {
        self.extras.get(name).and_then(Value::as_f64)
    }
}
