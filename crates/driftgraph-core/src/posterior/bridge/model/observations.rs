//! The expected log likelihood of a batch's observations, and its gradient.

use super::{BridgeModel, Workspace};
use crate::numeric::kernels::vectorised;
use crate::numeric::real::Real;
use crate::numeric::special::LN_TAU;
use crate::objective::observation::ObservationNoise;
use crate::posterior::bridge::batch::BatchSteps;
use crate::posterior::bridge::observation::{Marginal, expected_log_density};

impl BridgeModel {
    /// The expected log likelihood of a batch, times its weight.
    pub(super) fn observations<R>(
        &self,
        place: BatchSteps<'_>,
        weight: f64,
        parameters: &[f64],
        work: &mut Workspace<R>,
    ) -> f64 {
        match self.structure.noise {
            ObservationNoise::Gaussian => {
                self.gaussian_observations(place, weight, parameters, work)
            }
            ObservationNoise::Laplace => self.observations_by_cell(place, weight, parameters, work),
        }
    }

    /// Cell by cell, for any law.
    fn observations_by_cell<R>(
        &self,
        BatchSteps { layout, batch, .. }: BatchSteps<'_>,
        weight: f64,
        parameters: &[f64],
        work: &mut Workspace<R>,
    ) -> f64 {
        let d = self.n_variables();
        let log_noise = self.log_noise.of(parameters);
        let mut sum = 0.0;
        for (point, row) in batch.observed_points() {
            let observed = layout.observed_row(batch.points[point]);
            for variable in (0..d).filter(|&variable| !observed[variable].is_nan()) {
                let (at, row) = (point * d + variable, row * d + variable);
                let mean = work.paths.values.means[at];
                let deviation = work.paths.deviations.deviations[row];
                let found = expected_log_density(
                    self.structure.noise,
                    observed[variable],
                    Marginal { mean, deviation },
                    log_noise[variable],
                );
                sum += found.value;
                work.local_grads.means[at] -= weight * found.by_mean;
                work.local_grads.log_deviations[row] -= weight * found.by_log_deviation;
                if self.structure.learn_noise {
                    self.log_noise.of_mut(&mut work.grads)[variable] -= weight * found.by_log_scale;
                }
            }
        }
        weight * sum
    }

    /// The same for normal noise, row by row: sums over cells are kept per variable.
    fn gaussian_observations<R>(
        &self,
        BatchSteps { layout, batch, .. }: BatchSteps<'_>,
        weight: f64,
        parameters: &[f64],
        work: &mut Workspace<R>,
    ) -> f64 {
        let d = self.n_variables();
        let log_noise = self.log_noise.of(parameters);
        let precisions: Vec<f64> = log_noise.iter().map(|&log| Real::exp(-2.0 * log)).collect();
        let (mut counts, mut squares) = (vec![0.0; d], vec![0.0; d]);
        let (means, deviations) = (&work.paths.values.means, &work.paths.deviations.deviations);
        let grads = &mut work.local_grads;
        vectorised(
            #[inline(always)]
            || {
                for (point, row) in batch.observed_points() {
                    let observed = &layout.observed_row(batch.points[point])[..d];
                    let (at, row) = (point * d..(point + 1) * d, row * d..(row + 1) * d);
                    let (means, by_means) = (&means[at.clone()], &mut grads.means[at]);
                    let deviations = &deviations[row.clone()];
                    let by_deviations = &mut grads.log_deviations[row];
                    for v in 0..d {
                        // A cell that was not observed counts nothing.
                        let (seen, observed) =
                            if observed[v].is_nan() { (0.0, 0.0) } else { (1.0, observed[v]) };
                        let residual = seen * (observed - means[v]);
                        let scaled = residual * precisions[v];
                        let spread = seen * deviations[v] * deviations[v] * precisions[v];
                        counts[v] += seen;
                        squares[v] += residual * scaled + spread;
                        by_means[v] -= weight * scaled;
                        by_deviations[v] += weight * spread;
                    }
                }
            },
        );
        let mut sum = 0.0;
        for v in 0..d {
            let constant = log_noise[v] + 0.5 * LN_TAU;
            sum -= 0.5 * squares[v] + counts[v] * constant;
            if self.structure.learn_noise {
                self.log_noise.of_mut(&mut work.grads)[v] -= weight * (squares[v] - counts[v]);
            }
        }
        weight * sum
    }
}
