//! How the fit went, from the log and the record of the run.

use driftgraph_core::train::bridge::StopReason;
use driftgraph_core::train::select::{HeldOutUnit, Selection};
use driftgraph_data::record::{Ending, LogLine, RunRecord};
use driftgraph_report::view::{Column, CurveView, TrainingView, TriedView};

/// Points of a curve; more cannot be seen.
const MOST_POINTS: usize = 250;

/// A number of a line of the log.
type Logged = fn(&LogLine) -> Option<f64>;

/// What is shown of the log.
const CURVES: [(&str, Logged); 9] = [
    ("ELBO", |line| line.elbo),
    ("Loss", |line| line.loss),
    ("Log likelihood", |line| line.log_likelihood),
    ("Path divergence (KL)", |line| line.path_kl),
    ("Initial divergence (KL)", |line| line.initial_kl),
    ("Graph divergence (KL)", |line| line.graph_kl),
    ("Expected edges", |line| line.expected_edges),
    ("Learning rate", |line| line.rate),
    ("AUROC against known edges", |line| line.extra("auroc")),
];

/// Whether a curve tells nothing: a divergence that is always 0, where the ELBO comes as one number, the likelihood beside
/// such an ELBO, or a rate that is always the whole one.
fn is_idle(title: &str, values: &[f64], divided: bool) -> bool {
    let always = |number: f64| values.iter().all(|value| *value == number);
    match title {
        "Log likelihood" => !divided,
        "Learning rate" => always(1.0),
        _ => title.ends_with("(KL)") && always(0.0),
    }
}

fn has_divergences(line: &LogLine) -> bool {
    let terms = [line.path_kl, line.initial_kl, line.graph_kl];
    terms.into_iter().flatten().any(|term| term != 0.0)
}

/// Curves, guards, and what was tried.
pub(crate) fn training_view(record: &RunRecord, lines: &[LogLine], n_seeds: usize) -> TrainingView {
    let every = lines.len().div_ceil(MOST_POINTS).max(1);
    let last = lines.len().saturating_sub(1);
    let kept: Vec<&LogLine> = (lines.iter().enumerate())
        .filter(|(idx, _)| idx % every == 0 || *idx == last)
        .map(|(_, line)| line)
        .collect();
    let divided = kept.iter().any(|line| has_divergences(line));
    let curves = CURVES.iter().filter_map(|(title, of)| {
        let values = kept.iter().map(|line| of(line).unwrap_or(f64::NAN)).collect::<Vec<_>>();
        let any = values.iter().any(|value| value.is_finite());
        let shown = any && !is_idle(title, &values, divided);
        shown.then(|| CurveView { name: (*title).to_owned(), values: Column(values) })
    });
    let selection = record.training.selection.as_ref();
    TrainingView {
        steps: kept.iter().map(|line| line.step).collect(),
        curves: curves.collect(),
        ending: ending_word(record.ending).to_owned(),
        converged: record.training.converged,
        n_members: n_seeds,
        guards: guards(record, lines),
        held_out: selection.and_then(|selection| selection.unit).map(|unit| match unit {
            HeldOutUnit::Series => "whole series".to_owned(),
            HeldOutUnit::TimeBlock => "blocks of time".to_owned(),
        }),
        tried: selection.map(tried).unwrap_or_default(),
        seconds: record.seconds,
    }
}

/// The word of the report's own vocabulary, which is that of `run.json`.
fn ending_word(ending: Ending) -> &'static str {
    match ending {
        Ending::Finished => "finished",
        Ending::Interrupted => "interrupted",
        Ending::TimeBudget => "time-budget",
        Ending::Diverged => "diverged",
    }
}

/// What was done to keep the fit sound, in words.
fn guards(record: &RunRecord, lines: &[LogLine]) -> Vec<String> {
    let mut guards = Vec::new();
    let members = &record.training.members;
    let undone: u64 = members.iter().map(|member| member.undone_steps).sum();
    if undone > 0 {
        guards.push(format!("{undone} steps were not finite and were undone."));
    }
    let rolled_back = lines.iter().filter(|line| line.rolled_back.is_some()).count();
    if undone == 0 && rolled_back > 0 {
        guards.push(format!("{rolled_back} steps were not finite and were rolled back."));
    }
    let hits: f64 = lines.iter().filter_map(|line| line.extra("floor_hits")).sum();
    if hits > 0.0 {
        guards.push(format!(
            "The noise of the process touched its floor {hits} times in the logged steps."
        ));
    }
    let limited = members.iter().filter(|member| member.stop_reason == StopReason::StepLimit);
    let limited = limited.count();
    if limited > 0 {
        guards.push(format!("{limited} of {} fits were ended by their step limit.", members.len()));
    }
    guards
}

fn tried(selection: &Selection) -> Vec<TriedView> {
    let view = |(idx, one): (usize, &driftgraph_core::train::select::CandidateReport)| {
        let scores: Vec<f64> = one.log_likelihoods.iter().flatten().copied().collect();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        TriedView {
            name: one.name.clone(),
            held_out: (!scores.is_empty()).then_some(mean),
            gain: one.gain.map(|gain| [gain.mean, gain.standard_error]),
            chosen: selection.chosen == idx,
        }
    };
    selection.candidates.iter().enumerate().map(view).collect()
}
