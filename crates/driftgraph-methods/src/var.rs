//! First-order vector autoregression by least squares.

use driftgraph_core::{EdgeScores, SeriesSet};
use faer::Mat;

use crate::BaselineError;
use crate::levels::{filled_levels, steps};
use crate::regression::{MIN_STEPS, Regression};

/// Selects the shortest of all equally good solutions where there are more variables than steps,
/// and changes others by about this share.
const TINY_PENALTY: f64 = 1e-6;

/// |coefficient| of every level for the level one row later.
///
/// Coefficients rather than their t statistics: on simulated sparse linear processes both ranked
/// the edges equally well, and a t statistic has no meaning with more variables than steps.
pub(crate) fn var(data: &SeriesSet) -> Result<EdgeScores, BaselineError> {
    let levels = filled_levels(data);
    let steps = steps(&levels);
    if steps.len() < MIN_STEPS {
        return Err(BaselineError::TooFewSteps { found: steps.len(), needed: MIN_STEPS });
    }
    let (n_steps, n_variables) = (steps.len(), data.n_variables());
    let sources = Mat::from_fn(n_steps, n_variables, |row, column| steps[row].before[column]);
    let targets = Mat::from_fn(n_steps, n_variables, |row, column| steps[row].after[column]);
    Regression::new(sources, targets, &vec![1.0; n_steps]).scores(TINY_PENALTY)
}
