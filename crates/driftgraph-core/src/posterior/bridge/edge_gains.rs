//! Flip gains: what each edge is worth to the ELBO, with all others as likely as they are.
//!
//! The ELBO is linear in every single probability p_ij. Its slope, E[log density with the edge - without
//! it] less the effect's own divergence plus the prior log-odds, is the logit that would be optimal
//! for that edge. Node functions have no closed form, so the expectation is over sampled steps,
//! states and graphs, each edge switched on and off under the same samples.

use rayon::prelude::*;

use super::batch::{Batch, LocalValues};
use super::blocks::Block;
use super::deviations::Deviations;
use super::gated::GatedMoments;
use super::layout::BridgeLayout;
use super::model::BridgeModel;
use super::moments::StepMoments;
use super::neural::{Net, NetParameters, NetPass, SampledGraphs};
use super::sampled::{SampledStates, sampled_moments};
use crate::graph::prior::EdgeRule;
use crate::nn::node_function::NodeWeights;
use crate::numeric::kernels::{View, product};
use crate::random::{Purpose, RandomStream};

/// Numbers (steps x variables) per sampled graph.
const NUMBERS_PER_GRAPH: usize = 4_000;
/// Sampled graphs.
const N_GRAPHS: u64 = 12;

/// Drift and spread of sampled steps under one graph, `[step, variable]`.
struct Base {
    states: Vec<f64>,
    steps: Vec<f64>,
    /// Residual without any lagged drift.
    rest: Vec<f64>,
    /// Linear drift per time.
    linear: Vec<f64>,
    /// Variance of the residual, without that of lagged effects.
    variance: Vec<f64>,
    /// Variance of lagged effects per time², given their edges.
    linear_variance: Vec<f64>,
}

/// Log-odds of every lagged edge from its flip gain, `[source, target]`; infinite where not learned.
///
/// For models with node functions; those without have the closed form.
pub fn log_odds_from_gains(
    model: &BridgeModel,
    (parameters, paths): (&[f64], &LocalValues),
    layout: &BridgeLayout,
    seed: u64,
) -> Vec<f64> {
    let d = model.n_variables();
    let mut lagged = GatedMoments::default();
    model.lagged().moments(parameters, model.lagged_prior().rules(), &mut lagged);
    let gains: Vec<Vec<f64>> = (0..N_GRAPHS)
        .into_par_iter()
        .map(|draw| gains_under_one_graph(model, (parameters, paths), layout, (seed, draw)))
        .collect();
    let prior_log_odds = model.lagged_prior().log_odds(&lagged.probabilities);
    let scale = layout.n_steps() as f64 / N_GRAPHS as f64;
    (0..d * d)
        .map(|idx| match model.lagged_prior().rules()[idx] {
            EdgeRule::Forbidden => f64::NEG_INFINITY,
            EdgeRule::Required => f64::INFINITY,
            EdgeRule::Free => {
                let gain: f64 = gains.iter().map(|gains| gains[idx]).sum();
                prior_log_odds[idx] + scale * gain - model.lagged().slab_kl(parameters, idx)
            }
        })
        .collect()
}

/// Mean gain per step of switching each edge on.
fn gains_under_one_graph(
    model: &BridgeModel,
    (parameters, paths): (&[f64], &LocalValues),
    layout: &BridgeLayout,
    (seed, draw): (u64, u64),
) -> Vec<f64> {
    let d = model.n_variables();
    let logits = model.lagged().edge_logits.of(parameters);
    let rules = model.lagged_prior().rules();
    // Draws of their own, far from those of training.
    let draw = u64::MAX / 2 - draw;
    let estimator = model.structure().estimator;
    let sampled = SampledGraphs::new((logits, rules), estimator, 1, (seed, draw));
    let graph = &sampled.graphs[0];
    let base = Base::new(model, (parameters, paths), layout, (graph, seed, draw));
    let weights: Vec<NodeWeights<f32>> = narrow_weights(model, parameters);
    let narrow: Vec<f32> = parameters.iter().map(|&value| value as f32).collect();
    let mut passes: Vec<(&Net, NetPass<f32>)> = Vec::new();
    for (net, weights) in model.nets().zip(&weights) {
        let mut pass = NetPass::default();
        let shared = NetParameters { net, parameters: &narrow, weights };
        pass.forward(shared, graph, &base.states);
        passes.push((net, pass));
    }
    let mut gains = vec![0.0; d * d];
    for source in 0..d {
        let mut cross_entropies = [0.0, 1.0].map(|edge| {
            let mut switched = graph.clone();
            switched[source * d..(source + 1) * d].fill(edge);
            let n = base.steps.len();
            let outputs: Vec<Vec<f64>> = (passes.iter_mut().zip(&weights))
                .map(|((net, pass), weights)| {
                    let shared = NetParameters { net, parameters: &narrow, weights };
                    pass.forward_again(shared, &switched, n)
                })
                .collect();
            base.cross_entropies(model, parameters, (source, edge, graph), &outputs)
        });
        let (off, on) = cross_entropies.split_at_mut(1);
        for target in 0..d {
            gains[source * d + target] = off[0][target] - on[0][target];
        }
    }
    gains
}

