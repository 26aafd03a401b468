//! How the fit went, from the log and the record of the run.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use driftgraph_report::view::{Column, CurveView, TrainingView, TriedView};
use serde_json::Value;

use crate::ViewError;
use crate::number;

/// Points of a curve; more cannot be seen.
const MOST_POINTS: usize = 250;

/// What is shown of the log: title and names in the log, by posterior.
const CURVES: [(&str, &[&str]); 8] = [
    ("ELBO", &["elbo"]),
    ("Log likelihood", &["log_likelihood"]),
    ("Path divergence (KL)", &["path_kl"]),
    ("Initial divergence (KL)", &["initial_kl"]),
    ("Graph divergence (KL)", &["graph_kl"]),
    ("Expected edges", &["expected_edges"]),
    ("Learning rate", &["rate", "learning_rate"]),
    ("AUROC against known edges", &["auroc"]),
];

/// Curves, guards, and what was tried.
pub(crate) fn training_view(
    folder: &Path,
    record: &Value,
    n_members: usize,
) -> Result<TrainingView, ViewError> {
    let lines = read_log(folder)?;
    let every = lines.len().div_ceil(MOST_POINTS).max(1);
    let last = lines.len().saturating_sub(1);
    let kept: Vec<&Value> = (lines.iter().enumerate())
        .filter(|(idx, _)| idx % every == 0 || *idx == last)
        .map(|(_, line)| line)
        .collect();
    let curve = |names: &[&str]| -> Column {
        let value = |line: &&Value| names.iter().find_map(|name| number(line, name));
        Column(kept.iter().map(|line| value(line).unwrap_or(f64::NAN)).collect())
    };
    let curves = CURVES.iter().map(|(title, names)| (title, curve(names)));
    let curves = curves.filter(|(_, values)| values.0.iter().any(|value| value.is_finite()));
    let tried = tried(record);
    Ok(TrainingView {
        steps: kept.iter().map(|line| line["step"].as_u64().unwrap_or(0)).collect(),
        curves: curves
            .map(|(title, values)| CurveView { name: (*title).to_owned(), values })
            .collect(),
        ending: record["ending"].as_str().unwrap_or("finished").to_owned(),
        converged: record["converged"].as_bool(),
        n_members,
        guards: guards(record, &lines),
        held_out: held_out(record).filter(|_| !tried.is_empty()),
        tried,
        seconds: number(record, "seconds").unwrap_or(0.0),
    })
}

/// The lines of the log; one that was cut off by a crash is left out.
fn read_log(folder: &Path) -> Result<Vec<Value>, ViewError> {
    let file = folder.join("log.jsonl");
    let unreadable = |source| ViewError::Unreadable { file: file.clone(), source };
    let open = match File::open(&file) {
        Ok(open) => open,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut lines: Vec<Value> = Vec::new();
    for line in BufReader::new(open).lines() {
        let line = line.map_err(unreadable)?;
        let Ok(value) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(step) = value["step"].as_u64() else { continue };
        // A fit that went on from an earlier state has logged some steps twice: the later ones count.
        while lines.last().is_some_and(|last| last["step"].as_u64() >= Some(step)) {
            lines.pop();
        }
        lines.push(value);
    }
    Ok(lines)
}

/// What was done to keep the fit sound, in words.
fn guards(record: &Value, lines: &[Value]) -> Vec<String> {
    let mut guards = Vec::new();
    let members = record["members"].as_array().map_or(&[][..], Vec::as_slice);
    let undone: u64 = members.iter().filter_map(|member| member["undone_steps"].as_u64()).sum();
    if undone > 0 {
        guards.push(format!("{undone} steps were not finite and were undone."));
    }
    let rolled_back = lines.iter().filter(|line| !line["rolled_back"].is_null()).count();
    if undone == 0 && rolled_back > 0 {
        guards.push(format!("{rolled_back} steps were not finite and were rolled back."));
    }
    let hits: u64 = lines.iter().filter_map(|line| line["floor_hits"].as_u64()).sum();
    if hits > 0 {
        guards.push(format!(
            "The noise of the process touched its floor {hits} times in the logged steps."
        ));
    }
    let limit = members.iter().filter(|member| member["stop_reason"] == "step-limit").count();
    if limit > 0 {
        guards.push(format!("{limit} of {} fits were ended by their step limit.", members.len()));
    }
    guards
}

fn tried(record: &Value) -> Vec<TriedView> {
    let selection = &record["selection"];
    let candidates = selection["candidates"].as_array().map_or(&[][..], Vec::as_slice);
    let chosen = selection["chosen"].as_u64();
    let view = |(idx, one): (usize, &Value)| {
        let scores: Vec<f64> = one["log_likelihoods"]
            .as_array()
            .map(|all| all.iter().filter_map(Value::as_f64).collect())
            .unwrap_or_default();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let gain = &one["gain"];
        TriedView {
            name: one["name"].as_str().unwrap_or_default().to_owned(),
            held_out: (!scores.is_empty()).then_some(mean),
            gain: number(gain, "mean")
                .zip(number(gain, "standard_error"))
                .map(|(mean, error)| [mean, error]),
            chosen: chosen == Some(idx as u64),
        }
    };
    candidates.iter().enumerate().map(view).collect()
}

fn held_out(record: &Value) -> Option<String> {
    Some(match record["selection"]["unit"].as_str()? {
        "series" => "whole series".to_owned(),
        _ => "blocks of time".to_owned(),
    })
}
