//! The gated recurrent unit, run backwards over rows of several series at once.

use super::parameters::{Init, ParameterTable, Slot, WithGradient};
use crate::numeric::kernels::{
    View, add_column_sums, add_product, fill_rows, transpose, vectorised,
};
use crate::numeric::real::Real;

/// A one-layer GRU with PyTorch's gates: reset, update, new.
///
/// Cho et al. (2014), arXiv:1406.1078; the reset gate acts after the product, as in cuDNN:
/// new = tanh(W_in x + b_in + reset (W_hn h + b_hn)), h' = (1 - update) new + update h.
#[derive(Debug, Clone, Copy)]
pub struct Gru {
    weight_in: Slot,
    weight_hidden: Slot,
    bias_in: Slot,
    bias_hidden: Slot,
}

/// What `backward` needs from `forward`: rows `[row, gate x hidden]` and `[row, hidden]`.
#[derive(Debug, Clone, Default)]
pub struct GruTrace<R> {
    /// Reset, update and new gate, after their activations.
    gates: Vec<R>,
    /// W_h h + b_h of the three gates; later the adjoints of the same.
    hidden_part: Vec<R>,
    /// The state before each row.
    previous: Vec<R>,
    /// The state after each row.
    pub states: Vec<R>,
    /// Adjoints of [`states`](Self::states): the caller fills them before `backward`.
    pub grad_states: Vec<R>,
}

impl<R: Real> GruTrace<R> {
    /// Makes room for `n_rows` rows; keeps what it has when that is enough.
    pub fn resize(&mut self, gru: &Gru, n_rows: usize) {
        let hidden = gru.n_hidden();
        for (buffer, width) in [
            (&mut self.gates, 3 * hidden),
            (&mut self.hidden_part, 3 * hidden),
            (&mut self.previous, hidden),
            (&mut self.states, hidden),
            (&mut self.grad_states, hidden),
        ] {
            if buffer.len() < n_rows * width {
                buffer.resize(n_rows * width, R::ZERO);
            }
        }
    }
}

/// Rows of a reversed sequence: `starts[i]` is the first row of time i, and the series of a later
/// time are the first ones of every earlier time.
pub type RowStarts<'a> = &'a [usize];

impl Gru {
    /// Adds the four parameters of `name` to the table, under PyTorch's names.
    pub fn new(table: &mut ParameterTable, name: &str, n_in: usize, n_hidden: usize) -> Self {
        let init = Init::of_fan_in(n_hidden);
        Self {
            weight_in: table.add(format!("{name}.weight_ih_l0"), [3 * n_hidden, n_in], init),
            weight_hidden: table.add(
                format!("{name}.weight_hh_l0"),
                [3 * n_hidden, n_hidden],
                init,
            ),
            bias_in: table.add(format!("{name}.bias_ih_l0"), [1, 3 * n_hidden], init),
            bias_hidden: table.add(format!("{name}.bias_hh_l0"), [1, 3 * n_hidden], init),
        }
    }

    /// Size of the state.
    pub fn n_hidden(&self) -> usize {
        self.weight_hidden.cols
    }

    /// Number of inputs.
    pub fn n_in(&self) -> usize {
        self.weight_in.cols
    }

    /// The hidden state's weight, transposed: every time step multiplies by it.
    pub fn prepare<R: Real>(&self, parameters: &[R], hidden_weight: &mut Vec<R>) {
        hidden_weight.resize(self.weight_hidden.len(), R::ZERO);
        let weight = self.weight_hidden.of(parameters);
        transpose(hidden_weight, weight, 3 * self.n_hidden(), self.n_hidden());
    }

    /// Fills `trace.states` from the last time to the first; `input` is `[row, in]`.
    pub fn forward<R: Real>(
        &self,
        parameters: &[R],
        hidden_weight: &[R],
        input: &[R],
        starts: RowStarts<'_>,
        trace: &mut GruTrace<R>,
    ) {
        let (h, n_times) = (self.n_hidden(), starts.len() - 1);
        let n_rows = starts[n_times];
        let gates = &mut trace.gates[..n_rows * 3 * h];
        fill_rows(gates, self.bias_in.of(parameters));
        let input = View::new(input, n_rows, self.n_in());
        let weight_in = View::new(self.weight_in.of(parameters), 3 * h, self.n_in());
        add_product(gates, 3 * h, input, weight_in.t());
        let weight_hidden = View::new(hidden_weight, h, 3 * h);
        for time in (0..n_times).rev() {
            let (start, end) = (starts[time], starts[time + 1]);
            let n_later = starts.get(time + 2).map_or(0, |later_end| later_end - end);
            trace.previous[start * h..end * h].fill(R::ZERO);
            trace.previous[start * h..(start + n_later) * h]
                .copy_from_slice(&trace.states[end * h..(end + n_later) * h]);
            let part = &mut trace.hidden_part[3 * h * start..3 * h * end];
            fill_rows(part, self.bias_hidden.of(parameters));
            let previous = &trace.previous[start * h..end * h];
            add_product(part, 3 * h, View::new(previous, end - start, h), weight_hidden);
            let gates = &mut trace.gates[3 * h * start..3 * h * end];
            step(gates, part, previous, &mut trace.states[start * h..end * h], h);
        }
    }

