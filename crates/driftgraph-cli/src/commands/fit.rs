//! `fit`: learns a posterior over graphs and the process behind the data, into a run folder.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use driftgraph_core::SignatureGraph;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_data::Loaded;
use driftgraph_data::edges::read_edges;
use driftgraph_data::summary::Summary;
use driftgraph_run::{
    Ending, FinishedRun, FitJob, FitPlan, JobError, Pace, Resume, Truth, fit, resume,
};

use crate::args::FitArgs;
use crate::commands::{load_data, report, table};
use crate::output::short;
use crate::printer;
use crate::progress::{FitProgress, catch_interrupts};
use crate::settings::asked;

/// Edges shown on the terminal.
const SHOWN_EDGES: usize = 10;

pub(crate) fn run(args: &FitArgs) -> anyhow::Result<ExitCode> {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0));
    let threads = threads.build().context("cannot start the threads")?;
    let progress = FitProgress::new();
    let result = if let Some(folder) = &args.resume {
        let resumed = resumed(args, folder)?;
        catch_interrupts("the fit can go on later with `--resume`")?;
        threads.install(|| resume(&resumed, &progress))
    } else {
        let job = job(args)?;
        catch_interrupts("what was learned so far will be saved")?;
        threads.install(|| fit(&job, &progress))
    };
    progress.finish();
    if let Err(JobError::Diverged { saved: Some(folder), .. }) = &result {
        printer::note(&format!("the last good model is in `{}`", folder.display()));
    }
    let run = result?;
    let report = threads.install(|| report::write(&run.folder));
    tell(args, &run)?;
    report.context("the run was saved, but its report was not written")?;
    Ok(ExitCode::SUCCESS)
}

fn job(args: &FitArgs) -> anyhow::Result<FitJob> {
    let plan = FitPlan::new(asked(args)?)?;
    let loaded = load_data(&args.data)?;
    for warning in Summary::new(&loaded).warnings {
        printer::note(&format!("warning: {warning}"));
    }
    let graph = args.truth.as_deref().map(|path| read_truth(path, &loaded)).transpose()?;
    let self_edges = args.self_edges.map_or(SelfEdges::Kept, Into::into);
    let default = Pace::default();
    Ok(FitJob {
        loaded,
        read_options: args.data.options(),
        plan,
        folder: args.out.clone().unwrap_or_else(|| free_folder(&args.data.files[0])),
        replace: args.force,
        truth: graph.map(|graph| Truth { graph, self_edges }),
        pace: Pace {
            log_every: args.log_every,
            checkpoint_every: args.checkpoint_every.unwrap_or(default.checkpoint_every),
            time_budget: args.time_budget,
        },
    })
}

fn resumed(args: &FitArgs, folder: &Path) -> anyhow::Result<Resume> {
    Ok(Resume {
        folder: folder.to_owned(),
        data_files: args.data.files.clone(),
        asked: asked(args)?,
        extend_steps: args.extend_steps.unwrap_or(0),
        checkpoint_every: args.checkpoint_every,
        time_budget: args.time_budget,
    })
}

fn read_truth(path: &Path, loaded: &Loaded) -> anyhow::Result<SignatureGraph> {
    let graph = read_edges(path, None)?.graph(loaded.data.variables());
    graph.with_context(|| format!("cannot use the truth in `{}`", path.display()))
}

/// `measurements-run`, or with the first number that is free.
fn free_folder(data: &Path) -> PathBuf {
    let name = data.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("data").to_owned();
    let mut candidates = (1..).map(|number: u32| match number {
        1 => PathBuf::from(format!("{stem}-run")),
        _ => PathBuf::from(format!("{stem}-run-{number}")),
    });
    candidates.find(|path| !path.exists()).expect("there are always free names")
}

/// The strongest edges, how the fit ended, and what to do next.
fn tell(args: &FitArgs, run: &FinishedRun) -> anyhow::Result<()> {
    if args.json {
        return Ok(printer::data(&serde_json::to_string_pretty(&run.description)?)?);
    }
    printer::data(&strongest_edges(run))?;
    let how = match run.ending {
        Ending::Finished => "finished",
        Ending::Interrupted => "interrupted",
        Ending::OutOfTime => "stopped by the time budget",
    };
    let expected = run.edges.iter().filter_map(|edge| edge.probability).sum();
    let seconds = run.elapsed.as_secs_f64();
    printer::note(&format!("{how} after {seconds:.1} s; {} edges expected", short(expected)));
    for remark in &run.remarks {
        printer::note(remark);
    }
    let folder = run.folder.display();
    if run.ending != Ending::Finished {
        printer::note(&format!("go on with it: driftgraph fit --resume {folder}"));
    }
    printer::note(&format!(
        "look at it: {}\n\
         all edges, the model and pictures (edges.svg, graph.svg) are in `{folder}`\n\
         ask it: driftgraph graph {folder}, or simulate, forecast, impute, intervene\n\
         compare with edges you know: driftgraph score {folder} --truth TRUTH.csv",
        run.folder.join(report::FILE).display()
    ));
    Ok(())
}

fn strongest_edges(run: &FinishedRun) -> String {
    let variables = run.model.variables();
    let mut rows = table(&["source", "target", "probability"]);
    for edge in run.edges.iter().take(SHOWN_EDGES) {
        let probability = edge.probability.map_or_else(String::new, |p| format!("{p:.3}"));
        rows.add_row([&variables[edge.source], &variables[edge.target], &probability]);
    }
    format!("the strongest edges:\n{}", rows.trim_fmt())
}
