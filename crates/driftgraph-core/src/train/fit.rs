//! The loop that fits a model, and its result.

use super::error::FitError;
use super::progress::{Divergence, Part, Progress, Training, find};
use super::settings::{CheckedSettings, FitSettings};
use super::time::TimeScaling;
use super::trainer::{Trainer, architecture, edge_scores};
use crate::graph::posterior::edge_probabilities;
use crate::nn::parameters::ParameterTable;
use crate::numeric::real::exp;
use crate::objective::elbo::ElboTerms;
use crate::posterior::simulated::SimulatedPosterior;
use crate::process::prior::LearnedProcess;
use crate::random::{Purpose, RandomStream};
use crate::{CoreError, EdgeScores, SeriesSet, SignatureGraph, Standardizer};

/// Algorithm 1: learns a posterior over graphs and the process behind the series.
///
/// Goes on from where `progress` says that it was left, as if it never had been stopped.
/// Runs on the current thread pool; the result does not depend on its number of threads.
///
/// ```
/// use driftgraph_core::train::fit::fit;
/// use driftgraph_core::train::preset::Preset;
/// use driftgraph_core::train::progress::Silent;
/// use driftgraph_core::train::settings::FitSettings;
/// use driftgraph_core::{ObservedSeries, SeriesSet};
///
/// let times = vec![0.0, 1.0, 2.5];
/// let series = ObservedSeries::new("run", 2, times, vec![0.1, 1.0, 0.4, f64::NAN, 0.9, 0.2])?;
/// let data = SeriesSet::new(vec!["prey".into(), "predator".into()], vec![series])?;
/// let settings = FitSettings { steps: 3, hidden_size: 8, ..Preset::Paper.settings() }.check()?;
/// let fitted = fit(&data, &settings, &Silent)?;
/// assert_eq!(fitted.edge_probabilities().len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fit(
    data: &SeriesSet,
    settings: &CheckedSettings,
    progress: &dyn Progress,
) -> Result<Fit, FitError> {
    let part = Part::WHOLE.to_string();
    let mut trainer = match find(progress, &part, &Trainer::key(settings.get())) {
        Some(state) => Trainer::resume(data, settings, state)?,
        None => Trainer::new(data, settings)?,
    };
    while !trainer.is_done() {
        match trainer.step_followed(progress) {
            Ok(flow) if flow.is_continue() => {}
            Ok(_) => return Ok(trainer.fit()),
            Err(divergence) => return Ok(Fit { divergence: Some(divergence), ..trainer.fit() }),
        }
    }
    progress.keep(&part, &Training::state(&trainer));
    Ok(trainer.fit())
}

/// What was counted during a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct FitCounters {
    /// Steps taken, those rolled back included.
    pub steps: u64,
    /// Steps that were not applied because loss or gradient was not finite.
    pub rollbacks: u64,
    /// How often a diffusion was at or below its floor.
    pub floor_hits: u64,
}

/// The result of a fit.
#[derive(Debug, Clone)]
pub struct Fit {
    pub(super) settings: FitSettings,
    pub(super) variables: Vec<String>,
    pub(super) standardizer: Standardizer,
    pub(super) time_scaling: TimeScaling,
    pub(super) model: SimulatedPosterior,
    pub(super) parameters: Vec<f32>,
    pub(super) last_terms: Option<ElboTerms>,
    pub(super) counters: FitCounters,
    pub(super) divergence: Option<Divergence>,
}

/// One named parameter of a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NamedParameter<'a> {
    /// Its name.
    pub name: &'a str,
    /// Rows and columns.
    pub shape: (usize, usize),
    /// Values, row-major.
    pub values: &'a [f32],
}

/// What a fit is made of, to keep it in a file; parameters are kept apart.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FitSummary {
    /// Settings of the fit.
    pub settings: FitSettings,
    /// Variable names, in column order.
    pub variables: Vec<String>,
    /// Scaling of the values.
    pub standardizer: Standardizer,
    /// Scaling of the times.
    pub time_scaling: TimeScaling,
    /// Terms of the last finite step.
    pub last_terms: Option<ElboTerms>,
    /// Counts.
    pub counters: FitCounters,
}

impl Fit {
    /// Names and shapes of the parameters that a summary asks for.
    pub fn parameter_table(summary: &FitSummary) -> Result<ParameterTable, FitError> {
        let model = SimulatedPosterior::new(architecture(&summary.settings, &summary.variables)?);
        Ok(model.table)
    }

