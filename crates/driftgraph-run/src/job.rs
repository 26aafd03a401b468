//! A fit from data to run folder, and its continuation from the run folder.

use std::path::PathBuf;
use std::time::Duration;

use driftgraph_core::SignatureGraph;
use driftgraph_core::fitted::edges::LearnedEdge;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_data::run_folder::DataDescription;
use driftgraph_data::{Loaded, ReadOptions, fingerprint};
use serde_json::Value;

use crate::error::JobError;
use crate::folder::{ClaimedFolder, JobFile, TruthRecord};
use crate::observer::{Ending, RunObserver};
use crate::plan::{Asked, FitPlan, PlannedPosterior};
use crate::{bridge, simulated};

/// A fit to be made.
#[derive(Debug)]
pub struct FitJob {
    /// The data.
    pub loaded: Loaded,
    /// How they were read.
    pub read_options: ReadOptions,
    /// The settings.
    pub plan: FitPlan,
    /// The run folder to write.
    pub folder: PathBuf,
    /// Whether a run that is in the folder already is replaced.
    pub replace: bool,
    /// The known graph; adds metrics to the log and never influences the fit.
    pub truth: Option<Truth>,
    /// How often, and how long.
    pub pace: Pace,
}

/// The known graph, and whether self edges count.
#[derive(Debug, Clone)]
pub struct Truth {
    /// The graph.
    pub graph: SignatureGraph,
    /// Whether self edges count.
    pub self_edges: SelfEdges,
}

/// How often a fit is logged and kept, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Steps between two lines of the log.
    pub log_every: u64,
    /// Time between two checkpoints of each part of the fit.
    pub checkpoint_every: Duration,
    /// Time after which the fit ends with what it has.
    pub time_budget: Option<Duration>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { log_every: 10, checkpoint_every: Duration::from_secs(60), time_budget: None }
    }
}

/// A fit to go on with.
#[derive(Debug, Default)]
pub struct Resume {
    /// Its run folder.
    pub folder: PathBuf,
    /// Where the data are now; where they were when not given.
    pub data_files: Vec<PathBuf>,
    /// Settings that are named again; those of the fit must be the same.
    pub asked: Asked,
    /// Steps beyond those the fit was to make.
    pub extend_steps: u64,
    /// Time between two checkpoints, instead of that of the fit.
    pub checkpoint_every: Option<Duration>,
    /// Time after which the fit ends with what it has.
    pub time_budget: Option<Duration>,
}

/// What a fit has learned, as it is in the run folder.
#[derive(Debug)]
pub struct FinishedRun {
    /// The model.
    pub model: FittedModel,
    /// All its edges, most probable first.
    pub edges: Vec<LearnedEdge>,
    /// What `run.json` says.
    pub description: Value,
    /// What the user should know, one line each.
    pub remarks: Vec<String>,
    /// Why the fit ended.
    pub ending: Ending,
    /// Time of this process.
    pub elapsed: Duration,
    /// The run folder.
    pub folder: PathBuf,
}

/// What both posteriors need of a job.
pub(crate) struct Work<'a> {
    pub(crate) loaded: &'a Loaded,
    pub(crate) read_options: &'a ReadOptions,
    pub(crate) fingerprint: String,
    pub(crate) folder: ClaimedFolder,
    pub(crate) asked: Asked,
    pub(crate) truth: Option<Truth>,
    pub(crate) pace: Pace,
    pub(crate) observer: &'a dyn RunObserver,
}

/// Fits on the current thread pool; the result does not depend on its number of threads.
///
/// ```no_run
/// use driftgraph_data::{ReadOptions, load};
/// use driftgraph_run::observer::Silent;
/// use driftgraph_run::{Asked, FitJob, FitPlan, Pace, fit};
///
/// let read_options = ReadOptions::default();
/// let job = FitJob {
///     loaded: load(&["measurements.csv".into()], &read_options)?,
///     read_options,
///     plan: FitPlan::new(Asked::default())?,
///     folder: "measurements-run".into(),
///     replace: false,
///     truth: None,
///     pace: Pace::default(),
/// };
/// let run = fit(&job, &Silent)?;
/// println!("{} pairs of variables", run.edges.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fit(job: &FitJob, observer: &dyn RunObserver) -> Result<FinishedRun, JobError> {
    job.plan.check_edges(job.loaded.data.variables())?;
    let folder = ClaimedFolder::create(&job.folder, job.replace)?;
    folder.write_job(&job.record())?;
    let work = Work {
        loaded: &job.loaded,
        read_options: &job.read_options,
        fingerprint: fingerprint(&job.loaded.data),
        folder,
        asked: job.plan.asked().clone(),
        truth: job.truth.clone(),
        pace: job.pace,
        observer,
    };
    work.run(&job.plan)
}

