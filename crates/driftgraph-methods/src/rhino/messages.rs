//! Messages from nodes through the graph to nodes: one network before it, one after it.
//!
//! Numbers come in and go out in double precision; between, everything is in the precision of `R`.

use driftgraph_core::layers::{
    Init, Linear, ParameterTable, Real, Slot, View, add_product, vectorised,
};

use super::model::Shape;
use super::net::{Net, NetSizes, Trace, has_shortcut, leaky, times_slopes};

/// Both networks, with the embeddings of their nodes.
#[derive(Debug, Clone)]
pub(super) struct MessagePassing {
    n_variables: usize,
    /// `[time, variable, entry]`, the oldest time first.
    embeddings: Slot,
    before: Net,
    after: Net,
    /// Times whose nodes send messages, and how far their embeddings are shifted.
    n_times: usize,
    shift: usize,
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

/// What the way back needs.
pub(super) struct Passed<R> {
    /// All parameters.
    parameters: Vec<R>,
    /// Values of the senders, `[window, sender]`.
    values: Vec<R>,
    /// Arguments of the first units of both networks.
    first_sums: [Vec<R>; 2],
    before: Trace<R>,
    after: Trace<R>,
    /// `[window, sender, entry]`.
    messages: Vec<R>,
    /// What reaches each node, `[window, variable, entry]`.
    arrived: Vec<R>,
    gates: Vec<R>,
    /// `[window, variable, out]`.
    pub(super) out: Vec<f64>,
}

/// How windows lie in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows<'a> {
    /// `[window, time, variable]`.
    pub(super) values: &'a [f64],
    /// Times of a window.
    pub(super) n_rows: usize,
}

