//! Times one training step of the published model: forward, backward, Adam.
//!
//! `step_speed small|small-wide|large|large-wide [--threads N] [--steps N] [--write FOLDER]` prints one line of JSON. With
//! `--write`, weights, data and noise are stored for another engine: `tensors.f32` holds all numbers
//! (little-endian), `index.json` names them.

use std::fs;
use std::path::Path;
use std::time::Instant;

use driftgraph_core::ObservedSeries;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::process::prior::NodeVariant;
use driftgraph_core::process::solver::Scheme;
use driftgraph_core::random::{Purpose, RandomStream};
use driftgraph_core::testing::nn::init::initial_values;
use driftgraph_core::testing::objective::observation::ObservationNoise;
use driftgraph_core::testing::posterior::batch::{BatchObjective, BatchTask, Evaluation};
use driftgraph_core::testing::posterior::chunk::PathDraws;
use driftgraph_core::testing::posterior::plan::{EncoderInput, PlannedSeries, StepGrid};
use driftgraph_core::testing::posterior::simulated::{Architecture, GraphTerm, SimulatedPosterior};
use driftgraph_core::train::adam::{Adam, AdamState};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const SEED: u64 = 1;
const STEP_SIZE: f64 = 0.05;
const SPARSITY: f64 = 200.0;
const KL_WEIGHT: f64 = 0.5;
const LEARNING_RATE: f64 = 1e-3;

/// Shape of the data, and width of the node functions: the paper's, or the published code's wider one.
#[derive(Debug, Clone, Copy)]
struct Size {
    n_variables: usize,
    n_series: usize,
    n_steps: usize,
    width: usize,
}

impl Size {
    fn named(name: &str) -> Option<Self> {
        match name {
            "small" => Some(Self { n_variables: 10, n_series: 10, n_steps: 100, width: 32 }),
            "small-wide" => Some(Self { width: 64, ..Self::named("small")? }),
            "large" => Some(Self { n_variables: 100, n_series: 46, n_steps: 21, width: 200 }),
            "large-wide" => Some(Self { width: 400, ..Self::named("large")? }),
            _ => None,
        }
    }

    /// As many observations as steps; the last step is half as long, so that rounding of the
    /// added times can neither lose nor add a step.
    fn times(self) -> Vec<f64> {
        let end = (self.n_steps as f64 - 0.5) * STEP_SIZE;
        (0..self.n_steps).map(|idx| end * idx as f64 / (self.n_steps - 1) as f64).collect()
    }

    fn architecture(self) -> Architecture {
        Architecture {
            n_variables: self.n_variables,
            node_variant: NodeVariant::Published,
            embedding_size: 32,
            node_width: Some(self.width),
            hidden_size: 128,
            posterior_layers: 2,
            context_size: 64,
            encoder_input: EncoderInput::Values,
            noise: ObservationNoise::Laplace,
            noise_scale: 0.01,
            learn_noise_scale: false,
            temperature: 0.25,
            graph_term: GraphTerm::Published,
            scheme: Scheme::EulerMaruyama,
            diffusion_floor: 1e-7,
            edge_prior: EdgePrior::new(self.n_variables, SPARSITY),
        }
    }
}

/// Standard normal numbers of one purpose.
fn normals(purpose: Purpose, len: usize) -> Vec<f32> {
    let mut draws = vec![0.0; len];
    RandomStream::new(SEED, purpose, 0).fill_normal(&mut draws);
    draws.into_iter().map(|draw| draw as f32).collect()
}

/// Everything a step reads: `[series, ..]`.
struct Inputs {
    size: Size,
    times: Vec<f64>,
    observed: Vec<f32>,
    /// Difference of the two Gumbel numbers of each edge.
    graph_noise: Vec<f32>,
    initial_noise: Vec<f32>,
    /// Standard normal numbers `[series, step, variable]`.
    path_noise: Vec<f32>,
}

