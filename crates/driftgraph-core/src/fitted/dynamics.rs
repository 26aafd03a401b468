//! Drift and noise of a learned process, for a block of paths at once and in the user's units.
//!
//! All posteriors learn the same kind of step. With z standardised, h the step in the model's time and c the
//! increment scales, z moves by c d with d (I - B) = h (b + z A + net(z)) + g(z) sqrt(h) e; the process of the
//! paper has c = 1 and neither A, b nor B.

mod effects;
mod graphs;
mod terms;

pub(super) use graphs::BlockGraphs;
pub use graphs::GraphChoice;

use super::model::{
    BridgePart, FittedModel, ModelPart, PolynomialPart, SimulatedPart, measurement_deviations,
    sigmoids,
};
use crate::graph::posterior::edge_probabilities;
use crate::numeric::real::{exp, ln};
use crate::objective::observation::ObservationNoise;
use crate::posterior::bridge::innovation::{Component, InnovationLaw};
use crate::process::node_block::BlockNet;
use crate::process::part::{AddsTo, BlockPart, PartWorker};
use crate::process::prior::PriorProcess;
use crate::random::RandomStream;
use terms::Terms;

/// One member's process.
#[derive(Debug)]
pub(super) struct Dynamics {
    n: usize,
    means: Vec<f64>,
    scales: Vec<f64>,
    /// User units per increment scale: scale times c.
    units: Vec<f64>,
    /// The user's time per unit of the model's.
    time_unit: f64,
    inverse_scales: Vec<f64>,
    /// User units of drift and diffusion per unit of the model's.
    drift_units: Vec<f64>,
    noise_units: Vec<f64>,
    offsets: Vec<f64>,
    lagged: Gates,
    instant: Option<Gates>,
    /// Equations, in a process that has them instead of linear effects and parts.
    terms: Option<Terms>,
    /// What there is beyond linear effects and a constant diffusion.
    parts: Vec<Box<dyn BlockPart>>,
    diffusion: DiffusionForm,
    law: Law,
    /// Means and deviations of the initial law, in the user's units.
    initial: (Vec<f64>, Vec<f64>),
    noise: (ObservationNoise, Vec<f64>),
}

/// Edges with effects behind them, each `[source, target]`.
#[derive(Debug)]
struct Gates {
    /// Under this member's q(G), with which its effects were learned.
    probabilities: Vec<f64>,
    /// As reported: what is believed, over all members.
    reported: Vec<f64>,
    /// Mean and deviation of linear effects given their edges; empty where there are none.
    effects: Vec<(f64, f64)>,
}

/// How the diffusion follows from its node function.
#[derive(Debug)]
enum DiffusionForm {
    /// A constant per variable, times the exponential of the node function where there is one.
    Exponential(Vec<f64>),
    /// An activation of the paper's process.
    Activated(Box<PriorProcess>),
}

/// Law of the innovations, in units of the diffusion.
#[derive(Debug)]
enum Law {
    Gaussian,
    Laplace,
    Mixture(Vec<[Component; 2]>),
}

/// Coefficients of a step of all paths of a block, `[path, variable]`, in the user's units.
#[derive(Debug, Default)]
pub(super) struct Coefficients {
    /// Per unit of time.
    pub(super) drift: Vec<f64>,
    /// Per square root of time.
    pub(super) diffusion: Vec<f64>,
    /// Derivative of each diffusion by its own variable; empty unless asked for.
    pub(super) derivative: Vec<f64>,
    standard: Vec<f64>,
    /// Sum of what parts add to the diffusion.
    added: Vec<f64>,
    /// The parts at work on this block.
    workers: Vec<Box<dyn PartWorker>>,
}

impl Dynamics {
    /// The processes of all members.
    pub(super) fn of(model: &FittedModel) -> Vec<Self> {
        match &model.part {
            ModelPart::Bridge(part) => {
                (0..part.members.len()).map(|member| Self::bridge(model, part, member)).collect()
            }
            ModelPart::Polynomial(part) => vec![Self::polynomial(model, part)],
            ModelPart::Simulated(part) => vec![Self::simulated(model, part)],
        }
    }

