//! Lorenz-96: a ring of variables, each driven by three neighbours and itself.

use driftgraph_core::SignatureGraph;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::random::RandomStream;

use crate::registry::{Entry, Parameter};
use crate::system::numbered;
use crate::{System, UsualTimes};

/// `dZ_d = ((Z_{d+1} - Z_{d-2}) Z_{d-1} - Z_d + forcing) dt + noise dW_d`, indices on a ring.
///
/// Lorenz (1996), "Predictability: a problem partly solved". The paper prints the forcing outside
/// of dt; here, as in the published code, it is part of the drift.
#[derive(Debug, Clone)]
pub struct Lorenz96 {
    n_variables: usize,
    forcing: f64,
    noise: f64,
}

pub(crate) static ENTRY: Entry = Entry {
    name: "lorenz96",
    about: "ring of variables with quadratic coupling, chaotic from a forcing of about 8",
    parameters: &[
        // With three variables d + 1 and d - 2 are the same and the coupling vanishes.
        Parameter::count("variables", 10, [4, 1000], "number of variables on the ring"),
        Parameter::real("forcing", 10.0, [-100.0, 100.0], "constant drift of every variable"),
        Parameter::real("noise", 0.5, [0.0, 100.0], "diffusion of every variable"),
    ],
    build: |values, _| {
        Ok(Box::new(Lorenz96 {
            n_variables: values.count("variables"),
            forcing: values.real("forcing"),
            noise: values.real("noise"),
        }))
    },
};

impl Lorenz96 {
    /// The variable `offset` places before `target` on the ring.
    fn before(&self, target: usize, offset: usize) -> usize {
        (target + self.n_variables - offset) % self.n_variables
    }
}

impl DiagonalSde for Lorenz96 {
    fn n_variables(&self) -> usize {
        self.n_variables
    }

    fn drift(&self, _time: f64, z: &[f64], out: &mut [f64]) {
        for (d, drift) in out.iter_mut().enumerate() {
            let (two_before, before) = (z[self.before(d, 2)], z[self.before(d, 1)]);
            let after = z[(d + 1) % self.n_variables];
            *drift = (after - two_before) * before - z[d] + self.forcing;
        }
    }

    fn diffusion(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(self.noise);
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

impl System for Lorenz96 {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn variables(&self) -> Vec<String> {
        numbered("x", self.n_variables)
    }

    fn true_graph(&self) -> SignatureGraph {
        let mut graph = SignatureGraph::empty(self.n_variables);
        for target in 0..self.n_variables {
            let after = (target + 1) % self.n_variables;
            for source in [self.before(target, 2), self.before(target, 1), target, after] {
                graph.set_edge(source, target, true);
            }
        }
        graph
    }

    /// Standard normal, as in the paper.
    fn initial_state(&self, random: &mut RandomStream, out: &mut [f64]) {
        random.fill_normal(out);
    }

    fn usual_times(&self) -> UsualTimes {
        UsualTimes { start: 0.0, end: 10.0, n_points: 101, step_size: 0.005 }
    }
}

#[cfg(test)]
mod tests {
    use crate::registry::build;

    #[test]
    fn ten_variables_have_forty_edges_from_two_before_to_one_after() {
        let graph = build("lorenz96", &[], 0).unwrap().true_graph();
        assert_eq!(graph.n_edges(), 40);
        let sources: Vec<_> = (0..10).filter(|&source| graph.has_edge(source, 0)).collect();
        assert_eq!(sources, [0, 1, 8, 9]);
    }

    #[test]
    fn drift_agrees_with_a_calculation_by_hand() {
        let system = build("lorenz96", &[("variables", 4.0), ("forcing", 8.0)], 0).unwrap();
        let mut drift = [0.0; 4];
        system.drift(0.0, &[1.0, 2.0, 3.0, 5.0], &mut drift);
        // (2 - 3) 5 - 1 + 8 = 2; (3 - 5) 1 - 2 + 8 = 4; (5 - 1) 2 - 3 + 8 = 13; (1 - 2) 3 - 5 + 8 = 0.
        assert_eq!(drift, [2.0, 4.0, 13.0, 0.0]);
    }
}
