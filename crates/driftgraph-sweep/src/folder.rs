//! The folder of a sweep: what was planned, the data, and what has been made so far.
//!
//! `sweep.json` is the plan, `data/` has one table per data set, `shards/` one file per shard that is done, `claims/` one per
//! shard that somebody is making, `workers/` signs of life and times, `parts/` the state of long fits on the way.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use driftgraph_core::{Done, SeriesSet};
use driftgraph_data::record::MethodRequest;
use driftgraph_data::whole_file::write_whole;
use driftgraph_data::write::{key_headers, write_series};
use driftgraph_data::{ReadOptions, fingerprint, load};
use driftgraph_methods::FitPlan;
use driftgraph_run::checkpoint::{Checkpoints, key};
use serde::{Deserialize, Serialize};

use crate::error::SweepError;
use crate::plan::PlanRequest;
use crate::queue::Slice;
use crate::shard::{ShardPlace, ShardResult, ShardTask, VERSION};

/// Version of the layout of the folder.
const FORMAT_VERSION: u32 = 1;
/// Folders below that of the sweep.
const FOLDERS: [&str; 5] = ["data", "shards", "claims", "workers", "parts"];

/// A data set of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataRecord {
    /// How results call it.
    pub name: String,
    /// Of its contents; also the name of its table.
    pub fingerprint: String,
    /// Names of the variables.
    pub variables: Vec<String>,
    /// Inputs, and what was done to other variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Done>,
}

/// A method with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitRecord {
    /// How results call it.
    pub name: String,
    /// What is asked for.
    pub asked: MethodRequest,
}

/// `sweep.json`: everything the shards are the product of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepRecord {
    /// Version of the layout of the folder.
    pub format_version: u32,
    /// Version of the program that planned it; no other may work on it.
    pub driftgraph: String,
    /// Data sets.
    pub data: Vec<DataRecord>,
    /// Methods with their settings.
    pub fits: Vec<FitRecord>,
    /// Seeds of methods and samples.
    pub seeds: Vec<u64>,
    /// Bootstrap samples per seed; 0 means the data as they are.
    pub bootstrap: u64,
}

/// A sweep that was planned: its folder, and its shards in their order.
#[derive(Debug)]
pub struct Sweep {
    folder: PathBuf,
    /// What was planned.
    pub record: SweepRecord,
    plans: Vec<FitPlan>,
    places: Vec<ShardPlace>,
    names: Vec<String>,
}

impl Sweep {
    /// Makes the folder of a sweep; planned again, what is there already and still asked for stays.
    pub fn plan(request: &PlanRequest, folder: &Path) -> Result<Self, SweepError> {
        request.check()?;
        let file = folder.join("sweep.json");
        let in_use = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
        if in_use && !file.is_file() {
            return Err(SweepError::FolderTaken { folder: folder.to_owned() });
        }
        for name in FOLDERS {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(SweepError::file("make", &path))?;
        }
        let mut data = Vec::new();
        for source in &request.data {
            let fingerprint = fingerprint(&source.data);
            let record = DataRecord {
                name: source.name.clone(),
                variables: source.data.variables().to_vec(),
                fingerprint,
                done: source.data.done(),
            };
            keep_data(folder, &record, &source.data)?;
            data.push(record);
        }
        let fits = request.fits.iter();
        let record = SweepRecord {
            format_version: FORMAT_VERSION,
            driftgraph: VERSION.to_owned(),
            data,
            fits: fits
                .map(|fit| FitRecord { name: fit.name.clone(), asked: fit.asked.clone() })
                .collect(),
            seeds: request.seeds.clone(),
            bootstrap: request.bootstrap,
        };
        let sweep = Self::new(folder, record)?;
        for (plan, source) in
            sweep.plans.iter().flat_map(|plan| request.data.iter().map(move |data| (plan, data)))
        {
            let name = plan.method().name().to_owned();
            plan.check_edges(&source.data)
                .map_err(|source| SweepError::Settings { fit: name, source })?;
        }
        let text = serde_json::to_string_pretty(&sweep.record).expect("plans are plain values");
        write_whole(&file, |out| writeln!(out, "{text}"))
            .map_err(SweepError::file("write", &file))?;
        Ok(sweep)
    }

