//! What can be asked of `fit`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use driftgraph_core::train::preset::Preset;
use driftgraph_run::plan::BRIDGE;

use super::{DataArgs, SelfEdgesArg, duration};
use crate::settings::SettingsArgs;

/// Learn who drives whom, and the process behind the data
///
/// Writes a run folder: edges.csv (all pairs, most probable first), run.json (settings, versions,
/// what was learned in short), model.safetensors (all parameters) and log.jsonl (how it went).
/// Ctrl-C stops at the next step and saves; --resume goes on, also after a crash or a power cut. The
/// same data, settings and seed give the same bytes, whatever the number of threads, interrupted or not.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph fit measurements.csv --out run
  driftgraph fit netsim.csv --preset paper-netsim --steps 500 --truth truth.csv --out run
  driftgraph fit genes.csv --forbid 'A->B' --require 'C->D' --no-self-loops --time-budget 10m
  driftgraph fit --resume run")]
#[command(mut_arg("files", |files| files.required(false).required_unless_present("resume")))]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Run folder to write [default: the data's name with -run]
    #[arg(long, value_name = "RUN")]
    pub(crate) out: Option<PathBuf>,
    /// bridge (default: fast, chooses its own settings), simulated (the paper's posterior), paper,
    /// paper-lorenz, paper-glycolysis, paper-dream3 or paper-netsim (as published)
    #[arg(long, value_name = "NAME", value_parser = preset)]
    pub(crate) preset: Option<String>,
    /// Settings file (TOML): preset and any of the settings below, with _ for -
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// An edge that cannot be, as 'source->target'; may be repeated
    #[arg(long, value_name = "EDGE")]
    pub(crate) forbid: Vec<String>,
    /// An edge that must be, as 'source->target'; may be repeated
    #[arg(long, value_name = "EDGE")]
    pub(crate) require: Vec<String>,
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
    pub(crate) bridge: BridgeArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// Settings of the bridge posterior.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings of the bridge posterior")]
pub(crate) struct BridgeArgs {
    /// Choose instantaneous effects and neural drift on held-out series, or take what is said
    #[arg(long, value_enum)]
    pub(crate) select: Option<SelectArg>,
    /// Fits with different seeds that are averaged [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) ensemble: Option<usize>,
    /// Let variables act on each other within a step
    #[arg(long)]
    pub(crate) instantaneous: bool,
    /// What the drift is made of [default: linear]
    #[arg(long, value_enum)]
    pub(crate) drift: Option<DriftArg>,
    /// Law of what a step adds beyond its drift [default: gaussian]
    #[arg(long, value_enum)]
    pub(crate) innovations: Option<InnovationsArg>,
    /// Which edges share a learned density [default: per-source]
    #[arg(long, value_enum)]
    pub(crate) density: Option<DensityArg>,
}

impl BridgeArgs {
    /// The settings given, by name, in the words of the settings file.
    pub(crate) fn values(&self) -> Vec<(String, serde_json::Value)> {
        let mut values = Vec::new();
        let mut set = |name: &str, value: serde_json::Value| values.push((name.to_owned(), value));
        if let Some(select) = self.select {
            set("select", word(&select).into());
        }
        if let Some(ensemble) = self.ensemble {
            set("ensemble", ensemble.into());
        }
        if self.instantaneous {
            set("instantaneous", true.into());
        }
        if let Some(drift) = self.drift {
            set("drift", word(&drift).into());
        }
        if let Some(innovations) = self.innovations {
            set("innovations", word(&innovations).into());
        }
        if let Some(density) = self.density {
            set("density", word(&density).into());
        }
        values
    }
}

/// The word a value is typed as, which is also its word in files.
fn word(value: &impl ValueEnum) -> String {
    let possible = value.to_possible_value().expect("no value is skipped");
    possible.get_name().to_owned()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelectArg {
    Auto,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriftArg {
    Linear,
    Neural,
    LinearAndNeural,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InnovationsArg {
    Gaussian,
    Laplace,
    Mixture,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DensityArg {
    PerSource,
    PerTarget,
    Common,
}

fn preset(name: &str) -> Result<String, String> {
    if name != BRIDGE && name.parse::<Preset>().is_err() {
        let known = Preset::ALL.map(|preset| format!("`{}`", preset.name()));
        return Err(format!("expected `{BRIDGE}`, {}", known.join(", ")));
    }
    Ok(name.to_owned())
}
