//! From the rows of all files to series: grouped, sorted, without duplicates.

use std::collections::HashMap;

use driftgraph_core::{ObservedSeries, SeriesSet};

use crate::error::{Collector, DataError, DataErrors, Place, Problem};
use crate::roles::{Duplicates, ReadOptions};
use crate::rows::{Rows, merge};
use crate::time::{RawTimes, TimeAxis, to_numbers};

/// Sorts rows into series; what was done to them is told in `notices`.
pub(crate) fn assemble(
    mut files: Vec<Rows>,
    options: &ReadOptions,
    notices: &mut Vec<String>,
) -> Result<(SeriesSet, TimeAxis), DataErrors> {
    check_same_layout(&files)?;
    let variables = files[0].variables.clone();
    let empty = || RawTimes::Numbers(Vec::new());
    let raw_times = files.iter_mut().map(|rows| std::mem::replace(&mut rows.times, empty()));
    let (times, axis) = to_numbers(raw_times.collect());
    let table = Table { columns: column_order(&files, &variables), files, times };
    let mut collector = Collector::default();
    let mut builder = Builder { table: &table, options, unsorted: 0, merged: 0, empty_rows: 0 };
    let mut series = Vec::new();
    for group in table.groups(notices)? {
        match builder.build(&group) {
            Ok(Some(built)) => series.push(built),
            Ok(None) => notices.push(format!("series `{}` holds no value, left out", group.name)),
            Err(error) => collector.push(error)?,
        }
    }
    collector.finish()?;
    builder.tell(notices);
    if series.is_empty() {
        return Err(Place::file(&table.files[0].file).problem(Problem::NothingObserved).into());
    }
    let set = SeriesSet::new(variables, series)
        .expect("names and shapes were checked while reading, and groups have distinct names");
    Ok((set, axis))
}

/// All files' rows, addressed by (file, row).
struct Table {
    files: Vec<Rows>,
    times: Vec<Vec<f64>>,
    /// For each file, where its columns stand for the variables in order.
    columns: Vec<Vec<usize>>,
}

#[derive(Clone, Copy)]
struct RowId {
    file: u32,
    row: u32,
}

struct Group {
    name: String,
    rows: Vec<RowId>,
}

impl Table {
    fn time(&self, id: RowId) -> f64 {
        self.times[id.file as usize][id.row as usize]
    }

    fn line(&self, id: RowId) -> u64 {
        u64::from(self.files[id.file as usize].lines[id.row as usize])
    }

    fn values(&self, id: RowId) -> &[f64] {
        let rows = &self.files[id.file as usize];
        let n_variables = rows.variables.len();
        &rows.values[id.row as usize * n_variables..][..n_variables]
    }

    /// Rows of one series together, series in order of first appearance.
    fn groups(&self, notices: &mut Vec<String>) -> Result<Vec<Group>, DataErrors> {
        let mut groups: Vec<Group> = Vec::new();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        let mut collector = Collector::default();
        for file in 0..self.files.len() {
            let (names, of_row) = match &self.files[file].series {
                Some(column) => (column.names.clone(), column.name_idx.clone()),
                None => match self.split_at_restarts(file, notices) {
                    Ok(split) => split,
                    Err(error) => {
                        collector.push(error)?;
                        continue;
                    }
                },
            };
            let idx_of_name: Vec<usize> = names
                .into_iter()
                .map(|name| {
                    *by_name.entry(name.clone()).or_insert_with(|| {
                        groups.push(Group { name, rows: Vec::new() });
                        groups.len() - 1
                    })
                })
                .collect();
            for (row, &name) in of_row.iter().enumerate() {
                let id = RowId { file: file as u32, row: row as u32 };
                groups[idx_of_name[name as usize]].rows.push(id);
            }
        }
        collector.finish()?;
        Ok(groups)
    }

    /// Series of a file without a series column: a new one wherever time returns to its start.
    fn split_at_restarts(
        &self,
        file: usize,
        notices: &mut Vec<String>,
    ) -> Result<(Vec<String>, Vec<u32>), DataError> {
        let (rows, times) = (&self.files[file], &self.times[file]);
        let stem = file_stem(rows);
        // Newest first is an order too, and no restart.
        if times.windows(2).all(|pair| pair[1] <= pair[0]) {
            return Ok((vec![stem], vec![0; times.len()]));
        }
        let mut of_row = Vec::with_capacity(times.len());
        let mut n_restarts = 0_u32;
        for (row, &time) in times.iter().enumerate() {
            if row > 0 && time < times[row - 1] {
                if time != times[0] {
                    let previous = times[row - 1].to_string();
                    let problem = Problem::TimeGoesBack { previous, next: time.to_string() };
                    let place = Place::file(&rows.file).row(u64::from(rows.lines[row]));
                    return Err(place.problem(problem));
                }
                n_restarts += 1;
            }
            of_row.push(n_restarts);
        }
        if n_restarts == 0 {
            return Ok((vec![stem], of_row));
        }
        notices.push(format!(
            "`{}` has no series column; its time restarts {n_restarts} times, so it was read as {} series",
            rows.file.display(),
            n_restarts + 1
        ));
        let alone = self.files.len() == 1;
        let name = |idx: u32| if alone { idx.to_string() } else { format!("{stem}:{idx}") };
        Ok(((1..=n_restarts + 1).map(name).collect(), of_row))
    }
}

