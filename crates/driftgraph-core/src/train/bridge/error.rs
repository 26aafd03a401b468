//! What can go wrong with settings of a bridge fit and with the fit itself.

use crate::CoreError;

/// One setting outside its range.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{setting}` must be {condition}, found {found}")]
pub struct SettingProblem {
    /// The setting.
    pub setting: &'static str,
    /// What is allowed.
    pub condition: &'static str,
    /// What was given.
    pub found: String,
}

/// Why a bridge fit could not start or go on.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// Settings outside their ranges, all of them.
    #[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Settings {
        /// Everything that is wrong.
        problems: Vec<SettingProblem>,
    },
    /// Data that cannot be fitted.
    #[error(transparent)]
    Data(#[from] CoreError),
    /// Knowledge about edges of another number of variables.
    #[error("the edge knowledge is for {found} variables, the data have {expected}")]
    OtherKnowledge {
        /// Variables of the data.
        expected: usize,
        /// Variables of the knowledge.
        found: usize,
    },
    /// A training state of other data or settings.
    #[error("the training state has {found} {what}, these data and settings need {expected}")]
    OtherModel {
        /// What was counted: "parameters" or "path values".
        what: &'static str,
        /// Needed.
        expected: usize,
        /// Found in the state.
        found: usize,
    },
}
