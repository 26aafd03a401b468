//! Mean partial derivatives of drift and noise over visited states.

use super::{DiffusionForm, Dynamics};
use crate::fitted::edges::MeanEffects;
use crate::numeric::linalg::{identity, log_det_and_inverse};
use crate::numeric::real::ln;
use crate::process::part::{AddsTo, Strengths};

/// Half the distance of the states whose difference is taken, in deviations: node functions are
/// piecewise linear in single precision, so that it must not be tiny.
const REACH: f64 = 0.05;
/// Probability from which on a source counts among those that drive a target.
const DRIVES: f64 = 0.5;

impl Dynamics {
    /// Units of a variable's drift: user units per increment scale, and the user's time per unit.
    pub(in crate::fitted) fn drift_unit(&self, variable: usize) -> (f64, f64) {
        (self.units[variable], self.time_unit)
    }

    /// Drift of a variable where all are at their means, of linear effects alone, in the user's units.
    pub(in crate::fitted) fn drift_at_means(&self, variable: usize) -> f64 {
        self.offsets[variable] * self.drift_units[variable]
    }

    /// Means and deviations of effects within a step given their edges, in the user's units.
    pub(in crate::fitted) fn instant_effects(&self) -> Option<Vec<(f64, f64)>> {
        let gates = self.instant.as_ref()?;
        let effect = |(idx, (mean, deviation)): (usize, &(f64, f64))| {
            let (source, target) = (self.units[idx / self.n], self.units[idx % self.n]);
            (mean * target / source, deviation * target / source)
        };
        Some(gates.effects.iter().enumerate().map(effect).collect())
    }

    /// What the effect of a target on its source within a step is multiplied by, `[source, target]`, to read
    /// the same link as an effect of the source on the target.
    ///
    /// Increments d with d (I - B) normal have the precision P = (I - B) V⁻¹ (I - B)ᵀ, V the variances of the
    /// innovations. Given all others, the slope of i on j is -P_ij / P_ii and that of j on i -P_ij / P_jj:
    /// they differ by P_ii / P_jj alone.
    pub(in crate::fitted) fn turned_links(&self) -> Option<Vec<f64>> {
        let gates = self.instant.as_ref()?;
        let DiffusionForm::Exponential(deviations) = &self.diffusion else { return None };
        let n = self.n;
        let precision = |row: usize| {
            let entry = |column: usize| {
                let effect =
                    gates.probabilities[row * n + column] * gates.effects[row * n + column].0;
                f64::from(u8::from(row == column)) - effect
            };
            let sum =
                (0..n).map(|column| (entry(column) / deviations[column]).powi(2)).sum::<f64>();
            sum / self.units[row].powi(2)
        };
        let precisions: Vec<f64> = (0..n).map(precision).collect();
        Some((0..n * n).map(|idx| precisions[idx / n] / precisions[idx % n]).collect())
    }

    /// Derivatives by each source if all its edges existed, other edges at their probability.
    ///
    /// `span` is the length of all series in the model's units of time.
    pub(in crate::fitted) fn mean_effects(&self, states: &[f64], span: Option<f64>) -> MeanEffects {
        if let Some(terms) = &self.terms {
            return terms.mean_effects(states);
        }
        let n = self.n;
        let n_states = (states.len() / n) as f64;
        let linear = |idx: usize| self.lagged.effects.get(idx).map_or(0.0, |(mean, _)| *mean);
        let mut drift: Vec<f64> = (0..n * n).map(linear).collect();
        let mut signs: Vec<(f64, f64)> = (drift.iter())
            .map(|effect| (f64::from(u8::from(*effect > 0.0)), f64::from(u8::from(*effect < 0.0))))
            .collect();
        let mut noise = (!self.has_constant_diffusion()).then(|| vec![0.0; n * n]);
        for source in 0..n {
            let mut graph = self.lagged.probabilities.clone();
            graph[source * n..(source + 1) * n].fill(1.0);
            if self.parts.iter().any(|part| part.adds_to() == AddsTo::Drift) {
                let [below, above] = self.outputs_around(AddsTo::Drift, &graph, states, source);
                let slope = |(a, b): (&f64, &f64)| (b - a) / (2.0 * REACH);
                let slopes: Vec<f64> = below.iter().zip(&above).map(slope).collect();
                for target in 0..n {
                    let idx = source * n + target;
                    let own = linear(idx);
                    let cells = || slopes.iter().skip(target).step_by(n).map(|slope| slope + own);
                    drift[idx] = cells().sum::<f64>() / n_states;
                    let share = |wanted: fn(f64) -> bool| {
                        cells().filter(|slope| wanted(*slope)).count() as f64 / n_states
                    };
                    signs[idx] = (share(|slope| slope > 0.0), share(|slope| slope < 0.0));
                }
            }
            if let Some(noise) = &mut noise {
                let logs = self.log_diffusion_slopes(&graph, states, source);
                for target in 0..n {
                    let sum: f64 = logs.iter().skip(target).step_by(n).sum();
                    noise[source * n + target] = sum / n_states;
                }
            }
        }
        let deviations = match (self.lagged.effects.is_empty(), span) {
            (false, _) => self.lagged.effects.iter().map(|(_, deviation)| *deviation).collect(),
            (true, Some(span)) => self.shift_deviations(states, span),
            (true, None) => Vec::new(),
        };
        MeanEffects { drift, deviations, noise, signs }
    }

