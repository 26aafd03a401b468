//! Mean, deviation and quantiles of many paths at each time.

/// Shares of paths below the quantiles of [`Bands`]: bands of 90 and 50 %, and the median.
pub const LEVELS: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// What many paths have in common; all matrices are `[time, variable]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Bands {
    /// The times.
    pub times: Vec<f64>,
    /// Number of variables, D.
    pub n_variables: usize,
    /// Means.
    pub mean: Vec<f64>,
    /// Deviations.
    pub deviation: Vec<f64>,
    /// Quantiles at the [`LEVELS`].
    pub quantiles: [Vec<f64>; 5],
}

impl Bands {
    /// Bands of paths `[path, time, variable]`.
    pub(crate) fn of_paths(times: &[f64], n_variables: usize, paths: &[f64]) -> Self {
        let cells = times.len() * n_variables;
        let mut bands = Self::empty(times, n_variables);
        let mut values = Vec::with_capacity(paths.len() / cells.max(1));
        for cell in 0..cells {
            values.clear();
            values.extend(paths.iter().skip(cell).step_by(cells).copied());
            bands.push(&mut values);
        }
        bands
    }

    /// Bands without any cell, to be filled.
    pub(super) fn empty(times: &[f64], n_variables: usize) -> Self {
        Self {
            times: times.to_vec(),
            n_variables,
            mean: Vec::new(),
            deviation: Vec::new(),
            quantiles: Default::default(),
        }
    }

    fn push(&mut self, values: &mut [f64]) {
        let n = values.len() as f64;
        // Around a value of their own, so that paths that agree have no deviation at all.
        let first = values[0];
        let mean = first + values.iter().map(|value| value - first).sum::<f64>() / n;
        let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        self.mean.push(mean);
        self.deviation.push((square / (n - 1.0).max(1.0)).sqrt());
        values.sort_by(f64::total_cmp);
        for (quantiles, level) in self.quantiles.iter_mut().zip(LEVELS) {
            quantiles.push(quantile(values, level));
        }
    }
}

/// The quantile of sorted values, interpolated between neighbours (type 7 of Hyndman and Fan, 1996).
pub fn quantile(sorted: &[f64], level: f64) -> f64 {
    let place = level * (sorted.len() - 1) as f64;
    let (below, share) = (place.floor() as usize, place.fract());
    let above = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + share * (above - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_of_a_few_paths_by_hand() {
        // Two times, one variable, five paths: 1..5 at the first, always 7 at the second.
        let paths = [1.0, 7.0, 2.0, 7.0, 3.0, 7.0, 4.0, 7.0, 5.0, 7.0];
        let bands = Bands::of_paths(&[0.0, 1.0], 1, &paths);
        assert_eq!(bands.mean, [3.0, 7.0]);
        assert_eq!(bands.deviation, [2.5_f64.sqrt(), 0.0]);
        assert_eq!(bands.quantiles[1], [2.0, 7.0]);
        // 0.05 of the way of four gaps: 1.2.
        assert!((bands.quantiles[0][0] - 1.2).abs() < 1e-15);
    }
}
