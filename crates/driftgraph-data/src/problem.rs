//! What can be wrong with a file, in the user's words, and what to do about it.

use driftgraph_core::ExperimentProblem;

use crate::dates::is_time_of_day;
use crate::formats::readable;
use crate::message_text::{in_shell, list};

/// One thing that is wrong, in the user's words.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Nothing to read.
    #[error("no file was named")]
    NoFiles,
    /// The path does not exist.
    #[error("no such file or folder")]
    NotFound,
    /// The operating system refused.
    #[error("the file cannot be read: {reason}")]
    Unreadable {
        /// The system's words.
        reason: String,
    },
    /// A folder without a table.
    #[error("the folder holds no table: {}", readable())]
    EmptyFolder,
    /// A file name whose ending says nothing.
    #[error("the ending of the file name is not one of {}", readable())]
    UnknownFormat,
    /// More bytes than allowed, on disk or after decompression.
    #[error("the file holds more than {limit} bytes")]
    TooLarge {
        /// The limit in force.
        limit: u64,
    },
    /// Bytes that are not UTF-8 text.
    #[error("the file is not UTF-8 text")]
    NotUtf8,
    /// The end is missing, or the bytes make no sense.
    #[error("the file is damaged or cut short: {reason}")]
    Damaged {
        /// The decoder's words.
        reason: String,
    },
    /// A quotation mark without its partner.
    #[error("a quotation mark opens a cell in this row, and none closes it")]
    OpenQuote,
    /// More rows than row numbers.
    #[error("the file holds more than {} rows", u32::MAX)]
    TooManyRows,
    /// Not a single row.
    #[error("there are no rows of data")]
    NoRows,
    /// The first line holds numbers.
    #[error("the first row holds numbers where names of columns should be")]
    NoHeader,
    /// A column without a name.
    #[error("column number {position} has no name")]
    EmptyName {
        /// Position from 1.
        position: usize,
    },
    /// Two columns with one name.
    #[error("two columns are named `{name}`")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A column asked for that is not there.
    #[error("there is no column `{name}`; the columns are {}", list(columns))]
    NoSuchColumn {
        /// The name asked for.
        name: String,
        /// What is there.
        columns: Vec<String>,
    },
    /// A column chosen for two things at once.
    #[error(
        "`{name}` is named twice among the time, the series, the variables to keep and the columns to ignore"
    )]
    NamedTwice {
        /// The name.
        name: String,
    },
    /// No column with the times.
    #[error("no column holds the time; the columns are {}", list(columns))]
    NoTimeColumn {
        /// What is there.
        columns: Vec<String>,
        /// Whether the names of the columns look like times.
        looks_transposed: bool,
    },
    /// Names of variables in the first column and times in the header.
    #[error(
        "the names of the columns look like times ({}), and the first column holds names such as {}",
        list(times),
        list(names)
    )]
    LooksTransposed {
        /// Some names of columns.
        times: Vec<String>,
        /// Some cells of the first column.
        names: Vec<String>,
    },
    /// A table to be turned on its side whose header holds no times.
    #[error("the header does not hold times that grow; it holds {}", list(columns))]
    NoTimesInHeader {
        /// What is there.
        columns: Vec<String>,
    },
    /// A column with a time's name in a table whose rows are said to be equally spaced.
    #[error("`{name}` seems to hold the time, but equal steps were asked for")]
    TimeAndEvenSteps {
        /// The column.
        name: String,
    },
    /// Dates of which the day may be the month.
    #[error("`{text}` may be {} or {}, and no other date in the column decides", readings[0], readings[1])]
    DateOrder {
        /// The cell.
        text: String,
        /// With the day first, and with the month first.
        readings: [String; 2],
    },
    /// A number whose comma may stand before decimals or between thousands.
    #[error("`{text}` may be {} or {}, and no other number in the table decides", readings[0], readings[1])]
    Decimals {
        /// The cell.
        text: String,
        /// With decimals after a point, and after a comma.
        readings: [String; 2],
    },
    /// A sheet that is not there.
    #[error("there is no sheet `{name}`; the sheets are {}", list(sheets))]
    NoSuchSheet {
        /// The name asked for.
        name: String,
        /// What is there.
        sheets: Vec<String>,
    },
    /// Files whose times are in different units.
    #[error("times are in `{found}` here and in `{expected}` in `{other}`")]
    OtherUnit {
        /// The file compared with.
        other: String,
        /// The unit here.
        found: String,
        /// The unit there.
        expected: String,
    },
    /// Nothing but times and names of series.
    #[error("no column holds a variable")]
    NoVariables,
    /// A row of another length than the header.
    #[error("the row has {found} cells, the header has {expected}")]
    Ragged {
        /// Cells of the header.
        expected: usize,
        /// Cells of the row.
        found: usize,
    },
    /// Text where a number belongs.
    #[error("`{text}` is not a number")]
    NotANumber {
        /// The cell.
        text: String,
    },
    /// An infinite number.
    #[error("`{text}` is not a finite number")]
    Infinite {
        /// The cell.
        text: String,
    },
    /// A cell of the time column that is neither number nor date.
    #[error("`{text}` is neither a number nor a date")]
    NotATime {
        /// The cell.
        text: String,
    },
    /// A time of another kind than the rows before.
    #[error("`{text}` is {found}, but the times before it are {expected}")]
    MixedTimes {
        /// The cell.
        text: String,
        /// Kind of this one.
        found: &'static str,
        /// Kind of the others.
        expected: &'static str,
    },
    /// A missing name, time or score, without which the row says nothing.
    #[error("{}", empty_cell(text))]
    EmptyCell {
        /// What is written there: nothing, or a word such as `NA`.
        text: String,
    },
    /// A time before the one above it, in a table where times repeat and no column tells series apart.
    #[error("time goes back from {previous} to {next}, and some times appear more than once")]
    TimeGoesBack {
        /// The time above.
        previous: String,
        /// This row's time.
        next: String,
        /// A column that would tell series apart.
        label: Option<String>,
    },
    /// The same series and time twice.
    #[error("series `{series}` has two {what} at time {time}; the other is {other}")]
    DuplicateTime {
        /// Name of the series.
        series: String,
        /// "rows", or "values of `x`" in a long table.
        what: String,
        /// The time as written.
        time: String,
        /// Where the earlier one is.
        other: String,
        /// A column that would tell series apart, where none was found by its name.
        label: Option<String>,
    },
    /// Files that do not hold the same variables.
    #[error("the file has {}, unlike `{other}`", differences(missing, extra))]
    OtherVariables {
        /// The file compared with.
        other: String,
        /// Names that are only there.
        missing: Vec<String>,
        /// Names that are only here.
        extra: Vec<String>,
    },
    /// Files of which some have series columns, or dates, and some do not.
    #[error("the file has {found}, unlike `{other}`, which has {expected}")]
    OtherLayout {
        /// The file compared with.
        other: String,
        /// What is here.
        found: &'static str,
        /// What is there.
        expected: &'static str,
    },
    /// Nothing but missing cells.
    #[error("no cell holds a value")]
    NothingObserved,
    /// An array of an archive that is absent.
    #[error("the archive has no array `{name}`; it has {}", list(found))]
    NoArray {
        /// The name.
        name: String,
        /// What is there.
        found: Vec<String>,
    },
    /// An array of Python objects, which only unpickling could read.
    #[error("array `{name}` holds Python objects, which are never read")]
    ObjectArray {
        /// The name.
        name: String,
    },
    /// An array of another type than expected.
    #[error("array `{name}` has type {found}, expected {expected}")]
    ArrayType {
        /// The name.
        name: String,
        /// What it holds.
        found: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// An array of another shape than expected.
    #[error("array `{name}` has shape {found:?}, expected {expected}")]
    ArrayShape {
        /// The name.
        name: String,
        /// Its shape.
        found: Vec<u64>,
        /// What it should be.
        expected: String,
    },
    /// A column of a type that holds no numbers.
    #[error("the column has type {found}, expected numbers")]
    ColumnType {
        /// The type.
        found: String,
    },
    /// An edge list whose header names no source and target.
    #[error("the header names no source and target; the columns are {}", list(columns))]
    NotAnEdgeList {
        /// What is there.
        columns: Vec<String>,
    },
    /// A score that is no number.
    #[error("`{text}` is not a number")]
    NotAScore {
        /// The cell.
        text: String,
    },
    /// A list of scored edges where true ones were asked for.
    #[error(
        "{} holds {found}, where a list of true edges has 1 or 0: these are scored edges, and nothing says \
         which of them are true",
        column.as_ref().map_or("the matrix".to_owned(), |name| format!("the column `{name}`"))
    )]
    NotATruth {
        /// The column of scores; `None` for a matrix.
        column: Option<String>,
        /// The first number that is neither.
        found: f64,
    },
    /// A list of edges where probabilities were asked for.
    #[error(
        "the list gives {}, but no column `probability`: nothing says how sure each edge is",
        column.as_ref().map_or("bare edges".to_owned(), |name| format!("a column `{name}`"))
    )]
    NoProbabilities {
        /// The column of scores, where there is one.
        column: Option<String>,
    },
    /// An edge of a variable that does not exist.
    #[error("`{name}` is not one of the variables {}", list(known))]
    UnknownVariable {
        /// The name.
        name: String,
        /// What is known.
        known: Vec<String>,
    },
    /// A table that is none of interventions.
    #[error("this is no table of interventions: its columns are {}", list(columns))]
    NotInterventions {
        /// The columns found.
        columns: Vec<String>,
    },
    /// A column of a table of interventions that nobody knows.
    #[error(
        "a table of interventions has no column `{found}`{}",
        near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
    )]
    UnknownInterventionHeader {
        /// The column.
        found: String,
        /// The one that was probably meant.
        near: Option<String>,
    },
    /// A column of data that nearly says what was done to a variable.
    #[error(
        "the column `{found}` is called like what was done to a variable, but not quite: did you mean `{meant}`?"
    )]
    NearlyInterventionColumn {
        /// The column.
        found: String,
        /// What was probably meant.
        meant: String,
    },
    /// A word for no kind of intervention.
    #[error("`{found}` is not one of knockout, hold, knockdown, overexpress, shift")]
    UnknownIntervention {
        /// The word.
        found: String,
    },
    /// A value of an intervention that is no number.
    #[error("`{found}` is not a number")]
    NotAValue {
        /// What stands there.
        found: String,
    },
    /// A bound of a window that is no time.
    #[error("{reason}")]
    NotATimeOfWindow {
        /// What is wrong with it.
        reason: String,
    },
    /// Columns were to say what was done, and none does.
    #[error("no column is called like `knockout:NAME`, so none says what was done")]
    NoInterventionColumns,
    /// A column that says what was done to nothing.
    #[error("the column `{found}` names no column of the data after its colon")]
    UnknownInterventionColumn {
        /// The column.
        found: String,
    },
    /// What was done does not go with the data.
    #[error("{}", experiment_text(problem, lines))]
    Experiment {
        /// What is wrong.
        problem: ExperimentProblem,
        /// Line of the file of every row of the table.
        lines: Vec<u64>,
    },
    /// The same edge twice.
    #[error("the edge `{source_name} -> {target_name}` appears twice")]
    DuplicateEdge {
        /// Where it starts.
        source_name: String,
        /// Where it ends.
        target_name: String,
    },
    /// A matrix whose rows and columns do not carry the same names.
    #[error("row {position} of the matrix is `{row}`, but its column {position} is `{column}`")]
    MatrixNames {
        /// Which row and column, from 1, names aside.
        position: usize,
        /// Name of the row.
        row: String,
        /// Name of the column.
        column: String,
    },
    /// A matrix with more or fewer rows than columns.
    #[error("the matrix is not square: {rows} rows, {columns} columns")]
    NotSquare {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// So many variables that their pairs do not fit into memory.
    #[error("there are {found} variables, more than {most}")]
    TooManyVariables {
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// A matrix without a word on what its rows are.
    #[error("a matrix does not say whether its rows are sources or targets")]
    NoOrientation,
    /// A matrix where a list of edges is asked for.
    #[error(
        "this is a matrix, which does not say whether its rows are sources or targets; a list of edges is needed here"
    )]
    MatrixForList,
}

