//! The latent process: encoder, posterior path, prior, and the bound with its gradient.

use driftgraph_core::layers::{
    Gru, GruTrace, Init, Linear, Mlp, MlpSizes, MlpTrace, MlpWeights, ParameterTable, PreparedMlp,
    Real, Slot, WithGradient,
};
use driftgraph_core::paths::{ChunkLayout, PlannedSeries};

use super::nets::{NetsTrace, OutputNets, RowRange};

/// What the gap between two drifts is divided by where the diffusion is smaller.
const LEAST_DIFFUSION: f64 = 1e-7;

/// Sizes of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) n_variables: usize,
    /// Numbers that the encoder is given of a row.
    pub(super) n_inputs: usize,
    /// Units of each output's networks.
    pub(super) n_units: usize,
    pub(super) n_hidden: usize,
    pub(super) n_context: usize,
}

/// Places of all parameters.
#[derive(Debug, Clone)]
pub(super) struct Model {
    sizes: Sizes,
    initial_mean: Slot,
    initial_log_scale: Slot,
    gru: Gru,
    context: Linear,
    /// Mean and log deviation of the first state.
    first_state: Linear,
    posterior: Mlp,
    pub(super) drift: OutputNets,
    pub(super) diffusion: OutputNets,
}

/// Standard normal numbers of one step of training.
#[derive(Debug, Clone)]
pub(super) struct Draws<R> {
    /// `[series, variable]`.
    pub(super) first: Vec<R>,
    /// Increments of Brownian motion by series, `[step, variable]`.
    pub(super) increments: Vec<Vec<R>>,
}

/// What one step of training is about.
#[derive(Clone, Copy)]
pub(super) struct Task<'a, R> {
    pub(super) series: &'a [PlannedSeries<R>],
    pub(super) draws: &'a Draws<R>,
    pub(super) noise_scale: f64,
    /// Weight of the two divergences.
    pub(super) kl_weight: f64,
}

/// Terms of the bound, means over series.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Terms {
    pub(super) log_likelihood: f64,
    pub(super) initial_kl: f64,
    pub(super) path_kl: f64,
}

/// Buffers of a step; kept from step to step.
#[derive(Debug, Default)]
pub(super) struct Workspace<R> {
    layout: ChunkLayout,
    /// Series by falling number of steps.
    order: Vec<usize>,
    inputs: Vec<R>,
    gru_weight: Vec<R>,
    gru: GruTrace<R>,
    pub(super) contexts: Vec<R>,
    share: Vec<R>,
    weights: MlpWeights<R>,
    posterior: MlpTrace<R>,
    drift: NetsTrace<R>,
    diffusion: NetsTrace<R>,
    /// Mean and log deviation of the first states, `[rank, 2 x variable]`.
    first: Vec<R>,
    /// `[state row, variable]`.
    pub(super) states: Vec<R>,
    /// The others are `[step row, variable]`.
    pub(super) step_states: Vec<R>,
    pub(super) steps: Steps<R>,
    grads: Steps<R>,
}

/// Numbers of all steps.
#[derive(Debug, Default)]
pub(super) struct Steps<R> {
    pub(super) posterior: Vec<R>,
    pub(super) drift: Vec<R>,
    pub(super) diffusion: Vec<R>,
    /// Increments, or adjoints of the states at which steps begin.
    other: Vec<R>,
}

impl<R: Real> Steps<R> {
    fn resize(&mut self, len: usize) {
        for buffer in [&mut self.posterior, &mut self.drift, &mut self.diffusion, &mut self.other] {
            buffer.clear();
            buffer.resize(len, R::ZERO);
        }
    }
}

