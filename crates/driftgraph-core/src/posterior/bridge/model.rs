//! The process under the bridge: its parameters, priors and places.

mod evaluate;
mod observations;

use super::BridgePosterior;
use super::batch::LocalValues;
use super::deviations::Deviations;
use super::gated::{GatedMatrix, GatedMoments};
use super::innovation::Innovation;
use super::moments::StepMoments;
use super::neural::Net;
use super::sampled::{NeuralWork, SampledStates};
use super::structure::{BridgeStructure, DriftParts};
use super::summary::PathSummary;
use super::transition::TransitionGrads;
use crate::graph::density::DensityPrior;
use crate::graph::prior::{EdgePrior, EdgeRule};
use crate::nn::init::initial_values;
use crate::nn::parameters::{Init, ParameterTable, Slot};

/// Places of all parameters, and what does not change in training.
#[derive(Debug, Clone)]
pub struct BridgeModel {
    structure: BridgeStructure,
    table: ParameterTable,
    lagged: GatedMatrix,
    instant: Option<GatedMatrix>,
    pub(super) drift_net: Option<Net>,
    pub(super) diffusion_net: Option<Net>,
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
    values: LocalValues,
    spreads: Deviations,
    sampled: SampledStates,
    neural: NeuralWork<R>,
    pub(super) moments: StepMoments,
    pub(super) lagged: GatedMoments,
    instant: GatedMoments,
    pub(super) transition: TransitionGrads,
}

impl<R> Workspace<R> {
    /// Lagged edge probabilities of the last evaluation, `[source, target]`.
    pub fn edge_probabilities(&self) -> &[f64] {
        &self.lagged.probabilities
    }
}

/// Which part of the model a parameter belongs to; parts learn at their own rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterPart {
    /// Logits of edges.
    Graph,
    /// Linear effects, offsets, slabs and innovations.
    Effects,
    /// Diffusion, noise and initial law.
    Scales,
    /// Node functions.
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
        let n = increment_scales.len();
        let mut table = ParameterTable::default();
        let with_effects = structure.drift != DriftParts::Neural;
        let lagged = GatedMatrix::new(&mut table, "lagged", n, true).with_effects(with_effects);
        let instant =
            structure.instant_density.map(|_| GatedMatrix::new(&mut table, "instant", n, false));
        let innovation = Innovation::new(&mut table, structure.innovation, n);
        let mut add = |name: &str| table.add(name, (1, n), Init::Constant(0.0));
        let (offsets, log_diffusions) = (add("offsets"), add("log_diffusions"));
        let log_noise = add("noise.log_scales");
        let (initial_means, initial_log_deviations) =
            (add("initial.means"), add("initial.log_deviations"));
        let sizes = (n, structure.net_sizes);
        let mut drift_net = (structure.drift != DriftParts::Linear)
            .then(|| Net::new(&mut table, "drift_net", sizes, false));
        let mut diffusion_net =
            structure.neural_diffusion.then(|| Net::new(&mut table, "diffusion_net", sizes, true));
        for net in drift_net.iter_mut().chain(&mut diffusion_net) {
            net.function.reserve_scratch(&mut table);
        }
        let lagged_prior = DensityPrior::new(structure.density, knowledge.clone());
        let instant_density = structure.instant_density.unwrap_or_default();
        let instant_prior = DensityPrior::new(instant_density, instant_knowledge(knowledge));
        Self {
            structure,
            table,
            lagged,
            instant,
            drift_net,
            diffusion_net,
            innovation,
            offsets,
            log_diffusions,
            log_noise,
            initial_means,
            initial_log_deviations,
            lagged_prior,
            instant_prior,
            increment_scales,
        }
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
        for net in self.nets() {
            net.initialise(&self.table, &mut parameters);
        }
        let path = PathSummary::new(posterior, &self.increment_scales);
        self.innovation.initialise(&mut parameters, &path.skews);
        let log = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
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

    /// The node functions, that of the drift first.
    pub(super) fn nets(&self) -> impl Iterator<Item = &Net> {
        self.drift_net.iter().chain(&self.diffusion_net)
    }

    /// The node function of the drift, where it has one.
    pub(crate) fn drift_net(&self) -> Option<&Net> {
        self.drift_net.as_ref()
    }

    /// The node function of the diffusion, where it has one.
    pub(crate) fn diffusion_net(&self) -> Option<&Net> {
        self.diffusion_net.as_ref()
    }

    /// Whether an evaluation draws states and graphs.
    pub fn is_sampled(&self) -> bool {
        self.nets().next().is_some()
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

    /// The part each parameter belongs to.
    pub fn parts(&self) -> Vec<(Slot, ParameterPart)> {
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
        let is_net =
            |name: &str| name.starts_with("drift_net.") || name.starts_with("diffusion_net.");
        let nets = self.table.parameters().iter().filter(|parameter| is_net(&parameter.name));
        parts.extend(nets.map(|parameter| (parameter.slot, ParameterPart::Nets)));
        parts
    }

    /// Slots of log scales that training keeps above a floor: diffusion and observation noise.
    pub fn floored_slots(&self) -> [Slot; 2] {
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
    pub fn instant_prior(&self) -> &DensityPrior {
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
                EdgeRule::Free => 1.0 / (1.0 + (-knowledge.log_odds()[idx]).exp()),
            };
            instant.know(source, target, probability).expect("these are probabilities");
        }
    }
    instant.forbid_self_loops();
    instant
}
