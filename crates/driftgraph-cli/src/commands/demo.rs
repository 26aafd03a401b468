//! `demo`: the whole way from data to scored edges, on a system whose true graph is known.

use std::process::ExitCode;

use driftgraph_baselines::Baseline;
use driftgraph_core::fitted::score::{MetricOptions, SelfEdges, graph_metrics};
use driftgraph_data::edges::write_scores;
use driftgraph_data::summary::Summary;
use driftgraph_data::{ReadOptions, load};
use driftgraph_systems::{Recipe, generate, registry};
use serde_json::json;

use crate::args::DemoArgs;
use crate::commands::{check, generate as generate_command, table};
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

    let path = folder.join("data.csv");
    let loaded = load(std::slice::from_ref(&path), &ReadOptions::default())?;
    printer::data(&check::describe(&Summary::new(&loaded)))?;

    let mut results = table(&["method", "AUROC", "AUPRC", "without self edges: AUROC", "AUPRC"]);
    for baseline in Baseline::ALL {
        let scores = baseline.run(&loaded.data)?;
        let file = folder.join(format!("{baseline}.csv"));
        write_file(&file, |out| write_scores(out, loaded.data.variables(), "score", &scores))?;
        let metrics = |self_edges| {
            // Baselines rank edges; none of their scores is a probability.
            let options = MetricOptions { ranking_only: true, ..MetricOptions::new(self_edges) };
            graph_metrics(&scores, &generated.truth, options)
        };
        let (kept, dropped) = (metrics(SelfEdges::Kept)?, metrics(SelfEdges::Dropped)?);
        let cells = [kept.auroc, kept.auprc, dropped.auroc, dropped.auprc].map(short_or_dash);
        results.add_row(std::iter::once(baseline.to_string()).chain(cells));
    }
    printer::data(&format!(
        "How well simple methods find the {} true edges (1 is perfect, 0.5 AUROC is a coin):\n{}",
        generated.truth.n_edges(),
        results.trim_fmt()
    ))?;
    printer::note(&format!("data, truth and scored edges are in `{}`", folder.display()));
    Ok(ExitCode::SUCCESS)
}
