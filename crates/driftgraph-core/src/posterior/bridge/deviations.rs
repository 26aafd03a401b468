//! Deviations and correlations of the rows a batch touches, computed once for all that reads them.

use std::f64::consts::LN_2;

use super::batch::{Batch, LocalValues};
use crate::numeric::kernels::vectorised;
use crate::numeric::real::Real;

/// What the posterior's parameters say about the spread of its paths, `[deviation row, variable]`.
#[derive(Debug, Clone, Default)]
pub struct Deviations {
    /// Marginal deviations s.
    pub deviations: Vec<f64>,
    /// Correlations r with the next point.
    pub correlations: Vec<f64>,
    /// 1 - r².
    pub(crate) rests: Vec<f64>,
    /// log s² of the next point given this one, less log s² of the next: log(1 - r²).
    pub(crate) log_rests: Vec<f64>,
}

/// The paths of a batch: their parameters, and what these say about spread.
#[derive(Debug, Clone, Default)]
pub(crate) struct BatchPaths {
    /// The parameters of the rows that the batch touches.
    pub values: LocalValues,
    /// Their deviations and correlations.
    pub deviations: Deviations,
}

impl BatchPaths {
    /// Reads the rows of a batch.
    pub(crate) fn gather(&mut self, all: &LocalValues, batch: &Batch, n_variables: usize) {
        self.values.gather(all, batch, n_variables);
        self.deviations.fill(&self.values);
    }
}

/// One row of each buffer, at the two ends of a step where both are needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeviationRow<'a> {
    pub(super) here: &'a [f64],
    pub(super) next: &'a [f64],
    pub(super) correlations: &'a [f64],
    pub(super) rests: &'a [f64],
    pub(super) log_rests: &'a [f64],
}

impl Deviations {
    /// Reads the parameters of the batch's rows.
    pub fn fill(&mut self, values: &LocalValues) {
        let n = values.log_deviations.len();
        let Self { deviations, correlations, rests, log_rests } = self;
        for buffer in [&mut *deviations, &mut *correlations, &mut *rests, &mut *log_rests] {
            buffer.resize(n, 0.0);
        }
        vectorised(
            #[inline(always)]
            || {
                for (deviation, &log) in deviations.iter_mut().zip(&values.log_deviations) {
                    *deviation = Real::exp(log);
                }
                let out = correlations.iter_mut().zip(rests).zip(log_rests);
                for (((correlation, rest), log_rest), &raw) in out.zip(&values.correlations) {
                    // With e = exp(-2 |raw|): tanh = (1 - e) / (1 + e) and sech² = 4 e / (1 + e)²,
                    // both without cancellation near 1.
                    let size = raw.abs();
                    let small = Real::exp(-2.0 * size);
                    let share = 1.0 / (1.0 + small);
                    *correlation = ((1.0 - small) * share).copysign(raw);
                    *rest = 4.0 * small * share * share;
                    *log_rest = 2.0 * (LN_2 - size - small.ln_1p_unit());
                }
            },
        );
    }

    /// The row at a place, and the deviations of the row after it.
    pub(super) fn row(&self, place: usize, d: usize) -> DeviationRow<'_> {
        let here = place * d..(place + 1) * d;
        DeviationRow {
            here: &self.deviations[here.clone()],
            next: &self.deviations[here.end..here.end + d],
            correlations: &self.correlations[here.clone()],
            rests: &self.rests[here.clone()],
            log_rests: &self.log_rests[here],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_and_what_is_left_of_them_are_hyperbolic_functions() {
        let raw: Vec<f64> = (-60..=60).map(|idx| 0.15 * f64::from(idx)).collect();
        let values = LocalValues {
            means: Vec::new(),
            log_deviations: raw.clone(),
            correlations: raw.clone(),
        };
        let mut deviations = Deviations::default();
        deviations.fill(&values);
        for (idx, raw) in raw.iter().enumerate() {
            let rest = raw.cosh().powi(-2);
            // A few roundings: absolute for the correlation and the logarithm, else relative.
            assert!((deviations.correlations[idx] - raw.tanh()).abs() < 5e-16, "{raw}");
            assert!((deviations.rests[idx] / rest - 1.0).abs() < 5e-15, "{raw}");
            assert!((deviations.log_rests[idx] - rest.ln()).abs() < 5e-15, "{raw}");
            assert!((deviations.deviations[idx] / raw.exp() - 1.0).abs() < 1e-15, "{raw}");
        }
    }
}
