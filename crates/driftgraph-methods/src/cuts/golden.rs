//! Single steps and a whole training of the reference, compared number by number.

use driftgraph_core::train::adam::{Adam, AdamState};
use driftgraph_core::{ObservedSeries, SeriesSet};
use serde_json::Value;

use super::chance::{Chance, Draw};
use super::network::{Network, Samples, Wanted};
use super::*;

/// Single steps are the same operations in another order.
const TOLERANCE: f64 = 1e-8;

fn golden() -> Value {
    serde_json::from_str(include_str!("../../tests/golden/cuts.json")).unwrap()
}

/// All numbers of nested lists, in order.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(flat).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

fn parameters(value: &Value, n_targets: usize, n_layers: usize) -> Vec<f64> {
    let mut all = Vec::new();
    for target in 0..n_targets {
        for layer in 0..=n_layers {
            for kind in ["weight", "bias"] {
                all.extend(flat(
                    &value[format!("fitting_model.{target}.network.{}.{kind}", 2 * layer)],
                ));
            }
        }
    }
    all
}

fn assert_close(found: &[f64], wanted: &[f64], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() < TOLERANCE, "{what}: {found} and {wanted}");
    }
}

/// `[a, b]` as `[b, a]`.
fn transposed(values: &[f64], n_rows: usize) -> Vec<f64> {
    let n_columns = values.len() / n_rows;
    (0..values.len()).map(|idx| values[idx % n_rows * n_columns + idx / n_rows]).collect()
}

#[test]
fn a_prediction_step_equals_that_of_the_reference() {
    let golden = golden();
    let (n, batch, layers) = (3, 6, 3);
    let network = Network::new(6, 4, layers);
    let start = parameters(&golden["params"], n, layers);
    let samples = Samples {
        n_samples: batch,
        inputs: flat(&golden["x"]),
        targets: transposed(&flat(&golden["y"]), batch),
        mask: transposed(&flat(&golden["mask"]), batch),
    };
    let step = &golden["prediction_step"];
    // [sample, target, (cause, lag)]
    let graphs = flat(&step["sampled_graph"]);
    let gates: Vec<Vec<f64>> = (0..n)
        .map(|target| {
            (0..batch)
                .flat_map(|sample| graphs[(sample * n + target) * 6..][..6].to_vec())
                .collect()
        })
        .collect();
    let mut grads = vec![0.0; start.len()];
    let wanted = Wanted { weight_grads: Some(&mut grads), inputs: false };
    let passes = network.pass_for(wanted, &start, &samples, &gates);
    let loss: f64 = passes.iter().map(|pass| pass.loss).sum();
    assert_close(&[loss], &[step["loss"].as_f64().unwrap()], "loss");
    let predictions: Vec<f64> = passes.iter().flat_map(|pass| pass.predictions.clone()).collect();
    assert_close(&predictions, &transposed(&flat(&step["prediction"]), batch), "prediction");
    assert_close(&grads, &parameters(&step["grads"], n, layers), "gradient");
    let (rate, decay) = (step["lr"].as_f64().unwrap(), step["weight_decay"].as_f64().unwrap());
    let decayed: Vec<f64> =
        grads.iter().zip(&start).map(|(grad, value)| grad + decay * value).collect();
    let after = stepped(rate, &decayed, start);
    assert_close(&after, &parameters(&step["params_after"], n, layers), "networks after a step");
}

/// Parameters after the first step of Adam.
fn stepped(rate: f64, grads: &[f64], mut parameters: Vec<f64>) -> Vec<f64> {
    let mut state = AdamState::new(parameters.len());
    Adam::default().step(rate, grads, &mut state, &mut parameters);
    parameters
}

/// Samples backwards, edges that are more likely than not, and no noise: how the reference was run for the golden file.
struct NoNoise;

impl Chance for NoNoise {
    fn order(&self, _: u64, n_samples: usize) -> Vec<usize> {
        (0..n_samples).rev().collect()
    }

    fn fill_uniform(&self, _: Draw, out: &mut [f64]) {
        out.fill(0.5 - 1e-12);
    }

    fn fill_logistic(&self, _: Draw, out: &mut [f64]) {
        out.fill(0.0);
    }
}

