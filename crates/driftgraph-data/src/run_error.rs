//! What can be wrong with a run folder.

use std::path::PathBuf;

use driftgraph_core::fitted::error::ModelError;

use crate::error::DataErrors;

/// Why a run cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A folder without a run.
    #[error("`{}` is not a run folder: it holds no run.json", folder.display())]
    NotARun {
        /// What was asked for.
        folder: PathBuf,
    },
    /// A folder of a fit that has not come to its end.
    #[error("the fit in `{}` is not finished: it holds no run.json yet", folder.display())]
    Unfinished {
        /// What was asked for.
        folder: PathBuf,
    },
    /// A file that the system does not give.
    #[error("cannot read `{}`: {reason}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// A file larger than any that is written.
    #[error("`{}` has {size} bytes, more than the {limit} that are read", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// Its size.
        size: u64,
        /// The most that is read.
        limit: u64,
    },
    /// A file that does not follow its format.
    #[error("`{}` is damaged: {reason}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A question that needs a process, asked of a run that has none.
    #[error(
        "the run in `{}` was made by `{method}`, which learns edges and no process: there is nothing to \
         simulate, forecast, fill in or intervene on",
        folder.display()
    )]
    NoProcess {
        /// The folder.
        folder: PathBuf,
        /// The method.
        method: String,
    },
    /// A question that needs one process, asked of a run with several.
    #[error(
        "the run in `{}` has {} processes that take turns ({}), and simulate, forecast, impute and intervene ask for one",
        folder.display(),
        names.len(),
        names.join(", ")
    )]
    SeveralProcesses {
        /// The folder.
        folder: PathBuf,
        /// Names of the regimes.
        names: Vec<String>,
    },
    /// A run that was written by a later version.
    #[error(
        "the run in `{}` has format {found}, which is newer than format {known} of this driftgraph",
        folder.display()
    )]
    NewerFormat {
        /// The folder.
        folder: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format that can be read.
        known: u32,
    },
    /// A run that was written by an earlier version, without all that is needed now.
    #[error(
        "the run in `{}` has format {found}, which lacks what format {known} of this driftgraph needs",
        folder.display()
    )]
    OlderFormat {
        /// The folder.
        folder: PathBuf,
        /// Its format.
        found: u32,
        /// The format that is read.
        known: u32,
    },
    /// A description and arrays that do not make a model.
    #[error("the model in `{}` cannot be used", folder.display())]
    Model {
        /// The folder.
        folder: PathBuf,
        /// What is wrong.
        source: ModelError,
    },
    /// Data that cannot be read again.
    #[error("the data of the run in `{}` cannot be read again", folder.display())]
    Data {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with them.
        source: DataErrors,
    },
    /// Data that are not those of the fit.
    #[error("the data of the run in `{}` have changed since the fit", folder.display())]
    DataChanged {
        /// The folder.
        folder: PathBuf,
        /// The files that were read.
        files: Vec<PathBuf>,
    },
}

impl RunError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotARun { .. } => "make one with `driftgraph fit DATA --out RUN`",
            Self::Unfinished { .. } => "go on with it: `driftgraph fit --resume RUN`",
            Self::NewerFormat { .. } => "use the driftgraph that wrote it, or a later one",
            Self::OlderFormat { .. } | Self::Damaged { .. } | Self::Model { .. } => {
                "fit the data again with `driftgraph fit DATA --out RUN --force`"
            }
            Self::Data { .. } => "say where the data are now with `--data FILE`",
            Self::DataChanged { .. } => {
                "fit the data again, or name the data of the fit with `--data FILE`"
            }
            Self::SeveralProcesses { .. } => {
                "fit the series or times of one regime alone to ask its process"
            }
            Self::NoProcess { .. } => {
                "fit the data with `bridge` or `simulated` to learn a process"
            }
            Self::Unreadable { .. } | Self::TooLarge { .. } => return None,
        })
    }
}
