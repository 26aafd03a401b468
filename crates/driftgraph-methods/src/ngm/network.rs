//! The drift as one small network per variable, and its solution by Runge and Kutta's method with exact gradients.

use driftgraph_core::layers::{Linear, ParameterTable};

/// dx_e/dt = w_e · elu(W_e x + b_e) + c_e, for each variable e with units of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Network {
    pub(super) n_variables: usize,
    pub(super) n_hidden: usize,
    /// From all variables to the hidden units of all; unit u of variable e is row e x n_hidden + u.
    pub(super) inner: Linear,
    /// Weights `[variable, unit]` and offsets of the second layers.
    pub(super) outer: Linear,
}

/// States at the rows of a batch of windows.
pub(super) struct Batch {
    pub(super) n_windows: usize,
    /// `[window, interval]`, lengths of time.
    pub(super) intervals: Vec<f64>,
    /// `[time, window, variable]`, `NaN` where nothing was observed; the first time is complete.
    pub(super) observed: Vec<f64>,
}

impl Batch {
    fn n_intervals(&self) -> usize {
        self.intervals.len() / self.n_windows
    }
}

/// What a pass over a batch gives.
pub(super) struct Pass {
    /// Mean squared error over all observed cells, those of the first time among them.
    pub(super) loss: f64,
    /// `[time, window, variable]`.
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    pub(super) path: Vec<f64>,
}

impl Network {
    /// Adds the parameters of all networks to a table.
    pub(super) fn new(table: &mut ParameterTable, n_variables: usize, n_hidden: usize) -> Self {
        Self {
            n_variables,
            n_hidden,
            inner: Linear::new(table, "inner", n_variables, n_variables * n_hidden),
            outer: Linear::new(table, "outer", n_hidden, n_variables),
        }
    }

    /// The drift at states `[row, variable]`; `hidden` gets the outputs of the hidden units.
    pub(super) fn drift(
        &self,
        parameters: &[f64],
        states: &[f64],
        hidden: &mut [f64],
        out: &mut [f64],
    ) {
        self.inner.forward(parameters, states, hidden);
        hidden.iter_mut().filter(|unit| **unit <= 0.0).for_each(|unit| *unit = unit.exp_m1());
        let (weights, offsets) = (self.outer.weight.of(parameters), self.outer.bias.of(parameters));
        let rows = hidden
            .chunks_exact(self.n_variables * self.n_hidden)
            .zip(out.chunks_exact_mut(self.n_variables));
        for (hidden, out) in rows {
            let units = hidden.chunks_exact(self.n_hidden).zip(weights.chunks_exact(self.n_hidden));
            for ((out, offset), (units, weights)) in out.iter_mut().zip(offsets).zip(units) {
                *out = offset
                    + units.iter().zip(weights).map(|(unit, weight)| unit * weight).sum::<f64>();
            }
        }
    }

    /// Adds the gradients of parameters and states, given those of the drift; `hidden` becomes those of the sums.
    fn drift_backward(
        &self,
        at: Point<'_>,
        grad_out: &[f64],
        hidden: &mut [f64],
        grads: &mut Gradients<'_>,
    ) {
        let weights = self.outer.weight.of(at.parameters);
        let (width, m) = (self.n_variables * self.n_hidden, self.n_hidden);
        for (hidden, grad_out) in
            hidden.chunks_exact_mut(width).zip(grad_out.chunks_exact(self.n_variables))
        {
            let grad_offsets = self.outer.bias.of_mut(grads.parameters);
            grad_offsets.iter_mut().zip(grad_out).for_each(|(sum, grad)| *sum += grad);
            let grad_weights = self.outer.weight.of_mut(grads.parameters);
            for (variable, &grad) in grad_out.iter().enumerate() {
                for place in variable * m..(variable + 1) * m {
                    grad_weights[place] += grad * hidden[place];
                    // The slope of elu is 1, or 1 + elu where it is negative.
                    let slope = 1.0 + hidden[place].min(0.0);
                    hidden[place] = grad * weights[place] * slope;
                }
            }
        }
        self.inner.add_gradients(grads.parameters, at.states, hidden);
        self.inner.backward(at.parameters, hidden, grads.states);
    }

    /// Solves from the first rows of all windows; each interval is cut into `substeps`.
    pub(super) fn solve(&self, parameters: &[f64], batch: &Batch, substeps: usize) -> Trajectory {
        let width = batch.n_windows * self.n_variables;
        let mut trajectory =
            Trajectory { substeps, stages: Vec::new(), path: batch.observed[..width].to_vec() };
        let mut state = trajectory.path.clone();
        let mut hidden = vec![0.0; width * self.n_hidden];
        let mut slope = vec![0.0; width];
        for interval in 0..batch.n_intervals() {
            let lengths = self.lengths(batch, interval, substeps);
            for _ in 0..substeps {
                let mut next = state.clone();
                let mut stage = state.clone();
                for (share, ahead) in
                    [(1.0 / 6.0, 0.5), (1.0 / 3.0, 0.5), (1.0 / 3.0, 1.0), (1.0 / 6.0, 0.0)]
                {
                    self.drift(parameters, &stage, &mut hidden, &mut slope);
                    trajectory.stages.push(stage.clone());
                    for idx in 0..width {
                        next[idx] += share * lengths[idx] * slope[idx];
                        stage[idx] = state[idx] + ahead * lengths[idx] * slope[idx];
                    }
                }
                state = next;
            }
            trajectory.path.extend_from_slice(&state);
        }
        trajectory
    }

    /// Length of a substep for each window and variable.
    fn lengths(&self, batch: &Batch, interval: usize, substeps: usize) -> Vec<f64> {
        let n = batch.n_intervals();
        (0..batch.n_windows * self.n_variables)
            .map(|idx| batch.intervals[idx / self.n_variables * n + interval] / substeps as f64)
            .collect()
    }

