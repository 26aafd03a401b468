//! What can be wrong with a system, a recipe, or a simulation.

use driftgraph_core::CoreError;

/// An invalid request, or a simulation that failed, in the user's own names.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SystemError {
    /// A name that no system has.
    #[error("the known systems are {known}; found `{name}`")]
    UnknownSystem {
        /// What was asked for.
        name: String,
        /// All names, each in backticks.
        known: String,
    },
    /// A parameter the system does not have.
    #[error("the parameters of `{system}` are {known}; found `{name}`")]
    UnknownParameter {
        /// Name of the system.
        system: &'static str,
        /// What was asked for.
        name: String,
        /// All its parameters, each in backticks.
        known: String,
    },
    /// A parameter given twice.
    #[error("parameter `{parameter}` of `{system}` is given twice")]
    ParameterTwice {
        /// Name of the system.
        system: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
    },
    /// A parameter outside its range.
    #[error("`{parameter}` of `{system}` must lie between {min} and {max}, found {found}")]
    ParameterOutOfRange {
        /// Name of the system.
        system: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
        /// Smallest value allowed.
        min: f64,
        /// Largest value allowed.
        max: f64,
        /// What was given.
        found: f64,
    },
    /// A count that is not a whole number.
    #[error("`{parameter}` of `{system}` must be a whole number, found {found}")]
    ParameterNotWhole {
        /// Name of the system.
        system: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
        /// What was given.
        found: f64,
    },
    /// Coefficients of a linear system that do not fit together.
    #[error("a linear system of {n_variables} variables needs {expected} {what}, found {found}")]
    WrongCoefficientCount {
        /// Number of variables, one per noise scale.
        n_variables: usize,
        /// "matrix entries" or "offsets".
        what: &'static str,
        /// Number needed.
        expected: usize,
        /// Number given.
        found: usize,
    },
    /// A coefficient of a linear system that is not a number one can compute with.
    #[error("the {what} of a linear system must be finite{condition}, found {found}")]
    BadCoefficient {
        /// "matrix entries", "offsets" or "noise scales".
        what: &'static str,
        /// A further condition, such as " and not negative".
        condition: &'static str,
        /// What was given.
        found: f64,
    },
    /// A system without a recipe of the paper.
    #[error("the paper has recipes for {known}; found `{system}`")]
    NoPaperRecipe {
        /// Name of the system.
        system: String,
        /// Systems with a recipe, each in backticks.
        known: String,
    },
    /// A count of a recipe that is too small.
    #[error("`{setting}` must be at least {min}, found {found}")]
    CountTooSmall {
        /// Name of the setting.
        setting: &'static str,
        /// Smallest value allowed.
        min: usize,
        /// What was given.
        found: usize,
    },
    /// A data set that would not fit into memory.
    #[error(
        "{n_series} series of {n_points} times and {n_variables} variables are more than {limit} \
         values"
    )]
    TooLarge {
        /// Number of series to be simulated.
        n_series: usize,
        /// Number of times per series.
        n_points: usize,
        /// Number of variables.
        n_variables: usize,
        /// Number of values allowed.
        limit: usize,
    },
    /// More knock-outs than series.
    #[error("there are {found} knock-outs, but only {n_series} series")]
    TooManyKnockouts {
        /// Number of knock-outs.
        found: usize,
        /// Number of series.
        n_series: usize,
    },
    /// Knock-outs whose 0 is scaled away.
    #[error("knocked out means 0, which scaled values do not have: leave out one of the two")]
    ScaledKnockouts,
    /// A time range without length.
    #[error("the time range must be finite and move forward, found {start} to {end}")]
    BadTimeRange {
        /// First time.
        start: f64,
        /// Last time.
        end: f64,
    },
    /// A probability of dropping outside [0, 1).
    #[error("the probability of dropping must be at least 0 and below 1, found {probability}")]
    BadProbability {
        /// What was given.
        probability: f64,
    },
    /// A deviation of measurement noise that is negative or not finite.
    #[error(
        "the deviation of measurement noise must be finite and not negative, found {deviation}"
    )]
    BadDeviation {
        /// What was given.
        deviation: f64,
    },
    /// A series of which nothing would be left.
    #[error("nothing of series `{series}` is left after dropping with probability {probability}")]
    NothingLeft {
        /// Name of the series.
        series: String,
        /// Probability of dropping.
        probability: f64,
    },
    /// A simulation that left the finite numbers.
    #[error("series `{series}` of `{system}` is no longer finite at time {time}")]
    NotFinite {
        /// Name of the system.
        system: &'static str,
        /// Name of the series.
        series: String,
        /// Time of the offending step.
        time: f64,
    },
    /// A value the core refuses, such as a step size that is not positive.
    #[error(transparent)]
    Core(#[from] CoreError),
}