impl Model {
    pub(super) fn new(sizes: Sizes) -> (Self, ParameterTable) {
        let mut table = ParameterTable::default();
        let Sizes { n_variables: d, n_inputs, n_units, n_hidden, n_context } = sizes;
        let zero = Init::Constant(0.0);
        let model = Self {
            sizes,
            initial_mean: table.add("pz0_mean", [1, d], zero),
            initial_log_scale: table.add("pz0_logstd", [1, d], zero),
            gru: Gru::new(&mut table, "gru", n_inputs, n_hidden),
            context: Linear::new(&mut table, "lin", n_hidden, n_context),
            first_state: Linear::new(&mut table, "qz0", n_context, 2 * d),
            posterior: Mlp::new(
                &mut table,
                "post",
                MlpSizes { n_state: d, n_context, n_hidden, n_hidden_layers: 2, n_out: d },
            ),
            drift: OutputNets::new(&mut table, "prior", d, n_units, 2),
            diffusion: OutputNets::new(&mut table, "diff", d, n_units, 1),
        };
        (model, table)
    }

    /// How much each variable enters the networks of each output, `[cause, effect]`.
    pub(super) fn scores<R: Real>(&self, parameters: &[R]) -> Vec<f64> {
        let diffusion = self.diffusion.input_norms(parameters);
        let drift = self.drift.input_norms(parameters);
        drift.into_iter().zip(diffusion).map(|(drift, diffusion)| drift.max(diffusion)).collect()
    }

    /// Draws paths, adds the gradient of minus the bound to `grads`, and gives its terms.
    pub(super) fn pass<R: Real>(
        &self,
        parameters: &[R],
        task: &Task<'_, R>,
        work: &mut Workspace<R>,
        grads: &mut [R],
    ) -> Terms {
        self.encode(parameters, task, work);
        self.simulate(parameters, task, work);
        let mut pair = WithGradient { parameters, grads };
        let mut terms = Terms { log_likelihood: self.observe(task, work), ..Terms::default() };
        terms.path_kl = self.compare_with_prior(&mut pair, task, work);
        self.reverse_path(&mut pair, task, work);
        terms.initial_kl = self.reverse_first_states(&mut pair, task, work);
        self.reverse_encoder(&mut pair, work);
        let n = task.series.len() as f64;
        Terms {
            log_likelihood: terms.log_likelihood / n,
            initial_kl: terms.initial_kl / n,
            path_kl: terms.path_kl / n,
        }
    }

    /// Rows to contexts, and the contexts' share of the posterior drift.
    fn encode<R: Real>(&self, parameters: &[R], task: &Task<'_, R>, work: &mut Workspace<R>) {
        let n_series = task.series.len();
        work.order.clear();
        work.order.extend(0..n_series);
        work.order
            .sort_by_key(|&series| (std::cmp::Reverse(task.series[series].n_steps()), series));
        work.layout.arrange(task.series, &work.order);
        let (n_in, n_rows) = (self.sizes.n_inputs, work.layout.n_observation_rows());
        work.inputs.resize(n_rows * n_in, R::ZERO);
        for (place, &series) in work.order.iter().enumerate() {
            for (idx, input) in task.series[series].inputs.chunks_exact(n_in).enumerate() {
                let row = work.layout.observation_row(idx, place);
                work.inputs[row * n_in..(row + 1) * n_in].copy_from_slice(input);
            }
        }
        work.gru.resize(&self.gru, n_rows);
        self.gru.prepare(parameters, &mut work.gru_weight);
        let starts = &work.layout.observation_starts;
        self.gru.forward(parameters, &work.gru_weight, &work.inputs, starts, &mut work.gru);
        work.contexts.resize(n_rows * self.sizes.n_context, R::ZERO);
        let states = &work.gru.states[..n_rows * self.sizes.n_hidden];
        self.context.forward(parameters, states, &mut work.contexts);
        work.share.resize(n_rows * self.sizes.n_hidden, R::ZERO);
        self.posterior.context_share(parameters, &work.contexts, &mut work.share);
    }

