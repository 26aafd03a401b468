//! One mean path for all series, as the solution of an ordinary differential equation.
//!
//! What methods learn that describe a stochastic system by a neural ODE: dz = f(z) dt, with f chosen so that z is close to
//! the data in least squares over all series. Where paths part by chance, their mean says nothing about the
//! dynamics; the paper's bimodal example shows it.

use driftgraph_core::layers::{Linear, ParameterTable, initial_values, leaky, leaky_slope};
use driftgraph_core::train::adam::{Adam, AdamState};
use driftgraph_core::{SeriesSet, TimeGrid};

use crate::BaselineError;

/// How the equation is learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OdeMeanSettings {
    /// Units of the hidden layer.
    pub hidden_size: usize,
    /// Steps of Adam.
    pub steps: usize,
    /// Its learning rate.
    pub learning_rate: f64,
    /// Longest step of Euler's method, in the unit of the times.
    pub step_size: f64,
    /// Decides the initial weights.
    pub seed: u64,
}

/// A learned equation with its path.
#[derive(Debug, Clone)]
pub struct OdeMean {
    net: Net,
    parameters: Vec<f64>,
    /// Where the path starts: the mean of all rows of the first time.
    start: Vec<f64>,
    step_size: f64,
}

/// f(z) = W2 leaky(W1 z + b1) + b2.
#[derive(Debug, Clone, Copy)]
struct Net {
    inner: Linear,
    outer: Linear,
    n_parameters: usize,
}

/// What is left of the data in least squares: at each time, the mean over series and how many values it has.
struct Means {
    times: Vec<f64>,
    /// `[time, variable]`; 0 where nothing was observed.
    means: Vec<f64>,
    counts: Vec<f64>,
}

/// States `[step, variable]` and hidden sums `[step, unit]` along a path.
struct Trace {
    states: Vec<f64>,
    hidden: Vec<f64>,
}

impl OdeMean {
    /// Learns f by gradients through Euler's method.
    ///
    /// All series share one path, which starts at the first time of the data.
    pub fn fit(data: &SeriesSet, settings: &OdeMeanSettings) -> Result<Self, BaselineError> {
        let means = Means::new(data);
        let grid = TimeGrid::new(&means.times, settings.step_size);
        let grid = grid.map_err(|_| BaselineError::TimesTooUneven)?;
        let n = data.n_variables();
        let mut table = ParameterTable::default();
        let net = Net::new(&mut table, n, settings.hidden_size);
        let mut parameters: Vec<f64> = initial_values(&table, settings.seed);
        let mut adam = AdamState::new(parameters.len());
        for _ in 0..settings.steps {
            let gradient = net.loss_gradient(&parameters, &means, &grid).1;
            Adam::default().step(settings.learning_rate, &gradient, &mut adam, &mut parameters);
        }
        let start = means.means[..n].to_vec();
        Ok(Self { net, parameters, start, step_size: settings.step_size })
    }

    /// The learned f at a state.
    pub fn drift(&self, state: &[f64], out: &mut [f64]) {
        let mut hidden = vec![0.0; self.net.inner.n_out()];
        self.net.drift(&self.parameters, state, &mut hidden, out);
    }

    /// The path `[time, variable]` at increasing times, from its start at the first of them.
    pub fn path(&self, times: &[f64]) -> Result<Vec<f64>, BaselineError> {
        let grid = TimeGrid::new(times, self.step_size);
        let grid = grid.map_err(|_| BaselineError::TimesTooUneven)?;
        let n = self.start.len();
        let states = self.net.trace(&self.parameters, &self.start, &grid).states;
        let row = |&idx: &usize| states[idx * n..(idx + 1) * n].to_vec();
        Ok(grid.observation_idx().iter().flat_map(row).collect())
    }
}

impl Means {
    fn new(data: &SeriesSet) -> Self {
        let n = data.n_variables();
        let mut times: Vec<f64> =
            data.series().iter().flat_map(|series| series.times().iter().copied()).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let (mut means, mut counts) = (vec![0.0; times.len() * n], vec![0.0; times.len() * n]);
        for series in data.series() {
            for (time, row) in series.times().iter().zip(series.values().chunks(n)) {
                let place = times.partition_point(|known| known < time) * n;
                for (variable, value) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                    means[place + variable] += value;
                    counts[place + variable] += 1.0;
                }
            }
        }
        for (mean, count) in means.iter_mut().zip(&counts).filter(|(_, count)| **count > 0.0) {
            *mean /= count;
        }
        Self { times, means, counts }
    }
}

impl Net {
    fn new(table: &mut ParameterTable, n: usize, hidden_size: usize) -> Self {
        let inner = Linear::new(table, "inner", n, hidden_size);
        let outer = Linear::new(table, "outer", hidden_size, n);
        Self { inner, outer, n_parameters: table.len() }
    }

    /// Writes f and the sums of the hidden units.
    fn drift(&self, parameters: &[f64], state: &[f64], hidden: &mut [f64], out: &mut [f64]) {
        self.inner.forward(parameters, state, hidden);
        let active: Vec<f64> = hidden.iter().copied().map(leaky).collect();
        self.outer.forward(parameters, &active, out);
    }

