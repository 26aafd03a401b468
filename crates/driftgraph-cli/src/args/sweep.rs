//! What the user typed after `sweep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use driftgraph_sweep::Slice;

use super::{duration, threads};

/// Make many fits on any number of processes and machines: data sets, methods, settings, seeds, bootstrap samples
///
/// A plan becomes a folder of shards, each a function of data, settings, seed and version. Any number of workers that see
/// the folder make them; none waits for another, and the work of one that died is done by others. The merged result is
/// the same, byte for byte, whoever made it.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  driftgraph sweep plan plan.toml --out sweep
  driftgraph sweep run sweep
  driftgraph sweep status sweep
  driftgraph sweep merge sweep --out merged")]
pub(crate) struct SweepArgs {
    #[command(subcommand)]
    pub(crate) command: SweepCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SweepCommand {
    Plan(SweepPlanArgs),
    Status(SweepStatusArgs),
    Run(SweepRunArgs),
    Merge(SweepMergeArgs),
    Slurm(SweepSlurmArgs),
}

/// Turn a plan into a folder of shards; planned again, what is done and still asked for stays
///
/// A plan is a TOML file:
///
///   data = ["a.csv"]                  # tables, relative to the plan
///   methods = ["ridge", "bridge"]     # methods or presets
///   seeds = [0, 1]                    # default: [0]
///   bootstrap = 20                    # samples of the data per seed; default: the data as they are
///
///   [bridge]                          # settings of a method, as in a settings file;
///   select = "none"                   # [[bridge]] several times: each of them
///
///   [read]                            # how all tables are read, as in `check --help`
///   time = "hours"
#[expect(clippy::doc_link_with_quotes, reason = "the plan is TOML")]
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Example:
  driftgraph sweep plan plan.toml --out sweep"
)]
pub(crate) struct SweepPlanArgs {
    /// The plan
    #[arg(value_name = "PLAN.toml")]
    pub(crate) plan: PathBuf,
    /// Folder of the sweep, where every worker sees it
    #[arg(long, value_name = "SWEEP")]
    pub(crate) out: PathBuf,
}

/// Say how far a sweep is, from its folder alone
///
/// Exits with 0 if it is complete, and with 1 if not.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  driftgraph sweep status sweep")]
pub(crate) struct SweepStatusArgs {
    /// Folder of the sweep
    #[arg(value_name = "SWEEP")]
    pub(crate) sweep: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Work on a sweep: claim shards and make them, until nothing is left to do
///
/// Start it as often and on as many machines as you like. A shard that another worker is making is left to it, unless that
/// worker has shown no sign of life for --expire. Ctrl-C ends it in order; what was made stays.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph sweep run sweep
  driftgraph sweep run sweep --shard 3/20 --threads 4")]
pub(crate) struct SweepRunArgs {
    /// Folder of the sweep
    #[arg(value_name = "SWEEP")]
    pub(crate) sweep: PathBuf,
    /// Only one of N equal parts of the shards
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<Slice>,
    /// Shards at a time, each on one thread [default: all cores]
    #[arg(long, value_name = "T", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// Time without a sign of life after which another worker is taken for dead, e.g. 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) expire: Duration,
}

/// Average the shards of a sweep: graphs, tables and one report
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  driftgraph sweep merge sweep --out merged")]
pub(crate) struct SweepMergeArgs {
    /// Folder of the sweep
    #[arg(value_name = "SWEEP")]
    pub(crate) sweep: PathBuf,
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Merge what there is, even if shards are missing
    #[arg(long)]
    pub(crate) partial: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a job array for Slurm, in which each task has half an hour of work or more
///
/// How long a shard takes is known from those that were made; make at least one of each method first. Give the script to
/// `sbatch`, as often as you like: what is done is read from the folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  driftgraph sweep slurm sweep --hours 4 --account lab > sweep.sh")]
pub(crate) struct SweepSlurmArgs {
    /// Folder of the sweep
    #[arg(value_name = "SWEEP")]
    pub(crate) sweep: PathBuf,
    /// Time limit of a task
    #[arg(long, value_name = "H", value_parser = hours)]
    pub(crate) hours: f64,
    /// Account that is charged
    #[arg(long, value_name = "NAME", value_parser = word)]
    pub(crate) account: Option<String>,
    /// Partition to run in
    #[arg(long, value_name = "NAME", value_parser = word)]
    pub(crate) partition: Option<String>,
    /// Threads of a task, each with a shard of its own
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = threads)]
    pub(crate) threads: usize,
    /// Seconds of a shard on one thread [default: the mean of those made so far]
    #[arg(long, value_name = "S", value_parser = positive)]
    pub(crate) shard_seconds: Option<f64>,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && f64::is_finite(number) => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}

fn hours(text: &str) -> Result<f64, String> {
    const MOST: f64 = 10_000.0;
    positive(text).and_then(|hours| {
        if hours <= MOST { Ok(hours) } else { Err(format!("expected at most {MOST} hours")) }
    })
}

/// A name in a script: nothing that a shell or Slurm would take apart.
fn word(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.,@".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    Err("expected letters, digits and -_.,@".to_owned())
}
