//! The rows of one file, roles known and numbers read, before they are sorted into series.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::PathBuf;

use crate::error::{DataError, Place};
use crate::numbers::NumberStyle;
use crate::options::{Duplicates, ReadOptions};
use crate::problem::Problem;
use crate::roles;
use crate::source;
use crate::time::RawTimes;
use crate::time_names::TimeName;

/// One file's rows in file order, one column per variable.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub(crate) file: PathBuf,
    pub(crate) variables: Vec<String>,
    pub(crate) key_columns: KeyColumns,
    /// Names of the series, or `None` where the file has no series column.
    pub(crate) series: Option<NameColumn>,
    pub(crate) times: RawTimes,
    /// `[row, variable]`, `NaN` where missing.
    pub(crate) values: Vec<f64>,
    /// Line of the file that each row came from, from 1.
    pub(crate) lines: Vec<u32>,
    /// What was decided while reading, in whole sentences.
    pub(crate) notices: Vec<String>,
    /// What the numbers of the column of words stand for, from 1.
    pub(crate) words: Vec<String>,
}

impl Rows {
    /// Numbers the words of this file as those of all files, to which new ones are added.
    pub(crate) fn number_words(&mut self, column: &str, all: &mut Vec<String>) {
        let place = self.variables.iter().position(|name| name == column);
        // A column of numbers has none.
        let Some(place) = place.filter(|_| !self.words.is_empty()) else { return };
        let number = |word: &String| {
            let known = all.iter().position(|other| other == word);
            known.unwrap_or_else(|| {
                all.push(word.clone());
                all.len() - 1
            })
        };
        let numbers: Vec<usize> = self.words.iter().map(number).collect();
        let n_variables = self.variables.len();
        for value in self.values.iter_mut().skip(place).step_by(n_variables) {
            if !value.is_nan() {
                *value = (numbers[*value as usize - 1] + 1) as f64;
            }
        }
    }

    /// A series column that has another whole number in every row: it counts rows, and names no series.
    pub(crate) fn row_numbers(&self) -> Option<&str> {
        /// So few rows may well be as many series.
        const FEWEST: usize = 3;
        let names = &self.series.as_ref()?.names;
        let n_rows = self.lines.len();
        let counts = n_rows >= FEWEST
            && names.len() == n_rows
            && names.iter().all(|name| name.parse::<i64>().is_ok());
        let name = self.key_columns.series.as_deref()?;
        // Who writes `series` means it.
        (counts && !name.to_ascii_lowercase().starts_with("series")).then_some(name)
    }

    /// A variable that looks like the name of the series: few whole numbers, and no time twice for any of them.
    pub(crate) fn label_column(&self) -> Option<String> {
        let (n_rows, n_variables) = (self.lines.len(), self.variables.len());
        let candidates = (0..n_variables).filter_map(|variable| {
            let label = |row: usize| self.values[row * n_variables + variable];
            let compare = |&a: &usize, &b: &usize| {
                label(a).total_cmp(&label(b)).then_with(|| self.times.compare(a, b))
            };
            // A missing cell has no whole part either.
            if (0..n_rows).any(|row| label(row).fract() != 0.0) {
                return None;
            }
            let mut order: Vec<usize> = (0..n_rows).collect();
            order.sort_unstable_by(compare);
            let distinct = 1 + order.windows(2).filter(|p| label(p[0]) != label(p[1])).count();
            let unique = order.windows(2).all(|pair| compare(&pair[0], &pair[1]).is_ne());
            (unique && distinct > 1 && 2 * distinct <= n_rows).then_some((distinct, variable))
        });
        candidates.min().map(|(_, variable)| self.variables[variable].clone())
    }
}

/// Names of the columns that say which series and time a row belongs to; an archive of arrays has none.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyColumns {
    pub(crate) time: Option<String>,
    pub(crate) series: Option<String>,
    /// The unit that the name of the time column gives.
    pub(crate) unit: Option<String>,
}

