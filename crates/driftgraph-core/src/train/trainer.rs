//! One model in training: its objective, its state, and the step that moves it.

use std::ops::ControlFlow;

use super::adam::{Adam, AdamState};
use super::error::FitError;
use super::fit::{Fit, FitCounters};
use super::progress::{Checkpoint, Divergence, Part, Progress, Step, Training};
use super::schedule::{clip_factor, gradient_norm, kl_weight, learning_rate_share};
use super::settings::{CheckedSettings, FitSettings};
use super::time::TimeScaling;
use crate::graph::prior::EdgePrior;
use crate::nn::init::initial_values;
use crate::objective::elbo::ElboTerms;
use crate::posterior::batch::{BatchObjective, BatchTask, Evaluation};
use crate::posterior::draws::{StepDraws, batch};
use crate::posterior::plan::PlannedSeries;
use crate::posterior::simulated::{Architecture, SimulatedPosterior};
use crate::{EdgeScores, SeriesSet, Standardizer};

/// Parameters and what the optimiser remembers of them.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Snapshot {
    /// All parameters, in the order of the model's table.
    pub parameters: Vec<f32>,
    /// Moments of the gradient.
    pub adam: AdamState<f32>,
}

impl Snapshot {
    /// Becomes a copy, without allocating.
    fn copy_from(&mut self, other: &Self) {
        self.parameters.copy_from_slice(&other.parameters);
        self.adam.n_steps = other.adam.n_steps;
        self.adam.first_moments.copy_from_slice(&other.adam.first_moments);
        self.adam.second_moments.copy_from_slice(&other.adam.second_moments);
    }
}

/// Everything a fit needs to go on bit for bit, besides data and settings.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TrainingState {
    /// Number of the next step.
    pub step: u64,
    /// Where the next step starts from.
    pub current: Snapshot,
    /// The last snapshot whose loss and gradient were finite.
    pub last_good: Snapshot,
    /// Factor of the learning rate: halved by every step that was not finite.
    pub learning_rate_scale: f64,
    /// Steps in a row that were not finite.
    pub failures_in_a_row: u32,
    /// Terms of the last finite step.
    pub last_terms: Option<ElboTerms>,
    /// Counts since the start.
    pub counters: FitCounters,
}

/// What happened in one training step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepReport {
    /// Number of the step, from 0.
    pub step: u64,
    /// Terms of the ELBO at the parameters before the step.
    pub terms: ElboTerms,
    /// What was minimised.
    pub loss: f64,
    /// Weight of initial and path KL in the loss.
    pub kl_weight: f64,
    /// Learning rate of the step.
    pub learning_rate: f64,
    /// Norm of the gradient, before clipping.
    pub gradient_norm: f64,
    /// Σ of the edge probabilities.
    pub expected_edges: f64,
    /// How often the diffusion was at or below its floor in this step.
    pub floor_hits: u64,
    /// The term that was not finite, when the step was not applied; or `gradient`.
    pub rolled_back: Option<&'static str>,
}

/// A fit in progress.
#[derive(Debug)]
pub struct Trainer {
    settings: CheckedSettings,
    variables: Vec<String>,
    standardizer: Standardizer,
    time_scaling: TimeScaling,
    objective: BatchObjective<f32>,
    state: TrainingState,
    batch: Vec<usize>,
    clipped: Vec<f32>,
}

impl Trainer {
    /// Plans the series and draws initial parameters.
    pub fn new(data: &SeriesSet, settings: &CheckedSettings) -> Result<Self, FitError> {
        let standardizer = if settings.standardize {
            Standardizer::fit(data)
        } else {
            Standardizer::identity(data.n_variables())
        };
        let time_scaling = TimeScaling::new(data, settings.time_unit, settings.time_span);
        let model = SimulatedPosterior::new(architecture(settings, data.variables())?);
        let scaled = standardizer.apply(data);
        let plans = scaled
            .series()
            .iter()
            .map(|series| {
                let series = time_scaling.apply_to(series)?;
                let (grid, step_size) = (settings.step_grid, settings.step_size);
                PlannedSeries::new(&series, grid, step_size, settings.encoder_input)
            })
            .collect::<Result<_, _>>()?;
        let parameters: Vec<f32> = initial_values(&model.table, settings.seed);
        let adam = AdamState::new(parameters.len());
        let start = Snapshot { parameters, adam };
        let state = TrainingState {
            step: 0,
            current: start.clone(),
            last_good: start,
            learning_rate_scale: 1.0,
            failures_in_a_row: 0,
            last_terms: None,
            counters: FitCounters::default(),
        };
        Ok(Self {
            settings: settings.clone(),
            variables: data.variables().to_vec(),
            standardizer,
            time_scaling,
            objective: BatchObjective::new(model, plans),
            state,
            batch: Vec::new(),
            clipped: Vec::new(),
        })
    }

