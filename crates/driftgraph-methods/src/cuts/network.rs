//! One network per target, from all variables at all lags to the target's next value.

use driftgraph_core::layers::{Linear, ParameterTable, Real, initial_values, vectorised};
use rayon::prelude::*;

/// The slope of the units for negative arguments.
const SLOPE: f64 = 0.05;

/// The shape of the networks; all targets have the same one, with weights of their own.
#[derive(Debug, Clone)]
pub(super) struct Network {
    layers: Vec<Linear>,
    /// Of one target.
    pub(super) n_parameters: usize,
}

/// Inputs and targets of some samples.
pub(super) struct Samples<R> {
    pub(super) n_samples: usize,
    /// `[sample, (cause, lag)]`, the oldest lag first.
    pub(super) inputs: Vec<R>,
    /// `[target, sample]`.
    pub(super) targets: Vec<R>,
    /// `[target, sample]`, 1 where the value was observed.
    pub(super) mask: Vec<R>,
}

impl<R: Real> Samples<R> {
    /// Share of the targets that were observed.
    fn observed_share(&self) -> f64 {
        self.mask.iter().map(|value| value.to_f64()).sum::<f64>() / self.mask.len() as f64
    }
}

/// One target of a pass over all.
struct Target<'a, R> {
    target: usize,
    /// `[sample, (cause, lag)]`.
    gates: &'a [R],
    /// Observed cells of all targets, over which the loss is a mean.
    n_cells: f64,
    wanted: Wanted<'a, R>,
}

/// What a pass is made for; what nobody needs is not computed.
pub(super) struct Wanted<'a, R> {
    /// Where gradients of the weights are added.
    pub(super) weight_grads: Option<&'a mut [R]>,
    /// Whether gradients of the gated inputs are wanted.
    pub(super) inputs: bool,
}

/// What one target's network says of some samples.
pub(super) struct TargetPass<R> {
    /// Its part of the loss.
    pub(super) loss: f64,
    pub(super) predictions: Vec<R>,
    /// Gradient of its gated inputs, `[sample, (cause, lag)]`; empty where it was not wanted.
    pub(super) grad_inputs: Vec<R>,
}

impl Network {
    pub(super) fn new(n_in: usize, n_hidden: usize, n_layers: usize) -> Self {
        let mut table = ParameterTable::default();
        let layers = Self::add_to(&mut table, [n_in, n_hidden, n_layers], 0);
        Self { layers, n_parameters: table.len() }
    }

    fn add_to(
        table: &mut ParameterTable,
        [n_in, n_hidden, n_layers]: [usize; 3],
        target: usize,
    ) -> Vec<Linear> {
        let sizes = |layer: usize| {
            let n_in = if layer == 0 { n_in } else { n_hidden };
            (n_in, if layer == n_layers { 1 } else { n_hidden })
        };
        (0..=n_layers)
            .map(|layer| {
                let (n_in, n_out) = sizes(layer);
                Linear::new(table, &format!("{target}.{layer}"), n_in, n_out)
            })
            .collect()
    }

    /// Initial parameters of all targets, one after the other: weights after Glorot and Bengio (2010).
    pub(super) fn initial<R: Real>(&self, n_targets: usize, seed: u64) -> Vec<R> {
        let shape = [self.layers[0].n_in(), self.layers[0].n_out(), self.layers.len() - 1];
        let mut table = ParameterTable::default();
        for target in 0..n_targets {
            Self::add_to(&mut table, shape, target);
        }
        let mut parameters: Vec<R> = initial_values(&table, seed);
        for own in parameters.chunks_exact_mut(self.n_parameters) {
            for layer in &self.layers {
                let (n_in, n_out) = (layer.n_in() as f64, layer.n_out() as f64);
                // Drawn with the bound 1 / sqrt(in), wanted with sqrt(6 / (in + out)).
                let factor = R::from_f64((6.0 * n_in / (n_in + n_out)).sqrt());
                layer.weight.of_mut(own).iter_mut().for_each(|weight| *weight *= factor);
            }
        }
        parameters
    }

