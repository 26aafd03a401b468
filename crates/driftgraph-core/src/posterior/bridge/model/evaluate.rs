//! The ELBO of a batch and its gradient.

use super::{BridgeModel, StepWork, Workspace};
use crate::numeric::kernels::{View, add_product, product};
use crate::numeric::linalg::log_det_and_inverse;
use crate::objective::elbo::ElboTerms;
use crate::objective::initial_kl::{Normal, initial_kl};
use crate::posterior::bridge::batch::{Batch, BatchStep, BatchSteps, Learned, LocalValues};
use crate::posterior::bridge::deviations::BatchPaths;
use crate::posterior::bridge::gated::{GatedAdjoints, GatedMoments};
use crate::posterior::bridge::layout::BridgeLayout;
use crate::posterior::bridge::moments::{StepMoments, exact_moments, exact_moments_backward};
use crate::posterior::bridge::part::PartFloat;
use crate::posterior::bridge::sampled::{
    SampledAdjoints, sampled_moments, sampled_moments_backward,
};
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
        learned: Learned<'_>,
        work: &mut Workspace,
    ) -> Option<ElboTerms> {
        // Node functions in f32: twice as fast, and the noise of their samples is far larger.
        self.evaluate_in::<f32>(layout, batch, pass, learned, work)
    }

    /// [`evaluate`](Self::evaluate) with the node functions' float chosen.
    pub(in crate::posterior::bridge) fn evaluate_in<R: PartFloat>(
        &self,
        layout: &BridgeLayout,
        batch: &Batch,
        pass: &Pass,
        Learned { parameters, paths }: Learned<'_>,
        work: &mut Workspace<R>,
    ) -> Option<ElboTerms> {
        let d = self.n_variables();
        let place = BatchSteps { layout, batch, scales: &self.increment_scales };
        work.grads.clear();
        work.grads.resize(parameters.len(), 0.0);
        work.paths.gather(paths, batch, d);
        work.local_grads.reset(batch.points.len(), batch.deviation_rows.len(), d);
        let log_likelihood = self.observations(place, pass.weight, parameters, work);
        let initial_kl = self.initial_law_kl(place, pass.weight, parameters, work);
        let steps = &mut work.steps;
        self.lagged.moments(parameters, self.lagged_prior.rules(), &mut steps.lagged);
        if let Some(instant) = self.instant {
            instant.moments(parameters, self.instant_prior.rules(), &mut steps.instant);
        }
        let path_kl = if self.is_sampled() {
            self.sampled_path_kl(place, pass, parameters, work)?
        } else {
            self.exact_path_kl(place, pass, parameters, work)?
        };
        let graph_kl = self.graph_kl(pass.prior_weight, parameters, work);
        keep_set_values(layout, batch, &mut work.local_grads);
        Some(ElboTerms { log_likelihood, initial_kl, path_kl, graph_kl })
    }

    fn initial_law_kl<R>(
        &self,
        BatchSteps { layout, batch, .. }: BatchSteps<'_>,
        weight: f64,
        parameters: &[f64],
        work: &mut Workspace<R>,
    ) -> f64 {
        let d = self.n_variables();
        let (means, logs) = self.initial_law(parameters);
        let Workspace { grads, local_grads, paths: BatchPaths { values, .. }, .. } = work;
        let mut sum = 0.0;
        for &(point, row) in &batch.starts {
            let start = batch.points[point];
            for variable in (0..d).filter(|&idx| layout.set_value(start, idx).is_none()) {
                let (at, row) = (point * d + variable, row * d + variable);
                let (mean, log_scale) = (values.means[at], values.log_deviations[row]);
                let prior = Normal { mean: means[variable], log_scale: logs[variable] };
                let kl = initial_kl(Normal { mean, log_scale }, prior);
                sum += weight * kl.value;
                local_grads.means[at] += weight * kl.by_posterior.mean;
                local_grads.log_deviations[row] += weight * kl.by_posterior.log_scale;
                self.initial_means.of_mut(grads)[variable] += weight * kl.by_prior.mean;
                let slot = self.initial_log_deviations;
                slot.of_mut(grads)[variable] += weight * kl.by_prior.log_scale;
            }
        }
        sum
    }

    /// Σ of step KLs: cross-entropy of the process less the entropy of the posterior's steps.
    fn exact_path_kl<R>(
        &self,
        place: BatchSteps<'_>,
        pass: &Pass,
        parameters: &[f64],
        work: &mut Workspace<R>,
    ) -> Option<f64> {
        let Workspace { grads, local_grads, paths, steps, .. } = work;
        exact_moments(place, paths, &mut steps.moments);
        let kl = self.steps_kl(pass.weight, parameters, &Extra::default(), steps, grads)?;
        let by_moments = &steps.transition.moments;
        exact_moments_backward(place, &paths.deviations, by_moments, local_grads);
        Some(kl)
    }

    /// The same over sampled states and graphs, which parts beyond linear effects need.
    fn sampled_path_kl<R: PartFloat>(
        &self,
        place: BatchSteps<'_>,
        pass: &Pass,
        parameters: &[f64],
        work: &mut Workspace<R>,
    ) -> Option<f64> {
        let Workspace { grads, local_grads, paths, states, parts, steps } = work;
        sampled_moments(place, paths, pass.drawn(), states, &mut steps.moments);
        self.parts_forward(parameters, pass, &steps.lagged, &states.states, parts);
        let kl = self.steps_kl(pass.weight, parameters, &parts.extra, steps, grads)?;
        self.parts_backward(parameters, parts, steps, grads);
        let adjoints = SampledAdjoints {
            moments: &steps.moments,
            by_moments: &steps.transition.moments,
            by_states: &parts.by_states,
        };
        sampled_moments_backward(place, &paths.deviations, states, &adjoints, local_grads);
        Some(kl)
    }

    /// The step KLs given the moments, and the gradient by them.
    fn steps_kl(
        &self,
        weight: f64,
        parameters: &[f64],
        extra: &Extra,
        steps: &mut StepWork,
        grads: &mut [f64],
    ) -> Option<f64> {
        let d = self.n_variables();
        let StepWork { moments, lagged, instant, transition: by, buffers } = steps;
        by.lagged.reset(d * d);
        let instant = self.instant.map(|_| Instant::new(instant, &lagged.mean, d));
        by.instant.reset(if instant.is_some() { d * d } else { 0 });
        let transition = Transition {
            n_variables: d,
            lagged,
            instant: instant.as_ref(),
            offsets: self.offsets.of(parameters),
            innovation: &self.innovation,
            parameters,
            log_scales: self.log_diffusions.of(parameters),
            weight,
        };
        let mut kl = transition_cross_entropy(&transition, moments, extra, by, buffers);
        kl -= 0.5 * weight * entropy_of_steps(moments, d);
        if let Some(instant) = &instant {
            let n_steps = moments.n_steps() as f64;
            kl -= log_det_term(instant, weight * n_steps, &mut by.instant)?;
        }
        self.add_direct_gradients(by, grads);
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
        let Workspace { grads, steps, .. } = work;
        let by = &steps.transition;
        let prior = &self.lagged_prior;
        let (moments, adjoints) = (&steps.lagged, &by.lagged);
        let mut kl =
            self.lagged.backward(parameters, grads, prior, prior_weight, moments, adjoints);
        if let Some(instant) = self.instant {
            let prior = &self.instant_prior;
            let (moments, adjoints) = (&steps.instant, &by.instant);
            kl += instant.backward(parameters, grads, prior, prior_weight, moments, adjoints);
        }
        kl + self.weight_cost(parameters, grads)
    }

    /// Minus the log prior of the parts' weights, N(0, 1 / precision), less its constant.
    fn weight_cost(&self, parameters: &[f64], grads: &mut [f64]) -> f64 {
        let mut cost = 0.0;
        for part in &self.parts {
            let (slot, precision) = (part.slot(), part.weight_precision());
            for (weight, grad) in slot.of(parameters).iter().zip(slot.of_mut(grads)) {
                cost += 0.5 * precision * weight * weight;
                *grad += precision * weight;
            }
        }
        cost
    }
}

