//! Help: every command shows an example and its options.

use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn the_first_page_lists_every_command() {
    let help = Sandbox::new().stdout("--help");
    for command in [
        "demo",
        "check",
        "fit",
        "graph",
        "report",
        "serve",
        "score",
        "generate",
        "example",
        "baseline",
        "sweep",
        "experiment",
    ] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(command)), "{help}");
    }
    assert!(help.contains("Start with:\n  driftgraph demo"), "{help}");
}

#[test]
fn help_of_check() {
    assert_snapshot!(Sandbox::new().stdout("check --help"), @r#"
    Say what was understood of a table, and every problem it has

    Exits with 0 if the data can be used, with 1 if there is nothing to learn from, and with 2 if they
    cannot be read.

    Usage: driftgraph check [OPTIONS] <DATA>...

    Arguments:
      <DATA>...
              Tables (.csv, .tsv, .txt (also with .gz), .xlsx, .ods, .parquet, .npz), or folders of
              tables

    Options:
          --json
              Print one JSON object

      -h, --help
              Print help (see a summary with '-h')

    Reading the table:
          --time <COLUMN>
              Column with the time [default: time, date, t, year, day, hours and the like, also with a
              unit, as in `time (h)`; else the first column, if it only grows]

          --series <COLUMN>
              Column with the series [default: series, trajectory, subject, patient, run or unit, also
              with _id; sample_id, cell_id, ticker, symbol, replicate or id]

          --variables <A,B,...>
              Variables to keep, separated by commas [default: all other columns]

          --ignore <A,B,...>
              Columns to leave out, separated by commas

          --duplicates <HOW>
              What to do with several rows of one series and time: error, mean, first or last
              
              [default: error]

          --transpose
              The table has variables in rows and times in its header

          --even-steps
              No column holds the time: rows are equally spaced

          --sheet <NAME>
              Sheet of a spreadsheet [default: the first]

          --date-order <ORDER>
              What comes first in dates such as 1/2/2020: day-first or month-first; none: 20200131 is a
              number [default: as the whole column says]

          --decimal <MARK>
              What stands before decimals: point or comma [default: as the whole table says]

          --missing <A,B,...>
              Words or numbers that mean "not measured", beside empty cells, NA, NaN and null, separated
              by commas [default: the usual ones, such as - ? n.a. <LOD]

          --encoding <NAME>
              How letters are stored: utf-8, utf-16 or latin-1 [default: as the bytes say]

          --max-bytes <N>
              Largest file to read, in bytes after decompression
              
              [default: 4294967296]

    What was done:
          --inputs <A,B,...>
              Variables that were set from outside, separated by commas: they drive others and are
              driven by nothing

          --input-hold <HOW>
              What inputs do between rows: previous (they keep their values) or linear
              
              [default: previous]

          --interventions <FILE|columns>
              Table of what was done to other variables (series,variable,kind,value,from,to); kinds are
              knockout, hold, knockdown, overexpress and shift, and * stands for all series; or the word
              columns, if columns of the data called knockout:NAME, hold:NAME and so on say so

    Examples:
      driftgraph check measurements.csv
      driftgraph check patients/ --time hours --ignore comment
    "#);
}

#[test]
fn help_of_score() {
    assert_snapshot!(Sandbox::new().stdout("score --help"), @r"
    Compare scored edges with the true ones

    Metrics that are undefined (an area under a curve without a true edge, a rate without a prediction)
    are shown as such, and are null in JSON. Scores that are not probabilities have no natural
    threshold: without --threshold, the metrics that need one are undefined.

    Usage: driftgraph score [OPTIONS] --truth <FILE> <EDGES>

    Arguments:
      <EDGES>
              Edge list (source,target,score or source,target,probability), square matrix, or run folder

    Options:
          --truth <FILE>
              True edges (cause,effect[,sign] or source,target), or a square matrix

          --self-edges <SELF_EDGES>
              Whether edges from a variable to itself count; the table shows both if not said
              
              [possible values: keep, drop]

          --threshold <THRESHOLD>
              Scores at or above it are predicted edges [default: 0.5 for probabilities, else none]

      -k, --k <K>
              How many of the best edges count for the precision at k [default: number of true edges]

          --orientation <ORIENTATION>
              What the rows of a matrix are; no other file needs it
              
              [possible values: source-rows, target-rows]

          --json
              Print one JSON object (self edges kept, unless said otherwise)

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      driftgraph score edges.csv --truth truth.csv
      driftgraph score matrix.csv --orientation source-rows --truth truth.csv --self-edges drop --json
    ");
}

#[test]
fn help_of_generate() {
    assert_snapshot!(Sandbox::new().stdout("generate --help"), @r"
    Make data with a known graph

    Writes DIR/data.csv, DIR/truth.csv and DIR/generated.json, which says how they were made.

    Usage: driftgraph generate [OPTIONS] <SYSTEM>

    Arguments:
      <SYSTEM>
              Name of the system, or `list` to see all with their parameters

    Options:
          --out <DIR>
              Folder to write to

          --series <N>
              Number of series [default: 10]

          --points <N>
              Number of times per series, before any are dropped [default: the system's usual number]

          --span <FIRST> <LAST>
              First and last time [default: the system's usual ones]

          --sampling <SAMPLING>
              Times of observation: equally spaced, or random and different for every series
              
              [default: regular]
              [possible values: regular, random]

          --drop <P>
              Probability with which observations are dropped
              
              [default: 0]

          --drop-by <DROP_BY>
              What is dropped at once: a time of all series (the paper's way), of one series, or a cell
              
              [default: time]
              [possible values: time, series-time, cell]

          --noise <SHARE>
              Deviation of measurement noise, as a share of each variable's own deviation
              
              [default: 0]

          --knockouts <N>
              So many of the series are knock-outs, each with one variable at 0: the first variable in
              the first, and so on; interventions.csv says which
              
              [default: 0]

          --standardise
              Scale every variable to mean 0 and deviation 1

          --step-size <DT>
              Longest solver step [default: the system's usual one]

          --scheme <SCHEME>
              Solver
              
              [default: euler-maruyama]

          --set <NAME=VALUE>
              A parameter of the system, as NAME=VALUE; may be repeated

          --recipe <RECIPE>
              Follow a published recipe for everything not said otherwise (lorenz96 and glycolysis)
              
              [possible values: paper]

          --seed <SEED>
              Seed of everything random
              
              [default: 0]

          --force
              Replace data that were not made by this command

          --json
              Print one JSON object

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      driftgraph generate lorenz96 --series 10 --points 100 --drop 0.3 --seed 0 --out lorenz
      driftgraph generate gene-network --set variables=50 --noise 0.1 --out genes
      driftgraph generate glycolysis --recipe paper --out glycolysis
      driftgraph generate list
    ");
}

#[test]
fn help_of_baseline() {
    assert_snapshot!(Sandbox::new().stdout("baseline --help"), @r#"
    Score edges by a simple method, for comparison

    partial-correlation: absolute partial correlation of the levels, symmetric.
    ridge: ridge regression of rates of change on levels.
    var: first-order vector autoregression.

    Usage: driftgraph baseline [OPTIONS] <METHOD> <DATA>...

    Arguments:
      <METHOD>
              partial-correlation, ridge, var, or another that takes seconds: `driftgraph methods` lists
              them

      <DATA>...
              Tables (.csv, .tsv, .txt (also with .gz), .xlsx, .ods, .parquet, .npz), or folders of
              tables

    Options:
          --out <EDGES.csv>
              File for the edges, best first [default: standard output]

          --json
              Print one JSON object

      -h, --help
              Print help (see a summary with '-h')

    Reading the table:
          --time <COLUMN>
              Column with the time [default: time, date, t, year, day, hours and the like, also with a
              unit, as in `time (h)`; else the first column, if it only grows]

          --series <COLUMN>
              Column with the series [default: series, trajectory, subject, patient, run or unit, also
              with _id; sample_id, cell_id, ticker, symbol, replicate or id]

          --variables <A,B,...>
              Variables to keep, separated by commas [default: all other columns]

          --ignore <A,B,...>
              Columns to leave out, separated by commas

          --duplicates <HOW>
              What to do with several rows of one series and time: error, mean, first or last
              
              [default: error]

          --transpose
              The table has variables in rows and times in its header

          --even-steps
              No column holds the time: rows are equally spaced

          --sheet <NAME>
              Sheet of a spreadsheet [default: the first]

          --date-order <ORDER>
              What comes first in dates such as 1/2/2020: day-first or month-first; none: 20200131 is a
              number [default: as the whole column says]

          --decimal <MARK>
              What stands before decimals: point or comma [default: as the whole table says]

          --missing <A,B,...>
              Words or numbers that mean "not measured", beside empty cells, NA, NaN and null, separated
              by commas [default: the usual ones, such as - ? n.a. <LOD]

          --encoding <NAME>
              How letters are stored: utf-8, utf-16 or latin-1 [default: as the bytes say]

          --max-bytes <N>
              Largest file to read, in bytes after decompression
              
              [default: 4294967296]

    What was done:
          --inputs <A,B,...>
              Variables that were set from outside, separated by commas: they drive others and are
              driven by nothing

          --input-hold <HOW>
              What inputs do between rows: previous (they keep their values) or linear
              
              [default: previous]

          --interventions <FILE|columns>
              Table of what was done to other variables (series,variable,kind,value,from,to); kinds are
              knockout, hold, knockdown, overexpress and shift, and * stands for all series; or the word
              columns, if columns of the data called knockout:NAME, hold:NAME and so on say so

    Example:
      driftgraph baseline ridge measurements.csv --out edges.csv
    "#);
}

#[test]
fn help_of_demo() {
    assert_snapshot!(Sandbox::new().stdout("demo --help"), @r"
    Show what the tool does: a network of genes, whose true graph is known, and a case where samples are
    too coarse

    Usage: driftgraph demo [OPTIONS]

    Options:
          --out <DIR>    Folder to write the data, the truth and the scored edges to [default:
                         driftgraph-demo]
          --seed <SEED>  Seed of everything random [default: 1]
          --steps <N>    Most training steps of each fit [default: until converged]
      -h, --help         Print help

    Example:
      driftgraph demo
    ");
}

#[test]
fn help_of_experiment() {
    assert_snapshot!(Sandbox::new().stdout("experiment --help"), @r#"
    Make a table or figure of the paper: ours, the paper's and simple methods side by side

    lorenz, glycolysis: simulated as in the paper, one data set per seed.
    dream3, netsim: read from --data; the seed is that of the fit, and of the times dropped.
    step-size: Ecoli1 of dream3 with solver steps as long as the gaps, and half as long.
    bimodal: paths that part by chance, and what a mean path, the paper's and our fit make of them.
    scaling: time and memory of a fit against the number of variables, series and times.
    calibration: edge probabilities on simulated sparse linear systems, one per seed; with --families on
    systems that break the model in ways that real data do.
    gap: Lorenz and glycolysis at gaps from 0.05 to 1, regular, with 60 % of the rows dropped, and at
    random times.
    knockouts: networks of ten genes, ten series left alone against ten with a gene knocked out in each.
    overview: the tables in DIR/lorenz, DIR/dream3 and so on as one table and one picture.

    Writes DIR/table.md, DIR/table.csv and pictures (DIR/curves-METHOD.svg: metrics over training),
    and for every cell (data, method, seed) a run folder DIR/cells/KEY, like those of fit; data that
    were made are in DIR/data. Finished cells are not computed again, unless data, settings or version
    have changed: after Ctrl-C the same command goes on where it stopped. True graphs only score
    results; no method sees them, and what --oracle chooses by them is marked.

    Usage: driftgraph experiment [OPTIONS] --out <DIR> <NAME>

    Arguments:
      <NAME>
              Which table or figure
              
              [possible values: lorenz, glycolysis, dream3, netsim, step-size, bimodal, scaling,
              calibration, gap, knockouts, overview]

    Options:
          --data <DIR>
              Folder with the benchmark data [default: the environment variable DRIFTGRAPH_DATA]

          --seeds <N>
              Number of seeds [default: 5; knockouts: 20; calibration: 200, with --families 10 for each;
              with --quick 2 and 20]

          --first-seed <N>
              The first of them
              
              [default: 0]

          --families <A,B,...>
              Families of systems for calibration, separated by commas, or all
              
              [possible values: linear, measurement-noise, coarse-linear, hidden-driver, heavy-tails,
              season, hill, lorenz-fine, lorenz-coarse, glycolysis, kuramoto, lotka-volterra, delays,
              multiplicative-noise, threshold, fitzhugh-nagumo, all]

          --methods <A,B,...>
              Methods, with the settings that the paper gives them on the data at hand, presets (see
              `driftgraph methods`), scotch-paper (SCOTCH as the paper says), scotch-scripts (as its
              published scripts run it, whose warm-up is one step), all-fast (bridge and what takes
              seconds) or all, separated by commas [default: bridge, partial-correlation, ridge, var;
              gap: score-matching and level-form besides; calibration, step-size and knockouts: bridge]

          --only <TEXT>
              Only data of this name in the table, or whose names hold this text; may be repeated

          --oracle
              Also say what the best candidate that bridge tried would have got, judged by the truth

          --budget <TIME>
              Longest time of one cell of a method that trains (all but ours and the fast ones), e.g.
              90s, 10m or 2h; the table says how far it came, and a longer one goes on from there
              
              [default: 10m]

          --most-steps <N>
              Steps (or epochs, where the table counts these) after which such a cell ends, too: what is
              cut so is the same on every machine [default: no limit]

          --quick
              Small data and short training, to try the command: its figures mean nothing

          --jobs <N>
              Cores to use; cells run one after the other [default: all]

          --out <DIR>
              Folder to write to

          --json
              Print the table as one JSON object

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      driftgraph experiment lorenz --out results/lorenz
      driftgraph experiment netsim --data benchmarks --methods scotch-paper --budget 1h --out netsim
      driftgraph experiment glycolysis --quick --out try
      driftgraph experiment calibration --families all --out families
      driftgraph experiment gap --methods all-fast --out gap
      driftgraph experiment overview --out results
    "#);
}

#[test]
fn a_wrong_option_exits_with_2() {
    assert_snapshot!(Sandbox::new().run("check data.csv --tiem t"), @r"
    exit 2
    --- stderr
    error: unexpected argument '--tiem' found

      tip: a similar argument exists: '--time'

    Usage: driftgraph check --time <COLUMN> <DATA>...

    For more information, try '--help'.
    ");
}

#[test]
fn every_command_of_a_sweep_shows_an_example() {
    let sandbox = Sandbox::new();
    for command in ["", "plan", "run", "status", "merge", "slurm"] {
        let help = sandbox.stdout(&format!("sweep {command} --help"));
        let example = format!("driftgraph sweep {command}");
        assert!(help.contains("Example") && help.contains(example.trim_end()), "{help}");
    }
    let help = sandbox.stdout("sweep plan --help");
    for key in ["data = [", "methods = [", "seeds = [", "bootstrap = ", "[bridge]"] {
        assert!(help.contains(key), "{key}: {help}");
    }
}
