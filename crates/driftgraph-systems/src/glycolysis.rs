//! Glycolysis in yeast: seven concentrations that oscillate.

use driftgraph_core::SignatureGraph;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::random::RandomStream;

use crate::registry::{Entry, Parameter};
use crate::system::uniform_between;
use crate::{System, UsualTimes};

/// The glycolytic oscillator of Daniels and Nemenman (2015), doi:10.1371/journal.pone.0119821.
#[derive(Debug, Clone)]
pub struct Glycolysis {
    noise: f64,
}

pub(crate) static ENTRY: Entry = Entry {
    name: "glycolysis",
    about: "seven concentrations of the glycolytic oscillator in yeast",
    parameters: &[Parameter::real("noise", 0.01, [0.0, 1.0], "diffusion of every variable")],
    build: |values, _| Ok(Box::new(Glycolysis { noise: values.real("noise") })),
};

/// Lowest and highest initial concentration of each variable.
const INITIAL_RANGES: [(f64, f64); 7] = [
    (0.15, 1.60),
    (0.19, 2.16),
    (0.04, 0.20),
    (0.10, 0.35),
    (0.08, 0.30),
    (0.14, 2.67),
    (0.05, 0.10),
];

/// The sources of each target, both numbered from 1 as in the equations.
const SOURCES: [&[usize]; 7] =
    [&[1, 6], &[1, 2, 5, 6], &[2, 3, 5, 6], &[3, 4, 5, 6, 7], &[2, 4, 5], &[1, 3, 6], &[4, 7]];

impl DiagonalSde for Glycolysis {
    fn n_variables(&self) -> usize {
        7
    }

    fn drift(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        let &[s1, s2, s3, s4, s5, s6, s7] = state else {
            unreachable!("a solver gives one number per variable")
        };
        // Appendix, Synthetic datasets: Glycolysis; each term is one reaction.
        let phosphorylation = 100.0 * s1 * s6 / (1.0 + (s6 / 0.52).powi(4));
        let oxidation = 6.0 * s2 * (1.0 - s5);
        let dephosphorylation = 16.0 * s3 * (4.0 - s6);
        let fermentation = 100.0 * s4 * s5;
        let glycerol = 12.0 * s2 * s5;
        let export = s4 - s7;
        out[0] = 2.5 - phosphorylation;
        out[1] = 2.0 * phosphorylation - oxidation - glycerol;
        out[2] = oxidation - dephosphorylation;
        out[3] = dephosphorylation - fermentation - 13.0 * export;
        out[4] = oxidation - fermentation - glycerol;
        out[5] = -2.0 * phosphorylation + 2.0 * dephosphorylation - 1.28 * s6;
        out[6] = 1.3 * export - 1.8 * s7;
    }

    fn diffusion(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(self.noise);
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
}

impl System for Glycolysis {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn variables(&self) -> Vec<String> {
        crate::system::numbered("S", 7)
    }

    fn true_graph(&self) -> SignatureGraph {
        let mut graph = SignatureGraph::empty(7);
        for (target, sources) in SOURCES.iter().enumerate() {
            for source in *sources {
                graph.set_edge(source - 1, target, true);
            }
        }
        graph
    }

    /// Uniform in the ranges of Daniels and Nemenman, as in the paper.
    fn initial_state(&self, random: &mut RandomStream, out: &mut [f64]) {
        for (value, (low, high)) in out.iter_mut().zip(INITIAL_RANGES) {
            *value = uniform_between(random, low, high);
        }
    }

    fn usual_times(&self) -> UsualTimes {
        UsualTimes { start: 0.0, end: 10.0, n_points: 101, step_size: 0.005 }
    }
}

#[cfg(test)]
mod tests {
    use crate::registry::build;

    #[test]
    fn the_graph_is_the_published_matrix_of_23_edges_with_all_self_loops() {
        // Rows are sources, as in the published code.
        let published = [
            [1, 1, 0, 0, 0, 1, 0],
            [0, 1, 1, 0, 1, 0, 0],
            [0, 0, 1, 1, 0, 1, 0],
            [0, 0, 0, 1, 1, 0, 1],
            [0, 1, 1, 1, 1, 0, 0],
            [1, 1, 1, 1, 0, 1, 0],
            [0, 0, 0, 1, 0, 0, 1],
        ];
        let graph = build("glycolysis", &[], 0).unwrap().true_graph();
        let expected: Vec<bool> = published.as_flattened().iter().map(|&edge| edge == 1).collect();
        assert_eq!(graph.matrix(), expected);
        assert_eq!(graph.n_edges(), 23);
        assert!((0..7).all(|variable| graph.has_edge(variable, variable)));
    }

    #[test]
    fn drift_agrees_with_the_printed_equations_at_a_point() {
        let system = build("glycolysis", &[], 0).unwrap();
        let mut drift = [0.0; 7];
        system.drift(0.0, &[1.0, 0.5, 0.1, 0.2, 0.25, 0.52, 0.08], &mut drift);
        // At s6 = 0.52 the saturation 1 + (s6 / 0.52)^4 is 2, hence 100 s1 s6 / 2 = 26.
        let expected = [
            2.5 - 26.0,
            52.0 - 6.0 * 0.5 * 0.75 - 12.0 * 0.5 * 0.25,
            6.0 * 0.5 * 0.75 - 16.0 * 0.1 * 3.48,
            16.0 * 0.1 * 3.48 - 100.0 * 0.2 * 0.25 - 13.0 * 0.12,
            6.0 * 0.5 * 0.75 - 100.0 * 0.2 * 0.25 - 12.0 * 0.5 * 0.25,
            -52.0 + 32.0 * 0.1 * 3.48 - 1.28 * 0.52,
            1.3 * 0.12 - 1.8 * 0.08,
        ];
        for (found, wanted) in drift.iter().zip(expected) {
            // Sums of terms up to 52, in another order: a few units in the last place.
            assert!((found - wanted).abs() < 1e-13, "{found} and {wanted}");
        }
    }
}
