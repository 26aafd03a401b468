//! Why a baseline cannot be computed.

/// What is missing from the data, or wrong with the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// Too few rows for a correlation.
    #[error("the series have {found} rows with values in all, at least {needed} are needed")]
    TooFewRows {
        /// Rows with at least one observed cell, over all series.
        found: usize,
        /// Rows without which the method says nothing.
        needed: usize,
    },
    /// Too few pairs of neighbouring rows for a regression of change.
    #[error(
        "the series have {found} pairs of neighbouring rows with values in all, \
         at least {needed} are needed"
    )]
    TooFewSteps {
        /// Pairs of neighbouring rows of the same series.
        found: usize,
        /// Pairs without which the method says nothing.
        needed: usize,
    },
    /// Times so uneven that rates of change overflow.
    #[error("the times between rows span too many orders of magnitude to compute rates of change")]
    TimesTooUneven,
    /// A name that no baseline has.
    #[error("expected one of `partial-correlation`, `ridge`, `var`, found `{name}`")]
    UnknownBaseline {
        /// The name.
        name: String,
    },
}
