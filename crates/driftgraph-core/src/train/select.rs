//! Settings chosen without the truth: candidates compared on held-out series, then a refit.
//!
//! Held-out likelihood decides only what it decides reliably: whether variables act on each other within
//! a step, and whether the drift is more than linear. Everything else is learned.

mod candidates;
mod ensemble;
mod equations;
mod folds;
mod held_out;
mod levels;
mod race;
mod stability;
mod training;

use rayon::prelude::*;

pub use ensemble::EnsembleFit;
pub use equations::{EQUATIONS, found_equations};
pub use folds::{Folds, HeldOutUnit};
pub use stability::{Stability, bootstrap_sample, stability};

use super::bridge::{BridgeError, BridgeFit, BridgeSettings, NoiseScale, Shares, state_key};
use super::linear::{Extent, Follower};
use super::polynomial::{PolynomialFit, PolynomialSettings};
use super::progress::{Part, Progress, StopAlone, UserStopAlone};
use crate::SeriesSet;
use crate::graph::prior::EdgePrior;
use crate::posterior::bridge::innovation::InnovationLaw;
use crate::posterior::bridge::layout::default_step_size;
use crate::posterior::bridge::structure::DriftParts;
use candidates::Seen;
use held_out::{name_of, prediction_name};
use race::Race;
use training::train;

/// How candidates are chosen.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SelectSettings {
    /// What all candidates share.
    pub base: BridgeSettings,
    /// Whether instantaneous effects are tried.
    pub try_instantaneous: bool,
    /// Whether a node function on top of the linear drift is tried.
    pub try_neural: bool,
    /// Whether equations with products of variables are tried.
    pub try_equations: bool,
    /// Parts into which the series are dealt; each is predicted once by a fit of the others.
    pub n_folds: usize,
    /// Standard errors by which a candidate must gain.
    pub min_standard_errors: f64,
    /// Folds on which node functions are compared: they cost a hundred times as much as a linear process.
    pub n_costly_folds: usize,
    /// Share of the held-out log likelihood by which a candidate must gain.
    pub min_relative_gain: f64,
    /// Fits with different seeds whose log-odds are averaged at the end.
    pub ensemble: usize,
}

impl Default for SelectSettings {
    fn default() -> Self {
        Self {
            base: BridgeSettings::default(),
            try_instantaneous: true,
            try_neural: true,
            try_equations: true,
            n_folds: 5,
            n_costly_folds: 2,
            min_standard_errors: 2.0,
            min_relative_gain: 0.002,
            ensemble: 3,
        }
    }
}

/// One candidate and how it predicted what it had not seen.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CandidateReport {
    /// `linear`, or what is added to it.
    pub name: String,
    /// Its settings.
    pub settings: BridgeSettings,
    /// Held-out log likelihood of every unit; `None` where it could not be computed.
    pub log_likelihoods: Vec<Option<f64>>,
    /// Mean gain per unit over the candidate it was compared with; `None` for the first.
    pub gain: Option<Gain>,
    /// Whether all its fits converged.
    pub converged: bool,
    /// Whether a fit was stopped from outside, so that nothing can be said of the candidate.
    #[serde(default, skip_serializing)]
    pub stopped: bool,
    /// Units that it was not asked to predict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_asked: Vec<usize>,
    /// Settings of equations, where the candidate has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equations: Option<PolynomialSettings>,
    /// Log evidence of equations over that of linear terms of the same kind, in nats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<f64>,
}

impl CandidateReport {
    /// A candidate that was not compared with any.
    pub(super) fn plain(settings: &BridgeSettings) -> Self {
        Self {
            name: name_of(settings),
            settings: settings.clone(),
            log_likelihoods: Vec::new(),
            gain: None,
            converged: true,
            stopped: false,
            not_asked: Vec::new(),
            equations: None,
            evidence: None,
        }
    }

    /// Whether it has predicted anything.
    fn is_compared(&self) -> bool {
        !self.log_likelihoods.is_empty()
    }
}

/// A gain in held-out log likelihood.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Gain {
    /// Mean over units, in nats.
    pub mean: f64,
    /// Its standard error over units.
    pub standard_error: f64,
    /// Relative to the magnitude of the other candidate's mean.
    pub relative: f64,
    /// Whether it is large enough to be believed.
    pub accepted: bool,
}

/// What was tried and what won.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Selection {
    /// All candidates, the plain one first.
    pub candidates: Vec<CandidateReport>,
    /// Position of the winner.
    pub chosen: usize,
    /// What was held out; `None` where the data cannot be split.
    pub unit: Option<HeldOutUnit>,
    /// A sentence for each candidate that was not worth its cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// The equations of all data where they won; not kept with the choice.
    #[serde(skip)]
    pub found: Option<Box<PolynomialFit>>,
}

