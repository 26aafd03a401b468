//! The `driftgraph` command: who drives whom, from tables of measurements over time.

#![warn(clippy::unwrap_used)]

mod args;
mod asking;
mod charts;
mod commands;
mod cpu_time;
mod diagnostics;
mod endings;
mod given_inputs;
mod model_args;
mod output;
mod peak_memory;
mod printer;
mod progress;
mod settings;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match commands::run(args::Cli::parse()) {
        Ok(code) => code,
        Err(error) => diagnostics::report(&error),
    }
}
