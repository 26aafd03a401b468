//! When a part of a fit is to be kept: every so often, and never so often that keeping takes much of the time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Checkpoints take at most one part in this many of the time.
const CHECKPOINT_SHARE: u32 = 20;

/// When each part was last kept.
#[derive(Debug)]
pub struct Rhythm {
    every: Duration,
    checkpoints: HashMap<String, LastCheckpoint>,
}

/// When a part was last kept, and how long that took.
#[derive(Debug)]
struct LastCheckpoint {
    at: Instant,
    took: Duration,
}

impl Rhythm {
    /// Keeps each part this often.
    pub fn new(every: Duration) -> Self {
        Self { every, checkpoints: HashMap::new() }
    }

    /// Whether a part is to be kept now; its time begins when it is first asked for.
    pub fn is_due(&mut self, part: &str) -> bool {
        let now = Instant::now();
        if let Some(last) = self.checkpoints.get(part) {
            return now - last.at >= self.every.max(CHECKPOINT_SHARE * last.took);
        }
        let first = LastCheckpoint { at: now, took: Duration::ZERO };
        self.checkpoints.insert(part.to_owned(), first);
        self.every.is_zero()
    }

    /// A part was kept, or could not be, in the time since `begin`.
    pub fn kept(&mut self, part: &str, begin: Instant) {
        let now = Instant::now();
        self.checkpoints.insert(part.to_owned(), LastCheckpoint { at: now, took: now - begin });
    }
}
