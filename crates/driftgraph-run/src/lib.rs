//! A whole fit: from data and a plan to a run folder, kept safe on the way.
//!
//! [`job`] fits a [`FitPlan`](driftgraph_methods::FitPlan) of any method and writes the run folder, report included, followed
//! by whoever implements [`Progress`](driftgraph_core::Progress). [`checkpoint`] keeps every part of a fit on disk, so
//! that a fit that was stopped, killed or cut off goes on bit for bit with [`job::resume`].

#![warn(clippy::unwrap_used)]

pub mod checkpoint;
mod contrast;
mod drifting;
mod error;
mod folder;
mod follower;
pub mod job;
mod log;
mod memory;
pub mod pictures;
mod regimes;
mod rhythm;
mod save;

pub use contrast::{Contrast, ContrastJob};
pub use error::JobError;
pub use job::{FinishedRun, FitJob, Pace, Resume, Truth, fit, fit_or_resume, resume};
pub use rhythm::Rhythm;
