//! A run folder whose model or whose description comes from outside.

use std::fs;
use std::path::PathBuf;

use driftgraph_core::fitted::model::{FittedModel, KnownPath, LinearProcess};
use driftgraph_core::fitted::simulate::SimulateSettings;
use driftgraph_core::{ObservedSeries, SeriesSet};
use driftgraph_data::record::RUN_VERSION;
use driftgraph_data::run_folder::{DataDescription, Run, RunFolder, write_model};
use driftgraph_data::{Loaded, ReadOptions, load, write::write_series};
use serde_json::json;

thread_local! {
    // A valid run folder, whose files are replaced one at a time.
    static VALID: Valid = Valid::new();
}

struct Valid {
    folder: tempfile::TempDir,
    description: Vec<u8>,
    model: Vec<u8>,
}

impl Valid {
    fn new() -> Self {
        let folder = super::scratch();
        let fitted = fitted();
        let description = json!({
            "format_version": RUN_VERSION,
            "data": DataDescription::new(&loaded(folder.path().join("data.csv")), &ReadOptions::default()),
            "model": fitted.description(),
        });
        let mut model = Vec::new();
        write_model(&mut model, &fitted.arrays()).expect("memory takes everything");
        Self { folder, description: description.to_string().into_bytes(), model }
    }

    fn load(&self, description: &[u8], model: &[u8]) {
        let run = RunFolder::at(self.folder.path());
        fs::write(run.run_file(), description).expect("there is room for a small file");
        fs::write(run.model_file(), model).expect("there is room for a small file");
        let Ok(run) = Run::load(run.path()) else { return };
        let _ = run.edges();
        let asked = SimulateSettings { n_paths: 2, ..SimulateSettings::new(vec![0.0, 1.0]) };
        let _ = run.model().map(|model| model.simulate(&asked, None, &|_| ()));
    }
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

fn loaded(path: PathBuf) -> Loaded {
    let names = vec!["x".into(), "y".into()];
    let series = ObservedSeries::new("a", 2, vec![0.0, 1.0], vec![1.0, 2.0, 3.0, 4.0]);
    let data = SeriesSet::new(names, vec![series.expect("the series is sound")]);
    let file = fs::File::create(&path).expect("there is room for a small file");
    write_series(file, &data.expect("the set is sound")).expect("there is room for a small file");
    load(&[path], &ReadOptions::default()).expect("the table is sound")
}

/// A model file beside a sound description.
pub fn model(bytes: &[u8]) {
    VALID.with(|valid| valid.load(&valid.description, bytes));
}

/// A description beside a sound model file.
pub fn description(bytes: &[u8]) {
    VALID.with(|valid| valid.load(bytes, &valid.model));
}

/// Sound inputs of both, to start from.
pub fn sound() -> [(&'static str, Vec<u8>); 2] {
    VALID.with(|valid| [("model", valid.model.clone()), ("description", valid.description.clone())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_is_changed_is_sound() {
        VALID.with(|valid| {
            valid.load(&valid.description, &valid.model);
            assert!(Run::load(valid.folder.path()).is_ok());
        });
    }
}