    /// Adds the gradients of all parameters, given `trace.grad_states`, which it overwrites.
    pub fn backward<R: Real>(
        &self,
        WithGradient { parameters, grads }: WithGradient<'_, R>,
        input: &[R],
        starts: RowStarts<'_>,
        trace: &mut GruTrace<R>,
    ) {
        let (h, n_times) = (self.n_hidden(), starts.len() - 1);
        let n_rows = starts[n_times];
        let weight_hidden = View::new(self.weight_hidden.of(parameters), 3 * h, h);
        for time in 0..n_times {
            let (start, end) = (starts[time], starts[time + 1]);
            let n_later = starts.get(time + 2).map_or(0, |later_end| later_end - end);
            let (now, later) = trace.grad_states.split_at_mut(end * h);
            let now = &mut now[start * h..];
            step_backward(
                &mut trace.gates[3 * h * start..3 * h * end],
                &mut trace.hidden_part[3 * h * start..3 * h * end],
                &trace.previous[start * h..end * h],
                now,
                h,
            );
            let adjoints = &trace.hidden_part[3 * h * start..];
            for (later, now) in later.iter_mut().zip(&now[..n_later * h]) {
                *later += *now;
            }
            add_product(later, h, View::new(adjoints, n_later, 3 * h), weight_hidden);
        }
        let grad_gates = &trace.gates[..n_rows * 3 * h];
        let grad_hidden = &trace.hidden_part[..n_rows * 3 * h];
        let adjoints = View::new(grad_gates, n_rows, 3 * h).t();
        let input = View::new(input, n_rows, self.n_in());
        add_product(self.weight_in.of_mut(grads), self.n_in(), adjoints, input);
        let adjoints = View::new(grad_hidden, n_rows, 3 * h).t();
        let previous = View::new(&trace.previous, n_rows, h);
        add_product(self.weight_hidden.of_mut(grads), h, adjoints, previous);
        add_column_sums(self.bias_in.of_mut(grads), grad_gates);
        add_column_sums(self.bias_hidden.of_mut(grads), grad_hidden);
    }
}

/// Turns the gates' arguments into gates, and the previous states into the next.
///
/// One short loop per gate: a loop over all slices at once would not vectorise.
fn step<R: Real>(gates: &mut [R], part: &[R], previous: &[R], states: &mut [R], h: usize) {
    vectorised(
        #[inline(always)]
        || {
            let rows = gates.chunks_exact_mut(3 * h).zip(part.chunks_exact(3 * h));
            let states = previous.chunks_exact(h).zip(states.chunks_exact_mut(h));
            for ((gates, part), (previous, state)) in rows.zip(states) {
                let (switches, new) = gates.split_at_mut(2 * h);
                for (switch, &part) in switches.iter_mut().zip(part) {
                    *switch = (*switch + part).sigmoid();
                }
                let (reset, update) = switches.split_at(h);
                for (new, (&reset, &part)) in new.iter_mut().zip(reset.iter().zip(&part[2 * h..])) {
                    *new = (*new + reset * part).tanh();
                }
                let inputs = update.iter().zip(new.iter()).zip(previous);
                for (state, ((&update, &new), &previous)) in state.iter_mut().zip(inputs) {
                    *state = (R::ONE - update) * new + update * previous;
                }
            }
        },
    );
}

/// Turns gates into adjoints of their arguments, `part` into the adjoints of the hidden part, and
/// the adjoints of the states into those of the previous states (without the hidden part).
fn step_backward<R: Real>(
    gates: &mut [R],
    part: &mut [R],
    previous: &[R],
    grad_states: &mut [R],
    h: usize,
) {
    vectorised(
        #[inline(always)]
        || {
            let rows = gates.chunks_exact_mut(3 * h).zip(part.chunks_exact_mut(3 * h));
            let states = previous.chunks_exact(h).zip(grad_states.chunks_exact_mut(h));
            for ((gates, part), (previous, grad)) in rows.zip(states) {
                let (switches, new) = gates.split_at_mut(2 * h);
                let (reset, update) = switches.split_at(h);
                let (grad_switches, new_part) = part.split_at_mut(2 * h);
                let (grad_reset, grad_update) = grad_switches.split_at_mut(h);
                let states = grad.iter().zip(previous).zip(new.iter().zip(update));
                for (out, ((&grad, &previous), (&new, &update))) in
                    grad_update.iter_mut().zip(states)
                {
                    *out = grad * (previous - new) * update * (R::ONE - update);
                }
                for (new, (&grad, &update)) in new.iter_mut().zip(grad.iter().zip(update)) {
                    *new = grad * (R::ONE - update) * (R::ONE - *new * *new);
                }
                let inputs = new.iter().zip(new_part.iter()).zip(reset);
                for (out, ((&grad_new, &part), &reset)) in grad_reset.iter_mut().zip(inputs) {
                    *out = grad_new * part * reset * (R::ONE - reset);
                }
                for (part, (&grad_new, &reset)) in new_part.iter_mut().zip(new.iter().zip(reset)) {
                    *part = grad_new * reset;
                }
                for (grad, &update) in grad.iter_mut().zip(update) {
                    *grad *= update;
                }
                switches.copy_from_slice(grad_switches);
            }
        },
    );
}
