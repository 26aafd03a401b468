//! Measurements over time: one series with its own times and holes, and a set of such series.

use std::collections::HashSet;
use std::sync::Arc;

use super::experiment::{Amount, InputHold, Marks, Push};
use crate::CoreError;

/// Measurements of all variables along one run, at its own strictly increasing times.
///
/// Values are stored `[time, variable]`, in the user's units, `NaN` where a cell was not observed.
/// No value is infinite, and there is at least one row.
#[derive(Debug, Clone)]
pub struct ObservedSeries {
    name: String,
    n_variables: usize,
    times: Vec<f64>,
    values: Vec<f64>,
    /// What was done to the variables; `None` where they were left alone.
    marks: Option<Arc<Marks>>,
}

impl ObservedSeries {
    /// Checks and wraps measurements; `values` is `[time, variable]` with `NaN` for missing cells.
    pub fn new(
        name: impl Into<String>,
        n_variables: usize,
        times: Vec<f64>,
        values: Vec<f64>,
    ) -> Result<Self, CoreError> {
        let name = name.into();
        Self::check(&name, n_variables, &times, &values)?;
        Ok(Self { name, n_variables, times, values, marks: None })
    }

    /// Whether these measurements make a series, without taking them.
    pub fn check(
        name: &str,
        n_variables: usize,
        times: &[f64],
        values: &[f64],
    ) -> Result<(), CoreError> {
        let series = || name.to_owned();
        if n_variables == 0 {
            return Err(CoreError::NoVariables);
        }
        if times.is_empty() {
            return Err(CoreError::EmptySeries { series: series() });
        }
        if values.len() != times.len() * n_variables {
            let (n_rows, found) = (times.len(), values.len());
            return Err(CoreError::WrongSize { series: series(), n_rows, n_variables, found });
        }
        if let Some(&time) = times.iter().find(|time| !time.is_finite()) {
            return Err(CoreError::TimeNotFinite { series: series(), time });
        }
        if let Some(pair) = times.windows(2).find(|pair| pair[1] <= pair[0]) {
            let (previous, next) = (pair[0], pair[1]);
            return Err(CoreError::TimesNotIncreasing { series: series(), previous, next });
        }
        if let Some(cell) = values.iter().position(|value| value.is_infinite()) {
            let (variable, time) = (cell % n_variables, times[cell / n_variables]);
            return Err(CoreError::ValueInfinite { series: series(), variable, time });
        }
        Ok(())
    }

    /// The series' name, as the user knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of rows, that is, of observation times.
    pub fn n_observations(&self) -> usize {
        self.times.len()
    }

    /// Number of variables, that is, of columns.
    pub fn n_variables(&self) -> usize {
        self.n_variables
    }

    /// Observation times, strictly increasing.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// All values `[time, variable]`, `NaN` where not observed.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The values of one observation time, `NaN` where not observed.
    pub fn row(&self, time_idx: usize) -> &[f64] {
        &self.values[time_idx * self.n_variables..(time_idx + 1) * self.n_variables]
    }

    /// The value of one cell, or `None` where it was not observed.
    pub fn value(&self, time_idx: usize, variable_idx: usize) -> Option<f64> {
        let value = self.row(time_idx)[variable_idx];
        (!value.is_nan()).then_some(value)
    }

    /// Number of cells that were observed.
    pub fn n_observed(&self) -> usize {
        self.values.iter().filter(|value| !value.is_nan()).count()
    }

    /// The same times with other values of the same shape.
    pub(crate) fn with_values(&self, values: Vec<f64>) -> Self {
        debug_assert_eq!(values.len(), self.values.len(), "scaling keeps the shape");
        Self { values, ..self.clone() }
    }

