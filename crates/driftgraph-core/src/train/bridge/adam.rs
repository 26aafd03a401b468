//! Adam with a rate per part of the model, and its lazy form for the rows of a batch.
//!
//! Kingma and Ba (2015), arXiv:1412.6980, with decays 0.9 and 0.99: gradients of the bridge have little
//! noise, and training is short.

use rayon::prelude::*;

use crate::numeric::kernels::vectorised;

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.99;
const EPSILON: f64 = 1e-8;
/// Entries per parallel piece.
const CHUNK: usize = 1 << 15;

/// Bias corrections after a number of steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Correction {
    first: f64,
    second: f64,
}

impl Correction {
    pub(super) fn after(n_steps: u32) -> Self {
        let n_steps = i32::try_from(n_steps).unwrap_or(i32::MAX);
        Self { first: 1.0 - BETA_1.powi(n_steps), second: 1.0 - BETA_2.powi(n_steps) }
    }
}

/// How far a step goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Learning rate.
    pub(super) rate: f64,
    /// For the number of steps so far.
    pub(super) correction: Correction,
}

/// Running means of the gradient and of its square.
pub(super) struct Moments<'a> {
    /// Of the gradient.
    pub(super) first: &'a mut [f64],
    /// Of its square.
    pub(super) second: &'a mut [f64],
}

/// One step against the gradient; a rate of 0 still updates the moments.
pub(super) fn adam_step(
    pace: Pace,
    gradient: &[f64],
    moments: Moments<'_>,
    parameters: &mut [f64],
) {
    let Moments { first, second } = moments;
    let chunks = (parameters.par_chunks_mut(CHUNK))
        .zip(gradient.par_chunks(CHUNK))
        .zip(first.par_chunks_mut(CHUNK).zip(second.par_chunks_mut(CHUNK)));
    chunks.for_each(|((parameters, gradient), (first, second))| {
        vectorised(
            #[inline(always)]
            || step_entries(pace, gradient, Moments { first, second }, parameters),
        );
    });
}

/// The step itself, entry by entry.
#[expect(clippy::inline_always, reason = "called inside vectorised loops")]
#[inline(always)]
fn step_entries(
    Pace { rate, correction }: Pace,
    gradient: &[f64],
    Moments { first, second }: Moments<'_>,
    parameters: &mut [f64],
) {
    let rate = rate / correction.first;
    let root = correction.second.sqrt();
    let moments = first.iter_mut().zip(second.iter_mut());
    for ((parameter, &grad), (first, second)) in parameters.iter_mut().zip(gradient).zip(moments) {
        *first = BETA_1 * *first + (1.0 - BETA_1) * grad;
        *second = BETA_2 * *second + (1.0 - BETA_2) * grad * grad;
        *parameter -= rate * *first / (second.sqrt() / root + EPSILON);
    }
}

/// Rows of a buffer that learn only when a batch touches them, each with its own step count.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct LazyMoments {
    first: Vec<f64>,
    second: Vec<f64>,
    n_steps: Vec<u32>,
}

impl LazyMoments {
    pub(super) fn new(n_rows: usize, n_columns: usize) -> Self {
        let zeros = vec![0.0; n_rows * n_columns];
        Self { first: zeros.clone(), second: zeros, n_steps: vec![0; n_rows] }
    }

    /// One step of the given rows; `gradient` holds these rows only.
    pub(super) fn step(
        &mut self,
        rate: f64,
        rows: &[usize],
        gradient: &[f64],
        parameters: &mut [f64],
    ) {
        let Some(n_columns) = gradient.len().checked_div(rows.len()) else { return };
        // Most rows of a batch have seen as many steps as the row before.
        let mut known = (0, Correction::after(0));
        vectorised(
            #[inline(always)]
            || {
                for (&row, gradient) in rows.iter().zip(gradient.chunks_exact(n_columns)) {
                    let n_steps = self.n_steps[row].saturating_add(1);
                    self.n_steps[row] = n_steps;
                    if known.0 != n_steps {
                        known = (n_steps, Correction::after(n_steps));
                    }
                    let range = row * n_columns..(row + 1) * n_columns;
                    let moments = Moments {
                        first: &mut self.first[range.clone()],
                        second: &mut self.second[range.clone()],
                    };
                    let pace = Pace { rate, correction: known.1 };
                    step_entries(pace, gradient, moments, &mut parameters[range]);
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_of_a_row_moves_by_the_rate_whenever_it_comes() {
        let mut moments = LazyMoments::new(3, 2);
        let mut parameters = vec![1.0; 6];
        moments.step(0.1, &[0], &[5.0, -0.2], &mut parameters);
        moments.step(0.1, &[0, 2], &[5.0, -0.2, -3.0, 0.0], &mut parameters);
        // Bias-corrected moments are g and g^2: a step is rate * g / (|g| + 1e-8).
        let expected = [0.8, 1.2, 1.0, 1.0, 1.1, 1.0];
        for (found, wanted) in parameters.iter().zip(expected) {
            assert!((found - wanted).abs() < 1e-7, "{found} {wanted}");
        }
        assert_eq!(moments.n_steps, [2, 0, 1]);
    }
}
