//! `baseline`: edges scored by a simple method, without a run folder.

use std::process::ExitCode;

use driftgraph_core::EdgeScores;
use driftgraph_core::train::progress::Silent;
use driftgraph_data::edges::write_scores;
use driftgraph_methods::{FitPlan, edge_scores};
use driftgraph_text::count;
use serde_json::json;

use crate::args::BaselineArgs;
use crate::commands::load_data;
use crate::output::write_file;
use crate::printer;

pub(crate) fn run(args: &BaselineArgs) -> anyhow::Result<ExitCode> {
    let data = load_data(&args.data)?.data;
    let learned = FitPlan::named(&args.method)?.learn(&data, &Silent)?;
    let variables = data.variables();
    let scores = edge_scores(&learned.edges, variables.len())?;
    if let Some(path) = &args.out {
        write_file(path, |out| write_scores(out, variables, "score", &scores))?;
        let n_edges = count(scores.matrix().len(), "scored edge", "scored edges");
        printer::note(&format!("wrote {n_edges} to `{}`", path.display()));
    }
    if args.json {
        let edges = edges_json(variables, &scores);
        let object = json!({"method": args.method, "variables": variables, "edges": edges});
        printer::data(&serde_json::to_string_pretty(&object)?)?;
    } else if args.out.is_none() {
        let mut text = Vec::new();
        write_scores(&mut text, variables, "score", &scores)?;
        printer::data(&String::from_utf8(text)?)?;
    }
    for remark in &learned.remarks {
        printer::note(remark);
    }
    Ok(ExitCode::SUCCESS)
}

fn edges_json(variables: &[String], scores: &EdgeScores) -> Vec<serde_json::Value> {
    let edge = |(source, target, score): (usize, usize, f64)| json!({"source": variables[source], "target": variables[target], "score": score});
    scores.ranked().into_iter().map(edge).collect()
}
