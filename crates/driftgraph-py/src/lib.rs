//! The native half of the Python package `driftgraph`: arrays in, arrays out, no mathematics of its own.
//!
//! `data` carries series across, `fit` makes a run folder, `sweep` many fits, `model` asks, `known` has systems, baselines and metrics,
//! `errors` turns every error into its Python class. The pure-Python front is in `python/driftgraph`.

#![warn(clippy::unwrap_used)]
#![expect(clippy::needless_pass_by_value, reason = "Python hands its arguments over by value")]

mod answers;
mod arrays;
mod data;
mod errors;
mod fit;
mod known;
mod model;
mod pictures;
mod python_words;
mod settings;
mod sweep;

/// What the Python front calls.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::data::{SeriesData, check_series, count_dates, key_columns, read_span, read_time};
    #[pymodule_export]
    use super::fit::{contrast, fit, resume};
    #[pymodule_export]
    use super::known::{baseline, baselines, curves, generate, graph_metrics, systems};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::pictures::graph_picture;
    #[pymodule_export]
    use super::settings::methods;
    #[pymodule_export]
    use super::sweep::{SweepFolder, learn_shard};

    /// Version of the library.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