impl Problem {
    /// What the user may do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::TimeGoesBack { label: Some(label), .. }
            | Self::DuplicateTime { label: Some(label), .. } => return Some(label_hint(label)),
            Self::TooLarge { .. } => "raise the limit with `--max-bytes N`, or split the file",
            Self::UnknownFormat => "save the table as CSV or as a spreadsheet",
            Self::NotUtf8 => {
                "name the encoding with `--encoding utf-16` or `latin-1`, or save the table as UTF-8"
            }
            Self::Damaged { .. } => "copy or download the file again",
            Self::NoHeader => "add a first row with names, such as `time,x1,x2`",
            Self::EmptyName { .. } => {
                "name every column, or remove it: spreadsheets write an empty last one after a stray separator"
            }
            Self::DuplicateName { .. } => "give every column its own name",
            Self::LooksTransposed { .. } => {
                "pass `--transpose` if the times are in the header and the variables in rows"
            }
            Self::NoTimeColumn { looks_transposed: true, .. } => {
                "name the column with `--time COLUMN`; if the names of the columns are times, pass `--transpose`"
            }
            Self::NoTimeColumn { .. } => {
                "name the column with `--time COLUMN`, or pass `--even-steps` if the rows are equally spaced in time"
            }
            Self::NoTimesInHeader { .. } => {
                "the first row of a transposed table is, for example, `gene,0,10,20` or `gene,t=0,t=10,t=20`"
            }
            Self::TimeAndEvenSteps { name } => {
                return Some(format!(
                    "leave out `--even-steps`, or the column with `--ignore {}`",
                    in_shell(name)
                ));
            }
            Self::DateOrder { .. } => "pass `--date-order day-first` or `--date-order month-first`",
            Self::Decimals { .. } => "pass `--decimal point` or `--decimal comma`",
            Self::NoSuchSheet { .. } => "name one of them with `--sheet NAME`",
            Self::OtherUnit { .. } => "bring the times of all files to one unit",
            Self::NoVariables => "choose columns with `--variables A,B,C`",
            Self::Ragged { .. } => "check for a stray separator, or a missing cell at the end",
            Self::NotANumber { text } if looks_like_decimal_comma(text) => {
                "write all decimals with a point, or all with a comma; `--decimal comma` or `--decimal point` says which"
            }
            Self::NotANumber { .. } => {
                "leave missing cells empty, or say which words mean that with `--missing WORD`; drop a column of \
                 text with `--ignore COLUMN`, or make it the series with `--series COLUMN`"
            }
            Self::Infinite { .. } => "leave the cell empty if it was not measured",
            Self::NotATime { text } if is_time_of_day(text) => {
                "a time of the day needs its date: write both into one column, such as 2026-01-31 12:30, and pass it as \
                 `--time`"
            }
            Self::NotATime { .. } | Self::MixedTimes { .. } => {
                "use numbers throughout, or dates of one form, such as 2026-01-31 or 2026-01-31T12:30:00Z"
            }
            Self::EmptyCell { .. } => "fill in the cell, or delete the row",
            Self::OpenQuote => "close it, or double it (\"\") if it is part of the text",
            Self::TimeGoesBack { .. } => {
                "if these are several series, name the column that tells them apart with \
                 `--series COLUMN`, or add one; if they are repeated measurements of one, pass \
                 `--duplicates mean`, `first` or `last`"
            }
            Self::DuplicateTime { .. } => {
                "keep one row per series and time, or pass `--duplicates mean`, `first` or `last`"
            }
            Self::OtherVariables { .. } => "choose common columns with `--variables A,B,C`",
            Self::OtherLayout { .. } => "load files of different layout one by one",
            Self::ObjectArray { .. } => "save it with a numeric type: `x.astype(float)`",
            Self::ColumnType { .. } => {
                "drop the column with `--ignore COLUMN`, or save it with a numeric type"
            }
            Self::NotAnEdgeList { .. } => {
                "expected `source,target,score`, `source,target,probability`, or `cause,effect`, \
                 or a square matrix with names"
            }
            Self::NotInterventions { .. } => {
                "expected the columns `series,variable,kind,value,from,to`; only `variable` and `kind` must be there"
            }
            Self::UnknownInterventionHeader { .. } => INTERVENTION_HEADER,
            Self::NearlyInterventionColumn { .. } => NEARLY_A_COLUMN,
            Self::UnknownIntervention { .. } => {
                "set variables are `knockout` or `hold`; pushed ones `knockdown`, `overexpress` or `shift`"
            }
            Self::NotAValue { .. } => "leave the cell empty where no value is known",
            Self::NotATimeOfWindow { .. } => {
                "write times as the data have them; leave `from` or `to` empty for an open window"
            }
            Self::Experiment { problem, .. } => problem.hint(),
            Self::NoInterventionColumns => INTERVENTION_COLUMNS,
            Self::UnknownInterventionColumn { .. } => {
                "a column `knockout:G1` says when `G1` was knocked out, and there must be a column `G1`"
            }
            _ => return self.hint_of_edges().map(str::to_owned),
        };
        Some(hint.to_owned())
    }

    /// What the user may do about a list or a matrix of edges.
    fn hint_of_edges(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotAScore { .. } => "give the score as a number, or leave the edge out",
            Self::NotATruth { .. } => {
                "list the true edges alone, as `source,target`, or with a weight of 1 for an edge and 0 for none"
            }
            Self::NoProbabilities { .. } => {
                "give `source,target,probability` with numbers from 0 (forbidden) to 1 (required); \
                 edges that are certain can be given with `--require A->B`"
            }
            Self::MatrixNames { .. } => "put rows and columns into the same order",
            Self::NoOrientation => {
                "pass `--orientation source-rows` or `--orientation target-rows`"
            }
            Self::MatrixForList => {
                "give one row per edge: `source,target` for known edges, `source,target,probability` for guesses"
            }
            _ => return None,
        })
    }
}

