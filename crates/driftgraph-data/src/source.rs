//! Finding and opening files, within limits.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;

use crate::error::{DataError, Place};
use crate::formats::format_of;
use crate::problem::Problem;

/// The file's name without the endings that name its format.
pub(crate) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = match name.len().checked_sub(3) {
        Some(start)
            if name.is_char_boundary(start) && name[start..].eq_ignore_ascii_case(".gz") =>
        {
            &name[..start]
        }
        _ => &name,
    };
    plain.rsplit_once('.').map_or(plain, |(stem, _)| stem).to_owned()
}

/// A name for the series of each file: the file's, with its folder where names repeat.
pub(crate) fn names_of_files(files: &[PathBuf]) -> Vec<String> {
    let stems: Vec<String> = files.iter().map(|file| stem(file)).collect();
    let mut uses: HashMap<&String, usize> = HashMap::new();
    for stem in &stems {
        *uses.entry(stem).or_default() += 1;
    }
    let name = |(stem, file): (&String, &PathBuf)| match uses[stem] {
        1 => stem.clone(),
        _ => file.display().to_string(),
    };
    stems.iter().zip(files).map(name).collect()
}

/// The files to read: each path itself, or the tables of a folder in natural order.
pub(crate) fn expand(
    paths: &[PathBuf],
    notices: &mut Vec<String>,
) -> Result<Vec<PathBuf>, DataError> {
    if paths.is_empty() {
        return Err(Place::default().problem(Problem::NoFiles));
    }
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(tables_of_folder(path, notices)?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn tables_of_folder(folder: &Path, notices: &mut Vec<String>) -> Result<Vec<PathBuf>, DataError> {
    let unreadable = |error: io::Error| io_error(folder, &error);
    let mut tables = Vec::new();
    for entry in folder.read_dir().map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() || name.starts_with('.') || format_of(&path).is_none() {
            continue;
        }
        if name == "truth.csv" || name.ends_with(".truth.csv") {
            notices.push(format!("`{}` is a list of true edges, not read as data", path.display()));
            continue;
        }
        tables.push(path);
    }
    if tables.is_empty() {
        return Err(Place::file(folder).problem(Problem::EmptyFolder));
    }
    tables.sort_by_key(|path| natural_key(&path.to_string_lossy()));
    Ok(tables)
}

/// Sorts `run2` before `run10`: digits compare by value.
fn natural_key(text: &str) -> Vec<(u64, String)> {
    let mut key: Vec<(u64, String)> = vec![(0, String::new())];
    let mut digits = String::new();
    for letter in text.chars().chain(std::iter::once('\0')) {
        if letter.is_ascii_digit() {
            digits.push(letter);
            continue;
        }
        if !digits.is_empty() {
            key.push((digits.parse().unwrap_or(u64::MAX), String::new()));
            digits.clear();
        }
        if let Some(last) = key.last_mut() {
            last.1.push(letter);
        }
    }
    key
}

/// A file to be read: one on disk, or bytes that are in memory already under the name that a file would have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableFile<'a> {
    /// What messages call it, and whose ending names the format.
    pub(crate) path: &'a Path,
    content: Option<&'a Bytes>,
}

impl<'a> TableFile<'a> {
    pub(crate) fn on_disk(path: &'a Path) -> Self {
        Self { path, content: None }
    }

    pub(crate) fn in_memory(path: &'a Path, content: &'a Bytes) -> Self {
        Self { path, content: Some(content) }
    }

    pub(crate) fn exists(&self) -> bool {
        self.content.is_some() || self.path.exists()
    }

    /// Opens what must be read from any position; refuses what is over the limit.
    pub(crate) fn open(&self, max_bytes: u64) -> Result<OpenFile, DataError> {
        let path = self.path;
        let (file, size) = if let Some(content) = self.content {
            (OpenFile::Memory(Cursor::new(content.clone())), content.len() as u64)
        } else {
            let file = File::open(path).map_err(|error| io_error(path, &error))?;
            let size = file.metadata().map_err(|error| io_error(path, &error))?.len();
            (OpenFile::Disk(file), size)
        };
        if size > max_bytes {
            return Err(Place::file(path).problem(Problem::TooLarge { limit: max_bytes }));
        }
        Ok(file)
    }
}

/// An open file, wherever its bytes are.
#[derive(Debug)]
pub(crate) enum OpenFile {
    Disk(File),
    Memory(Cursor<Bytes>),
}

impl Read for OpenFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Disk(file) => file.read(buffer),
            Self::Memory(bytes) => bytes.read(buffer),
        }
    }
}

impl Seek for OpenFile {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Disk(file) => file.seek(place),
            Self::Memory(bytes) => bytes.seek(place),
        }
    }
}

/// Opens a file of text, decompressing gzip, that fails after `max_bytes`.
pub(crate) fn open_text(
    source: TableFile<'_>,
    max_bytes: u64,
) -> Result<Box<dyn Read + Send>, DataError> {
    let path = source.path;
    let mut file = source.open(max_bytes)?;
    let mut magic = [0; 2];
    let n_magic = file.read(&mut magic).map_err(|error| io_error(path, &error))?;
    file.rewind().map_err(|error| io_error(path, &error))?;
    if n_magic == 2 && magic == [0x1f, 0x8b] {
        let reader = MultiGzDecoder::new(BufReader::new(file));
        return Ok(Box::new(Limited { reader, left: max_bytes }));
    }
    Ok(Box::new(Limited { reader: file, left: max_bytes }))
}

/// Fails, rather than ends, when more bytes come than are allowed.
pub(crate) struct Limited<R> {
    pub(crate) reader: R,
    pub(crate) left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.reader.read(buffer)? as u64;
        if n_read > self.left {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        self.left -= n_read;
        Ok(n_read as usize)
    }
}

/// A reading error in the user's words.
pub(crate) fn io_error(path: &Path, error: &io::Error) -> DataError {
    let problem = match error.kind() {
        io::ErrorKind::NotFound => Problem::NotFound,
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            Problem::Damaged { reason: error.to_string() }
        }
        _ => Problem::Unreadable { reason: error.to_string() },
    };
    Place::file(path).problem(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_sort_by_value() {
        let mut names = ["run10.csv", "run2.csv", "a.csv", "run2b.csv"];
        names.sort_by_key(|name| natural_key(name));
        assert_eq!(names, ["a.csv", "run2.csv", "run2b.csv", "run10.csv"]);
    }

    #[test]
    fn a_reader_fails_after_its_limit_instead_of_ending_early() {
        let mut text = String::new();
        let mut exact = Limited { reader: &b"12345"[..], left: 5 };
        assert_eq!(exact.read_to_string(&mut text).unwrap(), 5);
        let mut over = Limited { reader: &b"123456"[..], left: 5 };
        let kind = over.read_to_string(&mut text).unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_stem_keeps_every_dot_but_the_endings() {
        assert_eq!(stem(Path::new("runs/patient.1.CSV.GZ")), "patient.1");
        assert_eq!(stem(Path::new("patient.2.parquet")), "patient.2");
    }
}