    fn bridge(model: &FittedModel, part: &BridgePart, member: usize) -> Self {
        let (bridge, parameters) = (&part.model, &part.members[member].parameters);
        let n = bridge.n_variables();
        let odds = model.believed_log_odds();
        let scaling = model.standardizer();
        let gates = |matrix: &crate::posterior::bridge::gated::GatedMatrix, rules, odds: &[f64]| {
            let logits = matrix.edge_logits.of(parameters);
            let effect = |idx| {
                let (mean, square) = matrix.effect(parameters, idx);
                (mean, square.sqrt())
            };
            Gates {
                probabilities: edge_probabilities(logits, rules),
                reported: super::model::sigmoids(odds),
                effects: if matrix.has_effects() {
                    (0..n * n).map(effect).collect()
                } else {
                    Vec::new()
                },
            }
        };
        let log_diffusions = bridge.log_diffusions(parameters);
        let (initial_means, initial_logs) = bridge.initial_law(parameters);
        let units: Vec<f64> =
            bridge.increment_scales().iter().zip(scaling.scales()).map(|(c, s)| c * s).collect();
        Self {
            n,
            means: scaling.means().to_vec(),
            scales: scaling.scales().to_vec(),
            inverse_scales: scaling.scales().iter().map(|scale| 1.0 / scale).collect(),
            drift_units: units.iter().map(|unit| unit / part.time_unit).collect(),
            noise_units: units.iter().map(|unit| unit / part.time_unit.sqrt()).collect(),
            units,
            time_unit: part.time_unit,
            offsets: bridge.offsets(parameters).to_vec(),
            lagged: gates(bridge.lagged(), bridge.lagged_prior().rules(), &odds.lagged),
            instant: bridge
                .instant()
                .zip(odds.instant.as_deref())
                .map(|(matrix, odds)| gates(matrix, bridge.instant_prior().rules(), odds)),
            terms: None,
            parts: bridge.block_parts(parameters),
            diffusion: DiffusionForm::Exponential(
                log_diffusions.iter().map(|&log| exp(log)).collect(),
            ),
            law: match bridge.innovation().law() {
                InnovationLaw::Gaussian => Law::Gaussian,
                InnovationLaw::Laplace => Law::Laplace,
                InnovationLaw::Mixture => Law::Mixture(
                    (0..n).map(|idx| bridge.innovation().components(parameters, idx)).collect(),
                ),
            },
            initial: in_user_units(model, initial_means, initial_logs),
            noise: (
                bridge.structure().noise,
                noise_scales(model, bridge.log_noise(parameters).iter().map(|&log| exp(log))),
            ),
        }
    }

    fn polynomial(model: &FittedModel, part: &PolynomialPart) -> Self {
        let (fit, n) = (&part.fit, model.n_variables());
        let scaling = model.standardizer();
        let (scales, time_unit) = (scaling.scales(), fit.unit);
        // What never varies stays where it is.
        let mut diffusions = vec![0.0; n];
        for (&variable, noise) in fit.varying.iter().zip(&fit.belief.noise) {
            diffusions[variable] = noise.sqrt();
        }
        let noise = measurement_deviations(part);
        Self {
            n,
            means: scaling.means().to_vec(),
            scales: scales.to_vec(),
            inverse_scales: scales.iter().map(|scale| 1.0 / scale).collect(),
            drift_units: scales.iter().map(|scale| scale / time_unit).collect(),
            noise_units: scales.iter().map(|scale| scale / time_unit.sqrt()).collect(),
            units: scales.to_vec(),
            time_unit,
            offsets: vec![0.0; n],
            lagged: Gates {
                probabilities: sigmoids(&part.edges.log_odds),
                reported: part.edges.probabilities(),
                effects: Vec::new(),
            },
            instant: None,
            terms: Some(Terms::new(part)),
            parts: Vec::new(),
            diffusion: DiffusionForm::Exponential(diffusions),
            law: Law::Gaussian,
            initial: in_user_units(model, &part.first_means(), &part.first_logs()),
            noise: (ObservationNoise::Gaussian, noise_scales(model, noise.into_iter())),
        }
    }

    fn simulated(model: &FittedModel, part: &SimulatedPart) -> Self {
        let fit = &part.fit;
        let n = model.n_variables();
        let posterior = fit.model();
        let rules = posterior.architecture.edge_prior.rules();
        let initial = fit.initial_state_prior();
        let means: Vec<f64> = initial.iter().map(|(mean, _)| *mean).collect();
        let logs: Vec<f64> = initial.iter().map(|&(_, deviation)| ln(deviation)).collect();
        let probabilities = fit.edge_probabilities();
        let (scales, clock) = (model.standardizer().scales(), fit.time_scaling().scale);
        Self {
            n,
            means: model.standardizer().means().to_vec(),
            scales: model.standardizer().scales().to_vec(),
            inverse_scales: model.standardizer().scales().iter().map(|scale| 1.0 / scale).collect(),
            drift_units: scales.iter().map(|scale| scale * clock).collect(),
            noise_units: scales.iter().map(|scale| scale * clock.sqrt()).collect(),
            units: scales.to_vec(),
            time_unit: 1.0 / clock,
            offsets: vec![0.0; n],
            lagged: Gates { reported: probabilities.clone(), probabilities, effects: Vec::new() },
            instant: None,
            terms: None,
            parts: [AddsTo::Drift, AddsTo::LogDiffusion]
                .map(|part| BlockNet::of_process(&posterior.process, rules, fit.parameters(), part))
                .map(|net| Box::new(net) as _)
                .into(),
            diffusion: DiffusionForm::Activated(Box::new(posterior.process)),
            law: Law::Gaussian,
            initial: in_user_units(model, &means, &logs),
            noise: (
                posterior.architecture.noise,
                noise_scales(model, fit.noise_scales().into_iter()),
            ),
        }
    }

