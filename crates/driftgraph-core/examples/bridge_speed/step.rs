//! One training step: its time, and what it computes from given numbers.

use std::path::Path;

use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::testing::posterior::bridge::batch::Batch;
use driftgraph_core::testing::posterior::bridge::blocks::Epoch;
use driftgraph_core::testing::posterior::bridge::model::Workspace;
use driftgraph_core::testing::posterior::bridge::structure::{DriftParts, Pass};
use driftgraph_core::train::bridge::{BridgeSettings, BridgeTrainer, NoiseScale};
use driftgraph_core::{ObservedSeries, SeriesSet};
use driftgraph_systems::generate::generate;
use driftgraph_systems::recipe::Recipe;
use driftgraph_systems::registry;
use serde_json::{Value, json};

use crate::clock::{cpu_seconds, median, peak_memory_mb};
use crate::stored::Stored;

const SEED: u64 = 1;
/// Steps before anything is compared or timed, after which no parameter is what it started as.
const FIRST_STEPS: u64 = 60;

/// What is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// 100 variables, 46 series of 21 points: the shape of a DREAM3 network.
    Linear,
    /// 10 variables, 10 series of 100 points, linear and neural drift of the default widths.
    Neural,
}

impl Case {
    fn data(self) -> anyhow::Result<SeriesSet> {
        match self {
            Self::Linear => made("linear", 100, 46, 21),
            Self::Neural => made("lorenz96", 10, 10, 100),
        }
    }

    fn drift(self) -> DriftParts {
        match self {
            Self::Linear => DriftParts::Linear,
            Self::Neural => DriftParts::LinearAndNeural,
        }
    }
}

/// Series of a known system over its usual times.
fn made(
    system: &str,
    n_variables: usize,
    n_series: usize,
    n_points: usize,
) -> anyhow::Result<SeriesSet> {
    let system = registry::build(system, &[("variables", n_variables as f64)], SEED)?;
    let recipe = Recipe { n_series, n_points, ..Recipe::usual(system.as_ref(), SEED) };
    Ok(generate(system.as_ref(), &recipe)?.data)
}

fn trainer(
    data: &SeriesSet,
    drift: DriftParts,
    step_size: Option<f64>,
) -> anyhow::Result<BridgeTrainer> {
    let settings = BridgeSettings {
        seed: SEED,
        drift,
        step_size,
        noise_scale: NoiseScale::Learned,
        ..BridgeSettings::default()
    };
    let knowledge = EdgePrior::new(data.n_variables(), 0.0);
    Ok(BridgeTrainer::new(data, &knowledge, settings.check()?)?)
}

/// CPU milliseconds of one training step, the middle one of `n_timed`.
fn timed(trainer: &mut BridgeTrainer, n_timed: usize) -> anyhow::Result<f64> {
    let mut times = Vec::with_capacity(n_timed);
    for _ in 0..n_timed {
        let start = cpu_seconds();
        trainer.step()?;
        times.push(1e3 * (cpu_seconds() - start));
    }
    Ok(median(times))
}

/// Time of a step; with a folder, everything another engine needs for the same step.
pub(crate) fn measure(case: Case, n_timed: usize, folder: Option<&Path>) -> anyhow::Result<Value> {
    let data = case.data()?;
    let mut trainer = trainer(&data, case.drift(), None)?;
    for _ in 0..FIRST_STEPS {
        trainer.step()?;
    }
    let epoch = Epoch::new(trainer.layout(), trainer.n_batches(), SEED, 0);
    let pass =
        Pass { weight: epoch.n_batches() as f64, prior_weight: 1.0, seed: SEED, draw: FIRST_STEPS };
    let batch = Batch::new(trainer.layout(), epoch.batch(0));
    let mut work = Workspace::default();
    let learned = trainer.state().learned();
    let evaluated = trainer.model().evaluate(trainer.layout(), &batch, &pass, learned, &mut work);
    let terms = evaluated.ok_or_else(|| anyhow::anyhow!("the determinant is zero"))?;
    let local = &work.local_grads;
    let all = [&work.grads, &local.means, &local.log_deviations, &local.correlations];
    let squares: f64 = all.iter().flat_map(|grads| grads.iter()).map(|grad| grad * grad).sum();
    if let Some(folder) = folder {
        Stored::new(&trainer, &epoch, &pass).write(folder)?;
    }
    Ok(json!({
        "cpu_ms": timed(&mut trainer, n_timed)?,
        "peak_memory_mb": peak_memory_mb()?,
        "steps_per_batch": batch.n_steps(),
        "log_likelihood": terms.log_likelihood,
        "initial_kl": terms.initial_kl,
        "path_kl": terms.path_kl,
        "graph_kl": terms.graph_kl,
        "gradient_norm": squares.sqrt(),
    }))
}

/// Series of different paces: those of the same times would share parts of the work.
fn paced(data: &SeriesSet) -> anyhow::Result<SeriesSet> {
    let series = data.series().iter().enumerate().map(|(idx, series)| {
        let n = series.n_observations();
        let pace = 1.0 + idx as f64 / 1000.0;
        let times = (0..n).map(|row| pace * row as f64).collect();
        let values = (0..n).flat_map(|row| series.row(row).to_vec()).collect();
        ObservedSeries::new(series.name(), data.n_variables(), times, values)
    });
    Ok(SeriesSet::new(data.variables().to_vec(), series.collect::<Result<_, _>>()?)?)
}

/// Time of a step on ten variables, with about as many steps per batch whatever the length.
pub(crate) fn measure_length(n_points: usize, n_timed: usize) -> anyhow::Result<Value> {
    // Two batches of nearly the full size at least.
    let n_series = (2400 / (n_points - 1)).max(2);
    let data = paced(&made("linear", 10, n_series, n_points)?)?;
    // Longer than any gap: one step from each point to the next.
    let mut trainer = trainer(&data, DriftParts::Linear, Some(2.0))?;
    timed(&mut trainer, FIRST_STEPS as usize)?;
    Ok(json!({
        "cpu_ms": timed(&mut trainer, n_timed)?,
        "series": n_series,
        "points": n_points,
        "steps_per_batch": trainer.layout().n_steps() / trainer.n_batches(),
        "peak_memory_mb": peak_memory_mb()?,
    }))
}