/// Builds series one by one and counts what had to be done to their rows.
struct Builder<'a> {
    table: &'a Table,
    options: &'a ReadOptions,
    unsorted: usize,
    merged: usize,
    empty_rows: usize,
}

impl Builder<'_> {
    /// One series, or `None` if none of its cells was observed.
    fn build(&mut self, group: &Group) -> Result<Option<ObservedSeries>, DataError> {
        let table = self.table;
        let n_variables = table.columns[0].len();
        let sorted = self.sorted_rows(group);
        let mut times = Vec::with_capacity(sorted.len());
        let mut values = Vec::with_capacity(sorted.len() * n_variables);
        for same_time in sorted.chunk_by(|&a, &b| table.time(a) == table.time(b)) {
            let start = values.len();
            self.push_row(group, same_time, &mut values)?;
            if values[start..].iter().all(|value| value.is_nan()) {
                // A row in which nothing was observed says nothing about the system.
                self.empty_rows += 1;
                values.truncate(start);
            } else {
                times.push(table.time(same_time[0]));
            }
        }
        if times.is_empty() {
            return Ok(None);
        }
        let series = ObservedSeries::new(&group.name, n_variables, times, values)
            .expect("times are finite, sorted and distinct, and cells were checked while reading");
        Ok(Some(series))
    }

    fn sorted_rows(&mut self, group: &Group) -> Vec<RowId> {
        let mut rows = group.rows.clone();
        if !rows.is_sorted_by(|&a, &b| self.table.time(a) <= self.table.time(b)) {
            self.unsorted += 1;
            rows.sort_by(|&a, &b| self.table.time(a).total_cmp(&self.table.time(b)));
        }
        rows
    }

    /// Appends the one row that several rows of one time make.
    fn push_row(
        &mut self,
        group: &Group,
        same_time: &[RowId],
        values: &mut Vec<f64>,
    ) -> Result<(), DataError> {
        if let [first, second, ..] = same_time {
            if self.options.duplicates == Duplicates::Error {
                return Err(self.duplicate(group, *first, *second));
            }
            self.merged += same_time.len() - 1;
        }
        let table = self.table;
        for variable in 0..table.columns[0].len() {
            let (mut value, mut count) = (f64::NAN, 0);
            for &id in same_time {
                let new = table.values(id)[table.columns[id.file as usize][variable]];
                if !new.is_nan() {
                    value = merge(self.options.duplicates, value, count, new);
                    count += 1;
                }
            }
            values.push(value);
        }
        Ok(())
    }

    fn duplicate(&self, group: &Group, first: RowId, second: RowId) -> DataError {
        let place = Place::file(&self.table.files[second.file as usize].file);
        place.problem(Problem::DuplicateTime {
            series: group.name.clone(),
            what: "rows".to_owned(),
            time: self.table.time(second).to_string(),
            first: self.table.line(first),
            second: self.table.line(second),
        })
    }

    fn tell(&self, notices: &mut Vec<String>) {
        if self.unsorted > 0 {
            notices.push(format!("sorted the rows of {} series by time", self.unsorted));
        }
        if self.merged > 0 {
            notices.push(format!("merged {} rows into others of the same time", self.merged));
        }
        if self.empty_rows > 0 {
            notices.push(format!("left out {} rows without any value", self.empty_rows));
        }
    }
}

fn file_stem(rows: &Rows) -> String {
    let name = rows.file.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    name.split_once('.').map_or(name.clone(), |(stem, _)| stem.to_owned())
}

/// Several files must hold the same variables and the same kinds of columns.
fn check_same_layout(files: &[Rows]) -> Result<(), DataErrors> {
    let first = &files[0];
    let mut collector = Collector::default();
    for rows in &files[1..] {
        let other = first.file.display().to_string();
        let only_in = |a: &Rows, b: &Rows| -> Vec<String> {
            a.variables.iter().filter(|name| !b.variables.contains(name)).cloned().collect()
        };
        let (missing, extra) = (only_in(first, rows), only_in(rows, first));
        let series = |rows: &Rows| match rows.series {
            Some(_) => "a series column",
            None => "no series column",
        };
        let kinds = [(series(rows), series(first)), (rows.times.kind(), first.times.kind())];
        let place = Place::file(&rows.file);
        if !missing.is_empty() || !extra.is_empty() {
            collector.push(place.problem(Problem::OtherVariables { other, missing, extra }))?;
        } else if let Some((found, expected)) = kinds.into_iter().find(|(a, b)| a != b) {
            collector.push(place.problem(Problem::OtherLayout { other, found, expected }))?;
        }
    }
    collector.finish()
}

fn column_order(files: &[Rows], variables: &[String]) -> Vec<Vec<usize>> {
    let position = |rows: &Rows, name: &String| {
        let found = rows.variables.iter().position(|variable| variable == name);
        found.expect("all files hold the same variables")
    };
    files.iter().map(|rows| variables.iter().map(|name| position(rows, name)).collect()).collect()
}
