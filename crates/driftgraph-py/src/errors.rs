//! Every error of the libraries as an exception of the Python package's one hierarchy.

use std::error::Error;

use driftgraph_core::CoreError;
use driftgraph_core::fitted::error::FittedError;
use driftgraph_core::train::bridge::BridgeError;
use driftgraph_data::{DataErrors, Problem, RunError};
use driftgraph_methods::{MethodError, PlanError};
use driftgraph_report::ReportError;
use driftgraph_run::JobError;
use driftgraph_systems::SystemError;
use driftgraph_view::ViewError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::python_words::in_python_words;

/// The classes of `driftgraph.errors` that native code raises.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Class {
    /// Measurements that cannot be used.
    Data,
    /// Settings that cannot be used.
    Settings,
    /// A question that the model cannot answer as it was put.
    Question,
    /// A computation that failed.
    Computation,
    /// A file that cannot be read.
    File,
    /// A run folder that cannot be read.
    RunFolder,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Data => "DataError",
            Self::Settings => "SettingsError",
            Self::Question => "QuestionError",
            Self::Computation => "ComputationError",
            Self::File => "FileError",
            Self::RunFolder => "RunFolderError",
        }
    }

    /// An exception of this class.
    pub(crate) fn with(self, message: &str) -> PyErr {
        self.about(message, Where::default())
    }

    fn about(self, message: &str, place: Where<'_>) -> PyErr {
        let make = |py: Python<'_>| -> PyResult<PyErr> {
            let class = py.import("driftgraph.errors")?.getattr(self.name())?;
            let facts = PyDict::new(py);
            facts.set_item("series", place.series)?;
            facts.set_item("variable", place.variable)?;
            facts.set_item("time", place.time)?;
            Ok(PyErr::from_value(class.call((message,), Some(&facts))?))
        };
        Python::attach(|py| make(py).unwrap_or_else(|error| error))
    }
}

/// Where in the user's data something is.
#[derive(Debug, Clone, Copy, Default)]
struct Where<'a> {
    series: Option<&'a str>,
    variable: Option<&'a str>,
    time: Option<f64>,
}

/// An error of a library that becomes an exception.
pub(crate) trait IntoPyErr {
    fn into_py_err(self) -> PyErr;
}

/// Shortens `result.map_err(IntoPyErr::into_py_err)`.
pub(crate) trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: IntoPyErr> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(IntoPyErr::into_py_err)
    }
}

/// The message of an error and of all that caused it.
pub(crate) fn message_of(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

pub(crate) fn with_hint(message: String, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{message}\n\nhint: {}", in_python_words(hint)),
        None => message,
    }
}

/// An error about series whose variables have these names.
pub(crate) fn core_error(error: &CoreError, variables: &[String]) -> PyErr {
    match error {
        CoreError::ValueInfinite { series, variable, time } => {
            let name = variables.get(*variable).map_or("?", String::as_str);
            let place = Where { series: Some(series), variable: Some(name), time: Some(*time) };
            let message =
                format!("series `{series}` has an infinite value of `{name}` at time {time}");
            Class::Data.about(&message, place)
        }
        CoreError::TimesNotIncreasing { series, next: time, .. }
        | CoreError::TimeNotFinite { series, time } => {
            let place = Where { series: Some(series), time: Some(*time), ..Where::default() };
            Class::Data.about(&error.to_string(), place)
        }
        CoreError::EmptySeries { series }
        | CoreError::WrongSize { series, .. }
        | CoreError::WrongVariableCount { series, .. } => {
            let place = Where { series: Some(series), ..Where::default() };
            Class::Data.about(&error.to_string(), place)
        }
        other => Class::Data.with(&other.to_string()),
    }
}

impl IntoPyErr for CoreError {
    fn into_py_err(self) -> PyErr {
        core_error(&self, &[])
    }
}

impl IntoPyErr for Problem {
    fn into_py_err(self) -> PyErr {
        let hint = self.hint();
        Class::Data.with(&with_hint(self.to_string(), hint.as_deref()))
    }
}

