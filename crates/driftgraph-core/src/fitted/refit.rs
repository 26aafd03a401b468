//! The same model again, fitted to a part of its data: settings are kept, nothing is chosen anew.

use std::ops::ControlFlow;

use super::engine::Progress;
use super::error::FittedError;
use super::model::{FittedModel, ModelPart};
use crate::SeriesSet;
use crate::train::bridge::BridgeSettings;
use crate::train::fit::fit;
use crate::train::observer::{FitObserver, StepReport};
use crate::train::select::{FitName, SelectEvent, fit_ensemble};
use crate::train::trainer::Trainer;

impl FittedModel {
    /// Fits `data` with the settings, seeds and knowledge of this model.
    pub fn refit(&self, data: &SeriesSet, progress: &Progress<'_>) -> Result<Self, FittedError> {
        self.check_data(data)?;
        match &self.part {
            ModelPart::Bridge(part) => {
                let seed = part.members[0].seed;
                let settings = BridgeSettings { seed, ..part.settings.clone() };
                let members = (&settings, part.members.len());
                let observer = |event: &SelectEvent<'_>| {
                    if event.fit == FitName::Member(0) {
                        let step = event.progress;
                        progress((step.step + 1) as f64 / step.cycle_end.max(1) as f64);
                    }
                    ControlFlow::Continue(())
                };
                let ensemble = fit_ensemble(data, &part.knowledge, members, &observer)?;
                Ok(Self::from_ensemble(&ensemble, &part.knowledge, data))
            }
            ModelPart::Simulated(part) => {
                let settings = part.fit.settings().clone().check().map_err(|error| {
                    super::error::ModelError::Settings { problem: error.to_string() }
                })?;
                let fit = fit(data, &settings, &mut Follow { progress })?;
                Ok(Self::from_fit(fit, data))
            }
        }
    }
}

struct Follow<'a> {
    progress: &'a Progress<'a>,
}

impl FitObserver for Follow<'_> {
    fn step(&mut self, report: &StepReport, _: &Trainer) -> ControlFlow<()> {
        (self.progress)((report.step + 1) as f64 / report.n_steps.max(1) as f64);
        ControlFlow::Continue(())
    }
}
