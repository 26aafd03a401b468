//! A part for tests alone, the least that works: squares of the sources, each with a coefficient of its own, added to the drift.

use std::sync::Arc;

use super::part::{FixedPart, PartAtStates, Precision, ProcessPart};
use super::sampled::{GraphPiece, SampledPart, SampledSteps};
use crate::nn::parameters::{Init, ParameterTable, Slot};
use crate::numeric::real::Real;
use crate::process::part::{AddsTo, BlockPart, PartWorker, Strengths};

/// Σ c_ij G_ij z_i² over i is added to the drift of j.
#[derive(Debug, Clone, Copy)]
pub(super) struct Squares {
    coefficients: Slot,
}

impl Squares {
    pub(super) fn new(table: &mut ParameterTable, n: usize) -> Self {
        Self { coefficients: table.add("squares", [n, n], Init::Constant(0.1)) }
    }

    /// The formula, at one state.
    pub(super) fn formula(coefficients: &[f64], graph: &[f64], state: &[f64]) -> Vec<f64> {
        let n = state.len();
        let term =
            |i: usize, j: usize| coefficients[i * n + j] * graph[i * n + j] * state[i] * state[i];
        (0..n).map(|j| (0..n).map(|i| term(i, j)).sum()).collect()
    }
}

impl ProcessPart for Squares {
    fn adds_to(&self) -> AddsTo {
        AddsTo::Drift
    }

    fn slot(&self) -> Slot {
        self.coefficients
    }

    fn reserve_scratch(&mut self, _: &mut ParameterTable) {}

    fn initialise(&self, _: &ParameterTable, _: &mut [f64]) {}

    fn weight_precision(&self) -> f64 {
        2.0
    }

    fn work_bytes(&self, n_steps: usize) -> usize {
        n_steps * self.coefficients.rows * size_of::<f32>()
    }

    fn sampled_single(&self, offset: usize) -> Box<dyn SampledPart<f32>> {
        Box::new(SampledSquares::new(*self, offset))
    }

    fn sampled_double(&self, offset: usize) -> Box<dyn SampledPart<f64>> {
        Box::new(SampledSquares::new(*self, offset))
    }

    fn fixed(&self, parameters: &[f64], _: Precision) -> Arc<dyn FixedPart> {
        Arc::new(FixedSquares(self.coefficients.of(parameters).to_vec()))
    }

    fn block(&self, parameters: &[f32]) -> Box<dyn BlockPart> {
        Box::new(BlockSquares(self.coefficients.of(parameters).to_vec()))
    }
}

/// In training.
#[derive(Debug)]
struct SampledSquares<R> {
    coefficients: Slot,
    /// `[variable, step]`.
    by_states: Vec<R>,
    n_steps: usize,
}

impl<R: Real> SampledSquares<R> {
    fn new(part: Squares, offset: usize) -> Self {
        let slot = part.coefficients;
        let coefficients = Slot { offset: slot.offset - offset, ..slot };
        Self { coefficients, by_states: Vec::new(), n_steps: 0 }
    }

    /// Calls `visit` with step, pair and state of every pair in every step of a piece.
    fn visit(&self, steps: &SampledSteps<'_, R>, piece: &GraphPiece, mut visit: impl FnMut(Visit)) {
        let n = self.coefficients.rows;
        for step in 0..piece.rows.len() {
            for pair in 0..n * n {
                let at = pair / n * self.n_steps + piece.first + step;
                let coefficient = self.coefficients.of(steps.parameters)[pair].to_f64();
                let to = step * n + pair % n;
                visit(Visit { to, pair, at, state: steps.inputs[at].to_f64(), coefficient });
            }
        }
    }
}

/// A pair of variables in a step.
struct Visit {
    /// Where the target is among outputs `[step, variable]`.
    to: usize,
    pair: usize,
    /// Where the source is among inputs.
    at: usize,
    state: f64,
    coefficient: f64,
}

impl<R: Real> SampledPart<R> for SampledSquares<R> {
    fn forward(&mut self, steps: &SampledSteps<'_, R>, pieces: &mut [GraphPiece]) {
        self.n_steps = steps.inputs.len() / self.coefficients.rows;
        for (piece, graph) in pieces.iter_mut().zip(steps.graphs) {
            let mut added = piece.added_mut(AddsTo::Drift).to_vec();
            self.visit(steps, piece, |Visit { to, pair, state, coefficient, .. }| {
                added[to] += coefficient * graph[pair] * state * state;
            });
            piece.added_mut(AddsTo::Drift).copy_from_slice(&added);
        }
    }

