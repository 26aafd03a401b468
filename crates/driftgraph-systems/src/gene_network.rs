//! A gene network: few regulators with many targets, Hill kinetics, degradation.

use driftgraph_core::SignatureGraph;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::random::{Purpose, RandomStream};

use crate::registry::{Entry, Parameter};
use crate::system::{numbered, self_loops, uniform_between};
use crate::{System, UsualTimes};

/// `dX_j = (basal_j + rate_j * mean of Hill terms - decay_j X_j) dt + noise X_j dW_j`.
///
/// A Hill term of regulator x is x^h / (k^h + x^h) for an activator and one minus that for a
/// repressor (Hill 1910). mRNA and protein are one variable. Only some genes regulate, and the
/// first of them far more than the last, as in real networks. Production is positive and noise
/// is proportional to the level, so that levels stay positive.
#[derive(Debug, Clone)]
pub struct GeneNetwork {
    genes: Vec<Gene>,
    hill: f64,
    noise: f64,
}

#[derive(Debug, Clone)]
struct Gene {
    basal: f64,
    rate: f64,
    decay: f64,
    regulators: Vec<Regulation>,
}

#[derive(Debug, Clone)]
struct Regulation {
    source: usize,
    activates: bool,
    /// Level of the source with half of the effect.
    half_level: f64,
}

pub(crate) static ENTRY: Entry = Entry {
    name: "gene-network",
    about: "random gene network with hubs, activators and repressors, and Hill kinetics",
    parameters: &[
        Parameter::count("variables", 10, [2, 10_000], "number of genes"),
        Parameter::count("regulators", 3, [1, 1000], "genes that regulate others"),
        Parameter::count("parents", 3, [1, 100], "most regulators a gene can have"),
        Parameter::real("hill", 2.0, [0.5, 10.0], "steepness of regulation"),
        Parameter::real("noise", 0.2, [0.0, 1.0], "diffusion relative to the level"),
    ],
    build: |values, seed| {
        let n_genes = values.count("variables");
        let n_regulators = values.count_up_to("regulators", n_genes)?;
        let max_parents = values.count_up_to("parents", n_genes - 1)?;
        let mut generator = RandomStream::new(seed, Purpose::System, 0);
        Ok(Box::new(GeneNetwork {
            genes: random_genes(&mut generator, n_genes, n_regulators, max_parents),
            hill: values.real("hill"),
            noise: values.real("noise"),
        }))
    },
};

fn random_genes(
    generator: &mut RandomStream,
    n_genes: usize,
    n_regulators: usize,
    max_parents: usize,
) -> Vec<Gene> {
    // Regulators stand anywhere among the genes, so that the position of a gene tells nothing.
    let mut hubs: Vec<usize> = (0..n_genes).collect();
    generator.shuffle(&mut hubs);
    hubs.truncate(n_regulators);
    let mut gene = |target: usize| {
        let n_parents = 1 + generator.below(max_parents);
        let decay = uniform_between(generator, 0.5, 1.5);
        Gene {
            basal: 0.1 * decay,
            // Levels reach between 1 and 3 when fully on.
            rate: decay * uniform_between(generator, 1.0, 3.0),
            decay,
            regulators: random_regulators(generator, &hubs, target, n_parents),
        }
    };
    (0..n_genes).map(&mut gene).collect()
}

/// Up to `n_parents` distinct regulators of `target`; hub number r has weight 1 / (r + 1).
fn random_regulators(
    generator: &mut RandomStream,
    hubs: &[usize],
    target: usize,
    n_parents: usize,
) -> Vec<Regulation> {
    let ranks = 1..=hubs.len();
    let mut candidates: Vec<(usize, f64)> = (hubs.iter().zip(ranks))
        .filter(|&(&hub, _)| hub != target)
        .map(|(&hub, rank)| (hub, 1.0 / rank as f64))
        .collect();
    let mut regulators = Vec::new();
    while regulators.len() < n_parents && !candidates.is_empty() {
        let chosen = weighted_choice(generator, &candidates);
        let (source, _) = candidates.remove(chosen);
        let activates = generator.uniform() < 0.6;
        let half_level = uniform_between(generator, 0.3, 1.2);
        regulators.push(Regulation { source, activates, half_level });
    }
    regulators
}

fn weighted_choice(generator: &mut RandomStream, candidates: &[(usize, f64)]) -> usize {
    let total: f64 = candidates.iter().map(|(_, weight)| weight).sum();
    let mut left = generator.uniform() * total;
    let passed = candidates.iter().take_while(|(_, weight)| {
        left -= weight;
        left >= 0.0
    });
    // Rounding may pass all of them.
    passed.count().min(candidates.len() - 1)
}

