//! New paths of the learned process.

use super::bands::Bands;
use super::dynamics::{Dynamics, GraphChoice};
use super::engine::{Engine, ShareDone, StartLaw};
use super::error::FittedError;
use super::hidden::HiddenPaths;
use super::intervention::Interventions;
use super::model::FittedModel;
use super::schedule::{Schedule, check_times};
use crate::SeriesSet;
use crate::process::solver::Scheme;

/// Paths drawn from a sampled posterior where a start asks for one.
const START_SAMPLES: usize = 256;

/// Where paths start.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Start {
    /// In the initial law that was learned.
    #[default]
    Learned,
    /// In given values, one per variable.
    Values(Vec<f64>),
    /// Some variables in given values, the others in the learned law.
    Named(Vec<(String, f64)>),
    /// In the hidden state of a series.
    Series {
        /// Its name.
        name: String,
        /// The time; the first of the series where not given.
        time: Option<f64>,
    },
}

/// How paths are simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulateSettings {
    /// Number of paths.
    pub n_paths: usize,
    /// Where they start.
    pub start: Start,
    /// Times at which states are kept, in the user's unit; paths start at the first.
    pub times: Vec<f64>,
    /// Longest solver step; that of the fit where not given.
    pub step_size: Option<f64>,
    /// Which graph each path moves under.
    pub graph: GraphChoice,
    /// The solver.
    pub scheme: Scheme,
    /// Decides everything random.
    pub seed: u64,
    /// What is set in any case: inputs and what was done to the series that paths start in.
    pub given: Interventions,
}

impl SimulateSettings {
    /// 1000 paths from the learned law, each under a graph of its own.
    pub fn new(times: Vec<f64>) -> Self {
        Self {
            n_paths: 1000,
            start: Start::default(),
            times,
            step_size: None,
            graph: GraphChoice::Sampled,
            scheme: Scheme::default(),
            seed: 0,
            given: Interventions::default(),
        }
    }
}

/// Times from `from` over `horizon`, `every` apart; the last gap may be shorter.
///
/// A hundred gaps where `every` is not given.
pub fn even_times(from: f64, horizon: f64, every: Option<f64>) -> Result<Vec<f64>, FittedError> {
    let every = every.unwrap_or(horizon / 100.0);
    let settings = [("horizon", horizon), ("every", every)];
    if let Some(&(setting, found)) = settings.iter().find(|(_, x)| !(x.is_finite() && *x > 0.0)) {
        return Err(FittedError::BadSetting { setting, condition: "positive and finite", found });
    }
    // A little less, so that rounding does not add a last, tiny gap.
    let n_gaps = (horizon / every * (1.0 - 1e-9)).ceil();
    if n_gaps > MOST_TIMES {
        let (setting, condition) = ("every", "large enough for a million times at most");
        return Err(FittedError::BadSetting { setting, condition, found: every });
    }
    let mut times: Vec<f64> = (0..n_gaps as usize).map(|idx| from + every * idx as f64).collect();
    times.push(from + horizon);
    Ok(times)
}

/// More kept times than this are a mistake.
const MOST_TIMES: f64 = 1e6;

/// Paths at the asked times.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedPaths {
    /// Names of the variables.
    pub variables: Vec<String>,
    /// The times.
    pub times: Vec<f64>,
    /// Number of paths.
    pub n_paths: usize,
    /// States `[path, time, variable]` in the user's units.
    pub states: Vec<f64>,
    /// Solver steps that each path took.
    pub n_steps: usize,
}

impl SimulatedPaths {
    /// Mean and bands of the paths.
    pub fn bands(&self) -> Bands {
        Bands::of_paths(&self.times, self.variables.len(), &self.states)
    }
}

