//! The candidate with equations: products of variables, and sub-steps between rows.

use std::ops::Range;

use super::folds::Folds;
use super::held_out::prediction_name;
use super::{CandidateReport, SelectSettings, Selection, Task};
use crate::SeriesSet;
use crate::graph::prior::EdgePrior;
use crate::train::bridge::{BridgeError, BridgeSettings, Shares};
use crate::train::polynomial::{
    PolynomialError, PolynomialFit, PolynomialSettings, PolynomialTask, fit_polynomial,
    predicted_bytes, predicted_work,
};
use crate::train::progress::{Made, Part, Progress, Shard, kept_or_made};

/// Its name in tables and files.
pub const EQUATIONS: &str = "equations";
/// Share of a linear process's innovations that products explain from which on equations are worth their cost.
///
/// Linear systems have 0.002 of it, Lorenz's between 0.97 and 0.08 where its equations can be found.
const WORTH_TRYING: f64 = 0.02;
/// Shares of the equations' own innovations below which nothing is left for other candidates to explain.
const LEAVES_NOTHING: f64 = 0.02;
/// Share of the equations' own innovations that products of more variables or other variables explain from which
/// on the drift is no polynomial of this degree.
///
/// Chosen on simulated systems with seeds from 1000 on: Lorenz-96 leaves 0.00 to 0.02 of it, with measurement noise too
/// (which shows in what earlier rows explain), Lorenz-63 none; Kuramoto 0.12 to 0.18, glycolysis 0.12 to 0.36, and both rank edges
/// worse or claim half of them wrongly if their polynomials are believed.
const ANOTHER_SHAPE: f64 = 0.05;
/// Share of all pairs that are expected to be edges from which on equations must leave nothing to be taken, or nothing but
/// what noise of the measurements leaves.
///
/// Noise of a row shows in the steps before and after it, so that earlier rows explain 5 to 22 % of what the right equations of
/// Lorenz-63 and of Lorenz-96 with six variables leave where 5 or 10 % of each deviation is noise (seeds from 2000 on; gaps of 0.05 and 0.1),
/// and products and other variables nothing.
///
/// Glycolysis at a gap of 1 (seed 1000) leaves 3 %, predicts held-out rows far better than any other candidate, and claims 45
/// of 49 pairs, half of them falsely; Lorenz-96 with six variables has 24 of 36, leaves less than 2 %, and all are true.
const NEARLY_ALL: f64 = 0.6;
/// The same of equations that leave nothing, of more than three variables.
///
/// Glycolysis at a gap of 1 again: with seeds 1003 and 1004 they leave less than 2 %, and join 47 and 49 of 49 pairs.
const EVERY_PAIR: f64 = 0.85;
/// The same where what they leave is noise of measurements, which hides how a drift of another shape differs.
///
/// Glycolysis with 10 to 30 % of noise at gaps of 0.25 and 0.5 leaves 1 to 2 % beside what earlier rows explain, claims 75 to 83 % of all pairs,
/// 40 % of them falsely, and predicts well; Lorenz-96 with six variables claims 67 % with any noise, all of them rightly.
const NEARLY_ALL_UNDER_NOISE: f64 = 0.7;
/// Operations beyond which equations are not tried: some ten minutes of one core.
const MOST_WORK: f64 = 6e12;

/// What became of the candidate with equations.
pub(super) enum Equations {
    /// It was not tried, and perhaps why.
    Skipped(Option<String>),
    /// It was stopped.
    Cut { report: CandidateReport },
    /// The evidence prefers linear terms, by so many nats.
    Refused { report: CandidateReport },
    /// The evidence prefers products.
    Found {
        fit: Box<PolynomialFit>,
        report: CandidateReport,
        /// Share of all pairs that are expected to be edges.
        density: f64,
    },
}