    /// Puts a fit together again from its summary and its parameters.
    pub fn from_parts(summary: FitSummary, parameters: Vec<f32>) -> Result<Self, FitError> {
        let FitSummary { settings, variables, standardizer, time_scaling, last_terms, counters } =
            summary;
        let model = SimulatedPosterior::new(architecture(&settings, &variables)?);
        let (expected, found) = (model.table.len(), parameters.len());
        if expected != found {
            return Err(FitError::OtherModel { expected, found });
        }
        Ok(Self {
            settings,
            variables,
            standardizer,
            time_scaling,
            model,
            parameters,
            last_terms,
            counters,
            divergence: None,
        })
    }

    /// Everything but the parameters.
    pub fn summary(&self) -> FitSummary {
        FitSummary {
            settings: self.settings.clone(),
            variables: self.variables.clone(),
            standardizer: self.standardizer.clone(),
            time_scaling: self.time_scaling,
            last_terms: self.last_terms,
            counters: self.counters,
        }
    }

    /// Settings of the fit.
    pub fn settings(&self) -> &FitSettings {
        &self.settings
    }

    /// Variable names, in column order.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Scaling between the user's values and the model's.
    pub fn standardizer(&self) -> &Standardizer {
        &self.standardizer
    }

    /// Scaling between the user's times and the model's.
    pub fn time_scaling(&self) -> TimeScaling {
        self.time_scaling
    }

    /// The model's parts and their places.
    pub fn model(&self) -> &SimulatedPosterior {
        &self.model
    }

    /// All parameters, in the order of the model's table.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// All parameters by name.
    pub fn named_parameters(&self) -> impl Iterator<Item = NamedParameter<'_>> {
        self.model.table.parameters().iter().map(|parameter| NamedParameter {
            name: &parameter.name,
            shape: (parameter.slot.rows, parameter.slot.cols),
            values: parameter.slot.of(&self.parameters),
        })
    }

    /// Probability of each edge, `[source, target]`; exactly 0 or 1 where it was not learned.
    pub fn edge_probabilities(&self) -> Vec<f64> {
        let rules = self.model.architecture.edge_prior.rules();
        edge_probabilities(self.model.edge_logits.of(&self.parameters), rules)
    }

    /// Log-odds of each edge, infinite where it was not learned: ranks even what rounds to 1.
    pub fn edge_scores(&self) -> EdgeScores {
        edge_scores(&self.model, &self.parameters)
    }

    /// Terms of the ELBO in the last finite step, if there was one.
    pub fn last_terms(&self) -> Option<ElboTerms> {
        self.last_terms
    }

    /// How training came to its end without a finite step, if it did; what is here is the last good model.
    pub fn divergence(&self) -> Option<Divergence> {
        self.divergence
    }

    /// What was counted.
    pub fn counters(&self) -> FitCounters {
        self.counters
    }

    /// Scale of the observation noise of each variable, in the model's units.
    pub fn noise_scales(&self) -> Vec<f64> {
        let learned = self.model.noise_log_scales.map(|slot| slot.of(&self.parameters));
        match learned {
            Some(logs) => logs.iter().map(|&log| exp(f64::from(log))).collect(),
            None => vec![self.settings.noise_scale; self.variables.len()],
        }
    }

    /// Mean and deviation of the learned prior of the initial state, in the model's units.
    pub fn initial_state_prior(&self) -> Vec<(f64, f64)> {
        let [means, log_scales] = self.model.initial_prior.map(|slot| slot.of(&self.parameters));
        let pairs = means.iter().zip(log_scales);
        pairs.map(|(&mean, &log)| (f64::from(mean), exp(f64::from(log)))).collect()
    }

    /// Graph number `draw` of the posterior under `seed`.
    pub fn sample_graph(&self, seed: u64, draw: u64) -> SignatureGraph {
        let mut random = RandomStream::new(seed, Purpose::Graph, draw);
        let edges = self.edge_probabilities().iter().map(|&p| random.uniform() < p).collect();
        SignatureGraph::from_matrix(self.variables.len(), edges)
            .expect("there is one probability per pair of variables")
    }

    /// The learned prior process under a graph, in the model's units of value and time.
    pub fn process(&self, graph: &SignatureGraph) -> Result<LearnedProcess, CoreError> {
        if graph.n_variables() != self.variables.len() {
            let (n_variables, found) = (self.variables.len(), graph.matrix().len());
            return Err(CoreError::WrongGraphSize { n_variables, found });
        }
        let edges: Vec<f64> =
            graph.matrix().iter().map(|&edge| f64::from(u8::from(edge))).collect();
        let parameters = self.parameters.iter().map(|&value| f64::from(value)).collect();
        let rules = self.model.architecture.edge_prior.rules();
        Ok(LearnedProcess::new(self.model.process, parameters, &edges, rules))
    }
}
