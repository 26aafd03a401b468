//! Files in, checked values out: tables of measurements and lists of edges.
//!
//! A table's way: `source` opens the file, `roles` says what each column is, one reader per
//! format (`csv_table`, `npz`, `parquet_table`) turns it into `rows::Rows`, and `assemble`
//! sorts the rows of all files into a [`SeriesSet`](driftgraph_core::SeriesSet). [`load`] does all
//! of it. [`summary`] describes the result; [`edges`] reads and writes lists of edges. A fitted model
//! lives in a [`run_folder`]; what it answers goes out as a [`table`] or in one of the [`graph_formats`].

#![warn(clippy::unwrap_used)]

mod assemble;
pub mod clock;
mod csv_table;
pub mod edges;
mod error;
mod fingerprint;
pub mod graph_formats;
mod load;
mod npy;
mod npz;
#[cfg(feature = "parquet")]
mod parquet_table;
mod problem;
mod records;
mod roles;
mod rows;
mod run_error;
pub mod run_folder;
mod source;
pub mod summary;
mod suspects;
pub mod table;
mod time;
pub mod whole_file;
mod words;
pub mod write;

pub use error::{DataError, DataErrors, Place};
pub use fingerprint::fingerprint;
pub use load::{Loaded, column_names, load};
pub use problem::Problem;
pub use roles::{Duplicates, ReadOptions};
pub use run_error::RunError;
pub use time::{TimeAxis, TimeUnit, count_dates};