impl Equations {
    /// Tries them where a linear process leaves something that products explain.
    pub(super) fn tried(
        task: Task<'_>,
        settings: &SelectSettings,
        base: &BridgeSettings,
        left: Option<Shares>,
        progress: &dyn Progress,
    ) -> Self {
        let Some(left) = left.filter(|_| settings.try_equations) else {
            return Self::Skipped(None);
        };
        if left.products < WORTH_TRYING {
            let sentence = "equations were not tried: products of variables explain nothing that a linear drift leaves";
            return Self::Skipped(Some(sentence.to_owned()));
        }
        if !task.data.inputs().is_empty() || task.data.has_interventions() {
            let sentence = "equations were not tried: they know of no inputs or interventions";
            return Self::Skipped(Some(sentence.to_owned()));
        }
        let own = PolynomialSettings::default();
        if is_too_much(&own, task.data) {
            return Self::Skipped(Some(format!(
                "equations were not tried: products of {} variables take too long for {} rows; leave variables out, or rows",
                task.data.n_variables(),
                task.data.n_rows(),
            )));
        }
        let plain =
            CandidateReport { equations: Some(own), ..CandidateReport::plain(EQUATIONS, base) };
        let cut = || Self::Cut { report: CandidateReport { stopped: true, ..plain.clone() } };
        match found_equations(task, &own, Part::Trial { name: EQUATIONS }, progress) {
            Err(PolynomialError::Stopped) => cut(),
            Err(error) => Self::Skipped(Some(format!("equations were not tried: {error}"))),
            Ok(fit) if !fit.is_complete => cut(),
            Ok(fit) => {
                let report = CandidateReport { evidence: fit.over_linear, ..plain };
                match fit.over_linear {
                    Some(nats) if nats > 0.0 => {
                        let density = density(&fit, task.knowledge);
                        Self::Found { fit: Box::new(fit), report, density }
                    }
                    _ => Self::Refused { report },
                }
            }
        }
    }

    /// Whether they leave nothing that another candidate could explain.
    pub(super) fn are_adequate(&self) -> bool {
        !self.join_every_pair()
            && self.left().is_some_and(|left| {
                left.products + left.past + left.time + left.others < LEAVES_NOTHING
            })
    }

    /// Whether nearly every variable would drive every other, which tells nothing.
    fn join_every_pair(&self) -> bool {
        matches!(self, Self::Found { fit, density, .. } if fit.varying.len() > 3 && *density > EVERY_PAIR)
    }

    /// Whether what they leave shows that the drift is no polynomial of their degree.
    fn have_another_shape(&self) -> bool {
        self.left().is_some_and(|left| left.products + left.others > ANOTHER_SHAPE)
    }

    /// Whether all that they leave is what noise of the measurements leaves, and that hides nothing.
    fn leave_noise_alone(&self) -> bool {
        let is_noise = |left: Shares| left.products + left.time + left.others < LEAVES_NOTHING;
        let join_too_many = matches!(
            self,
            Self::Found { fit, density, .. }
                if fit.varying.len() > 3 && *density > NEARLY_ALL_UNDER_NOISE
        );
        !join_too_many && self.left().is_some_and(is_noise)
    }

    /// Why equations that leave something are not taken, whatever their evidence.
    fn refusal(&self, task: Task<'_>) -> Option<&'static str> {
        if self.join_every_pair() {
            Some("they would have nearly every variable drive every other")
        } else if self.have_another_shape() {
            Some("what they leave shows that the drift is no polynomial of the second degree")
        } else if matches!(self, Self::Found { density, .. } if *density > NEARLY_ALL)
            && !self.leave_noise_alone()
        {
            Some("they leave something, and would have nearly all variables drive each other")
        } else if task.data.n_missing() > 0 {
            Some(
                "they leave something, and with missing cells they cannot be compared on held-out rows",
            )
        } else {
            None
        }
    }

    /// What their innovations still contain; `None` where there are none, or too few rows to say.
    fn left(&self) -> Option<Shares> {
        let Self::Found { fit, .. } = self else { return None };
        (fit.adequacy.n_rows > 0.0).then(|| fit.adequacy.mean_shares())
    }
}

/// Share of all pairs that are expected to be edges.
fn density(fit: &PolynomialFit, knowledge: &EdgePrior) -> f64 {
    let expected = fit.edges(knowledge).map_or(0.0, |edges| edges.probabilities().iter().sum());
    expected / fit.varying.len().pow(2) as f64
}

fn is_too_much(settings: &PolynomialSettings, data: &SeriesSet) -> bool {
    predicted_work(settings, data.n_variables(), data.n_rows()) > MOST_WORK
}

/// Bytes that equations as a candidate need at their peak, about; `None` where they are not tried.
pub fn bytes_of_equations(data: &SeriesSet) -> Option<u64> {
    let settings = PolynomialSettings::default();
    let is_tried =
        data.inputs().is_empty() && !data.has_interventions() && !is_too_much(&settings, data);
    is_tried.then(|| predicted_bytes(&settings, data.n_variables(), data.n_rows()))
}

/// The equations of all data: found where they were kept, else looked for as a part of the fit.
pub fn found_equations(
    task: Task<'_>,
    settings: &PolynomialSettings,
    part: Part<'_>,
    progress: &dyn Progress,
) -> Result<PolynomialFit, PolynomialError> {
    let Task { data, knowledge } = task;
    let training = part.to_string();
    let shard = Shard { name: EQUATIONS, training: &training };
    kept_or_made(progress, shard, settings, || {
        let fit = fit_polynomial(PolynomialTask { data, knowledge, settings }, part, progress)?;
        Ok(if fit.is_complete { Made::Final(fit) } else { Made::Passing(fit) })
    })
}

impl SelectSettings {
    /// The choice among the others and equations: what the evidence prefers to linear terms wins, unless its innovations
    /// show another shape, or it leaves something and does not predict held-out rows as well as another candidate.
    pub(super) fn with_equations(
        &self,
        mut compared: Selection,
        equations: Equations,
        folds: &Folds,
        task: Task<'_>,
        progress: &dyn Progress,
    ) -> Result<Selection, BridgeError> {
        let is_adequate = equations.are_adequate();
        let refusal = if is_adequate { None } else { equations.refusal(task) };
        match equations {
            Equations::Skipped(sentence) => compared.skipped.extend(sentence),
            Equations::Refused { report } | Equations::Cut { report } => {
                compared.candidates.push(report);
            }
            Equations::Found { fit, mut report, .. } => {
                let is_taken = if is_adequate {
                    true
                } else if let Some(sentence) = refusal {
                    compared.skipped.push(format!("equations were not taken: {sentence}"));
                    false
                } else {
                    let other = &compared.candidates[compared.chosen];
                    self.compare_equations(&mut report, other, folds, task, progress)?;
                    report.gain.is_some_and(|gain| gain.mean >= 0.0)
                };
                compared.candidates.push(report);
                if is_taken {
                    compared.chosen = compared.candidates.len() - 1;
                    compared.found = Some(fit);
                }
            }
        }
        Ok(compared)
    }

