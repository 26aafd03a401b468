//! Tables of what was done to a system while it was measured: `series,variable,kind,value,from,to`.

use std::io::{self, Write};
use std::path::Path;

use bytes::Bytes;
use driftgraph_core::{
    Experiment, ExperimentError, InputHold, InterventionKind, InterventionRow, SeriesSet,
};

use crate::csv_table::{Table, TextRow, parse_number};
use crate::error::{Collector, DataErrors, Place};
use crate::intervention_columns::{COLUMNS, of_columns};
use crate::options::ReadOptions;
use crate::problem::Problem;
use crate::source::TableFile;
use crate::time::TimeAxis;

/// Most bytes read from a table of interventions.
const MAX_BYTES: u64 = 1 << 28;

/// Lines of a table of interventions, each with its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct InterventionTable {
    /// What was done, in file order.
    pub rows: Vec<InterventionRow>,
    /// Line of the file, from 1, of each.
    pub lines: Vec<u64>,
}

/// Positions of the columns.
struct Columns {
    series: Option<usize>,
    variable: usize,
    kind: usize,
    value: Option<usize>,
    from: Option<usize>,
    to: Option<usize>,
}

/// What columns may be called; notes are for people.
const NAMES: [&str; 13] = [
    "series", "variable", "kind", "value", "from", "to", "gene", "start", "end", "note", "notes",
    "comment", "comments",
];

impl Columns {
    fn find(columns: &[String]) -> Result<Self, Problem> {
        let find = |names: &[&str]| {
            let is_named = |column: &String| names.iter().any(|n| column.eq_ignore_ascii_case(n));
            columns.iter().position(is_named)
        };
        let not_these = || Problem::NotInterventions { columns: columns.to_vec() };
        let found = Self {
            series: find(&["series"]),
            variable: find(&["variable", "gene"]).ok_or_else(not_these)?,
            kind: find(&["kind"]).ok_or_else(not_these)?,
            value: find(&["value"]),
            from: find(&["from", "start"]),
            to: find(&["to", "end"]),
        };
        // A window whose beginning is misspelt would be open.
        let is_known = |column: &String| NAMES.iter().any(|name| column.eq_ignore_ascii_case(name));
        match columns.iter().find(|column| !column.is_empty() && !is_known(column)) {
            None => Ok(found),
            Some(odd) => Err(Problem::UnknownInterventionHeader {
                found: odd.clone(),
                near: driftgraph_text::nearest(odd, NAMES).map(str::to_owned),
            }),
        }
    }
}

/// Reads a table of interventions; times are read as those of the data are.
pub fn read_interventions(path: &Path, axis: &TimeAxis) -> Result<InterventionTable, DataErrors> {
    read_file(TableFile::on_disk(path), axis)
}

/// Reads a table of interventions whose bytes are at hand; `name` is what messages call it.
pub fn read_interventions_in_memory(
    name: &Path,
    bytes: &Bytes,
    axis: &TimeAxis,
) -> Result<InterventionTable, DataErrors> {
    read_file(TableFile::in_memory(name, bytes), axis)
}

fn read_file(file: TableFile<'_>, axis: &TimeAxis) -> Result<InterventionTable, DataErrors> {
    let mut table = Table::open(file, None, MAX_BYTES)?;
    let columns = table.header()?;
    let roles = Columns::find(&columns).map_err(|problem| table.place().problem(problem))?;
    // Where commas do not part cells, they may stand before decimals.
    let has_commas = table.separator().is_some_and(|separator| separator != b',');
    let mut out = InterventionTable { rows: Vec::new(), lines: Vec::new() };
    let mut collector = Collector::default();
    let file = table.place();
    while let Some(row) = table.next_row()? {
        let line = row.line();
        match read_row(row, &roles, axis, has_commas) {
            Ok(row) => {
                out.rows.push(row);
                out.lines.push(line);
            }
            Err((column, problem)) => {
                let place = file.clone().row(line).column(&columns[column]);
                collector.push(place.problem(problem))?;
            }
        }
    }
    collector.finish()?;
    Ok(out)
}

