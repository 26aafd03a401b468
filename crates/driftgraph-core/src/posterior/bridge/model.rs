//! The process under the bridge: its parameters, priors and places.

mod evaluate;
mod observations;

use std::sync::Arc;

use super::BridgePosterior;
use super::batch::LocalValues;
use super::deviations::BatchPaths;
use super::gated::{GatedMatrix, GatedMoments, GatedValues};
use super::innovation::Innovation;
use super::moments::StepMoments;
use super::part::{FixedPart, Precision, ProcessPart};
use super::sampled::{SampledStates, SampledWork};
use super::sampled_graphs::SampledGraphs;
use super::structure::{BridgeStructure, Draw, DriftParts};
use super::summary::PathSummary;
use super::transition::{TransitionBuffers, TransitionGrads};
use crate::graph::density::DensityPrior;
use crate::graph::prior::{EdgePrior, EdgeRule};
use crate::nn::init::initial_values;
use crate::nn::parameters::{Init, ParameterTable, Slot};
use crate::numeric::real::{exp, ln};
use crate::process::part::{AddsTo, BlockPart};

/// Places of all parameters, and what does not change in training.
#[derive(Debug, Clone)]
pub struct BridgeModel {
    structure: BridgeStructure,
    table: ParameterTable,
    lagged: GatedMatrix,
    instant: Option<GatedMatrix>,
    /// What the process has beyond gated linear effects.
    parts: Vec<Arc<dyn ProcessPart>>,
    /// The part of the model that each parameter belongs to.
    parameter_parts: Vec<(Slot, ParameterPart)>,
    innovation: Innovation,
    offsets: Slot,
    log_diffusions: Slot,
    log_noise: Slot,
    initial_means: Slot,
    initial_log_deviations: Slot,
    lagged_prior: DensityPrior,
    instant_prior: DensityPrior,
    increment_scales: Vec<f64>,
}

/// Buffers of an evaluation, kept for the next; `grads` and `local_grads` hold its gradient.
///
/// `R` is the float of the node functions.
#[derive(Debug, Clone, Default)]
pub struct Workspace<R = f32> {
    /// Gradient of minus the ELBO by the parameters.
    pub grads: Vec<f64>,
    /// Gradient of minus the ELBO by the rows the batch touches.
    pub local_grads: LocalValues,
    paths: BatchPaths,
    states: SampledStates,
    parts: SampledWork<R>,
    steps: StepWork,
}

/// What the KL of a batch's steps is made of, and its derivatives.
#[derive(Debug, Clone, Default)]
pub(super) struct StepWork {
    moments: StepMoments,
    lagged: GatedMoments,
    instant: GatedMoments,
    pub(super) transition: TransitionGrads,
    buffers: TransitionBuffers,
}

impl<R> Workspace<R> {
    /// Lagged edge probabilities of the last evaluation, `[source, target]`.
    pub fn edge_probabilities(&self) -> &[f64] {
        &self.steps.lagged.probabilities
    }
}

/// A linear process in the model's units: increment scales and standardised values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownLinear<'a> {
    /// The model's number of each variable of the process; others are left as they are.
    pub(crate) variables: &'a [usize],
    /// Effects on the drift.
    pub(crate) lagged: GatedValues<'a>,
    /// Offsets of the drift.
    pub(crate) offsets: &'a [f64],
    /// Logarithms of the innovations' scales.
    pub(crate) log_diffusions: &'a [f64],
    /// Logarithms of the noise scales.
    pub(crate) log_noise: &'a [f64],
    /// Means of first states.
    pub(crate) initial_means: &'a [f64],
    /// Logarithms of their deviations.
    pub(crate) initial_log_deviations: &'a [f64],
}

/// A linear process with effects within a step, in the same units; of variables that are not its own nothing changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownLevels<'a> {
    /// The model's number of each variable of the process.
    pub(crate) variables: &'a [usize],
    /// Effects on the drift.
    pub(crate) lagged: GatedValues<'a>,
    /// Effects within a step.
    pub(crate) within: GatedValues<'a>,
    /// Offsets of the drift.
    pub(crate) offsets: &'a [f64],
    /// Logarithms of the innovations' scales.
    pub(crate) log_diffusions: &'a [f64],
}

/// Which part of the model a parameter belongs to; parts learn at their own rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterPart {
    /// Logits of edges.
    Graph,
    /// Linear effects, offsets, slabs and innovations.
    Effects,
    /// Diffusion, noise and initial law.
    Scales,
    /// Parts beyond linear effects.
    Nets,
    /// Not learned.
    Fixed,
}

impl BridgeModel {
    /// Lays out the parameters; `knowledge` holds the user's rules and log-odds.
    ///
    /// Forbidden edges are forbidden in both graphs. A required edge is required of the lagged graph;
    /// its instantaneous part is learned.
    pub fn new(
        structure: BridgeStructure,
        knowledge: &EdgePrior,
        increment_scales: Vec<f64>,
    ) -> Self {
        let lay_out = |table: &mut ParameterTable, n| structure.part_choice().lay_out(table, n);
        Self::with_parts(structure, knowledge, increment_scales, lay_out)
    }

