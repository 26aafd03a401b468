//! A batch of series: chunks in parallel, sums in a fixed order, the graph's terms, the gradient.

use std::cmp::Reverse;
use std::sync::Mutex;

use rayon::prelude::*;

use super::chunk::{Chunk, ChunkSums, LossWeights, PathDraws};
use super::plan::PlannedSeries;
use super::simulated::{GraphTerm, SharedWeights, SimulatedPosterior};
use super::workspace::ChunkWorkspace;
use crate::graph::posterior::{graph_entropy, graph_kl};
use crate::nn::node_function::NodeTrace;
use crate::numeric::kernels::{add_into, vectorised};
use crate::numeric::real::Real;
use crate::objective::elbo::ElboTerms;

/// Sums that run in parallel. A constant, so that the order of addition never depends on threads.
pub(crate) const MAX_LANES: usize = 16;
/// Fewest rows of a node function per solver step that make its matrix products worth while.
const ROWS_PER_STEP: usize = 128;
/// Bytes of activations a chunk may keep, unless one series alone needs more.
const CHUNK_BYTES: usize = 128 << 20;

/// The objective of a model on its series: loss and gradient of any batch.
///
/// Owns all buffers, so that a step allocates nothing of its own.
#[derive(Debug)]
pub struct BatchObjective<R> {
    model: SimulatedPosterior,
    plans: Vec<PlannedSeries<R>>,
    shared: SharedWeights<R>,
    order: Vec<usize>,
    lanes: Vec<Lane<R>>,
    spare: Mutex<Vec<ChunkWorkspace<R>>>,
    gradient: Vec<R>,
}

#[derive(Debug, Default)]
struct Lane<R> {
    grads: Vec<R>,
    sums: ChunkSums,
}

/// What a training step is evaluated with.
#[derive(Clone, Copy)]
pub struct BatchTask<'a, R> {
    /// Parameters of the model.
    pub parameters: &'a [R],
    /// Series of the batch.
    pub batch: &'a [usize],
    /// Random numbers of the step.
    pub draws: &'a dyn PathDraws<R>,
    /// Annealing weight of initial and path KL.
    pub kl_weight: f64,
}

/// The loss of a batch; the gradient stays in the objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evaluation {
    /// Terms of the ELBO, scaled to all series.
    pub terms: ElboTerms,
    /// What the gradient is of.
    pub loss: f64,
    /// How often the diffusion was at or below its floor.
    pub floor_hits: u64,
}

impl<R: Real> BatchObjective<R> {
    /// Takes the model and its series, planned in the model's units.
    pub fn new(model: SimulatedPosterior, plans: Vec<PlannedSeries<R>>) -> Self {
        let gradient = vec![R::ZERO; model.table.gradient_len()];
        Self {
            model,
            plans,
            shared: SharedWeights::default(),
            order: Vec::new(),
            lanes: Vec::new(),
            spare: Mutex::default(),
            gradient,
        }
    }

    /// The model.
    pub fn model(&self) -> &SimulatedPosterior {
        &self.model
    }

    /// Number of series, N.
    pub fn n_series(&self) -> usize {
        self.plans.len()
    }

    /// Gradient of the last evaluation's loss, one entry per parameter.
    pub fn gradient(&self) -> &[R] {
        &self.gradient[..self.model.table.len()]
    }

    /// Loss of a batch, Eq. 15 (eq: Overall ELBO) with one sample; leaves its gradient behind.
    pub fn evaluate(&mut self, task: BatchTask<'_, R>) -> Evaluation {
        let n_over_s = self.plans.len() as f64 / task.batch.len() as f64;
        let weights = LossWeights {
            series: n_over_s,
            kl: n_over_s * task.kl_weight,
            graph_sample: 1.0 / task.batch.len() as f64,
        };
        self.model.prepare(task.parameters, &mut self.shared);
        self.sort(task.batch);
        let chunk_len = self.chunk_len();
        let n_chunks = self.order.len().div_ceil(chunk_len);
        self.lanes.resize_with(n_chunks.min(MAX_LANES), Lane::default);
        let Self { model, plans, shared, order, lanes, spare, gradient } = self;
        let (model, plans, shared, order, spare) = (&*model, &**plans, &*shared, &**order, &*spare);
        let n_lanes = lanes.len();
        lanes.par_iter_mut().enumerate().for_each(|(first, lane)| {
            lane.grads.clear();
            lane.grads.resize(model.table.gradient_len(), R::ZERO);
            lane.sums = ChunkSums::default();
            let mut work = take(spare);
            for series in order.chunks(chunk_len).skip(first).step_by(n_lanes) {
                let (parameters, draws) = (task.parameters, task.draws);
                let chunk = Chunk { model, parameters, shared, plans, series, draws, weights };
                let sums = chunk.run(&mut work, &mut lane.grads);
                lane.sums.terms.add_series(&sums.terms);
                lane.sums.sampled_sparsity += sums.sampled_sparsity;
                lane.sums.floor_hits += sums.floor_hits;
            }
            give_back(spare, work);
        });
        add_lanes(gradient, lanes);
        let mut sums = ChunkSums::default();
        for lane in lanes.iter() {
            sums.terms.add_series(&lane.sums.terms);
            sums.sampled_sparsity += lane.sums.sampled_sparsity;
            sums.floor_hits += lane.sums.floor_hits;
        }
        model.process.drift.finish_gradients(task.parameters, gradient);
        model.process.diffusion.finish_gradients(task.parameters, gradient);
        let mut terms = sums.terms;
        terms.scale_series(n_over_s);
        let sparsity = sums.sampled_sparsity * weights.graph_sample;
        terms.graph_kl = add_graph_term(model, task.parameters, sparsity, gradient);
        Evaluation { terms, loss: terms.loss(task.kl_weight), floor_hits: sums.floor_hits }
    }

