//! The published code's numbers: every step, term, gradient and optimiser step, on its own weights.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use driftgraph_core::ObservedSeries;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::process::prior::NodeVariant;
use driftgraph_core::process::solver::Scheme;
use driftgraph_core::testing::numeric::real::Real;
use driftgraph_core::testing::objective::observation::ObservationNoise;
use driftgraph_core::testing::posterior::batch::{BatchObjective, BatchTask};
use driftgraph_core::testing::posterior::chunk::PathDraws;
use driftgraph_core::testing::posterior::plan::{EncoderInput, PlannedSeries, StepGrid};
use driftgraph_core::testing::posterior::simulated::{Architecture, GraphTerm, SimulatedPosterior};
use driftgraph_core::train::adam::{Adam, AdamState};
use serde_json::Value;

const FILES: [&str; 3] = ["skip_in_combine", "skip_in_message", "width_64"];

/// Sums in another order, over at most a few hundred terms, in double precision.
const DOUBLE: f64 = 1e-9;
/// The same in single precision; the likelihood divides by 0.01, and gradients cancel.
const SINGLE: f64 = 2e-3;

fn load(name: &str) -> Value {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// All numbers below a value, in order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn size(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// The published name of one of our parameters.
fn published_name(golden: &Value, ours: &str) -> String {
    let (part, rest) = ours.split_once('.').unwrap_or((ours, ""));
    match part {
        "edge_logits" => "adjacency_dist_module.logits".into(),
        "initial_prior" if rest == "mean" => "pz0_mean".into(),
        "initial_prior" => "pz0_logstd".into(),
        "initial_state" => {
            let rest = rest.replace("mean.", "mean_net.").replace("log_scale.", "logstd_net.");
            format!("qz0_{rest}")
        }
        "posterior_drift" => format!("posterior_drift_fn.drift_fn.{rest}"),
        "encoder" => {
            let rest = rest.replace("linear", "lin");
            format!("trajectory_encoder.{rest}")
        }
        "prior_drift" | "diffusion" => {
            let net = format!("{part}_fn.deci_nn");
            let rest = rest.replace("edge_weights", "w");
            let rest = rest.replace("message.", "g.").replace("combine.", "f.");
            let pieces: Vec<&str> = rest.split('.').collect();
            let [function, layer, kind] = pieces[..] else { return format!("{net}.{rest}") };
            // Hidden layers are `n.0` without a skip and `n.block.0` with one; the last is `n`.
            [".0", ".block.0", ""]
                .map(|inner| format!("{net}.{function}.{layer}{inner}.{kind}"))
                .into_iter()
                .find(|name| !golden["weights"][name].is_null())
                .unwrap()
        }
        other => panic!("no published name for {other}"),
    }
}

fn architecture(golden: &Value) -> Architecture {
    let config = &golden["config"];
    let n_variables = size(&config["D"]);
    Architecture {
        n_variables,
        node_variant: NodeVariant::Published,
        embedding_size: size(&config["embedding_size"]),
        node_width: Some(size(&config["fgnni_width"])),
        hidden_size: size(&config["hidden_size"]),
        posterior_layers: 2,
        context_size: size(&config["context_size"]),
        encoder_input: EncoderInput::Values,
        noise: ObservationNoise::Laplace,
        noise_scale: number(&config["noise_scale"]),
        learn_noise_scale: false,
        temperature: number(&config["gumbel_temp"]),
        graph_term: GraphTerm::Published,
        diffusion_floor: 1e-7,
        scheme: Scheme::EulerMaruyama,
        edge_prior: EdgePrior::new(n_variables, number(&config["sparsity_lambda"])),
    }
}

fn objective<R: Real>(golden: &Value) -> BatchObjective<R> {
    let model = SimulatedPosterior::new(architecture(golden));
    let plans = golden["x"]
        .as_array()
        .unwrap()
        .iter()
        .map(|values| {
            let times = numbers(&golden["ts"]);
            let d = model.architecture.n_variables;
            let series = ObservedSeries::new("series", d, times, numbers(values)).unwrap();
            let dt = number(&golden["config"]["dt"]);
            PlannedSeries::new(&series, StepGrid::Published, dt, EncoderInput::Values).unwrap()
        })
        .collect();
    BatchObjective::new(model, plans)
}

fn parameters<R: Real>(golden: &Value, model: &SimulatedPosterior) -> Vec<R> {
    let mut values = vec![R::ZERO; model.table.len()];
    let mut n_used = 0;
    for parameter in model.table.parameters() {
        let name = published_name(golden, &parameter.name);
        let numbers = numbers(&golden["weights"][&name]);
        assert_eq!(numbers.len(), parameter.slot.len(), "{name}");
        for (value, number) in parameter.slot.of_mut(&mut values).iter_mut().zip(numbers) {
            *value = R::from_f64(number);
        }
        n_used += 1;
    }
    assert_eq!(n_used, golden["weights"].as_object().unwrap().len());
    values
}

/// The noise of a golden step: either of the first step or of one of the Adam steps.
struct GoldenNoise<'a> {
    noise: &'a Value,
    steps: Vec<f64>,
    n_variables: usize,
}

