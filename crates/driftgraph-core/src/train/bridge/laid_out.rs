//! Data as settings ask for them: standardised, on their grids, with what they say about noise.

use super::error::BridgeError;
use super::noise_identifiability::NoiseMoments;
use super::observation_model::ObservationModel;
use super::settings::{BridgeSettings, CheckedBridgeSettings, NoiseScale};
use super::trainer::batch_steps;
use crate::graph::limited_prior::LimitedPrior;
use crate::graph::prior::EdgePrior;
use crate::posterior::bridge::BridgePosterior;
use crate::posterior::bridge::blocks::n_batches;
use crate::posterior::bridge::layout::{BridgeLayout, default_step_size};
use crate::train::linear::{LinearStart, LinearTask};
use crate::{CoreError, SeriesSet, Standardizer};

/// Data as settings ask for them, before there is anything to train.
pub(super) struct LaidOut {
    pub(super) standardizer: Standardizer,
    pub(super) layout: BridgeLayout,
    pub(super) noise_moments: Option<NoiseMoments>,
    pub(super) n_batches: usize,
}

impl LaidOut {
    pub(super) fn new(data: &SeriesSet, settings: &BridgeSettings) -> Result<Self, BridgeError> {
        let standardizer = Standardizer::fit(data);
        let step_size = match settings.step_size {
            Some(step_size) => step_size,
            None => default_step_size(data)?,
        };
        let layout = BridgeLayout::new(&standardizer.apply(data), step_size)?.without_pushes();
        let noise_moments = NoiseMoments::new(&layout);
        let n_batches = n_batches(&layout, batch_steps(settings, layout.n_variables()));
        Ok(Self { standardizer, layout, noise_moments, n_batches })
    }
}

impl CheckedBridgeSettings {
    /// Whether nothing in training on these data is random, so that every seed gives the same fit.
    pub fn is_deterministic(&self, data: &SeriesSet) -> Result<bool, BridgeError> {
        // Chains have seeds, but average them themselves.
        let closed = self.get().is_closed_form();
        Ok(closed || !self.get().has_parts() && LaidOut::new(data, self.get())?.n_batches == 1)
    }

    /// How the observation noise is treated, with the data's own answer where settings ask for it.
    pub fn noise_scale(&self, data: &SeriesSet) -> Result<NoiseScale, BridgeError> {
        let laid_out = LaidOut::new(data, self.get())?;
        Ok(ObservationModel::new(self.get(), laid_out.noise_moments).scale())
    }

    /// What a linear fit of the data works with.
    pub(crate) fn linear_task(
        &self,
        data: &SeriesSet,
        knowledge: &EdgePrior,
    ) -> Result<LinearTask, BridgeError> {
        refuse_other_knowledge(data, knowledge)?;
        self.with_start(data, |start| LinearTask::new(start, knowledge, self))
    }

    /// The same where few may drive others.
    pub(crate) fn limited_task(
        &self,
        data: &SeriesSet,
        knowledge: &LimitedPrior,
    ) -> Result<LinearTask, BridgeError> {
        self.with_start(data, |start| LinearTask::limited(start, knowledge, self))
    }

    fn with_start(
        &self,
        data: &SeriesSet,
        task: impl FnOnce(LinearStart<'_>) -> Result<LinearTask, CoreError>,
    ) -> Result<LinearTask, BridgeError> {
        let chosen = self.get();
        let LaidOut { standardizer, layout, noise_moments, .. } = LaidOut::new(data, chosen)?;
        let noise = ObservationModel::new(chosen, noise_moments);
        let (_, smoother) = BridgePosterior::smoothed(layout, noise.known_variance());
        let start = LinearStart {
            data: &standardizer.apply(data),
            step_size: chosen.step_size.map_or_else(|| default_step_size(data), Ok)?,
            smoother: &smoother,
            learn_noise: noise.fixed_scale.is_none(),
        };
        Ok(task(start)?)
    }
}

/// Knowledge of other variables than those of the data has no meaning.
pub(super) fn refuse_other_knowledge(
    data: &SeriesSet,
    knowledge: &EdgePrior,
) -> Result<(), BridgeError> {
    let (expected, found) = (data.n_variables(), knowledge.n_variables());
    if expected == found { Ok(()) } else { Err(BridgeError::OtherKnowledge { expected, found }) }
}
