//! The same model again, fitted to a part of its data: settings are kept, nothing is chosen anew.

use std::ops::ControlFlow;

use super::engine::ShareDone;
use super::error::FittedError;
use super::model::{FittedModel, ModelPart};
use crate::SeriesSet;
use crate::train::bridge::BridgeSettings;
use crate::train::fit::fit;
use crate::train::polynomial::{PolynomialTask, fit_polynomial};
use crate::train::progress::{Part, Step};
use crate::train::select::{Task, fit_ensemble};

impl FittedModel {
    /// Fits `data` with the settings, seeds and knowledge of this model.
    pub fn refit(&self, data: &SeriesSet, progress: &ShareDone<'_>) -> Result<Self, FittedError> {
        self.check_data(data)?;
        // Seasons and lines are those of these data alone, or the future would be known from the rest.
        let transform = self.transform().map(|known| known.preparation().fit(data)).transpose()?;
        let transform = transform.flatten();
        let prepared = transform.as_ref().map(|transform| transform.apply(data));
        let data = prepared.as_ref().unwrap_or(data);
        let follow = |step: &Step<'_>| {
            if step.part.is_logged() {
                progress((step.number + 1) as f64 / step.end.max(1) as f64);
            }
            ControlFlow::Continue(())
        };
        let (model, divergence) = match &self.part {
            ModelPart::Bridge(part) => {
                let seed = part.members[0].seed;
                let settings = BridgeSettings { seed, ..part.settings.clone() };
                let task = Task { data, knowledge: &part.knowledge };
                let ensemble = fit_ensemble(task, &settings, part.members.len(), &follow)?;
                let divergence = ensemble.divergence();
                (Self::from_ensemble(&ensemble, &part.knowledge, data), divergence)
            }
            ModelPart::Polynomial(part) => {
                let (knowledge, settings) = (&part.knowledge, &part.settings);
                let task = PolynomialTask { data, knowledge, settings };
                let fit = fit_polynomial(task, Part::WHOLE, &follow)?;
                (Self::from_polynomial(fit, *settings, knowledge, data)?, None)
            }
            ModelPart::Simulated(part) => {
                let settings = part.fit.settings().clone().check().map_err(|error| {
                    super::error::ModelError::Settings { problem: error.to_string() }
                })?;
                let fit = fit(data, &settings, &follow)?;
                let divergence = fit.divergence();
                (Self::from_fit(fit, data), divergence)
            }
        };
        let model = model.with_transform(transform)?;
        divergence.map_or(Ok(model), |divergence| Err(divergence.into()))
    }
}
