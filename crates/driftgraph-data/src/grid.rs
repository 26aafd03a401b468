//! A table of text cells held whole in memory: a sheet, or any table that must be turned on its side.

use crate::dates::{WrittenDate, parse_timestamp};
use crate::message_text::list;
use crate::numbers::is_missing;
use crate::problem::Problem;
use crate::time_names::{TimeLabels, TimeName};

/// Rows of cells with the lines that they stand on, blank rows left out.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Grid {
    pub(crate) rows: Vec<GridRow>,
}

/// One row.
#[derive(Debug, PartialEq)]
pub(crate) struct GridRow {
    pub(crate) line: u64,
    pub(crate) cells: Vec<String>,
}

impl Grid {
    /// Adds a row, unless all of its cells are blank.
    pub(crate) fn push(&mut self, line: u64, cells: Vec<String>) {
        if cells.iter().any(|cell| !cell.trim().is_empty()) {
            self.rows.push(GridRow { line, cells });
        }
    }

    /// Whether the header holds times and the first column names.
    pub(crate) fn looks_transposed(header: &[String], first_cells: &[String]) -> bool {
        let is_name = |cell: &String| {
            let cell = cell.trim();
            let is_date = parse_timestamp(cell).is_some() || WrittenDate::parse(cell).is_some();
            !is_missing(cell) && !is_date && cell.parse::<f64>().is_err()
        };
        let has_times = header.len() > 1 && TimeLabels::of(&header[1..]).is_some();
        let has_time_column = header.iter().skip(1).any(|name| TimeName::of(name).is_some());
        has_times && !has_time_column && !first_cells.is_empty() && first_cells.iter().all(is_name)
    }

    /// The table with times in rows and variables in columns, and what must be told about it.
    pub(crate) fn transposed(self) -> Result<(Self, Vec<String>), Problem> {
        let mut rows = self.rows.into_iter();
        let header = rows.next().ok_or(Problem::NoRows)?;
        let names: Vec<String> =
            header.cells.iter().skip(1).map(|name| name.trim().to_owned()).collect();
        let labels = TimeLabels::of(&names)
            .ok_or_else(|| Problem::NoTimesInHeader { columns: names.clone() })?;
        let corner = header.cells.first().map(|name| name.trim()).unwrap_or_default();
        let time_name = match (TimeName::of(corner), &labels.unit) {
            (Some(_), _) => corner.to_owned(),
            (None, Some(unit)) => format!("time ({unit})"),
            (None, None) => "time".to_owned(),
        };
        let variables: Vec<GridRow> = rows.collect();
        let mut grid = Self::default();
        let names_of_variables =
            variables.iter().map(|row| row.cells.first().cloned().unwrap_or_default());
        grid.push(header.line, std::iter::once(time_name).chain(names_of_variables).collect());
        for (column, time) in labels.times.iter().enumerate() {
            let Some(time) = time else { continue };
            let cell = |row: &GridRow| row.cells.get(column + 1).cloned().unwrap_or_default();
            let cells = std::iter::once(time.clone()).chain(variables.iter().map(cell));
            // Places are told as an editor counts: here, by the column that became the row.
            grid.push(column as u64 + 2, cells.collect());
        }
        Ok((grid, notices(&names, &labels)))
    }
}

fn notices(names: &[String], labels: &TimeLabels) -> Vec<String> {
    let mut notices = Vec::new();
    let pairs = || names.iter().zip(&labels.times);
    let renamed = pairs().find_map(|(name, time)| {
        time.as_ref().filter(|time| *time != name).map(|time| (name, time))
    });
    if let Some((name, time)) = renamed {
        notices.push(format!("column names such as `{name}` were read as times such as {time}"));
    }
    let without: Vec<&String> =
        pairs().filter(|(_, time)| time.is_none()).map(|(name, _)| name).collect();
    if !without.is_empty() {
        let holds = if without.len() == 1 { "holds" } else { "hold" };
        notices.push(format!("{} {holds} no time in the header, left out", list(&without)));
    }
    notices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(text: &str) -> Grid {
        let mut grid = Grid::default();
        for (idx, line) in text.lines().enumerate() {
            grid.push(idx as u64 + 1, line.split(',').map(str::to_owned).collect());
        }
        grid
    }

    #[test]
    fn genes_in_rows_become_columns_and_times_rows() {
        let (turned, notices) =
            grid(",Glc,Gal0,C20,C40\nG1,9,1,2,3\nG2,9,4,5,").transposed().unwrap();
        let cells: Vec<String> = turned.rows.iter().map(|row| row.cells.join(",")).collect();
        assert_eq!(cells, ["time,G1,G2", "0,1,4", "20,2,5", "40,3,"]);
        assert_eq!(turned.rows[1].line, 3);
        assert_eq!(notices.len(), 2, "{notices:?}");
        assert!(grid("gene,a,b,c\nG1,1,2,3").transposed().is_err());
    }

    #[test]
    fn names_in_the_first_column_and_times_in_the_header_look_transposed() {
        let looks = |header: &str, first: &[&str]| {
            let header: Vec<String> = header.split(',').map(str::to_owned).collect();
            let first: Vec<String> = first.iter().map(|&cell| cell.to_owned()).collect();
            Grid::looks_transposed(&header, &first)
        };
        assert!(looks("time (min),0,6,12", &["uvrD", "lexA"]));
        assert!(looks("gene,0,6,12", &["G1", "G2"]));
        assert!(!looks("time,0,6,12", &["0", "1"]));
        assert!(!looks("mouse,time,10,20,30", &["m1", "m2"]));
        assert!(!looks("date,10,20,30", &["2020-01-01"]));
    }
}