    /// Posterior deviations, `[source, target]`, of linear effects added to a drift that networks have learned.
    ///
    /// A process seen all along over the time T tells of effects a in dz = (f(z) + a z) dt + g dW as much as normal
    /// errors would: their precision is T C / g², with C the covariances of the sources that drive the target, and with a
    /// standard normal prior 1 more. Paths are taken as known, which rows apart in time or with noise make them only
    /// nearly.
    fn shift_deviations(&self, states: &[f64], span: f64) -> Vec<f64> {
        let n = self.n;
        let (covariances, variances) = (covariances(states, n), self.mean_variances(states));
        let mut deviations = vec![0.0; n * n];
        for target in 0..n {
            let precision = |a: usize, b: usize| {
                f64::from(u8::from(a == b)) + span * covariances[a * n + b] / variances[target]
            };
            let drives = |source: &usize| self.lagged.reported[source * n + target] >= DRIVES;
            let drivers: Vec<usize> = (0..n).filter(drives).collect();
            let m = drivers.len();
            let matrix: Vec<f64> =
                (0..m * m).map(|idx| precision(drivers[idx / m], drivers[idx % m])).collect();
            // Something that is not finite leaves nothing known but the prior.
            let inverse = log_det_and_inverse(&matrix, m).map_or(identity(m), |(_, found)| found);
            for source in 0..n {
                let variance = if let Ok(place) = drivers.binary_search(&source) {
                    inverse[place * m + place]
                } else {
                    let shared: Vec<f64> =
                        drivers.iter().map(|&driver| precision(driver, source)).collect();
                    1.0 / (precision(source, source) - form(&inverse, &shared)).max(1.0)
                };
                deviations[source * n + target] = variance.clamp(0.0, 1.0).sqrt();
            }
        }
        deviations
    }

    /// Mean squared diffusion of each variable over states, in the model's units.
    fn mean_variances(&self, states: &[f64]) -> Vec<f64> {
        let added = self.outputs_at(AddsTo::LogDiffusion, &self.lagged.probabilities, states);
        let mut diffusions = Vec::new();
        self.diffusions(&added, &mut diffusions);
        let n_states = (states.len() / self.n) as f64;
        let mean = |variable: usize| {
            let cells = diffusions.iter().skip(variable).step_by(self.n);
            let sum: f64 = cells.map(|g| (g / self.noise_units[variable]).powi(2)).sum();
            (sum / n_states).max(f64::MIN_POSITIVE)
        };
        (0..self.n).map(mean).collect()
    }

    fn log_diffusion_slopes(&self, graph: &[f64], states: &[f64], source: usize) -> Vec<f64> {
        let [below, above] = self.outputs_around(AddsTo::LogDiffusion, graph, states, source);
        let log = |output: f64| match &self.diffusion {
            DiffusionForm::Exponential(_) => output,
            DiffusionForm::Activated(process) => {
                let mut one = [output];
                process.activate_diffusion(&mut one);
                ln(one[0].max(f64::MIN_POSITIVE))
            }
        };
        (below.iter().zip(&above)).map(|(&a, &b)| (log(b) - log(a)) / (2.0 * REACH)).collect()
    }

    /// What the parts add to drift or diffusion with one variable a little below and above its states.
    fn outputs_around(
        &self,
        adds_to: AddsTo,
        graph: &[f64],
        states: &[f64],
        source: usize,
    ) -> [Vec<f64>; 2] {
        [-REACH, REACH].map(|shift| {
            let mut moved = states.to_vec();
            moved.iter_mut().skip(source).step_by(self.n).for_each(|value| *value += shift);
            self.outputs_at(adds_to, graph, &moved)
        })
    }

    /// What the parts add to drift or diffusion at states.
    fn outputs_at(&self, adds_to: AddsTo, graph: &[f64], states: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; states.len()];
        for part in self.parts.iter().filter(|part| part.adds_to() == adds_to) {
            let mut strengths = Vec::new();
            part.push_strengths(graph, &mut strengths);
            let strengths = Strengths::new(strengths, self.n);
            let mut worker = part.worker();
            let outputs = worker.run_for_derivatives(&strengths, states);
            for (sum, &output) in sums.iter_mut().zip(outputs) {
                *sum += f64::from(output);
            }
        }
        sums
    }
}

/// xᵀ A x.
fn form(matrix: &[f64], x: &[f64]) -> f64 {
    let rows = x.iter().zip(matrix.chunks_exact(x.len().max(1)));
    rows.map(|(x_row, row)| x_row * row.iter().zip(x).map(|(a, b)| a * b).sum::<f64>()).sum()
}

/// Covariances of variables over states.
fn covariances(states: &[f64], n: usize) -> Vec<f64> {
    let share = n as f64 / states.len() as f64;
    let means: Vec<f64> =
        (0..n).map(|idx| share * states.iter().skip(idx).step_by(n).sum::<f64>()).collect();
    let covariance = |idx: usize| {
        let (a, b) = (idx / n, idx % n);
        let rows = states.chunks_exact(n);
        share * rows.map(|row| (row[a] - means[a]) * (row[b] - means[b])).sum::<f64>()
    };
    (0..n * n).map(covariance).collect()
}
