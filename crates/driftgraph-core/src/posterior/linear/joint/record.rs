//! What the filter knows at a point before and after it was seen, for all series of a group.

use crate::numeric::kernels::{View, add_product, transpose};
use crate::numeric::linalg::{cholesky, solve_lower, solve_upper};
use crate::numeric::real::ln;

/// Covariances of a point, and the gain of what was observed there.
pub(super) struct Record {
    pub(super) predicted: Vec<f64>,
    pub(super) filtered: Vec<f64>,
    /// Precision of what each variable was observed with; 0 where it was not.
    pub(super) precisions: Vec<f64>,
    pub(super) cells: Vec<usize>,
    /// Rows of the gain: mean += (observed - mean)[cells] gain.
    pub(super) gain: Vec<f64>,
    /// Lower factor of the predicted covariance of the observed cells.
    pub(super) factor: Vec<f64>,
    /// Length of the step before the point.
    pub(super) step: f64,
    /// What was done to the variables there.
    pub(super) marks: PointMarks,
    /// Whether the covariance is that of the point before.
    pub(super) steady: bool,
}

/// What was done to the variables at a point, in all series of a group.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PointMarks {
    /// Variables of whose causes the step into the point says nothing, increasing.
    pub(super) left_out: Vec<usize>,
    /// Variables that were set.
    pub(super) set: Vec<usize>,
}

impl Record {
    pub(super) fn new(
        predicted: Vec<f64>,
        precisions: Vec<f64>,
        step: f64,
        marks: PointMarks,
    ) -> Option<Self> {
        let d = precisions.len();
        let cells: Vec<usize> = (0..d).filter(|&idx| precisions[idx] > 0.0).collect();
        let n = cells.len();
        let mut variance = vec![0.0; n * n];
        let mut gain = vec![0.0; n * d];
        for (row, &cell) in cells.iter().enumerate() {
            let covariances = &predicted[cell * d..(cell + 1) * d];
            gain[row * d..(row + 1) * d].copy_from_slice(covariances);
            for (col, &other) in cells.iter().enumerate() {
                variance[row * n + col] = covariances[other];
            }
            variance[row * (n + 1)] += 1.0 / precisions[cell];
        }
        let factor = cholesky(&variance, n)?;
        solve_lower(&factor, n, &mut gain, d);
        let mut filtered = predicted.clone();
        let mut negative = gain.clone();
        negative.iter_mut().for_each(|value| *value = -*value);
        add_product(&mut filtered, d, View::new(&gain, n, d).t(), View::new(&negative, n, d));
        symmetrise(&mut filtered, d);
        solve_upper(&factor, n, &mut gain, d);
        let steady = false;
        Some(Self { predicted, filtered, precisions, cells, gain, factor, step, marks, steady })
    }

    /// Σ log N(error; 0, S) over series.
    pub(super) fn log_density(&self, errors: &[f64], n_series: usize) -> f64 {
        let n = self.cells.len();
        if n == 0 {
            return 0.0;
        }
        let log_det: f64 = (0..n).map(|idx| ln(self.factor[idx * (n + 1)])).sum();
        let mut columns = vec![0.0; errors.len()];
        transpose(&mut columns, errors, n_series, n);
        solve_lower(&self.factor, n, &mut columns, n_series);
        let squares: f64 = columns.iter().map(|value| value * value).sum();
        let constant = log_det + 0.5 * n as f64 * ln(std::f64::consts::TAU);
        -0.5 * squares - n_series as f64 * constant
    }
}

/// log of [N(x; z, r) exp(-e z² / 2)] / N(y; z, 1 / l), with l = 1 / r + e and y = x / (r l).
pub(super) fn completion(observed: f64, noise: f64, record: &Record, cell: usize) -> f64 {
    let precision = record.precisions[cell];
    let log_unit = 0.5 * ln(std::f64::consts::TAU / precision);
    if observed.is_nan() {
        return log_unit;
    }
    let value = observed / (noise * precision);
    log_unit
        - 0.5 * ln(std::f64::consts::TAU * noise)
        - 0.5 * (observed * observed / noise - precision * value * value)
}

/// Takes out what rounding has made different.
pub(super) fn symmetrise(matrix: &mut [f64], d: usize) {
    for row in 0..d {
        for col in 0..row {
            let mean = 0.5 * (matrix[row * d + col] + matrix[col * d + row]);
            matrix[row * d + col] = mean;
            matrix[col * d + row] = mean;
        }
    }
}
