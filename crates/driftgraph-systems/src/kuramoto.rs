//! Kuramoto: oscillators that pull each other's phase along random couplings.

use driftgraph_core::SignatureGraph;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::random::{Purpose, RandomStream};

use crate::couplings::Couplings;
use crate::registry::{Entry, Parameter};
use crate::system::{numbered, self_loops, uniform_between};
use crate::{System, UsualTimes};

/// `dθ_j = (frequency_j + sum_i weight_ij sin(θ_i - θ_j)) dt + noise dW_j`.
///
/// Kuramoto (1975), doi:10.1007/BFb0013365. The state is the phase itself, not wrapped to a circle:
/// it keeps growing with the oscillator's turns.
#[derive(Debug, Clone)]
pub struct Kuramoto {
    frequencies: Vec<f64>,
    couplings: Couplings,
    noise: f64,
}

pub(crate) static ENTRY: Entry = Entry {
    name: "kuramoto",
    about: "oscillators with random frequencies and sparse random couplings; phases not wrapped",
    parameters: &[
        Parameter::count("variables", 10, [2, 1000], "number of oscillators"),
        // Without parents a phase would not even depend on itself.
        Parameter::count("parents", 2, [1, 100], "oscillators that pull each oscillator"),
        Parameter::real("coupling", 2.0, [0.01, 100.0], "total pull on each oscillator"),
        Parameter::real("noise", 0.2, [0.0, 100.0], "diffusion of every phase"),
    ],
    build: |values, seed| {
        let n_variables = values.count("variables");
        let n_parents = values.count_up_to("parents", n_variables - 1)?;
        let weight = values.real("coupling") / n_parents as f64;
        let mut generator = RandomStream::new(seed, Purpose::System, 0);
        let mut frequencies = vec![0.0; n_variables];
        generator.fill_normal(&mut frequencies);
        let couplings = Couplings::random(n_variables, n_parents, &mut generator, |_| weight);
        Ok(Box::new(Kuramoto { frequencies, couplings, noise: values.real("noise") }))
    },
};

impl DiagonalSde for Kuramoto {
    fn n_variables(&self) -> usize {
        self.frequencies.len()
    }

    fn drift(&self, _time: f64, phases: &[f64], out: &mut [f64]) {
        for (target, drift) in out.iter_mut().enumerate() {
            let pull = |&(source, weight): &(usize, f64)| {
                let gap: f64 = phases[source] - phases[target];
                weight * gap.sin()
            };
            let pulls: f64 = self.couplings.sources_of(target).iter().map(pull).sum();
            *drift = self.frequencies[target] + pulls;
        }
    }

    fn diffusion(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(self.noise);
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

impl System for Kuramoto {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn variables(&self) -> Vec<String> {
        numbered("phase", self.n_variables())
    }

    /// The couplings, and all self-loops: the pull depends on the oscillator's own phase too.
    fn true_graph(&self) -> SignatureGraph {
        let mut graph = self_loops(self.n_variables());
        self.couplings.mark_edges(&mut graph);
        graph
    }

    /// Uniform on one turn.
    fn initial_state(&self, random: &mut RandomStream, out: &mut [f64]) {
        for phase in out {
            *phase = uniform_between(random, 0.0, std::f64::consts::TAU);
        }
    }

    fn usual_times(&self) -> UsualTimes {
        UsualTimes { start: 0.0, end: 10.0, n_points: 101, step_size: 0.01 }
    }
}

#[cfg(test)]
mod tests {
    use crate::registry::build;

    #[test]
    fn turning_all_phases_together_changes_no_drift() {
        let system = build("kuramoto", &[("variables", 5.0)], 3).unwrap();
        let phases = [0.1, 1.3, 2.9, 4.0, 6.1];
        let (mut here, mut turned) = ([0.0; 5], [0.0; 5]);
        system.drift(0.0, &phases, &mut here);
        system.drift(0.0, &phases.map(|phase| phase + 2.5), &mut turned);
        for (a, b) in here.iter().zip(turned) {
            // Differences of phases up to 9, rounded once each.
            assert!((a - b).abs() < 1e-14);
        }
    }
}