#[test]
fn a_graph_step_equals_that_of_the_reference() {
    let golden = golden();
    let step = &golden["graph_step"];
    let (theta, gumbels) = (flat(&golden["theta"]), flat(&step["gumbels"]));
    let (n, batch, layers, width) = (3, 6, 3, 6);
    let tau = step["tau"].as_f64().unwrap();
    let network = Network::new(6, 4, layers);
    // The graph step follows the prediction step.
    let used = parameters(&golden["prediction_step"]["params_after"], n, layers);
    let samples = Samples {
        n_samples: batch,
        inputs: flat(&golden["x"]),
        targets: transposed(&flat(&golden["y"]), batch),
        mask: transposed(&flat(&golden["mask"]), batch),
    };
    let gate = |sample: usize, target: usize, place: usize| {
        let idx = (sample * n + target) * width + place;
        let noise = gumbels[2 * idx] - gumbels[2 * idx + 1];
        ((Logits::Code.of(theta[target * width + place]) + noise) / tau).sigmoid()
    };
    let gates: Vec<Vec<f64>> = (0..n)
        .map(|target| {
            (0..batch * width).map(|idx| gate(idx / width, target, idx % width)).collect()
        })
        .collect();
    let wanted = Wanted { weight_grads: None, inputs: true };
    let passes = network.pass_for(wanted, &used, &samples, &gates);
    let loss: f64 = passes.iter().map(|pass| pass.loss).sum();
    assert_close(&[loss], &[step["loss_data"].as_f64().unwrap()], "loss");
    let lambda = step["lam"].as_f64().unwrap();
    let penalty = theta.iter().map(|theta| theta.sigmoid()).sum::<f64>() / 9.0;
    assert_close(&[penalty], &[step["loss_sparsity"].as_f64().unwrap()], "penalty");
    assert_close(
        &[loss + lambda * penalty],
        &[step["loss"].as_f64().unwrap()],
        "loss with the penalty",
    );
    let grads: Vec<f64> = (0..theta.len())
        .map(|idx| {
            let (target, place) = (idx / width, idx % width);
            let p = theta[idx].sigmoid();
            let data: f64 = (0..batch)
                .map(|sample| {
                    let (at, gate) = (sample * width + place, gate(sample, target, place));
                    passes[target].grad_inputs[at] * samples.inputs[at] * gate * (1.0 - gate)
                })
                .sum();
            data * Logits::Code.slope(theta[idx]) / tau + lambda / 9.0 * p * (1.0 - p)
        })
        .collect();
    assert_close(&grads, &flat(&step["grad_theta"]), "gradient of the graph");
    let after = stepped(step["lr"].as_f64().unwrap(), &grads, theta.clone());
    assert_close(&after, &flat(&step["theta_after"]), "graph after a step");
}

#[test]
fn a_whole_training_equals_that_of_the_reference() {
    let golden = golden();
    let training = &golden["training"];
    let settings = CutsSettings {
        lags: 2,
        sparsity: 0.1,
        fill_after: 3,
        masked_epochs: 3,
        last_epochs: 2,
        fill_rate: 0.1,
        layers: 2,
        hidden_size: 4,
        batch_size: 16,
        weight_decay: 0.001,
        learning_rate: 0.01,
        graph_rate: 0.1,
        logits: Logits::Code,
        seed: 0,
    };
    let table = Table {
        n_variables: 3,
        filled: flat(&training["initial_filled"]),
        observed: flat(&training["mask"]).iter().map(|&seen| seen == 1.0).collect(),
        samples: (2..40).collect(),
    };
    let mut trainer: Trainer<'_, f64> = Trainer::new(&table, &settings);
    trainer.state.parameters = parameters(&training["params"], 3, 2);
    let mut steps = training["steps"].as_array().unwrap().iter();
    // The numbers of a step after its name.
    let mut assert_step = |name: &str, found: &[f64]| {
        let wanted = steps.next().unwrap().as_array().unwrap();
        assert_eq!(wanted[0], name);
        let wanted: Vec<f64> = wanted[1..].iter().flat_map(flat).collect();
        assert_close(found, &wanted, name);
    };
    for _ in 0..settings.epochs() {
        let epoch = trainer.epoch(&NoNoise);
        epoch.predictions.iter().for_each(|&loss| assert_step("prediction", &[loss]));
        for graph in &epoch.graphs {
            assert_step("graph", &[graph.total, graph.density, graph.data, graph.temperature]);
        }
    }
    assert!(steps.next().is_none());
    assert_close(&trainer.state.theta, &flat(&training["theta"]), "graph");
    assert_close(
        &trainer.state.parameters,
        &parameters(&training["params_after"], 3, 2),
        "networks",
    );
}

#[test]
fn the_last_value_is_held_and_a_gap_at_the_start_is_the_mean() {
    let golden = golden();
    let example = &golden["zoh"];
    let (values, mask) = (flat(&example["data"]), flat(&example["mask"]));
    let holed = values
        .iter()
        .zip(&mask)
        .map(|(&value, &seen)| if seen == 1.0 { value } else { f64::NAN })
        .collect();
    let series = ObservedSeries::new("a", 2, (0..8).map(f64::from).collect(), holed).unwrap();
    let data = SeriesSet::new(vec!["x".into(), "y".into()], vec![series]).unwrap();
    let table = Table::new(&data, 1);
    let wanted = flat(&example["filled"]);
    let scales = driftgraph_core::Standardizer::fit(&data).scales().to_vec();
    for (idx, found) in table.filled.iter().enumerate() {
        let variable: Vec<f64> = data.observed_values(idx % 2).collect();
        let mean = variable.iter().sum::<f64>() / variable.len() as f64;
        let was_seen = (0..=idx / 2).any(|row| mask[2 * row + idx % 2] == 1.0);
        // The example is not standardised; the table is, by the observed cells.
        let in_units = mean + found * scales[idx % 2];
        assert!(if was_seen { (in_units - wanted[idx]).abs() < 1e-12 } else { *found == 0.0 });
    }
}
