//! `compare`: several methods on the same data, and how far they agree.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use driftgraph_core::SignatureGraph;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_core::train::progress::{Progress, Step};
use driftgraph_data::run_folder::Run;
use driftgraph_data::table::{Column, Table, TableFormat};
use driftgraph_methods::{FitPlan, METHODS};
use driftgraph_report::agreement_html;
use driftgraph_report::view::AgreementView;
use driftgraph_run::{FitJob, Pace, Truth, fit_or_resume};
use driftgraph_view::agreement_view;

use crate::args::CompareArgs;
use crate::commands::{fit, load_data, table};
use crate::output::{short, short_or_dash, write_file};
use crate::printer;
use crate::progress::{FitProgress, catch_interrupts, interrupted};

/// Edges that most agree on, shown on the terminal.
const SHOWN_EDGES: usize = 10;

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let plans = plans(&args.methods, args.seed)?;
    let loaded = load_data(&args.data)?;
    let truth = args
        .truth
        .as_deref()
        .map(|path| fit::read_truth(path, &loaded, &args.data.ignore))
        .transpose()?;
    let threads = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0));
    let threads = threads.build().context("cannot start the threads")?;
    catch_interrupts("finished methods are kept; the same command goes on")?;
    let mut runs = Vec::new();
    for (name, plan) in plans {
        printer::note(&format!("{name} ..."));
        let job = FitJob {
            loaded: loaded.clone(),
            read_options: args.data.options(),
            plan,
            folder: args.out.join(&name),
            replace: true,
            truth: truth.clone().map(|graph| Truth { graph, self_edges: SelfEdges::Dropped }),
            pace: Pace { time_budget: args.time_budget, ..Pace::default() },
            report: true,
        };
        let progress = FitProgress::new();
        let run = threads.install(|| fit_or_resume(&job, &Quiet(&progress)));
        progress.finish();
        if interrupted() {
            anyhow::bail!("interrupted; the same command goes on from here");
        }
        match run {
            Ok(run) => runs.push((name, run)),
            // What one method cannot do, others may.
            Err(error) => printer::note(&format!("warning: {name} is left out: {error}")),
        }
    }
    anyhow::ensure!(!runs.is_empty(), "no method could learn from these data");
    show(args, &runs, truth.as_ref())?;
    Ok(ExitCode::SUCCESS)
}

/// A method's progress without its remarks, which are told for all of them at the end.
struct Quiet<'a>(&'a FitProgress);

impl Progress for Quiet<'_> {
    fn step(&self, step: &Step<'_>) -> ControlFlow<()> {
        self.0.step(step)
    }

    fn is_interrupted(&self) -> bool {
        self.0.is_interrupted()
    }

    fn note(&self, text: &str) {
        if text.starts_with("warning") {
            self.0.note(text);
        }
    }
}

/// What names stand for: methods, presets, or all that take seconds.
fn plans(names: &[String], seed: Option<u64>) -> anyhow::Result<Vec<(String, FitPlan)>> {
    let mut plans: Vec<(String, FitPlan)> = Vec::new();
    let fast = METHODS.iter().filter(|method| method.is_fast());
    let fast: Vec<String> =
        fast.map(|method| method.name()).chain([METHODS[0].name()]).map(str::to_owned).collect();
    let names = names.iter().flat_map(|name| match name.as_str() {
        "all-fast" => fast.clone(),
        _ => vec![name.clone()],
    });
    for name in names {
        if plans.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let mut plan = FitPlan::named(&name)?;
        let has_seed = plan.settings().contains_key("seed");
        if let Some(seed) = seed.filter(|_| has_seed) {
            plan = plan.with([("seed".to_owned(), seed.into())])?;
        }
        plans.push((name, plan));
    }
    Ok(plans)
}

fn show(
    args: &CompareArgs,
    runs: &[(String, Run)],
    truth: Option<&SignatureGraph>,
) -> anyhow::Result<()> {
    let named: Vec<(String, &Run)> = runs.iter().map(|(name, run)| (name.clone(), run)).collect();
    let view = agreement_view("Methods compared", &named, truth)?;
    let page = args.out.join("compare.html");
    write_file(&page, |out| out.write_all(agreement_html(&view).as_bytes()))?;
    write_tables(&args.out, &view)?;
    if args.json {
        printer::data(&serde_json::to_string_pretty(&view)?)?;
    } else {
        printer::data(&methods_text(&view))?;
        if let Some(remarks) = remarks_text(&view) {
            printer::data(&remarks)?;
        }
        printer::data(&agreement_text(&view))?;
        printer::data(&agreed_text(&view))?;
    }
    printer::note(&format!(
        "look at it: {}\ntables and a run folder for each method are in `{}`",
        page.display(),
        args.out.display()
    ));
    Ok(())
}