    /// First states, then step by step with the posterior's drift.
    fn simulate<R: Real>(&self, parameters: &[R], task: &Task<'_, R>, work: &mut Workspace<R>) {
        let d = self.sizes.n_variables;
        let n_rows = work.layout.n_step_rows();
        work.states.resize(work.layout.n_state_rows() * d, R::ZERO);
        work.step_states.resize(n_rows * d, R::ZERO);
        work.steps.resize(n_rows * d);
        work.posterior.resize(&self.posterior, n_rows);
        self.posterior.prepare(parameters, &mut work.weights);
        self.drift.resize(&mut work.drift, n_rows);
        self.diffusion.resize(&mut work.diffusion, n_rows);
        self.draw_first_states(parameters, task, work);
        for step in 0..work.layout.n_steps() {
            self.one_step(parameters, task, work, step);
        }
    }

    fn draw_first_states<R: Real>(
        &self,
        parameters: &[R],
        task: &Task<'_, R>,
        work: &mut Workspace<R>,
    ) {
        let (d, n_series) = (self.sizes.n_variables, task.series.len());
        work.first.resize(n_series * 2 * d, R::ZERO);
        // The first rows of the contexts are those of all first observations.
        let contexts = &work.contexts[..n_series * self.sizes.n_context];
        self.first_state.forward(parameters, contexts, &mut work.first);
        for (place, &series) in work.order.iter().enumerate() {
            let law = &work.first[work.layout.ranks[place] * 2 * d..][..2 * d];
            for idx in 0..d {
                let noise = task.draws.first[series * d + idx];
                work.states[place * d + idx] = law[idx] + law[d + idx].exp() * noise;
            }
        }
    }

    fn one_step<R: Real>(
        &self,
        parameters: &[R],
        task: &Task<'_, R>,
        work: &mut Workspace<R>,
        step: usize,
    ) {
        let (d, h) = (self.sizes.n_variables, self.sizes.n_hidden);
        let (first, n) = (work.layout.step_starts[step], work.layout.n_running(step));
        let range = first * d..(first + n) * d;
        let (now, next) =
            (work.layout.state_starts[step] * d, work.layout.state_starts[step + 1] * d);
        work.step_states[range.clone()].copy_from_slice(&work.states[now..now + n * d]);
        for (place, &series) in work.order[..n].iter().enumerate() {
            let context = task.series[series].context_idx[step];
            let from = work.layout.observation_row(context, place) * h;
            let to = (first + place) * h;
            work.posterior.first_layer()[to..to + h].copy_from_slice(&work.share[from..from + h]);
        }
        let states = &work.step_states[range.clone()];
        let prepared = PreparedMlp { parameters, weights: &work.weights };
        let out = &mut work.steps.posterior[range.clone()];
        self.posterior.forward(prepared, states, &mut work.posterior, first, out);
        let out = &mut work.steps.diffusion[range.clone()];
        let rows = RowRange { first, n };
        self.diffusion.forward(parameters, states, &mut work.diffusion, rows, out);
        out.iter_mut().for_each(|value| *value = value.sigmoid());
        for (place, &series) in work.order[..n].iter().enumerate() {
            let (plan, dw) = (&task.series[series], &task.draws.increments[series]);
            for idx in 0..d {
                let at = range.start + place * d + idx;
                let dw = dw[step * d + idx];
                work.steps.other[at] = dw;
                work.states[next + place * d + idx] = work.step_states[at]
                    + work.steps.posterior[at] * plan.steps[step]
                    + work.steps.diffusion[at] * dw;
            }
        }
    }

    /// Log likelihood of all observed cells; `work.states` become their adjoints of minus the bound.
    fn observe<R: Real>(&self, task: &Task<'_, R>, work: &mut Workspace<R>) -> f64 {
        let (d, variance) = (self.sizes.n_variables, task.noise_scale.powi(2));
        let constant = 0.5 * (2.0 * std::f64::consts::PI * variance).ln();
        let share = 1.0 / task.series.len() as f64;
        let mut adjoints = vec![R::ZERO; work.states.len()];
        let mut sum = 0.0;
        for (place, &series) in work.order.iter().enumerate() {
            let plan = &task.series[series];
            for (readout, values) in plan.readouts.iter().zip(plan.values.chunks_exact(d)) {
                let row = work.layout.state_row(readout.state_idx, place) * d;
                for (idx, value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
                    let gap = (work.states[row + idx] - *value).to_f64();
                    sum -= constant + 0.5 * gap * gap / variance;
                    adjoints[row + idx] += R::from_f64(share * gap / variance);
                }
            }
        }
        work.states = adjoints;
        sum
    }

