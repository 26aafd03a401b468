//! The run folder while a fit works in it: claimed by one process, with what was asked for in it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use driftgraph_data::record::{Ending, JobRecord, MethodRequest};
use driftgraph_data::run_folder::RunFolder;
use driftgraph_data::whole_file::{remove_incomplete, write_whole};

use crate::checkpoint::Checkpoints;
use crate::error::JobError;

/// A run folder that no other process writes to as long as this lives.
#[derive(Debug)]
pub(crate) struct ClaimedFolder {
    pub(crate) run: RunFolder,
    pub(crate) checkpoints: Checkpoints,
    // The lock goes with the file.
    _lock: File,
}

impl ClaimedFolder {
    /// Makes the folder for a new fit; one that holds a fit already is refused unless `replace` is set.
    pub(crate) fn create(path: &Path, replace: bool) -> Result<Self, JobError> {
        let run = RunFolder::at(path);
        if let (Some(what), false) = (run.holds(), replace) {
            return Err(JobError::FolderTaken { folder: path.to_owned(), what });
        }
        fs::create_dir_all(path).map_err(JobError::file("make", path))?;
        let lock = claim(&run)?;
        run.clear().map_err(JobError::file("replace", path))?;
        Self::open(run, lock)
    }

    /// Opens the folder of a fit to go on with.
    pub(crate) fn reopen(path: &Path) -> Result<Self, JobError> {
        let run = RunFolder::at(path);
        if !run.job_file().is_file() {
            return Err(JobError::NothingToResume { folder: path.to_owned() });
        }
        let lock = claim(&run)?;
        let claimed = Self::open(run, lock)?;
        claimed.checkpoints.check()?;
        Ok(claimed)
    }

    fn open(run: RunFolder, lock: File) -> Result<Self, JobError> {
        let path = run.path();
        remove_incomplete(path).map_err(JobError::file("write", path))?;
        let checkpoints = Checkpoints::open(run.checkpoint_folder());
        Ok(Self { run, checkpoints, _lock: lock })
    }

    pub(crate) fn write_job(&self, job: &JobRecord) -> Result<(), JobError> {
        let text = serde_json::to_string_pretty(job).expect("a job is made of plain values");
        let file = self.run.job_file();
        write_whole(&file, |out| writeln!(out, "{text}")).map_err(JobError::file("write", &file))
    }

    /// Whether the folder holds the result of all that was asked for.
    pub(crate) fn is_finished(&self, asked: &MethodRequest) -> bool {
        let record = self.run.peek();
        record.is_some_and(|record| record.ending == Ending::Finished && record.asked == *asked)
    }
}

/// Takes the folder for this process; the system lets it go when the process ends, however it ends.
fn claim(run: &RunFolder) -> Result<File, JobError> {
    let path = run.lock_file();
    let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let lock = lock.map_err(JobError::file("write", &path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(JobError::Locked { folder: run.path().to_owned() }),
        Err(TryLockError::Error(source)) => Err(JobError::File { doing: "lock", path, source }),
    }
}
