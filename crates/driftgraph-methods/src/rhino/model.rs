//! What a window says: the mean of its last row given the graph, the noise around it, and all gradients.

use driftgraph_core::layers::{Init, ParameterTable, Real, Slot};

use super::graph::{GraphLaw, Sample, cyclicity};
use super::messages::{MessagePassing, Sizes, Windows};
use super::noise::{Errors, Noise};
use super::spline::Order;

/// Sizes and kinds of everything.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) n_variables: usize,
    pub(super) lags: usize,
    pub(super) within: bool,
    /// Splines of the noise; normal without.
    pub(super) order: Option<Order>,
    pub(super) embedding: usize,
    pub(super) noise_embedding: usize,
    /// Hidden layers of the networks from nodes to messages, and from messages to means.
    pub(super) hidden: [Vec<usize>; 2],
    /// The same for the noise.
    pub(super) noise_hidden: [Vec<usize>; 2],
}

/// Everything with parameters; those of the noise come last.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) shape: Shape,
    pub(super) graph: GraphLaw,
    /// `[lag, cause, effect]`.
    weights: Slot,
    mean: MessagePassing,
    noise: Noise,
    /// Where the parameters of the noise begin.
    pub(super) noise_begins: usize,
    pub(super) n_parameters: usize,
}

/// How terms beside the likelihood count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Penalties {
    /// Number of windows in all.
    pub(super) n_windows: f64,
    pub(super) sparsity: f64,
    pub(super) alpha: f64,
    pub(super) rho: f64,
}

/// What a batch gives.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) loss: f64,
    pub(super) cyclicity: f64,
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    pub(super) entropy: f64,
    /// `[window, variable]`.
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    pub(super) means: Vec<f64>,
    /// Of each window.
    pub(super) log_densities: Vec<f64>,
    pub(super) grads: Vec<f64>,
}

/// Where gradients go.
struct Gradients<'a> {
    edges: &'a mut [f64],
    parameters: &'a mut [f64],
}

/// What a sampled graph costs.
struct GraphTerms {
    cyclicity: f64,
    /// Sparsity, entropy and cycles, over the number of windows.
    penalty: f64,
    entropy: f64,
}

impl Model {
    pub(super) fn new(shape: &Shape) -> (Self, ParameterTable) {
        let mut table = ParameterTable::default();
        let (d, lags) = (shape.n_variables, shape.lags);
        let graph = GraphLaw::new(&mut table, [d, lags], shape.within);
        let weights = table.add("ICGNN.W", [(lags + 1) * d, d], Init::Constant(0.0));
        let sizes = Sizes {
            embedding: shape.embedding,
            hidden: &shape.hidden,
            message: shape.embedding,
            out: d,
            n_times: lags + 1,
            shift: 0,
        };
        let mean = MessagePassing::new(&mut table, "ICGNN.f", shape, &sizes);
        let noise_begins = table.len();
        let noise = Noise::new(&mut table, shape);
        let n_parameters = table.len();
        (
            Self { shape: shape.clone(), graph, weights, mean, noise, noise_begins, n_parameters },
            table,
        )
    }

    /// Numbers in single precision that a pass keeps for each window.
    pub(super) fn floats_per_window(&self) -> usize {
        self.mean.floats_per_window() + self.noise.floats_per_window()
    }

    /// Gates of the mean, `[time, cause, effect]`, the oldest time first: edges times weights.
    fn mean_gates(&self, parameters: &[f64], edges: &[f64]) -> Vec<f64> {
        let weights = self.weights.of(parameters);
        self.by_time(|place| edges[place] * self.weight_at(weights, place))
    }

    /// Effects of a variable on itself within a row do not exist.
    fn weight_at(&self, weights: &[f64], place: usize) -> f64 {
        if self.is_own(place) { 0.0 } else { weights[place] }
    }

    fn is_own(&self, place: usize) -> bool {
        let d = self.shape.n_variables;
        place < d * d && place / d == place % d
    }

    /// `[time, cause, effect]` from a function of the place in `[lag, cause, effect]`.
    fn by_time(&self, of: impl Fn(usize) -> f64) -> Vec<f64> {
        let square = self.shape.n_variables * self.shape.n_variables;
        let n = (self.shape.lags + 1) * square;
        (0..n).map(|idx| of((self.shape.lags - idx / square) * square + idx % square)).collect()
    }

