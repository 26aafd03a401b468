//! Milstein steps of the posterior path are the formula, with the learned process' own derivative.

use driftgraph_core::ObservedSeries;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::process::prior::{LearnedProcess, NodeVariant};
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::process::solver::Scheme;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::nn::init::initial_values;
use driftgraph_core::testing::objective::observation::ObservationNoise;
use driftgraph_core::testing::posterior::batch::{BatchObjective, BatchTask};
use driftgraph_core::testing::posterior::chunk::PathDraws;
use driftgraph_core::testing::posterior::draws::StepDraws;
use driftgraph_core::testing::posterior::plan::{EncoderInput, PlannedSeries, StepGrid};
use driftgraph_core::testing::posterior::simulated::{Architecture, GraphTerm, SimulatedPosterior};

#[test]
fn every_step_adds_half_the_diffusion_times_its_derivative_times_the_excess() {
    let model = SimulatedPosterior::new(Architecture {
        n_variables: 3,
        node_variant: NodeVariant::Published,
        embedding_size: 3,
        node_width: Some(6),
        hidden_size: 5,
        posterior_layers: 2,
        context_size: 4,
        encoder_input: EncoderInput::ValuesMaskGap,
        noise: ObservationNoise::Gaussian,
        noise_scale: 0.1,
        learn_noise_scale: false,
        temperature: 0.25,
        graph_term: GraphTerm::Exact,
        diffusion_floor: 1e-7,
        scheme: Scheme::Milstein,
        edge_prior: EdgePrior::new(3, 1.0),
    });
    let mut parameters: Vec<f64> = initial_values(&model.table, 2);
    let mut extra = vec![0.0; parameters.len()];
    RandomStream::new(9, Purpose::Weights, 1000).fill_normal(&mut extra);
    parameters.iter_mut().zip(extra).for_each(|(parameter, extra)| *parameter += 0.4 * extra);
    let values = vec![0.2, -0.4, 0.9, 0.3, 0.1, -0.8];
    let series = ObservedSeries::new("a", 3, vec![0.0, 1.0], values).unwrap();
    let plan =
        PlannedSeries::new(&series, StepGrid::Exact, 0.25, EncoderInput::ValuesMaskGap).unwrap();
    let process = model.process;
    let rules = model.architecture.edge_prior.rules().to_vec();
    let mut objective = BatchObjective::new(model, vec![plan]);
    let draws = StepDraws::new(3, 0);
    let task = BatchTask { parameters: &parameters, batch: &[0], draws: &draws, kl_weight: 1.0 };
    let work = objective.inspect(task);
    let learned = LearnedProcess::new(process, parameters.clone(), &work.graphs[..9], &rules);
    let mut normals = [0.0; 12];
    draws.path(0, &mut normals);
    let mut largest_term: f64 = 0.0;
    for step in 0..4 {
        let state = &work.states[3 * step..3 * step + 3];
        let (mut diffusion, mut derivative) = ([0.0; 3], [0.0; 3]);
        learned.diffusion(0.0, state, &mut diffusion);
        learned.diffusion_derivative(0.0, state, &mut derivative);
        for idx in 0..3 {
            let (dt, dw) = (0.25, 0.5 * normals[3 * step + idx]);
            let term = 0.5 * diffusion[idx] * derivative[idx] * (dw * dw - dt);
            let drift = work.posterior_drift[3 * step + idx];
            let next = state[idx] + drift * dt + diffusion[idx] * dw + term;
            // A few roundings.
            assert!((work.states[3 * step + 3 + idx] - next).abs() < 1e-13);
            largest_term = largest_term.max(term.abs());
        }
    }
    // The term is not negligible here, so leaving it out would fail.
    assert!(largest_term > 1e-4, "{largest_term}");
}
