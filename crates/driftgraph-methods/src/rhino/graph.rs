//! The distribution of graphs: three choices for each pair within a row, two for each pair at each lag.

use driftgraph_core::layers::{Init, ParameterTable, Slot};

/// Logits of the graph among the parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct GraphLaw {
    pub(super) n_variables: usize,
    pub(super) lags: usize,
    /// Whether there are edges within a row.
    pub(super) within: bool,
    /// `[choice, pair]`: from the later to the earlier variable, the other way round, none.
    pair_logits: Slot,
    /// `[choice, (lag, cause, effect)]`: none, edge.
    lag_logits: Slot,
    temperature: f64,
}

/// A sampled graph, with what its gradient needs.
pub(super) struct Sample {
    /// `[lag, cause, effect]`, lag 0 within a row.
    pub(super) edges: Vec<f64>,
    /// Relaxed choices, `[pair, choice]` and `[(lag, cause, effect), choice]`.
    pairs: Vec<[f64; 3]>,
    lagged: Vec<[f64; 2]>,
}

impl GraphLaw {
    /// Adds the logits to the table.
    pub(super) fn new(
        table: &mut ParameterTable,
        [n_variables, lags]: [usize; 2],
        within: bool,
    ) -> Self {
        let n_pairs = n_variables * (n_variables - 1) / 2;
        let n_lagged = lags * n_variables * n_variables;
        // A table has no empty parameters: one variable alone has a pair that nobody uses.
        let pair_logits = table.add("var_dist_A.logits", [3, n_pairs.max(1)], Init::Constant(0.0));
        let lag_logits = table.add("var_dist_A.logits_lag", [2, n_lagged], Init::Constant(0.0));
        Self { n_variables, lags, within, pair_logits, lag_logits, temperature: 0.25 }
    }

    /// Sets the first logits of "no edge".
    pub(super) fn set_none(&self, parameters: &mut [f64], value: f64) {
        let pairs = self.pair_logits.of_mut(parameters);
        let n_pairs = pairs.len() / 3;
        pairs[2 * n_pairs..].fill(value);
        let lagged = self.lag_logits.of_mut(parameters);
        let half = lagged.len() / 2;
        lagged[..half].fill(value);
    }

    /// Numbers of Gumbel's law that a sample needs: for pairs, and for lags.
    pub(super) fn n_gumbels(&self) -> [usize; 2] {
        [self.pair_logits.len(), self.lag_logits.len()]
    }

    fn pair_choices(&self, parameters: &[f64], pair: usize) -> [f64; 3] {
        let logits = self.pair_logits.of(parameters);
        std::array::from_fn(|choice| logits[choice * (logits.len() / 3) + pair])
    }

    fn lag_choices(&self, parameters: &[f64], place: usize) -> [f64; 2] {
        let logits = self.lag_logits.of(parameters);
        [logits[place], logits[logits.len() / 2 + place]]
    }