    /// Path divergence, with the gradient of the prior's drift, all steps at once.
    fn compare_with_prior<R: Real>(
        &self,
        WithGradient { parameters, grads }: &mut WithGradient<'_, R>,
        task: &Task<'_, R>,
        work: &mut Workspace<R>,
    ) -> f64 {
        let (d, n) = (self.sizes.n_variables, work.layout.n_step_rows());
        work.grads.resize(n * d);
        let (rows, steps, adjoints) = (RowRange { first: 0, n }, &mut work.steps, &mut work.grads);
        let (states, trace) = (&work.step_states[..], &mut work.drift);
        self.drift.forward(parameters, states, trace, rows, &mut steps.drift);
        let (least, half) = (R::from_f64(LEAST_DIFFUSION), R::from_f64(0.5));
        let weight = R::from_f64(task.kl_weight / task.series.len() as f64);
        let mut sum = 0.0;
        for step in 0..work.layout.n_steps() {
            for (place, &series) in work.order[..work.layout.n_running(step)].iter().enumerate() {
                let dt = task.series[series].steps[step];
                let row = work.layout.step_row(step, place) * d;
                let mut divergence = R::ZERO;
                for at in row..row + d {
                    let diffusion = steps.diffusion[at].larger(least);
                    let control = (steps.posterior[at] - steps.drift[at]) / diffusion;
                    divergence += half * control * control * dt;
                    let grad = weight * dt * control / diffusion;
                    adjoints.posterior[at] = grad;
                    adjoints.drift[at] = -grad;
                    let is_free = steps.diffusion[at] > least;
                    adjoints.diffusion[at] = if is_free { -grad * control } else { R::ZERO };
                }
                sum += divergence.to_f64();
            }
        }
        self.drift.backward(parameters, &adjoints.drift, trace, rows, &mut adjoints.other);
        self.drift.add_gradients(grads, states, &adjoints.drift, trace);
        sum
    }

    /// Back along the path; adjoints of the first states are left in `work.states`.
    fn reverse_path<R: Real>(
        &self,
        WithGradient { parameters, grads }: &mut WithGradient<'_, R>,
        task: &Task<'_, R>,
        work: &mut Workspace<R>,
    ) {
        let d = self.sizes.n_variables;
        let (steps, adjoints) = (&work.steps, &mut work.grads);
        for step in (0..work.layout.n_steps()).rev() {
            let (first, n) = (work.layout.step_starts[step], work.layout.n_running(step));
            let range = first * d..(first + n) * d;
            let (now, next) =
                (work.layout.state_starts[step] * d, work.layout.state_starts[step + 1] * d);
            for (place, &series) in work.order[..n].iter().enumerate() {
                let dt = task.series[series].steps[step];
                for idx in place * d..(place + 1) * d {
                    let (at, adjoint) = (range.start + idx, work.states[next + idx]);
                    adjoints.posterior[at] += adjoint * dt;
                    let g = steps.diffusion[at];
                    let grad = adjoints.diffusion[at] + adjoint * steps.other[at];
                    adjoints.diffusion[at] = grad * g * (R::ONE - g);
                    adjoints.other[at] += adjoint;
                }
            }
            let own = &mut adjoints.other[range.clone()];
            let (grad, rows) = (&adjoints.diffusion[range.clone()], RowRange { first, n });
            self.diffusion.backward(parameters, grad, &mut work.diffusion, rows, own);
            let grad = &adjoints.posterior[range.clone()];
            self.posterior.backward(parameters, grad, &mut work.posterior, first, own);
            let states = work.states[now..now + n * d].iter_mut();
            states.zip(&adjoints.other[range]).for_each(|(state, &adjoint)| *state += adjoint);
        }
        let states = &work.step_states[..];
        self.posterior.add_gradients(grads, states, &adjoints.posterior, &work.posterior);
        self.diffusion.add_gradients(grads, states, &adjoints.diffusion, &work.diffusion);
        self.reverse_share(task, work);
    }