    /// Loss of windows `[window, time, variable]` under a sampled graph, with all gradients; networks compute in `R`.
    pub(super) fn pass<R: Real>(
        &self,
        parameters: &[f64],
        windows: &[f64],
        sample: &Sample,
        penalties: &Penalties,
    ) -> Pass {
        let (d, n_rows) = (self.shape.n_variables, self.shape.lags + 1);
        let n_windows = windows.len() / (n_rows * d);
        let mut grads = vec![0.0; self.n_parameters];
        let gates = self.mean_gates(parameters, &sample.edges);
        let laid_out = Windows { values: windows, n_rows };
        let passed = self.mean.forward::<R>(parameters, laid_out, &gates);
        let means: Vec<f64> = (0..n_windows * d).map(|idx| passed.out[idx * d + idx % d]).collect();
        let errors: Vec<f64> = (0..n_windows * d)
            .map(|idx| windows[(idx / d + 1) * n_rows * d - d + idx % d] - means[idx])
            .collect();
        let left = Errors { windows, errors: &errors };
        let noise = self.noise.pass::<R>(parameters, left, sample, &mut grads);
        let mut grad_out = vec![0.0; passed.out.len()];
        for (idx, grad) in noise.grad_errors.iter().enumerate() {
            grad_out[idx * d + idx % d] = -grad;
        }
        let grad_gates = self.mean.backward(&passed, &grad_out, &mut grads);
        let mut grad_edges = noise.grad_edges;
        let mut into = Gradients { edges: &mut grad_edges, parameters: &mut grads };
        self.mean_gates_backward(parameters, &sample.edges, &grad_gates, &mut into);
        let graph = self.graph_terms(parameters, sample, penalties, &mut into);
        self.graph.backward(sample, &grad_edges, &mut grads);
        let mean_density = noise.log_densities.iter().sum::<f64>() / n_windows as f64;
        Pass {
            loss: -mean_density + graph.penalty,
            cyclicity: graph.cyclicity,
            entropy: graph.entropy,
            means,
            log_densities: noise.log_densities,
            grads,
        }
    }

    fn mean_gates_backward(
        &self,
        parameters: &[f64],
        edges: &[f64],
        grad_gates: &[f64],
        into: &mut Gradients<'_>,
    ) {
        let weights = self.weights.of(parameters);
        let square = self.shape.n_variables * self.shape.n_variables;
        let grad_weights = self.weights.of_mut(into.parameters);
        for (idx, grad) in grad_gates.iter().enumerate() {
            let place = (self.shape.lags - idx / square) * square + idx % square;
            into.edges[place] += grad * self.weight_at(weights, place);
            if !self.is_own(place) {
                grad_weights[place] += grad * edges[place];
            }
        }
    }

    /// What is added to the loss for the graph alone.
    fn graph_terms(
        &self,
        parameters: &[f64],
        sample: &Sample,
        penalties: &Penalties,
        into: &mut Gradients<'_>,
    ) -> GraphTerms {
        let n = self.shape.n_variables;
        let entropy = self.graph.entropy(parameters, -1.0 / penalties.n_windows, into.parameters);
        let n_edges: f64 = sample.edges.iter().sum();
        for (grad, edge) in into.edges.iter_mut().zip(&sample.edges) {
            // The slope of |A| at 0 is 0, as everywhere in automatic differentiation.
            *grad += penalties.sparsity * edge / penalties.n_windows;
        }
        let mut h = 0.0;
        if self.shape.within {
            let (found, by_edges) = cyclicity(&sample.edges, n);
            h = found;
            let factor = (penalties.alpha + penalties.rho * h) / penalties.n_windows;
            into.edges.iter_mut().zip(&by_edges).for_each(|(grad, by)| *grad += factor * by);
        }
        let sum = penalties.sparsity * n_edges - entropy
            + penalties.alpha * h
            + 0.5 * penalties.rho * h * h;
        GraphTerms { cyclicity: h, penalty: sum / penalties.n_windows, entropy }
    }
}
