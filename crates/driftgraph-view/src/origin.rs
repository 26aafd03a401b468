//! Where a result comes from: method, version, seed, data, settings, and the command that gives it again.

use driftgraph_core::fitted::model::FittedModel;
use driftgraph_data::run_folder::Run;
use driftgraph_methods::settings::text_of;
use driftgraph_methods::{FitPlan, find};
use driftgraph_report::view::{MethodView, ProvenanceView};

/// Which method made the run.
pub(crate) fn method_view(run: &Run) -> MethodView {
    let name = &run.record.method;
    MethodView {
        name: name.clone(),
        description: find(name).map(|method| method.description().to_owned()).unwrap_or_default(),
        has_process: run.model().is_ok(),
    }
}

/// Facts, settings and command.
pub(crate) fn provenance_view(run: &Run) -> ProvenanceView {
    let (record, data) = (&run.record, &run.record.data);
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    fact("driftgraph", Some(record.driftgraph.clone()));
    fact("method", Some(record.method.clone()));
    fact("preset", record.preset.clone());
    fact("seed", record.training.seed.map(|seed| seed.to_string()));
    let files: Vec<String> = data.files.iter().map(|file| file.display().to_string()).collect();
    fact("data", Some(files.join(", ")));
    fact("hash of the data", Some(data.fingerprint.clone()));
    fact(
        "size",
        Some(format!(
            "{} series, {} rows, {} variables, {} missing cells",
            data.series, data.rows, data.variables, data.missing_cells
        )),
    );
    let preparation = &record.asked.preparation;
    let season = preparation.season.map(|rows| format!("a season of {rows} rows"));
    let line = preparation.detrend.then(|| "straight lines in time".to_owned());
    let log = preparation.log.join(", ");
    let log = (!log.is_empty()).then(|| format!("the logarithm of {log} was taken"));
    let taken: Vec<String> = [season, line, log].into_iter().flatten().collect();
    fact("taken out before the fit", (!taken.is_empty()).then(|| taken.join("; ")));
    let step = run.model().ok().map(FittedModel::step_size);
    fact("solver step", step.map(|step| format!("{step:.4} in the unit of the times")));
    fact("run folder", Some(run.folder().display().to_string()));
    let settings = record.settings.iter().map(|(name, value)| (name.clone(), text_of(value)));
    // A run of another version may have settings that nobody knows any more.
    let plan = FitPlan::new(record.asked.clone());
    ProvenanceView {
        command: plan.map(|plan| plan.command(&data.files, &data.options)).unwrap_or_default(),
        facts,
        settings: settings.collect(),
    }
}
