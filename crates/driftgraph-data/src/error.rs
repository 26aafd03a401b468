//! Problems with their place in the user's files, gathered so that all are told at once.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// Where in the user's files something is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, as the user named it.
    pub file: PathBuf,
    /// Line of the file, from 1, the header included.
    pub row: Option<u64>,
    /// Name of the column.
    pub column: Option<String>,
}

impl Place {
    /// A whole file.
    pub fn file(file: &Path) -> Self {
        Self { file: file.to_owned(), row: None, column: None }
    }

    /// One line of a file.
    #[must_use]
    pub fn row(mut self, row: u64) -> Self {
        self.row = Some(row);
        self
    }

    /// One column of a file, or one cell if the row is known too.
    #[must_use]
    pub fn column(mut self, column: &str) -> Self {
        self.column = Some(column.to_owned());
        self
    }

    /// What is wrong here.
    pub fn problem(self, problem: Problem) -> DataError {
        DataError { place: self, problem }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.file.display())?;
        if let Some(row) = self.row {
            write!(f, ", row {row}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column `{column}`")?;
        }
        Ok(())
    }
}

/// A problem and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct DataError {
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub problem: Problem,
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What was said on the command line has no file.
        if self.place.file.as_os_str().is_empty() {
            return write!(f, "{}", self.problem);
        }
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for DataError {}

/// Everything found wrong with the given files; never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct DataErrors {
    errors: Vec<DataError>,
    /// Whether reading stopped before the end because there were so many.
    truncated: bool,
}

impl DataErrors {
    /// The problems in the order they were met.
    pub fn errors(&self) -> &[DataError] {
        &self.errors
    }

    /// Whether reading stopped early because there were so many.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// What to do about them, each piece of advice once.
    pub fn hints(&self) -> Vec<String> {
        let mut hints: Vec<String> = Vec::new();
        for hint in self.errors.iter().filter_map(|error| error.problem.hint()) {
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        hints
    }
}

impl From<DataError> for DataErrors {
    fn from(error: DataError) -> Self {
        Self { errors: vec![error], truncated: false }
    }
}

impl fmt::Display for DataErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, error) in self.errors.iter().enumerate() {
            if idx > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        if self.truncated {
            write!(f, "\nand more: reading stopped here")?;
        }
        Ok(())
    }
}

impl std::error::Error for DataErrors {}

/// Collects problems of single cells, so that a user sees all of them at once.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    errors: Vec<DataError>,
}

impl Collector {
    /// A table of text would otherwise report every one of its cells.
    const MOST: usize = 10;

    /// Notes a problem; fails when there are so many that reading on is pointless.
    pub(crate) fn push(&mut self, error: DataError) -> Result<(), DataErrors> {
        self.errors.push(error);
        if self.errors.len() < Self::MOST {
            return Ok(());
        }
        Err(DataErrors { errors: std::mem::take(&mut self.errors), truncated: true })
    }

    /// Succeeds if nothing was noted.
    pub(crate) fn finish(self) -> Result<(), DataErrors> {
        if self.errors.is_empty() {
            return Ok(());
        }
        Err(DataErrors { errors: self.errors, truncated: false })
    }
}