/// One line; or what is wrong with it, and in which column.
fn read_row(
    row: &TextRow,
    roles: &Columns,
    axis: &TimeAxis,
    has_commas: bool,
) -> Result<InterventionRow, (usize, Problem)> {
    let cell = |column: usize| row.trimmed_cells().nth(column).unwrap_or_default();
    let with_point = |text: &str| {
        let turned = text.replacen(',', ".", 1);
        let is_decimal = has_commas && !text.contains('.') && turned.parse::<f64>().is_ok();
        if is_decimal { turned } else { text.to_owned() }
    };
    let word = cell(roles.kind);
    let kind =
        InterventionKind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(word));
    let unknown = || (roles.kind, Problem::UnknownIntervention { found: word.to_owned() });
    let kind = kind.ok_or_else(unknown)?;
    let number = |column: Option<usize>| match column.map(|column| (column, cell(column))) {
        None | Some((_, "")) => Ok(None),
        Some((column, text)) => {
            let found = text.to_owned();
            parse_number(&with_point(text))
                .map(Some)
                .map_err(|_| (column, Problem::NotAValue { found }))
        }
    };
    let time = |column: Option<usize>| match column.map(|column| (column, cell(column))) {
        None | Some((_, "")) => Ok(None),
        Some((column, text)) => axis
            .read_time(&with_point(text))
            .map(Some)
            .map_err(|problem| (column, Problem::NotATimeOfWindow { reason: problem.to_string() })),
    };
    let series = roles.series.map_or("", cell);
    let series = if series.is_empty() { driftgraph_core::ALL_SERIES } else { series };
    Ok(InterventionRow {
        series: series.to_owned(),
        variable: cell(roles.variable).to_owned(),
        kind,
        value: number(roles.value)?,
        from: time(roles.from)?,
        to: time(roles.to)?,
    })
}

/// Writes a table of interventions that [`read_interventions`] reads back; times are numbers.
pub fn write_interventions(out: impl Write, rows: &[InterventionRow]) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(["series", "variable", "kind", "value", "from", "to"])?;
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for InterventionRow { series, variable, kind, value, from, to } in rows {
        let [value, from, to] = [value, from, to].map(|one| number(*one));
        table.write_record([series, variable, kind.name(), &value, &from, &to])?;
    }
    table.flush()
}

/// The data with what the options say was done to them, what that is, and sentences about it.
pub fn with_experiment(
    data: SeriesSet,
    options: &ReadOptions,
    axis: &TimeAxis,
    notices: &mut Vec<String>,
) -> Result<(SeriesSet, Experiment), DataErrors> {
    let from_columns =
        options.interventions.as_ref().is_some_and(|path| path.as_os_str() == COLUMNS);
    let (data, table) = match &options.interventions {
        Some(_) if from_columns => {
            let (rest, rows) = of_columns(&data)?;
            (rest, InterventionTable { lines: vec![0; rows.len()], rows })
        }
        Some(path) => {
            if !path.exists() {
                return Err(Place::file(path).problem(Problem::NotFound).into());
            }
            (data, read_interventions(path, axis)?)
        }
        None => (data, InterventionTable { rows: Vec::new(), lines: Vec::new() }),
    };
    let experiment = Experiment {
        inputs: options.inputs.clone(),
        hold: options.input_hold,
        interventions: table.rows,
    };
    if experiment.is_empty() {
        return Ok((data, experiment));
    }
    let handled = experiment.apply(&data).map_err(|error| {
        let ExperimentError { row, problem } = error;
        let place = match (row, &options.interventions) {
            (Some(row), Some(path)) if !from_columns => Place::file(path).row(table.lines[row]),
            _ => Place::default(),
        };
        place.problem(Problem::Experiment { problem, lines: table.lines.clone() })
    })?;
    notices.extend(sentences(&experiment));
    Ok((handled, experiment))
}

