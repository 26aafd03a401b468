//! What can be wrong with a model that is put together again, or with a question asked of it.

use super::expression::ExpressionError;
use super::intervention::NotIdempotent;
use crate::CoreError;
use crate::train::bridge::BridgeError;
use crate::train::error::FitError;

/// Why a model cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// An array that is not there.
    #[error("the array `{name}` is missing")]
    MissingArray {
        /// Its name.
        name: String,
    },
    /// An array of another shape than the description asks for.
    #[error("the array `{name}` must have the shape {expected:?}, found {found:?}")]
    WrongShape {
        /// Its name.
        name: String,
        /// What the description asks for.
        expected: Vec<usize>,
        /// What is there.
        found: Vec<usize>,
    },
    /// An array of another kind of numbers.
    #[error("the array `{name}` must hold {expected} precision numbers, found {found}")]
    WrongPrecision {
        /// Its name.
        name: String,
        /// What the description asks for.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A number that is not finite where one is needed.
    #[error("the array `{name}` has an entry that is not a number in place {position}")]
    NotFinite {
        /// Its name.
        name: String,
        /// Place of the entry, from 0.
        position: usize,
    },
    /// A description that contradicts itself.
    #[error("{what} must be {expected}, found {found}")]
    Inconsistent {
        /// What is described.
        what: &'static str,
        /// What it must be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// Names or numbers that no data could have.
    #[error(transparent)]
    Data(#[from] CoreError),
    /// Settings out of range.
    #[error("{problem}")]
    Settings {
        /// Everything wrong with them.
        problem: String,
    },
}

/// Why a question cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FittedError {
    /// A series that the model has not seen.
    #[error("the fit knows no series `{name}`; it knows {}", listed(.known))]
    UnknownSeries {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A variable that the model does not have.
    #[error("the model has no variable `{name}`; it has {}", listed(.known))]
    UnknownVariable {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A value that a variable on a logarithmic scale cannot have.
    #[error(
        "`{variable}` was fitted on a logarithmic scale and is always positive, so it cannot be {value}"
    )]
    NoLogarithm {
        /// Name of the variable.
        variable: String,
        /// The value.
        value: f64,
    },
    /// Changed dynamics of a model that something was taken out of.
    #[error(
        "drift and diffusion of this model are those of what is left without season, trend and logarithm, and \
         cannot be changed in the units of the data: hold or clip `{variable}` instead"
    )]
    DynamicsOfRest {
        /// Name of the variable.
        variable: String,
    },
    /// A number out of its range.
    #[error("`{setting}` must be {condition}, found {found}")]
    BadSetting {
        /// What was set.
        setting: &'static str,
        /// What is allowed.
        condition: &'static str,
        /// What was given.
        found: f64,
    },
    /// Times to be told about that do not increase.
    #[error("the asked times must increase, found {next} after {previous}")]
    TimesNotIncreasing {
        /// A time.
        previous: f64,
        /// The one after it, which is not later.
        next: f64,
    },
    /// A path that left the finite numbers.
    #[error("path {path} is no longer finite at time {time}")]
    PathNotFinite {
        /// Number of the path, from 1.
        path: usize,
        /// Time at the end of the offending step.
        time: f64,
    },
    /// Effects within a step that have no solution.
    #[error("the instantaneous effects drawn for path {path} have no solution")]
    NoInstantSolution {
        /// Number of the path, from 1.
        path: usize,
    },
    /// A scheme that does not go with the model.
    #[error(
        "the scheme `milstein` needs noise that is independent between variables; this model has \
         instantaneous effects and a diffusion that depends on the state"
    )]
    MilsteinWithInstant,
    /// A model whose paths come from data that were not given.
    #[error("the paths of this model's posterior depend on the data, which were not given")]
    NeedsData,
    /// Data of other variables than the model's.
    #[error("the data have the variables {}, the model has {}", listed(.found), listed(.expected))]
    OtherVariables {
        /// Those of the model.
        expected: Vec<String>,
        /// Those of the data.
        found: Vec<String>,
    },
    /// A posterior under which new series have no predictive likelihood.
    #[error("models of the simulated posterior do not say how probable new series are")]
    NoLikelihood,
    /// Terms whose joint law is not one.
    #[error("the terms of the equations have no joint law that can be computed")]
    NoEquations,
    /// Equations that could not be found again.
    #[error(transparent)]
    Polynomial(#[from] crate::train::polynomial::PolynomialError),
    /// A series whose prediction breaks down.
    #[error("the model gives series `{series}` no finite likelihood")]
    NotPredictable {
        /// Name of the series.
        series: String,
    },
    /// Too little data to hold something out.
    #[error("there is nothing to hold out: {reason}")]
    NothingToHoldOut {
        /// Why.
        reason: &'static str,
    },
    /// A time at which a series was not observed.
    #[error("series `{series}` was observed from {first} to {last}, not at {time}")]
    OutsideSeries {
        /// Name of the series.
        series: String,
        /// The time asked for.
        time: f64,
        /// First time of the series.
        first: f64,
        /// Last time of the series.
        last: f64,
    },
    /// A formula that cannot be read or has no value.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// A state intervention that is not idempotent.
    #[error(transparent)]
    NotIdempotent(#[from] Box<NotIdempotent>),
    /// Something wrong with the model itself.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Something wrong with values.
    #[error(transparent)]
    Data(#[from] CoreError),
    /// A refit came to an end without a finite step.
    #[error(transparent)]
    Diverged(#[from] crate::train::progress::Divergence),
    /// A refit with the bridge posterior failed.
    #[error("the model cannot be fitted to a part of its data")]
    BridgeRefit(#[from] BridgeError),
    /// A refit with the simulated posterior failed.
    #[error("the model cannot be fitted to a part of its data")]
    SimulatedRefit(#[from] FitError),
}

/// Some names, and how many more there are.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    }
}
