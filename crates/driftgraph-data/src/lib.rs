//! Files in, checked values out: tables of measurements and lists of edges.
//!
//! A table's way: `source` opens the file, `roles` says what each column is, one reader per
//! format (`text_table`, `npz`, `parquet_table`; all in [`formats`]) turns it into `rows::Rows`, `guesses` finds
//! options for a table that cannot be read as it is, and `assemble`
//! sorts the rows of all files into a [`SeriesSet`](driftgraph_core::SeriesSet). [`load`] does all
//! of it. [`summary`] describes the result; [`edges`] reads and writes lists of edges. A fitted model
//! lives in a [`run_folder`]; what it answers goes out as a [`table`] or in one of the [`graph_formats`].

#![warn(clippy::unwrap_used)]

mod assemble;
mod blocks;
mod cells;
pub mod clock;
mod csv_table;
mod date_parts;
mod dates;
mod decoding;
mod doubtful_columns;
pub mod drifting;
pub mod edges;
mod encoding;
pub mod equation_text;
mod error;
mod fingerprint;
pub mod formats;
pub mod graph_formats;
mod graph_limits;
mod grid;
mod guesses;
pub mod intervention_columns;
pub mod interventions;
mod load;
mod message_text;
mod npy;
mod npz;
mod numbers;
mod options;
mod parquet_table;
mod problem;
pub mod record;
mod records;
pub mod regimes;
mod roles;
mod rows;
mod run_error;
pub mod run_folder;
mod source;
mod spreadsheet;
pub mod summary;
pub mod table;
mod text_table;
mod time;
mod time_names;
pub mod whole_file;
pub mod write;

pub use error::{DataError, DataErrors, Place};
pub use fingerprint::fingerprint;
pub use load::{Loaded, column_names, load, load_in_memory, tables_in};
pub use message_text::in_shell;
pub use options::{DateOrder, DecimalMark, Duplicates, Encoding, ReadOptions};
pub use problem::Problem;
pub use roles::key_columns_by_name;
pub use rows::ROW_NUMBER;
pub use run_error::RunError;
pub use time::{TimeAxis, TimeUnit, count_dates};