    /// Number of variables, D.
    pub(super) fn n_variables(&self) -> usize {
        self.n
    }

    /// Means and deviations of the initial law, in the user's units.
    pub(super) fn initial(&self) -> (&[f64], &[f64]) {
        (&self.initial.0, &self.initial.1)
    }

    /// Law and scales of the measurement noise, in the user's units.
    pub(super) fn measurement_noise(&self) -> (ObservationNoise, &[f64]) {
        (self.noise.0, &self.noise.1)
    }

    /// Whether Milstein's step is Euler's, because no diffusion depends on the state.
    pub(super) fn has_constant_diffusion(&self) -> bool {
        self.parts.iter().all(|part| part.adds_to() == AddsTo::Drift)
    }

    /// Whether variables act on each other within a step.
    pub(super) fn has_instant_effects(&self) -> bool {
        self.instant.is_some()
    }

    /// Fills drift and diffusion at the block's states, `[path, variable]` in the user's units.
    pub(super) fn coefficients(
        &self,
        states: &[f64],
        graphs: &BlockGraphs,
        out: &mut Coefficients,
        with_derivative: bool,
    ) {
        let n = self.n;
        let standard = &mut out.standard;
        standard.resize(states.len(), 0.0);
        out.drift.resize(states.len(), 0.0);
        let rows = standard.chunks_exact_mut(n).zip(out.drift.chunks_exact_mut(n));
        for ((standard, drift), state) in rows.zip(states.chunks_exact(n)) {
            for idx in 0..n {
                standard[idx] = (state[idx] - self.means[idx]) * self.inverse_scales[idx];
            }
            drift.copy_from_slice(&self.offsets);
        }
        graphs.add_linear_drift(standard, n, &mut out.drift);
        if let Some(terms) = &self.terms {
            terms.add_drift(graphs.terms(), standard, &mut out.drift);
        }
        out.added.clear();
        out.added.resize(states.len(), 0.0);
        if out.workers.len() != self.parts.len() {
            out.workers = self.parts.iter().map(|part| part.worker()).collect();
        }
        for ((part, strengths), worker) in
            self.parts.iter().zip(graphs.strengths()).zip(&mut out.workers)
        {
            let (sums, outputs) = match part.adds_to() {
                AddsTo::Drift => (&mut out.drift, worker.run(strengths, standard)),
                AddsTo::LogDiffusion if with_derivative => {
                    (&mut out.added, worker.run_for_derivatives(strengths, standard))
                }
                AddsTo::LogDiffusion => (&mut out.added, worker.run(strengths, standard)),
            };
            for (sum, &extra) in sums.iter_mut().zip(outputs) {
                *sum += f64::from(extra);
            }
        }
        for row in out.drift.chunks_exact_mut(n) {
            for (drift, unit) in row.iter_mut().zip(&self.drift_units) {
                *drift *= unit;
            }
        }
        self.diffusions(&out.added, &mut out.diffusion);
        out.derivative.clear();
        if with_derivative {
            self.derivatives(graphs, &out.diffusion, &mut out.workers, &mut out.derivative);
        }
    }

    /// From what the parts add to the diffusion itself.
    fn diffusions(&self, added: &[f64], out: &mut Vec<f64>) {
        let n = self.n;
        out.resize(added.len(), 0.0);
        match &self.diffusion {
            DiffusionForm::Exponential(scales) if self.has_constant_diffusion() => {
                out.chunks_exact_mut(n).for_each(|row| row.copy_from_slice(scales));
            }
            DiffusionForm::Exponential(scales) => {
                let logs = added.iter().zip(scales.iter().cycle());
                for (out, (&log, scale)) in out.iter_mut().zip(logs) {
                    *out = scale * exp(log);
                }
            }
            DiffusionForm::Activated(process) => {
                out.copy_from_slice(added);
                process.activate_diffusion(out);
            }
        }
        for row in out.chunks_exact_mut(n) {
            for (diffusion, unit) in row.iter_mut().zip(&self.noise_units) {
                *diffusion *= unit;
            }
        }
    }

