//! Terms, gradients and steps of the reading of LSDE, compared with those of torchsde's solver number by number.

use driftgraph_core::ObservedSeries;

use serde_json::Value;

use super::model::Draws;
use super::*;

/// Sums in another order.
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

/// `[time][series][variable]` of one series.
fn of_series(value: &Value, series: usize) -> Vec<f64> {
    value.as_array().unwrap().iter().flat_map(|row| flat(&row[series])).collect()
}

fn settings(golden: &Value) -> LsdeSettings {
    let size = |name: &str| golden[name].as_u64().unwrap() as usize;
    LsdeSettings {
        steps: 3,
        learning_rate: golden["lr"].as_f64().unwrap(),
        rate_decay: 1.0,
        kl_warmup_steps: 0,
        noise_scale: golden["noise_std"].as_f64().unwrap(),
        units: size("m"),
        hidden_size: size("hidden"),
        context_size: size("context"),
        standardize: false,
        time_unit: TimeUnit::AsGiven,
        time_span: None,
        step_size: golden["dt"].as_f64().unwrap(),
        encoder_input: Told::Values,
        seed: 0,
    }
}

/// The last states, and the divergence of each series between each two rows, of two steps each.
fn ends_and_ratios(trainer: &Trainer<'_, f64>, draws: &Draws<f64>, dt: f64) -> [Vec<f64>; 2] {
    let (steps, d, n_series) = (&trainer.work.steps, 2, draws.increments.len());
    let place = |step: usize, series: usize| (step * n_series + series) * d;
    let last = |series: usize| {
        (0..d).map(move |idx| {
            let at = place(7, series) + idx;
            let dw = draws.increments[series][7 * d + idx];
            trainer.work.step_states[at] + steps.posterior[at] * dt + steps.diffusion[at] * dw
        })
    };
    let divergence = |step: usize, series: usize| {
        let at = place(step, series);
        let control = |at: usize| (steps.posterior[at] - steps.drift[at]) / steps.diffusion[at];
        (at..at + d).map(|at| 0.5 * control(at).powi(2) * dt).sum::<f64>()
    };
    let between =
        |row: usize, series: usize| divergence(2 * row, series) + divergence(2 * row + 1, series);
    [
        (0..n_series).flat_map(last).collect(),
        (0..4 * n_series).map(|idx| between(idx / n_series, idx % n_series)).collect(),
    ]
}

#[test]
fn terms_gradients_and_steps_equal_those_of_the_reference() {
    let golden: Value = serde_json::from_str(include_str!("../../tests/golden/lsde.json")).unwrap();
    let (settings, input) = (settings(&golden), EncoderInput::Values);
    let (d, n_series) = (2, 3);
    let series: Vec<PlannedSeries<f64>> = (0..n_series)
        .map(|idx| {
            let values = of_series(&golden["xs"], idx);
            let series = ObservedSeries::new("a", d, flat(&golden["ts"]), values).unwrap();
            PlannedSeries::new(&series, StepGrid::Exact, settings.step_size, input).unwrap()
        })
        .collect();
    let draws = Draws {
        first: flat(&golden["eps"]),
        increments: (0..n_series).map(|idx| of_series(&golden["dW"], idx)).collect(),
    };
    let sizes = settings.sizes(d, input);
    let (_, table) = model::Model::new(sizes);
    let mut trainer: Trainer<'_, f64> = Trainer::new(&settings, &series, sizes);
    for parameter in table.parameters() {
        let wanted = flat(&golden["params"][&parameter.name]);
        parameter.slot.of_mut(&mut trainer.state.parameters).copy_from_slice(&wanted);
    }
    assert_close(&trainer.scores(), &flat(&golden["graph"]), "graph");
    for step in 0..3 {
        let terms = trainer.step(&draws, 1.0);
        let loss = terms.initial_kl + terms.path_kl - terms.log_likelihood;
        assert_close(&[loss], &[golden["losses_of_3_steps"][step].as_f64().unwrap()], "loss");
        if step > 0 {
            continue;
        }
        let wanted = &golden["terms"];
        assert_close(&[terms.path_kl], &flat(&wanted["kl_path"]), "divergence of paths");
        assert_close(&[terms.initial_kl], &flat(&wanted["kl0"]), "divergence of first states");
        assert_close(&[terms.log_likelihood], &flat(&wanted["log_pxs"]), "likelihood");
        // States at the beginnings of steps, `[step, series, variable]`, of which two are between rows of the data.
        let width = n_series * d;
        let starts = trainer.work.step_states.chunks_exact(width).step_by(2).flatten();
        let starts: Vec<f64> = starts.copied().collect();
        let [paths, ratios] = ends_and_ratios(&trainer, &draws, settings.step_size);
        assert_close(&[starts, paths].concat(), &flat(&wanted["zs"]), "paths");
        assert_close(&ratios, &flat(&wanted["log_ratio"]), "divergence between rows");
        assert_close(&trainer.work.contexts, &flat(&wanted["context"]), "contexts");
        for parameter in table.parameters() {
            let (wanted, name) = (flat(&golden["grads"][&parameter.name]), &parameter.name);
            assert_close(
                parameter.slot.of(&trainer.grads),
                &wanted,
                &format!("gradient of {name}"),
            );
        }
    }
    for parameter in table.parameters() {
        let (wanted, name) = (flat(&golden["params_after_3"][&parameter.name]), &parameter.name);
        assert_close(parameter.slot.of(&trainer.state.parameters), &wanted, name);
    }
}