    fn backward(
        &mut self,
        steps: &SampledSteps<'_, R>,
        pieces: &mut [GraphPiece],
        grads: &mut [R],
    ) {
        let mut by_states = vec![0.0; steps.inputs.len()];
        for (piece, graph) in pieces.iter_mut().zip(steps.graphs) {
            let mut by_graph = vec![0.0; graph.len()];
            let by_added = piece.by_added(AddsTo::Drift);
            let by_coefficients = self.coefficients.of_mut(grads);
            self.visit(steps, piece, |Visit { to, pair, at, state, coefficient }| {
                let by = by_added[to];
                by_coefficients[pair] += R::from_f64(by * graph[pair] * state * state);
                by_graph[pair] += by * coefficient * state * state;
                by_states[at] += 2.0 * by * coefficient * graph[pair] * state;
            });
            piece.grads.graph.iter_mut().zip(by_graph).for_each(|(sum, by)| *sum += by);
        }
        self.by_states = by_states.into_iter().map(R::from_f64).collect();
    }

    fn by_states(&self, variable: usize) -> &[R] {
        &self.by_states[variable * self.n_steps..(variable + 1) * self.n_steps]
    }
}

/// With fixed coefficients.
#[derive(Debug)]
struct FixedSquares(Vec<f64>);

impl FixedPart for FixedSquares {
    fn adds_to(&self) -> AddsTo {
        AddsTo::Drift
    }

    fn at(&self, states: &[f64]) -> Box<dyn PartAtStates + '_> {
        Box::new(SquaresAtStates { coefficients: &self.0, states: states.to_vec() })
    }
}

struct SquaresAtStates<'a> {
    coefficients: &'a [f64],
    states: Vec<f64>,
}

impl PartAtStates for SquaresAtStates<'_> {
    fn under(&mut self, graph: &[f64]) -> Vec<f64> {
        let states = self.states.chunks_exact(graph.len().isqrt());
        states.flat_map(|state| Squares::formula(self.coefficients, graph, state)).collect()
    }
}

/// In simulation.
#[derive(Debug)]
struct BlockSquares(Vec<f32>);

impl BlockPart for BlockSquares {
    fn adds_to(&self) -> AddsTo {
        AddsTo::Drift
    }

    fn push_strengths(&self, graph: &[f64], out: &mut Vec<f32>) {
        out.extend(self.0.iter().zip(graph).map(|(coefficient, &edge)| coefficient * edge as f32));
    }

    fn worker(&self) -> Box<dyn PartWorker> {
        Box::new(SquaresWorker { n: self.0.len().isqrt(), ..SquaresWorker::default() })
    }
}

#[derive(Debug, Default)]
struct SquaresWorker {
    n: usize,
    states: Vec<f64>,
    outputs: Vec<f32>,
    slopes: Vec<f32>,
}

impl SquaresWorker {
    /// The strengths on a path.
    fn on<'a>(&self, strengths: &'a Strengths, path: usize) -> &'a [f32] {
        let n_pairs = self.n * self.n;
        let first = if strengths.matrices.len() == n_pairs { 0 } else { path * n_pairs };
        &strengths.matrices[first..first + n_pairs]
    }
}

impl PartWorker for SquaresWorker {
    fn run(&mut self, strengths: &Strengths, states: &[f64]) -> &[f32] {
        let n = self.n;
        self.states = states.to_vec();
        self.outputs = (0..states.len())
            .map(|idx| {
                let (path, target) = (idx / n, idx % n);
                let own = self.on(strengths, path);
                let state = |source: usize| states[path * n + source] as f32;
                (0..n).map(|i| own[i * n + target] * state(i) * state(i)).sum()
            })
            .collect();
        &self.outputs
    }

    fn run_for_derivatives(&mut self, strengths: &Strengths, states: &[f64]) -> &[f32] {
        self.run(strengths, states)
    }

    fn own_derivatives(&mut self, strengths: &Strengths) -> &[f32] {
        let n = self.n;
        self.slopes = (0..self.states.len())
            .map(|idx| {
                2.0 * self.on(strengths, idx / n)[idx % n * (n + 1)] * self.states[idx] as f32
            })
            .collect();
        &self.slopes
    }
}
