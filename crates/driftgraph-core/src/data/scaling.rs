//! Scaling to mean 0 and deviation 1 and back, so that all output is in the user's units.

use crate::SeriesSet;

/// Mean and deviation of every variable over its observed cells.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Standardizer {
    means: Vec<f64>,
    scales: Vec<f64>,
}

impl Standardizer {
    /// Mean and deviation (divisor n - 1) of each variable's observed cells over all series.
    ///
    /// A variable that never varies, or was observed less than twice, keeps scale 1: dividing by
    /// its deviation would turn rounding errors into a signal.
    pub fn fit(data: &SeriesSet) -> Self {
        let (means, scales) = (0..data.n_variables()).map(|idx| mean_and_scale(data, idx)).unzip();
        Self { means, scales }
    }

    /// The scaling that changes nothing.
    pub fn identity(n_variables: usize) -> Self {
        Self { means: vec![0.0; n_variables], scales: vec![1.0; n_variables] }
    }

    /// A scaling by known means and positive scales.
    pub(crate) fn known(means: Vec<f64>, scales: Vec<f64>) -> Self {
        debug_assert_eq!(means.len(), scales.len(), "every variable has a mean and a scale");
        Self { means, scales }
    }

    /// The scaling of some of the variables.
    #[must_use]
    pub fn among(&self, variables: &[usize]) -> Self {
        let some = |values: &[f64]| variables.iter().map(|&idx| values[idx]).collect();
        Self { means: some(&self.means), scales: some(&self.scales) }
    }

    /// What is subtracted from each variable.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// What each variable is divided by; always positive.
    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// The same series in standard units; missing cells stay missing.
    #[must_use]
    pub fn apply(&self, data: &SeriesSet) -> SeriesSet {
        data.map_series(|series| {
            let mut values = series.values().to_vec();
            self.for_each_cell(&mut values, |value, mean, scale| (value - mean) / scale);
            series.with_values(values)
        })
    }

    /// Turns `[.., variable]` values from standard units back into the user's.
    pub fn undo(&self, values: &mut [f64]) {
        self.for_each_cell(values, |value, mean, scale| value * scale + mean);
    }

    fn for_each_cell(&self, values: &mut [f64], change: impl Fn(f64, f64, f64) -> f64) {
        for row in values.chunks_exact_mut(self.means.len()) {
            for ((value, mean), scale) in row.iter_mut().zip(&self.means).zip(&self.scales) {
                *value = change(*value, *mean, *scale);
            }
        }
    }
}

fn mean_and_scale(data: &SeriesSet, variable_idx: usize) -> (f64, f64) {
    // Working in units of the largest magnitude keeps squares finite for values near 1e300.
    let largest = data.observed_values(variable_idx).fold(0.0, |max: f64, v| max.max(v.abs()));
    if largest == 0.0 {
        return (0.0, 1.0);
    }
    let scaled = || data.observed_values(variable_idx).map(|value| value / largest);
    let n_observed = scaled().count() as f64;
    let mean = scaled().sum::<f64>() / n_observed;
    let sum_of_squares: f64 = scaled().map(|value| (value - mean).powi(2)).sum();
    let deviation = (sum_of_squares / (n_observed - 1.0)).sqrt();
    // Equal values differ from their mean by rounding only: a few units in the last place.
    let varies = n_observed >= 2.0 && deviation > 8.0 * f64::EPSILON;
    (mean * largest, if varies { deviation * largest } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObservedSeries;

    fn one_variable(values: &[f64]) -> SeriesSet {
        let times = (0..values.len()).map(|idx| idx as f64).collect();
        let series = ObservedSeries::new("a", 1, times, values.to_vec()).unwrap();
        SeriesSet::new(vec!["x".into()], vec![series]).unwrap()
    }

    #[test]
    fn observed_cells_alone_decide_mean_and_scale() {
        // 1, 3, 5: mean 3, squared deviations 4 + 0 + 4 over n - 1 = 2 give variance 4.
        let scaling = Standardizer::fit(&one_variable(&[1.0, f64::NAN, 3.0, 5.0]));
        assert_eq!((scaling.means()[0], scaling.scales()[0]), (3.0, 2.0));
    }

    #[test]
    fn undo_returns_the_original_units() {
        let data = one_variable(&[1.0, f64::NAN, 3.5, -7.25]);
        let scaling = Standardizer::fit(&data);
        let mut values = scaling.apply(&data).series()[0].values().to_vec();
        scaling.undo(&mut values);
        for (back, original) in values.iter().zip(data.series()[0].values()) {
            // Two roundings each way.
            assert!((back - original).abs() < 1e-14 || (back.is_nan() && original.is_nan()));
        }
    }

    #[test]
    fn a_constant_variable_keeps_its_scale() {
        for constant in [0.0, 0.1, 1e30, -3e-30] {
            let scaling = Standardizer::fit(&one_variable(&[constant; 7]));
            assert_eq!(scaling.scales()[0], 1.0, "constant {constant}");
        }
    }

    #[test]
    fn extreme_units_give_the_same_standard_values() {
        let plain = [1.0, 2.0, 4.0, 8.0];
        let expected = Standardizer::fit(&one_variable(&plain)).apply(&one_variable(&plain));
        for unit in [1e-300, 1e-30, 1e30, 1e300] {
            let data = one_variable(&plain.map(|value| value * unit));
            let standard = Standardizer::fit(&data).apply(&data);
            for (found, wanted) in
                standard.series()[0].values().iter().zip(expected.series()[0].values())
            {
                // A change of unit costs one rounding per value.
                assert!((found - wanted).abs() < 1e-14, "unit {unit}: {found} and {wanted}");
            }
        }
    }
}
