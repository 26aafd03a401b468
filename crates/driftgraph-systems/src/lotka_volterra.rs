//! Generalised Lotka-Volterra: populations that help and harm each other.

use driftgraph_core::SignatureGraph;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::random::{Purpose, RandomStream};

use crate::couplings::{Couplings, stable_weight};
use crate::registry::{Entry, Parameter};
use crate::system::{numbered, uniform_between};
use crate::{System, UsualTimes};

/// `dX_j = X_j (growth_j + sum_i effect_ij X_i) dt + noise X_j dW_j`, with `effect_jj = -1`.
///
/// Drift and noise are proportional to the population, so that paths stay positive. Effects on
/// each population sum to less than its own limitation, and growth rates are chosen so that all
/// live together: the equilibrium is then globally stable (Goh 1977, doi:10.1086/283144).
#[derive(Debug, Clone)]
pub struct LotkaVolterra {
    growth: Vec<f64>,
    effects: Couplings,
    noise: f64,
}

pub(crate) static ENTRY: Entry = Entry {
    name: "lotka-volterra",
    about: "populations with sparse random effects on each other, positive at all times",
    parameters: &[
        Parameter::count("variables", 10, [1, 1000], "number of populations"),
        Parameter::count("parents", 2, [0, 100], "populations that affect each population"),
        // Beyond 1 a step of 0.01 could overshoot zero once in 10^23 steps.
        Parameter::real("noise", 0.2, [0.0, 1.0], "diffusion relative to the population"),
    ],
    build: |values, seed| {
        let n_variables = values.count("variables");
        let n_parents = values.count_up_to("parents", n_variables - 1)?;
        Ok(Box::new(LotkaVolterra::random(n_variables, n_parents, values.real("noise"), seed)))
    },
};

impl LotkaVolterra {
    fn random(n_variables: usize, n_parents: usize, noise: f64, seed: u64) -> Self {
        let mut generator = RandomStream::new(seed, Purpose::System, 0);
        let weight = |generator: &mut RandomStream| stable_weight(generator, n_parents);
        let mut effects = Couplings::random(n_variables, n_parents, &mut generator, weight);
        effects.add_self_effects(-1.0);
        let equilibrium: Vec<f64> =
            (0..n_variables).map(|_| uniform_between(&mut generator, 0.5, 1.5)).collect();
        // At equilibrium growth and effects cancel.
        let growth = (0..n_variables).map(|j| -effects.weighted_sum(j, &equilibrium)).collect();
        Self { growth, effects, noise }
    }
}

impl DiagonalSde for LotkaVolterra {
    fn n_variables(&self) -> usize {
        self.growth.len()
    }

    fn drift(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        for (j, drift) in out.iter_mut().enumerate() {
            *drift = state[j] * (self.growth[j] + self.effects.weighted_sum(j, state));
        }
    }

    fn diffusion(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        for (diffusion, population) in out.iter_mut().zip(state) {
            *diffusion = self.noise * population;
        }
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(self.noise);
    }
}

impl System for LotkaVolterra {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn variables(&self) -> Vec<String> {
        numbered("species", self.n_variables())
    }

    fn true_graph(&self) -> SignatureGraph {
        let mut graph = SignatureGraph::empty(self.n_variables());
        self.effects.mark_edges(&mut graph);
        graph
    }

    /// Uniform between 0.2 and 2.5; equilibria lie between 0.5 and 1.5.
    fn initial_state(&self, random: &mut RandomStream, out: &mut [f64]) {
        for population in out {
            *population = uniform_between(random, 0.2, 2.5);
        }
    }

    fn usual_times(&self) -> UsualTimes {
        UsualTimes { start: 0.0, end: 10.0, n_points: 101, step_size: 0.01 }
    }
}

#[cfg(test)]
mod tests {
    use driftgraph_core::ObservedSeries;

    use super::*;
    use crate::{Recipe, Sign, generate};

    #[test]
    fn populations_stay_positive_and_bounded() {
        for seed in 0..3 {
            let system = LotkaVolterra::random(15, 4, 1.0, seed);
            let generated = generate(&system, &Recipe::usual(&system, seed)).unwrap();
            let values = generated.data.series().iter().flat_map(ObservedSeries::values);
            // The loudest noise allowed: a population may grow tenfold, not without bound.
            assert!(values.into_iter().all(|&value| value > 0.0 && value < 100.0), "seed {seed}");
        }
    }

    #[test]
    fn signs_of_edges_are_those_of_the_effects() {
        let system = LotkaVolterra::random(8, 2, 0.2, 5);
        let generated = generate(&system, &Recipe::usual(&system, 0)).unwrap();
        for target in 0..8 {
            for &(source, effect) in system.effects.sources_of(target) {
                let expected = if effect > 0.0 { Sign::Positive } else { Sign::Negative };
                if source != target {
                    assert_eq!(generated.signs.sign(source, target), Some(expected));
                }
            }
        }
    }
}