    /// Euler's method from a state over all steps of a grid.
    fn trace(&self, parameters: &[f64], start: &[f64], grid: &TimeGrid) -> Trace {
        let (n, width) = (start.len(), self.inner.n_out());
        let mut states = vec![0.0; (grid.n_steps() + 1) * n];
        states[..n].copy_from_slice(start);
        let mut hidden = vec![0.0; grid.n_steps() * width];
        let mut drift = vec![0.0; n];
        for step in 0..grid.n_steps() {
            let dt = grid.step(step);
            let (known, next) = states.split_at_mut((step + 1) * n);
            let state = &known[step * n..];
            self.drift(parameters, state, &mut hidden[step * width..][..width], &mut drift);
            for (next, (state, drift)) in next.iter_mut().zip(state.iter().zip(&drift)) {
                *next = state + dt * drift;
            }
        }
        Trace { states, hidden }
    }

    /// Mean squared distance from the data, up to their own spread around their means, and its gradient.
    fn loss_gradient(&self, parameters: &[f64], means: &Means, grid: &TimeGrid) -> (f64, Vec<f64>) {
        let (n, width) = (self.inner.n_in(), self.inner.n_out());
        let Trace { states, hidden } = self.trace(parameters, &means.means[..n], grid);
        let total: f64 = means.counts.iter().sum();
        let mut loss = 0.0;
        // What the loss asks of each state directly.
        let mut adjoints = vec![0.0; states.len()];
        for (row, &idx) in grid.observation_idx().iter().enumerate() {
            for variable in 0..n {
                let weight = means.counts[row * n + variable] / total;
                let gap = states[idx * n + variable] - means.means[row * n + variable];
                loss += weight * gap * gap;
                adjoints[idx * n + variable] += 2.0 * weight * gap;
            }
        }
        let mut gradient = vec![0.0; self.n_parameters];
        let (mut active, mut pull) = (vec![0.0; width], vec![0.0; width]);
        for step in (0..grid.n_steps()).rev() {
            let dt = grid.step(step);
            let (before, after) = adjoints.split_at_mut((step + 1) * n);
            let outgoing: Vec<f64> = after[..n].iter().map(|adjoint| dt * adjoint).collect();
            let sums = &hidden[step * width..][..width];
            active.iter_mut().zip(sums).for_each(|(out, &sum)| *out = leaky(sum));
            self.outer.add_gradients(&mut gradient, &active, &outgoing);
            self.outer.backward(parameters, &outgoing, &mut pull);
            pull.iter_mut()
                .zip(sums)
                .for_each(|(pull, &sum)| *pull *= leaky_slope::<f64>(sum > 0.0));
            self.inner.add_gradients(&mut gradient, &states[step * n..][..n], &pull);
            let own = &mut before[step * n..];
            self.inner.backward_add(parameters, &pull, own);
            own.iter_mut().zip(&after[..n]).for_each(|(own, next)| *own += next);
        }
        (loss, gradient)
    }
}

#[cfg(test)]
mod tests {
    use driftgraph_core::ObservedSeries;

    use super::*;

    const SETTINGS: OdeMeanSettings = OdeMeanSettings {
        hidden_size: 8,
        steps: 1500,
        learning_rate: 0.01,
        step_size: 0.05,
        seed: 1,
    };

    /// Series that all follow the same functions of time, with a hole.
    fn decay() -> SeriesSet {
        let times: Vec<f64> = (0..21).map(|idx| 0.1 * f64::from(idx)).collect();
        let mut values: Vec<f64> =
            times.iter().flat_map(|time| [(-time).exp(), 0.5 * (1.0 - (-time).exp())]).collect();
        values[7] = f64::NAN;
        let series =
            |name: &str| ObservedSeries::new(name, 2, times.clone(), values.clone()).unwrap();
        SeriesSet::new(vec!["a".into(), "b".into()], vec![series("1"), series("2")]).unwrap()
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let means = Means::new(&decay());
        let grid = TimeGrid::new(&means.times, 0.05).unwrap();
        let mut table = ParameterTable::default();
        let net = Net::new(&mut table, 2, 5);
        let parameters: Vec<f64> = initial_values(&table, 3);
        let (_, gradient) = net.loss_gradient(&parameters, &means, &grid);
        for idx in 0..parameters.len() {
            let loss = |change: f64| {
                let mut moved = parameters.clone();
                moved[idx] += change;
                net.loss_gradient(&moved, &means, &grid).0
            };
            let difference = (loss(1e-6) - loss(-1e-6)) / 2e-6;
            // Rounding of the loss over twice the step.
            assert!((difference - gradient[idx]).abs() < 1e-8, "{idx}");
        }
    }

    #[test]
    fn a_path_without_chance_is_followed() {
        let data = decay();
        let ode = OdeMean::fit(&data, &SETTINGS).unwrap();
        let path = ode.path(data.series()[0].times()).unwrap();
        let worst = path
            .iter()
            .zip(data.series()[0].values())
            .filter(|(_, value)| !value.is_nan())
            .map(|(path, value)| (path - value).abs())
            .fold(0.0, f64::max);
        // Values of up to 1, followed by a net of 8 units.
        assert!(worst < 0.02, "{worst}");
    }
}