/// Which columns a table of interventions has.
const INTERVENTION_HEADER: &str = "its columns are `series,variable,kind,value,from,to`; what it says besides can stand in a column `note`";
/// What a column that says what was done is called.
const NEARLY_A_COLUMN: &str = "call the column by one of knockout, hold, knockdown, overexpress and shift, or leave it out with `--ignore`";

/// What to do where no column says what was done.
const INTERVENTION_COLUMNS: &str = "call columns `knockout:NAME`, `hold:NAME`, `knockdown:NAME`, `overexpress:NAME` or `shift:NAME`; for a file called \
     `columns` write `./columns`";

/// The other line of a contradiction by its row in the file.
fn experiment_text(problem: &ExperimentProblem, lines: &[u64]) -> String {
    let text = problem.to_string();
    let ExperimentProblem::Contradiction { other, .. } = problem else { return text };
    let row = lines.get(other - 1).copied().unwrap_or_default();
    text.replace(&format!("line {other} of the table"), &format!("row {row}"))
}

fn label_hint(label: &str) -> String {
    /// Columns that hold the second half of a date.
    const PARTS: [&str; 9] =
        ["quarter", "qtr", "q", "month", "mon", "week", "day", "hour", "period"];
    if PARTS.contains(&label.to_lowercase().as_str()) {
        return format!(
            "`{label}` seems to be the rest of the date: write both into one column, such as 1959Q1, 2020-W05 or 2020-01-31, \
             and pass it as `--time`"
        );
    }
    format!(
        "no time comes twice for any `{label}`: if it names the series, pass `--series {}`; \
         if not, keep one row per series and time, or pass `--duplicates mean`, `first` or `last`",
        in_shell(label)
    )
}

fn empty_cell(text: &str) -> String {
    match text {
        "" => "the cell is empty".to_owned(),
        word => format!("`{word}` says that nothing is known here"),
    }
}

fn looks_like_decimal_comma(text: &str) -> bool {
    text.matches(',').count() == 1 && text.replace(',', ".").parse::<f64>().is_ok()
}

fn differences(missing: &[String], extra: &[String]) -> String {
    match (missing.is_empty(), extra.is_empty()) {
        (false, true) => format!("no column {}", list(missing)),
        (true, false) => format!("the extra column {}", list(extra)),
        _ => format!("no column {} but {}", list(missing), list(extra)),
    }
}
