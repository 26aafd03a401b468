//! What a method of structure learning takes and gives.

use driftgraph_core::fitted::edges::LearnedEdge;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::train::bridge::BridgeError;
use driftgraph_core::train::error::FitError;
use driftgraph_core::train::progress::{Divergence, Progress};
use driftgraph_core::train::settings::Setting;
use driftgraph_core::{CoreError, EdgeScores, SeriesSet};
use driftgraph_data::record::{MethodRequest, TrainingRecord};
use serde_json::{Map, Value, json};

use crate::plan::to_object;
use crate::settings::checked_by_table;
use crate::{FitPlan, PlanError};

/// A method: series and settings in, edges out.
///
/// A new method is a file with one type that implements this, and a line in [`crate::METHODS`]; command line, settings
/// files, Python, page, experiments and documentation take everything from here.
pub trait Method: Sync {
    /// The name on the command line and in files.
    fn name(&self) -> &'static str;

    /// What it does, in one sentence without a full stop.
    fn description(&self) -> &'static str;

    /// The name as its authors write it, as far as a class of Python can have it; `None` for the words' capitals.
    fn class_name(&self) -> Option<&'static str> {
        None
    }

    /// Its settings: flags, keys of settings files and keywords of Python come from this table.
    fn settings(&self) -> Vec<Setting> {
        Vec::new()
    }

    /// Named sets of settings.
    fn presets(&self) -> Vec<Preset> {
        Vec::new()
    }

    /// What data it can take, and what it does with others.
    fn takes(&self) -> Takes;

    /// Whether it takes seconds rather than minutes on tables of some hundred rows.
    fn is_fast(&self) -> bool {
        true
    }

    /// Settings of a quick trial, which shows that everything works and means nothing.
    fn short_trial(&self) -> Value {
        let has_steps = self.settings().iter().any(|setting| setting.name == "steps");
        if has_steps { json!({"steps": 20}) } else { json!({}) }
    }

    /// Checks what was asked for, and gives all settings in effect.
    fn resolve(&self, asked: &MethodRequest) -> Result<Map<String, Value>, PlanError> {
        let preset = asked.preset.as_deref();
        let preset = self.presets().into_iter().find(|known| Some(known.name) == preset);
        let given = preset.map(|preset| preset.settings).unwrap_or_default();
        checked_by_table(self.name(), &self.settings(), given, &asked.settings)
    }

    /// Bytes that learning from these data on the current threads needs at its peak, about.
    ///
    /// `None` where they cannot be told.
    fn predicted_bytes(&self, _plan: &FitPlan, _data: &SeriesSet) -> Option<u64> {
        None
    }

    /// The step at which training will end; `None` for methods that cannot be given more steps.
    fn last_step(&self, _plan: &FitPlan, _progress: &dyn Progress) -> Option<u64> {
        None
    }

    /// Learns; the same data, plan and seed give the same bits on any number of threads.
    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError>;
}

/// What a method works with.
#[derive(Clone, Copy)]
pub struct MethodTask<'a> {
    /// The data.
    pub data: &'a SeriesSet,
    /// What was asked for, checked.
    pub plan: &'a FitPlan,
    /// Whom to tell, and how to be stopped.
    pub progress: &'a dyn Progress,
}

/// A named set of settings of a method.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// The name by which users choose it.
    pub name: &'static str,
    /// What it is for, in one sentence.
    pub meaning: &'static str,
    /// What differs from the method's own defaults.
    pub settings: Map<String, Value>,
}

impl Preset {
    /// A preset of settings that are an object in JSON.
    pub(crate) fn new(
        name: &'static str,
        meaning: &'static str,
        settings: &impl serde::Serialize,
    ) -> Self {
        Self { name, meaning, settings: to_object(settings) }
    }
}

/// What data a method can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Takes {
    /// More than one series.
    pub several_series: Handling,
    /// Times that are not evenly spaced.
    pub irregular_times: Handling,
    /// Cells without a value.
    pub missing_cells: Handling,
    /// Edges that are forbidden, required or likelier than others; they are refused where it cannot.
    pub prior_edges: bool,
    /// Inputs, and interventions in the data: where inputs are known, what was set says nothing of its causes.
    pub experiments: Handling,
}

impl Takes {
    /// Everything as it is.
    pub const ALL: Self = Self {
        several_series: Handling::Full,
        irregular_times: Handling::Full,
        missing_cells: Handling::Full,
        prior_edges: true,
        experiments: Handling::AS_VALUES,
    };
}

/// How a kind of data is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handling {
    /// As it is.
    Full,
    /// Not as it is: what is done instead, as the rest of a sentence that begins with the method's name.
    Instead(&'static str),
}

impl Handling {
    /// Of inputs and interventions; the user is told of either where there are any.
    pub const AS_VALUES: Self =
        Self::Instead("takes inputs as variables like others, and does not know of interventions");
}

