//! Simple baselines: series in, scored edges out, nothing to set.
//!
//! A learned graph is worth its cost only where it beats these. All of them standardise the
//! variables, so that the units of the data change nothing, and none looks at a true graph.
//!
//! ```
//! use driftgraph_baselines::Baseline;
//! use driftgraph_core::{ObservedSeries, SeriesSet};
//!
//! let values = vec![0.0, 1.0, 0.5, 0.8, 0.9, 0.3, 0.7, -0.2, 0.1, -0.4];
//! let series = ObservedSeries::new("run", 2, vec![0.0, 1.0, 2.0, 3.0, 4.5], values)?;
//! let data = SeriesSet::new(vec!["x".into(), "y".into()], vec![series])?;
//! let scores = "ridge".parse::<Baseline>()?.run(&data)?;
//! assert!(scores.score(1, 0) > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(clippy::unwrap_used)]

mod error;
mod levels;
mod linear_algebra;
mod ode_mean;
mod partial_correlation;
mod regression;
mod ridge;
mod var;

use std::fmt;
use std::str::FromStr;

use driftgraph_core::{EdgeScores, SeriesSet};

pub use error::BaselineError;
pub use ode_mean::{OdeMean, OdeMeanSettings};

/// A simple method that scores all edges between the variables of a set of series.
///
/// Missing cells are interpolated linearly in time within their series, and held constant before
/// the first and after the last observed cell. A variable never observed in a series stands at its
/// mean over the other series there, which says as little as possible; a variable that never
/// varies gets score 0 with all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Baseline {
    /// Absolute partial correlation of the levels of two variables given all others, over all rows
    /// of all series: symmetric, blind to time.
    ///
    /// It says nothing about self edges; the diagonal is 1, the partial correlation of a variable
    /// with itself. Where self edges count and all of them are present (as in Netsim), this
    /// convention alone ranks all of them first. The correlation matrix is shrunk towards the
    /// identity with the intensity of Ledoit and Wolf (2004), doi:10.1016/S0047-259X(03)00096-4,
    /// which vanishes with many rows and keeps it invertible with few.
    PartialCorrelation,
    /// Absolute coefficients of a ridge regression of rates of change on levels.
    ///
    /// The rate is the increment between neighbouring rows divided by the time between them. Both
    /// sides are standardised, so that neither the unit of a variable nor that of time matters.
    /// The penalty, one for all variables, is the largest whose cross-validated error is within
    /// one standard error of the smallest (Hastie, Tibshirani and Friedman 2009, section 7.10).
    Ridge,
    /// Absolute coefficients of a first-order vector autoregression, in standardised variables.
    ///
    /// Neighbouring rows count as equally spaced, whatever their times. Least squares, with a
    /// penalty so small that it decides only where the data do not.
    Var,
}

impl Baseline {
    /// All baselines.
    pub const ALL: [Self; 3] = [Self::PartialCorrelation, Self::Ridge, Self::Var];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::PartialCorrelation => "partial-correlation",
            Self::Ridge => "ridge",
            Self::Var => "var",
        }
    }

    /// Scores every ordered pair of variables, self edges included; the same data give the same bits.
    pub fn run(self, data: &SeriesSet) -> Result<EdgeScores, BaselineError> {
        match self {
            Self::PartialCorrelation => partial_correlation::partial_correlation(data),
            Self::Ridge => ridge::ridge(data),
            Self::Var => var::var(data),
        }
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Baseline {
    type Err = BaselineError;

    fn from_str(name: &str) -> Result<Self, BaselineError> {
        let found = Self::ALL.into_iter().find(|baseline| baseline.name() == name);
        found.ok_or_else(|| BaselineError::UnknownBaseline { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_baseline_is_found_by_its_name() {
        for baseline in Baseline::ALL {
            assert_eq!(baseline.to_string().parse(), Ok(baseline));
        }
        let error = "Ridge".parse::<Baseline>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected one of `partial-correlation`, `ridge`, `var`, found `Ridge`"
        );
    }
}
