//! Sweeps from Python: plan, shards as plain values for other machines, results back into the folder, merge.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use driftgraph_core::train::progress::Silent;
use driftgraph_data::record::MethodRequest;
use driftgraph_sweep::{
    DataRecord, DataSource, MadeShard, PlanRequest, PlannedFit, RunOptions, ShardResult, ShardTask,
    Slice, Sweep, SweepError, Watcher, merge, run, status,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::data::SeriesData;
use crate::errors::{Class, IntoPyErr, OrRaise, message_of, with_hint};

/// How often the calling thread asks for signals and shows progress.
const WAKE_UP: Duration = Duration::from_millis(50);

impl IntoPyErr for SweepError {
    fn into_py_err(self) -> PyErr {
        let class = match self {
            Self::Data(errors) => return errors.into_py_err(),
            Self::Core(error) => return error.into_py_err(),
            Self::Plan { .. } | Self::Settings { .. } => Class::Settings,
            Self::Threads { .. } => Class::Computation,
            _ => Class::RunFolder,
        };
        let hint = self.hint();
        class.with(&with_hint(message_of(&self), hint.as_deref()))
    }
}

/// The folder of a sweep.
#[pyclass(frozen, module = "driftgraph._native")]
#[derive(Debug)]
pub(crate) struct SweepFolder {
    sweep: Sweep,
}

#[pymethods]
impl SweepFolder {
    /// Plans a sweep from TOML, or from the same keys as JSON; `tables` are data sets beside those of the plan.
    #[staticmethod]
    #[pyo3(signature = (text, base, folder, *, json=false, names=Vec::new(), tables=Vec::new()))]
    fn plan(
        text: &str,
        base: PathBuf,
        folder: PathBuf,
        json: bool,
        names: Vec<String>,
        tables: Vec<PyRef<'_, SeriesData>>,
    ) -> PyResult<Self> {
        let mut request = if json {
            let keys = serde_json::from_str(text).map_err(|error| {
                Class::Settings.with(&format!("the plan cannot be used: {error}"))
            })?;
            PlanRequest::from_table(keys, &base).or_raise()?
        } else {
            PlanRequest::from_toml(text, &base).or_raise()?
        };
        let sources = names.into_iter().zip(&tables);
        request
            .data
            .extend(sources.map(|(name, table)| DataSource { name, data: table.set().clone() }));
        Ok(Self { sweep: Sweep::plan(&request, &folder).or_raise()? })
    }

    /// Plans bootstrap samples of one data set under one method; `asked` is JSON, as for `fit`.
    #[staticmethod]
    fn plan_bags(
        asked: &str,
        table: &SeriesData,
        seed: u64,
        n_bags: u64,
        folder: PathBuf,
    ) -> PyResult<Self> {
        let asked: MethodRequest = serde_json::from_str(asked)
            .map_err(|error| Class::Settings.with(&format!("cannot use the settings: {error}")))?;
        let request = PlanRequest {
            data: vec![DataSource { name: "data".to_owned(), data: table.set().clone() }],
            fits: vec![PlannedFit { name: "bags".to_owned(), asked }],
            seeds: vec![seed],
            bootstrap: n_bags,
        };
        Ok(Self { sweep: Sweep::plan(&request, &folder).or_raise()? })
    }

    /// Opens a sweep.
    #[staticmethod]
    fn open(folder: PathBuf) -> PyResult<Self> {
        Ok(Self { sweep: Sweep::open(&folder).or_raise()? })
    }

    /// Number of shards.
    fn __len__(&self) -> usize {
        self.sweep.n_shards()
    }

    /// Shards without a whole result: number, number of the data set, name, task as JSON.
    fn pending(&self, py: Python<'_>) -> Vec<(usize, usize, String, String)> {
        let sweep = &self.sweep;
        let left = py.detach(|| {
            let all = 0..sweep.n_shards();
            all.filter(|&idx| sweep.result(idx).is_none()).collect::<Vec<usize>>()
        });
        let shard = |idx: usize| {
            let task = serde_json::to_string(&sweep.task(idx)).expect("tasks are plain values");
            (idx, sweep.place(idx).data, sweep.name(idx).to_owned(), task)
        };
        left.into_iter().map(shard).collect()
    }

    /// What is known of a data set, as JSON, and its table.
    fn table<'py>(&self, py: Python<'py>, data: usize) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let record = &self.sweep.record.data[data];
        let record = serde_json::to_string(record).expect("records are plain values");
        let bytes = std::fs::read(self.sweep.data_file(data))?;
        Ok((record, PyBytes::new(py, &bytes)))
    }

    /// Keeps the result of a shard that was made elsewhere.
    fn keep(&self, idx: usize, result: &[u8]) -> PyResult<()> {
        let result = ShardResult::from_bytes(result)
            .ok_or_else(|| Class::RunFolder.with("what came back is no result of a shard"))?;
        self.sweep.keep(idx, &result).or_raise()
    }

    /// Works on the sweep on this machine; `progress` is called with the number of shards made.
    #[pyo3(signature = (*, threads=None, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = threads.unwrap_or_else(cores);
        let options = RunOptions { slice: Slice::ALL, threads, expire: RunOptions::EXPIRE };
        let counter = Counter::default();
        let (done, trouble) = std::thread::scope(|scope| {
            let work = scope.spawn(|| run(&self.sweep, &options, &counter));
            let mut trouble = None;
            while !work.is_finished() {
                py.detach(|| std::thread::sleep(WAKE_UP));
                let made = counter.made.load(Ordering::Relaxed);
                let show = || progress.as_ref().map(|show| show.call1((made,))).transpose();
                let seen = py.check_signals().and_then(|()| show().map(|_| ()));
                if let Err(error) = seen {
                    counter.stop.store(true, Ordering::Relaxed);
                    trouble.get_or_insert(error);
                }
            }
            (py.detach(|| work.join()), trouble)
        });
        let done = done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match trouble {
            Some(error) => Err(error),
            None => done.map(|_| ()).or_raise(),
        }
    }

    /// How far it is, as JSON.
    fn status(&self) -> PyResult<String> {
        let status = status(&self.sweep).or_raise()?;
        Ok(serde_json::to_string(&status).expect("counts are plain values"))
    }

    /// Averages the shards into a folder; what it came to, as JSON.
    fn merge(&self, py: Python<'_>, out: PathBuf, partial: bool) -> PyResult<String> {
        let merged = py.detach(|| merge(&self.sweep, &out, partial)).or_raise()?;
        Ok(serde_json::to_string(&merged).expect("results are plain values"))
    }
}

