//! What can be wrong with an experiment, in the user's words, and what to do about it.

use super::ALL_SERIES;

/// Why an experiment does not go with the data.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{problem}")]
pub struct ExperimentError {
    /// Number of the line of the table, from 0; `None` for inputs.
    pub row: Option<usize>,
    /// What is wrong.
    pub problem: ExperimentProblem,
}

/// What is wrong with an experiment.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentProblem {
    /// An input that the data do not have.
    #[error("`--inputs` names `{name}`, but the variables are {}", quoted(known))]
    UnknownInput {
        /// What was named.
        name: String,
        /// All variables.
        known: Vec<String>,
    },
    /// An input without a single value in a series.
    #[error("the input `{name}` has no value in the series `{series}`")]
    EmptyInput {
        /// The input.
        name: String,
        /// The series.
        series: String,
    },
    /// Nothing is left to be driven.
    #[error("every variable is an input, so there is nothing to learn")]
    OnlyInputs,
    /// A series that the data do not have.
    #[error("there is no series `{name}`")]
    UnknownSeries {
        /// What was named.
        name: String,
    },
    /// A variable that the data do not have.
    #[error("there is no variable `{name}`")]
    UnknownVariable {
        /// What was named.
        name: String,
    },
    /// An intervention on an input.
    #[error("`{name}` is an input: its values are those in its column, and no window can set them")]
    OnInput {
        /// The input.
        name: String,
    },
    /// A window that ends before it begins.
    #[error("the window ends at {to}, before it begins at {from}")]
    EndsBeforeStart {
        /// Its first time.
        from: f64,
        /// Its last time.
        to: f64,
    },
    /// A window outside the times of its series.
    #[error(
        "the window {from} to {to} lies outside the data of {}, which go from {first} to {last}",
        series_words(series)
    )]
    OutsideData {
        /// Its first time.
        from: f64,
        /// Its last time.
        to: f64,
        /// The series.
        series: String,
        /// First time there.
        first: f64,
        /// Last time there.
        last: f64,
    },
    /// Two windows that say different things of one variable at one time.
    #[error(
        "`{variable}` is {kind} in the series `{series}` from {from} to {to}, where line {other} of the table says something else"
    )]
    Contradiction {
        /// The variable.
        variable: String,
        /// What this line says.
        kind: &'static str,
        /// The series.
        series: String,
        /// First time of this line's window.
        from: f64,
        /// Last time of this line's window.
        to: f64,
        /// Number of the other line among those with data, from 1.
        other: usize,
    },
    /// A value that means nothing for its kind.
    #[error("a {kind} needs {needed}, found {found}")]
    BadValue {
        /// The kind.
        kind: &'static str,
        /// What it takes.
        needed: &'static str,
        /// What was given.
        found: f64,
    },
    /// A hold without a value, where nothing was measured.
    #[error(
        "`{variable}` is held in the series `{series}`, but has neither a value in the table nor a measured one"
    )]
    NothingHeld {
        /// The variable.
        variable: String,
        /// The series.
        series: String,
    },
}

impl ExperimentProblem {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownInput { .. } => "inputs are columns of the table",
            Self::EmptyInput { .. } => {
                "an input is known at all times: give at least one value in every series"
            }
            Self::OnlyInputs => "leave out of `--inputs` what is driven",
            Self::UnknownSeries { .. } => {
                "series are called as in the data; `*` stands for all of them"
            }
            Self::UnknownVariable { .. } => "variables are called as in the header of the data",
            Self::OnInput { .. } => "take it out of `--inputs`, or take the line out of the table",
            Self::EndsBeforeStart { .. } => {
                "`from` is the first time of a window and `to` its last"
            }
            Self::OutsideData { .. } => {
                "times are those of the data; leave `from` or `to` empty for an open window"
            }
            Self::Contradiction { .. } => {
                "of one variable only one thing is done at a time: cut the windows, or take one out"
            }
            Self::BadValue { .. } => "leave the value empty where only the direction is known",
            Self::NothingHeld { .. } => "write the value into the table",
        }
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn series_words(name: &str) -> String {
    if name == ALL_SERIES { "every series".to_owned() } else { format!("the series `{name}`") }
}
