//! What happens under interventions, against the same paths left alone.

use super::bands::Bands;
use super::engine::ShareDone;
use super::error::FittedError;
use super::intervention::Interventions;
use super::model::FittedModel;
use super::simulate::{SimulateSettings, SimulatedPaths};
use crate::SeriesSet;

/// What interventions change.
#[derive(Debug, Clone, PartialEq)]
pub struct InterventionEffect {
    /// Names of the variables.
    pub variables: Vec<String>,
    /// The times.
    pub times: Vec<f64>,
    /// Without interventions.
    pub without: Bands,
    /// With them.
    pub with: Bands,
    /// Mean difference of the same paths with and without, `[time, variable]`.
    pub difference: Vec<f64>,
    /// Standard error of that mean over paths, `[time, variable]`.
    pub standard_error: Vec<f64>,
    /// Variables by how much they changed, most first.
    pub ranking: Vec<VariableChange>,
}

/// How much one variable changed.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct VariableChange {
    /// Position of the variable.
    pub variable: usize,
    /// Whether an intervention names it.
    pub intervened: bool,
    /// Whether any path changed at all, in any digit.
    pub changed: bool,
    /// The largest mean difference over time, in the variable's unit.
    pub difference: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// When it was largest.
    pub time: f64,
    /// Its size in deviations of the variable, by which variables are ranked.
    pub relative: f64,
}

impl FittedModel {
    /// Simulates the same paths with and without interventions: same starts, graphs and noise.
    ///
    /// State interventions must be idempotent, which is tried on many states and times first. A
    /// variable that no graph of the paths can reach from the intervened ones does not change in any digit.
    pub fn intervene(
        &self,
        interventions: &Interventions,
        settings: &SimulateSettings,
        data: Option<&SeriesSet>,
        progress: &ShareDone<'_>,
    ) -> Result<InterventionEffect, FittedError> {
        if let Some(variable) =
            interventions.changed_dynamics().filter(|_| self.transform().is_some())
        {
            let variable = self.variables()[variable].clone();
            return Err(FittedError::DynamicsOfRest { variable });
        }
        let range = settings.times.first().copied().zip(settings.times.last().copied());
        if let Some((start, end)) = range {
            interventions
                .check_idempotent(self.standardizer(), self.transform(), start..=end, settings.seed)
                .map_err(FittedError::from)?;
        }
        let half = |from: f64| move |done: f64| progress(from + 0.5 * done);
        let alone = self.simulate_with(settings, data, Some((interventions, false)), &half(0.0))?;
        let changed =
            self.simulate_with(settings, data, Some((interventions, true)), &half(0.5))?;
        Ok(self.compare(interventions, &alone, &changed))
    }

    fn compare(
        &self,
        interventions: &Interventions,
        alone: &SimulatedPaths,
        changed: &SimulatedPaths,
    ) -> InterventionEffect {
        let d = self.n_variables();
        let cells = alone.times.len() * d;
        let n = alone.n_paths as f64;
        let gaps: Vec<f64> = alone.states.iter().zip(&changed.states).map(|(a, b)| b - a).collect();
        let (mut difference, mut standard_error) = (Vec::new(), Vec::new());
        for cell in 0..cells {
            let own = || gaps.iter().skip(cell).step_by(cells);
            let mean = own().sum::<f64>() / n;
            let square: f64 = own().map(|gap| (gap - mean).powi(2)).sum();
            difference.push(mean);
            standard_error.push((square / (n - 1.0).max(1.0) / n).sqrt());
        }
        let intervened = interventions.variables();
        let mut ranking: Vec<VariableChange> = (0..d)
            .map(|variable| {
                let at = |time: usize| time * d + variable;
                let size = |time: &usize| difference[at(*time)].abs();
                let top = (0..alone.times.len()).max_by(|a, b| size(a).total_cmp(&size(b)));
                let top = top.unwrap_or(0);
                VariableChange {
                    variable,
                    intervened: intervened.contains(&variable),
                    changed: gaps.iter().skip(variable).step_by(d).any(|gap| *gap != 0.0),
                    difference: difference[at(top)],
                    standard_error: standard_error[at(top)],
                    time: alone.times[top],
                    relative: size(&top) / self.measured_scales()[variable],
                }
            })
            .collect();
        ranking.sort_by(|a, b| b.relative.total_cmp(&a.relative));
        InterventionEffect {
            variables: self.variables().to_vec(),
            times: alone.times.clone(),
            without: alone.bands(),
            with: changed.bands(),
            difference,
            standard_error,
            ranking,
        }
    }
}

impl From<super::intervention::StateProblem> for FittedError {
    fn from(problem: super::intervention::StateProblem) -> Self {
        match problem {
            super::intervention::StateProblem::Twice(example) => Self::NotIdempotent(example),
            super::intervention::StateProblem::Expression(error) => Self::Expression(*error),
        }
    }
}
