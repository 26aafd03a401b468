//! The folder of one run: what was asked, what was learned, and how it went.

use std::cmp::Ordering;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use driftgraph_core::fitted::arrays::{ArrayHead, ArraySource, NamedArray, Values};
use driftgraph_core::fitted::model::{FittedModel, ModelDescription};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::fingerprint::fingerprint;
use crate::load::{Loaded, load};
use crate::roles::ReadOptions;
use crate::run_error::RunError;
use crate::time::TimeAxis;

/// Version of the layout of a run folder.
pub const FORMAT_VERSION: u32 = 2;
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
    /// Makes the folder; one that holds a run already is refused unless `replace` is set.
    pub fn create(path: &Path, replace: bool) -> io::Result<Self> {
        let folder = Self { path: path.to_owned() };
        if folder.run_file().exists() && !replace {
            let text = "the folder holds a run already";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        fs::create_dir_all(path)?;
        // What a run being replaced has left must not pass for this one's.
        for old in [folder.run_file(), folder.edges_file(), folder.model_file(), folder.log_file()]
        {
            match fs::remove_file(old) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(folder)
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

    /// All parameters.
    pub fn model_file(&self) -> PathBuf {
        self.path.join("model.safetensors")
    }

    /// Opens the log for appending.
    pub fn open_log(&self) -> io::Result<BufWriter<File>> {
        Ok(BufWriter::new(OpenOptions::new().create(true).append(true).open(self.log_file())?))
    }
}

/// What a run folder says of itself, as far as commands on it need to know.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct RunDescription {
    /// The data that were fitted.
    pub data: DataDescription,
    /// The model without its arrays.
    pub model: ModelDescription,
}

/// Where the data of a run came from, and how to tell whether they have changed.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct DataDescription {
    /// The files.
    pub files: Vec<PathBuf>,
    /// How they were read.
    pub options: ReadOptions,
    /// Hash of their contents.
    pub fingerprint: String,
    /// Number of series.
    pub series: usize,
    /// Number of variables.
    pub variables: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of cells without a value.
    pub missing_cells: usize,
    /// What the numbers on the time axis mean.
    pub time: TimeAxis,
}

impl DataDescription {
    /// Describes data as they were read.
    pub fn new(loaded: &Loaded, options: &ReadOptions) -> Self {
        let data = &loaded.data;
        let absolute = |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone());
        Self {
            files: loaded.files.iter().map(absolute).collect(),
            options: options.clone(),
            fingerprint: fingerprint(data),
            series: data.n_series(),
            variables: data.n_variables(),
            rows: data.n_rows(),
            missing_cells: data.n_missing(),
            time: loaded.time_axis.clone(),
        }
    }
}

/// A run that was read back: the model, and where its data are.
#[derive(Debug, Clone)]
pub struct Run {
    /// What was learned.
    pub model: FittedModel,
    /// Where the data came from.
    pub data: DataDescription,
    folder: PathBuf,
}

impl Run {
    /// Reads `run.json` and `model.safetensors`, checking names, shapes and types on the way.
    ///
    /// ```no_run
    /// use driftgraph_data::run_folder::Run;
    ///
    /// let run = Run::load("measurements-run".as_ref())?;
    /// for edge in run.model.edges().iter().take(3) {
    ///     let names = run.model.variables();
    ///     println!("{} -> {}: {}", names[edge.source], names[edge.target], edge.probability);
    /// }
    /// # Ok::<(), driftgraph_data::RunError>(())
    /// ```
    pub fn load(path: &Path) -> Result<Self, RunError> {
        let folder = RunFolder { path: path.to_owned() };
        let description = folder.describe()?;
        let file = folder.model_file();
        let bytes = read_limited(&file, MAX_MODEL_BYTES)?;
        let damaged = |reason: String| RunError::Damaged { file: file.clone(), reason };
        let arrays =
            SafeTensors::deserialize(&bytes).map_err(|error| damaged(error.to_string()))?;
        let model = FittedModel::from_parts(description.model, &StoredArrays(arrays))
            .map_err(|source| RunError::Model { folder: path.to_owned(), source })?;
        Ok(Self { model, data: description.data, folder: path.to_owned() })
    }

