//! The ELBO of a batch and its gradient.

use super::{BridgeModel, ParameterPart, Workspace};
use crate::numeric::kernels::{View, add_product, product};
use crate::numeric::linalg::log_det_and_inverse;
use crate::numeric::real::Real;
use crate::objective::elbo::ElboTerms;
use crate::objective::initial_kl::{Normal, initial_kl};
use crate::posterior::bridge::batch::{Batch, LocalValues};
use crate::posterior::bridge::gated::{GatedAdjoints, GatedMoments};
use crate::posterior::bridge::layout::BridgeLayout;
use crate::posterior::bridge::moments::{StepMoments, exact_moments, exact_moments_backward};
use crate::posterior::bridge::sampled::{sampled_moments, sampled_moments_backward};
use crate::posterior::bridge::structure::Pass;
use crate::posterior::bridge::transition::{
    Extra, Instant, Transition, TransitionGrads, transition_cross_entropy,
};

impl BridgeModel {
    /// Means and variances of d (I - B) for sampled steps, `[step, variable]`.
    pub(in crate::posterior::bridge) fn instant_residuals(
        &self,
        parameters: &[f64],
        moments: &StepMoments,
    ) -> (Vec<f64>, Vec<f64>) {
        let Some(matrix) = self.instant else {
            return (moments.increments.clone(), moments.increment_variances.clone());
        };
        let (d, n) = (self.n_variables(), moments.n_steps());
        let mut effects = GatedMoments::default();
        matrix.moments(parameters, self.instant_prior.rules(), &mut effects);
        let instant = Instant::new(&effects, &vec![0.0; d * d], d);
        let (mut means, mut variances) = (vec![0.0; n * d], vec![0.0; n * d]);
        let increments = View::new(&moments.increments, n, d);
        product(&mut means, d, increments, View::new(&instant.remaining, d, d));
        let own = View::new(&moments.increment_variances, n, d);
        product(&mut variances, d, own, View::new(&instant.remaining_second, d, d));
        let squares: Vec<f64> = moments.increments.iter().map(|value| value * value).collect();
        let by_gates = View::new(&effects.variance, d, d);
        add_product(&mut variances, d, View::new(&squares, n, d), by_gates);
        (means, variances)
    }

    /// The ELBO of a batch, and the gradient of minus it.
    ///
    /// `None` where I - E B is singular.
    pub fn evaluate(
        &self,
        layout: &BridgeLayout,
        batch: &Batch,
        pass: &Pass,
        values: (&[f64], &LocalValues),
        work: &mut Workspace,
    ) -> Option<ElboTerms> {
        // Node functions in f32: twice as fast, and the noise of their samples is far larger.
        self.evaluate_in::<f32>(layout, (batch, pass), values, work)
    }

    /// [`evaluate`](Self::evaluate) with the node functions' float chosen.
    pub(in crate::posterior::bridge) fn evaluate_in<R: Real>(
        &self,
        layout: &BridgeLayout,
        (batch, pass): (&Batch, &Pass),
        (parameters, local): (&[f64], &LocalValues),
        work: &mut Workspace<R>,
    ) -> Option<ElboTerms> {
        let d = self.n_variables();
        work.grads.clear();
        work.grads.resize(parameters.len(), 0.0);
        work.values.gather(local, batch, d);
        work.spreads.fill(&work.values);
        work.local_grads.reset(batch.points.len(), batch.spreads.len(), d);
        let mut terms = ElboTerms::default();
        self.observations(layout, (batch, pass.weight), parameters, work, &mut terms);
        self.initial_law_kl((batch, pass.weight), parameters, work, &mut terms);

        self.lagged.moments(parameters, self.lagged_prior.rules(), &mut work.lagged);
        if let Some(instant) = self.instant {
            instant.moments(parameters, self.instant_prior.rules(), &mut work.instant);
        }
        terms.path_kl = self.path_kl::<R>(layout, (batch, pass), parameters, work)?;
        terms.graph_kl = self.graph_kl(pass.prior_weight, parameters, work);
        Some(terms)
    }

    fn initial_law_kl<R>(
        &self,
        (batch, weight): (&Batch, f64),
        parameters: &[f64],
        work: &mut Workspace<R>,
        terms: &mut ElboTerms,
    ) {
        let d = self.n_variables();
        let (means, logs) = self.initial_law(parameters);
        for &(point, spread) in &batch.starts {
            for variable in 0..d {
                let (at, spread) = (point * d + variable, spread * d + variable);
                let posterior = Normal {
                    mean: work.values.means[at],
                    log_scale: work.values.log_deviations[spread],
                };
                let prior = Normal { mean: means[variable], log_scale: logs[variable] };
                let kl = initial_kl(posterior, prior);
                terms.initial_kl += weight * kl.value;
                work.local_grads.means[at] += weight * kl.by_posterior.mean;
                work.local_grads.log_deviations[spread] += weight * kl.by_posterior.log_scale;
                let grads = &mut work.grads;
                self.initial_means.of_mut(grads)[variable] += weight * kl.by_prior.mean;
                let slot = self.initial_log_deviations;
                slot.of_mut(grads)[variable] += weight * kl.by_prior.log_scale;
            }
        }
    }