fn cast<R: Real>(values: &[f64]) -> Vec<R> {
    values.iter().map(|&value| R::from_f64(value)).collect()
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
        let before = NetSizes { n_in: d + q, hidden: &sizes.hidden[0], n_out: sizes.message };
        let after =
            NetSizes { n_in: sizes.message + q, hidden: &sizes.hidden[1], n_out: sizes.out };
        Self {
            n_variables: d,
            embeddings,
            before: Net::new(table, &format!("{name}.g"), before),
            after: Net::new(table, &format!("{name}.f"), after),
            n_times: sizes.n_times,
            shift: sizes.shift,
        }
    }

    fn n_senders(&self) -> usize {
        self.n_times * self.n_variables
    }

    /// Numbers that a pass keeps for each window, those on its way back among them.
    pub(super) fn floats_per_window(&self) -> usize {
        let (message, out) = (self.before.n_out(), self.after.n_out());
        // Messages and what arrives with their adjoints; outputs in double precision too, and their adjoints.
        self.n_senders() * (self.before.floats_per_row() + 2 * message)
            + self.n_variables * (self.after.floats_per_row() + 2 * message + 6 * out)
    }

    /// Embeddings of nodes, counted over times and variables.
    fn embeddings_of<'a, R>(&self, parameters: &'a [R], nodes: std::ops::Range<usize>) -> &'a [R] {
        let q = self.embeddings.cols;
        &self.embeddings.of(parameters)[nodes.start * q..nodes.end * q]
    }

    fn senders(&self) -> std::ops::Range<usize> {
        let first = self.shift * self.n_variables;
        first..first + self.n_senders()
    }

    /// Outputs of windows; `gates` are `[time, cause, effect]`.
    pub(super) fn forward<R: Real>(
        &self,
        parameters: &[f64],
        windows: Windows<'_>,
        gates: &[f64],
    ) -> Passed<R> {
        let (d, m) = (self.n_variables, self.before.n_out());
        let parameters: Vec<R> = cast(parameters);
        let gates: Vec<R> = cast(gates);
        let rows = windows.values.chunks_exact(windows.n_rows * d);
        let values: Vec<R> = rows.flat_map(|row| cast::<R>(&row[..self.n_senders()])).collect();
        let n_windows = values.len() / self.n_senders();
        let (first, before_sums) = self.first_of_senders(&parameters, &values);
        let mut before = Trace::default();
        let messages = self.before.forward(&parameters, first, &mut before);
        let mut arrived = vec![R::ZERO; n_windows * d * m];
        let pairs =
            arrived.chunks_exact_mut(d * m).zip(messages.chunks_exact(self.n_senders() * m));
        for (arrived, messages) in pairs {
            let gates = View::new(&gates, self.n_senders(), d).t();
            add_product(arrived, m, gates, View::new(messages, self.n_senders(), m));
        }
        let (first, after_sums) = self.first_of_receivers(&parameters, &arrived);
        let mut after = Trace::default();
        let out = self.after.forward(&parameters, first, &mut after);
        let out = out.into_iter().map(Real::to_f64).collect();
        let first_sums = [before_sums, after_sums];
        Passed { parameters, values, first_sums, before, after, messages, arrived, gates, out }
    }

    /// First units and their arguments: a sender's input is its value in its own place, and its embedding.
    fn first_of_senders<R: Real>(&self, parameters: &[R], values: &[R]) -> (Vec<R>, Vec<R>) {
        let (layer, d) = (&self.before.first, self.n_variables);
        let (width, n_in) = (layer.n_out(), layer.n_in());
        let embeddings = self.embeddings_of(parameters, self.senders());
        let fixed = fixed_part(layer, parameters, embeddings, d);
        let weight = layer.weight.of(parameters);
        let columns: Vec<R> =
            (0..d * width).map(|idx| weight[idx % width * n_in + idx / width]).collect();
        let mut sums = vec![R::ZERO; values.len() * width];
        vectorised(
            #[inline(always)]
            || {
                let rows = sums.chunks_exact_mut(width).zip(values).enumerate();
                for (row, (sums, &value)) in rows {
                    let sender = row % self.n_senders();
                    let (fixed, column) =
                        (&fixed[sender * width..], &columns[sender % d * width..]);
                    for ((sum, &fixed), &weight) in sums.iter_mut().zip(fixed).zip(column) {
                        *sum = fixed + value * weight;
                    }
                }
            },
        );
        let mut units = units_of(&sums);
        if has_shortcut(layer) {
            let q = self.embeddings.cols;
            for (row, (units, &value)) in units.chunks_exact_mut(width).zip(values).enumerate() {
                let sender = row % self.n_senders();
                units[sender % d] += value;
                let own = &embeddings[sender * q..(sender + 1) * q];
                units[d..].iter_mut().zip(own).for_each(|(unit, &entry)| *unit += entry);
            }
        }
        (units, sums)
    }

    /// First units and their arguments: what arrives at a node, and the node's embedding at the oldest time.
    fn first_of_receivers<R: Real>(&self, parameters: &[R], arrived: &[R]) -> (Vec<R>, Vec<R>) {
        let (layer, d, m) = (&self.after.first, self.n_variables, self.before.n_out());
        let (width, n_in) = (layer.n_out(), layer.n_in());
        let embeddings = self.embeddings_of(parameters, 0..d);
        let fixed = fixed_part(layer, parameters, embeddings, m);
        let n_rows = arrived.len() / m;
        let mut sums = Vec::with_capacity(n_rows * width);
        (0..n_rows / d).for_each(|_| sums.extend_from_slice(&fixed));
        let weight = View::strided(layer.weight.of(parameters), [width, m], n_in).t();
        add_product(&mut sums, width, View::new(arrived, n_rows, m), weight);
        let mut units = units_of(&sums);
        if has_shortcut(layer) {
            let q = self.embeddings.cols;
            let rows = units.chunks_exact_mut(width).zip(arrived.chunks_exact(m)).enumerate();
            for (row, (units, arrived)) in rows {
                let own = &embeddings[row % d * q..(row % d + 1) * q];
                let input = arrived.iter().chain(own);
                units.iter_mut().zip(input).for_each(|(unit, &entry)| *unit += entry);
            }
        }
        (units, sums)
    }

    /// Adds the gradients of the parameters, and gives those of the gates.
    pub(super) fn backward<R: Real>(
        &self,
        passed: &Passed<R>,
        grad_out: &[f64],
        grads: &mut [f64],
    ) -> Vec<f64> {
        let (d, m) = (self.n_variables, self.before.n_out());
        let mut own = vec![R::ZERO; grads.len()];
        let grad_out: Vec<R> = cast(grad_out);
        let grad_units =
            self.after.backward(&passed.parameters, &passed.after, &grad_out, &mut own);
        let grad_arrived = self.back_to_arrived(passed, grad_units, &mut own);
        let mut grad_gates = vec![R::ZERO; passed.gates.len()];
        let mut grad_messages = vec![R::ZERO; passed.messages.len()];
        let width = self.n_senders() * m;
        let windows =
            grad_messages.chunks_exact_mut(width).zip(passed.messages.chunks_exact(width));
        for ((grad_messages, messages), grad) in windows.zip(grad_arrived.chunks_exact(d * m)) {
            let grad = View::new(grad, d, m);
            let gates = View::new(&passed.gates, self.n_senders(), d);
            add_product(grad_messages, m, gates, grad);
            add_product(&mut grad_gates, d, View::new(messages, self.n_senders(), m), grad.t());
        }
        let grad_units =
            self.before.backward(&passed.parameters, &passed.before, &grad_messages, &mut own);
        self.back_to_senders(passed, grad_units, &mut own);
        grads.iter_mut().zip(&own).for_each(|(grad, own)| *grad += own.to_f64());
        grad_gates.into_iter().map(Real::to_f64).collect()
    }

    /// Back through the first layer after the graph.
    fn back_to_arrived<R: Real>(
        &self,
        passed: &Passed<R>,
        grad_units: Vec<R>,
        grads: &mut [R],
    ) -> Vec<R> {
        let (layer, d, m) = (&self.after.first, self.n_variables, self.before.n_out());
        let (width, n_in) = (layer.n_out(), layer.n_in());
        let n_rows = passed.arrived.len() / m;
        let mut grad_arrived = vec![R::ZERO; passed.arrived.len()];
        if has_shortcut(layer) {
            let rows = grad_arrived.chunks_exact_mut(m).zip(grad_units.chunks_exact(width));
            for (row, (arrived, grad)) in rows.enumerate() {
                arrived.copy_from_slice(&grad[..m]);
                self.add_to_embedding(row % d, &grad[m..], grads);
            }
        }
        let mut grad_sums = grad_units;
        times_slopes(&mut grad_sums, &passed.first_sums[1]);
        let view = View::new(&grad_sums, n_rows, width);
        let weight = View::strided(layer.weight.of(&passed.parameters), [width, m], n_in);
        add_product(&mut grad_arrived, m, view, weight);
        let arrived = View::new(&passed.arrived, n_rows, m);
        add_product(layer.weight.of_mut(grads), n_in, view.t(), arrived);
        self.back_to_nodes(passed, layer, Nodes { first: 0, n: d, place: m }, &grad_sums, grads);
        grad_arrived
    }

    /// Back through the first layer before the graph.
    fn back_to_senders<R: Real>(&self, passed: &Passed<R>, grad_units: Vec<R>, grads: &mut [R]) {
        let (layer, d, n) = (&self.before.first, self.n_variables, self.n_senders());
        let (width, n_in) = (layer.n_out(), layer.n_in());
        let first = self.senders().start;
        if has_shortcut(layer) {
            for (row, grad) in grad_units.chunks_exact(width).enumerate() {
                self.add_to_embedding(first + row % n, &grad[d..], grads);
            }
        }
        let mut grad_sums = grad_units;
        times_slopes(&mut grad_sums, &passed.first_sums[0]);
        let mut by_column = vec![R::ZERO; d * width];
        vectorised(
            #[inline(always)]
            || {
                let rows = grad_sums.chunks_exact(width).zip(&passed.values).enumerate();
                for (row, (grad, &value)) in rows {
                    let column = &mut by_column[row % n % d * width..][..width];
                    column.iter_mut().zip(grad).for_each(|(sum, &grad)| *sum += value * grad);
                }
            },
        );
        let weight = layer.weight.of_mut(grads);
        for (idx, &grad) in by_column.iter().enumerate() {
            weight[idx % width * n_in + idx / width] += grad;
        }
        self.back_to_nodes(passed, layer, Nodes { first, n, place: d }, &grad_sums, grads);
    }

    /// Gradients of bias, of the weights from embeddings, and of the embeddings, which all windows share.
    fn back_to_nodes<R: Real>(
        &self,
        passed: &Passed<R>,
        layer: &Linear,
        nodes: Nodes,
        grad_sums: &[R],
        grads: &mut [R],
    ) {
        let (width, n_in, q) = (layer.n_out(), layer.n_in(), self.embeddings.cols);
        let mut by_node = vec![R::ZERO; nodes.n * width];
        vectorised(
            #[inline(always)]
            || {
                for window in grad_sums.chunks_exact(nodes.n * width) {
                    by_node.iter_mut().zip(window).for_each(|(sum, &grad)| *sum += grad);
                }
            },
        );
        for node in by_node.chunks_exact(width) {
            let bias = layer.bias.of_mut(grads).iter_mut();
            bias.zip(node).for_each(|(sum, &grad)| *sum += grad);
        }
        let view = View::new(&by_node, nodes.n, width);
        let range = nodes.first..nodes.first + nodes.n;
        let embeddings = View::new(self.embeddings_of(&passed.parameters, range), nodes.n, q);
        let weight_grads = &mut layer.weight.of_mut(grads)[nodes.place..];
        add_product(weight_grads, n_in, view.t(), embeddings);
        let weight = &layer.weight.of(&passed.parameters)[nodes.place..];
        let weight = View::strided(weight, [width, q], n_in);
        let own = &mut self.embeddings.of_mut(grads)[nodes.first * q..];
        add_product(own, q, view, weight);
    }

    /// Adds to the gradient of the embedding of a node, counted over times and variables.
    fn add_to_embedding<R: Real>(&self, node: usize, grad: &[R], grads: &mut [R]) {
        let q = self.embeddings.cols;
        let own = &mut self.embeddings.of_mut(grads)[node * q..(node + 1) * q];
        own.iter_mut().zip(grad).for_each(|(out, &value)| *out += value);
    }
}

/// Some nodes, and where their embeddings begin among the inputs of a layer.
#[derive(Debug, Clone, Copy)]
struct Nodes {
    first: usize,
    n: usize,
    place: usize,
}

/// What bias and embeddings give to the arguments of a layer's units, `[node, unit]`.
fn fixed_part<R: Real>(layer: &Linear, parameters: &[R], embeddings: &[R], place: usize) -> Vec<R> {
    let (width, n_in) = (layer.n_out(), layer.n_in());
    let q = n_in - place;
    let n_nodes = embeddings.len() / q;
    let mut fixed = Vec::with_capacity(n_nodes * width);
    (0..n_nodes).for_each(|_| fixed.extend_from_slice(layer.bias.of(parameters)));
    let weight = View::strided(&layer.weight.of(parameters)[place..], [width, q], n_in).t();
    add_product(&mut fixed, width, View::new(embeddings, n_nodes, q), weight);
    fixed
}

fn units_of<R: Real>(sums: &[R]) -> Vec<R> {
    let mut units = sums.to_vec();
    vectorised(
        #[inline(always)]
        || units.iter_mut().for_each(|unit| *unit = leaky(*unit)),
    );
    units
}