    /// Opens a sweep; one that another version planned is refused.
    pub fn open(folder: &Path) -> Result<Self, SweepError> {
        let file = folder.join("sweep.json");
        if !file.is_file() {
            return Err(SweepError::NoSweep { folder: folder.to_owned() });
        }
        let text = fs::read(&file).map_err(SweepError::file("read", &file))?;
        let damaged = |error: serde_json::Error| SweepError::Damaged {
            file: file.clone(),
            reason: error.to_string(),
        };
        let record: SweepRecord = serde_json::from_slice(&text).map_err(damaged)?;
        if record.format_version > FORMAT_VERSION {
            let (found, known) = (record.format_version, FORMAT_VERSION);
            return Err(SweepError::NewerFormat { found, known });
        }
        if record.driftgraph != VERSION {
            let (planned, own) = (record.driftgraph, VERSION.to_owned());
            return Err(SweepError::OtherVersion { planned, own });
        }
        Self::new(folder, record)
    }

    fn new(folder: &Path, record: SweepRecord) -> Result<Self, SweepError> {
        let plan = |fit: &FitRecord| {
            FitPlan::new(fit.asked.clone())
                .map_err(|source| SweepError::Settings { fit: fit.name.clone(), source })
        };
        let plans = record.fits.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
        let folder = folder.to_owned();
        let mut sweep = Self { folder, record, plans, places: Vec::new(), names: Vec::new() };
        let mut known = HashSet::new();
        for place in sweep.product() {
            let name = place.1;
            // What no seed changes is made once.
            if known.insert(name.clone()) {
                sweep.places.push(place.0);
                sweep.names.push(name);
            }
        }
        Ok(sweep)
    }

