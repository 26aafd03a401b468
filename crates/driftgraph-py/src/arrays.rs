//! Numbers between Rust and numpy; what goes out is handed over, not copied.

use numpy::ndarray::{Array2, Array3};
use numpy::{IntoPyArray, PyArray2, PyArray3};
use pyo3::prelude::*;

/// Rows times columns numbers as a matrix.
pub(crate) fn matrix<T: numpy::Element>(
    py: Python<'_>,
    (rows, columns): (usize, usize),
    values: Vec<T>,
) -> Bound<'_, PyArray2<T>> {
    let array = Array2::from_shape_vec((rows, columns), values);
    array.expect("the caller counted its rows and columns").into_pyarray(py)
}

/// Numbers as an array of three axes.
pub(crate) fn cube<T: numpy::Element>(
    py: Python<'_>,
    shape: (usize, usize, usize),
    values: Vec<T>,
) -> Bound<'_, PyArray3<T>> {
    let array = Array3::from_shape_vec(shape, values);
    array.expect("the caller counted its axes").into_pyarray(py)
}
