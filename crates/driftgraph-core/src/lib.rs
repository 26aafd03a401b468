//! The mathematics of driftgraph. No files, no clock, no printing, no global state.
//!
//! Read the modules in the order the data flows: a [`SeriesSet`] of measurements, the
//! [`SignatureGraph`] that says who drives whom, the stochastic process behind it, and the scores
//! that compare a learned graph with a known one.

pub mod data;
pub mod error;
pub mod fitted;
pub mod graph;
pub mod nn;
pub mod noise;
pub mod objective;
pub mod posterior;
pub mod process;
pub mod train;
mod special;

pub use data::grid::TimeGrid;
pub use data::scaling::Standardizer;
pub use data::series::{ObservedSeries, SeriesSet};
pub use error::CoreError;
pub use graph::scores::EdgeScores;
pub use graph::signature::SignatureGraph;
