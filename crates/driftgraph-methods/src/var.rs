//! First-order vector autoregression by least squares.

use driftgraph_core::{EdgeScores, SeriesSet};
use faer::Mat;

use crate::FitPlan;
use crate::levels::{INTERPOLATES, bytes_of_copies, filled_levels, steps};
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Takes};
use crate::regression::{MIN_STEPS, Regression};

/// Selects the shortest of all equally good solutions where there are more variables than steps,
/// and changes others by about this share.
const TINY_PENALTY: f64 = 1e-6;

/// Absolute coefficients of a first-order vector autoregression, in standardised variables.
pub(crate) struct Var;

impl Method for Var {
    fn name(&self) -> &'static str {
        "var"
    }

    fn description(&self) -> &'static str {
        "absolute coefficients of a first-order vector autoregression, by least squares"
    }

    fn takes(&self) -> Takes {
        Takes {
            several_series: Handling::Full,
            irregular_times: Handling::Instead("takes neighbouring rows as equally spaced"),
            missing_cells: INTERPOLATES,
            prior_edges: false,
            experiments: Handling::AS_VALUES,
        }
    }

    /// Copies of all cells: the data, filled levels, sources and targets, and both again about their means.
    fn predicted_bytes(&self, _plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        Some(bytes_of_copies(data, 6))
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        Ok(Learned::scores(&var(task.data)?))
    }
}

/// |coefficient| of every level for the level one row later.
///
/// Coefficients rather than their t statistics: on simulated sparse linear processes both ranked
/// the edges equally well, and a t statistic has no meaning with more variables than steps.
pub(crate) fn var(data: &SeriesSet) -> Result<EdgeScores, MethodError> {
    let levels = filled_levels(data);
    let steps = steps(&levels);
    if steps.len() < MIN_STEPS {
        return Err(MethodError::TooFewSteps { found: steps.len(), needed: MIN_STEPS });
    }
    let (n_steps, n_variables) = (steps.len(), data.n_variables());
    let sources = Mat::from_fn(n_steps, n_variables, |row, column| steps[row].before[column]);
    let targets = Mat::from_fn(n_steps, n_variables, |row, column| steps[row].after[column]);
    Regression::new(sources, targets, &vec![1.0; n_steps]).scores(TINY_PENALTY)
}
