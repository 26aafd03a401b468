//! Mean partial derivatives of drift and noise over visited states.

use super::{DiffusionForm, Dynamics};
use crate::fitted::edges::MeanEffects;
use crate::numeric::real::ln;
use crate::process::part::{AddsTo, Strengths};

/// Half the distance of the states whose difference is taken, in deviations: node functions are
/// piecewise linear in single precision, so that it must not be tiny.
const REACH: f64 = 0.05;

impl Dynamics {
    /// Units of a variable's drift: user units per increment scale, and the user's time per unit.
    pub(in crate::fitted) fn drift_unit(&self, variable: usize) -> (f64, f64) {
        (self.units[variable], self.time_unit)
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
    pub(in crate::fitted) fn mean_effects(&self, states: &[f64]) -> MeanEffects {
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
        let deviations = self.lagged.effects.iter().map(|(_, deviation)| *deviation).collect();
        MeanEffects { drift, deviations, noise, signs }
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
            let mut sums = vec![0.0; states.len()];
            for part in self.parts.iter().filter(|part| part.adds_to() == adds_to) {
                let mut strengths = Vec::new();
                part.push_strengths(graph, &mut strengths);
                let strengths = Strengths::new(strengths, self.n);
                let mut worker = part.worker();
                let outputs = worker.run_for_derivatives(&strengths, &moved);
                for (sum, &output) in sums.iter_mut().zip(outputs) {
                    *sum += f64::from(output);
                }
            }
            sums
        })
    }
}