    /// Goes on from a state of the same data and settings.
    pub fn resume(
        data: &SeriesSet,
        settings: &CheckedSettings,
        state: TrainingState,
    ) -> Result<Self, FitError> {
        let fresh = Self::new(data, settings)?;
        let expected = fresh.objective.model().table.len();
        for snapshot in [&state.current, &state.last_good] {
            let adam = &snapshot.adam;
            for len in
                [&snapshot.parameters, &adam.first_moments, &adam.second_moments].map(Vec::len)
            {
                if len != expected {
                    return Err(FitError::OtherModel { expected, found: len });
                }
            }
        }
        Ok(Self { state, ..fresh })
    }

    /// One step of Algorithm 1: draw graphs and paths, follow the gradient of the ELBO.
    ///
    /// A step whose loss or gradient is not finite is not applied: the last good snapshot comes
    /// back, with half the learning rate. After `patience` of them in a row the fit has diverged.
    pub fn step(&mut self) -> Result<StepReport, Divergence> {
        let (settings, step) = (&self.settings, self.state.step);
        let kl_weight = kl_weight(step, settings.kl_warmup_steps);
        let n_series = self.objective.n_series();
        batch(settings.seed, step, n_series, settings.batch_size, &mut self.batch);
        let evaluation = self.objective.evaluate(BatchTask {
            parameters: &self.state.current.parameters,
            batch: &self.batch,
            draws: &StepDraws::new(settings.seed, step),
            kl_weight,
        });
        let share = learning_rate_share(
            step,
            settings.warmup_steps,
            settings.learning_rate_decay,
            settings.steps,
        );
        let learning_rate = settings.learning_rate * share * self.state.learning_rate_scale;
        let gradient_norm = gradient_norm(self.objective.gradient());
        let trouble = evaluation
            .terms
            .non_finite_term()
            .or((!gradient_norm.is_finite()).then_some("gradient"))
            .or(settings.broken_steps.contains(&step).then_some("broken on purpose"));
        self.state.step += 1;
        self.state.counters.steps += 1;
        self.state.counters.floor_hits += evaluation.floor_hits;
        let report = StepReport {
            step,
            terms: evaluation.terms,
            loss: evaluation.loss,
            kl_weight,
            learning_rate,
            gradient_norm,
            expected_edges: self.objective.model().expected_edges(&self.state.current.parameters),
            floor_hits: evaluation.floor_hits,
            rolled_back: trouble,
        };
        match trouble {
            None => self.apply(&evaluation, learning_rate, gradient_norm),
            Some(term) => self.roll_back(step, term)?,
        }
        Ok(report)
    }

    fn apply(&mut self, evaluation: &Evaluation, learning_rate: f64, gradient_norm: f64) {
        let state = &mut self.state;
        state.last_good.copy_from(&state.current);
        state.last_terms = Some(evaluation.terms);
        state.failures_in_a_row = 0;
        let factor = clip_factor(gradient_norm, self.settings.clip_norm) as f32;
        let gradient = if factor < 1.0 {
            self.clipped.clear();
            self.clipped.extend(self.objective.gradient().iter().map(|entry| factor * entry));
            &self.clipped
        } else {
            self.objective.gradient()
        };
        let Snapshot { parameters, adam } = &mut state.current;
        Adam::default().step(learning_rate, gradient, adam, parameters);
    }

    fn roll_back(&mut self, step: u64, term: &'static str) -> Result<(), Divergence> {
        let state = &mut self.state;
        state.current.copy_from(&state.last_good);
        state.learning_rate_scale *= 0.5;
        state.failures_in_a_row += 1;
        state.counters.rollbacks += 1;
        if state.failures_in_a_row < self.settings.patience {
            return Ok(());
        }
        Err(Divergence {
            step,
            term,
            attempts: self.state.failures_in_a_row,
            last_finite_elbo: self.state.last_terms.map(|terms| terms.elbo()),
        })
    }

    /// Whether all steps that were asked for are done.
    pub fn is_done(&self) -> bool {
        self.state.step >= self.settings.steps
    }

    /// What a fit needs to go on.
    pub fn state(&self) -> &TrainingState {
        &self.state
    }

