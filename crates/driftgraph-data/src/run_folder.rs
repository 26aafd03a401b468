//! The folder of one run: what was asked, what was learned, and how it went.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use safetensors::Dtype;
use safetensors::tensor::TensorView;

/// Version of the layout of a run folder.
pub const FORMAT_VERSION: u32 = 1;

/// A folder with `run.json`, `model.safetensors`, `edges.csv` and `log.jsonl`.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
}

/// A named array of a model file.
#[derive(Debug, Clone, Copy)]
pub struct NamedArray<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its shape.
    pub shape: &'a [usize],
    /// Its numbers, last axis fastest.
    pub values: Numbers<'a>,
}

/// The numbers of an array, in the precision they were computed in.
#[derive(Debug, Clone, Copy)]
pub enum Numbers<'a> {
    /// Single precision.
    Single(&'a [f32]),
    /// Double precision.
    Double(&'a [f64]),
}

impl Numbers<'_> {
    fn to_bytes(self) -> (Dtype, Vec<u8>) {
        match self {
            Self::Single(all) => (Dtype::F32, all.iter().flat_map(|n| n.to_le_bytes()).collect()),
            Self::Double(all) => (Dtype::F64, all.iter().flat_map(|n| n.to_le_bytes()).collect()),
        }
    }
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

/// Writes arrays in the safetensors format, in an order that depends on their names alone.
pub fn write_model(mut out: impl Write, arrays: &[NamedArray<'_>]) -> io::Result<()> {
    let bytes: Vec<(Dtype, Vec<u8>)> = arrays.iter().map(|array| array.values.to_bytes()).collect();
    let views = arrays.iter().zip(&bytes).map(|(array, (kind, bytes))| {
        let view = TensorView::new(*kind, array.shape.to_vec(), bytes);
        view.map(|view| (array.name, view)).map_err(io::Error::other)
    });
    let views = views.collect::<io::Result<Vec<_>>>()?;
    out.write_all(&safetensors::serialize(views, None).map_err(io::Error::other)?)
}

#[cfg(test)]
mod tests {
    use safetensors::SafeTensors;

    use super::*;

    #[test]
    fn a_model_file_gives_back_names_shapes_and_numbers() {
        let arrays = [
            NamedArray {
                name: "w",
                shape: &[2, 3],
                values: Numbers::Single(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.5]),
            },
            NamedArray { name: "b", shape: &[1], values: Numbers::Double(&[-0.25]) },
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
