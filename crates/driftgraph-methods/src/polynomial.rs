//! Polynomial equations from coarse rows: paths between rows and the terms of the drift found together.

use driftgraph_core::SeriesSet;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::graph::prior::EdgePrior;
use driftgraph_core::train::polynomial::{
    OtherTerms, PolynomialError, PolynomialFit, PolynomialSettings, predicted_bytes,
};
use driftgraph_core::train::progress::{Part, Progress};
use driftgraph_core::train::select::{Task, found_equations};
use driftgraph_core::train::settings::{Range, Setting};
use driftgraph_data::record::TrainingRecord;

use crate::FitPlan;
use crate::bridge::with_knowledge;
use crate::doubts::{aloud, doubts_of_equations};
use crate::method::{Handling, Learned, Method, MethodError, MethodTask, Takes};
use crate::settings::row;

const NAME: &str = "polynomial";
/// Variables up to which equations are looked for: products of matrices of all variables in every sub-step take hours beyond.
const MAX_VARIABLES: usize = 60;
/// Words of `library`.
const LIBRARIES: [&str; 5] = ["linear", "quadratic", "cubic", "hill", "sine"];

/// Joint Gauss-Newton over paths and the terms of a polynomial drift.
pub(crate) struct Polynomial;

#[rustfmt::skip]
const SETTINGS: [Setting; 3] = [
    row("library", "quadratic", Range::Mixed { words: &LIBRARIES, or: "several of them separated by commas" }, "terms to try, of which the evidence chooses one kind, linear terms always among them: products of two or three variables, saturations, sines and cosines of angles in radians"),
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
                "learns terms from one row without missing cells to the next; what is measured between says where the paths went",
            ),
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
        let nothing = EdgePrior::new(task.data.n_variables(), 0.0);
        let knowledge = with_knowledge(nothing, &task.plan.asked().edges, task.data)?;
        let own = Task { data: task.data, knowledge: &knowledge };
        learn(own, &settings.of_core(), Wish::Asked, task.progress)
    }
}

/// Why equations are learned.
pub(crate) enum Wish {
    /// They were asked for.
    Asked,
    /// They were chosen among candidates; those found then, where they are still at hand.
    Chosen(Option<Box<PolynomialFit>>),
}

/// Equations, as a process that can be asked.
pub(crate) fn learn(
    task: Task<'_>,
    settings: &PolynomialSettings,
    wish: Wish,
    progress: &dyn Progress,
) -> Result<Learned, MethodError> {
    let (are_chosen, found) = match wish {
        Wish::Asked => (false, None),
        Wish::Chosen(found) => (true, found),
    };
    let look = || found_equations(task, settings, Part::WHOLE, progress);
    let fit = found.map_or_else(look, |found| Ok(*found)).map_err(|error| match error {
        PolynomialError::Stopped => MethodError::Stopped,
        PolynomialError::Data(error) => MethodError::Data(error),
        PolynomialError::TooFewGaps { found, needed } => MethodError::TooFewSteps { found, needed },
        other => unusable(other.to_string()),
    })?;
    let has_converged = fit.belief.has_converged && fit.is_complete;
    let adequacy = fit.adequacy.clone();
    let mut remarks = remarks(&fit, settings);
    let model = FittedModel::from_polynomial(fit, *settings, task.knowledge, task.data)
        .map_err(|error| unusable(error.to_string()))?;
    let edges = model.edges();
    let doubts = doubts_of_equations(&adequacy, &edges, task.data.n_variables(), are_chosen);
    remarks.extend(aloud(&doubts));
    let training = TrainingRecord {
        converged: Some(has_converged),
        adequacy: Some(adequacy),
        doubts,
        ..TrainingRecord::default()
    };
    Ok(Learned { model: Some(model), training, remarks, ..Learned::edges(edges) })
}

fn unusable(reason: String) -> MethodError {
    MethodError::Unusable { method: NAME, reason }
}

/// What was asked for, as files have it.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
struct Settings {
    library: Terms,
    sub_step: f64,
    largest_gap: f64,
}

