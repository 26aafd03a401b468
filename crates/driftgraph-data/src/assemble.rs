//! From the rows of all files to series: grouped, sorted, without duplicates.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use driftgraph_core::{ObservedSeries, SeriesSet};
use driftgraph_text::count;
use rayon::prelude::*;

use crate::error::{Collector, DataError, DataErrors, Place};
use crate::options::{Duplicates, ReadOptions};
use crate::problem::Problem;
use crate::rows::{Rows, merge};
use crate::source;
use crate::time::{TimeAxis, TimeScale};

/// Sorts rows into series; what was done to them is told in `notices`.
pub(crate) fn assemble(
    files: Vec<Rows>,
    options: &ReadOptions,
    notices: &mut Vec<String>,
) -> Result<(SeriesSet, TimeAxis), DataErrors> {
    check_same_layout(&files)?;
    let variables = files[0].variables.clone();
    let scale = TimeScale::of(&files.iter().map(|rows| &rows.times).collect::<Vec<_>>());
    let columns = column_order(&files, &variables);
    let table = Table { columns, files, scale, duplicates: options.duplicates };
    let mut collector = Collector::default();
    let groups = table.groups(notices)?;
    let (mut series, mut done) = (Vec::new(), Done::default());
    for (group, built) in groups.iter().zip(build_all(&table, &groups)) {
        match built {
            Ok((Some(built), own)) => {
                series.push(built);
                done.add(&own);
            }
            Ok((None, own)) => {
                notices.push(format!("series `{}` holds no value, left out", group.name));
                done.add(&own);
            }
            Err(error) => collector.push(error)?,
        }
    }
    collector.finish()?;
    done.tell(notices);
    if series.is_empty() {
        return Err(Place::file(&table.files[0].file).problem(Problem::NothingObserved).into());
    }
    let set = SeriesSet::new(variables, series)
        .expect("names and shapes were checked while reading, and groups have distinct names");
    let units: HashSet<&String> =
        table.files.iter().filter_map(|rows| rows.key_columns.unit.as_ref()).collect();
    let named_unit = units.iter().next().map(|&unit| unit.clone());
    let is_given = scale.axis().origin.is_none();
    let named_unit = named_unit.filter(|_| is_given && units.len() == 1);
    Ok((set, TimeAxis { named_unit, ..scale.axis() }))
}

/// All files' rows, addressed by (file, row).
struct Table {
    files: Vec<Rows>,
    scale: TimeScale,
    /// For each file, where its columns stand for the variables in order.
    columns: Vec<Vec<usize>>,
    duplicates: Duplicates,
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

/// Names of the series in a file, and for each of its rows the index of its name.
type SeriesOfRows<'a> = (Cow<'a, [String]>, Cow<'a, [u32]>);

impl Table {
    fn rows(&self, id: RowId) -> &Rows {
        &self.files[id.file as usize]
    }

    fn time(&self, id: RowId) -> f64 {
        self.scale.number(&self.rows(id).times, id.row as usize)
    }

    fn values(&self, id: RowId) -> &[f64] {
        let rows = self.rows(id);
        let n_variables = rows.variables.len();
        &rows.values[id.row as usize * n_variables..][..n_variables]
    }

    fn place(&self, id: RowId) -> Place {
        let rows = self.rows(id);
        Place::file(&rows.file).row(u64::from(rows.lines[id.row as usize]))
    }

    /// Rows of one series together, series in order of first appearance.
    fn groups(&self, notices: &mut Vec<String>) -> Result<Vec<Group>, DataErrors> {
        let mut groups: Vec<Group> = Vec::new();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        let mut joined = HashSet::new();
        let mut collector = Collector::default();
        let files = self.files.iter().map(|rows| rows.file.clone());
        for (file, own_name) in
            source::names_of_files(&files.collect::<Vec<_>>()).into_iter().enumerate()
        {
            let (names, of_row) = match self.series_of_rows(file, own_name, notices) {
                Ok(series) => series,
                Err(error) => {
                    collector.push(error)?;
                    continue;
                }
            };
            let mut group_of_name = Vec::with_capacity(names.len());
            for name in names.iter() {
                let group = by_name.get(name).copied().unwrap_or(groups.len());
                if group == groups.len() {
                    groups.push(Group { name: name.clone(), rows: Vec::new() });
                    by_name.insert(name.clone(), group);
                } else {
                    joined.insert(group);
                }
                group_of_name.push(group);
            }
            for (row, &name) in of_row.iter().enumerate() {
                let id = RowId { file: file as u32, row: row as u32 };
                groups[group_of_name[name as usize]].rows.push(id);
            }
        }
        collector.finish()?;
        let n_alone = self.files.iter().filter(|rows| rows.series.is_none()).count();
        if n_alone > 1 {
            notices.push(format!(
                "each of the {n_alone} files was read as a series of its own, named after the file; `--series` overrules"
            ));
        }
        if !joined.is_empty() {
            let joined = count(joined.len(), "series has", "series have");
            notices.push(format!("{joined} rows in more than one file, which were joined"));
        }
        Ok(groups)
    }

