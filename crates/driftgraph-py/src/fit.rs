//! A fit in its own thread, while the calling thread shows progress and listens for Ctrl-C.
//!
//! Only the interpreter's main thread hears of Ctrl-C, and only while it asks. So the calling thread
//! waits without the interpreter's lock, wakes up a few times per second to hand news to Python and
//! to ask for signals, and tells the fit to stop in order when there is one.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use driftgraph_core::SignatureGraph;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_core::train::progress::{Part, Progress, Step};
use driftgraph_data::intervention_columns::COLUMNS;
use driftgraph_data::record::MethodRequest;
use driftgraph_data::write::write_series;
use driftgraph_data::{Loaded, ReadOptions, load};
use driftgraph_methods::FitPlan;
use driftgraph_run::{Contrast, ContrastJob, FinishedRun, FitJob, JobError, Pace, Resume, Truth};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::data::SeriesData;
use crate::errors::{Class, OrRaise};
use crate::python_words::in_python_words;

/// How often the calling thread asks for signals and shows progress.
const WAKE_UP: Duration = Duration::from_millis(50);

/// Table of in-memory data inside the run folder.
const OWN_DATA: &str = "data.csv";
/// Where a table of interventions lies in the run folder.
const OWN_INTERVENTIONS: &str = "interventions.csv";

/// What a fit has told last.
#[derive(Debug, Default)]
struct Told {
    latest: Option<Update>,
    notes: Vec<String>,
    finished: bool,
}

/// News of a step, to be shown.
#[derive(Debug, Clone)]
struct Update {
    choosing: bool,
    part: String,
    number: usize,
    n_parts: usize,
    step: u64,
    end: u64,
    elbo: Option<f64>,
    loss: Option<f64>,
    expected_edges: Option<f64>,
}

/// Follows the fit from its threads.
#[derive(Debug, Default)]
struct Watcher {
    told: Mutex<Told>,
    changed: Condvar,
    stop: AtomicBool,
}

impl Watcher {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().expect("no thread panics while it holds this lock")
    }

    /// Waits for the end or until it is time to look up; then gives what there is to show.
    fn wait(&self) -> (bool, Option<Update>, Vec<String>) {
        let until = Instant::now() + WAKE_UP;
        let mut told = self.told();
        while !told.finished {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let woken = self.changed.wait_timeout(told, left);
            told = woken.expect("no thread panics while it holds this lock").0;
        }
        (told.finished, told.latest.take(), std::mem::take(&mut told.notes))
    }

    fn finish(&self) {
        self.told().finished = true;
        self.changed.notify_all();
    }
}

impl Progress for Watcher {
    fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
        // A step is not held up for a thread that is just looking.
        if let Ok(mut told) = self.told.try_lock() {
            let (choosing, part, number, n_parts) = match step.part {
                Part::Candidate { name, fold, n_folds } => (true, name.to_owned(), fold, n_folds),
                Part::Trial { name } => (true, name.to_owned(), 0, 1),
                Part::Member { number, n_members } => (false, String::new(), number, n_members),
                Part::Sample { number, n_samples } => (false, String::new(), number, n_samples),
            };
            told.latest = Some(Update {
                choosing,
                part,
                number,
                n_parts,
                step: step.number,
                end: step.end,
                elbo: step.elbo(),
                loss: step.loss(),
                expected_edges: step.expected_edges,
            });
        }
        if self.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn note(&self, text: &str) {
        self.told().notes.push(text.to_owned());
    }
}

/// Sets the end of a fit even where it panics.
struct FinishOnDrop<'a>(&'a Watcher);

