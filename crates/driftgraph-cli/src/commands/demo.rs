//! `demo`: the whole way from data to a scored graph, on systems whose true graph is known.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use driftgraph_core::fitted::score::{MetricOptions, SelfEdges, graph_metrics};
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{EdgeScores, SignatureGraph};
use driftgraph_data::edges::{read_edges, write_scores};
use driftgraph_data::run_folder::Run;
use driftgraph_data::summary::Summary;
use driftgraph_data::{ReadOptions, load};
use driftgraph_methods::{FitPlan, directed_probabilities, edge_scores};
use driftgraph_systems::{Recipe, generate, registry};
use driftgraph_text::count;
use serde_json::json;

use crate::args::{Cli, Command, DemoArgs};
use crate::commands::{check, fit, generate as generate_command, table};
use crate::output::{short_or_dash, write_file};
use crate::printer;

/// Series of the network: enough for most of its edges to be sure.
const N_SERIES: usize = 20;
/// Probability from which on an edge counts as sure.
const SURE: f64 = 0.9;

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    generate_command::refuse_foreign_data(&args.out, false)?;
    gene_network(args)?;
    coarse_samples(args)?;
    printer::note(&format!("everything is in `{}`", args.out.display()));
    Ok(ExitCode::SUCCESS)
}

/// A case that data can decide.
fn gene_network(args: &DemoArgs) -> anyhow::Result<()> {
    let system = registry::build("gene-network", &[], args.seed)?;
    let usual = Recipe::usual(system.as_ref(), args.seed);
    let recipe = Recipe { n_series: N_SERIES, ..usual };
    let n_points = recipe.n_points;
    printer::note(&format!(
        "simulating a network of 10 genes: {N_SERIES} series of {n_points} times"
    ));
    let generated = generate(system.as_ref(), &recipe)?;
    let folder = &args.out;
    let description = json!({"driftgraph": env!("CARGO_PKG_VERSION"), "system": "gene-network",
        "series": N_SERIES, "seed": args.seed});
    generate_command::write_folder(folder, &generated, &description)?;

    let data = folder.join("data.csv");
    let loaded = load(std::slice::from_ref(&data), &ReadOptions::default())?;
    printer::data(&check::describe(&Summary::new(&loaded)))?;

    let run_folder = folder.join("run");
    fit_as_a_user_would(args, folder, &[])?;
    let variables = loaded.data.variables();
    let learned = read_edges(&run_folder.join("edges.csv"), None)?.ranking(variables)?;

    let mut methods = vec![("driftgraph".to_owned(), learned)];
    for simple in ["partial-correlation", "ridge", "var"] {
        let learned = FitPlan::named(simple)?.learn(&loaded.data, &Silent)?;
        let scores = edge_scores(&learned.edges, variables.len())?;
        let file = folder.join(format!("{simple}.csv"));
        write_file(&file, |out| write_scores(out, variables, "score", &scores))?;
        methods.push((simple.to_owned(), scores));
    }
    printer::data(&comparison(&methods, &generated.truth)?)?;
    printer::data(&what_was_found(&run_folder, &generated.truth)?)?;
    Ok(())
}

/// A case that nobody can decide: most of what happens is over between two rows.
fn coarse_samples(args: &DemoArgs) -> anyhow::Result<()> {
    printer::note(
        "\nAnd where samples are too coarse: yeast glycolysis, 7 metabolites that turn over many times between two rows\n\
         (fitted with the linear process alone, `--preset bridge-linear`, which takes seconds)",
    );
    let folder = args.out.join("coarse");
    let system = registry::build("glycolysis", &[], args.seed)?;
    let recipe = Recipe::paper("glycolysis", 0.0, args.seed)?;
    let generated = generate(system.as_ref(), &recipe)?;
    let description = json!({"driftgraph": env!("CARGO_PKG_VERSION"), "system": "glycolysis",
        "recipe": "paper", "seed": args.seed});
    generate_command::write_folder(&folder, &generated, &description)?;
    fit_as_a_user_would(args, &folder, &["--preset", "bridge-linear"])?;
    printer::data(&what_was_found(&folder.join("run"), &generated.truth)?)?;
    Ok(())
}

/// How many edges the fit is sure of, and how many of these are true.
fn what_was_found(run: &Path, truth: &SignatureGraph) -> anyhow::Result<String> {
    let run = Run::load(run)?;
    let probabilities = directed_probabilities(&run.edges(), truth.n_variables())?;
    let probabilities = probabilities.context("a fit of the demo has probabilities")?;
    let (mut n_sure, mut n_right) = (0, 0);
    for (source, target, probability) in probabilities.ranked() {
        if probability > SURE {
            n_sure += 1;
            n_right += usize::from(truth.has_edge(source, target));
        }
    }
    let sure = count(n_sure, "influence", "influences");
    let n_true = truth.n_edges();
    Ok(format!(
        "\ndriftgraph is sure (above {SURE}) of {sure}, of which {n_right} are true; the truth has {n_true}."
    ))
}

/// Runs `fit` as anybody would; the truth is only drawn and logged beside the result.
fn fit_as_a_user_would(args: &DemoArgs, folder: &Path, options: &[&str]) -> anyhow::Result<()> {
    let path = |name: &str| folder.join(name).into_os_string();
    let mut line: Vec<OsString> = vec!["driftgraph".into(), "fit".into(), path("data.csv")];
    line.extend(["--truth".into(), path("truth.csv"), "--out".into(), path("run")]);
    line.push("--force".into());
    line.extend(options.iter().map(OsString::from));
    line.extend(["--seed".into(), args.seed.to_string().into()]);
    if let Some(steps) = args.steps {
        line.extend(["--steps".into(), steps.to_string().into()]);
    }
    let words: Vec<String> = line.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    printer::note(&format!("\n$ {}", words.join(" ")));
    match Cli::try_parse_from(&line)?.command {
        Command::Fit(args) => fit::run(&args).map(|_| ()),
        _ => unreachable!("the line above names the command `fit`"),
    }
}

fn comparison(methods: &[(String, EdgeScores)], truth: &SignatureGraph) -> anyhow::Result<String> {
    let mut rows = table(&["method", "AUROC", "AUPRC", "without self edges: AUROC", "AUPRC"]);
    for (name, scores) in methods {
        let metrics = |self_edges| {
            // What is compared here is how edges are ranked.
            let options = MetricOptions { ranking_only: true, ..MetricOptions::new(self_edges) };
            graph_metrics(scores, truth, options)
        };
        let (kept, dropped) = (metrics(SelfEdges::Kept)?, metrics(SelfEdges::Dropped)?);
        let cells = [kept.auroc, kept.auprc, dropped.auroc, dropped.auprc].map(short_or_dash);
        rows.add_row(std::iter::once(name.clone()).chain(cells));
    }
    Ok(format!(
        "\nHow well the {} true edges were found (1 is perfect, an AUROC of 0.5 is a coin):\n{}",
        truth.n_edges(),
        rows.trim_fmt()
    ))
}
