//! Series between Python and Rust: arrays copied once, files read as the binary reads them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use driftgraph_core::{Experiment, InputHold, ObservedSeries, SeriesSet, SignatureGraph};
use driftgraph_data::interventions::with_experiment;
use driftgraph_data::summary::Summary;
use driftgraph_data::write::write_series;
use driftgraph_data::{Loaded, ReadOptions, TimeAxis, TimeUnit, fingerprint, load};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::arrays::matrix;
use crate::errors::{Class, OrRaise, core_error};
use crate::python_words::in_python_words;

/// A checked set of series, and where it came from.
#[pyclass(frozen, module = "driftgraph._native")]
#[derive(Debug)]
pub(crate) struct SeriesData {
    pub(crate) loaded: Loaded,
    pub(crate) options: ReadOptions,
}

impl SeriesData {
    pub(crate) fn set(&self) -> &SeriesSet {
        &self.loaded.data
    }

    pub(crate) fn of_set(data: SeriesSet, truth: Option<SignatureGraph>) -> Self {
        let time_axis = TimeAxis { unit: TimeUnit::Given, origin: None, named_unit: None };
        let loaded = Loaded {
            data,
            experiment: Experiment::default(),
            time_axis,
            truth,
            files: Vec::new(),
            time_column: None,
            series_column: None,
            notices: Vec::new(),
        };
        Self { loaded, options: ReadOptions::default() }
    }

    fn series(&self, idx: usize) -> PyResult<&ObservedSeries> {
        let unknown = || Class::Question.with(&format!("there is no series number {idx}"));
        self.set().series().get(idx).ok_or_else(unknown)
    }
}

/// What was done to a system, as Python says it.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ExperimentRequest {
    inputs: Vec<String>,
    input_hold: InputHold,
    interventions: Option<PathBuf>,
}

#[pymethods]
impl SeriesData {
    /// Takes arrays `(time,)` and `(time, variable)` per series; `NaN` is a missing cell.
    #[new]
    #[pyo3(signature = (variables, names, times, values, unit="given", origin=None))]
    fn new(
        variables: Vec<String>,
        names: Vec<String>,
        times: Vec<PyReadonlyArray1<'_, f64>>,
        values: Vec<PyReadonlyArray2<'_, f64>>,
        unit: &str,
        origin: Option<String>,
    ) -> PyResult<Self> {
        let mut series = Vec::with_capacity(names.len());
        for ((name, times), values) in names.into_iter().zip(&times).zip(&values) {
            let (times, values) = (times.as_slice()?.to_vec(), values.as_slice()?.to_vec());
            let one = ObservedSeries::new(name, variables.len(), times, values);
            series.push(one.map_err(|error| core_error(&error, &variables))?);
        }
        let mut data = Self::of_set(SeriesSet::new(variables, series).or_raise()?, None);
        data.loaded.time_axis = TimeAxis { unit: time_unit(unit)?, origin, named_unit: None };
        Ok(data)
    }

    /// Reads files and folders; `options` are those of the command line, underscores for dashes.
    #[staticmethod]
    fn read(py: Python<'_>, paths: Vec<PathBuf>, options: &str) -> PyResult<Self> {
        let options: ReadOptions = serde_json::from_str(options)
            .map_err(|error| Class::Question.with(&format!("an option of reading: {error}")))?;
        let loaded = py.detach(|| load(&paths, &options)).or_raise()?;
        Ok(Self { loaded, options })
    }

    /// The same data with what was done to them: `asked` is JSON with `inputs`, `input_hold` and `interventions`, a file.
    fn with_experiment(&self, asked: &str) -> PyResult<Self> {
        let asked: ExperimentRequest = serde_json::from_str(asked)
            .map_err(|error| Class::Question.with(&format!("inputs or interventions: {error}")))?;
        let options = ReadOptions {
            inputs: asked.inputs,
            input_hold: asked.input_hold,
            interventions: asked.interventions,
            ..self.options.clone()
        };
        let mut loaded = self.loaded.clone();
        let mut notices = Vec::new();
        (loaded.data, loaded.experiment) =
            with_experiment(loaded.data, &options, &loaded.time_axis, &mut notices).or_raise()?;
        loaded.notices.extend(notices);
        Ok(Self { loaded, options })
    }

    /// Names of the variables.
    #[getter]
    fn variables(&self) -> Vec<String> {
        self.set().variables().to_vec()
    }

