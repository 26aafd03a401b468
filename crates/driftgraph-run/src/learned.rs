//! What any fit has learned, and its way into the run folder.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use driftgraph_core::fitted::edges::LearnedEdge;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_data::graph_formats::edge_table;
use driftgraph_data::run_folder::{DataDescription, FORMAT_VERSION, write_model};
use driftgraph_data::table::TableFormat;
use driftgraph_data::whole_file::{PreparedFile, prepare};
use serde_json::{Value, json};

use crate::error::JobError;
use crate::job::{FinishedRun, Work};
use crate::observer::Ending;
use crate::pictures::edge_pictures;

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
        if edges.iter().any(|edge| edge.probability.is_some_and(f64::is_nan) || edge.score.is_nan())
        {
            return Err(JobError::NotFinite { what: "the edges" });
        }
        let description = self.describe(work, &edges, word, elapsed);
        let run = &work.folder.run;
        let names = work.loaded.data.variables();
        let model = self.model.arrays();
        let mut files = vec![
            prepared(&run.model_file(), |out| write_model(out, &model))?,
            prepared(&run.edges_file(), |out| {
                edge_table(names, &edges).write(out, TableFormat::Csv)
            })?,
        ];
        let truth = work.truth.as_ref().map(|truth| &truth.graph);
        for (name, picture) in edge_pictures(names, &edges, truth)?.into_iter().flatten() {
            files.push(prepared(&run.path().join(name), |out| out.write_all(picture.as_bytes()))?);
        }
        let text = serde_json::to_string_pretty(&description).expect("plain values");
        files.push(prepared(&run.run_file(), |out| writeln!(out, "{text}"))?);
        // Everything is on disk; the presence of run.json says that the others belong together, so it
        // goes first and comes back last.
        forget(&run.run_file())?;
        for file in files {
            let path = file.path().to_owned();
            file.place().map_err(JobError::file("write", &path))?;
        }
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
            "expected_edges": edges.iter().filter_map(|edge| edge.probability).sum::<f64>(),
            "asked": work.asked,
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