    /// The file's own series, or, without a series column, a new one wherever time restarts.
    fn series_of_rows(
        &self,
        file: usize,
        own_name: String,
        notices: &mut Vec<String>,
    ) -> Result<SeriesOfRows<'_>, DataError> {
        let rows = &self.files[file];
        if let Some(column) = &rows.series {
            return Ok((Cow::Borrowed(&column.names), Cow::Borrowed(&column.name_idx)));
        }
        let of_row = self.restarts_before(file, notices)?;
        let n_series = of_row.last().map_or(1, |last| last + 1);
        if n_series == 1 {
            return Ok((Cow::Owned(vec![own_name]), Cow::Owned(of_row)));
        }
        notices.push(format!(
            "`{}` has no series column and its time restarts, so it was read as {n_series} series; `--series` overrules",
            rows.file.display(),
        ));
        let alone = self.files.len() == 1;
        let name = |idx: u32| if alone { idx.to_string() } else { format!("{own_name}:{idx}") };
        Ok((Cow::Owned((1..=n_series).map(name).collect()), Cow::Owned(of_row)))
    }

    /// For each row of a file, how often time returned to its start before it.
    fn restarts_before(
        &self,
        file: usize,
        notices: &mut Vec<String>,
    ) -> Result<Vec<u32>, DataError> {
        let n_rows = self.files[file].lines.len();
        let time = |row: usize| self.time(RowId { file: file as u32, row: row as u32 });
        // Newest first is an order too, and no restart.
        if (1..n_rows).all(|row| time(row) <= time(row - 1)) {
            return Ok(vec![0; n_rows]);
        }
        let mut n_restarts = 0;
        let mut of_row = Vec::with_capacity(n_rows);
        for row in 0..n_rows {
            if row > 0 && time(row) < time(row - 1) {
                if time(row) != time(0) {
                    self.check_one_unsorted_series(file, row, notices)?;
                    return Ok(vec![0; n_rows]);
                }
                n_restarts += 1;
            }
            of_row.push(n_restarts);
        }
        Ok(of_row)
    }

    /// Rows in no order are one series if no time comes twice, or if the user said what to do then.
    fn check_one_unsorted_series(
        &self,
        file: usize,
        first_back: usize,
        notices: &mut Vec<String>,
    ) -> Result<(), DataError> {
        let rows = &self.files[file];
        let mut order: Vec<usize> = (0..rows.lines.len()).collect();
        order.sort_unstable_by(|&a, &b| rows.times.compare(a, b));
        let repeats = order.windows(2).any(|pair| rows.times.compare(pair[0], pair[1]).is_eq());
        if repeats && self.duplicates == Duplicates::Error {
            let id = RowId { file: file as u32, row: first_back as u32 };
            let (previous, next) = (rows.times.text(first_back - 1), rows.times.text(first_back));
            let label = rows.label_column();
            return Err(self.place(id).problem(Problem::TimeGoesBack { previous, next, label }));
        }
        if !repeats {
            notices.push(format!(
                "`{}` has no series column and no time twice, so it was read as one series; `--series` overrules",
                rows.file.display(),
            ));
        }
        Ok(())
    }
}

/// What had to be done to rows.
#[derive(Default)]
struct Done {
    /// Series whose rows were not in order.
    unsorted: usize,
    merged: usize,
    empty_rows: usize,
}

impl Done {
    fn add(&mut self, other: &Self) {
        self.unsorted += other.unsorted;
        self.merged += other.merged;
        self.empty_rows += other.empty_rows;
    }

    fn tell(&self, notices: &mut Vec<String>) {
        if self.unsorted > 0 {
            notices.push(format!("sorted the rows of {} series by time", self.unsorted));
        }
        if self.merged > 0 {
            let rows = count(self.merged, "row", "rows");
            notices.push(format!("merged {rows} into others of the same series and time"));
        }
        if self.empty_rows > 0 {
            let rows = count(self.empty_rows, "row", "rows");
            notices.push(format!("left out {rows} without any value"));
        }
    }
}

/// A series, or `None` if none of its cells was observed, and what was done to its rows.
type Built = Result<(Option<ObservedSeries>, Done), DataError>;

/// All series in order; of large tables each by whichever thread is free.
fn build_all(table: &Table, groups: &[Group]) -> Vec<Built> {
    /// Below so many rows waking other threads costs more than they save.
    const FEW_ROWS: usize = 10_000;
    let build = |group| {
        let mut builder = Builder { table, group, done: Done::default() };
        let series = builder.build()?;
        Ok((series, builder.done))
    };
    if groups.iter().map(|group| group.rows.len()).sum::<usize>() < FEW_ROWS {
        groups.iter().map(build).collect()
    } else {
        groups.par_iter().map(build).collect()
    }
}

/// Builds one series and counts what had to be done to its rows.
struct Builder<'a> {
    table: &'a Table,
    group: &'a Group,
    done: Done,
}