impl GeneNetwork {
    fn production(&self, gene: &Gene, state: &[f64]) -> f64 {
        if gene.regulators.is_empty() {
            return gene.basal + 0.5 * gene.rate;
        }
        let effect = |regulation: &Regulation| {
            // A solver with long steps may undershoot zero, where the power is not defined.
            let level = state[regulation.source].max(0.0).powf(self.hill);
            let on = level / (regulation.half_level.powf(self.hill) + level);
            if regulation.activates { on } else { 1.0 - on }
        };
        let total: f64 = gene.regulators.iter().map(effect).sum();
        gene.basal + gene.rate * total / gene.regulators.len() as f64
    }
}

impl DiagonalSde for GeneNetwork {
    fn n_variables(&self) -> usize {
        self.genes.len()
    }

    fn drift(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        for ((drift, gene), level) in out.iter_mut().zip(&self.genes).zip(state) {
            *drift = self.production(gene, state) - gene.decay * level;
        }
    }

    fn diffusion(&self, _time: f64, state: &[f64], out: &mut [f64]) {
        for (diffusion, level) in out.iter_mut().zip(state) {
            *diffusion = self.noise * level;
        }
    }

    fn diffusion_derivative(&self, _time: f64, _state: &[f64], out: &mut [f64]) {
        out.fill(self.noise);
    }
}

impl System for GeneNetwork {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn variables(&self) -> Vec<String> {
        numbered("G", self.n_variables())
    }

    /// Regulations, and all self-loops: every gene's product is degraded.
    fn true_graph(&self) -> SignatureGraph {
        let mut graph = self_loops(self.n_variables());
        for (target, gene) in self.genes.iter().enumerate() {
            for regulation in &gene.regulators {
                graph.set_edge(regulation.source, target, true);
            }
        }
        graph
    }

    /// Uniform between 0.05 and 2.5: far from rest, so that the way back shows the regulations.
    fn initial_state(&self, random: &mut RandomStream, out: &mut [f64]) {
        for level in out {
            *level = uniform_between(random, 0.05, 2.5);
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

    fn network(n_genes: usize, n_regulators: usize, max_parents: usize, seed: u64) -> GeneNetwork {
        let mut generator = RandomStream::new(seed, Purpose::System, 0);
        let genes = random_genes(&mut generator, n_genes, n_regulators, max_parents);
        GeneNetwork { genes, hill: 2.0, noise: 0.2 }
    }

    #[test]
    fn few_genes_regulate_and_the_first_of_them_regulates_most() {
        let graph = network(100, 10, 3, 4).true_graph();
        let mut n_targets: Vec<usize> = (0..100)
            .map(|source| (0..100).filter(|&t| t != source && graph.has_edge(source, t)).count())
            .filter(|&count| count > 0)
            .collect();
        n_targets.sort_unstable();
        assert_eq!(n_targets.len(), 10);
        // Weights 1, 1/2, ..., 1/10: the first hub should have several times the last one's.
        assert!(n_targets[9] > 3 * n_targets[0], "{n_targets:?}");
    }

    #[test]
    fn every_gene_has_between_one_and_the_most_regulators_and_never_itself() {
        let network = network(50, 8, 4, 1);
        for (target, gene) in network.genes.iter().enumerate() {
            assert!((1..=4).contains(&gene.regulators.len()));
            assert!(gene.regulators.iter().all(|regulation| regulation.source != target));
        }
    }

    #[test]
    fn a_hub_without_other_hubs_is_not_regulated() {
        let network = network(5, 1, 2, 0);
        let n_regulated = network.genes.iter().filter(|gene| !gene.regulators.is_empty()).count();
        assert_eq!(n_regulated, 4);
    }

    #[test]
    fn activators_are_positive_repressors_negative_and_degradation_negative() {
        let network = network(20, 5, 3, 2);
        let generated = generate(&network, &Recipe::usual(&network, 0)).unwrap();
        for (target, gene) in network.genes.iter().enumerate() {
            assert_eq!(generated.signs.sign(target, target), Some(Sign::Negative));
            for regulation in &gene.regulators {
                let expected = if regulation.activates { Sign::Positive } else { Sign::Negative };
                assert_eq!(generated.signs.sign(regulation.source, target), Some(expected));
            }
        }
    }

    #[test]
    fn levels_stay_positive() {
        let network = network(30, 6, 3, 9);
        let generated = generate(&network, &Recipe::usual(&network, 3)).unwrap();
        let values = generated.data.series().iter().flat_map(ObservedSeries::values);
        assert!(values.into_iter().all(|&value| value > 0.0));
    }
}
