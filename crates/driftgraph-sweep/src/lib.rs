//! Many fits as shards that any number of processes and machines make together, in a folder that all of them see.
//!
//! [`PlanRequest`] says what is asked for and becomes a [`Sweep`]: a folder with the data, the fits and, by their product, a
//! list of shards. A [`ShardTask`] is one of them: a function of data, settings, seed and version, whose result is kept in a file
//! named by the hash of these. [`run()`] is a worker: it claims shards, makes them and keeps them; [`status()`] says how far
//! all workers are; [`merge()`] averages; [`slurm_script`] prints a job array.

#![warn(clippy::unwrap_used)]

mod claim;
mod error;
mod folder;
mod follower;
mod journal;
mod merge;
mod plan;
mod queue;
mod run;
mod shard;
mod slurm;
mod status;
mod times;

pub use claim::Worker;
pub use error::SweepError;
pub use folder::{DataRecord, FitRecord, Sweep, SweepRecord};
pub use merge::{Merged, merge};
pub use plan::{DataSource, PlanRequest, PlannedFit};
pub use queue::{Next, Queue, Slice};
pub use run::{MadeShard, RunOptions, RunSummary, Watcher, run};
pub use shard::{ShardPlace, ShardResult, ShardTask};
pub use slurm::{SlurmOptions, slurm_script};
pub use status::{GroupStatus, Status, status};