    /// Adjoints of the contexts' share, summed over the steps that used it, take its place.
    fn reverse_share<R: Real>(&self, task: &Task<'_, R>, work: &mut Workspace<R>) {
        let h = self.sizes.n_hidden;
        work.share.fill(R::ZERO);
        for (place, &series) in work.order.iter().enumerate() {
            for (step, &context) in task.series[series].context_idx.iter().enumerate() {
                let from = work.layout.step_row(step, place) * h;
                let to = work.layout.observation_row(context, place) * h;
                let adjoints = &work.posterior.first_adjoints()[from..from + h];
                let share = work.share[to..to + h].iter_mut();
                share.zip(adjoints).for_each(|(sum, &adjoint)| *sum += adjoint);
            }
        }
    }

    /// Divergence of the first states' law from its prior, and its gradient.
    fn reverse_first_states<R: Real>(
        &self,
        WithGradient { parameters, grads }: &mut WithGradient<'_, R>,
        task: &Task<'_, R>,
        work: &mut Workspace<R>,
    ) -> f64 {
        let d = self.sizes.n_variables;
        let weight = R::from_f64(task.kl_weight / task.series.len() as f64);
        let half = R::from_f64(0.5);
        let mut sum = 0.0;
        for (place, &series) in work.order.iter().enumerate() {
            let law = &mut work.first[work.layout.ranks[place] * 2 * d..][..2 * d];
            for idx in 0..d {
                let (mean, log_scale) = (law[idx], law[d + idx]);
                let prior_log = self.initial_log_scale.of(parameters)[idx];
                let precision = (-prior_log - prior_log).exp();
                let gap = mean - self.initial_mean.of(parameters)[idx];
                let scale = log_scale.exp();
                let square = (scale * scale + gap * gap) * precision;
                sum += (prior_log - log_scale + half * square - half).to_f64();
                let adjoint = work.states[place * d + idx];
                let noise = task.draws.first[series * d + idx];
                law[idx] = adjoint + weight * gap * precision;
                law[d + idx] =
                    adjoint * scale * noise + weight * (scale * scale * precision - R::ONE);
                self.initial_mean.of_mut(grads)[idx] -= weight * gap * precision;
                self.initial_log_scale.of_mut(grads)[idx] += weight * (R::ONE - square);
            }
        }
        sum
    }

    /// From the contexts' adjoints to the encoder's gradients.
    fn reverse_encoder<R: Real>(&self, pair: &mut WithGradient<'_, R>, work: &mut Workspace<R>) {
        let (c, n_series) = (self.sizes.n_context, work.order.len());
        let n_rows = work.layout.n_observation_rows();
        let mut grad_contexts = vec![R::ZERO; n_rows * c];
        let again = WithGradient { parameters: pair.parameters, grads: &mut *pair.grads };
        self.posterior.context_backward(again, &work.contexts, &work.share, &mut grad_contexts);
        let first = n_series * c;
        self.first_state.add_gradients(pair.grads, &work.contexts[..first], &work.first);
        let grads = &mut grad_contexts[..first];
        self.first_state.backward_add(pair.parameters, &work.first, grads);
        let hidden = n_rows * self.sizes.n_hidden;
        self.context.add_gradients(pair.grads, &work.gru.states[..hidden], &grad_contexts);
        let grad_states = &mut work.gru.grad_states[..hidden];
        self.context.backward(pair.parameters, &grad_contexts, grad_states);
        let again = WithGradient { parameters: pair.parameters, grads: &mut *pair.grads };
        let starts = &work.layout.observation_starts;
        self.gru.backward(again, &work.inputs, starts, &mut work.gru);
    }
}
