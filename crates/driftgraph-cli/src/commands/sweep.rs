//! `sweep`: many fits as shards that any number of workers make together.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::Context;
use driftgraph_sweep::{
    MadeShard, Merged, PlanRequest, RunOptions, RunSummary, Slice, SlurmOptions, Status, Sweep,
    SweepError, Watcher, merge, run as work, slurm_script, status,
};
use driftgraph_text::count;
use indicatif::{ProgressBar, ProgressStyle};

use crate::args::{
    SweepArgs, SweepCommand, SweepMergeArgs, SweepPlanArgs, SweepRunArgs, SweepSlurmArgs,
    SweepStatusArgs,
};
use crate::commands::table;
use crate::output::{short, short_or_dash};
use crate::printer;
use crate::progress::{catch_interrupts, interrupted};

pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        SweepCommand::Plan(args) => plan(args),
        SweepCommand::Status(args) => tell_status(args),
        SweepCommand::Run(args) => run_shards(args),
        SweepCommand::Merge(args) => merge_shards(args),
        SweepCommand::Slurm(args) => print_script(args),
    }
}

/// Errors about the data show their places, as everywhere.
fn with_places<T>(result: Result<T, SweepError>) -> anyhow::Result<T> {
    result.map_err(|error| match error {
        SweepError::Data(errors) => errors.into(),
        other => other.into(),
    })
}

fn plan(args: &SweepPlanArgs) -> anyhow::Result<ExitCode> {
    let text = std::fs::read_to_string(&args.plan)
        .with_context(|| format!("cannot read `{}`", args.plan.display()))?;
    let base = args.plan.parent().unwrap_or(Path::new(""));
    let request = with_places(PlanRequest::from_toml(&text, base))?;
    let sweep = with_places(Sweep::plan(&request, &args.out))?;
    let state = status(&sweep)?;
    printer::data(&shards_text(&state))?;
    let folder = args.out.display();
    printer::note(&format!(
        "make them: driftgraph sweep run {folder}, on as many machines as see the folder\n\
         look: driftgraph sweep status {folder}"
    ));
    Ok(ExitCode::SUCCESS)
}

