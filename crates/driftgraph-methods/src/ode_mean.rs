//! One mean path for all series, as the solution of an ordinary differential equation.
//!
//! What methods learn that describe a stochastic system by a neural ODE: dz = f(z) dt, with f chosen so that z is close to
//! the data in least squares over all series. Where paths part by chance, their mean says nothing about the
//! dynamics; the paper's bimodal example shows it.

use driftgraph_core::layers::{Linear, ParameterTable, initial_values, leaky, leaky_slope};
use driftgraph_core::train::adam::{Adam, AdamState};
use driftgraph_core::train::progress::Progress;
use driftgraph_core::{ObservedSeries, SeriesSet, Standardizer, TimeGrid};

use driftgraph_core::fitted::edges::{LearnedEdge, Sign};
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::train::settings::{Range, Setting};

use crate::FitPlan;
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Takes};
use crate::settings::row;

/// A neural ODE by least squares.
pub(crate) struct OdeMean;

#[rustfmt::skip]
const SETTINGS: [Setting; 5] = [
    row("hidden_size", "32", Range::Number { min: 1.0, max: 65536.0, above: false }, "units of the hidden layer"),
    row("steps", "2000", Range::Number { min: 1.0, max: 1e9, above: false }, "steps of Adam"),
    row("learning_rate", "0.01", Range::Number { min: 0.0, max: 1.0, above: true }, "its learning rate"),
    row("step_size", "0.1", Range::Number { min: 0.0, max: f64::MAX, above: true }, "longest step of Euler's method, in the unit of the times"),
    row("seed", "0", Range::Any, "decides the initial weights"),
];

impl Method for OdeMean {
    fn name(&self) -> &'static str {
        "ode-mean"
    }

    fn description(&self) -> &'static str {
        "a neural ODE for the mean path of all series: mean derivatives of its drift, as methods without noise learn them"
    }

    fn settings(&self) -> Vec<Setting> {
        SETTINGS.to_vec()
    }

    fn takes(&self) -> Takes {
        let several_series = Handling::Instead("learns one path for all series, their mean");
        Takes { several_series, prior_edges: false, ..Takes::ALL }
    }

    fn is_fast(&self) -> bool {
        false
    }

    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        let OdeMeanSettings { hidden_size, step_size, .. } = plan.typed().ok()?;
        let (n, n_rows) = (data.n_variables(), data.n_rows());
        let times = || data.series().iter().flat_map(ObservedSeries::times);
        let span = times().copied().fold(f64::NEG_INFINITY, f64::max)
            - times().copied().fold(f64::INFINITY, f64::min);
        // Rows of series at the same times fall together; no more steps than this.
        let n_steps = n_rows.saturating_add((span / step_size) as usize);
        // The data, their means and counts; states, their adjoints and hidden sums of a path.
        let rows = n_rows.saturating_mul(3 * (n + 1));
        let path = n_steps.saturating_mul(2 * n + hidden_size);
        // Parameters, their gradient and two moments.
        let weights = 4 * (2 * n * hidden_size + n + hidden_size);
        Some((8 * rows.saturating_add(path).saturating_add(weights).min(usize::MAX / 8)) as u64)
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let equation = MeanEquation::fit(task.data, &task.plan.typed()?, task.progress)?;
        let edges = equation.edges(task.data);
        Ok(Learned { process: Some(Box::new(equation)), ..Learned::edges(edges) })
    }
}

/// How the equation is learned.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
struct OdeMeanSettings {
    /// Units of the hidden layer.
    hidden_size: usize,
    /// Steps of Adam.
    steps: usize,
    /// Its learning rate.
    learning_rate: f64,
    /// Longest step of Euler's method, in the unit of the times.
    step_size: f64,
    /// Decides the initial weights.
    seed: u64,
}

