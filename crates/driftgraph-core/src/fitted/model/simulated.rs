//! The simulated posterior's part of a model: the fit, and states that its series have visited.

use crate::fitted::arrays::{
    Allowed, ArraySource, NamedArray, check_head, read_doubles, read_singles,
};
use crate::fitted::error::ModelError;
use crate::train::fit::FitSummary;
use crate::{Fit, SeriesSet};

/// Most visited states kept with a model.
const MOST_VISITED: usize = 512;
/// Largest width of a network that a description may ask for.
const MAX_WIDTH: usize = 1 << 20;
const VISITED: &str = "visited_states";
const SPAN: &str = "visited_time";

/// The simulated posterior's part of a model.
#[derive(Debug, Clone)]
pub(crate) struct SimulatedPart {
    pub(crate) fit: Fit,
    /// States that the series have visited, `[state, variable]`, standardised.
    pub(crate) visited: Vec<f64>,
    /// Length of all series, in the model's units of time; `None` in models of old.
    pub(crate) span: Option<f64>,
}

impl SimulatedPart {
    pub(super) fn new(fit: Fit, data: &SeriesSet) -> Self {
        let visited = visited_states(&fit.standardizer().apply(data));
        let lengths = data.series().iter().map(|series| {
            let times = series.times();
            times[times.len() - 1] - times[0]
        });
        let span = Some(fit.time_scaling().scale * lengths.sum::<f64>());
        Self { fit, visited, span }
    }

    pub(super) fn arrays(&self) -> Vec<NamedArray> {
        let d = self.fit.variables().len();
        let mut arrays: Vec<NamedArray> = (self.fit.named_parameters())
            .map(|parameter| {
                let shape = [parameter.shape.0, parameter.shape.1];
                NamedArray::single(parameter.name, shape, parameter.values.to_vec())
            })
            .collect();
        let shape = [self.visited.len() / d, d];
        arrays.push(NamedArray::double(VISITED, shape, self.visited.clone()));
        arrays.extend(self.span.map(|span| NamedArray::double(SPAN, [1, 1], vec![span])));
        arrays
    }

    pub(super) fn read<S: ArraySource + ?Sized>(
        summary: FitSummary,
        arrays: &S,
    ) -> Result<Self, ModelError> {
        let d = summary.variables.len();
        // Before anything of D x D entries is made: is there a file of that size?
        check_head(arrays, "edge_logits", [d, d], "f32")?;
        check_settings(&summary)?;
        let table = Fit::parameter_table(&summary).map_err(|error| settings_problem(&error))?;
        for parameter in table.parameters() {
            let shape = [parameter.slot.rows, parameter.slot.cols];
            check_head(arrays, &parameter.name, shape, "f32")?;
        }
        let mut parameters = vec![0.0; table.len()];
        for parameter in table.parameters() {
            let shape = [parameter.slot.rows, parameter.slot.cols];
            let values = read_singles(arrays, &parameter.name, shape)?;
            parameter.slot.of_mut(&mut parameters).copy_from_slice(&values);
        }
        let n_visited =
            arrays.head(VISITED).map_or(0, |head| head.shape.first().copied().unwrap_or(0));
        let visited = read_doubles(arrays, VISITED, [n_visited, d], Allowed::Finite)?;
        let span = match arrays.head(SPAN) {
            Some(_) => Some(read_doubles(arrays, SPAN, [1, 1], Allowed::Finite)?[0]),
            None => None,
        };
        let fit = Fit::from_parts(summary, parameters).map_err(|error| settings_problem(&error))?;
        Ok(Self { fit, visited, span })
    }
}

fn settings_problem(error: &crate::train::error::FitError) -> ModelError {
    ModelError::Settings { problem: error.to_string() }
}

fn check_settings(summary: &FitSummary) -> Result<(), ModelError> {
    let settings = summary.settings.clone();
    let sizes = [
        settings.hidden_size,
        settings.context_size,
        settings.embedding_size,
        settings.posterior_layers,
        settings.node_width.unwrap_or(1),
    ];
    settings.check().map_err(|error| ModelError::Settings { problem: error.to_string() })?;
    if let Some(&size) = sizes.iter().find(|&&size| size > MAX_WIDTH) {
        return Err(ModelError::Inconsistent {
            what: "the size of a network",
            expected: format!("at most {MAX_WIDTH}"),
            found: size.to_string(),
        });
    }
    let time = summary.time_scaling;
    if !(time.origin.is_finite() && time.scale.is_finite() && time.scale > 0.0) {
        return Err(ModelError::Inconsistent {
            what: "the scaling of time",
            expected: "a finite origin and a positive scale".into(),
            found: format!("{} and {}", time.origin, time.scale),
        });
    }
    Ok(())
}

/// Rows of the data, evenly chosen, holes filled along time (and by the mean where there is nothing).
fn visited_states(data: &SeriesSet) -> Vec<f64> {
    let d = data.n_variables();
    let mut rows = Vec::new();
    for series in data.series() {
        let filled: Vec<Vec<f64>> = (0..d)
            .map(|variable| {
                let known = crate::fitted::impute::interpolator(series, variable);
                series.times().iter().map(|&time| known.at(time).unwrap_or(0.0)).collect()
            })
            .collect();
        for row in 0..series.n_observations() {
            rows.push(filled.iter().map(|column| column[row]).collect::<Vec<f64>>());
        }
    }
    let every = rows.len().div_ceil(MOST_VISITED).max(1);
    rows.into_iter().step_by(every).flatten().collect()
}