    /// The same series under another name.
    #[must_use]
    pub fn renamed(&self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self.clone() }
    }

    /// What was done to the variables; `None` where they were left alone.
    pub(crate) fn marks(&self) -> Option<&Marks> {
        self.marks.as_deref()
    }

    pub(crate) fn with_marks(self, marks: Option<Arc<Marks>>) -> Self {
        Self { marks, ..self }
    }

    /// Whether something was done to a variable in a row, or in the step into it.
    pub fn is_handled(&self, time_idx: usize, variable_idx: usize) -> bool {
        let cell = time_idx * self.n_variables + variable_idx;
        self.marks().is_some_and(|marks| {
            let time = self.times[time_idx];
            marks.cells[cell] != 0
                || marks.pushes.iter().any(|push| {
                    push.variable == variable_idx && push.from <= time && time <= push.to
                })
        })
    }

    /// What was done to the variables as bytes, to tell one experiment from another; `None` where nothing was.
    pub fn what_was_done(&self) -> Option<Vec<u8>> {
        let marks = self.marks()?;
        let mut bytes = marks.cells.clone();
        for push in &marks.pushes {
            bytes.extend([push.variable as u64, push.amount as u64].map(u64::to_le_bytes).concat());
            bytes.extend([push.from, push.to].map(f64::to_le_bytes).concat());
        }
        Some(bytes)
    }

    /// Some consecutive rows under a name of their own.
    pub(crate) fn with_rows(&self, name: String, rows: std::ops::Range<usize>) -> Self {
        let cells = rows.start * self.n_variables..rows.end * self.n_variables;
        let marks = self.marks().map(|marks| {
            let (cells, pushes) = (marks.cells[cells.clone()].to_vec(), marks.pushes.clone());
            Arc::new(Marks { cells, pushes })
        });
        Self {
            name,
            n_variables: self.n_variables,
            times: self.times[rows].to_vec(),
            values: self.values[cells].to_vec(),
            marks,
        }
    }

    /// The same rows with some of the variables, in this order; `amounts` has the new number of each amount.
    pub(crate) fn with_columns(&self, kept: &[usize], amounts: &[Option<usize>]) -> Self {
        fn columns<T: Copy>(values: &[T], d: usize, kept: &[usize]) -> Vec<T> {
            values.chunks_exact(d).flat_map(|row| kept.iter().map(|&idx| row[idx])).collect()
        }
        let d = self.n_variables;
        let marks = self.marks().map(|marks| {
            let push = |push: &Push| {
                let variable = kept.iter().position(|&idx| idx == push.variable)?;
                Some(Push { variable, amount: amounts[push.amount]?, ..*push })
            };
            let pushes = marks.pushes.iter().filter_map(push).collect();
            Arc::new(Marks { cells: columns(&marks.cells, d, kept), pushes })
        });
        Self {
            name: self.name.clone(),
            n_variables: kept.len(),
            times: self.times.clone(),
            values: columns(&self.values, d, kept),
            marks,
        }
    }
}

/// Named variables measured along one or more series, each with its own times.
#[derive(Debug, Clone)]
pub struct SeriesSet {
    variables: Vec<String>,
    series: Vec<ObservedSeries>,
    /// Variables that were set from outside, increasing.
    inputs: Vec<usize>,
    input_hold: InputHold,
    /// By how much variables are pushed is learned once for each of these.
    amounts: Vec<Amount>,
    /// A variable whose values are numbers of words, from 1.
    words: Option<(usize, Arc<[String]>)>,
}

impl SeriesSet {
    /// Checks that names are unique and that every series has every variable.
    pub fn new(variables: Vec<String>, series: Vec<ObservedSeries>) -> Result<Self, CoreError> {
        Self::check_names(&variables, series.iter().map(ObservedSeries::name))?;
        if let Some(odd) = series.iter().find(|series| series.n_variables != variables.len()) {
            return Err(CoreError::WrongVariableCount {
                series: odd.name.clone(),
                expected: variables.len(),
                found: odd.n_variables,
            });
        }
        let (inputs, amounts) = (Vec::new(), Vec::new());
        let input_hold = InputHold::default();
        Ok(Self { variables, series, inputs, input_hold, amounts, words: None })
    }