/// A learned equation with its path.
#[derive(Debug, Clone)]
struct MeanEquation {
    net: Net,
    parameters: Vec<f64>,
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

impl MeanEquation {
    /// Learns f by gradients through Euler's method.
    ///
    /// All series share one path, which starts at the first time of the data.
    fn fit(
        data: &SeriesSet,
        settings: &OdeMeanSettings,
        progress: &dyn Progress,
    ) -> Result<Self, MethodError> {
        let means = Means::new(data);
        let grid = TimeGrid::new(&means.times, settings.step_size);
        let grid = grid.map_err(|_| MethodError::TimesTooUneven)?;
        let n = data.n_variables();
        let mut table = ParameterTable::default();
        let net = Net::new(&mut table, n, settings.hidden_size);
        let mut parameters: Vec<f64> = initial_values(&table, settings.seed);
        let mut adam = AdamState::new(parameters.len());
        for _ in 0..settings.steps {
            if progress.is_interrupted() {
                return Err(MethodError::Stopped);
            }
            let gradient = net.loss_gradient(&parameters, &means, &grid).1;
            Adam::default().step(settings.learning_rate, &gradient, &mut adam, &mut parameters);
        }
        Ok(Self { net, parameters })
    }

    /// The learned f at a state.
    fn at(&self, state: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; state.len()];
        self.drift(0.0, state, &mut out);
        out
    }

    /// Mean derivatives of f over the complete rows of the data.
    fn edges(&self, data: &SeriesSet) -> Vec<LearnedEdge> {
        let n = data.n_variables();
        let rows = data.series().iter().flat_map(|series| series.values().chunks(n));
        let rows: Vec<&[f64]> = rows.filter(|row| row.iter().all(|x| !x.is_nan())).collect();
        let scales = Standardizer::fit(data).scales().to_vec();
        let mut edges: Vec<LearnedEdge> = Vec::new();
        for source in 0..n {
            let mut mean = vec![0.0; n];
            for row in &rows {
                let moved = |by: f64| {
                    let mut state = row.to_vec();
                    state[source] += by * scales[source];
                    self.at(&state)
                };
                let (up, down) = (moved(DIFFERENCE), moved(-DIFFERENCE));
                for (mean, (up, down)) in mean.iter_mut().zip(up.iter().zip(&down)) {
                    *mean += (up - down) / (2.0 * DIFFERENCE * scales[source]) / rows.len() as f64;
                }
            }
            edges.extend(mean.iter().enumerate().map(|(target, &effect)| {
                let strength = effect * scales[source] / scales[target];
                LearnedEdge {
                    source,
                    target,
                    score: strength.abs(),
                    effect: Some(effect),
                    strength: Some(strength),
                    sign: Some(if effect < 0.0 { Sign::Negative } else { Sign::Positive }),
                    ..LearnedEdge::default()
                }
            }));
        }
        edges.sort_by(|a, b| b.score.total_cmp(&a.score));
        edges
    }
}

/// Step of the differences that stand for derivatives, in deviations.
const DIFFERENCE: f64 = 1e-4;

/// The equation has no noise.
impl DiagonalSde for MeanEquation {
    fn n_variables(&self) -> usize {
        self.net.inner.n_in()
    }

    fn drift(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        let mut hidden = vec![0.0; self.net.inner.n_out()];
        self.net.drift(&self.parameters, state, &mut hidden, out);
    }

    fn diffusion(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(0.0);
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
    use driftgraph_core::process::solver::{Scheme, integrate};
    use driftgraph_core::train::progress::Silent;

    use super::*;

    const CHOSEN: OdeMeanSettings = OdeMeanSettings {
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
        let equation = MeanEquation::fit(&data, &CHOSEN, &Silent).unwrap();
        let times = data.series()[0].times();
        let grid = TimeGrid::new(times, CHOSEN.step_size).unwrap();
        let no_noise = |_, _, dw: &mut [f64]| dw.fill(0.0);
        let start = &data.series()[0].values()[..2];
        let path = integrate(&equation, Scheme::EulerMaruyama, &grid, start, no_noise).unwrap();
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