impl<R: Real> PathDraws<R> for GoldenNoise<'_> {
    fn graph(&self, series: usize, out: &mut [R]) {
        let pairs = numbers(&self.noise["gumbel"][series]);
        for (out, pair) in out.iter_mut().zip(pairs.chunks(2)) {
            *out = R::from_f64(pair[1] - pair[0]);
        }
    }

    fn initial_state(&self, series: usize, out: &mut [R]) {
        for (out, eps) in out.iter_mut().zip(numbers(&self.noise["eps_z0"][series])) {
            *out = R::from_f64(eps);
        }
    }

    fn path(&self, series: usize, out: &mut [R]) {
        for (step, out) in out.chunks_mut(self.n_variables).enumerate() {
            let dw = numbers(&self.noise["dW"][step][series]);
            for (out, dw) in out.iter_mut().zip(dw) {
                *out = R::from_f64(dw / self.steps[step].sqrt());
            }
        }
    }
}

fn golden_noise<'a>(golden: &Value, noise: &'a Value) -> GoldenNoise<'a> {
    let steps = golden["forward"]["steps"].as_array().unwrap();
    let steps = steps.iter().map(|step| number(&step["t1"]) - number(&step["t0"])).collect();
    GoldenNoise { noise, steps, n_variables: size(&golden["config"]["D"]) }
}

/// Compares with a tolerance relative to the largest number of the group.
fn assert_close<R: Real>(found: &[R], wanted: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    let largest = wanted.iter().fold(1e-3, |max: f64, value| max.max(value.abs()));
    for (found, wanted) in found.iter().zip(wanted) {
        let gap = (found.to_f64() - wanted).abs();
        assert!(gap <= tolerance * largest, "{what}: {found:?} and {wanted}");
    }
}

fn compare_forward_pass(name: &str) {
    let golden = load(name);
    let mut objective = objective::<f64>(&golden);
    let parameters = parameters(&golden, objective.model());
    let noise = golden_noise(&golden, &golden["noise"]);
    let d = noise.n_variables;
    let kl_weight = number(&golden["loss"]["kl_weight"]);
    let task = BatchTask { parameters: &parameters, batch: &[0, 1], draws: &noise, kl_weight };
    let work = objective.inspect(task);
    let forward = &golden["forward"];
    assert_eq!(work.graphs[..2 * d * d], numbers(&forward["graph"]), "{name}");
    let (layout, c) = (&work.layout, size(&golden["config"]["context_size"]));
    for series in 0..2 {
        for idx in 0..numbers(&golden["ts"]).len() {
            let row = layout.observation_row(idx, series);
            let found = &work.encoder.contexts[row * c..(row + 1) * c];
            assert_close(found, &numbers(&forward["context"][series][idx]), DOUBLE, "context");
        }
        let rank = layout.ranks[series];
        let initial = |part: &[f64]| part[rank * d..(rank + 1) * d].to_vec();
        let (mean, log_scale) = (initial(&work.initial[0]), initial(&work.initial[1]));
        assert_close(&mean, &numbers(&forward["qz0_mean"][series]), DOUBLE, "initial mean");
        assert_close(&log_scale, &numbers(&forward["qz0_logstd"][series]), DOUBLE, "initial scale");
        for (step, wanted) in forward["steps"].as_array().unwrap().iter().enumerate() {
            let row = layout.step_row(step, series) * d;
            let state = layout.state_row(step, series) * d;
            let wanted_state = numbers(&wanted["y"][series]);
            assert_close(&work.states[state..state + d], &wanted_state[..d], DOUBLE, "state");
            for (buffer, key) in [
                (&work.posterior_drift, "posterior_drift"),
                (&work.prior_drift, "prior_drift"),
                (&work.diffusion, "diffusion"),
                (&work.control, "u"),
            ] {
                assert_close(&buffer[row..row + d], &numbers(&wanted[key][series]), DOUBLE, key);
            }
        }
    }
}

