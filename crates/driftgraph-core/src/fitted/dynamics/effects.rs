//! Mean partial derivatives of drift and noise over visited states.

use super::net::{BlockNet, NetBuffers, Strengths};
use super::{DiffusionForm, Dynamics};
use crate::fitted::edges::MeanEffects;
use crate::numeric::real::Real;

/// Half the distance of the states whose difference is taken, in deviations: node functions are
/// piecewise linear in single precision, so that it must not be tiny.
const REACH: f64 = 0.05;

impl Dynamics {
    /// Units of a variable's drift: user units per increment scale, and the user's time per unit.
    pub(in crate::fitted) fn drift_unit(&self, variable: usize) -> (f64, f64) {
        (self.units[variable], self.time_unit)
    }

    /// Mean effects within a step given their edges, in the user's units, `[source, target]`.
    pub(in crate::fitted) fn instant_effects(&self) -> Option<Vec<f64>> {
        let gates = self.instant.as_ref()?;
        let effect = |(idx, (mean, _)): (usize, &(f64, f64))| {
            mean * self.units[idx % self.n] / self.units[idx / self.n]
        };
        Some(gates.effects.iter().enumerate().map(effect).collect())
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
        let mut noise = self.diffusion_net.as_ref().map(|_| vec![0.0; n * n]);
        for source in 0..n {
            let mut graph = self.lagged.probabilities.clone();
            graph[source * n..(source + 1) * n].fill(1.0);
            if let Some(net) = &self.drift_net {
                let slopes = slopes(net, &graph, states, source);
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
            if let Some((net, noise)) = self.diffusion_net.as_ref().zip(noise.as_mut()) {
                let logs = self.log_diffusion_slopes(net, &graph, states, source);
                for target in 0..n {
                    let sum: f64 = logs.iter().skip(target).step_by(n).sum();
                    noise[source * n + target] = sum / n_states;
                }
            }
        }
        MeanEffects { drift, noise, signs }
    }

    fn log_diffusion_slopes(
        &self,
        net: &BlockNet,
        graph: &[f64],
        states: &[f64],
        source: usize,
    ) -> Vec<f64> {
        let [below, above] = outputs_around(net, graph, states, source);
        let log = |output: f64| match &self.diffusion {
            DiffusionForm::Exponential(_) => output,
            DiffusionForm::Activated(process) => {
                let mut one = [output];
                process.activate_diffusion(&mut one);
                one[0].max(f64::MIN_POSITIVE).ln()
            }
        };
        (below.iter().zip(&above)).map(|(&a, &b)| (log(b) - log(a)) / (2.0 * REACH)).collect()
    }
}

/// d output / d z_source at every state, `[state, variable]`.
fn slopes(net: &BlockNet, graph: &[f64], states: &[f64], source: usize) -> Vec<f64> {
    let [below, above] = outputs_around(net, graph, states, source);
    below.iter().zip(&above).map(|(a, b)| (b - a) / (2.0 * REACH)).collect()
}

fn outputs_around(net: &BlockNet, graph: &[f64], states: &[f64], source: usize) -> [Vec<f64>; 2] {
    let mut strengths = Vec::new();
    net.push_strengths(graph, &mut strengths);
    let n = graph.len().isqrt();
    let strengths = Strengths::new(strengths, n);
    [-REACH, REACH].map(|shift| {
        let mut moved = states.to_vec();
        moved.iter_mut().skip(source).step_by(n).for_each(|value| *value += shift);
        let mut buffers = NetBuffers::default();
        net.run_layers(&strengths, &moved, &mut buffers);
        buffers.outputs().iter().map(|&output| output.to_f64()).collect()
    })
}