impl FittedModel {
    /// Simulates new paths; the same settings give the same bits, whatever the number of threads.
    ///
    /// `data` are those of the fit; they are needed only where paths of the simulated posterior
    /// start in the hidden state of a series.
    ///
    /// ```
    /// use driftgraph_core::fitted::model::{FittedModel, LinearProcess};
    /// use driftgraph_core::fitted::simulate::SimulateSettings;
    ///
    /// let process = LinearProcess {
    ///     effects: vec![-1.0],
    ///     ..LinearProcess::resting(vec!["temperature".into()])
    /// };
    /// let model = FittedModel::linear(&process)?;
    /// let paths = model.simulate(&SimulateSettings::new(vec![0.0, 0.5, 1.0]), None, &|_| ())?;
    /// assert_eq!((paths.n_paths, paths.n_steps, paths.states.len()), (1000, 10, 3000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn simulate(
        &self,
        settings: &SimulateSettings,
        data: Option<&SeriesSet>,
        progress: &ShareDone<'_>,
    ) -> Result<SimulatedPaths, FittedError> {
        self.simulate_with(settings, data, None, progress)
    }

    /// Simulates under interventions, or none.
    pub(super) fn simulate_with(
        &self,
        settings: &SimulateSettings,
        data: Option<&SeriesSet>,
        interventions: Option<(&Interventions, bool)>,
        progress: &ShareDone<'_>,
    ) -> Result<SimulatedPaths, FittedError> {
        settings.check()?;
        let start = self.start_law(settings, data)?;
        let step_size = settings.step_size.unwrap_or_else(|| self.step_size());
        let given = &settings.given;
        let everything = interventions.map_or_else(|| given.clone(), |(all, _)| given.then(all));
        let in_force = match interventions {
            Some((_, true)) => &everything,
            _ => given,
        };
        let bounds = everything.bounds();
        let schedule = Schedule::new(&settings.times, &bounds, step_size)?;
        let engine = Engine {
            model: self,
            schedule: &schedule,
            start: &start,
            graph: settings.graph,
            scheme: settings.scheme,
            n_paths: settings.n_paths,
            seed: settings.seed,
            first_stream: 0,
            interventions: Some(in_force).filter(|all| !all.is_empty()),
            progress,
        };
        let mut states = engine.run()?;
        self.measured(&settings.times, &mut states);
        if let (Some(all), true) = (engine.interventions, self.transform().is_some()) {
            // There and back costs digits; what is held is held in every one.
            let d = self.n_variables();
            for (row, state) in states.chunks_exact_mut(d).enumerate() {
                all.assign(settings.times[row % settings.times.len()], state)?;
            }
        }
        Ok(SimulatedPaths {
            variables: self.variables().to_vec(),
            times: settings.times.clone(),
            n_paths: settings.n_paths,
            states,
            n_steps: schedule.n_steps(),
        })
    }

    fn start_law(
        &self,
        settings: &SimulateSettings,
        data: Option<&SeriesSet>,
    ) -> Result<StartLaw, FittedError> {
        let from = settings.times[0];
        match &settings.start {
            Start::Learned => Ok(StartLaw::Learned),
            Start::Values(values) => {
                if values.len() != self.n_variables() {
                    return Err(FittedError::BadSetting {
                        setting: "start",
                        condition: "one value per variable",
                        found: values.len() as f64,
                    });
                }
                if let Some(&bad) = values.iter().find(|value| !value.is_finite()) {
                    let condition = "finite";
                    return Err(FittedError::BadSetting {
                        setting: "start",
                        condition,
                        found: bad,
                    });
                }
                let inner = |(idx, value): (usize, &f64)| self.inner(idx, from, *value);
                let values: Result<_, _> = values.iter().enumerate().map(inner).collect();
                Ok(StartLaw::Fixed(values?))
            }
            Start::Named(named) => {
                let fixed = named
                    .iter()
                    .map(|(name, value)| {
                        let variable = self.variable(name)?;
                        Ok((variable, self.inner(variable, from, *value)?))
                    })
                    .collect::<Result<Vec<_>, FittedError>>()?;
                if let Some(&(_, found)) = fixed.iter().find(|(_, value)| !value.is_finite()) {
                    let condition = "finite";
                    return Err(FittedError::BadSetting { setting: "start", condition, found });
                }
                let members = Dynamics::of(self);
                let laws = members.iter().map(|member| {
                    let (means, deviations) = member.initial();
                    let (mut means, mut deviations) = (means.to_vec(), deviations.to_vec());
                    for &(variable, value) in &fixed {
                        (means[variable], deviations[variable]) = (value, 0.0);
                    }
                    (means, deviations)
                });
                Ok(StartLaw::Normal(laws.collect()))
            }
            Start::Series { name, time } => {
                let hidden = HiddenPaths::new(self, data, START_SAMPLES, settings.seed)?;
                let series = hidden.find(name)?;
                hidden.start_law(series, time.unwrap_or(hidden.times(series)[0]))
            }
        }
    }
}

impl SimulateSettings {
    fn check(&self) -> Result<(), FittedError> {
        check_paths(self.n_paths)?;
        check_times(&self.times)?;
        if self.times.len() < 2 {
            return Err(FittedError::BadSetting {
                setting: "times",
                condition: "two or more",
                found: self.times.len() as f64,
            });
        }
        check_graph(self.graph)
    }
}

pub(super) fn check_paths(n_paths: usize) -> Result<(), FittedError> {
    if n_paths >= 1 {
        return Ok(());
    }
    Err(FittedError::BadSetting { setting: "paths", condition: "at least 1", found: 0.0 })
}

pub(super) fn check_graph(graph: GraphChoice) -> Result<(), FittedError> {
    match graph {
        GraphChoice::Threshold(found) if !(0.0..=1.0).contains(&found) => {
            Err(FittedError::BadSetting { setting: "threshold", condition: "a probability", found })
        }
        _ => Ok(()),
    }
}
