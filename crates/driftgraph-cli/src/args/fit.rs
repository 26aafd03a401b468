//! What can be asked of `fit`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{DataArgs, SelfEdgesArg, duration};
use crate::settings::{SettingsArgs, method_name, preset_name};

/// Learn who drives whom, and the process behind the data
///
/// Writes a run folder: edges.csv (all pairs, the best supported first), run.json (settings, versions,
/// what was learned in short), report.html, log.jsonl (how it went) and, where the method learns a process,
/// model.safetensors (all parameters).
/// Ctrl-C stops at the next step and saves; --resume goes on, also after a crash or a power cut. The
/// same data, settings and seed give the same bytes, whatever the number of threads, interrupted or not.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph fit measurements.csv --out run
  driftgraph fit netsim.csv --preset paper-netsim --steps 500 --truth truth.csv --out run
  driftgraph fit genes.csv --method ridge --out ridge-run
  driftgraph fit sales.csv --season 12 --detrend --log price,volume
  driftgraph fit machine.csv --regimes auto
  driftgraph fit patients.csv --condition treated
  driftgraph fit genes.csv --forbid 'A->B' --require 'C->D' --no-self-loops --time-budget 10m
  driftgraph fit --resume run")]
#[command(mut_arg("files", |files| files.required(false).required_unless_present("resume")))]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Run folder to write [default: the data's name with -run]
    #[arg(long, value_name = "RUN")]
    pub(crate) out: Option<PathBuf>,
    /// Method to learn with; `driftgraph methods` lists them [default: bridge]
    #[arg(long, value_name = "NAME", value_parser = method_name)]
    pub(crate) method: Option<String>,
    /// Named settings: bridge (default: fast, chooses its own settings), bridge-linear, simulated (the paper's posterior),
    /// paper, paper-lorenz, paper-glycolysis, paper-dream3 or paper-netsim (as published), and those of other methods
    #[arg(long, value_name = "NAME", value_parser = preset_name)]
    pub(crate) preset: Option<String>,
    /// Settings file (TOML): method, preset and any of the settings below, with _ for -
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Take a season of so many rows out of every variable before the graph is learned, e.g. 12 for months; every answer
    /// of the model has it again
    #[arg(long, value_name = "ROWS")]
    pub(crate) season: Option<usize>,
    /// Take a straight line in time out of every variable before the graph is learned; forecasts continue it
    #[arg(long)]
    pub(crate) detrend: bool,
    /// Learn these variables on a logarithmic scale, separated by commas, or all of them; predictions stay positive
    #[arg(long, value_name = "A,B,...|all", value_delimiter = ',')]
    pub(crate) log: Vec<String>,
    /// Variables that may drive others, separated by commas, or a file with a name on each line [default: all]
    #[arg(long, value_name = "A,B,...|FILE", value_delimiter = ',')]
    pub(crate) sources: Vec<String>,
    /// Variables that may be driven by others, likewise [default: all but inputs]
    #[arg(long, value_name = "A,B,...|FILE", value_delimiter = ',')]
    pub(crate) targets: Vec<String>,
    /// Column that says to which condition each series belongs: one graph for each, and what differs between them
    ///
    /// Its cells may be numbers or words, and are the same throughout each series. The same as --regimes with a table of
    /// conditions and their series.
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["regimes", "resume"])]
    pub(crate) condition: Option<String>,
    /// An edge that cannot be, as 'source->target'; may be repeated
    #[arg(long, value_name = "EDGE")]
    pub(crate) forbid: Vec<String>,
    /// An edge that must be, as 'source->target'; may be repeated
    #[arg(long, value_name = "EDGE")]
    pub(crate) require: Vec<String>,
    /// How probable an edge is beforehand, as 'source->target=0.3'; may be repeated
    #[arg(long, value_name = "EDGE=P")]
    pub(crate) prior: Vec<String>,
    /// Table of edges with prior probabilities (source,target,probability)
    #[arg(long, value_name = "FILE")]
    pub(crate) edge_prior: Option<PathBuf>,
    /// Go on with a fit that was interrupted, killed or ran out of time; it remembers data and settings
    #[arg(long, value_name = "RUN", conflicts_with_all = ["out", "force", "truth", "self_edges", "log_every"])]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume: steps beyond those the fit was to make
    #[arg(long, value_name = "N", requires = "resume", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) extend_steps: Option<u64>,
    /// Time between two checkpoints, e.g. 10s or 5m [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) checkpoint_every: Option<Duration>,
    /// Stop in time and save, e.g. 90s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time_budget: Option<Duration>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "T", value_parser = super::threads)]
    pub(crate) threads: Option<usize>,
    /// True edges; adds metrics to the log and never influences the fit
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    /// Whether self edges count in those metrics [default: keep]
    #[arg(long, value_enum)]
    pub(crate) self_edges: Option<SelfEdgesArg>,
    /// Steps between two lines of the log
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) log_every: u64,
    /// Replace a run that is in the folder already
    #[arg(long)]
    pub(crate) force: bool,
    /// Print run.json when done
    #[arg(long)]
    pub(crate) json: bool,
    /// Steps that count as not finite, to see what happens then
    #[arg(long, hide = true, value_delimiter = ',')]
    pub(crate) broken_steps: Vec<u64>,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}
