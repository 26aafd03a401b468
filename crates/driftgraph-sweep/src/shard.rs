//! One shard: a function of data, settings, seed and version, and what it gives.

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::edges::LearnedEdge;
use driftgraph_core::train::progress::{Made, Progress, Shard, kept_or_made};
use driftgraph_core::train::select::bootstrap_sample;
use driftgraph_data::record::MethodRequest;
use driftgraph_methods::{FitPlan, MethodError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::SweepError;

/// Version of the program and of what it makes.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Changes whenever older results mean something else.
const FORMAT: u32 = 1;

/// Where a shard stands in the product that its sweep is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardPlace {
    /// Position of the data set.
    pub data: usize,
    /// Position of the fit.
    pub fit: usize,
    /// Seed of the method and of the sample.
    pub seed: u64,
    /// Number of the bootstrap sample; `None` for the data as they are.
    pub sample: Option<u64>,
}

/// All that decides the result of a shard; enough to make it anywhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardTask {
    /// Changes whenever older results mean something else.
    pub format: u32,
    /// Version of the program.
    pub driftgraph: String,
    /// Of the data.
    pub fingerprint: String,
    /// What is asked of the method.
    pub asked: MethodRequest,
    /// All its settings in effect but the seed: defaults may change.
    pub settings: Map<String, Value>,
    /// Seed of the method and of the sample.
    pub seed: Option<u64>,
    /// Number of the bootstrap sample.
    pub sample: Option<u64>,
}

/// What a method learned: every matrix is `[source, target]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardResult {
    /// What ranks the edges.
    pub scores: Vec<f64>,
    /// Probabilities, where the method gives such.
    pub probabilities: Option<Vec<f64>>,
    /// Effects, where the method gives such; `NaN` for edges without.
    pub effects: Option<Vec<f64>>,
    /// Why nothing could be learned, as from a sample in which a variable never moves; the matrices are empty then.
    pub problem: Option<String>,
}

impl ShardTask {
    /// A task of this version; what the seed does not change has none.
    pub(crate) fn new(plan: &FitPlan, fingerprint: &str, seed: u64, sample: Option<u64>) -> Self {
        let mut settings = plan.settings().clone();
        let has_seed = settings.remove("seed").is_some();
        Self {
            format: FORMAT,
            driftgraph: VERSION.to_owned(),
            fingerprint: fingerprint.to_owned(),
            asked: plan.asked().clone(),
            settings,
            seed: (has_seed || sample.is_some()).then_some(seed),
            sample,
        }
    }

    /// The name of its file: a hash of everything that decides the result.
    pub fn name(&self) -> String {
        let text = serde_json::to_string(self).expect("a task is made of plain values");
        blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
    }

    /// Makes the shard; `None` if it was stopped.
    pub fn learn(
        &self,
        data: &SeriesSet,
        progress: &dyn Progress,
    ) -> Result<Option<ShardResult>, SweepError> {
        if self.driftgraph != VERSION || self.format != FORMAT {
            let (planned, own) = (self.driftgraph.clone(), VERSION.to_owned());
            return Err(SweepError::OtherVersion { planned, own });
        }
        let plan = self.plan().map_err(|source| SweepError::Settings {
            fit: self.asked.method.clone().unwrap_or_default(),
            source,
        })?;
        let drawn = match self.sample {
            Some(number) => Some(bootstrap_sample(data, self.seed.unwrap_or(0), number)?),
            None => None,
        };
        let learned = plan.learn(drawn.as_ref().unwrap_or(data), progress);
        if progress.is_interrupted() {
            return Ok(None);
        }
        Ok(match learned {
            Err(MethodError::Stopped) => None,
            Err(error) => Some(ShardResult::without(message(&error))),
            Ok(learned) => Some(match learned.divergence {
                Some(divergence) => ShardResult::without(divergence.to_string()),
                None => ShardResult::new(&learned.edges, data.n_variables()),
            }),
        })
    }

    /// The shard out of a folder, or made and kept there; `None` if it was stopped.
    ///
    /// `store` keeps results, `progress` follows the fit and keeps its parts.
    pub(crate) fn kept_or_made(
        &self,
        data: &SeriesSet,
        store: &dyn Progress,
        progress: &dyn Progress,
    ) -> Result<Option<ShardResult>, SweepError> {
        let name = self.name();
        let shard = Shard { name: &name, training: &name };
        kept_or_made(store, shard, self, || {
            let result = self.learn(data, progress)?;
            Ok(if result.is_some() { Made::Final(result) } else { Made::Passing(result) })
        })
    }

    fn plan(&self) -> Result<FitPlan, driftgraph_methods::PlanError> {
        let plan = FitPlan::new(self.asked.clone())?;
        match self.seed.filter(|_| plan.settings().contains_key("seed")) {
            Some(seed) => plan.with([("seed".to_owned(), seed.into())]),
            None => Ok(plan),
        }
    }
}

impl ShardResult {
    fn without(problem: String) -> Self {
        Self { scores: Vec::new(), probabilities: None, effects: None, problem: Some(problem) }
    }

    fn new(edges: &[LearnedEdge], n: usize) -> Self {
        let column = |of: &dyn Fn(&LearnedEdge) -> f64, empty: f64| {
            let mut matrix = vec![empty; n * n];
            edges.iter().for_each(|edge| matrix[edge.source * n + edge.target] = of(edge));
            matrix
        };
        let scores = column(&|edge| edge.score, f64::NEG_INFINITY);
        if scores.iter().any(|score| score.is_nan()) {
            return Self::without("a score is not a number".to_owned());
        }
        let every = |has: &dyn Fn(&LearnedEdge) -> bool| edges.iter().all(has);
        let some = |has: &dyn Fn(&LearnedEdge) -> bool| edges.iter().any(has);
        let probabilities = every(&|edge| edge.probability.is_some())
            .then(|| column(&|edge| edge.probability.unwrap_or(0.0), 0.0));
        let effects = some(&|edge| edge.effect.is_some())
            .then(|| column(&|edge| edge.effect.unwrap_or(f64::NAN), f64::NAN));
        Self { scores, probabilities, effects, problem: None }
    }

    /// The bytes that are kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        // As `kept_or_made` keeps it, whose results may be absent.
        postcard::to_stdvec(&Some(self)).expect("results are plain values")
    }

    /// The result that bytes stand for; `None` where they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok().flatten()
    }
}

/// The message of an error and of all that caused it.
fn message(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let texts = causes.map(ToString::to_string);
    std::iter::once(error.to_string()).chain(texts).collect::<Vec<_>>().join(": ")
}
