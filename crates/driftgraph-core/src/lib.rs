//! The mathematics of driftgraph. No files, no clock, no printing, no global state.
//!
//! Read the modules in the order the data flows: a [`SeriesSet`] of measurements, the
//! [`SignatureGraph`] that says who drives whom, the stochastic process behind it, the posterior
//! over its paths, the ELBO, the loop that trains all of it ([`train::fit::fit`]), and the scores
//! that compare a learned graph with a known one.

#![warn(clippy::unwrap_used)]

pub mod error;
pub mod numeric;
pub mod random;

pub mod data;
pub mod graph;
pub mod nn;
pub mod process;

pub mod objective;
pub mod posterior;
pub mod train;

pub mod fitted;

pub use data::grid::TimeGrid;
pub use data::scaling::Standardizer;
pub use data::series::{ObservedSeries, SeriesSet};
pub use data::uninformative::Uninformative;
pub use error::CoreError;
pub use graph::scores::EdgeScores;
pub use graph::signature::SignatureGraph;
pub use train::fit::Fit;
pub use train::observer::{FitObserver, StepReport};
pub use train::preset::Preset;
pub use train::settings::{CheckedSettings, FitSettings};
