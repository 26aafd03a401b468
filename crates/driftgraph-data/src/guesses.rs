//! Options under which a table may be read that cannot be read as it is.
//!
//! Each guess is one that the user could have typed, is told, and is not made where the user said otherwise.

use std::collections::{BTreeMap, HashMap};

use crate::cells::CellRows;
use crate::dates::{WrittenDate, parse_timestamp};
use crate::error::{DataErrors, Place};
use crate::formats::TextSource;
use crate::grid::Grid;
use crate::message_text::list;
use crate::numbers::{DecimalEvidence, DecimalFinding, NumberStyle, is_often_missing};
use crate::options::{DecimalMark, Encoding, ReadOptions};
use crate::problem::Problem;
use crate::roles::series_by_name;
use crate::rows::Rows;
use crate::source::TableFile;
use driftgraph_text::count;

/// Better options, and the sentence that tells of them.
#[derive(Debug)]
pub(crate) struct Guess {
    pub(crate) options: ReadOptions,
    pub(crate) notice: String,
}

impl Guess {
    fn new(
        options: &ReadOptions,
        change: impl FnOnce(&mut ReadOptions),
        notice: impl Into<String>,
    ) -> Self {
        let mut options = options.clone();
        change(&mut options);
        Self { options, notice: notice.into() }
    }
}

/// A column of row numbers that is named like a series column is left out.
pub(crate) fn row_numbers(rows: &Rows, options: &ReadOptions) -> Option<Guess> {
    let column = rows.row_numbers().filter(|_| options.series.is_none())?.to_owned();
    let notice = format!(
        "`{column}` of `{}` has another number in every row, so it was left out as a row number; `--series` overrules",
        rows.file.display(),
    );
    Some(Guess::new(options, |options| options.ignore.push(column), notice))
}

/// A guess that may mend one of the errors; the errors, told better where possible, if there is none.
pub(crate) fn guess(
    file: TableFile<'_>,
    source: TextSource,
    errors: DataErrors,
    options: &ReadOptions,
) -> Result<Guess, DataErrors> {
    let has = |is: fn(&Problem) -> bool| errors.errors().iter().any(|error| is(&error.problem));
    if has(|problem| matches!(problem, Problem::NotUtf8)) && options.encoding.is_none() {
        return latin1(file, source, options).ok_or(errors);
    }
    let is_about_cells = |problem: &Problem| {
        matches!(
            problem,
            Problem::NotANumber { .. } | Problem::NotATime { .. } | Problem::NoTimeColumn { .. }
        )
    };
    if !has(is_about_cells) {
        return Err(errors);
    }
    let Some(survey) = Survey::of(file, source, options) else { return Err(errors) };
    let problem = |problem: Problem| DataErrors::from(Place::file(file.path).problem(problem));
    if !options.transpose && Grid::looks_transposed(&survey.header, &survey.first_cells) {
        let (times, mut names) = (survey.header[1..].to_vec(), survey.first_cells);
        // Only some cells were kept: examples, not a count.
        names.truncate(3);
        return Err(problem(Problem::LooksTransposed { times, names }));
    }
    if has(|problem| matches!(problem, Problem::NoTimeColumn { .. })) {
        return survey.time(options).ok_or(errors);
    }
    if options.decimal.is_none()
        && let Some(finding) = survey.decimals
    {
        return match finding {
            DecimalFinding::Mark(mark, shown) => Ok(decimals(options, mark, &shown)),
            DecimalFinding::Undecided(text) => {
                let readings = DecimalMark::ALL.iter().map(|&mark| reading(&text, mark));
                let readings: [String; 2] =
                    readings.collect::<Vec<_>>().try_into().unwrap_or_default();
                Err(problem(Problem::Decimals { text, readings }))
            }
        };
    }
    match survey.missing(options) {
        Some(guess) => Ok(guess),
        None => Err(errors),
    }
}

/// Text that is not UTF-8 but has no byte that text does not have.
fn latin1(file: TableFile<'_>, source: TextSource, options: &ReadOptions) -> Option<Guess> {
    let notice = "the text is not UTF-8, so it was read as Latin-1; `--encoding` overrules";
    let guess = Guess::new(options, |options| options.encoding = Some(Encoding::Latin1), notice);
    let mut rows = CellRows::open(file, source, &guess.options).ok()?;
    while rows.next_row().ok()?.is_some() {}
    Some(guess)
}

fn reading(text: &str, mark: DecimalMark) -> String {
    let options = ReadOptions { decimal: Some(mark), ..ReadOptions::default() };
    NumberStyle::new(&options).number(text).unwrap_or(f64::NAN).to_string()
}

fn decimals(options: &ReadOptions, mark: DecimalMark, shown: &str) -> Guess {
    let notice = format!(
        "numbers such as {shown} were read as {}; `--decimal` overrules",
        reading(shown, mark),
    );
    Guess::new(options, |options| options.decimal = Some(mark), notice)
}

