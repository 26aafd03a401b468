//! Follows the parts of a fit: log, checkpoints, time budget, and the observer's wish to stop.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use driftgraph_core::train::bridge::{BridgeSettings, BridgeState, BridgeTrainer};
use driftgraph_core::train::observer::{FitObserver, StepReport};
use driftgraph_core::train::select::{FitName, FoldPrediction, SelectEvent, SelectObserver};
use driftgraph_core::train::settings::FitSettings;
use driftgraph_core::train::trainer::Trainer;

use crate::checkpoint::{Checkpoints, Key, key};
use crate::error::JobError;
use crate::job::Work;
use crate::log::Log;
use crate::observer::{Ending, News, Phase};

/// Checkpoints take at most one part in this many of the time.
const CHECKPOINT_SHARE: u32 = 20;

/// Name of the only part of a simulated fit.
pub(crate) const SIMULATED: &str = "fit";

/// Watches over a fit, from several threads.
pub(crate) struct Follower<'a> {
    work: &'a Work<'a>,
    start: Instant,
    shared: Mutex<Shared>,
}

struct Shared {
    log: Log,
    ending: Ending,
    selection_cut: bool,
    error: Option<JobError>,
    warned: bool,
    kept: HashMap<String, Kept>,
}

/// When a part was last kept, and how long that took.
struct Kept {
    at: Instant,
    took: Duration,
}

impl<'a> Follower<'a> {
    /// `next_step` is the step at which the logged part of the fit starts.
    pub(crate) fn new(work: &'a Work<'a>, next_step: u64) -> Result<Self, JobError> {
        let folder = &work.folder.run;
        let log = Log::open(folder, next_step, work.pace.log_every, work.truth.clone())
            .map_err(JobError::file("write", &folder.log_file()))?;
        let shared = Shared {
            log,
            ending: Ending::Finished,
            selection_cut: false,
            error: None,
            warned: false,
            kept: HashMap::new(),
        };
        Ok(Self { work, start: Instant::now(), shared: Mutex::new(shared) })
    }

    /// Time since this process began with the fit.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Why the fit ended, or what stopped it.
    pub(crate) fn ending(&self) -> Result<Ending, JobError> {
        let mut shared = self.lock();
        match shared.error.take() {
            Some(error) => Err(error),
            None => Ok(shared.ending),
        }
    }

    /// Whether candidates had to be stopped before they could be compared.
    pub(crate) fn selection_was_cut(&self) -> bool {
        self.lock().selection_cut
    }

    /// Puts the log on disk.
    pub(crate) fn finish_log(&self) -> Result<(), JobError> {
        let error = self.lock().log.flush();
        let failed = JobError::file("write", &self.work.folder.run.log_file());
        error.map_or(Ok(()), |error| Err(failed(error)))
    }

