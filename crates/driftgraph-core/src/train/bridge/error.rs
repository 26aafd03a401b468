//! What can go wrong with settings of a bridge fit and with the fit itself.

use crate::CoreError;
use crate::train::select::EnsembleFit;

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
    /// No finite step any more.
    #[error("{divergence}")]
    Diverged {
        /// What happened.
        divergence: Divergence,
        /// The fits before they diverged; `None` from a single trainer, whose state they are.
        last_good: Option<Box<EnsembleFit>>,
    },
}

/// How a fit came to its end without a finite step.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "the fit diverged at step {step}: `{term}` is not finite, and halving the learning rate \
     {attempts} times in a row did not help"
)]
pub struct Divergence {
    /// The last step tried.
    pub step: u64,
    /// The term of the ELBO that is not finite, or `gradient`, or `determinant`.
    pub term: &'static str,
    /// Steps tried in a row.
    pub attempts: u32,
    /// The last finite ELBO estimate, if there was one.
    pub last_finite_elbo: Option<f64>,
}