impl Drop for FinishOnDrop<'_> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Fits `data` into `folder`; `asked` is JSON with `preset`, `settings`, `edges` and `limits`.
///
/// `progress` is called with a dictionary a few times per second, on the calling thread.
#[pyfunction]
#[pyo3(signature = (data, folder, asked, *, threads=None, replace=false, truth=None, log_every=10,
    checkpoint_seconds=60.0, time_budget=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    data: &SeriesData,
    folder: PathBuf,
    asked: &str,
    threads: Option<usize>,
    replace: bool,
    truth: Option<PyReadonlyArray2<'py, bool>>,
    log_every: u64,
    checkpoint_seconds: f64,
    time_budget: Option<f64>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let asked: MethodRequest = serde_json::from_str(asked)
        .map_err(|error| Class::Settings.with(&format!("cannot use the settings: {error}")))?;
    let plan = FitPlan::new(asked).or_raise()?;
    plan.check_edges(data.set()).or_raise()?;
    let (loaded, read_options) = kept_data(py, data, &folder)?;
    let truth = truth.as_ref().map(|matrix| known_graph(matrix, &loaded)).transpose()?;
    let pace = Pace {
        log_every,
        checkpoint_every: seconds("checkpoint_seconds", checkpoint_seconds)?,
        time_budget: time_budget.map(|time| seconds("time_budget", time)).transpose()?,
        ..Pace::default()
    };
    let job = FitJob { loaded, read_options, plan, folder, replace, truth, pace, report: true };
    let work = |watcher: &Watcher| driftgraph_run::fit(&job, watcher);
    watched(py, threads, progress, &work)
}

/// Fits the data of two runs together into `folder`; `settings` are JSON.
#[pyfunction]
#[pyo3(signature = (first, second, folder, settings, *, names=None, threads=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn contrast<'py>(
    py: Python<'py>,
    first: PathBuf,
    second: PathBuf,
    folder: PathBuf,
    settings: &str,
    names: Option<(String, String)>,
    threads: Option<usize>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = serde_json::from_str(settings)
        .map_err(|error| Class::Settings.with(&format!("cannot use the settings: {error}")))?;
    let names = names.map(<[String; 2]>::from);
    let contrast = Contrast { runs: [first, second], names, folder, replace: false, settings };
    let ContrastJob { job, .. } = py.detach(|| contrast.job()).or_raise()?;
    let work = |watcher: &Watcher| driftgraph_run::fit(&job, watcher);
    watched(py, threads, progress, &work)
}

/// Goes on with a fit that was stopped.
#[pyfunction]
#[pyo3(signature = (folder, *, extend_steps=0, threads=None, time_budget=None, progress=None))]
pub(crate) fn resume<'py>(
    py: Python<'py>,
    folder: PathBuf,
    extend_steps: u64,
    threads: Option<usize>,
    time_budget: Option<f64>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let time_budget = time_budget.map(|time| seconds("time_budget", time)).transpose()?;
    let resume = Resume { folder, extend_steps, time_budget, ..Resume::default() };
    let work = |watcher: &Watcher| driftgraph_run::resume(&resume, watcher);
    watched(py, threads, progress, &work)
}

fn seconds(what: &str, number: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(number).map_err(|_| {
        Class::Settings.with(&format!("`{what}` must be a number of seconds, found {number}"))
    })
}

/// Runs the fit in a thread of its own until it ends, is interrupted, or the callback fails.
fn watched<'py>(
    py: Python<'py>,
    threads: Option<usize>,
    progress: Option<Bound<'py, PyAny>>,
    work: &(dyn Fn(&Watcher) -> Result<FinishedRun, JobError> + Sync),
) -> PyResult<Bound<'py, PyDict>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    let pool = pool
        .map_err(|error| Class::Computation.with(&format!("cannot start the threads: {error}")))?;
    let watcher = Watcher::default();
    let (result, trouble) = std::thread::scope(|scope| {
        let fitting = scope.spawn(|| {
            let _finish = FinishOnDrop(&watcher);
            pool.install(|| work(&watcher))
        });
        let trouble = listen(py, &watcher, progress.as_ref());
        (py.detach(|| fitting.join()), trouble)
    });
    let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    match (result, trouble) {
        // What is there is returned; without anything, Ctrl-C is Ctrl-C.
        (Ok(run), None) => told(py, &run),
        (Ok(run), Some(error)) if error.is_instance_of::<PyKeyboardInterrupt>(py) => told(py, &run),
        (_, Some(error)) => Err(error),
        (Err(error), None) => Err(error).or_raise(),
    }
}