impl KeyColumns {
    /// The columns at these places; without one of times, rows are counted.
    pub(crate) fn new(columns: &[String], time: Option<usize>, series: Option<usize>) -> Self {
        let name = |idx: usize| columns[idx].clone();
        let unit = time.and_then(|idx| TimeName::of(&columns[idx])?.unit);
        let time = time.map_or_else(|| ROW_NUMBER.to_owned(), name);
        Self { time: Some(time), series: series.map(name), unit }
    }
}

/// What stands for the name of the time column where rows are equally spaced.
pub const ROW_NUMBER: &str = "the number of the row";

/// Times of rows that are equally spaced: 0, 1, 2, ... for each combination of names.
pub(crate) fn even_times(n_rows: usize, names: &[Option<&NameColumn>]) -> RawTimes {
    let mut counts: HashMap<Vec<u32>, u32> = HashMap::new();
    let times = (0..n_rows).map(|row| {
        let key = names.iter().flatten().map(|column| column.name_idx[row]).collect();
        let count = counts.entry(key).or_default();
        *count += 1;
        f64::from(*count - 1)
    });
    RawTimes::Numbers(times.collect())
}

/// Rows are numbered with 32 bits, which halves the memory of a large table's bookkeeping.
pub(crate) fn check_row_count(n_rows: usize) -> Result<(), Problem> {
    if u32::try_from(n_rows).is_ok() { Ok(()) } else { Err(Problem::TooManyRows) }
}

/// A column of names, each distinct name stored once.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameColumn {
    pub(crate) names: Vec<String>,
    pub(crate) name_idx: Vec<u32>,
    by_name: HashMap<String, u32>,
}

impl NameColumn {
    /// Adds the next row's name.
    pub(crate) fn push(&mut self, name: &str) {
        if self.push_again(name) {
            return;
        }
        let idx = self.by_name.get(name).copied().unwrap_or_else(|| {
            self.names.push(name.to_owned());
            let idx = self.names.len() as u32 - 1;
            self.by_name.insert(name.to_owned(), idx);
            idx
        });
        self.name_idx.push(idx);
    }

    /// Adds the next row's word and gives its number, from 1; `NaN` where there is none.
    pub(crate) fn number(&mut self, word: &str, style: &NumberStyle) -> f64 {
        if style.is_missing(word) {
            return f64::NAN;
        }
        self.push(word);
        self.name_idx.last().map_or(f64::NAN, |idx| f64::from(idx + 1))
    }

    /// Adds the next row's name if it is that of the row before, as rows of one series usually follow each other.
    pub(crate) fn push_again(&mut self, name: &str) -> bool {
        let last = self.name_idx.last().copied();
        let again = last.filter(|&last| self.names[last as usize] == name);
        self.name_idx.extend(again);
        again.is_some()
    }
}

/// One file's cells in file order, one row per cell.
#[derive(Debug, Clone)]
pub(crate) struct LongRows {
    pub(crate) file: PathBuf,
    pub(crate) key_columns: KeyColumns,
    pub(crate) series: Option<NameColumn>,
    pub(crate) times: RawTimes,
    pub(crate) variables: NameColumn,
    pub(crate) values: Vec<f64>,
    pub(crate) lines: Vec<u32>,
    pub(crate) notices: Vec<String>,
}

impl LongRows {
    /// One row per series and time, one column per variable; absent cells are missing.
    pub(crate) fn pivot(self, options: &ReadOptions) -> Result<Rows, DataError> {
        let columns = self.columns(options)?;
        let mut order: Vec<u32> = (0..self.values.len() as u32)
            .filter(|&cell| columns.of_cell(&self, cell).is_some())
            .collect();
        // Stable, so that cells of one series and time stay in file order.
        order.sort_by(|&a, &b| self.compare_keys(a, b));
        let n_variables = columns.names.len();
        let (mut values, mut lines, mut first_cells) = (Vec::new(), Vec::new(), Vec::new());
        for same_key in order.chunk_by(|&a, &b| self.compare_keys(a, b) == Ordering::Equal) {
            let start = values.len();
            values.resize(start + n_variables, f64::NAN);
            self.fill_row(same_key, &columns, options.duplicates, &mut values[start..])?;
            lines.push(self.lines[same_key[0] as usize]);
            first_cells.push(same_key[0] as usize);
        }
        let series = self.series.as_ref().map(|column| {
            let mut rows = NameColumn::default();
            for &cell in &first_cells {
                rows.push(&column.names[column.name_idx[cell] as usize]);
            }
            rows
        });
        let times = match &self.times {
            RawTimes::Numbers(all) => {
                RawTimes::Numbers(first_cells.iter().map(|&cell| all[cell]).collect())
            }
            RawTimes::Timestamps(all) => {
                RawTimes::Timestamps(first_cells.iter().map(|&cell| all[cell]).collect())
            }
        };
        let (file, key_columns, variables) = (self.file, self.key_columns, columns.names);
        let notices = self.notices;
        let words = Vec::new();
        Ok(Rows { file, variables, key_columns, series, times, values, lines, notices, words })
    }

