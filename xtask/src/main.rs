//! The project's own commands: `cargo xtask test` and friends.

#![warn(clippy::unwrap_used)]

mod bench;
mod bench_bridge;
mod bench_bridge_large;
mod bench_equations;
mod bench_load;
mod bench_methods;
mod bench_python;
mod bench_regulators;
mod bench_simulate;
mod bench_step;
mod bench_sweep;
mod browser;
mod docs;
mod docs_tables;
mod equations;
mod fuzz;
mod gallery;
mod layers;
mod licences;
mod python;
mod release;
mod shell;
mod site;
mod slurm;
mod test;
mod tuples;
mod windows;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// The project's own commands
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run every check: format, lints, tests, documentation, Python, licences
    Test,
    /// Look at reports in a real browser
    Browser,
    /// Run the tests of sweeps alone, with a real Slurm where Debian's packages can be had
    Sweep,
    /// Check the Python package alone: tests, types, examples, notebooks
    Python,
    /// Check that code, paper/EQUATIONS.md and docs/how-it-works.md name the same equations
    Equations,
    /// Check that no module of core uses one of a higher layer, and that no function takes a tuple
    Layers,
    /// Check that libraries and program compile for Windows
    Windows,
    /// Check that every link of the documentation leads somewhere
    Docs,
    /// Build the documentation as a site with search and both API references: target/site
    Site {
        /// The pages alone, without the API references, which take minutes to make
        #[arg(long)]
        pages_only: bool,
    },
    /// Copy the tables of results/ into docs/accuracy.md and its appendix
    DocsTables {
        /// Change nothing; fail if they differ
        #[arg(long)]
        check: bool,
    },
    /// Fit the real data of docs/gallery again and put pictures and figures into its pages
    Gallery {
        /// Folder with a folder per data set, each with data.csv and truth.csv
        #[arg(long, value_name = "DIR")]
        data: PathBuf,
    },
    /// Try every step of a release that can be tried without publishing
    Release,
    /// Look for inputs that make a reader panic, hang or take much memory (libFuzzer)
    Fuzz {
        /// Minutes for all readers together
        #[arg(long, default_value_t = 10.0)]
        minutes: f64,
        /// One reader alone
        #[arg(long)]
        target: Option<String>,
    },
    /// Measure speed beside other programs; never part of the checks
    #[command(subcommand)]
    Bench(bench::Benchmark),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Test => test::run_checks(),
        Command::Browser => browser::check_alone(),
        Command::Sweep => slurm::check_alone(),
        Command::Python => python::check_alone(),
        Command::Equations => equations::check(),
        Command::Layers => layers::check().and_then(|()| tuples::check()),
        Command::Windows => windows::check(),
        Command::Docs => docs::check(),
        Command::Site { pages_only: true } => site::build_pages(),
        Command::Site { pages_only: false } => site::build_alone(),
        Command::DocsTables { check } => docs_tables::run(check),
        Command::Gallery { data } => gallery::make(&data),
        Command::Release => release::run_dry(),
        Command::Fuzz { minutes, target } => fuzz::fuzz(minutes, target.as_deref()),
        Command::Bench(benchmark) => bench::run(benchmark),
    }
}