    /// What every part does after every step, once the step is logged.
    fn after_step(
        &self,
        part: &str,
        news: &News<'_>,
        keep: &dyn Fn(&Checkpoints) -> io::Result<()>,
    ) -> ControlFlow<()> {
        let stop = self.wish(news);
        if (stop.is_some() || self.is_due(part)) && !self.failed() {
            self.keep(part, keep);
        }
        let mut shared = self.lock();
        let choosing = matches!(news.phase, Phase::Choosing { .. });
        if let Some(ending) = stop {
            shared.selection_cut |= choosing;
            // Candidates that are out of time leave the final fits theirs.
            if !choosing || ending == Ending::Interrupted {
                shared.ending = ending;
            }
        }
        if stop.is_some() || shared.error.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Whether observer or clock want the part to stop.
    fn wish(&self, news: &News<'_>) -> Option<Ending> {
        // Choosing may take half of the time, the final fits need the rest.
        let choosing = matches!(news.phase, Phase::Choosing { .. });
        let budget = self.work.pace.time_budget;
        let budget = budget.map(|budget| if choosing { budget / 2 } else { budget });
        if self.work.observer.step(news).is_break() {
            return Some(Ending::Interrupted);
        }
        let is_last = news.step + 1 >= news.end;
        let out_of_time = budget.is_some_and(|budget| self.elapsed() >= budget);
        (out_of_time && !is_last).then_some(Ending::OutOfTime)
    }

    fn is_due(&self, part: &str) -> bool {
        let every = self.work.pace.checkpoint_every;
        let mut shared = self.lock();
        let now = Instant::now();
        if let Some(kept) = shared.kept.get(part) {
            return now - kept.at >= every.max(CHECKPOINT_SHARE * kept.took);
        }
        shared.kept.insert(part.to_owned(), Kept { at: now, took: Duration::ZERO });
        every.is_zero()
    }

    /// Keeps a part on disk; the fit outlives a full disk, but not the loss of its folder.
    fn keep(&self, part: &str, keep: &dyn Fn(&Checkpoints) -> io::Result<()>) {
        // The log must not lack steps that will not be repeated.
        let log_error = self.lock().log.flush();
        let begin = Instant::now();
        let result = keep(&self.work.folder.checkpoints);
        let now = Instant::now();
        let folder = self.work.folder.run.path();
        let mut shared = self.lock();
        shared.kept.insert(part.to_owned(), Kept { at: now, took: now - begin });
        let Some(error) = result.err().or(log_error) else { return };
        if !folder.is_dir() || !self.work.folder.run.job_file().is_file() {
            shared.error.get_or_insert(JobError::FolderGone { folder: folder.to_owned() });
        } else if !std::mem::replace(&mut shared.warned, true) {
            self.work.observer.note(&format!(
                "warning: cannot write a checkpoint into `{}`: {error}; the fit goes on, and the last \
                 checkpoint that was complete is kept",
                folder.display()
            ));
        }
    }

    fn failed(&self) -> bool {
        self.lock().error.is_some()
    }

    fn fail(&self, error: JobError) {
        self.lock().error.get_or_insert(error);
    }

    fn found<T>(&self, found: Result<Option<T>, JobError>) -> Option<T> {
        found.unwrap_or_else(|error| {
            self.fail(error);
            None
        })
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("no thread panics while it holds this lock")
    }
}

/// Name of a part of a bridge fit, fit for a file.
pub(crate) fn part_name(fit: FitName<'_>) -> String {
    match fit {
        FitName::Member(member) => format!("fit-{}", member + 1),
        FitName::Candidate { name, fold } => {
            let words = name.split(|letter: char| !letter.is_alphanumeric());
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            format!("{}-without-part-{}", words.join("-"), fold + 1)
        }
    }
}

fn prediction_name(fit: FitName<'_>) -> String {
    format!("{}-predicted", part_name(fit))
}

/// What the state of a part depends on; more steps are the same fit, only longer.
pub(crate) fn state_key(fingerprint: &str, settings: &BridgeSettings) -> Key {
    key(fingerprint, &BridgeSettings { max_steps: None, ..settings.clone() })
}

impl SelectObserver for Follower<'_> {
    fn event(&self, event: &SelectEvent<'_>) -> ControlFlow<()> {
        if event.fit == FitName::Member(0) {
            self.lock().log.bridge(event, self.elapsed());
        }
        let n_fits = event.n_fits;
        let progress = event.progress;
        let news = News {
            phase: match event.fit {
                FitName::Candidate { name: candidate, fold } => {
                    Phase::Choosing { candidate, fold, n_folds: n_fits }
                }
                FitName::Member(member) => Phase::Fitting { member, n_members: n_fits },
            },
            step: progress.step,
            end: progress.cycle_end,
            terms: progress.terms,
            rate: progress.rate,
            expected_edges: progress.expected_edges,
            undone: progress.undone,
            probabilities: &|| event.trainer.edge_probabilities(),
        };
        let part = part_name(event.fit);
        self.after_step(&part, &news, &|checkpoints| {
            let key = state_key(&self.work.fingerprint, event.trainer.settings().get());
            checkpoints.keep(&part, &key, event.trainer.state())
        })
    }

    fn begun(&self, fit: FitName<'_>, settings: &BridgeSettings) -> Option<BridgeState> {
        let key = state_key(&self.work.fingerprint, settings);
        self.found(self.work.folder.checkpoints.find(&part_name(fit), &key))
    }

    fn predicted(&self, fit: FitName<'_>, settings: &BridgeSettings) -> Option<FoldPrediction> {
        let key = key(&self.work.fingerprint, settings);
        self.found(self.work.folder.checkpoints.find(&prediction_name(fit), &key))
    }

    fn ended(
        &self,
        fit: FitName<'_>,
        trainer: &BridgeTrainer,
        prediction: Option<&FoldPrediction>,
    ) {
        let settings = trainer.settings().get();
        let part = part_name(fit);
        self.keep(&part, &|checkpoints| {
            let Some(prediction) = prediction else {
                let key = state_key(&self.work.fingerprint, settings);
                return checkpoints.keep(&part, &key, trainer.state());
            };
            let key = key(&self.work.fingerprint, settings);
            checkpoints.keep(&prediction_name(fit), &key, prediction)?;
            checkpoints.forget(&part)
        });
    }
}

/// The one part of a simulated fit.
impl FitObserver for &Follower<'_> {
    fn step(&mut self, report: &StepReport, trainer: &Trainer) -> ControlFlow<()> {
        self.lock().log.simulated(report, trainer, self.elapsed());
        let news = News {
            phase: Phase::Fitting { member: 0, n_members: 1 },
            step: report.step,
            end: report.n_steps,
            terms: report.terms,
            rate: report.learning_rate,
            expected_edges: report.expected_edges,
            undone: report.rolled_back,
            probabilities: &|| trainer.edge_probabilities(),
        };
        let keep = |checkpoints: &Checkpoints| {
            let key = simulated_key(&self.work.fingerprint, trainer.settings());
            checkpoints.keep(SIMULATED, &key, trainer.state())
        };
        let flow = self.after_step(SIMULATED, &news, &keep);
        if report.step + 1 == report.n_steps {
            self.keep(SIMULATED, &keep);
        }
        flow
    }
}

/// What the state of a simulated fit depends on.
pub(crate) fn simulated_key(fingerprint: &str, settings: &FitSettings) -> Key {
    key(fingerprint, &FitSettings { steps: 1, ..settings.clone() })
}
