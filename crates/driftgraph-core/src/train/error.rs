//! What can go wrong with settings and with a fit.

use super::settings::Range;
use super::time::TimeUnit;
use crate::CoreError;

/// One thing wrong with settings.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsProblem {
    /// A number outside its range.
    #[error("`{name}` must be {range}, found {found}")]
    OutOfRange {
        /// The setting.
        name: &'static str,
        /// What is allowed.
        range: Range,
        /// What was given.
        found: f64,
    },
    /// A time span beside a time unit.
    #[error("`time_span` needs `time_unit` to be `as-given`, found `{time_unit}`")]
    TimeSpanAndUnit {
        /// The unit asked for.
        time_unit: TimeUnit,
    },
    /// A probability of an edge outside 0 to 1.
    #[error("the probability of `{edge}` must lie between 0 and 1, found {probability}")]
    EdgeProbability {
        /// The edge, as `source -> target`.
        edge: String,
        /// What was given.
        probability: f64,
    },
}

/// Everything wrong with settings.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct SettingsError {
    /// All problems, in the order of the settings.
    pub problems: Vec<SettingsProblem>,
}

/// Why a fit could not start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// A variable that the data do not have.
    #[error("the edge `{edge}` names a variable that the data do not have: `{variable}`")]
    UnknownVariable {
        /// The edge, as `source -> target`.
        edge: String,
        /// The name nobody knows.
        variable: String,
    },
    /// Data and settings that do not go together.
    #[error(transparent)]
    Data(#[from] CoreError),
    /// A training state of another model.
    #[error("the training state has {found} parameters, this model has {expected}")]
    OtherModel {
        /// Parameters of this model.
        expected: usize,
        /// Parameters of the state.
        found: usize,
    },
}