    /// Runs one chunk and hands out its workspace, to look at what happened inside.
    #[cfg(feature = "testing")]
    pub fn inspect(&mut self, task: BatchTask<'_, R>) -> ChunkWorkspace<R> {
        let mut work = ChunkWorkspace::default();
        let mut gradient = std::mem::take(&mut self.gradient);
        gradient.fill(R::ZERO);
        self.one_chunk(task).run(&mut work, &mut gradient);
        self.gradient = gradient;
        work
    }

    /// Draws the paths of one chunk into a workspace, without terms and gradients.
    pub fn draw(&mut self, task: BatchTask<'_, R>, work: &mut ChunkWorkspace<R>) {
        self.one_chunk(task).draw(work);
    }

    /// The whole batch as one chunk.
    fn one_chunk<'a>(&'a mut self, task: BatchTask<'a, R>) -> Chunk<'a, R> {
        self.model.prepare(task.parameters, &mut self.shared);
        self.sort(task.batch);
        Chunk {
            model: &self.model,
            parameters: task.parameters,
            shared: &self.shared,
            plans: &self.plans,
            series: &self.order,
            draws: task.draws,
            weights: LossWeights { series: 1.0, kl: task.kl_weight, graph_sample: 1.0 },
        }
    }

    /// Orders the batch by falling number of steps, so that chunks hold series of like length.
    fn sort(&mut self, batch: &[usize]) {
        self.order.clear();
        self.order.extend_from_slice(batch);
        let plans = &self.plans;
        self.order.sort_unstable_by_key(|&series| (Reverse(plans[series].n_steps()), series));
    }

    fn chunk_len(&self) -> usize {
        let most_steps = self.order.first().map_or(0, |&series| self.plans[series].n_steps());
        chunk_len::<R>(&self.model, self.order.len(), most_steps)
    }
}

/// Series per chunk: enough rows for fast products, little enough memory, and two chunks or
/// more, so that two threads have work.
pub(crate) fn chunk_len<R: Real>(
    model: &SimulatedPosterior,
    batch_len: usize,
    most_steps: usize,
) -> usize {
    let d = model.architecture.n_variables;
    let per_row = NodeTrace::<R>::floats_per_row(&model.process.diffusion);
    let bytes = most_steps * d * per_row * size_of::<R>();
    let by_memory = CHUNK_BYTES / bytes.max(1);
    // A product rearranges the whole weight first: as many rows as the weight has make up for it.
    let by_rows = ROWS_PER_STEP.max(model.process.diffusion.sizes().width).div_ceil(d);
    by_rows.min(by_memory).min(batch_len.div_ceil(2)).max(1)
}

/// A workspace nobody uses; which one has no influence on the numbers.
fn take<R: Real>(spare: &Mutex<Vec<ChunkWorkspace<R>>>) -> ChunkWorkspace<R> {
    let mut spare = spare.lock().expect("no thread panics while it holds this lock");
    spare.pop().unwrap_or_default()
}

fn give_back<R: Real>(spare: &Mutex<Vec<ChunkWorkspace<R>>>, work: ChunkWorkspace<R>) {
    spare.lock().expect("no thread panics while it holds this lock").push(work);
}

/// `gradient = ` the sum of the lanes, always in the same order.
fn add_lanes<R: Real>(gradient: &mut [R], lanes: &[Lane<R>]) {
    const BLOCK: usize = 1 << 14;
    gradient.par_chunks_mut(BLOCK).enumerate().for_each(|(block, out)| {
        out.fill(R::ZERO);
        for lane in lanes {
            let grads = &lane.grads[block * BLOCK..block * BLOCK + out.len()];
            vectorised(
                #[inline(always)]
                || add_into(out, grads),
            );
        }
    });
}

/// The graph's term of the ELBO; adds its exact part's gradient.
fn add_graph_term<R: Real>(
    model: &SimulatedPosterior,
    parameters: &[R],
    sampled_sparsity: f64,
    gradient: &mut [R],
) -> f64 {
    let prior = &model.architecture.edge_prior;
    let (logits, grads) = (model.edge_logits.of(parameters), model.edge_logits.of_mut(gradient));
    match model.architecture.graph_term {
        GraphTerm::Exact => graph_kl(logits, prior, grads),
        GraphTerm::Published => {
            // Departs from Eq. 7 in the gradient of the sparsity, see D7.
            sampled_sparsity - graph_entropy(logits, prior.rules(), -1.0, grads)
        }
    }
}
