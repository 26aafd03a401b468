//! Everything one training step reads, for another engine: `tensors.f64` holds all numbers
//! (little-endian), `index.json` names them.

use std::fs;
use std::path::Path;

use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::posterior::bridge::batch::Batch;
use driftgraph_core::testing::posterior::bridge::blocks::Epoch;
use driftgraph_core::testing::posterior::bridge::structure::Pass;
use driftgraph_core::train::bridge::BridgeTrainer;
use serde_json::{Map, Value, json};

/// Named arrays and the numbers they hold.
pub(crate) struct Stored {
    numbers: Vec<f64>,
    tensors: Map<String, Value>,
    index: Map<String, Value>,
}

impl Stored {
    /// Parameters, paths, observations, the batches of an epoch, and the noise of the first one.
    pub(crate) fn new(trainer: &BridgeTrainer, epoch: &Epoch, pass: &Pass) -> Self {
        let (layout, model, state) = (trainer.layout(), trainer.model(), trainer.state());
        let d = model.n_variables();
        let mut stored = Self { numbers: Vec::new(), tensors: Map::new(), index: Map::new() };
        for parameter in model.table().parameters() {
            let slot = parameter.slot;
            let name = format!("parameter.{}", parameter.name);
            stored.add(name, slot.of(&state.parameters), &[slot.rows, slot.cols]);
        }
        let (points, deviation_rows) = (layout.n_points(), layout.n_deviation_rows());
        stored.add("paths.means", &state.paths.means, &[points, d]);
        stored.add("paths.log_deviations", &state.paths.log_deviations, &[deviation_rows, d]);
        stored.add("paths.correlations", &state.paths.correlations, &[deviation_rows, d]);
        let observed: Vec<f64> =
            (0..points).flat_map(|point| layout.observed_row(point).to_vec()).collect();
        stored.add("observed", &observed, &[points, d]);
        let lengths: Vec<f64> = (0..deviation_rows).map(|row| layout.step(row)).collect();
        stored.add("step_lengths", &lengths, &[deviation_rows]);
        stored.add("increment_scales", model.increment_scales(), &[d]);
        for number in 0..epoch.n_batches() {
            stored.add_batch(number, &Batch::new(layout, epoch.batch(number)));
        }
        stored.add_draws(trainer, Batch::new(layout, epoch.batch(0)).n_steps(), pass);
        let chosen = trainer.settings().get();
        for (name, value) in [
            ("n_batches", json!(epoch.n_batches())),
            ("is_neural", json!(model.is_sampled())),
            ("weight_precision", json!(chosen.nets.weight_precision)),
            ("n_graphs", json!(chosen.nets.n_graphs)),
            ("rates", json!(chosen.rates)),
        ] {
            stored.index.insert(name.into(), value);
        }
        stored
    }

    fn add(&mut self, name: impl Into<String>, values: &[f64], shape: &[usize]) {
        let entry = json!({ "offset": self.numbers.len(), "shape": shape });
        self.tensors.insert(name.into(), entry);
        self.numbers.extend_from_slice(values);
    }

    fn add_batch(&mut self, number: usize, batch: &Batch) {
        let of_steps = |place: fn(&Batch, usize) -> usize| -> Vec<usize> {
            (0..batch.n_steps()).map(|step| place(batch, step)).collect()
        };
        for (name, places) in [
            ("points", batch.points.clone()),
            ("spreads", batch.deviation_rows.clone()),
            ("distinct", batch.distinct.clone()),
            ("step_points", of_steps(|batch, step| batch.steps[step].point)),
            ("step_distinct", of_steps(|batch, step| batch.steps[step].distinct)),
            ("start_points", batch.starts.iter().map(|start| start.0).collect()),
            ("start_spreads", batch.starts.iter().map(|start| start.1).collect()),
        ] {
            let values: Vec<f64> = places.iter().map(|&place| place as f64).collect();
            self.add(format!("batch{number}.{name}"), &values, &[values.len()]);
        }
    }

    /// The states' noise and the graphs that the evaluation of a pass draws.
    fn add_draws(&mut self, trainer: &BridgeTrainer, n_steps: usize, pass: &Pass) {
        let model = trainer.model();
        if !model.is_sampled() {
            return;
        }
        let d = model.n_variables();
        let mut noise = vec![0.0; n_steps * d];
        RandomStream::new(pass.seed, Purpose::Brownian, pass.draw).fill_normal(&mut noise);
        self.add("noise", &noise, &[n_steps, d]);
        let n_graphs = model.structure().net_sizes.n_graphs;
        let parameters = &trainer.state().parameters;
        let sampled = model.sampled_graphs(parameters, n_graphs, pass.drawn());
        self.add("graphs", &sampled.graphs.concat(), &[n_graphs, d, d]);
    }

    pub(crate) fn write(mut self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder)?;
        let bytes: Vec<u8> = self.numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        fs::write(folder.join("tensors.f64"), bytes)?;
        self.index.insert("tensors".into(), Value::Object(self.tensors));
        fs::write(folder.join("index.json"), Value::Object(self.index).to_string())?;
        Ok(())
    }
}
