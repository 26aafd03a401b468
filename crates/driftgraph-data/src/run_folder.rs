//! The folder of one run: what was asked, what was learned, and how it went.

mod description;
mod model_file;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read};
use std::path::{Path, PathBuf};

use driftgraph_core::fitted::edges::LearnedEdge;
use driftgraph_core::fitted::model::FittedModel;
use safetensors::SafeTensors;

use crate::graph_formats::read_edge_table;
use crate::load::Loaded;
use crate::record::{
    Ending, JOB_VERSION, JobRecord, LogLine, OLDEST_RUN_VERSION, RUN_VERSION, RunRecord,
};
use crate::run_error::RunError;

pub use description::DataDescription;
use model_file::StoredArrays;
pub use model_file::write_model;

/// Largest description that is read: a million series have one.
const MAX_DESCRIPTION_BYTES: u64 = 1 << 28;
/// Largest model that is read.
const MAX_MODEL_BYTES: u64 = 1 << 36;

/// A folder with `run.json`, `model.safetensors`, `edges.csv` and `log.jsonl`.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// The folder at a path, which need not exist yet.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// "a run" or "a run that is not finished", if there is one.
    pub fn holds(&self) -> Option<&'static str> {
        if self.run_file().exists() {
            return Some("a run");
        }
        self.job_file().exists().then_some("a run that is not finished")
    }

    /// How the run ended; `None` where there is none.
    pub fn ending(&self) -> Option<Ending> {
        #[derive(serde::Deserialize)]
        struct Ended {
            ending: Ending,
        }
        let text = fs::read(self.run_file()).ok()?;
        serde_json::from_slice::<Ended>(&text).ok().map(|ended| ended.ending)
    }

    /// What the run says of itself; `None` where there is no run that can be read.
    pub fn peek(&self) -> Option<RunRecord> {
        self.read_record().ok()
    }

    /// Removes a run, so that nothing of it passes for what comes next.
    pub fn clear(&self) -> io::Result<()> {
        let ignore_missing = |result: io::Result<()>| match result {
            Err(error)
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Err(error)
            }
            _ => Ok(()),
        };
        // First what says that there is a run.
        for file in [
            self.run_file(),
            self.job_file(),
            self.edges_file(),
            self.model_file(),
            self.log_file(),
        ] {
            ignore_missing(fs::remove_file(file))?;
        }
        // A report that cannot be replaced is told when the next one is written.
        let _ = fs::remove_file(self.report_file());
        ignore_missing(fs::remove_dir_all(self.checkpoint_folder()))
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Settings, versions, seeds and results in short.
    pub fn run_file(&self) -> PathBuf {
        self.path.join("run.json")
    }

    /// All edges, most probable first.
    pub fn edges_file(&self) -> PathBuf {
        self.path.join("edges.csv")
    }

    /// One line of JSON per logged step.
    pub fn log_file(&self) -> PathBuf {
        self.path.join("log.jsonl")
    }

    /// The report of a fit that has ended.
    pub fn report_file(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// All parameters.
    pub fn model_file(&self) -> PathBuf {
        self.path.join("model.safetensors")
    }

    /// What was asked for, from the start of the fit on.
    pub fn job_file(&self) -> PathBuf {
        self.path.join("job.json")
    }

    /// Parts of a fit that can go on from here.
    pub fn checkpoint_folder(&self) -> PathBuf {
        self.path.join("checkpoint")
    }

    /// Held by the process that fits.
    pub fn lock_file(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// The lines of the log, none where there is no log; one that was cut off by a crash is left out.
    pub fn read_log(&self) -> io::Result<Vec<LogLine>> {
        let text = match fs::read(self.log_file()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut lines: Vec<LogLine> = Vec::new();
        for line in String::from_utf8_lossy(&text).lines() {
            let Ok(line) = serde_json::from_str::<LogLine>(line) else { continue };
            // A fit that went on from an earlier state may have logged some steps twice: the later ones count.
            while lines.last().is_some_and(|last| last.step >= line.step) {
                lines.pop();
            }
            lines.push(line);
        }
        Ok(lines)
    }

    /// Opens the log for appending.
    pub fn open_log(&self) -> io::Result<BufWriter<File>> {
        Ok(BufWriter::new(OpenOptions::new().create(true).append(true).open(self.log_file())?))
    }
}

/// A run that was read back.
#[derive(Debug, Clone)]
pub struct Run {
    /// What was asked, what was learned in short, and how it went.
    pub record: RunRecord,
    learned: LearnedRun,
    folder: PathBuf,
}

/// A process that can be asked everything, or edges alone.
#[derive(Debug, Clone)]
enum LearnedRun {
    Model(Box<FittedModel>),
    Edges(Vec<LearnedEdge>),
}

impl Run {
    /// Reads `run.json`, and `model.safetensors` or `edges.csv`, checking names, shapes and types on the way.
    ///
    /// ```no_run
    /// use driftgraph_data::run_folder::Run;
    ///
    /// let run = Run::load("measurements-run".as_ref())?;
    /// for edge in run.edges().iter().take(3) {
    ///     let names = run.variables();
    ///     println!("{} -> {}: {}", names[edge.source], names[edge.target], edge.score);
    /// }
    /// # Ok::<(), driftgraph_data::RunError>(())
    /// ```
    pub fn load(path: &Path) -> Result<Self, RunError> {
        let folder = RunFolder::at(path);
        let record = folder.read_record()?;
        let bytes = read_limited(&folder.result_file(&record), MAX_MODEL_BYTES)?;
        Self::assembled(&folder, record, &bytes)
    }

    /// A run whose `run.json`, and whose model or edges, are in memory; messages name the folder.
    pub fn from_bytes(folder: &Path, record: &[u8], result: &[u8]) -> Result<Self, RunError> {
        let folder = RunFolder::at(folder);
        let record = folder.record_of(record)?;
        Self::assembled(&folder, record, result)
    }

    fn assembled(folder: &RunFolder, record: RunRecord, result: &[u8]) -> Result<Self, RunError> {
        let file = folder.result_file(&record);
        let damaged = |reason: String| RunError::Damaged { file: file.clone(), reason };
        let learned = if let Some(description) = &record.model {
            let arrays =
                SafeTensors::deserialize(result).map_err(|error| damaged(error.to_string()))?;
            let model = FittedModel::from_parts(description.clone(), &StoredArrays(arrays))
                .and_then(|model| model.with_transform(record.transform.clone()))
                .map_err(|source| RunError::Model { folder: folder.path.clone(), source })?;
            LearnedRun::Model(Box::new(model))
        } else {
            LearnedRun::Edges(read_edge_table(result, &record.variables).map_err(damaged)?)
        };
        Ok(Self { record, learned, folder: folder.path.clone() })
    }

    /// A run that is at hand already.
    pub fn new(
        folder: &Path,
        record: RunRecord,
        edges: Vec<LearnedEdge>,
        model: Option<FittedModel>,
    ) -> Self {
        let learned = match model {
            Some(model) => LearnedRun::Model(Box::new(model)),
            None => LearnedRun::Edges(edges),
        };
        Self { record, learned, folder: folder.to_owned() }
    }

    /// Names of the variables.
    pub fn variables(&self) -> &[String] {
        &self.record.variables
    }

    /// All ordered pairs of variables, the best supported first.
    pub fn edges(&self) -> Vec<LearnedEdge> {
        match &self.learned {
            LearnedRun::Model(model) => {
                let mut edges = model.edges();
                self.record.training.complete_edges(&mut edges);
                edges
            }
            LearnedRun::Edges(edges) => edges.clone(),
        }
    }

    /// The learned process; an error that says so where the method has none.
    pub fn model(&self) -> Result<&FittedModel, RunError> {
        match &self.learned {
            LearnedRun::Model(model) => Ok(model),
            LearnedRun::Edges(_) => Err(match &self.record.training.regimes {
                Some(regimes) => RunError::SeveralProcesses {
                    folder: self.folder.clone(),
                    names: regimes.names.clone(),
                },
                None => RunError::NoProcess {
                    folder: self.folder.clone(),
                    method: self.record.method.clone(),
                },
            }),
        }
    }

    /// The folder it was read from.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the data of the run again, from `files` where they were moved; changed data are refused.
    pub fn load_data(&self, files: &[PathBuf]) -> Result<Loaded, RunError> {
        self.record.data.load_again(&self.folder, files)
    }
}

impl RunFolder {
    /// Reads and checks `run.json`.
    pub fn read_record(&self) -> Result<RunRecord, RunError> {
        let file = self.run_file();
        if !file.is_file() {
            let folder = self.path.clone();
            return Err(if self.job_file().is_file() {
                RunError::Unfinished { folder }
            } else {
                RunError::NotARun { folder }
            });
        }
        self.record_of(&read_limited(&file, MAX_DESCRIPTION_BYTES)?)
    }

    /// Where what was learned is: the model, or, where the method has none, the edges.
    fn result_file(&self, record: &RunRecord) -> PathBuf {
        if record.model.is_some() { self.model_file() } else { self.edges_file() }
    }

    /// Checks the content of `run.json`.
    fn record_of(&self, text: &[u8]) -> Result<RunRecord, RunError> {
        let file = self.run_file();
        let found = self.version_of(&file, text, RUN_VERSION)?;
        if found < OLDEST_RUN_VERSION {
            let folder = self.path.clone();
            return Err(RunError::OlderFormat { folder, found, known: RUN_VERSION });
        }
        let record: RunRecord = serde_json::from_slice(text)
            .map_err(|error| RunError::Damaged { file, reason: error.to_string() })?;
        Ok(record.brought_up_to_date())
    }

    /// Reads and checks `job.json`.
    pub fn read_job(&self) -> Result<JobRecord, RunError> {
        let file = self.job_file();
        let text = read_limited(&file, MAX_DESCRIPTION_BYTES)?;
        self.version_of(&file, &text, JOB_VERSION)?;
        serde_json::from_slice(&text)
            .map_err(|error| RunError::Damaged { file, reason: error.to_string() })
    }

    /// The version first, so that a newer layout is not mistaken for damage.
    fn version_of(&self, file: &Path, text: &[u8], known: u32) -> Result<u32, RunError> {
        let version: Version = serde_json::from_slice(text).map_err(|error| RunError::Damaged {
            file: file.to_owned(),
            reason: error.to_string(),
        })?;
        let (found, folder) = (version.format_version, self.path.clone());
        if found > known { Err(RunError::NewerFormat { folder, found, known }) } else { Ok(found) }
    }
}

#[derive(serde::Deserialize)]
struct Version {
    format_version: u32,
}

/// Reads a whole file that is not larger than any honest one would be.
fn read_limited(file: &Path, limit: u64) -> Result<Vec<u8>, RunError> {
    let unreadable = |error: &io::Error| RunError::Unreadable {
        file: file.to_owned(),
        reason: error.to_string(),
    };
    let open = File::open(file).map_err(|error| unreadable(&error))?;
    let size = open.metadata().map_err(|error| unreadable(&error))?.len();
    if size > limit {
        return Err(RunError::TooLarge { file: file.to_owned(), size, limit });
    }
    let mut bytes = Vec::new();
    open.take(limit).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_what_it_holds_and_is_cleared_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::at(folder.path());
        assert_eq!(run.holds(), None);
        fs::write(run.job_file(), "{}").unwrap();
        assert_eq!(run.holds(), Some("a run that is not finished"));
        fs::write(run.run_file(), "{}").unwrap();
        fs::write(run.edges_file(), "old").unwrap();
        fs::create_dir(run.checkpoint_folder()).unwrap();
        fs::write(run.checkpoint_folder().join("selection.state"), "old").unwrap();
        assert_eq!(run.holds(), Some("a run"));
        run.clear().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
