//! What the user typed, word for word, with the help text.

mod contrast;
mod experiment;
mod fit;
mod sweep;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use driftgraph_core::InputHold;
use driftgraph_core::fitted::score::SelfEdges;
use driftgraph_core::process::solver::Scheme;
use driftgraph_data::edges::Orientation;
use driftgraph_data::formats::readable;
use driftgraph_data::{DateOrder, DecimalMark, Duplicates, Encoding, ReadOptions};
use driftgraph_methods::METHODS;

pub(crate) use self::contrast::ContrastArgs;
pub(crate) use self::experiment::{ExperimentArgs, ExperimentName};
pub(crate) use self::fit::FitArgs;
pub(crate) use self::sweep::{
    SweepArgs, SweepCommand, SweepMergeArgs, SweepPlanArgs, SweepRunArgs, SweepSlurmArgs,
    SweepStatusArgs,
};
use crate::model_args::{
    ForecastArgs, GraphArgs, ImputeArgs, InterveneArgs, ReportArgs, SimulateArgs,
};

/// Who drives whom? Learns directed graphs, cycles included, from tables of measurements over time
#[derive(Debug, Parser)]
#[command(
    name = "driftgraph",
    version = env!("DRIFTGRAPH_VERSION"),
    max_term_width = 100,
    after_help = "\
Start with:
  driftgraph demo
  driftgraph check measurements.csv"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(DemoArgs),
    Check(CheckArgs),
    Fit(Box<FitArgs>),
    Graph(GraphArgs),
    Contrast(ContrastArgs),
    Simulate(SimulateArgs),
    Forecast(ForecastArgs),
    Impute(ImputeArgs),
    Intervene(InterveneArgs),
    Report(ReportArgs),
    Serve(ServeArgs),
    Score(ScoreArgs),
    Generate(GenerateArgs),
    Example(ExampleArgs),
    Baseline(BaselineArgs),
    Methods(MethodsArgs),
    Compare(CompareArgs),
    Sweep(SweepArgs),
    Experiment(ExperimentArgs),
}

/// Show what the tool does: a network of genes, whose true graph is known, and a case where samples are too coarse
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  driftgraph demo")]
pub(crate) struct DemoArgs {
    /// Folder to write the data, the truth and the scored edges to
    #[arg(long, value_name = "DIR", default_value = "driftgraph-demo")]
    pub(crate) out: PathBuf,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Most training steps of each fit [default: until converged]
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<u64>,
}

/// Use everything in the browser: load a table, watch the fit, look at the result, try interventions
///
/// Listens on this computer alone and answers only requests with the random token in the address that
/// it prints. Ctrl-C ends it; a fit that was running goes on when it is started again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph serve
  driftgraph serve runs --port 8080 --no-open")]
pub(crate) struct ServeArgs {
    /// Folder of the runs; made where it is missing
    #[arg(value_name = "DIR", default_value = "driftgraph-runs")]
    pub(crate) folder: PathBuf,
    /// Port to listen on [default: a free one]
    #[arg(long, value_name = "P", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Print the address without opening a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Largest table that can be uploaded, in megabytes
    #[arg(long, value_name = "MB", default_value_t = 200)]
    pub(crate) max_upload: u64,
}

/// Say what was understood of a table, and every problem it has
///
/// Exits with 0 if the data can be used, with 1 if there is nothing to learn from, and with 2 if
/// they cannot be read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph check measurements.csv
  driftgraph check patients/ --time hours --ignore comment")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Compare scored edges with the true ones
///
/// Metrics that are undefined (an area under a curve without a true edge, a rate without a
/// prediction) are shown as such, and are null in JSON. Scores that are not probabilities have no
/// natural threshold: without --threshold, the metrics that need one are undefined.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph score edges.csv --truth truth.csv
  driftgraph score matrix.csv --orientation source-rows --truth truth.csv --self-edges drop --json")]
