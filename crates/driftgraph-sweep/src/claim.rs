//! Who is making which shard: claims that are made atomically and outlive their worker only for a while.
//!
//! No clock of another machine is trusted, nor that of the file server. A worker shows that it is alive by counting up in a
//! file of its own; whoever waits for its claim looks at that count, and takes the claim once the count has stood still
//! for long enough by the *observer's own* steady clock. Should two workers ever make the same shard, both write the same
//! bytes to the same place.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::error::SweepError;

/// Signs of life within the time after which a worker is taken for dead.
const BEATS: u32 = 12;

/// This process as others see it.
#[derive(Debug)]
pub struct Worker {
    folder: PathBuf,
    /// No other worker has it.
    pub(crate) id: String,
}

impl Worker {
    /// A worker in the folder of a sweep, alive from now on.
    pub fn start(folder: &Path) -> Result<Self, SweepError> {
        let random = getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()));
        let id = format!("{}-{random:016x}", std::process::id());
        let worker = Self { folder: folder.to_owned(), id };
        let file = worker.beat_file(&worker.id);
        fs::write(&file, "0").map_err(SweepError::file("write", &file))?;
        Ok(worker)
    }

    fn claim_file(&self, shard: &str) -> PathBuf {
        self.folder.join("claims").join(shard)
    }

    fn beat_file(&self, worker: &str) -> PathBuf {
        self.folder.join("workers").join(format!("{worker}.beat"))
    }

    /// Takes a shard that nobody has; whether that succeeded.
    pub(crate) fn claim(&self, shard: &str) -> Result<bool, SweepError> {
        let file = self.claim_file(shard);
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&file)
            .and_then(|mut file| file.write_all(self.id.as_bytes()));
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => {
                // A claim that says nothing would only be in the way.
                self.release(shard);
                Err(SweepError::file("write", &file)(error))
            }
        }
    }

    /// Lets a shard go.
    pub fn release(&self, shard: &str) {
        // What cannot be removed expires.
        let _ = fs::remove_file(self.claim_file(shard));
    }

    /// Who has a shard; `None` where nobody has.
    pub(crate) fn holder(&self, shard: &str) -> Option<String> {
        fs::read_to_string(self.claim_file(shard)).ok()
    }

    /// The count of a worker's signs of life; `None` where it shows none.
    fn beat(&self, worker: &str) -> Option<String> {
        // Only names that a worker gives itself: nothing is read elsewhere.
        let plain = worker.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        fs::read_to_string(self.beat_file(worker)).ok().filter(|_| plain)
    }

    /// Shows signs of life until told to stop.
    pub(crate) fn show_life(&self, expire: Duration, stop: &Stop) {
        let file = self.beat_file(&self.id);
        let mut count = 0_u64;
        while !stop.wait(expire / BEATS) {
            count += 1;
            // On a full disk others may think that this worker is dead, and make its shards, too.
            let _ = fs::write(&file, count.to_string());
        }
        let _ = fs::remove_file(&file);
    }
}

/// Ends a thread that mostly sleeps.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    pub(crate) fn now(&self) {
        *self.stopped.lock().expect("no thread panics while it holds this lock") = true;
        self.changed.notify_all();
    }

    /// Sleeps; whether it is time to stop.
    fn wait(&self, duration: Duration) -> bool {
        let stopped = self.stopped.lock().expect("no thread panics while it holds this lock");
        let woken = self.changed.wait_timeout_while(stopped, duration, |stopped| !*stopped);
        *woken.expect("no thread panics while it holds this lock").0
    }
}

/// What an observer thinks of another worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// It was seen counting.
    Alive,
    /// It has not been seen for long enough to tell.
    Unknown,
    /// It has not counted for too long.
    Dead,
}

/// What this worker has seen of others.
#[derive(Debug)]
pub(crate) struct Observer {
    expire: Duration,
    seen: HashMap<String, Seen>,
}

#[derive(Debug)]
struct Seen {
    count: Option<String>,
    since: Instant,
    counted: bool,
}

impl Observer {
    pub(crate) fn new(expire: Duration) -> Self {
        Self { expire, seen: HashMap::new() }
    }

    /// Looks at another worker, now.
    pub(crate) fn look(&mut self, own: &Worker, other: &str) -> Life {
        self.judge(other, own.beat(other), Instant::now())
    }

    fn judge(&mut self, other: &str, count: Option<String>, now: Instant) -> Life {
        let first = || Seen { count: count.clone(), since: now, counted: false };
        let seen = self.seen.entry(other.to_owned()).or_insert_with(first);
        if seen.count != count {
            *seen = Seen { counted: count.is_some(), count, since: now };
        }
        if now - seen.since >= self.expire {
            return Life::Dead;
        }
        if seen.counted { Life::Alive } else { Life::Unknown }
    }

    /// How long to sleep between two looks.
    pub(crate) fn pause(&self) -> Duration {
        self.expire / (2 * BEATS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["claims", "workers"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        folder
    }

    #[test]
    fn of_many_who_want_a_shard_one_gets_it() {
        let folder = folder();
        let workers: Vec<Worker> = (0..8).map(|_| Worker::start(folder.path()).unwrap()).collect();
        for round in 0..50 {
            let shard = format!("shard-{round}");
            let claimed: usize = std::thread::scope(|scope| {
                let tries = workers.iter().map(|one| scope.spawn(|| one.claim(&shard).unwrap()));
                let tries: Vec<_> = tries.collect();
                tries.into_iter().map(|one| usize::from(one.join().unwrap())).sum()
            });
            assert_eq!(claimed, 1);
        }
        workers[0].release("shard-0");
        assert!(workers[1].claim("shard-0").unwrap());
        assert_eq!(workers[2].holder("shard-0").unwrap(), workers[1].id);
    }

    #[test]
    fn a_worker_is_dead_when_its_count_stood_still_for_the_observer_whatever_the_clocks_say() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let count = |number: u32| Some(number.to_string());
        let mut observer = Observer::new(Duration::from_secs(60));
        assert_eq!(observer.judge("a", count(5), at(0)), Life::Unknown);
        assert_eq!(observer.judge("a", count(6), at(5)), Life::Alive);
        assert_eq!(observer.judge("a", count(6), at(64)), Life::Alive);
        assert_eq!(observer.judge("a", count(6), at(65)), Life::Dead);
        // Somebody who was only slow is alive again.
        assert_eq!(observer.judge("a", count(7), at(66)), Life::Alive);
        // Who never counted is not taken for dead before the time is over.
        assert_eq!(observer.judge("b", None, at(0)), Life::Unknown);
        assert_eq!(observer.judge("b", None, at(60)), Life::Dead);
    }

    #[test]
    fn times_of_files_an_hour_off_say_nothing() {
        let folder = folder();
        let [own, other] = [0, 1].map(|_| Worker::start(folder.path()).unwrap());
        assert!(other.claim("shard").unwrap());
        let hour = Duration::from_secs(3600);
        let now = std::time::SystemTime::now();
        for time in [now - hour, now + hour] {
            for file in [other.claim_file("shard"), other.beat_file(&other.id)] {
                let file = OpenOptions::new().write(true).open(file).unwrap();
                file.set_modified(time).unwrap();
            }
            let mut observer = Observer::new(Duration::from_secs(60));
            assert_eq!(observer.look(&own, &other.id), Life::Unknown);
        }
    }
}
