//! Dates that stand in several columns: year and quarter, year and week, year and month, and so on down to the hour.

use crate::grid::GridRow;
use crate::message_text::list;
use crate::options::ReadOptions;
use crate::time_names::TimeName;

/// Name of the column of the joined date.
const JOINED: &str = "date";

/// Names that columns of each part have; case does not matter.
const YEAR: &[&str] = &["year", "yr", "yyyy"];
const QUARTER: &[&str] = &["quarter", "qtr", "q"];
const MONTH: &[&str] = &["month", "mon", "mm"];
const WEEK: &[&str] = &["week", "wk", "isoweek", "iso_week"];
const DAY: &[&str] = &["day", "dd"];
const HOUR: &[&str] = &["hour", "hr", "hh"];

/// The columns that make a date together.
#[derive(Debug, PartialEq)]
pub(crate) struct DateParts {
    year: usize,
    rest: Rest,
}

#[derive(Debug, PartialEq)]
enum Rest {
    Quarter(usize),
    Week(usize),
    /// The month, the day and the hour, as far as there are such.
    Month(usize, Option<usize>, Option<usize>),
}

impl DateParts {
    /// The parts in a header, unless the user or another column says what the time is.
    pub(crate) fn of(header: &[String], options: &ReadOptions) -> Option<Self> {
        let is_certain =
            |name: &String| TimeName::of(name).is_some_and(|name| !name.is_likely_only());
        if options.time.is_some() || options.even_steps || header.iter().any(is_certain) {
            return None;
        }
        let is_taken = |name: &String| {
            let mut named = options.ignore.iter().chain(&options.variables).chain(&options.series);
            named.any(|one| one.eq_ignore_ascii_case(name))
        };
        let find = |names: &[&str]| {
            let is_one = |name: &String| {
                names.iter().any(|known| known.eq_ignore_ascii_case(name.trim())) && !is_taken(name)
            };
            header.iter().position(is_one)
        };
        let year = find(YEAR)?;
        let rest = match (find(MONTH), find(QUARTER)) {
            (Some(month), _) => {
                let day = find(DAY);
                Rest::Month(month, day, day.and_then(|_| find(HOUR)))
            }
            (None, Some(quarter)) => Rest::Quarter(quarter),
            (None, None) => Rest::Week(find(WEEK)?),
        };
        Some(Self { year, rest })
    }

    fn columns(&self) -> Vec<usize> {
        match self.rest {
            Rest::Quarter(rest) | Rest::Week(rest) => vec![self.year, rest],
            Rest::Month(month, day, hour) => {
                [self.year, month].into_iter().chain(day).chain(hour).collect()
            }
        }
    }

    /// What must be told about it.
    pub(crate) fn notice(&self, header: &[String]) -> String {
        let names: Vec<&String> = self.columns().into_iter().map(|idx| &header[idx]).collect();
        format!("{} were read together as the date; `--time` overrules", list(&names))
    }

    /// The header with one column for the date, which comes first.
    pub(crate) fn join_header(&self, header: &GridRow) -> GridRow {
        self.with_first(header, JOINED.to_owned())
    }

    /// A row with its date in one cell, which comes first.
    pub(crate) fn join(&self, row: &GridRow) -> GridRow {
        let cell = |column: usize| whole(row.cells.get(column).map_or("", String::as_str));
        let year = cell(self.year);
        let date = match self.rest {
            Rest::Quarter(quarter) => {
                format!("{year}Q{}", cell(quarter).trim_start_matches(['Q', 'q']))
            }
            Rest::Week(week) => {
                let week = cell(week).trim_start_matches(['W', 'w']);
                format!("{year}-W{week:0>2}")
            }
            Rest::Month(month, day, hour) => {
                let day = day.map(|day| format!("-{:0>2}", cell(day))).unwrap_or_default();
                let hour = hour.map(|hour| format!(" {:0>2}:00", cell(hour))).unwrap_or_default();
                format!("{year}-{:0>2}{day}{hour}", cell(month))
            }
        };
        self.with_first(row, date)
    }

    fn with_first(&self, row: &GridRow, first: String) -> GridRow {
        let parts = self.columns();
        let is_other = |(column, _): &(usize, &String)| !parts.contains(column);
        let others = row.cells.iter().enumerate().filter(is_other).map(|(_, cell)| cell.clone());
        GridRow { line: row.line, cells: std::iter::once(first).chain(others).collect() }
    }
}

/// A whole number without the `.0` that tables of floats have.
fn whole(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_suffix(".0").or_else(|| cell.strip_suffix(".00")).unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> GridRow {
        GridRow { line: 1, cells: text.split(',').map(str::to_owned).collect() }
    }

    fn joined(header: &str, cells: &str) -> Option<String> {
        let header = row(header);
        let parts = DateParts::of(&header.cells, &ReadOptions::default())?;
        Some(
            [parts.join_header(&header), parts.join(&row(cells))]
                .map(|r| r.cells.join(","))
                .join(" "),
        )
    }

    #[test]
    fn parts_of_a_date_become_its_first_column() {
        let found = |header, cells| joined(header, cells).expect("a date in parts");
        assert_eq!(found("year,quarter,x", "1959.0,1.0,2.5"), "date,x 1959Q1,2.5");
        assert_eq!(found("x,Year,Qtr", "3,1960,Q4"), "date,x 1960Q4,3");
        assert_eq!(found("year,week,x", "2020,5.0,7"), "date,x 2020-W05,7");
        assert_eq!(found("year,month,x", "2020,1,7"), "date,x 2020-01,7");
        assert_eq!(
            found("No,year,month,day,hour,x", "1,2013,3,1,0,4"),
            "date,No,x 2013-03-01 00:00,1,4"
        );
    }

    #[test]
    fn a_time_that_is_named_otherwise_is_left_alone() {
        for header in ["year,x", "month,x", "year,day,x", "date,year,month,x", "time,year,quarter"]
        {
            assert_eq!(joined(header, "1,2,3,4"), None, "{header}");
        }
        let header = row("year,quarter,x").cells;
        let said = [
            ReadOptions { time: Some("year".into()), ..ReadOptions::default() },
            ReadOptions { ignore: vec!["Quarter".into()], ..ReadOptions::default() },
            ReadOptions { series: Some("quarter".into()), ..ReadOptions::default() },
            ReadOptions { even_steps: true, ..ReadOptions::default() },
        ];
        for options in said {
            assert_eq!(DateParts::of(&header, &options), None, "{options:?}");
        }
    }
}
