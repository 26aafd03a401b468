//! Which column is the time, the series, a variable, or nothing.

use std::collections::HashSet;

use crate::cells::NAMELESS_FIRST;
pub(crate) use crate::options::ReadOptions;
use crate::problem::Problem;
use crate::time_names::{TimeLabels, TimeName};

/// Names of a series column, most telling first; case does not matter.
///
/// Each names what was measured, not a measurement; `run` and `unit` come late, `id` last, since it may count rows.
/// `series_` is written where a variable is named `series`.
const SERIES_NAMES: [&str; 19] = [
    "series_",
    "series",
    "series_id",
    "trajectory",
    "trajectory_id",
    "subject",
    "subject_id",
    "patient",
    "patient_id",
    "sample_id",
    "cell_id",
    "ticker",
    "symbol",
    "replicate",
    "run",
    "run_id",
    "unit",
    "unit_id",
    "id",
];

/// How pandas names an index that it saves as a column: row numbers, not measurements.
const PANDAS_INDEX: &str = "__index_level_";

/// Positions of the columns in a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Roles {
    /// One column per variable.
    Wide { time: Option<usize>, series: Option<usize>, variables: Vec<usize> },
    /// One row per cell: `series,time,variable,value`.
    Long { time: Option<usize>, series: Option<usize>, variable: usize, value: usize },
}

impl Roles {
    /// The time column; none where rows are equally spaced.
    pub(crate) fn time(&self) -> Option<usize> {
        let (Self::Wide { time, .. } | Self::Long { time, .. }) = self;
        *time
    }

    /// The series column.
    pub(crate) fn series(&self) -> Option<usize> {
        let (Self::Wide { series, .. } | Self::Long { series, .. }) = self;
        *series
    }
}

/// Decides the role of every column from its name and what the user said.
pub(crate) fn assign(columns: &[String], options: &ReadOptions) -> Result<Roles, Problem> {
    if columns.iter().all(|name| name.parse::<f64>().is_ok()) {
        return Err(Problem::NoHeader);
    }
    check_names(columns)?;
    let find = |name: &String| {
        let exact = columns.iter().position(|column| column == name);
        let position = exact.or_else(|| position_of(columns, name));
        position
            .ok_or_else(|| Problem::NoSuchColumn { name: name.clone(), columns: columns.to_vec() })
    };
    // In a long table the user's words are names of variables, found in its rows.
    let long = long_columns(columns, options);
    let (mut ignored, mut asked) = (Vec::new(), Vec::new());
    if long.is_none() {
        ignored = options.ignore.iter().map(find).collect::<Result<_, _>>()?;
        asked = options.variables.iter().map(find).collect::<Result<_, _>>()?;
    }
    let is_free = |idx: &usize| !ignored.contains(idx) && !asked.contains(idx);
    let time = match &options.time {
        Some(name) => Some(find(name)?),
        None => named_like_time(columns, is_free),
    };
    let time = match time {
        Some(idx) if options.even_steps => {
            return Err(Problem::TimeAndEvenSteps { name: columns[idx].clone() });
        }
        None if !options.even_steps => return Err(no_time_column(columns)),
        time => time,
    };
    let series = match &options.series {
        Some(name) => Some(find(name)?),
        None => {
            let mut found = SERIES_NAMES.iter().filter_map(|name| position_of(columns, name));
            let found = found.find(is_free);
            found.filter(|idx| Some(*idx) != time && !is_ignored(&columns[*idx], options))
        }
    };
    let chosen = time.into_iter().chain(series).chain(asked.clone()).chain(ignored.clone());
    check_named_once(columns, chosen)?;
    if let Some((variable, value)) = long {
        return Ok(Roles::Long { time, series, variable, value });
    }
    let taken: HashSet<usize> = time.into_iter().chain(series).chain(ignored).collect();
    let rest = (0..columns.len()).filter(|idx| !taken.contains(idx) && !is_index(&columns[*idx]));
    let variables = if asked.is_empty() { rest.collect() } else { asked };
    if variables.is_empty() {
        return Err(Problem::NoVariables);
    }
    Ok(Roles::Wide { time, series, variables })
}

/// Whether a column has the name of an index: row numbers, not measurements.
pub(crate) fn is_index(name: &str) -> bool {
    name.starts_with(PANDAS_INDEX) || name == NAMELESS_FIRST
}

/// The free column whose name says most about time.
fn named_like_time(columns: &[String], is_free: impl Fn(&usize) -> bool) -> Option<usize> {
    let ranked = (0..columns.len()).filter(is_free).filter_map(|idx| {
        let name = TimeName::of(&columns[idx])?;
        Some((name.rank, idx))
    });
    ranked.min().map(|(_, idx)| idx)
}

/// The columns of time and series that names give away, for tables that are not files.
pub fn key_columns_by_name(columns: &[String]) -> [Option<usize>; 2] {
    [named_like_time(columns, |_| true), series_by_name(columns)]
}

/// The series column that a name gives away, whatever else the table holds.
pub(crate) fn series_by_name(columns: &[String]) -> Option<usize> {
    SERIES_NAMES.iter().find_map(|name| position_of(columns, name))
}

