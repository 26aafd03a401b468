//! A fit from data to run folder, and its continuation from the run folder.

use std::path::PathBuf;
use std::time::Duration;

use driftgraph_core::fitted::edges::LearnedEdge;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_core::train::progress::{Progress, Silent};
use driftgraph_core::{CoreError, SignatureGraph};
use driftgraph_data::record::{
    Ending, JOB_VERSION, JobRecord, MethodRequest, RunRecord, TruthRecord,
};
use driftgraph_data::run_folder::{DataDescription, Run, RunFolder};
use driftgraph_data::{Loaded, ReadOptions, fingerprint};
use driftgraph_methods::FitPlan;
use driftgraph_view::ViewError;

use crate::error::JobError;
use crate::folder::ClaimedFolder;
use crate::follower::Follower;
use crate::memory::memory_note;

/// A fit to be made.
#[derive(Debug, Clone)]
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
    /// Whether a report is written at the end.
    pub report: bool,
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
    /// Steps after which a fit to all data ends with what it has, whatever it was to make.
    pub step_budget: Option<u64>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            log_every: 10,
            checkpoint_every: Duration::from_secs(60),
            time_budget: None,
            step_budget: None,
        }
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
    pub asked: MethodRequest,
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
    /// The run, as it would be read back.
    pub run: Run,
    /// All its edges, the best supported first.
    pub edges: Vec<LearnedEdge>,
    /// The report, or why it could not be made; the run is complete without it.
    pub report: Result<Option<PathBuf>, ViewError>,
    /// Time of this process.
    pub elapsed: Duration,
}

/// What a fit works with.
pub(crate) struct Work<'a> {
    pub(crate) loaded: &'a Loaded,
    pub(crate) read_options: &'a ReadOptions,
    pub(crate) fingerprint: String,
    pub(crate) folder: ClaimedFolder,
    pub(crate) truth: Option<Truth>,
    pub(crate) pace: Pace,
    pub(crate) report: bool,
    /// Time of earlier processes that counts, too.
    pub(crate) spent: Duration,
    pub(crate) progress: &'a dyn Progress,
}

/// Fits on the current thread pool; the result does not depend on its number of threads.
///
/// ```no_run
/// use driftgraph_core::train::progress::Silent;
/// use driftgraph_data::{ReadOptions, load};
/// use driftgraph_methods::FitPlan;
/// use driftgraph_run::{FitJob, Pace, fit};
///
/// let read_options = ReadOptions::default();
/// let job = FitJob {
///     loaded: load(&["measurements.csv".into()], &read_options)?,
///     read_options,
///     plan: FitPlan::named("bridge")?,
///     folder: "measurements-run".into(),
///     replace: false,
///     truth: None,
///     pace: Pace::default(),
///     report: true,
/// };
/// let run = fit(&job, &Silent)?;
/// println!("{} pairs of variables", run.edges.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fit(job: &FitJob, progress: &dyn Progress) -> Result<FinishedRun, JobError> {
    job.plan.check_edges(&job.loaded.data)?;
    let folder = ClaimedFolder::create(&job.folder, job.replace)?;
    folder.write_job(&job.record())?;
    let work = Work {
        loaded: &job.loaded,
        read_options: &job.read_options,
        fingerprint: fingerprint(&job.loaded.data),
        folder,
        truth: job.truth.clone(),
        pace: job.pace,
        report: job.report,
        spent: Duration::ZERO,
        progress,
    };
    work.run(&job.plan)
}

/// Goes on with a fit that was stopped, killed or cut off, as if it never had been.
pub fn resume(resume: &Resume, progress: &dyn Progress) -> Result<FinishedRun, JobError> {
    let folder = ClaimedFolder::reopen(&resume.folder)?;
    let mut job = folder.run.read_job()?;
    let mut plan = resume.plan(&job)?;
    let read_options = job.data.options.clone();
    let loaded = job.data.load_again(&resume.folder, &resume.data_files)?;
    let work = Work {
        loaded: &loaded,
        read_options: &read_options,
        fingerprint: fingerprint(&loaded.data),
        folder,
        truth: job.truth.as_ref().map(|truth| known(truth, &loaded)).transpose()?,
        pace: Pace {
            log_every: job.log_every,
            checkpoint_every: resume.checkpoint_every.unwrap_or_else(|| checkpoint_every(&job)),
            time_budget: resume.time_budget,
            step_budget: None,
        },
        report: true,
        spent: Duration::ZERO,
        progress,
    };
    if resume.extend_steps > 0 {
        let follower = Follower::new(&work);
        let last = plan.method().last_step(&plan, &follower);
        let last = last.ok_or_else(|| {
            let method = plan.method();
            let has_steps = method.settings().iter().any(|setting| setting.name == "steps");
            JobError::NoMoreSteps { method: method.name(), has_steps }
        })?;
        let steps = last.saturating_add(resume.extend_steps);
        plan = plan.with([("steps".to_owned(), steps.into())])?;
        job.asked = plan.asked().clone();
        work.folder.write_job(&job)?;
    } else if work.folder.is_finished(&job.asked) {
        let (folder, takes_more) = (resume.folder.clone(), takes_more(&plan));
        return Err(JobError::FinishedAlready { folder, takes_more });
    }
    work.run(&plan)
}

