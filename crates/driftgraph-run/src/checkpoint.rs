//! Parts of a fit on disk: each in a file of its own, checked when it is read.
//!
//! A fit is made of parts that do not know of each other (a candidate without a fold, a seed of the
//! ensemble), each a function of data, settings and its own number of steps. So each may be kept
//! whenever it likes, and what is on disk together always fits together.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::JobError;
use driftgraph_data::whole_file::{remove_incomplete, write_whole};

/// First bytes of every checkpoint; the number is the version of the format.
const MAGIC: &[u8; 24] = b"driftgraph checkpoint 1\n";
/// Length of a BLAKE3 hash.
const HASH: usize = 32;
/// Largest checkpoint that is read.
const MAX_BYTES: u64 = 1 << 36;

/// What a part of a fit depends on: data and settings, as a hash.
pub type Key = [u8; HASH];

/// The key of a part: the data, and the settings as text.
pub fn key(data_fingerprint: &str, depends_on: &str) -> Key {
    let mut hasher = blake3::Hasher::new();
    hasher.update(data_fingerprint.as_bytes());
    hasher.update(depends_on.as_bytes());
    *hasher.finalize().as_bytes()
}

/// The folder of checkpoints of a run.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: PathBuf,
}

impl Checkpoints {
    /// Opens the folder, makes it where it is missing, and removes files that were never completed.
    ///
    /// A folder that cannot be made shows when something is to be kept; a fit can do without.
    pub fn open(folder: PathBuf) -> Self {
        let _ = fs::create_dir_all(&folder).and_then(|()| remove_incomplete(&folder));
        Self { folder }
    }

    /// A folder that other processes write to as well: it is there already, and what they are writing is left alone.
    pub fn shared(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The file of a part, whether or not it is there.
    pub fn file(&self, part: &str) -> PathBuf {
        self.folder.join(format!("{part}.state"))
    }

    /// Keeps the state of a part.
    pub fn keep(&self, part: &str, key: &Key, state: &[u8]) -> io::Result<()> {
        let hash = blake3::hash(state);
        write_whole(&self.file(part), |out| {
            pieces(key, state, hash.as_bytes())
                .into_iter()
                .try_for_each(|piece| out.write_all(piece))
        })
    }

    /// The state of a part; `None` where nothing was kept, or for other data and settings.
    pub fn find(&self, part: &str, key: &Key) -> Result<Option<Vec<u8>>, JobError> {
        let file = self.file(part);
        if !file.exists() {
            return Ok(None);
        }
        let bytes = read(&file)?;
        let damaged =
            |reason: &str| JobError::Damaged { file: file.clone(), reason: reason.into() };
        state_in(&bytes, key).map_err(damaged)
    }

    /// Forgets a part; it is no error if it was not kept.
    pub fn forget(&self, part: &str) -> io::Result<()> {
        match fs::remove_file(self.file(part)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Names of all parts that are kept.
    pub fn parts(&self) -> io::Result<Vec<String>> {
        let mut parts = Vec::new();
        if !self.folder.is_dir() {
            return Ok(parts);
        }
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            parts.extend(name.strip_suffix(".state").map(str::to_owned));
        }
        parts.sort();
        Ok(parts)
    }

    /// Reads every file once: a damaged one is better found before hours of work than after.
    pub fn check(&self) -> Result<(), JobError> {
        let parts = self.parts().map_err(JobError::file("read", &self.folder))?;
        for part in parts {
            let file = self.file(&part);
            let bytes = read(&file)?;
            checked(&bytes)
                .map_err(|reason| JobError::Damaged { file, reason: reason.to_owned() })?;
        }
        Ok(())
    }
}

fn read(file: &Path) -> Result<Vec<u8>, JobError> {
    let mut bytes = Vec::new();
    fs::File::open(file)
        .and_then(|open| open.take(MAX_BYTES).read_to_end(&mut bytes))
        .map_err(JobError::file("read", file))?;
    Ok(bytes)
}

/// The state in the bytes of a checkpoint, or why they are none; `None` where it belongs to other data and settings.
pub fn state_in(bytes: &[u8], key: &Key) -> Result<Option<Vec<u8>>, &'static str> {
    let (found, payload) = checked(bytes)?;
    Ok((found == key).then(|| payload.to_vec()))
}

/// What a checkpoint of a state is made of, in order.
fn pieces<'a>(key: &'a Key, state: &'a [u8], hash: &'a Key) -> [&'a [u8]; 4] {
    [MAGIC, key, state, hash]
}

/// The bytes of a checkpoint of a state.
pub fn sealed(key: &Key, state: &[u8]) -> Vec<u8> {
    pieces(key, state, blake3::hash(state).as_bytes()).concat()
}

/// The state where a checkpoint has it, without a look at its hash.
pub fn unsealed(bytes: &[u8]) -> Result<&[u8], &'static str> {
    Ok(taken_apart(bytes)?.state)
}

/// Key and state of a checkpoint whose hash is right.
fn checked(bytes: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    let Parts { key, state, hash } = taken_apart(bytes)?;
    if blake3::hash(state).as_bytes() != hash {
        return Err("its contents do not match their hash");
    }
    Ok((key, state))
}

/// What lies where in a checkpoint.
struct Parts<'a> {
    key: &'a [u8],
    state: &'a [u8],
    hash: &'a [u8],
}

fn taken_apart(bytes: &[u8]) -> Result<Parts<'_>, &'static str> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is not a checkpoint of this version")?;
    if rest.len() < 2 * HASH {
        return Err("it is too short");
    }
    let (key, rest) = rest.split_at(HASH);
    let (state, hash) = rest.split_at(rest.len() - HASH);
    Ok(Parts { key, state, hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> (tempfile::TempDir, Checkpoints, Key) {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::open(folder.path().join("checkpoint"));
        let key = key("data", "settings");
        checkpoints.keep("member-0", &key, &[1, 2, 255]).unwrap();
        (folder, checkpoints, key)
    }

    #[test]
    fn a_part_comes_back_with_the_same_bits_and_only_for_its_key() {
        let (_folder, checkpoints, key) = kept();
        assert_eq!(checkpoints.find("member-0", &key).unwrap().unwrap(), [1, 2, 255]);
        let other = super::key("other data", "settings");
        assert!(checkpoints.find("member-0", &other).unwrap().is_none());
        assert!(checkpoints.find("member-1", &key).unwrap().is_none());
    }

    #[test]
    fn every_cut_and_every_flipped_byte_is_noticed() {
        let (_folder, checkpoints, key) = kept();
        let file = checkpoints.file("member-0");
        let whole = fs::read(&file).unwrap();
        for len in 0..whole.len() {
            fs::write(&file, &whole[..len]).unwrap();
            assert!(checkpoints.check().is_err(), "cut to {len} bytes");
        }
        for place in (0..MAGIC.len()).chain(MAGIC.len() + HASH..whole.len()) {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            fs::write(&file, bytes).unwrap();
            assert!(checkpoints.check().is_err(), "byte {place} flipped");
            assert!(checkpoints.find("member-0", &key).is_err());
        }
    }
}
