//! What any method has learned, and its way into the run folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use driftgraph_data::graph_formats::edge_table;
use driftgraph_data::record::{Ending, RUN_VERSION, RunRecord};
use driftgraph_data::run_folder::{DataDescription, Run, write_model};
use driftgraph_data::table::TableFormat;
use driftgraph_data::whole_file::{PreparedFile, prepare, write_whole};
use driftgraph_methods::{FitPlan, Learned};
use driftgraph_report::{Calendar, report_html};
use driftgraph_view::{ViewError, ViewOptions, report_view};

use crate::drifting::drifting_files;
use crate::error::JobError;
use crate::job::{FinishedRun, Work};
use crate::pictures::edge_pictures;
use crate::regimes::{Labels, forget_regime_files, regime_files};

impl Work<'_> {
    /// Writes everything into the run folder, the report last.
    pub(crate) fn save(
        &self,
        plan: &FitPlan,
        mut learned: Learned,
        ending: Ending,
        elapsed: Duration,
    ) -> Result<FinishedRun, JobError> {
        if learned
            .edges
            .iter()
            .any(|edge| edge.probability.is_some_and(f64::is_nan) || edge.score.is_nan())
        {
            return Err(JobError::NotFinite { what: "the edges" });
        }
        if learned.training.converged == Some(false) && ending == Ending::Finished {
            learned.remarks.push("warning: not converged; allow more with `--steps`".to_owned());
        }
        let record = self.record(plan, &learned, ending, elapsed);
        self.write_files(&record, &learned)?;
        let Learned { edges, model, .. } = learned;
        let run = Run::new(self.folder.run.path(), record, edges, model);
        let report = self.report.then(|| self.write_report(&run)).transpose();
        Ok(FinishedRun { edges: run.edges(), run, report, elapsed })
    }

    fn record(
        &self,
        plan: &FitPlan,
        learned: &Learned,
        ending: Ending,
        elapsed: Duration,
    ) -> RunRecord {
        RunRecord {
            format_version: RUN_VERSION,
            driftgraph: env!("CARGO_PKG_VERSION").to_owned(),
            method: plan.method().name().to_owned(),
            preset: plan.preset(),
            data: DataDescription::new(self.loaded, self.read_options),
            variables: self.loaded.data.variables().to_vec(),
            model: learned
                .model
                .as_ref()
                .map(driftgraph_core::fitted::model::FittedModel::description),
            transform: learned.model.as_ref().and_then(|model| model.transform().cloned()),
            expected_edges: RunRecord::expected(&learned.edges),
            asked: plan.asked().clone(),
            settings: learned.settings.as_ref().unwrap_or_else(|| plan.settings()).clone(),
            ending,
            remarks: learned.remarks.clone(),
            seconds: (self.spent + elapsed).as_secs_f64(),
            threads: rayon::current_num_threads(),
            training: learned.training.clone(),
        }
    }

    fn write_files(&self, record: &RunRecord, learned: &Learned) -> Result<(), JobError> {
        let run = &self.folder.run;
        let names = self.loaded.data.variables();
        let mut files = vec![prepared(&run.edges_file(), |out| {
            edge_table(names, &learned.edges).write(out, TableFormat::Csv)
        })?];
        if let Some(model) = &learned.model {
            let arrays = model.arrays();
            files.push(prepared(&run.model_file(), |out| write_model(out, &arrays))?);
        }
        let truth = self.truth.as_ref().map(|truth| &truth.graph);
        for (name, picture) in
            edge_pictures(names, &learned.edges, truth, self.loaded.data.inputs())?
                .into_iter()
                .flatten()
        {
            files.push(prepared(&run.path().join(name), |out| out.write_all(picture.as_bytes()))?);
        }
        for (name, text) in over_time(record, names)? {
            let write = |out: &mut (dyn io::Write + Send)| out.write_all(text.as_bytes());
            files.push(prepared(&run.path().join(name), write)?);
        }
        let text = serde_json::to_string_pretty(record).expect("a record is made of plain values");
        files.push(prepared(&run.run_file(), |out| writeln!(out, "{text}"))?);
        // Everything is on disk; the presence of run.json says that the others belong together, so it
        // goes first and comes back last.
        forget(&run.run_file())?;
        forget_regime_files(run.path()).map_err(JobError::file("replace", run.path()))?;
        for file in files {
            let path = file.path().to_owned();
            file.place().map_err(JobError::file("write", &path))?;
        }
        Ok(())
    }

    /// The report, from what is at hand; the run is complete without it.
    fn write_report(&self, run: &Run) -> Result<PathBuf, ViewError> {
        let truth = self.truth.as_ref().map(|truth| &truth.graph);
        let options = ViewOptions { data: Some(self.loaded), truth, interventions: &[] };
        let view = report_view(run, &options)?;
        let file = self.folder.run.report_file();
        write_whole(&file, |out| out.write_all(report_html(&view).as_bytes()))
            .map_err(|source| ViewError::Unwritable { file: file.clone(), source })?;
        Ok(file)
    }
}

/// Files of what changes in time: regimes, or effects that move.
fn over_time(
    record: &RunRecord,
    names: &[String],
) -> Result<Vec<(&'static str, String)>, JobError> {
    let time_label = record.data.time.label();
    let seconds = record.data.time.seconds();
    let calendar = seconds.map(|(origin, unit)| Calendar { origin, unit });
    let labels = Labels { variables: names, time_label: &time_label, calendar };
    let mut files = Vec::new();
    if let Some(regimes) = &record.training.regimes {
        files.extend(regime_files(regimes, &labels)?);
    }
    if let Some(drifting) = &record.training.drifting {
        files.extend(drifting_files(drifting, &labels)?);
    }
    Ok(files)
}

fn prepared(
    path: &Path,
    write: impl FnOnce(&mut (dyn io::Write + Send)) -> io::Result<()>,
) -> Result<PreparedFile, JobError> {
    prepare(path, write).map_err(JobError::file("write", path))
}

fn forget(path: &Path) -> Result<(), JobError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(JobError::file("replace", path)(error))
        }
        _ => Ok(()),
    }
}
