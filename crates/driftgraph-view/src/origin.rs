//! Where a result comes from: version, seed, data, settings, and the command that gives it again.

use std::fs;
use std::path::Path;

use driftgraph_core::SignatureGraph;
use driftgraph_data::run_folder::Run;
use driftgraph_report::view::ProvenanceView;
use serde_json::Value;

use crate::ViewError;

/// Reads `run.json` as it is.
pub(crate) fn read_record(folder: &Path) -> Result<Value, ViewError> {
    let file = folder.join("run.json");
    let text =
        fs::read(&file).map_err(|source| ViewError::Unreadable { file: file.clone(), source })?;
    serde_json::from_slice(&text).map_err(|source| ViewError::Damaged { file, source })
}

/// Reads `job.json`, what was asked for; null for a run that has none.
pub(crate) fn read_asked(folder: &Path) -> Result<Value, ViewError> {
    let file = folder.join("job.json");
    match fs::read(&file) {
        Ok(text) => {
            serde_json::from_slice(&text).map_err(|source| ViewError::Damaged { file, source })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Value::Null),
        Err(source) => Err(ViewError::Unreadable { file, source }),
    }
}

/// The known edges that the fit was given, `None` where it was given none.
pub(crate) fn remembered_truth(job: &Value, n_variables: usize) -> Option<SignatureGraph> {
    let mut truth = SignatureGraph::empty(n_variables);
    for edge in job["truth"]["edges"].as_array()? {
        let place = |idx: usize| {
            let variable = edge[idx].as_u64()? as usize;
            (variable < n_variables).then_some(variable)
        };
        truth.set_edge(place(0)?, place(1)?, true);
    }
    Some(truth)
}

/// Facts, settings and command.
pub(crate) fn provenance_view(
    run: &Run,
    folder: &Path,
    (record, job): (&Value, &Value),
) -> ProvenanceView {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    fact("driftgraph", text(&record["driftgraph"]));
    fact("preset", text(&record["preset"]));
    fact("seed", text(&record["seed"]));
    let files: Vec<String> = run.data.files.iter().map(|file| file.display().to_string()).collect();
    fact("data", Some(files.join(", ")));
    fact("hash of the data", Some(run.data.fingerprint.clone()));
    fact(
        "size",
        Some(format!(
            "{} series, {} rows, {} variables, {} missing cells",
            run.data.series, run.data.rows, run.data.variables, run.data.missing_cells
        )),
    );
    fact("solver step", Some(format!("{:.4} in the unit of the times", run.model.step_size())));
    fact("run folder", Some(folder.display().to_string()));
    let settings = record["settings"].as_object();
    let settings = settings.into_iter().flatten().map(|(name, value)| (name.clone(), plain(value)));
    ProvenanceView {
        command: command(run, record, &job["asked"]),
        facts,
        settings: settings.collect(),
    }
}

fn text(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| plain(value))
}

/// A setting as it would be written into a settings file.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The command line of the fit.
fn command(run: &Run, record: &Value, asked: &Value) -> String {
    let mut words = vec!["driftgraph".to_owned(), "fit".to_owned()];
    words.extend(run.data.files.iter().map(|file| quoted(&file.display().to_string())));
    for (name, value) in run.data.options.arguments() {
        words.push(format!("--{name}"));
        words.extend(value.map(|value| quoted(&value)));
    }
    let mut option = |name: &str, value: &str| {
        words.extend([format!("--{name}"), quoted(value)]);
    };
    if let Some(preset) = record["preset"].as_str().filter(|preset| *preset != "bridge") {
        option("preset", preset);
    }
    let mut seed = record["seed"].as_u64();
    for (name, value) in asked["settings"].as_object().into_iter().flatten() {
        let name = name.replace('_', "-");
        if name == "seed" {
            seed = None;
        }
        match value {
            // Flags have no value.
            Value::Bool(false) => {}
            Value::Bool(true) => words.push(format!("--{name}")),
            value => words.extend([format!("--{name}"), quoted(&plain(value))]),
        }
    }
    if let Some(seed) = seed {
        words.extend(["--seed".to_owned(), seed.to_string()]);
    }
    words.extend(known_edges(asked));
    words.join(" ")
}

/// What was said of single edges, as far as a command line can say it.
fn known_edges(asked: &Value) -> Vec<String> {
    let edges = asked["edges"].as_array().map_or(&[][..], Vec::as_slice);
    edges
        .iter()
        .filter_map(|edge| {
            let flag = match edge["probability"].as_f64()? {
                0.0 => "--forbid",
                1.0 => "--require",
                _ => return None,
            };
            let pair = format!("{}->{}", edge["source"].as_str()?, edge["target"].as_str()?);
            Some([flag.to_owned(), quoted(&pair)])
        })
        .flatten()
        .collect()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("/data/a.csv"), "/data/a.csv");
        assert_eq!(quoted("my data.csv"), "'my data.csv'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