    /// Loss and path of a batch; its gradient is added to `grads`.
    pub(super) fn loss(
        &self,
        parameters: &[f64],
        batch: &Batch,
        substeps: usize,
        grads: &mut [f64],
    ) -> Pass {
        let trajectory = self.solve(parameters, batch, substeps);
        let n_observed = batch.observed.iter().filter(|value| !value.is_nan()).count() as f64;
        let errors: Vec<f64> = (trajectory.path.iter().zip(&batch.observed))
            .map(|(found, seen)| if seen.is_nan() { 0.0 } else { found - seen })
            .collect();
        let loss = errors.iter().map(|error| error * error).sum::<f64>() / n_observed;
        let mut grad_path: Vec<f64> = errors.iter().map(|error| 2.0 * error / n_observed).collect();
        self.backward(
            parameters,
            batch,
            &trajectory,
            &mut Gradients { parameters: grads, states: &mut grad_path },
        );
        Pass { loss, path: trajectory.path }
    }

    /// Runs back along a path; `grads.states` are the gradients of the path's states.
    fn backward(
        &self,
        parameters: &[f64],
        batch: &Batch,
        trajectory: &Trajectory,
        grads: &mut Gradients<'_>,
    ) {
        let width = batch.n_windows * self.n_variables;
        let mut scratch = Scratch {
            hidden: vec![0.0; width * self.n_hidden],
            slope: vec![0.0; width],
            stage: vec![0.0; width],
        };
        let mut adjoint = vec![0.0; width];
        let mut stages = trajectory.stages.chunks_exact(4).rev();
        for interval in (0..batch.n_intervals()).rev() {
            let arriving = &grads.states[(interval + 1) * width..(interval + 2) * width];
            adjoint.iter_mut().zip(arriving).for_each(|(sum, grad)| *sum += grad);
            let lengths = self.lengths(batch, interval, trajectory.substeps);
            for stages in stages.by_ref().take(trajectory.substeps) {
                let mut into =
                    Gradients { parameters: &mut *grads.parameters, states: &mut adjoint };
                self.substep_backward(parameters, stages, &lengths, &mut into, &mut scratch);
            }
        }
    }

    fn substep_backward(
        &self,
        parameters: &[f64],
        stages: &[Vec<f64>],
        lengths: &[f64],
        grads: &mut Gradients<'_>,
        scratch: &mut Scratch,
    ) {
        let ahead = grads.states.to_vec();
        // What the stage after gives back to the slope before it.
        let mut from_next = vec![0.0; ahead.len()];
        for (number, (share, reach)) in
            [(1.0 / 6.0, 0.5), (1.0 / 3.0, 0.5), (1.0 / 3.0, 1.0), (1.0 / 6.0, 0.0)]
                .into_iter()
                .enumerate()
                .rev()
        {
            let grad_slope: Vec<f64> = (0..ahead.len())
                .map(|idx| lengths[idx] * (share * ahead[idx] + reach * from_next[idx]))
                .collect();
            self.drift(parameters, &stages[number], &mut scratch.hidden, &mut scratch.slope);
            let at = Point { parameters, states: &stages[number] };
            let mut into =
                Gradients { parameters: &mut *grads.parameters, states: &mut scratch.stage };
            self.drift_backward(at, &grad_slope, &mut scratch.hidden, &mut into);
            grads.states.iter_mut().zip(&scratch.stage).for_each(|(sum, grad)| *sum += grad);
            from_next.copy_from_slice(&scratch.stage);
        }
    }

    /// Norms of the weights from each cause to each effect, `[effect, cause]`.
    pub(super) fn group_norms(&self, parameters: &[f64]) -> Vec<f64> {
        let weights = self.inner.weight.of(parameters);
        let (n, m) = (self.n_variables, self.n_hidden);
        let norm = |idx: usize| {
            let (effect, cause) = (idx / n, idx % n);
            let group = (effect * m..(effect + 1) * m).map(|row| weights[row * n + cause]);
            group.map(|weight| weight * weight).sum::<f64>().sqrt()
        };
        (0..n * n).map(norm).collect()
    }

    /// Shrinks each group of weights towards zero: w ← w max(1 - eta lambda / |w|, 0).
    pub(super) fn shrink(&self, parameters: &mut [f64], lambda: &[f64], eta: f64) {
        let norms = self.group_norms(parameters);
        let (n, m) = (self.n_variables, self.n_hidden);
        let weights = self.inner.weight.of_mut(parameters);
        for (idx, (norm, lambda)) in norms.iter().zip(lambda).enumerate() {
            let (effect, cause) = (idx / n, idx % n);
            // An infinite penalty times zero is no number, and still no weight.
            let kept = norm - lambda * eta;
            let factor = if kept > 0.0 && *norm > 0.0 { kept / norm } else { 0.0 };
            for row in effect * m..(effect + 1) * m {
                weights[row * n + cause] *= factor;
            }
        }
    }
}

/// Where a drift was computed.
#[derive(Clone, Copy)]
struct Point<'a> {
    parameters: &'a [f64],
    states: &'a [f64],
}

/// Where gradients go.
struct Gradients<'a> {
    parameters: &'a mut [f64],
    states: &'a mut [f64],
}

/// Buffers of a run backwards.
struct Scratch {
    hidden: Vec<f64>,
    slope: Vec<f64>,
    stage: Vec<f64>,
}

/// A solution with the states at which the drift was computed.
pub(super) struct Trajectory {
    substeps: usize,
    /// Four per substep.
    stages: Vec<Vec<f64>>,
    /// `[time, window, variable]`.
    pub(super) path: Vec<f64>,
}
