//! The way back: likelihood, path KL, then through the path to encoder and graphs.

use super::{Chunk, ChunkSums, half_excess};
use crate::graph::prior::EdgeRule;
use crate::nn::node_function::{Rows, SweptAdjoints, SweptMessages, SweptNode, TangentRows};
use crate::nn::parameters::{WithAdjoints, WithGradient};
use crate::numeric::real::Real;
use crate::objective::initial_kl::{Normal, initial_kl};
use crate::objective::path_kl::control;
use crate::posterior::simulated::GraphTerm;
use crate::posterior::workspace::{BLOCK_ROWS, ChunkWorkspace, times_per_block};

/// Some steps of one series, whose prior drift is evaluated at once.
#[derive(Clone, Copy)]
struct TimeBlock {
    /// The series' place in the chunk.
    place: usize,
    first_step: usize,
    n_times: usize,
    /// Place of the first step among the points of all series.
    first_point: usize,
}

impl<R: Real> Chunk<'_, R> {
    /// Log likelihood of the observed cells; starts the states' adjoints.
    pub(super) fn observe(
        &self,
        work: &mut ChunkWorkspace<R>,
        grads: &mut [R],
        sums: &mut ChunkSums,
    ) {
        let (d, noise) = (self.n_variables(), self.model.architecture.noise);
        let weight = R::from_f64(self.weights.series);
        work.grad_states[..work.layout.n_state_rows() * d].fill(R::ZERO);
        for (place, &series) in self.series.iter().enumerate() {
            let plan = &self.plans[series];
            for (row, readout) in plan.readouts.iter().enumerate() {
                let before = work.layout.state_row(readout.state_idx, place) * d;
                let between = readout.weight > R::ZERO;
                let after_idx = readout.state_idx + usize::from(between);
                let after = work.layout.state_row(after_idx, place) * d;
                for idx in 0..d {
                    let observed = plan.values[row * d + idx];
                    if observed.is_nan() {
                        // The cell was not observed.
                        continue;
                    }
                    let (z, z_after) = (work.states[before + idx], work.states[after + idx]);
                    let latent = z * (R::ONE - readout.weight) + z_after * readout.weight;
                    // Eq. 10 (eq: observation likelihood), one cell.
                    let log_scale = self.shared.noise_log_scales[idx];
                    let density = noise.log_density(observed, latent, log_scale);
                    sums.terms.log_likelihood += density.value.to_f64();
                    let adjoint = -weight * density.by_latent;
                    work.grad_states[before + idx] += adjoint * (R::ONE - readout.weight);
                    work.grad_states[after + idx] += adjoint * readout.weight;
                    if let Some(slot) = self.model.noise_log_scales {
                        slot.of_mut(grads)[idx] -= weight * density.by_log_scale;
                    }
                }
            }
        }
    }

    /// Prior drift along the path, and the path KL.
    ///
    /// The path does not depend on the prior drift, so it is evaluated once the path is known: messages
    /// node by node, and all that follows forwards and backwards in blocks of rows, so that activations
    /// are never stored.
    pub(super) fn compare_with_prior(
        &self,
        work: &mut ChunkWorkspace<R>,
        grads: &mut [R],
        sums: &mut ChunkSums,
    ) {
        let d = self.n_variables();
        work.grad_drift_strengths[..self.series.len() * d * d].fill(R::ZERO);
        self.send_messages(work);
        let mut first_point = 0;
        for (place, &series) in self.series.iter().enumerate() {
            let n_steps = self.plans[series].n_steps();
            for first_step in (0..n_steps).step_by(times_per_block(d)) {
                let n_times = times_per_block(d).min(n_steps - first_step);
                let block =
                    TimeBlock { place, first_step, n_times, first_point: first_point + first_step };
                self.compare_block(work, grads, sums, block);
            }
            first_point += n_steps;
        }
        self.reverse_messages(work, grads);
    }

    /// Messages of all nodes at all points `[node, point]`; the points of a series follow each other.
    fn send_messages(&self, work: &mut ChunkWorkspace<R>) {
        let (d, n_points) = (self.n_variables(), work.layout.n_step_rows());
        let e = self.model.process.drift.sizes().embedding;
        let mut point = 0;
        for (place, &series) in self.series.iter().enumerate() {
            for step in 0..self.plans[series].n_steps() {
                let from = work.layout.state_row(step, place) * d;
                for node in 0..d {
                    work.prior_inputs[node * n_points + point] = work.states[from + node];
                }
                point += 1;
            }
        }
        for node in 0..d {
            let points = node * n_points..(node + 1) * n_points;
            let out = &mut work.prior_messages[points.start * e..points.end * e];
            self.swept(node).messages(&work.prior_inputs[points], &mut work.sweep, out);
        }
    }

    /// From the messages' adjoints to those of the states, and the gradients of the message net.
    fn reverse_messages(&self, work: &mut ChunkWorkspace<R>, grads: &mut [R]) {
        let (d, n_points) = (self.n_variables(), work.layout.n_step_rows());
        let e = self.model.process.drift.sizes().embedding;
        for node in 0..d {
            let points = node * n_points..(node + 1) * n_points;
            let grad_messages = &work.grad_prior_messages[points.start * e..points.end * e];
            let inputs = &work.prior_inputs[points.clone()];
            let grad_inputs = &mut work.grad_prior_inputs[points];
            let node = self.swept(node);
            node.backward(grads, inputs, grad_messages, &mut work.sweep, grad_inputs);
        }
        let mut point = 0;
        for (place, &series) in self.series.iter().enumerate() {
            for step in 0..self.plans[series].n_steps() {
                let to = work.layout.state_row(step, place) * d;
                for node in 0..d {
                    work.grad_states[to + node] += work.grad_prior_inputs[node * n_points + point];
                }
                point += 1;
            }
        }
    }

    fn swept(&self, node: usize) -> SweptNode<'_, R> {
        SweptNode {
            function: &self.model.process.drift,
            parameters: self.parameters,
            weights: &self.shared.drift,
            bends: &self.shared.drift_bends,
            node,
        }
    }

    fn compare_block(
        &self,
        work: &mut ChunkWorkspace<R>,
        grads: &mut [R],
        sums: &mut ChunkSums,
        block: TimeBlock,
    ) {
        let TimeBlock { place, n_times, first_point: first, .. } = block;
        let (d, function) = (self.n_variables(), &self.model.process.drift);
        let (parameters, weights) = (self.parameters, &self.shared.drift);
        let rows = Rows { first: 0, n: n_times * d, per_node: n_times };
        let edges = place * d * d..(place + 1) * d * d;
        let n_points = work.layout.n_step_rows();
        let messages = SweptMessages { all: &work.prior_messages, n_points, first };
        let strengths = &work.drift_strengths[edges.clone()];
        function.aggregate_swept(strengths, messages, &mut work.prior_trace, rows);
        function.combine(parameters, weights, &mut work.prior_trace, rows);
        work.adjoints.base = 0;
        self.add_path_kl(work, sums, block);
        let (trace, adjoints) = (&work.prior_trace, &mut work.adjoints);
        function.combine_backward(WithGradient { parameters, grads }, trace, adjoints, rows);
        function.add_combine_gradients(grads, trace, adjoints, rows);
        let messages = SweptMessages { all: &work.prior_messages, n_points, first };
        let strengths = &work.drift_strengths[edges.clone()];
        let grad_strengths = &mut work.grad_drift_strengths[edges];
        let from = first * function.sizes().embedding;
        let out = SweptAdjoints { all: &mut work.grad_prior_messages[from..], n_points };
        let strengths = WithAdjoints { values: strengths, adjoints: grad_strengths };
        function.aggregate_swept_backward(strengths, messages, out, adjoints, rows);
    }

    /// The path KL of a block, and the adjoints of the drifts and the diffusion it compares.
    fn add_path_kl(&self, work: &mut ChunkWorkspace<R>, sums: &mut ChunkSums, block: TimeBlock) {
        let TimeBlock { place, first_step, n_times, .. } = block;
        let d = self.n_variables();
        let floor = R::from_f64(self.model.architecture.diffusion_floor);
        let weight = R::from_f64(self.weights.kl);
        let plan = &self.plans[self.series[place]];
        for time in 0..n_times {
            let dt = plan.steps[first_step + time];
            let row = work.layout.step_row(first_step + time, place) * d;
            for idx in 0..d {
                let prior_drift = work.prior_trace.outputs[idx * n_times + time];
                let (posterior_drift, diffusion) =
                    (work.posterior_drift[row + idx], work.diffusion[row + idx]);
                let control = control(posterior_drift, prior_drift, diffusion, floor);
                sums.terms.path_kl += control.path_kl(dt).to_f64();
                sums.floor_hits += u64::from(control.floored);
                let (by_drift, by_diffusion) = control.path_kl_slopes(dt);
                work.grad_drift[row + idx] = weight * by_drift;
                work.grad_diffusion[row + idx] = weight * by_diffusion;
                work.adjoints.outputs[idx * n_times + time] = -weight * by_drift;
                work.prior_drift[row + idx] = prior_drift;
                work.control[row + idx] = control.value;
            }
        }
    }

    /// From the last step to the first; the node function's weights in blocks of several steps.
    pub(super) fn reverse_path(&self, work: &mut ChunkWorkspace<R>, grads: &mut [R]) {
        let (d, n_steps) = (self.n_variables(), work.layout.n_steps());
        work.grad_diffusion_strengths[..self.series.len() * d * d].fill(R::ZERO);
        let mut end = n_steps;
        while end > 0 {
            let end_row = work.layout.step_starts[end];
            let fits = |step: usize| (end_row - work.layout.step_starts[step]) * d <= BLOCK_ROWS;
            let mut start = end - 1;
            while start > 0 && fits(start - 1) {
                start -= 1;
            }
            let base = work.layout.step_starts[start] * d;
            work.adjoints.base = base;
            for step in (start..end).rev() {
                self.reverse_step(work, grads, step);
            }
            let rows = Rows { first: base, n: end_row * d - base, per_node: 1 };
            let function = &self.model.process.diffusion;
            function.add_message_gradients(grads, &work.diffusion_trace, &work.adjoints, rows);
            function.add_combine_gradients(grads, &work.diffusion_trace, &work.adjoints, rows);
            end = start;
        }
        let len = work.layout.n_step_rows() * d;
        let (states, grad_drift) = (&work.step_states[..len], &work.grad_drift[..len]);
        self.model.drift.add_gradients(grads, states, grad_drift, &work.drift_trace);
    }

    fn reverse_step(&self, work: &mut ChunkWorkspace<R>, grads: &mut [R], step: usize) {
        let (d, n_running) = (self.n_variables(), work.layout.n_running(step));
        let process = &self.model.process;
        let first = work.layout.step_starts[step] * d;
        let rows = Rows { first, n: n_running * d, per_node: 1 };
        let here = work.adjoints.here(rows).range(1);
        let now = work.layout.state_starts[step] * d;
        let next = work.layout.state_starts[step + 1] * d;
        for (place, &series) in self.series[..n_running].iter().enumerate() {
            let dt = self.plans[series].steps[step];
            for idx in place * d..(place + 1) * d {
                let at = first + idx;
                let grad_next = work.grad_states[next + idx];
                work.grad_states[now + idx] += grad_next;
                work.grad_drift[at] += grad_next * dt;
                let diffusion = work.diffusion[at];
                let grad = work.grad_diffusion[at] + grad_next * work.increments[at];
                work.adjoints.outputs[here.start + idx] = grad * process.diffusion_slope(diffusion);
                if self.is_milstein() {
                    let excess = grad_next * half_excess(work.increments[at], dt);
                    let grads = self.milstein_adjoints(diffusion, work.own_derivatives[at], excess);
                    work.adjoints.outputs[here.start + idx] += grads.0;
                    work.grad_own_derivatives[idx] = grads.1;
                }
            }
        }
        if self.is_milstein() {
            self.reverse_own_derivatives(work, grads, rows);
        }
        let grad_now = &mut work.grad_states[now..now + n_running * d];
        let grad_drift = &work.grad_drift[rows.range(1)];
        let (trace, row) = (&mut work.drift_trace, work.layout.step_starts[step]);
        self.model.drift.backward(self.parameters, grad_drift, trace, row, grad_now);
        let (function, parameters) = (&process.diffusion, self.parameters);
        let (trace, adjoints) = (&work.diffusion_trace, &mut work.adjoints);
        function.combine_backward(WithGradient { parameters, grads }, trace, adjoints, rows);
        for place in 0..n_running {
            let one = Rows { first: first + place * d, n: d, per_node: 1 };
            let edges = place * d * d..(place + 1) * d * d;
            let strengths = &work.diffusion_strengths[edges.clone()];
            let grad_strengths = &mut work.grad_diffusion_strengths[edges];
            let strengths = WithAdjoints { values: strengths, adjoints: grad_strengths };
            function.aggregate_backward(strengths, trace, adjoints, one);
        }
        let weights = &self.shared.diffusion;
        function.messages_backward(
            WithGradient { parameters, grads },
            weights,
            trace,
            adjoints,
            rows,
        );
        for (grad, &input) in grad_now.iter_mut().zip(&adjoints.inputs[here]) {
            *grad += input;
        }
    }

    /// Adjoints, by the node function's output o and its own derivative t, of excess g g' with
    /// g = φ(o) and g' = φ'(o) t.
    fn milstein_adjoints(&self, diffusion: R, own_derivative: R, excess: R) -> (R, R) {
        let process = &self.model.process;
        let slope = process.diffusion_slope(diffusion);
        let curvature = process.diffusion_curvature(diffusion);
        let by_output = slope * slope + diffusion * curvature;
        (excess * own_derivative * by_output, excess * diffusion * slope)
    }

    /// Computes the tangents of a step again, and takes them back to weights and strengths.
    fn reverse_own_derivatives(&self, work: &mut ChunkWorkspace<R>, grads: &mut [R], rows: Rows) {
        self.own_derivatives(work, rows);
        let (trace, strengths) = (&work.diffusion_trace, &work.diffusion_strengths[..]);
        let block = TangentRows { trace, rows, strengths };
        let by_strengths = &mut work.grad_diffusion_strengths[..];
        let grad_out = &work.grad_own_derivatives[..rows.n];
        let (function, pair) =
            (&self.model.process.diffusion, WithGradient { parameters: self.parameters, grads });
        function.own_derivatives_backward(pair, block, by_strengths, &mut work.tangents, grad_out);
    }

    /// KL of the initial states, and their way back to the contexts.
    pub(super) fn reverse_initial_states(
        &self,
        work: &mut ChunkWorkspace<R>,
        grads: &mut [R],
        sums: &mut ChunkSums,
    ) {
        let (model, d, n) = (self.model, self.n_variables(), self.series.len());
        let [prior_mean, prior_log_scale] = model.initial_prior;
        let weight = R::from_f64(self.weights.kl);
        let [mean, log_scale, eps] = &work.initial;
        let [grad_mean, grad_log_scale] = &mut work.grad_initial;
        for place in 0..n {
            let rank = work.layout.ranks[place];
            for idx in 0..d {
                let at = rank * d + idx;
                let posterior = Normal { mean: mean[at], log_scale: log_scale[at] };
                let prior = Normal {
                    mean: prior_mean.of(self.parameters)[idx],
                    log_scale: prior_log_scale.of(self.parameters)[idx],
                };
                let kl = initial_kl(posterior, prior);
                sums.terms.initial_kl += kl.value.to_f64();
                let grad_state = work.grad_states[place * d + idx];
                let deviation = log_scale[at].exp();
                grad_mean[at] = grad_state + weight * kl.by_posterior.mean;
                grad_log_scale[at] =
                    grad_state * deviation * eps[at] + weight * kl.by_posterior.log_scale;
                prior_mean.of_mut(grads)[idx] += weight * kl.by_prior.mean;
                prior_log_scale.of_mut(grads)[idx] += weight * kl.by_prior.log_scale;
            }
        }
    }

    /// Adjoints of all contexts, and through the encoder.
    pub(super) fn reverse_encoder(&self, work: &mut ChunkWorkspace<R>, grads: &mut [R]) {
        let (model, d, n) = (self.model, self.n_variables(), self.series.len());
        let (hidden, layout) = (model.drift.n_hidden(), &work.layout);
        let share = &mut work.grad_context_share[..layout.n_observation_rows() * hidden];
        share.fill(R::ZERO);
        for step in 0..layout.n_steps() {
            for place in 0..layout.n_running(step) {
                let context_idx = self.plans[self.series[place]].context_idx[step];
                let to = layout.observation_row(context_idx, place) * hidden;
                let from = layout.step_row(step, place) * hidden;
                let adjoints = &work.drift_trace.first_adjoints()[from..from + hidden];
                for (sum, &adjoint) in share[to..to + hidden].iter_mut().zip(adjoints) {
                    *sum += adjoint;
                }
            }
        }
        let trace = &mut work.encoder;
        let pair = WithGradient { parameters: self.parameters, grads: &mut *grads };
        model.drift.context_backward(pair, &trace.contexts, share, &mut trace.grad_contexts);
        for (layer, grad) in model.initial_state.iter().zip(&work.grad_initial) {
            let grad = &grad[..n * d];
            layer.backward_add(self.parameters, grad, &mut trace.grad_contexts);
            layer.add_gradients(grads, &trace.contexts, grad);
        }
        work.grad_graphs[..n * d * d].fill(R::ZERO);
        let graphs = WithAdjoints {
            values: &work.graphs[..n * d * d],
            adjoints: &mut work.grad_graphs[..n * d * d],
        };
        let starts = &work.layout.observation_starts;
        model.encoder.backward(
            WithGradient { parameters: self.parameters, grads },
            graphs,
            starts,
            trace,
        );
    }

    /// Adjoints of all graphs, and straight through to the logits.
    pub(super) fn reverse_graphs(&self, work: &mut ChunkWorkspace<R>, grads: &mut [R]) {
        let (model, d) = (self.model, self.n_variables());
        let (process, prior) = (&model.process, &model.architecture.edge_prior);
        let per_sample = R::from_f64(self.weights.graph_sample);
        for place in 0..self.series.len() {
            let edges = place * d * d..(place + 1) * d * d;
            let graph = &work.graphs[edges.clone()];
            let grad_graph = &mut work.grad_graphs[edges.clone()];
            let pair = WithGradient { parameters: self.parameters, grads: &mut *grads };
            let grad_drift = &mut work.grad_drift_strengths[edges.clone()];
            process.drift.edge_strengths_backward(pair, graph, grad_drift);
            let pair = WithGradient { parameters: self.parameters, grads: &mut *grads };
            let grad_diffusion = &mut work.grad_diffusion_strengths[edges.clone()];
            let diffusion_graph = &work.diffusion_graphs[edges.clone()];
            process.diffusion.edge_strengths_backward(pair, diffusion_graph, grad_diffusion);
            let slopes = &work.graph_slopes[edges];
            let grad_logits = model.edge_logits.of_mut(grads);
            for idx in 0..d * d {
                let rule = prior.rules()[idx];
                grad_graph[idx] += grad_drift[idx];
                // A forced self edge is a constant: nothing flows back through it.
                if idx % (d + 1) != 0 || !process.forces_self_edge(rule) {
                    grad_graph[idx] += grad_diffusion[idx];
                }
                let sampled = rule == EdgeRule::Free && graph[idx] > R::ZERO;
                if model.architecture.graph_term == GraphTerm::Published && sampled {
                    grad_graph[idx] -= per_sample * R::from_f64(prior.log_odds()[idx]);
                }
                grad_logits[idx] += grad_graph[idx] * slopes[idx];
            }
        }
    }
}
