//! From a run to the view of its report: the model is asked once, and only numbers and names leave.
//!
//! [`report_view`] asks the model everything a report shows; `driftgraph_report::report_html` draws it.

#![warn(clippy::unwrap_used)]

mod agreement;
mod drifting;
mod edges;
mod equations;
mod error;
mod futures;
mod history;
mod origin;
mod paths;
mod regimes;
mod truth;

use std::collections::BTreeSet;
use std::path::Path;

use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::train::settings::KnownEdge;
use driftgraph_core::{SeriesSet, SignatureGraph};
use driftgraph_data::Loaded;
use driftgraph_data::record::RunRecord;
use driftgraph_data::run_folder::{Run, RunFolder};
use driftgraph_data::summary::limits_of_graph;
use driftgraph_report::Calendar;
use driftgraph_report::view::{
    DataView, FitView, FutureView, GraphView, InterventionView, ReportView,
};

pub use agreement::agreement_view;
pub use drifting::drifting_view;
pub use edges::exported_links;
pub use error::ViewError;
pub use futures::{InterventionQuestion, forecast_view, intervention_view};
pub use regimes::regimes_view;

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

/// Computes everything a report shows of a run; where it has no process, less.
pub fn report_view(run: &Run, options: &ViewOptions<'_>) -> Result<ReportView, ViewError> {
    let folder = RunFolder::at(run.folder());
    let n_variables = run.variables().len();
    let remembered = folder.read_job().ok().and_then(|job| job.truth?.graph(n_variables));
    let truth = options.truth.or(remembered.as_ref());
    let learned = run.edges();
    let data: Option<&SeriesSet> = options.data.map(|loaded| &loaded.data);
    let answers = match run.model() {
        Ok(model) => answers(run, model, data, options.interventions)?,
        Err(error) if !options.interventions.is_empty() => return Err(error.into()),
        Err(_) => ProcessAnswers::default(),
    };
    let file = folder.log_file();
    let lines = folder.read_log().map_err(|source| ViewError::Unreadable { file, source })?;
    let n_seeds = n_seeds(&run.record);
    let is_trained = !lines.is_empty() || !run.record.training.members.is_empty();
    let description = &run.record.data;
    Ok(ReportView {
        name: name_of(run.folder()),
        method: origin::method_view(run),
        data: DataView {
            n_series: description.series,
            n_rows: description.rows,
            n_missing: description.missing_cells,
            left_out: run.record.training.left_out.clone(),
            warnings: [limits(run, options.data), warnings(&run.record.remarks)].concat(),
            time_label: run.record.data.time.label(),
            calendar: calendar(run),
        },
        graph: GraphView {
            inputs: input_numbers(run),
            n_fits: n_seeds,
            ..edges::graph_view(run.variables(), &learned)
        },
        equations: run.model().map(equations::equation_views).unwrap_or_default(),
        regimes: run.record.training.regimes.as_deref().map(regimes_view),
        drifting: run.record.training.drifting.as_deref().map(drifting_view),
        truth: truth.map(|truth| truth::truth_view(run, &learned, data, truth)).transpose()?,
        fit: answers.fit,
        training: is_trained.then(|| history::training_view(&run.record, &lines, n_seeds)),
        future: answers.future,
        interventions: answers.interventions,
        provenance: origin::provenance_view(run),
        downloads: edges::downloads(run.variables(), &learned)?,
    })
}

/// Seeds of the final fits; those of one seed are draws of the same chains.
fn n_seeds(record: &RunRecord) -> usize {
    let seeds: BTreeSet<u64> = record.training.members.iter().map(|member| member.seed).collect();
    seeds.len().max(1)
}

/// Variables that were set from outside, as numbers.
fn input_numbers(run: &Run) -> Vec<usize> {
    let inputs = &run.record.data.options.inputs;
    let names = run.variables().iter().enumerate();
    names.filter(|(_, name)| inputs.contains(name)).map(|(idx, _)| idx).collect()
}

/// What only a process can say.
#[derive(Default)]
struct ProcessAnswers {
    fit: Option<FitView>,
    future: Option<FutureView>,
    interventions: Vec<InterventionView>,
}

fn answers(
    run: &Run,
    model: &FittedModel,
    data: Option<&SeriesSet>,
    changes: &[String],
) -> Result<ProcessAnswers, ViewError> {
    let few = |data: &&SeriesSet| data.n_rows() * data.n_variables() <= MOST_CELLS;
    let fit = data.filter(few).map(|data| paths::fit_view(model, data)).transpose()?;
    let future = futures::future_view(run, model, data, fit.as_ref())?;
    let mut interventions: Vec<InterventionView> = Vec::new();
    if !changes.is_empty() {
        let question = InterventionQuestion::new(changes.to_vec());
        interventions.push(intervention_view(model, &run.record.data.time, data, &question)?);
    }
    Ok(ProcessAnswers { fit, future, interventions })
}

/// Why the data cannot carry a graph, as `check` says it, of what was left of them for this fit.
fn limits(run: &Run, data: Option<&Loaded>) -> Vec<String> {
    let Some(loaded) = data else { return Vec::new() };
    let asked = &run.record.asked;
    let transform = asked.preparation.fit(&loaded.data).ok().flatten();
    let left = transform.map(|transform| transform.apply(&loaded.data));
    let mut limits = limits_of_graph(left.as_ref().unwrap_or(&loaded.data), &loaded.time_axis);
    if !run.record.data.options.inputs.is_empty() {
        limits.retain(|limit| !limit.contains("`--inputs "));
    }
    // Whoever has forbidden every edge into a variable knows that it was set.
    let n_others = run.variables().len().saturating_sub(1);
    let is_input = |name: &String| {
        let into = |edge: &&KnownEdge| edge.target == *name && edge.source != *name;
        let forbidden = asked.edges.iter().filter(into).filter(|edge| edge.probability == 0.0);
        forbidden.count() == n_others
    };
    let has_inputs = n_others > 0 && run.variables().iter().any(is_input);
    limits.retain(|limit| !has_inputs || !limit.contains("`--inputs "));
    limits.iter().map(|limit| sentence(limit)).collect()
}

/// Remarks that warn, as sentences; that a fit has not converged, a report says by itself.
fn warnings(remarks: &[String]) -> Vec<String> {
    let warned = remarks.iter().filter_map(|remark| remark.strip_prefix("warning: "));
    let warned = warned.filter(|warning| !warning.starts_with("not converged"));
    warned.map(sentence).collect()
}

/// With a large letter at its beginning.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

/// What dates the times are, where the data have dates.
pub fn calendar(run: &Run) -> Option<Calendar> {
    run.record.data.time.seconds().map(|(origin, unit)| Calendar { origin, unit })
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