    /// Loss and what is wanted of all targets; `gates` are `[target, sample, (cause, lag)]`.
    pub(super) fn pass_for<R: Real>(
        &self,
        wanted: Wanted<'_, R>,
        parameters: &[R],
        samples: &Samples<R>,
        gates: &[Vec<R>],
    ) -> Vec<TargetPass<R>> {
        let share = samples.observed_share();
        let n_cells = (samples.mask.len() as f64) * if share > 0.0 { share } else { 1.0 };
        let Wanted { weight_grads, inputs } = wanted;
        let grads: Vec<Option<&mut [R]>> = match weight_grads {
            Some(grads) => grads.chunks_exact_mut(self.n_parameters).map(Some).collect(),
            None => gates.iter().map(|_| None).collect(),
        };
        (parameters.par_chunks_exact(self.n_parameters).zip(gates).zip(grads).enumerate())
            .map(|(target, ((own, gates), weight_grads))| {
                let wanted = Wanted { weight_grads, inputs };
                self.target_pass(own, samples, Target { target, gates, n_cells, wanted })
            })
            .collect()
    }

    fn target_pass<R: Real>(
        &self,
        parameters: &[R],
        samples: &Samples<R>,
        Target { target, gates, n_cells, wanted: needed }: Target<'_, R>,
    ) -> TargetPass<R> {
        let n = samples.n_samples;
        let gated = samples.inputs.iter().zip(gates).map(|(&value, &gate)| value * gate).collect();
        let mut outputs: Vec<Vec<R>> = vec![gated];
        for (idx, layer) in self.layers.iter().enumerate() {
            let mut out = vec![R::ZERO; n * layer.n_out()];
            layer.forward(parameters, &outputs[idx], &mut out);
            if idx + 1 < self.layers.len() {
                vectorised(
                    #[inline(always)]
                    || out.iter_mut().for_each(|unit| *unit = *unit * slope(*unit)),
                );
            }
            outputs.push(out);
        }
        let predictions = outputs.pop().expect("there is a layer of outputs");
        let cells = target * n..(target + 1) * n;
        let (wanted, mask) = (&samples.targets[cells.clone()], &samples.mask[cells]);
        let errors: Vec<R> =
            (0..n).map(|idx| (predictions[idx] - wanted[idx]) * mask[idx]).collect();
        let loss = errors.iter().map(|error| error.to_f64().powi(2)).sum::<f64>() / n_cells;
        let scale = R::from_f64(2.0 / n_cells);
        let mut adjoint: Vec<R> =
            errors.iter().zip(mask).map(|(&error, &mask)| error * mask * scale).collect();
        let Wanted { mut weight_grads, inputs } = needed;
        for (idx, layer) in self.layers.iter().enumerate().rev() {
            if let Some(grads) = &mut weight_grads {
                layer.add_gradients(grads, &outputs[idx], &adjoint);
            }
            if idx == 0 && !inputs {
                adjoint.clear();
                break;
            }
            let mut before = vec![R::ZERO; n * layer.n_in()];
            layer.backward(parameters, &adjoint, &mut before);
            if idx > 0 {
                vectorised(
                    #[inline(always)]
                    || {
                        let units = before.iter_mut().zip(&outputs[idx]);
                        // A unit's output has the sign of its argument.
                        units.for_each(|(grad, &unit)| *grad *= slope(unit));
                    },
                );
            }
            adjoint = before;
        }
        TargetPass { loss, predictions, grad_inputs: adjoint }
    }
}

#[expect(clippy::inline_always, reason = "called inside vectorised loops")]
#[inline(always)]
fn slope<R: Real>(value: R) -> R {
    if value > R::ZERO { R::ONE } else { R::from_f64(SLOPE) }
}
