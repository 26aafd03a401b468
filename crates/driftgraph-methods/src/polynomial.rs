//! Polynomial equations from coarse rows: paths between rows and the terms of the drift found together.

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::edges::{LearnedEdge, Sign};
use driftgraph_core::train::polynomial::{
    PolynomialError, PolynomialFit, PolynomialSettings, TermEffect, fit_polynomial, predicted_bytes,
};
use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_data::record::TrainingRecord;

use crate::FitPlan;
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Takes};
use crate::settings::row;

const NAME: &str = "polynomial";
/// Variables up to which terms of the second degree are found together: time grows with the sixth power of their number.
const MAX_VARIABLES: usize = 15;

/// Joint Gauss-Newton over paths and the terms of a polynomial drift.
pub(crate) struct Polynomial;

#[rustfmt::skip]
const SETTINGS: [Setting; 3] = [
    row("degree", "2", Range::Number { min: 1.0, max: 3.0, above: false }, "most variables that are multiplied in a term; linear terms alone are taken where the evidence prefers them"),
    row("sub_step", "0.17", Range::Number { min: 0.01, max: 1.0, above: false }, "how far, in deviations, the fastest variable usually goes in one of the steps between two rows"),
    row("largest_gap", "1.3", Range::Number { min: 0.0, max: 1e6, above: true }, "longest gap that is used while shorter ones are enough, in units of time in which the data vary by one deviation"),
];

impl Method for Polynomial {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &'static str {
        "equations with products of variables, found together with the paths between coarse rows"
    }

    fn settings(&self) -> Vec<Setting> {
        SETTINGS.to_vec()
    }

    fn is_fast(&self) -> bool {
        false
    }

    fn takes(&self) -> Takes {
        Takes {
            irregular_times: Handling::Instead(
                "leaves out gaps that are much longer than the time in which the data vary by one deviation, where the others are enough",
            ),
            missing_cells: Handling::Instead(
                "goes from one row without missing cells to the next, and leaves out what is between",
            ),
            prior_edges: false,
            ..Takes::ALL
        }
    }

    fn predicted_bytes(&self, plan: &FitPlan, data: &SeriesSet) -> Option<u64> {
        let settings: Settings = plan.typed().ok()?;
        Some(predicted_bytes(&settings.of_core(), data.n_variables(), data.n_rows()))
    }

    fn learn(&self, task: &MethodTask<'_>) -> Result<Learned, MethodError> {
        let settings: Settings = task.plan.typed()?;
        let n = task.data.n_variables();
        if n > MAX_VARIABLES {
            return Err(unusable(format!(
                "it takes up to {MAX_VARIABLES} variables, and there are {n}; leave some out, or take `bridge`"
            )));
        }
        let goes_on = || !task.progress.is_interrupted();
        let fit =
            fit_polynomial(task.data, &settings.of_core(), &goes_on).map_err(
                |error| match error {
                    PolynomialError::Stopped => MethodError::Stopped,
                    PolynomialError::Data(error) => MethodError::Data(error),
                    PolynomialError::TooFewGaps { found, needed } => {
                        MethodError::TooFewSteps { found, needed }
                    }
                    other => unusable(other.to_string()),
                },
            )?;
        let mut learned = Learned::edges(edges(&fit, n));
        learned.remarks = remarks(&fit);
        learned.training =
            TrainingRecord { converged: Some(fit.has_converged), ..TrainingRecord::default() };
        Ok(learned)
    }
}

fn unusable(reason: String) -> MethodError {
    MethodError::Unusable { method: NAME, reason }
}

/// What was asked for, as files have it.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
struct Settings {
    degree: usize,
    sub_step: f64,
    largest_gap: f64,
}

impl Settings {
    fn of_core(self) -> PolynomialSettings {
        let Self { degree, sub_step, largest_gap } = self;
        PolynomialSettings { degree, sub_step, largest_gap }
    }
}

/// All pairs of variables, the best supported first.
fn edges(fit: &PolynomialFit, n: usize) -> Vec<LearnedEdge> {
    let lowest = fit.log_odds.iter().copied().filter(|odds| odds.is_finite()).fold(0.0, f64::min);
    let edge = |idx: usize| {
        let (log_odds, effect) = (fit.log_odds[idx], fit.effects[idx]);
        let probability = 1.0 / (1.0 + (-log_odds).exp());
        LearnedEdge {
            source: idx / n,
            target: idx % n,
            probability: Some(probability),
            probability_lagged: Some(probability),
            // A variable that never varies is below all that do.
            score: if log_odds.is_finite() { log_odds } else { lowest - 1.0 },
            sign: effect.as_ref().map(sign),
            effect: effect.map(|effect| effect.effect),
            strength: effect.map(|effect| effect.strength),
            interval: effect.map(|effect| effect.interval),
            ..LearnedEdge::default()
        }
    };
    let mut edges: Vec<LearnedEdge> = (0..n * n).map(edge).collect();
    edges.sort_by(|a, b| b.score.total_cmp(&a.score));
    edges
}

fn sign(effect: &TermEffect) -> Sign {
    match effect.is_positive {
        Some(true) => Sign::Positive,
        Some(false) => Sign::Negative,
        None => Sign::Mixed,
    }
}

/// What the user should know.
fn remarks(fit: &PolynomialFit) -> Vec<String> {
    let mut remarks = Vec::new();
    match fit.over_linear {
        Some(nats) if nats <= 0.0 => remarks.push(format!(
            "the evidence prefers linear terms alone (by {:.0} nats): products of variables were left out",
            -nats
        )),
        Some(nats) => remarks.push(format!(
            "the evidence for products of variables is {nats:.0} nats above that for linear terms alone"
        )),
        None => {}
    }
    if fit.n_left_out > 0 {
        remarks.push(format!(
            "{} gaps between rows were too long and left out, {} were used: the data vary by one deviation in {:.3} units of time",
            fit.n_left_out, fit.n_gaps, fit.unit
        ));
    }
    if fit.longest > TOO_LONG {
        remarks.push(format!(
            "the data vary by {:.1} deviations between rows: too much for equations to be found reliably; sample faster",
            fit.longest
        ));
    }
    if !fit.has_converged {
        remarks.push("equations and paths still changed in the last round".to_owned());
    }
    remarks
}

/// Gaps, in units in which the data vary by one deviation, from which on the search often ends in the wrong place.
const TOO_LONG: f64 = 1.31;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_variables_than_it_takes_are_refused_with_a_way_out() {
        let names = (0..16).map(|idx| format!("x{idx}")).collect();
        let values = (0..16 * 5).map(|idx| f64::from(idx * idx % 17)).collect();
        let times = (0..5).map(f64::from).collect();
        let series = driftgraph_core::ObservedSeries::new("s", 16, times, values).unwrap();
        let data = SeriesSet::new(names, vec![series]).unwrap();
        let plan = FitPlan::named(NAME).unwrap();
        let Err(error) = plan.learn(&data, &driftgraph_core::train::progress::Silent) else {
            panic!("16 variables are too many")
        };
        assert!(error.to_string().contains("up to 15 variables"), "{error}");
    }
}