fn sentences(experiment: &Experiment) -> Vec<String> {
    let mut sentences = Vec::new();
    let names: Vec<String> = experiment.inputs.iter().map(|name| format!("`{name}`")).collect();
    if !names.is_empty() {
        let between = match (experiment.hold, names.len()) {
            (InputHold::Previous, 1) => "it keeps its value until the next row",
            (InputHold::Previous, _) => "they keep their values until the next row",
            (InputHold::Linear, 1) => "it moves along straight lines between rows",
            (InputHold::Linear, _) => "they move along straight lines between rows",
        };
        let (inputs, drive) = match &names[..] {
            [alone] => (format!("input: {alone}"), "drives and is not driven"),
            _ => (format!("inputs: {}", names.join(", ")), "drive and are not driven"),
        };
        sentences.push(format!("{inputs} {drive}; {between} (`--input-hold`)"));
    }
    let set = experiment.interventions.iter().filter(|row| row.kind.sets()).count();
    let pushed = experiment.interventions.len() - set;
    let windows = |n| driftgraph_text::count(n, "window", "windows");
    if set > 0 {
        sentences.push(format!(
            "interventions: a variable was set in {}: methods that know of them learn nothing there of what drives it",
            windows(set)
        ));
    }
    if pushed > 0 {
        sentences.push(format!(
            "interventions: a variable was pushed in {}: methods that know of them learn by how much",
            windows(pushed)
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;

    fn refused(data: &str, table: &str, options: &ReadOptions) -> (String, Option<String>) {
        let folder = tempfile::tempdir().unwrap();
        let (path, lines) = (folder.path().join("d.csv"), folder.path().join("i.csv"));
        std::fs::write(&path, data).unwrap();
        std::fs::write(&lines, table).unwrap();
        let options = ReadOptions { interventions: Some(lines.clone()), ..options.clone() };
        let errors = load(&[path], &options).unwrap_err();
        let text = errors.to_string().replace(&lines.display().to_string(), "i.csv");
        (text, errors.hints().first().cloned())
    }

    const DATA: &str = "series,time,x,y\na,0,1,2\na,1,2,3\nb,0,1,1\nb,1,3,3\n";

    #[test]
    fn tables_have_the_decimals_of_their_country_and_notes_and_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("i.csv");
        let table = "series;variable;kind;value;from;to;note\na;x;hold;0,5;0,25;;by hand\n*;y;shift;-1;;;\n";
        std::fs::write(&path, table).unwrap();
        let axis = TimeAxis::given();
        let found = read_interventions(&path, &axis).unwrap();
        assert_eq!((found.rows[0].value, found.rows[0].from), (Some(0.5), Some(0.25)));
        let mut text = Vec::new();
        write_interventions(&mut text, &found.rows).unwrap();
        std::fs::write(&path, &text).unwrap();
        assert_eq!(read_interventions(&path, &axis).unwrap().rows, found.rows);
    }

    #[test]
    fn every_bad_line_has_its_file_row_and_hint() {
        let none = ReadOptions::default();
        let head = "series,variable,kind,value,from,to\n";
        for (line, expected) in [
            ("a,z,knockout,,,", "`i.csv`, row 2: there is no variable `z`"),
            ("c,x,hold,,,", "`i.csv`, row 2: there is no series `c`"),
            (
                "a,x,knockout,,5,9",
                "`i.csv`, row 2: the window 5 to 9 lies outside the data of the series `a`, which go from 0 to 1",
            ),
            (
                "a,x,removed,,,",
                "`i.csv`, row 2, column `kind`: `removed` is not one of knockout, hold, knockdown, overexpress, shift",
            ),
            ("a,x,hold,much,,", "`i.csv`, row 2, column `value`: `much` is not a number"),
            ("a,x,hold,1,noon,", "`i.csv`, row 2, column `from`: `noon` is no time"),
            (
                "a,x,knockout,,0,1\n*,x,knockdown,,0.5,",
                "`i.csv`, row 3: `x` is knocked down in the series `a` from 0.5 to inf, where row 2 says something else",
            ),
        ] {
            let (text, hint) = refused(DATA, &format!("{head}{line}\n"), &none);
            assert!(text.starts_with(expected), "{text}");
            assert!(hint.is_some(), "{text}");
        }
        let inputs = ReadOptions { inputs: vec!["x".to_owned()], ..none.clone() };
        let (text, hint) = refused(DATA, &format!("{head}a,x,hold,1,,\n"), &inputs);
        assert!(text.contains("row 2: `x` is an input"), "{text}");
        assert!(hint.is_some());
        let (text, hint) = refused(DATA, "variable,kind,form\nx,knockout,1\n", &none);
        let expected =
            "`i.csv`: a table of interventions has no column `form`; did you mean `from`?";
        assert!(text.starts_with(expected), "{text}");
        assert!(hint.is_some());
        let (text, _) = refused(DATA, "a,b\n1,2\n", &none);
        assert!(text.contains("no table of interventions"), "{text}");
        let unknown = ReadOptions { inputs: vec!["light".to_owned()], ..none };
        let (text, _) = refused(DATA, head, &unknown);
        assert!(text.starts_with("`--inputs` names `light`"), "{text}");
    }
}
