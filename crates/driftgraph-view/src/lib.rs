//! From a run to the view of its report: the model is asked once, and only numbers and names leave.
//!
//! [`report_view`] asks the model everything a report shows; `driftgraph_report::report_html` draws it.

#![warn(clippy::unwrap_used)]

mod edges;
mod error;
mod futures;
mod history;
mod origin;
mod paths;
mod truth;

use std::path::Path;

use driftgraph_core::{SeriesSet, SignatureGraph};
use driftgraph_data::Loaded;
use driftgraph_data::run_folder::Run;
use driftgraph_report::Calendar;
use driftgraph_report::view::{DataView, InterventionView, ReportView};
use serde_json::Value;

pub use error::ViewError;
pub use futures::{InterventionQuestion, forecast_view, intervention_view};

/// Cells of data whose posterior is computed for a report: some seconds.
const MOST_CELLS: usize = 2_000_000;

/// What a report is asked to show beside the run itself.
#[derive(Debug, Clone, Default)]
pub struct ViewOptions<'a> {
    /// The data of the run, where they are at hand.
    pub data: Option<&'a Loaded>,
    /// The known edges; those that the fit was given where not said.
    pub truth: Option<&'a SignatureGraph>,
    /// Interventions to compute, all of them at once.
    pub interventions: &'a [String],
}

/// Computes everything a report shows of the run in a folder.
pub fn report_view(
    run: &Run,
    folder: &Path,
    options: &ViewOptions<'_>,
) -> Result<ReportView, ViewError> {
    let record = origin::read_record(folder)?;
    let job = origin::read_asked(folder)?;
    let remembered = origin::remembered_truth(&job, run.model.n_variables());
    let truth = options.truth.or(remembered.as_ref());
    let learned = run.model.edges();
    let data: Option<&SeriesSet> = options.data.map(|loaded| &loaded.data);
    let few = |data: &&SeriesSet| data.n_rows() * data.n_variables() <= MOST_CELLS;
    let fit = data.filter(few).map(|data| paths::fit_view(run, data)).transpose()?;
    let future = futures::future_view(run, data, fit.as_ref())?;
    let mut interventions: Vec<InterventionView> = Vec::new();
    if !options.interventions.is_empty() {
        let question = InterventionQuestion::new(options.interventions.to_vec());
        interventions.push(intervention_view(run, data, &question)?);
    }
    Ok(ReportView {
        name: name_of(folder),
        data: DataView {
            n_series: run.data.series,
            n_rows: run.data.rows,
            n_missing: run.data.missing_cells,
            left_out: texts(&record["left_out"]),
            time_label: time_label(run),
            calendar: calendar(run),
        },
        graph: edges::graph_view(run.model.variables(), &learned),
        truth: truth.map(|truth| truth::truth_view(run, data, truth)).transpose()?,
        fit,
        training: history::training_view(folder, &record, run.model.n_members())?,
        future,
        interventions,
        provenance: origin::provenance_view(run, folder, (&record, &job)),
        downloads: edges::downloads(run.model.variables(), &learned)?,
    })
}

/// What the time axis of a chart says.
fn time_label(run: &Run) -> String {
    match run.data.time.origin {
        Some(_) => "date".to_owned(),
        None => "time".to_owned(),
    }
}

/// What dates the times are, where the data have dates.
pub fn calendar(run: &Run) -> Option<Calendar> {
    run.data.time.seconds().map(|(origin, unit)| Calendar { origin, unit })
}

/// The run by the name of its folder; `demo/run` says more than `run`.
fn name_of(folder: &Path) -> String {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    match (name(&whole), whole.parent().and_then(name)) {
        (Some(own), Some(parent)) if own == "run" => parent,
        (Some(own), _) => own,
        (None, _) => "run".to_owned(),
    }
}

/// The texts of a list, none where there is no list.
fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(ToOwned::to_owned).collect()
}

/// A number of a record, `None` where it has none.
fn number(record: &Value, key: &str) -> Option<f64> {
    record.get(key).and_then(Value::as_f64)
}