impl Selection {
    /// Before anything was compared with nothing added.
    fn of(plain: CandidateReport, unit: Option<HeldOutUnit>) -> Self {
        Self { candidates: vec![plain], chosen: 0, unit, skipped: Vec::new(), found: None }
    }
}

/// A model in training: what it is fitted to, and what it may assume.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The data.
    pub data: &'a SeriesSet,
    /// What is known of edges.
    pub knowledge: &'a EdgePrior,
}

/// Fits all data once per seed, seeds counting up from that of the settings.
pub fn fit_ensemble(
    task: Task<'_>,
    settings: &BridgeSettings,
    n_members: usize,
    progress: &dyn Progress,
) -> Result<EnsembleFit, BridgeError> {
    let checked = settings.clone().check()?;
    if settings.levels {
        let (members, divergence) = levels::fit_members(task, settings, n_members, progress)?;
        return Ok(EnsembleFit::new(members).with_divergence(divergence));
    }
    // Without anything random all members would be the same.
    let n_members = if checked.is_deterministic(task.data)? { 1 } else { n_members.max(1) };
    let careful =
        if settings.is_closed_form() { None } else { careful_beliefs(task, settings, progress)? };
    let members: Vec<Result<_, BridgeError>> = (0..n_members)
        .into_par_iter()
        .map(|number| {
            let seed = settings.seed.wrapping_add(number as u64);
            let settings = BridgeSettings { seed, ..settings.clone() }.check()?;
            let part = Part::Member { number, n_members };
            let trained = train(task, settings, part, Extent::Chains, progress)?;
            if trained.ended_by_itself() {
                progress.keep(&part.to_string(), &trained.kept());
            }
            let fit = BridgeFit::new(trained.trainer, trained.stop, trained.linear);
            let fit = match &careful {
                Some(careful) => fit.leaning_on(careful),
                None => fit,
            };
            Ok((fit, trained.divergence))
        })
        .collect();
    let members = members.into_iter().collect::<Result<Vec<_>, _>>()?;
    let (members, divergences): (Vec<_>, Vec<_>) = members.into_iter().unzip();
    Ok(EnsembleFit::new(members).with_divergence(divergences.into_iter().flatten().next()))
}

/// What a linear process may believe of the edges; `None` where that cannot be computed.
fn careful_beliefs(
    Task { data, knowledge }: Task<'_>,
    settings: &BridgeSettings,
    progress: &dyn Progress,
) -> Result<Option<Vec<f64>>, BridgeError> {
    let linear = linear_only(settings);
    let key = state_key(&linear);
    let task = linear.check()?.linear_task(data, knowledge)?;
    // What is believed without them would be too sure: they end when the user wishes, not when the time is up.
    let follower = Follower { part: Part::WHOLE, progress: &UserStopAlone(progress), key };
    Ok(task.careful_probabilities(&follower))
}

/// Compares the candidates on held-out series, or blocks of time where there are few series.
///
/// First what costs little against nothing added, then what costs much on top of the better of these.
pub fn select(
    task: Task<'_>,
    settings: &SelectSettings,
    progress: &dyn Progress,
) -> Result<Selection, BridgeError> {
    let base = settled(task.data, &settings.base)?;
    let plain = CandidateReport::plain(&base);
    let Some(folds) = Folds::new(task.data, settings.n_folds, base.seed)? else {
        return Ok(Selection::of(plain, None));
    };
    let left = left_by_linear(task, &base, progress)?;
    let seen = Seen { task, settings, base: &base, left };
    Race::new(seen, &folds, plain, progress).run()
}

/// What a linear process leaves unexplained, on the whole; `None` where that cannot be asked.
fn left_by_linear(
    Task { data, knowledge }: Task<'_>,
    base: &BridgeSettings,
    progress: &dyn Progress,
) -> Result<Option<Shares>, BridgeError> {
    if !base.is_closed_form() {
        return Ok(None);
    }
    let linear = base.clone().check()?.linear_task(data, knowledge)?;
    let key = state_key(base);
    let follower = Follower { part: Part::WHOLE, progress: &StopAlone(progress), key };
    let found = linear.fit(Extent::Ascent, None, &follower);
    let adequacy = found.map(|(fit, _)| fit.adequacy).filter(|adequacy| adequacy.n_rows > 0.0);
    Ok(adequacy.map(|adequacy| adequacy.mean_shares()))
}

impl Selection {
    /// The settings of the winner.
    pub fn winner(&self) -> &BridgeSettings {
        &self.candidates[self.chosen].settings
    }

