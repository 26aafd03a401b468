//! `contrast`: which edges differ between the data of two runs.

use std::process::ExitCode;

use anyhow::Context;
use driftgraph_data::regimes::RegimesRecord;
use driftgraph_run::{Contrast, ContrastJob, fit};
use serde_json::{Map, Value, json};

use crate::args::ContrastArgs;
use crate::commands::table;
use crate::output::short;
use crate::printer;
use crate::progress::{FitProgress, catch_interrupts};

/// Differences shown on the terminal.
const SHOWN: usize = 15;

pub(crate) fn run(args: &ContrastArgs) -> anyhow::Result<ExitCode> {
    let contrast = Contrast {
        runs: [args.first.clone(), args.second.clone()],
        names: None,
        folder: args.out.clone(),
        replace: args.force,
        settings: Map::from_iter([("seed".to_owned(), json!(args.seed))]),
    };
    let ContrastJob { job, notes } = contrast.job()?;
    for note in notes {
        printer::note(&format!("note: {note}"));
    }
    let threads = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0));
    let threads = threads.build().context("cannot start the threads")?;
    let progress = FitProgress::new();
    catch_interrupts("what was learned so far will be saved")?;
    let finished = threads.install(|| fit(&job, &progress));
    progress.finish();
    let finished = finished?;
    let record = finished.run.record.training.regimes.as_deref();
    let record = record.context("a fit of two conditions says what differs")?;
    if args.json {
        printer::data(&json_text(record, finished.run.variables())?)?;
    } else {
        printer::data(&differences_table(record, finished.run.variables()))?;
    }
    let folder = args.out.display();
    printer::note(&format!(
        "all differences are in `{folder}/differences.csv`, pictures and report beside them\nlook at it: {folder}/report.html"
    ));
    finished.report.context("the differences were saved, but the report was not written")?;
    Ok(ExitCode::SUCCESS)
}

/// The most probable differences between different regimes or conditions.
pub(crate) fn differences_table(record: &RegimesRecord, variables: &[String]) -> String {
    let several = record.names.len() > 2;
    let mut header = vec!["source", "target", "differs", "change"];
    let between: Vec<String> = match &record.names[..] {
        [first, second] => [first, second].map(|name| format!("effect in {name}")).to_vec(),
        _ => vec!["first".to_owned(), "second".to_owned()],
    };
    header.extend(between.iter().map(String::as_str));
    header.extend(["difference", "90 %"]);
    let mut rows = table(&header);
    let shown = record.differences.iter().filter(|one| one.source != one.target).take(SHOWN);
    for one in shown {
        let effect = |at: usize| {
            let effect = short(one.effects[at]);
            if several { format!("{}: {effect}", record.names[one.regimes[at]]) } else { effect }
        };
        let [low, high] = one.interval();
        rows.add_row([
            variables[one.source].clone(),
            variables[one.target].clone(),
            format!("{:.3}", one.probability),
            one.change().to_owned(),
            effect(0),
            effect(1),
            short(one.difference),
            format!("{} to {}", short(low), short(high)),
        ]);
    }
    rows.trim_fmt()
}

fn json_text(record: &RegimesRecord, variables: &[String]) -> anyhow::Result<String> {
    let row = |one: &driftgraph_data::regimes::DifferenceRow| {
        let [low, high] = one.interval();
        json!({
            "source": variables[one.source],
            "target": variables[one.target],
            "first": record.names[one.regimes[0]],
            "second": record.names[one.regimes[1]],
            "probability": one.probability,
            "change": one.change(),
            "only_first": one.first_alone,
            "only_second": one.second_alone,
            "sign_changes": one.turned,
            "effects": one.effects,
            "difference": one.difference,
            "interval": [low, high],
        })
    };
    let rows: Vec<Value> = record.differences.iter().map(row).collect();
    Ok(serde_json::to_string_pretty(&json!({"conditions": record.names, "differences": rows}))?)
}
