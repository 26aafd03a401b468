//! Follows the fit of a shard and keeps what it makes.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use driftgraph_core::train::progress::{Checkpoint, Progress, Step};
use driftgraph_run::Rhythm;
use driftgraph_run::checkpoint::{Checkpoints, key};

use crate::folder::Sweep;
use crate::run::Watcher;

/// Time between two checkpoints of a fit; what takes less is not worth the files.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

/// Keeps results of shards in the folder of a sweep.
pub(crate) struct Store<'a> {
    sweep: &'a Sweep,
    fingerprint: String,
    /// Why a result could not be kept.
    error: Mutex<Option<io::Error>>,
}

impl<'a> Store<'a> {
    pub(crate) fn new(sweep: &'a Sweep, fingerprint: &str) -> Self {
        Self { sweep, fingerprint: fingerprint.to_owned(), error: Mutex::new(None) }
    }

    /// Why a result could not be kept, if so.
    pub(crate) fn take_error(&self) -> Option<io::Error> {
        self.error.lock().expect("no thread panics while it holds this lock").take()
    }
}

impl Progress for Store<'_> {
    fn step(&self, _: &Step<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn find(&self, name: &str, depends_on: &str) -> Option<Vec<u8>> {
        // A damaged file is as good as none: the shard is made again, and the file replaced.
        self.sweep.results().find(name, &key(&self.fingerprint, depends_on)).ok().flatten()
    }

    fn keep(&self, name: &str, thing: &Checkpoint) {
        let key = key(&self.fingerprint, &thing.depends_on);
        if let Err(error) = self.sweep.results().keep(name, &key, &thing.bytes) {
            *self.error.lock().expect("no thread panics while it holds this lock") = Some(error);
        }
    }

    fn forget(&self, name: &str) {
        // Left over, it costs room and nothing else.
        let _ = fs::remove_dir_all(self.sweep.folder().join("parts").join(name));
    }
}

/// Follows the fit of one shard: stops it when asked to, and keeps its parts where it takes long.
pub(crate) struct ShardFollower<'a> {
    folder: PathBuf,
    shard: String,
    watcher: &'a dyn Watcher,
    begin: Instant,
    rhythm: Mutex<Rhythm>,
}

impl<'a> ShardFollower<'a> {
    pub(crate) fn new(sweep: &Sweep, shard: &str, watcher: &'a dyn Watcher) -> Self {
        Self {
            folder: sweep.folder().join("parts").join(shard),
            shard: shard.to_owned(),
            watcher,
            begin: Instant::now(),
            rhythm: Mutex::new(Rhythm::new(CHECKPOINT_EVERY)),
        }
    }

    fn rhythm(&self) -> MutexGuard<'_, Rhythm> {
        self.rhythm.lock().expect("no thread panics while it holds this lock")
    }

    fn parts(&self) -> Checkpoints {
        Checkpoints::shared(self.folder.clone())
    }

    fn write(&self, name: &str, thing: &Checkpoint) {
        let key = key(&self.shard, &thing.depends_on);
        // What cannot be kept is computed again, should it come to that.
        let _ = fs::create_dir_all(&self.folder)
            .and_then(|()| self.parts().keep(name, &key, &thing.bytes));
    }
}

impl Progress for ShardFollower<'_> {
    fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
        let stop = self.watcher.is_interrupted();
        let part = step.part.to_string();
        if stop || self.rhythm().is_due(&part) {
            let begin = Instant::now();
            self.write(&part, &step.training.state());
            self.rhythm().kept(&part, begin);
        }
        if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn find(&self, name: &str, depends_on: &str) -> Option<Vec<u8>> {
        self.parts().find(name, &key(&self.shard, depends_on)).ok().flatten()
    }

    fn keep(&self, name: &str, thing: &Checkpoint) {
        if self.begin.elapsed() >= CHECKPOINT_EVERY {
            self.write(name, thing);
        }
    }

    fn forget(&self, name: &str) {
        let _ = self.parts().forget(name);
    }

    fn is_interrupted(&self) -> bool {
        self.watcher.is_interrupted()
    }
}