    /// Σ of step KLs: cross-entropy of the process less the entropy of the posterior's steps.
    fn path_kl<R: Real>(
        &self,
        layout: &BridgeLayout,
        (batch, pass): (&Batch, &Pass),
        parameters: &[f64],
        work: &mut Workspace<R>,
    ) -> Option<f64> {
        let place = (&self.increment_scales[..], batch);
        if !self.is_sampled() {
            let paths = (&work.values, &work.spreads);
            exact_moments(layout, place, paths, &mut work.moments);
            let kl = self.steps_kl(pass.weight, parameters, &Extra::default(), work)?;
            let (by_moments, local) = (&work.transition.moments, &mut work.local_grads);
            exact_moments_backward(layout, place, &work.spreads, by_moments, local);
            return Some(kl);
        }
        let draw = (pass.seed, pass.draw);
        let mut sampled = std::mem::take(&mut work.sampled);
        let out = (&mut sampled, &mut work.moments);
        sampled_moments(layout, place, (&work.values, &work.spreads), draw, out);
        let mut neural = std::mem::take(&mut work.neural);
        self.neural_forward(parameters, pass, (&work.lagged, &sampled.states), &mut neural);
        let kl = self.steps_kl(pass.weight, parameters, &neural.extra, work)?;
        let by_extra = std::mem::take(&mut work.transition.extra);
        self.neural_backward(parameters, &mut neural, &by_extra, work);
        let paths = (&work.spreads, &work.moments, &sampled);
        let adjoints = (&work.transition.moments, &neural.by_states[..]);
        sampled_moments_backward(place, paths, adjoints, &mut work.local_grads);
        (work.sampled, work.neural, work.transition.extra) = (sampled, neural, by_extra);
        Some(kl)
    }

    /// The step KLs given the moments, and the gradient by them.
    fn steps_kl<R>(
        &self,
        weight: f64,
        parameters: &[f64],
        extra: &Extra,
        work: &mut Workspace<R>,
    ) -> Option<f64> {
        let d = self.n_variables();
        work.transition.lagged.reset(d * d);
        let instant = self.instant.map(|_| Instant::new(&work.instant, &work.lagged.mean, d));
        work.transition.instant.reset(if instant.is_some() { d * d } else { 0 });
        let transition = Transition {
            n_variables: d,
            lagged: &work.lagged,
            instant: instant.as_ref(),
            offsets: self.offsets.of(parameters),
            innovation: &self.innovation,
            parameters,
            log_scales: self.log_diffusions.of(parameters),
            weight,
        };
        let grads = &mut work.transition;
        let mut kl = transition_cross_entropy(&transition, &work.moments, extra, grads);
        kl -= 0.5 * weight * entropy_of_steps(&work.moments, d);
        if let Some(instant) = &instant {
            let n_steps = work.moments.n_steps() as f64;
            kl -= log_det_term(instant, weight * n_steps, &mut grads.instant)?;
        }
        self.add_direct_gradients(&work.transition, &mut work.grads);
        Some(kl)
    }

    fn add_direct_gradients(&self, from: &TransitionGrads, grads: &mut [f64]) {
        for slot in self.innovation.slots() {
            slot.of_mut(grads).copy_from_slice(slot.of(&from.parameters));
        }
        self.offsets.of_mut(grads).copy_from_slice(&from.offsets);
        self.log_diffusions.of_mut(grads).copy_from_slice(&from.log_scales);
    }

    fn graph_kl<R>(&self, prior_weight: f64, parameters: &[f64], work: &mut Workspace<R>) -> f64 {
        let prior = (&self.lagged_prior, prior_weight);
        let pair = (parameters, &mut work.grads[..]);
        let mut kl = self.lagged.backward(pair, prior, &work.lagged, &work.transition.lagged);
        if let Some(instant) = self.instant {
            let prior = (&self.instant_prior, prior_weight);
            let pair = (parameters, &mut work.grads[..]);
            kl += instant.backward(pair, prior, &work.instant, &work.transition.instant);
        }
        kl + self.weight_cost(parameters, &mut work.grads)
    }

    /// Minus the log prior of the node functions' weights, N(0, 1 / precision), less its constant.
    fn weight_cost(&self, parameters: &[f64], grads: &mut [f64]) -> f64 {
        let precision = self.structure.net_sizes.weight_precision;
        let mut cost = 0.0;
        for (slot, _) in self.parts().iter().filter(|(_, part)| *part == ParameterPart::Nets) {
            for (weight, grad) in slot.of(parameters).iter().zip(slot.of_mut(grads)) {
                cost += 0.5 * precision * weight * weight;
                *grad += precision * weight;
            }
        }
        cost
    }
}

/// Σ over steps and variables of 1 + log v, with v in squared increment scales.
fn entropy_of_steps(moments: &StepMoments, d: usize) -> f64 {
    (moments.spread_of.iter())
        .map(|&spread| {
            let logs = &moments.log_variances[spread * d..(spread + 1) * d];
            logs.iter().map(|log| 1.0 + log).sum::<f64>()
        })
        .sum()
}

/// `factor` log |det(I - E B)|, subtracting its gradient from `grads`; `None` where singular.
///
/// For independent gates E det(I - B) = det(I - E B); no acyclicity is needed.
fn log_det_term(instant: &Instant<'_>, factor: f64, grads: &mut GatedAdjoints) -> Option<f64> {
    let d = grads.mean.len().isqrt();
    let (log_det, inverse) = log_det_and_inverse(&instant.remaining, d)?;
    for source in 0..d {
        for target in 0..d {
            // d log det(I - E) / dE_ij = -(I - E)^-1_ji, and the loss has minus the term.
            grads.mean[source * d + target] += factor * inverse[target * d + source];
        }
    }
    Some(factor * log_det)
}