/// Which of the variables found in a file to keep, in the user's order.
pub(crate) fn choose(variables: &[String], options: &ReadOptions) -> Result<Vec<usize>, Problem> {
    let find = |name: &String| {
        let exact = variables.iter().position(|variable| variable == name);
        exact.or_else(|| position_of(variables, name))
    };
    let known = |name: &String| {
        let unknown = || Problem::UnknownVariable { name: name.clone(), known: variables.to_vec() };
        find(name).ok_or_else(unknown)
    };
    let asked: Vec<usize> = options.variables.iter().map(known).collect::<Result<_, _>>()?;
    // Of the names to ignore some may be columns of a long table, which were left out before.
    let ignored: HashSet<usize> = options.ignore.iter().filter_map(find).collect();
    check_named_once(variables, asked.iter().chain(&ignored).copied())?;
    let rest = (0..variables.len()).filter(|idx| !ignored.contains(idx));
    let kept: Vec<usize> = if asked.is_empty() { rest.collect() } else { asked };
    if kept.is_empty() { Err(Problem::NoVariables) } else { Ok(kept) }
}

fn check_named_once(names: &[String], chosen: impl Iterator<Item = usize>) -> Result<(), Problem> {
    let mut seen = HashSet::new();
    for idx in chosen {
        if !seen.insert(idx) {
            return Err(Problem::NamedTwice { name: names[idx].clone() });
        }
    }
    Ok(())
}

/// A long table has the columns `variable` and `value`, and else only time, series and ignored ones.
fn long_columns(columns: &[String], options: &ReadOptions) -> Option<(usize, usize)> {
    let (variable, value) = (position_of(columns, "variable")?, position_of(columns, "value")?);
    let is_said = |said: &Option<String>, column: &String| {
        said.as_ref().is_some_and(|said| column.eq_ignore_ascii_case(said))
    };
    let others = columns.iter().enumerate().filter(|(idx, _)| *idx != variable && *idx != value);
    let only_roles = others.into_iter().all(|(_, column)| {
        is_said(&options.time, column)
            || is_said(&options.series, column)
            || TimeName::of(column).is_some()
            || SERIES_NAMES.iter().any(|name| column.eq_ignore_ascii_case(name))
            || is_ignored(column, options)
            || is_index(column)
    });
    only_roles.then_some((variable, value))
}

fn is_ignored(column: &str, options: &ReadOptions) -> bool {
    options.ignore.iter().any(|name| column.eq_ignore_ascii_case(name))
}

fn position_of(columns: &[String], name: &str) -> Option<usize> {
    columns.iter().position(|column| column.eq_ignore_ascii_case(name))
}

/// Names must be there, and be different.
pub(crate) fn check_names(columns: &[String]) -> Result<(), Problem> {
    let mut seen = HashSet::new();
    for (idx, name) in columns.iter().enumerate() {
        if name.trim().is_empty() {
            return Err(Problem::EmptyName { position: idx + 1 });
        }
        if !seen.insert(name) {
            return Err(Problem::DuplicateName { name: name.clone() });
        }
    }
    Ok(())
}

fn no_time_column(columns: &[String]) -> Problem {
    let looks_transposed = columns.len() > 1 && TimeLabels::of(&columns[1..]).is_some();
    Problem::NoTimeColumn { columns: columns.to_vec(), looks_transposed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    fn roles(header: &str) -> Roles {
        assign(&names(header), &ReadOptions::default()).unwrap()
    }

    #[test]
    fn obvious_names_are_found_whatever_their_case() {
        let expected = Roles::Wide { time: Some(1), series: Some(0), variables: vec![2, 3] };
        assert_eq!(roles("Subject,TIME,x,y"), expected);
    }

    #[test]
    fn a_more_telling_name_wins_and_the_other_stays_a_variable() {
        // `T` may be a gene where there is a column `time`; `id` a measurement beside `series`.
        let expected = Roles::Wide { time: Some(1), series: Some(3), variables: vec![0, 2] };
        assert_eq!(roles("T,time,id,series"), expected);
    }

    #[test]
    fn variable_and_value_alone_make_a_long_table() {
        let long = Roles::Long { time: Some(1), series: Some(0), variable: 2, value: 3 };
        assert_eq!(roles("series,time,variable,value"), long);
        let wide = Roles::Wide { time: Some(0), series: None, variables: vec![1, 2, 3] };
        assert_eq!(roles("time,variable,value,other"), wide);
    }

    #[test]
    fn the_user_has_the_last_word() {
        let options = ReadOptions {
            time: Some("hours".into()),
            series: Some("mouse".into()),
            variables: names("b,a"),
            ..ReadOptions::default()
        };
        let found = assign(&names("mouse,hours,a,time,b"), &options).unwrap();
        assert_eq!(found, Roles::Wide { time: Some(1), series: Some(0), variables: vec![4, 2] });
    }

    #[test]
    fn a_column_cannot_play_two_parts() {
        let twice = |variables: &str, ignore: &[&str]| {
            let ignore = ignore.iter().map(|&name| name.to_owned()).collect();
            let options =
                ReadOptions { variables: names(variables), ignore, ..ReadOptions::default() };
            assign(&names("time,a,b"), &options).unwrap_err()
        };
        assert_eq!(twice("a,A", &[]), Problem::NamedTwice { name: "a".into() });
        assert_eq!(twice("a,b", &["b"]), Problem::NamedTwice { name: "b".into() });
        let options = ReadOptions { variables: names("b,b"), ..ReadOptions::default() };
        let problem = choose(&names("a,b"), &options).unwrap_err();
        assert_eq!(problem, Problem::NamedTwice { name: "b".into() });
    }

    #[test]
    fn the_index_that_pandas_saves_is_no_variable() {
        let expected = Roles::Wide { time: Some(0), series: None, variables: vec![1] };
        assert_eq!(roles("time,a,__index_level_0__"), expected);
    }

    #[test]
    fn a_header_of_numbers_after_one_word_looks_transposed() {
        let problem = assign(&names("gene,0,10,20"), &ReadOptions::default()).unwrap_err();
        assert!(matches!(problem, Problem::NoTimeColumn { looks_transposed: true, .. }));
    }
}
