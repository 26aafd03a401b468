//! Lorenz-63: three variables of atmospheric convection, the first known chaotic flow.

use driftgraph_core::SignatureGraph;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::random::RandomStream;

use crate::registry::{Entry, Parameter};
use crate::{System, UsualTimes};

/// The three equations of Lorenz (1963), doi:10.1175/1520-0469(1963)020<0130:DNF>2.0.CO;2.
///
/// `dx = prandtl (y - x) dt`, `dy = (x (rayleigh - z) - y) dt`, `dz = (x y - decay z) dt`, each
/// with `noise dW`.
#[derive(Debug, Clone)]
pub struct Lorenz63 {
    prandtl: f64,
    rayleigh: f64,
    decay: f64,
    noise: f64,
}

// Ranges stay away from zero, where edges of the true graph would vanish.
pub(crate) static ENTRY: Entry = Entry {
    name: "lorenz63",
    about: "three variables of convection, chaotic at the default parameters",
    parameters: &[
        Parameter::real("prandtl", 10.0, [0.1, 100.0], "rate at which x follows y"),
        Parameter::real("rayleigh", 28.0, [0.1, 100.0], "heating that drives y"),
        Parameter::real("decay", 8.0 / 3.0, [0.1, 100.0], "rate at which z fades"),
        Parameter::real("noise", 1.0, [0.0, 100.0], "diffusion of every variable"),
    ],
    build: |values, _| {
        Ok(Box::new(Lorenz63 {
            prandtl: values.real("prandtl"),
            rayleigh: values.real("rayleigh"),
            decay: values.real("decay"),
            noise: values.real("noise"),
        }))
    },
};

impl DiagonalSde for Lorenz63 {
    fn n_variables(&self) -> usize {
        3
    }

    fn drift(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        let (x, y, z) = (state[0], state[1], state[2]);
        out[0] = self.prandtl * (y - x);
        out[1] = x * (self.rayleigh - z) - y;
        out[2] = x * y - self.decay * z;
    }

    fn diffusion(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(self.noise);
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

impl System for Lorenz63 {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn variables(&self) -> Vec<String> {
        ["x", "y", "z"].map(String::from).to_vec()
    }

    fn true_graph(&self) -> SignatureGraph {
        let mut graph = SignatureGraph::empty(3);
        for (source, target) in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2)] {
            graph.set_edge(source, target, true);
        }
        graph
    }

    /// Normal around the middle of the attractor, (0, 0, 25), with deviation 5.
    fn initial_state(&self, random: &mut RandomStream, out: &mut [f64]) {
        random.fill_normal(out);
        for (value, centre) in out.iter_mut().zip([0.0, 0.0, 25.0]) {
            *value = centre + 5.0 * *value;
        }
    }

    fn usual_times(&self) -> UsualTimes {
        UsualTimes { start: 0.0, end: 10.0, n_points: 201, step_size: 0.001 }
    }
}