fn narrow_weights(model: &BridgeModel, parameters: &[f64]) -> Vec<NodeWeights<f32>> {
    let narrow: Vec<f32> = parameters.iter().map(|&value| value as f32).collect();
    let prepare = |net: &Net| {
        let mut weights = NodeWeights::default();
        net.function.prepare(&narrow, &mut weights);
        weights
    };
    model.nets().map(prepare).collect()
}

impl Base {
    fn new(
        model: &BridgeModel,
        (parameters, paths): (&[f64], &LocalValues),
        layout: &BridgeLayout,
        (graph, seed, draw): (&[f64], u64, u64),
    ) -> Self {
        let d = model.n_variables();
        let batch = random_steps(layout, (NUMBERS_PER_GRAPH / d).max(32), (seed, draw));
        let mut values = LocalValues::default();
        values.gather(paths, &batch, d);
        let mut moments = StepMoments::default();
        let place = (model.increment_scales(), &batch);
        let (mut spreads, mut sampled) = (Deviations::default(), SampledStates::default());
        spreads.fill(&values);
        let out = (&mut sampled, &mut moments);
        sampled_moments(layout, place, (&values, &spreads), (seed, draw), out);
        let n = moments.n_steps();
        let states = View::new(&sampled.states, n, d);
        let (effects, deviations) = model.lagged().gated_effects(parameters, graph);
        let mut linear = vec![0.0; n * d];
        product(&mut linear, d, states, View::new(&effects, d, d));
        let squares: Vec<f64> = sampled.states.iter().map(|state| state * state).collect();
        let mut linear_variance = vec![0.0; n * d];
        product(&mut linear_variance, d, View::new(&squares, n, d), View::new(&deviations, d, d));
        let (mut rest, variance) = model.instant_residuals(parameters, &moments);
        for row in 0..n {
            for variable in 0..d {
                rest[row * d + variable] -=
                    moments.steps[row] * model.offsets(parameters)[variable];
            }
        }
        Self {
            states: sampled.states,
            steps: moments.steps,
            rest,
            linear,
            variance,
            linear_variance,
        }
    }

    /// Mean cross-entropy of every target when one source's edges are all on or all off.
    fn cross_entropies(
        &self,
        model: &BridgeModel,
        parameters: &[f64],
        (source, edge, graph): (usize, f64, &[f64]),
        outputs: &[Vec<f64>],
    ) -> Vec<f64> {
        let d = model.n_variables();
        let log_scales = model.log_diffusions(parameters);
        let drift = model.drift_net.and(outputs.first());
        let log_scale = model.diffusion_net.and(outputs.last());
        let mut sums = vec![0.0; d];
        for (row, &h) in self.steps.iter().enumerate() {
            let state = self.states[row * d + source];
            for target in 0..d {
                let (idx, at) = (row * d + target, source * d + target);
                let change = edge - graph[at];
                let (effect, deviation_square) = model.lagged().effect(parameters, at);
                let mut added = self.linear[idx] + change * effect * state;
                added += drift.map_or(0.0, |drift| drift[idx]);
                let spread = self.linear_variance[idx] + change * deviation_square * state * state;
                let mean = self.rest[idx] - h * added;
                let variance = self.variance[idx] + h * h * spread;
                let log = log_scales[target] + log_scale.map_or(0.0, |extra| extra[idx]);
                sums[target] += 0.5 * (mean * mean + variance) * (-2.0 * log).exp() / h + log;
            }
        }
        let n = self.steps.len() as f64;
        sums.iter().map(|sum| sum / n).collect()
    }
}

/// Single steps drawn with equal probability from all series.
fn random_steps(layout: &BridgeLayout, n: usize, (seed, draw): (u64, u64)) -> Batch {
    let mut ends = Vec::with_capacity(layout.series().len());
    let mut total = 0;
    for rows in layout.series() {
        total += rows.n_steps();
        ends.push(total);
    }
    let mut random = RandomStream::new(seed, Purpose::Resampling, draw);
    let mut drawn: Vec<usize> = (0..n).map(|_| random.below(total)).collect();
    drawn.sort_unstable();
    drawn.dedup();
    let blocks: Vec<Block> = (drawn.iter())
        .map(|&number| {
            let series = ends.partition_point(|&end| end <= number);
            let before = if series == 0 { 0 } else { ends[series - 1] };
            Block { series, first_step: number - before, n_steps: 1 }
        })
        .collect();
    Batch::new(layout, &blocks)
}
