//! What any fit has learned, and its way into the run folder.

use std::fs;
use std::io;
use std::time::Duration;

use driftgraph_core::fitted::edges::LearnedEdge;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_data::graph_formats::edge_table;
use driftgraph_data::run_folder::{DataDescription, FORMAT_VERSION, write_model};
use driftgraph_data::table::TableFormat;
use driftgraph_data::whole_file::write_whole;
use serde_json::{Value, json};

use crate::error::JobError;
use crate::job::{FinishedRun, Work};
use crate::observer::Ending;
use crate::pictures::draw_edges;

/// What any fit has learned.
pub(crate) struct Learned {
    pub(crate) model: FittedModel,
    /// What `run.json` says beside data, model and version.
    pub(crate) description: Value,
    /// What the user should know, one line each.
    pub(crate) remarks: Vec<String>,
}

impl Learned {
    /// Writes everything into the run folder.
    pub(crate) fn save(
        self,
        work: &Work<'_>,
        ending: Ending,
        word: &str,
        elapsed: Duration,
    ) -> Result<FinishedRun, JobError> {
        let edges = self.model.edges();
        if edges.iter().any(|edge| edge.probability.is_nan() || edge.score.is_nan()) {
            return Err(JobError::NotFinite { what: "the edges" });
        }
        let description = self.describe(work, &edges, word, elapsed);
        let run = &work.folder.run;
        // Its presence says that the others are complete, so it goes first and comes back last.
        forget(&run.run_file())?;
        let names = work.loaded.data.variables();
        let model = self.model.arrays();
        write(&run.model_file(), |out| write_model(out, &model))?;
        write(&run.edges_file(), |out| edge_table(names, &edges).write(out, TableFormat::Csv))?;
        let truth = work.truth.as_ref().map(|truth| &truth.graph);
        draw_edges(run.path(), names, &edges, truth)?;
        let text = serde_json::to_string_pretty(&description).expect("plain values");
        write(&run.run_file(), |out| writeln!(out, "{text}"))?;
        let Self { model, remarks, .. } = self;
        let folder = run.path().to_owned();
        Ok(FinishedRun { model, edges, description, remarks, ending, elapsed, folder })
    }

    fn describe(
        &self,
        work: &Work<'_>,
        edges: &[LearnedEdge],
        ending: &str,
        elapsed: Duration,
    ) -> Value {
        let mut description = json!({
            "format_version": FORMAT_VERSION,
            "driftgraph": env!("CARGO_PKG_VERSION"),
            "data": DataDescription::new(work.loaded, work.read_options),
            "model": self.model.description(),
            "expected_edges": edges.iter().map(|edge| edge.probability).sum::<f64>(),
            "ending": ending,
            "seconds": elapsed.as_secs_f64(),
            "threads": rayon::current_num_threads(),
        });
        if let (Value::Object(all), Value::Object(own)) = (&mut description, &self.description) {
            all.extend(own.clone());
        }
        description
    }
}

fn write(
    path: &std::path::Path,
    write: impl FnOnce(&mut (dyn io::Write + Send)) -> io::Result<()>,
) -> Result<(), JobError> {
    write_whole(path, write).map_err(JobError::file("write", path))
}

fn forget(path: &std::path::Path) -> Result<(), JobError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(JobError::file("replace", path)(error))
        }
        _ => Ok(()),
    }
}
