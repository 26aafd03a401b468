//! The paper's bimodal example: one mean path cannot describe it, the fitted process does.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::process::brownian::BrownianIncrements;
use driftgraph_core::process::solver::{Scheme, integrate};
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::train::fit::{Fit, fit};
use driftgraph_core::train::preset::Preset;
use driftgraph_core::train::progress::Silent;
use driftgraph_core::train::settings::FitSettings;
use driftgraph_core::train::time::TimeUnit;
use driftgraph_core::{ObservedSeries, SeriesSet, TimeGrid};

const END: f64 = 4.0;

/// dX = X dt + 0.01 dW, `X_0` = 0, by small steps; every hundredth of a thousand states is kept.
fn path(series: u64) -> ObservedSeries {
    let mut normals = vec![0.0; 1000];
    RandomStream::new(7, Purpose::Brownian, series).fill_normal(&mut normals);
    let dt = END / 1000.0;
    let (mut x, mut times, mut values) = (0.0, vec![0.0], vec![0.0]);
    for (step, normal) in normals.into_iter().enumerate() {
        x += x * dt + 0.01 * dt.sqrt() * normal;
        if (step + 1) % 100 == 0 {
            times.push((step + 1) as f64 * dt);
            values.push(x);
        }
    }
    ObservedSeries::new(format!("{series}"), 1, times, values).unwrap()
}

/// Last values of paths simulated from the fitted prior process, in the data's units.
fn simulated_ends(fitted: &Fit, n_paths: u64) -> Vec<f64> {
    let (mean, deviation) = fitted.initial_state_prior()[0];
    let grid = TimeGrid::new(&[0.0, END], fitted.settings().step_size).unwrap();
    (0..n_paths)
        .map(|path| {
            let process = fitted.process(&fitted.sample_graph(1, path)).unwrap();
            let mut start = [0.0];
            RandomStream::new(3, Purpose::InitialState, path).fill_normal(&mut start);
            let start = [mean + deviation * start[0]];
            let mut increments = BrownianIncrements::new(11, path);
            let fill = |step, dt, dw: &mut [f64]| increments.fill(step, dt, dw);
            let mut states =
                integrate(&process, Scheme::EulerMaruyama, &grid, &start, fill).unwrap();
            fitted.standardizer().undo(&mut states);
            states[1]
        })
        .collect()
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

#[test]
fn both_branches_and_the_self_edge_are_learned() {
    let data = SeriesSet::new(vec!["x".into()], (0..64).map(path).collect()).unwrap();
    let settings = FitSettings {
        steps: 1200,
        learning_rate: 0.01,
        warmup_steps: 20,
        kl_warmup_steps: 300,
        sparsity: 5.0,
        time_unit: TimeUnit::AsGiven,
        step_size: 0.2,
        embedding_size: 8,
        node_width: Some(32),
        hidden_size: 32,
        context_size: 16,
        ..Preset::Simulated.settings()
    };
    let fitted = fit(&data, &settings.check().unwrap(), &Silent).unwrap();
    let self_edge = fitted.edge_probabilities()[0];
    assert!(self_edge > 0.9, "{self_edge}");
    let ends = simulated_ends(&fitted, 400);
    let share_up = ends.iter().filter(|&&end| end > 0.0).count() as f64 / ends.len() as f64;
    assert!((0.3..0.7).contains(&share_up), "{share_up}");
    let data_ends: Vec<f64> =
        data.series().iter().map(|series| *series.values().last().unwrap()).collect();
    let ratio = deviation(&ends) / deviation(&data_ends);
    // 64 series and 400 paths give a standard error of 0.1; trials gave 0.84 to 0.86.
    assert!((0.75..1.25).contains(&ratio), "{ratio}");
}