impl Builder<'_> {
    /// One series, or `None` if none of its cells was observed.
    fn build(&mut self) -> Result<Option<ObservedSeries>, DataError> {
        let table = self.table;
        let n_variables = table.columns[0].len();
        let sorted = self.sorted_rows();
        let mut times = Vec::with_capacity(sorted.len());
        let mut values = Vec::with_capacity(sorted.len() * n_variables);
        for same_time in sorted.chunk_by(|&a, &b| table.time(a) == table.time(b)) {
            self.push_row(same_time, &mut values)?;
            times.push(table.time(same_time[0]));
        }
        if times.is_empty() {
            return Ok(None);
        }
        let series = ObservedSeries::new(&self.group.name, n_variables, times, values)
            .expect("times are finite, sorted and distinct, and cells were checked while reading");
        Ok(Some(series))
    }

    /// The rows in order of time, without those in which nothing was observed.
    fn sorted_rows(&mut self) -> Vec<RowId> {
        let table = self.table;
        let mut rows = self.group.rows.clone();
        rows.retain(|&id| table.values(id).iter().any(|value| !value.is_nan()));
        self.done.empty_rows += self.group.rows.len() - rows.len();
        if !rows.is_sorted_by(|&a, &b| table.time(a) <= table.time(b)) {
            self.done.unsorted += 1;
            rows.sort_by(|&a, &b| table.time(a).total_cmp(&table.time(b)));
        }
        rows
    }

    /// Appends the one row that several rows of one time make.
    fn push_row(&mut self, same_time: &[RowId], values: &mut Vec<f64>) -> Result<(), DataError> {
        let table = self.table;
        if let [first, second, ..] = same_time {
            if table.duplicates == Duplicates::Error {
                return Err(self.duplicate(*first, *second));
            }
            self.done.merged += same_time.len() - 1;
        }
        if let [alone] = *same_time {
            let found = table.values(alone);
            // One bit pattern stands for what is missing.
            let value =
                |&column: &usize| if found[column].is_nan() { f64::NAN } else { found[column] };
            values.extend(table.columns[alone.file as usize].iter().map(value));
            return Ok(());
        }
        for variable in 0..table.columns[0].len() {
            let (mut value, mut count) = (f64::NAN, 0);
            for &id in same_time {
                let new = table.values(id)[table.columns[id.file as usize][variable]];
                if !new.is_nan() {
                    value = merge(table.duplicates, value, count, new);
                    count += 1;
                }
            }
            values.push(value);
        }
        Ok(())
    }

    fn duplicate(&self, first: RowId, second: RowId) -> DataError {
        let rows = self.table.rows(second);
        let other = self.table.place(first);
        let row = format!("row {}", other.row.unwrap_or_default());
        let named = rows.key_columns.series.is_some() || first.file != second.file;
        self.table.place(second).problem(Problem::DuplicateTime {
            label: if named { None } else { rows.label_column() },
            series: self.group.name.clone(),
            what: "rows".to_owned(),
            time: rows.times.text(second.row as usize),
            other: if first.file == second.file {
                row
            } else {
                format!("{row} of `{}`", other.file.display())
            },
        })
    }
}

/// Several files must hold the same variables and the same kinds of columns.
fn check_same_layout(files: &[Rows]) -> Result<(), DataErrors> {
    let first = &files[0];
    let names_of = |rows: &Rows| rows.variables.iter().cloned().collect::<HashSet<_>>();
    let first_names = names_of(first);
    let mut collector = Collector::default();
    for rows in &files[1..] {
        let other = first.file.display().to_string();
        let names = names_of(rows);
        let not_in = |names: &HashSet<String>, rows: &Rows| -> Vec<String> {
            rows.variables.iter().filter(|name| !names.contains(*name)).cloned().collect()
        };
        let (missing, extra) = (not_in(&names, first), not_in(&first_names, rows));
        let series = |rows: &Rows| match rows.series {
            Some(_) => "a series column",
            None => "no series column",
        };
        let kinds = [(series(rows), series(first)), (rows.times.kind(), first.times.kind())];
        let units = [rows, first].map(|rows| rows.key_columns.unit.clone());
        let place = Place::file(&rows.file);
        if !missing.is_empty() || !extra.is_empty() {
            collector.push(place.problem(Problem::OtherVariables { other, missing, extra }))?;
        } else if let Some((found, expected)) = kinds.into_iter().find(|(a, b)| a != b) {
            collector.push(place.problem(Problem::OtherLayout { other, found, expected }))?;
        } else if let [Some(found), Some(expected)] = units
            && found != expected
        {
            collector.push(place.problem(Problem::OtherUnit { other, found, expected }))?;
        }
    }
    collector.finish()
}

fn column_order(files: &[Rows], variables: &[String]) -> Vec<Vec<usize>> {
    let order = |rows: &Rows| {
        let position: HashMap<&String, usize> =
            rows.variables.iter().enumerate().map(|(idx, name)| (name, idx)).collect();
        variables.iter().map(|name| position[name]).collect()
    };
    files.iter().map(order).collect()
}