    /// The same with parts that are laid out behind everything else.
    pub(super) fn with_parts(
        structure: BridgeStructure,
        knowledge: &EdgePrior,
        increment_scales: Vec<f64>,
        lay_out: impl FnOnce(&mut ParameterTable, usize) -> Vec<Arc<dyn ProcessPart>>,
    ) -> Self {
        let n = increment_scales.len();
        let mut table = ParameterTable::default();
        let with_effects = structure.drift != DriftParts::Neural;
        let lagged = GatedMatrix::new(&mut table, "lagged", n, true).with_effects(with_effects);
        let instant =
            structure.instant_density.map(|_| GatedMatrix::new(&mut table, "instant", n, false));
        let innovation = Innovation::new(&mut table, structure.innovation, n);
        let mut add = |name: &str| table.add(name, [1, n], Init::Constant(0.0));
        let (offsets, log_diffusions) = (add("offsets"), add("log_diffusions"));
        let log_noise = add("noise.log_scales");
        let (initial_means, initial_log_deviations) =
            (add("initial.means"), add("initial.log_deviations"));
        let parts = lay_out(&mut table, n);
        let lagged_prior = DensityPrior::new(structure.density, knowledge.clone());
        let instant_density = structure.instant_density.unwrap_or_default();
        let instant_prior = DensityPrior::new(instant_density, instant_knowledge(knowledge));
        let mut model = Self {
            structure,
            table,
            lagged,
            instant,
            parts,
            parameter_parts: Vec::new(),
            innovation,
            offsets,
            log_diffusions,
            log_noise,
            initial_means,
            initial_log_deviations,
            lagged_prior,
            instant_prior,
            increment_scales,
        };
        model.parameter_parts = model.list_parameter_parts();
        model
    }

    /// Values at the start of training.
    ///
    /// `noise_scales` are those of the law; diffusion and initial law are read off the smoothed paths.
    pub fn initial_parameters(
        &self,
        posterior: &BridgePosterior,
        noise_scales: &[f64],
        seed: u64,
    ) -> Vec<f64> {
        let mut parameters: Vec<f64> = initial_values(&self.table, seed);
        self.lagged.initialise(&mut parameters);
        if let Some(instant) = self.instant {
            instant.initialise(&mut parameters);
        }
        for part in &self.parts {
            part.initialise(&self.table, &mut parameters);
        }
        let path = PathSummary::new(posterior, &self.increment_scales);
        self.innovation.initialise(&mut parameters, &path.skews);
        let log = |values: &[f64]| values.iter().map(|&value| ln(value)).collect::<Vec<_>>();
        for (slot, values) in [
            (self.log_diffusions, path.log_diffusions),
            (self.log_noise, log(noise_scales)),
            (self.initial_means, path.first_means),
            (self.initial_log_deviations, log(&path.first_deviations)),
        ] {
            slot.of_mut(&mut parameters).copy_from_slice(&values);
        }
        parameters
    }

    /// Sets everything but the parts to a linear process that is known.
    pub(crate) fn set_linear(&self, parameters: &mut [f64], process: &KnownLinear<'_>) {
        self.lagged.set(parameters, &process.lagged, process.variables);
        for (slot, values) in [
            (self.offsets, process.offsets),
            (self.log_diffusions, process.log_diffusions),
            (self.log_noise, process.log_noise),
            (self.initial_means, process.initial_means),
            (self.initial_log_deviations, process.initial_log_deviations),
        ] {
            for (&variable, value) in process.variables.iter().zip(values) {
                slot.of_mut(parameters)[variable] = *value;
            }
        }
    }

    /// Sets the effects and innovations of a model with effects within a step to what is known; errors of measurement are
    /// part of its innovations, and have the given log scale where they would be learned.
    pub(crate) fn set_levels(
        &self,
        parameters: &mut [f64],
        process: &KnownLevels<'_>,
        log_noise: f64,
    ) {
        self.lagged.set(parameters, &process.lagged, process.variables);
        if let Some(instant) = &self.instant {
            instant.set(parameters, &process.within, process.variables);
        }
        for (place, &variable) in process.variables.iter().enumerate() {
            self.offsets.of_mut(parameters)[variable] = process.offsets[place];
            self.log_diffusions.of_mut(parameters)[variable] = process.log_diffusions[place];
            if self.structure.learn_noise {
                self.log_noise.of_mut(parameters)[variable] = log_noise;
            }
        }
    }

    /// What the process has beyond gated linear effects.
    pub(super) fn parts(&self) -> &[Arc<dyn ProcessPart>] {
        &self.parts
    }

    /// The parts with fixed parameters, in the given precision.
    pub(super) fn fixed_parts(
        &self,
        parameters: &[f64],
        precision: Precision,
    ) -> Vec<Arc<dyn FixedPart>> {
        self.parts.iter().map(|part| part.fixed(parameters, precision)).collect()
    }

