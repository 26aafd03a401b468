//! A worker: claims shards, makes them on its threads, keeps them, until there is nothing left for it to do.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use driftgraph_core::SeriesSet;

use crate::claim::{Stop, Worker};
use crate::error::SweepError;
use crate::folder::Sweep;
use crate::follower::{ShardFollower, Store};
use crate::journal::{Entry, Journal};
use crate::queue::{Next, Queue, Slice};

/// How a worker works.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    /// Which shards.
    pub slice: Slice,
    /// Shards at a time, each on one thread.
    pub threads: usize,
    /// Time without a sign of life after which another worker is taken for dead.
    pub expire: Duration,
}

impl RunOptions {
    /// Time without a sign of life after which a worker is usually taken for dead.
    pub const EXPIRE: Duration = Duration::from_secs(60);
}

/// Follows a worker from several threads.
pub trait Watcher: Sync {
    /// A shard was made.
    fn made(&self, _news: &MadeShard<'_>) {}

    /// Something the user should hear at once.
    fn note(&self, _text: &str) {}

    /// Whether to stop.
    fn is_interrupted(&self) -> bool {
        false
    }
}

/// A shard that was made.
#[derive(Debug, Clone, Copy)]
pub struct MadeShard<'a> {
    /// In words.
    pub shard: &'a str,
    /// Made by this worker so far.
    pub n_made: usize,
    /// Why nothing could be learned.
    pub problem: Option<&'a str>,
}

/// What a worker did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSummary {
    /// Shards it made.
    pub n_made: usize,
    /// Damaged ones among those that were there, which were made again.
    pub n_damaged: usize,
    /// Shards that it left to others, who are alive.
    pub n_left_to_others: usize,
    /// Whether it was told to stop.
    pub interrupted: bool,
}

/// Works on a sweep until all its shards are made, or are being made by others who are alive.
pub fn run(
    sweep: &Sweep,
    options: &RunOptions,
    watcher: &dyn Watcher,
) -> Result<RunSummary, SweepError> {
    let worker = Worker::start(sweep.folder())?;
    let stop = Stop::default();
    std::thread::scope(|scope| {
        scope.spawn(|| worker.show_life(options.expire, &stop));
        // Also where this panics: the other thread must not show life for ever.
        let _end = StopOnDrop(&stop);
        work(sweep, &worker, options, watcher)
    })
}

struct StopOnDrop<'a>(&'a Stop);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.now();
    }
}

fn work(
    sweep: &Sweep,
    worker: &Worker,
    options: &RunOptions,
    watcher: &dyn Watcher,
) -> Result<RunSummary, SweepError> {
    let folder = sweep.folder().join("workers");
    let journal = Journal::create(sweep.folder(), &worker.id);
    let team = Team {
        sweep,
        worker,
        queue: Mutex::new(Queue::new(sweep, worker, options.slice, options.expire)?),
        journal: journal.map_err(SweepError::file("write", &folder))?,
        data: Mutex::new(HashMap::new()),
        watcher,
        n_made: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
    };
    let mut n_damaged = 0;
    loop {
        team.work_on_threads(options.threads)?;
        // Before it goes home, a worker looks once at what it did not make itself.
        let damaged = if team.is_interrupted() { 0 } else { team.queue().check_found()? };
        if damaged == 0 {
            break;
        }
        watcher.note(&format!(
            "warning: {} did not match their hash, and are made again",
            driftgraph_text::count(damaged, "shard", "shards")
        ));
        n_damaged += damaged;
    }
    Ok(RunSummary {
        n_made: team.n_made.load(Ordering::Relaxed),
        n_damaged,
        n_left_to_others: team.queue().n_busy(),
        interrupted: watcher.is_interrupted(),
    })
}

/// What the threads of a worker share.
struct Team<'a> {
    sweep: &'a Sweep,
    worker: &'a Worker,
    queue: Mutex<Queue<'a>>,
    journal: Journal,
    data: Mutex<HashMap<usize, Arc<SeriesSet>>>,
    watcher: &'a dyn Watcher,
    n_made: AtomicUsize,
    failed: AtomicBool,
}

/// One that fails stops the others.
impl Watcher for Team<'_> {
    fn is_interrupted(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.watcher.is_interrupted()
    }
}

impl<'a> Team<'a> {
    fn queue(&self) -> MutexGuard<'_, Queue<'a>> {
        self.queue.lock().expect("no thread panics while it holds this lock")
    }

    fn work_on_threads(&self, threads: usize) -> Result<(), SweepError> {
        let results: Vec<Result<(), SweepError>> = std::thread::scope(|scope| {
            let threads = (0..threads.max(1)).map(|_| scope.spawn(|| self.work_alone()));
            let threads: Vec<_> = threads.collect();
            let ended = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            ended.collect()
        });
        results.into_iter().collect()
    }

    /// One thread: shard after shard, each on this thread alone, so that threads never wait for each other.
    fn work_alone(&self) -> Result<(), SweepError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.map_err(|error| SweepError::Threads { reason: error.to_string() })?;
        while !self.is_interrupted() {
            let next = self.queue().claim_next();
            let made = match next {
                Ok(Next::Nothing) => break,
                Ok(Next::Wait(duration)) => {
                    std::thread::sleep(duration);
                    continue;
                }
                Ok(Next::Shard(idx)) => {
                    let made = pool.install(|| self.make(idx));
                    self.worker.release(self.sweep.name(idx));
                    made
                }
                Err(error) => Err(error),
            };
            if made.is_err() {
                self.failed.store(true, Ordering::Relaxed);
                return made;
            }
        }
        Ok(())
    }

    fn make(&self, idx: usize) -> Result<(), SweepError> {
        let (task, name, place) =
            (self.sweep.task(idx), self.sweep.name(idx), self.sweep.place(idx));
        let data = self.load(place.data)?;
        let store = Store::new(self.sweep, &task.fingerprint);
        let follower = ShardFollower::new(self.sweep, name, self);
        let begin = Instant::now();
        let made = task.kept_or_made(&data, &store, &follower)?;
        if let Some(error) = store.take_error() {
            let file = self.sweep.results().file(name);
            return Err(SweepError::file("write", &file)(error));
        }
        let Some(result) = made else { return Ok(()) };
        let fit = self.sweep.record.fits[place.fit].name.clone();
        let seconds = begin.elapsed().as_secs_f64();
        self.journal.add(&Entry { shard: name.to_owned(), data: place.data, fit, seconds });
        let n_made = self.n_made.fetch_add(1, Ordering::Relaxed) + 1;
        let shard = self.sweep.describe(idx);
        self.watcher.made(&MadeShard { shard: &shard, n_made, problem: result.problem.as_deref() });
        Ok(())
    }

    /// A data set, read once.
    fn load(&self, data: usize) -> Result<Arc<SeriesSet>, SweepError> {
        let mut known = self.data.lock().expect("no thread panics while it holds this lock");
        if let Some(found) = known.get(&data) {
            return Ok(Arc::clone(found));
        }
        let loaded = Arc::new(self.sweep.load(data)?);
        known.insert(data, Arc::clone(&loaded));
        Ok(loaded)
    }
}
