//! Every system's true graph and diffusion derivative, against finite differences.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

use driftgraph_systems::{Generated, Recipe, System, generate, registry};

/// Every system with its defaults, and those of random or variable size in other shapes too.
fn systems() -> Vec<Box<dyn System>> {
    let defaults = registry::SYSTEMS.iter().map(|entry| (entry.name, vec![]));
    let shapes: [(&str, Vec<(&str, f64)>); 9] = [
        ("lorenz96", vec![("variables", 4.0)]),
        ("lorenz96", vec![("variables", 17.0), ("forcing", 0.0)]),
        ("linear", vec![("variables", 1.0)]),
        ("linear", vec![("variables", 6.0), ("parents", 5.0)]),
        ("kuramoto", vec![("variables", 2.0)]),
        ("lotka-volterra", vec![("variables", 12.0), ("parents", 0.0)]),
        ("lotka-volterra", vec![("variables", 12.0), ("parents", 4.0)]),
        ("gene-network", vec![("variables", 2.0)]),
        ("gene-network", vec![("variables", 30.0), ("regulators", 5.0), ("hill", 3.5)]),
    ];
    (defaults.chain(shapes))
        .flat_map(|(name, parameters)| (0..3).map(move |seed| (name, parameters.clone(), seed)))
        .map(|(name, parameters, seed)| registry::build(name, &parameters, seed).unwrap())
        .collect()
}

/// Some 30 states along simulated paths, in the system's own units.
fn visited_states(system: &dyn System) -> Vec<Vec<f64>> {
    let recipe = Recipe { n_series: 3, ..Recipe::usual(system, 1) };
    let Generated { data, .. } = generate(system, &recipe).unwrap();
    let rows = data
        .series()
        .iter()
        .flat_map(|series| series.values().chunks_exact(series.n_variables()).map(<[f64]>::to_vec));
    rows.skip(1).step_by(10).collect()
}

/// Central differences of drift and of diffusion by `source`, one of each per target.
fn differences(system: &dyn System, state: &[f64], source: usize) -> (Vec<f64>, Vec<f64>) {
    let step = 1e-6 * (1.0 + state[source].abs());
    let coefficients = |shift: f64| {
        let mut moved = state.to_vec();
        moved[source] += shift;
        let (mut drift, mut diffusion) = (vec![0.0; state.len()], vec![0.0; state.len()]);
        system.drift(0.0, &moved, &mut drift);
        system.diffusion(0.0, &moved, &mut diffusion);
        (drift, diffusion)
    };
    let (above, below) = (coefficients(step), coefficients(-step));
    let quotient = |above: Vec<f64>, below: Vec<f64>| {
        above.iter().zip(below).map(|(a, b)| (a - b) / (2.0 * step)).collect()
    };
    (quotient(above.0, below.0), quotient(above.1, below.1))
}

#[test]
fn an_edge_is_true_if_and_only_if_drift_or_diffusion_depends_on_the_source() {
    for system in systems() {
        let (graph, n_variables) = (system.true_graph(), system.n_variables());
        let states = visited_states(system.as_ref());
        for source in 0..n_variables {
            let mut largest = vec![0.0_f64; n_variables];
            for state in &states {
                let (drift, diffusion) = differences(system.as_ref(), state, source);
                for target in 0..n_variables {
                    let slope = drift[target].abs().max(diffusion[target].abs());
                    largest[target] = largest[target].max(slope);
                }
            }
            for (target, &slope) in largest.iter().enumerate() {
                let edge = format!("{}: {source} -> {target}, slope {slope}", system.name());
                // A formula that does not read the source gives the same bits, hence no slope at
                // all; rounding alone makes slopes of 1e-8 (terms of 1e2 over a step of 1e-6).
                if graph.has_edge(source, target) {
                    assert!(slope > 1e-4, "{edge}");
                } else {
                    assert_eq!(slope, 0.0, "{edge}");
                }
            }
        }
    }
}

#[test]
fn the_diffusion_derivative_is_that_of_the_diffusion() {
    for system in systems() {
        let n_variables = system.n_variables();
        let mut derivative = vec![0.0; n_variables];
        for state in visited_states(system.as_ref()) {
            system.diffusion_derivative(0.0, &state, &mut derivative);
            for variable in 0..n_variables {
                let (_, diffusion) = differences(system.as_ref(), &state, variable);
                // Rounding over the step, 1e-16 / 1e-6, times diffusions of order one.
                let error = (diffusion[variable] - derivative[variable]).abs();
                assert!(error < 1e-8, "{}: {variable}, error {error}", system.name());
            }
        }
    }
}

#[test]
fn each_diffusion_depends_on_its_own_variable_alone() {
    // Only then has Milstein's scheme its order 1.
    for system in systems() {
        for state in visited_states(system.as_ref()) {
            for source in 0..system.n_variables() {
                let (_, diffusion) = differences(system.as_ref(), &state, source);
                let others = (0..diffusion.len()).filter(|&target| target != source);
                assert!(others.into_iter().all(|target| diffusion[target] == 0.0));
            }
        }
    }
}

#[test]
fn paths_are_finite_over_ten_times_the_usual_range() {
    for system in systems().iter().filter(|system| system.name() != "bimodal") {
        let usual = Recipe::usual(system.as_ref(), 2);
        let (start, end) = usual.time_range;
        let long =
            Recipe { n_series: 2, time_range: (start, start + 10.0 * (end - start)), ..usual };
        let data = generate(system.as_ref(), &long).unwrap().data;
        let limit = 1e3;
        for variable in 0..data.n_variables() {
            // No system here leaves a hundred by itself; only phases grow, by a few units of time.
            assert!(data.observed_values(variable).all(|value| value.abs() < limit));
        }
    }
}

#[test]
fn bimodal_paths_leave_zero_in_both_directions() {
    let system = registry::build("bimodal", &[], 0).unwrap();
    let recipe = Recipe { n_series: 40, ..Recipe::usual(system.as_ref(), 0) };
    let data = generate(system.as_ref(), &recipe).unwrap().data;
    let ends: Vec<f64> = (data.series().iter()).map(|series| series.row(100)[0]).collect();
    let n_up = ends.iter().filter(|&&end| end > 0.0).count();
    // Binomial(40, 1/2): outside of 8..=32 with probability 2e-4, were the seed not fixed.
    assert!((8..=32).contains(&n_up), "{n_up} of 40 go up");
    let deviation = (ends.iter().map(|end| end * end).sum::<f64>() / 40.0).sqrt();
    // 0.01 sqrt((e^10 - 1) / 2) = 1.05, with a standard error of 1 / sqrt(80) = 11 %; four of them.
    assert!((deviation / 1.05 - 1.0).abs() < 0.45, "deviation {deviation}");
}