fn tell_status(args: &SweepStatusArgs) -> anyhow::Result<ExitCode> {
    let state = status(&Sweep::open(&args.sweep)?)?;
    if args.json {
        printer::data(&serde_json::to_string_pretty(&state)?)?;
    } else {
        printer::data(&shards_text(&state))?;
    }
    Ok(if state.complete { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn shards_text(state: &Status) -> String {
    let mut rows = table(&["data", "method", "shards", "done"]);
    for group in &state.groups {
        let numbers = [group.shards, group.done].map(|number| number.to_string());
        rows.add_row([group.data.clone(), group.fit.clone()].into_iter().chain(numbers));
    }
    let claimed = match state.claimed {
        0 => String::new(),
        n => format!(", {n} being made"),
    };
    let left = match state.seconds_left {
        Some(seconds) if !state.complete => {
            format!("\nabout {} of work left for one thread", time_text(seconds))
        }
        _ => String::new(),
    };
    let (done, shards) = (state.done, count(state.shards, "shard", "shards"));
    format!("{}\n{done} of {shards} done{claimed}{left}", rows.trim_fmt())
}

fn time_text(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} seconds"),
        s if s < 7200.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{:.1} hours", s / 3600.0),
    }
}

fn run_shards(args: &SweepRunArgs) -> anyhow::Result<ExitCode> {
    let sweep = Sweep::open(&args.sweep)?;
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let options = RunOptions {
        slice: args.shard.unwrap_or(Slice::ALL),
        threads: args.threads.unwrap_or_else(cores),
        expire: args.expire,
    };
    catch_interrupts("what was made stays, and long fits go on later")?;
    let progress = ShardProgress::new(sweep.n_left(options.slice)?);
    let done = with_places(work(&sweep, &options, &progress));
    progress.bar.finish_and_clear();
    let summary = done?;
    printer::note(&summary_text(&summary));
    if summary.interrupted {
        printer::note(&format!("go on: driftgraph sweep run {}", args.sweep.display()));
    } else if status(&sweep)?.complete {
        let folder = args.sweep.display();
        printer::note(&format!("complete: driftgraph sweep merge {folder} --out DIR"));
    }
    Ok(ExitCode::SUCCESS)
}

fn summary_text(summary: &RunSummary) -> String {
    let mut text = format!("made {}", count(summary.n_made, "shard", "shards"));
    if summary.n_left_to_others > 0 {
        let others = count(summary.n_left_to_others, "shard is", "shards are");
        text = format!("{text}; {others} left to workers that are alive");
    }
    if summary.interrupted {
        text.push_str("; interrupted");
    }
    text
}

/// A bar with the time left on a terminal, a few lines elsewhere.
struct ShardProgress {
    bar: ProgressBar,
    /// Tenths of the shards that were told where there is no terminal.
    told: Mutex<usize>,
    n_shards: usize,
}

impl ShardProgress {
    fn new(n_shards: usize) -> Self {
        let style = "{bar:24} {pos}/{len} shards, {eta} left  {msg}";
        let style = ProgressStyle::with_template(style).expect("the template is fixed and valid");
        let bar = ProgressBar::new(n_shards as u64).with_style(style);
        Self { bar, told: Mutex::new(0), n_shards }
    }
}

impl Watcher for ShardProgress {
    fn made(&self, news: &MadeShard<'_>) {
        if let Some(problem) = news.problem {
            self.note(&format!("note: {}: {problem}", news.shard));
        }
        self.bar.set_position(news.n_made as u64);
        self.bar.set_message(news.shard.to_owned());
        if self.bar.is_hidden() {
            let tenth = 10 * news.n_made / self.n_shards.max(1);
            let mut told = self.told.lock().expect("no thread panics while it holds this lock");
            if tenth > *told {
                *told = tenth;
                printer::note(&format!("{} of {} shards", news.n_made, self.n_shards));
            }
        }
    }

    fn note(&self, text: &str) {
        self.bar.suspend(|| printer::note(text));
    }

    fn is_interrupted(&self) -> bool {
        interrupted()
    }
}

fn merge_shards(args: &SweepMergeArgs) -> anyhow::Result<ExitCode> {
    let sweep = Sweep::open(&args.sweep)?;
    let merged = merge(&sweep, &args.out, args.partial)?;
    if args.json {
        printer::data(&serde_json::to_string_pretty(&merged)?)?;
    } else {
        printer::data(&merged_text(&merged))?;
    }
    if merged.missing > 0 {
        let missing = count(merged.missing, "shard is", "shards are");
        printer::note(&format!("warning: {missing} missing: this is not all of it"));
    }
    printer::note(&format!(
        "look at it: {}\naveraged graphs and tables are in `{}`",
        args.out.join("report.html").display(),
        args.out.display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn merged_text(merged: &Merged) -> String {
    let header = ["data", "method", "fits", "without a result", "edges expected", "kept", "file"];
    let mut rows = table(&header);
    for group in &merged.groups {
        rows.add_row([
            group.data.clone(),
            group.fit.clone(),
            group.shards.to_string(),
            group.unusable.to_string(),
            group.expected_edges.map_or("ranks only".to_owned(), short),
            short_or_dash(group.kept_edges.map(|kept| kept as f64)),
            group.edges_file.display().to_string(),
        ]);
    }
    rows.trim_fmt()
}

fn print_script(args: &SweepSlurmArgs) -> anyhow::Result<ExitCode> {
    let sweep = Sweep::open(&args.sweep)?;
    let folder = std::path::absolute(&args.sweep).context("there is no current folder")?;
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let options = SlurmOptions {
        hours: args.hours,
        account: args.account.clone(),
        partition: args.partition.clone(),
        threads: args.threads,
        shard_seconds: args.shard_seconds,
        program: program.display().to_string(),
        folder: folder.display().to_string(),
    };
    printer::data(slurm_script(&sweep, &options)?.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
