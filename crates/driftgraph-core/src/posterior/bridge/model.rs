//! The process under the bridge and the ELBO of a batch, with its gradient.

use super::BridgePosterior;
use super::batch::{Batch, LocalValues};
use super::gated::{GatedAdjoints, GatedMatrix, GatedMoments};
use super::innovation::{Innovation, InnovationLaw};
use super::layout::BridgeLayout;
use super::linalg::log_det_and_inverse;
use super::moments::{StepMoments, exact_moments, exact_moments_backward};
use super::neural::{GraphEstimator, Net, NetSizes};
use super::observation::expected_log_density;
use super::sampled::{sampled_moments, sampled_moments_backward};
use super::summary::PathSummary;
use super::transition::{Extra, Instant, Transition, TransitionGrads, transition_surprise};
use crate::graph::density::{DensityPrior, GraphDensity};
use crate::graph::prior::{EdgePrior, EdgeRule};
use crate::nn::init::initial_values;
use crate::nn::kernels::{View, add_product, product};
use crate::nn::parameters::{Init, ParameterTable, Slot};
use crate::nn::real::Real;
use crate::objective::elbo::ElboTerms;
use crate::objective::initial_kl::{Normal, initial_kl};
use crate::objective::observation::ObservationNoise;

/// What the process is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BridgeStructure {
    /// Prior of the lagged graph.
    pub density: GraphDensity,
    /// Prior of the instantaneous graph, where there is one.
    pub instant_density: Option<GraphDensity>,
    /// Law of the innovations.
    pub innovation: InnovationLaw,
    /// Law of the observation noise.
    pub noise: ObservationNoise,
    /// Whether the noise scales are learned.
    pub learn_noise: bool,
    /// Which parts the drift has.
    pub drift: DriftParts,
    /// Whether a node function changes the diffusion with the state.
    pub neural_diffusion: bool,
    /// Sizes of the node functions.
    pub net_sizes: NetSizes,
    /// How the gradient passes through sampled edges.
    pub estimator: GraphEstimator,
}

/// Which parts the drift has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriftParts {
    /// Gated linear effects, in closed form.
    #[default]
    Linear,
    /// A node function alone.
    Neural,
    /// A node function on top of linear effects.
    LinearAndNeural,
}

impl Default for BridgeStructure {
    /// Linear drift, constant diffusion, learned Gaussian noise.
    fn default() -> Self {
        Self {
            density: GraphDensity::default(),
            instant_density: None,
            innovation: InnovationLaw::Gaussian,
            noise: ObservationNoise::Gaussian,
            learn_noise: true,
            drift: DriftParts::Linear,
            neural_diffusion: false,
            net_sizes: NetSizes::default(),
            estimator: GraphEstimator::default(),
        }
    }
}

/// What one evaluation is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// What the batch stands for: every term over series is multiplied by it.
    pub weight: f64,
    /// Weight of the graph prior; the ELBO proper has 1.
    pub prior_weight: f64,
    /// Seed of sampled states and graphs.
    pub seed: u64,
    /// Number of the draw, usually the step.
    pub draw: u64,
}

impl Pass {
    /// The ELBO proper of all data at once.
    pub const WHOLE: Self = Self { weight: 1.0, prior_weight: 1.0, seed: 0, draw: 0 };
}

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

