//! What can be asked of `contrast`.

use std::path::PathBuf;

use clap::Args;

/// Say which edges differ between two runs, with the probability that they do
///
/// The data of both are fitted together: an edge is absent in both, the same in both, or different, and what is the same is
/// learned from all data. So equal data differ in nothing, and a difference is not two thresholds.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph contrast control-run drug-run
  driftgraph contrast control-run drug-run --out difference --json

Writes a run folder like that of fit: differences.csv, differences.svg, regime_edges.csv, report.html.
Where both conditions are in one table, use fit --condition COLUMN.")]
pub(crate) struct ContrastArgs {
    /// Run folder of the first condition
    #[arg(value_name = "RUN_A")]
    pub(crate) first: PathBuf,
    /// Run folder of the second condition
    #[arg(value_name = "RUN_B")]
    pub(crate) second: PathBuf,
    /// Folder to write
    #[arg(long, value_name = "DIR", default_value = "contrast")]
    pub(crate) out: PathBuf,
    /// Replace a run that is in the folder already
    #[arg(long)]
    pub(crate) force: bool,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Threads [default: all cores]
    #[arg(long, value_name = "T", value_parser = super::threads)]
    pub(crate) threads: Option<usize>,
    /// Print the differences as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
