//! What can be wrong with values given to this crate.

/// An invalid value, described in the caller's own names.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CoreError {
    /// A series without a single row.
    #[error("series `{series}` has no rows")]
    EmptySeries {
        /// Name of the series.
        series: String,
    },
    /// Times that do not increase strictly.
    #[error("series `{series}` has time {next} after time {previous}")]
    TimesNotIncreasing {
        /// Name of the series.
        series: String,
        /// The earlier entry.
        previous: f64,
        /// The entry that should have been larger.
        next: f64,
    },
    /// A time that is not finite.
    #[error("series `{series}` has a time that is not finite: {time}")]
    TimeNotFinite {
        /// Name of the series.
        series: String,
        /// The offending time.
        time: f64,
    },
    /// An infinite value.
    #[error("series `{series}` has an infinite value in column {variable} at time {time}")]
    ValueInfinite {
        /// Name of the series.
        series: String,
        /// Position of the variable, from 0.
        variable: usize,
        /// Time of the row.
        time: f64,
    },
    /// A table whose number of values is not rows times variables.
    #[error(
        "series `{series}` has {found} values for {n_rows} rows of {n_variables} variables, \
         expected {}", n_rows * n_variables
    )]
    WrongSize {
        /// Name of the series.
        series: String,
        /// Number of rows.
        n_rows: usize,
        /// Number of variables.
        n_variables: usize,
        /// Number of values given.
        found: usize,
    },
    /// A variable to take the logarithm of that is not there.
    #[error("there is no variable `{name}` to take the logarithm of; there are {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))]
    UnknownLogVariable {
        /// The name asked for.
        name: String,
        /// What is there.
        known: Vec<String>,
    },
    /// A value without a logarithm.
    #[error(
        "`{variable}` is {value} in row {row} of series `{series}`, and only positive numbers have a logarithm"
    )]
    NoLogarithm {
        /// Name of the variable.
        variable: String,
        /// The value.
        value: f64,
        /// Name of the series.
        series: String,
        /// Number of the row in the series, from 1.
        row: usize,
    },
    /// A season that no series goes through twice.
    #[error(
        "a season of {season} rows needs a series of at least {}, and the longest has {longest}", 2 * season
    )]
    SeasonTooLong {
        /// Its rows.
        season: usize,
        /// Rows of the longest series.
        longest: usize,
    },
    /// A season without a course.
    #[error("a season has at least 2 rows, found {season}")]
    SeasonTooShort {
        /// Its rows.
        season: usize,
    },
    /// A season of rows that are not equally spaced.
    #[error(
        "a season of {season} rows makes no sense here: the rows are not equally spaced in time"
    )]
    SeasonOfUnevenRows {
        /// Its rows.
        season: usize,
    },
    /// A set without variables.
    #[error("there are no variables")]
    NoVariables,
    /// A set without series.
    #[error("there are no series")]
    NoSeries,
    /// A variable or series name that is empty.
    #[error("{what} number {position} has an empty name")]
    EmptyName {
        /// "variable" or "series".
        what: &'static str,
        /// Position, from 1.
        position: usize,
    },
    /// A variable or series name that occurs twice.
    #[error("two {what} share the name `{name}`")]
    DuplicateName {
        /// "variables" or "series".
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A series with another number of variables than the set.
    #[error("series `{series}` has {found} variables, the set has {expected}")]
    WrongVariableCount {
        /// Name of the series.
        series: String,
        /// Number of variables of the set.
        expected: usize,
        /// Number of variables of the series.
        found: usize,
    },
    /// A solver step that is not positive and finite.
    #[error("the step size must be positive and finite, found {step_size}")]
    BadStepSize {
        /// The offending step.
        step_size: f64,
    },
    /// A solver grid that would not fit into memory.
    #[error("step size {step_size} needs {n_steps:.0} steps, more than {limit}")]
    TooManySteps {
        /// The step asked for.
        step_size: f64,
        /// Steps it would need.
        n_steps: f64,
        /// Steps allowed.
        limit: usize,
    },
    /// A matrix of the wrong size for its variables.
    #[error("a graph of {n_variables} variables needs {} entries, found {found}", n_variables * n_variables)]
    WrongGraphSize {
        /// Number of variables.
        n_variables: usize,
        /// Entries given.
        found: usize,
    },
    /// A score of an edge that is not a number.
    #[error("the score of `{edge}` is not a number")]
    ScoreNotANumber {
        /// The edge, as `source -> target`.
        edge: String,
    },
    /// Scores and truth over different numbers of variables.
    #[error("the scores are for {scores} variables, the true graph has {truth}")]
    GraphSizesDiffer {
        /// Number of variables of the scores.
        scores: usize,
        /// Number of variables of the true graph.
        truth: usize,
    },
    /// A threshold that is not finite.
    #[error("the threshold must be finite, found {threshold}")]
    ThresholdNotFinite {
        /// The offending threshold.
        threshold: f64,
    },
    /// A simulated path that left the finite numbers.
    #[error("the path is no longer finite at time {time}")]
    PathNotFinite {
        /// Time at the end of the offending step.
        time: f64,
    },
    /// A solver scheme nobody knows.
    #[error("the known schemes are `euler-maruyama` and `milstein`, found `{name}`")]
    UnknownScheme {
        /// What was asked for.
        name: String,
    },
    /// A probability outside 0 to 1.
    #[error("a probability must lie between 0 and 1, found {probability}")]
    BadProbability {
        /// The offending value.
        probability: f64,
    },
    /// A preset nobody knows.
    #[error(
        "the known presets are `simulated`, `paper`, `paper-lorenz`, `paper-glycolysis`, \
         `paper-dream3` and `paper-netsim`, found `{name}`"
    )]
    UnknownPreset {
        /// What was asked for.
        name: String,
    },
    /// Series that were all observed at one time only: nothing moves.
    #[error("no series was observed at two times")]
    NoSteps,
}
