//! What the user typed to ask a fitted model, word for word, with the help text.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use driftgraph_core::process::solver::Scheme;
use driftgraph_data::formats::written_endings;
use driftgraph_data::graph_formats::GraphFormat;

use crate::args::scheme;
use crate::endings;

/// The run that is asked.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Run folder that `fit` wrote
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// The data of the fit, where they were moved since
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Vec<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "T", value_parser = crate::args::threads)]
    pub(crate) threads: Option<usize>,
}

/// Where answers go.
#[derive(Debug, Args)]
pub(crate) struct OutArgs {
    #[arg(long, value_name = "FILE", value_parser = endings::table_file(), help = format!("File for the whole answer ({})", endings::told(&written_endings())))]
    pub(crate) out: Option<PathBuf>,
    /// File for a picture (.svg)
    #[arg(long, value_name = "FILE", value_parser = endings::picture_file())]
    pub(crate) svg: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// How paths are simulated.
#[derive(Debug, Args)]
#[command(next_help_heading = "Simulation")]
pub(crate) struct PathArgs {
    /// Number of paths
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) paths: usize,
    /// All paths under the edges of at least this probability [default: a sampled graph per path]
    #[arg(long, value_name = "P")]
    pub(crate) threshold: Option<f64>,
    /// Longest solver step [default: that of the fit]
    #[arg(long, value_name = "DT")]
    pub(crate) step_size: Option<String>,
    /// euler-maruyama or milstein
    #[arg(long, default_value = "euler-maruyama", value_parser = scheme)]
    pub(crate) scheme: Scheme,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// What an input does, such as 'light = 1 @ 0..12'; may be repeated [default: as in the data, then held at the last
    /// value; this is told]
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) input: Vec<String>,
    /// Table of what inputs do: a time, and a column for each; every value stays until the next row
    #[arg(long, value_name = "FILE")]
    pub(crate) input_file: Option<PathBuf>,
}

/// Where and how long paths run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Times and start")]
pub(crate) struct SpanArgs {
    /// learned (the initial law), series:NAME or series:NAME@TIME (its hidden state), or 'x=1,y=2'
    #[arg(long, value_name = "START", default_value = "learned", value_parser = start)]
    pub(crate) start: StartArg,
    /// First time, a date if the data have dates [default: that of the data, or of the series that paths start in]
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub(crate) from: Option<String>,
    /// How long, such as 90d or 2y if the data have dates [default: as long as a usual series of the fit]
    #[arg(long, value_name = "DURATION")]
    pub(crate) horizon: Option<String>,
    /// Time between two states that are kept, such as 1w [default: a hundredth of the horizon]
    #[arg(long, value_name = "DT")]
    pub(crate) every: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StartArg {
    Learned,
    Series(String, Option<String>),
    Values(Vec<(String, f64)>),
}

fn start(text: &str) -> Result<StartArg, String> {
    if text == "learned" {
        return Ok(StartArg::Learned);
    }
    if let Some(series) = text.strip_prefix("series:") {
        return Ok(match series.rsplit_once('@') {
            Some((name, time)) => StartArg::Series(name.to_owned(), Some(time.trim().to_owned())),
            None => StartArg::Series(series.to_owned(), None),
        });
    }
    let value = |part: &str| {
        let expected = "expected `learned`, `series:NAME` or values as `x=1,y=2`";
        let (name, value) = part.split_once('=').ok_or(expected)?;
        let value: f64 =
            value.trim().parse().map_err(|_| format!("`{}` is not a number", value.trim()))?;
        Ok::<_, String>((name.trim().to_owned(), value))
    };
    text.split(',').map(value).collect::<Result<_, _>>().map(StartArg::Values)
}

/// Show the learned edges: how sure, which sign, how strong; and the feedback loops among them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph graph run --threshold 0.8
  driftgraph graph run --fdr 0.1
  driftgraph graph run --top 30 --format graphml --out graph.graphml --svg graph.svg
  driftgraph graph run --format matrix --threshold 0 > probabilities.csv")]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Edges of at least this probability [default: 0.5, unless --top or --fdr is given]
    ///
    /// A method that tests shows the links that pass instead, one that only ranks as many edges as there are variables.
    #[arg(long, value_name = "P", conflicts_with = "top")]
    pub(crate) threshold: Option<f64>,
    /// As many edges as there can be with less than this share of them expected to be false
    ///
    /// Links without a direction count once; edges of variables on themselves do not count.
    #[arg(long, value_name = "Q", conflicts_with_all = ["top", "threshold"])]
    pub(crate) fdr: Option<f64>,
    /// So many of the most probable edges
    #[arg(long, value_name = "K")]
    pub(crate) top: Option<usize>,
    /// Write the edges in a format of other programs [default: by the name of --out, else a table]
    #[arg(long, value_enum, value_name = "F")]
    pub(crate) format: Option<FormatArg>,
    /// File for the edges [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// File for a picture (.svg)
    #[arg(long, value_name = "FILE", value_parser = endings::picture_file())]
    pub(crate) svg: Option<PathBuf>,
    /// Print one JSON object with edges and feedback loops
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the equations behind the edges instead, with the probability of each term
    #[arg(long, conflicts_with_all = ["threshold", "top", "format", "out", "svg"])]
    pub(crate) equations: bool,
    /// Print equations as formulas of LaTeX
    #[arg(long, requires = "equations", conflicts_with = "json")]
    pub(crate) latex: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// One row per edge, most probable first
    Csv,
    /// Square matrix of probabilities; rows are sources
    Matrix,
    /// Graphviz
    Dot,
    /// GraphML: yEd, igraph, networkx
    Graphml,
    /// GEXF: Gephi
    Gexf,
    /// Cytoscape and Cytoscape.js
    Cytoscape,
    /// The style in which Cytoscape shows such a graph, for File > Import > Styles from File
    CytoscapeStyle,
    /// Node-link JSON: networkx and D3
    Json,
}

