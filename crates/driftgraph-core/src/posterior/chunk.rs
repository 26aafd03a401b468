//! One chunk of series through the simulated posterior: forwards here, backwards in `backward.rs`.

mod backward;

use super::plan::PlannedSeries;
use super::simulated::{SharedWeights, SimulatedPosterior};
use super::workspace::ChunkWorkspace;
use crate::graph::posterior::{SampledGraph, sample_graph};
use crate::graph::prior::EdgeRule;
use crate::nn::mlp::PreparedMlp;
use crate::nn::node_function::{Rows, TangentRows};
use crate::numeric::real::Real;
use crate::objective::elbo::ElboTerms;
use crate::process::solver::Scheme;

/// Random numbers of one training step, by series.
pub trait PathDraws<R>: Sync {
    /// Fills `out` with one logistic number per edge, for the graph of a series.
    fn graph(&self, series: usize, out: &mut [R]);

    /// Fills `out` with one standard normal number per variable, for the initial state.
    fn initial_state(&self, series: usize, out: &mut [R]);

    /// Fills `out` with standard normal numbers `[step, variable]`, for the path.
    fn path(&self, series: usize, out: &mut [R]);
}

/// Factors of the loss: minus log likelihood and divergences of S series that stand for N.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LossWeights {
    /// N / S, of the log likelihood.
    pub series: f64,
    /// N / S times the annealing weight, of initial and path KL.
    pub kl: f64,
    /// 1 / S, of each sampled graph's sparsity.
    pub(crate) graph_sample: f64,
}

/// What a chunk adds to the loss.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ChunkSums {
    /// Sums over the chunk's series; the graph's term is left 0.
    pub terms: ElboTerms,
    /// Σ over sampled graphs and their free edges of minus the prior log-odds.
    pub(crate) sampled_sparsity: f64,
    /// How often the diffusion was at or below its floor.
    pub floor_hits: u64,
}

/// A chunk of series and all it needs to read.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'a, R> {
    /// The model.
    pub model: &'a SimulatedPosterior,
    /// Its parameters.
    pub parameters: &'a [R],
    /// What all chunks share.
    pub shared: &'a SharedWeights<R>,
    /// All series.
    pub plans: &'a [PlannedSeries<R>],
    /// The series of this chunk, by falling number of steps.
    pub series: &'a [usize],
    /// Random numbers.
    pub draws: &'a dyn PathDraws<R>,
    /// Factors of the loss.
    pub weights: LossWeights,
}