/// Buffers of an evaluation; `grads` and `local_grads` hold its gradient.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    /// Gradient of minus the ELBO by the parameters.
    pub grads: Vec<f64>,
    /// Gradient of minus the ELBO by the rows the batch touches.
    pub local_grads: LocalValues,
    values: LocalValues,
    pub(super) moments: StepMoments,
    pub(super) lagged: GatedMoments,
    instant: GatedMoments,
    pub(super) transition: TransitionGrads,
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

    /// Means and variances of d (I - B) for sampled steps, `[step, variable]`.
    pub(super) fn instant_residuals(
        &self,
        parameters: &[f64],
        moments: &StepMoments,
    ) -> (Vec<f64>, Vec<f64>) {
        let Some(matrix) = self.instant else {
            return (moments.increments.clone(), moments.increment_variances.clone());
        };
        let (d, n) = (self.n_variables(), moments.n_steps());
        let mut effects = GatedMoments::default();
        matrix.moments(parameters, self.instant_prior.rules(), &mut effects);
        let instant = Instant::new(&effects, &vec![0.0; d * d], d);
        let (mut means, mut variances) = (vec![0.0; n * d], vec![0.0; n * d]);
        let increments = View::new(&moments.increments, n, d);
        product(&mut means, d, increments, View::new(&instant.remaining, d, d));
        let own = View::new(&moments.increment_variances, n, d);
        product(&mut variances, d, own, View::new(&instant.remaining_second, d, d));
        let squares: Vec<f64> = moments.increments.iter().map(|value| value * value).collect();
        let by_gates = View::new(&effects.variance, d, d);
        add_product(&mut variances, d, View::new(&squares, n, d), by_gates);
        (means, variances)
    }

    /// The ELBO of a batch, and the gradient of minus it.
    ///
    /// `None` where I - E B is singular.
    pub fn evaluate(
        &self,
        layout: &BridgeLayout,
        batch: &Batch,
        pass: &Pass,
        values: (&[f64], &LocalValues),
        work: &mut Workspace,
    ) -> Option<ElboTerms> {
        // Node functions in f32: twice as fast, and the noise of their samples is far larger.
        self.evaluate_in::<f32>(layout, (batch, pass), values, work)
    }

    /// [`evaluate`](Self::evaluate) with the node functions' float chosen.
    pub(super) fn evaluate_in<R: Real>(
        &self,
        layout: &BridgeLayout,
        (batch, pass): (&Batch, &Pass),
        (parameters, local): (&[f64], &LocalValues),
        work: &mut Workspace,
    ) -> Option<ElboTerms> {
        let d = self.n_variables();
        work.grads.clear();
        work.grads.resize(parameters.len(), 0.0);
        work.values.gather(local, batch, d);
        work.local_grads.reset(batch.points.len(), batch.spreads.len(), d);
        let mut terms = ElboTerms::default();
        self.observations(layout, (batch, pass.weight), parameters, work, &mut terms);
        self.initial_law_kl((batch, pass.weight), parameters, work, &mut terms);

        self.lagged.moments(parameters, self.lagged_prior.rules(), &mut work.lagged);
        if let Some(instant) = self.instant {
            instant.moments(parameters, self.instant_prior.rules(), &mut work.instant);
        }
        terms.path_kl = self.path_kl::<R>(layout, (batch, pass), parameters, work)?;
        terms.graph_kl = self.graph_kl(pass.prior_weight, parameters, work);
        Some(terms)
    }

    fn observations(
        &self,
        layout: &BridgeLayout,
        (batch, weight): (&Batch, f64),
        parameters: &[f64],
        work: &mut Workspace,
        terms: &mut ElboTerms,
    ) {
        let d = self.n_variables();
        let log_noise = self.log_noise.of(parameters);
        let deviations: Vec<f64> = work.values.log_deviations.iter().map(|log| log.exp()).collect();
        for (point, spread) in batch.observed_points() {
            let observed = layout.observed_row(batch.points[point]);
            for variable in (0..d).filter(|&variable| !observed[variable].is_nan()) {
                let (at, spread) = (point * d + variable, spread * d + variable);
                let law = (work.values.means[at], deviations[spread]);
                let found = expected_log_density(
                    self.structure.noise,
                    observed[variable],
                    law,
                    log_noise[variable],
                );
                terms.log_likelihood += weight * found.value;
                work.local_grads.means[at] -= weight * found.by_mean;
                work.local_grads.log_deviations[spread] -= weight * found.by_log_deviation;
                if self.structure.learn_noise {
                    self.log_noise.of_mut(&mut work.grads)[variable] -= weight * found.by_log_scale;
                }
            }
        }
    }

    fn initial_law_kl(
        &self,
        (batch, weight): (&Batch, f64),
        parameters: &[f64],
        work: &mut Workspace,
        terms: &mut ElboTerms,
    ) {
        let d = self.n_variables();
        let (means, logs) = self.initial_law(parameters);
        for &(point, spread) in &batch.starts {
            for variable in 0..d {
                let (at, spread) = (point * d + variable, spread * d + variable);
                let posterior = Normal {
                    mean: work.values.means[at],
                    log_scale: work.values.log_deviations[spread],
                };
                let prior = Normal { mean: means[variable], log_scale: logs[variable] };
                let kl = initial_kl(posterior, prior);
                terms.initial_kl += weight * kl.value;
                work.local_grads.means[at] += weight * kl.by_posterior.mean;
                work.local_grads.log_deviations[spread] += weight * kl.by_posterior.log_scale;
                let grads = &mut work.grads;
                self.initial_means.of_mut(grads)[variable] += weight * kl.by_prior.mean;
                let slot = self.initial_log_deviations;
                slot.of_mut(grads)[variable] += weight * kl.by_prior.log_scale;
            }
        }
    }

    /// Σ of step KLs: surprise of the process less the entropy of the posterior's steps.
    fn path_kl<R: Real>(
        &self,
        layout: &BridgeLayout,
        (batch, pass): (&Batch, &Pass),
        parameters: &[f64],
        work: &mut Workspace,
    ) -> Option<f64> {
        let scales = &self.increment_scales;
        if !self.is_sampled() {
            exact_moments(layout, scales, batch, &work.values, &mut work.moments);
            let kl = self.steps_kl(pass.weight, parameters, &Extra::default(), work)?;
            let pair = (&work.values, &work.moments);
            let (by_moments, local) = (&work.transition.moments, &mut work.local_grads);
            exact_moments_backward(layout, scales, batch, pair, by_moments, local);
            return Some(kl);
        }
        let place = (&scales[..], batch);
        let draw = (pass.seed, pass.draw);
        let sampled = sampled_moments(layout, place, &work.values, draw, &mut work.moments);
        let (mut neural, extra) = self.neural_forward::<R>(parameters, pass, work, &sampled.states);
        let kl = self.steps_kl(pass.weight, parameters, &extra, work)?;
        let by_extra = std::mem::take(&mut work.transition.extra);
        let by_states = self.neural_backward(parameters, &mut neural, &by_extra, work);
        let values = (&work.values, &work.moments, &sampled);
        let adjoints = (&work.transition.moments, &by_states[..]);
        sampled_moments_backward(place, values, adjoints, &mut work.local_grads);
        Some(kl)
    }

    /// The step KLs given the moments, and the gradient by them.
    fn steps_kl(
        &self,
        weight: f64,
        parameters: &[f64],
        extra: &Extra,
        work: &mut Workspace,
    ) -> Option<f64> {
        let d = self.n_variables();
        work.transition.lagged.reset(d * d);
        let instant = self.instant.map(|_| Instant::new(&work.instant, &work.lagged.mean, d));
        work.transition.instant.reset(if instant.is_some() { d * d } else { 0 });
        let transition = Transition {
            n_variables: d,
            lagged: &work.lagged,
            instant: instant.as_ref(),
            offsets: self.offsets.of(parameters),
            innovation: &self.innovation,
            parameters,
            log_scales: self.log_diffusions.of(parameters),
            weight,
        };
        let grads = &mut work.transition;
        let mut kl = transition_surprise(&transition, &work.moments, extra, grads);
        kl -= 0.5 * weight * entropy_of_steps(&work.moments, d);
        if let Some(instant) = &instant {
            let n_steps = work.moments.n_steps() as f64;
            kl -= log_det_term(instant, weight * n_steps, &mut grads.instant)?;
        }
        self.add_direct_gradients(&work.transition, &mut work.grads);
        Some(kl)
    }

    fn add_direct_gradients(&self, from: &TransitionGrads, grads: &mut [f64]) {
        for slot in self.innovation.slots() {
            slot.of_mut(grads).copy_from_slice(slot.of(&from.parameters));
        }
        self.offsets.of_mut(grads).copy_from_slice(&from.offsets);
        self.log_diffusions.of_mut(grads).copy_from_slice(&from.log_scales);
    }

    fn graph_kl(&self, prior_weight: f64, parameters: &[f64], work: &mut Workspace) -> f64 {
        let prior = (&self.lagged_prior, prior_weight);
        let pair = (parameters, &mut work.grads[..]);
        let mut kl = self.lagged.backward(pair, prior, &work.lagged, &work.transition.lagged);
        if let Some(instant) = self.instant {
            let prior = (&self.instant_prior, prior_weight);
            let pair = (parameters, &mut work.grads[..]);
            kl += instant.backward(pair, prior, &work.instant, &work.transition.instant);
        }
        kl
    }
}

/// Σ over steps and variables of 1 + log v, with v in squared increment scales.
fn entropy_of_steps(moments: &StepMoments, d: usize) -> f64 {
    (moments.spread_of.iter())
        .map(|&spread| {
            let logs = &moments.log_variances[spread * d..(spread + 1) * d];
            logs.iter().map(|log| 1.0 + log).sum::<f64>()
        })
        .sum()
}

/// `factor` log |det(I - E B)|, subtracting its gradient from `grads`; `None` where singular.
///
/// For independent gates E det(I - B) = det(I - E B); no acyclicity is needed.
fn log_det_term(instant: &Instant<'_>, factor: f64, grads: &mut GatedAdjoints) -> Option<f64> {
    let d = grads.mean.len().isqrt();
    let (log_det, inverse) = log_det_and_inverse(&instant.remaining, d)?;
    for source in 0..d {
        for target in 0..d {
            // d log det(I - E) / dE_ij = -(I - E)^-1_ji, and the loss has minus the term.
            grads.mean[source * d + target] += factor * inverse[target * d + source];
        }
    }
    Some(factor * log_det)
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
