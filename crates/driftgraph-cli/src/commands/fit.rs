//! `fit`: learns a posterior over graphs and the process behind the data, into a run folder.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use driftgraph_core::SignatureGraph;
use driftgraph_core::fitted::edges::links;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_data::Loaded;
use driftgraph_data::edges::read_edge_list;
use driftgraph_data::graph_formats::sign_word;
use driftgraph_data::record::{Ending, MethodRequest};
use driftgraph_data::summary::Summary;
use driftgraph_methods::FitPlan;
use driftgraph_run::{FinishedRun, FitJob, JobError, Pace, Resume, Truth, fit, resume};
use driftgraph_text::count;

use crate::args::FitArgs;
use crate::commands::condition::{conditions, with_words, without_condition};
use crate::commands::contrast::differences_table;
use crate::commands::graph::{are_kinds_told, kind_cell};
use crate::commands::{load_data, load_data_as, table};
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
    let finished = result?;
    tell(args, &finished)?;
    finished.report.context("the run was saved, but its report was not written")?;
    Ok(ExitCode::SUCCESS)
}

fn job(args: &FitArgs) -> anyhow::Result<FitJob> {
    let mut asked = asked(args)?;
    // What is wrong with the settings is told before a large table is read.
    FitPlan::new(asked.clone())?;
    let data_args = without_condition(args);
    let mut read_options = data_args.options();
    let phase = phase_column(&asked);
    let loaded = match &phase {
        None => load_data(&data_args)?,
        Some(column) => {
            // A run keeps how its data were read.
            let (options, loaded) = with_words(&read_options, column, |options| {
                load_data_as(&data_args, options).map(|loaded| (options.clone(), loaded))
            })?;
            read_options = options;
            loaded
        }
    };
    if let Some(column) = &args.condition {
        let conditions = conditions(&args.data, column, &loaded)?;
        asked.settings.insert("regimes".to_owned(), conditions);
    }
    let plan = FitPlan::new(asked)?;
    let transform = plan.asked().preparation.fit(&loaded.data)?;
    let left = transform.as_ref().map(|transform| transform.apply(&loaded.data));
    let mut warnings = Summary::for_fit_to(&loaded, left.as_ref().unwrap_or(&loaded.data)).warnings;
    // What was set from outside is known by now.
    let of_phase = phase.as_ref().map(|column| format!("`--inputs {column}`"));
    warnings.retain(|warning| {
        let is_known = !args.data.inputs.is_empty() && warning.contains("`--inputs ");
        !is_known && !of_phase.as_ref().is_some_and(|words| warning.contains(words))
    });
    for warning in warnings {
        printer::note(&format!("warning: {warning}"));
    }
    let truth = |path: &PathBuf| read_truth(path, &loaded, &args.data.ignore);
    let graph = args.truth.as_ref().map(truth).transpose()?;
    let self_edges = args.self_edges.map_or(SelfEdges::Kept, Into::into);
    let default = Pace::default();
    Ok(FitJob {
        loaded,
        read_options,
        plan,
        folder: args.out.clone().unwrap_or_else(|| free_folder(&args.data.files[0])),
        replace: args.force,
        truth: graph.map(|graph| Truth { graph, self_edges }),
        pace: Pace {
            log_every: args.log_every,
            checkpoint_every: args.checkpoint_every.unwrap_or(default.checkpoint_every),
            time_budget: args.time_budget,
            ..default
        },
        report: true,
    })
}

/// The column that says which regime holds, if one does.
fn phase_column(asked: &MethodRequest) -> Option<String> {
    let value = asked.settings.get("regimes")?.as_str()?;
    value.strip_prefix("column:").map(str::to_owned)
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

/// The known edges between the variables; those of columns that were left out are left out, too.
pub(crate) fn read_truth(
    path: &Path,
    loaded: &Loaded,
    ignored: &[String],
) -> anyhow::Result<SignatureGraph> {
    let variables = loaded.data.variables();
    let ignored = ignored.iter().filter(|name| !variables.contains(name));
    let names: Vec<String> = variables.iter().chain(ignored).cloned().collect();
    let all = read_edge_list(path)?.graph(&names);
    let all = all.with_context(|| format!("cannot use the truth in `{}`", path.display()))?;
    let mut graph = SignatureGraph::empty(variables.len());
    for (source, target) in all.edges().filter(|ends| ends.0.max(ends.1) < variables.len()) {
        graph.set_edge(source, target, true);
    }
    let n_left_out = all.n_edges() - graph.n_edges();
    if n_left_out > 0 {
        let edges = count(n_left_out, "known edge", "known edges");
        printer::note(&format!("note: {edges} of columns that were ignored left out"));
    }
    Ok(graph)
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
fn tell(args: &FitArgs, finished: &FinishedRun) -> anyhow::Result<()> {
    let (run, record) = (&finished.run, &finished.run.record);
    if args.json {
        return Ok(printer::data(&serde_json::to_string_pretty(record)?)?);
    }
    printer::data(&strongest_edges(finished))?;
    if let Some(regimes) = &record.training.regimes {
        let table = differences_table(regimes, run.variables());
        printer::data(&format!("what differs most probably:\n{table}"))?;
    }
    let how = match record.ending {
        Ending::Finished => "finished",
        Ending::Interrupted => "interrupted",
        Ending::TimeBudget => "stopped by the time budget",
        Ending::Diverged => "diverged",
    };
    let seconds = finished.elapsed.as_secs_f64();
    printer::note(&match record.expected_edges {
        Some(expected) => format!("{how} after {seconds:.1} s; {} edges expected", short(expected)),
        None => format!("{how} after {seconds:.1} s"),
    });
    for remark in &record.remarks {
        printer::note(remark);
    }
    let folder = run.folder().display();
    if record.ending != Ending::Finished {
        printer::note(&format!("go on with it: driftgraph fit --resume {folder}"));
    }
    let report = finished.report.as_ref().ok().and_then(Option::as_ref);
    if let Some(report) = report {
        printer::note(&format!("look at it: {}", report.display()));
    }
    let (what, ask) = match run.model() {
        Ok(_) => ("all edges, the model", ", or simulate, forecast, impute, intervene"),
        Err(_) => ("all edges", ""),
    };
    printer::note(&format!(
        "{what} and pictures (edges.svg, graph.svg) are in `{folder}`\n\
         ask it: driftgraph graph {folder}{ask}\n\
         compare with edges you know: driftgraph score {folder} --truth TRUTH.csv"
    ));
    Ok(())
}

fn strongest_edges(finished: &FinishedRun) -> String {
    let variables = finished.run.variables();
    let shown = links(&finished.edges);
    let scored = shown.iter().all(|edge| edge.probability.is_none());
    let with_kind = are_kinds_told(&shown);
    let with_sign = shown.iter().any(|edge| edge.sign.is_some());
    let mut header = vec!["source", "target", if scored { "score" } else { "probability" }];
    header.extend(with_sign.then_some("sign"));
    header.extend(with_kind.then_some("kind"));
    let mut rows = table(&header);
    for edge in shown.iter().take(SHOWN_EDGES) {
        let names = [edge.source, edge.target].map(|idx| variables[idx].clone());
        let support = edge.probability.unwrap_or(edge.score);
        let probability = if scored { short(support) } else { format!("{support:.3}") };
        let mut cells = [names.to_vec(), vec![probability]].concat();
        cells.extend(with_sign.then(|| sign_word(edge.sign).to_owned()));
        cells.extend(with_kind.then(|| kind_cell(edge)));
        rows.add_row(cells);
    }
    format!("the strongest edges:\n{}", rows.trim_fmt())
}