    /// All combinations, with the names of their shards.
    fn product(&self) -> Vec<(ShardPlace, String)> {
        let samples: Vec<Option<u64>> = match self.record.bootstrap {
            0 => vec![None],
            n => (0..n).map(Some).collect(),
        };
        let mut all = Vec::new();
        for (data, table) in self.record.data.iter().enumerate() {
            for (fit, plan) in self.plans.iter().enumerate() {
                let mut task = ShardTask::new(plan, &table.fingerprint, 0, None);
                for &seed in &self.record.seeds {
                    for &sample in &samples {
                        let has_seed = plan.settings().contains_key("seed") || sample.is_some();
                        (task.seed, task.sample) = (has_seed.then_some(seed), sample);
                        all.push((ShardPlace { data, fit, seed, sample }, task.name()));
                    }
                }
            }
        }
        all
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Number of shards.
    pub fn n_shards(&self) -> usize {
        self.names.len()
    }

    /// Where a shard stands in the product.
    pub fn place(&self, idx: usize) -> ShardPlace {
        self.places[idx]
    }

    /// The name of a shard's file.
    pub fn name(&self, idx: usize) -> &str {
        &self.names[idx]
    }

    /// All that decides a shard's result.
    pub fn task(&self, idx: usize) -> ShardTask {
        let ShardPlace { data, fit, seed, sample } = self.places[idx];
        ShardTask::new(&self.plans[fit], &self.record.data[data].fingerprint, seed, sample)
    }

    /// A shard in words.
    pub fn describe(&self, idx: usize) -> String {
        let ShardPlace { data, fit, seed, sample } = self.places[idx];
        let (data, fit) = (&self.record.data[data].name, &self.record.fits[fit].name);
        let sample = sample.map_or_else(String::new, |number| format!(", sample {}", number + 1));
        format!("`{data}` by {fit}, seed {seed}{sample}")
    }

    /// A data set, read from the sweep's own table.
    pub fn load(&self, data: usize) -> Result<SeriesSet, SweepError> {
        read_data(&self.folder, &self.record.data[data])
    }

    /// The table of a data set.
    pub fn data_file(&self, data: usize) -> PathBuf {
        data_file(&self.folder, &self.record.data[data])
    }

    pub(crate) fn results(&self) -> Checkpoints {
        Checkpoints::shared(self.folder.join("shards"))
    }

    /// Names of the shards whose files are there.
    pub(crate) fn done(&self) -> Result<HashSet<String>, SweepError> {
        let folder = self.folder.join("shards");
        let parts = self.results().parts().map_err(SweepError::file("read", &folder))?;
        Ok(parts.into_iter().collect())
    }

    /// Number of shards of a slice that are not done.
    pub fn n_left(&self, slice: Slice) -> Result<usize, SweepError> {
        let done = self.done()?;
        let own = (0..self.n_shards()).filter(|&idx| slice.contains(idx));
        Ok(own.filter(|&idx| !done.contains(self.name(idx))).count())
    }

    /// The result of a shard; `None` where there is none that is whole and of this task.
    pub fn result(&self, idx: usize) -> Option<ShardResult> {
        let task = self.task(idx);
        let bytes = self.results().find(&self.names[idx], &task_key(&task)).ok().flatten()?;
        ShardResult::from_bytes(&bytes)
    }

    /// Keeps the result of a shard that was made elsewhere.
    pub fn keep(&self, idx: usize, result: &ShardResult) -> Result<(), SweepError> {
        let (name, task) = (&self.names[idx], self.task(idx));
        let kept = self.results().keep(name, &task_key(&task), &result.to_bytes());
        kept.map_err(SweepError::file("write", &self.results().file(name)))
    }

    /// Takes a file away that is no result, so that the shard is made again; whether there was one.
    pub(crate) fn forget_damaged(&self, idx: usize) -> Result<bool, SweepError> {
        let file = self.results().file(&self.names[idx]);
        match fs::remove_file(&file) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(SweepError::file("replace", &file)(error)),
        }
    }
}

/// The key under which a task's result is kept.
fn task_key(task: &ShardTask) -> driftgraph_run::checkpoint::Key {
    let text = serde_json::to_string(task).expect("a task is made of plain values");
    key(&task.fingerprint, &text)
}

fn data_file(folder: &Path, record: &DataRecord) -> PathBuf {
    folder.join("data").join(format!("{}.csv", record.fingerprint))
}

/// Writes a data set once, and makes sure that it comes back as it was.
fn keep_data(folder: &Path, record: &DataRecord, data: &SeriesSet) -> Result<(), SweepError> {
    let file = data_file(folder, record);
    write_whole(&file, |out| write_series(out, data)).map_err(SweepError::file("write", &file))?;
    read_data(folder, record).map(|_| ())
}

fn read_data(folder: &Path, record: &DataRecord) -> Result<SeriesSet, SweepError> {
    record.read(&data_file(folder, record))
}

impl DataRecord {
    /// Reads the data set from a copy of its table, wherever that is.
    pub fn read(&self, table: &Path) -> Result<SeriesSet, SweepError> {
        let [series, time] = key_headers(&self.variables);
        let options = ReadOptions {
            series: Some(series),
            time: Some(time),
            variables: self.variables.clone(),
            max_bytes: 1 << 50,
            ..ReadOptions::default()
        };
        let data = load(&[table.to_owned()], &options)?.data;
        let unfaithful = || SweepError::Unfaithful { data: self.name.clone() };
        let data = match &self.done {
            Some(done) => data.with_done(done).ok_or_else(unfaithful)?,
            None => data,
        };
        if fingerprint(&data) != self.fingerprint {
            return Err(unfaithful());
        }
        Ok(data)
    }
}