pub(crate) struct ScoreArgs {
    /// Edge list (source,target,score or source,target,probability), square matrix, or run folder
    #[arg(value_name = "EDGES")]
    pub(crate) edges: PathBuf,
    /// True edges (cause,effect[,sign] or source,target), or a square matrix
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: PathBuf,
    /// Whether edges from a variable to itself count; the table shows both if not said
    #[arg(long, value_enum)]
    pub(crate) self_edges: Option<SelfEdgesArg>,
    /// Scores at or above it are predicted edges [default: 0.5 for probabilities, else none]
    #[arg(long)]
    pub(crate) threshold: Option<f64>,
    /// How many of the best edges count for the precision at k [default: number of true edges]
    #[arg(short, long)]
    pub(crate) k: Option<usize>,
    /// What the rows of a matrix are; no other file needs it
    #[arg(long, value_enum)]
    pub(crate) orientation: Option<OrientationArg>,
    /// Print one JSON object (self edges kept, unless said otherwise)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make data with a known graph
///
/// Writes DIR/data.csv, DIR/truth.csv and DIR/generated.json, which says how they were made.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph generate lorenz96 --series 10 --points 100 --drop 0.3 --seed 0 --out lorenz
  driftgraph generate gene-network --set variables=50 --noise 0.1 --out genes
  driftgraph generate glycolysis --recipe paper --out glycolysis
  driftgraph generate list")]
pub(crate) struct GenerateArgs {
    /// Name of the system, or `list` to see all with their parameters
    #[arg(value_name = "SYSTEM")]
    pub(crate) system: String,
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Number of series [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) series: Option<usize>,
    /// Number of times per series, before any are dropped [default: the system's usual number]
    #[arg(long, value_name = "N")]
    pub(crate) points: Option<usize>,
    /// First and last time [default: the system's usual ones]
    #[arg(long, value_name = "TIME", num_args = 2, value_names = ["FIRST", "LAST"], allow_negative_numbers = true)]
    pub(crate) span: Option<Vec<f64>>,
    /// Times of observation: equally spaced, or random and different for every series
    #[arg(long, value_enum, default_value_t)]
    pub(crate) sampling: SamplingArg,
    /// Probability with which observations are dropped
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    pub(crate) drop: f64,
    /// What is dropped at once: a time of all series (the paper's way), of one series, or a cell
    #[arg(long, value_enum, default_value_t)]
    pub(crate) drop_by: DropByArg,
    /// Deviation of measurement noise, as a share of each variable's own deviation
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) noise: f64,
    /// So many of the series are knock-outs, each with one variable at 0: the first variable in the first, and so on;
    /// interventions.csv says which
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) knockouts: usize,
    /// Scale every variable to mean 0 and deviation 1
    #[arg(long)]
    pub(crate) standardise: bool,
    /// Longest solver step [default: the system's usual one]
    #[arg(long, value_name = "DT")]
    pub(crate) step_size: Option<f64>,
    /// Solver
    #[arg(long, default_value = "euler-maruyama", value_parser = scheme)]
    pub(crate) scheme: Scheme,
    /// A parameter of the system, as NAME=VALUE; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) parameters: Vec<(String, f64)>,
    /// Follow a published recipe for everything not said otherwise (lorenz96 and glycolysis)
    #[arg(long, value_enum)]
    pub(crate) recipe: Option<RecipeArg>,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Replace data that were not made by this command
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write real measurements that come with the program, with what is known of their causes
///
/// Writes DIR/data.csv and DIR/truth.csv.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  driftgraph example hare-lynx --out hare-lynx
  driftgraph fit hare-lynx/data.csv --truth hare-lynx/truth.csv --out hare-lynx/run")]
pub(crate) struct ExampleArgs {
    /// The data set
    #[arg(value_name = "NAME", value_enum)]
    pub(crate) name: ExampleName,
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Replace other files of these names
    #[arg(long)]
    pub(crate) force: bool,
}

/// The built-in data sets.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ExampleName {
    /// Hares and lynx: 91 yearly counts of pelts, 1845 to 1935
    HareLynx,
}

