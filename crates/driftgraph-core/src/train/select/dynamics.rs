//! The dynamics a fit has learned, as the filter needs them.

use super::kalman::Dynamics;
use crate::objective::observation::ObservationNoise;
use crate::posterior::bridge::gated::GatedMoments;
use crate::posterior::bridge::linalg::{identity, log_det_and_inverse};
use crate::posterior::bridge::mean_field::MeanFieldNets;
use crate::posterior::bridge::model::BridgeModel;
use crate::train::bridge::BridgeTrainer;

/// Posterior means of effects, and all scales; `None` where I - E B is singular.
pub(super) fn of_trainer(trainer: &BridgeTrainer) -> Option<Dynamics> {
    let parameters = &trainer.state().parameters;
    of_parameters(trainer.model(), parameters, trainer.layout().time_unit())
}

/// The same of a model with these parameters, whose unit of time is so long in the user's.
pub(crate) fn of_parameters(
    model: &BridgeModel,
    parameters: &[f64],
    time_unit: f64,
) -> Option<Dynamics> {
    let d = model.n_variables();
    let mut lagged = GatedMoments::default();
    model.lagged().moments(parameters, model.lagged_prior().rules(), &mut lagged);
    let mut remaining = identity(d);
    if let Some(matrix) = model.instant() {
        let mut instant = GatedMoments::default();
        matrix.moments(parameters, model.instant_prior().rules(), &mut instant);
        remaining.iter_mut().zip(&instant.mean).for_each(|(left, mean)| *left -= mean);
    }
    let (_, spread_instantly) = log_det_and_inverse(&remaining, d)?;
    let mut dynamics = Dynamics::random_walk(model.increment_scales().to_vec());
    dynamics.lagged = lagged.mean;
    dynamics.spread_instantly = spread_instantly;
    dynamics.time_unit = time_unit;
    dynamics.nets = MeanFieldNets::new(model, parameters);
    let unit_variance = match model.structure().noise {
        ObservationNoise::Gaussian => 1.0,
        ObservationNoise::Laplace => 2.0,
    };
    let (means, log_deviations) = model.initial_law(parameters);
    for idx in 0..d {
        let log_scale = model.log_diffusions(parameters)[idx];
        let (mean, variance) = model.innovation().moments(parameters, idx, log_scale);
        dynamics.offsets[idx] = model.offsets(parameters)[idx] + mean;
        dynamics.variances[idx] = variance;
        let noise = (2.0 * model.log_noise(parameters)[idx]).exp();
        dynamics.noise_variances[idx] = unit_variance * noise;
        dynamics.initial.0[idx] = means[idx];
        dynamics.initial.1[idx] = (2.0 * log_deviations[idx]).exp();
    }
    Some(dynamics)
}
