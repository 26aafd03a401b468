//! The candidate with equations: products of variables, and sub-steps between rows.

use super::candidates::{Outlook, Seen, Standing};
use super::held_out::FoldPrediction;
use super::{CandidateReport, Task};
use crate::SeriesSet;
use crate::graph::prior::EdgePrior;
use crate::train::bridge::memory::BridgeShape;
use crate::train::bridge::{BridgeSettings, Shares};
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

/// The candidate; `None` where nobody can tell what products would explain.
pub(super) fn report(seen: &Seen<'_>) -> Option<CandidateReport> {
    seen.left.map(|_| CandidateReport {
        name: EQUATIONS.to_owned(),
        equations: Some(PolynomialSettings::default()),
        ..CandidateReport::plain(seen.base)
    })
}

/// Bytes of a fit; none where it takes so long that it is not tried, or the data are none for equations.
pub(super) fn bytes(shape: &BridgeShape, _: &BridgeSettings, _: usize) -> usize {
    let settings = PolynomialSettings::default();
    if shape.has_experiment || is_too_much(&settings, shape.n_variables, shape.n_rows) {
        return 0;
    }
    predicted_bytes(&settings, shape.n_variables, shape.n_rows) as usize
}

/// Why a fit is not worth its cost.
pub(super) fn refusal(Seen { task, left, .. }: &Seen<'_>) -> Option<String> {
    let (n_variables, n_rows) = (task.data.n_variables(), task.data.n_rows());
    if left.is_some_and(|left| left.products < WORTH_TRYING) {
        Some("products of variables explain nothing that a linear drift leaves".to_owned())
    } else if task.data.has_experiment() {
        Some("they know of no inputs or interventions".to_owned())
    } else if is_too_much(&PolynomialSettings::default(), n_variables, n_rows) {
        Some(format!(
            "products of {n_variables} variables take too long for {n_rows} rows; leave variables out, or rows"
        ))
    } else {
        None
    }
}

/// What the equations of all data say of themselves: what the evidence prefers to linear terms is taken, unless its innovations
/// show another shape, or it leaves something and does not predict held-out rows as well as another candidate.
pub(super) fn outlook(seen: &Seen<'_>, progress: &dyn Progress) -> Outlook {
    let part = Part::Trial { name: EQUATIONS };
    match found_equations(seen.task, &PolynomialSettings::default(), part, progress) {
        Err(PolynomialError::Stopped) => Outlook::without_fit(Standing::Cut),
        Err(error) => Outlook::without_fit(Standing::NotTried(Some(error.to_string()))),
        Ok(fit) if !fit.is_complete => Outlook::without_fit(Standing::Cut),
        Ok(fit) => {
            let standing = standing(&fit, seen.task);
            Outlook { evidence: fit.over_linear, standing, equations: Some(Box::new(fit)) }
        }
    }
}

fn standing(fit: &PolynomialFit, Task { data, knowledge }: Task<'_>) -> Standing {
    if !fit.over_linear.is_some_and(|nats| nats > 0.0) {
        return Standing::Refused;
    }
    // Too few rows say nothing of what is left.
    let left = (fit.adequacy.n_rows > 0.0).then(|| fit.adequacy.mean_shares());
    let density = density(fit, knowledge);
    if fit.varying.len() > 3 && density > EVERY_PAIR {
        Standing::NotTaken("they would have nearly every variable drive every other")
    } else if left
        .is_some_and(|left| left.products + left.past + left.time + left.others < LEAVES_NOTHING)
    {
        Standing::LeavesNothing
    } else if left.is_some_and(|left| left.products + left.others > ANOTHER_SHAPE) {
        Standing::NotTaken(
            "what they leave shows that the drift is no polynomial of the second degree",
        )
    } else if density > NEARLY_ALL && !leaves_noise_alone(fit, left, density) {
        Standing::NotTaken(
            "they leave something, and would have nearly all variables drive each other",
        )
    } else if data.n_missing() > 0 {
        Standing::NotTaken(
            "they leave something, and with missing cells they cannot be compared on held-out rows",
        )
    } else {
        Standing::Open
    }
}

/// Whether all that equations leave is what noise of the measurements leaves, and that hides nothing.
fn leaves_noise_alone(fit: &PolynomialFit, left: Option<Shares>, density: f64) -> bool {
    let is_noise = |left: Shares| left.products + left.time + left.others < LEAVES_NOTHING;
    let joins_too_many = fit.varying.len() > 3 && density > NEARLY_ALL_UNDER_NOISE;
    !joins_too_many && left.is_some_and(is_noise)
}

/// Share of all pairs that are expected to be edges.
fn density(fit: &PolynomialFit, knowledge: &EdgePrior) -> f64 {
    let expected = fit.edges(knowledge).map_or(0.0, |edges| edges.probabilities().iter().sum());
    expected / fit.varying.len().pow(2) as f64
}

fn is_too_much(settings: &PolynomialSettings, n_variables: usize, n_rows: usize) -> bool {
    predicted_work(settings, n_variables, n_rows) > MOST_WORK
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

/// How equations predict what they have not seen.
pub(super) fn predict(
    Task { data, knowledge }: Task<'_>,
    settings: &PolynomialSettings,
    held_out: &SeriesSet,
    part: Part<'_>,
    progress: &dyn Progress,
) -> Made<FoldPrediction> {
    let prediction =
        |log_likelihoods, stopped| FoldPrediction { log_likelihoods, converged: true, stopped };
    let nothing = || vec![None; held_out.n_series()];
    match fit_polynomial(PolynomialTask { data, knowledge, settings }, part, progress) {
        Ok(fit) if !fit.is_complete => Made::Passing(prediction(nothing(), true)),
        Ok(fit) => Made::Final(prediction(fit.predictive_scores(held_out), false)),
        Err(PolynomialError::Stopped) => Made::Passing(prediction(nothing(), true)),
        // What cannot be fitted predicts nothing, and so cannot win.
        Err(_) => Made::Final(prediction(nothing(), false)),
    }
}