    /// Reads the data of the run again, from `files` where they were moved; changed data are refused.
    pub fn load_data(&self, files: &[PathBuf]) -> Result<Loaded, RunError> {
        let files = if files.is_empty() { &self.data.files } else { files };
        let loaded = load(files, &self.data.options)
            .map_err(|source| RunError::Data { folder: self.folder.clone(), source })?;
        if fingerprint(&loaded.data) != self.data.fingerprint {
            return Err(RunError::DataChanged {
                folder: self.folder.clone(),
                files: files.to_vec(),
            });
        }
        Ok(loaded)
    }
}

impl RunFolder {
    /// Reads and checks `run.json`.
    fn describe(&self) -> Result<RunDescription, RunError> {
        let file = self.run_file();
        if !file.is_file() {
            return Err(RunError::NotARun { folder: self.path.clone() });
        }
        let text = read_limited(&file, MAX_DESCRIPTION_BYTES)?;
        let damaged = |error: serde_json::Error| RunError::Damaged {
            file: file.clone(),
            reason: error.to_string(),
        };
        // The version first, so that a newer layout is not mistaken for damage.
        let version: Version = serde_json::from_slice(&text).map_err(damaged)?;
        let (found, known, folder) = (version.format_version, FORMAT_VERSION, self.path.clone());
        match found.cmp(&known) {
            Ordering::Greater => Err(RunError::NewerFormat { folder, found, known }),
            Ordering::Less => Err(RunError::OlderFormat { folder, found, known }),
            Ordering::Equal => serde_json::from_slice(&text).map_err(damaged),
        }
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

struct StoredArrays<'a>(SafeTensors<'a>);

impl ArraySource for StoredArrays<'_> {
    fn head(&self, name: &str) -> Option<ArrayHead> {
        let tensor = self.0.tensor(name).ok()?;
        let precision = match tensor.dtype() {
            Dtype::F32 => "f32".to_owned(),
            Dtype::F64 => "f64".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        };
        Some(ArrayHead { precision, shape: tensor.shape().to_vec() })
    }

    fn singles(&self, name: &str) -> Vec<f32> {
        let Ok(tensor) = self.0.tensor(name) else { return Vec::new() };
        let (numbers, _) = tensor.data().as_chunks::<4>();
        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    fn doubles(&self, name: &str) -> Vec<f64> {
        let Ok(tensor) = self.0.tensor(name) else { return Vec::new() };
        let (numbers, _) = tensor.data().as_chunks::<8>();
        numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    }
}

/// Writes arrays in the safetensors format, in an order that depends on their names alone.
pub fn write_model(mut out: impl Write, arrays: &[NamedArray]) -> io::Result<()> {
    let bytes: Vec<(Dtype, Vec<u8>)> = arrays.iter().map(|array| to_bytes(&array.values)).collect();
    let views = arrays.iter().zip(&bytes).map(|(array, (kind, bytes))| {
        let view = TensorView::new(*kind, array.shape.clone(), bytes);
        view.map(|view| (array.name.as_str(), view)).map_err(io::Error::other)
    });
    let views = views.collect::<io::Result<Vec<_>>>()?;
    out.write_all(&safetensors::serialize(views, None).map_err(io::Error::other)?)
}

fn to_bytes(values: &Values) -> (Dtype, Vec<u8>) {
    match values {
        Values::Single(all) => (Dtype::F32, all.iter().flat_map(|n| n.to_le_bytes()).collect()),
        Values::Double(all) => (Dtype::F64, all.iter().flat_map(|n| n.to_le_bytes()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_file_gives_back_names_shapes_and_numbers() {
        let arrays = [
            NamedArray::single("w", [2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.5]),
            NamedArray::double("b", [1, 1], vec![-0.25]),
        ];
        let mut file = Vec::new();
        write_model(&mut file, &arrays).unwrap();
        let read = SafeTensors::deserialize(&file).unwrap();
        assert_eq!(read.len(), 2);
        let w = read.tensor("w").unwrap();
        assert_eq!(w.shape(), [2, 3]);
        assert_eq!(w.data()[20..], 6.5_f32.to_le_bytes());
        assert_eq!(read.tensor("b").unwrap().data(), (-0.25_f64).to_le_bytes());
    }

    #[test]
    fn a_folder_with_a_run_is_not_overwritten_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(folder.path(), false).unwrap();
        fs::write(run.run_file(), "{}").unwrap();
        fs::write(run.edges_file(), "old").unwrap();
        let refused = RunFolder::create(folder.path(), false).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        RunFolder::create(folder.path(), true).unwrap();
        assert!(!run.edges_file().exists());
    }
}
