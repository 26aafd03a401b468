//! `demo`: the whole way from data to a scored graph, on a system whose true graph is known.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use driftgraph_core::fitted::score::{MetricOptions, SelfEdges, graph_metrics};
use driftgraph_core::train::progress::Silent;
use driftgraph_core::{EdgeScores, SignatureGraph};
use driftgraph_data::edges::{read_edges, write_scores};
use driftgraph_data::summary::Summary;
use driftgraph_data::{ReadOptions, load};
use driftgraph_methods::{FitPlan, edge_scores};
use driftgraph_systems::{Recipe, generate, registry};
use serde_json::json;

use crate::args::{Cli, Command, DemoArgs};
use crate::commands::{check, fit, generate as generate_command, table};
use crate::output::{short_or_dash, write_file};
use crate::printer;

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    let folder = &args.out;
    generate_command::refuse_foreign_data(folder, false)?;
    let system = registry::build("glycolysis", &[], args.seed)?;
    let recipe = Recipe::paper("glycolysis", 0.0, args.seed)?;
    printer::note("simulating yeast glycolysis: 7 metabolites, 10 series of 100 times");
    let generated = generate(system.as_ref(), &recipe)?;
    let description = json!({"driftgraph": env!("CARGO_PKG_VERSION"), "system": "glycolysis",
        "recipe": "paper", "seed": args.seed});
    generate_command::write_folder(folder, &generated, &description)?;

    let data = folder.join("data.csv");
    let loaded = load(std::slice::from_ref(&data), &ReadOptions::default())?;
    printer::data(&check::describe(&Summary::new(&loaded)))?;

    let run_folder = folder.join("run");
    fit_as_a_user_would(args, &run_folder)?;
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
    printer::note(&format!("everything is in `{}`", folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// Runs `fit` with nothing chosen by hand; the truth is only drawn and logged beside the result.
fn fit_as_a_user_would(args: &DemoArgs, out: &Path) -> anyhow::Result<()> {
    let path = |name: &str| args.out.join(name).into_os_string();
    let mut line: Vec<OsString> = vec!["driftgraph".into(), "fit".into(), path("data.csv")];
    line.extend([
        "--truth".into(),
        path("truth.csv"),
        "--out".into(),
        out.into(),
        "--force".into(),
    ]);
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
