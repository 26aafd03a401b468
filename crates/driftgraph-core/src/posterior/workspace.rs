//! Buffers of one chunk of series: filled forwards, read backwards, used again for the next chunk.

use super::encoder::EncoderTrace;
use super::layout::ChunkLayout;
use super::simulated::SimulatedPosterior;
use crate::nn::mlp::MlpTrace;
use crate::nn::node_function::{NodeAdjoints, NodeTangents, NodeTrace, SweepWorkspace};
use crate::numeric::real::Real;
use crate::process::solver::Scheme;

/// Rows of a node function that are reversed together: small enough to stay in the cache.
pub(super) const BLOCK_ROWS: usize = 512;

/// Everything a chunk needs; nothing in it outlives the chunk.
///
/// Buffers of states and steps are `[time, series, variable]`, see [`ChunkLayout`].
#[derive(Debug, Clone, Default)]
pub struct ChunkWorkspace<R> {
    /// Where the rows lie.
    pub layout: ChunkLayout,
    /// Sampled graphs `[series, source x target]`, and the derivatives by their logits.
    pub graphs: Vec<R>,
    pub(super) graph_slopes: Vec<R>,
    pub(super) grad_graphs: Vec<R>,
    /// G_ij w_ij of prior drift and diffusion, and their adjoints.
    pub(super) diffusion_graphs: Vec<R>,
    pub(super) drift_strengths: Vec<R>,
    pub(super) diffusion_strengths: Vec<R>,
    pub(super) grad_drift_strengths: Vec<R>,
    pub(super) grad_diffusion_strengths: Vec<R>,
    /// Contexts and what made them.
    pub encoder: EncoderTrace<R>,
    /// Contexts' share of the posterior drift's first layer, and its adjoints.
    pub(super) context_share: Vec<R>,
    pub(super) grad_context_share: Vec<R>,
    /// Mean, log deviation and standard normal numbers of the initial states `[rank, variable]`.
    pub initial: [Vec<R>; 3],
    pub(super) grad_initial: [Vec<R>; 2],
    /// Latent states of all points in time, and their adjoints.
    pub states: Vec<R>,
    pub(super) grad_states: Vec<R>,
    /// Brownian increments of all steps.
    pub(super) increments: Vec<R>,
    pub(super) normals: Vec<R>,
    /// Posterior drift, prior drift, diffusion and control of all steps.
    pub posterior_drift: Vec<R>,
    /// Prior drift of all steps.
    pub prior_drift: Vec<R>,
    /// Diffusion of all steps.
    pub diffusion: Vec<R>,
    /// Control of all steps.
    pub control: Vec<R>,
    pub(super) grad_drift: Vec<R>,
    pub(super) grad_diffusion: Vec<R>,
    pub(super) step_states: Vec<R>,
    pub(super) drift_trace: MlpTrace<R>,
    pub(super) diffusion_trace: NodeTrace<R>,
    pub(super) prior_trace: NodeTrace<R>,
    /// Inputs and messages of the prior drift `[variable, point]`, and their adjoints.
    pub(super) prior_inputs: Vec<R>,
    pub(super) grad_prior_inputs: Vec<R>,
    pub(super) prior_messages: Vec<R>,
    pub(super) grad_prior_messages: Vec<R>,
    pub(super) sweep: SweepWorkspace<R>,
    pub(super) adjoints: NodeAdjoints<R>,
    /// Derivatives of the diffusion's node function by the own variable, under Milstein steps.
    pub(super) own_derivatives: Vec<R>,
    pub(super) grad_own_derivatives: Vec<R>,
    pub(super) tangents: NodeTangents<R>,
}

impl<R: Real> ChunkWorkspace<R> {
    /// Makes room for the arranged chunk; allocates only when it has grown.
    pub(super) fn resize(&mut self, model: &SimulatedPosterior, n_series: usize) {
        let d = model.architecture.n_variables;
        let (state_rows, step_rows) = (self.layout.n_state_rows(), self.layout.n_step_rows());
        let observation_rows = self.layout.n_observation_rows();
        let hidden = model.drift.n_hidden();
        let (pairs, states, steps) = (n_series * d * d, state_rows * d, step_rows * d);
        let messages = steps * model.process.drift.sizes().embedding;
        let [mean, log_scale, eps] = &mut self.initial;
        let [grad_mean, grad_log_scale] = &mut self.grad_initial;
        for (buffer, len) in [
            (&mut self.graphs, pairs),
            (&mut self.graph_slopes, pairs),
            (&mut self.grad_graphs, pairs),
            (&mut self.diffusion_graphs, pairs),
            (&mut self.drift_strengths, pairs),
            (&mut self.diffusion_strengths, pairs),
            (&mut self.grad_drift_strengths, pairs),
            (&mut self.grad_diffusion_strengths, pairs),
            (&mut self.context_share, observation_rows * hidden),
            (&mut self.grad_context_share, observation_rows * hidden),
            (mean, n_series * d),
            (log_scale, n_series * d),
            (eps, n_series * d),
            (grad_mean, n_series * d),
            (grad_log_scale, n_series * d),
            (&mut self.states, states),
            (&mut self.grad_states, states),
            (&mut self.increments, steps),
            (&mut self.normals, self.layout.n_steps().max(d) * d),
            (&mut self.posterior_drift, steps),
            (&mut self.prior_drift, steps),
            (&mut self.diffusion, steps),
            (&mut self.control, steps),
            (&mut self.grad_drift, steps),
            (&mut self.grad_diffusion, steps),
            (&mut self.step_states, steps),
            (&mut self.prior_inputs, steps),
            (&mut self.grad_prior_inputs, steps),
            (&mut self.prior_messages, messages),
            (&mut self.grad_prior_messages, messages),
        ] {
            grow(buffer, len);
        }
        self.encoder.resize(&model.encoder, observation_rows, n_series);
        self.drift_trace.resize(&model.drift, step_rows);
        self.diffusion_trace.resize(&model.process.diffusion, steps);
        let block = (times_per_block(d) * d).min(self.layout.n_steps() * d);
        self.prior_trace.resize(&model.process.drift, block);
        let reversed = BLOCK_ROWS.max(n_series * d).max(block).min(steps.max(block));
        self.adjoints.resize(&model.process.drift, reversed);
        if model.architecture.scheme == Scheme::Milstein {
            self.tangents.resize(&model.process.diffusion, n_series * d);
            grow(&mut self.own_derivatives, steps);
            grow(&mut self.grad_own_derivatives, n_series * d);
        }
    }
}

fn grow<R: Real>(buffer: &mut Vec<R>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, R::ZERO);
    }
}

/// Points in time of one series whose prior drift is evaluated and reversed together.
pub(super) fn times_per_block(n_variables: usize) -> usize {
    BLOCK_ROWS.div_ceil(n_variables)
}