    /// Whether there are variables and series, each with a name of its own.
    pub fn check_names<'a>(
        variables: &[String],
        series: impl ExactSizeIterator<Item = &'a str>,
    ) -> Result<(), CoreError> {
        check_variables(variables)?;
        if series.len() == 0 {
            return Err(CoreError::NoSeries);
        }
        check_names("series", "series", series)
    }

    /// Variable names in column order.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The series in file order.
    pub fn series(&self) -> &[ObservedSeries] {
        &self.series
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.variables.len()
    }

    /// Fewest series of which whole ones are held out: of fewer, leaving one out leaves too little, and
    /// blocks of time are held out instead.
    pub const MIN_HELD_OUT_WHOLE: usize = 4;

    /// Number of series, N.
    pub fn n_series(&self) -> usize {
        self.series.len()
    }

    /// Number of rows over all series.
    pub fn n_rows(&self) -> usize {
        self.series.iter().map(ObservedSeries::n_observations).sum()
    }

    /// Number of cells that were not observed, over all series.
    pub fn n_missing(&self) -> usize {
        let n_observed: usize = self.series.iter().map(ObservedSeries::n_observed).sum();
        self.n_rows() * self.n_variables() - n_observed
    }

    /// The observed values of one variable over all series, in file order.
    pub fn observed_values(&self, variable_idx: usize) -> impl Iterator<Item = f64> {
        self.series
            .iter()
            .flat_map(move |series| {
                series.values.iter().skip(variable_idx).step_by(series.n_variables).copied()
            })
            .filter(|value| !value.is_nan())
    }

    /// The same set, in which the values 1, 2, ... of a variable stand for words.
    #[must_use]
    pub fn with_words(self, variable_idx: usize, words: Vec<String>) -> Self {
        Self { words: Some((variable_idx, words.into())), ..self }
    }

    /// The word that a value of a variable stands for; `None` where it is a number like others.
    pub fn word(&self, variable_idx: usize, value: f64) -> Option<&str> {
        let (_, words) = self.words.as_ref().filter(|(own, _)| *own == variable_idx)?;
        let place = words.iter().enumerate().position(|(idx, _)| (idx + 1) as f64 == value)?;
        Some(&words[place])
    }

    /// Variables that were set from outside at all times, increasing: they drive, and are not driven.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// What inputs do between rows.
    pub fn input_hold(&self) -> InputHold {
        self.input_hold
    }

    /// Pushes whose amounts are to be learned.
    pub fn amounts(&self) -> &[Amount] {
        &self.amounts
    }

    /// Whether variables other than inputs were set or pushed in some series.
    pub fn has_interventions(&self) -> bool {
        let is_input = |cell: usize| self.inputs.contains(&(cell % self.n_variables()));
        self.series.iter().filter_map(ObservedSeries::marks).any(|marks| {
            let mut cells = marks.cells.iter().enumerate();
            !marks.pushes.is_empty() || cells.any(|(cell, mark)| *mark != 0 && !is_input(cell))
        })
    }

    /// Whether anything was done to the system: inputs, or interventions.
    pub fn has_experiment(&self) -> bool {
        !self.inputs.is_empty() || self.has_interventions()
    }

    /// The same values as if nobody had done anything: for methods that know of no experiment.
    #[must_use]
    pub fn without_experiment(&self) -> Self {
        let series = self.series.iter().map(|series| series.clone().with_marks(None)).collect();
        self.handled(series, Vec::new(), self.input_hold, Vec::new())
    }

    /// The same set with what was done to it.
    pub(super) fn handled(
        &self,
        series: Vec<ObservedSeries>,
        inputs: Vec<usize>,
        input_hold: InputHold,
        amounts: Vec<Amount>,
    ) -> Self {
        Self { series, inputs, input_hold, amounts, ..self.clone() }
    }

    /// The same series with some of the variables, in this order.
    pub(crate) fn with_variables(&self, kept: &[usize]) -> Result<Self, CoreError> {
        let variables = kept.iter().map(|&idx| self.variables[idx].clone()).collect();
        let place = |variable: usize| kept.iter().position(|&idx| idx == variable);
        let mut amounts = Vec::new();
        let numbers: Vec<Option<usize>> = (self.amounts.iter())
            .map(|amount| {
                amounts.push(Amount { variable: place(amount.variable)?, ..*amount });
                Some(amounts.len() - 1)
            })
            .collect();
        let series = self.series.iter().map(|one| one.with_columns(kept, &numbers)).collect();
        let mut inputs: Vec<usize> = self.inputs.iter().filter_map(|&idx| place(idx)).collect();
        inputs.sort_unstable();
        let words = self.words.clone();
        let words = words.and_then(|(idx, words)| Some((place(idx)?, words)));
        let input_hold = self.input_hold;
        Ok(Self { inputs, input_hold, amounts, words, ..Self::new(variables, series)? })
    }

    /// The same series without so many rows at the beginning of each.
    #[must_use]
    pub fn without_leading_rows(&self, n_rows: &[usize]) -> Self {
        let series = (self.series.iter().zip(n_rows))
            .map(|(series, &n)| series.with_rows(series.name.clone(), n..series.times.len()))
            .collect();
        Self { series, ..self.clone() }
    }

    /// The same variables with only the chosen series, in the given order.
    pub fn subset(&self, series_idx: &[usize]) -> Result<Self, CoreError> {
        self.with_series(series_idx.iter().map(|&idx| self.series[idx].clone()).collect())
    }

    /// The same variables with other series.
    pub fn with_series(&self, series: Vec<ObservedSeries>) -> Result<Self, CoreError> {
        let (inputs, amounts) = (self.inputs.clone(), self.amounts.clone());
        let (input_hold, words) = (self.input_hold, self.words.clone());
        Ok(Self {
            inputs,
            input_hold,
            amounts,
            words,
            ..Self::new(self.variables.clone(), series)?
        })
    }

    /// The same names and times with every series' values replaced by `change`.
    pub(crate) fn map_series(&self, change: impl Fn(&ObservedSeries) -> ObservedSeries) -> Self {
        Self { series: self.series.iter().map(change).collect(), ..self.clone() }
    }
}

