//! A whole fit: from data and settings to a run folder, kept safe on the way.
//!
//! [`plan`] turns what the user asked for into checked settings; [`job`] fits them and writes the run
//! folder, step by step followed by an [`observer`]. [`checkpoint`] keeps every part of a fit on disk, so
//! that a fit that was stopped, killed or cut off goes on bit for bit with [`job::resume`].

#![warn(clippy::unwrap_used)]

mod bridge;
pub mod checkpoint;
mod error;
mod folder;
mod follower;
pub mod job;
mod learned;
mod log;
mod memory;
pub mod observer;
pub mod pictures;
pub mod plan;
mod simulated;

pub use error::JobError;
pub use job::{FinishedRun, FitJob, Pace, Resume, Truth, fit, resume};
pub use observer::{DIVERGED, Ending, News, Phase, RunObserver};
pub use plan::{Asked, FitPlan, PlanError};