    /// d diffusion_j / d x_j, in the user's units.
    fn derivatives(
        &self,
        graphs: &BlockGraphs,
        diffusion: &[f64],
        workers: &mut [Box<dyn PartWorker>],
        out: &mut Vec<f64>,
    ) {
        out.resize(diffusion.len(), 0.0);
        let parts = self.parts.iter().zip(graphs.strengths()).zip(workers);
        for ((_, strengths), worker) in
            parts.filter(|((part, _), _)| part.adds_to() == AddsTo::LogDiffusion)
        {
            let slopes = worker.own_derivatives(strengths);
            out.iter_mut().zip(slopes).for_each(|(sum, &slope)| *sum += f64::from(slope));
        }
        for (idx, out) in out.iter_mut().enumerate() {
            let variable = idx % self.n;
            let slope = *out / self.scales[variable];
            *out = slope
                * match &self.diffusion {
                    DiffusionForm::Exponential(_) => diffusion[idx],
                    DiffusionForm::Activated(process) => {
                        let unit = self.noise_units[variable];
                        unit * process.diffusion_slope(diffusion[idx] / unit)
                    }
                };
        }
    }

    /// Fills one step's innovations of a path, in units of its diffusion over the square root of time.
    pub(super) fn draw_innovations(&self, random: &mut RandomStream, out: &mut [f64]) {
        random.fill_normal(out);
        match &self.law {
            Law::Gaussian => {}
            // A normal number times the root of twice an exponential one has Laplace's law.
            Law::Laplace => out.iter_mut().for_each(|value| {
                *value *= (-2.0 * ln(1.0 - random.uniform())).sqrt();
            }),
            Law::Mixture(components) => {
                let DiffusionForm::Exponential(scales) = &self.diffusion else { return };
                for ((value, pair), scale) in
                    out.iter_mut().zip(components).zip(scales.iter().cycle())
                {
                    let first = random.uniform() < exp(pair[0].log_weight);
                    let component = if first { pair[0] } else { pair[1] };
                    *value = component.centre / scale + exp(component.log_deviation) * *value;
                }
            }
        }
    }

    /// Whether a step's innovations need nothing but one normal number per variable.
    pub(super) fn is_gaussian(&self) -> bool {
        matches!(self.law, Law::Gaussian)
    }

    /// Passes the increments of one path through its effects within a step, in place.
    pub(super) fn propagate(&self, propagation: &[f64], increments: &mut [f64]) {
        let n = self.n;
        let before: Vec<f64> =
            increments.iter().zip(&self.units).map(|(d, unit)| d / unit).collect();
        for (target, out) in increments.iter_mut().enumerate() {
            let sum: f64 =
                (0..n).map(|source| before[source] * propagation[source * n + target]).sum();
            *out = sum * self.units[target];
        }
    }

    /// Variances of a step's noise per unit of time at one state, effects within the step included.
    pub(super) fn noise_variances(&self, state: &[f64]) -> Vec<f64> {
        if let DiffusionForm::Exponential(scales) = &self.diffusion
            && self.has_constant_diffusion()
            && self.instant.is_none()
        {
            let law = self.law_variance();
            let diffusions = scales.iter().zip(&self.noise_units).map(|(scale, unit)| scale * unit);
            return diffusions.map(|g| g * g * law).collect();
        }
        let mut graphs = BlockGraphs::new(self, GraphChoice::Threshold(0.5), 0, &[0]);
        // Effects without a solution are left out: their propagation stays empty.
        let _ = graphs.hold(&[]);
        let mut coefficients = Coefficients::default();
        self.coefficients(state, &graphs, &mut coefficients, false);
        let own: Vec<f64> =
            coefficients.diffusion.iter().map(|g| g * g * self.law_variance()).collect();
        let Some(propagation) = graphs.propagation(0) else { return own };
        let n = self.n;
        (0..n)
            .map(|target| {
                let share = |source: usize| {
                    let weight =
                        propagation[source * n + target] * self.units[target] / self.units[source];
                    weight * weight * own[source]
                };
                (0..n).map(share).sum()
            })
            .collect()
    }

    /// Variance of an innovation in units of its squared diffusion; a mixture's is near 1.
    pub(super) fn law_variance(&self) -> f64 {
        match self.law {
            Law::Gaussian | Law::Mixture(_) => 1.0,
            Law::Laplace => 2.0,
        }
    }
}

fn in_user_units(model: &FittedModel, means: &[f64], logs: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let scaling = model.standardizer();
    let mut user = means.to_vec();
    scaling.undo(&mut user);
    (user, logs.iter().zip(scaling.scales()).map(|(&log, scale)| exp(log) * scale).collect())
}

fn noise_scales(model: &FittedModel, standard: impl Iterator<Item = f64>) -> Vec<f64> {
    standard.zip(model.standardizer().scales()).map(|(noise, scale)| noise * scale).collect()
}
