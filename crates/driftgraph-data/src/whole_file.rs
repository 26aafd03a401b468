//! Files that are written whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file beside its place and moves it there once it is complete and on disk.
///
/// Whatever happens in between, a power cut included, the place holds the old file or the new one. A link stays one,
/// and the file it points to is replaced; what is no file, such as a pipe or a device, is written into.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    prepare(path, write)?.place()
}

/// A complete file that is not in its place yet; it goes away if it is dropped.
#[derive(Debug)]
pub struct PreparedFile {
    content: Content,
    /// Where the content goes, links followed.
    target: PathBuf,
    path: PathBuf,
}

#[derive(Debug)]
enum Content {
    /// A file beside the place.
    Beside(tempfile::NamedTempFile),
    /// Bytes for something that cannot be replaced.
    Bytes(Vec<u8>),
}

impl PreparedFile {
    /// Moves the file to its place.
    pub fn place(self) -> io::Result<()> {
        match self.content {
            Content::Beside(file) => {
                file.persist(&self.target).map_err(|error| error.error)?;
                sync_folder(folder_of(&self.target))
            }
            Content::Bytes(bytes) => {
                let mut out = std::fs::OpenOptions::new().write(true).open(&self.target)?;
                out.write_all(&bytes)
            }
        }
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Where a path leads if it is a link, also to a file that does not exist yet.
fn follow_links(path: &Path) -> PathBuf {
    /// As many as Linux follows; a ring of links has no end.
    const MOST: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..MOST {
        let Ok(next) = std::fs::read_link(&target) else { break };
        target = folder_of(&target).join(next);
    }
    target
}

/// Whether something is there that a file must not take the place of: a pipe, a socket, a device.
fn is_written_into(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
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
    let target = follow_links(path);
    let path = path.to_owned();
    if is_written_into(&path) {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        // The path itself, since links such as /dev/stdout may point to what has no name.
        return Ok(PreparedFile { content: Content::Bytes(bytes), target: path.clone(), path });
    }
    let folder = folder_of(&target);
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
    Ok(PreparedFile { content: Content::Beside(file), target, path })
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

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_the_file_behind_it_is_replaced() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::create_dir(place("results")).unwrap();
        symlink("results/table.csv", place("near")).unwrap();
        symlink("near", place("far")).unwrap();
        // The first write makes the file that the links point to.
        for text in ["first", "second"] {
            write_whole(&place("far"), |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(std::fs::read_to_string(place("results/table.csv")).unwrap(), text);
        }
        for link in ["near", "far"] {
            assert!(std::fs::symlink_metadata(place(link)).unwrap().is_symlink(), "{link}");
        }
        symlink("ring", place("ring")).unwrap();
        assert!(write_whole(&place("ring/table.csv"), |out| out.write_all(b"x")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_written_into_and_stays_a_pipe() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.csv");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        write_whole(&pipe, |out| out.write_all(b"a,b\n")).unwrap();
        assert_eq!(reader.join().unwrap(), "a,b\n");
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
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
