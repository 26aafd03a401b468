//! The same seeds give the same bits, for any number of threads; other seeds do not.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

use driftgraph_core::SeriesSet;
use driftgraph_core::process::solver::Scheme;
use driftgraph_systems::{
    Dropping, MeasurementNoise, Recipe, Sampling, System, generate, registry,
};

/// Times and values of all series, as bits, so that missing cells compare equal.
fn bits(data: &SeriesSet) -> Vec<u64> {
    let numbers =
        data.series().iter().flat_map(|series| series.times().iter().chain(series.values()));
    numbers.map(|number| number.to_bits()).collect()
}

/// Everything random switched on.
fn recipe(system: &dyn System, seed: u64) -> Recipe {
    Recipe {
        n_series: 7,
        sampling: Sampling::Random,
        n_points: 40,
        scheme: Scheme::Milstein,
        standardise: true,
        n_scaling_series: 9,
        noise: MeasurementNoise::Relative(0.1),
        dropping: Dropping::Cells(0.3),
        ..Recipe::usual(system, seed)
    }
}

fn with_threads(n_threads: usize, name: &str, seed: u64) -> Vec<u64> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
    pool.install(|| {
        let system = registry::build(name, &[], 3).unwrap();
        bits(&generate(system.as_ref(), &recipe(system.as_ref(), seed)).unwrap().data)
    })
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    for entry in registry::SYSTEMS {
        let alone = with_threads(1, entry.name, 5);
        assert_eq!(alone, with_threads(2, entry.name, 5), "{}", entry.name);
        assert_ne!(alone, with_threads(1, entry.name, 6), "{}", entry.name);
    }
}

#[test]
fn the_seed_of_a_random_system_decides_its_graph() {
    for name in ["linear", "kuramoto", "lotka-volterra", "gene-network"] {
        let graph = |seed| registry::build(name, &[], seed).unwrap().true_graph();
        assert_eq!(graph(1), graph(1), "{name}");
        assert_ne!(graph(1), graph(2), "{name}");
    }
}