    /// The parts in simulation.
    pub(crate) fn block_parts(&self, parameters: &[f64]) -> Vec<Box<dyn BlockPart>> {
        let narrow: Vec<f32> = parameters.iter().map(|&value| value as f32).collect();
        self.parts.iter().map(|part| part.block(&narrow)).collect()
    }

    /// Whether a part adds to drift or diffusion.
    pub(super) fn has_part(&self, adds_to: AddsTo) -> bool {
        self.parts.iter().any(|part| part.adds_to() == adds_to)
    }

    /// Whether an evaluation draws states and graphs: every part needs them.
    pub fn is_sampled(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Graphs drawn from q(G).
    pub fn sampled_graphs(&self, parameters: &[f64], n_graphs: usize, draw: Draw) -> SampledGraphs {
        let (logits, rules) = (self.lagged.edge_logits.of(parameters), self.lagged_prior.rules());
        SampledGraphs::new(logits, rules, self.structure.estimator, n_graphs, draw)
    }

    /// Names and places of all parameters.
    pub fn table(&self) -> &ParameterTable {
        &self.table
    }

    /// What the model is made of.
    pub fn structure(&self) -> &BridgeStructure {
        &self.structure
    }

    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.increment_scales.len()
    }

    /// Typical size of each variable's increment over one unit of time, standardised.
    pub fn increment_scales(&self) -> &[f64] {
        &self.increment_scales
    }

    /// The part of the model that each parameter belongs to.
    pub(crate) fn parameter_parts(&self) -> &[(Slot, ParameterPart)] {
        &self.parameter_parts
    }

    fn list_parameter_parts(&self) -> Vec<(Slot, ParameterPart)> {
        let gated = [Some(self.lagged), self.instant];
        let mut parts = Vec::new();
        for matrix in gated.into_iter().flatten() {
            parts.push((matrix.edge_logits, ParameterPart::Graph));
            parts.extend(matrix.effect_slots().map(|slot| (slot, ParameterPart::Effects)));
        }
        parts.extend(self.innovation.slots().map(|slot| (slot, ParameterPart::Effects)));
        parts.push((self.offsets, ParameterPart::Effects));
        let noise =
            if self.structure.learn_noise { ParameterPart::Scales } else { ParameterPart::Fixed };
        parts.push((self.log_noise, noise));
        for slot in [self.log_diffusions, self.initial_means, self.initial_log_deviations] {
            parts.push((slot, ParameterPart::Scales));
        }
        parts.extend(self.parts.iter().map(|part| (part.slot(), ParameterPart::Nets)));
        parts
    }

    /// Slots of log scales that training keeps above a floor: diffusion and observation noise.
    pub(crate) fn floored_slots(&self) -> [Slot; 2] {
        [self.log_diffusions, self.log_noise]
    }

    /// The lagged effects.
    pub fn lagged(&self) -> &GatedMatrix {
        &self.lagged
    }

    /// The instantaneous effects, where there are any.
    pub fn instant(&self) -> Option<&GatedMatrix> {
        self.instant.as_ref()
    }

    /// The innovations' law.
    pub fn innovation(&self) -> &Innovation {
        &self.innovation
    }

    /// Prior of the lagged graph.
    pub fn lagged_prior(&self) -> &DensityPrior {
        &self.lagged_prior
    }

    /// Prior of the instantaneous graph.
    pub(crate) fn instant_prior(&self) -> &DensityPrior {
        &self.instant_prior
    }

    /// b, per variable, in increment scales per unit of time.
    pub fn offsets<'a>(&self, parameters: &'a [f64]) -> &'a [f64] {
        self.offsets.of(parameters)
    }

    /// Logarithms of the innovations' scales, in increment scales.
    pub fn log_diffusions<'a>(&self, parameters: &'a [f64]) -> &'a [f64] {
        self.log_diffusions.of(parameters)
    }

    /// Logarithms of the noise scales, standardised.
    pub fn log_noise<'a>(&self, parameters: &'a [f64]) -> &'a [f64] {
        self.log_noise.of(parameters)
    }

    /// Means and log deviations of the initial law, standardised.
    pub fn initial_law<'a>(&self, parameters: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        (self.initial_means.of(parameters), self.initial_log_deviations.of(parameters))
    }
}

/// The user's knowledge as far as it concerns effects within a step: no self-loops, no duties.
fn instant_knowledge(knowledge: &EdgePrior) -> EdgePrior {
    let n = knowledge.n_variables();
    let mut instant = EdgePrior::new(n, 0.0);
    for source in 0..n {
        for target in 0..n {
            let idx = source * n + target;
            let probability = match knowledge.rules()[idx] {
                EdgeRule::Forbidden => 0.0,
                EdgeRule::Required => 0.5,
                EdgeRule::Free => 1.0 / (1.0 + exp(-knowledge.log_odds()[idx])),
            };
            instant.know(source, target, probability).expect("these are probabilities");
        }
    }
    instant.forbid_self_loops();
    instant
}