/// Counts shards, and carries the wish to stop.
#[derive(Debug, Default)]
struct Counter {
    made: AtomicUsize,
    stop: AtomicBool,
}

impl Watcher for Counter {
    fn made(&self, news: &MadeShard<'_>) {
        self.made.fetch_max(news.n_made, Ordering::Relaxed);
    }

    fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Makes a shard from its task and the table of its data, on one thread, as `SweepFolder.run` would.
#[pyfunction]
pub(crate) fn learn_shard<'py>(
    py: Python<'py>,
    task: &str,
    record: &str,
    table: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let wrong = |error: serde_json::Error| Class::RunFolder.with(&format!("no shard: {error}"));
    let task: ShardTask = serde_json::from_str(task).map_err(wrong)?;
    let record: DataRecord = serde_json::from_str(record).map_err(wrong)?;
    let mut file = tempfile::Builder::new().suffix(".csv").tempfile()?;
    file.write_all(table)?;
    file.flush()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool
        .map_err(|error| Class::Computation.with(&format!("cannot start the threads: {error}")))?;
    let made = py.detach(|| pool.install(|| made(&task, &record, file.path()))).or_raise()?;
    Ok(PyBytes::new(py, &made.to_bytes()))
}

fn made(task: &ShardTask, record: &DataRecord, table: &Path) -> Result<ShardResult, SweepError> {
    let data = record.read(table)?;
    Ok(task.learn(&data, &Silent)?.expect("nobody stops it"))
}
