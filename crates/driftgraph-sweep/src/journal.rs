//! How long shards took: a line per shard, in a file of each worker; no result depends on it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

/// One line: a shard that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Name of the shard.
    pub(crate) shard: String,
    /// Position of the data set.
    pub(crate) data: usize,
    /// Name of the fit.
    pub(crate) fit: String,
    /// By the clock, on one thread.
    pub(crate) seconds: f64,
}

/// The journal of this worker.
#[derive(Debug)]
pub(crate) struct Journal {
    file: Mutex<File>,
}

impl Journal {
    pub(crate) fn create(folder: &Path, worker: &str) -> io::Result<Self> {
        let path = folder.join("workers").join(format!("{worker}.jsonl"));
        Ok(Self { file: Mutex::new(File::create(path)?) })
    }

    pub(crate) fn add(&self, entry: &Entry) {
        let line = serde_json::to_string(entry).expect("entries are plain values");
        let mut file = self.file.lock().expect("no thread panics while it holds this lock");
        // Nothing but estimates of the time left depends on it.
        let _ = writeln!(file, "{line}");
    }
}

/// All lines of all workers that can be read.
pub(crate) fn read_all(folder: &Path) -> Vec<Entry> {
    let Ok(files) = fs::read_dir(folder.join("workers")) else { return Vec::new() };
    let paths = files.flatten().map(|entry| entry.path());
    let journals = paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let texts = journals.filter_map(|path| fs::read_to_string(path).ok());
    let entries = |text: String| -> Vec<Entry> {
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    texts.flat_map(entries).collect()
}