    /// Pairs of a later and an earlier variable, in their order.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        (0..self.n_variables).flat_map(|later| (0..later).map(move |earlier| (later, earlier)))
    }

    /// The largest of logits plus noise is chosen; gradients are those of its softmax.
    pub(super) fn sample(
        &self,
        parameters: &[f64],
        pair_noise: &[f64],
        lag_noise: &[f64],
    ) -> Sample {
        let (n, square) = (self.n_variables, self.n_variables * self.n_variables);
        let mut edges = vec![0.0; (self.lags + 1) * square];
        let (mut pairs, mut lagged) = (Vec::new(), Vec::new());
        for (pair, (later, earlier)) in self.pairs().enumerate() {
            let logits = self.pair_choices(parameters, pair);
            let noisy: [f64; 3] = std::array::from_fn(|choice| {
                logits[choice] + pair_noise[choice * (pair_noise.len() / 3) + pair]
            });
            match largest(&noisy) {
                0 if self.within => edges[later * n + earlier] = 1.0,
                1 if self.within => edges[earlier * n + later] = 1.0,
                _ => {}
            }
            pairs.push(softmax(&noisy.map(|value| value / self.temperature)));
        }
        for place in 0..self.lags * square {
            let logits = self.lag_choices(parameters, place);
            let noisy =
                [logits[0] + lag_noise[place], logits[1] + lag_noise[lag_noise.len() / 2 + place]];
            edges[square + place] = f64::from(u8::from(largest(&noisy) == 1));
            lagged.push(softmax(&noisy.map(|value| value / self.temperature)));
        }
        Sample { edges, pairs, lagged }
    }

    /// Adds the gradients of the logits, given those of the edges.
    pub(super) fn backward(&self, sample: &Sample, grad_edges: &[f64], grads: &mut [f64]) {
        let (n, square) = (self.n_variables, self.n_variables * self.n_variables);
        if self.within {
            let out = self.pair_logits.of_mut(grads);
            let n_pairs = out.len() / 3;
            for (pair, (later, earlier)) in self.pairs().enumerate() {
                let by_choice =
                    [grad_edges[later * n + earlier], grad_edges[earlier * n + later], 0.0];
                let grad = softmax_backward(&sample.pairs[pair], &by_choice);
                (0..3).for_each(|choice| {
                    out[choice * n_pairs + pair] += grad[choice] / self.temperature;
                });
            }
        }
        let out = self.lag_logits.of_mut(grads);
        let half = out.len() / 2;
        for (place, soft) in sample.lagged.iter().enumerate() {
            let grad = softmax_backward(soft, &[0.0, grad_edges[square + place]]);
            out[place] += grad[0] / self.temperature;
            out[half + place] += grad[1] / self.temperature;
        }
    }

    /// Entropy of all choices; `weight` times its gradient is added.
    pub(super) fn entropy(&self, parameters: &[f64], weight: f64, grads: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        let n_pairs = self.pair_logits.len() / 3;
        for pair in 0..self.pairs().count() {
            let shares = softmax(&self.pair_choices(parameters, pair));
            let own = entropy(&shares);
            sum += own;
            let out = self.pair_logits.of_mut(grads);
            (0..3).for_each(|c| {
                out[c * n_pairs + pair] -= weight * shares[c] * (shares[c].ln() + own);
            });
        }
        let half = self.lag_logits.len() / 2;
        for place in 0..half {
            let shares = softmax(&self.lag_choices(parameters, place));
            let own = entropy(&shares);
            sum += own;
            let out = self.lag_logits.of_mut(grads);
            (0..2)
                .for_each(|c| out[c * half + place] -= weight * shares[c] * (shares[c].ln() + own));
        }
        sum
    }

    /// Probability of each edge, `[lag, cause, effect]`.
    pub(super) fn probabilities(&self, parameters: &[f64]) -> Vec<f64> {
        let (n, square) = (self.n_variables, self.n_variables * self.n_variables);
        let mut found = vec![0.0; (self.lags + 1) * square];
        if self.within {
            for (pair, (later, earlier)) in self.pairs().enumerate() {
                let shares = softmax(&self.pair_choices(parameters, pair));
                found[later * n + earlier] = shares[0];
                found[earlier * n + later] = shares[1];
            }
        }
        for place in 0..self.lags * square {
            found[square + place] = softmax(&self.lag_choices(parameters, place))[1];
        }
        found
    }
}

fn largest<const N: usize>(values: &[f64; N]) -> usize {
    (1..N).fold(0, |best, idx| if values[idx] > values[best] { idx } else { best })
}

fn softmax<const N: usize>(values: &[f64; N]) -> [f64; N] {
    let largest = values[largest(values)];
    let powers = values.map(|value| (value - largest).exp());
    let sum: f64 = powers.iter().sum();
    powers.map(|power| (power / sum).max(f64::MIN_POSITIVE))
}

fn softmax_backward<const N: usize>(shares: &[f64; N], grads: &[f64; N]) -> [f64; N] {
    let mean: f64 = shares.iter().zip(grads).map(|(share, grad)| share * grad).sum();
    std::array::from_fn(|idx| shares[idx] * (grads[idx] - mean))
}

fn entropy<const N: usize>(shares: &[f64; N]) -> f64 {
    -shares.iter().map(|share| share * share.ln()).sum::<f64>()
}

/// tr exp(A) - D for edges within a row, 0 without cycles; and its gradient, exp(A) transposed.
pub(super) fn cyclicity(edges: &[f64], n: usize) -> (f64, Vec<f64>) {
    // exp(A) = exp(A / 2^k)^(2^k), the inner one by its series.
    let norm =
        (0..n).map(|row| edges[row * n..(row + 1) * n].iter().sum::<f64>()).fold(0.0, f64::max);
    let halvings = (norm.max(1.0).log2().ceil() as i32 + 1).max(0);
    let scale = 0.5_f64.powi(halvings);
    let scaled: Vec<f64> = edges[..n * n].iter().map(|edge| edge * scale).collect();
    let mut sum: Vec<f64> = (0..n * n).map(|idx| f64::from(u8::from(idx / n == idx % n))).collect();
    let mut term = sum.clone();
    for order in 1..=18 {
        term = product(&term, &scaled, n).iter().map(|value| value / f64::from(order)).collect();
        sum.iter_mut().zip(&term).for_each(|(sum, term)| *sum += term);
    }
    for _ in 0..halvings {
        sum = product(&sum, &sum, n);
    }
    let trace: f64 = (0..n).map(|idx| sum[idx * n + idx]).sum();
    let gradient = (0..n * n).map(|idx| sum[idx % n * n + idx / n]).collect();
    (trace - n as f64, gradient)
}

fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for i in 0..n {
        for k in 0..n {
            let factor = a[i * n + k];
            if factor != 0.0 {
                (0..n).for_each(|j| out[i * n + j] += factor * b[k * n + j]);
            }
        }
    }
    out
}