impl Inputs {
    fn new(size: Size) -> Self {
        let Size { n_variables: d, n_series, n_steps, .. } = size;
        let mut uniforms = RandomStream::new(SEED, Purpose::Graph, 0);
        let logistic = |_| {
            let uniform = uniforms.uniform().max(1e-12);
            (uniform / (1.0 - uniform)).ln() as f32
        };
        Self {
            size,
            times: size.times(),
            observed: normals(Purpose::MeasurementNoise, n_series * n_steps * d),
            graph_noise: (0..n_series * d * d).map(logistic).collect(),
            initial_noise: normals(Purpose::InitialState, n_series * d),
            path_noise: normals(Purpose::Brownian, n_series * n_steps * d),
        }
    }

    fn objective(&self) -> anyhow::Result<BatchObjective<f32>> {
        let Size { n_variables: d, n_series, n_steps, .. } = self.size;
        let plans = (0..n_series).map(|series| {
            let values = &self.observed[series * n_steps * d..(series + 1) * n_steps * d];
            let values = values.iter().map(|&value| f64::from(value)).collect();
            let series = ObservedSeries::new("series", d, self.times.clone(), values)?;
            let input = EncoderInput::Values;
            let plan = PlannedSeries::new(&series, StepGrid::Published, STEP_SIZE, input)?;
            anyhow::ensure!(plan.n_steps() == n_steps, "{} steps planned", plan.n_steps());
            Ok(plan)
        });
        let plans = plans.collect::<anyhow::Result<_>>()?;
        Ok(BatchObjective::new(SimulatedPosterior::new(self.size.architecture()), plans))
    }

    /// Initial weights; edge logits and edge weights, which start at 0, are drawn too, so that every
    /// gradient counts in the comparison of engines.
    fn parameters(model: &SimulatedPosterior) -> anyhow::Result<Vec<f32>> {
        let mut parameters = initial_values(&model.table, SEED);
        for (stream, name) in
            ["edge_logits", "prior_drift.edge_weights", "diffusion.edge_weights"].iter().enumerate()
        {
            let found = model.table.find(name);
            let slot = found.ok_or_else(|| anyhow::anyhow!("no parameter `{name}`"))?.slot;
            let mut draws = vec![0.0; slot.len()];
            RandomStream::new(SEED, Purpose::System, stream as u64).fill_normal(&mut draws);
            for (parameter, draw) in slot.of_mut(&mut parameters).iter_mut().zip(draws) {
                *parameter = 0.3 * draw as f32;
            }
        }
        Ok(parameters)
    }

    /// Stores parameters and inputs for another engine.
    fn write(
        &self,
        folder: &Path,
        model: &SimulatedPosterior,
        parameters: &[f32],
    ) -> anyhow::Result<()> {
        let Size { n_variables: d, n_series, n_steps, .. } = self.size;
        let mut numbers = parameters.to_vec();
        let mut tensors = serde_json::Map::new();
        for parameter in model.table.parameters() {
            let slot = parameter.slot;
            let entry = json!({ "offset": slot.offset, "shape": [slot.rows, slot.cols] });
            tensors.insert(format!("parameter.{}", parameter.name), entry);
        }
        let times: Vec<f32> = self.times.iter().map(|&time| time as f32).collect();
        for (name, values, shape) in [
            ("times", &times, vec![n_steps]),
            ("observed", &self.observed, vec![n_series, n_steps, d]),
            ("graph_noise", &self.graph_noise, vec![n_series, d, d]),
            ("initial_noise", &self.initial_noise, vec![n_series, d]),
            ("path_noise", &self.path_noise, vec![n_series, n_steps, d]),
        ] {
            tensors.insert(name.into(), json!({ "offset": numbers.len(), "shape": shape }));
            numbers.extend_from_slice(values);
        }
        let architecture = &model.architecture;
        let index = json!({
            "step_size": STEP_SIZE,
            "sparsity": SPARSITY,
            "kl_weight": KL_WEIGHT,
            "learning_rate": LEARNING_RATE,
            "noise_scale": architecture.noise_scale,
            "temperature": architecture.temperature,
            "diffusion_floor": architecture.diffusion_floor,
            "tensors": tensors,
        });
        fs::create_dir_all(folder)?;
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        fs::write(folder.join("tensors.f32"), bytes)?;
        fs::write(folder.join("index.json"), serde_json::to_string_pretty(&index)?)?;
        Ok(())
    }
}