#[test]
fn every_step_of_the_forward_pass_agrees() {
    for name in FILES {
        compare_forward_pass(name);
    }
}

fn compare_loss_and_gradients<R: Real>(name: &str, tolerance: f64) {
    let golden = load(name);
    let mut objective = objective::<R>(&golden);
    let parameters = parameters::<R>(&golden, objective.model());
    let noise = golden_noise(&golden, &golden["noise"]);
    let (loss, kl_weight) = (&golden["loss"], number(&golden["loss"]["kl_weight"]));
    let task = BatchTask { parameters: &parameters, batch: &[0, 1], draws: &noise, kl_weight };
    let found = objective.evaluate(task);
    let pairs = [
        (found.loss, number(&loss["loss"])),
        (found.terms.log_likelihood, number(&loss["log_pxs"])),
        (found.terms.initial_kl + found.terms.path_kl, number(&loss["logqp"])),
        (found.terms.initial_kl, numbers(&golden["forward"]["logqp0"]).iter().sum()),
        (-found.terms.graph_kl, number(&loss["log_graph_prior"]) + number(&loss["graph_entropy"])),
    ];
    for (found, wanted) in pairs {
        assert!((found - wanted).abs() <= tolerance * wanted.abs(), "{name}: {found} {wanted}");
    }
    for parameter in objective.model().table.parameters() {
        let wanted = numbers(&golden["grads"][published_name(&golden, &parameter.name)]);
        let found = parameter.slot.of(objective.gradient());
        assert_close(found, &wanted, tolerance, &format!("{name}: {}", parameter.name));
    }
}

#[test]
fn terms_and_gradients_agree_in_double_precision() {
    for name in FILES {
        compare_loss_and_gradients::<f64>(name, DOUBLE);
    }
}

#[test]
fn terms_and_gradients_agree_in_single_precision() {
    for name in FILES {
        compare_loss_and_gradients::<f32>(name, SINGLE);
    }
}

#[test]
fn successive_adam_steps_agree() {
    for name in FILES {
        let golden = load(name);
        let mut objective = objective::<f64>(&golden);
        let mut parameters = parameters::<f64>(&golden, objective.model());
        let mut state = AdamState::new(parameters.len());
        for (step, wanted) in golden["adam_steps"].as_array().unwrap().iter().enumerate() {
            let noise = golden_noise(&golden, wanted);
            let kl_weight = number(&wanted["kl_weight"]);
            let task =
                BatchTask { parameters: &parameters, batch: &[0, 1], draws: &noise, kl_weight };
            let found = objective.evaluate(task);
            let loss = number(&wanted["loss"]);
            assert!((found.loss - loss).abs() <= DOUBLE * loss.abs(), "{name} {step}");
            let learning_rate = number(&wanted["lr"]);
            Adam::default().step(learning_rate, objective.gradient(), &mut state, &mut parameters);
            for (ours, theirs) in [
                ("edge_logits", "logits_after"),
                ("prior_drift.edge_weights", "drift_w_after"),
                ("initial_prior.mean", "pz0_mean_after"),
                ("initial_prior.log_scale", "pz0_logstd_after"),
            ] {
                let slot = objective.model().table.find(ours).unwrap().slot;
                // Adam divides by the gradient's own size: small gradients' errors count fully.
                let wanted = numbers(&wanted[theirs]);
                assert_close(slot.of(&parameters), &wanted, 1e-8, &format!("{name} {step} {ours}"));
            }
        }
    }
}

#[test]
fn the_networks_agree_at_other_points_and_real_valued_graphs() {
    use driftgraph_core::process::prior::LearnedProcess;
    use driftgraph_core::process::sde::DiagonalSde;
    for name in FILES {
        let golden = load(name);
        let model = SimulatedPosterior::new(architecture(&golden));
        let parameters = parameters::<f64>(&golden, &model);
        let free = &golden["free"];
        for point in 0..2 {
            let state = numbers(&free["z"][point]);
            let graph = numbers(&free["graph"][point]);
            let rules = model.architecture.edge_prior.rules();
            let process = LearnedProcess::new(model.process, parameters.clone(), &graph, rules);
            let mut found = vec![0.0; state.len()];
            process.drift(0.0, &state, &mut found);
            assert_close(&found, &numbers(&free["prior_drift"][point]), DOUBLE, "prior drift");
            process.diffusion(0.0, &state, &mut found);
            assert_close(&found, &numbers(&free["diffusion"][point]), DOUBLE, "diffusion");
        }
    }
}