fn methods_text(view: &AgreementView) -> String {
    let with_truth = view.runs.iter().any(|run| run.metrics.is_some());
    let mut header = vec!["method", "seconds", "edges found"];
    if with_truth {
        header.extend(["AUROC", "AUPRC", "F1", "FDR"]);
    }
    let mut rows = table(&header);
    for run in &view.runs {
        let found = run.found.map_or("ranks only".to_owned(), |found| found.to_string());
        let mut cells = vec![run.name.clone(), format!("{:.1}", run.seconds), found];
        if let Some(metrics) = &run.metrics {
            let shares = [metrics.auroc, metrics.auprc, metrics.f1, metrics.fdr];
            cells.extend(shares.map(short_or_dash));
        }
        rows.add_row(cells);
    }
    format!("pairs of different variables:\n{}", rows.trim_fmt())
}

/// What each method did with data that it cannot take as they are.
fn remarks_text(view: &AgreementView) -> Option<String> {
    let lines: Vec<String> = (view.runs.iter())
        .flat_map(|run| run.remarks.iter().map(|remark| format!("- {}: {remark}", run.name)))
        .collect();
    (!lines.is_empty()).then(|| format!("\nremarks:\n{}", lines.join("\n")))
}

fn agreement_text(view: &AgreementView) -> String {
    let names = view.runs.iter().map(|run| run.name.as_str());
    let header: Vec<&str> = std::iter::once("").chain(names).collect();
    let mut rows = table(&header);
    for (idx, run) in view.runs.iter().enumerate() {
        let cells = (0..view.runs.len()).map(|other| {
            let (correlation, overlap) =
                (view.rank_correlations[idx][other], view.overlaps[idx][other]);
            format!("{} / {overlap:.2}", short_or_dash(correlation))
        });
        rows.add_row(std::iter::once(run.name.clone()).chain(cells));
    }
    format!(
        "\nrank correlation / overlap of the {} strongest edges:\n{}",
        view.top,
        rows.trim_fmt()
    )
}

fn agreed_text(view: &AgreementView) -> String {
    if view.agreed.is_empty() {
        return "\nno edge is among the strongest of more than half of the methods".to_owned();
    }
    let mut rows = table(&["source", "target", "methods", "mean rank"]);
    for edge in view.agreed.iter().take(SHOWN_EDGES) {
        rows.add_row([
            view.variables[edge.source].clone(),
            view.variables[edge.target].clone(),
            format!("{} of {}", edge.n_runs, view.runs.len()),
            short(edge.mean_rank),
        ]);
    }
    format!("\nwhat most agree on:\n{}", rows.trim_fmt())
}

/// `methods.csv`, `agreement.csv` and `agreed-edges.csv`.
fn write_tables(folder: &Path, view: &AgreementView) -> anyhow::Result<()> {
    let text = |all: Vec<String>| Column::Text(all);
    let metric = |of: &dyn Fn(&driftgraph_report::view::MetricsView) -> Option<f64>| {
        let number = |metrics: &Option<_>| metrics.as_ref().and_then(of).unwrap_or(f64::NAN);
        Column::Number(view.runs.iter().map(|run| number(&run.metrics)).collect())
    };
    let found = view.runs.iter().map(|run| run.found.map_or(f64::NAN, |found| found as f64));
    let methods = Table::default()
        .with("method", text(view.runs.iter().map(|run| run.name.clone()).collect()))
        .with("seconds", Column::Number(view.runs.iter().map(|run| run.seconds).collect()))
        .with("edges_found", Column::Number(found.collect()))
        .with("auroc", metric(&|one| one.auroc))
        .with("auprc", metric(&|one| one.auprc))
        .with("f1", metric(&|one| one.f1))
        .with("fdr", metric(&|one| one.fdr));
    let n = view.runs.len();
    let cells = || (0..n * n).map(|cell| (cell / n, cell % n));
    let name = |idx: usize| view.runs[idx].name.clone();
    let ranks = cells().map(|(a, b)| view.rank_correlations[a][b].unwrap_or(f64::NAN));
    let agreement = Table::default()
        .with("method", text(cells().map(|(a, _)| name(a)).collect()))
        .with("other", text(cells().map(|(_, b)| name(b)).collect()))
        .with("rank_correlation", Column::Number(ranks.collect()))
        .with("overlap", Column::Number(cells().map(|(a, b)| view.overlaps[a][b]).collect()));
    let names = |of: &dyn Fn(&driftgraph_report::view::AgreedEdge) -> usize| {
        Column::Text(view.agreed.iter().map(|edge| view.variables[of(edge)].clone()).collect())
    };
    let agreed = Table::default()
        .with("source", names(&|edge| edge.source))
        .with("target", names(&|edge| edge.target))
        .with("methods", Column::Whole(view.agreed.iter().map(|edge| edge.n_runs as i64).collect()))
        .with("mean_rank", Column::Number(view.agreed.iter().map(|edge| edge.mean_rank).collect()));
    for (file, rows) in
        [("methods.csv", methods), ("agreement.csv", agreement), ("agreed-edges.csv", agreed)]
    {
        write_file(&folder.join(file), |out| rows.write(out, TableFormat::Csv))?;
    }
    Ok(())
}