impl PathDraws<f32> for Inputs {
    fn graph(&self, series: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.graph_noise[series * out.len()..][..out.len()]);
    }

    fn initial_state(&self, series: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.initial_noise[series * out.len()..][..out.len()]);
    }

    fn path(&self, series: usize, out: &mut [f32]) {
        out.copy_from_slice(&self.path_noise[series * out.len()..][..out.len()]);
    }
}

/// CPU milliseconds used so far by this process or by this thread.
fn cpu_ms(clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 * 1e-6
}

/// CPU milliseconds used so far by each thread of the current pool.
fn cpu_ms_by_thread() -> Vec<f64> {
    rayon::broadcast(|_| cpu_ms(ClockId::ThreadCPUTime))
}

/// The fastest step counts: other work on the machine only slows.
fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Highest memory use of this process so far, in MB.
fn peak_memory_mb() -> anyhow::Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: f64 = kilobytes.ok_or_else(|| anyhow::anyhow!("no VmHWM"))?.parse()?;
    Ok(kilobytes * 1024e-6)
}

/// Runs and times the steps on the current thread pool.
fn measure(
    inputs: &Inputs,
    objective: &mut BatchObjective<f32>,
    mut parameters: Vec<f32>,
    n_timed: usize,
) -> anyhow::Result<Value> {
    let batch: Vec<usize> = (0..inputs.size.n_series).collect();
    let mut state = AdamState::new(parameters.len());
    let mut first: Option<(Evaluation, f64)> = None;
    let (mut cpu, mut busiest, mut wall) = (Vec::new(), Vec::new(), Vec::new());
    // The first step makes the buffers and is not timed.
    for step in 0..=n_timed {
        let threads_start = cpu_ms_by_thread();
        let (cpu_start, wall_start) = (cpu_ms(ClockId::ProcessCPUTime), Instant::now());
        let task = BatchTask {
            parameters: &parameters,
            batch: &batch,
            draws: inputs,
            kl_weight: KL_WEIGHT,
        };
        let evaluation = objective.evaluate(task);
        Adam::default().step(LEARNING_RATE, objective.gradient(), &mut state, &mut parameters);
        if step > 0 {
            cpu.push(cpu_ms(ClockId::ProcessCPUTime) - cpu_start);
            wall.push(wall_start.elapsed().as_secs_f64() * 1e3);
            let by_thread = cpu_ms_by_thread().into_iter().zip(threads_start);
            busiest.push(by_thread.map(|(end, start)| end - start).fold(0.0, f64::max));
        }
        first.get_or_insert_with(|| {
            let squares = objective.gradient().iter().map(|&grad| f64::from(grad).powi(2));
            (evaluation, squares.sum::<f64>().sqrt())
        });
    }
    let (evaluation, gradient_norm) = first.ok_or_else(|| anyhow::anyhow!("no step was taken"))?;
    Ok(json!({
        "cpu_ms": least(&cpu),
        "busiest_thread_cpu_ms": least(&busiest),
        "wall_ms": least(&wall),
        "loss": evaluation.loss,
        "gradient_norm": gradient_norm,
        "peak_memory_mb": peak_memory_mb()?,
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
    let size = arguments.first().and_then(|name| Size::named(name));
    let size = size.ok_or_else(|| anyhow::anyhow!("name a size: small or large"))?;
    let (n_threads, n_timed) = (number("--threads", 1)?, number("--steps", 5)?);
    anyhow::ensure!(n_timed > 0, "--steps must be at least 1");
    let inputs = Inputs::new(size);
    let mut objective = inputs.objective()?;
    let parameters = Inputs::parameters(objective.model())?;
    if let Some(folder) = option("--write") {
        inputs.write(Path::new(folder), objective.model(), &parameters)?;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build()?;
    let result = pool.install(|| measure(&inputs, &mut objective, parameters, n_timed))?;
    println!("{result}");
    Ok(())
}