impl Settings {
    fn of_core(self) -> PolynomialSettings {
        let Self { library: Terms { degree, other }, sub_step, largest_gap } = self;
        PolynomialSettings { degree, sub_step, largest_gap, other }
    }
}

/// The words of `library`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(try_from = "String")]
struct Terms {
    degree: usize,
    other: OtherTerms,
}

impl TryFrom<String> for Terms {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut terms = Self { degree: 1, other: OtherTerms::default() };
        for word in text.split(',') {
            match word.trim() {
                "linear" => {}
                "quadratic" => terms.degree = terms.degree.max(2),
                "cubic" => terms.degree = 3,
                "hill" => terms.other.saturations = true,
                "sine" => terms.other.waves = true,
                other => {
                    let known = LIBRARIES.join(", ");
                    return Err(format!("library: `{other}` is none of {known}"));
                }
            }
        }
        Ok(terms)
    }
}

/// What the user should know.
fn remarks(fit: &PolynomialFit, settings: &PolynomialSettings) -> Vec<String> {
    let mut remarks = Vec::new();
    match fit.over_linear {
        Some(_) if fit.tried.len() > 1 => remarks.extend(of_several(fit)),
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
    if fit.longest > TOO_LONG && settings.other.waves {
        remarks.push(format!(
            "between rows the data go {:.1} times as far, in radians, as sines take to bend: too far for sines to be found reliably; \
             sample faster, or leave `sine` out",
            fit.longest
        ));
    } else if fit.longest > TOO_LONG {
        remarks.push(format!(
            "the data vary by {:.1} deviations between rows: too much for equations to be found reliably; sample faster",
            fit.longest
        ));
    }
    if !fit.is_complete {
        let remark = "warning: stopped before the end: equations and paths still changed, and not every kind of terms was tried";
        remarks.push(remark.to_owned());
    } else if !fit.belief.has_converged {
        remarks.push("equations and paths still changed in the last round".to_owned());
    }
    remarks
}

/// What the evidence says of several kinds of terms.
fn of_several(fit: &PolynomialFit) -> Vec<String> {
    let kinds: Vec<String> =
        (fit.tried.iter()).map(|one| format!("{} {:+.0}", one.name, one.over_linear)).collect();
    let first = format!("evidence over linear terms alone, in nats: {}", kinds.join(", "));
    let best = fit.tried.iter().max_by(|a, b| a.over_linear.total_cmp(&b.over_linear));
    let taken = match best {
        Some(best) if best.over_linear > 0.0 => format!("taken: {}", best.name),
        _ => "taken: linear terms alone".to_owned(),
    };
    vec![first, taken]
}

/// Gaps, in units in which the data vary by one deviation, from which on the search often ends in the wrong place.
const TOO_LONG: f64 = 1.31;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_variables_than_it_takes_are_refused_with_a_way_out() {
        let names = (0..61).map(|idx| format!("x{idx}")).collect();
        let values = (0..61 * 5).map(|idx| f64::from(idx * idx % 17)).collect();
        let times = (0..5).map(f64::from).collect();
        let series = driftgraph_core::ObservedSeries::new("s", 61, times, values).unwrap();
        let data = SeriesSet::new(names, vec![series]).unwrap();
        let plan = FitPlan::named(NAME).unwrap();
        let Err(error) = plan.learn(&data, &driftgraph_core::train::progress::Silent) else {
            panic!("61 variables are too many")
        };
        assert!(error.to_string().contains("up to 60 variables"), "{error}");
    }

    #[test]
    fn libraries_are_words_between_commas() {
        let terms = |text: &str| Terms::try_from(text.to_owned());
        let both = OtherTerms { saturations: true, waves: true };
        assert_eq!(terms("hill,sine"), Ok(Terms { degree: 1, other: both }));
        let cubic = Terms { degree: 3, other: OtherTerms::default() };
        assert_eq!(terms("cubic,quadratic"), Ok(cubic));
        assert!(terms("quartic").unwrap_err().contains("`quartic` is none of linear"));
    }
}