/// What a method has learned.
pub struct Learned {
    /// All ordered pairs of variables that may be edges, the best supported first.
    pub edges: Vec<LearnedEdge>,
    /// The process behind the data, where the method learns one that can be asked.
    pub model: Option<FittedModel>,
    /// The process, where it has another form; it is not kept.
    pub process: Option<Box<dyn DiagonalSde + Send + Sync>>,
    /// All settings in effect, where the data decided some of them.
    pub settings: Option<Map<String, Value>>,
    /// How training went.
    pub training: TrainingRecord,
    /// What the user should know, one line each.
    pub remarks: Vec<String>,
    /// Whether it says itself how one half of the data is not like the other.
    pub tells_changes: bool,
    /// How training came to its end without a finite step, if it did; the rest is the last good state.
    pub divergence: Option<Divergence>,
}

impl Learned {
    /// Edges that are scored and nothing else.
    pub fn scores(scores: &EdgeScores) -> Self {
        let edge = |(source, target, score)| LearnedEdge {
            source,
            target,
            score,
            ..LearnedEdge::default()
        };
        Self::edges(scores.ranked().into_iter().map(edge).collect())
    }

    /// Edges without a process, the best supported first.
    pub fn edges(edges: Vec<LearnedEdge>) -> Self {
        Self {
            edges,
            model: None,
            process: None,
            settings: None,
            training: TrainingRecord::default(),
            remarks: Vec::new(),
            tells_changes: false,
            divergence: None,
        }
    }
}

/// The scores of edges, in the order of a matrix.
pub fn edge_scores(edges: &[LearnedEdge], n_variables: usize) -> Result<EdgeScores, CoreError> {
    // Pairs that there was no room for rank below all others.
    let least = edges.iter().map(|edge| edge.score).filter(|score| score.is_finite());
    let least = least.fold(0.0, f64::min);
    let absent = if edges.len() < n_variables * n_variables { least.next_down() } else { 0.0 };
    matrix(edges, n_variables, absent, |edge| edge.score)
}

/// The probabilities of edges, `None` where their method gives none.
pub fn edge_probabilities(
    edges: &[LearnedEdge],
    n_variables: usize,
) -> Result<Option<EdgeScores>, CoreError> {
    if edges.iter().any(|edge| edge.probability.is_none()) {
        return Ok(None);
    }
    matrix(edges, n_variables, 0.0, |edge| edge.probability.unwrap_or(0.0)).map(Some)
}

/// Probabilities of edges in their direction, `None` where their method gives none: a link whose direction is not known
/// counts by half each way.
pub fn directed_probabilities(
    edges: &[LearnedEdge],
    n_variables: usize,
) -> Result<Option<EdgeScores>, CoreError> {
    if edges.iter().any(|edge| edge.probability.is_none()) {
        return Ok(None);
    }
    let directed =
        |edge: &LearnedEdge| edge.probability_directed.or(edge.probability).unwrap_or(0.0);
    matrix(edges, n_variables, 0.0, directed).map(Some)
}

fn matrix(
    edges: &[LearnedEdge],
    n: usize,
    absent: f64,
    of: impl Fn(&LearnedEdge) -> f64,
) -> Result<EdgeScores, CoreError> {
    let mut matrix = vec![absent; n * n];
    for edge in edges {
        matrix[edge.source * n + edge.target] = of(edge);
    }
    EdgeScores::from_matrix(n, matrix)
}

/// Why a method could not learn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MethodError {
    /// Data that cannot be used.
    #[error(transparent)]
    Data(#[from] CoreError),
    /// The bridge posterior could not be fitted.
    #[error(transparent)]
    Bridge(BridgeError),
    /// The simulated posterior could not be fitted.
    #[error(transparent)]
    Fit(FitError),
    /// A model that does not fit what was taken out of its data.
    #[error(transparent)]
    Model(driftgraph_core::fitted::error::ModelError),
    /// Steps that were not finite from the beginning on.
    #[error(transparent)]
    Diverged(#[from] Divergence),
    /// Stopped before there was anything to save.
    #[error("stopped before anything was learned")]
    Stopped,
    /// Settings or edges that do not fit the data.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Too few rows.
    #[error("the series have {found} rows with values in all, at least {needed} are needed")]
    TooFewRows {
        /// Rows with at least one observed cell, over all series.
        found: usize,
        /// Rows without which the method says nothing.
        needed: usize,
    },
    /// Too few pairs of neighbouring rows.
    #[error(
        "the series have {found} pairs of neighbouring rows with values in all, \
         at least {needed} are needed"
    )]
    TooFewSteps {
        /// Pairs of neighbouring rows of the same series.
        found: usize,
        /// Pairs without which the method says nothing.
        needed: usize,
    },
    /// Times so uneven that rates of change overflow.
    #[error("the times between rows span too many orders of magnitude to compute rates of change")]
    TimesTooUneven,
    /// Data that a method refuses for reasons of its own.
    #[error("`{method}` cannot learn from these data: {reason}")]
    Unusable {
        /// The method.
        method: &'static str,
        /// What is wrong, in the user's words.
        reason: String,
    },
}

impl From<BridgeError> for MethodError {
    fn from(error: BridgeError) -> Self {
        match error {
            BridgeError::Data(error) => Self::Data(error),
            other => Self::Bridge(other),
        }
    }
}

impl From<FitError> for MethodError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Data(error) => Self::Data(error),
            other => Self::Fit(other),
        }
    }
}
