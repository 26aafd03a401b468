//! The mathematics of driftgraph. No files, no clock, no printing, no global state.
//!
//! Read the modules in the order the data flows: a [`SeriesSet`] of measurements, the
//! [`SignatureGraph`] that says who drives whom, the stochastic process behind it, the posterior
//! over its paths, the ELBO, the loop that trains all of it ([`train::fit::fit`]), and the scores
//! that compare a learned graph with a known one.

#![warn(clippy::unwrap_used)]
// Tests compare with the functions of the system.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(
    not(feature = "testing"),
    allow(unreachable_pub, reason = "what tests alone reach from outside is public for them")
)]

pub mod error;
mod numeric;
pub mod random;

pub mod data;
pub mod graph;
mod nn;
pub mod process;

mod objective;
mod posterior;
pub mod train;

pub mod fitted;

pub use data::experiment::{
    ALL_SERIES, Amount, Done, Experiment, ExperimentError, ExperimentProblem, InputHold,
    InterventionKind, InterventionRow, SetPiece,
};
pub use data::grid::TimeGrid;
pub use data::preparation::{Preparation, Transform};
pub use data::scaling::Standardizer;
pub use data::series::{ObservedSeries, SeriesSet};
pub use data::uninformative::Uninformative;
pub use error::CoreError;
pub use graph::scores::EdgeScores;
pub use graph::signature::SignatureGraph;
pub use objective::elbo::ElboTerms;
pub use posterior::bridge::innovation::InnovationLaw;
pub use train::fit::Fit;
pub use train::preset::Preset;
pub use train::progress::{Progress, Step};
pub use train::settings::{CheckedSettings, FitSettings};

/// Layers for methods that learn functions of their own.
pub mod layers {
    pub use crate::nn::gru::{Gru, GruTrace};
    pub use crate::nn::init::initial_values;
    pub use crate::nn::linear::Linear;
    pub use crate::nn::mlp::{Mlp, MlpSizes, MlpTrace, MlpWeights, PreparedMlp};
    pub use crate::nn::parameters::{Init, ParameterTable, Slot, WithGradient};
    pub use crate::numeric::kernels::{
        View, add_product, leaky, leaky_slope, multiply_into, softplus_with_slope, vectorised,
    };
    pub use crate::numeric::real::Real;
}

/// Solver steps of several series side by side, for methods that simulate paths of their own.
pub mod paths {
    pub use crate::posterior::layout::ChunkLayout;
    pub use crate::posterior::plan::{EncoderInput, PlannedSeries, Readout, StepGrid};
}

/// Levels without time, for methods that look at nothing else.
pub mod levels {
    pub use crate::data::settled::leading_rows;
    pub use crate::posterior::level::score_matching::LevelLaw;
}

/// The inside of this crate, for its own tests and measurements.
#[cfg(feature = "testing")]
pub mod testing {
    /// Arithmetic.
    pub mod numeric {
        pub use crate::numeric::*;
    }
    /// Layers.
    pub mod nn {
        pub use crate::nn::*;
    }
    /// Terms of the ELBO.
    pub mod objective {
        pub use crate::objective::*;
    }
    /// Paths given data.
    pub mod posterior {
        pub use crate::posterior::*;
    }
}
