//! One command, one file, one `run`.

mod baseline;
mod check;
mod compare;
mod condition;
mod contrast;
mod demo;
mod example;
pub(crate) mod experiment;
mod fit;
mod forecast;
mod generate;
mod graph;
mod impute;
mod intervene;
mod methods;
mod report;
mod score;
mod serve;
mod simulate;
mod sweep;

use std::process::ExitCode;

use driftgraph_data::{Loaded, ReadOptions, load};

use crate::args::{Cli, Command, DataArgs};
use crate::printer;

/// Runs the chosen command; the exit code is 1 if it ran and the answer is "no".
pub(crate) fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::Score(args) => score::run(&args),
        Command::Graph(args) => graph::run(&args),
        Command::Contrast(args) => contrast::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Forecast(args) => forecast::run(&args),
        Command::Impute(args) => impute::run(&args),
        Command::Intervene(args) => intervene::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Example(args) => example::run(&args),
        Command::Baseline(args) => baseline::run(&args),
        Command::Methods(args) => methods::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Experiment(args) => experiment::run(&args),
    }
}

/// Reads the user's tables and tells what was decided on the way.
fn load_data(args: &DataArgs) -> anyhow::Result<Loaded> {
    load_data_as(args, &args.options())
}

/// The same with other options.
fn load_data_as(args: &DataArgs, options: &ReadOptions) -> anyhow::Result<Loaded> {
    let loaded = load(&args.files, options)?;
    for notice in &loaded.notices {
        printer::note(&format!("note: {notice}"));
    }
    if loaded.time_axis.origin.is_some() {
        printer::note(&format!("note: times are counted in {}", loaded.time_axis));
    }
    Ok(loaded)
}

/// A plain table without lines between rows, readable in any terminal and when copied.
pub(crate) fn table(header: &[&str]) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(header);
    table
}
