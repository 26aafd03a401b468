//! How the observation noise is treated: what settings ask for, and the data's own answer.

use super::noise_identifiability::NoiseMoments;
use super::settings::{BridgeSettings, NoiseScale};
use crate::objective::observation::ObservationNoise;
use crate::posterior::bridge::SmootherStart;

/// Noise scale where it cannot be learned, relative to each variable's deviation; the paper's.
const FIXED_NOISE: f64 = 0.01;

/// Law and scale of the observation noise that settings and data ask for.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObservationModel {
    pub(super) law: ObservationNoise,
    pub(super) fixed_scale: Option<f64>,
}

impl ObservationModel {
    pub(super) fn new(settings: &BridgeSettings, moments: Option<NoiseMoments>) -> Self {
        let fixed_scale = match settings.noise_scale {
            NoiseScale::Learned => None,
            NoiseScale::Fixed { scale } => Some(scale),
            NoiseScale::Auto => {
                let learnable = moments.is_some_and(NoiseMoments::identifies_noise);
                (!learnable).then_some(FIXED_NOISE)
            }
        };
        let usual = match fixed_scale {
            None => ObservationNoise::Gaussian,
            Some(_) => ObservationNoise::Laplace,
        };
        Self { law: settings.noise.unwrap_or(usual), fixed_scale }
    }

    pub(super) fn scale(self) -> NoiseScale {
        self.fixed_scale.map_or(NoiseScale::Learned, |scale| NoiseScale::Fixed { scale })
    }

    pub(super) fn known_variance(self) -> Option<f64> {
        self.fixed_scale.map(|scale| self.law.unit_variance() * scale * scale)
    }

    pub(super) fn first_scales(self, start: &SmootherStart) -> Vec<f64> {
        (start.levels.iter())
            .map(|level| {
                let learned = (level.noise_variance / self.law.unit_variance()).sqrt();
                self.fixed_scale.unwrap_or(learned)
            })
            .collect()
    }
}