    /// The settings of the winner's equations, where it has any.
    pub fn equations(&self) -> Option<&PolynomialSettings> {
        self.candidates[self.chosen].equations.as_ref()
    }

    /// Whether candidates were stopped before they could be compared.
    pub fn was_cut(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.stopped)
    }

    /// What was kept of the candidates on the way is not needed once they are compared.
    pub fn forget_parts(&self, n_folds: usize, progress: &dyn Progress) {
        for candidate in &self.candidates {
            for fold in 0..n_folds {
                let part = Part::Candidate { name: &candidate.name, fold, n_folds };
                progress.forget(&part.to_string());
                progress.forget(&prediction_name(part));
            }
        }
    }
}

/// The settings of the linear process alone, which has a closed form.
fn linear_only(settings: &BridgeSettings) -> BridgeSettings {
    BridgeSettings {
        drift: DriftParts::Linear,
        neural_diffusion: false,
        instantaneous: false,
        levels: false,
        innovations: InnovationLaw::Gaussian,
        max_steps: None,
        ..settings.clone()
    }
}

/// The settings with what depends on the data decided once, for all candidates and folds alike.
fn settled(data: &SeriesSet, base: &BridgeSettings) -> Result<BridgeSettings, BridgeError> {
    let mut base = base.clone();
    if base.step_size.is_none() {
        base.step_size = Some(default_step_size(data)?);
    }
    if base.noise_scale == NoiseScale::Auto {
        base.noise_scale = base.clone().check()?.noise_scale(data)?;
    }
    Ok(base)
}

impl SelectSettings {
    /// The gain of one candidate over another; `None` where fewer than two units can be compared.
    fn gain(&self, candidate: &CandidateReport, other: &CandidateReport) -> Option<Gain> {
        let asked =
            |unit: &usize| !candidate.not_asked.contains(unit) && !other.not_asked.contains(unit);
        let units: Vec<usize> = (0..candidate.log_likelihoods.len()).filter(asked).collect();
        let pairs = units
            .iter()
            .map(|&unit| (&candidate.log_likelihoods[unit], &other.log_likelihoods[unit]));
        // A unit that only the other can predict speaks against the candidate.
        if pairs.clone().any(|(own, other)| own.is_none() && other.is_some()) {
            return None;
        }
        let pairs: Vec<(f64, f64)> = pairs.filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
        let n = pairs.len() as f64;
        if pairs.len() < 2 {
            return None;
        }
        let mean = pairs.iter().map(|(own, other)| own - other).sum::<f64>() / n;
        let squares: f64 = pairs.iter().map(|(own, other)| (own - other - mean).powi(2)).sum();
        let standard_error = (squares / (n - 1.0) / n).sqrt();
        let magnitude = pairs.iter().map(|(_, other)| other).sum::<f64>().abs() / n;
        let relative = mean / magnitude.max(f64::MIN_POSITIVE);
        let accepted =
            mean > self.min_standard_errors * standard_error && relative > self.min_relative_gain;
        Some(Gain { mean, standard_error, relative, accepted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(values: &[f64]) -> CandidateReport {
        let log_likelihoods = values.iter().map(|&value| Some(value)).collect();
        CandidateReport { log_likelihoods, ..CandidateReport::plain(&BridgeSettings::default()) }
    }

    #[test]
    fn a_gain_must_exceed_its_error_and_a_share_of_the_whole() {
        let settings = SelectSettings::default();
        let other = report(&[-100.0, -110.0, -90.0, -100.0]);
        let gain = |values: &[f64]| settings.gain(&report(values), &other).unwrap();
        // Gains 2, 3, 2, 3: mean 2.5, deviation 0.577, standard error 0.289; 2.5 % of the whole.
        let clear = gain(&[-98.0, -107.0, -88.0, -97.0]);
        assert!((clear.mean - 2.5).abs() < 1e-12 && clear.accepted);
        assert!((clear.standard_error - (1.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        // The same mean from one unit alone: standard error 2.5.
        assert!(!gain(&[-90.0, -110.0, -90.0, -100.0]).accepted);
        // Certain but tiny: 0.1 of 100.
        assert!(!gain(&[-99.9, -109.9, -89.9, -99.9]).accepted);
    }

    #[test]
    fn a_candidate_that_cannot_predict_does_not_win() {
        let other = report(&[-100.0, -110.0, -90.0]);
        let mut candidate = report(&[-10.0, -10.0, -10.0]);
        candidate.log_likelihoods[1] = None;
        assert_eq!(SelectSettings::default().gain(&candidate, &other), None);
    }
}
