//! Files that are written whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file beside its place and moves it there once it is complete and on disk.
///
/// Whatever happens in between, a power cut included, the place holds the old file or the new one.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    prepare(path, write)?.place()
}

/// A complete file that is not in its place yet; it goes away if it is dropped.
#[derive(Debug)]
pub struct PreparedFile {
    file: tempfile::NamedTempFile,
    path: PathBuf,
}

impl PreparedFile {
    /// Moves the file to its place.
    pub fn place(self) -> io::Result<()> {
        self.file.persist(&self.path).map_err(|error| error.error)?;
        sync_folder(folder_of(&self.path))
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Writes a file beside its place: several can be prepared before the first is placed.
pub fn prepare(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<PreparedFile> {
    let folder = folder_of(path);
    if !folder.is_dir() {
        let reason = format!("the folder `{}` does not exist", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    // The whole error would name a temporary file that the user has never heard of.
    let mut file = temporary_file(folder).map_err(|error| io::Error::from(error.kind()))?;
    let mut buffer = BufWriter::new(&mut file);
    write(&mut buffer)?;
    buffer.flush()?;
    drop(buffer);
    file.as_file().sync_all()?;
    Ok(PreparedFile { file, path: path.to_owned() })
}

/// A renamed file is safe once its folder is on disk too.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// A file that will stay must have the permissions of any new file, not those of a private one.
#[cfg(unix)]
fn temporary_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    // The system takes from these what the user's mask forbids.
    let permissions = std::fs::Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(PREFIX).permissions(permissions).tempfile_in(folder)
}

#[cfg(not(unix))]
fn temporary_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)
}

/// How the names of files begin that are not complete yet.
const PREFIX: &str = ".incomplete-";

/// Removes what writers that were killed have left in a folder.
pub fn remove_incomplete(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes.txt");
        write_whole(&file, |out| out.write_all(b"old")).unwrap();
        let broken = write_whole(&file, |out| {
            out.write_all(b"half of the ne")?;
            Err(io::Error::other("no space left"))
        });
        assert!(broken.is_err());
        assert_eq!(std::fs::read(&file).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_writer_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        std::fs::write(&kept, "").unwrap();
        std::fs::write(folder.path().join(format!("{PREFIX}abc")), "half").unwrap();
        remove_incomplete(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(kept.exists());
    }
}