/// The run of a job whether or not it was begun before: found, gone on with, or fitted.
///
/// A folder that holds something else is replaced. The time budget is that of all processes together, as far as they
/// came to an end in order. For many runs that one command makes.
pub fn fit_or_resume(job: &FitJob, progress: &dyn Progress) -> Result<Run, JobError> {
    if let Some(run) = job.find()? {
        return Ok(run);
    }
    if !job.is_begun() {
        let job = FitJob { replace: true, ..job.clone() };
        return fit(&job, progress).map(|finished| finished.run);
    }
    let work = Work {
        loaded: &job.loaded,
        read_options: &job.read_options,
        fingerprint: fingerprint(&job.loaded.data),
        folder: ClaimedFolder::reopen(&job.folder)?,
        truth: job.truth.clone(),
        pace: job.pace,
        report: job.report,
        spent: job.ended().map_or(Duration::ZERO, |record| spent(&record)),
        progress,
    };
    work.run(&job.plan).map(|finished| finished.run)
}

impl FitJob {
    /// The run, if the folder holds all that is asked for.
    pub fn find(&self) -> Result<Option<Run>, JobError> {
        let is_whole = self.is_begun()
            && self.ended().is_some_and(|record| match record.ending {
                Ending::Finished | Ending::Diverged => true,
                Ending::TimeBudget => {
                    let steps = record.training.steps();
                    self.pace.time_budget.is_some_and(|budget| spent(&record) >= budget)
                        || self.pace.step_budget.is_some_and(|most| steps >= Some(most))
                }
                Ending::Interrupted => false,
            });
        Ok(is_whole.then(|| Run::load(&self.folder)).transpose()?)
    }

    /// Whether a fit of the same data and settings was begun in the folder.
    fn is_begun(&self) -> bool {
        RunFolder::at(&self.folder).read_job().is_ok_and(|begun| {
            begun.asked == *self.plan.asked()
                && begun.data.fingerprint == fingerprint(&self.loaded.data)
        })
    }

    /// What the folder says of a fit with these settings that came to an end.
    fn ended(&self) -> Option<RunRecord> {
        RunFolder::at(&self.folder).peek().filter(|record| record.asked == *self.plan.asked())
    }
}

fn spent(record: &RunRecord) -> Duration {
    Duration::try_from_secs_f64(record.seconds).unwrap_or_default()
}

impl Work<'_> {
    fn run(&self, plan: &FitPlan) -> Result<FinishedRun, JobError> {
        if let Some(note) = memory_note(plan, &self.loaded.data) {
            self.progress.note(&note);
        }
        let follower = Follower::new(self);
        let learned = plan.learn(&self.loaded.data, &follower);
        let mut ending = follower.ending()?;
        let folder = self.folder.run.path();
        let learned = match learned {
            Ok(learned) => learned,
            Err(error) => {
                follower.finish_log()?;
                let parts = self.folder.checkpoints.parts();
                let stopped =
                    [ending == Ending::TimeBudget, parts.is_ok_and(|parts| !parts.is_empty())];
                return Err(JobError::of_method(error, folder, stopped));
            }
        };
        let divergence = learned.divergence;
        if divergence.is_some() {
            ending = Ending::Diverged;
        }
        follower.finish_log()?;
        let saved = self.save(plan, learned, ending, follower.elapsed());
        match divergence {
            None => saved,
            // The diagnosis counts more than trouble with what could be saved.
            Some(divergence) => Err(JobError::Diverged {
                diagnosis: divergence.to_string(),
                saved: saved.ok().map(|_| folder.to_owned()),
            }),
        }
    }
}

impl FitJob {
    fn record(&self) -> JobRecord {
        JobRecord {
            format_version: JOB_VERSION,
            driftgraph: env!("CARGO_PKG_VERSION").to_owned(),
            data: DataDescription::new(&self.loaded, &self.read_options),
            asked: self.plan.asked().clone(),
            truth: self
                .truth
                .as_ref()
                .map(|truth| TruthRecord::new(&truth.graph, truth.self_edges)),
            log_every: self.pace.log_every,
            checkpoint_seconds: self.pace.checkpoint_every.as_secs_f64(),
        }
    }
}

fn checkpoint_every(job: &JobRecord) -> Duration {
    Duration::try_from_secs_f64(job.checkpoint_seconds).unwrap_or(Pace::default().checkpoint_every)
}

/// The graph that a fit remembers.
fn known(truth: &TruthRecord, loaded: &Loaded) -> Result<Truth, JobError> {
    let n_variables = loaded.data.n_variables();
    let graph = truth.graph(n_variables).ok_or_else(|| {
        let found = truth.edges.iter().map(|(source, target)| source.max(target) + 1).max();
        let error = CoreError::WrongGraphSize { n_variables, found: found.unwrap_or(0) };
        JobError::Plan(error.into())
    })?;
    Ok(Truth { graph, self_edges: truth.self_edges() })
}

impl Resume {
    /// The plan of the fit; what is named again must be the same.
    fn plan(&self, job: &JobRecord) -> Result<FitPlan, JobError> {
        let plan = FitPlan::new(job.asked.clone())?;
        let mut asked = job.asked.clone();
        if self.asked.method.is_some() {
            asked.method.clone_from(&self.asked.method);
        }
        if self.asked.preset.is_some() {
            asked.preset.clone_from(&self.asked.preset);
        }
        asked.settings.extend(self.asked.settings.clone());
        if !self.asked.edges.is_empty() {
            asked.edges.clone_from(&self.asked.edges);
        }
        if !self.asked.limits.is_empty() {
            asked.limits = self.asked.limits.clone();
        }
        if !self.asked.preparation.is_empty() {
            asked.preparation = self.asked.preparation.clone();
        }
        let differences = plan.differences(&FitPlan::new(asked)?);
        if differences.is_empty() {
            return Ok(plan);
        }
        let (folder, takes_more) = (self.folder.clone(), takes_more(&plan));
        Err(JobError::OtherSettings { folder, differences, takes_more })
    }
}

/// Whether a fit that came to its end can be given more steps.
fn takes_more(plan: &FitPlan) -> bool {
    plan.method().last_step(plan, &Silent).is_some()
}
