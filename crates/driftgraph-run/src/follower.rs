//! Follows the parts of a fit: log, checkpoints, budgets, and the user's wish to stop.

use std::io;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use driftgraph_core::train::progress::{Checkpoint, Progress, Step};
use driftgraph_data::record::Ending;

use crate::checkpoint::key;
use crate::error::JobError;
use crate::job::Work;
use crate::log::Log;
use crate::rhythm::Rhythm;

/// Watches over a fit, from several threads.
pub(crate) struct Follower<'a> {
    work: &'a Work<'a>,
    start: Instant,
    shared: Mutex<Shared>,
}

struct Shared {
    log: Log,
    ending: Ending,
    error: Option<JobError>,
    warned: bool,
    rhythm: Rhythm,
}

impl Shared {
    /// Something was told to end; what the user wishes counts more than what the clock says.
    fn end(&mut self, ending: Ending) {
        if self.ending != Ending::Interrupted {
            self.ending = ending;
        }
    }
}

impl<'a> Follower<'a> {
    pub(crate) fn new(work: &'a Work<'a>) -> Self {
        let log = Log::new(work.folder.run.clone(), work.pace.log_every, work.truth.clone());
        let shared = Shared {
            log,
            ending: Ending::Finished,
            error: None,
            warned: false,
            rhythm: Rhythm::new(work.pace.checkpoint_every),
        };
        Self { work, start: Instant::now(), shared: Mutex::new(shared) }
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

    /// Puts the log on disk.
    pub(crate) fn finish_log(&self) -> Result<(), JobError> {
        let error = self.lock().log.flush();
        let failed = JobError::file("write", &self.work.folder.run.log_file());
        error.map_or(Ok(()), |error| Err(failed(error)))
    }

    /// Whether user or clock want the part to stop.
    fn wish(&self, step: &Step<'_>) -> Option<Ending> {
        // Choosing may take half of the time, the final fits need the rest.
        let choosing = step.part.is_choice();
        let budget = self.work.pace.time_budget;
        let budget = budget.map(|budget| if choosing { budget / 2 } else { budget });
        if self.work.progress.step(step).is_break() || self.work.progress.is_interrupted() {
            return Some(Ending::Interrupted);
        }
        let is_last = step.number + 1 >= step.end;
        let out_of_time = self.is_spent(budget);
        let most = self.work.pace.step_budget.filter(|_| !choosing);
        let out_of_steps = most.is_some_and(|most| step.number + 1 >= most);
        ((out_of_time || out_of_steps) && !is_last).then_some(Ending::TimeBudget)
    }

    fn is_spent(&self, budget: Option<Duration>) -> bool {
        budget.is_some_and(|budget| self.work.spent + self.elapsed() >= budget)
    }

    /// Keeps something on disk; the fit outlives a full disk, but not the loss of its folder.
    fn write(&self, name: &str, thing: &dyn Fn() -> Checkpoint) {
        // The log must not lack steps that will not be repeated.
        let log_error = self.lock().log.flush();
        let begin = Instant::now();
        let Checkpoint { depends_on, bytes } = thing();
        let checkpoints = &self.work.folder.checkpoints;
        let result = checkpoints.keep(name, &key(&self.work.fingerprint, &depends_on), &bytes);
        let mut shared = self.lock();
        shared.rhythm.kept(name, begin);
        self.judge(&mut shared, result.err().or(log_error));
    }

    fn judge(&self, shared: &mut Shared, trouble: Option<io::Error>) {
        let Some(error) = trouble else { return };
        let folder = self.work.folder.run.path();
        if !folder.is_dir() || !self.work.folder.run.job_file().is_file() {
            shared.error.get_or_insert(JobError::FolderGone { folder: folder.to_owned() });
        } else if !std::mem::replace(&mut shared.warned, true) {
            self.work.progress.note(&format!(
                "warning: cannot write a checkpoint into `{}`: {error}; the fit goes on, and the last \
                 checkpoint that was complete is kept",
                folder.display()
            ));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("no thread panics while it holds this lock")
    }
}

impl Progress for Follower<'_> {
    fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
        if step.part.is_logged() {
            self.lock().log.step(step, self.elapsed());
        }
        let stop = self.wish(step);
        let part = step.part.to_string();
        if (stop.is_some() || self.lock().rhythm.is_due(&part)) && self.lock().error.is_none() {
            self.write(&part, &|| step.training.state());
        }
        let mut shared = self.lock();
        // Candidates that are out of time leave the final fits theirs.
        let choosing = step.part.is_choice();
        if let Some(ending) = stop.filter(|ending| !choosing || *ending == Ending::Interrupted) {
            shared.end(ending);
        }
        if stop.is_some() || shared.error.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn find(&self, name: &str, depends_on: &str) -> Option<Vec<u8>> {
        let found =
            self.work.folder.checkpoints.find(name, &key(&self.work.fingerprint, depends_on));
        found.unwrap_or_else(|error| {
            self.lock().error.get_or_insert(error);
            None
        })
    }

    fn keep(&self, name: &str, thing: &Checkpoint) {
        self.write(name, &|| thing.clone());
    }

    fn forget(&self, name: &str) {
        let forgotten = self.work.folder.checkpoints.forget(name);
        self.judge(&mut self.lock(), forgotten.err());
    }

    fn is_interrupted(&self) -> bool {
        let is_wished = self.work.progress.is_interrupted();
        let is_late = self.is_out_of_time();
        let mut shared = self.lock();
        if is_wished {
            shared.end(Ending::Interrupted);
        } else if is_late {
            shared.end(Ending::TimeBudget);
        }
        is_late || shared.ending == Ending::Interrupted || shared.error.is_some()
    }

    fn is_out_of_time(&self) -> bool {
        self.is_spent(self.work.pace.time_budget) && !self.work.progress.is_interrupted()
    }

    fn note(&self, text: &str) {
        self.work.progress.note(text);
    }
}
