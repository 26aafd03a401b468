//! Writing what was done into one series: values that were set, steps that are left out, pushes.

use std::sync::Arc;

use super::{Amount, InputHold, InterventionKind, LEFT_OUT, Marks, Push, SET, Window};
use crate::ObservedSeries;

/// A series whose values and marks are being written.
pub(super) struct Handled<'a> {
    times: &'a [f64],
    n_variables: usize,
    values: Vec<f64>,
    marks: Marks,
}

impl<'a> Handled<'a> {
    pub(super) fn new(series: &'a ObservedSeries) -> Self {
        let values = series.values().to_vec();
        let marks = Marks { cells: vec![0; values.len()], pushes: Vec::new() };
        Self { times: series.times(), n_variables: series.n_variables(), values, marks }
    }

    fn column(&self, variable: usize) -> Vec<f64> {
        self.values.iter().skip(variable).step_by(self.n_variables).copied().collect()
    }

    /// Fills the holes of an input, and marks all of it as set.
    pub(super) fn set_input(&mut self, variable: usize, hold: InputHold) -> Result<(), ()> {
        let filled = filled(self.times, &self.column(variable), hold).ok_or(())?;
        for (row, value) in filled.into_iter().enumerate() {
            let at = row * self.n_variables + variable;
            self.values[at] = value;
            self.marks.cells[at] = LEFT_OUT | SET;
        }
        Ok(())
    }

    /// One window; one that covers no step does nothing.
    pub(super) fn add(&mut self, window: &Window, amounts: &[Amount]) -> Result<(), ()> {
        let Window { amount, from, to, .. } = *window;
        let times = self.times;
        let covered = |row: usize| row > 0 && times[row - 1] < to && times[row] >= from;
        if !(0..times.len()).any(covered) {
            return Ok(());
        }
        if !amount.kind.sets() {
            let number = amounts.iter().position(|known| *known == amount);
            let number = number.expect("amounts are those of all windows that push");
            self.marks.pushes.push(Push { variable: amount.variable, amount: number, from, to });
            return Ok(());
        }
        let inside: Vec<usize> =
            (0..times.len()).filter(|&row| from <= times[row] && times[row] <= to).collect();
        let values = self.set_values(&amount, &inside)?;
        for (row, value) in inside.into_iter().zip(values) {
            let at = row * self.n_variables + amount.variable;
            self.values[at] = value;
            self.marks.cells[at] |= SET;
        }
        for row in (0..times.len()).filter(|&row| covered(row)) {
            self.marks.cells[row * self.n_variables + amount.variable] |= LEFT_OUT;
        }
        Ok(())
    }

    /// The values of a variable in the rows in which it was set.
    fn set_values(&self, amount: &Amount, rows: &[usize]) -> Result<Vec<f64>, ()> {
        let given = match amount.kind {
            InterventionKind::Knockout => Some(amount.value.unwrap_or(0.0)),
            _ => amount.value,
        };
        if let Some(value) = given {
            return Ok(vec![value; rows.len()]);
        }
        let at = |row: &usize| row * self.n_variables + amount.variable;
        let times: Vec<f64> = rows.iter().map(|&row| self.times[row]).collect();
        let measured: Vec<f64> = rows.iter().map(|row| self.values[at(row)]).collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        filled(&times, &measured, InputHold::Previous).ok_or(())
    }

    pub(super) fn finish(self, series: &ObservedSeries) -> ObservedSeries {
        let is_free =
            self.marks.pushes.is_empty() && self.marks.cells.iter().all(|mark| *mark == 0);
        let marks = (!is_free).then(|| Arc::new(self.marks));
        series.with_values(self.values).with_marks(marks)
    }
}

/// Values with their holes filled; `None` where all are holes.
fn filled(times: &[f64], values: &[f64], hold: InputHold) -> Option<Vec<f64>> {
    let known: Vec<usize> = (0..values.len()).filter(|&row| !values[row].is_nan()).collect();
    let (&first, &last) = (known.first()?, known.last()?);
    let value = |row: usize| {
        let after = known.partition_point(|&other| other <= row);
        if row <= first {
            return values[first];
        }
        let before = known[after - 1];
        if hold == InputHold::Previous || row >= last || before == row {
            return values[before];
        }
        let next = known[after];
        let share = (times[row] - times[before]) / (times[next] - times[before]);
        values[before] + share * (values[next] - values[before])
    };
    Some((0..values.len()).map(value).collect())
}
