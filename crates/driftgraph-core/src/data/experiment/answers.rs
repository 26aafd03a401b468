//! What was done to series, for copies of their values and for answers: what is known where, and what goes on.

use std::sync::Arc;

use super::{Amount, InputHold, LEFT_OUT, Marks, Push, SET};
use crate::{ObservedSeries, SeriesSet};

/// What was done to a set of series, for copies of their values that are kept elsewhere.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Done {
    inputs: Vec<usize>,
    input_hold: InputHold,
    amounts: Vec<Amount>,
    series: Vec<Option<Marks>>,
}

impl SeriesSet {
    /// What was done to the series; `None` where nothing was.
    pub fn done(&self) -> Option<Done> {
        let series: Vec<Option<Marks>> =
            self.series().iter().map(|series| series.marks().cloned()).collect();
        if self.inputs().is_empty() && series.iter().all(Option::is_none) {
            return None;
        }
        let (inputs, amounts) = (self.inputs().to_vec(), self.amounts().to_vec());
        Some(Done { inputs, input_hold: self.input_hold(), amounts, series })
    }

    /// A copy of the values with what was done to them; `None` where that belongs to other series.
    pub fn with_done(&self, done: &Done) -> Option<Self> {
        let d = self.n_variables();
        let Done { inputs, input_hold, amounts, series } = done;
        let in_range = inputs.iter().chain(amounts.iter().map(|amount| &amount.variable));
        if series.len() != self.n_series() || !in_range.into_iter().all(|&idx| idx < d) {
            return None;
        }
        let marked = |(one, marks): (&ObservedSeries, &Option<Marks>)| {
            let fits = |marks: &Marks| {
                let known = |push: &Push| push.variable < d && push.amount < amounts.len();
                marks.cells.len() == one.values().len() && marks.pushes.iter().all(known)
            };
            let marks = marks.as_ref();
            marks.is_none_or(fits).then(|| one.clone().with_marks(marks.cloned().map(Arc::new)))
        };
        let series = self.series().iter().zip(series).map(marked).collect::<Option<Vec<_>>>()?;
        Some(self.handled(series, inputs.clone(), *input_hold, amounts.clone()))
    }
}

/// A stretch of time in which the value of a variable is known, as it was set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetPiece {
    /// The variable.
    pub variable: usize,
    /// Its value at the beginning.
    pub value: f64,
    /// By how much it grows per unit of time.
    pub slope: f64,
    /// When it begins.
    pub from: f64,
    /// When it ends; infinite for what is still set in the last row.
    pub to: f64,
}

impl SeriesSet {
    /// When and to what the variables of a series were set: inputs, knock-outs and holds. What is set in the last row stays so.
    pub fn set_pieces(&self, series: usize) -> Vec<SetPiece> {
        let series = &self.series()[series];
        let (d, times) = (series.n_variables(), series.times());
        let Some(marks) = series.marks() else { return Vec::new() };
        let is_set = |row: usize, variable: usize| marks.cells[row * d + variable] & SET != 0;
        let mut pieces = Vec::new();
        for variable in 0..d {
            let is_line =
                self.input_hold() == InputHold::Linear && self.inputs().contains(&variable);
            for row in (0..times.len()).filter(|&row| is_set(row, variable)) {
                let (value, from) = (series.row(row)[variable], times[row]);
                let next = times.get(row + 1).copied();
                let goes_on =
                    next.is_some() && marks.cells[(row + 1) * d + variable] & LEFT_OUT != 0;
                let slope = match next {
                    Some(next) if is_line => {
                        (series.row(row + 1)[variable] - value) / (next - from)
                    }
                    _ => 0.0,
                };
                let to = match next {
                    None => f64::INFINITY,
                    Some(next) if goes_on => next,
                    Some(_) => from,
                };
                pieces.push(SetPiece { variable, value, slope, from, to });
            }
        }
        pieces
    }
}

impl SeriesSet {
    /// Inputs at their means over the data, all the time: what is assumed of paths that start in no series.
    pub fn mean_pieces(&self) -> Vec<SetPiece> {
        let mean = |variable: usize| {
            let values: Vec<f64> = self.observed_values(variable).collect();
            values.iter().sum::<f64>() / values.len().max(1) as f64
        };
        let piece = |&variable: &usize| {
            let (from, to) = (f64::NEG_INFINITY, f64::INFINITY);
            SetPiece { variable, value: mean(variable), slope: 0.0, from, to }
        };
        self.inputs().iter().map(piece).collect()
    }
}
