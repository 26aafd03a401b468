//! How much memory a fit of the simulated posterior will need.

use super::error::FitError;
use super::settings::CheckedSettings;
use super::time::TimeScaling;
use super::trainer::architecture;
use crate::SeriesSet;
use crate::nn::node_function::NodeTrace;
use crate::posterior::batch::{MAX_LANES, chunk_len};
use crate::posterior::plan::PlannedSeries;
use crate::posterior::simulated::SimulatedPosterior;

const SINGLE: usize = size_of::<f32>();

/// Bytes that fitting needs at its peak: the data, parameters and their moments, and the activations
/// of as many chunks of series as there are threads.
///
/// What a program needs besides, to read tables and to write results, comes on top.
pub fn predicted_bytes(
    data: &SeriesSet,
    settings: &CheckedSettings,
    n_threads: usize,
) -> Result<u64, FitError> {
    let model = SimulatedPosterior::new(architecture(settings, data.variables())?);
    let time_scaling = TimeScaling::new(data, settings.time_unit, settings.time_span);
    let (mut n_rows, mut planned, mut longest) = (0, 0, (0, 0));
    for series in data.series() {
        let scaled = time_scaling.apply_to(series)?;
        let (grid, step_size) = (settings.step_grid, settings.step_size);
        let plan = PlannedSeries::<f32>::new(&scaled, grid, step_size, settings.encoder_input)?;
        n_rows += series.n_observations();
        // A step keeps its length and the place of its context, an observation its places.
        planned += (plan.values.len() + plan.inputs.len()) * SINGLE
            + plan.n_steps() * (SINGLE + size_of::<usize>())
            + plan.readouts.len() * size_of_val(&plan.readouts[..1.min(plan.readouts.len())]);
        longest = longest.max((plan.n_steps(), series.n_observations()));
    }
    let batch_len = settings.batch_size.map_or(data.n_series(), |size| size.min(data.n_series()));
    let n_series = chunk_len::<f32>(&model, batch_len, longest.0);
    let n_lanes = batch_len.div_ceil(n_series).min(MAX_LANES);
    // Now and at the last good step, each with two moments; the gradient twice; one gradient per lane.
    let parameters = (8 + n_lanes) * model.table.gradient_len() * SINGLE;
    let chunks =
        n_lanes.min(n_threads.max(1)) * chunk_bytes(&model, n_series, longest.0, longest.1);
    // The data themselves, and a standardised copy while the series are planned.
    let data_bytes = 2 * n_rows * (data.n_variables() + 1) * size_of::<f64>();
    Ok((data_bytes + planned + parameters + chunks) as u64)
}

/// Activations and adjoints of one chunk of series with the given numbers of steps and observations.
fn chunk_bytes(
    model: &SimulatedPosterior,
    n_series: usize,
    n_steps: usize,
    n_observations: usize,
) -> usize {
    let d = model.architecture.n_variables;
    let sizes = model.process.drift.sizes();
    let (hidden, layers) = (model.drift.n_hidden(), model.architecture.posterior_layers);
    let (gru, context) = (model.architecture.hidden_size, model.architecture.context_size);
    // Graphs, strengths and their adjoints.
    let pairs = 8 * d * d;
    // States, drifts, diffusions and their adjoints; messages of the prior drift; activations of
    // the diffusion.
    let per_cell =
        14 + 2 * sizes.embedding + NodeTrace::<f32>::floats_per_row(&model.process.diffusion);
    // Activations, slopes and adjoints of every layer of the posterior drift; a sweep's hidden layers.
    let per_step = 3 * layers * hidden + 4 * sizes.width + 2 * sizes.embedding;
    // The contexts' share of a layer, gates and states of the encoder, contexts; all with adjoints.
    let per_observation = 2 * hidden + 10 * gru + 2 * context + 2 * d;
    n_series
        * (pairs + n_steps * (d * per_cell + per_step) + n_observations * per_observation)
        * SINGLE
}