/// What the cells of a table look like, all of them seen.
struct Survey {
    header: Vec<String>,
    /// The first cells of some rows.
    first_cells: Vec<String>,
    decimals: Option<DecimalFinding>,
    /// Words that often mean "not measured", as they are written, and how often each is there.
    missing: BTreeMap<String, usize>,
    /// A column that may be the time, and why.
    time: Option<(String, &'static str)>,
}

impl Survey {
    fn of(file: TableFile<'_>, source: TextSource, options: &ReadOptions) -> Option<Self> {
        /// Enough to tell names from times.
        const FIRST_CELLS: usize = 20;
        let mut table = CellRows::open(file, source, options).ok()?;
        let header = table.joined_header(options).ok()?;
        let (mut first_cells, mut missing) = (Vec::new(), BTreeMap::new());
        let mut evidence = DecimalEvidence::default();
        let mut time = TimeCandidate::of(&header, options);
        while let Some(row) = table.next_row().ok()? {
            if first_cells.len() < FIRST_CELLS {
                first_cells.push(row.cell(0).trim().to_owned());
            }
            time.add(|column| row.cell(column).trim());
            for column in 0..row.len() {
                let cell = row.cell(column).trim();
                evidence.add(cell);
                if is_often_missing(cell) {
                    *missing.entry(cell.to_owned()).or_default() += 1;
                }
            }
        }
        let time = time.reason().map(|(column, reason)| (header[column].clone(), reason));
        let decimals = evidence.finding(table.separator());
        Some(Self { header, first_cells, decimals, missing, time })
    }

    fn time(&self, options: &ReadOptions) -> Option<Guess> {
        let (column, reason) = self.time.as_ref()?;
        let notice = format!("`{column}` was taken as time, because {reason}; `--time` overrules");
        Some(Guess::new(options, |options| options.time = Some(column.clone()), notice))
    }

    fn missing(self, options: &ReadOptions) -> Option<Guess> {
        if options.missing.is_some() || self.missing.is_empty() {
            return None;
        }
        let n_cells = self.missing.values().sum();
        let words: Vec<String> = self.missing.into_keys().collect();
        let notice = format!(
            "{} with {} {} read as not measured; `--missing` overrules",
            count(n_cells, "cell", "cells"),
            list(&words),
            if n_cells == 1 { "was" } else { "were" },
        );
        Some(Guess::new(options, |options| options.missing = Some(words), notice))
    }
}

/// The first column beside that of the series, while it may still be the time.
struct TimeCandidate {
    column: usize,
    series: Option<usize>,
    n_rows: usize,
    /// Whether every cell was a number above the one before it in its series.
    grows: bool,
    /// Whether every cell was a date.
    is_date: bool,
    last: HashMap<String, f64>,
    numbers: NumberStyle,
}

impl TimeCandidate {
    fn of(header: &[String], options: &ReadOptions) -> Self {
        let said = options.series.as_ref();
        let series = match said {
            Some(name) => header.iter().position(|column| column.eq_ignore_ascii_case(name)),
            None => series_by_name(header),
        };
        let is_free = |column: &usize| {
            let is_named = |names: &[String]| {
                names.iter().any(|name| name.eq_ignore_ascii_case(&header[*column]))
            };
            Some(*column) != series && !is_named(&options.ignore) && !is_named(&options.variables)
        };
        let column = (0..header.len()).find(is_free);
        Self {
            column: column.unwrap_or_default(),
            series,
            n_rows: 0,
            grows: column.is_some(),
            is_date: column.is_some(),
            last: HashMap::new(),
            numbers: NumberStyle::new(options),
        }
    }

    fn add<'a>(&mut self, cell: impl Fn(usize) -> &'a str) {
        self.n_rows += 1;
        if !self.grows && !self.is_date {
            return;
        }
        let text = cell(self.column);
        self.is_date &= parse_timestamp(text).is_some() || WrittenDate::parse(text).is_some();
        let number = self.numbers.number(text).filter(|number| number.is_finite());
        let series = self.series.map(&cell).unwrap_or_default();
        self.grows &= match (number, self.last.get_mut(series)) {
            (Some(number), Some(last)) => number > std::mem::replace(last, number),
            (Some(number), None) => self.last.insert(series.to_owned(), number).is_none(),
            (None, _) => false,
        };
    }

    fn reason(&self) -> Option<(usize, &'static str)> {
        /// Two numbers grow as often as not.
        const FEWEST: usize = 4;
        let is_long = self.n_rows >= FEWEST && self.last.len() * 2 <= self.n_rows;
        if self.is_date && self.n_rows > 0 {
            return Some((self.column, "it holds dates"));
        }
        (self.grows && is_long).then_some((self.column, "it comes first and only grows"))
    }
}
