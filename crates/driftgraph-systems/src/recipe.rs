//! How a data set is made from a system: which series, times, steps, noise and holes.

use driftgraph_core::process::solver::Scheme;

use crate::{Dropping, MeasurementNoise, Sampling, System, SystemError};

/// More values than this would not fit into the memory of a laptop.
const MAX_VALUES: usize = 1 << 30;

/// All choices of a data set except the system itself.
///
/// Steps happen in the order of the fields: series are simulated, standardised, thinned in time,
/// measured with noise, and parts are dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// Number of series returned; at least 1.
    pub n_series: usize,
    /// First and last time; every series starts at the first with the system's initial law.
    pub time_range: (f64, f64),
    /// At which times the path is recorded.
    pub sampling: Sampling,
    /// Number of times recorded per series; at least 2.
    pub n_points: usize,
    /// Longest solver step; gaps between recorded times are split into equal steps.
    pub step_size: f64,
    /// How a solver step is made.
    pub scheme: Scheme,
    /// Whether all variables are scaled to mean 0 and deviation 1.
    pub standardise: bool,
    /// Series over which means and deviations are taken; at least `n_series` are used anyway.
    pub n_scaling_series: usize,
    /// Every how many recorded times one is kept, from the first on; at least 1.
    pub keep_every: usize,
    /// Noise of measurement, in the units of the values returned.
    pub noise: MeasurementNoise,
    /// What is not observed.
    pub dropping: Dropping,
    /// Series in which one variable is kept at 0 all the time: the first variable in the first of them, and so on.
    pub n_knockouts: usize,
    /// Decides initial states, paths, times, noise and holes.
    pub seed: u64,
}

impl Recipe {
    /// Ten regularly observed, exact and complete series over the system's usual times.
    pub fn usual(system: &(impl System + ?Sized), seed: u64) -> Self {
        let times = system.usual_times();
        Self {
            n_series: 10,
            time_range: (times.start, times.end),
            sampling: Sampling::Regular,
            n_points: times.n_points,
            step_size: times.step_size,
            scheme: Scheme::EulerMaruyama,
            standardise: false,
            n_scaling_series: 0,
            keep_every: 1,
            noise: MeasurementNoise::Nothing,
            dropping: Dropping::Nothing,
            n_knockouts: 0,
            seed,
        }
    }

    /// The variable that is knocked out in a series, if one is.
    pub fn knocked_out(&self, series: usize, n_variables: usize) -> Option<usize> {
        (series < self.n_knockouts).then_some(series % n_variables)
    }

    /// Number of series that have to be simulated.
    pub(crate) fn n_simulated(&self) -> usize {
        if self.standardise { self.n_series.max(self.n_scaling_series) } else { self.n_series }
    }

    pub(crate) fn check(&self, n_variables: usize) -> Result<(), SystemError> {
        for (setting, min, found) in [
            ("n_series", 1, self.n_series),
            ("n_points", 2, self.n_points),
            ("keep_every", 1, self.keep_every),
        ] {
            if found < min {
                return Err(SystemError::CountTooSmall { setting, min, found });
            }
        }
        let (n_series, n_points) = (self.n_simulated(), self.n_points);
        // As floats, since the product of counts may not fit into one.
        if n_series as f64 * n_points as f64 * n_variables as f64 > MAX_VALUES as f64 {
            let limit = MAX_VALUES;
            return Err(SystemError::TooLarge { n_series, n_points, n_variables, limit });
        }
        let (start, end) = self.time_range;
        if !(start < end && (end - start).is_finite()) {
            return Err(SystemError::BadTimeRange { start, end });
        }
        if self.n_knockouts > self.n_series {
            let (found, n_series) = (self.n_knockouts, self.n_series);
            return Err(SystemError::TooManyKnockouts { found, n_series });
        }
        // 0 would be another value afterwards.
        if self.n_knockouts > 0 && self.standardise {
            return Err(SystemError::ScaledKnockouts);
        }
        self.noise.check()?;
        self.dropping.check()
    }
}
