//! Why the page cannot be served.

use std::io;
use std::path::PathBuf;

/// What went wrong before the page could be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A folder that cannot be used.
    #[error("cannot use the folder `{}`", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A port that is taken.
    #[error("cannot listen on port {port}")]
    Port {
        /// The port.
        port: u16,
        /// What the system says.
        source: io::Error,
    },
    /// A server that does not run.
    #[error("the server cannot run")]
    Runtime {
        /// What the system says.
        source: io::Error,
    },
    /// A system without random numbers.
    #[error("the system gives no random numbers: {reason}")]
    NoRandomness {
        /// What it says.
        reason: String,
    },
}
