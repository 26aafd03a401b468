//! Times the simulation of a fitted neural model of ten variables.
//!
//! `simulate_speed [--paths N] [--steps N] [--threads N] [--write FOLDER]` fits a linear and neural drift
//! to Lorenz-96 data, simulates it and prints one line of JSON: seconds, and the moments of all
//! variables at the end. With `--write`, the model is stored for another engine: `tensors.f64` holds
//! all numbers (little-endian), `index.json` names them.

use std::fs;
use std::path::Path;
use std::time::Instant;

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::arrays::Values;
use driftgraph_core::fitted::model::{FittedModel, ModelDescription};
use driftgraph_core::fitted::simulate::SimulateSettings;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::testing::posterior::bridge::structure::DriftParts;
use driftgraph_core::train::bridge::{BridgeSettings, NoiseScale};
use driftgraph_core::train::progress::Silent;
use driftgraph_core::train::select::{Task, fit_ensemble};
use driftgraph_systems::generate::generate;
use driftgraph_systems::recipe::Recipe;
use driftgraph_systems::registry;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// Training steps: enough that the network is not the zero it starts from.
const TRAINING_STEPS: u64 = 300;
/// A horizon over which the learned process stays bounded; its solver steps are as many as asked.
const HORIZON: f64 = 2.0;

fn data() -> anyhow::Result<SeriesSet> {
    let system = registry::build("lorenz96", &[], 0)?;
    let recipe = Recipe::usual(system.as_ref(), 0);
    Ok(generate(system.as_ref(), &recipe)?.data)
}

fn fitted_model() -> anyhow::Result<FittedModel> {
    let data = data()?;
    let settings = BridgeSettings {
        drift: DriftParts::LinearAndNeural,
        noise_scale: NoiseScale::Fixed { scale: 0.01 },
        max_steps: Some(TRAINING_STEPS),
        schedule_steps: TRAINING_STEPS,
        ..BridgeSettings::default()
    };
    let knowledge = EdgePrior::new(data.n_variables(), 0.0);
    let task = Task { data: &data, knowledge: &knowledge };
    let ensemble = fit_ensemble(task, &settings, 1, &Silent)?;
    Ok(FittedModel::from_ensemble(&ensemble, &knowledge, &data))
}

/// Stores all arrays of the model, and what is needed beside them.
fn write(folder: &Path, model: &FittedModel, step: f64) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    let ModelDescription::Bridge(description) = model.description() else {
        anyhow::bail!("the model is not a bridge model");
    };
    let (mut bytes, mut tensors) = (Vec::new(), Vec::new());
    for array in model.arrays() {
        let Values::Double(values) = &array.values else { continue };
        if let Some(name) =
            array.name.strip_prefix("member0.").filter(|name| !name.starts_with("paths"))
        {
            let entry = json!({"name": name, "shape": array.shape, "offset": bytes.len() / 8});
            tensors.push(entry);
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        }
    }
    fs::write(folder.join("tensors.f64"), bytes)?;
    let index = json!({
        "tensors": tensors,
        "increment_scales": description.increment_scales,
        // The solver's step in the model's own time.
        "step": step / description.time_unit,
        "means": description.standardizer.means(),
        "scales": description.standardizer.scales(),
    });
    fs::write(folder.join("index.json"), index.to_string())?;
    Ok(())
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn measure(model: &FittedModel, n_paths: usize, n_steps: usize) -> anyhow::Result<Value> {
    let settings = SimulateSettings {
        n_paths,
        step_size: Some(HORIZON / n_steps as f64),
        ..SimulateSettings::new(vec![0.0, HORIZON])
    };
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    let paths = model.simulate(&settings, None, &|_| ())?;
    let (cpu, wall) = (cpu_seconds() - cpu, wall.elapsed().as_secs_f64());
    anyhow::ensure!(paths.n_steps == n_steps, "{} steps instead of {n_steps}", paths.n_steps);
    let bands = paths.bands();
    let d = model.n_variables();
    Ok(json!({
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "steps": n_steps,
        "paths": n_paths,
        "means": bands.mean[d..],
        "deviations": bands.deviation[d..],
    }))
}

#[expect(clippy::print_stdout, reason = "the line of JSON is this program's result")]
fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name);
        place.and_then(|place| arguments.get(place + 1))
    };
    let number = |name: &str, default: usize| match option(name) {
        Some(text) => text.parse(),
        None => Ok(default),
    };
    let (n_paths, n_steps) = (number("--paths", 10_000)?, number("--steps", 1000)?);
    let model = fitted_model()?;
    if let Some(folder) = option("--write") {
        write(Path::new(folder), &model, HORIZON / n_steps as f64)?;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(number("--threads", 1)?).build()?;
    println!("{}", pool.install(|| measure(&model, n_paths, n_steps))?);
    Ok(())
}