/// Hands news to Python until the fit ends; the first exception stops the fit.
fn listen(py: Python<'_>, watcher: &Watcher, progress: Option<&Bound<'_, PyAny>>) -> Option<PyErr> {
    let mut trouble = None;
    loop {
        let (finished, update, notes) = py.detach(|| watcher.wait());
        if trouble.is_none() {
            let seen = py.check_signals().and_then(|()| show(progress, update, notes));
            if let Err(error) = seen {
                watcher.stop.store(true, Ordering::Relaxed);
                trouble = Some(error);
            }
        }
        if finished {
            return trouble;
        }
    }
}

fn show(
    progress: Option<&Bound<'_, PyAny>>,
    update: Option<Update>,
    notes: Vec<String>,
) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    let py = progress.py();
    if let Some(update) = update {
        let news = PyDict::new(py);
        news.set_item("phase", if update.choosing { "choosing" } else { "fitting" })?;
        news.set_item("candidate", update.part)?;
        news.set_item("number", update.number)?;
        news.set_item("n_parts", update.n_parts)?;
        news.set_item("step", update.step)?;
        news.set_item("end", update.end)?;
        let numbers = [
            ("elbo", update.elbo),
            ("loss", update.loss),
            ("expected_edges", update.expected_edges),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                news.set_item(name, number)?;
            }
        }
        progress.call1((news,))?;
    }
    for text in notes {
        let news = PyDict::new(py);
        news.set_item("phase", "note")?;
        news.set_item("text", text)?;
        progress.call1((news,))?;
    }
    Ok(())
}

fn told<'py>(py: Python<'py>, run: &FinishedRun) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    let record = &run.run.record;
    answer.set_item("ending", serde_json::json!(record.ending).as_str())?;
    let remarks: Vec<String> =
        record.remarks.iter().map(|remark| in_python_words(remark)).collect();
    answer.set_item("remarks", remarks)?;
    // The run is complete without its report, but whoever looks for one should know why there is none.
    let problem = run.report.as_ref().err().map(ToString::to_string);
    answer.set_item("report_problem", problem)?;
    answer.set_item("seconds", run.elapsed.as_secs_f64())?;
    Ok(answer)
}

fn known_graph(matrix: &PyReadonlyArray2<'_, bool>, loaded: &Loaded) -> PyResult<Truth> {
    let n_variables = loaded.data.n_variables();
    let graph = SignatureGraph::from_matrix(n_variables, matrix.as_slice()?.to_vec()).or_raise()?;
    Ok(Truth { graph, self_edges: SelfEdges::Kept })
}

/// The data as a run folder will find them again: the files they came from, or a table of its own.
///
/// What is fitted is what was read back, so that folder, binary and Python agree to the bit.
fn kept_data(py: Python<'_>, data: &SeriesData, folder: &Path) -> PyResult<(Loaded, ReadOptions)> {
    if !data.loaded.files.is_empty() {
        return Ok((data.loaded.clone(), data.options.clone()));
    }
    let file = folder.join(OWN_DATA);
    fs::create_dir_all(folder)?;
    let mut options = ReadOptions {
        inputs: data.options.inputs.clone(),
        input_hold: data.options.input_hold,
        ..ReadOptions::default()
    };
    if let Some(table) = &data.options.interventions {
        if table.as_os_str() == COLUMNS {
            let words = "interventions=\"columns\" is for files; give frames and arrays a table of interventions";
            return Err(Class::Question.with(words));
        }
        let own = folder.join(OWN_INTERVENTIONS);
        fs::copy(table, &own)?;
        options.interventions = Some(own);
    }
    let mut out = BufWriter::new(File::create(&file)?);
    write_series(&mut out, data.set())?;
    out.flush()?;
    let mut loaded = py.detach(|| load(&[file], &options)).or_raise()?;
    if loaded.data.variables() != data.set().variables() {
        let message = format!(
            "as columns of a table these variables are taken for something else: {:?}; rename them",
            data.set().variables()
        );
        return Err(Class::Data.with(&message));
    }
    loaded.time_axis = data.loaded.time_axis.clone();
    Ok((loaded, options))
}
