//! Why a run cannot be shown.

use std::path::PathBuf;

use driftgraph_core::CoreError;
use driftgraph_core::fitted::error::FittedError;
use driftgraph_report::ReportError;

/// What went wrong while a report was computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// A file of the run that cannot be read.
    #[error("cannot read `{}`", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A report that cannot be written.
    #[error("cannot write `{}`", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A question that needs a process, of a run without one.
    #[error(transparent)]
    Run(#[from] driftgraph_data::RunError),
    /// A question that the model cannot answer.
    #[error(transparent)]
    Model(#[from] FittedError),
    /// A truth that does not fit the variables.
    #[error(transparent)]
    Truth(#[from] CoreError),
    /// A picture that cannot be drawn.
    #[error(transparent)]
    Picture(#[from] ReportError),
}