    fn columns(&self, options: &ReadOptions) -> Result<PivotColumns, DataError> {
        let found = &self.variables.names;
        let kept = roles::choose(found, options)
            .map_err(|problem| Place::file(&self.file).problem(problem))?;
        let mut of_name = vec![None; found.len()];
        for (column, &name) in kept.iter().enumerate() {
            of_name[name] = Some(column);
        }
        Ok(PivotColumns { names: kept.iter().map(|&name| found[name].clone()).collect(), of_name })
    }

    fn fill_row(
        &self,
        cells: &[u32],
        columns: &PivotColumns,
        duplicates: Duplicates,
        row: &mut [f64],
    ) -> Result<(), DataError> {
        let mut counts = HashMap::new();
        for &cell in cells {
            let Some(column) = columns.of_cell(self, cell) else { continue };
            let value = self.values[cell as usize];
            let (count, first) = counts.entry(column).or_insert((0_u32, cell));
            if *count > 0 && duplicates == Duplicates::Error {
                return Err(self.duplicate(*first, cell, &columns.names[column]));
            }
            if value.is_nan() {
                // An empty cell says nothing, and counts as one only where it must be refused.
                *count += u32::from(duplicates == Duplicates::Error);
                continue;
            }
            row[column] = merge(duplicates, row[column], *count, value);
            *count += 1;
        }
        Ok(())
    }

    fn duplicate(&self, first: u32, second: u32, variable: &str) -> DataError {
        let series = self
            .series
            .as_ref()
            .map(|column| column.names[column.name_idx[second as usize] as usize].clone());
        let place = Place::file(&self.file).row(u64::from(self.lines[second as usize]));
        place.problem(Problem::DuplicateTime {
            series: series.unwrap_or_else(|| source::stem(&self.file)),
            what: format!("values of `{variable}`"),
            time: self.times.text(second as usize),
            other: format!("row {}", self.lines[first as usize]),
            label: None,
        })
    }

    fn compare_keys(&self, a: u32, b: u32) -> Ordering {
        let (a, b) = (a as usize, b as usize);
        let by_series = self
            .series
            .as_ref()
            .map_or(Ordering::Equal, |column| column.name_idx[a].cmp(&column.name_idx[b]));
        by_series.then_with(|| self.times.compare(a, b))
    }
}

struct PivotColumns {
    names: Vec<String>,
    /// Column of each variable name in the file, `None` where it is left out.
    of_name: Vec<Option<usize>>,
}

impl PivotColumns {
    fn of_cell(&self, rows: &LongRows, cell: u32) -> Option<usize> {
        self.of_name[rows.variables.name_idx[cell as usize] as usize]
    }
}

/// The value of a cell after one more observation of it; `count` came before.
pub(crate) fn merge(duplicates: Duplicates, old: f64, count: u32, new: f64) -> f64 {
    match duplicates {
        _ if count == 0 => new,
        Duplicates::Mean => {
            let n = f64::from(count + 1);
            // The gap between two values near the largest numbers is infinite; that of their shares is not.
            let step = (new - old) / n;
            old + if step.is_finite() { step } else { new / n - old / n }
        }
        Duplicates::First | Duplicates::Error => old,
        Duplicates::Last => new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_the_largest_numbers_of_either_sign_is_finite() {
        assert_eq!(merge(Duplicates::Mean, 1e308, 1, -1e308), 0.0);
        assert_eq!(merge(Duplicates::Mean, 1.0, 2, 4.0), 2.0);
    }
}
