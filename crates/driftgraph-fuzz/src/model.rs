//! A run folder whose model or whose description comes from outside.

use std::path::Path;
use std::sync::LazyLock;

use driftgraph_core::fitted::model::{FittedModel, KnownPath, LinearProcess};
use driftgraph_core::fitted::simulate::SimulateSettings;
use driftgraph_core::{ObservedSeries, SeriesSet};
use driftgraph_data::record::RUN_VERSION;
use driftgraph_data::run_folder::{DataDescription, Run, write_model};
use driftgraph_data::{Loaded, ReadOptions, load_in_memory, write::write_series};
use serde_json::json;

/// A valid run, one half of which is replaced at a time.
static VALID: LazyLock<Valid> = LazyLock::new(Valid::new);

struct Valid {
    description: Vec<u8>,
    model: Vec<u8>,
}

impl Valid {
    fn new() -> Self {
        let fitted = fitted();
        let description = json!({
            "format_version": RUN_VERSION,
            "data": DataDescription::new(&loaded(), &ReadOptions::default()),
            "model": fitted.description(),
        });
        let mut model = Vec::new();
        write_model(&mut model, &fitted.arrays()).expect("memory takes everything");
        Self { description: description.to_string().into_bytes(), model }
    }
}

fn read(description: &[u8], model: &[u8]) {
    let Ok(run) = Run::from_bytes(Path::new("run"), description, model) else { return };
    let _ = run.edges();
    let asked = SimulateSettings { n_paths: 2, ..SimulateSettings::new(vec![0.0, 1.0]) };
    let _ = run.model().map(|model| model.simulate(&asked, None, &|_| ()));
}

fn fitted() -> FittedModel {
    let path = KnownPath {
        name: "a".into(),
        times: vec![0.0, 1.0],
        means: vec![0.1, 0.2, 0.3, 0.4],
        deviations: vec![0.5; 4],
        correlations: vec![0.5; 4],
    };
    let process = LinearProcess {
        effects: vec![-1.0, 0.5, 0.0, -0.5],
        paths: vec![path],
        ..LinearProcess::resting(vec!["x".into(), "y".into()])
    };
    FittedModel::linear(&process).expect("the process is sound")
}

fn loaded() -> Loaded {
    let names = vec!["x".into(), "y".into()];
    let series = ObservedSeries::new("a", 2, vec![0.0, 1.0], vec![1.0, 2.0, 3.0, 4.0]);
    let data = SeriesSet::new(names, vec![series.expect("the series is sound")]);
    let mut table = Vec::new();
    write_series(&mut table, &data.expect("the set is sound")).expect("memory takes everything");
    let loaded = load_in_memory(Path::new("data.csv"), &table.into(), &ReadOptions::default());
    loaded.expect("the table is sound")
}

/// A model file beside a sound description.
pub fn model(bytes: &[u8], _: u64) {
    read(&VALID.description, bytes);
}

/// A description beside a sound model file.
pub fn description(bytes: &[u8], _: u64) {
    read(bytes, &VALID.model);
}

/// Sound inputs of both, to start from.
pub fn sound() -> [(&'static str, Vec<u8>); 2] {
    [("model", VALID.model.clone()), ("description", VALID.description.clone())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_that_is_changed_is_sound() {
        let run = Run::from_bytes(Path::new("run"), &VALID.description, &VALID.model);
        assert!(run.is_ok_and(|run| run.model().is_ok()));
    }
}