impl IntoPyErr for DataErrors {
    fn into_py_err(self) -> PyErr {
        let not_there = |error: &driftgraph_data::DataError| {
            matches!(error.problem, Problem::NotFound | Problem::Unreadable { .. })
        };
        let class = if self.errors().iter().all(not_there) { Class::File } else { Class::Data };
        let hints = self.hints().join("; ");
        let hint = (!hints.is_empty()).then_some(hints);
        class.with(&with_hint(self.to_string(), hint.as_deref()))
    }
}

impl IntoPyErr for RunError {
    fn into_py_err(self) -> PyErr {
        let message = with_hint(message_of(&self), self.hint());
        Class::RunFolder.with(&message)
    }
}

impl IntoPyErr for PlanError {
    fn into_py_err(self) -> PyErr {
        let message = message_of(&self);
        match self {
            Self::UnknownVariable { variable, .. } => {
                let place = Where { variable: Some(&variable), ..Where::default() };
                Class::Settings.about(&message, place)
            }
            _ => Class::Settings.with(&message),
        }
    }
}

impl IntoPyErr for JobError {
    fn into_py_err(self) -> PyErr {
        match self {
            Self::Plan(error) => error.into_py_err(),
            Self::Run(error) => error.into_py_err(),
            Self::Method(error) => error.into_py_err(),
            Self::OtherSettings { .. } => Class::Settings.with(&message_of(&self)),
            Self::NotComparable { .. } => Class::Question.with(&message_of(&self)),
            Self::Diverged { .. } | Self::NotFinite { .. } | Self::StoppedBeforeModel { .. } => {
                Class::Computation.with(&message_of(&self))
            }
            _ => Class::RunFolder.with(&message_of(&self)),
        }
    }
}

impl IntoPyErr for MethodError {
    fn into_py_err(self) -> PyErr {
        match self {
            Self::Data(error) => error.into_py_err(),
            Self::Plan(error) => error.into_py_err(),
            Self::Bridge(BridgeError::Settings { .. }) => Class::Settings.with(&message_of(&self)),
            Self::Bridge(_) | Self::Fit(_) | Self::Diverged(_) | Self::Stopped => {
                Class::Computation.with(&message_of(&self))
            }
            _ => Class::Question.with(&message_of(&self)),
        }
    }
}

impl IntoPyErr for FittedError {
    fn into_py_err(self) -> PyErr {
        match &self {
            Self::PathNotFinite { .. }
            | Self::NoInstantSolution { .. }
            | Self::NotPredictable { .. }
            | Self::Diverged(_)
            | Self::BridgeRefit(_)
            | Self::SimulatedRefit(_) => Class::Computation.with(&message_of(&self)),
            Self::OutsideSeries { series, time, .. } => {
                let place = Where { series: Some(series), time: Some(*time), variable: None };
                Class::Question.about(&self.to_string(), place)
            }
            Self::UnknownSeries { name, .. } => {
                let place = Where { series: Some(name), ..Where::default() };
                Class::Question.about(&self.to_string(), place)
            }
            Self::UnknownVariable { name, .. } => {
                let place = Where { variable: Some(name), ..Where::default() };
                Class::Question.about(&self.to_string(), place)
            }
            Self::Data(error) => core_error(error, &[]),
            _ => Class::Question.with(&message_of(&self)),
        }
    }
}

impl IntoPyErr for SystemError {
    fn into_py_err(self) -> PyErr {
        match self {
            Self::NotFinite { .. } => Class::Computation.with(&message_of(&self)),
            _ => Class::Question.with(&message_of(&self)),
        }
    }
}

impl IntoPyErr for ViewError {
    fn into_py_err(self) -> PyErr {
        match self {
            Self::Model(error) => error.into_py_err(),
            Self::Truth(error) => error.into_py_err(),
            Self::Picture(error) => error.into_py_err(),
            Self::Run(error) => error.into_py_err(),
            _ => Class::RunFolder.with(&message_of(&self)),
        }
    }
}

impl IntoPyErr for ReportError {
    fn into_py_err(self) -> PyErr {
        Class::Question.with(&message_of(&self))
    }
}