impl From<FormatArg> for GraphFormat {
    fn from(arg: FormatArg) -> Self {
        match arg {
            FormatArg::Csv => Self::Csv,
            FormatArg::Matrix => Self::Matrix,
            FormatArg::Dot => Self::Dot,
            FormatArg::Graphml => Self::GraphMl,
            FormatArg::Gexf => Self::Gexf,
            FormatArg::Cytoscape => Self::Cytoscape,
            FormatArg::CytoscapeStyle => Self::CytoscapeStyle,
            FormatArg::Json => Self::Json,
        }
    }
}

/// Draw new paths from the learned process
///
/// The file of --out has the columns of a data table (series, time, one per variable), so that
/// `check` and `fit` read it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph simulate run --paths 200 --out paths.csv --svg paths.svg
  driftgraph simulate run --paths 5000 --start series:patient-1 --horizon 20 --threshold 0.5
  driftgraph simulate run --paths 100 --start 'glucose=5,insulin=12' --out paths.parquet")]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) span: SpanArgs,
    #[command(flatten)]
    pub(crate) paths: PathArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

/// Forecast every series of the fit, or measure how well that works
///
/// Bands are those of future measurements: hidden state and measurement noise. --holdout fits the
/// beginning of every series again, with the settings of the run, and forecasts the rest.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph forecast run --horizon 10 --out forecast.csv --svg forecast.svg
  driftgraph forecast run --holdout 20%")]
pub(crate) struct ForecastArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// How far after the end of each series, such as 90d if the data have dates [default: a fifth of a usual series]
    #[arg(long, value_name = "DURATION", conflicts_with = "times")]
    pub(crate) horizon: Option<String>,
    /// Time between two forecasts, such as 1w [default: a twentieth of the horizon]
    #[arg(long, value_name = "DT", conflicts_with = "times")]
    pub(crate) every: Option<String>,
    /// Times (or dates) to forecast, separated by commas, as far as they lie after the end of a series
    #[arg(long, value_name = "T1,T2,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub(crate) times: Vec<String>,
    /// Hold out the last rows of every series, e.g. 20%, and compare forecasts with them
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with_all = ["times", "horizon"])]
    pub(crate) holdout: Option<f64>,
    #[command(flatten)]
    pub(crate) paths: PathArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