/// What was set is known: its path does not move.
fn keep_set_values(layout: &BridgeLayout, batch: &Batch, grads: &mut LocalValues) {
    if !layout.has_marks() {
        return;
    }
    let d = layout.n_variables();
    let ends = |step: &BatchStep| {
        let row = batch.distinct[step.distinct];
        [(step.point, row), (step.point + 1, row + 1)]
    };
    for (place, row) in batch.steps.iter().flat_map(ends).chain(batch.starts.iter().copied()) {
        let point = batch.points[place];
        for variable in (0..d).filter(|&idx| layout.set_value(point, idx).is_some()) {
            grads.means[place * d + variable] = 0.0;
            grads.log_deviations[row * d + variable] = 0.0;
            grads.correlations[row * d + variable] = 0.0;
        }
    }
}

/// Σ over steps and variables of 1 + log v, with v in squared increment scales.
fn entropy_of_steps(moments: &StepMoments, d: usize) -> f64 {
    (moments.deviation_row_of.iter().enumerate())
        .map(|(step, &row)| {
            let logs = moments.log_variances[row * d..(row + 1) * d].iter().enumerate();
            let counted = logs.filter(|(variable, _)| !moments.is_left_out(step * d + variable));
            counted.map(|(_, log)| 1.0 + log).sum::<f64>()
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