    /// The settings.
    pub fn settings(&self) -> &FitSettings {
        self.settings.get()
    }

    /// The model.
    pub fn model(&self) -> &SimulatedPosterior {
        self.objective.model()
    }

    /// Variable names, in column order.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Probability of each edge now, `[source, target]`.
    pub fn edge_probabilities(&self) -> Vec<f64> {
        self.objective.model().edge_probabilities(&self.state.current.parameters)
    }

    /// Log-odds of each edge now, infinite where the edge is not learned.
    pub fn edge_scores(&self) -> EdgeScores {
        edge_scores(self.objective.model(), &self.state.current.parameters)
    }

    /// The result so far.
    pub fn fit(&self) -> Fit {
        Fit {
            settings: self.settings.get().clone(),
            variables: self.variables.clone(),
            standardizer: self.standardizer.clone(),
            time_scaling: self.time_scaling,
            model: self.objective.model().clone(),
            parameters: self.state.current.parameters.clone(),
            last_terms: self.state.last_terms,
            counters: self.state.counters,
            divergence: None,
        }
    }

    /// What a state depends on; more steps are the same fit, only longer.
    pub(super) fn key(settings: &FitSettings) -> FitSettings {
        FitSettings { steps: 1, ..settings.clone() }
    }

    /// Takes a step and tells of it; whether to go on.
    pub(super) fn step_followed(
        &mut self,
        progress: &dyn Progress,
    ) -> Result<ControlFlow<()>, Divergence> {
        let report = self.step()?;
        Ok(progress.step(&Step {
            part: Part::WHOLE,
            number: report.step,
            end: self.settings.steps,
            terms: report.terms,
            rate: report.learning_rate,
            expected_edges: Some(report.expected_edges),
            undone: report.rolled_back,
            extras: &[
                ("loss", report.loss),
                ("kl_weight", report.kl_weight),
                ("gradient_norm", report.gradient_norm),
                ("floor_hits", report.floor_hits as f64),
            ],
            training: self,
        }))
    }
}

impl Training for Trainer {
    fn edge_probabilities(&self) -> Vec<f64> {
        Self::edge_probabilities(self)
    }

    fn edge_scores(&self) -> EdgeScores {
        Self::edge_scores(self)
    }

    fn state(&self) -> Checkpoint {
        Checkpoint::new(&self.state, &Self::key(self.settings.get()))
    }
}

/// Log-odds of each edge, infinite where the edge is not learned.
pub(super) fn edge_scores(model: &SimulatedPosterior, parameters: &[f32]) -> EdgeScores {
    let rules = model.architecture.edge_prior.rules();
    let logits = model.edge_logits.of(parameters).iter().zip(rules);
    let scores = logits.map(|(&logit, rule)| rule.log_odds(f64::from(logit)));
    EdgeScores::from_matrix(model.architecture.n_variables, scores.collect())
        .expect("a snapshot's logits are numbers, because only finite gradients are applied")
}

/// The model that settings ask for, on these variables.
pub(super) fn architecture(
    settings: &FitSettings,
    variables: &[String],
) -> Result<Architecture, FitError> {
    Ok(Architecture {
        n_variables: variables.len(),
        node_variant: settings.node_variant,
        embedding_size: settings.embedding_size,
        node_width: settings.node_width,
        hidden_size: settings.hidden_size,
        posterior_layers: settings.posterior_layers,
        context_size: settings.context_size,
        encoder_input: settings.encoder_input,
        noise: settings.noise,
        noise_scale: settings.noise_scale,
        learn_noise_scale: settings.learn_noise_scale,
        temperature: settings.temperature,
        graph_term: settings.graph_term,
        diffusion_floor: settings.diffusion_floor,
        scheme: settings.scheme,
        edge_prior: edge_prior(settings, variables)?,
    })
}

fn edge_prior(settings: &FitSettings, variables: &[String]) -> Result<EdgePrior, FitError> {
    let mut prior = EdgePrior::new(variables.len(), settings.sparsity);
    if settings.no_self_loops {
        prior.forbid_self_loops();
    }
    for known in &settings.edge_priors {
        let find = |name: &str| {
            let found = variables.iter().position(|variable| variable == name);
            found.ok_or_else(|| FitError::UnknownVariable {
                edge: format!("{} -> {}", known.source, known.target),
                variable: name.to_owned(),
            })
        };
        prior.know(find(&known.source)?, find(&known.target)?, known.probability)?;
    }
    Ok(prior)
}
