//! How far a sweep is, read from its folder alone.

use std::fs;

use serde::Serialize;

use crate::error::SweepError;
use crate::folder::Sweep;
use crate::times::Times;

/// How far a sweep is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// Shards in all.
    pub shards: usize,
    /// Shards that are done.
    pub done: usize,
    /// Shards that somebody has claimed and not done; the claim of a dead worker counts until it is taken over.
    pub claimed: usize,
    /// Whether all are done.
    pub complete: bool,
    /// Seconds of work left for one thread; `None` where no shard has been made yet.
    pub seconds_left: Option<f64>,
    /// By data set and fit.
    pub groups: Vec<GroupStatus>,
}

/// How far the shards of one data set and fit are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupStatus {
    /// The data set.
    pub data: String,
    /// The fit.
    pub fit: String,
    /// Shards in all.
    pub shards: usize,
    /// Shards that are done.
    pub done: usize,
}

/// Counts what is in the folder.
pub fn status(sweep: &Sweep) -> Result<Status, SweepError> {
    let done = sweep.done()?;
    let folder = sweep.folder().join("claims");
    let claims = fs::read_dir(&folder).map_err(SweepError::file("read", &folder))?;
    let claims: Vec<String> =
        claims.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let claimed = claims.iter().filter(|name| !done.contains(*name)).count();
    let times = Times::read(sweep);
    let mut groups: Vec<GroupStatus> = Vec::new();
    for data in &sweep.record.data {
        groups.extend(sweep.record.fits.iter().map(|fit| GroupStatus {
            data: data.name.clone(),
            fit: fit.name.clone(),
            shards: 0,
            done: 0,
        }));
    }
    let (mut n_done, mut seconds_left) = (0, Some(0.0));
    for idx in 0..sweep.n_shards() {
        let place = sweep.place(idx);
        let group = &mut groups[place.data * sweep.record.fits.len() + place.fit];
        group.shards += 1;
        if done.contains(sweep.name(idx)) {
            group.done += 1;
            n_done += 1;
        } else {
            seconds_left = seconds_left.zip(times.of(sweep, idx)).map(|(sum, one)| sum + one);
        }
    }
    let shards = sweep.n_shards();
    Ok(Status { shards, done: n_done, claimed, complete: n_done == shards, seconds_left, groups })
}
