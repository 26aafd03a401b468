//! Between the user's units and those of the data that a model was fitted to, where something was taken out of them.

use std::borrow::Cow;

use super::error::FittedError;
use super::intervention::Interventions;
use super::law::Law;
use super::model::FittedModel;
use crate::SeriesSet;

/// Samples that stand for a law on a logarithmic scale.
const N_SAMPLES: usize = 400;

impl FittedModel {
    /// Data as the model was fitted to such.
    pub(super) fn prepared<'a>(&self, data: &'a SeriesSet) -> Cow<'a, SeriesSet> {
        self.transform().map_or(Cow::Borrowed(data), |transform| Cow::Owned(transform.apply(data)))
    }

    /// Turns states `[.., time, variable]` into the user's units.
    pub(super) fn measured(&self, times: &[f64], states: &mut [f64]) {
        if let Some(transform) = self.transform() {
            transform.undo(times, states);
        }
    }

    /// A value of the user's, as the process has it.
    pub(super) fn inner(&self, variable: usize, time: f64, value: f64) -> Result<f64, FittedError> {
        let Some(transform) = self.transform() else { return Ok(value) };
        let inner = transform.forward(variable, time, value);
        if value.is_finite() && !inner.is_finite() {
            let variable = self.variables()[variable].clone();
            return Err(FittedError::NoLogarithm { variable, value });
        }
        Ok(inner)
    }

    /// The law of a variable at a time, in the user's units.
    pub(super) fn measured_law(&self, variable: usize, time: f64, law: Law) -> Law {
        let Some(transform) = self.transform() else { return law };
        let back = |value: f64| transform.back(variable, time, value);
        match law {
            Law::Mixture(parts) if !transform.is_log(variable) => {
                Law::Mixture(parts.into_iter().map(|(mean, spread)| (back(mean), spread)).collect())
            }
            Law::Samples(samples) => Law::Samples(samples.into_iter().map(back).collect()),
            // Quantiles of equal weight: a monotone change moves each to its place.
            Law::Mixture(_) => {
                let level = |idx: usize| (idx as f64 + 0.5) / N_SAMPLES as f64;
                Law::Samples((0..N_SAMPLES).map(|idx| back(law.quantile(level(idx)))).collect())
            }
        }
    }

    /// Applies interventions, which speak in the user's units, to a state of the process.
    pub(super) fn assign(
        &self,
        interventions: &Interventions,
        time: f64,
        state: &mut [f64],
    ) -> Result<(), FittedError> {
        let Some(transform) = self.transform() else {
            return Ok(interventions.assign(time, state)?);
        };
        let back = |(variable, value): (usize, &f64)| transform.back(variable, time, *value);
        let before: Vec<f64> = state.iter().enumerate().map(back).collect();
        let mut after = before.clone();
        interventions.assign(time, &mut after)?;
        for (variable, (before, after)) in before.iter().zip(after).enumerate() {
            // What is not changed keeps every digit.
            if *before != after {
                state[variable] = self.inner(variable, time, after)?;
            }
        }
        Ok(())
    }
}
