//! What can go wrong with a sweep.

use std::io;
use std::path::{Path, PathBuf};

use driftgraph_core::CoreError;
use driftgraph_data::DataErrors;
use driftgraph_methods::PlanError;

/// Why a sweep could not be planned, run or merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// A plan that says something else than it should.
    #[error("the plan cannot be used: {reason}")]
    Plan {
        /// What is wrong, in the user's words.
        reason: String,
    },
    /// Settings that a method cannot use.
    #[error("the settings of `{fit}` cannot be used")]
    Settings {
        /// The method, with the number of its table where it has several.
        fit: String,
        /// Why.
        source: PlanError,
    },
    /// Data that cannot be read.
    #[error(transparent)]
    Data(#[from] DataErrors),
    /// Data that cannot be drawn from, or edges that are no numbers.
    #[error(transparent)]
    Core(#[from] CoreError),
    /// Names that are something else once they are columns of a table.
    #[error(
        "the data set `{data}` does not come back as it was when it is written as a table: rename its variables"
    )]
    Unfaithful {
        /// The data set.
        data: String,
    },
    /// A file that cannot be written or read.
    #[error("cannot {doing} `{}`", path.display())]
    File {
        /// "write", "read", "make".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder that holds something else.
    #[error("`{}` is no sweep: there is no `sweep.json`", folder.display())]
    NoSweep {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder in use for something else.
    #[error("`{}` holds something else already", folder.display())]
    FolderTaken {
        /// The folder.
        folder: PathBuf,
    },
    /// A description that cannot be understood.
    #[error("`{}` is damaged: {reason}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A sweep of another version of the program.
    #[error(
        "the sweep was planned by driftgraph {planned}, this is {own}: results of both must not be mixed"
    )]
    OtherVersion {
        /// Who planned it.
        planned: String,
        /// Who was asked to work on it.
        own: String,
    },
    /// A sweep of a layout that is not known.
    #[error("the sweep has format {found}, this program knows {known}")]
    NewerFormat {
        /// Of the sweep.
        found: u32,
        /// Of the program.
        known: u32,
    },
    /// Shards that are not there.
    #[error("{n_missing} of {n_shards} shards are missing: {}", list(examples, *n_missing))]
    Incomplete {
        /// How many.
        n_missing: usize,
        /// Of how many.
        n_shards: usize,
        /// The first of them.
        examples: Vec<String>,
    },
    /// Nobody knows how long a shard takes.
    #[error("no shard has been made yet, so nobody knows how long one takes")]
    NoTimes {
        /// Number of shards.
        n_shards: usize,
    },
    /// A job without work.
    #[error("all shards are done: nothing is left for a job")]
    NothingLeft,
    /// Shards that do not fit into a job.
    #[error("one shard takes about {minutes:.0} minutes, longer than the {hours} hours of a task")]
    TooLong {
        /// Of a shard.
        minutes: f64,
        /// Of a task.
        hours: f64,
    },
    /// Threads that do not start.
    #[error("cannot start the threads: {reason}")]
    Threads {
        /// Why.
        reason: String,
    },
}

fn list(examples: &[String], n_missing: usize) -> String {
    let more = if n_missing > examples.len() { ", ..." } else { "" };
    format!("{}{more}", examples.join(", "))
}

impl SweepError {
    /// What to do about it, where that is not plain.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Incomplete { .. } => {
                "make them with `driftgraph sweep run`, or merge what there is with `--partial`"
                    .to_owned()
            }
            Self::OtherVersion { .. } => {
                "work on it with the version that planned it, or plan again with this one"
                    .to_owned()
            }
            Self::NoSweep { .. } => {
                "make one with `driftgraph sweep plan PLAN.toml --out SWEEP`".to_owned()
            }
            Self::NoTimes { n_shards } => format!(
                "make one with `driftgraph sweep run SWEEP --shard 1/{n_shards} --threads 1`, or say `--shard-seconds`"
            ),
            Self::NothingLeft => "see the result with `driftgraph sweep merge`".to_owned(),
            Self::TooLong { .. } => "ask for more `--hours`".to_owned(),
            _ => return None,
        })
    }

    /// A file error with what was being done.
    pub(crate) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { doing, path, source }
    }
}
