//! Run folders read back: whole ones give the same model, all others a clear error.

use std::fs;
use std::path::Path;

use driftgraph_core::fitted::model::{FittedModel, KnownPath, LinearProcess};
use driftgraph_core::fitted::simulate::SimulateSettings;
use driftgraph_data::record::RUN_VERSION;
use driftgraph_data::run_folder::{DataDescription, Run, RunFolder, write_model};
use driftgraph_data::{ReadOptions, RunError, load};
use serde_json::{Value, json};

fn model() -> FittedModel {
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
    FittedModel::linear(&process).unwrap()
}

/// A run folder with its data beside it.
fn write_run(folder: &Path) -> RunFolder {
    let table = folder.join("data.csv");
    fs::write(&table, "series,time,x,y\na,0,1,2\na,1,3,4\n").unwrap();
    let options = ReadOptions::default();
    let loaded = load(&[table], &options).unwrap();
    let run = RunFolder::at(&folder.join("run"));
    fs::create_dir_all(run.path()).unwrap();
    let description = json!({
        "format_version": RUN_VERSION,
        "data": DataDescription::new(&loaded, &options),
        "model": model().description(),
    });
    fs::write(run.run_file(), description.to_string()).unwrap();
    write_model(fs::File::create(run.model_file()).unwrap(), &model().arrays()).unwrap();
    run
}

fn error(run: &RunFolder) -> RunError {
    Run::load(run.path()).unwrap_err()
}

/// Changes `run.json`.
fn change(run: &RunFolder, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(run.run_file()).unwrap()).unwrap();
    change(&mut value);
    fs::write(run.run_file(), value.to_string()).unwrap();
}

#[test]
fn a_run_read_back_is_the_same_model_and_finds_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::load(write_run(folder.path()).path()).unwrap();
    let asked = SimulateSettings { n_paths: 5, ..SimulateSettings::new(vec![0.0, 1.0]) };
    let states = |model: &FittedModel| model.simulate(&asked, None, &|_| ()).unwrap().states;
    assert_eq!(states(run.model().unwrap()), states(&model()));
    assert_eq!(run.load_data(&[]).unwrap().data.n_rows(), 2);
    let moved = folder.path().join("moved.csv");
    fs::rename(folder.path().join("data.csv"), &moved).unwrap();
    assert!(matches!(run.load_data(&[]), Err(RunError::Data { .. })));
    assert!(run.load_data(std::slice::from_ref(&moved)).is_ok());
    fs::write(&moved, "series,time,x,y\na,0,1,2\na,1,3,5\n").unwrap();
    assert!(matches!(run.load_data(&[moved]), Err(RunError::DataChanged { .. })));
}

#[test]
fn other_formats_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = write_run(folder.path());
    change(&run, |value| {
        value["format_version"] = json!(RUN_VERSION + 1);
        // A newer layout may lack everything that is known today.
        value["model"] = json!("elsewhere");
    });
    let text = error(&run).to_string();
    assert!(
        text.contains(&format!("format {}", RUN_VERSION + 1)) && text.contains("newer"),
        "{text}"
    );
    change(&run, |value| value["format_version"] = json!(1));
    assert!(matches!(error(&run), RunError::OlderFormat { found: 1, .. }));
    fs::remove_file(run.run_file()).unwrap();
    assert!(matches!(error(&run), RunError::NotARun { .. }));
}

#[test]
fn a_model_file_cut_anywhere_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let run = write_run(folder.path());
    let whole = fs::read(run.model_file()).unwrap();
    for length in (0..whole.len()).step_by(3) {
        fs::write(run.model_file(), &whole[..length]).unwrap();
        assert!(matches!(error(&run), RunError::Damaged { .. }), "{length}");
    }
    let longer = [&whole[..], &[0]].concat();
    fs::write(run.model_file(), longer).unwrap();
    assert!(matches!(error(&run), RunError::Damaged { .. }));
}

#[test]
fn a_run_with_any_byte_changed_gives_a_model_or_an_error_and_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let run = write_run(folder.path());
    for file in [run.model_file(), run.run_file()] {
        let whole = fs::read(&file).unwrap();
        for place in 0..whole.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[place] ^= flip;
                fs::write(&file, &bytes).unwrap();
                if let Ok(run) = Run::load(run.path()) {
                    assert_eq!(run.model().unwrap().n_variables(), 2);
                }
            }
        }
        fs::write(&file, &whole).unwrap();
    }
}

#[test]
fn huge_shapes_are_refused_without_taking_memory() {
    let folder = tempfile::tempdir().unwrap();
    let run = write_run(folder.path());
    for shape in ["[1099511627776,1099511627776]", "[4294967296,8]", "[18446744073709551615]"] {
        let header = format!(
            "{{\"member0.lagged.edge_logits\":{{\"dtype\":\"F64\",\"shape\":{shape},\"data_offsets\":[0,8]}}}}"
        );
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(&[0; 8]);
        fs::write(run.model_file(), &bytes).unwrap();
        assert!(matches!(error(&run), RunError::Damaged { .. }), "{shape}");
    }
    // A header that claims to be larger than the file, and than any memory.
    fs::write(run.model_file(), u64::MAX.to_le_bytes()).unwrap();
    assert!(matches!(error(&run), RunError::Damaged { .. }));
}

#[test]
fn a_description_of_another_model_is_refused_with_the_array() {
    let folder = tempfile::tempdir().unwrap();
    let run = write_run(folder.path());
    change(&run, |value| value["model"]["variables"] = json!(["x", "y", "z"]));
    let RunError::Model { source, .. } = error(&run) else { panic!("an error of the model") };
    assert!(
        source.to_string().contains("`member0.lagged.edge_logits`")
            || source.to_string().contains("means"),
        "{source}"
    );
    change(&run, |value| {
        value["model"]["variables"] = json!(["x", "y"]);
        value["model"]["structure"]["drift"] = json!("linear-and-neural");
    });
    let RunError::Model { source, .. } = error(&run) else { panic!("an error of the model") };
    assert!(source.to_string().contains("`member0.drift_net."), "{source}");
}
