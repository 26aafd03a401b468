//! What can be asked of `experiment`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use driftgraph_methods::METHODS;
use driftgraph_systems::families::FAMILIES;

use super::duration;
use crate::commands::experiment::{ALL, ALL_FAST, SCOTCH_PAPER, SCOTCH_SCRIPTS, Size};

/// Make a table or figure of the paper: ours, the paper's and simple methods side by side
///
/// lorenz, glycolysis: simulated as in the paper, one data set per seed.
/// dream3, netsim: read from --data; the seed is that of the fit, and of the times dropped.
/// step-size: Ecoli1 of dream3 with solver steps as long as the gaps, and half as long.
/// bimodal: paths that part by chance, and what a mean path, the paper's and our fit make of them.
/// scaling: time and memory of a fit against the number of variables, series and times.
/// calibration: edge probabilities on simulated sparse linear systems, one per seed; with --families on
/// systems that break the model in ways that real data do.
/// gap: Lorenz and glycolysis at gaps from 0.05 to 1, regular, with 60 % of the rows dropped, and at
/// random times.
/// knockouts: networks of ten genes, ten series left alone against ten with a gene knocked out in each.
/// overview: the tables in DIR/lorenz, DIR/dream3 and so on as one table and one picture.
///
/// Writes DIR/table.md, DIR/table.csv and pictures (DIR/curves-METHOD.svg: metrics over training),
/// and for every cell (data, method, seed) a run folder DIR/cells/KEY, like those of fit; data that
/// were made are in DIR/data. Finished cells are not computed again, unless data, settings or version
/// have changed: after Ctrl-C the same command goes on where it stopped. True graphs only score
/// results; no method sees them, and what --oracle chooses by them is marked.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  driftgraph experiment lorenz --out results/lorenz
  driftgraph experiment netsim --data benchmarks --methods scotch-paper --budget 1h --out netsim
  driftgraph experiment glycolysis --quick --out try
  driftgraph experiment calibration --families all --out families
  driftgraph experiment gap --methods all-fast --out gap
  driftgraph experiment overview --out results"
)]
pub(crate) struct ExperimentArgs {
    /// Which table or figure
    #[arg(value_name = "NAME", value_enum)]
    pub(crate) name: ExperimentName,
    /// Folder with the benchmark data [default: the environment variable DRIFTGRAPH_DATA]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Number of seeds [default: 5; knockouts: 20; calibration: 200, with --families 10 for each; with --quick 2 and 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: Option<u64>,
    /// The first of them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) first_seed: u64,
    /// Families of systems for calibration, separated by commas, or all
    #[arg(long, value_name = "A,B,...", value_parser = family_names(), value_delimiter = ',')]
    pub(crate) families: Vec<String>,
    /// Methods, with the settings that the paper gives them on the data at hand, presets (see `driftgraph
    /// methods`), scotch-paper (SCOTCH as the paper says), scotch-scripts (as its published scripts run it,
    /// whose warm-up is one step), all-fast (bridge and what takes seconds) or all, separated by commas
    /// [default: bridge, partial-correlation, ridge, var; gap: score-matching and level-form besides;
    /// calibration, step-size and knockouts: bridge]
    #[arg(long, value_name = "A,B,...", value_parser = method_names(), value_delimiter = ',',
        hide_possible_values = true)]
    pub(crate) methods: Vec<String>,
    /// Only data of this name in the table, or whose names hold this text; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Vec<String>,
    /// Also say what the best candidate that bridge tried would have got, judged by the truth
    #[arg(long)]
    pub(crate) oracle: bool,
    /// Longest time of one cell of a method that trains (all but ours and the fast ones), e.g. 90s, 10m or
    /// 2h; the table says how far it came, and a longer one goes on from there
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10m")]
    pub(crate) budget: Duration,
    /// Steps (or epochs, where the table counts these) after which such a cell ends, too: what is cut so is the same on
    /// every machine [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) most_steps: Option<u64>,
    /// Small data and short training, to try the command: its figures mean nothing
    #[arg(long)]
    pub(crate) quick: bool,
    /// Cores to use; cells run one after the other [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Measures one size in this process; for the program's own use
    #[arg(long, value_name = "SIZE", hide = true)]
    pub(crate) one_size: Option<Size>,
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Print the table as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The tables that can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExperimentName {
    Lorenz,
    Glycolysis,
    Dream3,
    Netsim,
    StepSize,
    Bimodal,
    Scaling,
    Calibration,
    Gap,
    Knockouts,
    Overview,
}

impl ExperimentName {
    pub(crate) fn word(self) -> String {
        let value = self.to_possible_value().expect("no name is skipped");
        value.get_name().to_owned()
    }
}

/// Names of families, and the one that stands for all.
fn family_names() -> PossibleValuesParser {
    FAMILIES.iter().map(|family| family.name).chain([ALL]).collect::<Vec<_>>().into()
}

/// Names of methods and presets, and those that stand for several.
fn method_names() -> PossibleValuesParser {
    let methods = METHODS.iter().map(|method| method.name());
    let presets = METHODS.iter().flat_map(|method| method.presets()).map(|preset| preset.name);
    let mut names: Vec<&str> = Vec::new();
    for name in methods.chain(presets).chain([SCOTCH_PAPER, SCOTCH_SCRIPTS, ALL_FAST, ALL]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into()
}
