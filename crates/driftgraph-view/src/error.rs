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
    /// A file of the run that is not what it should be.
    #[error("`{}` is damaged", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
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
