//! Terms, gradients and steps of the reference's modules, compared number by number.

use serde_json::Value;

use super::model::{Model, Shape};
use super::settings::{NoiseLaw, RhinoSettings};
use super::spline::Order;
use super::*;
use crate::regular::Gaps;

/// Sums in another order, and derivatives of splines in another form.
const TOLERANCE: f64 = 1e-8;

/// All numbers of nested lists, in order.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(flat).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

fn assert_close(found: &[f64], wanted: &[f64], what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(
            (found - wanted).abs() < TOLERANCE * wanted.abs().max(1.0),
            "{what}: {found} and {wanted}"
        );
    }
}

fn shape_of(case: &Value) -> Shape {
    let settings = &case["settings"];
    let sizes =
        |name: &str| flat(&settings[name]).iter().map(|&size| size as usize).collect::<Vec<_>>();
    let d = settings["D"].as_u64().unwrap() as usize;
    let embedding = |name: &str| settings[name].as_u64().map_or(d, |size| size as usize);
    let is_normal = case["name"] == "gaussian_noinst";
    let order = serde_json::from_value::<Order>(settings["order"].clone()).ok();
    let noise_sizes = |name: &str| if settings[name].is_array() { sizes(name) } else { vec![4] };
    Shape {
        n_variables: d,
        lags: settings["lag"].as_u64().unwrap() as usize,
        within: settings["inst"] == true,
        order: order.filter(|_| !is_normal),
        embedding: embedding("emb"),
        noise_embedding: embedding("cemb"),
        hidden: [sizes("enc"), sizes("dec")],
        noise_hidden: [noise_sizes("cenc"), noise_sizes("cdec")],
    }
}

#[test]
fn terms_gradients_and_steps_equal_those_of_the_reference() {
    let golden: Value =
        serde_json::from_str(include_str!("../../tests/golden/rhino.json")).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let shape = shape_of(case);
        let what = case["name"].as_str().unwrap();
        let (_, table) = Model::new(&shape);
        let number = |group: &str, name: &str| case[group][name].as_f64().unwrap();
        let settings = RhinoSettings {
            within: shape.within,
            lags: shape.lags,
            noise_law: NoiseLaw::Linear,
            sparsity: number("loss_settings", "lam"),
            none_logit: 0.0,
            learning_rate: number("adam_lr", "other"),
            batch_size: 64,
            rounds: 1,
            steps: 100,
            embedding_size: None,
            noise_embedding_size: None,
            hidden_size: None,
            layers: 1,
            gaps: Gaps::LeaveOut,
            seed: 0,
        };
        // As many windows as the reference was told of; only those of the file are used.
        let width = (shape.lags + 1) * shape.n_variables;
        let windows = vec![0.0; number("loss_settings", "N") as usize * width];
        let mut trainer = Trainer::new(&shape, &settings, &windows);
        trainer.set_penalties(number("loss_settings", "alpha"), number("loss_settings", "rho"));
        for parameter in table.parameters() {
            let wanted = flat(&case["params"][&parameter.name]);
            parameter.slot.of_mut(&mut trainer.state.parameters).copy_from_slice(&wanted);
        }
        let noise = [flat(&case["gumbel_inst"]), flat(&case["gumbel_lag"])];
        let sample = trainer.model.graph.sample(&trainer.state.parameters, &noise[0], &noise[1]);
        check_graph(&sample.edges, case, what);
        for step in 0..3 {
            let pass = trainer.step::<f64>(&flat(&case["x"]), &noise);
            assert_close(&[pass.loss], &[case["losses_of_3_steps"][step].as_f64().unwrap()], what);
            if step > 0 {
                continue;
            }
            let terms = &case["terms"];
            assert_close(
                &[pass.cyclicity, pass.entropy],
                &[flat(&terms["h"])[0], flat(&terms["entropy"])[0]],
                what,
            );
            assert_close(&pass.means, &flat(&terms["pred"]), &format!("{what}, means"));
            assert_close(
                &pass.log_densities,
                &flat(&terms["log_p_base"]),
                &format!("{what}, densities"),
            );
            for (name, wanted) in case["grad_norms"].as_object().unwrap() {
                let slot = table.find(name).unwrap().slot;
                let norm = slot.of(&pass.grads).iter().map(|grad| grad * grad).sum::<f64>().sqrt();
                let what = format!("{what}, norm of the gradient of {name}");
                assert_close(&[norm], &flat(wanted), &what);
            }
            for parameter in table.parameters() {
                let wanted = &case["grads"][&parameter.name];
                if wanted.is_array() || wanted.is_number() {
                    let what = format!("{what}, gradient of {}", parameter.name);
                    assert_close(parameter.slot.of(&pass.grads), &flat(wanted), &what);
                }
            }
        }
        // The file has those after the three steps.
        let found = trainer.model.graph.probabilities(&trainer.state.parameters);
        // Without edges within a row the reference still gives them a probability, which nothing learns.
        let first = if shape.within { 0 } else { shape.n_variables * shape.n_variables };
        assert_close(&found[first..], &flat(&case["adjacency_probability"])[first..], what);
        for (name, wanted) in case["params_after_3"].as_object().unwrap() {
            let parameter = table.find(name).unwrap();
            assert_close(
                parameter.slot.of(&trainer.state.parameters),
                &flat(wanted),
                &format!("{what}, {name}"),
            );
        }
    }
}

/// The sampled graph, what it costs for its edges, and for its cycles.
fn check_graph(edges: &[f64], case: &Value, what: &str) {
    let (terms, settings) = (&case["terms"], &case["loss_settings"]);
    let number = |value: &Value| value.as_f64().unwrap();
    assert_close(edges, &flat(&terms["A"]), &format!("{what}, graph"));
    let log_prior = -number(&settings["lam"]) * edges.iter().sum::<f64>();
    assert_close(&[log_prior], &flat(&terms["log_p_A"]), &format!("{what}, prior"));
    let h = number(&terms["h"]);
    let penalty = number(&settings["alpha"]) * h + 0.5 * number(&settings["rho"]) * h * h;
    let per_window = penalty / number(&settings["N"]);
    assert_close(&[per_window], &flat(&terms["penalty"]), &format!("{what}, cycles"));
}
