//! Edge gains: what each edge is worth to the ELBO, with all others as likely as they are.
//!
//! The ELBO is linear in every single probability p_ij. Its slope, E[log density with the edge - without
//! it] less the effect's own divergence plus the prior log-odds, is the logit that would be optimal
//! for that edge. Node functions have no closed form, so the expectation is over sampled steps,
//! states and graphs, each edge switched on and off under the same samples.

use rayon::prelude::*;

use super::batch::{Batch, BatchSteps, Learned};
use super::blocks::Block;
use super::deviations::BatchPaths;
use super::gated::GatedMoments;
use super::layout::BridgeLayout;
use super::model::BridgeModel;
use super::moments::StepMoments;
use super::part::{PartAtStates, Precision};
use super::sampled::{SampledStates, sampled_moments};
use super::structure::Draw;
use crate::graph::prior::EdgeRule;
use crate::numeric::kernels::{View, add_into, product};
use crate::numeric::real::exp;
use crate::process::part::AddsTo;
use crate::random::{Purpose, RandomStream};

/// Numbers (steps x variables) per sampled graph.
const NUMBERS_PER_GRAPH: usize = 4_000;
/// Sampled graphs.
const N_GRAPHS: u64 = 12;

/// Drift and variance of sampled steps under one graph, `[step, variable]`.
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
    /// Whether a step says nothing of a variable's causes; empty where nothing was done.
    left_out: Vec<bool>,
}

/// Log-odds of every lagged edge from its gain, `[source, target]`; infinite where not learned.
///
/// For models with node functions; those without have the closed form.
pub(crate) fn log_odds_from_gains(
    model: &BridgeModel,
    learned: Learned<'_>,
    layout: &BridgeLayout,
    seed: u64,
) -> Vec<f64> {
    let (d, parameters) = (model.n_variables(), learned.parameters);
    let mut lagged = GatedMoments::default();
    model.lagged().moments(parameters, model.lagged_prior().rules(), &mut lagged);
    let gains: Vec<Vec<f64>> = (0..N_GRAPHS)
        .into_par_iter()
        .map(|graph| {
            // Draws of their own, far from those of training.
            let draw = Draw { seed, number: u64::MAX / 2 - graph };
            gains_under_one_graph(model, learned, layout, draw)
        })
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
    learned: Learned<'_>,
    layout: &BridgeLayout,
    draw: Draw,
) -> Vec<f64> {
    let d = model.n_variables();
    let graph = &model.sampled_graphs(learned.parameters, 1, draw).graphs[0];
    let base = Base::new(model, learned, layout, graph, draw);
    let parts = model.fixed_parts(learned.parameters, Precision::Single);
    let mut parts: Vec<(AddsTo, Box<dyn PartAtStates + '_>)> =
        parts.iter().map(|part| (part.adds_to(), part.at(&base.states))).collect();
    let mut gains = vec![0.0; d * d];
    for source in 0..d {
        let mut cross_entropies = [0.0, 1.0].map(|edge| {
            let mut switched = graph.clone();
            switched[source * d..(source + 1) * d].fill(edge);
            let n = base.steps.len();
            let mut added = Added { drift: vec![0.0; n * d], log_diffusion: vec![0.0; n * d] };
            for (adds_to, part) in &mut parts {
                let sums = match adds_to {
                    AddsTo::Drift => &mut added.drift,
                    AddsTo::LogDiffusion => &mut added.log_diffusion,
                };
                add_into(sums, &part.under(&switched));
            }
            base.cross_entropies(model, learned.parameters, &Switch { source, edge, graph }, &added)
        });
        let (off, on) = cross_entropies.split_at_mut(1);
        for target in 0..d {
            gains[source * d + target] = off[0][target] - on[0][target];
        }
    }
    gains
}

/// All edges of one source switched on (1) or off (0) in a graph.
struct Switch<'a> {
    source: usize,
    edge: f64,
    graph: &'a [f64],
}

/// What the parts add under a switched graph, `[step, variable]`.
struct Added {
    drift: Vec<f64>,
    log_diffusion: Vec<f64>,
}

impl Base {
    fn new(
        model: &BridgeModel,
        Learned { parameters, paths: all }: Learned<'_>,
        layout: &BridgeLayout,
        graph: &[f64],
        draw: Draw,
    ) -> Self {
        let d = model.n_variables();
        let batch = &random_steps(layout, (NUMBERS_PER_GRAPH / d).max(32), draw);
        let mut paths = BatchPaths::default();
        paths.gather(all, batch, d);
        let (mut sampled, mut moments) = (SampledStates::default(), StepMoments::default());
        let place = BatchSteps { layout, batch, scales: model.increment_scales() };
        sampled_moments(place, &paths, draw, &mut sampled, &mut moments);
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
            left_out: moments.left_out,
        }
    }

    /// Mean cross-entropy of every target when one source's edges are all on or all off.
    fn cross_entropies(
        &self,
        model: &BridgeModel,
        parameters: &[f64],
        &Switch { source, edge, graph }: &Switch<'_>,
        parts: &Added,
    ) -> Vec<f64> {
        let d = model.n_variables();
        let log_scales = model.log_diffusions(parameters);
        let mut sums = vec![0.0; d];
        for (row, &h) in self.steps.iter().enumerate() {
            let state = self.states[row * d + source];
            for target in 0..d {
                let (idx, at) = (row * d + target, source * d + target);
                if self.left_out.get(idx).copied().unwrap_or(false) {
                    continue;
                }
                let change = edge - graph[at];
                let (effect, deviation_square) = model.lagged().effect(parameters, at);
                let mut added = self.linear[idx] + change * effect * state;
                added += parts.drift[idx];
                let by_effects =
                    self.linear_variance[idx] + change * deviation_square * state * state;
                let mean = self.rest[idx] - h * added;
                let variance = self.variance[idx] + h * h * by_effects;
                let log = log_scales[target] + parts.log_diffusion[idx];
                sums[target] += 0.5 * (mean * mean + variance) * exp(-2.0 * log) / h + log;
            }
        }
        let n = self.steps.len() as f64;
        sums.iter().map(|sum| sum / n).collect()
    }
}

/// Single steps drawn with equal probability from all series.
fn random_steps(layout: &BridgeLayout, n: usize, draw: Draw) -> Batch {
    let mut ends = Vec::with_capacity(layout.series().len());
    let mut total = 0;
    for rows in layout.series() {
        total += rows.n_steps();
        ends.push(total);
    }
    let mut random = RandomStream::new(draw.seed, Purpose::Resampling, draw.number);
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