    /// Names of the series.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.set().series().iter().map(|series| series.name().to_owned()).collect()
    }

    /// Times of one series.
    fn times<'py>(&self, py: Python<'py>, idx: usize) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.series(idx)?.times().to_vec().into_pyarray(py))
    }

    /// Values of one series, `(time, variable)`.
    fn values<'py>(&self, py: Python<'py>, idx: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let series = self.series(idx)?;
        let shape = (series.n_observations(), series.n_variables());
        Ok(matrix(py, shape, series.values().to_vec()))
    }

    /// The true graph, where the file carries one.
    #[getter]
    fn truth<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<bool>>> {
        let truth = self.loaded.truth.as_ref()?;
        let n = truth.n_variables();
        Some(matrix(py, (n, n), truth.matrix().to_vec()))
    }

    /// The files that were read; none for arrays.
    #[getter]
    fn files(&self) -> Vec<PathBuf> {
        self.loaded.files.clone()
    }

    /// What was decided while reading, in whole sentences.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.loaded.notices.iter().map(|notice| in_python_words(notice)).collect()
    }

    /// Unit of time and the instant of time 0.
    #[getter]
    fn time_axis(&self) -> (&'static str, Option<String>) {
        (unit_name(self.loaded.time_axis.unit), self.loaded.time_axis.origin.clone())
    }

    /// A short name for the contents.
    #[getter]
    fn fingerprint(&self) -> String {
        fingerprint(self.set())
    }

    /// What `driftgraph check` says, as JSON.
    fn summary(&self) -> PyResult<String> {
        let mut summary = Summary::new(&self.loaded);
        for sentence in summary.warnings.iter_mut().chain(&mut summary.notices) {
            *sentence = in_python_words(sentence);
        }
        let summary = serde_json::to_string(&summary);
        summary.map_err(|error| Class::Computation.with(&error.to_string()))
    }

    /// Writes `series,time,<variables>` with all digits.
    fn write(&self, path: PathBuf) -> PyResult<()> {
        let mut out = BufWriter::new(File::create(path)?);
        write_series(&mut out, self.set())?;
        Ok(out.flush()?)
    }
}

/// Whether arrays make a set of series; nothing is copied.
#[pyfunction]
pub(crate) fn check_series(
    variables: Vec<String>,
    names: Vec<String>,
    times: Vec<PyReadonlyArray1<'_, f64>>,
    values: Vec<PyReadonlyArray2<'_, f64>>,
) -> PyResult<()> {
    SeriesSet::check_names(&variables, names.iter().map(String::as_str)).or_raise()?;
    for ((name, times), values) in names.iter().zip(&times).zip(&values) {
        ObservedSeries::check(name, variables.len(), times.as_slice()?, values.as_slice()?)
            .map_err(|error| core_error(&error, &variables))?;
    }
    Ok(())
}

/// Names of the columns of time and series among the columns of a frame, as they are found in files.
#[pyfunction]
pub(crate) fn key_columns(columns: Vec<String>) -> (Option<String>, Option<String>) {
    let [time, series] = driftgraph_data::key_columns_by_name(&columns);
    let name = |idx: usize| columns[idx].clone();
    (time.map(name), series.map(name))
}

/// Times, their unit, and the instant of time 0.
type CountedDates<'py> = (Bound<'py, PyArray1<f64>>, &'static str, Option<String>);

/// Dates (nanoseconds since 1970) as numbers, their unit, and the instant of time 0.
#[pyfunction]
pub(crate) fn count_dates<'py>(
    py: Python<'py>,
    stamps: PyReadonlyArray1<'py, i64>,
) -> PyResult<CountedDates<'py>> {
    let (numbers, axis) = driftgraph_data::count_dates(stamps.as_slice()?.to_vec());
    Ok((numbers.into_pyarray(py), unit_name(axis.unit), axis.origin))
}

/// A time as the user writes it, as the number that the data have for it.
#[pyfunction]
pub(crate) fn read_time(unit: &str, origin: Option<String>, text: &str) -> PyResult<f64> {
    let axis = TimeAxis { unit: time_unit(unit)?, origin, named_unit: None };
    axis.read_time(text).map_err(|problem| Class::Question.with(&problem.to_string()))
}

/// A length of time as the user writes it, in the unit of the data.
#[pyfunction]
pub(crate) fn read_span(unit: &str, origin: Option<String>, text: &str) -> PyResult<f64> {
    let axis = TimeAxis { unit: time_unit(unit)?, origin, named_unit: None };
    axis.read_span(text).map_err(|problem| Class::Question.with(&problem.to_string()))
}

const UNITS: [(TimeUnit, &str); 5] = [
    (TimeUnit::Given, "given"),
    (TimeUnit::Seconds, "seconds"),
    (TimeUnit::Minutes, "minutes"),
    (TimeUnit::Hours, "hours"),
    (TimeUnit::Days, "days"),
];

fn unit_name(unit: TimeUnit) -> &'static str {
    UNITS.into_iter().find(|(known, _)| *known == unit).map_or("given", |(_, name)| name)
}

fn time_unit(name: &str) -> PyResult<TimeUnit> {
    let unit = UNITS.into_iter().find(|(_, known)| *known == name).map(|(unit, _)| unit);
    unit.ok_or_else(|| Class::Data.with(&format!("there is no unit of time `{name}`")))
}
