//! Steps of the reference, compared number by number.

use driftgraph_core::ObservedSeries;
use driftgraph_core::train::adam::Adam;
use serde_json::Value;

use super::*;

/// Drift is exact; the reference solves adaptively to 1e-7 and runs its gradients back by a second solution.
const TOLERANCE: f64 = 1e-5;
/// So many that what is left of the solver's error is far below that.
const SUBSTEPS: usize = 32;

fn golden() -> Value {
    serde_json::from_str(include_str!("../../tests/golden/ngm.json")).unwrap()
}

/// All numbers of nested lists, in order.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(flat).collect(),
        Value::String(_) => vec![f64::INFINITY],
        number => vec![number.as_f64().unwrap()],
    }
}

fn parameters(value: &Value) -> Vec<f64> {
    ["fc1.weight", "fc1.bias", "fc2.0.weight", "fc2.0.bias"]
        .into_iter()
        .flat_map(|name| flat(&value[name]))
        .collect()
}

fn assert_close(found: &[f64], wanted: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(
            (found - wanted).abs() < tolerance * wanted.abs().max(1.0),
            "{what}: {found} and {wanted}"
        );
    }
}

fn settings_of(case: &Value) -> NgmSettings {
    NgmSettings {
        sparsity: case["GL_reg"].as_f64().unwrap_or(0.0),
        steps: 1000,
        learning_rate: case["lr"].as_f64().unwrap(),
        hidden_size: case["dims"][1].as_u64().unwrap() as usize,
        batch_size: 20,
        horizon: case["horizon"].as_u64().unwrap() as usize,
        clock: if case["irregular"] == true { Clock::Given } else { Clock::Rows },
        adaptive: true,
        standardize: false,
        substeps: SUBSTEPS,
        seed: 0,
    }
}

#[test]
fn all_steps_equal_those_of_the_reference() {
    let golden = golden();
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let what = case["name"].as_str().unwrap();
        let n = case["dims"][0].as_u64().unwrap() as usize;
        let series = ObservedSeries::new("a", n, flat(&case["times"]), flat(&case["X"])).unwrap();
        let data =
            SeriesSet::new((0..n).map(|idx| format!("x{idx}")).collect(), vec![series]).unwrap();
        let settings = settings_of(case);
        let windows = Windows::new(&data, settings.horizon, settings.clock);
        let mut trainer = Trainer::new(n, &settings);
        trainer.state.parameters = parameters(&case["params"]);
        if case["GL_reg_matrix"].is_array() {
            trainer.state.lambda = flat(&case["GL_reg_matrix"]);
        }
        for step in case["steps"].as_array().unwrap() {
            check_step(&mut trainer, &windows, step, what);
        }
        assert_close(&trainer.norms(), &flat(&case["group_weights"]), TOLERANCE, what);
        // Written with two decimals there.
        let rounded: Vec<f64> =
            trainer.norms().iter().map(|norm| (100.0 * norm).round() / 100.0).collect();
        assert_close(&rounded, &flat(&case["graph"]), 1e-12, what);
        trainer.begin_second_stage();
        check_second_penalties(&trainer.state.lambda, &flat(&case["weighted_lambda_for_stage2"]));
    }
}

/// Penalties are one over a norm, so that their relative errors are those of the norms.
fn check_second_penalties(found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        let close = (found - wanted).abs() < 10.0 * TOLERANCE * wanted;
        assert!(close || found == wanted, "penalty {found} and {wanted}");
    }
}

/// Norms of the gradients of all four arrays.
fn check_norms(network: &network::Network, grads: &[f64], wanted: &Value, what: &str) {
    let slots = [
        ("fc1.weight", network.inner.weight),
        ("fc1.bias", network.inner.bias),
        ("fc2.0.weight", network.outer.weight),
        ("fc2.0.bias", network.outer.bias),
    ];
    for (name, slot) in slots {
        let norm = slot.of(grads).iter().map(|grad| grad * grad).sum::<f64>().sqrt();
        assert_close(&[norm], &[wanted[name].as_f64().unwrap()], TOLERANCE, what);
    }
}

fn check_step(trainer: &mut Trainer, windows: &Windows<'_>, step: &Value, what: &str) {
    let starts: Vec<(usize, usize)> =
        flat(&step["starts"]).iter().map(|&row| (0, row as usize)).collect();
    let batch = windows.batch(&starts);
    let (network, parameters_before) = (trainer.network, trainer.state.parameters.clone());
    let mut grads = vec![0.0; parameters_before.len()];
    let pass = network.loss(&parameters_before, &batch, SUBSTEPS, &mut grads);
    if step["drift_at_starts"].is_array() {
        let width = starts.len() * network.n_variables;
        let (mut hidden, mut drift) = (vec![0.0; width * network.n_hidden], vec![0.0; width]);
        network.drift(&parameters_before, &batch.observed[..width], &mut hidden, &mut drift);
        assert_close(&drift, &flat(&step["drift_at_starts"]), TOLERANCE, what);
        assert_close(&pass.path, &flat(&step["prediction"]), TOLERANCE, what);
        assert_close(&grads, &parameters(&step["grads_adjoint"]), TOLERANCE, what);
        // The same with a tighter solver there, without the second solution.
        assert_close(&grads, &parameters(&step["grads_tight"]), 1e-6, what);
        assert_close(&[pass.loss], &[step["loss_tight"].as_f64().unwrap()], 1e-7, what);
    }
    assert_close(&[pass.loss], &[step["loss"].as_f64().unwrap()], TOLERANCE, what);
    let times: Vec<f64> = flat(&step["batch_times"]);
    let intervals: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Differences of printed times.
    assert_close(&batch.intervals[..intervals.len()], &intervals, 1e-12, what);
    check_norms(&network, &grads, &step["grad_norm"], what);
    if step["params_after_adam"].is_object() {
        let (mut moved, mut adam) = (parameters_before, trainer.state.adam.clone());
        Adam::default().step(trainer.learning_rate(0), &grads, &mut adam, &mut moved);
        assert_close(&moved, &parameters(&step["params_after_adam"]), TOLERANCE, what);
    }
    trainer.step(&batch);
    if step["params_after_prox"].is_object() {
        assert_close(
            &trainer.state.parameters,
            &parameters(&step["params_after_prox"]),
            TOLERANCE,
            what,
        );
    }
}

#[test]
fn groups_shrink_as_in_the_reference() {
    let golden = golden();
    let example = &golden["prox_example"];
    let (lambda, wanted) = (flat(&example["lam"]), flat(&example["result"]));
    let n = lambda.len().isqrt();
    let mut table = driftgraph_core::layers::ParameterTable::default();
    let network = network::Network::new(&mut table, n, wanted.len() / n / n);
    let mut parameters = vec![0.0; table.len()];
    parameters[..wanted.len()].copy_from_slice(&flat(&example["weight"]));
    network.shrink(&mut parameters, &lambda, example["eta"].as_f64().unwrap());
    // The same few operations.
    assert_close(&parameters[..wanted.len()], &wanted, 1e-14, "shrunk");
}