/// Refuses names of variables that no set may have.
pub(crate) fn check_variables(variables: &[String]) -> Result<(), CoreError> {
    if variables.is_empty() {
        return Err(CoreError::NoVariables);
    }
    check_names("variable", "variables", variables.iter().map(String::as_str))
}

fn check_names<'a>(
    what: &'static str,
    plural: &'static str,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), CoreError> {
    let mut seen = HashSet::new();
    for (idx, name) in names.enumerate() {
        if name.trim().is_empty() {
            return Err(CoreError::EmptyName { what, position: idx + 1 });
        }
        if !seen.insert(name) {
            return Err(CoreError::DuplicateName { what: plural, name: name.to_owned() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(times: &[f64], values: &[f64]) -> Result<ObservedSeries, CoreError> {
        ObservedSeries::new("a", 2, times.to_vec(), values.to_vec())
    }

    #[test]
    fn cells_without_a_value_are_missing() {
        let series = series(&[0.0, 1.5], &[1.0, f64::NAN, 3.0, 4.0]).unwrap();
        assert_eq!(series.value(0, 0), Some(1.0));
        assert_eq!(series.value(0, 1), None);
        assert_eq!(series.n_observed(), 3);
    }

    #[test]
    fn times_must_increase_strictly_and_be_finite() {
        let twice = series(&[1.0, 1.0], &[0.0; 4]).unwrap_err();
        assert!(matches!(twice, CoreError::TimesNotIncreasing { .. }));
        let endless = series(&[1.0, f64::INFINITY], &[0.0; 4]).unwrap_err();
        assert!(matches!(endless, CoreError::TimeNotFinite { .. }));
    }

    #[test]
    fn infinite_values_are_refused_with_their_place() {
        let error = series(&[0.0, 1.5], &[1.0, 2.0, 3.0, f64::NEG_INFINITY]).unwrap_err();
        let expected = CoreError::ValueInfinite { series: "a".into(), variable: 1, time: 1.5 };
        assert_eq!(error, expected);
    }

    #[test]
    fn names_must_be_present_and_unique() {
        let one = || vec![series(&[0.0], &[1.0, 2.0]).unwrap()];
        let twice = SeriesSet::new(vec!["x".into(), "x".into()], one()).unwrap_err();
        assert!(matches!(twice, CoreError::DuplicateName { what: "variables", .. }));
        let blank = SeriesSet::new(vec!["x".into(), " ".into()], one()).unwrap_err();
        assert_eq!(blank, CoreError::EmptyName { what: "variable", position: 2 });
        let same = SeriesSet::new(vec!["x".into(), "y".into()], [one(), one()].concat());
        assert!(matches!(same.unwrap_err(), CoreError::DuplicateName { what: "series", .. }));
    }

    #[test]
    fn observed_values_of_a_variable_skip_holes_and_cross_series() {
        let first = series(&[0.0, 1.0], &[1.0, 2.0, 3.0, f64::NAN]).unwrap();
        let second = ObservedSeries::new("b", 2, vec![9.0], vec![5.0, 6.0]).unwrap();
        let set = SeriesSet::new(vec!["x".into(), "y".into()], vec![first, second]).unwrap();
        assert_eq!(set.observed_values(1).collect::<Vec<_>>(), [2.0, 6.0]);
        assert_eq!((set.n_rows(), set.n_missing()), (3, 1));
    }
}
