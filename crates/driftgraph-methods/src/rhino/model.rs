//! What a window says: the mean of its last row given the graph, the noise around it, and all gradients.

use driftgraph_core::layers::{Init, ParameterTable, Slot};

use super::graph::{GraphLaw, Sample, cyclicity};
use super::net::{Net, Trace};
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

/// Messages from nodes through the graph to nodes: one network before it, one after it.
#[derive(Debug, Clone)]
pub(super) struct MessagePassing {
    pub(super) n_variables: usize,
    /// `[time, variable, entry]`, the oldest time first.
    embeddings: Slot,
    before: Net,
    after: Net,
    /// Times whose nodes send messages, and how far their embeddings are shifted.
    n_times: usize,
    shift: usize,
}

/// What the way back needs.
pub(super) struct Passed {
    before: Trace,
    after: Trace,
    messages: Vec<f64>,
    pub(super) out: Vec<f64>,
}

impl MessagePassing {
    pub(super) fn new(
        table: &mut ParameterTable,
        name: &str,
        shape: &Shape,
        sizes: &Sizes<'_>,
    ) -> Self {
        let (d, q) = (shape.n_variables, sizes.embedding);
        let shape_of = [(shape.lags + 1) * d, q];
        let embeddings = table.add(format!("{name}.embeddings"), shape_of, Init::Normal(0.01));
        Self {
            n_variables: d,
            embeddings,
            before: Net::new(table, &format!("{name}.g"), d + q, &sizes.hidden[0], sizes.message),
            after: Net::new(
                table,
                &format!("{name}.f"),
                sizes.message + q,
                &sizes.hidden[1],
                sizes.out,
            ),
            n_times: sizes.n_times,
            shift: sizes.shift,
        }
    }

    fn embedding<'a>(&self, parameters: &'a [f64], time: usize, variable: usize) -> &'a [f64] {
        let q = self.embeddings.cols;
        let first = (time * self.n_variables + variable) * q;
        &self.embeddings.of(parameters)[first..first + q]
    }

    /// What each node tells: its value in its own place, and its embedding.
    fn inputs(&self, parameters: &[f64], windows: &[f64], n_rows: usize) -> Vec<f64> {
        let d = self.n_variables;
        let mut inputs = Vec::new();
        for window in windows.chunks_exact(n_rows * d) {
            for (idx, value) in window[..self.n_times * d].iter().enumerate() {
                let (time, variable) = (idx / d, idx % d);
                let first = inputs.len();
                inputs.resize(first + d, 0.0);
                inputs[first + variable] = *value;
                inputs.extend_from_slice(self.embedding(parameters, time + self.shift, variable));
            }
        }
        inputs
    }

    /// Outputs `[window, variable, out]` of windows `[window, time, variable]`; `gates` are `[time, cause, effect]`.
    pub(super) fn forward(
        &self,
        parameters: &[f64],
        windows: &[f64],
        n_rows: usize,
        gates: &[f64],
    ) -> Passed {
        let (d, m) = (self.n_variables, self.before.n_out());
        let n_windows = windows.len() / (n_rows * d);
        let mut before = Trace::default();
        let inputs = self.inputs(parameters, windows, n_rows);
        let messages = self.before.forward(parameters, inputs, &mut before);
        let mut sums = Vec::with_capacity(n_windows * d * (m + self.embeddings.cols));
        for window in messages.chunks_exact(self.n_times * d * m) {
            for effect in 0..d {
                let first = sums.len();
                sums.resize(first + m, 0.0);
                for (sender, message) in window.chunks_exact(m).enumerate() {
                    let gate = gates[sender * d + effect];
                    if gate != 0.0 {
                        sums[first..]
                            .iter_mut()
                            .zip(message)
                            .for_each(|(sum, value)| *sum += gate * value);
                    }
                }
                sums.extend_from_slice(self.embedding(parameters, 0, effect));
            }
        }
        let mut after = Trace::default();
        let out = self.after.forward(parameters, sums, &mut after);
        Passed { before, after, messages, out }
    }

    /// Adds the gradients of the parameters, and gives those of the gates.
    pub(super) fn backward(
        &self,
        parameters: &[f64],
        passed: &Passed,
        gates: &[f64],
        grad_out: &[f64],
        grads: &mut [f64],
    ) -> Vec<f64> {
        let (d, m, q) = (self.n_variables, self.before.n_out(), self.embeddings.cols);
        let grad_sums = self.after.backward(parameters, &passed.after, grad_out, grads);
        let mut grad_gates = vec![0.0; gates.len()];
        let mut grad_messages = vec![0.0; passed.messages.len()];
        let width = self.n_times * d * m;
        for (window, grad_sums) in grad_sums.chunks_exact(d * (m + q)).enumerate() {
            let messages = &passed.messages[window * width..(window + 1) * width];
            let grad_messages = &mut grad_messages[window * width..(window + 1) * width];
            for (effect, grad) in grad_sums.chunks_exact(m + q).enumerate() {
                let senders = messages.chunks_exact(m).zip(grad_messages.chunks_exact_mut(m));
                for (sender, (message, grad_message)) in senders.enumerate() {
                    let place = sender * d + effect;
                    grad_gates[place] += message.iter().zip(grad).map(|(a, b)| a * b).sum::<f64>();
                    let gate = gates[place];
                    if gate != 0.0 {
                        grad_message
                            .iter_mut()
                            .zip(grad)
                            .for_each(|(out, value)| *out += gate * value);
                    }
                }
                self.add_to_embedding(effect, &grad[m..], grads);
            }
        }
        let grad_inputs = self.before.backward(parameters, &passed.before, &grad_messages, grads);
        for (row, grad) in grad_inputs.chunks_exact(d + q).enumerate() {
            let node = row % (self.n_times * d) + self.shift * d;
            self.add_to_embedding(node, &grad[d..], grads);
        }
        grad_gates
    }

    /// Adds to the gradient of the embedding of a node, counted over times and variables.
    fn add_to_embedding(&self, node: usize, grad: &[f64], grads: &mut [f64]) {
        let q = self.embeddings.cols;
        let own = &mut self.embeddings.of_mut(grads)[node * q..(node + 1) * q];
        own.iter_mut().zip(grad).for_each(|(out, value)| *out += value);
    }
}

/// Sizes of one message passing.
pub(super) struct Sizes<'a> {
    pub(super) embedding: usize,
    pub(super) hidden: &'a [Vec<usize>; 2],
    pub(super) message: usize,
    pub(super) out: usize,
    pub(super) n_times: usize,
    pub(super) shift: usize,
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

    /// Loss of windows `[window, time, variable]` under a sampled graph, with all gradients.
    pub(super) fn pass(
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
        let passed = self.mean.forward(parameters, windows, n_rows, &gates);
        let means: Vec<f64> = (0..n_windows * d).map(|idx| passed.out[idx * d + idx % d]).collect();
        let errors: Vec<f64> = (0..n_windows * d)
            .map(|idx| windows[(idx / d + 1) * n_rows * d - d + idx % d] - means[idx])
            .collect();
        let noise =
            self.noise.pass(parameters, Errors { windows, errors: &errors }, sample, &mut grads);
        let mut grad_out = vec![0.0; passed.out.len()];
        for (idx, grad) in noise.grad_errors.iter().enumerate() {
            grad_out[idx * d + idx % d] = -grad;
        }
        let grad_gates = self.mean.backward(parameters, &passed, &gates, &grad_out, &mut grads);
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