/// Score edges by a simple method, for comparison
///
/// partial-correlation: absolute partial correlation of the levels, symmetric.
/// ridge: ridge regression of rates of change on levels.
/// var: first-order vector autoregression.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Example:
  driftgraph baseline ridge measurements.csv --out edges.csv"
)]
pub(crate) struct BaselineArgs {
    /// partial-correlation, ridge, var, or another that takes seconds: `driftgraph methods` lists them
    #[arg(value_name = "METHOD", value_parser = fast_method)]
    pub(crate) method: String,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// File for the edges, best first [default: standard output]
    #[arg(long, value_name = "EDGES.csv", value_parser = crate::endings::edges_file())]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the methods that can be learned with, or tell more of one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph methods
  driftgraph methods ridge")]
pub(crate) struct MethodsArgs {
    /// The method to tell more of
    #[arg(value_name = "NAME", value_parser = crate::settings::method_name)]
    pub(crate) name: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Compare several methods on the same data: what each finds, how far they agree, and on which edges
///
/// Every method writes a run folder of its own below --out. The command can be stopped and goes on where it was.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph compare measurements.csv --methods bridge,ridge,var --out compared
  driftgraph compare genes.csv --methods all-fast --truth truth.csv --out compared")]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Methods or presets, separated by commas; all-fast means all that take seconds, and bridge
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', default_value = "all-fast")]
    pub(crate) methods: Vec<String>,
    /// True edges; adds metrics and never influences a method
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Seed of all methods that have one
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Time after which a method ends with what it has, e.g. 90s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) time_budget: Option<Duration>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "T", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which files to read, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataArgs {
    #[arg(value_name = "DATA", required = true, help = format!("Tables ({}), or folders of tables", readable()))]
    pub(crate) files: Vec<PathBuf>,
    /// Column with the time [default: time, date, t, year, day, hours and the like, also with a unit, as in `time (h)`;
    /// else the first column, if it only grows]
    #[arg(long, value_name = "COLUMN", help_heading = "Reading the table")]
    pub(crate) time: Option<String>,
    /// Column with the series [default: series, trajectory, subject, patient, run or unit, also with _id; sample_id,
    /// cell_id, ticker, symbol, replicate or id]
    #[arg(long, value_name = "COLUMN", help_heading = "Reading the table")]
    pub(crate) series: Option<String>,
    /// Variables to keep, separated by commas [default: all other columns]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', help_heading = "Reading the table")]
    pub(crate) variables: Vec<String>,
    /// Columns to leave out, separated by commas
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', help_heading = "Reading the table")]
    pub(crate) ignore: Vec<String>,
    /// What to do with several rows of one series and time: error, mean, first or last
    #[arg(long, value_name = "HOW", default_value = "error", help_heading = "Reading the table")]
    pub(crate) duplicates: Duplicates,
    /// The table has variables in rows and times in its header
    #[arg(long, help_heading = "Reading the table")]
    pub(crate) transpose: bool,
    /// No column holds the time: rows are equally spaced
    #[arg(long, conflicts_with = "time", help_heading = "Reading the table")]
    pub(crate) even_steps: bool,
    /// Sheet of a spreadsheet [default: the first]
    #[arg(long, value_name = "NAME", help_heading = "Reading the table")]
    pub(crate) sheet: Option<String>,
    /// What comes first in dates such as 1/2/2020: day-first or month-first; none: 20200131 is a number [default: as the
    /// whole column says]
    #[arg(long, value_name = "ORDER", help_heading = "Reading the table")]
    pub(crate) date_order: Option<DateOrder>,
    /// What stands before decimals: point or comma [default: as the whole table says]
    #[arg(long, value_name = "MARK", help_heading = "Reading the table")]
    pub(crate) decimal: Option<DecimalMark>,
    /// Words or numbers that mean "not measured", beside empty cells, NA, NaN and null, separated by commas [default: the
    /// usual ones, such as - ? n.a. <LOD]
    #[arg(
        long,
        value_name = "A,B,...",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Reading the table"
    )]
    pub(crate) missing: Option<Vec<String>>,
    /// How letters are stored: utf-8, utf-16 or latin-1 [default: as the bytes say]
    #[arg(long, value_name = "NAME", help_heading = "Reading the table")]
    pub(crate) encoding: Option<Encoding>,
    /// Variables that were set from outside, separated by commas: they drive others and are driven by nothing
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', help_heading = "What was done")]
    pub(crate) inputs: Vec<String>,
    /// What inputs do between rows: previous (they keep their values) or linear
    #[arg(long, value_name = "HOW", default_value = "previous", value_parser = input_hold, help_heading = "What was done")]
    pub(crate) input_hold: InputHold,
    /// Table of what was done to other variables (series,variable,kind,value,from,to); kinds are knockout, hold,
    /// knockdown, overexpress and shift, and * stands for all series; or the word columns, if columns of the data called
    /// knockout:NAME, hold:NAME and so on say so
    #[arg(long, value_name = "FILE|columns", help_heading = "What was done")]
    pub(crate) interventions: Option<PathBuf>,
    /// Largest file to read, in bytes after decompression
    #[arg(long, value_name = "N", default_value_t = ReadOptions::default().max_bytes, help_heading = "Reading the table")]
    pub(crate) max_bytes: u64,
}

