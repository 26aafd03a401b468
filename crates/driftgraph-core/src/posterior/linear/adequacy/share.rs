//! The share of a variance that features explain: one variance component, by maximum likelihood.

use crate::numeric::real::ln;
use faer::{Mat, Side};

use crate::numeric::kernels::{View, add_product, product};

/// Shares that are compared.
const GRID: [f64; 17] = [
    0.0, 0.003, 0.006, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.65, 0.8, 0.9,
    0.97,
];
/// Log likelihood, in nats, by which a share must beat none.
const MIN_GAIN: f64 = 2.0;
/// Eigenvalues below this share of the largest are rounding.
const NEGLIGIBLE: f64 = 1e-10;

/// Columns that may explain something, `[row, column]`.
pub(super) struct Features {
    pub(super) n_columns: usize,
    pub(super) values: Vec<f64>,
}

/// For each column of `targets`, the share h that maximises the likelihood of N(0, s [(1 - h) I + h K]), where
/// K = F F' is scaled to mean diagonal 1; 0 where that gains less than two nats.
///
/// `n_taken` directions were taken out of targets and features alike: nothing varies in them, and they say nothing.
pub(super) fn explained_shares(
    features: &Features,
    targets: &[f64],
    n_targets: usize,
    n_taken: usize,
) -> Vec<f64> {
    let n_rows = targets.len() / n_targets;
    let n = n_rows.saturating_sub(n_taken).max(1);
    let targets = standard_columns(targets, n_targets);
    let Some(Spectrum { values, projections }) = Spectrum::new(features, &targets, n_targets)
    else {
        return vec![0.0; n_targets];
    };
    let total: f64 = values.iter().sum();
    let values: Vec<f64> = values.iter().map(|value| value * n as f64 / total).collect();
    // Squares that sum to the number of directions that are left.
    let scale = n as f64 / n_rows as f64;
    (0..n_targets)
        .map(|target| {
            let rows = projections.chunks_exact(n_targets);
            let squares: Vec<f64> = rows.map(|row| row[target].powi(2) * scale).collect();
            best_share(&values, &squares, n as f64)
        })
        .collect()
}

fn best_share(values: &[f64], squares: &[f64], n: f64) -> f64 {
    let rest = (n - squares.iter().sum::<f64>()).max(0.0);
    let n_rest = (n - values.len() as f64).max(0.0);
    let log_likelihood = |h: f64| {
        let (mut sum, mut log_det) = (rest / (1.0 - h), n_rest * ln(1.0 - h));
        for (value, square) in values.iter().zip(squares) {
            let variance = (1.0 - h) + h * value;
            sum += square / variance;
            log_det += ln(variance);
        }
        -0.5 * (n * ln(sum / n) + log_det)
    };
    let none = log_likelihood(0.0);
    let best = GRID.iter().map(|&h| (h, log_likelihood(h))).max_by(|a, b| a.1.total_cmp(&b.1));
    best.filter(|best| best.1 - none > MIN_GAIN).map_or(0.0, |best| best.0)
}

/// Eigenvalues of F F' with the targets in the basis of its eigenvectors, `[eigenvector, target]`.
struct Spectrum {
    values: Vec<f64>,
    projections: Vec<f64>,
}

impl Spectrum {
    /// From whichever of F F' and F' F is smaller; `None` where the features are all 0.
    fn new(features: &Features, targets: &[f64], n_targets: usize) -> Option<Self> {
        let (n, p) = (targets.len() / n_targets, features.n_columns);
        if n == 0 || p == 0 {
            return None;
        }
        let matrix = View::new(&features.values, n, p);
        let by_rows = n < p;
        let size = n.min(p);
        let mut moments = vec![0.0; size * size];
        let (left, right) = if by_rows { (matrix, matrix.t()) } else { (matrix.t(), matrix) };
        product(&mut moments, size, left, right);
        if moments.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let eigen = Mat::from_fn(size, size, |row, col| moments[row * size + col])
            .self_adjoint_eigen(Side::Lower)
            .ok()?;
        let all: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
        let largest = all.iter().copied().fold(0.0, f64::max);
        let kept: Vec<usize> = (0..size).filter(|&idx| all[idx] > NEGLIGIBLE * largest).collect();
        if kept.is_empty() {
            return None;
        }
        let vectors: Vec<f64> = (kept.iter())
            .flat_map(|&idx| (0..size).map(move |row| (row, idx)))
            .map(|(row, idx)| eigen.U()[(row, idx)])
            .collect();
        let vectors = View::new(&vectors, kept.len(), size);
        let targets = View::new(targets, n, n_targets);
        let mut projections = vec![0.0; kept.len() * n_targets];
        if by_rows {
            product(&mut projections, n_targets, vectors, targets);
        } else {
            // Left singular vectors are F v / sqrt(eigenvalue).
            let mut seen = vec![0.0; p * n_targets];
            add_product(&mut seen, n_targets, matrix.t(), targets);
            product(&mut projections, n_targets, vectors, View::new(&seen, p, n_targets));
            for (row, &idx) in projections.chunks_exact_mut(n_targets).zip(&kept) {
                row.iter_mut().for_each(|value| *value /= all[idx].sqrt());
            }
        }
        Some(Self { values: kept.iter().map(|&idx| all[idx]).collect(), projections })
    }
}

/// Columns of mean 0 and mean square 1; those that do not vary stay 0.
fn standard_columns(columns: &[f64], n_columns: usize) -> Vec<f64> {
    let n = (columns.len() / n_columns) as f64;
    let mut out = columns.to_vec();
    for col in 0..n_columns {
        let at = |row: usize| row * n_columns + col;
        let n_rows = columns.len() / n_columns;
        let mean = (0..n_rows).map(|row| columns[at(row)]).sum::<f64>() / n;
        let square = (0..n_rows).map(|row| (columns[at(row)] - mean).powi(2)).sum::<f64>() / n;
        let scale = if square > 0.0 { square.sqrt().recip() } else { 0.0 };
        for row in 0..n_rows {
            out[at(row)] = (columns[at(row)] - mean) * scale;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::linear::adequacy::without_states;
    use crate::random::{Purpose, RandomStream};

    fn normal(stream: u64, n: usize) -> Vec<f64> {
        let mut draws = vec![0.0; n];
        RandomStream::new(1000, Purpose::MeasurementNoise, stream).fill_normal(&mut draws);
        draws
    }

    /// The mean share of pure noise that noise seems to explain, half of whose directions were taken out.
    fn share_of_noise(n_taken: usize) -> f64 {
        const ROWS: usize = 120;
        let (states, features) = (normal(0, ROWS * 60), normal(1, ROWS * 150));
        let errors = without_states(&states, 60, &normal(2, ROWS * 8), 8);
        let values = without_states(&states, 60, &features, 150);
        let features = Features { n_columns: 150, values };
        explained_shares(&features, &errors, 8, n_taken).iter().sum::<f64>() / 8.0
    }

    #[test]
    fn directions_that_were_taken_out_explain_nothing() {
        assert!(share_of_noise(60) < 0.1, "{}", share_of_noise(60));
        // Counted as if they could vary, they let noise explain noise.
        assert!(share_of_noise(0) > 0.5, "{}", share_of_noise(0));
    }
}
