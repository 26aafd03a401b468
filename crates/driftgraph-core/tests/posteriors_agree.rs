//! Both posteriors, the simulated one of the paper and the bridge, find the same graph.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::posterior::bridge::structure::DriftParts;
use driftgraph_core::train::bridge::BridgeSettings;
use driftgraph_core::train::fit::fit;
use driftgraph_core::train::preset::Preset;
use driftgraph_core::train::progress::Silent;
use driftgraph_core::train::select::{Task, fit_ensemble};
use driftgraph_core::train::settings::FitSettings;
use driftgraph_core::train::time::TimeUnit;
use driftgraph_core::{ObservedSeries, SeriesSet};

const D: usize = 4;
const N_SERIES: u64 = 16;
const N_POINTS: usize = 40;
const GAP: f64 = 0.1;
/// Solver steps between two points.
const SUBSTEPS: usize = 20;
/// Edges between different variables, source and target.
const TRUE_EDGES: [(usize, usize); 2] = [(0, 1), (2, 3)];

/// Two switches: x0 drives x1 up or down, x2 drives x3, and each variable forgets its own past.
fn drift(state: [f64; D]) -> [f64; D] {
    let switch = |source: f64| 3.0 * (2.0 * source).tanh();
    [-state[0], switch(state[0]) - state[1], -state[2], switch(state[2]) - state[3]]
}

fn series(seed: u64, idx: u64) -> ObservedSeries {
    let mut normals = vec![0.0; D * (1 + N_POINTS * SUBSTEPS)];
    RandomStream::new(seed, Purpose::Brownian, idx).fill_normal(&mut normals);
    let (start, normals) = normals.split_at(D);
    let mut state = [start[0], start[1], start[2], start[3]];
    let (mut times, mut values) = (Vec::new(), Vec::new());
    let dt = GAP / SUBSTEPS as f64;
    for (step, noise) in normals.chunks_exact(D).enumerate() {
        if step % SUBSTEPS == 0 {
            times.push(step as f64 * dt);
            values.extend(state);
        }
        let drift = drift(state);
        for variable in 0..D {
            state[variable] += drift[variable] * dt + dt.sqrt() * noise[variable];
        }
    }
    ObservedSeries::new(format!("{idx}"), D, times, values).unwrap()
}

fn data(seed: u64) -> SeriesSet {
    let names = (0..D).map(|idx| format!("x{idx}")).collect();
    SeriesSet::new(names, (0..N_SERIES).map(|idx| series(seed, idx)).collect()).unwrap()
}

fn bridge_probabilities(data: &SeriesSet, seed: u64) -> Vec<f64> {
    let settings =
        BridgeSettings { seed, drift: DriftParts::LinearAndNeural, ..BridgeSettings::default() };
    let knowledge = EdgePrior::new(D, 0.0);
    let task = Task { data, knowledge: &knowledge };
    let fitted = fit_ensemble(task, &settings, 1, &Silent).unwrap();
    fitted.lagged_probabilities()
}

fn simulated_probabilities(data: &SeriesSet, seed: u64) -> Vec<f64> {
    let settings = FitSettings {
        seed,
        steps: 1000,
        learning_rate: 0.01,
        warmup_steps: 20,
        kl_warmup_steps: 100,
        sparsity: 5.0,
        time_unit: TimeUnit::AsGiven,
        step_size: GAP,
        embedding_size: 8,
        node_width: Some(32),
        hidden_size: 32,
        context_size: 16,
        ..Preset::Simulated.settings()
    };
    fit(data, &settings.check().unwrap(), &Silent).unwrap().edge_probabilities()
}

/// The least probability of a true edge between variables, and the largest of a false one.
fn margin(probabilities: &[f64]) -> (f64, f64) {
    let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
    for source in 0..D {
        for target in (0..D).filter(|&target| target != source) {
            let probability = probabilities[source * D + target];
            if TRUE_EDGES.contains(&(source, target)) {
                least = least.min(probability);
            } else {
                largest = largest.max(probability);
            }
        }
    }
    (least, largest)
}

#[test]
fn both_posteriors_rank_the_edges_of_two_switches_above_all_others() {
    for seed in 0..3 {
        let data = data(seed);
        for (name, probabilities) in [
            ("bridge", bridge_probabilities(&data, seed)),
            ("simulated", simulated_probabilities(&data, seed)),
        ] {
            let (least, largest) = margin(&probabilities);
            // Trials left margins of 0.06 to 0.12 for the simulated posterior, and of 0.47 and more
            // for the bridge; the runner-up of the former is the way back of a true edge.
            assert!(least > largest, "{name}, seed {seed}: {probabilities:.2?}");
        }
    }
}