impl<R: Real> Chunk<'_, R> {
    /// Draws paths, adds the loss' gradient to `grads` and returns the chunk's terms.
    pub(crate) fn run(&self, work: &mut ChunkWorkspace<R>, grads: &mut [R]) -> ChunkSums {
        let mut sums = self.draw(work);
        self.observe(work, grads, &mut sums);
        self.compare_with_prior(work, grads, &mut sums);
        self.reverse_path(work, grads);
        self.reverse_initial_states(work, grads, &mut sums);
        self.reverse_encoder(work, grads);
        self.reverse_graphs(work, grads);
        sums
    }

    /// Draws paths, and returns what their graphs add to the terms.
    pub(crate) fn draw(&self, work: &mut ChunkWorkspace<R>) -> ChunkSums {
        work.layout.arrange(self.plans, self.series);
        work.resize(self.model, self.series.len());
        let mut sums = ChunkSums::default();
        self.sample_graphs(work, &mut sums);
        self.encode(work);
        self.draw_initial_states(work);
        self.simulate(work);
        sums
    }

    fn n_variables(&self) -> usize {
        self.model.architecture.n_variables
    }

    /// One graph per series, and the strengths of its edges in prior drift and diffusion.
    fn sample_graphs(&self, work: &mut ChunkWorkspace<R>, sums: &mut ChunkSums) {
        let (model, d) = (self.model, self.n_variables());
        let prior = &model.architecture.edge_prior;
        let edge_logits = model.edge_logits.of(self.parameters);
        for (place, &series) in self.series.iter().enumerate() {
            let range = place * d * d..(place + 1) * d * d;
            // The strengths' buffer holds the noise until it is used.
            let noise = &mut work.drift_strengths[range.clone()];
            self.draws.graph(series, noise);
            let graph = &mut work.graphs[range.clone()];
            let slopes = &mut work.graph_slopes[range.clone()];
            let out = SampledGraph { edges: &mut *graph, slopes };
            let temperature = model.architecture.temperature;
            sample_graph(edge_logits, prior.rules(), noise, temperature, out);
            for (idx, &present) in graph.iter().enumerate() {
                if prior.rules()[idx] == EdgeRule::Free {
                    sums.sampled_sparsity -= prior.log_odds()[idx] * present.to_f64();
                }
            }
            let diffusion_graph = &mut work.diffusion_graphs[range.clone()];
            model.process.diffusion_graph(graph, prior.rules(), diffusion_graph);
            model.process.drift.edge_strengths(self.parameters, graph, noise);
            let strengths = &mut work.diffusion_strengths[range];
            model.process.diffusion.edge_strengths(self.parameters, diffusion_graph, strengths);
        }
    }

    /// Observations and graphs to contexts, and the contexts' share of the posterior drift.
    fn encode(&self, work: &mut ChunkWorkspace<R>) {
        let (model, d) = (self.model, self.n_variables());
        let n_inputs = model.encoder.n_in();
        let layout = &work.layout;
        let trace = &mut work.encoder;
        trace.series.clear();
        for idx in 0..layout.observation_starts.len() - 1 {
            let (start, end) = (layout.observation_starts[idx], layout.observation_starts[idx + 1]);
            for (row, &place) in (start..end).zip(layout.by_rank()) {
                let inputs = &self.plans[self.series[place]].inputs;
                trace.inputs[row * n_inputs..(row + 1) * n_inputs]
                    .copy_from_slice(&inputs[idx * n_inputs..(idx + 1) * n_inputs]);
                trace.series.push(place);
            }
        }
        let graphs = &work.graphs[..self.series.len() * d * d];
        let (weight, starts) = (&self.shared.encoder, &layout.observation_starts);
        model.encoder.forward(self.parameters, weight, graphs, starts, trace);
        let len = layout.n_observation_rows() * model.drift.n_hidden();
        let share = &mut work.context_share[..len];
        model.drift.context_share(self.parameters, &trace.contexts, share);
    }

    /// z_0 = mean + exp(log_scale) eps, both from the context of the first observation.
    fn draw_initial_states(&self, work: &mut ChunkWorkspace<R>) {
        let (model, d, n) = (self.model, self.n_variables(), self.series.len());
        let contexts = &work.encoder.contexts;
        let [mean, log_scale, eps] = &mut work.initial;
        for (out, layer) in [&mut *mean, &mut *log_scale].into_iter().zip(&model.initial_state) {
            layer.forward(self.parameters, contexts, &mut out[..n * d]);
        }
        for (place, &series) in self.series.iter().enumerate() {
            let rank = work.layout.ranks[place];
            self.draws.initial_state(series, &mut eps[rank * d..(rank + 1) * d]);
            for idx in 0..d {
                let from = rank * d + idx;
                work.states[place * d + idx] = mean[from] + log_scale[from].exp() * eps[from];
            }
        }
    }

    /// The posterior path, Eq. 12 (eq: posterior process), step by step.
    fn simulate(&self, work: &mut ChunkWorkspace<R>) {
        let d = self.n_variables();
        self.draw_increments(work);
        for step in 0..work.layout.n_steps() {
            let n_running = work.layout.n_running(step);
            let steps = work.layout.step_starts[step] * d..work.layout.step_starts[step + 1] * d;
            let now = work.layout.state_starts[step] * d;
            let next = work.layout.state_starts[step + 1] * d;
            work.step_states[steps.clone()].copy_from_slice(&work.states[now..now + n_running * d]);
            self.posterior_drift(work, step);
            self.diffusion(work, step);
            for (place, &series) in self.series[..n_running].iter().enumerate() {
                let dt = self.plans[series].steps[step];
                for idx in place * d..(place + 1) * d {
                    let at = steps.start + idx;
                    let (diffusion, dw) = (work.diffusion[at], work.increments[at]);
                    // Eq. 4 (eq: EM updates no graph), with the posterior's drift.
                    work.states[next + idx] =
                        work.states[now + idx] + work.posterior_drift[at] * dt + diffusion * dw;
                    if self.is_milstein() {
                        // Milstein's term: g g' (dw² - dt) / 2.
                        let slope = self.model.process.diffusion_slope(diffusion);
                        work.states[next + idx] +=
                            diffusion * slope * work.own_derivatives[at] * half_excess(dw, dt);
                    }
                }
            }
        }
    }

    /// Brownian increments of all steps, normal with variance dt.
    fn draw_increments(&self, work: &mut ChunkWorkspace<R>) {
        let d = self.n_variables();
        for (place, &series) in self.series.iter().enumerate() {
            let plan = &self.plans[series];
            let normals = &mut work.normals[..plan.n_steps() * d];
            self.draws.path(series, normals);
            for (step, &dt) in plan.steps.iter().enumerate() {
                let (deviation, row) = (dt.sqrt(), work.layout.step_row(step, place));
                for idx in 0..d {
                    work.increments[row * d + idx] = deviation * normals[step * d + idx];
                }
            }
        }
    }

    fn posterior_drift(&self, work: &mut ChunkWorkspace<R>, step: usize) {
        let (d, hidden) = (self.n_variables(), self.model.drift.n_hidden());
        let layout = &work.layout;
        for place in 0..layout.n_running(step) {
            let context_idx = self.plans[self.series[place]].context_idx[step];
            let from = layout.observation_row(context_idx, place) * hidden;
            let to = layout.step_row(step, place) * hidden;
            work.drift_trace.first_layer()[to..to + hidden]
                .copy_from_slice(&work.context_share[from..from + hidden]);
        }
        let steps = layout.step_starts[step] * d..layout.step_starts[step + 1] * d;
        self.model.drift.forward(
            PreparedMlp { parameters: self.parameters, weights: &self.shared.posterior_drift },
            &work.step_states[steps.clone()],
            &mut work.drift_trace,
            layout.step_starts[step],
            &mut work.posterior_drift[steps],
        );
    }

    fn diffusion(&self, work: &mut ChunkWorkspace<R>, step: usize) {
        let (process, d) = (&self.model.process, self.n_variables());
        let first = work.layout.step_starts[step] * d;
        let rows = Rows { first, n: work.layout.n_running(step) * d, per_node: 1 };
        let (trace, weights) = (&mut work.diffusion_trace, &self.shared.diffusion);
        trace.inputs[rows.range(1)].copy_from_slice(&work.step_states[rows.range(1)]);
        process.diffusion.messages(self.parameters, weights, trace, rows);
        for place in 0..work.layout.n_running(step) {
            let one = Rows { first: first + place * d, n: d, per_node: 1 };
            let strengths = &work.diffusion_strengths[place * d * d..(place + 1) * d * d];
            process.diffusion.aggregate(strengths, trace, one);
        }
        process.diffusion.combine(self.parameters, weights, trace, rows);
        let out = &mut work.diffusion[rows.range(1)];
        out.copy_from_slice(&trace.outputs[rows.range(1)]);
        process.activate_diffusion(out);
        if self.is_milstein() {
            self.own_derivatives(work, rows);
        }
    }

    fn is_milstein(&self) -> bool {
        self.model.architecture.scheme == Scheme::Milstein
    }

    /// Derivatives of the diffusion's node function by the own variable.
    fn own_derivatives(&self, work: &mut ChunkWorkspace<R>, rows: Rows) {
        let (trace, strengths) = (&work.diffusion_trace, &work.diffusion_strengths[..]);
        let block = TangentRows { trace, rows, strengths };
        let out = &mut work.own_derivatives[rows.range(1)];
        let (function, weights) = (&self.model.process.diffusion, &self.shared.diffusion);
        function.own_derivatives(self.parameters, weights, block, &mut work.tangents, out);
    }
}

/// (dw² - dt) / 2.
fn half_excess<R: Real>(dw: R, dt: R) -> R {
    R::from_f64(0.5) * (dw * dw - dt)
}