    /// By how much equations predict held-out rows better than another candidate.
    fn compare_equations(
        &self,
        report: &mut CandidateReport,
        other: &CandidateReport,
        folds: &Folds,
        task: Task<'_>,
        progress: &dyn Progress,
    ) -> Result<(), BridgeError> {
        let some = self.n_costly_folds.clamp(1, folds.n_folds());
        report.log_likelihoods = vec![None; folds.n_units()];
        report.not_asked = (0..folds.n_units()).collect();
        evaluate(folds, 0..1, task, report, progress)?;
        report.gain = self.gain(report, other);
        // Those that predict the first fold worse are not worth the cost of the others.
        if report.gain.is_none_or(|gain| gain.mean >= 0.0) && some > 1 {
            evaluate(folds, 1..some, task, report, progress)?;
            report.gain = self.gain(report, other);
        }
        Ok(())
    }
}

/// How equations of the other folds predict some folds.
fn evaluate(
    folds: &Folds,
    some: Range<usize>,
    task: Task<'_>,
    report: &mut CandidateReport,
    progress: &dyn Progress,
) -> Result<(), BridgeError> {
    let Some(settings) = report.equations else { return Ok(()) };
    for fold in some {
        let asked = folds.units_of(fold);
        report.not_asked.retain(|unit| asked.binary_search(unit).is_err());
        let part = Part::Candidate { name: EQUATIONS, fold, n_folds: folds.n_folds() };
        let (name, training) = (prediction_name(part), part.to_string());
        let shard = Shard { name: &name, training: &training };
        let found = kept_or_made(progress, shard, &settings, || {
            let (data, held_out) = folds.split(fold)?;
            let own =
                PolynomialTask { data: &data, knowledge: task.knowledge, settings: &settings };
            match fit_polynomial(own, part, progress) {
                Ok(fit) if !fit.is_complete => Ok(Made::Passing(Vec::new())),
                Ok(fit) => Ok(Made::Final(fit.predictive_scores(&held_out))),
                Err(PolynomialError::Stopped) => Ok(Made::Passing(Vec::new())),
                // What cannot be fitted predicts nothing, and so cannot win.
                Err(_) => Ok(Made::Final(vec![None; held_out.n_series()])),
            }
        });
        let found: Vec<Option<f64>> =
            found.map_err(|error: crate::CoreError| BridgeError::from(error))?;
        report.stopped |= found.is_empty();
        for (&unit, value) in asked.iter().zip(found) {
            report.log_likelihoods[unit] = value;
        }
    }
    Ok(())
}