/// Goes on with a fit that was stopped, killed or cut off, as if it never had been.
pub fn resume(resume: &Resume, observer: &dyn RunObserver) -> Result<FinishedRun, JobError> {
    let folder = ClaimedFolder::reopen(&resume.folder)?;
    let mut job = folder.read_job()?;
    let mut plan = resume.plan(&job)?;
    let read_options = job.data.options.clone();
    let loaded = job.data.load_again(&resume.folder, &resume.data_files)?;
    let mut work = Work {
        loaded: &loaded,
        read_options: &read_options,
        fingerprint: fingerprint(&loaded.data),
        folder,
        asked: job.asked.clone(),
        truth: job
            .truth
            .as_ref()
            .map(|truth| truth.graph(loaded.data.n_variables()))
            .transpose()?,
        pace: Pace {
            log_every: job.log_every,
            checkpoint_every: resume.checkpoint_every.unwrap_or_else(|| job.checkpoint_every()),
            time_budget: resume.time_budget,
        },
        observer,
    };
    if resume.extend_steps > 0 {
        let n_steps = work.max_steps(&plan)?.saturating_add(resume.extend_steps);
        plan = plan.with_steps(n_steps)?;
        job.asked = plan.asked().clone();
        work.asked = job.asked.clone();
        work.folder.write_job(&job)?;
    } else if work.folder.is_finished(&job.asked) {
        return Err(JobError::FinishedAlready { folder: resume.folder.clone() });
    }
    work.run(&plan)
}

impl Work<'_> {
    fn run(&self, plan: &FitPlan) -> Result<FinishedRun, JobError> {
        if let Some(note) = plan.memory_note(&self.loaded.data) {
            self.observer.note(&note);
        }
        match plan.posterior() {
            PlannedPosterior::Bridge(plan) => bridge::run(self, plan),
            PlannedPosterior::Simulated(preset, settings) => {
                simulated::run(self, *preset, settings)
            }
        }
    }

    fn max_steps(&self, plan: &FitPlan) -> Result<u64, JobError> {
        match plan.posterior() {
            PlannedPosterior::Bridge(plan) => bridge::max_steps(self, plan),
            PlannedPosterior::Simulated(_, settings) => Ok(settings.steps),
        }
    }
}

impl FitJob {
    fn record(&self) -> JobFile {
        let (format_version, driftgraph) = JobFile::version();
        JobFile {
            format_version,
            driftgraph,
            data: DataDescription::new(&self.loaded, &self.read_options),
            asked: self.plan.asked().clone(),
            truth: self.truth.as_ref().map(TruthRecord::new),
            log_every: self.pace.log_every,
            checkpoint_seconds: self.pace.checkpoint_every.as_secs_f64(),
        }
    }
}

impl JobFile {
    fn checkpoint_every(&self) -> Duration {
        Duration::try_from_secs_f64(self.checkpoint_seconds)
            .unwrap_or(Pace::default().checkpoint_every)
    }
}

impl Resume {
    /// The plan of the fit; what is named again must be the same.
    fn plan(&self, job: &JobFile) -> Result<FitPlan, JobError> {
        let plan = FitPlan::new(job.asked.clone())?;
        let mut asked = job.asked.clone();
        if self.asked.preset.is_some() {
            asked.preset.clone_from(&self.asked.preset);
        }
        asked.settings.extend(self.asked.settings.clone());
        if !self.asked.edges.is_empty() {
            asked.edges.clone_from(&self.asked.edges);
        }
        let differences = plan.differences(&FitPlan::new(asked)?);
        if differences.is_empty() {
            return Ok(plan);
        }
        Err(JobError::OtherSettings { folder: self.folder.clone(), differences })
    }
}

impl TruthRecord {
    fn new(truth: &Truth) -> Self {
        let n = truth.graph.n_variables();
        let edges = truth.graph.matrix().iter().enumerate();
        let edges = edges.filter(|(_, edge)| **edge).map(|(idx, _)| (idx / n, idx % n)).collect();
        Self { edges, count_self_edges: truth.self_edges == SelfEdges::Kept }
    }

    fn graph(&self, n_variables: usize) -> Result<Truth, JobError> {
        let mut matrix = vec![false; n_variables * n_variables];
        for &(source, target) in &self.edges {
            if let Some(edge) = matrix.get_mut(source * n_variables + target) {
                *edge = true;
            }
        }
        let graph = SignatureGraph::from_matrix(n_variables, matrix)
            .map_err(|error| JobError::Plan(error.into()))?;
        let self_edges = if self.count_self_edges { SelfEdges::Kept } else { SelfEdges::Dropped };
        Ok(Truth { graph, self_edges })
    }
}
