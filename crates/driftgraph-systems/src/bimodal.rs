//! One variable that runs away upwards or downwards, by chance.

use driftgraph_core::SignatureGraph;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::random::RandomStream;

use crate::registry::{Entry, Parameter};
use crate::system::self_loops;
use crate::{System, UsualTimes};

/// `dX = X dt + noise dW` from X = 0: the paper's failure case of methods that learn a mean path.
///
/// Half of the paths grow to plus, half to minus infinity, so that their mean stays at zero and
/// shows no self-loop.
#[derive(Debug, Clone)]
pub struct Bimodal {
    noise: f64,
}

pub(crate) static ENTRY: Entry = Entry {
    name: "bimodal",
    about: "one unstable variable that leaves zero in either direction",
    // Without noise the path would stay at zero for ever.
    parameters: &[Parameter::real("noise", 0.01, [1e-6, 100.0], "diffusion of the variable")],
    build: |values, _| Ok(Box::new(Bimodal { noise: values.real("noise") })),
};

impl DiagonalSde for Bimodal {
    fn n_variables(&self) -> usize {
        1
    }

    fn drift(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        out[0] = state[0];
    }

    fn diffusion(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out[0] = self.noise;
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out[0] = 0.0;
    }
}

impl System for Bimodal {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn variables(&self) -> Vec<String> {
        vec!["x".to_owned()]
    }

    fn true_graph(&self) -> SignatureGraph {
        self_loops(1)
    }

    /// Always zero.
    fn initial_state(&self, _noise: &mut RandomStream, out: &mut [f64]) {
        out[0] = 0.0;
    }

    /// Up to time 5, where the deviation over paths is noise sqrt((e^10 - 1) / 2), about 100 noise.
    fn usual_times(&self) -> UsualTimes {
        UsualTimes { start: 0.0, end: 5.0, n_points: 101, step_size: 0.005 }
    }
}
