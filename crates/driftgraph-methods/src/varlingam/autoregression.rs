//! A vector autoregression without intercept, and how many lags it should have.

use faer::Mat;

use crate::method::MethodError;
use crate::regular::RegularSeries;

use super::Criterion;

/// Penalties tried where least squares has no unique solution: 10^-6 to 10^2 of the mean squared singular value.
const N_PENALTIES: i32 = 33;

/// Rows with all their lags, over all series: `[row, (lag, variable)]`, the present row first.
pub(super) struct LaggedRows {
    pub(super) n_variables: usize,
    pub(super) lags: usize,
    pub(super) table: Mat<f64>,
}

impl LaggedRows {
    /// Windows of `lags` + 1 rows of one series without a hole.
    pub(super) fn new(series: &[RegularSeries], n_variables: usize, lags: usize) -> Self {
        let mut ends: Vec<(&RegularSeries, usize)> = Vec::new();
        for series in series {
            ends.extend(
                (lags..series.n_rows())
                    .filter(|&row| series.is_complete(row - lags..row + 1))
                    .map(|row| (series, row)),
            );
        }
        let table = Mat::from_fn(ends.len(), n_variables * (lags + 1), |idx, column| {
            let (series, row) = ends[idx];
            series.row(row - column / n_variables)[column % n_variables]
        });
        Self { n_variables, lags, table }
    }

    pub(super) fn n_rows(&self) -> usize {
        self.table.nrows()
    }
}

/// What was learned of the past.
pub(super) struct Autoregression {
    /// `[effect, cause]` for each lag from 1 on.
    pub(super) coefficients: Vec<Mat<f64>>,
    /// `[row, variable]`, not centred.
    pub(super) residuals: Mat<f64>,
    /// The penalty, where there are as many coefficients as rows or more.
    pub(super) penalty: Option<f64>,
}

impl Autoregression {
    /// Least squares by the pseudo-inverse; with too few rows, ridge regression with a penalty chosen by generalised
    /// cross-validation (Golub, Heath and Wahba 1979).
    pub(super) fn fit(rows: &LaggedRows) -> Result<Self, MethodError> {
        let (n, d) = (rows.n_rows(), rows.n_variables);
        let present = rows.table.get(.., ..d);
        let past = rows.table.get(.., d..);
        let svd = past.thin_svd().map_err(|_| MethodError::Unusable {
            method: super::NAME,
            reason: "the values are too far apart in size to compute with".to_owned(),
        })?;
        let singular: Vec<f64> = svd.S().column_vector().iter().copied().collect();
        let projected = svd.U().transpose() * present;
        let too_few = past.ncols() >= n;
        let penalty = too_few.then(|| cross_validated(&singular, &projected, present, n));
        let largest = singular.iter().copied().fold(0.0, f64::max);
        // Below this a singular value is rounding.
        let negligible = largest * f64::EPSILON * n.max(past.ncols()) as f64;
        let inverse = |value: f64| match penalty {
            _ if value <= negligible => 0.0,
            Some(penalty) => value / (value * value + penalty),
            None => 1.0 / value,
        };
        let scaled =
            Mat::from_fn(singular.len(), d, |i, j| inverse(singular[i]) * projected[(i, j)]);
        // [(lag, cause), effect]
        let all = svd.V() * scaled;
        let residuals = present - past * &all;
        let coefficients = (0..rows.lags)
            .map(|lag| Mat::from_fn(d, d, |effect, cause| all[(lag * d + cause, effect)]))
            .collect();
        Ok(Self { coefficients, residuals, penalty })
    }

    /// How well the lags explain the data for their number; smaller is better, `None` where it is undefined.
    pub(super) fn criterion(&self, criterion: Criterion) -> Option<f64> {
        let (rows, d) = self.residuals.shape();
        let (n, lags) = (rows as f64, self.coefficients.len() as f64);
        let n_coefficients = lags * (d * d) as f64;
        let log_det = log_determinant(&self.residuals)?;
        let value = match criterion {
            Criterion::Aic => log_det + 2.0 * n_coefficients / n,
            Criterion::Bic => log_det + n_coefficients * n.ln() / n,
            Criterion::Hqic => log_det + 2.0 * n_coefficients * n.ln().ln() / n,
            Criterion::Fpe => {
                let per_equation = lags * d as f64;
                if n <= per_equation {
                    return None;
                }
                ((n + per_equation) / (n - per_equation)).powi(d as i32) * log_det.exp()
            }
            Criterion::None => return None,
        };
        value.is_finite().then_some(value)
    }
}

/// ln det (RᵀR / n), `None` where the columns depend on each other.
fn log_determinant(residuals: &Mat<f64>) -> Option<f64> {
    let moments = residuals.transpose() * residuals * faer::Scale(1.0 / residuals.nrows() as f64);
    let factor = moments.llt(faer::Side::Lower).ok()?;
    let diagonal = factor.L().diagonal().column_vector().iter();
    Some(2.0 * diagonal.map(|value| value.ln()).sum::<f64>())
}

/// The penalty with the smallest generalised cross-validation error over all targets.
fn cross_validated(
    singular: &[f64],
    projected: &Mat<f64>,
    present: faer::MatRef<'_, f64>,
    n: usize,
) -> f64 {
    let mean_square = singular.iter().map(|s| s * s).sum::<f64>() / singular.len().max(1) as f64;
    let outside = (present.squared_norm_l2() - projected.squared_norm_l2()).max(0.0);
    let error = |penalty: f64| {
        let left = |value: f64| penalty / (value * value + penalty);
        let inside: f64 = (0..singular.len())
            .map(|i| left(singular[i]).powi(2) * projected.row(i).squared_norm_l2())
            .sum();
        let freedom = n as f64 - singular.iter().map(|&value| 1.0 - left(value)).sum::<f64>();
        (inside + outside) / (freedom * freedom).max(f64::MIN_POSITIVE)
    };
    let penalties = (0..N_PENALTIES)
        .map(|idx| mean_square.max(f64::MIN_POSITIVE) * 10_f64.powf(f64::from(idx) / 4.0 - 6.0));
    penalties
        .min_by(|&a, &b| error(a).total_cmp(&error(b)))
        .expect("there is a best penalty because the list is not empty")
}
