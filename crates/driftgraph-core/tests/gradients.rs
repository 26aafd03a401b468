//! The whole loss against central differences, in every parameter but the sampled graph's.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::ObservedSeries;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::process::prior::NodeVariant;
use driftgraph_core::process::solver::Scheme;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::nn::init::initial_values;
use driftgraph_core::testing::objective::observation::ObservationNoise;
use driftgraph_core::testing::posterior::batch::{BatchObjective, BatchTask};
use driftgraph_core::testing::posterior::draws::StepDraws;
use driftgraph_core::testing::posterior::plan::{EncoderInput, PlannedSeries, StepGrid};
use driftgraph_core::testing::posterior::simulated::{Architecture, GraphTerm, SimulatedPosterior};

fn architecture(node_variant: NodeVariant, noise: ObservationNoise) -> Architecture {
    Architecture {
        n_variables: 2,
        node_variant,
        embedding_size: 3,
        node_width: Some(5),
        hidden_size: 4,
        posterior_layers: if node_variant == NodeVariant::Printed { 1 } else { 2 },
        context_size: 3,
        encoder_input: EncoderInput::ValuesMaskGap,
        noise,
        noise_scale: 0.4,
        learn_noise_scale: true,
        temperature: 0.25,
        graph_term: GraphTerm::Exact,
        diffusion_floor: 1e-7,
        scheme: Scheme::EulerMaruyama,
        edge_prior: EdgePrior::new(2, 0.3),
    }
}

/// Series of different lengths and times, one with holes, one with a single row.
fn plans(grid: StepGrid, input: EncoderInput) -> Vec<PlannedSeries<f64>> {
    let nan = f64::NAN;
    let series = [
        (vec![0.0, 0.7], vec![0.3, -0.2, nan, 0.9]),
        (vec![0.0, 0.2, 0.35, 1.4], vec![0.1, nan, nan, nan, -0.4, 0.8, 0.5, 0.2]),
        (vec![2.0], vec![-0.6, 0.1]),
        (vec![0.0, 0.3, 0.6], vec![0.0, 1.0, 0.4, -0.3, nan, 0.7]),
    ];
    series
        .into_iter()
        .map(|(times, values)| {
            let series = ObservedSeries::new("series", 2, times, values).unwrap();
            PlannedSeries::new(&series, grid, 0.25, input).unwrap()
        })
        .collect()
}

fn compare(architecture: Architecture, grid: StepGrid, batch: &[usize]) {
    let input = architecture.encoder_input;
    let model = SimulatedPosterior::new(architecture);
    let mut parameters: Vec<f64> = initial_values(&model.table, 4);
    // Parameters that start at 0 or near it would hide mistakes.
    let mut extra = vec![0.0; parameters.len()];
    RandomStream::new(9, Purpose::Weights, 1000).fill_normal(&mut extra);
    for (parameter, extra) in parameters.iter_mut().zip(extra) {
        *parameter += 0.2 * extra;
    }
    let mut objective = BatchObjective::new(model, plans(grid, input));
    let draws = StepDraws::new(5, 0);
    let mut loss = |parameters: &[f64]| {
        let evaluation =
            objective.evaluate(BatchTask { parameters, batch, draws: &draws, kl_weight: 0.6 });
        (evaluation, objective.gradient().to_vec())
    };
    let (evaluation, gradient) = loss(&parameters);
    assert_eq!(evaluation.floor_hits, 0);
    let n_logits = 4;
    let mut largest_gap: f64 = 0.0;
    for idx in n_logits..parameters.len() {
        let step = 1e-6;
        let kept = parameters[idx];
        parameters[idx] = kept + step;
        let above = loss(&parameters).0.loss;
        parameters[idx] = kept - step;
        let below = loss(&parameters).0.loss;
        parameters[idx] = kept;
        let wanted = (above - below) / (2.0 * step);
        largest_gap = largest_gap.max((gradient[idx] - wanted).abs() / (1.0 + wanted.abs()));
    }
    // Losses of order 100 rounded to 1e-14 over a step of 1e-6, and curvature times 1e-12.
    assert!(largest_gap < 1e-6, "{largest_gap}");
}

#[test]
fn published_functions_on_exact_times() {
    let architecture = architecture(NodeVariant::Published, ObservationNoise::Gaussian);
    compare(architecture, StepGrid::Exact, &[0, 1, 2, 3]);
}

#[test]
fn printed_functions_on_the_published_grid() {
    let architecture = architecture(NodeVariant::Printed, ObservationNoise::Laplace);
    compare(architecture, StepGrid::Published, &[0, 1, 2, 3]);
}

#[test]
fn milstein_steps_of_both_variants_with_and_without_skips() {
    for variant in [NodeVariant::Published, NodeVariant::Printed] {
        for (embedding_size, node_width) in [(3, 6), (2, 4), (3, 5), (4, 7)] {
            let sizes = Architecture {
                scheme: Scheme::Milstein,
                embedding_size,
                node_width: Some(node_width),
                ..architecture(variant, ObservationNoise::Gaussian)
            };
            compare(sizes, StepGrid::Exact, &[0, 1, 2, 3]);
        }
    }
}

#[test]
fn a_batch_of_some_series_with_skips_in_both_first_layers() {
    let sizes = Architecture {
        embedding_size: 2,
        node_width: Some(4),
        encoder_input: EncoderInput::Values,
        ..architecture(NodeVariant::Published, ObservationNoise::Gaussian)
    };
    compare(sizes, StepGrid::Exact, &[1, 3]);
}

#[test]
fn a_batch_stands_for_all_series_by_its_factor() {
    let architecture = architecture(NodeVariant::Published, ObservationNoise::Gaussian);
    let model = SimulatedPosterior::new(architecture);
    let parameters: Vec<f64> = initial_values(&model.table, 4);
    let mut objective =
        BatchObjective::new(model, plans(StepGrid::Exact, EncoderInput::ValuesMaskGap));
    let draws = StepDraws::new(5, 0);
    let mut terms = |batch: &[usize]| {
        let task = BatchTask { parameters: &parameters, batch, draws: &draws, kl_weight: 1.0 };
        objective.evaluate(task).terms
    };
    let (all, first, second) = (terms(&[0, 1, 2, 3]), terms(&[0, 2]), terms(&[1, 3]));
    // N/S = 2: the mean over a partition into batches is the whole. Sums in another order.
    let close = |mean: f64, whole: f64| assert!((mean - whole).abs() < 1e-10 * whole.abs());
    close(f64::midpoint(first.log_likelihood, second.log_likelihood), all.log_likelihood);
    close(f64::midpoint(first.path_kl, second.path_kl), all.path_kl);
    close(f64::midpoint(first.initial_kl, second.initial_kl), all.initial_kl);
    assert_eq!(first.graph_kl, all.graph_kl);
}
