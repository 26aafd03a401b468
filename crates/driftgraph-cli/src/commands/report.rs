//! `report`: everything about a run in one HTML file.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use driftgraph_data::edges::read_edge_list;
use driftgraph_data::run_folder::{Run, RunFolder};
use driftgraph_report::report_html;
use driftgraph_report::view::ReportView;
use driftgraph_view::{ViewOptions, report_view};

use crate::asking::{data_if_there, with_run};
use crate::model_args::ReportArgs;
use crate::output::write_file;
use crate::printer;

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let view = with_run(&args.run, |run| view(args, run))?;
    if args.json {
        printer::data(&serde_json::to_string(&view)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = args.out.clone().unwrap_or_else(|| RunFolder::at(&args.run.run).report_file());
    write_view(&file, &view)?;
    printer::note(&format!("wrote `{}`; open it in a browser", file.display()));
    Ok(ExitCode::SUCCESS)
}

fn view(args: &ReportArgs, run: &Run) -> anyhow::Result<ReportView> {
    let data = data_if_there(run, &args.run)?;
    if data.is_none() {
        printer::note("note: the data of the run are not where they were, so its fit is not shown");
    }
    let truth = args.truth.as_deref().map(|path| {
        let graph = read_edge_list(path)?.graph(run.variables());
        graph.with_context(|| format!("cannot use the truth in `{}`", path.display()))
    });
    let truth = truth.transpose()?;
    let options =
        ViewOptions { data: data.as_ref(), truth: truth.as_ref(), interventions: &args.changes };
    Ok(report_view(run, &options)?)
}

fn write_view(file: &Path, view: &ReportView) -> anyhow::Result<()> {
    let page = report_html(view);
    write_file(file, |out| out.write_all(page.as_bytes()))
}