/// Fill in hidden states: missing cells and times between rows, or measure how well that works
///
/// Without --times, the missing cells of the data (all cells with --all). --holdout-cells hides
/// some observed cells, fits the rest again with the settings of the run, and imputes them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph impute run --out imputed.csv --svg imputed.svg
  driftgraph impute run --times 0.5,1.5,2.5 --out between.csv
  driftgraph impute run --holdout-cells 10%")]
pub(crate) struct ImputeArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Times (or dates) to impute, separated by commas, as far as they lie inside a series
    #[arg(long, value_name = "T1,T2,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub(crate) times: Vec<String>,
    /// Cells that were observed too
    #[arg(long)]
    pub(crate) all: bool,
    /// Hide a share of the observed cells, e.g. 10%, and compare imputed values with them
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "times")]
    pub(crate) holdout_cells: Option<f64>,
    /// Sampled paths per series, where the posterior is simulated
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) samples: usize,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

/// Ask what happens under interventions, against the same paths left alone
///
/// State, in order, after every step:
///   x2 = 0.5                        hold at a value
///   x3 = 2*x1 + sin(t)              hold at a function of others and of time t
///   clip(x1; 0, 3)                  keep between bounds
///   project sphere(x1, x2; 1)       also sphere(x1, x2; radius; centre), plane(x1, x2; normal; level)
///                                   and box(x1, x2; low, high; low, high)
/// Dynamics, in the variable's unit per time (drift) or per square root of time (diffusion):
///   drift(x4) += 0.3                also =, -= and *=
///   diffusion(x4) *= 0
/// Each may have a window: x2 = 0.5 @ 10..20, or @ 5.. or @ ..8, with dates if the data have dates:
/// x2 = 0.5 @ 2000-01-01..2002-01-01. Names with other characters than letters, digits, _ and . stand in
/// backquotes.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  driftgraph intervene run --do 'glucose = 4 @ 10..20' --out effect.csv --svg effect.svg
  driftgraph intervene run --do 'drift(insulin) += 0.3' --do 'clip(glucose; 3, 6)' --paths 5000"
)]
pub(crate) struct InterveneArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// An intervention; may be repeated
    #[arg(long = "do", value_name = "EXPRESSION", required = true)]
    pub(crate) changes: Vec<String>,
    #[command(flatten)]
    pub(crate) span: SpanArgs,
    #[command(flatten)]
    pub(crate) paths: PathArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

/// Write one HTML file that shows a run: graph, matrix, fit, futures, training
///
/// The file needs no network, works on paper and on a phone, and can be sent to anybody. `fit` writes
/// it as report.html into the run folder; this command writes it again, with what is asked for here.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  driftgraph report run
  driftgraph report run --truth known-edges.csv --do 'glucose = 4 @ 10..20' --out report.html")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// File to write [default: report.html in the run folder]
    #[arg(long, value_name = "FILE", value_parser = endings::page_file())]
    pub(crate) out: Option<PathBuf>,
    /// True edges to compare with [default: those the fit was given, if any]
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    /// An intervention to show, as in `intervene`; may be repeated
    #[arg(long = "do", value_name = "EXPRESSION")]
    pub(crate) changes: Vec<String>,
    /// Print what the report shows as one JSON object, instead of writing it
    #[arg(long)]
    pub(crate) json: bool,
}

/// `20%` or `0.2`.
fn share(text: &str) -> Result<f64, String> {
    let (digits, unit) = match text.trim().strip_suffix('%') {
        Some(digits) => (digits, 0.01),
        None => (text.trim(), 1.0),
    };
    let number: f64 = digits.trim().parse().map_err(|_| format!("`{text}` is not a share"))?;
    let share = number * unit;
    if share > 0.0 && share < 1.0 {
        return Ok(share);
    }
    Err(format!("expected more than 0% and less than 100%, found `{text}`"))
}