impl DataArgs {
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            time: self.time.clone(),
            series: self.series.clone(),
            variables: self.variables.clone(),
            ignore: self.ignore.clone(),
            duplicates: self.duplicates,
            max_bytes: self.max_bytes,
            transpose: self.transpose,
            even_steps: self.even_steps,
            sheet: self.sheet.clone(),
            date_order: self.date_order,
            decimal: self.decimal,
            missing: self.missing.clone(),
            encoding: self.encoding,
            inputs: self.inputs.clone(),
            input_hold: self.input_hold,
            words: None,
            interventions: self.interventions.clone(),
        }
    }
}

fn input_hold(text: &str) -> Result<InputHold, String> {
    match text {
        "previous" => Ok(InputHold::Previous),
        "linear" => Ok(InputHold::Linear),
        _ => Err("expected previous or linear".to_owned()),
    }
}

/// A number of threads; with many more than there are cores they only wait for each other.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    const MOST: usize = 256;
    match text.parse() {
        Ok(n @ 1..=MOST) => Ok(n),
        _ => Err(format!("expected a number from 1 to {MOST}")),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelfEdgesArg {
    Keep,
    Drop,
}

impl From<SelfEdgesArg> for SelfEdges {
    fn from(arg: SelfEdgesArg) -> Self {
        match arg {
            SelfEdgesArg::Keep => Self::Kept,
            SelfEdgesArg::Drop => Self::Dropped,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrientationArg {
    SourceRows,
    TargetRows,
}

impl From<OrientationArg> for Orientation {
    fn from(arg: OrientationArg) -> Self {
        match arg {
            OrientationArg::SourceRows => Self::SourceRows,
            OrientationArg::TargetRows => Self::TargetRows,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SamplingArg {
    #[default]
    Regular,
    Random,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DropByArg {
    #[default]
    Time,
    SeriesTime,
    Cell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecipeArg {
    Paper,
}

fn fast_method(name: &str) -> Result<String, String> {
    let fast = METHODS.iter().filter(|method| method.is_fast());
    crate::settings::one_of(name, fast.map(|method| method.name()))
}

pub(crate) fn scheme(name: &str) -> Result<Scheme, String> {
    name.parse().map_err(|error: driftgraph_core::CoreError| error.to_string())
}

fn parameter(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let value = value.trim().parse().map_err(|_| format!("`{}` is not a number", value.trim()))?;
    Ok((name.trim().to_owned(), value))
}

fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("unknown unit `{other}`, expected ms, s, m or h")),
    };
    let number: f64 = digits.parse().map_err(|_| format!("`{digits}` is not a number"))?;
    Duration::try_from_secs_f64(number * unit).map_err(|error| error.to_string())
}
